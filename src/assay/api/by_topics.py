"""Correct any measure that is a mean over topics, and HMR, by people's labels of whole topics."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Self

import numpy as np

from assay.api.corrected import SAME, Basis, Corrected, ranked
from assay.ledger.draws import Draw
from assay.measures.arrays import Bools, Floats
from assay.measures.scores import PerTopic
from assay.model.errors import SettingsError
from assay.model.wording import as_sentence, counted, joined
from assay.page.page import Board
from assay.protocols.evaluation import Evaluation
from assay.protocols.results import Findings
from assay.statistics import corrected
from assay.statistics.corrected import Confidence
from assay.statistics.corrected.modesty import MEASURES

_ELSEWHERE = (
    ", or it depends on topics that were not drawn, as with a highest grade over all topics (g_max)"
)


def of_people(part: Evaluation, draw: Draw) -> Evaluation:
    """The evaluation by people's labels for the tasks of the draw, and by the machine's for all
    other tasks."""
    return replace(part, policy=part.policy.of_drawn(draw.tasks))


@dataclass(frozen=True)
class ByTopics:
    """Findings by the machine's labels, and by people's on those ``topics`` that were ``drawn``."""

    part: Evaluation
    judge: Findings
    people: Findings
    topics: tuple[str, ...]
    drawn: tuple[bool, ...]
    basis: Basis

    @classmethod
    def of(cls, part: Evaluation, judge: Findings, basis: Basis) -> Self:
        """The findings for a draw of topics. Raises SettingsError for topics added after it."""
        draw = basis.draw
        drawn = dict(zip(draw.names, draw.drawn, strict=True))
        topics = tuple(judge.topics)
        added = [topic for topic in topics if topic not in drawn]
        if added:
            raise SettingsError(
                f"{part.folder.path}: {counted(len(added), 'topic')} added after draw "
                f"{draw.uid[:8]} could not be drawn ({joined(added, 8)}). Make a new draw."
            )
        people = of_people(part, draw).score(basis.ledger).findings
        return cls(part, judge, people, topics, tuple(drawn[one] for one in topics), basis)

    def together(self, measure: str) -> bool:
        """Whether the runs are estimated together: a measure that is a mean over topics."""
        runs = (run for run, by in self.judge.scores.items() if measure in by)
        return all(measure in self.judge.per_topic.get(run, {}) for run in runs)

    def measure(self, board: Board, measure: str) -> Corrected | str:
        """A measure of a leaderboard, or why it cannot be corrected."""
        lower = measure in board.lower_is_better
        runs = tuple(run for run, by in self.judge.scores.items() if measure in by)
        if self.together(measure):
            return self._mean(runs, measure, lower=lower)
        if measure in MEASURES:
            return self._confidence(runs, measure)
        return "It is not a mean over topics here, and no interval is known for it."

    def _mean(self, runs: tuple[str, ...], measure: str, *, lower: bool) -> Corrected | str:
        about = self._about(runs, measure)
        drawn = np.array(self.drawn)[about]
        judge, people = (
            np.stack([topic_values(found.per_topic, run, measure, self.topics) for run in runs])
            for found in (self.judge, self.people)
        )
        judge, people = judge[:, about], people[:, about]
        people[:, ~drawn] = np.nan
        for what, table, asks, or_else in (
            ("the machine's", judge, " --policy machine", ""),
            ("people's", people[:, drawn], "", _ELSEWHERE),
        ):
            if np.isnan(table).any():
                count = int(np.isnan(table).any(axis=0).sum())
                return (
                    f"It has no value on {counted(count, 'topic')} by {what} labels: a label is "
                    f"missing ('assay judge FOLDER{asks}' asks for it), or it is not defined "
                    f"there{or_else}."
                )
        whole = [self.judge.scores[run][measure].value for run in runs]
        if any(value is None or abs(value - mean) > SAME
               for value, mean in zip(whole, judge.mean(axis=1), strict=True)):  # fmt: skip
            return "It is not a mean over all topics."
        try:
            found = corrected.topics(
                people, judge, drawn, level=self.basis.level, population=self.basis.population
            )
        except ValueError as error:
            return as_sentence(error)
        return ranked(measure, runs, found, judge.mean(axis=1), lower=lower, level=self.basis.level)

    def _about(self, runs: tuple[str, ...], measure: str) -> Bools:
        """Mask of the topics that have a value of the measure whatever the labels. The drawn ones
        among them are a random draw of them too."""
        known = [self.judge.per_topic[run][measure] for run in runs]
        if not all(topic in by_topic for by_topic in known for topic in self.topics):
            known = [self._unlabelled.get(run, {}).get(measure, {}) for run in runs]
        return np.array([any(topic in by_topic for by_topic in known) for topic in self.topics])

    @cached_property
    def _unlabelled(self) -> PerTopic:
        """The values if nothing is labelled, which are ranges."""
        return self.part.quick().score(None).findings.per_topic

    def _confidence(self, runs: tuple[str, ...], measure: str) -> Corrected | str:
        """HMR and its parts, run by run; warnings name the runs that could not be corrected."""
        rows, remarks, without = {}, [], {}
        for run in runs:
            one = self._confidence_of(run)
            if isinstance(one, str):
                without[run] = one
                continue
            found, caveats = one
            place = MEASURES.index(measure)
            alone = self.judge.scores[run][measure].value
            ends = found.value[place], found.low[place], found.high[place]
            rows[run] = (*ends, np.nan if alone is None else alone)
            remarks += [f"{run}: {warning}." for warning in caveats]
        refused = [f"{run}: {why}" for run, why in without.items()]
        if not rows:
            return " ".join(refused)
        value, low, high, judge = np.array(list(rows.values())).T
        remarks += [f"Not corrected: {why}" for why in refused]
        runs, warned = tuple(rows), tuple(remarks)
        return Corrected(measure, False, runs, value, low, high, judge, warnings=warned)

    def _confidence_of(self, run: str) -> tuple[Confidence, list[str]] | str:
        """HMR, R_O, R_U and Accuracy of a run with warnings, or why they cannot be corrected."""
        drawn, basis = np.array(self.drawn), self.basis
        p, judge = (
            topic_values(self.judge.per_topic, run, one, self.topics)
            for one in ("Confidence", "Accuracy")
        )
        people = topic_values(self.people.per_topic, run, "Accuracy", self.topics)
        if np.isnan(p).any():
            return "it leaves questions out, with an unknown confidence."
        if np.isnan(judge).any() or np.isnan(people[drawn]).any():
            return "labels are missing."
        people[~drawn] = np.nan
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            try:
                found = corrected.hmr(
                    p, people, judge, drawn, level=basis.level, population=basis.population
                )
            except ValueError as error:
                return f"{error}."
        return found, [str(warning.message) for warning in caught]


def topic_values(table: PerTopic, run: str, measure: str, topics: Sequence[str]) -> Floats:
    """A run's value on each topic; NaN if there is none, or only a range."""
    by_topic = table.get(run, {}).get(measure, {})
    found = [by_topic.get(topic) for topic in topics]
    return np.array([np.nan if one is None or one.value is None else one.value for one in found])
