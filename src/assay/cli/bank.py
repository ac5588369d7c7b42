"""``assay bank``: question banks made by a labeller, edited by people, compared in what they do."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any

import typer

from assay.api.bank import (
    COLUMNS,
    HISTORY_COLUMNS,
    ListedBank,
    WantedEdit,
    bank_differences,
    edit_bank,
    generate,
)
from assay.api.bank_doctor import COLUMNS as DOCTOR_COLUMNS
from assay.api.bank_doctor import Diagnosis, examine
from assay.api.items_examined import Examination
from assay.cli.common import Paragraph, forms, group, present, say, tell
from assay.cli.examined import estimate, proposals, tau_lines, whole
from assay.cli.judging import (
    BudgetOption,
    FetchLines,
    LabellerOption,
    PolicyOption,
    judging_bar,
)
from assay.model.options import Argument, Option
from assay.model.wording import counted
from assay.page.tables import Table
from assay.page.wording import span

_MOST = 50
"""Passages whose label moves that people are shown."""

app = group("Question banks of EXAM++: generate, list, edit, diff.")
BankArgument = Annotated[Path, Argument("BANK", "A bank file, or an evaluation folder with one.")]
QueryOption = Annotated[str | None, Option("Of this query.", metavar="ID")]


@app.command("generate")
@forms("json")
def generate_command(
    folder: Annotated[Path, Argument("FOLDER", "With 'queries' in [inputs].")],
    count: Annotated[int, Option("Questions each.", least=1, most=100)] = 10,
    into: Annotated[
        Path | None, Option("The bank (default: [inputs] bank, bank.jsonl).", flag="--out")
    ] = None,
    labeller: LabellerOption = None,
    budget: BudgetOption = None,
) -> None:
    """Have exam questions written for every query and subtopic; questions there are stay.

    Asks the labeller of 'exam.questions'; what it said is in the ledger and not asked twice.
    """
    made = generate(
        folder,
        count=count,
        into=into,
        labeller=labeller,
        budget=budget,
        progress=judging_bar(),
        fetching=FetchLines(),
    )
    so = "" if made.added else "; it was not written"
    said = f"{counted(made.added, 'question')} added to {made.path}{so}"
    present(made.document, [said])
    if made.missing:
        tell(f"{len(made.missing)} queries or subtopics have no questions yet:")
        for name, why in list(made.missing.items())[:20]:
            tell(f"  {name}: {why}")
        if len(made.missing) > 20:
            tell("  …")
        raise typer.Exit(1)


@app.command("list")
@forms("json", "csv")
def list_command(
    bank: BankArgument,
    query: QueryOption = None,
    history: Annotated[bool, Option("The edits instead of the questions.")] = False,
) -> None:
    """Show the questions of a bank with its version, or how it came to be."""
    found = ListedBank.read(bank)
    if history:
        edits = list(found.history())
        present(
            lambda: found.edits,
            [Table(f"Edits of {found.path.name}", HISTORY_COLUMNS, edits)],
            (HISTORY_COLUMNS, edits),
        )
        return
    rows = found.rows(query)
    present(
        lambda: {"version": len(found.edits), "content": found.content, "questions": rows},
        [_questions(found, rows)],
        (COLUMNS, (list({**row, "gold": " | ".join(row["gold"])}.values()) for row in rows)),
    )


def _questions(found: ListedBank, rows: Sequence[Mapping[str, Any]]) -> Table:
    cells = []
    for row in rows:
        key = f" (key: {' | '.join(row['gold'])})" if row["gold"] else ""
        state = f"{row['weight']:g}" if row["active"] else "dropped"
        cells.append((row["query"], row["id"], row["question"] + key, state))
    return Table(
        f"{found.path.name}, version {len(found.edits)} ({found.content})",
        ("query", "id", "question", "weight"),
        cells,
        numbers=frozenset(("weight",)),
    )


@app.command("edit")
@forms()
def edit_command(
    bank: BankArgument,
    by: Annotated[str, Option("Who edits; recorded.", metavar="NAME")],
    add: Annotated[str | None, Option("A new question (with --query).")] = None,
    reword: Annotated[str | None, Option("New words: --text.", metavar="ID")] = None,
    text: Annotated[str | None, Option("The words, for --reword.")] = None,
    drop: Annotated[str | None, Option("Ask and score it no more.", metavar="ID")] = None,
    restore: Annotated[str | None, Option("Bring a dropped one back.", metavar="ID")] = None,
    weigh: Annotated[str | None, Option("New weight: --weight.", metavar="ID")] = None,
    key: Annotated[str | None, Option("New answer key: --gold.", metavar="ID")] = None,
    weight: Annotated[float | None, Option("", least=0)] = None,
    gold: Annotated[list[str] | None, Option("A gold answer, repeatable.")] = None,
    query: QueryOption = None,
    facet: Annotated[str | None, Option("Subtopic of a new one.")] = None,
) -> None:
    """Change one question, and record who did what. Give one of --add, --reword, --drop,
    --restore, --weigh, --key."""
    chosen = {
        "add": add, "reword": reword, "drop": drop, "restore": restore, "weigh": weigh, "key": key,
    }  # fmt: skip
    given = {name: value for name, value in chosen.items() if value is not None}
    if len(given) != 1:
        raise typer.BadParameter(f"give one of {', '.join('--' + name for name in chosen)}")
    ((action, value),) = given.items()
    answers = [one.strip() for one in gold or () if one.strip()]
    wanted = WantedEdit(action, value, query, text and text.strip(), weight, answers, facet)
    say(edit_bank(bank, by, wanted))


@app.command("diff")
@forms("json")
def diff_command(
    old: Annotated[str, Argument("OLD", "A bank, or BANK@N: after N edits.")],
    new: Annotated[str, Argument("NEW", "Another.")],
    folder: Annotated[
        Path | None, Option("Show what it moves in this evaluation's passages and runs.")
    ] = None,
    policy: PolicyOption = None,
    labeller: LabellerOption = None,
) -> None:
    """What differs between two banks, and whose grades and scores it moves.

    With --folder the labels of its ledger are scored under both; asks nobody. A reworded question
    is a new one to the labeller: what hangs on grades that are not given yet is shown from the
    worst that it can become to the best. Exit status 1 where they differ.
    """
    found = bank_differences(old, new, folder, policy=policy, labeller=labeller)
    present(lambda: found, _differences(found))
    if found["changes"]:
        raise typer.Exit(1)


def _differences(found: Mapping[str, Any]) -> Iterator[Table | str]:
    """What JSON holds, for people."""
    if not found["changes"]:
        yield "The banks ask the same."
        return
    columns = ("query", "id", "change", "before", "after")
    keys = ("query", "id", "what", "before", "after")
    yield Table("Questions", columns, [[one[key] for key in keys] for one in found["changes"]])
    if "passages" not in found:
        return
    for title, things, names in (
        ("Passages whose label moves", found["passages"], ("query", "passage")),
        ("Scores that move", found["scores"], ("run", "measure")),
    ):
        most = _MOST if names[0] == "query" else len(things)
        yield Table(
            f"{title} ({len(things)})",
            (*names, "before", "after"),
            [(*(one[name] for name in names), *_sides(one)) for one in things[:most]],
            numbers=frozenset(("before", "after")),
        )
        if len(things) > most:
            yield f"and {len(things) - most} more (--json lists all)"
    missing = found["grades_missing"]
    if missing["after"] or missing["before"]:
        yield Paragraph(
            f"Grades that are missing or failed: {missing['before']} before, {missing['after']} "
            "after. What hangs on them is shown from its value with none of these questions "
            "answered to that with all of them. 'assay judge' asks for those of the folder's bank."
        )


def _sides(one: Mapping[str, Any]) -> Iterator[str]:
    """A label or score before and after, as people see it."""
    for side in ("before", "after"):
        ends = [one.get(f"{side}_{end}", one[side]) for end in ("floor", "ceiling")]
        whole = all(isinstance(end, int) for end in ends)
        yield "–".join(map(str, dict.fromkeys(ends))) if whole else span(*ends)


@app.command("doctor")
@forms("json", "csv")
def doctor_command(
    folder: Annotated[Path, Argument("FOLDER", "An EXAM++ folder.")],
    query: QueryOption = None,
    every: Annotated[
        bool, Option("Every question, not only what is proposed.", flag="--all")
    ] = False,
    policy: PolicyOption = None,
    labeller: LabellerOption = None,
) -> None:
    """What each question does for the leaderboard, and what to drop, reword or add first.

    By the labels that there are; asks nobody. decides: pairs of runs whose order on the query is
    another without the question (for a query: pairs that it leaves tied); tau: how much Kendall's
    tau with the official leaderboard changes when it is left out, with a 95 % interval over
    queries; settles: of how many pairs a proposal changes the order on the query, from surely to
    possibly.
    """
    found = examine(folder, query, policy=policy, labeller=labeller)
    present(found.document, _doctor(found, every=every), (DOCTOR_COLUMNS, found.rows()))


def _doctor(found: Examination[Diagnosis], *, every: bool) -> Iterator[Table | str]:
    yield from tau_lines(found.tau, "official")
    if every:
        columns = ("query", "id", "runs", "discr.", "overlap", "decides", "tau", "proposal")
        yield Table(
            "Questions",
            columns,
            [
                (one.query, one.question_id, whole(one.answered), one.discrimination, one.overlap,
                 one.decides, estimate(one.tau_without), one.proposal)
                for one in found.items
            ],
            digits=3,
            numbers=frozenset(columns[2:7]),
        )  # fmt: skip
        yield (
            "runs: how many answer it; discr.: correlation with the rest of the query; overlap: "
            "with the question most like it; decides: pairs of runs; tau: its change."
        )
        yield ""
    unknown = sum(one.decides is None for one in found.items)
    if unknown:
        yield (
            f"Grades are missing of {unknown} of {len(found.items)} questions: what hangs on "
            "them is left out."
        )
    if not found.proposals:
        if not unknown:
            yield "Nothing to propose: every question tells runs apart and asks what no other does."
        return
    yield from proposals(
        found.proposals,
        ("query", "question"),
        lambda one: (one.query, f"{one.question_id}: {one.question}" if one.question_id else "–"),
    )
    yield "Next: assay bank edit FOLDER --by NAME --drop ID, --reword ID --text, --add TEXT --query"
