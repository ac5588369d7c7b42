"""Whether scores that were written are those of the labels and inputs that a folder has now, and
may be compared."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from assay.model.errors import AssayError, SettingsError
from assay.model.paths import file_sha256
from assay.model.wording import counted, joined, printable
from assay.protocols.folder import Folder, relative_to
from assay.protocols.label_shares import UNEVEN_WARNING
from assay.protocols.manifest import MANIFEST, read_manifest
from assay.protocols.registry import find_protocol


def remarks_since(table: Path) -> Iterator[str]:
    """What to know of a file in the ``out/`` of an evaluation before runs are compared by it:
    whether labels came or inputs changed since it was written, and whether people labelled more of
    some runs than of others, or else what its scores stand on. Of labels nothing is known where the
    ledger is another one or a server's (which may take long to answer); of labels and inputs, where
    the ledger cannot be asked, and of files that lie elsewhere, such as a copy of ``out/``."""
    manifest, file = read_manifest(table.parent), printable(str(table))
    for place in table.absolute().parents[1:3]:  # of several protocols it is in out/PROTOCOL
        if (place / "assay.toml").is_file():
            with suppress(AssayError):
                folder = Folder.open(place)
                if table.absolute().is_relative_to((folder.path / "out").absolute()):
                    yield from (f"{file}: {one}" for one in _since(manifest, table.parent, folder))
            break
    said = manifest.get("stands_on")
    if manifest.get("uneven"):
        yield f"{file}: {UNEVEN_WARNING}"
    elif isinstance(said, str) and said:
        yield f"{file} is based on: {printable(said)}."


_CAUSES = ("assay", "policy", "settings", "tasks", "labellers", "own_prompts", "inputs", "ledger")
"""Entries of a manifest that files may differ by."""


def beside_before(before: Mapping[str, Any], now: Mapping[str, Any]) -> str:
    """Whether the files that a manifest names are those that the one before it named, and else what
    changed; empty where there was none."""
    if not before:
        return ""
    files = [
        name
        for name in {**before["outputs"], **now["outputs"]}
        if before["outputs"].get(name) != now["outputs"].get(name)
    ]
    if not files:
        return "as before, to the last byte"
    causes = []
    for entry in _CAUSES:
        a, b = before.get(entry), now.get(entry)
        if entry != "ledger" and isinstance(a, dict) and isinstance(b, dict):
            causes += [f"{entry} {key}" for key in {**a, **b} if a.get(key) != b.get(key)]
        elif a != b:
            causes.append(entry)
    changed = joined(causes, 10) if causes else "no input or setting: perhaps Python or a package"
    return (
        f"{counted(len(files), 'file')} not as before: {joined(files, 5)}. What changed: {changed}"
    )


def _since(manifest: Mapping[str, Any], out: Path, folder: Folder) -> Iterator[str]:
    place = printable(shlex.quote(str(folder.path)))
    local = isinstance(folder.ledger_place, Path)
    if local and (count := later_labels(manifest, folder)):
        came = f"{counted(count, 'label')} added to the ledger after it was written"
        yield f"{came}. 'assay score {place}' includes those that count for scores."
    if changed := changed_inputs(out, folder, _files(manifest, out, folder)):
        yield (
            f"{counted(len(changed), 'input file')} changed after it was written. 'assay evaluate "
            f"{place}' judges what is new and scores again."
        )


def later_labels(manifest: Mapping[str, Any], folder: Folder) -> int:
    """How many labels the folder's ledger has beyond the newest that a manifest knows of; 0 where
    it is not the ledger that the manifest is of. Raises AssayError where it cannot be asked."""
    head = manifest.get("ledger")
    scored = head.get("labels") if isinstance(head, dict) else None
    if not isinstance(scored, int) or not folder.has_ledger():
        return 0
    with folder.open_ledger(create=False) as ledger:
        if ledger.faulty_head(head):
            return 0
        return ledger.head().labels - scored


def changed_inputs(out: Path, folder: Folder, files: Iterable[Path]) -> set[str]:
    """The input files that are others than when what lies in ``out`` was written, gone, or new
    among ``files``, those that are read now. Hashed, which may take long, is only what was touched
    since."""
    before = read_manifest(out).get("inputs")
    if not isinstance(before, dict):
        return set()
    now = {relative_to(folder.path, path): path for path in files}
    written = _written(out)
    others = {
        name
        for name in before.keys() & now.keys()
        if _touched(now[name], folder.path) >= written and file_sha256(now[name]) != before[name]
    }
    return (before.keys() ^ now.keys()) | others


def _files(manifest: Mapping[str, Any], out: Path, folder: Folder) -> Iterator[Path]:
    """The files now of the entries of ``[inputs]`` of which a manifest names any, and of those that
    its protocol reads where ``assay.toml`` was touched since: that one need not read all that stand
    there."""
    before = manifest.get("inputs") or {}
    new: Sequence[str] = ()
    if _touched(folder.path / "assay.toml", folder.path) >= _written(out):
        with suppress(SettingsError):  # a protocol that is not installed
            new = find_protocol(str(manifest.get("protocol"))).entries
    for entry in folder.config.inputs:
        files: list[Path] = []
        with suppress(SettingsError):  # no file matches any more: all that were read are gone
            files = folder.input_files(entry)
        if entry in new or any(relative_to(folder.path, path) in before for path in files):
            yield from files


def _written(out: Path) -> int:
    """When what lies in ``out`` was written."""
    return (out / MANIFEST).stat().st_mtime_ns


def _touched(path: Path, folder: Path) -> int:
    """When a file was changed or put in its place, which is told by the folders that it lies in
    where these were renamed: a copy may keep the time of the former alone."""
    inner = [one for one in path.parents if one.is_relative_to(folder) and one != folder]
    about = path.stat(), *(one.lstat() for one in (path, *inner))
    return max(max(one.st_mtime_ns, one.st_ctime_ns) for one in about)
