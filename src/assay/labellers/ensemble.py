"""Ensembles: several labellers, or several samples of one, vote on every unit.

Each member's label is in the ledger under the member's own key, so a member is not asked again when
it serves alone or in another ensemble. The joint label lists the votes that it rests on.
"""

from __future__ import annotations

import asyncio
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any

from assay.labellers.base import (
    ByTask,
    Estimate,
    Labeller,
    Outcome,
    Request,
    for_task,
    request_key,
)
from assay.labellers.forwarding import AskingLabeller
from assay.model.labels import Label, LabellerId, Status
from assay.tasks.base import AnyTask, Verdict, canonical
from assay.tasks.rendering import Messages
from assay.tasks.voting import Rule, join, refusal


@dataclass(frozen=True, slots=True)
class Ballot:
    """One member's verdict on one sample, or None if its reply was unusable. ``uid`` is that of its
    label in the ledger, if it has one."""

    member: int
    sample: int
    verdict: Verdict | None
    uid: str | None = None


class EnsembleLabeller(AskingLabeller, ByTask):
    """Members that vote by a rule, with ``weights`` in the order of the members. ``name`` is the
    one in the folder's settings. A joint label needs usable votes with more than half of all
    weight; otherwise it is a failed label. Raises ValueError if there are no members, or if the
    weights do not fit or the rule ignores them."""

    def __init__(
        self,
        name: str,
        members: Sequence[Labeller],
        rule: Rule = Rule.MAJORITY,
        weights: Sequence[float] | None = None,
        samples: int = 1,
    ) -> None:
        if not members:
            raise ValueError("an ensemble needs members")
        if weights is not None:
            _check(weights, len(members), rule)
        super().__init__(members)
        self.members = tuple(members)
        self.samples = samples
        self.rule = rule
        self.name = name
        self._weights = tuple(weights or [1.0] * len(members))

    def renamed(self, name: str, members: Sequence[Labeller]) -> EnsembleLabeller:
        """An ensemble with the same rule, weights and samples, but other members."""
        weights = self._weights if self.rule is Rule.WEIGHTED else None
        return EnsembleLabeller(name, members, self.rule, weights, self.samples)

    def for_task(self, task: AnyTask) -> Labeller:
        members = [for_task(one, task) for one in self.members]
        same = all(one is own for one, own in zip(members, self.members, strict=True))
        return self if same else self.renamed(self.name, members)

    @property
    def id(self) -> LabellerId:
        return LabellerId(
            f"ensemble:{self.name}",
            "ensemble",
            {
                "rule": self.rule.value,
                "samples": self.samples,
                "weights": list(self._weights),
                "members": [
                    {"name": who.name, "kind": who.kind, "params": dict(who.params)}
                    for who in (member.id for member in self.members)
                ],
            },
        )

    @property
    def concurrency(self) -> int:
        return max(member.concurrency for member in self.members)

    @property
    def varies(self) -> bool:
        return any(member.varies for member in self.members)

    def refusal(self, task: AnyTask) -> str | None:
        """The refusal of the first member that cannot do the task, or of the rule."""
        refusals = (*(member.refusal(task) for member in self.members), refusal(task, self.rule))
        problem = next(filter(None, refusals), None)
        return f"ensemble:{self.name}: {problem}" if problem else None

    def member_requests(self, request: Request) -> list[Request]:
        """The requests that each member gets for a joint one: one per sample."""
        repeats = range(self.samples)
        return [Request(request.task, request.unit, request.sample + n) for n in repeats]

    def keys(self, request: Request) -> list[tuple[int, int, str]]:
        """(member, sample, key) of every label that the joint label rests on."""
        asked = self.member_requests(request)
        return [
            (index, number, request_key(member, each))
            for index, member in enumerate(self.members)
            for number, each in enumerate(asked)
        ]

    def rendered(self, request: Request) -> bytes:
        return canonical([key for _, _, key in self.keys(request)])

    def preview(self, request: Request) -> Messages:
        return tuple(message for member in self.members for message in member.preview(request))

    def estimate(self, request: Request) -> Estimate:
        parts = [member.estimate(request) for member in self.members]
        return sum(parts[1:], start=parts[0]).times(self.samples)

    async def label(self, request: Request) -> Outcome | None:
        """Ask all members side by side, without a ledger; None if a member has nothing to say."""
        questions = list(product(enumerate(self.members), enumerate(self.member_requests(request))))
        outcomes = await asyncio.gather(
            *(member.label(each) for (_, member), (_, each) in questions)
        )
        ballots = [
            Ballot(index, number, outcome.verdict)
            for ((index, _), (number, _)), outcome in zip(questions, outcomes, strict=True)
            if outcome is not None
        ]
        return self.joint(request, ballots) if len(ballots) == len(questions) else None

    def from_labels(self, request: Request, labels: Mapping[str, Label]) -> Outcome | None:
        """The joint outcome of the members' labels by key; None if one of them is missing."""
        ballots = []
        for index, number, key in self.keys(request):
            label = labels.get(key)
            if label is None:
                return None
            usable = label.status is Status.OK and label.verdict is not None
            verdict = request.task.verdict.model_validate(label.verdict) if usable else None
            ballots.append(Ballot(index, number, verdict, label.uid))
        return self.joint(request, ballots)

    def joint(self, request: Request, ballots: Sequence[Ballot]) -> Outcome:
        """The outcome of the vote, with all ballots in its detail."""
        votes = [(one.verdict, self._weights[one.member]) for one in ballots if one.verdict]
        detail = {"votes": [self._shown(one) for one in ballots]}
        whole = sum(self._weights) * self.samples
        held = sum(weight for _, weight in votes)
        if held * 2 <= whole:
            why = f"only {len(votes)} of {len(ballots)} votes are usable"
            return Outcome(Status.FAILED, error=why, detail=detail)
        verdict = join(request.task, votes, self.rule)
        problem = request.task.check(request.unit, verdict)
        if problem is not None:
            return Outcome(Status.FAILED, error=f"the joint verdict: {problem}", detail=detail)
        return Outcome(Status.OK, verdict, detail=detail)

    def _shown(self, ballot: Ballot) -> dict[str, Any]:
        shown: dict[str, Any] = {
            "labeller": self.members[ballot.member].id.name,
            "sample": ballot.sample,
            "label": ballot.uid,
            "verdict": None,
        }
        if ballot.verdict is not None:
            shown["verdict"] = ballot.verdict.model_dump(mode="json", exclude={"reason"})
        return shown


def _check(weights: Sequence[float], members: int, rule: Rule) -> None:
    """Check the weights now: unusable ones would fail only after all votes were paid for."""
    if len(weights) != members:
        raise ValueError(
            f"an ensemble needs one weight per member: there are {members} members and "
            f"{len(weights)} weights"
        )
    if not all(weight > 0 for weight in weights) or not math.isfinite(sum(weights)):
        raise ValueError("an ensemble needs a positive, finite weight for each member")
    if rule is not Rule.WEIGHTED:
        raise ValueError(
            f"the rule '{rule.value}' counts every member alike and takes no weights; leave them "
            "out, or use rule 'weighted'"
        )
