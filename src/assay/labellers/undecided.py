"""Answers that name the gold answer among others and settle on none, or speak of it as a mistake,
known by the words around it rather than by the form of the whole answer. English only."""

from __future__ import annotations

import re
from collections.abc import Sequence

from assay.model.phrases import Phrases

LONGEST = 40
"""Words; a longer answer tells more than which of several it means."""
LEAD = 1000
"""Characters before a name that are looked at: patterns that reach from word to word would take
minutes over an answer of few words that is one word of 100,000 characters."""
SHORT = 12
LISTED = 5
"""Short parts from which an answer is a list."""

_PHRASES = Phrases.of("assay.labellers", "undecided.toml")
_RULES = _PHRASES.rules
_QUOTED = re.compile(r"[\"“][^\"”]*[\"”]")
_LAST_CLAUSE = re.compile(r"[.;:\n]\s")
_OR = re.compile(r"\bor\b|\s/\s")
_JOINT = re.compile(r"[,;/]\s|\s/|\n|\band\b")
_NAME = re.compile(r"\b(?:[A-Z][\w'’-]*|\d[\d,.]*)")
_NO_NAMES = _PHRASES.words["no_names"]


def dismissed(before: str, after: str) -> bool:
    """Whether what stands before or after a name, folded, calls it a mistake, or has others say it
    and sets them right."""
    if _RULES["dismissed"].search(before) or _RULES["dismisses"].match(after):
        return True
    return (
        _RULES["said_by_others"].search(before) is not None
        and _RULES["set_right"].search(after) is not None
    )


def called_mistake(before: str, asked: str) -> bool:
    """Whether what stands before a name in an answer of a sentence or two calls it a mistake, or
    holds it against another. Words of the question (``asked``) count for nothing. All texts are
    folded."""
    return _speaks(_RULES["mistaken"], before, asked)


def plainly_given(before: str, after: str, asked: str) -> bool:
    """Whether such an answer gives what stands between ``before`` and ``after`` as the answer: it
    calls nothing a mistake and sets nothing against it, and where it speaks of answers or opinions
    does so in a way that gives one."""
    if called_mistake(before, asked) or _speaks(_RULES["speaks_of_answers"], before, asked):
        return False
    return (
        _RULES["set_against"].match(after) is not None or _RULES["takes_back"].match(after) is None
    )


def _speaks(words: re.Pattern[str], before: str, asked: str) -> bool:
    lead = _RULES["given_as"].sub(" ", _LAST_CLAUSE.split(_QUOTED.sub(" ", before[-LEAD:]))[-1])
    own = set(re.findall(r"[\w']+", asked))
    return any(hit.group() not in own for hit in words.finditer(lead))


def unsettled(answer: str, said: str, question: str, gold: Sequence[str]) -> bool:
    """Whether an answer (``said``: folded) names something beside the gold answers and says that it
    may be the one or the other."""
    if len(said.split()) > LONGEST:
        return False
    open_ = _RULES["strong"].search(said) is not None or (
        len(_RULES["weak"].findall(said)) > 1 and len(said.split()) <= 2 * SHORT
    )
    known = {word for one in (question, *gold) for word in re.findall(r"\w+", one.casefold())}
    known |= _NO_NAMES
    if open_ or (len(said.split()) <= SHORT and _OR.search(said)):
        return _names_more(answer, known)
    parts = [one for one in _JOINT.split(answer) if one.strip()]
    if len(parts) < LISTED or any(len(one.split()) > SHORT / 2 for one in parts):
        return False
    if any(_RULES["verb"].search(one) for one in parts[1:]):
        return False
    return sum(_names_more(one, known) for one in parts) >= LISTED - 2


def _names_more(text: str, known: set[str]) -> bool:
    """Whether ``text`` has a name or number with a word that is not ``known``."""
    return any(
        not set(re.findall(r"\w+", hit.group().casefold())) <= known for hit in _NAME.finditer(text)
    )
