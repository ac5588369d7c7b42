"""Thresholds of embedded models: at which margin a yes is a yes.

Small models lean to one side, so a plain yes or no is of no use; every known model has a
threshold for each question, fitted on human labels by ``calibration/fit_embedded.py`` and kept in
``thresholds.json`` with what it was fitted on and how well it did on the other half.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from importlib import resources
from pathlib import Path
from typing import Any

import orjson

from assay.model.errors import SettingsError


@cache
def _packaged() -> Mapping[str, Any]:
    source = resources.files("assay.labellers").joinpath("thresholds.json")
    document: dict[str, Any] = orjson.loads(source.read_bytes())
    return document


def fitted_thresholds(sha256: str) -> Mapping[str, Mapping[str, Any]]:
    """What the package knows of the model with this hash: probe key → ``threshold`` and report."""
    entry = _packaged()["models"].get(sha256, {})
    probes: Mapping[str, Mapping[str, Any]] = entry.get("probes", {})
    return probes


def template_hash(template: str) -> str | None:
    """The content hash of the probe template ``template`` that the thresholds were fitted with."""
    found = _packaged()["templates"].get(template)
    return str(found) if found is not None else None


def thresholds_file(path: Path) -> Path:
    """Where the thresholds of a model file of one's own are looked for."""
    return path.with_name(f"{path.name}.thresholds.json")


def usable_thresholds(probes: Mapping[str, Mapping[str, Any]]) -> dict[str, float]:
    """Probe key → threshold, without the questions at which the model was found to be no good
    (their threshold is null)."""
    return {
        key: float(row["threshold"]) for key, row in probes.items() if row["threshold"] is not None
    }


def read_probes(path: Path, sha256: str) -> Mapping[str, Mapping[str, Any]]:
    """The same for model ``sha256`` from a file that ``fit_embedded.py`` wrote; empty without one.

    Raises SettingsError where the file cannot be understood.
    """
    try:
        document = orjson.loads(path.read_bytes())
        probes: dict[str, dict[str, Any]] = document["models"].get(sha256, {}).get("probes", {})
        # Tried here, where what is no number can be told of the file.
        usable_thresholds(probes)
    except FileNotFoundError:
        return {}
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise SettingsError(f"The thresholds in {path} cannot be read: {error}.") from error
    return probes
