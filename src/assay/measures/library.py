"""Runs that are in memory to a table of scores: the library's front door."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Mapping
from numbers import Real
from typing import TYPE_CHECKING, Any

from assay.measures.base import Measure
from assay.measures.frames import IDEALS, Ideal, evaluate_runs
from assay.measures.inputs import to_runs
from assay.measures.names import parse_measure
from assay.measures.order import TIES, Ties
from assay.measures.tables import TOPICS, Topics, frame, rows

if TYPE_CHECKING:
    import polars as pl


def measures_of(given: Any) -> list[Measure]:
    """Measures of a script: one or several, each a measure or its name. Raises ValueError for what
    is neither."""
    several = [given] if isinstance(given, str | Measure | type) else given
    if not isinstance(several, Iterable):
        raise TypeError(f"measures must be measures or their names, not {given!r}")
    found = []
    for one in several:
        if not isinstance(one, str | Measure):
            own = isinstance(one, type) and issubclass(one, Measure)
            cure = f": write {one.__name__}()" if own else ""
            raise ValueError(f"{one!r} is neither a measure nor its name{cure}")
        found.append(parse_measure(one) if isinstance(one, str) else one.ready())
    return found


def evaluate(
    qrels: Any,
    runs: Mapping[str, Any] | Any,
    measures: Iterable[Measure | str] | Measure | str,
    *,
    per_topic: bool = False,
    topics: Topics = "qrels",
    ties: Ties = "trec",
    g_max: float | None = None,
    ideal: Ideal = "qrels",
    subtopics: Mapping[str, Mapping[str, Mapping[str, float]]] | None = None,
) -> pl.DataFrame:
    """Score runs against relevance grades.

    Warns:
        UserWarning: a run has topics, but none of the qrels'.

    ``qrels``: topic → document id → grade; or a DataFrame (pandas, polars) with the columns ``qid
    docno label`` (pyterrier) or ``query_id doc_id relevance`` (ir_measures); or ir_measures'
    ``Qrel`` tuples. ``runs``: name → run, where a run is topic → document id → score, topic →
    document ids in rank order, a DataFrame (``qid docno score`` or ``query_id doc_id score``), or
    ir_measures' ``ScoredDoc`` tuples. A DataFrame by itself holds the runs of its column ``run``,
    or without it one, called ``run``.
    ``measures``: measures (``nDCG @ 20``) or their names (``"nDCG@20"``), or a single one.
    ``per_topic``: single topics too, before each mean. ``topics``: what the mean is taken over:
    ``qrels`` for all topics of the qrels, 0 if the run is silent; ``answered`` for those that
    the run has. ``ties``: what decides between equal scores, see :data:`assay.measures.order.Ties`.
    ``g_max``: the highest grade of the scale; by default the highest in the qrels. ``ideal``: what
    the ideal lists, and R, are made of: everything judged (``qrels``), or what the ``run`` itself
    shows. ``subtopics``: topic → subtopic → document id → grade. Returns a table with
    the columns ``run``, ``topic`` (``all`` for the mean), ``measure``, ``value`` and ``reason``. A
    value that is not defined is null, and its reason says why; otherwise the reason is null. No
    value is NaN. Raises ValueError if a name is no measure, a setting is unknown, a table lacks
    a column, a document is ranked or judged twice, a score or grade is not a finite number, or a
    grade is above ``g_max``.
    """
    for name, given, known in (
        ("topics", topics, TOPICS),
        ("ties", ties, TIES),
        ("ideal", ideal, IDEALS),
    ):
        if given not in known:
            raise ValueError(f"{name} must be one of {', '.join(known)}, got {given!r}")
    wanted = measures_of(measures)
    named = to_runs(runs)
    for name, run in named.items():
        if isinstance(run, Mapping) and any(isinstance(one, Real) for one in run.values()):
            raise ValueError(
                f"runs must be name → run, but {name!r} holds scores of documents: "
                "write {'my run': run}"
            )
    scores = evaluate_runs(
        qrels, named, wanted, g_max=g_max, ties=ties, ideal=ideal, subtopics=subtopics
    )
    for name, found in scores.items():
        if found.unjudged and not found.answered.any():
            warnings.warn(
                f"run {name}: none of its {len(found.unjudged)} topics (the first is "
                f"{found.unjudged[0]!r}) is in the qrels (there it is {found.topics[0]!r})",
                stacklevel=2,
            )
    named_measures = {str(one): one for one in wanted}
    return frame(rows(scores, named_measures, topics, per_topic=per_topic))
