"""What steps ask now: their requests in the shard that the ledger does not answer."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from itertools import islice

from assay.judging.engine import Plan, plan
from assay.judging.shards import Shard
from assay.judging.todo import KeySet
from assay.labellers.base import Labeller, Request, request_key
from assay.ledger import Ledger
from assay.protocols.base import Step

_BLOCK = 1000  # questions of other shards that are looked up at once


@dataclass(frozen=True)
class StepPlans:
    """Makes the plans of steps from who is asked (``labellers``, by name) and what is known. With a
    ``shard``, only its questions are planned."""

    ledger: Ledger | None
    labellers: Mapping[str, Labeller]
    shard: Shard | None = None
    retry_failed: bool = False
    _planned: dict[str, KeySet] = field(default_factory=dict, init=False)

    def plan(self, step: Step, requests: Iterable[Request]) -> Plan:
        """Plan what to ask of a step's ``requests``. For a step that repeats, only those that are
        new since the last call."""
        if step.repeats:
            planned = self._planned.setdefault(step.title, KeySet())
            requests = (one for one in requests if planned.add(one.unit_hash))
        return self._plan(step, self._in_shard(step, requests), retry_failed=self.retry_failed)

    def _plan(self, step: Step, requests: Iterable[Request], *, retry_failed: bool) -> Plan:
        own = plan(
            self.ledger,
            self._labeller(step),
            requests,
            retry_failed=retry_failed,
            across_tasks=not step.strict,
        )
        if step.asked_as is None:
            return own
        asked = (step.as_asked(request) for _, request in own.todo)
        under = plan(
            self.ledger, self.labellers[step.asked_task.name], asked, retry_failed=retry_failed
        )
        known, failed = under.known + own.known, under.known_failed + own.known_failed
        return replace(under, known=known, known_failed=failed)

    def rest(self, step: Step, requests: Iterable[Request], ledger: Ledger) -> Plan:
        """Plan under the step's own task what a labeller left unanswered under another task, as a
        file of labels may hold labels of one task alone."""
        labeller, other = self.labellers[step.task.name], self.labellers[step.asked_task.name]
        asked: dict[str, tuple[Request, Request]] = {}
        for _, request in plan(ledger, labeller, self._in_shard(step, requests)).todo:
            as_asked = step.as_asked(request)
            asked[request_key(other, as_asked)] = (request, as_asked)
        answered = ledger.statuses((one.unit_hash, key) for key, (_, one) in asked.items())
        return plan(
            ledger, labeller, (one for key, (one, _) in asked.items() if key not in answered)
        )

    def open_elsewhere(self, step: Step, requests: Iterable[Request]) -> set[int]:
        """The other shards that still have questions of the step to ask: without a label, or with a
        failed one if these are asked again."""
        if self.shard is None:
            return set()
        elsewhere = iter(self._in_shard(step, requests, others=True))
        found: set[int] = set()
        for some in iter(lambda: list(islice(elsewhere, _BLOCK)), []):
            open_ = self._plan(step, some, retry_failed=self.retry_failed).todo
            found.update(self.shard.of(request) for _, request in open_)
            if len(found) == self.shard.count - 1:
                break
        return found

    def _labeller(self, step: Step) -> Labeller:
        return self.labellers[step.labeller or step.task.name]

    def _in_shard(
        self, step: Step, requests: Iterable[Request], *, others: bool = False
    ) -> Iterable[Request]:
        """The requests in the shard or, with ``others``, in the other shards."""
        shard, asked = self.shard, (self._labeller(step), self.labellers[step.asked_task.name])
        if shard is None or all(who.id.is_free for who in asked):
            return () if others else requests
        return (one for one in requests if shard.holds(step.as_asked(one)) is not others)
