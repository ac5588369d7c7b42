"""Results as polars frames: scores and labels, passages, runs and answers."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import orjson
import polars as pl

from assay.api.results import Results
from assay.ledger import Ledger
from assay.model.labels import Label
from assay.model.rag import AnswerRun
from assay.model.trec_rag import RagRun
from assay.protocols.evaluation import Evaluation
from assay.protocols.places import Place, WhereUsed
from assay.protocols.scores import SCORE_COLUMNS, VALUE_COLUMNS, score_row, value_row

if TYPE_CHECKING:
    from assay.systems.retrieval.rerank import RankedPassage

_KINDS: dict[str, Any] = {
    **dict.fromkeys(
        ("run", "topic", "measure", "protocol", "task", "uid", "unit", "content", "labeller",
         "status", "verdict", "reason", "error", "created", "setting", "run_a", "run_b", "id",
         "doc", "title", "text", "answer", "label", "warning"),
        pl.String,
    ),
    **dict.fromkeys(
        ("topics", "missing", "failed", "wanted", "known", "shared", "to_ask", "calls", "tokens_in",
         "tokens_out", "n", "rank", "number", "words", "overlap", "start", "confidence"),
        pl.Int64,
    ),
    "places": pl.List(pl.Struct({"run": pl.String, "topic": pl.String, "position": pl.String})),
    "nuggets": pl.List(pl.Struct({"run": pl.String, "rank": pl.Int64, "text": pl.String})),
    "sentences": pl.List(pl.Struct({"text": pl.String, "citations": pl.List(pl.String)})),
}  # fmt: skip
"""Types of columns that do not hold floats."""
_LABELS = (
    "protocol", "task", "uid", "unit", "labeller", "status", "verdict", "reason", "error",
    "tokens_in", "tokens_out", "cost", "created", "places",
)  # fmt: skip
_UNITS = (
    "protocol", "task", "unit", "content", "status", "verdict", "labeller", "uid", "places",
)  # fmt: skip
_MISSING = ("protocol", "task", "wanted", "missing", "failed")
_NONE = "missing"
"""The status of a unit without a label."""


def frame(columns: Sequence[str], rows: Iterable[Sequence[Any]]) -> pl.DataFrame:
    """A frame with fixed column types, even if it has no rows or only nulls."""
    schema = {name: _KINDS.get(name, pl.Float64) for name in columns}
    return pl.DataFrame(list(rows), schema=schema, orient="row")


def scores(results: Results) -> pl.DataFrame:
    """The rows of ``scores.csv``."""
    return frame(SCORE_COLUMNS, map(score_row, results.scores))


def per_topic(results: Results) -> pl.DataFrame:
    """The value of each topic with its floor and ceiling, all null if undefined."""
    return frame(
        VALUE_COLUMNS,
        (
            value_row(run, topic, results.prefix(name) + measure, ends)
            for name, one in results.by_protocol.items()
            for run, by_measure in one.findings.per_topic.items()
            for measure, values in by_measure.items()
            for topic, ends in values.items()
        ),
    )


def missing(results: Results) -> pl.DataFrame:
    """Tasks that lack usable labels: how many are ``wanted``, ``missing`` and ``failed``."""
    return frame(
        _MISSING,
        (
            (name, task, wanted, one.missing.get(task, 0), one.failed.get(task, 0))
            for name, one in results.by_protocol.items()
            for task, wanted in one.asked.items()
            if one.missing.get(task) or one.failed.get(task)
        ),
    )


def labels(results: Results, ledger: Ledger | None) -> pl.DataFrame:
    """The labels the scores are based on, with the places where each is used."""
    return frame(_LABELS, _labels(results, ledger))


def _labels(results: Results, ledger: Ledger | None) -> Iterator[Sequence[Any]]:
    if ledger is None:
        return
    for name, one in results.by_protocol.items():
        places: dict[tuple[int, str], dict[Place, None]] = {}
        found: dict[tuple[int, str], Label] = {}
        for label, place in one.used:
            key = label.rowid, label.task
            found[key] = label
            places.setdefault(key, {})[place] = None
        for key, label in zip(found, ledger.whole(found.values()), strict=True):
            yield (
                name, label.task, label.uid, label.unit, label.labeller.name, label.status.value,
                _json(label.verdict), label.reason, label.error, label.tokens_in, label.tokens_out,
                label.cost, label.created, [one._asdict() for one in places[key]],
            )  # fmt: skip


def units(parts: Mapping[str, Evaluation], results: Results, ledger: Ledger | None) -> pl.DataFrame:
    """All units to be labelled, with the label that counts; ``status`` is ``missing`` if there is
    none."""
    return frame(_UNITS, _units(parts, results, ledger))


def _units(
    parts: Mapping[str, Evaluation], results: Results, ledger: Ledger | None
) -> Iterator[Sequence[Any]]:
    for name, part in parts.items():
        where = WhereUsed(results.by_protocol[name].used)
        book = part.book(ledger)
        rows: dict[str, tuple[str, Mapping[str, Any], Label | None]] = {}
        for step in part.steps:
            for request in step.people_requests(book):
                if request.unit_hash not in rows:
                    label = book.find(request.task, request.content)
                    rows[request.unit_hash] = (request.task.name, request.content, label)
        counted = [one for _, _, one in rows.values() if one is not None]
        whole = iter(()) if ledger is None else ledger.whole(counted)
        for unit, (task, content, label) in rows.items():
            full = label and next(whole)
            places = where.of(unit, full.rowid if full else 0)
            yield (
                name, task, unit, _json(content), full.status.value if full else _NONE,
                _json(full.verdict) if full else None, full.labeller.name if full else None,
                full.uid if full else None, [place._asdict() for place in places],
            )  # fmt: skip


def _json(value: Mapping[str, Any] | None) -> str | None:
    return None if value is None else orjson.dumps(dict(value)).decode()


def ranked_frame(lists: Mapping[str, Sequence[RankedPassage]]) -> pl.DataFrame:
    """Ranked passages of each topic; ranks start at 1."""
    rows = [
        (topic, rank, row.score, row.passage.id, row.passage.doc, row.passage.title,
         row.passage.text)
        for topic, ranked in lists.items()
        for rank, row in enumerate(ranked, start=1)
    ]  # fmt: skip
    return frame(("topic", "rank", "score", "id", "doc", "title", "text"), rows)


def answer_frame(run: AnswerRun | RagRun | None) -> pl.DataFrame:
    """The answers of a run with their nuggets or sentences; empty if there is no run."""
    if isinstance(run, RagRun):
        reports = [
            (topic, one.text,
             [{"text": s.text, "citations": list(s.citations)} for s in one.sentences])
            for topic, one in run.answers.items()
        ]  # fmt: skip
        return frame(("topic", "answer", "sentences"), reports)
    answers = [
        (topic, one.text, one.confidence,
         [{"run": n.key.run, "rank": n.key.rank, "text": n.text} for n in one.nuggets])
        for topic, one in ({} if run is None else run.answers).items()
    ]  # fmt: skip
    return frame(("topic", "answer", "confidence", "nuggets"), answers)
