"""Overlaps of words, numbers and names, which a small encoder tends to miss.

Two features for each question, which the calibration weighs with the encoder's output.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from assay.labellers.judge.texts import Ability

_WORD = re.compile(r"\w+")
_NAME = re.compile(r"(?<=\s)[^\W\d_a-z]\w+")
_COMMON_WORDS = (
    "a about after an and are as at be been before being between but by can could did do does "
    "during for from had has have he her his how i if in into is it its may me might must my no "
    "not of on or our over she should than that the their them then there these they this those "
    "to under was we were what when where which who whom whose why will with would you your"
)
COMMON = frozenset(_COMMON_WORDS.split())


def overlaps(ability: Ability, first: str, second: str) -> list[float]:
    """Two features of texts that are worded as in :mod:`assay.labellers.judge.texts`. For claims
    and questions: the fractions of their numbers and of their names that are in ``second``. For
    answers, with the best gold answer: whether the answer contains it, and the harmonic mean of the
    fractions of words that each shares with the other."""
    if ability is Ability.C:
        answer = first.removeprefix("answer: ").rpartition(" | question: ")[0]
        return _answer_overlaps(answer, second.split(" / "))
    claim = first.partition(": ")[2]
    numbers = {stem for stem in stems(claim) if any(char.isdigit() for char in stem)}
    names = {stem for name in _NAME.findall(claim) for stem in stems(name)}
    found = set(stems(second))
    return [_share(numbers, found), _share(names - COMMON, found)]


def _answer_overlaps(answer: str, golds: Sequence[str]) -> list[float]:
    answer_stems = stems(answer)
    line, own = f" {' '.join(answer_stems)} ", set(answer_stems)
    whole = mean = 0.0
    for gold in map(stems, golds):
        if gold and own:
            whole = max(whole, float(f" {' '.join(gold)} " in line))
            mean = max(mean, 2 * len(set(gold) & own) / (len(set(gold)) + len(own)))
    return [whole, mean]


def states(text: str, answer: str) -> bool:
    """Whether ``text`` contains every word of ``answer`` except common ones; False if it has only
    common words, or is a plain yes or no."""
    wanted = set(stems(answer)) - COMMON - {"yes"}
    return bool(wanted) and wanted <= set(stems(text))


def shared(text: str, other: str) -> set[str]:
    """Words that both texts share, except common ones."""
    return (set(stems(text)) & set(stems(other))) - COMMON


def stems(text: str) -> list[str]:
    """Words in lower case without a plural s."""
    words = (word.casefold() for word in _WORD.findall(text))
    return [word[:-1] if len(word) > 3 and word.endswith("s") else word for word in words]


def _share(wanted: set[str], present: set[str]) -> float:
    """The fraction of ``wanted`` that is ``present``; 1 if nothing is wanted."""
    return len(wanted & present) / len(wanted) if wanted else 1.0
