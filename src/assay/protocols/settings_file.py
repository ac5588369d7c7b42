"""Reading ``assay.toml`` within limits, and explaining in words what is wrong with it."""

from __future__ import annotations

import difflib
import re
import tomllib
from collections.abc import Collection, Iterator, Sequence
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ValidationError

from assay.model.errors import SettingsError
from assay.model.paths import check_file

_LARGEST = 1_000_000  # bytes
MOST_TOLD = 100
"""Most wrong entries that are reported for one file, as finding what was meant takes time."""
_KEY = r"""(?:[\w-]++|"[^"\n]*+"|'[^'\n]*+')"""
# Reading "a.a.a.…" takes time that grows with the square of its length.
_DEEP = re.compile(rf"(?<![\w-]){_KEY}(?:[ \t]*+\.[ \t]*+{_KEY}){{50}}")


def read_settings(file: Path) -> dict[str, Any]:
    """The tables of ``file``. Raises SettingsError if it cannot be read."""
    check_file(file, _LARGEST, "The settings")
    try:
        text = file.read_text(encoding="utf-8-sig")
        deep = _DEEP.search(text)
        if deep is not None:
            line = text.count("\n", 0, deep.start()) + 1
            raise SettingsError(
                f"{file}:{line}: a name has more than 50 parts: {deep.group()[:40]}… "
                "No settings are nested that deep; remove it."
            )
        raw = tomllib.loads(text)
    except RecursionError:
        raise SettingsError(f"{file}: lists or tables are nested too deeply.") from None
    except UnicodeDecodeError:
        raise SettingsError(f"{file}: the file is not UTF-8. Save it as UTF-8.") from None
    except (ValueError, OSError) as error:  # ValueError also for a number with 5,000 digits
        raise SettingsError(f"{file}: cannot be read: {error}.") from error
    for name, number in _too_large(raw):
        # A hexadecimal number may have any length; Python formats no more than 4,300 digits.
        shown = number if abs(number) < 1 << 99 else "the value"
        raise SettingsError(f"{file}: {name}: {shown} is not a 64-bit number.")
    return raw


def _too_large(value: object, name: str = "") -> Iterator[tuple[str, int]]:
    """Whole numbers too large for a ledger or manifest, with the names of their entries."""
    if isinstance(value, int) and not -(2**63) <= value < 2**63:
        yield name, value
    if isinstance(value, dict):
        for key, inner in value.items():
            yield from _too_large(inner, f"{name}.{key}" if name else str(key))
    if isinstance(value, list):
        for inner in value:
            yield from _too_large(inner, name)


def explain(error: ValidationError, model: type[BaseModel]) -> str:
    """What is wrong with each entry of the tables that ``model`` reads, one line each."""
    lines = []
    for fault in error.errors(include_url=False)[:MOST_TOLD]:
        *place, name = map(str, fault["loc"] or ("",))  # empty if entries contradict each other
        if fault["type"] == "extra_forbidden":
            table = _table(model, place)
            known = [] if table is None else list(table.model_fields)
            wrong = no_entry(name, known, [] if place else _with(name, model))
        elif fault["type"] == "missing":
            wrong = "missing"
        else:
            wrong = fault["msg"].removeprefix("Value error, ")
        lines.append(f"  {': '.join(filter(None, ('.'.join((*place, name)), wrong)))}")
    if error.error_count() > MOST_TOLD:
        lines.append(f"  and {error.error_count() - MOST_TOLD:,} more")
    return "\n".join(lines)


def no_entry(name: str, known: Collection[str], inside: Sequence[str] = ()) -> str:
    """Say that there is no entry with a name, and what may be meant: one that is ``known``, or the
    one of that name in the tables ``inside``."""
    near = difflib.get_close_matches(name[:50], known, n=1)
    if inside:
        return f"no such entry here; it belongs in [{'] or ['.join(inside)}]"
    if near:
        return f"no such entry; did you mean {near[0]}?"
    return f"no such entry; there are {', '.join(sorted(known))}" if known else "no such entry"


def _with(name: str, model: type[BaseModel]) -> list[str]:
    """The tables directly within that of ``model`` that have an entry with a name."""
    inner = {section: _table(model, [section]) for section in model.model_fields}
    return [section for section, table in inner.items() if table and name in table.model_fields]


def _table(model: type[BaseModel], place: Sequence[str]) -> type[BaseModel] | None:
    """The model of the table at a place; None if its names are the user's."""
    for part in place:
        inner = model.model_fields[part].annotation if part in model.model_fields else None
        if not (isinstance(inner, type) and issubclass(inner, BaseModel)):
            return None
        model = inner
    return model
