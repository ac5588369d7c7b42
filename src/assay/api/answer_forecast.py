"""What answering would ask, before anybody is asked."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from assay.api.forecast import TitledPlans
from assay.judging.engine import Plan, plan
from assay.labellers.base import Labeller, Request, request_key
from assay.ledger import Ledger
from assay.systems.answering import (
    AnswerSettings,
    PassageSource,
    answer_requests,
    answer_units,
    certainty_request,
    from_nuggets_requests,
    nuggets_requests,
)
from assay.systems.answering_reports import report_requests
from assay.systems.asking import usable

_ASSUMED = "an answer of a few words"
_ASSUMED_NUGGET = "A claim in one sentence of some twelve words that the passage says."


@dataclass(frozen=True)
class AnswerForecast:
    """Topics, the passages that they are answered from, the models, and the ledger as it is (None:
    nothing is known)."""

    topics: Mapping[str, str]
    sources: Mapping[str, Sequence[PassageSource]]
    settings: AnswerSettings
    writer: Labeller
    certainty: Labeller | None
    ledger: Ledger | None
    retry_failed: bool = False

    def of_reports(self) -> tuple[TitledPlans, int]:
        """The plans of TREC RAG answers; nothing is assumed."""
        requests = report_requests(self.topics, self.sources, self.settings)
        return [self._planned("Answers", self.writer, requests)], 0

    def of_answers(self) -> tuple[TitledPlans, int]:
        """The plans of R2C2 answers, and for how many topics something was assumed: an answer, or
        nuggets of a passage, that are not there yet."""
        plans, assumed = [], 0
        units = answer_units(self.topics, self.sources)
        if self.settings.steps:
            read = nuggets_requests(self.topics, self.sources)
            plans.append(self._planned("Nuggets", self.writer, read))
            known = iter(self._known(read))
            found = {}
            for topic in self.topics:
                replies = [next(known) for _ in self.sources[topic]]
                assumed += None in replies
                found[topic] = [
                    (number, text)
                    for number, verdict in enumerate(replies, 1)
                    for text in ([_ASSUMED_NUGGET] if verdict is None else verdict["nuggets"])
                ]
            requests = from_nuggets_requests(self.topics, found, self.settings)
        else:
            requests = answer_requests(units, self.settings)
        plans.append(self._planned("Answers", self.writer, requests))
        if self.certainty is None:
            return plans, assumed
        answers = self._known(requests)
        second = [
            certainty_request(unit, _ASSUMED if verdict is None else str(verdict["answer"]))
            for unit, verdict in zip(units.values(), answers, strict=True)
        ]
        plans.append(self._planned("Certainty", self.certainty, second))
        return plans, answers.count(None)

    def _planned(self, title: str, who: Labeller, some: Sequence[Request]) -> tuple[str, Plan]:
        return title, plan(self.ledger, who, some, retry_failed=self.retry_failed)

    def _known(self, requests: Sequence[Request]) -> list[dict[str, Any] | None]:
        """What the writer said already; None where it said nothing that can be used."""
        keys = [request_key(self.writer, request) for request in requests]
        labels = {}
        if self.ledger is not None:
            hashes = (request.unit_hash for request in requests)
            labels = self.ledger.by_key(zip(hashes, keys, strict=True))
        return [usable(labels.get(key)) for key in keys]
