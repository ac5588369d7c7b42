"""How many questions of a bank an answer settles: one gold answer may do, or all may be needed.

Source: the nugget banks of RAGTIME (AND, OR) and Auto-Judge (also NOT, SUM).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from assay.measures.ranges import Range


def question_value(kind: str, given: Sequence[bool], *, partly: bool = False) -> float | None:
    """What an answer is worth for one question.

    ``kind``: ``OR``: 1 if any gold answer is given. ``AND``: 1 if all are. ``NOT``: 1 if
    none is. ``SUM``: the share that is. ``given``: of each gold answer whether it is given.
    ``partly``: whether AND is worth the share that is given. Returns None if there is no gold
    answer. Raises ValueError if ``kind`` is none of these.
    """
    if kind not in ("OR", "AND", "NOT", "SUM"):
        raise ValueError(f"{kind} is no way to put gold answers together")
    if not given:
        return None
    share = sum(given) / len(given)
    if kind == "SUM" or (kind == "AND" and partly):
        return share
    return float({"OR": any(given), "AND": all(given), "NOT": not any(given)}[kind])


def questions_range(
    questions: Iterable[tuple[str, Sequence[bool | None]]], *, partly: bool = False
) -> Range | None:
    """The mean of :func:`question_value` over the questions with gold answers, between its
    ends where it is not known (None) whether an answer is given; exact."""
    ends: list[tuple[float, float]] = []
    for kind, given in questions:
        tried = [
            question_value(kind, [instead if one is None else one for one in given], partly=partly)
            for instead in (False, True)
        ]
        known = [one for one in tried if one is not None]
        if known:
            ends.append((min(known), max(known)))
    if not ends:
        return None
    low, high = (sum(one[end] for one in ends) / len(ends) for end in (0, 1))
    return Range(low, high)
