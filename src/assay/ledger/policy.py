"""Which label counts. A policy is applied when scoring, so that any score can be recomputed
under another one without asking anyone again."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from assay.model.errors import SettingsError
from assay.model.labels import Label, LabellerId, Status

POLICY_HELP = (
    "people (a person's label counts before the machine's), machine (people's labels are left "
    "out), human (only people's), only:LABELLER (only this labeller's, e.g. only:human:KIM)"
)


@dataclass(frozen=True, slots=True)
class Policy:
    """A named choice among the labels of one unit.

    ``people`` and ``machine`` say whose labels are looked at; with ``only`` just the labeller of
    that name. Among a person's labels the newest counts; a newer person's before an older one's.
    A machine's label counts only if it is by the labeller that the evaluation names for the task.
    """

    name: str
    people: bool
    machine: bool
    only: str | None = None

    @classmethod
    def parse(cls, text: str) -> Policy:
        """Read a policy's name; raises SettingsError with the list of those there are."""
        if text == "people":
            return cls(text, people=True, machine=True)
        if text == "machine":
            return cls(text, people=False, machine=True)
        if text == "human":
            return cls(text, people=True, machine=False)
        if text.startswith("only:") and len(text) > len("only:"):
            return cls(text, people=False, machine=False, only=text[len("only:") :])
        raise SettingsError(f"There is no policy '{text}'. Policies: {POLICY_HELP}.")

    def rank(self, label: Label, configured: LabellerId | None) -> int:
        """How much a label weighs: 0 does not count, 1 a machine's, 2 a person's."""
        if self.only is not None:
            return 1 if label.labeller.name == self.only else 0
        who = label.labeller
        if who.is_human:
            return 2 if self.people else 0
        if not self.machine or configured is None:
            return 0
        return 1 if who is configured or who == configured else 0


def choose(
    labels: Sequence[Label],
    policy: Policy,
    configured: LabellerId | None,
    present: Callable[[Sequence[Label]], Sequence[Label]] | None = None,
) -> Label | None:
    """The label that counts among those of one unit (oldest first), or None.

    Where one machine gave several (after a prompt was changed), ``present`` gives those to the
    question as it is asked now, or all where there are none; of these the newest counts. A usable
    label goes before a failed one of the same weight.
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
    several = len(best) > 1 and weight == 1
    found = best if present is None or not several else present(best)
    usable = [label for label in found if label.status is Status.OK]
    return (usable or found)[-1]


def other_labellers(labels: Iterable[Label], policy: Policy, configured: LabellerId | None) -> str:
    """Names of labellers whose labels are there but do not count, for messages."""
    names = {label.labeller.name for label in labels if not policy.rank(label, configured)}
    return ", ".join(sorted(names))
