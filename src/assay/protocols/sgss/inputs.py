"""The inputs of an SGSS evaluation, and its settings."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Mapping
from dataclasses import dataclass, fields
from functools import cached_property
from itertools import chain
from typing import Annotated, Literal

import orjson
from pydantic import Field, field_validator

from assay.formats.summaries import read_abandonment, read_preferences, read_summaries
from assay.measures.summaries import Weights, abandonment, geometric, lines_read
from assay.model.errors import SettingsError
from assay.model.paths import path_inside
from assay.model.summaries import (
    Preference,
    Summary,
    without_first_section,
    without_headings,
    without_repeats,
)
from assay.protocols.base import CommonSettings, Reading
from assay.protocols.folder import Folder

DEGRADED = {"NoHeadings": without_headings, "NoSection1": without_first_section}
CRITERIA = tuple(field.name for field in fields(Weights))
POINTS = ("no", "partially", "perfectly")
Point = Literal["no", "partially", "perfectly"]
Also = Literal[
    "comprehensiveness", "preference", "OS", "OF", "OR", "HR", "SRel", "SF", "Comp"
]  # fmt: skip


class SgssSettings(CommonSettings):
    """``[settings]`` of an SGSS evaluation.

    ``weights``: a table of ``OS OF OR HR SRel SF Comp``, or a file written by ``assay sgss
      weights``.
    ``mapping``: values of the three points of the scale.
    ``uncited``: faithfulness of a text that cites nothing.
    ``without_sections``: OR if there are no sections to represent.
    ``l_max``: maximum number of lines read; or ``minutes`` of reading at ``chars_per_minute``.
    ``apd``: abandonment for XUX_G: ``uniform``, ``geometric`` with probability ``p``, or
      ``observed`` ([inputs] abandonment).
    ``degrade``: degraded versions to make and evaluate.
    ``also``: labels that no score needs, or criteria of weight 0, to ask about as well.
    ``average``: average people's labels on a unit, unless somebody settled it.
    ``silent``: a query without a summary by a run counts as the worst summary (``zero``, or
      less if weights are negative), or is ``left-out`` of its means.
    ``test_share``: share of test queries, if the preferences do not say which part they belong
      to.
    ``ridge``, ``folds``: of the regression and its model selection.
    """

    weights: dict[str, float] | str = Field(default_factory=dict)
    mapping: dict[str, Annotated[float, Field(ge=0, le=1)]] = Field(
        default_factory=lambda: {"no": 0.0, "partially": 0.5, "perfectly": 1.0}
    )
    uncited: Point = "no"
    without_sections: Point = "no"
    l_max: int | None = Field(None, ge=1)
    minutes: float | None = Field(None, gt=0)
    chars_per_minute: float = Field(500.0, gt=0)
    apd: Literal["uniform", "geometric", "observed"] = "uniform"
    p: float = Field(0.1, gt=0, le=1)
    degrade: tuple[Literal["NoHeadings", "NoSection1"], ...] = ()
    also: tuple[Also, ...] = ()
    average: bool = False
    silent: Literal["zero", "left-out"] = "zero"
    test_share: float = Field(0.3, ge=0, le=1)
    ridge: float = Field(1.0, ge=0)
    folds: int = Field(5, ge=2)

    @field_validator("mapping")
    @classmethod
    def _whole(cls, value: dict[str, float]) -> dict[str, float]:
        if set(value) != set(POINTS):
            raise ValueError(f"must give each of {', '.join(POINTS)} a number from 0 to 1")
        return value

    @field_validator("weights")
    @classmethod
    def _known(cls, value: dict[str, float] | str) -> dict[str, float] | str:
        for name in value if isinstance(value, dict) else ():
            if name not in CRITERIA:
                raise ValueError(f"there is no criterion '{name}'; there are {', '.join(CRITERIA)}")
        return value


@dataclass(frozen=True)
class SgssInputs:
    """All inputs, checked. ``summaries[query][run]`` has degraded versions after their originals,
    all without repeated statements. ``most`` is L_max, None for no limit. ``unasked`` are the
    criteria of weight 0, about which nobody is asked."""

    summaries: Mapping[str, Mapping[str, Summary]]
    weights: Weights
    most: int | None
    preferences: tuple[Preference, ...] = ()
    counts: tuple[float, ...] = ()
    unasked: frozenset[str] = frozenset()

    @property
    def runs(self) -> tuple[str, ...]:
        """All runs in the order of the files, with degraded versions after their originals."""
        return tuple(dict.fromkeys(chain.from_iterable(self.summaries.values())))

    @property
    def handed_in(self) -> frozenset[str]:
        """The runs that are not degraded versions."""
        every = (one for by_run in self.summaries.values() for one in by_run.values())
        return frozenset(one.run for one in every if one.degraded is None)

    @cached_property
    def comparable(self) -> bool:
        """Whether there are two summarisers, so that Comp is defined."""
        return len(self.handed_in) > 1

    def originals(self, query: str) -> list[Summary]:
        """The summaries of a query that were handed in."""
        return [one for one in self.summaries[query].values() if one.degraded is None]


def load(folder: Folder, settings: SgssSettings, reading: Reading) -> SgssInputs:
    """Read everything; the faults of all files are raised together."""
    found: dict[str, dict[str, Summary]] = {}
    texts: dict[str, str] = {}
    for path, summaries in reading.many("summaries", read_summaries, required=True):
        for one in summaries:
            by_run = found.setdefault(one.query, {})
            if one.run in by_run:
                reading.add_fault(
                    path, f"'{one.run}' has two summaries of this query.", "Keep one.",
                    line=one.line, topic=one.query,
                )  # fmt: skip
            if texts.setdefault(one.query, one.query_text) != one.query_text:
                reading.add_fault(
                    path, "The query had a different text before.", "Give it one text.",
                    line=one.line, topic=one.query,
                )  # fmt: skip
            by_run[one.run] = without_repeats(one)
    preferences = reading.optional("preferences", read_preferences) or ()
    if "preferences" in folder.config.inputs:
        path = folder.input_files("preferences")[0]
        runs = {run for by_run in found.values() for run in by_run}
        # If summaries cannot be read, preferences are not checked: all would be missing.
        for preference in () if reading.faults else preferences:
            for side in (preference.left, preference.right):
                if side not in runs or preference.query not in found:
                    reading.add_fault(
                        path, f"There is no summary of this query by '{side}'.",
                        "Use the queries and summarisers of the summaries.", topic=preference.query,
                    )  # fmt: skip
    counts = reading.optional("abandonment", read_abandonment) or ()
    reading.done()
    if settings.apd == "observed" and not counts:
        raise SettingsError(
            f'{folder.path / "assay.toml"}: apd = "observed" needs [inputs] abandonment.'
        )
    lengths = [len(line.text) for by in found.values() for s in by.values() for line in s.lines()]
    for by_run in found.values():
        for summary in list(by_run.values()):
            for name in settings.degrade:
                version = DEGRADED[name](summary)
                by_run[version.run] = version
    weights = weights_of(folder, settings)
    return SgssInputs(
        found, weights, _most(settings, lengths), preferences, counts, _unasked(weights, settings)
    )


def _unasked(weights: Weights, settings: SgssSettings) -> frozenset[str]:
    """Criteria of weight 0. SRel is still asked about if a version loses its first section, as it
    tells whether anything was lost (section 4.1)."""
    wanted = {*settings.also, *(["SRel"] if "NoSection1" in settings.degrade else [])}
    return frozenset(one for one in CRITERIA if getattr(weights, one) == 0 and one not in wanted)


def _most(settings: SgssSettings, lengths: list[int]) -> int | None:
    """L_max: as set, or the number of mean-length lines read in some minutes (section 3.1)."""
    if settings.l_max is not None:
        return settings.l_max
    if settings.minutes is None:
        return None
    mean = math.fsum(lengths) / len(lengths)
    return max(1, math.floor(settings.chars_per_minute * settings.minutes / mean))


def weights_of(folder: Folder, settings: SgssSettings) -> Weights:
    """The weights in the settings. Raises SettingsError if their file cannot be read."""
    given = settings.weights
    if isinstance(given, dict):
        return Weights(**given)
    path = path_inside(folder.path, given, f"{folder.path / 'assay.toml'}: [settings]")
    try:
        document = orjson.loads(path.read_bytes())
        return Weights(**{name: float(document["weights"][name]) for name in CRITERIA})
    except (OSError, orjson.JSONDecodeError, KeyError, TypeError, ValueError) as error:
        raise SettingsError(
            f"{path}: the weights cannot be read ({error}). Make them: assay sgss weights."
        ) from error


def distribution(inputs: SgssInputs, settings: SgssSettings, lines: int) -> list[float]:
    """Pr(l) over the first L′ of ``lines`` lines."""
    read = lines_read(lines, inputs.most)
    if settings.apd == "geometric":
        return geometric(read, settings.p)
    if settings.apd == "observed":
        return abandonment(inputs.counts, read)
    return [1 / read] * read


def is_test(one: Preference, settings: SgssSettings) -> bool:
    """Whether a pair is in the test part: as the file says, else by a hash of the query, so that
    all pairs of a query are in the same part."""
    if one.test is not None:
        return one.test
    digest = hashlib.sha256(f"{settings.seed} {one.query}".encode()).digest()
    return int.from_bytes(digest[:8], "big") / 2**64 < settings.test_share
