"""Find answers that name the gold answer among others without deciding, or call it a mistake.

They are recognised by the words around the name, not by the form of the whole answer. English only.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from assay.model.phrases import Phrases

LONGEST = 40
"""Words; in a longer answer, other names need not be alternatives."""
LEAD = 1000
"""Characters before a name that are searched. Without a limit, the patterns would take minutes for
a single word of 100,000 characters."""
SHORT = 12
LISTED = 5
"""An answer with at least this many short parts is a list."""

_PHRASES = Phrases.of("assay.labellers", "undecided.toml")
_RULES = _PHRASES.rules
_QUOTED = re.compile(r"[\"“][^\"”]*[\"”]")
_LAST_CLAUSE = re.compile(r"[.;:\n]\s")
_OR = re.compile(r"\bor\b|\s/\s")
_JOINT = re.compile(r"[,;/]\s|\s/|\n|\band\b")
_NAME = re.compile(r"\b(?:[A-Z][\w'’-]*|\d[\d,.]*)")
_NO_NAMES = _PHRASES.words["no_names"]


def dismissed(before: str, after: str) -> bool:
    """Whether the folded text before or after a name calls it a mistake, or attributes it to others
    and corrects them."""
    if _RULES["dismissed"].search(before) or _RULES["dismisses"].match(after):
        return True
    return (
        _RULES["said_by_others"].search(before) is not None
        and _RULES["set_right"].search(after) is not None
    )


def called_mistake(before: str, query: str) -> bool:
    """Whether the text before a name in a short answer calls it a mistake, or contrasts it with
    another. Words of the question (``query``) do not count. All texts are folded."""
    return _speaks(_RULES["mistaken"], before, query)


def plainly_given(before: str, after: str, query: str) -> bool:
    """Whether a short answer gives the name between ``before`` and ``after`` as its answer. It does
    not call it a mistake or contrast it, and any words about answers or opinions present it as the
    answer."""
    if called_mistake(before, query) or _speaks(_RULES["speaks_of_answers"], before, query):
        return False
    return (
        _RULES["set_against"].match(after) is not None or _RULES["takes_back"].match(after) is None
    )


def _speaks(words: re.Pattern[str], before: str, query: str) -> bool:
    lead = _RULES["given_as"].sub(" ", _LAST_CLAUSE.split(_QUOTED.sub(" ", before[-LEAD:]))[-1])
    own = set(re.findall(r"[\w']+", query))
    return any(hit.group() not in own for hit in words.finditer(lead))


def unsettled(answer: str, reply: str, question: str, gold: Sequence[str]) -> bool:
    """Whether an answer (``reply``: folded) also names something other than the gold answers and
    says that it may be the one or the other."""
    if len(reply.split()) > LONGEST:
        return False
    open_ = _RULES["strong"].search(reply) is not None or (
        len(_RULES["weak"].findall(reply)) > 1 and len(reply.split()) <= 2 * SHORT
    )
    known = {word for one in (question, *gold) for word in re.findall(r"\w+", one.casefold())}
    known |= _NO_NAMES
    if open_ or (len(reply.split()) <= SHORT and _OR.search(reply)):
        return _names_more(answer, known)
    parts = [one for one in _JOINT.split(answer) if one.strip()]
    if len(parts) < LISTED or any(len(one.split()) > SHORT / 2 for one in parts):
        return False
    if any(_RULES["verb"].search(one) for one in parts[1:]):
        return False
    return sum(_names_more(one, known) for one in parts) >= LISTED - 2


def _names_more(text: str, known: set[str]) -> bool:
    """Whether ``text`` contains a name or number with a word that is not ``known``."""
    return any(
        not set(re.findall(r"\w+", hit.group().casefold())) <= known for hit in _NAME.finditer(text)
    )
