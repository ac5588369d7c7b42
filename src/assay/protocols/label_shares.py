"""Whose labels scores are based on, and whether people's are spread evenly over the runs."""

from __future__ import annotations

from collections.abc import Mapping

from assay.model.wording import counted, joined
from assay.protocols.places import UsedLabels
from assay.protocols.results import Result

UNEVEN_WARNING = (
    "People labelled more of some runs than of others, so do not compare runs by these scores. "
    "'assay score FOLDER --policy machine' gives comparable ones; 'assay draw' and 'assay trust' "
    "correct those of all runs."
)
"""Warning for scores under a policy by which runs cannot be compared."""

MAX_SHARE_DIFFERENCE = 0.05
"""The largest difference between runs in the share of people's labels that is still even."""


def label_basis(result: Result) -> str:
    """Say whose labels the leaderboard is based on, in one line: ``human labels for 37 %, the
    judge's for the rest``. It adds on how many units people disagree, which labels were given in
    the inputs, and what follows from unequal shares between runs. Empty without labels."""
    used = result.comparable.used
    basis = _in_words(used, by_people=result.by_people, lacking=result.lacking)
    disputed = result.comparable.disputed
    differ = f"people disagree on {counted(disputed, 'unit')}" if disputed else ""
    basis = "; ".join(filter(None, (basis, differ, result.comparable.findings.given)))
    uneven = uneven_shares(used) if result.evened is None else result.uneven
    shares = "; ".join(
        f"{result.task_titles.get(task, task).split(':')[0]}: {_extremes(by_run)}"
        for task, by_run in uneven.items()
    )
    if result.evened is not None:
        return (
            f"{basis}. People labelled more of some runs than of others ({shares}), so for those "
            "tasks only the judge's labels count, for all runs. Scores by both, which do not "
            f"compare runs, are in {result.out}. 'assay draw' and 'assay trust' correct all runs"
        )
    if uneven:
        return (
            f"{basis}. People labelled more of some runs than of others ({shares}), so more of the "
            "judge's errors remain in some runs and their order may be wrong; --policy machine "
            "treats all runs alike"
        )
    return basis


def uneven_shares(used: UsedLabels) -> dict[str, dict[str, float]]:
    """The share of people's labels by task and run, for tasks where it differs between runs."""
    shares = {
        task: {run: human / every for run, (every, human) in runs.items()}
        for task, runs in used.by_run().items()
    }
    return {
        task: one
        for task, one in shares.items()
        if one and max(one.values()) - min(one.values()) > MAX_SHARE_DIFFERENCE
    }


def _extremes(shares: Mapping[str, float]) -> str:
    """The runs with the largest and the smallest share of people's labels."""
    runs = sorted(shares)  # ties go to the first by name
    ends = (max(runs, key=shares.__getitem__), min(runs, key=shares.__getitem__))
    return ", ".join(f"{joined([run], 1)} {_percent(shares[run])}" for run in ends)


def _in_words(used: UsedLabels, *, by_people: bool, lacking: int) -> str:
    labels = used.count(lambda label: (label.task, label.labeller.is_human))
    if not labels:
        return ""
    people = sum(count for (_, human), count in labels.items() if human) - len(used.beside)
    share = people / (sum(labels.values()) - len(used.beside))
    if share == 1:
        return "human labels alone; others are missing" if lacking else "human labels for 100 %"
    if share == 0:
        if by_people:
            return "judge alone; people's labels are left out"
        return "judge alone, never checked here"
    return f"human labels for {_percent(share)}, the judge's for the rest, uncorrected"


def _percent(share: float) -> str:
    if 0 < share < 0.01:
        return "under 1 %"
    if 0.99 < share < 1:
        return "over 99 %"
    return f"{100 * share:.0f} %"
