"""Thresholds of embedded models: the margin from which on an answer counts as yes.

Small models lean to one side, so their plain yes or no is of little use. Every known model has a
threshold for each question, fitted on human labels by ``calibration/fit_embedded.py`` and kept in
``thresholds.json`` with the data it was fitted on and its results on the other half.
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
    """Thresholds of the model with this hash in the package: probe key → ``threshold``, report."""
    entry = _packaged()["models"].get(sha256, {})
    probes: Mapping[str, Mapping[str, Any]] = entry.get("probes", {})
    return probes


def template_hash(template: str) -> str | None:
    """The content hash that probe template ``template`` had when the thresholds were fitted."""
    digest = _packaged()["templates"].get(template)
    return None if digest is None else str(digest)


def thresholds_file(path: Path) -> Path:
    """The thresholds file that belongs to a user's own model file."""
    return path.with_name(f"{path.name}.thresholds.json")


def usable_thresholds(probes: Mapping[str, Mapping[str, Any]]) -> dict[str, float]:
    """Probe key → threshold, without questions at which the model is no better than chance (null
    threshold)."""
    return {
        key: float(row["threshold"]) for key, row in probes.items() if row["threshold"] is not None
    }


def read_probes(path: Path, sha256: str) -> Mapping[str, Mapping[str, Any]]:
    """Thresholds of model ``sha256`` from a file that ``fit_embedded.py`` wrote; empty without
    file.

    Raises SettingsError if the file cannot be understood.
    """
    try:
        document = orjson.loads(path.read_bytes())
        probes: dict[str, dict[str, Any]] = document["models"].get(sha256, {}).get("probes", {})
        # Checked here, so that the error can name the file.
        usable_thresholds(probes)
    except FileNotFoundError:
        return {}
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise SettingsError(f"The thresholds in {path} cannot be read: {error}.") from error
    return probes
