"""How people agree with each other and with the machine, as sections of a report."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from assay.measures.bootstrap import ends_of
from assay.page.parts import Part, Table
from assay.page.wording import interval, number
from assay.protocols.people import Overlap
from assay.protocols.people_doubts import FEW
from assay.statistics.agreement import Estimate

_ESTIMATED = ("agreement", "κ", "κ, quadratic")


def in_words(estimate: Estimate) -> str:
    """A value with its interval: ``0.544 .46–.63``."""
    ends = interval(*ends_of(estimate.interval))
    return " ".join(filter(None, (number(estimate.value), ends)))


def people_parts(found: Sequence[Overlap]) -> Iterator[Part]:
    """The sections of a report."""
    if not found:
        return
    columns = (
        "task", "people", "units", "by several", "people differ on", "α", "also by the machine",
        *_ESTIMATED,
    )  # fmt: skip
    several = {one.task for one in found if sum(one.task == other.task for other in found) > 1}
    named = [
        f"{one.title} ({one.field.replace('.', ', ')})" if one.task in several else one.title
        for one in found
    ]
    rows = [
        (
            name, len(one.people), one.items, one.shared, one.differ, in_words(one.alpha),
            *((None,) * 4 if (beside := one.beside) is None else (
                beside.labels, in_words(beside.agreement), in_words(beside.kappa),
                beside.quadratic and in_words(beside.quadratic),
            )),
        )
        for name, one in zip(named, found, strict=True)
    ]  # fmt: skip
    yield Part(
        "People and the machine",
        "Each person’s newest label of a unit counts, except labels given with another’s in view. "
        "α compares people with each other: 1 if all agree, 0 if they agree as by chance (values "
        "with an order, such as grades, have the ordinal α). Agreement and κ compare people’s "
        "labels with those of the evaluation’s own labeller on the same units. Each is followed by "
        "its 95 % bootstrap interval over topics, if there are at least five.",
        (Table("By task", columns, rows, numbers=frozenset({"α", *_ESTIMATED})),),
    )
    each = [(name, one) for name, one in zip(named, found, strict=True) if one.shared]
    if each:
        yield Part(
            "Person by person",
            "For each person: the mean κ with the others and, by the model of Dawid and Skene "
            "(1979), how often the person is right, overall and for each verdict when it is the "
            "right one. Seconds are the median.",
            tuple(one.table(name, folded=len(one.people) > FEW) for name, one in each),
            remarks=tuple(
                f"{name.split(':')[0]}: {remark}" for name, one in each for remark in one.remarks
            ),
            of_people=True,
        )
