"""The Python examples of docs/measures.md run, and its table names every measure."""

from __future__ import annotations

import re

import pytest

from assay.measures import MEASURES
from tests.conftest import ROOT

PAGE = (ROOT / "docs" / "measures.md").read_text(encoding="utf-8")
EXAMPLES = re.findall(r"^```python\n(.*?)^```", PAGE, re.DOTALL | re.MULTILINE)


def test_there_are_examples():
    assert EXAMPLES


@pytest.mark.parametrize("number", range(len(EXAMPLES)))
def test_the_examples_run(number):
    exec(compile(EXAMPLES[number], f"docs/measures.md, example {number + 1}", "exec"), {})


@pytest.mark.parametrize("name", MEASURES)
def test_every_measure_and_parameter_is_in_the_table(name):
    (row,) = [line for line in PAGE.splitlines() if line.startswith(f"| `{name}` |")]
    for parameter in MEASURES[name].parameters:
        assert f"`{parameter}" in row, (name, parameter)
