"""Completion of imported records: ids, texts by id, sessions, redaction, truncated texts."""

from __future__ import annotations

from collections import Counter
from typing import Any

from assay.formats.imports.common import Choices, Imported, Row
from assay.model.records import text_id

_CUT = ("…", "...", "[truncated]", "<truncated>")
_SAME_ID = (
    "with the run and id of another record (the last is kept; import each run by itself into its "
    "own file, or take ids by --id-from)"
)
_LEAST_CUT = 100
"""Minimum length in characters of a text that may have been truncated by an attribute limit."""


def finished(found: Imported, choices: Choices) -> Imported:
    """Complete the records: ids, texts by id, redaction, marks of truncation. Of several with one
    id, the last is kept (in traces, the latest). The order is that of the file."""
    merged: dict[str, Row] = {}
    for row in found.records:
        if choices.id_from is not None:
            value = row.get("metadata", {}).get(choices.id_from)
            if value is None:
                found.dropped[f"no {choices.id_from} in its metadata"] += 1
                continue
            row["id"] = str(value)
        if not row.get("passages") and choices.drop_unretrieved:
            found.dropped["nothing was retrieved"] += 1
            continue
        _complete(row, choices, found)
        if choices.run is not None:
            row["run"] = choices.run
        key = f"{row.get('run', '')}\t{row['id']}"
        row = {name: row[name] for name in _ORDER if name in row}
        if key in merged:
            # Deleted first, so that the record moves to the place of the last one.
            before = merged.pop(key)
            if found.traces:
                found.counts["retried (the last in time is kept)"] += 1
            elif before != row:
                found.dropped[_SAME_ID] += 1
        merged[key] = row
    found.records = list(merged.values())
    if not choices.not_truncated:
        _mark_cut(found)
    return found


_ORDER = (
    "id", "run", "question", "answer", "passages", "references", "answerable", "ranked", "history",
    "session", "retrieval_query", "reference_passages", "error", "truncated", "metadata",
)  # fmt: skip


_NAMES = ("id", "run", "session", "role", "reference_passages")
"""The fields of a record that are names, not texts, and so are not redacted."""


def _complete(row: Row, choices: Choices, found: Imported) -> None:
    passages: list[Row] = []
    texts: dict[str, str | None] = {}
    for one in row["passages"]:
        if one.get("text") is None and one.get("id") in choices.texts:
            one = {**one, "text": choices.texts[one["id"]]}
        if "id" not in one:
            found.counts["passages without id"] += 1
            one = {"id": text_id(one["text"]), **one}
        if one.get("text") is None:
            found.counts["passages without text"] += 1
        if texts.setdefault(one["id"], one["text"]) != one["text"]:
            one = {**one, "id": f"{one['id']}@{text_id(one['text'] or '')}"}  # another chunk of it
        passages.append(one)  # duplicates too, as answers cite by position
    row["passages"] = passages
    if not choices.redact:
        return

    def hidden(value: Any) -> Any:
        if isinstance(value, list):
            return [hidden(one) for one in value]
        if isinstance(value, dict):
            return {key: one if key in _NAMES else hidden(one) for key, one in value.items()}
        if not isinstance(value, str):
            return value
        left = value
        for pattern in choices.redact:
            left = pattern.sub("[redacted]", left)
        found.counts["texts redacted"] += left != value
        return left

    row |= hidden({key: value for key, value in row.items() if key not in _NAMES})
    for passage in row["passages"]:
        if (passage["text"] or "-").replace("[redacted]", "").strip() == "":
            passage["text"] = None


def _mark_cut(found: Imported) -> None:
    """Mark truncated texts: those with an ending that says so, and, in traces, whose attributes may
    be limited, three or more of exactly the maximum length that do not end a sentence. (In data
    sets these are chunks of equal size.)"""
    texts = [
        (holder, name)
        for row in found.records
        for holder, name in [(row, "answer"), *((p, "text") for p in row["passages"])]
        if isinstance(holder.get(name), str) and holder[name]
    ]
    lengths = Counter(len(holder[name]) for holder, name in texts)
    longest = max(lengths, default=0)
    limit = longest if found.traces and lengths[longest] >= 3 and longest >= _LEAST_CUT else -1
    for holder, name in texts:
        text = holder[name].rstrip()
        at_limit = len(holder[name]) == limit and not text.endswith((".", "!", "?", '"', "”"))
        if text.endswith(_CUT) or at_limit:
            holder["truncated"] = True
            found.counts["answers cut" if name == "answer" else "passages cut"] += 1


def by_session(rows: list[Row], choices: Choices) -> list[Row]:
    """Turns of sessions, which are given in order of time, with the ids ``SESSION/N`` and the
    earlier turns as history."""
    sessions: dict[str, list[Row]] = {}
    for row in rows:
        sessions.setdefault(row.get("session") or f"\0{row['id']}", []).append(row)
    found = []
    for name, turns in sessions.items():
        if len(turns) > 1:
            history: list[Row] = []
            for n, row in enumerate(turns, 1):
                row["id"] = f"{name}/{n}"
                if history:
                    row["history"] = list(history)
                history += [{"role": "user", "text": row["question"]},
                            {"role": "assistant", "text": row["answer"]}]  # fmt: skip
        some = {"first": slice(0, 1), "last": slice(-1, None)}.get(choices.turns, slice(None))
        found += turns[some]
    return found
