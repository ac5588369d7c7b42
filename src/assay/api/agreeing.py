"""Agreement of two labellers."""

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
"""More thresholds would make the table unreadable."""
OF_GROUPS = ("agreement", "kappa", "kappa_quadratic", "alpha_ordinal")
"""Coefficients shown for single topics or runs."""
_MOST_OUTSIDE = 20
_MOST_STEPS = 1000


@dataclass(frozen=True, slots=True)
class Coefficient:
    """A named coefficient, and the number of topics it is estimated from."""

    name: str
    estimate: Estimate
    topics: int

    @property
    def row(self) -> tuple[str, float | None, float | None, float | None]:
        """The cells under :data:`COLUMNS`."""
        return (self.name, self.estimate.value, *ends_of(self.estimate.interval))

    @property
    def undefined(self) -> int:
        """Number of resamples in which the coefficient is undefined."""
        return self.estimate.interval.undefined if self.estimate.interval else 0

    @property
    def cut(self) -> bool:
        """Whether this is κ of labels cut in two at a threshold."""
        return self.name.startswith("kappa@")

    @property
    def why(self) -> str | None:
        """Why the value is undefined, or None if it is defined."""
        if self.estimate.value is not None:
            return None
        if self.cut:
            return "all labels of both are on the same side of the cut"
        return "both gave the same label throughout"

    def document(self) -> dict[str, Any]:
        """The JSON document."""
        lacks = None if self.estimate.interval else no_interval(self.topics)
        row = dict(zip(COLUMNS, self.row, strict=True))
        return explained(row, self.why or lacks, self.undefined)


@dataclass(frozen=True, slots=True)
class LabelsOfTwo:
    """The labels of two labellers, A and B. ``scale`` lists the possible labels; ``clip`` moves
    others to its nearest end."""

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
        """Agreement on ``units``. Raises ValueError if the labels cannot be compared."""
        # Sorted, so that a seed gives the same intervals whatever the order of the files.
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
        """The name of a label."""
        return self.pair.names.get(label, label_name(label))

    def edits(self) -> dict[str, int]:
        """Among units labelled by both, the number of B's labels given ``from scratch`` and
        ``post-edited``; of A's labels if B's do not record it. Empty if neither does."""
        for notes in reversed(self.pair.notes):
            ways = Counter(way_of(notes, unit) for unit in self.pair.both)
            if ways.keys() - {UNKNOWN}:
                return {way: ways[way] for way in (*WAYS, UNKNOWN) if ways[way]}
        return {}

    def way(self, unit: Unit) -> str:
        """How a unit was labelled, in the terms of :meth:`edits`."""
        first, second = (way_of(notes, unit) for notes in self.pair.notes)
        return first if second == UNKNOWN else second


WAYS = ("from scratch", "post-edited")
UNKNOWN = "not said"


def way_of(notes: Mapping[Unit, LabelNote], unit: Unit) -> str:
    """Whether a unit was labelled from scratch or by editing another's label."""
    edited = notes[unit].rationale.edited if unit in notes else None
    return UNKNOWN if edited is None else WAYS[edited]


@dataclass(frozen=True, slots=True)
class Group:
    """The agreement on one topic or run."""

    name: str
    units: int
    coefficients: Sequence[Coefficient]


class Disagreement(NamedTuple):
    """A unit with two different labels, their reasons, and the labelled ``text`` if known."""

    unit: Unit
    text: str
    a: float
    b: float
    reason_a: str
    reason_b: str


@dataclass(frozen=True)
class Agreed:
    """Agreement of two labellers on all units, and on those of each topic or run (``by``)."""

    labels: LabelsOfTwo
    result: Agreement
    coefficients: Sequence[Coefficient]
    by: str | None = None
    groups: Sequence[Group] = ()

    def disagreements(self) -> list[Disagreement]:
        """Units on which the labellers differ: largest difference first, then in file order."""
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
        """Number of thresholds at which labels are cut in two."""
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
        """A row for each coefficient, groups first."""
        for group in self.groups:
            yield from ((group.name, *one.row) for one in group.coefficients)
        yield from (("all", *one.row) if self.by else one.row for one in self.coefficients)

    def document(self) -> dict[str, Any]:
        """The JSON document."""
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
        """Sentences on what is undefined and why, overall and then in groups, and in how many
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
        """Sentences on what the numbers leave out, and on labels outside the scale."""
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
    """Agreement of two files of labels, overall and for each topic or run, or for labels given from
    scratch and edited ones (``by``: ``topic``, ``run``, ``edit``). ``label`` selects which label of
    a record to use.

    Unless ``whole``, groups only get the coefficients that are shown (:data:`OF_GROUPS`), without
    intervals: with many different labels, all thresholds and intervals would take minutes. Raises
    FormatError with the faults of both files, SettingsError if they share no unit.
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
    """Agreement on each group, in file order, on one scale for all."""
    pair, scale = labels.pair, labels.scale
    units: dict[str, list[Unit]] = {}
    for unit in pair.both:
        topic, run, _ = unit
        name = labels.way(unit) if by == "edit" else topic if by == "topic" else run
        units.setdefault(name, []).append(unit)
    if scale is None and whole:  # the same labels, and so the same thresholds, for all groups
        scale = sorted({table[unit] for table in (pair.first, pair.second) for unit in pair.both})
    for name, some in units.items():
        result = labels.agreement(some, intervals=whole, scale=scale)
        found = [one for one in coefficients(result) if whole or one.name in OF_GROUPS]
        yield Group(name, result.n, found)


def coefficients(result: Agreement) -> list[Coefficient]:
    """The coefficients of an agreement."""
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
