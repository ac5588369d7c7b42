"""``assay sgss``: weights learned from preferences, and degraded versions of summaries."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Annotated

import typer

from assay.api.sgss import LearnedWeights, Strategy, degrade, learn_weights
from assay.cli.common import JsonOption, Paragraph, present, say, tell
from assay.cli.judging import LabellerOption, PolicyOption
from assay.model.wording import counted
from assay.page.tables import Table
from assay.protocols.sgss.inputs import CRITERIA

app = typer.Typer(
    help="SGSS: weights from preferences, degraded versions.",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,
)


@app.command("weights")
def weights_command(
    folder: Annotated[Path, typer.Argument(metavar="FOLDER", help="With [inputs] preferences.")],
    into: Annotated[
        Path | None, typer.Option("--out", help="Where to (default: FOLDER/weights.json).")
    ] = None,
    select: Annotated[
        bool, typer.Option("--select/--all", help="Drop criteria that do not help, or keep all.")
    ] = True,
    policy: PolicyOption = None,
    labeller: LabellerOption = None,
    as_json: JsonOption = False,
) -> None:
    """Learn the weights from the training part of the preferences, and save them.

    Logistic regression without an intercept on the differences of the measures; criteria are
    dropped by cross-validated MAR. Put 'weights = "weights.json"' into [settings] to use them.
    """
    made = learn_weights(folder, into, select=select, policy=policy, labeller=labeller)
    present(lambda: made.document, _people(made), as_json=as_json)


def _people(made: LearnedWeights) -> Iterator[Table | str]:
    learned, target = made.learned, made.path
    yield Table("Weights", CRITERIA, [[getattr(learned.weights, name) for name in CRITERIA]])
    yield Table(
        "Models, each without one criterion more",
        ("criteria", "MAR"),
        [
            (" ".join(one.criteria) + (" ←" if one.criteria == learned.criteria else ""), one.mar)
            for one in learned.steps
        ],
    )
    yield Paragraph(
        f"Learned from {learned.labels} preferences between {learned.pairs} pairs; MAR in "
        f"cross-validation by query, on the training pairs themselves {learned.mar_train:.3f}."
    )
    if learned.left_out:
        tell(f"{counted(learned.left_out, 'pair')} without all labels: left out of the learning.")
    yield f'{target}: use it with weights = "{target.name}" in [settings].'


@app.command("degrade")
def degrade_command(
    file: Annotated[Path, typer.Argument(metavar="SUMMARIES.jsonl")],
    strategy: Annotated[Strategy, typer.Option("--strategy", help="What is taken away.")],
    into: Annotated[Path, typer.Option("--out", help="The new file.")],
) -> None:
    """Write degraded versions of summaries. ('degrade' in [settings] makes them by itself.)"""
    count = degrade(file, strategy, into)
    say(f"{counted(count, 'summary', 'summaries')} written to {into}")
