"""The protocol ``sgss``: structured summaries, from labels to XUX, Comp and SGSS."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from functools import partial
from typing import Any

from assay.labellers.base import Request
from assay.measures.ranges import Range
from assay.measures.summaries import experience, final_lines, weight_warnings, xux, xux_f, xux_g
from assay.model.summaries import Summary
from assay.model.wording import counted, joined, noun
from assay.page.page import Board, Gap
from assay.protocols.base import Protocol, Step
from assay.protocols.contents import Content, cited
from assay.protocols.definitions import glossary
from assay.protocols.labels import LabelBook
from assay.protocols.linear import LinearMeasure, Share
from assay.protocols.means import score_table
from assay.protocols.results import Findings
from assay.protocols.sgss.files import own_files
from assay.protocols.sgss.inputs import CRITERIA, SgssInputs, SgssSettings, distribution, load
from assay.protocols.sgss.labels import (
    ASKED,
    OF_TASK,
    AskedPart,
    asked,
    asked_of,
    judge_all,
    judged,
    tasks,
    verdict_number,
)
from assay.protocols.sgss.preferences import (
    Compared,
    asked_pairs,
    assumed,
    is_there,
    pairs,
    preference_part,
    preference_scores,
    rates,
    requests_in_other_order,
)
from assay.protocols.sgss.scoring import (
    LABELS,
    SCORES,
    ScoredSummary,
    covers_nothing,
    nothing,
    score,
)
from assay.protocols.sgss.views import line_part, plot_part
from assay.tasks.base import AnyTask
from assay.tasks.sgss import COVERAGE, PREFERENCE
from assay.tasks.trec_rag import SUPPORT

_SUMMED = tuple(task for task in ASKED if task is not COVERAGE)


def linear_measures(
    inputs: SgssInputs, settings: SgssSettings, book: LabelBook
) -> Iterator[LinearMeasure]:
    """XUX and its variants, SGSS (whose Comp depends on other labels), and the criteria's means,
    over the labels of each task. None if people's labels are averaged."""
    if settings.average:
        return
    shares: dict[tuple[AnyTask, str], list[Share]] = defaultdict(list)
    for run in inputs.runs:
        summaries = {query: one[run] for query, one in inputs.summaries.items() if run in one}
        topics = len(inputs.summaries) if settings.silent == "zero" else len(summaries)
        for query, summary in summaries.items():
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

    # SF comes last: of measures with equally many units, draws are for the first.
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
    """The questions about a summary, each with the line to which it adds (from 0, as in
    :func:`assay.measures.summaries.contributions`), its share of that line's criterion (labels of a
    heading are averaged), and its share of the criterion's mean over the summary."""
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


_CRITERIA = "Means of the labels, from 0 to 1; 0 if there is nothing to label."


class Sgss(Protocol[SgssSettings, SgssInputs]):
    """Structured generative search summaries. Source: Sakai et al. 2026."""

    name = "sgss"
    title = "SGSS · structured generative search summaries"
    settings = SgssSettings
    entries = ("summaries", "preferences", "abandonment")
    tasks = staticmethod(tasks)
    load = staticmethod(load)
    linear = staticmethod(linear_measures)

    def steps(self, inputs: SgssInputs, settings: SgssSettings) -> Sequence[Step]:
        def step(task: AnyTask) -> Step:
            return Step.about(task.name.rpartition(".")[2], task, lambda _: asked(inputs, task))

        wanted = tasks(settings)
        criteria = {
            **{task: {one} for task, one in OF_TASK.items()},
            COVERAGE.name: {"Comp"},
            SUPPORT.name: {"OF", "SF"},
        }
        unasked = {task for task, of in criteria.items() if of <= inputs.unasked}
        found = [step(one) for one in wanted if one.name not in unasked]
        if PREFERENCE in wanted:
            other = Step(
                "preference, other order", PREFERENCE, partial(requests_in_other_order, inputs),
                waits=True, of_people=lambda _: (),  # nobody judges the same two things twice
            )  # fmt: skip
            found.append(other)
        return found

    def score(self, inputs: SgssInputs, settings: SgssSettings, book: LabelBook) -> Findings:
        judged = judge_all(inputs, settings, book)
        scored = {
            query: {
                run: score(one, inputs, settings, inputs.weights) for run, one in by_run.items()
            }
            for query, by_run in judged.items()
        }
        names = tuple(
            n for n in SCORES
            if (n != "XUX_G" or settings.apd != "uniform") and n not in inputs.unasked
        )  # fmt: skip
        criteria = tuple(one for one in LABELS if one not in inputs.unasked)
        per_topic = _per_topic(inputs, scored, settings, (*names, *criteria))
        scores = score_table(per_topic, settings)
        by_sgss = {
            query: {run: one.values["SGSS"] for run, one in by_run.items()}
            for query, by_run in scored.items()
        }
        preferred = asked_pairs(inputs, book) if PREFERENCE in tasks(settings) else []
        every = [*pairs(inputs.preferences, settings), *assumed(inputs, judged), *preferred]
        compared = rates(every, by_sgss)
        summaries = sum(len(by_run) for by_run in scored.values())
        return Findings(
            topics=tuple(inputs.summaries),
            scores=scores,
            per_topic=per_topic,
            boards=(
                Board("Summarisers", names, _board_note(inputs, settings)),
                Board("Criteria", criteria, _CRITERIA),
            ),
            definitions=glossary("sgss"),
            facts=(
                ("Queries", f"{len(inputs.summaries):,}"),
                ("Summarisers", f"{len(inputs.runs):,}"),
                ("Summaries", f"{summaries:,}"),
                ("L_max", "none" if inputs.most is None else f"{inputs.most:,}"),
            ),
            gaps=_gaps(inputs, scored, compared, settings),
            files=own_files(scored, compared, settings),
            parts=lambda: (
                *(() if "Comp" in inputs.unasked else (plot_part(scores, scored),)),
                *preference_part(compared, settings),
                line_part(inputs, scored),
            ),
            document=lambda: {
                "weights": asdict(inputs.weights),
                "l_max": inputs.most,
                "preferences": preference_scores(compared, settings),
            },
            warnings=tuple(weight_warnings(inputs.weights)),
            topic_texts={
                query: one.query_text
                for query, by_run in inputs.summaries.items()
                for one in list(by_run.values())[:1]
            },
        )

    def contents(self, inputs: SgssInputs, run: str) -> Mapping[str, Content]:
        return {
            query: Content(
                next(iter(by_run.values())).query_text,
                answer=None if one is None else [line[:4] for line in one.lines()],
                passages=None if one is None else [doc.text for doc in one.documents.values()],
                lines=[]
                if one is None
                else [cited(each.text, each.citations) for each in one.lines()],
            )
            for query, by_run in inputs.summaries.items()
            for one in [by_run.get(run)]
        }

    def inputs_in_words(self, inputs: SgssInputs) -> str:
        count = sum(map(len, inputs.summaries.values()))
        return ", ".join(
            counted(*each)
            for each in (
                (len(inputs.summaries), "query", "queries"),
                (len(inputs.runs), "summariser"),
                (count, "summary", "summaries"),
            )
        )


SGSS = Sgss()


def _board_note(inputs: SgssInputs, settings: SgssSettings) -> str:
    shown = ", ".join(f"w_{name} {value:.3g}" for name, value in asdict(inputs.weights).items())
    worst = nothing(settings, inputs.weights)["SGSS"]
    silent = (
        f"counts as {worst:.3g}" if settings.silent == "zero" else "is left out (setting 'silent')"
    )
    if inputs.unasked:
        names = ", ".join(one for one in CRITERIA if one in inputs.unasked)
        shown += f"; not asked about: {names}"
    return f"Weights: {shown}. A query without a summary {silent}."


def _per_topic(
    inputs: SgssInputs,
    scored: Mapping[str, Mapping[str, ScoredSummary]],
    settings: SgssSettings,
    names: Sequence[str],
) -> dict[str, dict[str, dict[str, Range | None]]]:
    """run → measure → query → value. A query without a summary counts as worst, or is left out."""
    found: dict[str, dict[str, dict[str, Range | None]]] = {}
    worst: dict[str, Range | None] = {
        name: Range.certain(value) for name, value in nothing(settings, inputs.weights).items()
    }
    if not inputs.comparable:
        worst |= {"SGSS": None, "Comp": None}
    for run in inputs.runs:
        found[run] = {name: {} for name in names}
        for query, by_run in scored.items():
            if run in by_run:
                values = {**by_run[run].values, **by_run[run].labels}
            elif settings.silent == "zero":
                values = worst
            else:
                continue
            for name, by_query in found[run].items():
                by_query[query] = values[name]
    return found


def _gaps(
    inputs: SgssInputs,
    scored: Mapping[str, Mapping[str, ScoredSummary]],
    compared: Compared,
    settings: SgssSettings,
) -> tuple[Gap, ...]:
    everything = [one for by_run in scored.values() for one in by_run.values()]
    bare = sum(not one.judged.summary.sections for one in everything)
    alone = sum(
        bool(run_scores.judged.grades)
        for query, by_run in scored.items()
        if sum(bool(one.sections) for one in inputs.originals(query)) == 1
        for run_scores in by_run.values()
    )
    zero = sum(map(covers_nothing, everything))
    closing = sum(one.judged.summary.overview_last for one in everything)
    found = [
        (bare, "has no sections", "have no sections",
         "Comp and the measures of headings and statements are 0 there."),
        (alone, "has no other with sections to be compared with",
         "have no other with sections to be compared with", "The whole pool is its own there."),
        (zero, "is not relevant to any pooled section", "are not relevant to any pooled section",
         "Comp is 0 there."),
        (closing, "ends with its overview", "end with their overview", "It is their last line."),
        (0 if inputs.comparable else len(everything), "has nothing to be compared with",
         "have nothing to be compared with",
         "Comp and SGSS are undefined: they need two summarisers."),
    ]  # fmt: skip
    gaps = [
        Gap(count, f"summary {one}" if count == 1 else f"summaries {many}", so, grave=False)
        for count, one, many, so in found
        if count
    ]
    repeats = sum(one.judged.summary.repeats for one in everything)
    in_both_orders = [pair for pair, _, _ in compared if pair.both_orders]
    split = sum(pair.left_better == 1 for pair in in_both_orders)
    if split:
        what = f"of {counted(len(in_both_orders), 'pair')} compared in both orders have two winners"
        gaps.append(Gap(split, what, "Neither summary is preferred there.", grave=False))
    if repeats:
        what = f"{noun(repeats, 'statement')} repeated within a summary"
        gaps.append(Gap(repeats, what, "Only the first is read.", grave=False))
    return (*gaps, *_missing_summaries(inputs, compared, settings))


def _missing_summaries(
    inputs: SgssInputs, compared: Compared, settings: SgssSettings
) -> Iterator[Gap]:
    """Queries that summarisers left out, and preferences between summaries that do not exist."""
    left_out = {
        run: [query for query, by_run in inputs.summaries.items() if run not in by_run]
        for run in inputs.runs
        if run in inputs.handed_in
    }
    total = sum(map(len, left_out.values()))
    if total:
        names = "; ".join(f"{run}: {joined(of, 10)}" for run, of in left_out.items() if of)
        what = f"{noun(total, 'query', 'queries')} left out by summarisers ({names})"
        worst = nothing(settings, inputs.weights)["SGSS"]
        so = (
            f"Each counts as {worst:.3g}."
            if settings.silent == "zero"
            else "They are left out of the means."
        )
        yield Gap(total, what, so, grave=False)
    blind = [pair for pair, _, _ in compared if not is_there(pair, inputs.summaries[pair.query])]
    if blind:
        names = joined((f"{one.query}: {one.left}, {one.right}" for one in blind), 10)
        what = (
            f"{noun(len(blind), 'pair')} with a preference but without one of the summaries "
            f"({names})"
        )
        so = "Their agreement is unknown, and no weights are learned from them."
        yield Gap(len(blind), what, so, grave=False)
