"""``assay bank``: question banks made by a labeller, edited by people, compared in what they do."""

from __future__ import annotations

from dataclasses import asdict, replace
from pathlib import Path
from typing import Annotated, Any

import typer

from assay.cli.bank_diff import print_diff
from assay.cli.common import (
    CsvOption,
    JsonOption,
    err,
    out,
    plain_table,
    print_csv,
    print_json,
    safe,
)
from assay.cli.judging import (
    BudgetOption,
    FetchLines,
    JudgingBar,
    LabellerOption,
    PolicyOption,
)
from assay.formats.exam_bank import open_bank, question_id, read_bank
from assay.formats.passages import Query, read_queries
from assay.judging.asking import INTERRUPTED
from assay.judging.engine import judge, plan
from assay.labellers.base import Request
from assay.ledger.policy import Policy
from assay.model.errors import SettingsError
from assay.model.exam import Bank, BankQuestion, QueryBank
from assay.model.wording import counted, printable
from assay.protocols.exam.bank_changes import moved
from assay.protocols.exam.banks import (
    changes,
    edit,
    extend,
    find,
    fingerprint,
    history_path,
    new_question,
    read_history,
    read_version,
)
from assay.protocols.folder import Folder
from assay.protocols.labels import LabelBook
from assay.tasks.exam import GENERATE

app = typer.Typer(
    help="Question banks of EXAM++: generate, list, edit, diff.",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,
)
BankArgument = Annotated[
    Path, typer.Argument(metavar="BANK", help="A bank file, or an evaluation folder with one.")
]
QueryOption = Annotated[str | None, typer.Option("--query", metavar="ID", help="Of this query.")]


@app.command("generate")
def generate_command(
    folder: Annotated[Path, typer.Argument(metavar="FOLDER", help="With 'queries' in [inputs].")],
    count: Annotated[int, typer.Option("--count", min=1, max=100, help="Questions each.")] = 10,
    into: Annotated[
        Path | None, typer.Option("--out", help="The bank (default: [inputs] bank, bank.jsonl).")
    ] = None,
    labeller: LabellerOption = None,
    budget: BudgetOption = None,
    as_json: JsonOption = False,
) -> None:
    """Have exam questions written for every query and subtopic; questions there are stay.

    Asks the labeller of 'exam.questions'; what it said is in the ledger and not asked twice.
    """
    opened = Folder.open(folder, labeller=labeller, fetching=FetchLines()).seen_by("exam")
    files = opened.input_files("queries")
    if len(files) != 1:
        raise SettingsError(f"{opened.path}: [inputs] queries must be one file.")
    queries = read_queries(files[0]).require()
    target = into or opened.path / _bank_entry(opened)
    bank = open_bank(target)
    who = opened.labellers([GENERATE])[GENERATE.name]
    asked = {query: _unit(query, count) for query in queries}
    requests = [
        Request(GENERATE, GENERATE.unit.model_validate(content)) for content in asked.values()
    ]
    with opened.open_ledger() as ledger:
        ledger.checked()  # before anything is asked
        limit = budget if budget is not None else opened.config.judging.budget
        tally = judge(
            [("questions", plan(ledger, who, requests))],
            ledger,
            progress=JudgingBar(quiet=as_json),
            budget=limit,
            give_up_after=opened.config.judging.give_up_after,
        )
        if tally.stopped == INTERRUPTED:
            raise KeyboardInterrupt
        book = LabelBook.open(ledger, Policy.parse("people"), [GENERATE], {GENERATE.name: who})
        new: list[tuple[str, BankQuestion]] = []
        missing: dict[str, str] = {}
        for query, content in asked.items():
            label = book.label(GENERATE, content, query.id)
            if label is None or label.verdict is None:
                why = tally.stopped if label is None else next(ledger.whole([label])).error
                name = " ".join(filter(None, (query.id, query.facet)))
                missing[name] = why or "the labeller gave no answer"
            else:
                bank, more = _new(bank, query, label.verdict["questions"], who.id.name)
                new += more
    if new:
        extend(target, bank, who.id.name, new)
    if as_json:
        print_json(
            {"bank": str(target), "added": len(new), "missing": len(missing), "why": missing}
        )
    else:
        so = "" if new else "; it was not written"
        out().print(f"{counted(len(new), 'question')} added to {safe(target)}{so}", soft_wrap=True)
    if missing:
        err().print(
            f"{len(missing)} queries or subtopics have no questions yet:",
            *(printable(f"  {name}: {why}") for name, why in list(missing.items())[:20]),
            *(["  …"] if len(missing) > 20 else []),
            sep="\n",
            markup=False,
            soft_wrap=True,
        )
        raise typer.Exit(1)


def _bank_entry(folder: Folder) -> str:
    entry = folder.config.inputs.get("bank", "bank.jsonl")
    return entry if isinstance(entry, str) else entry[0]


def _unit(query: Query, count: int) -> dict[str, Any]:
    return {"query": query.text, "subtopic": query.facet_text or "", "count": count}


def _new(
    bank: Bank, query: Query, texts: list[str], origin: str
) -> tuple[Bank, list[tuple[str, BankQuestion]]]:
    """The bank with the query in it, and those questions that it does not have yet."""
    found = bank.queries.get(query.id) or QueryBank(query.id, None, ())
    made = [
        BankQuestion(
            question_id(query.id, query.facet, text),
            " ".join(text.split()),
            facet=query.facet,
            facet_text=query.facet_text,
            origin=origin,
        )
        for text in texts
    ]
    known = {one.id for one in found.questions}
    named = replace(found, text=found.text or query.text)
    with_query = replace(bank, queries={**bank.queries, query.id: named})
    return with_query, [(query.id, one) for one in made if one.id not in known]


@app.command("list")
def list_command(
    bank: BankArgument,
    query: QueryOption = None,
    history: Annotated[
        bool, typer.Option("--history", help="The edits instead of the questions.")
    ] = False,
    as_json: JsonOption = False,
    as_csv: CsvOption = False,
) -> None:
    """Show the questions of a bank with its version, or how it came to be."""
    path = _file(bank)
    if history:
        _list_history(path, as_json=as_json, as_csv=as_csv)
        return
    found = read_bank(path).require()
    rows: list[dict[str, Any]] = [
        {
            "query": name,
            "id": one.id,
            "question": one.text,
            "gold": list(one.gold),
            "weight": one.weight,
            "active": one.active,
            "facet": one.facet,
            "origin": one.origin,
        }
        for name, questions in found.queries.items()
        if query in (None, name)
        for one in questions.questions
    ]
    version = len(read_history(path))
    if as_json:
        print_json({"version": version, "content": fingerprint(found), "questions": rows})
        return
    if as_csv:
        names = ("query", "id", "question", "gold", "weight", "active", "facet", "origin")
        print_csv(
            names,
            ([" | ".join(row["gold"]) if n == "gold" else row[n] for n in names] for row in rows),
        )
        return
    table = plain_table(f"{safe(path.name)}, version {version} ({fingerprint(found)})")
    for name in ("query", "id", "question"):
        table.add_column(name, overflow="fold")
    table.add_column("weight", justify="right")
    for row in rows:
        text = row["question"] + (f" (key: {' | '.join(row['gold'])})" if row["gold"] else "")
        state = f"{row['weight']:g}" if row["active"] else "dropped"
        table.add_row(safe(row["query"]), safe(row["id"]), safe(text), state)
    out().print(table)


def _list_history(path: Path, *, as_json: bool, as_csv: bool) -> None:
    edits = read_history(path)
    if as_json:
        print_json([asdict(one) for one in edits])
        return
    rows = [
        (
            one.number,
            one.at,
            one.by,
            one.action,
            one.query,
            (one.after or one.before).id,  # type: ignore[union-attr]
            "" if one.before is None else one.before.text,
            "" if one.after is None else one.after.text,
        )
        for one in edits
    ]
    names = ("version", "at", "by", "action", "query", "id", "before", "after")
    if as_csv:
        print_csv(names, rows)
        return
    table = plain_table(f"Edits of {safe(path.name)}")
    for name in names:
        table.add_column(name, overflow="fold")
    for row in rows:
        table.add_row(*(safe(cell) for cell in row))
    out().print(table)


@app.command("edit")
def edit_command(
    bank: BankArgument,
    by: Annotated[str, typer.Option("--by", metavar="NAME", help="Who edits; recorded.")],
    add: Annotated[str | None, typer.Option("--add", help="A new question (with --query).")] = None,
    reword: Annotated[
        str | None, typer.Option("--reword", metavar="ID", help="New words: --text.")
    ] = None,
    text: Annotated[str | None, typer.Option("--text", help="The words, for --reword.")] = None,
    drop: Annotated[
        str | None, typer.Option("--drop", metavar="ID", help="Ask and score it no more.")
    ] = None,
    restore: Annotated[
        str | None, typer.Option("--restore", metavar="ID", help="Bring a dropped one back.")
    ] = None,
    weigh: Annotated[
        str | None, typer.Option("--weigh", metavar="ID", help="New weight: --weight.")
    ] = None,
    key: Annotated[
        str | None, typer.Option("--key", metavar="ID", help="New answer key: --gold.")
    ] = None,
    weight: Annotated[float | None, typer.Option("--weight", min=0)] = None,
    gold: Annotated[
        list[str] | None, typer.Option("--gold", help="A gold answer, repeatable.")
    ] = None,
    query: QueryOption = None,
    facet: Annotated[str | None, typer.Option("--facet", help="Subtopic of a new one.")] = None,
) -> None:
    """Change one question, and record who did what. Give one of --add, --reword, --drop,
    --restore, --weigh, --key."""
    path = _file(bank, must_exist=add is None)
    chosen = {
        "add": add, "reword": reword, "drop": drop, "restore": restore, "weigh": weigh, "key": key,
    }  # fmt: skip
    given = {name: value for name, value in chosen.items() if value is not None}
    if len(given) != 1:
        raise typer.BadParameter(f"give one of {', '.join('--' + name for name in chosen)}")
    ((action, value),) = given.items()
    if action == "add":
        if query is None:
            raise typer.BadParameter("--add needs the query: --query ID")
        more = {"gold": tuple(gold or ()), "weight": 1.0 if weight is None else weight}
        before, after = None, new_question(query, value, by, facet=facet, **more)
        where = query
    else:
        where, before = find(read_bank(path).require(), value, query)
        after = _changed(action, before, text, weight, gold)
    made = edit(path, by, action, where, before, after)
    out().print(
        f"Version {made.number}: {action} {safe(after.id)} ({safe(history_path(path).name)})",
        soft_wrap=True,
    )


def _changed(
    action: str,
    before: BankQuestion,
    text: str | None,
    weight: float | None,
    gold: list[str] | None,
) -> BankQuestion:
    if action == "reword":
        if not (text and text.strip()):
            raise typer.BadParameter("--reword needs the new words: --text")
        return replace(before, text=" ".join(text.split()))
    if action == "weigh":
        if weight is None:
            raise typer.BadParameter("--weigh needs --weight")
        return replace(before, weight=weight)
    if action == "key":
        return replace(before, gold=tuple(gold or ()))
    return replace(before, active=action == "restore")


@app.command("diff")
def diff_command(
    old: Annotated[str, typer.Argument(metavar="OLD", help="A bank, or BANK@N: after N edits.")],
    new: Annotated[str, typer.Argument(metavar="NEW", help="Another.")],
    folder: Annotated[
        Path | None,
        typer.Option("--folder", help="Show what it moves in this evaluation's passages and runs."),
    ] = None,
    policy: PolicyOption = None,
    labeller: LabellerOption = None,
    as_json: JsonOption = False,
) -> None:
    """What differs between two banks, and whose grades and scores it moves.

    With --folder the labels of its ledger are scored under both; asks nobody. A reworded question
    is a new one to the labeller: what hangs on grades that are not given yet is shown from the
    worst that it can become to the best. Exit status 1 where they differ.
    """
    before, after = read_version(old), read_version(new)
    found = list(changes(before, after))
    document: dict[str, Any] = {"changes": [asdict(one) for one in found]}
    if folder is not None:
        seen = Folder.open(folder, labeller=labeller).seen_by("exam")
        document.update(moved(seen, before, after, policy).document())
    if as_json:
        print_json(document)
    else:
        print_diff(document)
    if found:
        raise typer.Exit(1)


def _file(given: Path, *, must_exist: bool = True) -> Path:
    path = given
    if given.is_dir():
        folder = Folder.open(given)
        path = folder.path / _bank_entry(folder)
    if must_exist and not path.exists():
        raise SettingsError(f"{path}: there is no such bank. Make one: assay bank generate, edit.")
    return path
