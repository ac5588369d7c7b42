"""The judges that there are, and their files: what each says of itself, and its network."""

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
"""Files of a judge. The network may lie in pieces, ``judge.onnx.00`` and so on."""


@dataclass(frozen=True)
class Settings:
    """What ``judge.json`` says: version, the model's SHA-256, and for each ability the calibration
    (``weights`` of shape (levels, features), ``bias``, ``slope``) and the probability of yes above
    which the verdict is yes (``threshold``) or at least partly (``partly``)."""

    version: str
    sha256: str
    calibration: dict[str, Any]

    def threshold(self, ability: Ability) -> float:
        return float(self.calibration[ability]["threshold"])

    def unsure(self, ability: Ability, level: str) -> tuple[float, float]:
        """The probabilities of ``level`` (``yes``, or ``partly``: yes or partly) between which it
        had better abstain: there both it and what is less are in the conformal prediction sets
        that hold nine of ten pairs of either kind (Vovk 2012). Equal where none were fitted, so
        that nothing lies between."""
        low, high = self.calibration[ability]["unsure"].get(level, (1.0, 1.0))
        return float(low), float(high)


@dataclass(frozen=True)
class JudgePackage:
    """A judge: its ``name`` in SPECs, what its labels call its ``model``, and the ``place`` of its
    files (a module with a folder ``data``, or a folder). ``requirement`` is what pip installs it
    by, ``checkout`` its folder in Assay's source where that is another. What cannot be read, or is
    not what it says it is, raises PrerequisiteError."""

    name: str
    model: str
    place: str | Path
    requirement: str
    checkout: str = ""

    @property
    def labeller(self) -> str:
        """The name of its labels' labeller."""
        return f"embedded:{self.name}"

    @property
    def title(self) -> str:
        """Model and version, as its labels have them."""
        return f"{self.model} {self.settings.version}"

    @property
    def edition(self) -> str:
        """Which judge, and in which version, as what people taught it says; of the one that the
        main package holds the version alone."""
        version = self.settings.version
        return version if self.name == NAME else f"{self.name} {version}"

    @property
    def taught(self) -> str:
        """The file of an evaluation folder that holds what people taught it."""
        return "judge-calibration" + ("" if self.name == NAME else f"-{self.name}") + ".json"

    @cached_property
    def settings(self) -> Settings:
        try:
            said = orjson.loads(self._settings)
            return Settings(said["version"], said["sha256"], said["calibration"])
        except (ValueError, KeyError, TypeError) as error:
            raise self._damaged(f"{SETTINGS} does not belong to a judge ({error})") from error

    @cached_property
    def settings_hash(self) -> str:
        """Identity of the calibration: the first 16 digits of the SHA-256 of ``judge.json``."""
        return hashlib.sha256(self._settings).hexdigest()[:16]

    @cached_property
    def _settings(self) -> bytes:
        try:
            return self.folder().joinpath(SETTINGS).read_bytes()
        except OSError as error:
            raise self._damaged(f"{SETTINGS} cannot be read ({error})") from error

    def network(self) -> bytes:
        """The network, of one file or its pieces, with the SHA-256 that ``judge.json`` names."""
        try:
            pieces = [piece.read_bytes() for piece in self.pieces()]
        except OSError as error:
            raise self._damaged(f"{NETWORK} cannot be read ({error})") from error
        if not pieces:
            raise self._damaged(f"there is no {NETWORK}")
        found = b"".join(pieces)
        digest = hashlib.sha256(found).hexdigest()
        if digest != self.settings.sha256:
            raise self._damaged(f"{NETWORK} has SHA-256 {digest} instead of {self.settings.sha256}")
        return found

    def pieces(self) -> list[Traversable]:
        """The files of the network, in their order."""
        own = (one for one in self.folder().iterdir() if one.name.startswith(NETWORK))
        return sorted(own, key=lambda one: one.name)

    def folder(self) -> Traversable:
        """Where its files lie."""
        if absent := self.missing():
            raise PrerequisiteError(absent)
        if isinstance(self.place, Path):
            return self.place
        return resources.files(self.place).joinpath("data")

    def missing(self) -> str | None:
        """That it is not installed, with the cure; None where it is."""
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
"""The one that the package holds, which ``embedded`` means."""


def judge_of(labeller: str) -> JudgePackage | None:
    """The judge whose labels have a labeller of this name, if it is one's."""
    return next((one for one in JUDGES.values() if one.labeller == labeller), None)


def vocabulary() -> bytes:
    """The rules by which all of them make tokens of texts."""
    return resources.files(__package__).joinpath("data", "tokenizer.json").read_bytes()
