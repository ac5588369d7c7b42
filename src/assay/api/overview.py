"""Overview page above the reports of a folder's several protocols."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from assay.api.results import Results, board_scores
from assay.page.page import Gap, Page
from assay.page.parts import Part, Table, Value
from assay.protocols.definitions import glossary
from assay.protocols.folder import Folder
from assay.protocols.manifest import REPORT
from assay.protocols.pages import all_usable, policy_in_words
from assay.protocols.results import Result

AGREEMENT_HEADING = ("leaderboard", "and", "τ-b", "ρ", "runs", "low", "high")


def uncompared(count: int, of: int) -> str:
    """Explain why pairs of leaderboards are not compared."""
    which = "No two leaderboards have" if count == of else f"{count} of {of} pairs do not have"
    return f"{which} two runs in common: runs are the same if their names are the same."


def overview(folder: Folder, results: Results, reports: Mapping[str, str] | None = None) -> Page:
    """The first measure of every leaderboard, run by run, and how the leaderboards agree. Links go
    to the protocols' reports below the page, or where ``reports`` says."""
    found = results.by_protocol
    boards = {
        f"{name}: {measure}": scores
        for name, one in found.items()
        for measure, scores in board_scores(one).items()
    }
    runs = sorted({run for board in boards.values() for run in board})
    scores: list[tuple[Value, ...]] = [
        (run, *(board.get(run) for board in boards.values())) for run in runs
    ]
    agreement: list[tuple[Value, ...]] = [one.row for one in results.agreements if one.runs > 1]
    alone = len(results.agreements) - len(agreement)
    where: list[tuple[Value, ...]] = [
        (
            name,
            reports[name] if reports else f"{folder.for_protocol(name).part}/{REPORT}",
            one.unlabelled.count,
        )
        for name, one in found.items()
    ]
    parts = (
        Part(
            "Leaderboards",
            "The first measure of every leaderboard. Each protocol has a report of its own.",
            (
                Table("Scores", ("run", *boards), scores),
                Table(
                    "Reports",
                    ("protocol", "report", "labels missing"),
                    where,
                    links=frozenset({"report"}),
                ),
            ),
        ),
        Part(
            "How the leaderboards agree",
            "Kendall’s τ-b and Spearman’s ρ over the runs on both leaderboards. Low and high: 95 "
            "% bootstrap of τ-b over the topics for which both have scores; ratings are refitted "
            "to each resample of topics."
            + (f" {uncompared(alone, len(results.agreements))}" if alone else ""),
            (Table("", AGREEMENT_HEADING, agreement),),
        ),
    )
    return Page(
        title=folder.title,
        protocol=" · ".join(found),
        policy=results.policy,
        policy_says=policy_in_words(results.policy),
        parts=parts,
        definitions=glossary("leaderboards"),
        gaps=tuple(gap for name, one in found.items() for gap in _gaps(name, one)),
        nothing=all_usable(
            len({number for one in found.values() for number, _ in one.used.rows()})
        ),  # labels shared by several protocols count once
        lede=results.stands_on_in_words,
        warnings=results.warnings,
        out=f"{folder.out_in_words}PROTOCOL/",
    )


def _gaps(name: str, one: Result) -> Iterator[Gap]:
    """What a protocol lacks, labelled with its name."""
    if one.findings.unlabelled is None:
        for gap in one.gaps:
            yield Gap(gap.count, f"{gap.what} ({name})", gap.so, gap.grave)
    elif one.unlabelled.count:
        what = f"{one.unlabelled.what} have no usable label ({name})"
        so = "“assay judge” asks for missing labels, and for failed ones with --retry-failed."
        yield Gap(one.unlabelled.count, what, so)
