"""JSON schemas of verdicts: a task's, and the narrower one that a unit's reply is held to.

Only what servers have in common is used: closed objects whose fields are all required,
enumerations, ``anyOf``, references, lengths of lists. (OpenAI's strict mode, xgrammar, llguidance
and llama.cpp's grammars part at ``prefixItems``, ``uniqueItems`` and ``pattern``.) A list with one
entry for each number is therefore asked for as an object with the keys "1", "2", … No such schema
says that no entry of a list comes twice: what does is read once, and refused by no check.
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
"""Keywords for llguidance alone (the models in this process): OpenAI's strict mode refuses them,
and under xgrammar's no text could hold a quotation mark or a line break."""
LIST_LENGTHS = frozenset({"minItems", "maxItems"})
"""Keywords that some servers refuse."""


def closed_schema(model: type[BaseModel]) -> Schema:
    """The model's JSON schema, every object in it closed and with all its fields required."""
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
    """The schema without ``keywords``, wherever they stand."""
    if isinstance(schema, dict):
        return {k: without(v, keywords) for k, v in schema.items() if k not in keywords}
    return [without(one, keywords) for one in schema] if isinstance(schema, list) else schema


def fields(schema: Schema, model: type[BaseModel] | None = None) -> Schema:
    """The fields of the verdict by name, or of a ``model`` that stands in it."""
    found: Schema = (schema if model is None else schema["$defs"][model.__name__])["properties"]
    return found


def closed_object(properties: Schema) -> Schema:
    """An object that has all of these properties and no others."""
    return {
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
    }


def exactly(count: int) -> Schema:
    """What makes a list have ``count`` entries."""
    return {"minItems": count, "maxItems": count}


_READABLE = re.compile("[!-~¡-¬®-᙭ᚁ-῿℀-\u2fff、-\ud7ff豈-\ufdff\U00010000-\U0001faff]")
"""A character that is neither blank nor unseen."""


def readable(text: str) -> bool:
    """Whether there is anything to read."""
    return _READABLE.search(text) is not None


def readable_text(most: int | None = None) -> Schema:
    """A text in which there is something to read, of at most ``most`` characters."""
    length = {} if most is None else {"maxLength": most}
    return {"type": "string", "pattern": _READABLE.pattern, **length}


def distinct(items: Iterable[T], text: Callable[[T], str] = str) -> tuple[T, ...]:
    """The items, of those with an equal ``text`` (but for blanks and letter case) the first."""
    found: dict[str, T] = {}
    for one in items:
        found.setdefault(" ".join(text(one).split()).casefold(), one)
    return tuple(found.values())


def whole(first: int, last: int) -> Schema:
    """A whole number from ``first`` to ``last``."""
    return {"type": "integer", "enum": list(range(first, last + 1))}


def by_number(schema: Schema, name: str, model: type[BaseModel], count: int) -> None:
    """Ask for the list ``name`` of ``model`` as an object with the keys "1" to ``count``, without
    the number that each entry's first field is; :func:`numbered` reads it."""
    _, *rest = fields(schema, model).items()
    schema["$defs"][model.__name__] = closed_object(dict(rest))
    entry = fields(schema)[name]["items"]
    fields(schema)[name] = closed_object({str(n): entry for n in range(1, count + 1)})


def numbered(number: str) -> BeforeValidator:
    """Reads ``{"1": {…}, "2": {…}}`` as the list of its values, which have the key as their field
    ``number``; a list is left as it is."""

    def read(given: Any) -> Any:
        if not isinstance(given, dict):
            return given
        if not all(isinstance(one, dict) and number not in one for one in given.values()):
            raise ValueError(f"must be a list, or objects by number without '{number}'")
        return [{number: key, **one} for key, one in given.items()]

    return BeforeValidator(read)
