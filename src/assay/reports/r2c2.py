"""The HTML report of an R2C2 evaluation: one file that loads nothing.

Its Content-Security-Policy names the hashes of the report's own style sheet and script, so that
nothing else could run or load even if a text of a run were to slip through unescaped. The same
result gives the same bytes.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from jinja2 import Environment
from markupsafe import Markup

from assay.measures.confidence import LOWER_IS_BETTER, Closed
from assay.model.rag import Passage, Question
from assay.protocols.places import WhereUsed
from assay.protocols.r2c2.results import Found
from assay.protocols.results import Result
from assay.protocols.scores import ranks
from assay.reports.declining import declining
from assay.reports.groups import top_groups
from assay.reports.leaderboards import (
    SMALL_N,
    Row,
    ac_board,
    heat_tables,
    mark_counts,
    pr_board,
    task_rows,
)
from assay.reports.page import content_policy, environment, setting, source
from assay.reports.plots import Curve, interval_axis, reliability, risk_coverage_plot
from assay.reports.questions import question_view
from assay.reports.reward_map import RewardPoint, reward_map
from assay.reports.text import counted, interval, listing, shortened, span
from assay.reports.wording import (
    READING_RULE,
    TASK_TITLES,
    every_question_has_one,
    nothing_missing,
    policy_in_words,
)

__all__ = ["render_report"]

MAX_BYTES = 22_000_000
"""Questions are shown in full until they take this much."""

_NAMED_RUNS = 14
"""With more runs than this the plots number them."""

_ALIGNED_RUNS = 6
"""With more runs than this the matrix of a question stands below its text."""

_FILTERS = (
    ("right", "right"),
    ("wrong", "wrong"),
    ("declined", "declined"),
    ("out", "left out"),
    ("missing", "without a label"),
    ("failed", "label failed"),
    ("mixed", "runs disagree"),
    ("bogus", "some nugget bogus"),
    ("overruled", "overruled by a person"),
)


def render_report(
    result: Result,
    *,
    generated_by: str,
    max_questions: int = 300,
    max_bytes: int = MAX_BYTES,
) -> str:
    """Return the report as HTML.

    At most *max_questions* questions are shown in full, fewer where these would take more than
    *max_bytes*; the others keep their line in the matrix, and the report says so.
    """
    templates = environment()
    css, js = source("report.css"), source("report.js")
    found: Found = result.findings.detail
    ac, pr = ac_board(found), pr_board(found)
    order = [row.run for row in ac.rows]
    wide = " many" if len(order) > _ALIGNED_RUNS else ""
    questions, in_full = _questions(
        templates, found, WhereUsed(result.used), order, wide, max_questions, max_bytes
    )
    curves = _curves(found, ac.rows)
    rewards = _reward_points(found, ac.rows)
    tasks = task_rows(result)
    by_people = sum(task.by_people for task in tasks)
    html = templates.get_template("report.html.j2").render(
        r=result,
        generated_by=generated_by,
        # Our own style sheet and script, read from the package.
        css=Markup(css),  # noqa: S704
        js=Markup(js),  # noqa: S704
        csp=content_policy(css, js),
        about={part: d.says for d in result.findings.definitions for part in d.name.split(", ")},
        lede=_lede(found, ac.rows),
        facts=_facts(found, by_people),
        gaps=result.gaps,
        grave=any(gap.grave for gap in result.gaps),
        complete=nothing_missing(found),
        policy=policy_in_words(result.policy),
        tasks=tasks,
        juries=result.juries,
        task_titles=TASK_TITLES,
        level=_level(result.settings),
        bins=_bins(result.settings),
        acts_note=_acts_note(found),
        ac=ac,
        pr=pr,
        lower=LOWER_IS_BETTER,
        axis=interval_axis(),
        rule=READING_RULE,
        reward_map=reward_map(rewards) if rewards else None,
        whiskers=len(rewards) <= 8,
        groups=top_groups(found),
        numbered=len(order) > _NAMED_RUNS,
        risk_all=risk_coverage_plot(curves) if curves else None,
        panels=_panels(found, result.settings, ac.rows, curves),
        grades_note=_grades_note(found, result.settings),
        no_relevant=_no_relevant(found),
        declining=declining(found, [row.run for row in ac.rows]),
        relevance_note=_relevance_note(found),
        relevance=found.relevance,
        missed=_missed(found),
        heat=heat_tables(found),
        small_n=SMALL_N,
        categories=list(dict.fromkeys(q.category for q in found.questions if q.category)),
        outcomes=_FILTERS,
        limited=_limited(len(found.questions), in_full, result.out),
        questions=questions,
        wide=wide,
        definitions=result.findings.definitions,
        settings=[(key, setting(value)) for key, value in result.settings.items()],
    )
    return html if html.endswith("\n") else html + "\n"


# --- words ---------------------------------------------------------------------------------------


def _lede(result: Found, rows: Sequence[Row]) -> list[str]:
    runs = counted(len(rows), "answering run"), counted(len(result.pr_runs), "passage run")
    sentences = [f"{runs[0]} and {runs[1]} on {counted(len(result.questions), 'question')}."]
    found = []
    for measure, says in (("HMR", "the highest HMR"), ("Accuracy", "the highest accuracy")):
        first = [run for run, rank in ranks(result.scores, measure).items() if rank == 1]
        if len(first) == 1:
            score = result.scores[first[0]][measure]
            shown = span(score.floor, score.ceiling)
            found.append(f"{first[0]} has {says}, {shown} ({interval(score.low, score.high)})")
        elif len(first) == len(result.scores):
            found.append(f"no run is surely ahead by {measure}")
        elif first:
            found.append(f"{listing(first)} share {says}")
    sentence = "; ".join(found)
    return sentences + ([sentence + "."] if sentence else [])


def _facts(result: Found, by_people: int) -> list[tuple[str, str]]:
    marks = mark_counts(result)
    passages = sum(len(p) for run in result.pr_runs.values() for p in run.passages.values())
    return [
        ("Questions", f"{len(result.questions):,}"),
        ("Answering runs", f"{len(result.answers):,}"),
        ("Passage runs", f"{len(result.pr_runs):,}"),
        ("Passages", f"{passages:,}"),
        ("Nuggets R · N · B", f"{marks['R']:,} · {marks['N']:,} · {marks['B']:,}"),
        ("Labels by people", f"{by_people:,}"),
    ]


def _level(settings: Mapping[str, object]) -> str:
    level = settings.get("level")
    return f"{level * 100:g}\u00a0%" if isinstance(level, float) else ""


def _bins(settings: Mapping[str, object]) -> int:
    bins = settings.get("bins")
    return bins if isinstance(bins, int) and not isinstance(bins, bool) and bins > 0 else 10


def _closed(settings: Mapping[str, object]) -> Closed:
    return "left" if settings.get("bins_closed") == "left" else "right"


def _acts_note(result: Found) -> str:
    labelled = any(
        answer.act is not None for found in result.answers.values() for answer in found.values()
    )
    if labelled or not result.answers:
        return ""
    return "Nobody labelled which answers decline, so that these scores are ranges."


def _grades_note(result: Found, settings: Mapping[str, object]) -> str:
    own = settings.get("ideal") == "own"
    parts = [
        "The ideal list of a question is taken from "
        + ("the run’s own passages." if own else "the passages of all runs.")
    ]
    if settings.get("merge_identical"):
        parts.append("Identical passages of several runs are one relevance unit.")
    unsure = max(
        (score.missing for scores in result.pr_scores.values() for score in scores.values()),
        default=0,
    )
    if unsure:
        parts.append(f"In {counted(unsure, 'question')} labels are missing: grades may still rise.")
    return " ".join(parts)


def _relevance_note(result: Found) -> str:
    check = result.relevance
    if check is None:
        return ""
    kappa = "undefined" if check.kappa is None else f"{check.kappa:.3f}"
    note = f"Each passage was also judged on its own. Agreement with the grades: Cohen’s κ {kappa}."
    if check.missing:
        note += f" {counted(check.missing, 'passage')} without a usable label."
    return note


def _missed(result: Found) -> list[Passage]:
    """The passages that are judged relevant and earned no grade."""
    if result.relevance is None:
        return []
    known = {
        (question, passage.key): passage
        for run in result.pr_runs.values()
        for question, passages in run.passages.items()
        for passage in passages
    }
    return [known[place] for place in result.relevance.missed]


def _no_relevant(result: Found) -> str:
    n = len(result.no_relevant)
    if not n:
        return every_question_has_one(result)
    which = listing(list(result.no_relevant), most=30)
    return (
        f"{counted(n, 'question')} without a relevant passage: {which}. Every run scores 0 there."
    )


def _limited(total: int, in_full: int, out: str) -> str:
    if in_full == total:
        return ""
    return (
        f"To keep this file small, the first {in_full:,} of {total:,} questions are shown in full,"
        " the others as a line of the matrix. All scores above are over all questions; the answers"
        f" and labels of every question are in {out}marked/ and {out}labels.jsonl."
    )


# --- parts ---------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Panel:
    name: str
    anchor: str
    kind: int
    summary: str
    reliability: Markup | None
    risk: Markup | None


def _short(row: Row, runs: int) -> str:
    return str(row.place) if runs > _NAMED_RUNS else shortened(row.run, 20)


def _curves(result: Found, rows: Sequence[Row]) -> list[Curve]:
    curves = []
    for row in rows:
        found = [
            (one.confidence, float(one.correct))
            for one in result.answers.get(row.run, {}).values()
            if one.correct is not None and one.confidence is not None
        ]
        if found:
            p, c = (list(column) for column in zip(*found, strict=True))
            curves.append(Curve(row.run, _short(row, len(rows)), row.kind, p, c))
    return curves


def _reward_points(result: Found, rows: Sequence[Row]) -> list[RewardPoint]:
    points = []
    for row in rows:
        over, under = (result.scores[row.run].get(name) for name in ("R_O", "R_U"))
        if over is None or under is None or over.floor is None or under.floor is None:
            continue
        if over.value is None and under.value is None:
            continue  # it could stand anywhere
        ranges = [
            None if one.low is None or one.high is None else (one.low, one.high)
            for one in (over, under)
        ]
        points.append(
            RewardPoint(row.run, _short(row, len(rows)), row.kind, over.floor, under.floor, *ranges)
        )
    return points


def _panels(
    result: Found, settings: Mapping[str, object], rows: Sequence[Row], curves: Sequence[Curve]
) -> list[_Panel]:
    drawn = {curve.name: curve for curve in curves}
    panels = []
    for row in rows:
        answers = list(result.answers.get(row.run, {}).values())
        right = sum(answer.correct is True for answer in answers)
        wrong = sum(answer.correct is False for answer in answers)
        word = row.reading.word if row.reading else ""
        summary = f"{word}. {right} right, {wrong} wrong"
        summary += "".join(f"; {words}" for words in row.counts)
        summary += f" ({row.about})" if row.about else ""
        curve = drawn.get(row.run)
        bins, closed = _bins(settings), _closed(settings)
        pictures: tuple[Markup | None, Markup | None] = (None, None)
        if curve is not None:
            pictures = (
                reliability(curve.p, curve.c, name=row.run, bins=bins, closed=closed),
                risk_coverage_plot(_company(curve, curves), focus=row.run),
            )
        panels.append(_Panel(row.run, row.anchor, row.kind, summary + ".", *pictures))
    return panels


def _company(curve: Curve, curves: Sequence[Curve]) -> list[Curve]:
    """Return the curve with the ten best of the others, so that the file stays small."""
    return [curve, *[other for other in curves if other.name != curve.name][:10]]


def _questions(
    templates: Environment,
    result: Found,
    where: WhereUsed,
    order: Sequence[str],
    wide: str,
    max_questions: int,
    max_bytes: int,
) -> tuple[Markup, int]:
    """Return the questions, and how many of them are shown in full."""
    module: Any = templates.get_template("question.html.j2").module
    parts: list[Markup] = []
    in_full, size = 0, 0

    def drawn(question: Question, *, full: bool) -> Markup:
        view = question_view(result, where, question, order, full=full)
        return Markup((module.full if full else module.line)(view, wide))  # noqa: S704

    for place, question in enumerate(result.questions):
        if in_full == place < max_questions:
            text = drawn(question, full=True)
            size += len(text.encode())
            if size <= max_bytes:
                parts.append(text)
                in_full += 1
                continue
        parts.append(drawn(question, full=False))
    return Markup("").join(parts), in_full
