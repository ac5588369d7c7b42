"""The manifest of an ``out/`` folder, and the removal of files that an earlier one names."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

import orjson

from assay.model.paths import file_sha256
from assay.page.files import folder_of, remove_pages
from assay.protocols.output import json_bytes, write_bytes

MANIFEST, REPORT = "manifest.json", "report.html"


def read_manifest(out: Path) -> dict[str, Any]:
    """The manifest of ``out``; empty if there is none by Assay."""
    path = out / MANIFEST
    if not path.is_file():  # a pipe would be waited for
        return {}
    try:
        document = orjson.loads(path.read_bytes())
    except orjson.JSONDecodeError:
        return {}
    ours = isinstance(document, dict) and "assay" in document
    return document if ours and isinstance(document.get("outputs"), dict) else {}


def heads(out: Path) -> Iterator[tuple[Path, Any]]:
    """The manifests under a folder that name a ledger's head, with that head."""
    for path in sorted(out.rglob(MANIFEST)):
        document = read_manifest(path.parent)
        if "ledger" in document:
            yield path, document["ledger"]


def replace_manifest(out: Path, document: Mapping[str, Any]) -> Path:
    """Write the manifest of ``out`` and return its path. Outputs that the former manifest names and
    this one does not are removed, and under another policy or protocol also the report, so that an
    ``out/`` never mixes results of two evaluations. Files that the user changed stay."""
    before = read_manifest(out)
    for name, digest in before.get("outputs", {}).items():
        if name not in document["outputs"]:
            if name.endswith(f"/{MANIFEST}"):  # of one of several protocols, with a report
                _remove_report(out / name.removesuffix(MANIFEST))
            _remove(out, name, digest)
    if before and any(before.get(key) != document[key] for key in ("policy", "protocol")):
        _remove_report(out)
    write_bytes(out / MANIFEST, json_bytes(document))
    return out / MANIFEST


def _remove_report(out: Path) -> None:
    """Remove a report, and the folder of its pages if it has one."""
    if not (out / folder_of(REPORT)).is_symlink():
        remove_pages(out / REPORT)
    _remove(out, REPORT)


def _remove(out: Path, name: str, digest: str | None = None) -> None:
    """Remove a file under ``out`` if it still has that digest, and folders that become empty."""
    path = out / name
    inside = path.resolve().is_relative_to(out.resolve())  # a manifest can be edited too
    with suppress(OSError):
        if inside and path.is_file() and digest in (None, file_sha256(path)):
            path.unlink()
            for parent in path.parents:
                if parent == out:
                    break
                parent.rmdir()
