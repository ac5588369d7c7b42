"""Agreement, correlation and comparison from Python: ``assay.agree``, ``correlate``, ``compare``.

Each does what the command of its name does, and gives the rows of its ``--csv`` as a frame.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from numbers import Real
from os import PathLike
from pathlib import Path
from typing import Any

import polars as pl

from assay.api import agreeing, compared, correlating, frames
from assay.api.arguments import number_of
from assay.api.compared import Comparable, read_tables
from assay.api.measuring import required
from assay.api.reading import warn
from assay.api.undefined import LEVEL
from assay.formats.label_records import LabelTable, Unit, labels_of_words
from assay.formats.label_tables import LabelPair, read_labels
from assay.formats.parsed import FaultList, Parsed
from assay.formats.score_cells import ENDS
from assay.formats.score_matrices import ScoreMatrix
from assay.formats.score_tables import read_scores
from assay.measures.base import Measure
from assay.measures.tables import ALL
from assay.statistics import correlation
from assay.statistics.comparison import Test
from assay.statistics.correlation import CorrelationReport
from assay.statistics.shared_scores import Missing

Score = str | Measure
"""A score by its name, or as ``nDCG @ 10``."""
Scores = dict[str, dict[str, float | None]]
_IDS = ("topic", "run", "doc", "docid", "id")


def agree(
    a: Any,
    b: Any,
    *,
    scale: Sequence[float] | None = None,
    clip: bool = False,
    seed: int = 0,
) -> pl.DataFrame:
    """How well two labellers agree: raw agreement, κ and α with 95 % intervals over topics.

    ``a`` and ``b`` are files (qrels, CSV with topic, doc and label, what ``assay label`` wrote),
    frames with the columns ``label`` and whichever of ``topic``, ``run`` and ``doc`` (or ``id``)
    there are, as :func:`assay.label` gives them, topic → document → label as
    :func:`assay.read_qrels` gives it (−1: not judged), id → label, or lists of labels of the same
    things in the same order. Labels are numbers or words; no, partly, yes and the words of verdicts
    are in their order. ``scale`` are the labels that there are, as numbers. Raises FormatError for
    files, ValueError where nothing was labelled by both.
    """
    first, second = _labels(a), _labels(b)
    if not _has_ids(a) and not _has_ids(b) and len(first.labels) != len(second.labels):
        raise ValueError(
            f"a has {len(first.labels)} labels and b {len(second.labels)}: lists must be of the "
            "same things in the same order. Write None where there is no label."
        )
    labels = agreeing.LabelsOfTwo(LabelPair(first, second, scale, "a and b"), scale, clip, seed)
    found = agreeing.coefficients(labels.agreement(labels.pair.units))
    return frames.frame(agreeing.COLUMNS, (one.row for one in found))


def correlate(
    a: Any,
    b: Any,
    *,
    score: Score | tuple[Score, Score] | None = None,
    missing: Missing = "topics",
    p: float = 0.9,
    seed: int = 0,
) -> pl.DataFrame:
    """How two tables of scores correlate: τ, ρ, AP correlation and RBO of the runs, and where
    both have topics, over topics and over pairs.

    ``a`` (the truth of AP correlation) and ``b`` are files, frames (``run``, ``topic`` if there
    are any, and the score), or run → score, or run → topic → score. ``score`` names the column or
    measure, one for each where they differ; ``p`` is RBO's persistence. Raises FormatError for
    files, ValueError for scores that cannot be correlated.
    """
    scores = score if isinstance(score, tuple) else (score, score)
    if len(scores) != 2 or not all(isinstance(one, str | Measure | None) for one in scores):
        raise TypeError(f"score must be the name of a score, or one for each, not {score!r:.80}")
    names = [None if one is None else str(one) for one in scores]
    first, second = _scores("a", a, names[0]), _scores("b", b, names[1])
    report: CorrelationReport
    if first[1] and second[1]:
        report = correlation.correlate(first[1], second[1], p=p, missing=missing, seed=seed)
    else:
        report = correlation.correlate_runs(
            first[0] or first[1], second[0] or second[1], p=p, missing=missing
        )
    return frames.frame(correlating.COLUMNS, map(correlating.row_of, report.rows))


def compare(
    scores: Any,
    measures: Iterable[Score] | Score | None = None,
    *,
    test: Test | None = None,
    alpha: float = 0.05,
    seed: int = 0,
) -> pl.DataFrame:
    """Which differences between runs are real: every pair of runs with the difference, its 95 %
    interval, p-value (adjusted for all pairs) and effect size.

    ``scores`` are a frame with the columns ``run``, ``topic``, ``value`` and, for several measures,
    ``measure``, as ``measure(…, per_topic=True)`` gives; run → topic → score; or a CSV file.
    ``measures`` (names, or as ``nDCG @ 10``) are those that are compared, all by default; ends of
    ranges, too (``AP:floor``), and of a file measures of confidence (HMR …). ``test`` is tukey, t,
    randomisation or bootstrap; of confidences always randomisation. Topics that some run lacks are
    left out with a warning. Raises ValueError, or FormatError, where fewer than two runs or topics
    are left.
    """
    number_of(alpha, "alpha", "a number between 0 and 1")
    several = [measures] if isinstance(measures, str | Measure) else measures
    if several is not None and not isinstance(several, Iterable):
        raise TypeError(f"measures must be names of measures, not {measures!r:.80}")
    inputs = _comparable(scores, [str(one) for one in several or ()] or None)
    found = [
        compared.compared(one, warn, test=test, alpha=alpha, level=LEVEL, seed=seed)
        for one in inputs
    ]
    return frames.frame(compared.COLUMNS, (row for one in found for row in one.rows()))


# -- what is given --------------------------------------------------------------------------------


def _labels(given: Any) -> LabelTable:
    if isinstance(given, str | PathLike):
        return required(read_labels(given))
    if isinstance(given, Mapping):
        return _mapped(given)
    if not _has_ids(given):
        if not isinstance(given, Iterable):
            what = "a file, a frame, a dict or a list"
            raise TypeError(f"labels must be {what}, not {_kind(given)}")
        return _table({("", "", str(n)): one for n, one in enumerate(given)})
    frame = _polars(given)
    if "label" not in frame.columns:
        raise ValueError(f"the frame has no column 'label'; it has {', '.join(frame.columns)}")
    doc = next((name for name in ("doc", "docid", "id") if name in frame.columns), None)
    blank = pl.lit("")
    topic, run, document = (
        pl.col(name).cast(pl.String) if name in frame.columns else blank
        for name in ("topic", "run", doc or "")
    )
    labels: dict[Unit, Any] = {}
    for *place, label in frame.select(
        topic.alias("topic"), run.alias("run"), document.alias("doc"), pl.col("label")
    ).iter_rows():
        unit: Unit = (place[0], place[1], place[2])
        if unit in labels:
            raise ValueError(f"{' '.join(filter(None, unit))} is labelled twice")
        labels[unit] = label
    return replace(_table(labels), runs="run" in frame.columns)


def _table(labels: Mapping[Unit, Any]) -> LabelTable:
    """Labels that are numbers, or words as those of ``assay.label``."""
    given = {unit: None if one is None or one != one else one for unit, one in labels.items()}
    if any(isinstance(one, str) for one in given.values()):
        return labels_of_words(given)
    return LabelTable(given)


def _mapped(given: Mapping[Any, Any]) -> LabelTable:
    """Labels by topic and document, or by an id of whatever they are of."""
    nested = [isinstance(one, Mapping) for one in given.values()]
    if any(nested) and not all(nested):
        name = next(name for name, one in given.items() if not isinstance(one, Mapping))
        raise TypeError(
            f"{name!r} has a label, and others have labels by document: give id → label, or topic "
            "→ document → label"
        )
    if not any(nested):
        return _table({("", "", str(name)): one for name, one in given.items()})
    labels: dict[Unit, float | None] = {
        (str(topic), "", str(doc)): label
        for topic, documents in given.items()
        for doc, label in documents.items()
    }
    return LabelTable(labels, qrels=True)


def _has_ids(given: Any) -> bool:
    """Whether labels say what they are of; those of a list do by their places alone."""
    return isinstance(given, str | PathLike | Mapping) or hasattr(given, "columns")


def _kind(given: object) -> str:
    return f"{type(given).__name__} ({given!r:.60})"


def _scores(argument: str, given: Any, name: str | None) -> tuple[dict[str, float | None], Scores]:
    """One score a run, and the scores of topics; one of them may be empty."""
    if isinstance(given, str | PathLike):
        table = required(read_scores(given, name))
        by_topic = {run: dict(scores) for run, scores in table.by_topic.items()}
        return (dict(table.means) if table.has_own_means else {}), by_topic
    if isinstance(given, Mapping):
        if any(isinstance(one, Mapping) for one in given.values()):
            return {}, {run: dict(scores) for run, scores in given.items()}
        return dict(given), {}
    frame = _polars(given, argument)
    if "run" not in frame.columns:
        raise ValueError(f"{argument} has no column run; it has {', '.join(frame.columns)}")
    if name is not None and "measure" in frame.columns:
        frame, name = _of_measure(frame, name), "value"
    column = name or _only_score(frame)
    if column not in frame.columns:
        raise ValueError(f"{argument} has no column {column!r}; it has {', '.join(frame.columns)}")
    if "topic" not in frame.columns:
        return dict(frame.select("run", column).iter_rows()), {}
    means = frame.filter(pl.col("topic") == ALL)
    return dict(means.select("run", column).iter_rows()), _by_topic(frame, column)


def _of_measure(frame: pl.DataFrame, name: str) -> pl.DataFrame:
    """The rows of a measure, or of an end of its ranges (``AP:floor``), as ``value``."""
    known = frame["measure"].unique(maintain_order=True).to_list()
    measure, _, end = name.rpartition(":")
    if measure in known and end in ENDS and end in frame.columns:
        return frame.filter(pl.col("measure") == measure).with_columns(value=pl.col(end))
    if name not in known:
        raise ValueError(f"there is no measure {name!r}; there are {', '.join(known)}")
    return frame.filter(pl.col("measure") == name)


def _only_score(frame: pl.DataFrame) -> str:
    """``score`` or ``value``, as of files, else the only other column."""
    measures = frame["measure"].unique().sort().to_list() if "measure" in frame.columns else []
    others = [name for name in frame.columns if name not in ("run", "topic", "measure")]
    usual = [name for name in ("score", "value") if name in others]
    if len(measures) > 1 or len(usual or others) != 1:
        several = ", ".join(measures if len(measures) > 1 else others)
        raise ValueError(f"the frame holds several scores: name one by score= ({several})")
    return (usual or others)[0]


def _by_topic(frame: pl.DataFrame, column: str) -> Scores:
    found: Scores = {}
    single = frame.filter(pl.col("topic") != ALL)
    for run, topic, value in single.select("run", "topic", column).iter_rows():
        own = found.setdefault(str(run), {})
        if str(topic) in own:
            raise ValueError(f"run {run} has two scores of topic {topic}")
        own[str(topic)] = value
    return found


def _comparable(given: Any, wanted: list[str] | None) -> Iterator[Comparable]:
    if isinstance(given, str | PathLike):
        names: list[str | None] = [None] if wanted is None else [*wanted]
        yield from read_tables(Path(given), names, warn, option="measures=")
        return
    if isinstance(given, Mapping):
        yield _whole("value" if wanted is None else wanted[0], given)
        return
    frame = _polars(given)
    lacking = [name for name in ("run", "topic", "value") if name not in frame.columns]
    if lacking:
        raise ValueError(
            f"the frame lacks {' and '.join(lacking)}: runs are compared topic by topic. Give e.g. "
            "per_topic of an evaluation, or what measure(…, per_topic=True) gives."
        )
    if frame.height and (frame["topic"] == ALL).all():
        raise ValueError("the frame holds means alone: measure(…, per_topic=True) has the topics")
    if "measure" not in frame.columns:
        yield _whole("value", _by_topic(frame, "value"))
        return
    for name in wanted or frame["measure"].unique(maintain_order=True).to_list():
        yield _whole(name, _by_topic(_of_measure(frame, name), "value"))


def _whole(name: str, by_run: Mapping[str, Mapping[str, float | None]]) -> ScoreMatrix:
    for run, scores in by_run.items():
        if not isinstance(scores, Mapping):
            raise TypeError(f"run {run!r} must be topic → score, not {_kind(scores)}")
        odd = next((t for t, one in scores.items() if not isinstance(one, Real | None)), None)
        if odd is not None:
            raise ValueError(f"run {run}, topic {odd}: {scores[odd]!r} is no number")
    faults = FaultList(name)
    matrix = ScoreMatrix.of(name, by_run, faults)
    return required(Parsed(matrix, faults.done()))


def _polars(given: Any, argument: str = "scores") -> pl.DataFrame:
    """A frame with texts as ids and null where pandas has NaN. Raises TypeError for what is no
    table, ValueError for a row without an id."""
    if not hasattr(given, "columns"):
        raise TypeError(f"{argument} must be a file, a frame or a dict of runs, not {_kind(given)}")
    if isinstance(given, pl.DataFrame):
        frame = given.fill_nan(None)
    else:
        columns = {
            str(name): [None if one is None or one != one else one for one in given[name]]
            for name in given.columns
        }
        frame = pl.DataFrame(columns)
    ids = [name for name in _IDS if name in frame.columns]
    for name in ids:
        if frame[name].null_count():
            row = frame[name].is_null().arg_true()[0] + 1
            raise ValueError(f"row {row} of the frame has no {name}")
    return frame.with_columns(pl.col(ids).cast(pl.String))
