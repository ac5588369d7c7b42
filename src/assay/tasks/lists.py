"""Rules for lists in verdicts: their lengths, and that their texts are not blank.

Each rule gives a check together with the schema under which every reply passes it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from pydantic import BaseModel

from assay.tasks.base import Unit, Verdict
from assay.tasks.schemas import Schema, exactly, fields, readable, readable_text


def list_of_texts(
    field: str,
    count: Callable[[Any], tuple[int, int]],
    longest: int | None = None,
    model: type[BaseModel] | None = None,
) -> Mapping[str, Any]:
    """``check`` and ``narrow`` of a task whose list ``field`` has texts that are not blank and have
    at most ``longest`` characters, if given. The texts are in the field ``text`` of ``model``, if
    given. ``count`` returns the least and the largest length of the list for a unit."""

    def check(unit: Unit, verdict: Verdict) -> str | None:
        entries = getattr(verdict, field)
        texts = entries if model is None else [one.text for one in entries]
        least, most = count(unit)
        if not least <= len(texts) <= most:
            wanted = f"{least} to {most}" if least else f"at most {most}"
            wanted = f"{most}" if least == most else wanted
            return f"'{field}' must hold {wanted} entries; it holds {len(texts)}"
        if not all(map(readable, texts)):
            return f"'{field}' must hold no empty text"
        if longest is not None and max(map(len, texts), default=0) > longest:
            return f"a text in '{field}' has at most {longest} characters"
        return None

    def narrow(unit: Unit, schema: Schema) -> None:
        least, most = count(unit)
        listed, text = fields(schema)[field], readable_text(longest)
        listed.update(minItems=least, maxItems=most)
        if model is None:
            listed["items"] = text
        else:
            fields(schema, model)["text"] = text

    return {"check": check, "narrow": narrow}


def one_for_each(items: str, field: str) -> Mapping[str, Any]:
    """``check`` and ``narrow`` of a task whose list ``field`` has an entry for each of
    ``items``."""

    def check(unit: Unit, verdict: Verdict) -> str | None:
        wanted, given = len(getattr(unit, items)), len(getattr(verdict, field))
        if wanted == given:
            return None
        return f"'{field}' must hold {wanted} entries, one for each of '{items}'; it holds {given}"

    def narrow(unit: Unit, schema: Schema) -> None:
        fields(schema)[field].update(exactly(len(getattr(unit, items))))

    return {"check": check, "narrow": narrow}


def each_once(field: str, count: int, given: Iterable[int], what: str = "numbers") -> str | None:
    """What is wrong with the numbers ``given`` in the list ``field``, which should be 1 to
    ``count``, each once; None if nothing is."""
    wanted, found = list(range(1, count + 1)), sorted(given)
    if found == wanted:
        return None
    return f"'{field}' must hold each of the {what} {wanted} exactly once, it holds {found}"
