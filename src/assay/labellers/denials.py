"""Answers that name the gold answer and do not give it: they deny it, or leave it open.

"It is not Paris", "Rome, not Paris", "either Rome or Paris", a list of seven cities: a judge that
looks for the gold answer finds it in all of them.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Sequence

from assay.labellers.refusals import LONGEST, folded, gold_declines, refusal_in, same_words

VERSION = 3
"""Of the rules here and of those on refusals: part of the identity of whoever answers by them.
Changes whenever the same answer may come out otherwise."""

NEAR = 80
"""Characters beside a name in which its denial stands."""
LONGEST_ITEM = 4
"""Words of what is taken for a name in a choice or a list."""
LISTED = 4
"""Items from which a list is none of them, where one item alone is the gold answer."""

_CJK = r"\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af\u0e00-\u0e7f"
_NOT = (
    r"(?:not|never|neither|nor|except(?: for)?|other than|rather than|instead of|anything but|"
    r"(?:any|every|no) ?one but|all but|isn't|wasn't|aren't|weren't|didn't|doesn't|don't|hasn't|"
    r"hadn't|cannot|can't|couldn't|nicht|kein(?:e[nmrs]?)?|weder|pas|jamais|no es|no fue|no era|"
    r"no son|no está|ni|non|né|não|nem|niet|geen|не|ни|ei(?:vät)?|ole|inte|ej|ikke|ingen|nie|ani|"
    r"není|değil|bukan|ليس|ليست|لا|δεν|ne|nem|nu)"
)
_SOFT = (
    r"(?:only|just|merely|simply|until|before|after|than|more|less|fewer|far|sure|certain|exactly|"
    r"necessarily|always|nur|seulement|solo|sólo|soltanto|só|apenas|alleen|только|vain|bara|tylko|"
    r"unlike|the first|known|that)"
)
_BUT = r"(?:but|sondern|mais|sino|ma|mas|bensì|maar|а|но|vaan|utan|men|lecz|ale|بل|बल्कि)"
_BEFORE = re.compile(rf"(?<!\w){_NOT}\s+(?:(?!(?:{_SOFT}|{_BUT})\b)[^\s,;:.!?()]+\s+){{0,2}}$")
_AFTER = re.compile(
    r"^\W{0,2}\s?(?:(?:is|was|are|were|did|does|do|has|had|have|would|could|can|will)(?:n't| not)\b"
    rf"(?! {_SOFT}\b)|(?:is|was) (?:wrong|incorrect|false|no longer)\b|"
    r"(?:ist|war|hat) (?:es )?nicht\b|"
    r"n'est pas\b|no (?:es|fue|era|lo es)\b|non (?:è|era|lo è)\b|não (?:é|foi)\b|не\b|değil\b|नहीं)"
)
_CJK_BEFORE = re.compile(
    r"(?:不是|并非|並非|绝非|絕非|不会是|不會是|而非|非|不在|不叫|ではなく、?)(?:the )?$"
)
_CJK_AFTER = re.compile(
    r"^[」』”\"']?(?:では?な(?:い|く)|じゃな(?:い|く)|ではありません|じゃありません|ではございません|でない|"
    r"不是|不对|不對|[은는이가]?\s?아니|[은는이가]?\s?아닙|[은는이가]?\s?아닌)"
)
_NEGATED_QUESTION = re.compile(
    r"\b(?:not|never|no|isn't|wasn't|aren't|weren't|don't|doesn't|didn't|cannot|can't|except|without|"
    r"nicht|kein\w*|pas|non|não|niet|geen|не|ei|inte|nie|neither|least)\b|ない|不|没|않|아닌|ليس|नहीं"
)
_EITHER = re.compile(
    r"\b(?:either|entweder|soit|o bien|ofwel|либо|joko|antingen|enten|albo|ya da|baik)\b"
)
_OR = re.compile(
    r"\s*,?\s+(?:or|oder|ou|или|либо|tai|eller|lub|albo|czy|nebo|veya|ya da|atau|ή|soit|vai|"
    r"أو|या)\s+"
    r"|または|もしくは|あるいは|、それとも|それとも|或者|或是|或|还是|還是"
    r"|또는|혹은|(?<=[\w])(?:이?거나) "
)
_ITEM = re.compile(rf"\s*(?:[,;/、]|\n|\s(?:and|und|et|и|och|og|&)\s|{_OR.pattern})\s*")
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
    if any(same_words(answer, one) for one in gold):
        return None
    refusal = refusal_in(answer)
    if refusal is not None:
        return None if gold_declines(gold) else f"It declines to answer: “{refusal.words.strip()}”."
    asked, said = folded(question), folded(answer)
    wanted = [one for one in map(_core, gold) if one]
    places = _whole(place for one in wanted for place in _places(said, one))
    if not places:
        return None
    if not _NEGATED_QUESTION.search(asked) and all(_denied(said, *place) for place in places):
        return "It denies the gold answer."
    if len(answer) <= LONGEST and _left_open(asked, answer, wanted):
        return "It names several answers and settles on none."
    return None


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
    body = r"\s+".join(map(re.escape, gold.split()))
    before = "" if re.match(f"[{_CJK}]", gold) else rf"(?<![^\W{_CJK}])"
    after = "" if re.search(f"[{_CJK}]$", gold) else rf"(?![^\W{_CJK}])"
    return [hit.span() for hit in re.finditer(before + body + after, said)]


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
    return any(
        (_BEFORE.search(before), _CJK_BEFORE.search(before), _AFTER.search(after),
         _CJK_AFTER.search(after))
    )  # fmt: skip


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
        return any(right) and not all(right) and not _is_any(before, gold)
    text = _OPENING.sub("", said, count=1)
    choices = [one for one in _OR.split(text) if one.strip()]
    if len(choices) > 1 and all(_is_name(one, answer) for one in choices):
        right = [_is_any(one, gold) for one in choices]
        return any(right) and not all(right)
    items = [one.strip(" .\"'") for one in _items(text)]
    if len(items) < LISTED or any(len(one.split()) > LONGEST_ITEM for one in items):
        return False
    named = [one for one in items if _is_any(one, gold)]
    return len(named) == 1 and _core(named[0]) in gold and not _SET.search(asked)


def _is_any(text: str, gold: Sequence[str]) -> bool:
    return any(_places(text, one) for one in gold)


def _is_name(choice: str, answer: str) -> bool:
    """Whether ``choice`` is short and stands in ``answer`` with a capital or figure in front, or
    in a script without capitals."""
    plain = choice.strip(" ,.\"'")
    place = unicodedata.normalize("NFKC", answer).casefold().find(plain)
    if not plain or len(plain.split()) > LONGEST_ITEM or place < 0:
        return False
    first = unicodedata.normalize("NFKC", answer)[place : place + 1]
    return not first.islower()


def _items(text: str) -> list[str]:
    return [one for one in _ITEM.split(text) if one.strip()]
