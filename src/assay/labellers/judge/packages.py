"""The available judges and their files: settings and network."""

from __future__ import annotations

import hashlib
import importlib.util
from dataclasses import dataclass
from functools import cached_property
from importlib import resources
from importlib.resources.abc import Traversable
from pathlib import Path
from typing import Any

import orjson

from assay.labellers.judge import LARGE, NAME
from assay.labellers.judge.texts import Ability
from assay.model.errors import PrerequisiteError

SETTINGS, NETWORK = "judge.json", "judge.onnx"
"""Files of a judge. The network may be split into ``judge.onnx.00`` and so on."""


@dataclass(frozen=True)
class Settings:
    """The contents of ``judge.json``. ``sha256`` is the model's. ``calibration`` has, for each
    ability, ``weights`` of shape (levels, features), ``bias`` and ``slope``, and the probabilities
    above which the verdict is yes (``threshold``) or at least partly (``partly``)."""

    version: str
    sha256: str
    calibration: dict[str, Any]

    def threshold(self, ability: Ability) -> float:
        return float(self.calibration[ability]["threshold"])

    def unsure(self, ability: Ability, level: str) -> tuple[float, float]:
        """The probabilities of ``level`` (``yes``, or ``partly``: yes or partly) between which the
        judge should abstain.

        There, the conformal prediction sets that cover nine of ten pairs of either kind (Vovk 2012)
        contain both the level and the one below it. Both are 1 if none were fitted.
        """
        low, high = self.calibration[ability]["unsure"].get(level, (1.0, 1.0))
        return float(low), float(high)


@dataclass(frozen=True)
class JudgePackage:
    """A judge, with its ``name`` in SPECs and the name of its ``model`` in labels. ``place`` is a
    module with a folder ``data``, or a folder. ``requirement`` is its pip requirement, ``checkout``
    its folder in a checkout of Assay, if it has its own. Files that are unreadable or damaged raise
    PrerequisiteError."""

    name: str
    model: str
    place: str | Path
    requirement: str
    checkout: str = ""

    @property
    def labeller(self) -> str:
        """The name of its labeller."""
        return f"embedded:{self.name}"

    @property
    def title(self) -> str:
        """Model and version, as in labels."""
        return f"{self.model} {self.settings.version}"

    @property
    def edition(self) -> str:
        """Judge and version, as in calibration files; for the small judge, only the version."""
        version = self.settings.version
        return version if self.name == NAME else f"{self.name} {version}"

    @property
    def taught(self) -> str:
        """The name of the calibration file in an evaluation folder, with what people taught it."""
        return "judge-calibration" + ("" if self.name == NAME else f"-{self.name}") + ".json"

    @cached_property
    def settings(self) -> Settings:
        try:
            values = orjson.loads(self._settings)
            return Settings(values["version"], values["sha256"], values["calibration"])
        except (ValueError, KeyError, TypeError) as error:
            raise self._damaged(f"{SETTINGS} does not belong to a judge ({error})") from error

    @cached_property
    def settings_hash(self) -> str:
        """Identity of the settings: the first 16 digits of the SHA-256 of ``judge.json``."""
        return hashlib.sha256(self._settings).hexdigest()[:16]

    @cached_property
    def _settings(self) -> bytes:
        try:
            return self.folder().joinpath(SETTINGS).read_bytes()
        except OSError as error:
            raise self._damaged(f"{SETTINGS} cannot be read ({error})") from error

    def network(self) -> bytes:
        """The network's bytes, joined and checked against the SHA-256 in ``judge.json``."""
        try:
            pieces = [piece.read_bytes() for piece in self.pieces()]
        except OSError as error:
            raise self._damaged(f"{NETWORK} cannot be read ({error})") from error
        if not pieces:
            raise self._damaged(f"there is no {NETWORK}")
        network = b"".join(pieces)
        digest = hashlib.sha256(network).hexdigest()
        if digest != self.settings.sha256:
            raise self._damaged(f"{NETWORK} has SHA-256 {digest} instead of {self.settings.sha256}")
        return network

    def pieces(self) -> list[Traversable]:
        """The files of the network, in order."""
        own = (one for one in self.folder().iterdir() if one.name.startswith(NETWORK))
        return sorted(own, key=lambda one: one.name)

    def folder(self) -> Traversable:
        """The folder of its files."""
        if absent := self.missing():
            raise PrerequisiteError(absent)
        if isinstance(self.place, Path):
            return self.place
        return resources.files(self.place).joinpath("data")

    def missing(self) -> str | None:
        """A message if it is not installed, with the cure; None if it is."""
        if isinstance(self.place, Path) or importlib.util.find_spec(self.place):
            return None
        return f"The judge '{self.labeller}' is not installed: {self.install()}"

    def install(self, *how: str) -> str:
        """The command that installs it."""
        command = " ".join(("pip install", *how, self.requirement))
        if not self.checkout:
            return command
        from_source = " ".join(("pip install", *how, self.checkout))
        return f"{command} ({from_source} in a checkout of Assay)"

    def _damaged(self, what: str) -> PrerequisiteError:
        return PrerequisiteError(
            f"The judge '{self.labeller}': {what}. The installation is damaged: "
            f"{self.install('--force-reinstall')}"
        )


JUDGES: dict[str, JudgePackage] = {
    one.name: one
    for one in (
        JudgePackage(NAME, "assay-judge", "assay.labellers.judge", "'assay-rag[embedded]'"),
        JudgePackage(
            LARGE, "assay-judge-large", "assay_judge_large", "assay-judge-large", "./judges/large"
        ),
    )
}
"""All judges, by their names in SPECs."""
SMALL = JUDGES[NAME]
"""The judge in this package, which ``embedded`` names."""


def judge_of(labeller: str) -> JudgePackage | None:
    """The judge whose labeller has this name, or None."""
    return next((one for one in JUDGES.values() if one.labeller == labeller), None)


def vocabulary() -> bytes:
    """The tokeniser file, which all judges share."""
    return resources.files(__package__).joinpath("data", "tokenizer.json").read_bytes()
