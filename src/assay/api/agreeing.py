"""How well two labellers agree."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

from assay.api.reading import Note, all_used
from assay.api.undefined import (
    LEVEL,
    RESAMPLES,
    explained,
    no_interval,
    undefined_resamples,
    undefined_values,
)
from assay.formats.cells import LARGEST
from assay.formats.label_records import LabelNote, Unit
from assay.formats.label_tables import LabelPair, read_labels
from assay.measures.bootstrap import ends_of
from assay.model.errors import SettingsError
from assay.model.wording import counted, joined, natural_key, printable
from assay.statistics import agreement
from assay.statistics.agreement import Agreement, Estimate
from assay.statistics.tables import label_name

COLUMNS = ("measure", "value", "low", "high")
UNGIVEN = "no one gave the label"
MOST_CUTS = 30
"""More thresholds make a table that no one reads."""
OF_GROUPS = ("agreement", "kappa", "kappa_quadratic", "alpha_ordinal")
"""What people are shown of single topics or runs."""
_MOST_OUTSIDE = 20
_MOST_STEPS = 1000


@dataclass(frozen=True, slots=True)
class Coefficient:
    """A coefficient by its name, over a number of topics."""

    name: str
    estimate: Estimate
    topics: int

    @property
    def row(self) -> tuple[str, float | None, float | None, float | None]:
        """The cells under :data:`COLUMNS`."""
        return (self.name, self.estimate.value, *ends_of(self.estimate.interval))

    @property
    def undefined(self) -> int:
        """In how many resamples it is undefined."""
        return self.estimate.interval.undefined if self.estimate.interval else 0

    @property
    def cut(self) -> bool:
        """Whether it is κ of labels that are cut in two."""
        return self.name.startswith("kappa@")

    @property
    def why(self) -> str | None:
        """Why the value is undefined; None where it is not."""
        if self.estimate.value is not None:
            return None
        if self.cut:
            return "all labels of both are on the same side of the cut"
        return "both gave the same label throughout"

    def document(self) -> dict[str, Any]:
        """As JSON has it."""
        lacks = None if self.estimate.interval else no_interval(self.topics)
        row = dict(zip(COLUMNS, self.row, strict=True))
        return explained(row, self.why or lacks, self.undefined)


@dataclass(frozen=True, slots=True)
class LabelsOfTwo:
    """The labels of two labellers, A and B, and what they are held to: ``scale`` are the labels
    that there are, and with ``clip`` others are moved to its nearest end."""

    pair: LabelPair
    scale: Sequence[float] | None
    clip: bool
    seed: int

    def agreement(
        self,
        units: Sequence[Unit],
        *,
        intervals: bool = True,
        scale: Sequence[float] | None = None,
    ) -> Agreement:
        """How well they agree on some units. Raises ValueError for what cannot be compared."""
        # Whatever the files' order, what is drawn by a seed is the same.
        topics = sorted({topic for topic, _, _ in units}, key=natural_key)
        place = {topic: at for at, topic in enumerate(topics)}
        units = sorted(units, key=lambda unit: place[unit[0]])
        return agreement.agree(
            [self.pair.first.get(unit) for unit in units],  # type: ignore[arg-type]
            [self.pair.second.get(unit) for unit in units],  # type: ignore[arg-type]
            topics=[unit[0] for unit in units] if intervals else None,
            scale=scale or self.scale,
            clip=self.clip,
            level=LEVEL,
            resamples=RESAMPLES,
            seed=self.seed,
        )

    def name(self, label: float) -> str:
        """What a label is called."""
        return self.pair.names.get(label, label_name(label))

    def edits(self) -> dict[str, int]:
        """Of the units with a label in both, how many labels of B are ``from scratch`` and how many
        ``post-edited``; those of A where B's do not say. Empty where neither does."""
        for notes in reversed(self.pair.notes):
            ways = Counter(way_of(notes, unit) for unit in self.pair.both)
            if ways.keys() - {UNKNOWN}:
                return {way: ways[way] for way in (*WAYS, UNKNOWN) if ways[way]}
        return {}

    def way(self, unit: Unit) -> str:
        """How a unit was labelled, as :meth:`edits` counts it."""
        first, second = (way_of(notes, unit) for notes in self.pair.notes)
        return first if second == UNKNOWN else second


WAYS = ("from scratch", "post-edited")
UNKNOWN = "not said"


def way_of(notes: Mapping[Unit, LabelNote], unit: Unit) -> str:
    """Whether a unit's label began as another's."""
    edited = notes[unit].rationale.edited if unit in notes else None
    return UNKNOWN if edited is None else WAYS[edited]


@dataclass(frozen=True, slots=True)
class Group:
    """The agreement on one topic or run."""

    name: str
    units: int
    coefficients: Sequence[Coefficient]


class Disagreement(NamedTuple):
    """A unit with two labels that differ: the ``text`` that is labelled where it is known, and the
    reason of each."""

    unit: Unit
    text: str
    a: float
    b: float
    reason_a: str
    reason_b: str


@dataclass(frozen=True)
class Agreed:
    """How well two labellers agree, on all units and on those of each topic or run (``by``)."""

    labels: LabelsOfTwo
    result: Agreement
    coefficients: Sequence[Coefficient]
    by: str | None = None
    groups: Sequence[Group] = ()

    def disagreements(self) -> list[Disagreement]:
        """The units on which both differ, the farthest apart first, then in the files' order."""
        pair = self.labels.pair
        found = []
        for unit in pair.both:
            a, b = pair.first[unit], pair.second[unit]
            if a != b:
                beside = [notes.get(unit, LabelNote()) for notes in pair.notes]
                text = beside[0].text or beside[1].text
                reasons = (beside[0].rationale.reason, beside[1].rationale.reason)
                found.append(Disagreement(unit, text, a, b, *reasons))
        return sorted(found, key=lambda one: -abs(one.a - one.b))

    @property
    def cuts(self) -> int:
        """At how many thresholds the labels are cut in two."""
        return sum(one.cut for one in self.coefficients)

    @property
    def no_counts(self) -> str:
        """Why there is no table of counts."""
        return (
            "No table of counts: there are too many different labels "
            f"({len(self.result.labels):,})."
        )

    def columns(self) -> tuple[str, ...]:
        """The heading of :meth:`rows`."""
        return (self.by, *COLUMNS) if self.by else COLUMNS

    def rows(self) -> Iterator[tuple[object, ...]]:
        """A row for each coefficient, those of the groups first."""
        for group in self.groups:
            yield from ((group.name, *one.row) for one in group.coefficients)
        yield from (("all", *one.row) if self.by else one.row for one in self.coefficients)

    def document(self) -> dict[str, Any]:
        """As JSON has it."""
        result, pair = self.result, self.labels.pair
        edits = self.labels.edits()
        sides = {"first": "A", "second": "B"}
        counts: dict[str, Any] = {"labels": result.labels, "A_by_B": result.table}
        grouped = {}
        if self.by:
            grouped[f"by_{self.by}"] = [
                {
                    self.by: one.name,
                    "units": one.units,
                    "rows": [row.document() for row in one.coefficients],
                }
                for one in self.groups
            ]
        return {
            "rows": [one.document() for one in self.coefficients],
            "units": {
                "both": result.n,
                "only_A": pair.only_first,
                "only_B": pair.only_second,
                "unlabelled_A": pair.unjudged_first,
                "unlabelled_B": pair.unjudged_second,
            },
            "topics": result.topics,
            "names": {label_name(label): name for label, name in pair.names.items()},
            "edits": edits,
            "confusion": explained(counts, self.no_counts if result.table is None else None),
            "by_label": [
                explained(
                    {
                        "label": one.label,
                        "A": one.first,
                        "B": one.second,
                        "both": one.both,
                        "agreement": one.agreement,
                    },
                    UNGIVEN if one.agreement is None else None,
                )
                for one in result.by_label
            ],
            "pair_orders": result.orders,
            "outside": [
                {
                    "file": sides[one.labeller],
                    "label": one.label,
                    "count": one.count,
                    "counted_as": one.counted_as,
                }
                for one in result.outside
            ],
            **grouped,
            "settings": {
                "scale": self.labels.scale,
                "clip": self.labels.clip,
                "level": LEVEL,
                "resamples": RESAMPLES,
                "seed": self.labels.seed,
            },
        }

    def undefined(self, mark: str, *, cuts: bool = True) -> Iterator[str]:
        """What is undefined and why, of the whole and then of the groups, and in how many
        resamples."""
        every = [(one.name, one) for one in self.coefficients if cuts or not one.cut]
        every += [
            (f"{one.name} of {self.by} {group.name}", one)
            for group in self.groups
            for one in group.coefficients
        ]
        yield from undefined_values(mark, ((name, one.why) for name, one in every))
        yield from undefined_resamples((name, one.undefined) for name, one in every)

    def findings(self) -> Iterator[str]:
        """What the numbers leave out, and labels that are not on the scale."""
        pair, clip = self.labels.pair, self.labels.clip
        edits = self.labels.edits()
        if edits:
            units = len(pair.both)
            shares = ", ".join(f"{way} {n:,} ({n / units:.0%})" for way, n in edits.items())
            yield f"Labels given {shares}; --by edit separates them."
        if (self.result.topics or 0) < 2:
            yield "No intervals: there is only one topic."
        if pair.one_label:
            same = counted(pair.one_label, "unit")
            yield f"{same} with the same single label in both: left out."
        for name, other, only, unjudged in (
            ("A", "B", pair.only_first, pair.unjudged_first),
            ("B", "A", pair.only_second, pair.unjudged_second),
        ):
            if only:
                yield f"{counted(only, 'unit')} in {name} and not in {other}: left out."
            if unjudged:
                yield f"{counted(unjudged, 'unit')} without a label in {name}: left out."
        for side, name in (("first", "A"), ("second", "B")):
            strange = [one for one in self.result.outside if one.labeller == side]
            if strange:
                said = joined(
                    (f"{label_name(one.label)} ({counted(one.count, 'time')})" for one in strange),
                    _MOST_OUTSIDE,
                )
                how = "counted unchanged; --clip moves them"
                if clip:
                    how = "clipped to its nearest end"
                    if any(one.label == one.counted_as for one in strange):
                        how = "those beyond its ends clipped, others counted unchanged"
                yield f"Labels of {name} outside the scale: {said}; {how}."
        if self.result.table is None:
            yield self.no_counts


def agree_files(
    a: Path,
    b: Path,
    *,
    scale: Sequence[float] | None,
    clip: bool,
    seed: int,
    by: str | None,
    whole: bool,
    note: Note,
    label: str | None = None,
) -> Agreed:
    """The agreement of two files of labels, on everything and on each topic or run, or on labels
    given from scratch and edited ones (``by``: ``topic``, ``run``, ``edit``). ``label`` says which
    labels of records are meant.

    Unless it is the ``whole`` of it that is wanted, only what people are shown of groups is
    computed: with many different labels all thresholds and intervals of all groups take minutes.
    Raises FormatError with the faults of both files, SettingsError where they share nothing.
    """
    first, second = all_used((partial(read_labels, file, label) for file in (a, b)), note)
    names = printable(str(a)), printable(str(b))
    pair = LabelPair(first, second, scale, " and ".join(names))
    if by == "run" and not pair.runs:
        raise SettingsError("the files have no column of runs, which --by run needs.")
    if not pair.both:
        raise SettingsError(
            f"no unit has a label in both files: {names[0]} has {len(pair.first)} labels and "
            f"{names[1]} {len(pair.second)}, and they share {pair.shared} units. Units are the "
            "same if topic, document and run are the same; write these the same way in both files."
        )
    labels = LabelsOfTwo(pair, scale, clip, seed)
    try:
        result = labels.agreement(pair.units)
        groups = list(_groups(labels, by, whole=whole)) if by else []
    except ValueError as error:
        raise SettingsError(f"{pair.files}: {error}.") from None
    return Agreed(labels, result, coefficients(result), by, groups)


def _groups(labels: LabelsOfTwo, by: str, *, whole: bool) -> Iterator[Group]:
    """The agreement on each topic or run, in file order, on one scale for all."""
    pair, scale = labels.pair, labels.scale
    units: dict[str, list[Unit]] = {}
    for unit in pair.both:
        topic, run, _ = unit
        name = labels.way(unit) if by == "edit" else topic if by == "topic" else run
        units.setdefault(name, []).append(unit)
    if scale is None and whole:  # the same labels for all, so that the same thresholds come out
        scale = sorted({table[unit] for table in (pair.first, pair.second) for unit in pair.both})
    for name, some in units.items():
        result = labels.agreement(some, intervals=whole, scale=scale)
        found = [one for one in coefficients(result) if whole or one.name in OF_GROUPS]
        yield Group(name, result.n, found)


def coefficients(result: Agreement) -> list[Coefficient]:
    """Its coefficients, one a row."""
    topics = result.topics or 0
    return [Coefficient(name, one, topics) for name, one in result.estimates.items()]


def scale_of(text: str) -> list[float]:
    """``0:4`` as 0, 1, 2, 3, 4; ``0,0.5,1`` sorted. Raises ValueError for what is no scale, has a
    label twice, or is too long."""
    if ":" in text:
        low, high = (int(end) for end in text.split(":"))
        if not low < high <= low + _MOST_STEPS:
            raise ValueError(text)
        return [float(label) for label in range(low, high + 1)]
    labels = [float(label) for label in text.split(",")]
    if len(set(labels)) < max(2, len(labels)) or not all(abs(x) <= LARGEST for x in labels):
        raise ValueError(text)
    return sorted(labels)
