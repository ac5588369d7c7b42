"""What a judge's errors on another collection would mean here: a sensitivity analysis.

Nothing is corrected by it: nobody knows whether the judge errs here as it did there
(:func:`assay.statistics.corrected.rogan_gladen`).
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from assay.api.opened import Opened
from assay.model.errors import SettingsError
from assay.model.wording import listing, sentence
from assay.protocols.results import Findings
from assay.statistics.corrected import rogan_gladen

USUAL = ("Accuracy",)
_FORM = re.compile(r"(\d{1,9})/(\d{1,9}),(\d{1,9})/(\d{1,9})")


@dataclass(frozen=True, slots=True)
class Elsewhere:
    """How a judge did on another collection: of ``m1`` units that people called right it called
    ``true_positive`` right, of ``m0`` that they called wrong ``true_negative`` wrong."""

    true_positive: int
    m1: int
    true_negative: int
    m0: int

    @classmethod
    def parse(cls, text: str) -> Elsewhere:
        """Read ``45/50,40/50``. Raises SettingsError for anything else."""
        found = _FORM.fullmatch(text.replace(" ", ""))
        if found is None:
            raise SettingsError(
                f"'{text}' is not of the form 45/50,40/50: of 50 that people called right the "
                "judge called 45 right, of 50 that they called wrong 40 wrong."
            )
        return cls(*map(int, found.groups()))


class CarriedOver(NamedTuple):
    """A run's share of yes by the judge alone, over ``n`` topics, and what people would say if the
    judge erred here as it did elsewhere, with its interval."""

    run: str
    measure: str
    judge_alone: float
    value: float
    low: float
    high: float
    n: int


def carried_over(
    folder: Path, elsewhere: Elsewhere, *, measures: Sequence[str] = (), level: float = 0.95
) -> list[CarriedOver]:
    """The analysis of Accuracy (or of ``measures`` that are a share of yes and no over topics, each
    by one label), by the judge's labels alone. Raises SettingsError where there is none, and
    where the judge was near chance elsewhere."""
    opened = Opened.open(folder, policy="machine")
    with opened.ledger(create=False) as ledger:
        ledger.checked()
        results = opened.score(ledger)
    found = [
        one
        for name, result in results.by_protocol.items()
        for one in _shares(result.findings, results.prefix(name), measures, elsewhere, level)
    ]
    if not found:
        which = listing(list(measures or USUAL))
        raise SettingsError(
            f"{folder}: {which} is no share of yes and no over all topics here, with every label "
            "there: there is nothing to carry over to. -m names other measures."
        )
    return found


def _shares(
    found: Findings, prefix: str, measures: Sequence[str], elsewhere: Elsewhere, level: float
) -> Iterator[CarriedOver]:
    for measure in dict.fromkeys(m for board in found.boards for m in board.measures):
        name = prefix + measure
        if not {measure, name} & set(measures or USUAL):
            continue
        for run, by_measure in found.per_topic.items():
            by_topic = by_measure.get(measure, {}).values()
            values = [None if one is None else one.value for one in by_topic]
            if len(values) < len(found.topics) or not set(values) <= {0.0, 1.0}:
                continue
            positive = values.count(1.0)
            try:
                value, low, high = rogan_gladen(
                    positive, len(values), elsewhere.true_positive, elsewhere.m1,
                    elsewhere.true_negative, elsewhere.m0, level=level,
                )  # fmt: skip
            except ValueError as error:
                raise SettingsError(sentence(error)) from None
            yield CarriedOver(run, name, positive / len(values), value, low, high, len(values))
