"""What scores stand on: whose labels, and whether these are spread evenly over the runs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from assay.model.wording import listed
from assay.protocols.places import Used
from assay.protocols.results import Result

_APART = 0.05
"""Shares of people's labels that lie further apart than this are not even."""


def stands_on(result: Result) -> str:
    """Whose labels count, in one line: ``human labels for 37 %, the judge's for the rest``. Empty
    where there are no labels. Where runs have unequal shares of people's, what that means."""
    return _in_words(result.used, by_people=result.by_people)


def _in_words(used: Iterable[Used], *, by_people: bool) -> str:
    labels: dict[tuple[str, str], bool] = {}
    of_run: Counter[str] = Counter()
    human_of_run: Counter[str] = Counter()
    for label, place in used:
        human = label.labeller.is_human
        labels[label.task, label.unit] = human
        if place.run:
            of_run[place.run] += 1
            human_of_run[place.run] += human
    if not labels:
        return ""
    share = sum(labels.values()) / len(labels)
    if share == 1:
        return "human labels for 100 %"
    if share == 0:
        if by_people:
            return "judge alone; people's labels are left out"
        return "judge alone, never checked here"
    whose = f"human labels for {_percent(share)}, the judge's for the rest, uncorrected"
    shares = {run: human_of_run[run] / count for run, count in of_run.items()}
    if not shares or max(shares.values()) - min(shares.values()) <= _APART:
        return whose
    most, least = max(shares, key=shares.__getitem__), min(shares, key=shares.__getitem__)
    return (
        f"{whose}, and unevenly: {listed([most], 1)} {_percent(shares[most])}, "
        f"{listed([least], 1)} {_percent(shares[least])}. The judge's errors stay in some runs "
        "more than in others, so that their order may be wrong; --policy machine treats all alike"
    )


def _percent(share: float) -> str:
    percent = 100 * share
    return f"{percent:.0f} %" if percent >= 1 or not share else "under 1 %"
