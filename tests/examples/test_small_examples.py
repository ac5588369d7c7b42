"""The examples of EXAM++ and SGSS evaluate whole with the labels that come with them."""

import csv

import pytest

from tests.conftest import copy_example

BEST = {"exam": ("EXAM-Cover", ["GOOD", "NARROW", "VAGUE"]), "sgss": ("SGSS", ["ALPHA", "BETA"])}
# All labels are there; one run of exam is silent on a query, and the report says so.
MISSING = {"exam": "1 query left out by runs (VAGUE: 1)", "sgss": "Nothing is missing"}


@pytest.mark.parametrize("name", BEST)
def test_the_example_needs_no_model(assay, tmp_path, name):
    folder = copy_example(name, tmp_path / name)
    done = assay("evaluate", folder, "--labeller", "recorded:recorded.jsonl")
    assert done.returncode == 0, done.stderr
    assert MISSING[name] in (folder / "out" / "report.html").read_text()
    measure, order = BEST[name]
    with (folder / "out" / "scores.csv").open() as file:
        found = {
            r["run"]: float(r["value"]) for r in csv.DictReader(file) if r["measure"] == measure
        }
    assert sorted(found, key=found.get, reverse=True) == order
