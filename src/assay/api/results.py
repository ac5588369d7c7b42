"""Scores of a folder under one protocol or several."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sized
from dataclasses import asdict, dataclass, replace
from functools import cached_property
from itertools import combinations
from typing import Any

import numpy as np

from assay.ledger.policy import shared_policy
from assay.measures.arrays import Floats
from assay.measures.bootstrap import Interval, ends_of, percentile_interval, topic_counts
from assay.measures.scores import Score
from assay.page.wording import kinds_of
from assay.protocols.label_shares import label_basis
from assay.protocols.results import ResampledScores, Result
from assay.statistics.correlation import kendall_tau, spearman_rho
from assay.statistics.ranks import near_ranks, tau_rows

AGREEMENT_COLUMNS = ("first", "second", "tau", "rho", "runs", "low", "high")
_LEVEL, _RESAMPLES, _SEED = 0.95, 1000, 0  # of the interval of τ over topics
_MOST_OF_A_KIND = 3
"""Number of warnings of one kind up to which each is shown."""


@dataclass(frozen=True, slots=True)
class BoardAgreement:
    """Agreement of two leaderboards on their shared runs: Kendall's τ-b and Spearman's ρ, or None
    for fewer than two runs. ``interval`` is the 95 % interval of τ over shared topics, or None if
    a board has no scores by topic."""

    first: str
    second: str
    tau: float | None
    rho: float | None
    runs: int
    interval: Interval | None = None

    @property
    def row(self) -> tuple[str, str, float | None, float | None, int, float | None, float | None]:
        """The cells under :data:`AGREEMENT_COLUMNS`."""
        return self.first, self.second, self.tau, self.rho, self.runs, *ends_of(self.interval)


@dataclass(frozen=True)
class RankedBoard:
    """The first measure of a leaderboard with the known scores of its runs."""

    protocol: str
    measure: str
    scores: dict[str, float]
    result: Result

    @property
    def name(self) -> str:
        return f"{self.protocol}: {self.measure}"

    @property
    def anew(self) -> ResampledScores | None:
        """Recomputes scores for resampled topics; None if scores are means over topics."""
        detail = self.result.findings.detail
        return (
            detail
            if isinstance(detail, ResampledScores) and detail.measure == self.measure
            else None
        )

    def topics(self, runs: list[str]) -> list[str]:
        """The topics on which the scores of all ``runs`` are known, to resample from."""
        if self.anew is not None:
            return self.anew.scored_topics()
        values = [self.result.findings.per_topic.get(run, {}).get(self.measure) for run in runs]
        found = None
        for by_topic in values:
            known = {t for t, one in (by_topic or {}).items() if one and one.value is not None}
            found = known if found is None else found & known
        return [one for one in self.result.findings.topics if one in (found or ())]

    def drawn(self, runs: list[str], topics: list[str], weights: Floats) -> Floats:
        """The scores of runs in B resamples of topics, B × runs; NaN if undefined."""
        if self.anew is not None:
            return self.anew.resampled(runs, topics, weights)
        values = [
            [self.result.findings.per_topic[run][self.measure][topic] for topic in topics]
            for run in runs
        ]
        single = np.array([[one.floor if one else np.nan for one in row] for row in values])
        return np.asarray(weights @ single.T / weights.sum(axis=1, keepdims=True))


def agreement(one: RankedBoard, other: RankedBoard) -> BoardAgreement:
    """Agreement of two leaderboards."""
    runs = [run for run in one.scores if run in other.scores]
    tau = rho = interval = None
    if len(runs) > 1:
        x, y = np.array([(one.scores[run], other.scores[run]) for run in runs]).T
        tau, rho = kendall_tau(x, y), spearman_rho(x, y)
    if tau is not None:
        interval = _interval(one, other, runs)
    return BoardAgreement(one.name, other.name, tau, rho, len(runs), interval)


def _interval(one: RankedBoard, other: RankedBoard, runs: list[str]) -> Interval | None:
    shared = set(other.topics(runs))
    topics = [topic for topic in one.topics(runs) if topic in shared]
    if len(topics) < 2:
        return None
    weights = np.concatenate(list(topic_counts(len(topics), _RESAMPLES, _SEED)))
    first, second = (board.drawn(runs, topics, weights) for board in (one, other))
    taus = np.full(len(weights), np.nan)
    known = ~(np.isnan(first) | np.isnan(second)).any(axis=1)
    taus[known] = tau_rows(near_ranks(first[known]), near_ranks(second[known]))
    return percentile_interval(taus, _LEVEL, len(topics))


@dataclass(frozen=True)
class Results:
    """The results of a folder's protocols. With several protocols, measures and remarks are
    prefixed by the protocol's name."""

    by_protocol: Mapping[str, Result]

    @property
    def policy(self) -> str:
        """The policy that decides which labels count."""
        return shared_policy(one.policy for one in self.by_protocol.values())

    @property
    def several(self) -> bool:
        """Whether there is more than one protocol."""
        return len(self.by_protocol) > 1

    @property
    def only(self) -> Result | None:
        """The result of the only protocol, or None if there are several."""
        return None if self.several else next(iter(self.by_protocol.values()))

    @property
    def uneven(self) -> bool:
        """Whether :attr:`comparable` has different scores, because people labelled more of some
        runs than of others."""
        return any(one.evened is not None for one in self.by_protocol.values())

    @property
    def comparable(self) -> Results:
        """The results by which runs may be compared (:attr:`Result.comparable`)."""
        return replace(self, by_protocol={n: one.comparable for n, one in self.by_protocol.items()})

    @cached_property
    def scores(self) -> tuple[Score, ...]:
        """All scores, as in ``scores.csv``."""
        return tuple(
            replace(score, measure=f"{self.prefix(name)}{score.measure}")
            for name, one in self.by_protocol.items()
            for score in scores_of(one)
        )

    @property
    def labellers(self) -> dict[str, str | None]:
        """The labeller's name for each task, or None if it could not be created."""
        return {
            task: None if who is None else who.name
            for one in self.by_protocol.values()
            for task, who in one.labellers.items()
        }

    @property
    def stands_on(self) -> dict[str, str]:
        """Whose labels the scores of each protocol are based on (:func:`label_basis`)."""
        return {name: label_basis(one) for name, one in self.by_protocol.items()}

    @property
    def stands_on_in_words(self) -> tuple[str, ...]:
        """:attr:`stands_on` as sentences, for protocols whose scores are based on labels."""
        return tuple(
            f"{name} is based on: {said}." if self.several else f"Based on: {said}."
            for name, said in self.stands_on.items()
            if said
        )

    def warned(self, where: str) -> Iterator[str]:
        """All warnings. Of many of one kind (a file can have hundreds), only the number, the first,
        and ``where`` to find the others."""
        for kind, found in kinds_of(self.warnings, {one.run for one in self.scores}):
            if len(found) <= _MOST_OF_A_KIND:
                yield from found
            else:
                yield f"{len(found)} × {kind} The first: {found[0]} ({where})"

    @property
    def missing(self) -> int:
        """Number of :attr:`missing_what` without a usable label."""
        return sum(one.unlabelled.count for one in self.by_protocol.values())

    @property
    def cures(self) -> str:
        """Advice on how to get missing labels."""
        return (
            "'assay judge' asks for missing ones, --retry-failed for failed ones; if people "
            "disagree, they settle it in 'assay ui'."
        )

    @property
    def missing_what(self) -> str:
        """What :attr:`missing` counts: ``units``, or the protocol's term (``answers``, …)."""
        return "units" if self.only is None else self.only.unlabelled.what

    @property
    def warnings(self) -> tuple[str, ...]:
        """Warnings about the results, as sentences."""
        return tuple(
            f"{self.prefix(name)}{text}"
            for name, one in self.by_protocol.items()
            for text in one.warnings
        )

    @cached_property
    def agreements(self) -> tuple[BoardAgreement, ...]:
        """Agreement of every two leaderboards of different protocols."""
        boards = [
            RankedBoard(name, measure, scores, one.comparable)
            for name, one in self.by_protocol.items()
            for measure, scores in board_scores(one).items()
        ]
        return tuple(
            agreement(one, other)
            for one, other in combinations(boards, 2)
            if one.protocol != other.protocol
        )

    @property
    def document(self) -> dict[str, Any]:
        """What protocols say beside their scores, as plain JSON."""
        documents = {
            name: {
                **one.findings.document(),
                **one.beside().document(),
                "juries": [asdict(jury) for jury in one.juries],
            }
            for name, one in self.by_protocol.items()
        }
        if not self.several:
            return next(iter(documents.values()))
        rows = [dict(zip(AGREEMENT_COLUMNS, one.row, strict=True)) for one in self.agreements]
        return {"protocols": documents, "agreement": rows}

    @property
    def lower_is_better(self) -> frozenset[str]:
        """The measures, as :attr:`scores` name them, of which a lower value is better."""
        return frozenset(
            self.prefix(name) + measure
            for name, one in self.by_protocol.items()
            for board in one.findings.boards
            for measure in board.lower_is_better
        )

    def prefix(self, protocol: str) -> str:
        """What stands before the measures and remarks of a protocol."""
        return prefix_of(protocol, self.by_protocol)


def prefix_of(protocol: str, among: Sized) -> str:
    """What stands before the measures and remarks of a protocol: its name, among several."""
    return f"{protocol}: " if len(among) > 1 else ""


def scores_of(result: Result) -> list[Score]:
    """Every score of a protocol, run by run."""
    return [one for scores in result.findings.scores.values() for one in scores.values()]


def board_scores(result: Result) -> dict[str, dict[str, float]]:
    """The first measure of each leaderboard → run → score, where it is known."""
    result = result.comparable
    measures = dict.fromkeys(board.measures[0] for board in result.findings.boards)
    return {
        measure: {
            score.run: score.value
            for score in scores_of(result)
            if score.measure == measure and score.value is not None
        }
        for measure in measures
    }
