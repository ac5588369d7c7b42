"""The registry of known models: pinned files and their sources."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from importlib.resources import files
from typing import Any


@dataclass(frozen=True, slots=True)
class ModelPiece:
    """A pinned package, and the file in its wheel that is a piece of the model."""

    requirement: str
    member: str


@dataclass(frozen=True, slots=True)
class KnownModel:
    """A known model. ``hub`` is the repository and file on the model hub; ``judges`` is False if
    its verdicts are no better than chance."""

    name: str
    file: str
    size: int
    sha256: str
    licence: str
    hub: tuple[str, str]
    parts: tuple[ModelPiece, ...] = field(repr=False)
    about: str = ""
    judges: bool = True


DEFAULT_MODEL = "qwen2.5-1.5b"

_TABLES = tomllib.loads(files("assay.labellers").joinpath("known_models.toml").read_text("utf-8"))


def _known(name: str, entry: Mapping[str, Any]) -> KnownModel:
    pieces = (
        ModelPiece(entry["requirement"].format(n=n), entry["member"].format(n=n))
        for n in range(1, entry["pieces"] + 1)
    )
    return KnownModel(
        name,
        entry["file"],
        entry["size"],
        entry["sha256"],
        entry["licence"],
        (entry["hub"], entry["file"]),
        tuple(pieces),
        entry["about"],
        entry.get("judges", True),
    )


MODELS: dict[str, KnownModel] = {name: _known(name, entry) for name, entry in _TABLES.items()}
