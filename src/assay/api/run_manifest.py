"""The manifest beside a run: its inputs, and what produced it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from assay.formats.naming import run_name
from assay.model.labels import LabellerId
from assay.model.version import __version__
from assay.protocols.output import digests_of, json_bytes, write_bytes


def write_run_manifest(
    run: Path,
    command: str,
    settings: Mapping[str, Any],
    *,
    inputs: Iterable[Path],
    outputs: Iterable[Path],
    labellers: Iterable[LabellerId] = (),
    **more: Any,
) -> Path:
    """Write ``NAME.manifest.json`` beside ``run``: Assay's version, the command and its settings,
    the labellers with their parameters, and the SHA-256 of every file read and written. The same
    inputs give the same bytes."""
    document = {
        "assay": __version__,
        "command": command,
        "settings": dict(settings),
        "labellers": [{"name": who.name, "params": dict(who.params)} for who in labellers],
        "inputs": {path.name: digest for path, digest in digests_of(inputs).items()},
        "outputs": {path.name: digest for path, digest in digests_of(outputs).items()},
        **more,
    }
    path = run.with_name(f"{run_name(run)}.manifest.json")
    write_bytes(path, json_bytes(document))
    return path
