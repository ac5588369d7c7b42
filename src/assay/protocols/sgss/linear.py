"""The scores of summaries as sums over the labels of their parts."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from assay.labellers.base import Request
from assay.measures.summaries import experience, final_lines, xux, xux_f, xux_g
from assay.model.summaries import Summary
from assay.protocols.labels import LabelBook
from assay.protocols.linear import LinearMeasure, Share
from assay.protocols.sgss.inputs import SgssInputs, SgssSettings, distribution
from assay.protocols.sgss.labels import ASKED, AskedPart, asked_of, judged, verdict_number
from assay.tasks.base import AnyTask
from assay.tasks.sgss import COVERAGE

_SUMMED = tuple(task for task in ASKED if task is not COVERAGE)


def linear_measures(
    inputs: SgssInputs, settings: SgssSettings, book: LabelBook
) -> Iterator[LinearMeasure]:
    """XUX and its like, SGSS (whose Comp hangs on other labels), and the criteria's means, over the
    labels of each task. None where people's labels are averaged, as one of them is no score."""
    if settings.average:
        return
    shares: dict[tuple[AnyTask, str], list[Share]] = defaultdict(list)
    for run in inputs.runs:
        mine = {query: one[run] for query, one in inputs.summaries.items() if run in one}
        topics = len(inputs.summaries) if settings.silent == "zero" else len(mine)
        for query, summary in mine.items():
            by_line = _line_weights(inputs, settings, summary)
            for task in _SUMMED:
                for part, line, of_line, of_mean in _placed(inputs, summary, task):
                    unit = task.unit.model_validate(part.content)
                    request = Request(task, unit, topic=query)
                    worth = getattr(inputs.weights, part.criterion) * of_line
                    for name, weights in by_line.items():
                        weight = worth * weights[line] / topics
                        shares[task, name].append(Share(run, request, weight))
                    own = Share(run, request, of_mean / topics)
                    shares[task, part.criterion].append(own)

    def worth_of(request: Request, verdict: Mapping[str, Any]) -> float:
        return verdict_number(settings, request.task.name, verdict)

    # SF last: of measures with equally many units the first is the one that is drawn for.
    for task, measure in sorted(shares, key=lambda one: one[1] == "SF"):
        yield LinearMeasure(measure, task, worth_of, shares[task, measure])


def _line_weights(
    inputs: SgssInputs, settings: SgssSettings, summary: Summary
) -> Mapping[str, Sequence[float]]:
    """What a line that adds 1 to X′ adds to each score."""
    labels = judged(inputs, settings, summary, [], lambda _: None).labels  # how many of each
    lines, finals = labels.lines, final_lines(labels)
    pr = distribution(inputs, settings, lines)
    ends = [experience([float(at == line) for at in range(lines)]) for line in range(lines)]
    read = [xux(x, inputs.most) for x in ends]
    found = {"SGSS": read, "XUX": read, "XUX_F": [xux_f(x, finals) for x in ends]}
    if settings.apd != "uniform":
        found["XUX_G"] = [xux_g(x, pr) for x in ends]
    return found


def _placed(
    inputs: SgssInputs, summary: Summary, task: AnyTask
) -> Iterator[tuple[AskedPart, int, float, float]]:
    """What is asked of a summary: the line that it adds to (from 0, as
    :func:`assay.measures.summaries.contributions` has them), its share of that line's criterion
    (what is said of a heading is averaged), and of the criterion's mean over the summary."""
    line = 0 if summary.overview_last else 1
    above = []  # the first statement of each section
    for section in summary.sections:
        line += section.heading is not None
        above.append(line - 1)
        line += len(section.statements)
    statements = sum(len(section.statements) for section in summary.sections)
    headings = sum(section.heading is not None for section in summary.sections)
    for part in asked_of(inputs, summary, task):
        if not part.section:
            yield part, line if summary.overview_last else 0, 1.0, 1.0
        elif part.criterion == "HR":
            share = 1.0 / len(summary.sections[part.section - 1].statements)
            yield part, above[part.section - 1], share, share / headings
        else:
            yield part, above[part.section - 1] + part.statement, 1.0, 1.0 / statements
