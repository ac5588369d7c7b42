"""``assay agree``: how well two files of labels agree."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.text import Text

from assay.cli.common import (
    CsvOption,
    JsonOption,
    err,
    out,
    plain_table,
    print_csv,
    print_json,
)
from assay.formats.label_tables import LabelTable, Unit, read_labels
from assay.formats.parsed import Parsed, printable
from assay.model.errors import SettingsError
from assay.statistics.agreement import Agreement, agree

HEADER = ("measure", "value", "low", "high")
Row = tuple[str, float | None, float | None, float | None]

_UNJUDGED = -1.0
_MOST_LABELS = 12  # more make a table of counts that no one reads
_MOST_STEPS = 1000


def agree_command(
    a: Annotated[Path, typer.Argument(metavar="A", help="Labels: qrels, or CSV topic,doc,label.")],
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
        str | None, typer.Option("--by", metavar="topic", help="Also show every single topic.")
    ] = None,
    clip: Annotated[
        bool, typer.Option("--clip", help="Move labels outside the scale to its nearest end.")
    ] = False,
    seed: Annotated[int, typer.Option("--seed", min=0, help="Of the bootstrap over topics.")] = 0,
    as_json: JsonOption = False,
    as_csv: CsvOption = False,
) -> None:
    """Agreement of two label files: raw, Cohen's kappa and Krippendorff's alpha, with counts.

    Units are matched by topic and document. Intervals (95 %) resample topics. kappa@t is kappa of
    labels that are cut in two: at least t, or less.
    """
    if by not in (None, "topic"):
        raise typer.BadParameter("must be 'topic'", param_hint="--by")
    labels = _scale(scale)
    if clip and labels is None:
        raise typer.BadParameter("needs a --scale to clip to", param_hint="--clip")
    pair = _Pair(_read(a, read_labels(a)), _read(b, read_labels(b)), labels)
    if not pair.both:
        raise SettingsError(
            f"no unit has a label in both files: {a} has {len(pair.first)} labels and {b} "
            f"{len(pair.second)}, and they share {pair.shared} units. Units are the same where "
            "topic and document are."
        )
    result = _agree(pair, pair.units, labels, clip, seed)
    rows = _rows(result)
    single = _by_topic(pair, labels, clip) if by else []
    if as_json:
        print_json(_document(result, rows, single, pair, (a, b), labels, clip, seed))
    elif as_csv:
        print_csv(HEADER, rows)
    else:
        _show(result, rows, single, pair, (a, b), clip, seed)


class _Pair:
    """The labels of two files, matched."""

    def __init__(self, a: LabelTable, b: LabelTable, scale: Sequence[float] | None) -> None:
        self.first, self.unjudged_first = _judged(a, scale)
        self.second, self.unjudged_second = _judged(b, scale)
        self.units = tuple(dict.fromkeys([*a.labels, *b.labels]))
        self.shared = sum(unit in b.labels for unit in a.labels)
        self.both = [unit for unit in self.first if unit in self.second]
        self.only_first = len(a.labels) - self.shared
        self.only_second = len(b.labels) - self.shared


def _judged(table: LabelTable, scale: Sequence[float] | None) -> tuple[dict[Unit, float], int]:
    """The labels of a file, and how many of its units have none.

    In qrels −1 says that a document was not judged, unless the scale holds it.
    """
    marked = table.qrels and (scale is None or _UNJUDGED not in scale)
    kept = {
        unit: label
        for unit, label in table.labels.items()
        if label is not None and not (marked and label == _UNJUDGED)
    }
    return kept, len(table.labels) - len(kept)


def _agree(
    pair: _Pair, units: Sequence[Unit], scale: Sequence[float] | None, clip: bool, seed: int
) -> Agreement:
    try:
        return agree(
            [pair.first.get(unit) for unit in units],  # type: ignore[arg-type]
            [pair.second.get(unit) for unit in units],  # type: ignore[arg-type]
            topics=[topic for topic, _ in units],
            scale=scale,
            clip=clip,
            seed=seed,
        )
    except ValueError as error:
        raise SettingsError(str(error)) from None


def _by_topic(
    pair: _Pair, scale: Sequence[float] | None, clip: bool
) -> list[tuple[str, int, dict[str, float | None]]]:
    """Each topic with its number of units and its coefficients."""
    topics: dict[str, list[Unit]] = {}
    for unit in pair.both:
        topics.setdefault(unit[0], []).append(unit)
    if scale is None:  # the same labels for every topic, so that the same thresholds come out
        scale = sorted({table[unit] for table in (pair.first, pair.second) for unit in pair.both})
    found = []
    for topic, units in topics.items():
        result = _agree(pair, units, scale, clip, 0)
        values = {name: estimate.value for name, estimate in result.estimates.items()}
        found.append((topic, result.n, values))
    return found


def _scale(text: str | None) -> list[float] | None:
    """``0:4`` as 0, 1, 2, 3, 4; ``0,0.5,1`` as it stands."""
    if text is None:
        return None
    try:
        if ":" in text:
            low, high = (int(end) for end in text.split(":"))
            if not low < high <= low + _MOST_STEPS:
                raise ValueError
            return [float(label) for label in range(low, high + 1)]
        labels = [float(label) for label in text.split(",")]
        if len(set(labels)) < max(2, len(labels)) or not all(abs(x) < 1e300 for x in labels):
            raise ValueError
    except ValueError:
        raise typer.BadParameter(
            f"{text!r} is no scale; write 0:4, or a list as 0,0.5,1", param_hint="--scale"
        ) from None
    return sorted(labels)


def _read(path: Path, parsed: Parsed[LabelTable]) -> LabelTable:
    table = parsed.require()
    for fault in parsed.warnings:
        err().print(f"Note: {fault}", markup=False, soft_wrap=True)
    return table


# --- output --------------------------------------------------------------------------------------


def _rows(result: Agreement) -> list[Row]:
    return [
        (
            name,
            estimate.value,
            estimate.interval.low if estimate.interval else None,
            estimate.interval.high if estimate.interval else None,
        )
        for name, estimate in result.estimates.items()
    ]


def _document(
    result: Agreement,
    rows: Iterable[Row],
    single: Iterable[tuple[str, int, dict[str, float | None]]],
    pair: _Pair,
    files: tuple[Path, Path],
    scale: Sequence[float] | None,
    clip: bool,
    seed: int,
) -> dict[str, Any]:
    sides = {"first": "A", "second": "B"}
    return {
        "rows": [dict(zip(HEADER, row, strict=True)) for row in rows],
        "files": {"A": str(files[0]), "B": str(files[1])},
        "units": {
            "both": result.n,
            "only_A": pair.only_first,
            "only_B": pair.only_second,
            "unlabelled_A": pair.unjudged_first,
            "unlabelled_B": pair.unjudged_second,
        },
        "topics": result.topics,
        "confusion": {"labels": result.labels, "A_by_B": result.table},
        "by_label": [
            {
                "label": one.label,
                "A": one.first,
                "B": one.second,
                "both": one.both,
                "agreement": one.agreement,
            }
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
        "by_topic": [{"topic": topic, "units": n, **values} for topic, n, values in single],
        "settings": {"scale": scale, "clip": clip, "level": 0.95, "seed": seed},
    }


def _show(
    result: Agreement,
    rows: Iterable[Row],
    single: Sequence[tuple[str, int, dict[str, float | None]]],
    pair: _Pair,
    files: tuple[Path, Path],
    clip: bool,
    seed: int,
) -> None:
    table = plain_table("Agreement")
    for name in HEADER:
        table.add_column(name, justify="left" if name == "measure" else "right")
    for name, *numbers in rows:
        table.add_row(name, *(_number(value) for value in numbers))
    out().print(table)
    if len(result.labels) <= _MOST_LABELS:
        counts = plain_table("Counts: A down, B across")
        counts.add_column("")
        for label in result.labels:
            counts.add_column(f"{label:g}", justify="right")
        counts.add_column("agreement", justify="right")
        for one, row in zip(result.by_label, result.table, strict=True):
            counts.add_row(f"{one.label:g}", *(f"{n:,}" for n in row), _number(one.agreement))
        out().print(counts)
    if single:
        names = ("agreement", "kappa", "kappa_quadratic", "alpha_ordinal")
        topics = plain_table("By topic")
        topics.add_column("topic", overflow="fold")
        for name in ("units", *names):
            topics.add_column(name, justify="right")
        for topic, n, values in single:
            topics.add_row(
                Text(printable(topic)), str(n), *(_number(values[name]) for name in names)
            )
        out().print(topics)
    for line in _remarks(result, pair, files, clip, seed):
        out().print(line, markup=False, soft_wrap=True)


def _remarks(
    result: Agreement, pair: _Pair, files: tuple[Path, Path], clip: bool, seed: int
) -> Iterable[str]:
    yield f"A is {printable(str(files[0]))}, B is {printable(str(files[1]))}."
    yield (
        f"{result.n:,} units of {result.topics or 0:,} topics are labelled in both; "
        f"{pair.only_first:,} are in A only and {pair.only_second:,} in B only; without a label: "
        f"{pair.unjudged_first:,} in A, {pair.unjudged_second:,} in B."
    )
    orders = result.orders
    yield (
        f"Pairs of units of a topic: {orders.agree:,} ordered alike, {orders.disagree:,} in "
        f"opposite ways, {orders.tie:,} with a tie."
    )
    for side, name in (("first", "A"), ("second", "B")):
        strange = [one for one in result.outside if one.labeller == side]
        if strange:
            said = ", ".join(f"{one.label:g} ({one.count:,} times)" for one in strange)
            how = "clipped to its nearest end" if clip else "counted as they are; --clip moves them"
            if clip and any(one.label == one.counted_as for one in strange):
                how = "those beyond its ends clipped, others counted as they are"
            yield f"Labels of {name} outside the scale: {said}; {how}."
    if (result.topics or 0) < 2:
        yield "No intervals: there is one topic only."
    else:
        yield f"Low and high: 95 % bootstrap over topics, seed {seed}."
    if any(estimate.value is None for estimate in result.estimates.values()):
        yield "– is undefined: all labels are on one side, so that chance allows no disagreement."


def _number(value: float | None) -> str:
    return "–" if value is None else f"{value:.4f}"
