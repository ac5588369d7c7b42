"""How far EXAM++'s leaderboards and labels agree with official ones, and the effect of τ.

Source: Farzi & Dietz, EXAM++, sections 5.1 to 5.4 (figure 2, tables 3 and 4).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from assay.measures.coverage import standard_error
from assay.measures.ranges import Range
from assay.page.parts import LineChart, Part, Series, Table, Value
from assay.protocols.exam.inputs import ExamInputs
from assay.protocols.exam.pools import COVER
from assay.protocols.exam.scored import ScoredRuns
from assay.statistics.correlation import kendall_tau, spearman_rho
from assay.statistics.exam_agreement import ExamAgreement, compare

OFFICIAL = "official"


def rescaled(values: Sequence[float]) -> tuple[float, float]:
    """Offset and factor that map the lowest value to 0 and the highest to 1 (figure 2), or all
    values to 0 if they are equal."""
    low, high = min(values), max(values)
    return low, 1.0 / (high - low) if high > low else 0.0


def leaderboard_part(found: ScoredRuns) -> tuple[Part, ...]:
    """The rescaled leaderboards with standard errors, and their correlation with the official."""
    scores = found.scores
    measures = list(next(iter(scores.values()), {}))
    if not measures or len(scores) < 2:
        return ()
    official = official_scores(found.inputs)
    by: dict[str, float | None] = dict(official)
    if not official:
        by = {run: own[measures[0]].floor for run, own in scores.items()}
    order = sorted(scores, key=lambda run: (by.get(run) is None, -(by.get(run) or 0.0), run))
    first = [name for name in measures if not name.startswith("EXAM-Cover-")][:3]
    series = [_series(name, order, found) for name in first]
    if official:
        known = [official[run] for run in order if run in official]
        low, factor = rescaled(known)
        points = tuple((official[r] - low) * factor if r in official else None for r in order)
        series.append(Series(OFFICIAL, points))
    items: list[LineChart | Table] = [
        LineChart(
            "Rescaled leaderboards",
            tuple(order),
            tuple(series),
            y="rescaled score",
            note="Each leaderboard is rescaled so that its best run is 1 and its worst 0. Bars are "
            "standard errors over queries, on the same scale; if grades are missing, they reach "
            "from the worst to the best possible score. "
            + ("Runs by the official score." if official else f"Runs by {measures[0]}."),
        )
    ]
    if official:
        rows = [
            (name, *correlation({r: s[name].value for r, s in scores.items()}, official))
            for name in measures
        ]
        items.append(
            Table(
                "Agreement with the official leaderboard",
                ("measure", "Spearman ρ", "Kendall τ-b", "runs"),
                rows,
                note=f"At τ = {found.settings.least}.",
            )
        )
    return (Part("Leaderboards", items=tuple(items)),)


def official_scores(inputs: ExamInputs) -> dict[str, float]:
    """The official leaderboard's scores of the runs; empty if there is none."""
    if inputs.official is None:
        return {}
    found = inputs.official.run_scores()
    return {run: value for run in inputs.runs if (value := found.get(run)) is not None}


def _series(name: str, order: Sequence[str], found: ScoredRuns) -> Series:
    floors = {run: found.scores[run][name].floor for run in order}
    known = [floor for floor in floors.values() if floor is not None]
    if not known:
        return Series(name, (None,) * len(order))
    low, factor = rescaled(known)
    points: list[float | None] = []
    bars: list[tuple[float, float] | None] = []
    for run, floor in floors.items():
        ends = found.scores[run][name].ends
        if floor is None or ends is None:
            points.append(None)
            bars.append(None)
            continue
        points.append((floor - low) * factor)
        error = standard_error(found.values[run][name].certain)
        if ends.value is not None:
            ends = Range(floor - error, floor + error) if error is not None else None
        bars.append(ends and ((ends.floor - low) * factor, (ends.ceiling - low) * factor))
    return Series(name, tuple(points), tuple(bars))


def correlation(
    scores: Mapping[str, float | None], official: Mapping[str, float]
) -> tuple[float | None, float | None, int]:
    """Spearman's ρ, Kendall's τ-b, and the number of runs on both leaderboards. Undefined if one of
    these has no certain score."""
    pairs = [(value, official[run]) for run, value in scores.items() if run in official]
    if len(pairs) < 2 or any(value is None for value, _ in pairs):
        return None, None, len(pairs)
    x, y = np.array(pairs, dtype=float).T
    return spearman_rho(x, y), kendall_tau(x, y), len(pairs)


def sweep_part(found: ScoredRuns) -> tuple[Part, ...]:
    """The effect of τ: cover, and the agreement with the official leaderboard."""
    swept = found.swept
    if not swept:
        return ()
    taus = range(1, found.settings.top + 1)
    cover = LineChart(
        "EXAM-Cover by τ",
        tuple(str(tau) for tau in taus),
        tuple(_cover_series(run, [by[tau][COVER] for tau in taus]) for run, by in swept.items()),
        x="τ, the lowest grade that counts as answered",
        y="EXAM-Cover",
        note="If grades are missing, bars reach from the worst to the best possible score.",
    )
    items: list[LineChart | Table] = [cover]
    official = official_scores(found.inputs)
    if len(official) > 1:
        names = list(next(iter(next(iter(swept.values())).values())))
        rows: list[tuple[Value, ...]] = []
        for name in names:
            found_at = [
                correlation({run: by[tau][name].value for run, by in swept.items()}, official)
                for tau in taus
            ]
            rows.append((name, "Spearman ρ", *(one[0] for one in found_at)))
            rows.append((name, "Kendall τ-b", *(one[1] for one in found_at)))
        columns = ("measure", "correlation", *(f"τ = {tau}" for tau in taus))
        items.append(Table("Agreement with the official leaderboard by τ", columns, rows))
    note = "Which τ suits depends on how hard the questions are (paper, section 5.4)."
    return (Part("Minimum grade", note, tuple(items)),)


def _cover_series(run: str, means: Sequence[Range]) -> Series:
    bars = tuple((one.floor, one.ceiling) if one.value is None else None for one in means)
    return Series(run, tuple(one.floor for one in means), bars)


def agreement(found: ScoredRuns) -> ExamAgreement | None:
    """EXAM-Labels against manual judgments; None if no passage has both. Labels that a missing
    grade may raise are left out."""
    settings, qrels = found.settings, found.inputs.qrels
    if qrels is None:
        return None
    pairs = [
        (int(label.floor), qrels.grades[query][passage])
        for query, labels in found.scorer.label_ranges()
        for passage, label in labels.items()
        if passage in qrels.grades.get(query, {}) and label.value is not None
    ]
    return compare(pairs, settings.top, *settings.bins) if pairs else None


def agreement_part(found: ExamAgreement | None) -> tuple[Part, ...]:
    """Counts, and κ at each binarisation and at the binning, as a section of the report."""
    if found is None:
        return ()
    counts: list[tuple[Value, ...]] = [
        (f"{grade}", *row, sum(row)) for grade, row in found.counts.items()
    ]
    kappas: list[tuple[Value, ...]] = [
        (f"label ≥ {tau}", f"judgment ≥ {level}", kappa) for tau, level, kappa in found.binarised
    ]
    binned = found.binned
    shown = "undefined" if binned.kappa is None else f"{binned.kappa:.3f}"
    note = f"Cohen’s κ with the bins paired in order: {shown}."
    if len(binned.labels) != len(binned.judgments):
        note = "No κ: labels and judgments have different numbers of bins."
    if binned.outside:
        note += f" {binned.outside:,} passages are in no bin."
    items = (
        Table(
            "EXAM-Labels and judgments",
            ("label", *(f"judged {level}" for level in found.levels), "passages"),
            counts,
            note=f"{found.passages:,} passages have both.",
        ),
        Table("Cohen’s κ at each binarisation", ("labels", "judgments", "κ"), kappas),
        Table(
            "Binned (label_bins, judgment_bins)",
            ("label", *(f"judged {one}" for one in binned.judgments)),
            [(str(one), *row) for one, row in zip(binned.labels, binned.counts, strict=True)],
            note,
        ),
    )
    return (Part("Agreement with judgments", items=items),)
