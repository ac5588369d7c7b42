"""Answers that take up no word of the question: what stands around the gold answer must then be
known to give it.

Most right answers are the gold answer alone, or a sentence with words of the question. Of the
others next to all are names made longer, a circumstance, or one of the forms in which an answer is
given. So whatever else stands there ("an old map had Paris", "heads Paris, tails Rome") is taken to
speak of the gold answer and not to give it. English only.
"""

from __future__ import annotations

import re
import unicodedata

LONGEST_NAME = 3
"""Words right before a gold answer, or behind it, that may belong to the same name."""

_ENGLISH = re.compile(r"\b(?:who|whom|whose|what|which|when|where|why|how|the|of|name)\b")
_SMALL_WORDS = (
    "a an the this that these those it its it's he she they there here i we you his her their our "
    "your my is was are were be been being has have had do does did who whom whose which what when "
    "where why how of in on at by for to from with as and or into about during after before since "
    "between under over near around than then so such also only just both all any some more most "
    "not no can could will would may might shall should must if but up out s t d ll re ve"
)
_SMALL = frozenset(_SMALL_WORDS.split())
_TEXT = (
    r"(?:passages?|texts?|documents?|context|sources?|articles?|information|excerpts?|snippets?|"
    r"evidence|wikipedia|data|results?|paragraphs?|records?)"
)
_FORMS = re.compile(
    rf"\b(?:(?:according to|based on|from|per|going by|judging by) (?:(?:the|these|my|this) )?"
    rf"(?:\w+ )?{_TEXT}(?: \w+){{0,3}}?(?=[\s,:]*$|[,:])|"
    rf"(?:the|this|these) {_TEXT}(?: \d+)? (?:clearly )?(?:says?|states?|names?|mentions?|"
    r"shows?|gives?|indicates?|confirms?|tells? us|has|have)(?: that)?|"
    r"as far as (?:i|we|one) (?:can|could|know|am)(?: (?:tell|see|say|aware|recall))?|"
    r"(?:i|we)(?:'d| would| am|'m)? (?:fairly |quite |pretty |very )?(?:think|believe|guess|"
    r"suppose|"
    r"say|go (?:with|for)|know|found|find|looked (?:it|this|that) up|checked|remember|recall|"
    r"confident|sure|certain|convinced)(?: that)?|"
    r"(?:everyone|everybody) (?:knows|agrees)(?: that)?|"
    r"(?:well|widely|generally|commonly|best|better|also|formerly|originally|"
    r"officially) known(?: as)?|"
    r"(?:no|none)[ -]?(?:one|body)?(?: else)? (?:but|other than)|(?:can|could) only be|must be|"
    r"to answer (?:your|the|this) question|(?:final |correct |right |short |my |the )*answer"
    r"(?: to (?:your|the|this) question)?(?: (?:is|was|here is|would be))?|"
    r"(?:the )?(?:one )?(?:you(?:'re| are)? (?:want|looking for|asking (?:about|for)|need|mean))"
    r"(?: is| was)?|contrary to [^,]*(?=,)|"
    r"not [^,;.]*(?=[,;.])|(?:in )?(?:fact|truth|short|brief|summary|reality)|"
    r"(?:un)?doubtedly|without (?:a )?doubt|no doubt|of course|sure|certainly|definitely|clearly|"
    r"obviously|indeed|yes|well|okay|ok|actually|probably|possibly|perhaps|maybe|likely|currently|"
    r"(?:that|it|this|he|she)(?: would|'d) be|presumably|apparently|approximately|about|around|"
    r"roughly|almost|nearly|exactly|total of|"
    r"at least|at most|only|because|last update\w*|as of|name (?:of|is)|called|named|titled|"
    r"entitled|stands for|refers? to|means|meaning|defined as|\w+(?:ed|en|wn|ng) (?:by|in|as|at|on|"
    r"to|for|from|with|near))\b"
)
"""In what forms answers are given, whatever they are."""
_UNSETTLED_FORM = re.compile(
    r"\b(?:if|unless|were|neither|nor|either|should|could|would|whatever|whichever|whoever|"
    r"among|between|other|others|far|instead|not|never|no|place|after|before|than)\b"
)
"""Small words that give no answer, with nothing else before it."""
_TITLES = re.compile(
    r"(?:dr|mr|mrs|ms|sir|st|saint|king|queen|prince|princess|president|general|admiral|emperor|"
    r"empress|lord|lady|dame|pope|captain|professor|university|city|republic|state|national|mount|"
    r"lake|river|september|january|february|march|april|may|june|july|august|october|november|"
    r"december|early|late|mid|middle|actor|actress|singer|author|band|song|film|movie|"
    r"united states|\d[\d,.]*(?:st|nd|rd|th)?)"
)
_GOES_ON = re.compile(
    r"[\"'”’)\]*_]*\s*(?:$|[.!]\s*$|[.!]\s|[(\[–—-]|:\s|"
    r"[,]?\s*(?:of|in|by|at|on|for|to|from|and|&|who|which|with|when|because|since|"
    r"as|during|born|formerly|also|now|plus|where|whose|ago|\d)\b|,\s*(?:the|a|an|or|but not)\b|"
    r",(?: [\w.'-]+){1,5}[.!]?$|"
    r"(?:is|was|are|were) (?:the|a|an|now|also|known|correct|right|considered|called|mentioned|"
    r"named|given|generally|it|my|your|our|one)\b)"
)
"""How what stands behind a gold answer goes on where it was given."""
_SET_AGAINST = re.compile(
    r"\W*(?:and |but )?(?:not|rather than|instead of|as opposed to|unlike|although|though)\b"
)
_TAKES_BACK = re.compile(
    r"\b(?:not|never|no|nor|\w+n't|cannot|if|unless|provided|until|assuming|suppos\w+|would|could|"
    r"might|should|in case|had|when pressed|wrong\w*|incorrect\w*|mistak\w*|false\w*|trap|"
    r"doubt\w*|believe|claim\w*|at least|that'?s? what|maybe|perhaps|possibly|who knows|otherwise|"
    r"elsewhere|whereas|however|but|yet|except|lost|los(?:es|er)|beaten|(?:came|come|comes|"
    r"a) second|versus|vs|according "
    r"to (?:some|others|an?)|says? (?:a|an|some|my)|forget|alternatively|or|try|then|lie[ds]?|"
    r"lying|guess\w*|rumou?r\w*|myth|hoax|alleged\w*|supposedly)\b|[→|+=~<>/;]|\n\s*[-*•\d]|"
    r"[.!]\s+(?:it|this|that|he|she)(?:'s| is| was) (?!the|an?|in|on|at|also|one|from|of|\w+ed\b)"
    r"[\w'. -]+$"
)
_ANOTHER = re.compile(
    r"[.!]\s+(?:(?:or|then|try|and|it|that|this|he|"
    r"she)\b[^.!]*?)?(?-i:\b[A-Z])[\w'’.-]*(?: [\w'’.-]+)"
    r"{0,3}[.!]?$"
)
_VERBISH = re.compile(
    r"\b(?:\w{2,}(?:ed|es)|out|off|up|down|away|back|lost|came|comes|goes|went|has|had|did|does|do|"
    r"will|can|may|\w+ings|said|say|won|ran|gave|took)\b"
)


def barely_given(before: str, after: str, gold: str, answer: str, asked: str) -> bool:
    """Whether an answer, folded ``before`` + ``gold`` + ``after``, gives the gold answer as answers
    are given, if it takes up no word of the question ``asked``; True where it takes one up, and
    where the question is not in English."""
    own = _content(asked)
    if not _ENGLISH.search(asked) or own & (_content(before) | _content(after)):
        return True
    whole = unicodedata.normalize("NFKC", answer).strip()
    written = whole if len(whole) == len(before) + len(gold) + len(after) else ""
    if not re.search(r"\w", after) and _longer_name(written[: -len(after) or None], gold):
        return True
    return _leads(before, written[: len(before)]) and _follows(
        after, written[len(before) + len(gold) :]
    )


def _longer_name(written: str, gold: str) -> bool:
    """Whether an answer is a name of which the gold answer is the end ("Carl Friedrich Gauss")."""
    words = written[: len(written) - len(gold)].split()
    return 0 < len(words) <= LONGEST_NAME and (
        written.islower() or all(word[0].isupper() and word[-1] not in ",:;!?" for word in words)
    )


def _content(text: str) -> set[str]:
    found = (word.rstrip("s") for word in re.findall(r"\w+", text) if word not in _SMALL)
    return {word for word in found if word}


def _leads(before: str, written: str) -> bool:
    """Whether what stands before is a form of giving, a circumstance of small words, or the
    beginning of a name."""
    if _UNSETTLED_FORM.search(_FORMS.sub(" ", before)):
        return False
    start = _name_start(before, written)
    rest = _FORMS.sub(" ", before[:start])
    return all(
        word in _SMALL or _TITLES.fullmatch(word) is not None
        for word in re.findall(r"[^\W_]+", rest)
    )


def _name_start(before: str, written: str) -> int:
    """Where the words right before a gold answer begin that have a capital or are titles."""
    start = len(before)
    for hit in list(re.finditer(r"[\w'’-]+\.?", before))[: -LONGEST_NAME - 1 : -1]:
        if before[hit.end() : start].strip(" \"'“‘*_") or not before[hit.start()].isalnum():
            break
        shown = written[hit.start() : hit.end()]
        if not (shown[:1].isupper() and hit.start()) and not _TITLES.fullmatch(
            hit.group().rstrip(".")
        ):
            break
        start = hit.start()
    return start


def _follows(after: str, written: str) -> bool:
    """Whether what stands behind leaves it at that."""
    if not re.search(r"\w", after) or _SET_AGAINST.match(after):
        return True
    if _TAKES_BACK.search(after) or (written and _ANOTHER.search(written)):
        return False
    if _GOES_ON.match(after):
        return True
    more = re.match(
        rf"(?:[ '’-]+[\w.]+){{1,{LONGEST_NAME}}}(?=[\s.!]*$|\s*[,(]|\s(?:of|in|by|and|from)\b)",
        after,
    )
    return more is not None and _VERBISH.search(more.group()) is None
