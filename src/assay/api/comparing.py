"""Agreement, correlation and comparison from Python: ``assay.agree``, ``correlate``, ``compare``.

Each works like the command of the same name and returns the rows of its ``--csv`` as a frame.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from numbers import Integral, Real
from os import PathLike
from pathlib import Path
from typing import Any, TypeVar

import polars as pl

from assay.api import agreeing, compared, correlating, frames
from assay.api.arguments import number_of
from assay.api.compared import Comparable, read_tables
from assay.api.measuring import required
from assay.api.reading import warn
from assay.api.undefined import LEVEL
from assay.formats.cells import Cells
from assay.formats.label_records import LabelTable, Unit, labels_of_words
from assay.formats.label_tables import LabelPair, read_labels
from assay.formats.parsed import FaultList, Parsed
from assay.formats.score_matrices import ScoreMatrix
from assay.formats.score_tables import ScoreTable, parse_scores, read_scores
from assay.measures.base import Measure
from assay.model.errors import FormatError
from assay.statistics.comparison import Test
from assay.statistics.shared_scores import Missing

T = TypeVar("T")

Score = str | Measure
"""The name of a score, or a measure such as ``nDCG @ 10``."""


def agree(
    a: Any,
    b: Any,
    *,
    scale: Sequence[float] | None = None,
    clip: bool = False,
    seed: int = 0,
) -> pl.DataFrame:
    """Agreement of two labellers: raw agreement, κ and α with 95 % intervals over topics.

    ``a`` and ``b`` are each one of:

    - a file: qrels, a CSV file with topic, doc and label, or output of ``assay label``;
    - a frame with the column ``label`` and any of ``topic``, ``run`` and ``doc`` (or ``id``), such
      as the result of :func:`assay.label`;
    - a mapping: id → label, or topic → document → label as from :func:`assay.read_qrels` (−1: not
      judged);
    - a list of labels, if both list the same units in the same order.

    Labels are numbers, or words with a known order (no, partly, yes; the words of verdicts).
    ``scale`` lists the possible labels as numbers; ``clip`` moves others to its nearest end. Raises
    FormatError for files, ValueError if no unit has a label in both.
    """
    first, second = _labels(a), _labels(b)
    if not _has_ids(a) and not _has_ids(b) and len(first.labels) != len(second.labels):
        raise ValueError(
            f"a has {len(first.labels)} labels and b {len(second.labels)}: the lists must be "
            "about the same things in the same order. Write None if there is no label."
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
    """Correlation of two tables of scores: τ, ρ, AP correlation and RBO over runs, and, if both
    have scores by topic, over topics and over topic–run pairs.

    ``a`` (the reference for AP correlation) and ``b`` are files, frames with ``run``, the score
    and optionally ``topic``, or mappings run → score or run → topic → score. ``score`` names the
    column or measure, or is a pair of names if they differ. ``p`` is RBO's persistence. Raises
    FormatError for files, ValueError if the scores cannot be correlated.
    """
    scores = score if isinstance(score, tuple) else (score, score)
    if len(scores) != 2 or not all(isinstance(one, str | Measure | None) for one in scores):
        raise TypeError(
            f"score must be the name of a score, or one name for each, not {score!r:.80}"
        )
    names = [None if one is None else str(one) for one in scores]
    tables = _scores("a", a, names[0], "score="), _scores("b", b, names[1], "score=")
    report = correlating.report_of(*tables, p=p, missing=missing, seed=seed)
    return frames.frame(correlating.COLUMNS, map(correlating.row_of, report.rows))


def compare(
    scores: Any,
    measures: Iterable[Score] | Score | None = None,
    *,
    test: Test | None = None,
    alpha: float = 0.05,
    seed: int = 0,
) -> pl.DataFrame:
    """Test the differences between runs: a row for every pair of runs with the difference, its
    95 % interval, the p-value (adjusted for all pairs) and the effect size.

    ``scores`` is a frame with the columns ``run``, ``topic``, ``value`` and, for several measures,
    ``measure``, as returned by ``measure(…, per_topic=True)``; a mapping run → topic → score; or a
    CSV file. ``measures`` are the measures to compare (default: all), as names or as ``nDCG @ 10``.
    An end of a range can be compared too (``AP:floor``), and, from a file, measures of confidence
    (HMR …). ``test`` is tukey, t, randomisation or bootstrap; confidences always use randomisation.
    Topics missing from any run are left out with a warning. Raises ValueError, or FormatError for
    files, if fewer than two runs or topics remain.
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


# -- reading the arguments ------------------------------------------------------------------------


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
    names, rows = _rows(given, "labels")
    if "label" not in names:
        raise ValueError(f"the frame has no column 'label'; it has {', '.join(names)}")
    doc = next((name for name in ("doc", "docid", "id") if name in names), "")
    label = names.index("label")
    columns = [(name, names.index(name)) for name in ("topic", "run", doc) if name in names]
    labels: dict[Unit, Any] = {}
    for number, row in enumerate(rows, 1):
        ids = {name: _id_in(row[at], name, number) for name, at in columns}
        unit = (ids.get("topic", ""), ids.get("run", ""), ids.get(doc, ""))
        if unit in labels:
            raise ValueError(f"{' '.join(filter(None, unit))} is labelled twice")
        labels[unit] = row[label]
    return replace(_table(labels), runs="run" in names)


def _id_in(given: object, name: str, row: int) -> str:
    if given is None:
        raise ValueError(f"row {row} of the frame has no {name}")
    return str(given)


def _table(labels: Mapping[Unit, Any]) -> LabelTable:
    """A table of labels that are numbers, or words like those of ``assay.label``."""
    given = {unit: None if _lacks(one) else one for unit, one in labels.items()}
    if any(isinstance(one, str) for one in given.values()):
        return labels_of_words(given)
    return LabelTable(given)


def _mapped(given: Mapping[Any, Any]) -> LabelTable:
    """A table of labels from topic → document → label, or id → label."""
    nested = [isinstance(one, Mapping) for one in given.values()]
    if any(nested) and not all(nested):
        name = next(name for name, one in given.items() if not isinstance(one, Mapping))
        raise TypeError(
            f"{name!r} has one label, but others have labels by document: give id → label, or "
            "topic → document → label"
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
    """Whether labels name their units; those of a list are matched by position only."""
    return isinstance(given, str | PathLike | Mapping) or hasattr(given, "columns")


def _kind(given: object) -> str:
    return f"{type(given).__name__} ({given!r:.60})"


def _scores(argument: str, given: Any, name: str | None, option: str) -> ScoreTable:
    """One score of each run. Frames and dicts must follow the rules for files, or ValueError is
    raised. ``option`` is what messages call the argument with the score's ``name``."""
    if isinstance(given, str | PathLike):
        return required(read_scores(given, name))
    return _scores_in(_cells(argument, given, name), argument, name, option)


def _scores_in(cells: Cells, argument: str, name: str | None, option: str) -> ScoreTable:
    faults = FaultList(argument)
    table = parse_scores(cells, name, option, faults)
    return _valid(Parsed(table, faults.done()))


def _cells(argument: str, given: Any, name: str | None) -> Cells:
    """Convert a frame, run → score, or run → topic → score to the table a file would hold."""
    rows: Iterable[Sequence[object]]
    score = name or "value"
    if not isinstance(given, Mapping):
        header, rows = _rows(given, argument)
    elif any(isinstance(one, Mapping) for one in given.values()):
        header = ["run", "topic", score]
        rows = (
            (run, topic, value)
            for run, scores in given.items()
            for topic, value in _topics_of(run, scores).items()
        )
    else:
        header, rows = ["run", score], given.items()
    texts = (tuple(map(_text, row)) for row in rows)
    return Cells(0, tuple(header), tuple(enumerate(texts, 1)))


def _text(given: Any) -> str:
    """The text a file would hold; booleans, fractions and narrow floats are written as numbers."""
    if _lacks(given):
        return ""
    number = int if isinstance(given, Integral) else float if isinstance(given, Real) else str
    return str(number(given))


def _topics_of(run: object, scores: object) -> Mapping[Any, Any]:
    if isinstance(scores, Mapping):
        return scores
    raise TypeError(f"run {run!r} must be topic → score, not {_kind(scores)}")


def _valid(parsed: Parsed[T]) -> T:
    """The parsed value of an object in memory. Raises ValueError if it has faults."""
    try:
        return required(parsed)
    except FormatError as error:
        raise ValueError(str(error)) from None


def _comparable(given: Any, wanted: list[str] | None) -> Iterator[Comparable]:
    if isinstance(given, str | PathLike):
        files: list[str | None] = [None] if wanted is None else [*wanted]
        yield from read_tables(Path(given), files, warn, option="measures=")
        return
    names: Iterable[str | None] = wanted or [None]
    if wanted is None and "measure" in getattr(given, "columns", ()):
        names = dict.fromkeys(given["measure"])
    frame = None if isinstance(given, Mapping) else _cells("scores", given, None)
    for name in names:
        cells = frame or _cells("scores", given, name)
        table = _scores_in(cells, "scores", name, "measures=")
        if not table.by_topic:
            raise ValueError(
                "scores has no scores of single topics, but runs are compared topic by topic. "
                "Give e.g. per_topic of an evaluation, or the result of measure(…, "
                "per_topic=True)."
            )
        faults = FaultList(table.name)
        matrix = ScoreMatrix.of(table.name, table.by_topic, faults, uncertain=table.uncertain)
        yield required(Parsed(matrix, faults.done()))


def _rows(given: Any, argument: str) -> tuple[list[str], Iterator[tuple[Any, ...]]]:
    """Column names and rows of a frame, with None in place of pandas' NaN. Raises TypeError if it
    is not a frame."""
    if not hasattr(given, "columns"):
        raise TypeError(f"{argument} must be a file, a frame or a dict of runs, not {_kind(given)}")
    columns = ([None if _lacks(one) else one for one in given[name]] for name in given.columns)
    return [str(name) for name in given.columns], zip(*columns, strict=True)


def _lacks(given: Any) -> bool:
    """Whether a cell is empty: None, NaN or pandas' NA, which does not even equal itself."""
    return given is None or str(given == given) != "True"
