"""The part of JSON Schema that servers have in common: what fits a schema, and drawing from one.

Any keyword beyond it is an error, so that no task can come to need one.
"""

from __future__ import annotations

import re
from collections.abc import Collection
from random import Random
from typing import Any

_KEYWORDS = {
    "object": {"type", "properties", "required", "additionalProperties"},
    "array": {"type", "items", "minItems", "maxItems"},
    "string": {"type", "enum", "pattern", "maxLength"},
    "integer": {"type", "enum"},
    "number": {"type"},
    "null": {"type"},
}
_LETTERS = 'aBß「7"\\{} \n\u200b\u3000\xad'
_TYPES = {"object": dict, "array": list, "string": str, "integer": int, "number": float}


def _of(schema: dict[str, Any], root: dict[str, Any]) -> list[dict[str, Any]]:
    """The alternatives of a schema."""
    if "$ref" in schema:
        assert set(schema) == {"$ref"}
        return _of(root["$defs"][schema["$ref"].removeprefix("#/$defs/")], root)
    if "anyOf" in schema:
        assert set(schema) == {"anyOf"}
        return [one for each in schema["anyOf"] for one in _of(each, root)]
    assert set(schema) - {"$defs"} <= _KEYWORDS[schema["type"]], schema
    if schema["type"] == "object":
        assert schema["additionalProperties"] is False
        assert schema["required"] == list(schema["properties"])
    return [schema]


def fits(value: Any, schema: dict[str, Any], root: dict[str, Any] | None = None) -> bool:
    """Whether ``value`` is an instance of ``schema``."""
    root = root or schema
    return any(_fits(value, one, root) for one in _of(schema, root))


def _fits(value: Any, schema: dict[str, Any], root: dict[str, Any]) -> bool:
    kind = schema["type"]
    if kind == "null":
        return value is None
    if not isinstance(value, _TYPES[kind]) or isinstance(value, bool):
        return False
    if "enum" in schema:
        return value in schema["enum"]
    if kind == "object":
        fields = schema["properties"]
        return value.keys() == fields.keys() and all(
            fits(value[name], fields[name], root) for name in fields
        )
    if kind in ("array", "string"):
        most = schema.get("maxItems" if kind == "array" else "maxLength", len(value))
        if not schema.get("minItems", 0) <= len(value) <= most:
            return False
    if kind == "string" and not re.search(schema.get("pattern", ""), value):
        return False
    return kind != "array" or all(fits(one, schema["items"], root) for one in value)


def reply(
    rng: Random,
    schema: dict[str, Any],
    distinct: Collection[str] = (),
    root: dict[str, Any] | None = None,
    name: str = "",
) -> Any:
    """A random instance of ``schema``; lists named in ``distinct`` have no duplicates."""
    root = root or schema
    one = rng.choice(_of(schema, root))
    if "enum" in one:
        return rng.choice(one["enum"])
    if one["type"] == "object":
        fields = one["properties"]
        return {key: reply(rng, each, distinct, root, key) for key, each in fields.items()}
    if one["type"] == "array":
        least = one.get("minItems", 0)
        count = rng.randint(least, min(one.get("maxItems", least + 3), least + 3))
        items = [reply(rng, one["items"], distinct, root) for _ in range(count)]
        while name in distinct and len({*map(_once, items)}) < count:
            items = [reply(rng, one["items"], distinct, root) for _ in range(count)]
        return items
    if one["type"] == "string":
        return _text(rng, one)
    if one["type"] == "integer":
        return rng.choice((1, 2, 0, 3, -1))
    return rng.choice((0.0, 1.0, rng.random())) if one["type"] == "number" else None


def _text(rng: Random, schema: dict[str, Any]) -> str:
    """Some odd characters, or a text of the greatest length."""
    most = schema.get("maxLength", 8)
    if most > 8 and rng.random() < 0.3:
        return "x" * int(most)
    while True:
        found = "".join(rng.choices(_LETTERS, k=rng.choice(range(min(most, 8) + 1))))
        if re.search(schema.get("pattern", ""), found):
            return found


def _once(item: Any) -> Any:
    text = item["text"] if isinstance(item, dict) else item
    return text.casefold() if isinstance(text, str) else text
