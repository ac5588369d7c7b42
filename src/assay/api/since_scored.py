"""Whether scores that were written are those of the labels and inputs that a folder has now, and
may be compared."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from assay.model.errors import AssayError
from assay.model.places import file_sha256
from assay.model.wording import counted, printable
from assay.protocols.folder import Folder, relative_to
from assay.protocols.manifest import MANIFEST, read_manifest
from assay.protocols.standing import UNEVEN


def told_of(table: Path) -> Iterator[str]:
    """What to know of a file in the ``out/`` of an evaluation before runs are compared by it:
    whether labels came or inputs changed since it was written, and whether people labelled more of
    some runs than of others. Of labels and inputs nothing is known where the ledger cannot be
    asked, is another one or a server's (which may take long to answer), and of files that lie
    elsewhere, such as a copy of ``out/``."""
    manifest, file = read_manifest(table.parent), printable(str(table))
    for place in table.absolute().parents[1:3]:  # of several protocols it is in out/PROTOCOL
        if (place / "assay.toml").is_file():
            with suppress(AssayError):
                folder = Folder.open(place)
                if table.absolute().is_relative_to((folder.path / "out").absolute()):
                    yield from (f"{file}: {one}" for one in _since(manifest, table.parent, folder))
            break
    if manifest.get("uneven"):
        yield f"{file}: {UNEVEN}"


def _since(manifest: Mapping[str, Any], out: Path, folder: Folder) -> Iterator[str]:
    place = printable(shlex.quote(str(folder.path)))
    local = isinstance(folder.ledger_place, Path)
    if local and (count := later_labels(manifest, folder)):
        came = f"{counted(count, 'label')} came to the ledger after it was written"
        yield f"{came}. 'assay score {place}' takes in those that count for scores."
    if count := changed_inputs([out], folder):
        yield (
            f"{counted(count, 'input file')} changed after it was written. 'assay evaluate {place}'"
            " judges what is new of it and scores anew."
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


def changed_inputs(outs: Iterable[Path], folder: Folder) -> int:
    """How many of the input files that the manifests of ``outs`` name are others now, or gone: of
    those that were touched since a manifest was written, as to hash all may take long. Raises
    AssayError where an entry of ``[inputs]`` matches no file any more."""
    files = (path for entry in folder.config.inputs for path in folder.input_files(entry))
    now = {relative_to(folder.path, path): path for path in files}
    changed: set[str] = set()
    for out in outs:
        before = read_manifest(out).get("inputs")
        if isinstance(before, dict):
            written = (out / MANIFEST).stat().st_mtime_ns
            changed |= {
                name
                for name, digest in before.items()
                if name not in now
                or (_touched(now[name]) >= written and file_sha256(now[name]) != digest)
            }
    return len(changed)


def _touched(path: Path) -> int:
    """When a file was changed or put in its place: a copy may keep the time of the former alone."""
    about = path.stat()
    return max(about.st_mtime_ns, about.st_ctime_ns)
