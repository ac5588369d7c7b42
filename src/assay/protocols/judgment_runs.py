"""Runs of relevance judgments, compared with the grades of rankings, and an evaluation's own."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

import numpy as np

from assay.measures.arrays import Floats
from assay.measures.scores import Score
from assay.model.trec_rag import JudgmentRun, RelevanceGuess
from assay.page.page import Board
from assay.protocols.counted_labels import CountedLabels
from assay.protocols.means import ResamplingArguments
from assay.protocols.ranked import Ranked
from assay.statistics.relevance_agreement import RJ_NAMES, PoolDocument, judgment_ranges


def judgment_board(shares: Mapping[str, float | None]) -> Board:
    """The leaderboard of judgment runs."""
    note = (
        "The labels of judgment runs are compared with the labels used here, over the whole pool. "
        "A document that a run leaves undecided counts as a wrong label. A pair is two documents "
        "of a topic: both sides order it the same way, one side ties it, or they order it in "
        "opposite ways (or it is undecided). κ is undefined for a run whose labels are not 0 to 4. "
        "The last column is the share of the pool that a run judged."
    )
    return Board("Judgment runs", RJ_NAMES, note, frozenset({"pairs_disagree"}), {"judged": shares})


def judgment_scores(
    runs: Mapping[str, JudgmentRun], ranked: Ranked, highest: int, resampling: ResamplingArguments
) -> tuple[dict[str, dict[str, Score]], dict[str, float | None]]:
    """Agreement of every judgment run with the grades of rankings over the whole pool
    (:func:`assay.statistics.relevance_agreement.judgment_ranges`), and the share of the pool that
    each judged. A missing grade may be any from 0 to ``highest``."""
    found: dict[str, dict[str, Score]] = {}
    shares: dict[str, float | None] = {}
    for name, run in runs.items():
        rows = _rows(run, ranked)
        topics = len({row.topic for row in rows})
        missing = len({row.topic for row in rows if row.grade is None})
        labels = (one.label for by_doc in run.guesses.values() for one in by_doc.values())
        on_scale = all(0 <= label <= 4 for label in labels)
        ends = judgment_ranges(rows, highest, on_scale=on_scale, **resampling)
        found[name] = {
            measure: Score.undefined(name, measure, topics=topics, missing=missing)
            if one is None
            else Score.between(name, measure, one[0], *one[1], topics=topics, missing=missing)
            for measure, one in ends.items()
        }
        judged = sum(row.label is not None for row in rows)
        shares[name] = judged / len(rows) if rows else None
    return found, shares


def _rows(run: JudgmentRun, ranked: Ranked) -> list[PoolDocument]:
    return [
        PoolDocument(topic, grades.get(doc), None if guess is None else guess.label)
        for topic, grades in ranked.qrels.items()
        for doc in (*grades, *ranked.rising.get(topic, ()))
        for guess in [run.guesses.get(topic, {}).get(doc)]
    ]


def own_judgment_run(
    name: str,
    documents: Iterable[tuple[str, str]],
    labels: CountedLabels,
    grades: Floats,
    grade: Callable[[Mapping[str, Any]], float],
) -> JudgmentRun | None:
    """The labels of documents (topic, document), whose values are ``grades``, as a judgment run to
    hand in or compare; None if there are none. The confidence is the share of an ensemble's votes
    that agree with its label, or 1 for a single labeller, which states none."""
    agreeing = np.ones(len(grades))
    for like, which in labels.by_kind():
        votes = [one["verdict"] for one in like.detail.get("votes", ()) if one["verdict"]]
        if votes:
            votes_grades = np.array(list(map(grade, votes)))
            agreeing[which] = (votes_grades[:, None] == grades[which]).mean(axis=0)
    guesses: dict[str, dict[str, RelevanceGuess]] = {}
    columns = (grades.tolist(), agreeing.tolist())
    for (topic, doc), found, share in zip(documents, *columns, strict=True):
        if found == found:
            guesses.setdefault(topic, {})[doc] = RelevanceGuess(doc, int(found), share)
    return JudgmentRun(name, guesses) if guesses else None
