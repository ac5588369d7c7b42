"""From the labels of a record to its scores, each from floor to ceiling."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from assay.measures.arrays import Floats
from assay.measures.claims import (
    ANSWER_CELLS,
    LOWER_IS_BETTER,
    REFERENCE_CELLS,
    ClaimLabels,
    answer_scores,
    average_precision,
    f1,
    reference_scores,
    share,
)
from assay.measures.ranges import OPEN, Range
from assay.measures.support import Citations, support_scores
from assay.model.records import Record
from assay.protocols.rag.judged import JudgedRecord, entailed

RELEVANT = 2
"""The lowest relevant grade of a passage; for claims it is 1."""

RETRIEVAL = ("ContextPrecision", "ContextRelevance", "ContextAP")
WITH_REFERENCE = (
    "ClaimPrecision", "ClaimRecall", "ClaimF1", "Correct", "ContextRecall",
    "ContextPrecision(claims)", *ANSWER_CELLS, *REFERENCE_CELLS,
)  # fmt: skip
HALF = ("Faithfulness~", "ClaimRecall~", "ContextRecall~")
LOWER = LOWER_IS_BETTER | {"DeclinedWrongly"}
_ZERO, _ONE = Range.certain(0.0), Range.certain(1.0)

Values = dict[str, Range]


def open_range(measure: str) -> Range:
    """The range of a measure about which nothing is known, the worst end first."""
    return Range(1.0, 0.0) if measure in LOWER else OPEN


def worst(*, reference: bool, cites: bool, half: bool) -> Values:
    """The scores of a missing record, for a question that can be answered."""
    names = ["Faithfulness", "AnswerRelevance", *RETRIEVAL]
    if reference:
        names += WITH_REFERENCE
    if cites:
        names += ["CitationPrecision", "CitationRecall"]
    if half:
        names += [name for name in HALF if reference or name == "Faithfulness~"]
    bad = {"NoClaim", "Missed"}
    return {"DeclinedWrongly": _ONE} | {name: _ONE if name in bad else _ZERO for name in names}


def scores(
    record: Record, judged: JudgedRecord, *, cites: bool, half: bool, citations: Citations
) -> Values:
    """The scores of a record, for a question that can be answered. A refusal, or an answer without
    claims, counts as the worst possible answer, but the retriever's measures stand. If it is
    unknown whether the answer declines, ranges include both cases."""
    branches = []
    silent = judged.claims == ()
    if not silent:
        answered = _answered(record, judged, half=half)
        if cites:
            answered |= _citations(record, judged, citations)
        branches.append({"DeclinedWrongly": _ZERO, **answered})
    if silent or judged.declined is None:
        silent_scores = worst(reference=bool(judged.references), cites=cites, half=half)
        if record.answer and judged.declined is False:
            silent_scores["DeclinedWrongly"] = _ZERO
        branches.append({**silent_scores, **_of_references(judged, half=half, silent=True)})
    found = branches[0] if len(branches) == 1 else _wider(*branches)
    return {**found, **_retrieved(judged)}


def _wider(one: Values, other: Values) -> Values:
    found = {}
    for name, a in one.items():
        b = other[name]
        ends = (max, min) if name in LOWER else (min, max)
        found[name] = Range(ends[0](a.floor, b.floor), ends[1](a.ceiling, b.ceiling))
    return found


def _answered(record: Record, judged: JudgedRecord, *, half: bool) -> Values:
    own = ("Faithfulness", "AnswerRelevance", "ClaimPrecision", *ANSWER_CELLS)
    found: Values = {}
    references = bool(judged.references)
    if judged.claims is None:  # not split yet, or cut
        found |= {name: open_range(name) for name in own[: None if references else 2]}
        found |= {"Faithfulness~": open_range("Faithfulness~")} if half else {}
    else:
        labels = ClaimLabels(
            entailed(judged.e), judged.c, np.zeros((0, len(judged.grades))), np.zeros(0),
            judged.relevant,
        )  # fmt: skip
        found |= answer_scores(labels, reference=references)
        grades = judged.claim_grades
        found["AnswerRelevance"] = share(np.where(np.isnan(grades), np.nan, grades >= 1))
        if half:
            found["Faithfulness~"] = _half(judged.e)
    if references:
        correct = judged.correct
        found["Correct"] = open_range("Correct") if np.isnan(correct) else Range.certain(correct)
        found |= _of_references(judged, half=half)
        found["ClaimF1"] = f1(found["ClaimPrecision"], found["ClaimRecall"])
    return found


def _of_references(judged: JudgedRecord, *, half: bool, silent: bool = False) -> Values:
    """What became of the references' claims. References are alternatives: recall has the largest
    floor and the largest ceiling of any, the other measures are those of the best one."""
    if not judged.references:
        return {}
    names = ("ClaimRecall", "ContextRecall", "ContextPrecision(claims)", *REFERENCE_CELLS)
    best = judged.best(silent=silent)
    if best is None or not judged.split:
        found = {name: open_range(name) for name in names}
        if silent:
            found |= {"ClaimRecall": _ZERO, "UsedFound": _ZERO, "UsedOwn": _ZERO}
        if half:
            found |= {name: open_range(name) for name in HALF[1:]}
        return found
    found = reference_scores(best)
    every = [share(one.u) for one in judged.labels(silent=silent)]
    found["ClaimRecall"] = Range(max(a for a, _ in every), max(b for _, b in every))
    if half:
        at = max(range(len(judged.u)), key=lambda k: share(entailed(judged.u[k])))
        found["ContextRecall~"] = _half(judged.r[at])
        found["ClaimRecall~"] = _ZERO if silent else _half(judged.u[at][:, None])
    return found


def _half(worth: Floats) -> Range:
    """The mean over claims of the best support, with partial support as a half."""
    if not worth.size:  # no claim, or no passage
        return _ZERO
    low, high = np.nan_to_num(worth), np.nan_to_num(worth, nan=1.0)
    return Range(float(low.max(axis=1).mean()), float(high.max(axis=1).mean()))


def _retrieved(judged: JudgedRecord) -> Values:
    grades = judged.grades
    if not len(grades):
        return dict.fromkeys(RETRIEVAL, _ZERO)
    relevant = np.where(np.isnan(grades), np.nan, grades >= RELEVANT)
    low, high = np.nan_to_num(grades), np.nan_to_num(grades, nan=3.0)
    return {
        "ContextPrecision": share(relevant),
        "ContextRelevance": Range(float(low.mean()) / 3, float(high.mean()) / 3),
        "ContextAP": average_precision(relevant),
    }


def _citations(record: Record, judged: JudgedRecord, which: Citations) -> Values:
    names = ("CitationPrecision", "CitationRecall")
    if judged.claims is None:
        return {name: open_range(name) for name in names}
    ends = []
    for missing in (0.0, 1.0):
        filled = [[missing if one is None else one for one in of] for of in judged.cited]
        values = support_scores(filled, citations=which).values
        ends.append([values[f"weighted_{name}"] or 0.0 for name in ("precision", "recall")])
    return {name: Range(low, high) for name, low, high in zip(names, *ends, strict=True)}


# -- over questions -------------------------------------------------------------------------------


def decline_precision(open_or_declined: Iterable[tuple[bool | None, bool]]) -> Range | None:
    """The share of answers that decline whose questions cannot be answered; None if none declines.
    Each pair says whether an answer declines (None if unknown) and whether its question can be
    answered."""
    low = high = low_of = high_of = 0
    for declined, answerable in open_or_declined:
        if declined is None:
            low_of += answerable
            high += not answerable
            high_of += not answerable
        elif declined:
            low += not answerable
            high += not answerable
            low_of += 1
            high_of += 1
    if not low_of and not high_of:
        return None
    return Range(low / low_of if low_of else 0.0, high / high_of if high_of else 0.0)
