"""Labelling forms: the texts of a unit, and the controls for a verdict.

No task is treated specially. Controls are derived from the schema that a reply about the unit must
follow (:meth:`assay.tasks.base.Task.schema_of`), so that custom tasks have forms, too.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Mapping, Sequence
from typing import Any

from pydantic import ValidationError

from assay.measures.answers import STOP_WORDS
from assay.tasks.base import AnyTask, Unit
from assay.tasks.schemas import Schema
from assay.web.values import Json

QUERY_FIELDS = ("question", "query", "narrative")
"""Fields of units whose words are highlighted in the other texts."""

_REASON = "reason"
_MOST_LIT = 200


def texts(task: AnyTask, unit: Unit) -> list[Json]:
    """The non-empty fields of a unit in order: ``name``, ``label``, whether it is ``judged``,
    whether its words are highlighted in the others (``query``), and the ``value``, a text or list
    of texts."""
    lighting = _lighting(task, unit)
    shown = []
    for name in type(unit).model_fields:
        value = getattr(unit, name)
        if not value or not isinstance(value, str | tuple):
            continue
        shown.append(
            {
                "name": name,
                "label": _in_words(name),
                "judged": name in task.judged_fields,
                "query": name in lighting,
                "value": _plain(value),
            }
        )
    return shown


def words_of(task: AnyTask, unit: Unit) -> list[str]:
    """The words to highlight: the query's or, without one, the judged text's, except common
    ones."""
    found: dict[str, None] = {}
    for name in _lighting(task, unit):
        found |= dict.fromkeys(_words(getattr(unit, name))[:_MOST_LIT])
    return [one for one in found if one not in STOP_WORDS and (len(one) > 1 or not one.isascii())]


def _words(text: str) -> list[str]:
    """Runs of letters, digits and their marks (Hindi and Thai vowels, Thai tones)."""
    characters = (
        one if one.isalnum() or unicodedata.category(one)[0] == "M" else " " for one in text
    )
    return "".join(characters).lower().split()


def _lighting(task: AnyTask, unit: Unit) -> list[str]:
    """Names of the fields whose words are highlighted in the others."""
    texts = [one for one in type(unit).model_fields if isinstance(getattr(unit, one), str)]
    queries = [one for one in texts if one in QUERY_FIELDS]
    return queries or [one for one in texts if one in task.judged_fields][:1]


def controls(task: AnyTask, unit: Unit, given: Mapping[str, str] | None = None) -> list[Json]:
    """The controls for a verdict on ``unit``, one per field except its reason. In lists of entries,
    fields with a fixed value in ``given`` show it."""
    schema = task.schema_of(unit)
    found = _controls(schema, schema, task, unit)
    for column in (column for one in found for column in one.get("columns", ())):
        if given and column["field"] in given:
            column["label"] += f" (given: {given[column['field']]})"
    return found


def in_words_of(words: Mapping[str, str], shown: list[Json]) -> list[Json]:
    """Rename texts or controls by the labeller's ``words``, as far as these contain their names."""
    for one in shown:
        name = str(one.get("name", one.get("field", one.get("value"))))
        if "value" not in one or "name" in one or one["label"] == _label(one["value"]):
            one["label"] = words.get(name, one["label"])
        for inner in ("columns", "options"):
            in_words_of(words, one.get(inner, []))
    return shown


def names(task: AnyTask) -> set[str]:
    """Names of a task that :func:`in_words_of` can replace: fields, and the values of a verdict."""
    found, left = {"YES", "NO", *task.unit.model_fields}, [task.verdict.model_json_schema()]
    while left:
        schema = left.pop()
        found |= {*schema.get("properties", ()), *map(str, schema.get("enum", ()))}
        inner = (*schema.values(), *schema.get("anyOf", ()))
        left += [one for one in inner if isinstance(one, dict)]
    return found


def has_reason(task: AnyTask) -> bool:
    """Whether the task's verdict includes a reason."""
    return _REASON in task.verdict.model_fields


def _controls(schema: Schema, root: Schema, task: AnyTask, unit: Unit) -> list[Json]:
    return [
        _control(name, inner, root, task, unit)
        for name, inner in schema.get("properties", {}).items()
        if name != _REASON
    ]


def _control(name: str, given: Schema, root: Schema, task: AnyTask, unit: Unit) -> Json:
    schema = _resolved(given, root)
    control: Json = {"field": name, "label": _in_words(name)}
    options = _options(name, schema, task)
    if options is not None:
        return control | {"kind": "choice", "options": options}
    if schema.get("type") == "integer":
        return control | {"kind": "number"}
    if schema.get("type") == "object":
        numbers = list(schema["properties"])
        entry: Schema = next(iter(schema["properties"].values()), {})
        return control | _rows(numbers, entry, root, task, unit, name)
    if schema.get("type") == "array":
        return control | _list(schema, root, task, unit, name)
    return control | {"kind": "text", "long": True}


def _list(schema: Schema, root: Schema, task: AnyTask, unit: Unit, name: str) -> Json:
    inner = _resolved(schema["items"], root)
    options = _options(name, inner, task)
    exact = schema.get("minItems") == schema.get("maxItems")
    if options is not None and exact and "minItems" in schema:
        items = _items(unit, schema["minItems"], name)
        return {"kind": "items", "shape": "list", "items": items, "options": options}
    most = schema.get("maxItems")
    if inner.get("type") == "object":
        columns = _controls(inner, root, task, unit)
        main = next((one["field"] for one in columns if one["kind"] == "text"), "")
        return {
            "kind": "records",
            "columns": columns,
            "most": most,
            "from": _begun(task, unit, main),
        }
    if inner.get("type") == "integer":
        return {"kind": "order", "items": _items(unit, schema.get("minItems", 0), name)}
    return {"kind": "texts", "most": most, "from": _lists(unit).get("nuggets", [])}


def _rows(
    numbers: Sequence[str], entry: Schema, root: Schema, task: AnyTask, unit: Unit, name: str
) -> Json:
    """Control for a list whose schema is an object with the keys "1", "2", …"""
    columns = _controls(_resolved(entry, root), root, task, unit)
    items = _items(unit, len(numbers), name)
    if len(columns) == 1 and columns[0]["kind"] == "choice":
        return {
            "kind": "items",
            "shape": "numbered",
            "inner": columns[0]["field"],
            "items": items,
            "options": columns[0]["options"],
        }
    for column in columns:
        if column["kind"] == "choice":
            _named_options(column, unit)
    return {"kind": "rows", "items": items, "columns": columns}


def _named_options(column: Json, unit: Unit) -> None:
    """Label options that are entry numbers with those entries of the unit's list of that name."""
    named = _lists(unit).get(f"{column['field']}s", [])
    for option in column["options"]:
        at = option["value"]
        if isinstance(at, int) and 1 <= at <= len(named):
            option["label"] = named[at - 1]
        elif at == 0 and named:
            option["label"] = "None of them"


def _options(name: str, schema: Schema, task: AnyTask) -> list[Json] | None:
    """The values of an enumeration, from low to high."""
    if schema.get("type") == "boolean":
        values: list[Any] = ["NO", "YES"]
    elif "enum" in schema:
        values = list(schema["enum"])
    else:
        return None
    order = task.orders.get(name)
    if set(values) == {"YES", "NO"}:
        values = ["NO", "YES"]
    elif order is not None and set(order) == set(values):
        values = list(order)
    elif all(isinstance(one, int) for one in values):
        values.sort()
    return [{"value": one, "label": _label(one)} for one in values]


def _label(value: object) -> str:
    return str(value) if isinstance(value, int) else _in_words(str(value).lower())


def _resolved(schema: Schema, root: Schema) -> Schema:
    """A schema with references resolved and alternative objects merged."""
    if "$ref" in schema:
        schema = root["$defs"][schema["$ref"].rpartition("/")[2]]
    kinds = schema.get("anyOf")
    if kinds is None:
        return schema
    resolved = [_resolved(one, root) for one in kinds]
    if any("properties" not in one for one in resolved):
        return next((one for one in resolved if one.get("type") != "null"), resolved[0])
    joined: Json = {}
    for one in resolved:
        for name, inner in one["properties"].items():
            before = joined.get(name)
            if before is not None and "enum" in before and "enum" in inner:
                inner = {**inner, "enum": [*before["enum"], *inner["enum"]]}
            joined[name] = inner if before is None or "enum" in inner else before
    for inner in joined.values():
        if inner.get("enum") == [""]:
            del inner["enum"]
    return {"type": "object", "properties": joined}


def _lists(unit: Unit) -> dict[str, list[str]]:
    values = ((name, getattr(unit, name)) for name in type(unit).model_fields)
    return {name: _plain(value) for name, value in values if isinstance(value, tuple)}


def _items(unit: Unit, count: int, name: str) -> list[str]:
    """The unit's list with ``count`` entries: the one with this name, or else the last, since the
    list that varies comes last."""
    named = _lists(unit).get(name, [])
    fitting = [one for one in (*_lists(unit).values(), named) if len(one) == count]
    return fitting[-1] if fitting else [str(n) for n in range(1, count + 1)]


def _begun(task: AnyTask, unit: Unit, name: str) -> list[Json]:
    """Initial entries of a list: the unit's own text, if that is what is edited."""
    text = getattr(unit, task.judged_fields[0])
    return [{name: text}] if isinstance(text, str) and text and name else []


def verdict_of(
    task: AnyTask, unit: Unit, given: Mapping[str, Any]
) -> tuple[Json | None, str | None]:
    """A person's verdict as it is stored, or None and an error message."""
    try:
        made = task.verdict.model_validate(dict(given))
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        place = " ".join(_in_words(str(part)) for part in first["loc"]) or "The verdict"
        what = first["msg"].removeprefix("Value error, ").lower()
        return None, f"{place}: {what}."
    wrong = (task.person_check or task.check)(unit, made)
    if wrong:
        return None, f"{wrong[0].upper()}{wrong[1:]}."
    return made.model_dump(mode="json"), None


def _plain(value: Any) -> Any:
    if isinstance(value, tuple):
        return [" · ".join(one) if isinstance(one, tuple) else str(one) for one in value]
    return str(value)


def _in_words(name: str) -> str:
    words = name.replace("_", " ").replace("dont ", "don’t ").strip()
    return words[:1].upper() + words[1:]
