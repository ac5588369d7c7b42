"""What people of one collection taught the judge: a map of its probabilities for each ability, kept
beside the evaluation folder's settings and part of the key of every label given by it."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import orjson

from assay.labellers.judge.model import Ruling, settings
from assay.labellers.judge.texts import Ability
from assay.model.errors import SettingsError

FILE = "judge-calibration.json"
"""Its name in a folder; ``assay calibrate`` writes it."""
_LEAST = 0.005


@dataclass(frozen=True)
class Local:
    """For each ability fitted, σ(``slope`` · logit p + ``shift``) of the probability of yes p;
    ``digest`` is the file's."""

    maps: Mapping[Ability, tuple[float, float]]
    digest: str = ""

    def heard(self, ability: Ability, ruling: Ruling) -> tuple[Ruling, float | None]:
        """The ruling with its probabilities mapped, and the threshold of yes that then holds, one
        half; as it is, and None, for an ability that nothing was learnt about and where no passage
        was read: rules need no mending."""
        if ability not in self.maps or not ruling.windows:
            return ruling, None
        slope, shift = self.maps[ability]
        p = min(max(ruling.yes, _LEAST), 1 - _LEAST)
        yes = 1 / (1 + math.exp(-(slope * math.log(p / (1 - p)) + shift)))
        rest = (1 - yes) / max(1 - ruling.yes, 1e-12)
        mapped = Ruling(
            ruling.no * rest, ruling.partly * rest, yes, ruling.sentence, ruling.windows,
            ruling.tokens,
        )  # fmt: skip
        return mapped, 0.5


def read_local(path: Path) -> Local | None:
    """What ``path`` holds; None without such a file. Raises SettingsError where it cannot be
    understood, or was fitted for another version of the judge."""
    try:
        raw = path.read_bytes()
    except FileNotFoundError:
        return None
    except OSError as error:
        raise SettingsError(f"{path}: cannot be read: {error}.") from error
    try:
        document: dict[str, Any] = orjson.loads(raw)
        maps = {
            Ability(name): (float(one["slope"]), float(one["shift"]))
            for name, one in document["abilities"].items()
        }
        version = str(document["judge"])
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise SettingsError(
            f"{path}: is no calibration of the judge ({error}): remove it, or run "
            "'assay calibrate' again."
        ) from error
    if version != settings().version:
        raise SettingsError(
            f"{path}: was fitted for judge {version}, and this is judge {settings().version}: "
            "remove it, judge, and run 'assay calibrate' again."
        )
    return Local(maps, hashlib.sha256(raw).hexdigest()[:16])
