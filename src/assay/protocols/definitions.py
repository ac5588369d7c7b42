"""Definitions of measures, with their sources: the tables of ``definitions.toml``."""

from __future__ import annotations

import tomllib
from importlib.resources import files

from assay.page.page import Definition

_TABLES = tomllib.loads(files("assay.protocols").joinpath("definitions.toml").read_text("utf-8"))


def glossary(table: str) -> tuple[Definition, ...]:
    """The definitions in a table, in its order."""
    return tuple(
        Definition(name, one["says"], one["source"]) for name, one in _TABLES[table].items()
    )
