"""Local calibration: what people's labels of one collection have taught a judge.

It maps the judge's probabilities, per ability. It is kept in the evaluation folder, and is part of
the keys of labels that depend on it.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from itertools import combinations
from pathlib import Path
from typing import Any

import orjson

from assay.labellers.judge.model import Ruling
from assay.labellers.judge.packages import SMALL, JudgePackage
from assay.labellers.judge.texts import Ability
from assay.model.errors import SettingsError
from assay.tasks.base import canonical, content_hash

_LEAST = 0.005


@dataclass(frozen=True)
class Local:
    """A local calibration of ``judge``, restricted to some ``abilities``. ``maps`` has (slope,
    shift) for each fitted ability: the probability of yes p becomes σ(slope · logit p + shift).
    ``named`` maps digests to the names under which older labels are kept."""

    maps: Mapping[Ability, tuple[float, float]]
    named: Mapping[str, str] = field(default_factory=dict)
    abilities: frozenset[Ability] = frozenset(Ability)
    judge: JudgePackage = SMALL

    def only(self, abilities: frozenset[Ability]) -> Local:
        """Only the maps of these abilities. All else stays uncalibrated, so that :attr:`name`
        covers everything that can change an answer."""
        maps = {ability: own for ability, own in self.maps.items() if ability in abilities}
        return replace(self, maps=maps, abilities=abilities)

    @property
    def name(self) -> str | None:
        """The name of this calibration in labels, or None if no ability is calibrated. It is the
        same if and only if each of the abilities has the same map, or none."""
        digest = _digest(self.judge, self.maps, self.abilities)
        return self.named.get(digest, digest if self.maps else None)

    def apply(self, ability: Ability, ruling: Ruling) -> tuple[Ruling, float | None]:
        """The ruling with mapped probabilities, and its new threshold of yes, one half. Unchanged,
        and None, if the ability is not calibrated or a rule decided without the network."""
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


def read_local(path: Path, judge: JudgePackage = SMALL) -> Local | None:
    """Read the calibration of ``judge`` from ``path``, or None if there is no such file. Raises
    SettingsError if it cannot be understood, or is for another judge or version."""
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
        named = document.get("named")
        if named is None:  # an older file, whose digest was in the labels of all tasks
            parts = (some for n in range(1, 4) for some in combinations(Ability, n))
            named = dict.fromkeys((_digest(judge, maps, one) for one in parts), file_name(raw))
        named = {str(digest): str(name) for digest, name in named.items()}
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise SettingsError(
            f"{path}: is not a calibration of the judge ({error}): remove it, or run 'assay "
            "calibrate' again."
        ) from error
    if version != judge.edition:
        raise SettingsError(
            f"{path}: was fitted for judge {version}, but this is judge {judge.edition}: remove "
            "it, run 'assay judge', then run 'assay calibrate' again."
        )
    return Local(maps, named, judge=judge)


def file_name(raw: bytes) -> str:
    """The name of a calibration file in labels of earlier versions of Assay."""
    return content_hash(raw)[:16]


def _digest(
    judge: JudgePackage,
    maps: Mapping[Ability, tuple[float, float]],
    abilities: Iterable[Ability],
) -> str:
    """Hash of the maps of some abilities, including which have none."""
    each = {one.value: maps.get(one) for one in abilities}
    return content_hash(canonical([judge.edition, each]))[:16]
