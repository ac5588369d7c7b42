"""``assay.toml`` as it stands in a file: what is read of it, and within which limits."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from assay.model.errors import SettingsError
from assay.model.places import check_file

_LARGEST = 1_000_000  # bytes
_KEY = r"""(?:[\w-]++|"[^"\n]*+"|'[^'\n]*+')"""
# Reading "a.a.a.…" takes time that grows with the square of its length.
_DEEP = re.compile(rf"(?<![\w-]){_KEY}(?:[ \t]*+\.[ \t]*+{_KEY}){{50}}")


def read_settings(file: Path) -> dict[str, Any]:
    """The tables of ``file``. Raises SettingsError where it cannot be read."""
    check_file(file, _LARGEST, "The settings")
    try:
        text = file.read_text(encoding="utf-8-sig")
        deep = _DEEP.search(text)
        if deep is not None:
            line = text.count("\n", 0, deep.start()) + 1
            raise SettingsError(
                f"{file}:{line}: a name has more than 50 parts: {deep.group()[:40]}… "
                "Entries of tables in tables that deep mean nothing here; remove it."
            )
        raw = tomllib.loads(text)
    except RecursionError:
        raise SettingsError(f"{file}: lists or tables nest too deeply.") from None
    except (ValueError, OSError) as error:  # also of a whole number of 5,000 digits
        raise SettingsError(f"{file}: cannot be read: {error}.") from error
    for name, number in _too_large(raw):
        shown = number if abs(number) < 1 << 99 else "what stands there"
        raise SettingsError(f"{file}: {name}: {shown} is no number of 64 bits.")
    return raw


def _too_large(value: object, name: str = "") -> Iterator[tuple[str, int]]:
    """Whole numbers that no ledger and no manifest can hold, with the names of their entries."""
    if isinstance(value, int) and not -(2**63) <= value < 2**63:
        yield name, value
    if isinstance(value, dict):
        for key, inner in value.items():
            yield from _too_large(inner, f"{name}.{key}" if name else str(key))
    if isinstance(value, list):
        for inner in value:
            yield from _too_large(inner, name)
