"""What is pinned of an evaluation's results, and what differs from it.

Tables, JSON and JSON Lines are compared by what they say: text equal, numbers equal to 1e-12
(relative or absolute), rows in the same order. All other files (qrels, marked runs, …) are compared
byte for byte. Of the manifest only the keys count; of ``labels.jsonl`` which labels counted, and
where.
"""

from __future__ import annotations

import csv
import gzip
import io
import json
import lzma
import math
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

CLOSE = 1e-12
DATA = Path(__file__).parent / "data"

Files = dict[str, str]
"""Name of a file → what is kept of it."""
Pins = dict[str, Files]
"""A case's results: under which policy, or after which step → files."""

_LEFT_OUT = {"report.html"}
_TEXT = {"run", "topic", "query", "question", "docid", "document", "passage", "id"}


def files_of(out: Path) -> Files:
    """What is pinned of an ``out`` folder, by the file's name in it."""
    found: Files = {}
    for path in sorted(one for one in out.rglob("*") if one.is_file()):
        name = path.relative_to(out).as_posix()
        if path.name in _LEFT_OUT:
            continue
        data = path.read_bytes()
        text = (gzip.decompress(data) if name.endswith(".gz") else data).decode("utf-8")
        if path.name == "manifest.json":
            text = _lines("/".join(keys) for keys in _keys(json.loads(text)))
        elif path.name == "labels.jsonl":
            text = _lines(sorted(_counted(json.loads(line)) for line in text.splitlines()))
        found[name] = text
    return found


def document(text: str) -> str:
    """What is pinned of the JSON document that a command prints."""
    found = json.loads(text)
    found.pop("files", None)  # paths; the files themselves are pinned
    return json.dumps(found, ensure_ascii=False)


def _lines(lines: Iterable[str]) -> str:
    return "".join(f"{line}\n" for line in lines)


def _keys(value: Any, above: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
    """The keys of a document, those of what it holds under them too."""
    if isinstance(value, dict):
        for key in sorted(value):
            yield (*above, key)
            if "params" not in above:
                yield from _keys(value[key], (*above, key))


def _counted(label: Mapping[str, Any]) -> str:
    """A label that counted: what it says, whose it is, and where it was used. How it is called,
    when it was given and by which parameters does not matter."""
    verdict = {key: one for key, one in (label["verdict"] or {}).items() if key != "reason"}
    said = json.dumps(verdict, sort_keys=True, ensure_ascii=False)
    at = json.dumps(sorted(label["used_at"]), ensure_ascii=False)
    who = f"{label['labeller']['name']}\t{label['status']}"
    return f"{label['task']}\t{label['unit_hash'][:10]}\t{who}\t{said}\t{at}"


# -- comparing ------------------------------------------------------------------------------------


def differences(expected: Pins, found: Pins) -> list[str]:
    """What differs, a line each."""
    said = [
        f"{name}: {'missing' if name in expected else 'new'}"
        for name in sorted(expected.keys() ^ found.keys())
    ]
    for name in expected.keys() & found.keys():
        said += compare_files(expected[name], found[name], f"{name}: ")
    return said


def compare_files(expected: Files, found: Files, where: str = "") -> list[str]:
    """What differs between the files of two folders."""
    said = []
    for name in sorted(expected.keys() | found.keys()):
        if name not in found or name not in expected:
            said.append(f"{where}{name}: {'new' if name in found else 'missing'}")
        elif expected[name] != found[name]:
            said += [f"{where}{name}: {one}" for one in _compare(name, expected[name], found[name])]
    return said


def _compare(name: str, expected: str, found: str) -> Iterator[str]:
    plain = name.removesuffix(".gz")
    if plain.endswith(".csv"):
        yield from _compare_tables(expected, found)
    elif plain.endswith(".json") and plain != "manifest.json" and "/manifest" not in plain:
        yield from _compare_values(json.loads(expected), json.loads(found), "")
    elif plain.endswith(".jsonl") and not plain.endswith("labels.jsonl"):
        old, new = expected.splitlines(), found.splitlines()
        if len(old) != len(new):
            yield f"{len(new)} lines instead of {len(old)}"
        for number, (one, other) in enumerate(zip(old, new, strict=False), 1):
            if one != other:
                yield from _compare_values(json.loads(one), json.loads(other), f"line {number}")
    else:
        old, new = expected.splitlines(keepends=True), found.splitlines(keepends=True)
        if len(old) != len(new):
            yield f"{len(new)} lines instead of {len(old)}"
        for number, (one, other) in enumerate(zip(old, new, strict=False), 1):
            if one != other:
                yield f"line {number}: {other!r} instead of {one!r}"


def _compare_tables(expected: str, found: str) -> Iterator[str]:
    old, new = (list(csv.reader(io.StringIO(text, newline=""))) for text in (expected, found))
    if old[:1] != new[:1]:
        yield f"columns {new[:1]} instead of {old[:1]}"
        return
    if len(old) != len(new):
        yield f"{len(new)} rows instead of {len(old)}"
    for number, (row, other) in enumerate(zip(old, new, strict=False), 1):
        for column, one, two in zip(old[0], row, other, strict=False):
            if not _same_cell(column, one, two):
                yield f"row {number} {row[:3]}: {column} is {two!r} instead of {one!r}"
        if len(row) != len(other):
            yield f"row {number}: {len(other)} cells instead of {len(row)}"


def _same_cell(column: str, expected: str, found: str) -> bool:
    if expected == found:
        return True
    if column in _TEXT:
        return False
    try:
        return _close(float(expected), float(found))
    except ValueError:
        return False


def _compare_values(expected: Any, found: Any, where: str) -> Iterator[str]:
    if isinstance(expected, dict) and isinstance(found, dict):
        for key in sorted(expected.keys() ^ found.keys()):
            yield f"{where}/{key}: {'new' if key in found else 'missing'}"
        for key in expected.keys() & found.keys():
            yield from _compare_values(expected[key], found[key], f"{where}/{key}")
    elif isinstance(expected, list) and isinstance(found, list):
        if len(expected) != len(found):
            yield f"{where}: {len(found)} entries instead of {len(expected)}"
        for number, (one, other) in enumerate(zip(expected, found, strict=False)):
            yield from _compare_values(one, other, f"{where}/{number}")
    elif _is_number(expected) and _is_number(found):
        if not _close(expected, found):
            yield f"{where}: {found!r} instead of {expected!r}"
    elif type(expected) is not type(found) or expected != found:
        yield f"{where}: {found!r} instead of {expected!r}"


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _close(one: float, other: float) -> bool:
    return math.isclose(one, other, rel_tol=CLOSE, abs_tol=CLOSE)


# -- keeping --------------------------------------------------------------------------------------


def write(name: str, pins: Pins) -> Path:
    """Keep the results of a case."""
    DATA.mkdir(exist_ok=True)
    path = DATA / f"{name}.json.xz"
    data = json.dumps(pins, ensure_ascii=False, indent=0).encode("utf-8")
    path.write_bytes(lzma.compress(data, preset=9 | lzma.PRESET_EXTREME))
    return path


def read(name: str) -> Pins:
    """The results of a case as they were kept."""
    pins: Pins = json.loads(lzma.decompress((DATA / f"{name}.json.xz").read_bytes()))
    return pins
