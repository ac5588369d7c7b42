"""Policies: which label of a unit counts. They are applied when scoring, so any score can be
recomputed under another policy without asking anyone again."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass, replace

from assay.model.errors import SettingsError
from assay.model.labels import (
    ADJUDICATION,
    Label,
    LabellerId,
    Status,
    is_independent,
    mode_of,
    without_reasons,
)
from assay.tasks.base import canonical

POLICY_HELP = (
    "people (a person's label overrides the machine's), machine (people's labels are ignored), "
    "human (only people's labels), blind (like people, but without labels that people gave while "
    "seeing another), majority (the label that most people gave), adjudicated (the settled label, "
    "or else the one that people agree on), only:LABELLER (only this labeller's, e.g. "
    "only:human:KIM). To leave people out of any of these but machine and only, add their names: "
    "'majority without human:KIM without human:LEE'"
)
_RULES = ("people", "blind", "majority", "adjudicated", "human")
SEVERAL = "each protocol's own"
"""Shown as the policy if the protocols of a folder have different ones."""
WITHOUT = " without human:"
"""Precedes the name of each person left out, within a policy's name."""


@dataclass(frozen=True, slots=True)
class Policy:
    """A rule for choosing among the labels of one unit.

    ``people`` and ``machine`` say whose labels may count; ``only`` names the one labeller who may.
    A person's newest label counts. Of several people the one who labelled last counts, unless the
    policy is ``majority`` or ``adjudicated`` (:func:`_agreed`). With ``independent`` (``blind``),
    labels that people gave while seeing another do not count. A machine's label counts only if it
    is by the labeller that the evaluation configures for the task. With ``tasks``, all this applies
    to these tasks, and for others only the machine's labels count. People in ``without`` never
    count, and if ``only_people`` is set, nobody else does.
    """

    name: str
    people: bool
    machine: bool
    only: str | None = None
    independent: bool = False
    tasks: frozenset[str] | None = None
    without: tuple[str, ...] = ()
    only_people: frozenset[str] | None = None

    @classmethod
    def parse(cls, text: str) -> Policy:
        """Parse a policy's name. Raises SettingsError, which lists the policies, if unknown."""
        rule, *left_out = str(text).split(WITHOUT)
        names = [one.strip() for one in left_out]
        if names and rule in _RULES and all(names):
            without = tuple(f"human:{one}" for one in names)
            return replace(cls.parse(rule), name=text, without=without)
        if text in (*_RULES, "machine"):
            people, machine = text != "machine", text != "human"
            return cls(text, people, machine, independent=text == "blind")
        if rule == str(text) and rule.startswith("only:") and len(rule) > len("only:"):
            who = text[len("only:") :]
            heard = frozenset([who]) if who.startswith("human:") else None
            return cls(text, people=False, machine=False, only=who, only_people=heard)
        raise SettingsError(f"There is no policy '{text}'. Policies: {POLICY_HELP}.")

    def of_drawn(self, tasks: Iterable[str]) -> Policy:
        """The policy for drawn units: people's independent labels for ``tasks``, the machine's for
        others. Disagreement is settled by majority if this policy does so."""
        rule = "majority" if self.rule == "majority" else "drawn"
        drawn = Policy(rule, people=True, machine=False, independent=True, tasks=frozenset(tasks))
        return replace(drawn, without=self.without, only_people=self.only_people)

    @property
    def rule(self) -> str:
        """The policy's name without the people left out."""
        return self.name.split(WITHOUT)[0]

    @property
    def settles(self) -> bool:
        """Whether a unit on which people disagree may have no label that counts."""
        return self.rule in ("majority", "adjudicated")

    def under(self, rule: str) -> Policy:
        """Another rule for the same people."""
        return replace(Policy.parse(rule), without=self.without)

    def hears(self, name: str) -> bool:
        """Whether the person of this name may count, if people do."""
        return name not in self.without and (self.only_people is None or name in self.only_people)

    @property
    def mixes(self) -> bool:
        """Whether people's labels override the machine's, for every task."""
        return self.people and self.machine and self.tasks is None

    def left_to_machine(self, tasks: Iterable[str], uneven: Collection[str]) -> Policy:
        """This policy for ``tasks`` without the ``uneven`` ones, which are left to the machine."""
        return replace(self, tasks=frozenset(tasks) - frozenset(uneven))

    def counts_machine(self, task: str) -> bool:
        """Whether a label by the configured machine may count for a task."""
        return self.only is None and (
            self.machine or (self.tasks is not None and task not in self.tasks)
        )

    def counts(self, who: LabellerId, task: str, configured: LabellerId | None) -> bool:
        """Whether labels of a task by ``who`` may count if the evaluation's labeller for it is
        ``configured``."""
        if self.only is not None:
            return who.name == self.only
        if who.is_human:
            heard = self.people and self.hears(who.name)
            return heard and (self.tasks is None or task in self.tasks)
        return who == configured and self.counts_machine(task)

    def rank(self, label: Label, configured: LabellerId | None) -> int:
        """A label's weight: 0 if it does not count, 1 for a machine's (or the ``only`` labeller's),
        2 for a person's."""
        who = label.labeller
        if who.is_audited or not self.counts(who, label.task, configured):
            return 0
        if self.only is not None or not who.is_human:
            return 1
        return 0 if self.independent and not is_independent(label) else 2


def for_all(policies: Sequence[Policy]) -> Policy:
    """The common policy of protocols that share labels: a majority policy among them or else the
    first, limited to people who may count under all of them."""
    rule = next((one for one in policies if one.rule == "majority"), policies[0])
    without = tuple(sorted({who for one in policies for who in one.without}))
    heard = [one.only_people for one in policies if one.only_people is not None]
    only = frozenset.intersection(*heard) if heard else None
    return replace(rule, without=without, only_people=only)


def shared_policy(names: Iterable[str]) -> str:
    """The one policy in ``names``, or :data:`SEVERAL` if they differ."""
    several = set(names)
    return several.pop() if len(several) == 1 else SEVERAL


def choose(
    labels: Sequence[Label],
    policy: Policy,
    configured: LabellerId | None,
    present: Callable[[Sequence[Label]], Sequence[Label]] | None = None,
) -> Label | None:
    """The label that counts among those of one unit (oldest first), or None.

    If one machine gave several (after a prompt changed), ``present`` selects the answers to the
    present wording, or to the one asked last. Of these the first usable one counts, so that labels
    merged later change no score. Of a person's labels the newest counts. A usable label is
    preferred to a failed one of the same weight.
    """
    if len(labels) == 1:  # nearly always
        return labels[0] if policy.rank(labels[0], configured) else None
    best: list[Label] = []
    weight = 0
    for label in labels:
        rank = policy.rank(label, configured)
        if rank == 0 or rank < weight:
            continue
        if rank > weight:
            best, weight = [], rank
        best.append(label)
    if not best:
        return None
    if weight == 2 and policy.settles:
        agreed = _agreed(best, policy.rule == "majority")
        if agreed is None and policy.independent:
            # The adjudicator saw people's labels but not the machine's, so the verdict stands.
            heard = [one for one in labels if policy.counts(one.labeller, one.task, configured)]
            return next((one for one in reversed(heard) if mode_of(one) == ADJUDICATION), None)
        return agreed
    by_machine = present is not None and len(best) > 1 and not best[-1].labeller.is_human
    found = present(best) if present is not None and by_machine else best
    usable = [label for label in found if label.status is Status.OK]
    newest = (usable or found)[-1]
    if not by_machine:
        return newest
    return next((one for one in usable if one.unit == newest.unit), newest)


def people_differ(labels: Sequence[Label], policy: Policy, configured: LabellerId | None) -> bool:
    """Whether people's labels of a unit (oldest first) that count differ, and nobody has
    adjudicated since."""
    counting = [one for one in labels if policy.rank(one, configured) == 2]
    return (
        len(counting) > 1
        and mode_of(counting[-1]) != ADJUDICATION
        and len(_votes(_newest(counting))) > 1
    )


def of_each_person(labels: Iterable[Label], policy: Policy) -> Sequence[Label]:
    """The newest label of each person who counts, for one unit (labels oldest first); if it was
    adjudicated, only the newest adjudication."""
    return _standing(one for one in labels if one.labeller.is_human and policy.rank(one, None))


def _newest(labels: Iterable[Label]) -> Sequence[Label]:
    """Each labeller's newest usable label."""
    found = {one.labeller.name: one for one in labels if one.status is Status.OK}
    return list(found.values())


def _standing(labels: Iterable[Label]) -> Sequence[Label]:
    """Each labeller's newest usable label or, if any is an adjudication, the newest of those."""
    newest = _newest(labels)
    settled = [one for one in newest if mode_of(one) == ADJUDICATION]
    return [max(settled, key=lambda one: one.rowid)] if settled else newest


def _votes(labels: Iterable[Label]) -> list[list[Label]]:
    """The labels grouped by verdict, the largest group last."""
    said: dict[bytes, list[Label]] = {}
    for one in labels:
        said.setdefault(canonical(without_reasons(one.verdict)), []).append(one)
    return sorted(said.values(), key=len)


def _agreed(labels: Sequence[Label], by_majority: bool) -> Label | None:
    """The label on which people's labels of a unit (oldest first) agree: the adjudication if there
    is one, else the unanimous or, ``by_majority``, the most frequent verdict. None if they
    disagree; the unit then counts as unlabelled."""
    votes = _votes(_standing(labels))
    if not votes:
        return labels[-1]  # failed
    most = votes[-1]
    if len(votes) > 1 and not (by_majority and len(most) > len(votes[-2])):
        return None
    return max(most, key=lambda one: one.rowid)
