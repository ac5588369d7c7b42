"""A whole page: its heading, leaderboards and sections."""

from __future__ import annotations

from collections.abc import Container, Mapping
from dataclasses import dataclass, field

from assay.measures.scores import Score, Scores
from assay.page.parts import Part, Table

Fact = Score | float | int | str | None
"""A value shown for a run beside its measures."""

_MOST_NAMED = 6  # labellers whose labels count for a task


@dataclass(frozen=True, slots=True)
class Gap:
    """Something missing: ``count`` of ``what``, and the consequence. Missing labels are ``grave``;
    other gaps are for information."""

    count: int
    what: str
    so: str
    grave: bool = True


@dataclass(frozen=True, slots=True)
class Board:
    """A leaderboard of the runs in ``scores`` that have the first measure, best first.

    ``lower_is_better`` names measures for which lower is better. ``columns`` are further facts of
    each run by heading, such as its number of passages. A line separates the measures in ``apart``
    from those before. ``remarks`` on runs replace the number of topics without labels;
    ``why_open`` says why a run has open topics that no label could close. ``below`` is shown under
    the table. The terminal shows the measures in ``brief`` under the headings there (default: all).
    ``by_category`` are the measures also shown by category (default: the first).
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
    """The definition of a measure and its source. Several may share one: ``ECE, MCE``."""

    name: str
    says: str
    source: str


@dataclass(frozen=True, slots=True)
class LabelledTask:
    """The configured labeller of a task, and whose labels count, most first; ``by_people`` is the
    number by people."""

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
    """An evaluation as shown to people.

    ``nothing`` is the message if there are no ``gaps``, ``usable`` if none of them is grave.
    ``juries`` are tables on agreement within ensembles. ``level`` is that of the intervals, ``out``
    the folder of the files, ``stands_on`` whose labels the scores rest on. ``reproduce`` says how
    to recompute a page that is not an evaluation's report. ``parts`` come after the leaderboards,
    ``first`` before them. Leaderboards rank all runs, but show ``only`` these.
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
