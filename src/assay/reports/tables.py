"""The leaderboards for the terminal, as Rich tables of at most 100 columns."""

from __future__ import annotations

from collections.abc import Iterable

from rich import box
from rich.table import Table
from rich.text import Text

from assay.protocols.r2c2.results import R2C2Result
from assay.protocols.scores import Score
from assay.reports.leaderboards import ac_board, pr_measures, ranked
from assay.reports.text import NOTHING, interval, listing, number, one_line, shortened
from assay.reports.wording import gaps, nothing_missing, policy_in_words

_NAME = 22
_AC_INTERVALS = ("HMR", "Accuracy")
_AC_PLAIN = ("R_O", "R_U", "NuggetPrecision", "ECE")
_SHORT = {"NuggetPrecision": "NugP"}


def leaderboard_tables(result: R2C2Result) -> list[Table]:
    """Return the leaderboard of the answering runs and, where there are any, of the passage runs.

    Texts of files are put in as plain text, never as Rich markup. The policy stands in the title,
    what is missing in the caption.
    """
    tables = [_ac_table(result)]
    if result.pr_scores:
        tables.append(_pr_table(result))
    return tables


def _table(title: str, caption: str) -> Table:
    return Table(
        title=Text(title, style="bold"),
        caption=Text(caption),
        title_justify="left",
        caption_justify="left",
        box=box.SIMPLE_HEAD,
        padding=(0, 1, 0, 0),
        pad_edge=False,
    )


def _scored(score: Score | None, *, best: bool, ends: bool = False) -> Text:
    """Return a score, with its interval where asked; the best of a column is bold."""
    if score is None or score.value is None:
        return Text(NOTHING, style="dim")
    text = Text(number(score.value), style="bold" if best else "")
    if ends and (bounds := interval(score.low, score.high)):
        text.append(f" {bounds}", style="not bold dim")
    return text


def _best(scores: Iterable[Score | None], *, lowest: bool) -> float | None:
    values = [score.value for score in scores if score is not None and score.value is not None]
    if not values:
        return None
    return min(values) if lowest else max(values)


def _ac_table(result: R2C2Result) -> Table:
    lines = [f"• {gap.count} {gap.what}." for gap in gaps(result)] or [
        f"Nothing is missing. {nothing_missing(result)}"
    ]
    declined = [
        f"{run}: {sum(notes.refusals.values())}"
        for run, notes in result.notes.items()
        if sum(notes.refusals.values())
    ]
    if declined:
        lines.append(f"• Questions declined ({listing(declined)}).")
    caption = "\n".join(one_line(line) for line in lines)
    policy = one_line(policy_in_words(result.policy))
    table = _table(f"Answering runs, by HMR (policy: {policy})", caption)
    order = [row.run for row in ac_board(result).rows]
    table.add_column("run", overflow="fold", max_width=_NAME)
    for name in _AC_INTERVALS:
        table.add_column(name, no_wrap=True)
    for name in _AC_PLAIN:
        table.add_column(_SHORT.get(name, name), justify="right", no_wrap=True)
    columns = (*_AC_INTERVALS, *_AC_PLAIN)
    best = {
        name: _best(
            (result.scores[run].get(name) for run in order), lowest=name in ("ECE", "Brier")
        )
        for name in columns
    }
    for run in order:
        cells = [Text(shortened(run, 2 * _NAME))]
        for name in columns:
            score = result.scores[run].get(name)
            top = score is not None and score.value is not None and score.value == best[name]
            cells.append(_scored(score, best=top, ends=name in _AC_INTERVALS))
        table.add_row(*cells)
    return table


def _pr_table(result: R2C2Result) -> Table:
    measures = pr_measures(result)
    n = len(result.no_relevant)
    caption = (
        f"{n} of {len(result.questions)} questions have no relevant passage; every run scores 0"
        " there."
        if n
        else "Every question has a relevant passage."
    )
    first = measures[0] if measures else ""
    table = _table(f"Passage runs, by {first} (grades derived from the nuggets)", caption)
    table.add_column("run", overflow="fold", max_width=_NAME)
    for name in measures:
        table.add_column(Text(name), no_wrap=True)
    order = ranked(result.pr_scores, first)
    best = {
        name: _best((result.pr_scores[run].get(name) for run in order), lowest=False)
        for name in measures
    }
    for run in order:
        cells = [Text(shortened(run, 2 * _NAME))]
        for name in measures:
            score = result.pr_scores[run].get(name)
            top = score is not None and score.value is not None and score.value == best[name]
            cells.append(_scored(score, best=top, ends=len(measures) <= 4))
        table.add_row(*cells)
    return table
