"""The registry of known models: pinned files, and where they can be had."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from importlib.resources import files
from typing import Any


@dataclass(frozen=True, slots=True)
class ModelPiece:
    """A pinned package and the file inside its wheel that is the next piece of the model."""

    requirement: str
    member: str


@dataclass(frozen=True, slots=True)
class KnownModel:
    """A model that Assay knows; ``hub`` is repository and file on the model hub and
    ``judges`` is False where its verdicts are known to be no better than chance."""

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


def _known(name: str, said: Mapping[str, Any]) -> KnownModel:
    pieces = (
        ModelPiece(said["requirement"].format(n=n), said["member"].format(n=n))
        for n in range(1, said["pieces"] + 1)
    )
    return KnownModel(
        name,
        said["file"],
        said["size"],
        said["sha256"],
        said["licence"],
        (said["hub"], said["file"]),
        tuple(pieces),
        said["about"],
        said.get("judges", True),
    )


MODELS: dict[str, KnownModel] = {name: _known(name, said) for name, said in _TABLES.items()}
