"""How two leaderboards of a folder rank the runs that both have, with intervals over topics."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from assay.measures.bootstrap import Interval, ends_of, percentile_interval, topic_counts
from assay.measures.confidence import Floats
from assay.protocols.results import Redrawn, Result
from assay.statistics.correlation import kendall_tau, spearman_rho
from assay.statistics.ranks import tau_rows

AGREEMENT_COLUMNS = ("first", "second", "tau", "rho", "runs", "low", "high")
_LEVEL, _RESAMPLES, _SEED = 0.95, 1000, 0


@dataclass(frozen=True, slots=True)
class BoardAgreement:
    """How two leaderboards rank the runs that both have: Kendall's τ-b and Spearman's ρ; None
    where fewer than two are. ``interval`` is that of τ over the topics that both have (95 %); None
    where a board has no scores of topics."""

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
    """The first measure of a leaderboard with the scores of runs, where they are known."""

    protocol: str
    measure: str
    scores: dict[str, float]
    result: Result

    @property
    def name(self) -> str:
        return f"{self.protocol}: {self.measure}"

    @property
    def anew(self) -> Redrawn | None:
        """What computes the scores of a draw of topics; None where they are means."""
        detail = self.result.findings.detail
        return detail if isinstance(detail, Redrawn) and detail.measure == self.measure else None

    def topics(self, runs: list[str]) -> list[str]:
        """The topics that the scores of some runs can be drawn by, all of them known."""
        if self.anew is not None:
            return self.anew.topics_known()
        values = [self.result.findings.per_topic.get(run, {}).get(self.measure) for run in runs]
        found = None
        for by_topic in values:
            known = {t for t, one in (by_topic or {}).items() if one and one.value is not None}
            found = known if found is None else found & known
        return [one for one in self.result.findings.topics if one in (found or ())]

    def drawn(self, runs: list[str], topics: list[str], weights: Floats) -> Floats:
        """The scores of runs in resamples of topics, B × runs; NaN where there are none."""
        if self.anew is not None:
            return self.anew.redrawn(runs, topics, weights)
        values = [
            [self.result.findings.per_topic[run][self.measure][topic] for topic in topics]
            for run in runs
        ]
        single = np.array([[one.floor if one else np.nan for one in row] for row in values])
        return np.asarray(weights @ single.T / weights.sum(axis=1, keepdims=True))


def agreement(one: RankedBoard, other: RankedBoard) -> BoardAgreement:
    """How two leaderboards agree."""
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
    taus[known] = tau_rows(first[known], second[known])
    return percentile_interval(taus, _LEVEL)
