"""Scores of answers by the questions of a nugget bank, each with one or more gold answers.

Source: the nugget banks of RAGTIME (AND, OR) and Auto-Judge (also NOT, SUM).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from assay.measures.ranges import Range


def question_value(kind: str, given: Sequence[bool], *, partly: bool = False) -> float | None:
    """The score of an answer for one question, or None if the question has no gold answer.

    ``kind``: with ``OR``, the score is 1 if any gold answer is given; with ``AND``, if all are;
    with ``NOT``, if none is; with ``SUM``, it is the share that is given. ``given``: whether the
    answer gives each gold answer. ``partly``: whether AND scores the share, too. Raises ValueError
    if ``kind`` is none of these.
    """
    if kind not in ("OR", "AND", "NOT", "SUM"):
        raise ValueError(f"{kind} is not a way to put gold answers together")
    if not given:
        return None
    share = sum(given) / len(given)
    if kind == "SUM" or (kind == "AND" and partly):
        return share
    return float({"OR": any(given), "AND": all(given), "NOT": not any(given)}[kind])


def questions_range(
    questions: Iterable[tuple[str, Sequence[bool | None]]], *, partly: bool = False
) -> Range | None:
    """The exact range of the mean of :func:`question_value` over the questions with gold answers,
    if it is unknown (None) whether some of these are given. None without any question."""
    lows: list[float] = []
    highs: list[float] = []
    for kind, given in questions:
        completions = (
            question_value(kind, [instead if one is None else one for one in given], partly=partly)
            for instead in (False, True)
        )
        values = [value for value in completions if value is not None]
        if values:
            lows.append(min(values))
            highs.append(max(values))
    if not lows:
        return None
    return Range(sum(lows) / len(lows), sum(highs) / len(highs))
