"""The scores of summaries as sums over the labels of their parts."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from assay.labellers.base import Request
from assay.measures.summaries import experience, final_lines, xux, xux_f, xux_g
from assay.model.summaries import CitedText, Summary
from assay.protocols.linear import LinearMeasure, Share
from assay.protocols.sgss.inputs import SgssInputs, SgssSettings, distribution
from assay.protocols.sgss.labels import (
    Content,
    faithfulness,
    heading,
    judged,
    original_of,
    representativeness,
    statement,
    sufficiency,
    verdict_number,
)
from assay.tasks.base import AnyTask
from assay.tasks.sgss import HEADING, REPRESENTATIVENESS, STATEMENT, SUFFICIENCY
from assay.tasks.trec_rag import SUPPORT

TASKS: tuple[AnyTask, ...] = (SUFFICIENCY, SUPPORT, REPRESENTATIVENESS, HEADING, STATEMENT)


class _Said(NamedTuple):
    """Something that is asked of a summary: the ``criterion`` it is of, the line that it adds to
    (from 0), the share of that line's criterion (the g of a heading are averaged), and of the
    criterion's mean over the summary."""

    criterion: str
    task: AnyTask
    content: Content
    line: int
    of_line: float
    of_mean: float


def linear_measures(inputs: SgssInputs, settings: SgssSettings) -> Iterator[LinearMeasure]:
    """XUX and its like, SGSS (whose Comp hangs on other labels), and the criteria's means, over the
    labels of each task. None where people's labels are averaged, as one of them is no score."""
    if settings.average:
        return
    shares: dict[tuple[str, str], list[Share]] = defaultdict(list)
    for run in inputs.runs:
        mine = {query: one[run] for query, one in inputs.summaries.items() if run in one}
        topics = len(inputs.summaries) if settings.silent == "zero" else len(mine)
        for query, summary in mine.items():
            by_line = _line_weights(inputs, settings, summary)
            for said in _said(summary, inputs):
                if said.criterion in inputs.unasked:
                    continue
                unit = said.task.unit.model_validate(said.content)
                request = Request(said.task, unit, topic=query)
                worth = getattr(inputs.weights, said.criterion) * said.of_line
                for name, weights in by_line.items():
                    weight = worth * weights[said.line] / topics
                    shares[said.task.name, name].append(Share(run, request, weight))
                own = Share(run, request, said.of_mean / topics)
                shares[said.task.name, said.criterion].append(own)

    def worth_of(request: Request, verdict: Mapping[str, Any]) -> float:
        return verdict_number(settings, request.task.name, verdict)

    by_name = {task.name: task for task in TASKS}
    for (task, measure), each in shares.items():
        yield LinearMeasure(measure, by_name[task], worth_of, each)


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


def _said(summary: Summary, inputs: SgssInputs) -> Iterator[_Said]:
    """What is asked of a summary, line by line as :func:`assay.measures.contributions` has it."""
    statements = sum(len(section.statements) for section in summary.sections)
    headings = sum(section.heading is not None for section in summary.sections)
    line = 0 if summary.overview_last else 1
    first: list[_Said] = []
    for section in summary.sections:
        if section.heading is not None:
            share = 1.0 / len(section.statements)
            for one in section.statements:
                first.append(
                    _Said("HR", HEADING, heading(section, one), line, share, share / headings)
                )
            line += 1
        for one in section.statements:
            each = 1.0 / statements
            first.append(_Said("SRel", STATEMENT, statement(summary, one), line, 1.0, each))
            first += _faithful("SF", summary, one, line, each)
            line += 1
    place = line if summary.overview_last else 0
    yield _Said("OS", SUFFICIENCY, sufficiency(summary), place, 1.0, 1.0)
    yield from _faithful("OF", summary, summary.overview, place, 1.0)
    original = original_of(inputs, summary)
    if original.sections:
        yield _Said("OR", REPRESENTATIVENESS, representativeness(original), place, 1.0, 1.0)
    yield from first


def _faithful(
    criterion: str, summary: Summary, one: CitedText, line: int, of_mean: float
) -> Iterator[_Said]:
    if one.citations:
        yield _Said(criterion, SUPPORT, faithfulness(summary, one), line, 1.0, of_mean)
