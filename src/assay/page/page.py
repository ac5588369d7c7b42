"""A whole page: what heads it, its leaderboards, its sections."""

from __future__ import annotations

from collections.abc import Container, Mapping
from dataclasses import dataclass, field

from assay.measures.scores import Score, Scores
from assay.page.parts import Part, Table

Fact = Score | float | int | str | None
"""What a leaderboard says of a run beside its measures."""

_MOST_NAMED = 6  # labellers whose labels count for a task


@dataclass(frozen=True, slots=True)
class Gap:
    """Something that is missing: ``count`` of ``what``, and what follows from it. A ``grave`` one
    is a label; others are worth knowing."""

    count: int
    what: str
    so: str
    grave: bool = True


@dataclass(frozen=True, slots=True)
class Board:
    """A leaderboard: its runs are those of ``scores`` that have the first measure, best first.

    ``lower_is_better`` names the measures of which that is true. ``columns`` are further facts of
    each run by heading, such as how many passages it has. ``apart`` are measures that a line parts
    from those before. ``remarks`` say of runs what must be known beside their scores, in place of
    how many topics lack labels; ``why_open`` says of runs why topics are open that no label could
    close. ``below`` stands under the table. The terminal has room for the measures in ``brief``,
    each under its heading there (all where there are none). ``by_category`` are those that are
    shown by category too; the first where there are none.
    """

    title: str
    measures: tuple[str, ...]
    note: str = ""
    lower_is_better: frozenset[str] = frozenset()
    columns: Mapping[str, Mapping[str, Fact]] = field(default_factory=dict)
    apart: frozenset[str] = frozenset()
    remarks: Mapping[str, tuple[str, ...]] | None = None
    below: str = ""
    brief: Mapping[str, str] = field(default_factory=dict)
    by_category: tuple[str, ...] = ()
    why_open: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Definition:
    """A measure in a sentence, with where it comes from. Several may share one: ``ECE, MCE``."""

    name: str
    says: str
    source: str


@dataclass(frozen=True, slots=True)
class LabelledTask:
    """Who labelled for a task: the labeller named for it, and whose labels count, the most first;
    ``by_people`` of them."""

    task: str
    title: str
    labeller: str
    kind: str
    model: str
    counted: Mapping[str, int]
    by_people: int

    @property
    def shown(self) -> str:
        """Whose labels count, in words."""
        most = list(self.counted.items())[:_MOST_NAMED]
        return ", ".join(f"{n:,} by {name}" for name, n in most) or "none"


@dataclass(frozen=True, kw_only=True)
class Page:
    """An evaluation as people see it.

    ``nothing`` is said where there are no ``gaps``, ``usable`` where none of them is grave.
    ``juries`` are tables of how the members of an ensemble agree. ``level`` is that of the
    intervals, ``out`` where the files are, ``stands_on`` whose labels the scores rest on.
    ``reproduce`` says how to compute a page that is no evaluation's report. ``parts`` come after
    the leaderboards, ``first`` before them. Leaderboards rank all runs, and show ``only`` these.
    """

    title: str
    protocol: str
    policy: str = ""
    policy_says: str = ""
    scores: Scores = field(default_factory=dict)
    boards: tuple[Board, ...] = ()
    parts: tuple[Part, ...]
    definitions: tuple[Definition, ...]
    settings: Mapping[str, object] = field(default_factory=dict)
    gaps: tuple[Gap, ...] = ()
    nothing: str
    usable: str = ""
    lede: tuple[str, ...] = ()
    facts: tuple[tuple[str, str], ...] = ()
    warnings: tuple[str, ...] = ()
    labelled: tuple[LabelledTask, ...] = ()
    juries: tuple[Table, ...] = ()
    level: float | None = None
    out: str = "out/"
    stands_on: str = ""
    reproduce: str = ""
    first: tuple[Part, ...] = ()
    only: Container[str] | None = None
