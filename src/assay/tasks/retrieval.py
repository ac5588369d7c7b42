"""What the baseline retrieval asks a language model: queries for a question, order of passages."""

from __future__ import annotations

from collections.abc import Sequence

from assay.tasks.base import AnyTask, Task, Unit, Verdict
from assay.tasks.lists import list_of_texts
from assay.tasks.schemas import Schema, exactly, fields, whole

MOST_QUERIES = 5
"""Most queries that a question is split into."""

MOST_ORDERED = 100
"""Most passages that are ordered at once; a reply with more numbers would be cut off."""


class DecompositionUnit(Unit):
    """A question that may need several searches."""

    question: str


class Decomposition(Verdict):
    """Search queries that together find the answer to the question, the most important first."""

    queries: tuple[str, ...]


DECOMPOSITION = Task(
    name="retrieval.decomposition",
    title="Query decomposition: which searches does the question need?",
    unit=DecompositionUnit,
    verdict=Decomposition,
    **list_of_texts("queries", lambda _: (1, MOST_QUERIES), 400),
    max_tokens=300,
)


class OrderUnit(Unit):
    """A question and a window of passages, in their order so far."""

    question: str
    passages: tuple[str, ...]


class Order(Verdict):
    """The numbers of all passages (from 1), the most useful one first. Repeated numbers are ignored
    (:func:`in_order`)."""

    order: tuple[int, ...]


def _check_order(unit: OrderUnit, verdict: Order) -> str | None:
    count = len(unit.passages)
    if len(verdict.order) == count and set(verdict.order) <= set(range(1, count + 1)):
        return None
    return f"'order' must hold each number from 1 to {count} once"


def _narrow_order(unit: OrderUnit, schema: Schema) -> None:
    count = len(unit.passages)
    fields(schema)["order"].update(items=whole(1, count or 1), **exactly(count))


def in_order(order: Sequence[int], count: int) -> list[int]:
    """The numbers from 1 to ``count`` in the given order. Missing ones follow in their original
    order, as in RankGPT (Sun et al., EMNLP 2023)."""
    return list(dict.fromkeys([*order, *range(1, count + 1)]))


ORDER = Task(
    name="retrieval.order",
    title="Listwise reranking: which passage answers the question best?",
    unit=OrderUnit,
    verdict=Order,
    check=_check_order,
    narrow=_narrow_order,
    max_tokens=600,
)

TASKS: tuple[AnyTask, ...] = (DECOMPOSITION, ORDER)
