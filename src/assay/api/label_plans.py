"""A plan of what people label next: what is wanted, what is offered and what it should buy."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Annotated

from assay.api.corrected import check_level
from assay.model.options import Option

COLUMNS = ("design", "labels", "topics", "width", "decided", "pairs", "hours", "cost")

_ENOUGH = 0.9
"""Of the pairs that can be settled at all, the share that ``to_decide`` asks for."""


@dataclass(frozen=True)
class Purchase:
    """What ``labels`` more labels by people, drawn by a ``design``, are expected to buy: ``width``
    of the widest run's interval, and how many pairs of runs have their order ``decided``. Of whole
    topics, how many. ``hours`` at people's pace and the ``cost`` in US dollars if a model gave the
    labels, where these are known."""

    design: str
    labels: int
    topics: int | None
    width: float
    decided: float
    hours: float | None
    cost: float | None


@dataclass(frozen=True)
class LabelPlan:
    """A plan for one ``measure``: ``offers`` by design and number of labels, the ``cheapest`` that
    reaches what was asked for (None: none does, or nothing was), and the ``command`` that draws it.
    ``settled`` pairs of all ``pairs`` are so already, by labels that are there, and the widest
    run's interval is ``width`` wide (None: nothing that was drawn is labelled). ``notes`` say what
    the expectations rest on."""

    measure: str
    task: str
    runs: tuple[str, ...]
    pairs: int
    settled: int
    offers: tuple[Purchase, ...]
    cheapest: Purchase | None
    command: str
    notes: tuple[str, ...]
    width: float | None = None

    def rows(self) -> Iterator[tuple[object, ...]]:
        """The offers under :data:`COLUMNS`."""
        for one in self.offers:
            yield (one.design, one.labels, one.topics, one.width, one.decided, self.pairs,
                   one.hours, one.cost)  # fmt: skip


@dataclass(frozen=True)
class Aim:
    """What is wanted: pairs ``to_decide``, intervals no wider than ``width``, or what ``n`` labels
    buy. ``looks`` is how often the order will be looked at, ``level`` that of the intervals."""

    to_decide: Annotated[bool, Option("Until 9 of 10 pairs of runs have their order settled.")] = (
        False
    )
    width: Annotated[float | None, Option("Until no run's interval is wider, such as .1.")] = None
    n: Annotated[int | None, Option("What so many labels buy.", least=10)] = None
    looks: Annotated[
        int, Option("How often the order is looked at, at most: said beforehand.", least=1)
    ] = 1
    level: Annotated[float, Option("Of the intervals.")] = 0.95

    @property
    def deciding(self) -> float:
        """The level at which pairs are called settled at each look, as it is printed: rounded up.
        Raises SettingsError where it is too high."""
        exact = 1.0 - (1.0 - check_level(self.level)) / self.looks
        return check_level(math.ceil(exact * 1e6 - 1e-3) / 1e6)

    def reached(self, one: Purchase, most: float) -> bool:
        """Whether a purchase is enough, where ``most`` pairs can be settled at all."""
        enough = not self.to_decide or one.decided >= _ENOUGH * most
        return enough and (self.width is None or one.width <= self.width)
