"""The two texts of a question for the judge, the same in training and at run time.

The first word of the first text names the ability; the second text is the evidence.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from enum import StrEnum

TEXTS_VERSION = 10
"""Must change whenever the same unit is given to the encoder in other words or parts."""
GOLD_WORDS = 48
"""Most words of gold answers that are read, the nearest to the answer first."""
ANSWER_WORDS, QUESTION_WORDS = 90, 40

CLAUSE_WORDS = 6
MOST_PARTS = 100
"""Most sentences or clauses of a claim or question that are handled one by one, as each is compared
with the whole passage."""

_SENTENCE = re.compile(r"(?<=[.!?])[\"')\]”’»]*\s+(?=[\"'(\[“‘«*•-]*[^\W_a-z])|\n+")
_ABBREVIATED = re.compile(
    r"(?:\b(?:Mr|Mrs|Ms|Dr|St|Jr|Sr|vs|No|Prof|Gen|Lt|Col|Inc|Co|etc)|\b[A-Z])\.$"
)
_ABBREVIATION = 8  # characters at the end of a sentence that are searched for an abbreviation
_CLAUSE = re.compile(r";\s+|,\s+(?=(?:and|but|while|which|who|where|when|with|after|before)\s)")
_WORD = re.compile(r"\w+")
_ASKS_WHICH = re.compile(r"(?:\w+ )?(?:who|whom|whose|what|which|when|where|how|why)\b", re.I)
_OPENING = re.compile(r"(?:yes|no|well|okay)[,.:;!]\s+(?=\S)", re.I)


class Ability(StrEnum):
    """What the judge can decide: E(ntailment): does the passage support the claim? A(nswering):
    does the passage answer the question? C(orrectness): is the answer correct, given gold
    answers?"""

    E = "E"
    A = "A"
    C = "C"


ABILITIES = (Ability.E, Ability.A, Ability.C)


def one_line(text: str) -> str:
    """``text`` on one line, without control characters."""
    return " ".join("".join(c if c.isprintable() else " " for c in text).split())


def claim_text(claim: str) -> str:
    return f"claim: {one_line(claim)}"


def question_text(question: str) -> str:
    return f"question: {one_line(question)}"


def answer_text(question: str, answer: str) -> str:
    """The answer, then the question, so that a long question does not push the answer out. The
    first ``ANSWER_WORDS`` words of the answer and the last ``QUESTION_WORDS`` of the question are
    read. A *No,* or *Yes,* at the beginning of an answer to a question of who, what or when replies
    to something else and is left out."""
    line = one_line(answer)
    opening = _OPENING.match(line) if _ASKS_WHICH.match(one_line(question)) else None
    answer_words = line[opening.end() if opening else 0 :].split()[:ANSWER_WORDS]
    question_words = one_line(question).split()[-QUESTION_WORDS:]
    return f"answer: {' '.join(answer_words)} | question: {' '.join(question_words)}"


def gold_text(answer: str, gold: Sequence[str]) -> str:
    """Gold answers, those that share most words with ``answer`` first, up to ``GOLD_WORDS``
    words."""
    answer_words = words(answer)

    def nearness(item: tuple[int, str]) -> tuple[float, int]:
        place, text = item
        own = words(text)
        return (-len(own & answer_words) / (len(own) or 1), place)

    chosen: list[str] = []
    count = 0
    for _, text in sorted(enumerate(gold), key=nearness):
        line = one_line(text)
        count += len(line.split())
        if chosen and count > GOLD_WORDS:
            break
        if line:
            chosen.append(line)
    return " / ".join(chosen)


def words(text: str) -> set[str]:
    """The words of ``text`` in lower case, without accents."""
    folded = unicodedata.normalize("NFKD", text).casefold()
    return set(_WORD.findall("".join(c for c in folded if not unicodedata.combining(c))))


def sentences(text: str) -> list[str]:
    """Split ``text`` into non-empty sentences and lines. Abbreviations and initials do not end a
    sentence."""
    found: list[str] = []
    for part in _SENTENCE.split(text):
        line = one_line(part)
        if not line:
            continue
        if found and _ABBREVIATED.search(found[-1][-_ABBREVIATION:]):
            found[-1] = f"{found[-1]} {line}"
        else:
            found.append(line)
    return found


def clauses(claim: str) -> list[str]:
    """Split a long claim into its sentences and clauses, each of at least ``CLAUSE_WORDS``
    words."""
    found: list[list[str]] = []
    before = CLAUSE_WORDS  # words of the previous clause
    for part in (part for sentence in sentences(claim) for part in _CLAUSE.split(sentence)):
        size = len(part.split())
        if found and min(size, before) < CLAUSE_WORDS:
            found[-1].append(part)
            before += size
        else:
            found.append([part])
            before = size
    return [", ".join(parts) for parts in found]
