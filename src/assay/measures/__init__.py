"""Evaluation measures as pure functions: nothing here reads a file or knows a protocol.

Ranking measures are objects: ``measures.nDCG @ 20``, ``measures.nDCG(gain="exp") @ 20``,
``measures.AP(rel=2)``. :func:`evaluate` scores runs with them. Import ``assay.measures.confidence``
(calibration and modesty) and ``assay.measures.bootstrap`` (intervals) by name.

Importing this package loads neither numpy nor polars; the first access to :func:`evaluate` does.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from assay.measures.base import MEASURES, Measure
from assay.measures.grades import Gain
from assay.measures.names import parse_measure
from assay.measures.ranking import cumulated, relevance, stopping, subtopics

if TYPE_CHECKING:
    from assay.measures.library import evaluate

__all__ = [
    "AP",
    "ERR",
    "MEASURES",
    "RBP",
    "RR",
    "DSharp_nDCG",
    "D_nDCG",
    "Gain",
    "I_rec",
    "Judged",
    "Measure",
    "P",
    "Q",
    "Recall",
    "Rprec",
    "Success",
    "alpha_nDCG",
    "evaluate",
    "iRBU",
    "nDCG",
    "nDCG_JK",
    "nERR",
    "niRBU",
    "parse_measure",
]

nDCG = cumulated.NDCG()
nDCG_JK = cumulated.NDCGJK()
Q = cumulated.Q()
AP = relevance.AP()
ERR = stopping.ERR()
nERR = stopping.NERR()
iRBU = stopping.IRBU()
niRBU = stopping.NIRBU()
RBP = stopping.RBP()
P = relevance.Precision()
Rprec = relevance.RPrecision()
RR = relevance.RR()
Recall = relevance.Recall()
Success = relevance.Success()
alpha_nDCG = subtopics.AlphaNDCG()
I_rec = subtopics.IRec()
D_nDCG = subtopics.DNDCG()
DSharp_nDCG = subtopics.DSharpNDCG()
Judged = relevance.Judged()


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__, *MEASURES})


def __getattr__(name: str) -> Any:
    if name == "evaluate":
        from assay.measures.library import evaluate as function  # noqa: PLC0415 (polars, numpy)

        return function
    if name in MEASURES:  # a measure defined elsewhere, for example by a user
        return MEASURES[name]()
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
