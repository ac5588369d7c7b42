"""Ranking measures: from the grades of one ranked list to one number.

Every measure is a frozen dataclass whose fields are its parameters. It has a name that is written
as people write it (``nDCG(gain=exp)@20``) and that :func:`assay.measures.names.parse_measure` reads
back to an equal object. Adding a measure means adding one class to ``graded``, ``binary`` or
``diversity`` and one line to :data:`MEASURES`.

Conventions, from ``docs/measures.md`` (golden values are NTCIREVAL's):

* *grades* are the grades of the documents in rank order, ``None`` where a document was not judged;
  *ideal* holds every judged grade of the topic in any order; *g_max* is the highest **grade** of
  the scale, usually of the whole qrels. Measures with a gain function apply it to *g_max* too, so
  a caller never converts grades to gains.
* An unjudged document has gain 0. So has a document with a negative grade (TREC uses them for
  spam), which counts as judged all the same.
* A topic without anything to find scores 0, by every measure but ``Judged``.
* Ranks start at 1. Without a cutoff the whole list counts; the ideal list is cut like the list.
"""

from __future__ import annotations

from assay.measures.base import RELEVANT, APNorm, Gain, Grades, Measure
from assay.measures.binary import AP, RR, Judged, Precision, Recall, RPrecision, Success
from assay.measures.diversity import AlphaNDCG
from assay.measures.graded import ERR, IRBU, NDCG, NDCGJK, NERR, NIRBU, RBP, Q

__all__ = [
    "AP",
    "ERR",
    "IRBU",
    "MEASURES",
    "NDCG",
    "NDCGJK",
    "NERR",
    "NIRBU",
    "RBP",
    "RELEVANT",
    "RR",
    "APNorm",
    "AlphaNDCG",
    "Gain",
    "Grades",
    "Judged",
    "Measure",
    "Precision",
    "Q",
    "RPrecision",
    "Recall",
    "Success",
]

MEASURES: dict[str, type[Measure]] = {
    kind.name: kind
    for kind in (
        NDCG,
        NDCGJK,
        Q,
        AP,
        ERR,
        NERR,
        IRBU,
        NIRBU,
        RBP,
        Precision,
        RPrecision,
        RR,
        Recall,
        Success,
        AlphaNDCG,
        Judged,
    )
}
"""Every ranking measure by the name it is written with."""
