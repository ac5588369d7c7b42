"""JSON schemas of verdicts: the schema of a task, and the narrower one for replies about a unit.

Schemas use only what servers have in common: closed objects whose fields are all required,
enumerations, ``anyOf``, references, and lengths of lists. (OpenAI's strict mode, xgrammar,
llguidance and llama.cpp's grammars differ in ``prefixItems``, ``uniqueItems`` and ``pattern``.) A
list with one entry per number is therefore requested as an object with the keys "1", "2", … No such
schema can forbid repeated entries, so these are read once, and no check refuses them.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable
from functools import lru_cache
from typing import Any, TypeVar

import orjson
from pydantic import BaseModel, BeforeValidator

Schema = dict[str, Any]
T = TypeVar("T")

TEXT_KEYWORDS = frozenset({"maxLength", "pattern"})
"""Keywords for llguidance only (models in this process). OpenAI's strict mode refuses them, and
under xgrammar's no text could contain a quotation mark or a line break."""
LIST_LENGTHS = frozenset({"minItems", "maxItems"})
"""Keywords that some servers refuse."""


def closed_schema(model: type[BaseModel]) -> Schema:
    """The model's JSON schema, with every object closed and all its fields required."""
    schema: Schema = orjson.loads(_closed(model))
    return schema


@lru_cache(maxsize=256)
def _closed(model: type[BaseModel]) -> bytes:
    schema = model.model_json_schema()

    def close(node: Any) -> None:
        if isinstance(node, dict):
            for noise in ("title", "default", "description"):
                if not isinstance(node.get(noise), dict):
                    node.pop(noise, None)
            if node.get("type") == "object":
                node["additionalProperties"] = False
                node["required"] = list(node.get("properties", {}))
            for child in node.values():
                close(child)
        elif isinstance(node, list):
            for child in node:
                close(child)

    close(schema)
    return orjson.dumps(schema)


def without(schema: Any, keywords: Collection[str]) -> Any:
    """The schema without ``keywords``, at any depth."""
    if isinstance(schema, dict):
        return {k: without(v, keywords) for k, v in schema.items() if k not in keywords}
    return [without(one, keywords) for one in schema] if isinstance(schema, list) else schema


def fields(schema: Schema, model: type[BaseModel] | None = None) -> Schema:
    """The fields of the verdict by name, or those of a ``model`` inside it."""
    found: Schema = (schema if model is None else schema["$defs"][model.__name__])["properties"]
    return found


def closed_object(properties: Schema) -> Schema:
    """Schema of an object with exactly these properties."""
    return {
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
    }


def exactly(count: int) -> Schema:
    """Schema keywords for a list of ``count`` entries."""
    return {"minItems": count, "maxItems": count}


_READABLE = re.compile("[!-~¡-¬®-᙭ᚁ-῿℀-\u2fff、-\ud7ff豈-\ufdff\U00010000-\U0001faff]")
"""A character that is neither blank nor invisible."""


def readable(text: str) -> bool:
    """Whether a text has anything to read."""
    return _READABLE.search(text) is not None


def readable_text(most: int | None = None) -> Schema:
    """Schema of a text that has something to read, and at most ``most`` characters."""
    length = {} if most is None else {"maxLength": most}
    return {"type": "string", "pattern": _READABLE.pattern, **length}


def distinct(items: Iterable[T], text: Callable[[T], str] = str) -> tuple[T, ...]:
    """The items without those whose ``text`` equals an earlier one's but for spacing and case."""
    found: dict[str, T] = {}
    for one in items:
        found.setdefault(" ".join(text(one).split()).casefold(), one)
    return tuple(found.values())


def whole(first: int, last: int) -> Schema:
    """Schema of a whole number from ``first`` to ``last``."""
    return {"type": "integer", "enum": list(range(first, last + 1))}


def by_number(schema: Schema, name: str, model: type[BaseModel], count: int) -> None:
    """Request the list ``name`` of ``model`` as an object with the keys "1" to ``count``, without
    the number that is the first field of each entry. :func:`numbered` reads such replies."""
    _, *rest = fields(schema, model).items()
    schema["$defs"][model.__name__] = closed_object(dict(rest))
    entry = fields(schema)[name]["items"]
    fields(schema)[name] = closed_object({str(n): entry for n in range(1, count + 1)})


def numbered(number: str) -> BeforeValidator:
    """Validator that reads ``{"1": {…}, "2": {…}}`` as a list of its values, with the key as their
    field ``number``. Lists are left as they are."""

    def read(given: Any) -> Any:
        if not isinstance(given, dict):
            return given
        if not all(isinstance(one, dict) and number not in one for one in given.values()):
            raise ValueError(f"must be a list, or objects by number without '{number}'")
        return [{number: key, **one} for key, one in given.items()]

    return BeforeValidator(read)
