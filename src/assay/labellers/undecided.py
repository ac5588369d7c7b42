"""Answers that name the gold answer among others and settle on none, or speak of it as a mistake,
known by the words around it rather than by the form of the whole answer. English only."""

from __future__ import annotations

import re
from collections.abc import Sequence

LONGEST = 40
"""Words; a longer answer tells more than which of several it means."""
LEAD = 1000
"""Characters before a name that are looked at: patterns that reach from word to word would take
minutes over an answer of few words that is one word of 100,000 characters."""
SHORT = 12
LISTED = 5
"""Short parts from which an answer is a list."""

_STRONG = re.compile(
    r"\b(?:one of (?:these|those|the following|them)|waver\w*|torn between|undecided|toss-?up|"
    r"coin ?flip|take (?:your|a) pick|pick (?:one|any|whichever)|your choice|you choose|choose "
    r"between|my (?:candidates?|guesses|options?|picks?)|(?:candidates?|options?|possibilities|"
    r"contenders?|alternatives?|choices?) (?:are|is|include|would be)|can(?:'t|not) decide|"
    r"hard to choose|unless it|(?:somebody|someone|something|anyone|anybody) else|and so on|any of "
    r"(?:these|those|them|the following)|both (?:are|seem|look|could|would|might|may)|"
    r"(?:are|is|seem) (?:both|all|equally) (?:possible|plausible|likely)|"
    r"(?:are|seem) (?:possible|plausible)|whichever|either way|not sure which|"
    r"(?:hesitate|decide|choose|choice|doubt|undecided) between|either)\b"
)  # fmt: skip
_WEAK = re.compile(
    r"\b(?:perhaps|maybe|possibly|potentially|conceivably|probably|likely|could be|might be|may be|"
    r"can be|could have been|might have been|may have been|or|else|alternatively|otherwise)\b|\?"
)
_DISMISSED = re.compile(
    r"(?:\b(?:mistakes?|mistaken(?:ly)?|errors?|erroneous(?:ly)?|wrong(?:ly)?|false(?:ly)?|"
    r"incorrect(?:ly)?|"
    r"misconceptions?|myths?|misguided|misled|by no means|no way|in no way|under no "
    r"circumstances|at no "
    r"time|(?<!n't )(?<!not )(?<!never )forget(?: about)?|ignore|disregard|scrap|strike|rule out|"
    r"exclude|"
    r"never mind|not even|far from(?: being)?|were it|had it been|if (?:only )?it (?:were|was|"
    r"had been)|"
    r"surprised if it (?:is|was|were)|confused? (?:it |this |him |her )?with|mixed up with)\b"
    r"(?:(?!\b(?:but|is|was|are|were)\b)[^.;,:!?]){0,30}|\bwrong to (?:say|think|answer|"
    r"name)[^.;!?]{0,30})$"
)
_DISMISSES = re.compile(
    r"^[\"'”’)]?\W{0,2}\s*(?:(?:which|that|this|it|they|he|she|but|yet|though|however|and|"
    r"although)\b\W*)*"
    r"(?:(?:would|could|can|might|is|was|are|were|be|been|'s|has|have|had|seems?|turns? out|"
    r"proved?|all|all of "
    r"them|to|as)\W+)+(?:\w+ly |very |quite |an? |the |just |simply )*"
    r"(?:false|untrue|wrong|incorrect|mistaken|inaccurate|erroneous|nothing to do|mistake|error|"
    r"myth|"
    r"misconception|misunderstanding|lie|hoax|rumou?r|ruled out|excluded|out of the question|"
    r"impossible|incorrect answer|wrong answer|common guess|popular guess|red herring|not (?:it|"
    r"right|"
    r"correct|true|him|her|them))\b"
)
_SAID_BY_OTHERS = re.compile(
    r"(?:\b(?:some|people|many|others|you|one|most|everyone|everybody|they|he|she|anyone|whoever|"
    r"it (?:is|was|used to be|has been)(?: \w+ly| once| often| long)?)(?: people| others| of them)?"
    r"(?: (?:would|might|may|could|will|used to|often|once|commonly|wrongly|always))*"
    r" (?:think|thought|believe[ds]?|say|said|says|claim(?:ed|s)?|assume[ds]?|guess(?:ed|es)?|name|"
    r"answer(?:ed)?|suggest(?:ed)?|expect(?:ed)?|held)\b|\b(?:commonly|popularly|often|once) "
    r"(?:believed|thought|said|supposed|assumed)\b)[^.;,:!?]{0,30}$"
)  # fmt: skip
_SET_RIGHT = re.compile(
    r"\b(?:but|yet|though|however|actually|in fact|in truth|in reality|really|the truth|the "
    r"(?:right|"
    r"correct|real|true) (?:answer|one)|false|mistaken|wrong|incorrect|it is|it was|it's)\b|;"
)
_MISTAKEN = re.compile(
    r"\b(?:not|never|no|nobody|nothing|neither|nor|hardly|scarcely|barely|cannot|\w+n't|except|"
    r"excluding|unlike|instead|rather|other than|apart from|contrary|although|though|if|unless|"
    r"whether|had (?:you|it|he|she|i|we)|were (?:it|you|he|she)|either|between|used to|lost|lose|"
    r"beat|beaten|wrong\w*|false\w*|incorrect\w*|mistak\w*|error\w*|myth|misconception\w*|"
    r"erroneous\w*|rumou?r\w*|lie|untrue|confus\w*|doubt\w*|unlikely|impossible|"
    r"den(?:y|ies|ied)|reject\w*|rul(?:e|ed) out|dismiss\w*|forget|ignore|disregard|eliminat\w*|"
    r"imagine|percent|chance|odds|toss|torn|narrow)\b"
)
"""Before a name: it is called a mistake, or held against another."""
_SPEAKS_OF_ANSWERS = re.compile(
    r"\b(?:would|could|might|candidates?|options?|choices?|choose|choosing|pick|possib\w*|perhaps|"
    r"maybe|alternativ\w*|think\w*|thought|believ\w*|say|says|saying|claim\w*|assum\w*|guess\w*|"
    r"suppos\w*|suggest\w*|argu\w*|answer\w*|mention\w*|respond\w*|reply|depend\w*|disagree\w*|"
    r"people|everyone|everybody|anyone|anybody|whoever|who knows)\b"
)
_GIVEN_AS = re.compile(
    r"(?:\b(?:answer|solution|name)\b(?: (?:to|of|for) [^,;:.]*?)?"
    r"(?: (?:is|was|would be|must be|should be|are|were)|:)(?: that)?|"
    r"\bguess(?: is| would be|:)|"
    r"\b(?:i|we) (?:think|believe|guess|suppose|(?:would|'d) say|say)(?: that)?|"
    r"\b(?:is|was|are|were|been|be|it's) (?:\w+ly |most |often |also |once )*"
    r"(?:said|thought|believed|assumed|supposed)(?: to| that| by)?|"
    r"\b(?:probably|possibly|perhaps|maybe)|\b(?:it|that|this|he|she) (?:could|might|may|would) be|"
    r"\bnot\b[^.;]*? but|\bnot only|^\W*no, (?:it|this|that|he|she|they)|"
    r"\bi(?: don't know|'m not sure| am not sure),? (?:but|maybe|perhaps|probably|it)|"
    r"\b(?:none|nobody|no one) (?:other than|but)|\b(?:everyone|everybody) knows(?: that)?|"
    r"\b(?:passages?|texts?|documents?|sources?|context|articles?) (?:\d+ )?(?:says?|"
    r"states?)(?: that)?|"
    r"\bno(?:t)? doubt|n't doubt|\b(?:not|n't)\b[^.;]*? until|"
    r"\b(?:that|who|which) [^,;.]*?(?:\bnot|n't)\b[^,;.]*? (?:is|was|are|were))\b|"
    r"\b(?:contrary|unlike|although|though|instead of|rather than|apart from)\b[^,;.]*,"
)
"""How an answer is given, or what is generally held."""
_TAKES_BACK = re.compile(
    r"^[^\w.;]{0,2}\?\W*\w|^[^\w.;]{0,3}(?:(?:it|this|that|which|he|she|they|you)\W+)?"
    r"(?:is|was|were|are|has|had|have|did|does|do|would|could|can|might|may|came|comes|will|think|"
    r"thinks|say)\b[^.;,]{0,30}?\b(?:not|never|nothing|nobody|wrong\w*|false\w*|incorrect\w*|"
    r"mistak\w*|error\w*|myth|second|beaten|lost|excluded|doubt\w*|unlikely|impossible|rumou?r\w*|"
    r"runner|confus\w*)\b|^[^.]{0,12}(?:\b(?:maybe|perhaps|might|could be|who knows|percent|second "
    r"guess|according to (?:some|others))\b|\?\W*\w|\|)"
)
_SET_AGAINST = re.compile(
    r"^\W*(?:and |but )?(?:not|rather than|instead of|as opposed to|unlike|never)\b"
)
_QUOTED = re.compile(r"[\"“][^\"”]*[\"”]")
_LAST_CLAUSE = re.compile(r"[.;:\n]\s")
_OR = re.compile(r"\bor\b|\s/\s")
_JOINT = re.compile(r"[,;/]\s|\s/|\n|\band\b")
_VERB = re.compile(r"\b(?:is|was|are|were|has|had|who|which|that|where|when)\b")
_NAME = re.compile(r"\b(?:[A-Z][\w'’-]*|\d[\d,.]*)")
_NO_NAME_WORDS = (
    "a an the it its i my one both either neither perhaps maybe possibly could might may "
    "options option candidates take these those this that some people others whoever forget "
    "were by no not or and but in on at he she they there who what when where which why how is "
    "was are if as of to for"
)
_NO_NAMES = frozenset(_NO_NAME_WORDS.split())


def dismissed(before: str, after: str) -> bool:
    """Whether what stands before or after a name, folded, calls it a mistake, or has others say it
    and sets them right."""
    if _DISMISSED.search(before) or _DISMISSES.match(after):
        return True
    return _SAID_BY_OTHERS.search(before) is not None and _SET_RIGHT.search(after) is not None


def called_mistake(before: str, asked: str) -> bool:
    """Whether what stands before a name in an answer of a sentence or two calls it a mistake, or
    holds it against another. Words of the question (``asked``) count for nothing. All texts are
    folded."""
    return _speaks(_MISTAKEN, before, asked)


def plainly_given(before: str, after: str, asked: str) -> bool:
    """Whether such an answer gives what stands between ``before`` and ``after`` as the answer: it
    calls nothing a mistake and sets nothing against it, and where it speaks of answers or opinions
    does so in a way that gives one."""
    if called_mistake(before, asked) or _speaks(_SPEAKS_OF_ANSWERS, before, asked):
        return False
    return _SET_AGAINST.match(after) is not None or _TAKES_BACK.match(after) is None


def _speaks(words: re.Pattern[str], before: str, asked: str) -> bool:
    lead = _GIVEN_AS.sub(" ", _LAST_CLAUSE.split(_QUOTED.sub(" ", before[-LEAD:]))[-1])
    own = set(re.findall(r"[\w']+", asked))
    return any(hit.group() not in own for hit in words.finditer(lead))


def unsettled(answer: str, said: str, question: str, gold: Sequence[str]) -> bool:
    """Whether an answer (``said``: folded) names something beside the gold answers and says that it
    may be the one or the other."""
    if len(said.split()) > LONGEST:
        return False
    open_ = _STRONG.search(said) is not None or (
        len(_WEAK.findall(said)) > 1 and len(said.split()) <= 2 * SHORT
    )
    known = {word for one in (question, *gold) for word in re.findall(r"\w+", one.casefold())}
    known |= _NO_NAMES
    if open_ or (len(said.split()) <= SHORT and _OR.search(said)):
        return _names_more(answer, known)
    parts = [one for one in _JOINT.split(answer) if one.strip()]
    if len(parts) < LISTED or any(len(one.split()) > SHORT / 2 for one in parts):
        return False
    if any(_VERB.search(one) for one in parts[1:]):
        return False
    return sum(_names_more(one, known) for one in parts) >= LISTED - 2


def _names_more(text: str, known: set[str]) -> bool:
    """Whether ``text`` has a name or number with a word that is not ``known``."""
    return any(
        not set(re.findall(r"\w+", hit.group().casefold())) <= known for hit in _NAME.finditer(text)
    )
