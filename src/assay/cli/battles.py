"""``assay battles``: ratings of runs from judged battles."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any, Literal

import numpy as np
import typer

from assay.api.battles import (
    COLUMNS,
    DIMENSIONS,
    NEXT_COLUMNS,
    BattleOptions,
    BattleScores,
    Crowd,
    battle_scores,
)
from assay.cli.common import (
    Paragraph,
    PerTopicOption,
    forms,
    one_of,
    present,
    remark,
    seed_option,
    takes,
)
from assay.model.options import Argument, Option
from assay.model.wording import counted
from assay.page.tables import Table, Value
from assay.page.wording import NOTHING
from assay.statistics.pair_models import MODELS


@forms("json", "csv")
@takes(
    BattleOptions,
    **dict.fromkeys(
        ("responses", "dimension", "votes", "most_spam", "inference", "following"), "win_rate"
    ),
)
def battles_command(
    files: Annotated[
        list[Path],
        Argument(
            "JUDGMENTS...",
            "Judged battles: JSON Lines or CSV from RAGDoll, arena-rank or CrowdRAG-25, or CSV "
            "topic,run_a,run_b,verdict.",
        ),
    ],
    *,
    responses: Annotated[
        list[Path] | None,
        Option(
            "CrowdRAG-25: which run gave each response (response, and run or style); repeatable.",
            metavar="F",
        ),
    ] = None,
    dimension: Annotated[str, Option("CrowdRAG-25: the dimension to rate.")] = Crowd.dimension,
    votes: Annotated[
        bool, Option("CrowdRAG-25: count each vote as a battle, instead of the gold label.")
    ] = False,
    most_spam: Annotated[
        float,
        Option(
            "CrowdRAG-25: leave out votes of people more likely than this to be spammers.",
            least=0,
            most=1,
        ),
    ] = 1.0,
    inference: Annotated[
        Literal["combined", "individual"],
        Option(
            "CrowdRAG-25: whether the model was asked for dimensions 'combined' or 'individual'."
        ),
    ] = "combined",
    following: Annotated[
        int | None,
        Option(
            "Print the N most informative battles to judge next, instead of the ratings.",
            flag="--next",
            metavar="N",
            least=1,
        ),
    ] = None,
    seed: Annotated[int, seed_option("Seed of the bootstrap over topics.")] = 0,
    per_topic: PerTopicOption = False,
    **options: Any,
) -> None:
    """Rate runs from judged battles: Bradley-Terry, Davidson or Rao-Kupper.

    A difference of 400 points means odds of 10 to 1; ratings are centred on 1000. Intervals (95 %)
    resample topics with all their battles. If wins and ties do not connect every run with every
    other, there are no finite ratings and the exit status is 1.
    """
    settings = BattleOptions(seed=seed, **options)
    one_of(settings.model, MODELS, "--model")
    one_of(dimension, DIMENSIONS, "--dimension")
    found = battle_scores(
        files,
        settings if following is None else settings._replace(resamples=1),
        remark,
        crowd=Crowd(dimension, votes, most_spam, inference),
        responses=responses or (),
    )
    if following is not None:
        wanted = found.next(following)
        present(
            lambda: [dict(zip(NEXT_COLUMNS, one, strict=True)) for one in wanted],
            [Table("Battles to judge next", NEXT_COLUMNS, wanted)],
            (NEXT_COLUMNS, wanted),
        )
        return
    present(
        lambda: found.document(per_topic=per_topic),
        _people(found),
        (COLUMNS, found.rows(per_topic=per_topic)),
        found.findings(),
    )
    if found.rated.reason is not None:
        raise typer.Exit(1)


def _people(found: BattleScores) -> Iterator[Table | str]:
    rows: list[tuple[Value, ...]] = []
    fought = found.table.fought
    for number, place in enumerate(found.order(), 1):
        rating, share = found.rated.rating[place], found.rated.rate[place]
        interval, ranks = found.rated.intervals[place], found.rank_range(place)
        rated = not np.isnan(rating)
        rows.append(
            (
                str(number) if rated else NOTHING,
                found.runs[place],
                f"{rating:.1f}" if rated else None,
                _span((interval.low, interval.high) if interval else None),
                _span(found.errors(place)),
                None if np.isnan(share) else float(share),
                int(fought[place]),
                "–".join(map(str, dict.fromkeys(ranks))) if ranks else None,
            )
        )
    columns = ("#", "run", "Rating", "topics", "sandwich", "WinRate", "Battles", "ranks")
    numbers = frozenset({"#", "Rating", "topics", "sandwich", "ranks"})
    yield Table("Battles", columns, rows, numbers=numbers)
    tie = "" if found.rated.tie is None else f", tie parameter {found.rated.tie:.4f}"
    prior = f", prior {found.settings.prior:g}" if found.settings.prior else ""
    yield Paragraph(
        f"{found.settings.model}{tie}{prior}; "
        f"{counted(int(found.table.counts.sum()), 'battle')} of "
        f"{counted(len(found.runs), 'run')}"
        + ("" if found.by_battle else f" in {counted(len(found.topics), 'topic')}")
        + f", {counted(found.both_bad, 'tie')} of two bad answers."
    )
    yield Paragraph(
        f"topics: 95 % bootstrap over topics, seed {found.settings.seed}. sandwich: 95 % as if "
        "battles were independent. ranks: the ranks that are possible for a run, jointly for all "
        "runs with 95 %."
    )
    for line in found.findings():
        yield Paragraph(line)


def _span(ends: tuple[float, float] | None) -> str | None:
    return None if ends is None else f"{ends[0]:.0f}–{ends[1]:.0f}"
