"""Data sets: ragas, deepeval, and Parquet or JSON with columns of the usual names (hf)."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from assay.formats.imports.common import (
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
    parsed,
    passages_of,
    question_id,
    snake,
)
from assay.model.errors import SettingsError
from assay.model.records import text_id

Files = Sequence[tuple[Path, list[Any]]]
_SOURCE = re.compile(r"deepeval_source=(.*?),deepeval_context=(.*)", re.DOTALL)

FIELDS: Mapping[str, tuple[str, ...]] = {
    "id": ("id", "query_id", "qid", "question_id"),
    "question": ("question", "query", "user_input", "input"),
    "answer": ("answer", "response", "generated_answer", "output", "prediction"),
    "passages": ("contexts", "retrieved_contexts", "documents", "passages", "context",
                 "retrieved_context"),
    "references": ("ground_truth", "ground_truths", "reference", "references", "gt_answer",
                   "expected_output"),
    "run": ("query_run", "run"),
}  # fmt: skip


def read_ragas(files: Files, choices: Choices) -> Imported:
    """ragas' evaluation data sets and results, of this version and the first."""
    found = Imported()
    for row in _objects(files, found):
        asked = parsed(row.get("user_input", row.get("question")))
        history: list[Row] = []
        answer = first_of(row, ("response", "answer"))
        if isinstance(asked, list):
            asked, history, last = _turns(asked)
            answer = answer or last
        if not isinstance(asked, str):
            found.dropped["no question"] += 1
            continue
        texts = _texts(first_of(row, ("retrieved_contexts", "contexts")))
        ids = listed_in(row.get("retrieved_context_ids"))
        passages: list[Row] = [{"text": text} for text in texts]
        for passage, name in zip(passages, ids, strict=False):
            passage["id"] = str(name)
        given = listed_in(row.get("reference_context_ids")) or [
            text_id(text) for text in _texts(row.get("reference_contexts"))
        ]
        scores = {
            f"score.{name}": value
            for name, value in row.items()
            if isinstance(value, float) and not is_nan(value)
        }
        references = _texts(first_of(row, ("reference", "ground_truth", "ground_truths")))
        found.records.append(
            _record(question_id(asked), asked, answer, passages, references, metadata=scores)
            | ({"history": history} if history else {})
            | ({"reference_passages": [str(one) for one in given]} if given else {})
        )
    return found


def read_deepeval(files: Files, choices: Choices) -> Imported:
    """deepeval's data sets and dumps; goldens, which have no answers, are questions."""
    found = Imported()
    for path, _ in files:
        joined = path.suffix.lower() in (".csv", ".jsonl")
        if joined and choices.split is None:
            raise SettingsError(
                f"{path}: deepeval joins contexts by a sign in CSV and JSON Lines. Say which: "
                '--split "|".'
            )
    for row in _objects(files, found):
        row = {snake(key): value for key, value in row.items()}
        meta = flat(row.get("additional_metadata"))
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
    return found


def read_hf(files: Files, choices: Choices) -> Imported:
    """Data sets whose columns have one of the usual names, and the files of RAGChecker and
    open-rag-eval."""
    found = Imported()
    rows: list[Row] = []
    for row in _objects(files, found):
        inner = row.get("results")
        rows += (
            [one for one in inner if isinstance(one, dict)] if isinstance(inner, list) else [row]
        )
    if rows and {"query_run", "passage_id", "passage"} <= rows[0].keys():
        rows = _grouped(rows)
    names = {name for row in rows for name in row}
    chosen = {
        what: next((name for name in known if name in names), None)
        for what, known in FIELDS.items()
    }
    chosen["references"] = chosen["references"] or ("answers" if "answers" in names else None)
    alone = chosen["answer"] == "answer" and not chosen["passages"] and not chosen["references"]
    if alone and "answer" not in choices.fields:
        raise SettingsError(
            "The data set has an 'answer' and no contexts: it is likely a reference. Say so: --map "
            "answer=references (or --map answer=answer)."
        )
    for name, what in choices.fields.items():
        if what not in FIELDS:
            raise SettingsError(f"--map {name}={what}: a field is one of {', '.join(FIELDS)}.")
        if name not in names:
            raise SettingsError(f"--map {name}={what}: the data set has no '{name}'.")
        # A column that is named for one field is no longer another's.
        chosen = {k: None if v == name else v for k, v in chosen.items()} | {what: name}
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
        record = _record(name, asked, of["answer"], passages_of(of["passages"]), _texts(references))
        if of["run"] is not None:
            record["run"] = str(of["run"])
        found.records.append(record)
    return found


# -- parts ----------------------------------------------------------------------------------------


def _objects(files: Files, found: Imported) -> list[Row]:
    rows = [one for _, of in files for one in of]
    objects = [one for one in rows if isinstance(one, dict)]
    if len(objects) < len(rows):
        found.dropped["no JSON object"] += len(rows) - len(objects)
    return objects


def _record(
    name: str, question: str, answer: Any, passages: list[Row], references: list[str], *,
    metadata: Row | None = None,
) -> Row:  # fmt: skip
    record: Row = {"id": name, "question": question, "passages": passages}
    if answer is None or is_nan(answer):
        record |= {"answer": "", "error": "no answer in the file"}
    else:
        record["answer"] = str(answer)
    return record | {key: value for key, value in (("references", references),
                                                   ("metadata", metadata)) if value}  # fmt: skip


def _texts(value: Any) -> list[str]:
    return [one for one in listed_in(value) if isinstance(one, str) and one]


def _turns(messages: list[Any]) -> tuple[str | None, list[Row], str | None]:
    """The last question of a conversation, what was said before it, and what answers it."""
    said = [
        (role, text)
        for one in messages
        for role, roles in (("user", USER), ("assistant", ASSISTANT))
        if (text := message(one, roles))
    ]
    last = max((n for n, (role, _) in enumerate(said) if role == "user"), default=None)
    if last is None:
        return None, [], None
    history = [{"role": role, "text": text} for role, text in said[:last]]
    answer = next((text for role, text in said[last + 1 :] if role == "assistant"), None)
    return said[last][1], history, answer


def _conversation(turns: list[Any], meta: Row) -> list[Row]:
    """A record a turn of the assistant, with the passages of that turn."""
    history: list[Row] = []
    records: list[Row] = []
    asked = ""
    first = next((t["content"] for t in turns if isinstance(t, dict) and t.get("content")), "")
    session = str(meta.get("id", question_id(str(first))))
    for turn in turns:
        if not isinstance(turn, dict) or not isinstance(turn.get("content"), str):
            continue
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
    """open-rag-eval's rows, one a passage, as one a question and run."""
    found: dict[tuple[str, str], Row] = {}
    for row in rows:
        key = (str(row.get("query_id")), str(row.get("query_run")))
        one = found.setdefault(key, {**row, "contexts": []})
        if row.get("passage"):
            one["contexts"].append({"id": row["passage_id"], "text": row["passage"]})
    return [
        {k: v for k, v in one.items() if k not in ("passage", "passage_id")}
        for one in found.values()
    ]
