"""``assay sgss``: weights learned from preferences, and degraded versions of summaries."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import orjson
import typer

from assay.cli.common import JsonOption, err, out, plain_table, print_json, safe
from assay.cli.judging import LabellerOption, PolicyOption
from assay.formats.summaries import read_summaries, write_summaries
from assay.model.wording import counted
from assay.protocols.evaluation import Evaluation
from assay.protocols.folder import Folder
from assay.protocols.labels import LabelBook
from assay.protocols.output import write_bytes
from assay.protocols.sgss.inputs import CRITERIA, DEGRADED, SgssSettings
from assay.protocols.sgss.labels import judge_all, tasks
from assay.protocols.sgss.preferences import Learned, learn
from assay.protocols.sgss.protocol import SGSS

app = typer.Typer(
    help="SGSS: weights from preferences, degraded versions.",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,
)


class Strategy(StrEnum):
    """How a version is made."""

    NO_HEADINGS = "NoHeadings"
    NO_SECTION_1 = "NoSection1"


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
    seen = Folder.open(folder, labeller=labeller).seen_by("sgss")
    opened = Evaluation.open(seen, SGSS, policy)
    settings = opened.settings
    if not isinstance(settings, SgssSettings):  # pragma: no cover (opened with SGSS)
        raise TypeError("not an SGSS folder")
    with opened.folder.open_ledger(create=False) as ledger:
        ledger.checked()  # before a number rests on a label
        labellers, _ = opened.folder.labellers_for_scoring(opened.tasks)
        book = LabelBook.open(ledger, opened.policy, tasks(settings), labellers)
        learned = learn(
            opened.inputs, settings, judge_all(opened.inputs, settings, book), select=select
        )
    target = into or opened.folder.path / "weights.json"
    document = learned.document(settings)
    write_bytes(
        target, orjson.dumps(document, option=orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE)
    )
    if as_json:
        print_json(document)
    else:
        _print(learned, target)


def _print(learned: Learned, target: Path) -> None:
    console = out()
    table = plain_table("Weights")
    for name in CRITERIA:
        table.add_column(name, justify="right")
    weights = [getattr(learned.weights, name) for name in CRITERIA]
    table.add_row(*(f"{weight:.3f}" for weight in weights))
    console.print(table)
    steps = plain_table("Models, each without one criterion more")
    steps.add_column("criteria")
    steps.add_column("MAR", justify="right")
    for step in learned.steps:
        chosen = " ←" if step.criteria == learned.criteria else ""
        steps.add_row(" ".join(step.criteria) + chosen, f"{step.mar:.3f}")
    console.print(steps)
    console.print(
        f"Learned from {learned.labels} preferences between {learned.pairs} pairs; MAR in "
        f"cross-validation by query, on the training pairs themselves {learned.mar_train:.3f}."
    )
    if learned.left_out:
        err().print(
            f"{counted(learned.left_out, 'pair')} without all labels: left out of the learning.",
            markup=False,
        )
    console.print(f'{safe(target)}: use it with weights = "{safe(target.name)}" in [settings].')


@app.command("degrade")
def degrade_command(
    file: Annotated[Path, typer.Argument(metavar="SUMMARIES.jsonl")],
    strategy: Annotated[Strategy, typer.Option("--strategy", help="What is taken away.")],
    into: Annotated[Path, typer.Option("--out", help="The new file.")],
) -> None:
    """Write degraded versions of summaries. ('degrade' in [settings] makes them by itself.)"""
    summaries = read_summaries(file).require()
    made = [DEGRADED[strategy](one) for one in summaries if one.sections]
    write_bytes(into, write_summaries(made))
    out().print(
        f"{counted(len(made), 'summary', 'summaries')} written to {safe(into)}", soft_wrap=True
    )
