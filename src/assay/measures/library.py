"""``evaluate``: score runs in memory and return a table. Public as ``assay.measure``."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Mapping
from numbers import Real
from typing import TYPE_CHECKING, Any

from assay.measures.base import Measure
from assay.measures.inputs import to_runs
from assay.measures.names import parse_measure
from assay.measures.order import TIES, Ties
from assay.measures.run_scores import IDEALS, Ideal, evaluate_runs
from assay.measures.tables import TOPICS, Topics, frame, rows

if TYPE_CHECKING:
    import polars as pl


def parse_measures(measures: Any) -> list[Measure]:
    """Turn a measure or its name, or several of these, into a list of measures. Raises ValueError
    for anything else in the list, and TypeError if it cannot be iterated over."""
    several = [measures] if isinstance(measures, str | Measure | type) else measures
    if not isinstance(several, Iterable):
        raise TypeError(f"measures must be measures or their names, not {measures!r}")
    parsed = []
    for measure in several:
        if not isinstance(measure, str | Measure):
            is_class = isinstance(measure, type) and issubclass(measure, Measure)
            cure = f": write {measure.__name__}()" if is_class else ""
            raise ValueError(f"{measure!r} is neither a measure nor its name{cure}")
        if isinstance(measure, str):
            measure = parse_measure(measure)
        parsed.append(measure.require_cutoff())
    return parsed


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

    ``qrels``: topic → document id → grade; or a DataFrame (pandas, polars) with the columns ``qid
    docno label`` (pyterrier) or ``query_id doc_id relevance`` (ir_measures); or ir_measures'
    ``Qrel`` tuples. ``runs``: name → run, where a run is topic → document id → score, topic →
    document ids in rank order, a DataFrame (``qid docno score`` or ``query_id doc_id score``), or
    ir_measures' ``ScoredDoc`` tuples. A single DataFrame may hold several runs, named by its
    column ``run``; without that column it is one run, called ``run``.
    ``measures``: one or several measures (``nDCG @ 20``) or names (``"nDCG@20"``).
    ``per_topic``: whether to return the score of each topic, too. ``topics``: ``qrels`` for the
    mean over all topics of the qrels, with 0 where the run has no documents; ``answered`` for the
    mean over those that the run has. ``ties``: what decides between equal scores, see
    :data:`assay.measures.order.Ties`. ``g_max``: the highest grade of the scale; by default the
    highest in the qrels. ``ideal``: what the ideal lists, and R, are made of: everything judged
    (``qrels``), or only what the run itself shows (``run``). ``subtopics``: topic → subtopic →
    document id → grade.

    Returns a table with the columns ``run``, ``topic`` (``all`` for the mean), ``measure``,
    ``value`` and ``reason``. An undefined value is null, and ``reason`` says why; no value is NaN.
    Raises ValueError if a measure or setting is unknown, a table lacks a column, a document is
    ranked or judged twice, a score or grade is not a finite number, or a grade is above ``g_max``.
    Warns if a run has topics, but none of them is in the qrels.
    """
    for name, value, choices in (
        ("topics", topics, TOPICS),
        ("ties", ties, TIES),
        ("ideal", ideal, IDEALS),
    ):
        if value not in choices:
            raise ValueError(f"{name} must be one of {', '.join(choices)}, got {value!r}")
    wanted = parse_measures(measures)
    runs_by_name = to_runs(runs)
    for name, run in runs_by_name.items():
        if isinstance(run, Mapping) and any(isinstance(value, Real) for value in run.values()):
            raise ValueError(
                f"runs must be name → run, but {name!r} holds scores of documents: "
                "write {'my run': run}"
            )
    scores = evaluate_runs(
        qrels, runs_by_name, wanted, g_max=g_max, ties=ties, ideal=ideal, subtopics=subtopics
    )
    for name, own in scores.items():
        if own.unjudged and not own.answered.any():
            warnings.warn(
                f"run {name}: none of its {len(own.unjudged)} topics (the first is "
                f"{own.unjudged[0]!r}) is in the qrels (there it is {own.topics[0]!r})",
                stacklevel=2,
            )
    measures_by_name = {str(measure): measure for measure in wanted}
    return frame(rows(scores, measures_by_name, topics, per_topic=per_topic))
