"""The part of JSON Schema that servers have in common: what fits a schema, and drawing from one.

Any keyword beyond it is an error, so that no task can come to need one.
"""

from __future__ import annotations

import re
from collections.abc import Collection
from typing import Any

from hypothesis import strategies as st

_KEYWORDS = {
    "object": {"type", "properties", "required", "additionalProperties"},
    "array": {"type", "items", "minItems", "maxItems"},
    "string": {"type", "enum", "pattern", "maxLength"},
    "integer": {"type", "enum"},
    "number": {"type"},
    "null": {"type"},
}
_TYPES = {"object": dict, "array": list, "string": str, "integer": int, "number": float}


def _of(schema: dict[str, Any], root: dict[str, Any]) -> list[dict[str, Any]]:
    """The alternatives that a schema stands for."""
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


def replies(
    schema: dict[str, Any],
    distinct: Collection[str] = (),
    root: dict[str, Any] | None = None,
    name: str = "",
) -> st.SearchStrategy[Any]:
    """Instances of ``schema``. Nothing comes twice in the lists called ``distinct``."""
    root = root or schema
    drawn = [_drawn(one, distinct, root, name) for one in _of(schema, root)]
    return drawn[0] if len(drawn) == 1 else st.one_of(drawn)


def _drawn(
    schema: dict[str, Any], distinct: Collection[str], root: dict[str, Any], name: str
) -> st.SearchStrategy[Any]:
    if "enum" in schema:
        return st.sampled_from(schema["enum"])
    if schema["type"] == "object":
        fields = schema["properties"]
        parts = {key: replies(one, distinct, root, key) for key, one in fields.items()}
        return st.fixed_dictionaries(parts)
    if schema["type"] == "array":
        least = schema.get("minItems", 0)
        most = min(schema.get("maxItems", least + 3), least + 3)
        items = replies(schema["items"], distinct, root)
        unique = {"unique_by": _once} if name in distinct else {}
        return st.lists(items, min_size=least, max_size=most, **unique)
    if schema["type"] == "string":
        most = schema.get("maxLength", 8)
        drawn = st.text(st.sampled_from('aBß「7"\\{} \n\u200b\u3000\xad'), max_size=min(most, 8))
        longest = st.just("x" * most) if most > 8 else st.nothing()
        pattern = re.compile(schema.get("pattern", ""))
        # Of pattern.search itself Hypothesis would make a class of all characters there are.
        return drawn.filter(lambda text: pattern.search(text) is not None) | longest
    if schema["type"] == "integer":
        return st.sampled_from((1, 2, 0, 3, -1))
    return st.floats(0, 1) if schema["type"] == "number" else st.none()


def _once(item: Any) -> Any:
    text = item["text"] if isinstance(item, dict) else item
    return text.casefold() if isinstance(text, str) else text
