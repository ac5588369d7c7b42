"""What people of one collection taught a judge: a map of its probabilities for each ability, kept
beside the evaluation folder's settings and part of the keys of labels that hang on it."""

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
    """For each ability fitted, σ(``slope`` · logit p + ``shift``) of the probability of yes p; of
    the ``abilities`` that what is asked may hang on. ``named`` has other names of maps, by their
    digests, that labels are kept under. ``judge`` is who was taught."""

    maps: Mapping[Ability, tuple[float, float]]
    named: Mapping[str, str] = field(default_factory=dict)
    abilities: frozenset[Ability] = frozenset(Ability)
    judge: JudgePackage = SMALL

    def only(self, abilities: frozenset[Ability]) -> Local:
        """What was learnt about these: whatever else is asked is answered as it would be untaught,
        so that nothing but what has the :attr:`name` can change an answer."""
        maps = {a: m for a, m in self.maps.items() if a in abilities}
        return replace(self, maps=maps, abilities=abilities)

    @property
    def name(self) -> str | None:
        """What stands in labels for all of it: the same exactly if each of the abilities has the
        same map, or none. None where nothing was learnt about any."""
        digest = _digest(self.judge, self.maps, self.abilities)
        return self.named.get(digest, digest if self.maps else None)

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


def read_local(path: Path, judge: JudgePackage = SMALL) -> Local | None:
    """What ``path`` holds for ``judge``; None without such a file. Raises SettingsError where it
    cannot be understood, or was fitted for another judge or version."""
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
        if named is None:  # of before, where the file's digest stood in the labels of all tasks
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
    """What stood in labels for a file of an earlier Assay."""
    return content_hash(raw)[:16]


def _digest(
    judge: JudgePackage,
    maps: Mapping[Ability, tuple[float, float]],
    abilities: Iterable[Ability],
) -> str:
    """Of the maps of some abilities, and of which have none."""
    each = {one.value: maps.get(one) for one in abilities}
    return content_hash(canonical([judge.edition, each]))[:16]
