"""Passages, runs and answers as polars frames."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import polars as pl

from assay.model.rag import AnswerRun
from assay.model.trec_rag import RagRun
from assay.systems.corpus.passages import CutPassage
from assay.systems.retrieval.rerank import RankedPassage

_PASSAGE = {
    "id": pl.String, "doc": pl.String, "title": pl.String, "number": pl.Int64, "text": pl.String,
    "words": pl.Int64, "overlap": pl.Int64, "start": pl.Int64,
}  # fmt: skip
_RANKED = {
    "topic": pl.String, "rank": pl.Int64, "score": pl.Float64, "id": pl.String, "doc": pl.String,
    "title": pl.String, "text": pl.String,
}  # fmt: skip
_NUGGET = pl.Struct({"run": pl.String, "rank": pl.Int64, "text": pl.String})
_SENTENCE = pl.Struct({"text": pl.String, "citations": pl.List(pl.String)})
_ANSWERS: dict[str, pl.DataType] = {
    "topic": pl.String(),
    "answer": pl.String(),
    "confidence": pl.Int64(),
    "nuggets": pl.List(_NUGGET),
}
_REPORTS: dict[str, pl.DataType] = {
    "topic": pl.String(),
    "answer": pl.String(),
    "sentences": pl.List(_SENTENCE),
}


def passage_frame(passages: Iterable[CutPassage]) -> pl.DataFrame:
    """Passages, a column for each of their fields."""
    return pl.DataFrame(list(passages), schema=_PASSAGE, orient="row")


def ranked_frame(lists: Mapping[str, Sequence[RankedPassage]]) -> pl.DataFrame:
    """Ranked passages by topic; ranks are from 1."""
    rows = [
        (topic, rank, row.score, row.passage.id, row.passage.doc, row.passage.title,
         row.passage.text)
        for topic, ranked in lists.items()
        for rank, row in enumerate(ranked, start=1)
    ]  # fmt: skip
    return pl.DataFrame(rows, schema=_RANKED, orient="row")


def answer_frame(run: AnswerRun | RagRun | None) -> pl.DataFrame:
    """The answers of a run with their nuggets, or with their sentences; none without a run."""
    if isinstance(run, RagRun):
        reports = [
            (topic, one.text,
             [{"text": s.text, "citations": list(s.citations)} for s in one.sentences])
            for topic, one in run.answers.items()
        ]  # fmt: skip
        return pl.DataFrame(reports, schema=_REPORTS, orient="row")
    answers = [
        (topic, one.text, one.confidence,
         [{"run": n.key.run, "rank": n.key.rank, "text": n.text} for n in one.nuggets])
        for topic, one in ({} if run is None else run.answers).items()
    ]  # fmt: skip
    return pl.DataFrame(answers, schema=_ANSWERS, orient="row")
