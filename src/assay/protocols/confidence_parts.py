"""Report sections for runs whose answers state a confidence: which way they err, how reliable they
are, and their scores if they declined more often."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass

import numpy as np

from assay.measures.abstention import Answers
from assay.measures.confidence import LOWER_IS_BETTER
from assay.measures.scores import Score
from assay.model.wording import and_list, counted
from assay.page.confidence import reliability, risk_curve
from assay.page.parts import (
    Beside,
    Contour,
    Curve,
    Curves,
    Figure,
    Item,
    Panels,
    Part,
    Point,
    Scatter,
    Sentences,
    Table,
    Value,
)
from assay.page.wording import number, percent, score_interval
from assay.protocols.confidence_scores import Abstention, Binned

GOOD = 0.8
"""A balanced run with an HMR of at least this is called modest."""

_RULE = (
    "Overconfident: the interval of R_O lies below that of R_U. Underconfident: the interval of R_U"
    f" lies below that of R_O. Otherwise a run is modest if HMR is at least {GOOD:.1f}, else"
    " middling. The mean confidence of the wrong answers is 1 − R_O, that of the right ones R_U."
)
_MOST_BARS = 8
"""Most runs for which the map shows intervals."""

_COMPANY = 10
"""Most curves of other runs shown behind a run's own, so that pages stay small."""

_MOST_CURVES, _ENDS, _BEGIN = 8, 3, 0.05
"""Of more curves than this the best and the worst are named, and the noise on the left left out."""

_MOST_RUNS = {"HMR": 20, "ECE": 20, "AUROC": 8}
_MOST_TOPICS = 1_000
"""Limits for the comparison of runs on a page, so that it takes a few seconds."""
_ALPHA = 0.05


@dataclass(frozen=True)
class ConfidentRun:
    """A run with its answers, scores (:mod:`assay.protocols.confidence_scores`) and abstention.
    ``summary`` says what else must be known about it."""

    run: str
    answers: Answers
    scores: Mapping[str, Score]
    abstention: Abstention
    summary: str = ""

    @property
    def right(self) -> int:
        """The number of right answers."""
        return int((self.answers.present & (self.answers.correct == 1)).sum())

    @property
    def wrong(self) -> int:
        """The number of wrong answers, including questions left out."""
        return int((~self.answers.present | (self.answers.correct == 0)).sum())

    @property
    def known(self) -> tuple[np.ndarray, np.ndarray]:
        """Confidence and correctness of the answers that have both."""
        known = self.answers.present & ~np.isnan(self.answers.correct)
        return self.answers.p[known], self.answers.correct[known]


def confidence_parts(runs: Sequence[ConfidentRun], settings: Binned, *, topics: str) -> list[Part]:
    """The sections for runs, best first. ``topics`` names what their answers are to."""
    if not runs:
        return []
    curves = {one.run: risk_curve(one.run, *one.known) for one in runs if len(one.known[0])}
    words = {one.run: reading(one) for one in runs}
    sentences = tuple((run, *said) for run, said in words.items())
    found = [
        Part(
            "In a sentence",
            _groups(runs, topics),
            (Sentences(sentences, _RULE),),
        )
    ]
    title, note = "Over- and underconfidence", ""
    figures: list[Figure] = []
    if points := _points(runs):
        figures.append(_reward_map(points))
    if curves:
        figures.append(_risks(tuple(curves.values())))
    else:
        note = "No run has an answer with a usable label yet, so there is nothing to draw."
    found.append(Part(title, note, (Beside(tuple(figures)),) if figures else ()))
    panels: list[tuple[str, str, tuple[Figure, ...]]] = []
    for one in runs:
        summary = f"{words[one.run][0]}. {one.right} right, {one.wrong} wrong"
        summary += f"; {one.summary}." if one.summary else "."
        if one.run not in curves:
            panels.append((one.run, f"{summary} No answer has a usable label.", ()))
            continue
        company = [curves[one.run], *(c for run, c in curves.items() if run != one.run)]
        own = Curves("Risk and coverage", _COVERAGE, _RISK, tuple(company[: _COMPANY + 1]),
                     focus=one.run)  # fmt: skip
        bins = reliability(one.run, *one.known, bins=settings.bins, closed=settings.bins_closed)
        panels.append((one.run, summary, (bins, own)))
    note = (
        f"Left: accuracy against confidence in {settings.bins} bins. Each dot is a bin, n the "
        "number of its answers. The bar to the diagonal is its calibration error: orange if "
        "confidence is above accuracy, blue if below. Below the plot are the answers by "
        "confidence, right ones upwards, wrong ones downwards. Right: this run’s risk–coverage "
        "curve in front of those of other runs."
    )
    found.append(Part("Each run", note, (Panels(tuple(panels)),)))
    found.append(_declining(runs))
    return found


# -- in words -------------------------------------------------------------------------------------


def reading(one: ConfidentRun) -> tuple[str, str]:
    """Say in a word and a sentence how well a run's confidence fits, by the rule on the page."""
    over, under, hmr = (one.scores.get(name) for name in ("R_O", "R_U", "HMR"))
    ends = [score.ends if score else None for score in (over, under, hmr)]
    if over is None or under is None or None in ends or not (one.right or one.wrong):
        return "No score", "no answer has a usable label yet."
    at_wrong = _shares(*(None if end is None else 1 - end for end in (over.ceiling, over.floor)))
    at_right = _shares(under.floor, under.ceiling)
    bounds = [score_interval(one) for one in (over, under)]
    sentence = f"wrong answers at {at_wrong} confidence on average, right ones at {at_right}"
    sentence += f" (R_O {bounds[0]}, R_U {bounds[1]})." if all(bounds) else "."
    known = one.right + one.wrong == len(one.answers.present)
    if known and not one.wrong:
        word = "Never wrong"
        sentence = f"R_O is 1 by definition; right answers at {at_right} confidence on average."
    elif known and not one.right:
        word = "Never right"
        if under.floor == under.ceiling:  # else a question left out may count as right
            sentence = f"R_U is 1 by definition; wrong answers at {at_wrong} confidence on average."
    elif _below(over, under):
        word = "Overconfident"
    elif _below(under, over):
        word = "Underconfident"
    else:
        word = "Modest" if hmr and hmr.floor is not None and hmr.floor >= GOOD else "Middling"
    if left_out := int((~one.answers.present).sum()):
        sentence += f" {counted(left_out, 'question')} left out: wrong, with an unknown confidence."
    return word, sentence


def _below(one: Score, other: Score) -> bool:
    """Whether the whole interval of a score lies below that of another."""
    return one.high is not None and other.low is not None and one.high < other.low


def _shares(low: float | None, high: float | None) -> str:
    """A share, or its range if it depends on missing labels."""
    return "–".join(dict.fromkeys((percent(low), percent(high))))


def _groups(runs: Sequence[ConfidentRun], topics: str) -> str:
    """The runs that do not differ from the best by HMR, ECE and AUROC, in words. Empty if there are
    fewer than two runs to compare, or too many. Randomisation tests of all pairs of runs whose
    answers all have a label, with Holm's correction, as in ``assay compare out/per_topic.csv``. A
    question left out counts as the worst possible answer."""
    from assay.statistics.comparison import compare_confidences  # noqa: PLC0415 (scipy)

    compared = [one for one in runs if one.right + one.wrong == len(one.answers.present)]
    count = len(runs[0].answers.present)
    if len(compared) < 2 or not 2 <= count <= _MOST_TOPICS:
        return ""
    p = np.array([np.where(one.answers.present, one.answers.p, 1.0) for one in compared]).T
    c = np.array([np.where(one.answers.present, one.answers.correct, 0.0) for one in compared]).T
    found = []
    for measure in (name for name, most in _MOST_RUNS.items() if len(compared) <= most):
        with suppress(ValueError):  # AUROC may be undefined
            tested = compare_confidences(
                p.tolist(), c.tolist(), [one.run for one in compared],
                measure=measure, alpha=_ALPHA, resamples=1, seed=0,
            )  # fmt: skip
            low = " (lower is better)" if measure in LOWER_IS_BETTER else ""
            found.append(f"by {measure}{low}: {and_list(list(tested.top))}")
    if not found:
        return ""
    over = counted(count, topics)
    if left := len(runs) - len(compared):
        over += f", of runs that lack no label ({left} left out)"
    return (
        f"Not significantly different from the best run {'; '.join(found)}. (Paired randomisation "
        f"tests over {over}, Holm’s correction for all pairs, 5 %; assay compare per_topic.csv -m "
        "HMR shows every pair.)"
    )


# -- figures --------------------------------------------------------------------------------------

_COVERAGE, _RISK = "coverage: share answered", "risk: share of these wrong"


def _risks(curves: Sequence[Curve]) -> Curves:
    """The curves of all runs; if there are many, the best and the worst stand out."""
    note = (
        "The share that would be wrong if a run answered only from a certain confidence up and "
        "said “I don’t know” below it. Lower is better. If the curve climbs to the right, the run "
        "knows when it is right."
    )
    if len(curves) <= _MOST_CURVES:
        return Curves("Risk and coverage", _COVERAGE, _RISK, tuple(curves), note)
    by_area = sorted(curves, key=_area)
    note += (
        f" The {_ENDS} runs with the least area under the curve and the {_ENDS} with the most are "
        "named. The others are grey: point at one, or find its run above. The curves begin at "
        f"{100 * _BEGIN:.0f} % answered, as few answers say little."
    )
    named = tuple(one.name for one in (*by_area[:_ENDS], *by_area[-_ENDS:]))
    return Curves("Risk and coverage", _COVERAGE, _RISK, tuple(curves), note, named=named,
                  begin=_BEGIN)  # fmt: skip


def _area(curve: Curve) -> float:
    """The area under a curve: the mean risk over all coverages."""
    begins = (0.0, *(x for x, _ in curve.points))
    return sum((x - before) * y for before, (x, y) in zip(begins, curve.points, strict=False))


def _points(runs: Sequence[ConfidentRun]) -> list[Point]:
    points = []
    bars = len(runs) <= _MOST_BARS
    for one in runs:
        over, under = (one.scores.get(name) for name in ("R_O", "R_U"))
        if over is None or under is None or over.ends is None or under.ends is None:
            continue
        if over.value is None and under.value is None:
            continue  # it could be anywhere
        ranges = (over.interval, under.interval) if bars else ()
        points.append(Point(one.run, over.ends.floor, under.ends.floor, *ranges))
    return points


def _reward_map(points: Sequence[Point]) -> Scatter:
    """R_O against R_U over contours of equal HMR."""
    contours = []
    for tenth in range(1, 10):
        h = tenth / 10
        # h = 2·R_O·R_U / (R_O + R_U), solved for R_U, which is 1 at the first point.
        over = np.linspace(h / (2 - h), 1.0, 60)
        line = tuple(zip(over.tolist(), (h * over / (2 * over - h)).tolist(), strict=True))
        contours.append(Contour(line, "" if tenth % 2 else f"HMR .{tenth}", (h, h)))
    note = (
        "Up and to the right is better. Curves join points of equal HMR; on the dashed line both "
        "rewards are equal. If labels or answers are missing, a run is drawn at its floors."
    )
    if any(point.x_range or point.y_range for point in points):
        note += " Thin bars are the intervals of R_O and R_U."
    return Scatter(
        "Which way a run errs",
        "R_O: overconfidence suppressed →",
        "R_U: underconfidence suppressed →",
        tuple(points),
        note,
        diagonal=True,
        contours=tuple(contours),
        corners=("↖ overconfident", "underconfident ↘"),
    )


# -- declining ------------------------------------------------------------------------------------

_SWEEP = (
    "t", "coverage", "withheld", "accuracy", "HMR", "accuracy, attempted", "HMR, attempted",
    "withheld that are wrong", "wrong that are withheld",
)  # fmt: skip


def _declining(runs: Sequence[ConfidentRun]) -> Part:
    rows: list[tuple[Value, ...]] = []
    sweeps: list[Item] = []
    for one in runs:
        own = one.abstention
        refused: Value = own.refused
        if own.unknown:
            refused = f"{own.refused} to {own.refused + own.unknown}"
        rows.append((one.run, refused, own.rightly, own.to_refuse, own.precision, own.recall))
        points = [
            (
                number(point.threshold, 1), point.coverage, point.withheld, point.accuracy,
                point.hmr, point.attempted_accuracy, point.attempted_hmr, point.precision,
                point.recall,
            )
            for point in own.sweep
        ]  # fmt: skip
        if points:
            title = f"{one.run}: declining below a confidence"
            sweeps.append(Table(title, _SWEEP, points, folded=True))
    columns = (
        "run", "declined", "rightly", "to be refused", "abstention precision", "abstention recall",
    )  # fmt: skip
    note = (
        "A refusal is wrong unless its question is to be refused, because of its category or "
        "because its gold answers decline. Precision: rightly declined over declined. Recall: "
        "rightly declined over those to be refused. – means undefined: nothing was declined, or "
        "nothing was to be. The tables below show, for each run, the scores it would have had if "
        "it had declined every answer with a confidence below t. Attempted scores cover what is "
        "answered or rightly declined. The last two columns are the share of the withheld answers "
        "that is wrong, and the share of the wrong answers that is withheld."
    )
    return Part("Declining", note, (Table("", columns, rows), *sweeps))
