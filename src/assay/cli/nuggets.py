"""``assay nuggets``: scores of assignment files, and nugget lists under a person's control."""

from __future__ import annotations

import sys
from collections.abc import Collection, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any

import click
import typer
from typer.core import TyperGroup

from assay.cli.answer_scores import (
    TOPICS_HELP,
    chosen_topics,
    note,
    read_all,
    refuse_twice,
    show,
    tell,
)
from assay.cli.common import CsvOption, FolderArgument, JsonOption, err, out, print_json
from assay.cli.folders import open_folder
from assay.formats.nugget_text import NuggetLine, nugget_text, parse_nugget_text
from assay.formats.text import read_text
from assay.formats.trec_rag_nuggets import read_assignments
from assay.formats.trec_rag_topics import read_mapping, read_sub_narratives
from assay.model.csv_cells import for_terminal
from assay.model.errors import SettingsError
from assay.model.trec_rag import AssignedAnswer, AssignedNugget
from assay.model.wording import counted, listed
from assay.protocols.trec_rag.bank import Bank
from assay.protocols.trec_rag.editing import edit_nuggets
from assay.protocols.trec_rag.inputs import Inputs, TrecRagSettings
from assay.protocols.trec_rag.scoring import nugget_sheet


class _ScoreUnlessNamed(TyperGroup):
    """``assay nuggets FILE`` is ``assay nuggets score FILE``."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        if args and args[0] not in self.commands and args[0] != "--help":
            args = ["score", *args]
        parsed: list[str] = super().parse_args(ctx, args)
        return parsed


app = typer.Typer(
    cls=_ScoreUnlessNamed,
    add_completion=False,
    no_args_is_help=True,
    rich_markup_mode=None,
    help="Nugget scores from assignment files: assay nuggets ASSIGNMENTS.jsonl (short for assay "
    "nuggets score). 'edit' opens the nuggets of an evaluation folder in an editor.",
)


@app.callback()
def _group() -> None:
    """Keeps ``score`` a command of its own."""


@app.command("score")
def score_command(
    files: Annotated[
        list[Path],
        typer.Argument(metavar="ASSIGNMENTS...", help="Nugget assignments, JSON Lines."),
    ],
    sub_narratives: Annotated[
        Path | None,
        typer.Option(
            "--sub-narratives",
            metavar="F",
            help="Sub-narratives of each topic, or a nugget file that maps nuggets to them; "
            "without it, what the assignments say.",
        ),
    ] = None,
    topics: Annotated[str, typer.Option("--topics", help=TOPICS_HELP)] = "all",
    per_topic: Annotated[
        bool, typer.Option("--per-topic", help="Single topics too, not only the mean.")
    ] = False,
    as_json: JsonOption = False,
    as_csv: CsvOption = False,
) -> None:
    """strict_vital, vital, strict_all, all, weighted and sub-narrative coverage of answers whose
    nuggets are assigned.

    Support counts 1, partial support 0.5 (strict: 0). A topic without vital nuggets has no vital
    scores: it leaves their mean for every run, and is named. Where an assignment or importance is
    missing (null, failed), a score lies between two ends: the worst and the best that it can be.
    """
    over = chosen_topics(topics)
    answers = read_all(files, read_assignments)
    refuse_twice(answers, files)
    aspects = None
    if sub_narratives is not None:
        aspects = read_sub_narratives(sub_narratives).require()
        answers = _mapped(answers, sub_narratives)
    _tell_of_lists(answers)
    _tell_of_unmapped(answers, aspects or {})
    sheet = nugget_sheet(answers, aspects)
    tell(sheet, over)
    show(
        "Nuggets",
        sheet,
        over,
        per_topic=per_topic,
        as_json=as_json,
        as_csv=as_csv,
        said="Partial support counts 0.5, in the strict scores 0; okay nuggets weigh half in "
        "'weighted'.",
        document={},
        counts=lambda _run: (),
    )


def _mapped(answers: Sequence[AssignedAnswer], path: Path) -> list[AssignedAnswer]:
    """The answers with the sub-narratives that a nugget file maps their nuggets to, by text."""
    mapping = read_mapping(path)
    return [
        AssignedAnswer(
            one.run,
            one.topic,
            one.query,
            one.text,
            tuple(
                AssignedNugget(
                    each.nugget._replace(
                        sub_narrative=mapping.get((one.topic, each.nugget.text))
                        or each.nugget.sub_narrative
                    ),
                    each.assigned,
                )
                for each in one.nuggets
            ),
            one.length,
            one.line,
        )
        for one in answers
    ]


def _tell_of_lists(answers: Sequence[AssignedAnswer]) -> None:
    """Scores of one topic compare only where all runs are held to the same nuggets."""
    lists: dict[str, frozenset[str]] = {}
    differ: dict[str, None] = {}
    for one in answers:
        mine = frozenset(each.nugget.text for each in one.nuggets)
        if lists.setdefault(one.topic, mine) != mine:
            differ[one.topic] = None
    if differ:
        topics = counted(len(differ), "topic")
        note(f"Runs were held to different nuggets in {topics}: {listed(differ, 10)}.")


def _tell_of_unmapped(answers: Sequence[AssignedAnswer], aspects: Collection[str]) -> None:
    """A nugget without a sub-narrative covers none, where others have one."""
    nuggets: dict[str, dict[str, bool]] = {}
    for one in answers:
        mapped = nuggets.setdefault(one.topic, {})
        mapped |= {each.nugget.text: bool(each.nugget.sub_narrative) for each in one.nuggets}
    loose = {
        topic: list(mapped.values()).count(False)
        for topic, mapped in nuggets.items()
        if any(mapped.values()) or topic in aspects
    }
    topics = [topic for topic, count in loose.items() if count]
    if topics:
        note(
            f"Mapped to no sub-narrative, so that coverage does not see what they support: "
            f"{counted(sum(loose.values()), 'nugget')} (topics: {listed(topics, 10)})."
        )


@app.command("edit")
def edit_command(
    folder: FolderArgument,
    topic: Annotated[str, typer.Argument(metavar="TOPIC", help="Id of the narrative.")],
    name: Annotated[
        str | None,
        typer.Option("--as", metavar="NAME", help="Who edits: labels are by human:NAME."),
    ] = None,
    show_only: Annotated[
        bool, typer.Option("--print", help="Print the text that would be edited; change nothing.")
    ] = False,
    file: Annotated[
        Path | None,
        typer.Option("--file", metavar="F", help="Take an edited text instead of an editor's."),
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Open a narrative's nuggets in an editor ($VISUAL, $EDITOR) and keep every change as a label.

    Reword, split, merge, drop, add, change importance or sub-narrative. What the machine made
    stays on record; 'assay score --policy machine' scores without the edits.
    """
    opened = open_folder(folder, policy="people")
    (evaluation, *others) = opened.parts.values()
    inputs, settings = evaluation.inputs, evaluation.settings
    if others or not isinstance(inputs, Inputs) or not isinstance(settings, TrecRagSettings):
        raise SettingsError(f"{folder} is not a trec-rag evaluation, so that it has no nuggets.")
    if topic not in inputs.narratives:
        known = listed(inputs.topics, 20)
        raise SettingsError(f"There is no narrative '{topic}'; there are {known}.")
    if name is None and not show_only:
        raise typer.BadParameter("is needed: who edits?", param_hint="--as")
    with opened.folder.open_ledger() as ledger:
        ledger.checked()  # before anybody's label takes the place of another
        bank = Bank(inputs, settings, evaluation.book(ledger))
        kept = bank.nuggets(topic)
        if kept is None:
            raise SettingsError(f"Narrative {topic} has no nuggets yet. Run 'assay judge' first.")
        text = nugget_text(
            topic,
            bank.narrative(topic) or "",
            [one.nugget for one in kept],
            [one.text for one in bank.aspects(topic) or ()],
        )
        if show_only:
            typer.echo(for_terminal(text) if sys.stdout.isatty() else text, nl=False)
            return
        found = _edited(text, len(kept), file)
        done = edit_nuggets(bank, ledger, topic, found, str(name))
    if as_json:
        print_json(asdict(done))
    elif not done.labels:
        out().print("Nothing was changed.")
    else:
        parts = [f"{count} {what}" for what, count in asdict(done).items() if what != "labels"]
        out().print(f"{', '.join(parts)}: {done.labels} labels by human:{name}.", markup=False)
        out().print("'assay evaluate' asks what the change leaves open and scores again.")


def _in_editor(text: str) -> str:
    """The text as the person left it. Raises SettingsError where there is no editor, or it fails
    (as it does where one quits with an error on purpose, such as vi's ``:cq``)."""
    try:
        return click.edit(text, extension=".txt", require_save=False) or ""
    except click.ClickException as error:
        raise SettingsError(
            f"{error.message}. Nothing is changed. Set EDITOR, or edit what --print prints and "
            "give it with --file."
        ) from None


def _edited(text: str, count: int, file: Path | None) -> tuple[NuggetLine, ...]:
    """The nuggets as edited: from ``file``, or from an editor, which is opened again where the
    text has faults."""
    if file is not None:
        return parse_nugget_text("\n".join(read_text(file).lines), count, str(file)).require()
    while True:
        text = _in_editor(text)
        if not text.strip():
            err().print("The text came back empty. Delete the nuggets' lines alone to drop all.")
            raise typer.Exit(1)
        parsed = parse_nugget_text(text, count)
        if parsed.ok:
            return parsed.require()
        for fault in parsed.errors:
            err().print(str(fault), markup=False, soft_wrap=True)
        if not typer.confirm("Edit again? (No gives up; nothing is changed)", default=True):
            raise typer.Exit(1)
