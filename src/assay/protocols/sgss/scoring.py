"""From labels to scores of summaries, and to what weights are learned from."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from assay.measures.summaries import (
    Value,
    Weights,
    comp,
    contributions,
    experience,
    final_lines,
    heading_representativeness,
    sgss,
    xux,
    xux_f,
    xux_g,
)
from assay.protocols.sgss.inputs import CRITERIA, SgssInputs, SgssSettings, distribution
from assay.protocols.sgss.labels import Judged

SCORES = ("SGSS", "XUX", "XUX_F", "XUX_G", "Comp")
LABELS = ("OS", "OF", "OR", "HR", "SRel", "SF")


@dataclass(frozen=True)
class Scored:
    """A summary's scores by name, its curve X(l), and the mean of each criterion's labels."""

    judged: Judged
    values: Mapping[str, Value]
    x: tuple[Value, ...]
    labels: Mapping[str, Value]


def score(judged: Judged, inputs: SgssInputs, settings: SgssSettings, weights: Weights) -> Scored:
    """All scores of one summary."""
    x = experience(contributions(judged.labels, weights))
    main = xux(x, inputs.most)
    grade = comp(judged.grades)
    values: dict[str, Value] = {
        "SGSS": sgss(main, grade, weights),
        "XUX": main,
        "XUX_F": xux_f(x, final_lines(judged.labels)),
        "XUX_G": xux_g(x, distribution(inputs, settings, len(x))),
        "Comp": grade,
    }
    return Scored(judged, values, tuple(x), means_of_labels(judged))


def means_of_labels(judged: Judged) -> dict[str, Value]:
    """OS, OF, OR as they are; HR, SRel, SF as means over headings and statements; None where one
    is missing, or there is none. Sections without headings have an HR of 0 (section 4.1)."""
    found = judged.labels
    headings = [heading_representativeness(p.g) for p in found.parts if p.heading]
    return {
        "OS": found.os,
        "OF": found.of,
        "OR": found.orep,
        "HR": _mean(headings or [0.0] * len(found.parts)),
        "SRel": _mean([value for part in found.parts for value in part.srel]),
        "SF": _mean([value for part in found.parts for value in part.sf]),
    }


def _mean(values: list[Value]) -> Value:
    known = [value for value in values if value is not None]
    return sum(known) / len(known) if known and len(known) == len(values) else None


def features(judged: Judged, inputs: SgssInputs) -> npt.NDArray[np.float64] | None:
    """What each weight is multiplied with in SGSS (eqs. 5, 8, 12): XUX with that weight 1 and the
    others 0, and Comp. None where a label is missing."""
    found: list[float] = []
    for name in CRITERIA[:-1]:
        only = Weights(**{**dict.fromkeys(CRITERIA, 0.0), name: 1.0})
        value = xux(experience(contributions(judged.labels, only)), inputs.most)
        if value is None:
            return None
        found.append(value)
    grade = comp(judged.grades)
    if grade is None:
        return None
    return np.array([*found, grade])
