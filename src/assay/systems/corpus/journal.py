"""The journal of a build, kept beside its parts so that a stopped build can be resumed."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import orjson

from assay.model.errors import Fault, SettingsError
from assay.systems.corpus.store import MANIFEST, write_whole

_PART = re.compile(r"\.?journal\.jsonl(?:\.fresh)?|\.?\d{7}\.jsonl(?:\.part)?")

BatchFaults = tuple[tuple[Fault, ...], int]
"""The faults kept from reading a batch, and the number of further ones."""


class DoneBatch(NamedTuple):
    number: int
    counts: dict[str, int]
    templates: list[tuple[str, str, int, int]]


class Journal:
    """The finished batches of a build, in ``parts/journal.jsonl`` of the folder."""

    def __init__(
        self, out: Path, workdir: Path, state: Mapping[str, object], *, restart: bool, update: bool
    ) -> None:
        self.out = out
        self.workdir = workdir
        self.path = workdir / "journal.jsonl"
        self.done: dict[int, dict[str, int]] = {}
        self.templates: dict[int, list[Sequence[str | int]]] = {}
        self.faults: dict[int, BatchFaults] = {}  # only of batches that have some
        self.slow: defaultdict[int, list[Fault]] = defaultdict(list)
        ours = self.path.is_file() or (out / MANIFEST).is_file()
        there = [*out.iterdir()] if out.is_dir() else []
        begun = {self.path.with_name(f".{self.path.name}.fresh")}  # killed at its very start
        if there and not ours and (there != [workdir] or {*workdir.iterdir()} - begun):
            # Nothing of somebody else's is ever removed, --restart or not.
            raise SettingsError(f"{out} is not empty. Choose a new or empty folder.")
        if not restart and not update and (out / MANIFEST).is_file():
            raise SettingsError(
                f"{out} already holds a corpus. Choose another folder, or use --update to add "
                "what has changed in the source, or --restart to replace it."
            )
        if self.path.is_file() and not restart:
            head = self.path.read_bytes().partition(b"\n")[0]
            if head == orjson.dumps(state) or not update:  # else that of an update of other pages
                self._resume(state)
                return
        _remove(workdir)
        workdir.mkdir(parents=True, exist_ok=True)
        write_whole(self.path, orjson.dumps(state) + b"\n")

    def _resume(self, state: Mapping[str, object]) -> None:
        head, *lines = self.path.read_bytes().split(b"\n")
        if head != orjson.dumps(state):
            raise SettingsError(
                f"{self.out} holds an unfinished build with other settings or of a source that "
                "has changed. Use the settings of that build, or --restart."
            )
        for each in lines:
            try:
                row = orjson.loads(each)
            except orjson.JSONDecodeError:
                continue  # the last line of a build that was killed while it wrote
            if part_file(self.workdir, row["number"]).is_file():
                self.done[row["number"]] = row["counts"]
                self.templates[row["number"]] = row["templates"]
                if row.get("faults"):
                    faults = tuple(Fault(**fault) for fault in row["faults"])
                    self.faults[row["number"]] = faults, row["more_faults"]
                for fault in row["slow"]:
                    self.slow[row["number"]].append(Fault(**fault))
        with self.path.open("ab") as stream:
            # A killed build may have left half a line: start a new one.
            stream.write(b"\n")

    def write(self, done: DoneBatch) -> None:
        self.done[done.number] = done.counts
        with self.path.open("ab") as stream:
            faults, more = self.faults.get(done.number, ((), 0))
            row = {**done._asdict(), "faults": faults, "more_faults": more}
            row["slow"] = self.slow.get(done.number, ())
            stream.write(orjson.dumps(row) + b"\n")

    def clear(self, manifest: Mapping[str, object]) -> None:
        """Write the manifest, as the corpus is complete, and remove the parts."""
        data = orjson.dumps(manifest, option=orjson.OPT_INDENT_2) + b"\n"
        write_whole(self.out / MANIFEST, data)
        _remove(self.workdir)


def part_file(workdir: Path, number: int) -> Path:
    return workdir / f"{number:07d}.jsonl"


def _remove(workdir: Path) -> None:
    if workdir.is_dir():
        for path in workdir.iterdir():
            if _PART.fullmatch(path.name):
                path.unlink()
        if not any(workdir.iterdir()):
            workdir.rmdir()
