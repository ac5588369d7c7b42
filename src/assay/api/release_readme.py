"""``README.txt`` of a release: its files, columns and measures, for readers without Assay."""

from __future__ import annotations

import csv
import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import replace
from fnmatch import fnmatchcase
from importlib.resources import files
from itertools import chain
from pathlib import Path
from textwrap import fill

from assay.api.opened import Opened
from assay.api.release_pages import policy_without_names
from assay.api.results import Results
from assay.model.labels import LabellerId
from assay.model.version import __version__
from assay.model.wording import printable
from assay.protocols.label_shares import label_basis
from assay.protocols.manifest import read_manifest
from assay.protocols.pages import policy_in_words

_SAYS: Mapping[str, Mapping[str, str]] = tomllib.loads(
    files("assay.api").joinpath("release_files.toml").read_text("utf-8")
)
COLUMNS = _SAYS["columns"]


def readme(
    opened: Opened, results: Results, folder: Path, names: Iterable[str], licence: str
) -> bytes:
    """The text that describes the files of a release in ``folder``."""
    names, policy = sorted(names), policy_without_names(results.policy)
    head = [f"{opened.folder.title}: an evaluation of retrieval-augmented generation"]
    for name, one in results.by_protocol.items():
        place = f"dossier/{opened.parts[name].folder.part}"
        head += [
            f"Protocol: {one.protocol_title}",
            f"Based on: {label_basis(replace(one, out=place))}.",
        ]
    head += [
        f"Missing: {results.missing:,} {results.missing_what} have no usable label.",
        f"Policy {policy}: {policy_in_words(policy)}.",
        f"Licence: {licence or 'not stated; ask who published this'}.",
        f"Made with Assay {__version__}. Cite it, and the sources of the measures below.",
        *_SAYS["about"].values(),
    ]
    tables = (folder / name for name in names if name.endswith(".csv"))
    columns = dict.fromkeys(chain.from_iterable(map(_columns, tables)))
    tasks = {
        f"{task.name}, version {task.version}, of {_who(one.labellers.get(task.name))}": task.title
        for name, one in results.by_protocol.items()
        for task in opened.parts[name].tasks
        if one.asked.get(task.name)
    }
    measures = {
        one.name: f"{one.says} {one.source}."
        for each in results.by_protocol.values()
        for one in each.findings.definitions
    }
    sections = {
        "FILES": described(names),
        "COLUMNS OF TABLES": {one: says for one in columns if (says := COLUMNS.get(one))},
        "FIELDS OF labels.jsonl": _SAYS["labels"],
        "WHAT WAS ASKED": tasks,
        "MEASURES": measures,
    }
    text = [*map(_filled, head)]
    for title, entries in sections.items():
        text.append("\n".join([title, *(_filled(f"{a}: {b}") for a, b in entries.items())]))
    text.append("COMMANDS THAT GIVE THE SCORES AGAIN")
    for part in opened.parts.values():
        commands = read_manifest(part.folder.out)["reproduce"]
        text.append("\n".join([f"cd {Path('dossier', part.folder.part)}", *commands]))
    return ("\n\n".join(text) + "\n").encode()


def described(names: Iterable[str]) -> dict[str, str]:
    """Descriptions of the release's files, grouped by filename pattern."""
    found = {}
    for name in names:
        pattern = next((one for one in _SAYS["files"] if fnmatchcase(name, one)), name)
        shown = pattern.removeprefix("*").replace("dossier/*", "dossier/")
        found[shown or name] = _SAYS["files"].get(pattern, "")
    return found


def _who(labeller: LabellerId | None) -> str:
    return "people" if labeller is None or labeller.is_human else labeller.name


def _columns(table: Path) -> list[str]:
    with table.open(encoding="utf-8", newline="") as file:
        return next(csv.reader(file), [])


def _filled(text: str) -> str:
    return fill(printable(text), 100, subsequent_indent="    ", break_on_hyphens=False)
