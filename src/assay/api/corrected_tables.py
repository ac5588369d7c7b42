"""Corrected scores as tables and sentences, for the terminal and the report alike."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np

from assay.api.corrected import Corrected
from assay.api.correcting import Trusted
from assay.measures.arrays import Floats
from assay.measures.scores import Score
from assay.model.errors import SettingsError
from assay.model.wording import counted
from assay.page.parts import Part, Table
from assay.page.wording import interval, narrow, number
from assay.reports.publishing import PublishedBoard


def corrected_table(title: str, one: Corrected) -> Table:
    """A measure of a leaderboard: each run's possible ranks, its corrected score, its score by the
    judge alone and the judge's error, and its score by people's labels alone."""
    best = one.best or (None,) * len(one.runs)
    worst = one.worst or (None,) * len(one.runs)
    sign = 1 if one.lower_is_better else -1
    order = sorted(range(len(one.runs)), key=lambda at: (best[at] or 0, sign * one.value[at]))
    human = [""] * len(one.runs)
    if one.human is not None and one.human_low is not None and one.human_high is not None:
        human = _with_ends(one, one.human, one.human_low, one.human_high)
    value = _with_ends(one, one.value, one.low, one.high)
    rows = [
        (
            _ranks(best[at], worst[at]), one.runs[at], value[at], narrow(number(one.judge[at])),
            narrow(f"{one.judge[at] - one.value[at]:+.3f}"), human[at],
        )
        for at in order
    ]  # fmt: skip
    heading: tuple[str, ...] = (
        "rank", "run", one.measure, "judge alone", "off by", "people only",
    )  # fmt: skip
    shown = slice(0 if one.best is not None else 1, 6 if one.human is not None else 5)
    return Table(f"{title}, corrected: {one.measure}", heading[shown], [row[shown] for row in rows])


def families_table(title: str, one: Corrected) -> Table:
    """The judge's error for each family of systems, and the difference between two families."""
    rows = [
        (
            f"{each.family}, beyond {each.beyond}" if each.beyond else each.family,
            "" if each.beyond else each.runs,
            f"{narrow(f'{each.off:+.3f}')} {interval(each.low, each.high)}",
        )
        for each in one.families
    ]
    return Table(f"{title}: the judge's error by family", ("family", "runs", one.measure), rows)


def _ranks(best: int | None, worst: int | None) -> str:
    if best is None or worst is None:
        return "–"
    return str(best) if best == worst else f"{best}–{worst}"


def _possible(one: Corrected, *ends: Floats) -> list[list[float]]:
    """Each run's values, with shares clipped to their possible range. ``trust.csv`` has them
    unclipped, as clipping biases estimates."""
    found = np.array(ends)
    if ((one.judge >= 0) & (one.judge <= 1)).all():
        found = found.clip(0, 1)
    rows: list[list[float]] = found.T.tolist()
    return rows


def _with_ends(one: Corrected, value: Floats, low: Floats, high: Floats) -> list[str]:
    """Each run's score with its interval."""
    return [
        f"{narrow(number(score))} {interval(start, end)}"
        for score, start, end in _possible(one, value, low, high)
    ]


def order_in_words(one: Corrected) -> str:
    """How far the order of the runs is settled, and how it compares with the judge's."""
    if len(one.runs) < 2:
        return ""
    if one.tau is None:
        return (
            f"{one.measure}: each run's interval stands alone; two of them do not say which run "
            "is better."
        )
    low, high = one.tau
    return (
        f"{one.measure}: the order of {one.decided} of {counted(one.pairs, 'pair')} is settled; τ "
        f"between this order and the judge's is from {narrow(f'{low:.2f}')} to "
        f"{narrow(f'{high:.2f}')}. The judge's weight is {narrow(f'{one.weight or 0:.2f}')} (0: "
        "people only)."
    )


def foremost(found: Sequence[Corrected]) -> Sequence[Corrected]:
    """The first measure of a leaderboard, and the first that gives ranks."""
    ranked = next((one for one in found if one.best is not None), None)
    return [one for one in found if one is found[0] or one is ranked]


def population_in_words(found: Trusted) -> str:
    """The population that the intervals refer to, in words; empty if there are none."""
    if not found.boards:
        return ""
    if found.population == "these":
        return "Intervals: the score if people labelled all topics here."
    return "Intervals: the score expected on topics of this kind."


def remarks_of(found: Trusted) -> Sequence[str]:
    """Remarks on measures that could not be corrected, and on intervals that are too narrow."""
    refused: dict[str, list[str]] = {}
    for board in found.boards:
        for name, why in board.refused.items():
            refused.setdefault(why, []).append(name)
    told = dict.fromkeys(w for board in found.boards for one in board.found for w in one.warnings)
    why_not = [f"{', '.join(names)}: {why}" for why, names in refused.items()]
    return [*found.remarks, *why_not, *told]


def corrected_tables(found: Trusted, *, every: bool = False) -> Iterator[tuple[Table, str]]:
    """The corrected leaderboards, each with a remark on the order: the :func:`foremost` measures,
    or ``every`` one."""
    for board in found.boards:
        for one in board.found if every else foremost(board.found):
            yield corrected_table(board.title, one), order_in_words(one)
            if one.families:
                yield families_table(board.title, one), ""


def published_corrected(found: Trusted) -> Iterator[PublishedBoard]:
    """The corrected leaderboards for a paper, with a column for each measure. Ranks are the
    possible ranks by the first measure that gives any."""
    for board in found.boards:
        if not board.found:
            continue
        first = next((one for one in board.found if one.best is not None), board.found[0])
        protocol = f"{board.title.partition(': ')[0]}: "  # of several, as the title has it
        ends = zip(first.best or (), first.worst or (), strict=True)
        ranks = dict(zip(first.runs, ends, strict=False))
        scores = [_corrected_scores(one) for one in board.found]
        runs = dict.fromkeys(
            run for by_run in (_corrected_scores(first), *scores) for run in by_run
        )
        order = sorted(runs, key=lambda run: ranks.get(run, (len(runs), 0))[0])
        notes = [
            population_in_words(found),
            f"In brackets: {found.level:.0%} intervals.",
            f"Ranks: all that are possible for a run by {first.measure.removeprefix(protocol)}."
            if ranks
            else "",
            f"Based on: {found.basis}.",
            *(warning for one in board.found for warning in one.warnings),
        ]
        yield PublishedBoard(
            f"{board.title}, corrected by people’s labels",
            [one.measure.removeprefix(protocol) for one in board.found],
            [(_ranks(*ranks.get(run, (None, None))), run, [s.get(run) for s in scores])
             for run in order],
            {},
            [note for note in dict.fromkeys(notes) if note],
        )  # fmt: skip


def _corrected_scores(one: Corrected) -> dict[str, Score]:
    """By run, the best first."""
    ends = _possible(one, one.value, one.low, one.high)
    scores = {
        run: Score(run, one.measure, value, low, high, 0, 0, value, value)
        for run, (value, low, high) in zip(one.runs, ends, strict=True)
    }
    sign = 1 if one.lower_is_better else -1
    return dict(sorted(scores.items(), key=lambda each: sign * (each[1].value or 0)))


def trust_part(found: Trusted | SettingsError) -> Part:
    """The section of corrected scores in a report, or why there are none."""
    if isinstance(found, SettingsError):
        return Part("Corrected by people’s labels", str(found), ())
    tables = []
    for board in found.boards:
        for one in board.found:
            folded = not any(one is each for each in foremost(board.found))
            shown = corrected_table(board.title, one)
            tables.append(replace(shown, note=order_in_words(one), folded=folded))
            if one.families:
                tables.append(replace(families_table(board.title, one), folded=folded))
    says = [f"Based on: {found.basis}.", found.why, population_in_words(found)]
    return Part(
        "Corrected by people’s labels", " ".join(filter(None, says)), tuple(tables),
        remarks=tuple(remarks_of(found)),
    )  # fmt: skip
