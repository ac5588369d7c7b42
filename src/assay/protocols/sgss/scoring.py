"""From labels to the scores of summaries, and to the terms from which weights are learned."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from assay.measures.arrays import Floats
from assay.measures.ranges import Range
from assay.measures.summaries import (
    SectionLabels,
    SummaryLabels,
    Weights,
    comp_range,
    contributions,
    experience_ends,
    fill_missing,
    final_lines,
    heading_representativeness,
    sgss,
    xux,
    xux_f,
    xux_g,
)
from assay.protocols.sgss.inputs import CRITERIA, SgssInputs, SgssSettings, distribution
from assay.protocols.sgss.labels import JudgedSummary

SCORES = ("SGSS", "XUX", "XUX_F", "XUX_G", "Comp")
LABELS = ("OS", "OF", "OR", "HR", "SRel", "SF")


@dataclass(frozen=True)
class ScoredSummary:
    """A summary's scores by name (None if undefined in this evaluation), its curve X(l), and the
    mean of each criterion's labels."""

    judged: JudgedSummary
    values: Mapping[str, Range | None]
    x: tuple[Range, ...]
    labels: Mapping[str, Range]


def score(
    judged: JudgedSummary, inputs: SgssInputs, settings: SgssSettings, weights: Weights
) -> ScoredSummary:
    """All scores of one summary. A missing label may be any point of the scale."""
    ends = _ends(judged, settings)
    floor, ceiling = experience_ends(*ends, weights)
    pr = distribution(inputs, settings, len(floor))
    finals = final_lines(judged.labels)

    def of_both(value: Callable[[list[float]], float]) -> Range:
        least = value(floor)
        return Range(least, least if ceiling is floor else value(ceiling))

    main = of_both(lambda x: xux(x, inputs.most))
    grade = comprehensiveness(judged, settings)
    values = {
        "SGSS": None if grade is None else _sgss(main, grade if judged.grades else None, weights),
        "XUX": main,
        "XUX_F": of_both(lambda x: xux_f(x, finals)),
        "XUX_G": of_both(lambda x: xux_g(x, pr)),
        "Comp": grade,
    }
    x = tuple(map(Range, floor, ceiling))
    least = means_of_labels(ends[0])
    greatest = least if ends[1] is ends[0] else means_of_labels(ends[1])
    labels = {name: Range(least[name], greatest[name]) for name in LABELS}
    return ScoredSummary(judged, values, x, labels)


def nothing(settings: SgssSettings, weights: Weights) -> dict[str, float]:
    """The values of a query without a summary: 0, or less if a valid summary can score less. XUX,
    XUX_F and XUX_G are means of means of what the lines add: with negative weights, none is below
    the least that a line can add."""
    ends = [
        SummaryLabels(point, point, point, (SectionLabels((point,), (point,), (point,)),))
        for point in (min(settings.mapping.values()), max(settings.mapping.values()))
    ]
    rising, falling = weights.by_sign()
    lines = zip(contributions(ends[0], rising), contributions(ends[1], falling), strict=True)
    worst = min(0.0, *(up + down for up, down in lines))
    alone = _sgss(Range.certain(worst), None, weights)
    experiences = dict.fromkeys(("XUX", "XUX_F", "XUX_G"), worst)
    return {"SGSS": alone.floor, **experiences, "Comp": 0.0, **dict.fromkeys(LABELS, 0.0)}


def _sgss(main: Range, grade: Range | None, weights: Weights) -> Range:
    """SGSS, whose two terms share no label. A ``grade`` of None means that nothing covers anything,
    which counts as the worst Comp (1 if its weight is negative)."""
    if grade is None:
        lost = min(sgss(0.0, one, weights) for one in (0.0, 1.0))
        return Range(main.floor + lost, main.ceiling + lost)
    return Range(
        min(sgss(main.floor, one, weights) for one in grade),
        max(sgss(main.ceiling, one, weights) for one in grade),
    )


def comprehensiveness(judged: JudgedSummary, settings: SgssSettings) -> Range | None:
    """Comp: 0 for a summary without sections, None if there is none to compare with."""
    if judged.grades is None:
        return None
    if not judged.grades:
        return Range.certain(0.0)
    # The mean of people's labels may lie between the points.
    return comp_range(judged.grades, tuple(settings.mapping.values()), between=settings.average)


def covers_nothing(one: ScoredSummary) -> bool:
    """Whether a summary with sections is relevant to no section of the pool, not even its own."""
    return bool(one.judged.grades) and one.values["Comp"] == Range.certain(0.0)


def _ends(
    judged: JudgedSummary, settings: SgssSettings
) -> tuple[SummaryLabels[float], SummaryLabels[float]]:
    points = settings.mapping.values()
    return fill_missing(judged.labels, min(points)), fill_missing(judged.labels, max(points))


def means_of_labels(labels: SummaryLabels[float]) -> dict[str, float]:
    """OS, OF and OR as they are; HR, SRel and SF as means over headings and statements, 0 if there
    are none. HR is 0 for sections without headings (section 4.1)."""
    return {
        "OS": labels.os,
        "OF": labels.of,
        "OR": labels.orep,
        "HR": _mean([heading_representativeness(p.g) for p in labels.parts if p.heading]),
        "SRel": _mean([value for part in labels.parts for value in part.srel]),
        "SF": _mean([value for part in labels.parts for value in part.sf]),
    }


def _mean(values: Sequence[float]) -> float:
    return sum(values) / len(values) if values else 0.0


def features(judged: JudgedSummary, inputs: SgssInputs, settings: SgssSettings) -> Floats | None:
    """The terms that the weights multiply in SGSS (eqs. 5, 8, 12): for each weight, XUX with that
    weight 1 and the others 0; and Comp. None if one is undefined or depends on a missing label."""
    found: list[Range | None] = []
    for name in CRITERIA[:-1]:
        only = Weights(**{**dict.fromkeys(CRITERIA, 0.0), name: 1.0})
        ends = experience_ends(*_ends(judged, settings), only)
        found.append(Range(*(xux(x, inputs.most) for x in ends)))
    found.append(comprehensiveness(judged, settings))
    values = [one.value for one in found if one is not None]
    known = [value for value in values if value is not None]
    return np.array(known) if len(known) == len(CRITERIA) else None
