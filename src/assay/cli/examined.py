"""Display of question and nugget diagnoses: τ with its interval, and proposals."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TypeVar

from assay.api.items_examined import Examined
from assay.page.tables import Table
from assay.page.wording import NOTHING, interval, number
from assay.statistics.agreement import Estimate

_MOST = 40
_Item = TypeVar("_Item", bound=Examined)

INTERVALS = (
    "In brackets: 95 % intervals from resampling topics; the other leaderboard is kept fixed."
)


def tau_lines(found: Estimate | None, other: str) -> Iterator[str]:
    """Kendall's τ with another leaderboard, if known, and an explanation of its interval."""
    if found is not None:
        yield f"Kendall's tau with the {other} leaderboard: {estimate(found, 4)}"
        if found.interval is not None:
            yield INTERVALS
        yield ""


def estimate(found: Estimate | None, digits: int = 3) -> str:
    """A value with its interval."""
    if found is None:
        return NOTHING
    ends = found.interval
    shown = "" if ends is None else f" [{interval(ends.low, ends.high, digits)}]"
    return number(found.value, digits) + shown


def whole(ends: tuple[float, float] | None) -> str:
    """Counts from certain to possible."""
    return "" if ends is None else "–".join(dict.fromkeys(f"{end:.0f}" for end in ends))


def proposals(
    found: Sequence[_Item], columns: tuple[str, str], cells: Callable[[_Item], tuple[str, str]]
) -> Iterator[Table | str]:
    """The proposals, those that settle most first; ``cells`` identify the items, under
    ``columns``."""
    shown = found[:_MOST]
    yield Table(
        f"Proposals ({len(found)}), those that settle most pairs of runs first",
        ("proposal", *columns, "settles", "why"),
        [(one.proposal, *cells(one), whole(one.settles), one.why) for one in shown],
        numbers=frozenset(("settles",)),
    )
    if len(found) > len(shown):
        yield f"and {len(found) - len(shown)} more (--csv lists all)"
