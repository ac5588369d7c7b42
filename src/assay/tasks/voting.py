"""Joining several verdicts on a unit: majority, weighted vote, median, mean or strictest.

Ties are always resolved in the same way: for the stricter value if the values are ordered
(``False`` before ``True``, the lower grade, the order that the task declares), else for the value
of the member that is named first.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from enum import StrEnum
from typing import Any, TypeVar

from pydantic import BaseModel

from assay.tasks.base import AnyTask, Verdict

V = TypeVar("V")


class Rule(StrEnum):
    """How votes are joined.

    ``majority``: the value with most votes. ``weighted``: the value with most weight. ``median``:
    the middle value, of two middle ones the stricter. ``mean``: the mean's nearest value, from
    half-way the stricter. ``strictest``: the strictest vote.
    """

    MAJORITY = "majority"
    WEIGHTED = "weighted"
    MEDIAN = "median"
    MEAN = "mean"
    STRICTEST = "strictest"


_NEED_ORDER = (Rule.MEDIAN, Rule.MEAN, Rule.STRICTEST)
_REASON = "reason"


def refusal(task: AnyTask, rule: Rule) -> str | None:
    """Why verdicts of ``task`` cannot be joined by ``rule``, or None if they can."""
    if not task.joins:
        return f"Verdicts of {task.name} are texts, which cannot be voted on; name one labeller."
    for name, field in task.verdict.model_fields.items():
        kind = field.annotation
        nominal = isinstance(kind, type) and issubclass(kind, str) and name != _REASON
        if nominal and rule in _NEED_ORDER and name not in task.orders:
            return (
                f"The values of '{name}' ({task.name}) have no order, so rule = "
                f'"{rule.value}" has no meaning; use "majority" or "weighted".'
            )
    return None


def join(task: AnyTask, votes: Sequence[tuple[Verdict, float]], rule: Rule) -> Verdict:
    """Join ``votes``, each a verdict with its weight. The reason is that of the first member that
    agrees. Lists of objects are joined item by item, matched by their first field (their number).
    Lists of plain values are joined position by position; the task's check makes them equally long.
    Raises ValueError if there are no votes, or the task's values do not allow the rule."""
    if not votes:
        raise ValueError("there are no votes to join")
    problem = refusal(task, rule)
    if problem:
        raise ValueError(problem)
    joined: Verdict = task.verdict.model_validate(_joined(votes, rule, task.orders))
    return joined


def _joined(
    members: Sequence[tuple[BaseModel, float]], rule: Rule, orders: Mapping[str, Sequence[Any]]
) -> dict[str, Any]:
    first = members[0][0]
    found: dict[str, Any] = {}
    for name in type(first).model_fields:
        if name == _REASON:
            continue
        values = [(getattr(verdict, name), weight) for verdict, weight in members]
        if isinstance(values[0][0], tuple):
            found[name] = _joined_list(values, rule, orders, orders.get(name))
        else:
            found[name] = choose(values, rule, orders.get(name))
    if _REASON in type(first).model_fields:
        plain = {name: value for name, value in found.items() if not isinstance(value, list)}
        agreeing = (
            verdict
            for verdict, _ in members
            if all(getattr(verdict, name) == value for name, value in plain.items())
        )
        found[_REASON] = getattr(next(agreeing, first), _REASON)
    return found


def _joined_list(
    lists: Sequence[tuple[Sequence[Any], float]],
    rule: Rule,
    orders: Mapping[str, Sequence[Any]],
    order: Sequence[Any] | None,
) -> list[Any]:
    """Join lists of plain values position by position, and lists of objects by their number."""
    if any(isinstance(item, BaseModel) for one, _ in lists for item in one):
        return _joined_items(lists, rule, orders)
    places = zip(*(one for one, _ in lists), strict=True)
    weights = [weight for _, weight in lists]
    return [choose(list(zip(values, weights, strict=True)), rule, order) for values in places]


def _joined_items(
    lists: Sequence[tuple[Sequence[BaseModel], float]],
    rule: Rule,
    orders: Mapping[str, Sequence[Any]],
) -> list[dict[str, Any]]:
    items: dict[Any, list[tuple[BaseModel, float]]] = {}
    for one, weight in lists:
        for item in one:
            number = getattr(item, next(iter(type(item).model_fields)))
            items.setdefault(number, []).append((item, weight))
    return [_joined(items[number], rule, orders) for number in sorted(items)]


def choose(votes: Sequence[tuple[V, float]], rule: Rule, order: Sequence[V] | None = None) -> V:
    """The value that wins among ``(value, weight)`` votes under ``rule``. ``order`` lists the
    values from the strictest to the most lenient; numbers and booleans need none. Only ``weighted``
    uses the weights; every other rule counts votes."""
    values = [value for value, _ in votes]
    ranked = None if order is None else {value: place for place, value in enumerate(order)}

    def rank(value: V) -> Any:
        if ranked is not None:
            return ranked[value]
        return value if isinstance(value, (bool, int, float)) else values.index(value)

    if rule is Rule.STRICTEST:
        return min(values, key=rank)
    if rule is Rule.MEDIAN:
        return sorted(values, key=rank)[(len(values) - 1) // 2]
    if rule is Rule.MEAN:
        mean = sum(float(rank(value)) for value in values) / len(values)
        if ranked is not None or isinstance(values[0], bool):
            known = list(order) if order is not None else [False, True]
            return min(known, key=lambda value: (abs(rank(value) - mean), rank(value)))  # type: ignore[return-value]
        if isinstance(values[0], float):
            return mean  # type: ignore[return-value]
        low = int(mean // 1)
        return low + (mean - low > 0.5)  # type: ignore[return-value]
    totals: dict[V, float] = {}
    for value, weight in votes:
        totals[value] = totals.get(value, 0.0) + (weight if rule is Rule.WEIGHTED else 1.0)
    most = max(totals.values())
    # The tolerance is for rounding errors of weights that are added in different orders.
    return min((value for value, total in totals.items() if total >= most - 1e-12), key=rank)
