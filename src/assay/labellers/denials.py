"""Answers that name the gold answer and do not give it: they deny or doubt it, leave it open, or
name it only to speak of somebody else.

"It is not Paris", "I doubt it was Paris", "either Rome or Paris", a list of seven cities, "the
brother of Paris": a judge that looks for the gold answer finds it in all of them.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Sequence
from functools import cache

from assay.labellers.refusals import (
    LONGEST,
    UNSPACED,
    folded,
    gold_declines,
    is_title,
    refusal_in,
    same_words,
    without_gaps,
)
from assay.labellers.undecided import called_mistake, dismissed, plainly_given, unsettled

VERSION = 13
"""Of the rules here, of those on refusals, and of what the embedded judge does not read for its
language: part of the identity of whoever answers by them. Changes whenever the same answer may come
out otherwise."""

NEAR = 80
"""Characters beside a name in which its denial stands."""
LONGEST_ITEM = 4
"""Words of what is taken for a name in a choice or a list, if it is no gold answer and no title."""
LONGEST_TITLE = 12
"""Words of what is taken for a title in their place."""
LONGEST_PLAIN = 25
"""Words up to which what stands around a gold answer is taken to speak of it."""
NOT_PLAIN = "It names the gold answer and does not plainly give it."
LISTED = 4
"""Items from which a list is none of them, where one item alone is the gold answer."""

_DIGIT = "0-9〇零一二三四五六七八九十百千万萬億亿"
_GROUP = r"(?<!\d{4})[ '\u202f]\d{3}(?!\d)"
_YEAR = (
    r"(?=\d{4}(?!\d))"
    r"(?:(?<=\d\.\d\.)|(?<=\d\.\d\d\.)|(?<=[^\W\d_] \d,)|(?<=[^\W\d_] \d\d,))"
)
_NUMBER_BEFORE = rf"(?<![{_DIGIT}])(?:(?<!\d[.,])|{_YEAR})(?<!(?<!\w)[-−–])"
_NUMBER_AFTER = rf"(?![{_DIGIT}]|[.,]\d|{_GROUP})"
"""What stands beside a number that is whole: 5 is none in 12.5, 0,5, −5, 5 000 or 十五, and 1789 is
one in 14.07.1789, July 14,1789 and "in 1789 100 men"."""
_NOT = (
    r"(?:not|never|neither|nor|except(?: for)?|(?<!none )(?<!no one )(?<!nobody )other than|"
    r"(?:no ?one|nobody|no (?:man|woman|person)) (?:named|called)|"
    r"rather than|instead of|anything but|"
    r"(?:any|every) ?one but|all but|isn't|wasn't|aren't|weren't|didn't|doesn't|don't|hasn't|"
    r"hadn't|cannot|can't|couldn't|hardly|scarcely|(?<!not )unlike|contrary to|as opposed to|"
    r"anders als|im gegensatz zu|contrairement à|a diferencia de|a differenza di|ao contrário de|"
    r"в отличие от|toisin kuin|till skillnad från|w przeciwieństwie do|"
    r"nicht|kein(?:e[nmrs]?)?|weder|pas|jamais|no es|no fue|no era|"
    r"no son|no está|ni|non|né|não|nem|niet|geen|не|ни|ei(?:vät)?|ole|inte|ej|ikke|ingen|nie|ani|"
    r"není|değil|bukan|ليس|ليست|لا|δεν|ne|nem|nu)"
)
_SOFT = (
    r"(?:only|just|merely|simply|until|before|after|than|more|less|fewer|far|sure|certain|exactly|"
    r"necessarily|always|nur|seulement|solo|sólo|soltanto|só|apenas|alleen|только|vain|bara|tylko|"
    r"unlike|the first|known|that)"
)
_BUT = r"(?:but|sondern|mais|sino|ma|mas|bensì|maar|а|но|vaan|utan|men|lecz|ale|بل|बल्कि)"
_IS = r"(?:is|was|are|were|ist|war|est|était|es|era|è|é|foi|on|oli|är|var|jest|był)"
_WORD = rf"(?!(?:{_SOFT}|{_BUT})\b)[^\s,;:.!?()]+\s+"
# "was not played by X", and not "who did not win was X".
_BEFORE = re.compile(rf"(?<!\w){_NOT}\s+(?:{_WORD}(?:(?!{_IS}\b){_WORD})?)?$")
_DOUBT = re.compile(
    r"(?<!\w)(?:(?<!n't )(?<!not )(?<!never )(?<!no )"
    r"(?<!without )(?<!without a )(?<!beyond )(?<!beyond a )doubt(?:s|ed|ful)?|"
    r"(?:not|never|\w+n't) (?:really )?(?:think|believe|suppose|say|seem)|"
    r"(?<!not )(?:false|untrue|wrong|incorrect|unlikely|impossible|not true|not correct|no way|"
    r"not the case|an? (?:myth|lie|misconception|mistake|error))(?: that| to| it)|"
    r"(?:glaube|denke|meine) nicht, dass|bezweifle, dass|(?:stimmt|wahr) nicht, dass|"
    r"(?:crois|pense) pas que?|doute que?|faux que?|no (?:creo|pienso|es cierto) que|dudo que|"
    r"(?:es|é|è) fals[oa] (?:que|che)|non (?:credo|penso|è vero) che|dubito che|"
    r"não (?:creio|acho|acredito) que|duvido que|(?:denk|geloof) niet dat|betwijfel of|"
    r"не думаю, что|сомневаюсь, что|неправда, что|en usko, että|epäilen, (?:että|onko)|"
    r"tror inte att|tvivlar på att|nie sądzę, (?:że|by|aby|żeby)|wątpię, (?:że|czy|by|aby|żeby))\b"
    rf"(?:(?!\b{_BUT}\b)[^,;:.!?()])*$"
)
_AFTER = re.compile(
    r"^(?:[\"')]?\s+never \w|,? (?:perhaps|maybe|possibly|or) not\b|"
    r"[\"')]?,? (?:was|were|is) (?:considered|suggested|proposed|rumou?red|approached|asked)\b"
    r"[^.;]*\bbut\b|\W{0,2}\?\W*(?:never|jamais|nunca|mai|niemals|no|nope|nein|non|nee|нет|ei|"
    r"nej|nie|いいえ|不)\b|"
    r"\W{0,2}\s?(?:"
    r"(?:is|was|are|were|did|does|do|has|had|have|would|could|can|will)(?:n't| not| never)\b"
    rf"(?! {_SOFT}\b)|"
    r"(?:is|was|seems|would be) (?:wrong|incorrect|false|unlikely|doubtful|no longer)\b|"
    r"(?:is|was|can be|could be) (?:ruled out|excluded)\b|"
    r"(?:ist|war) (?:falsch|unrichtig)\b|(?:est|était) (?:faux|inexact)\b|"
    r"(?:es|era|è|é) (?:fals[oa]|incorrect[oa]|errad[oa]|sbagliat[oa])\b|"
    r"(?:ist|war|hat) (?:es )?nicht\b|"
    r"n'est pas\b|no (?:es|fue|era|lo es)\b|non (?:è|era|lo è)\b|não (?:é|foi)\b|не\b|değil\b|"
    r"नहीं))"
)
_RUMOUR = re.compile(
    r"(?<!\w)(?:some|many|most|several|everyone|everybody|people|they)(?: people| others)? "
    r"(?:think|thought|believe|believed|say|said|claim|claimed|assume|assumed|guess)s? "
    r"(?:that )?(?:(?:it|this|he|she)(?: is| was|'s) )?(?:the )?$"
)
"""What others say; beside another answer it is none."""
_CJK_BEFORE = re.compile(
    r"(?:不是|并非|並非|绝非|絕非|不会是|不會是|而非|非|不在|不叫|ではなく、?|"
    r"不(?:认为|認為|觉得|覺得|相信)[是这這那它他她]{0,2})(?:the )?$"
)
_CJK_AFTER = re.compile(
    r"^[」』”\"']?\s?(?:では?な(?:い|く)|じゃな(?:い|く)|ではありません|じゃありません|ではございません|でない|"
    r"だ?とは?(?:思(?:わな|えな|いませ|えませ)|違|異な)|の?[はで]?はず(?:が|は)?ない|不同|"
    r"不是|不对|不對|[과와]는?\s?달리|(?:이?라고는?|일\s?것\s?같지는?)\s?(?:생각(?:하지|되지)\s?)?않|"
    r"[은는이가]?\s?아니|[은는이가]?\s?아닙|[은는이가]?\s?아닌)"
)
_KIN = (
    r"(?:(?:half-?|step-?|god|foster |grand|great-){0,6}(?:father|mother|parent|brother|sister|"
    r"sibling|twin|son|daughter|child|children|wife|husband|spouse|widow|widower|uncle|aunt|"
    r"nephew|niece|"
    r"cousin|friend|rival|assistant|student|teacher|predecessor|successor)s?(?:-in-law)?|"
    r"vater|mutter|bruder|schwester|sohn|tochter|père|mère|frère|soeur|fils|fille|padre|madre|"
    r"hermano|hermana|hijo|hija|fratello|sorella|figlio|figlia|pai|mãe|irmão|irmã|filho|filha|"
    r"vader|moeder|broer|zus|zoon|dochter|отец|мать|брат|сестра|сын|дочь)"
)
_OF_KIN = re.compile(rf"\b{_KIN} (?:of|to|von|de|del|di|do|da|van)\s(?:the\s)?$|\b{_KIN} d'$")
_KINS = re.compile(
    rf"^(?:'s|s?')\s(?:[\w-]+\s){{0,2}}{_KIN}\b|"
    r"^[のの的]\s?(?:父|母|兄|弟|姉|姐|妹|息子|娘|儿子|兒子|女儿|女兒|妻|夫|丈夫|友)|"
    r"^의\s?(?:아버지|어머니|형|동생|누나|언니|오빠|아들|딸|아내|남편|친구)"
)
_ANY_KIN = re.compile(
    rf"\b{_KIN}\b|[父母兄弟姉姐妹娘妻夫友]|息子|[儿兒]子|女[儿兒]|아버지|어머니|동생|아들|딸|아내|남편"
)

_NEGATED_QUESTION = re.compile(
    r"\b(?:not|never|no|isn't|wasn't|aren't|weren't|don't|doesn't|didn't|cannot|can't|except|"
    r"without|"
    r"nicht|kein\w*|pas|non|não|niet|geen|не|ei|inte|nie|neither|least)\b|ない|不|没|않|아닌|ليس|नहीं"
)
_EITHER = re.compile(
    r"\b(?:either|entweder|soit|o bien|ofwel|либо|joko|antingen|enten|albo|ya da|baik)\b"
)
_OR = re.compile(
    r"\s*[,;(]?\s*\b(?:and/or|or else|alternatively|failing that|if not|versus|vs\.?)[\s,]+"
    r"|\s*\|\s*|\s*[,(]?\s+\(?"
    r"(?:or|o|oder|ou|или|либо|tai|eller|lub|albo|czy|nebo|veya|ya da|atau|ή|soit|vai|"
    r"أو|या)\s+"
    r"|\s+/\s+|(?<!\d)/(?!\d)|[,;]\s+(?=(?:maybe|perhaps|possibly|vielleicht|peut-être)\s)"
    r"|または|もしくは|あるいは|、それとも|それとも|或者|或是|或|还是|還是"
    r"|또는|혹은|(?<=[\w])(?:이?거나) "
)
_AND = re.compile(r"\s*;\s+|\s*\n\s*|,?\s(?:and|und|et|y|ja|и|och|og|&)\s")
_JOINED = r"(?:(?:and|und|et|y|e|ja|и|och|og|&|or|oder|ou|o)\s+)?"
_ITEM = re.compile(rf"\s*(?:(?:[,;/、|]|\s[-–—]\s)\s*{_JOINED}|{_AND.pattern}|{_OR.pattern})\s*")
_NUMBERED = re.compile(r"(?:^|\s+)\(?(?:\d{1,2}|[a-h])[).:]\s+")
_OPENING = re.compile(
    r"^(?:(?:it|they|that|this|the answer|answer)?\s?(?:is|was|are|were|could be|may be|might be|"
    r"can be|must be|would be)?\s?(?:maybe|perhaps|possibly|probably|one of|among)?\s*)"
)
_MANY = r"(?!(?:was|is|has|does|this|its)\b)\w*[^s\W]s"
_SET = re.compile(
    r"\b(?:list|all|both|(?:which|what|name)(?: (?:the|some|other|are the|were the))? "
    rf"(?:\w+ )?{_MANY}|(?:two|three|four|five|six|seven|eight|nine|ten|several|some) "
    rf"(?:of|{_MANY})|"
    r"who (?:are|were|all)|what (?:are|were)|examples?|(?:names|members|kinds|types|parts) of)\b"
)


def fault_in(question: str, answer: str, gold: Sequence[str]) -> str | None:
    """Why ``answer`` cannot be right whatever words it shares with the gold answers, as a sentence:
    it declines, denies every gold answer that it names, or leaves open which of several it means.
    None where nothing of the kind is found; where it is a gold answer word for word; and where the
    gold answer itself is to decline."""
    answer, gold = without_gaps(answer), [without_gaps(one) for one in gold]
    if any(same_words(answer, one) for one in gold):
        return None
    refusal = refusal_in(answer)
    if refusal is not None:
        return None if gold_declines(gold) else f"It declines to answer: “{refusal.words.strip()}”."
    asked, said = folded(question), folded(answer)
    wanted = [one for one in map(_core, gold) if one]
    if len(answer) <= LONGEST and _stuffed(asked, answer, gold):
        return "It names more than the gold answer has."
    places = _whole(place for one in wanted for place in _places(said, one))
    if not places:
        return None
    if not _NEGATED_QUESTION.search(asked) and all(_denied(said, *place) for place in places):
        return "It denies or doubts the gold answer."
    if (
        not _NEGATED_QUESTION.search(asked)
        and len(answer.split()) <= LONGEST_PLAIN
        and all(called_mistake(said[:start], asked) for start, _ in places)
    ):
        return NOT_PLAIN
    if not _ANY_KIN.search(asked) and all(_of_kin(said, *place) for place in places):
        return "It names the gold answer only to speak of somebody else."
    if len(answer) <= LONGEST and (
        _left_open(asked, answer, wanted)
        or (not _SET.search(asked) and unsettled(answer, said, asked, gold))
    ):
        return "It names several answers and settles on none."
    return None


def named_only(question: str, answer: str, gold: Sequence[str]) -> str | None:
    """Why ``answer``, in which :func:`fault_in` finds no fault, may yet be wrong: it is short and
    names a gold answer among words on answers and opinions that do not plainly give it. Whoever
    can read the answer should be certain before it counts as right."""
    asked, said = folded(question), folded(answer)
    if len(answer.split()) > LONGEST_PLAIN or _NEGATED_QUESTION.search(asked):
        return None
    if any(same_words(answer, one) for one in gold) or refusal_in(answer) is not None:
        return None
    places = _whole(place for one in map(_core, gold) if one for place in _places(said, one))
    if not places or any(plainly_given(said[:start], said[end:], asked) for start, end in places):
        return None
    return NOT_PLAIN


def fault_of_one(question: str, answer: str, wordings: Sequence[str]) -> str | None:
    """As :func:`fault_in`, of one of several answers that ``question`` asks for: that others stand
    beside it is no fault."""
    return fault_in(f"Name all: {question}", answer, wordings)


def same_set(text: str, gold: str) -> bool:
    """Whether two lists have the same entries, in whatever order."""
    ours, theirs = (sorted(map(_core, _items(folded(one)))) for one in (text, gold))
    return len(ours) > 1 and ours == theirs


def declines_rightly(answer: str, gold: Sequence[str]) -> bool:
    """Whether ``answer`` declines and the gold answers say that this is right."""
    return gold_declines(gold) and refusal_in(answer) is not None


def names(text: str, gold: str) -> bool:
    """Whether ``gold`` stands in ``text`` in one piece."""
    return bool(_places(folded(text), _core(gold)))


def _core(gold: str) -> str:
    """A gold answer as it is looked for: folded, without marks around it and leading articles."""
    text = folded(gold).strip(" .,;:!?\"'()[]")
    text = re.sub(r"^(?:the|a|an)\s+", "", text)
    return "" if text in ("yes", "no", "not", "none", "never") else text


def _places(said: str, gold: str) -> list[tuple[int, int]]:
    """Where ``gold`` stands in ``said``; scripts without spaces have no edges of words."""
    if not gold:
        return []
    said, gold = plain(said), plain(gold)
    if re.fullmatch(r"[\w\s.,:'-]*\w[.']*", gold):  # else marks are part of it: C++, 5 %
        words = re.split(r"([\W_]+)", gold.rstrip(".'"))
        parts = words[::2]
    else:
        words, parts = [], gold.split()
    if any(one not in said for one in parts):
        return []  # nearly always; to make the pattern takes a hundred times as long
    sign = "[-−–]" if re.match(r"[-−–]\d", gold) else ""
    body = sign + "".join(
        re.escape(one) if at % 2 == 0 else _between(*words[at - 1 : at + 2])
        for at, one in enumerate(words)
        if at > 1 or not sign
    ) or r"\s+".join(map(re.escape, parts))
    before = "" if re.match(f"[{UNSPACED}]", gold) else rf"(?<![^\W{UNSPACED}])"
    after = "" if re.search(f"[{UNSPACED}]$", gold) else rf"(?![^\W{UNSPACED}]|\+\+|#)"
    if re.match(f"[{_DIGIT}]", gold):
        before += _NUMBER_BEFORE
    if re.search(f"[{_DIGIT}]$", gold):
        after += _NUMBER_AFTER
    return [hit.span() for hit in re.finditer(before + body + after, said)]


def _between(word: str, joint: str, following: str) -> str:
    """What may stand for the ``joint`` between two words of a gold answer."""
    unspaced = re.search(f"[{UNSPACED}]$", word) and re.match(f"[{UNSPACED}]", following)
    return r"[\W_]{0,3}" if joint in ("'", "-") or unspaced else r"[\W_]{1,3}"


def plain(text: str) -> str:
    """``text``, letter for letter, without accents (パ and バ are other letters than ハ)."""
    if text.isascii() or all(one == _unaccented(one) for one in set(text)):
        return text
    return "".join(map(_unaccented, text))


@cache
def _unaccented(char: str) -> str:
    base = unicodedata.normalize("NFD", char)
    voiced = base[1:] in ("\u3099", "\u309a")
    return base[0] if all(map(unicodedata.combining, base[1:])) and not voiced else char


def _whole(places: Iterable[tuple[int, int]]) -> list[tuple[int, int]]:
    """Those that do not lie within another (gold answers may hold one another)."""
    found: list[tuple[int, int]] = []
    for start, end in sorted(set(places), key=lambda one: (one[0], -one[1])):
        if not found or end > found[-1][1]:
            found.append((start, end))
    return found


def _denied(said: str, start: int, end: int) -> bool:
    """Whether ``said`` denies what it names from ``start`` to ``end``."""
    before, after = said[max(0, start - NEAR) : start], said[end : end + NEAR]
    rest = f"{said[: max(0, start - NEAR)]}{_RUMOUR.sub('', before)} {after}"
    if _RUMOUR.search(before) and re.search(r"\bbut\b|\b(?:is|was)\b|[;:]", rest):
        return True
    if dismissed(before, after):
        return True
    return any(
        (_BEFORE.search(before), _DOUBT.search(before), _CJK_BEFORE.search(before),
         _AFTER.search(after), _CJK_AFTER.search(after))
    )  # fmt: skip


def _of_kin(said: str, start: int, end: int) -> bool:
    """Whether ``said`` speaks of a relation of what it names from ``start`` to ``end``."""
    before, after = said[max(0, start - NEAR) : start], said[end : end + NEAR]
    return _OF_KIN.search(before) is not None or _KINS.match(after) is not None


def _left_open(asked: str, answer: str, gold: Sequence[str]) -> bool:
    """Whether ``answer`` is a choice between, or a list of, things of which one is gold."""
    if any(len(_items(one)) > 1 for one in gold):
        return False  # the gold answer is a choice or a list itself
    said = folded(answer).strip(" .!?")
    either = _EITHER.search(said)
    if either is not None:
        before, clause = said[: either.start()], re.split(r"[.;(\n]", said[either.end() :])[0]
        choices = [one for one in _OR.split(clause) if one.strip()]
        right = [_is_any(one, gold) for one in choices]
        if any(right) and not all(right) and not _is_any(before, gold):
            return True
    text = _OPENING.sub("", said, count=1)
    choices = _named_in(text, answer, _OR, gold)
    right = [_is_any(one, gold) for one in choices]
    if any(right) and not all(right):
        return True
    numbered = len(_NUMBERED.findall(text)) > 1
    between = _NUMBERED if numbered else _ITEM
    joined = _named_in(text, answer, between, gold) if numbered or _AND.search(text) else []
    items = joined or [one.strip(" .\"'()") for one in _items(text)]
    listed = len(items) >= LISTED and all(_is_short(one, answer, gold) for one in items)
    if _SET.search(asked) or not (joined or listed):
        return False
    named = [one for one in items if _is_any(one, gold)]
    return len(named) == 1 and _core(named[0]) in gold


def _stuffed(asked: str, answer: str, gold: Sequence[str]) -> bool:
    """Whether ``answer`` is a list that holds all entries of a gold answer that is one, and some
    that none has."""
    several = [_items(folded(one)) for one in gold]
    # "Vienna, Austria" is one place.
    lists = [
        each
        for one, each in zip(gold, several, strict=True)
        if len(each) > 2 or _AND.search(one) or (len(each) > 1 and _SET.search(asked))
    ]
    text = _OPENING.sub("", folded(answer).strip(" .!?"), count=1)
    items = [one.strip(" .\"'()") for one in _items(text)]
    if not lists or len(items) <= max(map(len, lists)):
        return False
    words = all(one.islower() for one in gold)  # colours, not names
    if not all(_is_name(one, answer, gold, words=words) for one in items):
        return False
    entries = [[_core(one) for one in each] for each in lists]
    whole = any(all(_is_any(text, [one]) for one in each) for each in entries)
    every = [one for each in entries for one in each]
    return whole and any(not _is_any(one, every) for one in items)


def _named_in(text: str, answer: str, between: re.Pattern[str], gold: Sequence[str]) -> list[str]:
    """What stands between the joints of ``text`` where it is nothing but names, and joined."""
    parts = [_OPENING.sub("", one) for one in between.split(text) if one.strip()]
    return parts if len(parts) > 1 and all(_is_name(one, answer, gold) for one in parts) else []


def _is_any(text: str, gold: Sequence[str]) -> bool:
    return any(_places(text, one) for one in gold)


def _is_short(item: str, answer: str, gold: Sequence[str]) -> bool:
    """Whether ``item`` is no longer than a name: of few words, a gold answer, or a title."""
    if len(item.split()) <= LONGEST_ITEM or _core(item) in gold:
        return True
    return len(item.split()) <= LONGEST_TITLE and is_title(_as_written(item, answer))


def _is_name(choice: str, answer: str, gold: Sequence[str], *, words: bool = False) -> bool:
    """Whether ``choice`` is short and stands in ``answer`` with a capital or figure in front, or
    in a script without capitals (``words``: whatever it has). "I don't know, maybe Paris" names
    one thing."""
    plain = re.sub(r"^(?:the|a|an)\s+", "", choice.strip(" ,.\"'()"))
    written = _as_written(plain, answer)
    if not written or (written[0].islower() and not words) or refusal_in(plain) is not None:
        return False
    return _is_short(plain, answer, gold)


def _as_written(text: str, answer: str) -> str:
    """Folded ``text`` as ``answer`` has it."""
    whole = unicodedata.normalize("NFKC", answer)
    place = whole.casefold().find(text)
    return whole[place : place + len(text)] if place >= 0 else ""


def _items(text: str) -> list[str]:
    return [one for one in _ITEM.split(text) if one.strip()]
