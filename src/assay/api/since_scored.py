"""Check whether written scores are up to date with a folder's labels and inputs, and comparable."""

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
    """Yield remarks on a file in the ``out/`` of an evaluation, before runs are compared by it: on
    labels added and inputs changed since it was written, and on people labelling more of some runs
    than of others, or else what the scores are based on. New labels are not checked for if the
    ledger is a different one or on a server (which may be slow); neither labels nor inputs if the
    ledger cannot be read or the file lies elsewhere, such as in a copy of ``out/``."""
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
    """Whether a manifest's files are the same as before, and if not, what changed; empty if there
    was no manifest before."""
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
    """Number of labels in the folder's ledger that are newer than a manifest; 0 if the manifest is
    of a different ledger. Raises AssayError if the ledger cannot be read."""
    head = manifest.get("ledger")
    scored = head.get("labels") if isinstance(head, dict) else None
    if not isinstance(scored, int) or not folder.has_ledger():
        return 0
    with folder.open_ledger(create=False) as ledger:
        if ledger.faulty_head(head):
            return 0
        return ledger.head().labels - scored


def changed_inputs(out: Path, folder: Folder, files: Iterable[Path]) -> set[str]:
    """Names of the input files that changed since ``out`` was written, are gone, or are new among
    the current ``files``. Only files touched since are hashed, as hashing may take long."""
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
    """The current files of the ``[inputs]`` entries that a manifest names files of; if
    ``assay.toml`` was touched since, also of the other entries that the protocol reads (which may
    not be all)."""
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
    """When ``out`` was written, in nanoseconds."""
    return (out / MANIFEST).stat().st_mtime_ns


def _touched(path: Path, folder: Path) -> int:
    """When a file was changed or put in its place, in nanoseconds. Includes the folders above it:
    if one was renamed or copied into place, the file's own times may be old."""
    inner = [one for one in path.parents if one.is_relative_to(folder) and one != folder]
    about = path.stat(), *(one.lstat() for one in (path, *inner))
    return max(max(one.st_mtime_ns, one.st_ctime_ns) for one in about)
