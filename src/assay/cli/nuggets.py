"""``assay nuggets``: scores of assignment files, and nugget lists under human control."""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from assay.api.items_examined import Examination
from assay.api.label_scores import bank_nuggets, nugget_scores
from assay.api.nugget_doctor import COLUMNS as DOCTOR_COLUMNS
from assay.api.nugget_doctor import NuggetDiagnosis, examine_nuggets
from assay.api.nuggets import Lines, Reader, edit_narrative, from_file
from assay.cli.common import (
    FolderArgument,
    PerTopicOption,
    ScoreUnlessNamed,
    forms,
    group,
    present,
    put,
    remark,
    tell,
)
from assay.cli.examined import estimate, proposals, tau_lines, whole
from assay.cli.judging import open_folder
from assay.cli.support import TopicsOption, show
from assay.model.csv_cells import for_terminal
from assay.model.errors import SettingsError
from assay.model.options import Argument, Option
from assay.page.tables import Table
from assay.page.wording import NOTHING

app = group(
    "Score nugget assignments: assay nuggets ASSIGNMENTS.jsonl (short for assay nuggets score). "
    "'edit' opens the nuggets of an evaluation folder in an editor.",
    ScoreUnlessNamed,
)


@app.command("score")
@forms("json", "csv")
def score_command(
    files: Annotated[list[Path], Argument("ASSIGNMENTS...", "Nugget assignments, JSON Lines.")],
    sub_narratives: Annotated[
        Path | None,
        Option(
            "Sub-narratives of each topic, or a nugget file that maps nuggets to them (default: "
            "what the assignments say).",
            metavar="F",
        ),
    ] = None,
    bank: Annotated[
        Path | None,
        Option(
            "Bank of questions (RAGTIME, Auto-Judge) from which 'from-bank' made the nuggets: "
            "adds how many questions are settled, by AND and OR.",
            metavar="F",
        ),
    ] = None,
    partly: Annotated[
        bool, Option("Give an AND question partial credit for the share of its answers given.")
    ] = False,
    topics: TopicsOption = "all",
    per_topic: PerTopicOption = False,
) -> None:
    """Compute strict_vital, vital, strict_all, all, weighted and sub-narrative coverage from nugget
    assignments.

    Support counts 1, partial support 0.5 (strict: 0). A topic without vital nuggets has no vital
    scores: it is left out of their mean for every run, and named. If an assignment or importance is
    missing (null, failed), a score is a range from its worst to its best possible value.
    """
    show(
        "Nuggets",
        nugget_scores(files, sub_narratives, topics, remark, bank=bank, partly=partly),
        "Partial support counts 0.5, in the strict scores 0; okay nuggets count half in "
        "'weighted'.",
        per_topic=per_topic,
    )


@app.command("doctor")
@forms("json", "csv")
def doctor_command(
    files: Annotated[list[Path], Argument("ASSIGNMENTS...", "Nugget assignments, JSON Lines.")],
    official: Annotated[
        Path | None, Option("Another leaderboard, as CSV with a column of runs.", metavar="F")
    ] = None,
    score: Annotated[
        str | None, Option("Which score of --official to use.", metavar="NAME")
    ] = None,
    every: Annotated[
        bool, Option("Show every nugget, not only those with a proposal.", flag="--all")
    ] = False,
) -> None:
    """Show what each nugget contributes to the leaderboard, and what to drop, merge or add first.

    For an evaluation, give FOLDER/out/assignments.jsonl.

    decides: pairs of runs that change their order by 'all' on the topic without the nugget (for a
    topic: pairs that it leaves tied).

    tau: the change in Kendall's tau with --official without the nugget, with a 95 % interval over
    topics.

    settles: the number of pairs whose order on the topic a proposal changes, from certainly to
    possibly.
    """
    found = examine_nuggets(files, official, score, remark)
    present(
        found.document, _doctor(found, every=every), (DOCTOR_COLUMNS, found.rows())
    )  # fmt: skip


def _doctor(found: Examination[NuggetDiagnosis], *, every: bool) -> Iterator[Table | str]:
    yield from tau_lines(found.tau, "other")
    if every:
        columns = ("topic", "nugget", "stated", "discr.", "decides", "tau", "proposal")
        yield Table(
            "Nuggets",
            columns,
            [
                (one.topic, one.nugget, f"{whole(one.stated)} of {one.answers}",
                 one.discrimination, one.decides, estimate(one.tau_without), one.proposal)
                for one in found.items
            ],
            digits=3,
            numbers=frozenset(columns[2:6]),
        )  # fmt: skip
        yield ""
    if not found.proposals:
        yield "Nothing to propose: every nugget distinguishes runs and none duplicates another."
        return
    yield from proposals(
        found.proposals, ("topic", "nugget"), lambda one: (one.topic, one.nugget or NOTHING)
    )
    yield "Next: assay nuggets edit FOLDER TOPIC --as NAME"


@app.command("from-bank")
@forms()
def from_bank_command(
    file: Annotated[Path, Argument("BANK", "A nugget bank of RAGTIME or Auto-Judge.")],
) -> None:
    """Print a bank of questions with gold answers as nuggets, so that you can assign answers to
    them. Each answer becomes a nugget, with its question as the sub-narrative."""
    put([bank_nuggets(file, remark)])


@app.command("edit")
@forms("json")
def edit_command(
    folder: FolderArgument,
    topic: Annotated[str, Argument("TOPIC", "Id of the narrative.")],
    name: Annotated[
        str | None,
        Option(
            "Who makes the edits: labels are stored under human:NAME.", flag="--as", metavar="NAME"
        ),
    ] = None,
    show_only: Annotated[
        bool, Option("Print the text that would be edited; change nothing.", flag="--print")
    ] = False,
    file: Annotated[
        Path | None,
        Option("Read the edited text from this file instead of opening an editor.", metavar="F"),
    ] = None,
) -> None:
    """Open a narrative's nuggets in an editor ($VISUAL, $EDITOR), and keep every change as a label.

    You can reword, split, merge, drop and add nuggets, and change their importance or
    sub-narrative. The machine's nuggets stay on record: 'assay score --policy machine' scores
    without your edits.
    """
    if name is None and not show_only:
        raise typer.BadParameter("is required: it says who makes the edits", param_hint="--as")
    opened = open_folder(folder, policy="people")
    done = edit_narrative(
        opened, topic, None if show_only else name, from_file(file) if file else _in_editor
    )
    if isinstance(done, str):
        put([(for_terminal(done) if sys.stdout.isatty() else done).encode()])
        return
    counts = asdict(done)

    def people() -> Iterator[str]:
        if not done.labels:
            yield "Nothing was changed."
            return
        parts = [f"{count} {what}" for what, count in counts.items() if what != "labels"]
        yield f"{', '.join(parts)}: {done.labels} labels by human:{name}."
        yield "'assay evaluate' asks for the labels this needs and scores again."

    present(lambda: counts, people())


def _in_editor(text: str, read: Reader) -> Lines:
    """The nuggets as left by the person in an editor, which reopens if the text has faults."""
    while True:
        text = _edited(text)
        if not text.strip():
            tell("The text came back empty. To drop all nuggets, delete only their lines.")
            raise typer.Exit(1)
        parsed = read(text)
        if parsed.ok:
            return parsed.require()
        for fault in parsed.errors:
            tell(fault)
        if not typer.confirm("Edit again? (If you answer no, nothing is changed.)", default=True):
            raise typer.Exit(1)


def _edited(text: str) -> str:
    """A text as edited by the person. Raises SettingsError if there is no editor or it fails (as
    when quitting with an error on purpose, such as vi's ``:cq``)."""
    editor = os.environ.get("VISUAL") or os.environ.get("EDITOR") or "vi"
    with tempfile.TemporaryDirectory(prefix="assay-") as folder:
        file = Path(folder) / "nuggets.txt"
        file.write_text(text, encoding="utf-8")
        try:
            subprocess.run([*shlex.split(editor), str(file)], check=True)  # noqa: S603
            return file.read_text(encoding="utf-8-sig")
        except (OSError, ValueError, subprocess.CalledProcessError) as error:
            raise SettingsError(
                f"{editor}: editing failed ({error}). Nothing has changed. Set EDITOR, or edit "
                "the output of --print and pass it with --file."
            ) from None
