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
"""Passages with a changed label that are shown."""

app = group("Question banks of EXAM++: generate, list, edit and compare them.")
BankArgument = Annotated[
    Path, Argument("BANK", "A bank file, or an evaluation folder that has one.")
]
QueryOption = Annotated[str | None, Option("Only this query.", metavar="ID")]


@app.command("generate")
@forms("json")
def generate_command(
    folder: Annotated[Path, Argument("FOLDER", "Evaluation folder with 'queries' in [inputs].")],
    count: Annotated[int, Option("Questions each.", least=1, most=100)] = 10,
    into: Annotated[
        Path | None,
        Option("Bank to write (default: [inputs] bank, else bank.jsonl).", flag="--out"),
    ] = None,
    labeller: LabellerOption = None,
    budget: BudgetOption = None,
) -> None:
    """Generate exam questions for every query and subtopic; existing questions stay.

    Asks the labeller of 'exam.questions'. Its replies are kept in the ledger and never asked for
    twice.
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
        tell(f"{len(made.missing)} queries or subtopics still have no questions:")
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
    history: Annotated[bool, Option("Show the edits instead of the questions.")] = False,
) -> None:
    """Show the questions of a bank with its version, or its history."""
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
    by: Annotated[str, Option("Who makes the edit; recorded in the history.", metavar="NAME")],
    add: Annotated[str | None, Option("Add a question with this text (with --query).")] = None,
    reword: Annotated[
        str | None, Option("Change the text of a question (with --text).", metavar="ID")
    ] = None,
    text: Annotated[str | None, Option("The new text, for --reword.")] = None,
    drop: Annotated[
        str | None, Option("Drop a question: it is no longer asked or scored.", metavar="ID")
    ] = None,
    restore: Annotated[str | None, Option("Bring a dropped question back.", metavar="ID")] = None,
    weigh: Annotated[
        str | None, Option("Change the weight of a question (with --weight).", metavar="ID")
    ] = None,
    key: Annotated[
        str | None, Option("Change the answer key of a question (with --gold).", metavar="ID")
    ] = None,
    weight: Annotated[float | None, Option("", least=0)] = None,
    gold: Annotated[list[str] | None, Option("A gold answer; repeatable.")] = None,
    query: QueryOption = None,
    facet: Annotated[str | None, Option("Subtopic of a new question.")] = None,
) -> None:
    """Change one question and record who changed it. Give exactly one of --add, --reword, --drop,
    --restore, --weigh and --key."""
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
    old: Annotated[str, Argument("OLD", "A bank, or BANK@N for its version after N edits.")],
    new: Annotated[str, Argument("NEW", "Another.")],
    folder: Annotated[
        Path | None, Option("Show the effect on the passages and runs of this evaluation.")
    ] = None,
    policy: PolicyOption = None,
    labeller: LabellerOption = None,
) -> None:
    """Compare two banks, and show which grades and scores change.

    With --folder, the labels in its ledger are scored under both banks; no labeller is asked. A
    reworded question counts as new. If a score depends on grades that are missing, it is shown as a
    range from its worst to its best possible value. Exit status 1 if the banks differ.
    """
    found = bank_differences(old, new, folder, policy=policy, labeller=labeller)
    present(lambda: found, _differences(found))
    if found["changes"]:
        raise typer.Exit(1)


def _differences(found: Mapping[str, Any]) -> Iterator[Table | str]:
    """What JSON holds, for people."""
    if not found["changes"]:
        yield "The banks ask the same questions."
        return
    columns = ("query", "id", "change", "before", "after")
    keys = ("query", "id", "what", "before", "after")
    yield Table("Questions", columns, [[one[key] for key in keys] for one in found["changes"]])
    if "passages" not in found:
        return
    for title, things, names in (
        ("Passages whose label changes", found["passages"], ("query", "passage")),
        ("Scores that change", found["scores"], ("run", "measure")),
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
            f"Grades missing or failed: {missing['before']} before, {missing['after']} after. "
            "Values that depend on them are shown as ranges, from none of these questions "
            "answered to all of them answered. 'assay judge' asks for the missing grades of the "
            "folder's bank."
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
    folder: Annotated[Path, Argument("FOLDER", "An EXAM++ evaluation folder.")],
    query: QueryOption = None,
    every: Annotated[
        bool, Option("Show every question, not only those with a proposal.", flag="--all")
    ] = False,
    policy: PolicyOption = None,
    labeller: LabellerOption = None,
) -> None:
    """Show what each question contributes to the leaderboard, and what to drop, reword or add
    first.

    Uses the labels there are and asks no labeller.

    decides: pairs of runs that change their order on the query without the question (for a query:
    pairs that it leaves tied).

    tau: the change in Kendall's tau with the official leaderboard without the question, with a 95 %
    interval over queries.

    settles: the number of pairs whose order on the query a proposal changes, from certainly to
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
            "with the most similar question; decides: pairs of runs; tau: change in tau."
        )
        yield ""
    unknown = sum(one.decides is None for one in found.items)
    if unknown:
        yield (
            f"Grades are missing for {unknown} of {len(found.items)} questions: values that "
            "depend on them are left out."
        )
    if not found.proposals:
        if not unknown:
            yield (
                "Nothing to propose: every question distinguishes runs and none duplicates another."
            )
        return
    yield from proposals(
        found.proposals,
        ("query", "question"),
        lambda one: (one.query, f"{one.question_id}: {one.question}" if one.question_id else "–"),
    )
    yield "Next: assay bank edit FOLDER --by NAME --drop ID, --reword ID --text, --add TEXT --query"
