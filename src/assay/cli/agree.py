"""``assay agree``: how well two files of labels agree."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.text import Text

from assay.cli.agree_inputs import parse_scale
from assay.cli.common import CsvOption, JsonOption, out, plain_table, print_csv, print_json
from assay.cli.statistics import (
    LEVEL,
    RESAMPLES,
    all_used,
    explained,
    no_interval,
    note,
    one_of,
    one_output,
    shown,
    undefined_resamples,
    undefined_values,
)
from assay.formats.label_pairs import LabelPair
from assay.formats.label_tables import Unit, read_labels
from assay.model.errors import SettingsError
from assay.model.wording import counted, listed, printable
from assay.statistics.agreement import Agreement, agree, label_name

HEADER = ("measure", "value", "low", "high")

_MOST_LABELS = 12  # more make a table of counts that no one reads
_MOST_OUTSIDE = 20
_MOST_CUTS = 30  # more thresholds make a table that no one reads
_UNGIVEN = "no one gave the label"
_OF_GROUPS = ("agreement", "kappa", "kappa_quadratic", "alpha_ordinal")


@dataclass(frozen=True, slots=True)
class _Settings:
    """What the labels are held to."""

    scale: Sequence[float] | None
    clip: bool
    seed: int


@dataclass(frozen=True, slots=True)
class _Row:
    """A coefficient with its interval, and in how many resamples of it it is undefined."""

    measure: str
    value: float | None
    low: float | None
    high: float | None
    undefined: int
    topics: int

    @property
    def cells(self) -> tuple[str, float | None, float | None, float | None]:
        """As in :data:`HEADER`."""
        return (self.measure, self.value, self.low, self.high)

    @property
    def cut(self) -> bool:
        """Whether it is κ of labels that are cut in two."""
        return self.measure.startswith("kappa@")

    @property
    def why(self) -> str | None:
        """Why the value is undefined; None where it is not."""
        if self.value is not None:
            return None
        if self.cut:
            return "all labels of both are on one side of the cut"
        return "both gave one and the same label throughout"

    def document(self) -> dict[str, object]:
        """As in JSON."""
        lacks = no_interval(self.topics) if self.low is None else None
        row: dict[str, object] = dict(zip(HEADER, self.cells, strict=True))
        return explained(row, self.why or lacks, self.undefined)


@dataclass(frozen=True, slots=True)
class _Group:
    """The agreement on one topic or run."""

    name: str
    units: int
    rows: Sequence[_Row]


def agree_command(
    a: Annotated[
        Path,
        typer.Argument(
            metavar="A",
            help="Labels: qrels, an RJ run, CSV [run,]topic,doc,label, support labels or "
            "assignments.",
        ),
    ],
    b: Annotated[Path, typer.Argument(metavar="B", help="Other labels of the same documents.")],
    scale: Annotated[
        str | None,
        typer.Option(
            "--scale",
            metavar="LOW:HIGH",
            help="The labels that there are: 0:4, or a list as 0,0.5,1. Default: those given.",
        ),
    ] = None,
    by: Annotated[
        str | None,
        typer.Option("--by", metavar="topic|run", help="Also every single topic, or run."),
    ] = None,
    clip: Annotated[
        bool, typer.Option("--clip", help="Move labels outside the scale to its nearest end.")
    ] = False,
    seed: Annotated[int, typer.Option("--seed", min=0, help="Of the bootstrap over topics.")] = 0,
    as_json: JsonOption = False,
    as_csv: CsvOption = False,
) -> None:
    """Agreement of two label files: raw, Cohen's kappa and Krippendorff's alpha, with counts.

    Units are matched by topic, document and run if there is one. Intervals (95 %) resample topics.
    kappa@t is kappa of labels that are cut in two: at least t, or less.
    """
    one_output(as_json=as_json, as_csv=as_csv)
    if by is not None:
        one_of(by, ("topic", "run"), "--by")
    settings = _Settings(parse_scale(scale), clip, seed)
    if clip and settings.scale is None:
        raise typer.BadParameter("needs a --scale to clip to", param_hint="--clip")
    first, second = all_used(partial(read_labels, file) for file in (a, b))
    names = printable(str(a)), printable(str(b))
    pair = LabelPair(first, second, settings.scale, " and ".join(names))
    if by == "run" and not pair.runs:
        raise typer.BadParameter("the files have no column of runs", param_hint="--by")
    if not pair.both:
        raise SettingsError(
            f"no unit has a label in both files: {names[0]} has {len(pair.first)} labels and "
            f"{names[1]} {len(pair.second)}, and they share {pair.shared} units. Units are the "
            "same where topic, document and run are; write these alike in both files."
        )
    result = _agree(pair, pair.units, settings)
    rows = _rows(result)
    groups = _groups(pair, by, settings, whole=as_json or as_csv) if by else []
    if as_json:
        print_json(_document(result, rows, groups, by, pair, (a, b), settings))
    elif as_csv:
        for line in (*_findings(result, pair, clip), *_undefined("Empty", rows, groups, by)):
            note(line)
        if by:
            every = [(one.name, *row.cells) for one in groups for row in one.rows]
            print_csv((by, *HEADER), [*every, *(("all", *row.cells) for row in rows)])
        else:
            print_csv(HEADER, [row.cells for row in rows])
    else:
        visible = [row for row in rows if not (row.cut and _cuts(result) > _MOST_CUTS)]
        _show(result, visible)
        if by:
            _show_groups(groups, by)
        undefined = _undefined("–", visible, groups, by)
        for line in _remarks(result, pair, names, settings, undefined):
            out().print(line, markup=False, soft_wrap=True)


def _agree(
    pair: LabelPair, units: Sequence[Unit], settings: _Settings, *, intervals: bool = True
) -> Agreement:
    try:
        return agree(
            [pair.first.get(unit) for unit in units],  # type: ignore[arg-type]
            [pair.second.get(unit) for unit in units],  # type: ignore[arg-type]
            topics=[unit[0] for unit in units] if intervals else None,
            scale=settings.scale,
            clip=settings.clip,
            level=LEVEL,
            resamples=RESAMPLES,
            seed=settings.seed,
        )
    except ValueError as error:
        raise SettingsError(f"{pair.files}: {error}.") from None


def _groups(pair: LabelPair, by: str, settings: _Settings, *, whole: bool) -> list[_Group]:
    """The agreement on each topic or run, in file order, on one scale for all.

    Unless it is the *whole* of it that is wanted, only what people are shown is computed: with
    many different labels all thresholds and intervals of all groups take minutes.
    """
    place = 0 if by == "topic" else 1
    units: dict[str, list[Unit]] = {}
    for unit in pair.both:
        units.setdefault(unit[place], []).append(unit)
    scale = settings.scale
    if scale is None and whole:  # the same labels for all, so that the same thresholds come out
        scale = sorted({table[unit] for table in (pair.first, pair.second) for unit in pair.both})
    found = []
    for name, some in units.items():
        on_scale = _Settings(scale, settings.clip, settings.seed)
        result = _agree(pair, some, on_scale, intervals=whole)
        rows = [row for row in _rows(result) if whole or row.measure in _OF_GROUPS]
        found.append(_Group(name, result.n, rows))
    return found


# --- output --------------------------------------------------------------------------------------


def _rows(result: Agreement) -> list[_Row]:
    rows = []
    for name, estimate in result.estimates.items():
        low, high, undefined = None, None, 0
        if estimate.interval is not None:
            low, high = estimate.interval.low, estimate.interval.high
            undefined = estimate.interval.undefined
        rows.append(_Row(name, estimate.value, low, high, undefined, result.topics or 0))
    return rows


def _document(
    result: Agreement,
    rows: Iterable[_Row],
    groups: Iterable[_Group],
    by: str | None,
    pair: LabelPair,
    files: tuple[Path, Path],
    settings: _Settings,
) -> dict[str, Any]:
    sides = {"first": "A", "second": "B"}
    document: dict[str, Any] = {
        "rows": [row.document() for row in rows],
        "files": {"A": str(files[0]), "B": str(files[1])},
        "units": {
            "both": result.n,
            "only_A": pair.only_first,
            "only_B": pair.only_second,
            "unlabelled_A": pair.unjudged_first,
            "unlabelled_B": pair.unjudged_second,
        },
        "topics": result.topics,
        "confusion": {
            "labels": result.labels,
            "A_by_B": result.table,
            **({"reason": _untold(result)} if result.table is None else {}),
        },
        "by_label": [
            explained(
                {
                    "label": one.label,
                    "A": one.first,
                    "B": one.second,
                    "both": one.both,
                    "agreement": one.agreement,
                },
                _UNGIVEN if one.agreement is None else None,
            )
            for one in result.by_label
        ],
        "pair_orders": {
            "agree": result.orders.agree,
            "tie": result.orders.tie,
            "disagree": result.orders.disagree,
        },
        "outside": [
            {
                "file": sides[one.labeller],
                "label": one.label,
                "count": one.count,
                "counted_as": one.counted_as,
            }
            for one in result.outside
        ],
    }
    if by:
        document[f"by_{by}"] = [
            {by: one.name, "units": one.units, "rows": [row.document() for row in one.rows]}
            for one in groups
        ]
    document["settings"] = {
        "scale": settings.scale,
        "clip": settings.clip,
        "level": LEVEL,
        "resamples": RESAMPLES,
        "seed": settings.seed,
    }
    return document


def _show(result: Agreement, rows: Iterable[_Row]) -> None:
    table = plain_table("Agreement")
    for name in HEADER:
        table.add_column(name, justify="left" if name == "measure" else "right")
    for row in rows:
        name, *numbers = row.cells
        table.add_row(name, *(shown(value) for value in numbers))
    out().print(table)
    if result.table is not None and len(result.labels) <= _MOST_LABELS:
        counts = plain_table("Counts: A down, B across")
        counts.add_column("")
        for label in result.labels:
            counts.add_column(label_name(label), justify="right")
        counts.add_column("agreement", justify="right")
        for one, line in zip(result.by_label, result.table, strict=True):
            counts.add_row(label_name(one.label), *(f"{n:,}" for n in line), shown(one.agreement))
        out().print(counts)


def _show_groups(groups: Iterable[_Group], by: str) -> None:
    table = plain_table(f"By {by}")
    table.add_column(by, overflow="fold")
    for name in ("units", *_OF_GROUPS):
        table.add_column(name, justify="right")
    for one in groups:
        values = {row.measure: row.value for row in one.rows}
        numbers = (shown(values[name]) for name in _OF_GROUPS)
        table.add_row(Text(printable(one.name)), f"{one.units:,}", *numbers)
    out().print(table)


def _remarks(
    result: Agreement,
    pair: LabelPair,
    files: tuple[str, str],
    settings: _Settings,
    undefined: Iterable[str],
) -> Iterator[str]:
    yield f"A is {files[0]}, B is {files[1]}."
    units, topics = counted(result.n, "unit"), counted(result.topics or 0, "topic")
    yield f"{units} of {topics} labelled in both."
    yield from _findings(result, pair, settings.clip)
    if _cuts(result) > _MOST_CUTS:
        yield f"kappa@t of {_cuts(result):,} thresholds: not shown (see --csv)."
    orders = result.orders
    yield (
        f"Pairs of units of a topic: {orders.agree:,} ordered alike, {orders.disagree:,} in "
        f"opposite ways, {orders.tie:,} with a tie."
    )
    if (result.topics or 0) > 1:
        yield f"Low and high: 95 % bootstrap over topics, seed {settings.seed}."
    yield from undefined
    labels = ((f"label {label_name(one.label)}", one.agreement) for one in result.by_label)
    ungiven = ((name, _UNGIVEN if value is None else None) for name, value in labels)
    yield from undefined_values("–", ungiven)


def _undefined(
    mark: str, rows: Iterable[_Row], groups: Iterable[_Group], by: str | None
) -> Iterator[str]:
    """What is undefined and why, of the whole and then of the groups, and in how many resamples."""
    every = [(row.measure, row) for row in rows]
    every += [(f"{row.measure} of {by} {one.name}", row) for one in groups for row in one.rows]
    yield from undefined_values(mark, ((name, row.why) for name, row in every))
    yield from undefined_resamples((name, row.undefined) for name, row in every)


def _findings(result: Agreement, pair: LabelPair, clip: bool) -> Iterator[str]:
    """What the numbers leave out, and labels that are not on the scale."""
    if (result.topics or 0) < 2:
        yield "No intervals: there is one topic only."
    for name, other, only, unjudged in (
        ("A", "B", pair.only_first, pair.unjudged_first),
        ("B", "A", pair.only_second, pair.unjudged_second),
    ):
        if only:
            yield f"{counted(only, 'unit')} in {name} and not in {other}: left out."
        if unjudged:
            yield f"{counted(unjudged, 'unit')} without a label in {name}: left out."
    for side, name in (("first", "A"), ("second", "B")):
        strange = [one for one in result.outside if one.labeller == side]
        if strange:
            said = listed(
                (f"{label_name(one.label)} ({counted(one.count, 'time')})" for one in strange),
                _MOST_OUTSIDE,
            )
            how = "clipped to its nearest end" if clip else "counted as they are; --clip moves them"
            if clip and any(one.label == one.counted_as for one in strange):
                how = "those beyond its ends clipped, others counted as they are"
            yield f"Labels of {name} outside the scale: {said}; {how}."
    if result.table is None:
        yield _untold(result)


def _cuts(result: Agreement) -> int:
    """At how many thresholds the labels are cut in two."""
    return sum(name.startswith("kappa@") for name in result.estimates)


def _untold(result: Agreement) -> str:
    """Why there is no table of counts."""
    return f"No table of counts: there are {len(result.labels):,} different labels."
