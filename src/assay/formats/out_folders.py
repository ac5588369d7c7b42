"""Reading of an evaluation's ``out/``: scores, values by topic, labels, manifest."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import orjson
import polars as pl

from assay.model.csv_cells import for_terminal, from_csv_cell
from assay.model.errors import Fault, FormatError
from assay.model.labels import without_reasons
from assay.model.paths import RESULT_FOLDERS, file_sha256
from assay.model.wording import printable

_TEXTS = ("run", "topic", "measure")
_READ = ("scores.csv", "per_topic.csv", "per_topic_ranges.csv", "labels.jsonl")


class Cell(NamedTuple):
    """A value with its floor and ceiling; ``value`` is None if these differ."""

    value: float | None
    floor: float | None
    ceiling: float | None


@dataclass(frozen=True)
class Outcome:
    """The contents of an ``out/``: ``scores`` and the ``values`` of topics by run and measure."""

    path: Path
    manifest: Mapping[str, Any]
    scores: Mapping[tuple[str, str], Cell] = field(repr=False)
    values: Mapping[tuple[str, str], Mapping[str, Cell]] = field(repr=False)

    @property
    def runs(self) -> list[str]:
        """The runs, in the order of scores.csv."""
        return list(dict.fromkeys(run for run, _ in self.scores))


def read_outcome(path: Path) -> Outcome:
    """Read an ``out/``, given its own path or that of its evaluation folder or release. Raises
    FormatError."""
    places = [path / name for name in RESULT_FOLDERS if (path / name / "manifest.json").is_file()]
    place = places[0] if places else path / "out"
    files = {name: place / name for name in ("manifest.json", "scores.csv", "per_topic.csv")}
    faults = [
        Fault(str(file), 0, None, "There is no such file.",
              "Give an evaluation folder or its out/ ('assay score FOLDER' writes it), or a "
              "release (of several protocols, out/PROTOCOL or dossier/PROTOCOL).")
        for file in files.values()
        if not file.is_file()
    ]  # fmt: skip
    if faults:
        raise FormatError(faults)
    try:
        manifest = orjson.loads(files["manifest.json"].read_bytes())
    except orjson.JSONDecodeError as error:
        raise _unreadable(files["manifest.json"], str(error)) from error
    if not isinstance(manifest, dict):
        raise _unreadable(files["manifest.json"], "it is not a JSON object")
    _check_digests(place, manifest)
    scores = {
        (row["run"], row["measure"]): Cell(row["value"], row["floor"], row["ceiling"])
        for row in _rows(files["scores.csv"], ("run", "measure"), ("value", "floor", "ceiling"))
    }
    values: dict[tuple[str, str], dict[str, Cell]] = {}
    for row in _rows(files["per_topic.csv"], _TEXTS, ("value",)):
        cell = Cell(row["value"], row["value"], row["value"])
        values.setdefault((row["run"], row["measure"]), {})[row["topic"]] = cell
    ranges = place / "per_topic_ranges.csv"
    for row in _rows(ranges, _TEXTS, ("floor", "ceiling")) if ranges.is_file() else ():
        cell = Cell(None, row["floor"], row["ceiling"])
        values.setdefault((row["run"], row["measure"]), {})[row["topic"]] = cell
    return Outcome(place, manifest, scores, values)


def _check_digests(place: Path, manifest: Mapping[str, Any]) -> None:
    """Raise FormatError if a file does not match the manifest, which is written last: its scores
    could be those of another evaluation."""
    outputs = _object(manifest.get("outputs"))
    changed = [
        Fault(str(place / name), 0, None, "It is not the file that manifest.json names: 'assay "
              "score' was interrupted, or somebody changed the file.",
              "Write all files again: assay score FOLDER.")
        for name in _READ
        if name in outputs and (place / name).is_file()
        and not _has_digest(place / name, outputs[name])
    ]  # fmt: skip
    if changed:
        raise FormatError(changed)


def _has_digest(file: Path, digest: object) -> bool:
    """Whether a file has the digest, perhaps before git changed its line endings."""
    if file_sha256(file) == digest:
        return True
    return hashlib.sha256(file.read_bytes().replace(b"\r\n", b"\n")).hexdigest() == digest


def _rows(file: Path, names: tuple[str, ...], numbers: tuple[str, ...]) -> list[dict[str, Any]]:
    try:
        frame = pl.read_csv(file, infer_schema=False)
        frame = frame.with_columns(pl.col(name).cast(pl.Float64) for name in numbers)
    except (pl.exceptions.PolarsError, OSError) as error:
        raise _unreadable(file, str(error).partition("\n")[0]) from error
    lacking = [name for name in names if name not in frame.columns or frame[name].has_nulls()]
    if lacking:
        raise _unreadable(file, f"it has no {lacking[0]} in every row")
    if not frame.select(pl.col(numbers).is_finite().all()).row(0) == (True,) * len(numbers):
        raise _unreadable(file, "it holds a number that is not finite")
    guarded = frame.with_columns(
        pl.col(names).map_elements(from_csv_cell, return_dtype=pl.String)
        # Going through the cells is slow, and hardly any file has guarded ones.
        if any(frame[name].str.starts_with("'").any() for name in names)
        else pl.col(names)
    )
    return guarded.to_dicts()


def _unreadable(file: Path, why: str) -> FormatError:
    cure = "Write it again with 'assay score FOLDER'."
    return FormatError([Fault(str(file), 0, None, printable(f"It cannot be read: {why}."), cure)])


@dataclass
class LabelsAt:
    """A summary of the labels behind a topic of a run: digests of their ``units`` and of units with
    ``verdicts``, and the first text under each name in ``texts``."""

    units: int = 0
    verdicts: int = 0
    texts: dict[str, str] = field(default_factory=dict)


class RecordedVerdict(NamedTuple):
    """A label of ``labels.jsonl`` without its reason; ``verdict`` is a digest."""

    task: str
    unit: str
    verdict: int
    labeller: str


def read_labels_at(
    path: Path, wanted: Iterable[tuple[str, str]]
) -> tuple[dict[tuple[str, str], LabelsAt], dict[tuple[str, str], RecordedVerdict]]:
    """Read ``labels.jsonl`` of an ``out/``: the labels behind each ``wanted`` (run, topic), and all
    labels by task and unit. Empty if there is no such file. Raises FormatError."""
    keys = {f"{run} {topic}": (run, topic) for run, topic in wanted}
    at = {key: LabelsAt() for key in keys.values()}
    every: dict[tuple[str, str], RecordedVerdict] = {}
    for record in _records(path / "labels.jsonl"):
        task, unit = str(record.get("task")), str(record.get("unit_hash"))
        verdict = _number(without_reasons(record.get("verdict")))
        who, about = (_object(record.get(name)) for name in ("labeller", "unit"))
        every[task, unit] = RecordedVerdict(task, unit, verdict, str(who.get("name")))
        used_at = record.get("used_at")
        for place in used_at if isinstance(used_at, list) else ():
            for key in _keys_of_place(for_terminal(str(place)), keys):  # as in per_topic.csv
                one = at[key]
                # Sums do not depend on the order of the labels.
                one.units += _number([task, unit])
                one.verdicts += _number([task, unit, str(verdict)])
                for name in ("question", "answer"):
                    text = about.get(name)
                    if isinstance(text, str):
                        one.texts.setdefault(name, text)
    return at, every


def _object(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, dict) else {}


def _records(file: Path) -> Iterator[dict[str, Any]]:
    if not file.is_file():
        return
    with file.open("rb") as lines:
        for number, line in enumerate(lines, 1):
            try:
                record = orjson.loads(line)
            except orjson.JSONDecodeError as error:
                raise FormatError(
                    [Fault(str(file), number, None, f"This is not JSON ({error.msg}).",
                           "Write the file again with 'assay score FOLDER'.")]
                ) from error  # fmt: skip
            if isinstance(record, dict):
                yield record


def _keys_of_place(place: str, keys: Mapping[str, tuple[str, str]]) -> Iterator[tuple[str, str]]:
    """Those of ``keys`` (run and topic) that a place begins with."""
    at = len(place)
    while at > 0:
        if place[:at] in keys:
            yield keys[place[:at]]
            return
        at = place.rfind(" ", 0, at)


def _number(value: object) -> int:
    data = orjson.dumps(value, option=orjson.OPT_SORT_KEYS)
    return int.from_bytes(hashlib.blake2b(data, digest_size=16).digest())
