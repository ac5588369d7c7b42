"""The leaderboards for the terminal, as Rich tables of at most 100 columns."""

from __future__ import annotations

from rich.table import Table
from rich.text import Text

from assay.measures.confidence import LOWER_IS_BETTER
from assay.protocols.r2c2.results import Found
from assay.protocols.results import Result
from assay.protocols.scores import ranks
from assay.reports.leaderboards import ac_board, pr_measures, rank_texts
from assay.reports.terminal import leaderboard, score_row
from assay.reports.text import listing, one_line
from assay.reports.wording import (
    every_question_has_one,
    nothing_missing,
    policy_in_words,
)

_AC_INTERVALS = ("HMR", "Accuracy")
_AC_PLAIN = ("R_O", "R_U", "NuggetPrecision", "ECE")
_FEW = 4
"""Up to so many measures of passage runs have intervals."""

_SHORT = {"NuggetPrecision": "NugP"}


def leaderboard_tables(result: Result) -> list[Table]:
    """Return the leaderboard of the answering runs and, where there are any, of the passage runs.

    Texts of files are put in as plain text, never as Rich markup. The policy stands in the title,
    what is missing in the caption.
    """
    found: Found = result.findings.detail
    tables = [_ac_table(found, result)]
    if found.pr_scores:
        tables.append(_pr_table(found))
    return tables


def _ac_table(result: Found, whole: Result) -> Table:
    lines = [f"• {gap.count:,} {gap.what}." for gap in whole.gaps] or [
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
    policy = one_line(policy_in_words(whole.policy))
    table = leaderboard(f"Answering runs, by HMR (policy: {policy})", caption)
    for name in _AC_INTERVALS:
        table.add_column(name, no_wrap=True)
    for name in _AC_PLAIN:
        table.add_column(_SHORT.get(name, name), justify="right", no_wrap=True)
    columns = (*_AC_INTERVALS, *_AC_PLAIN)
    # Ranges are wider than values: with them, 80 columns have room for one interval.
    found = [scores["HMR"] for scores in result.scores.values() if "HMR" in scores]
    known = all(score.value is not None for score in found)
    ends = frozenset(_AC_INTERVALS if known else _AC_INTERVALS[:1])
    for row in ac_board(result).rows:
        table.add_row(
            *score_row(row.run, row.rank, result.scores, columns, LOWER_IS_BETTER, ends=ends)
        )
    return table


def _pr_table(result: Found) -> Table:
    measures = pr_measures(result)
    n = len(result.no_relevant)
    caption = (
        f"{n} of {len(result.questions)} questions have no relevant passage; every run scores 0"
        " there."
        if n
        else every_question_has_one(result)
    )
    first = measures[0] if measures else ""
    table = leaderboard(f"Passage runs, by {first} (grades derived from the nuggets)", caption)
    for name in measures:
        table.add_column(Text(name), no_wrap=True)
    known = all(one.value is not None for by in result.pr_scores.values() for one in by.values())
    ends = frozenset(() if len(measures) > _FEW else measures if known else measures[:1])
    for run, rank in rank_texts(ranks(result.pr_scores, first)).items():
        table.add_row(*score_row(run, rank, result.pr_scores, measures, frozenset(), ends=ends))
    return table
