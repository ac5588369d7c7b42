"""What reports say that measures are: of every measure that is shown, and of none that is not."""

from __future__ import annotations

import csv
import inspect
import io
import tomllib
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from importlib.resources import files
from typing import Any

import pytest

from assay.api import agreeing, diff_tables, overview
from assay.api.audit import tables
from assay.measures.claims import ANSWER_CELLS, REFERENCE_CELLS
from assay.measures.names import parse_measure
from assay.page import confidence
from assay.protocols import confidence_parts
from assay.protocols.answers.results import RECALL
from assay.protocols.battles import protocol as battles
from assay.protocols.definitions import glossary
from assay.protocols.exam import agreement as exam_agreement
from assay.protocols.rag import findings as rag
from assay.protocols.rag.scoring import HALF
from assay.protocols.sgss import preferences as sgss_preferences
from tests.golden import pins

TABLES: Mapping[str, tuple[str, ...]] = {
    "r2c2": ("confidence", "r2c2", "ranking"),
    "exam": ("exam",),
    "sgss": ("sgss",),
    "trec-rag": ("nuggets", "support", "judgments"),
    "rag": ("rag",),
    "battles": ("battles",),
}
"""Protocol → the tables of definitions.toml that its reports have."""
HEADINGS: Mapping[str, tuple[Any, ...]] = {
    "confidence": (confidence, confidence_parts),
    "exam": (exam_agreement,),
    "sgss": (sgss_preferences,),
    "rag": (rag,),
    "battles": (battles,),
    "audit": (tables,),
    "leaderboards": (overview,),
    "agreement": (agreeing,),
    "differences": (diff_tables,),
}
"""Table → what shows more than scores."""
_FILES = ("scores.csv", "scores_attempted.csv")


def scored(pinned: object, protocol: str) -> Iterator[tuple[str, str]]:
    """Protocols and the measures that their score files name, of a golden."""
    for name, one in pinned.items() if isinstance(pinned, Mapping) else ():
        folder, _, file = name.rpartition("/")
        if isinstance(one, Mapping):
            yield from scored(one, protocol)
        elif file in _FILES:
            for row in csv.DictReader(io.StringIO(one)):
                yield folder or protocol, row["measure"]


@pytest.fixture(scope="module")
def shown() -> Mapping[str, set[str]]:
    """Protocol → the measures that its leaderboards show, over all goldens and by name."""
    found: defaultdict[str, set[str]] = defaultdict(set)
    for path in pins.DATA.glob("*.xz"):
        case = path.name.removesuffix(".json.xz")
        first = "r2c2" if case.startswith(("films", "slide")) else case
        protocol = next((one for one in TABLES if first.startswith(one)), None)
        if protocol is None and case != "several":
            continue  # of commands, or large
        for name, measure in scored(pins.read(case), protocol or ""):
            found[name].add(measure)
    found["r2c2"].add(RECALL)
    found["rag"] |= {*rag.ANSWERS, *rag.REFUSALS, *rag.PASSAGES, *ANSWER_CELLS, *REFERENCE_CELLS}
    found["rag"] |= {"Utilization", *HALF}
    found["battles"] |= {"Rating", "WinRate"}
    return found


def defined(tables: Iterable[str]) -> set[str]:
    """The names in some tables."""
    return {name for table in tables for one in glossary(table) for name in one.name.split(", ")}


def is_of_rankings(measure: str) -> bool:
    """Whether docs/measures.md tells what a measure is (as tests/measures/test_docs_page.py sees
    to)."""
    try:
        parse_measure(measure)
    except ValueError:
        return False
    return True


@pytest.mark.parametrize("protocol", TABLES)
def test_every_measure_that_is_shown_is_defined(protocol: str, shown: Mapping[str, set[str]]):
    known = defined(TABLES[protocol])
    assert shown[protocol]
    bare = {one for one in shown[protocol] if one.partition("@")[0] not in known}
    assert {one for one in bare if not is_of_rankings(one)} == set()


def test_every_definition_is_of_something_that_is_shown(shown: Mapping[str, set[str]]):
    every = tomllib.loads(files("assay.protocols").joinpath("definitions.toml").read_text("utf-8"))
    assert set(every) == {*HEADINGS, *(table for some in TABLES.values() for table in some)}
    for table in every:
        names = {one.partition("@")[0] for p, some in TABLES.items() if table in some
                 for one in shown[p]}  # fmt: skip
        left = defined([table]) - names
        source = "".join(inspect.getsource(one) for one in HEADINGS.get(table, ())).casefold()
        assert {one for one in left if one.casefold() not in source} == set(), table
