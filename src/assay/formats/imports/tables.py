"""Import from data sets: ragas, deepeval, and tables with columns of the usual names (hf)."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from assay.formats.cells import is_table
from assay.formats.imports.common import (
    ANSWER_KEYS,
    ASSISTANT,
    USER,
    Choices,
    Imported,
    Row,
    first_of,
    flat,
    is_nan,
    listed_in,
    message,
    name_in,
    number_in,
    objects_in,
    parsed,
    passages_of,
    question_id,
    snake,
    text_in,
)
from assay.model.errors import SettingsError
from assay.model.records import text_id
from assay.model.wording import joined

Files = Sequence[tuple[Path, list[Any]]]
_SOURCE = re.compile(r"deepeval_source=(.*?),deepeval_context=(.*)", re.DOTALL)

FIELDS: Mapping[str, tuple[str, ...]] = {
    "id": ("id", "query_id", "qid", "question_id"),
    "question": ("question", "query", "user_input", "input"),
    "answer": ("answer", "response", "generated_answer", "output", "prediction"),
    "passages": ("contexts", "retrieved_contexts", "documents", "passages", "context",
                 "retrieved_context", "docs", "retrieved_documents", "retrieved_passages"),
    "references": ("ground_truth", "ground_truths", "reference", "references", "gt_answer",
                   "expected_output", "reference_answer", "expected_answer", "gold_answer",
                   "golden_answers"),
    "run": ("query_run", "run"),
}  # fmt: skip
_RAGAS = {
    "user_input", "question", "response", "answer", "retrieved_contexts", "contexts", "reference",
    "ground_truth", "ground_truths", "reference_contexts", "retrieved_context_ids",
    "reference_context_ids", "",
}  # fmt: skip
"""The columns of ragas that are not metadata; the one without a name is pandas' index in CSV."""
_USERS = frozenset({"user", "user_id", "user.id", "userId"})
_CASES = ("test_run_data", "test_results", "test_cases", "conversational_test_cases", "goldens")
"""The keys under which deepeval's results, test runs and goldens hold their cases."""
_FAILED = ("API_ERROR", "NO_ANSWER")
"""What open-rag-eval writes instead of a missing answer."""
_POSITION = re.compile(r"\[\d+\]")


def read_ragas(files: Files, choices: Choices) -> Imported:
    """Read ragas' evaluation data sets and results, of its current and its first version."""
    found = Imported()
    rows = _objects(files, found)
    for row in rows:
        asked = parsed(row.get("user_input", row.get("question")))
        history: list[Row] = []
        answer = first_of(row, ("response", "answer"))
        if isinstance(asked, list):
            asked, history, last = _turns(asked)
            answer = answer or last
        if not isinstance(asked, str):
            found.dropped["no question"] += 1
            continue
        users_part = "\n".join([*(one["text"] for one in history if one["role"] == "user"), asked])
        contexts = listed_in(first_of(row, ("retrieved_contexts", "contexts")))
        ids = listed_in(row.get("retrieved_context_ids"))
        passages = [
            {"text": text} | ({"id": str(ids[place])} if place < len(ids) else {})
            for place, text in enumerate(contexts)
            if isinstance(text, str) and text
        ]
        given = listed_in(row.get("reference_context_ids")) or [
            text_id(text) for text in _texts(row.get("reference_contexts"))
        ]
        meta: Row = {}
        for name, value in _other_values(row, _RAGAS, choices).items():
            number = None if name in (choices.id_from, *FIELDS["id"]) else number_in(value)
            meta |= {name: value} if number is None else {f"score.{name}": number}
        references = _texts(first_of(row, ("reference", "ground_truth", "ground_truths")))
        found.records.append(
            _record(question_id(users_part), asked, answer, passages, references, metadata=meta)
            | ({"history": history} if history else {})
            | ({"reference_passages": [str(one) for one in given]} if given else {})
        )
    _require_some(found, rows, "user_input or question")
    return found


def read_deepeval(files: Files, choices: Choices) -> Imported:
    """Read deepeval's data sets, results and test runs; goldens, which have no answers, become
    questions."""
    found = Imported()
    for path, _ in files:
        one_file = is_table(path) or path.suffix.lower() == ".jsonl"
        if one_file and choices.split is None:
            raise SettingsError(
                f"{path}: deepeval joins contexts with a separator in CSV and JSON Lines. Name it: "
                '--split "|".'
            )
    rows = [one for row in _objects(files, found) for one in _cases(row)]
    for row in rows:
        meta = {"name": row["name"]} if isinstance(row.get("name"), str) else {}
        meta |= flat(row.get("additional_metadata"))
        for one in objects_in(row.get("metrics_data")):
            name, score = name_in(one.get("name")), number_in(one.get("score"))
            meta |= {} if name is None or score is None else {f"score.{name}": score}
        turns = parsed(row.get("turns"))
        if isinstance(turns, list):
            found.records += _conversation(turns, meta)
            continue
        asked = row.get("input")
        if not isinstance(asked, str):
            found.dropped["no input"] += 1
            continue
        references = _texts(row.get("expected_output"))
        if row.get("actual_output") is None:
            found.questions.append(
                {"id": question_id(asked), "question": asked, "references": references}
            )
            continue
        passages = [_source(one) for one in _split(row.get("retrieval_context"), choices)]
        ideal = [_source(one) for one in _split(row.get("context"), choices)]
        record = _record(question_id(asked), asked, row["actual_output"], passages, references,
                         metadata=meta)  # fmt: skip
        if ideal:
            record["reference_passages"] = [p.get("id", text_id(p["text"])) for p in ideal]
        found.records.append(record)
    _require_some(found, rows, "input or turns")
    return found


def read_hf(files: Files, choices: Choices) -> Imported:
    """Read data sets with columns of the usual names, and the files of RAGChecker and
    open-rag-eval."""
    found = Imported()
    rows: list[Row] = []
    for row in _objects(files, found):
        inner = row.get("results")
        rows += (
            [one for one in inner if isinstance(one, dict)] if isinstance(inner, list) else [row]
        )
    names = {name for row in rows for name in row}
    if {"query_id", "passage_id", "passage"} <= names:
        rows = _grouped(rows)
        names = {name for row in rows for name in row}
    free = names - choices.fields.keys()  # a column chosen for one field is not used for others
    chosen = {
        what: next((name for name in known if name in free), None) for what, known in FIELDS.items()
    }
    chosen["references"] = chosen["references"] or ("answers" if "answers" in free else None)
    if chosen["answer"] == "answer" and not chosen["passages"] and not chosen["references"]:
        raise SettingsError(
            "The data set has an 'answer' and no contexts: it is likely a reference. Say so: --map "
            "answer=references (or --map answer=answer)."
        )
    several = [name for name in FIELDS["answer"] if name in free]
    if len(several) > 1 and "answer" not in choices.fields.values():
        raise SettingsError(
            f"The data set has {joined(several, 5)}: which is the system's answer? Say so: --map "
            f"{several[1]}=answer; the other may be a reference: --map {several[0]}=references."
        )
    for name, what in choices.fields.items():
        if what not in FIELDS:
            raise SettingsError(f"--map {name}={what}: a field is one of {', '.join(FIELDS)}.")
        if name not in names:
            raise SettingsError(f"--map {name}={what}: the data set has no '{name}'.")
        chosen[what] = name
    if rows and chosen["question"] is None:
        raise SettingsError(
            f"No column is the question; there are {joined(sorted(names), 10)}. Say which: "
            "--map COLUMN=question."
        )
    found.notes.append(
        "Read: " + ", ".join(f"{what} from {name}" for what, name in chosen.items() if name) + "."
    )
    for row in rows:
        of = {what: row.get(name) if name else None for what, name in chosen.items()}
        asked = of["question"]
        if not isinstance(asked, str):
            found.dropped["no question"] += 1
            continue
        name = question_id(asked) if of["id"] is None else str(of["id"])
        references = parsed(of["references"])
        if isinstance(references, dict):
            references = references.get("text")
        if chosen["answer"] is None:
            found.questions.append(
                {"id": name, "question": asked, "references": _texts(references)}
            )
            continue
        others = _other_values(row, {name for name in chosen.values() if name}, choices)
        record = _record(name, asked, of["answer"], passages_of(of["passages"]), _texts(references),
                         metadata=others)  # fmt: skip
        if of["run"] is not None:
            record["run"] = str(of["run"])
        found.records.append(record)
    return found


# -- parts ----------------------------------------------------------------------------------------


def _objects(files: Files, found: Imported) -> list[Row]:
    rows = [one for _, of in files for row in of for one in _rows_in(row)]
    objects = [one for one in rows if isinstance(one, dict)]
    if len(objects) < len(rows):
        found.dropped["no JSON object"] += len(rows) - len(objects)
    return objects


def _rows_in(value: Any) -> list[Any]:
    """The rows of a table that pandas or datasets wrote by column; anything else is one row."""
    if not isinstance(value, dict):
        return [value]
    columns = {k: list(of.values()) if isinstance(of, dict) else of for k, of in value.items()}
    asked = next((columns[name] for name in FIELDS["question"] if name in columns), None)
    if (
        not isinstance(asked, list)
        or not all(isinstance(one, str | list) for one in asked)
        or not all(isinstance(of, list) and len(of) == len(asked) for of in columns.values())
    ):
        return [value]
    return [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]


def _cases(row: Row) -> Iterator[Row]:
    """The cases inside results or a test run of deepeval; any other row is a case itself."""
    row = {snake(key): value for key, value in row.items()}
    inside = [row[name] for name in _CASES if isinstance(row.get(name), list | dict)]
    if not inside:
        yield row
    for value in inside:
        for one in value if isinstance(value, list) else [value]:
            if isinstance(one, dict):
                yield from _cases(one)


def _other_values(row: Row, fields: Collection[str], choices: Choices) -> Row:
    """The other values of a row, apart from its fields."""
    left = {name: value for name, value in row.items() if name not in fields}
    return flat(left if choices.keep_users else {k: v for k, v in left.items() if k not in _USERS})


def _require_some(found: Imported, rows: list[Row], wanted: str) -> None:
    """Raise SettingsError if no row of a file has a question."""
    if rows and not found.records and not found.questions:
        raise SettingsError(
            f"No row has {wanted}: the first has {joined(rows[0], 10) or 'nothing'}. Export a row "
            "for each question, as JSON Lines, JSON, CSV or Parquet."
        )


def _record(
    name: str, question: str, answer: Any, passages: list[Row], references: list[str], *,
    metadata: Row | None = None,
) -> Row:  # fmt: skip
    record: Row = {"id": name, "question": question, "passages": passages}
    if answer is None or is_nan(answer):
        record |= {"answer": "", "error": "no answer in the file"}
    elif isinstance(answer, list | dict):
        record["answer"] = text_in(answer, ANSWER_KEYS, ASSISTANT)
    else:
        record["answer"] = str(answer)
    return record | {key: value for key, value in (("references", references),
                                                   ("metadata", metadata)) if value}  # fmt: skip


def _texts(value: Any) -> list[str]:
    return [one for one in listed_in(value) if isinstance(one, str) and one]


def _turns(messages: list[Any]) -> tuple[str | None, list[Row], str | None]:
    """The last question of a conversation, the turns before it, and its answer."""
    thread = [
        (role, text)
        for one in messages
        for role, roles in (("user", USER), ("assistant", ASSISTANT))
        if (text := message(one, roles))
    ]
    last = max((n for n, (role, _) in enumerate(thread) if role == "user"), default=None)
    if last is None:
        return None, [], None
    history = [{"role": role, "text": text} for role, text in thread[:last]]
    answer = next((text for role, text in thread[last + 1 :] if role == "assistant"), None)
    return thread[last][1], history, answer


def _conversation(turns: list[Any], meta: Row) -> list[Row]:
    """One record for each turn of the assistant, with the passages of that turn."""
    history: list[Row] = []
    records: list[Row] = []
    asked = ""
    turns = [t for t in turns if isinstance(t, dict) and isinstance(t.get("content"), str)]
    users_part = "\n".join(turn["content"] for turn in turns if turn.get("role") == "user")
    session = str(meta.get("id", question_id(users_part)))  # many conversations begin alike
    for turn in turns:
        if turn.get("role") == "user":
            asked = turn["content"]
            continue
        given = turn.get("retrieval_context", turn.get("retrievalContext"))
        passages = [_source(one) for one in _texts(given)]
        record = _record(f"{session}/{len(records) + 1}", asked, turn["content"], passages, [],
                         metadata=meta)  # fmt: skip
        record["session"] = session
        if history:
            record["history"] = list(history)
        records.append(record)
        history += [{"role": "user", "text": asked}, {"role": "assistant", "text": turn["content"]}]
    return records


def _split(value: Any, choices: Choices) -> list[str]:
    value = parsed(value)
    if isinstance(value, str) and choices.split:
        return [one for one in value.split(choices.split) if one]
    return _texts(value)


def _source(text: str) -> Row:
    found = _SOURCE.fullmatch(text)
    return {"text": text} if found is None else {"id": found[1], "text": found[2]}


def _grouped(rows: list[Row]) -> list[Row]:
    """Group open-rag-eval's rows, one per passage, by question and run. One of them has the answer.
    An id that is only a position is not kept, so passages with equal texts are the same."""
    found: dict[tuple[str, str], Row] = {}
    for row in rows:
        key = (str(row.get("query_id")), str(row.get("query_run")))
        one = found.setdefault(key, {k: v for k, v in row.items() if not k.startswith("passage")})
        one["generated_answer"] = one.get("generated_answer") or row.get("generated_answer")
        name, text = str(row.get("passage_id")), row.get("passage")
        if _POSITION.fullmatch(name):
            one.setdefault("contexts", []).append({"text": text} if text else {"id": name})
        elif text:
            one.setdefault("contexts", []).append({"id": name, "text": text})
    for one in found.values():
        if one["generated_answer"] in _FAILED:  # the row then has no passage
            one |= {"generated_answer": None, "contexts": []}
    return list(found.values())
