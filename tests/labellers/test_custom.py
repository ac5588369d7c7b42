"""Functions and classes of one's own as labellers, through the command line and in ensembles."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from assay.labellers.custom import custom_labeller
from assay.model.errors import SettingsError
from tests.films import FILMS, PAIRS

MODULE = '''
from assay.labellers.base import BaseLabeller, Outcome
from assay.model.labels import LabellerId, Status


def words(task, unit):
    """Entailed if half of the nugget's words stand in the passage; an answer if gold is in it."""
    if task == "r2c2.entailment":
        there = set(unit["passage"].lower().split())
        wanted = unit["nugget"].lower().split()
        return {"entailed": sum(word in there for word in wanted) * 2 >= len(wanted)}
    if task == "r2c2.answer":
        right = any(gold.lower() in unit["answer"].lower() for gold in unit["gold"])
        count = len(unit["nuggets"])
        helps = [{"nugget": n + 1, "helped": right} for n in range(count)]
        return {"correct": right, "nuggets": helps, "reason": "gold"}
    return None


async def later(task, unit):
    return words(task, unit)


later.concurrency = 4
later.version = "7"


def odd(task, unit):
    return {"entailed": "perhaps"}


def breaks(task, unit):
    raise RuntimeError("out of ink")


class Never(BaseLabeller):
    @property
    def id(self):
        return LabellerId("never", "custom", {})

    async def label(self, request):
        return Outcome(Status.OK, request.task.verdict(entailed=False))


class NoLabeller:
    pass
'''


@pytest.fixture
def films(tmp_path):
    folder = tmp_path / "films"
    folder.mkdir()
    for name in ("questions.tsv", "pr", "ac"):
        os.symlink(FILMS / name, folder / name)
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "my_judges.py").write_text(MODULE)
    return folder


def assay(films, *arguments, labellers='default = "my_judges:words"', more="", path=True):
    (films / "assay.toml").write_text(
        f'[evaluation]\nprotocol = "r2c2"\n[inputs]\nquestions = "questions.tsv"\n'
        f'pr_runs = ["pr/*.txt"]\nac_runs = ["ac/*.txt"]\n[labellers]\n{labellers}\n{more}'
    )
    environment = {**os.environ, "PYTHONPATH": str(films.parent / "mine")} if path else None
    command = [sys.executable, "-m", "assay.cli.main", arguments[0], str(films), *arguments[1:]]
    return subprocess.run(command, env=environment, capture_output=True, text=True, check=False)


def test_a_function_judges_an_evaluation_once(films):
    done = assay(films, "evaluate", "--json")
    assert done.returncode == 0, done.stderr
    document = json.loads(done.stdout)
    assert document["labellers"]["r2c2.answer"] == "my_judges:words"
    assert document["missing"] == 0
    assert document["judging"]["unpriced"] == 0
    again = json.loads(assay(films, "evaluate", "--json").stdout)
    assert again["judging"]["asked"] == 0
    assert again["scores"] == document["scores"]


def test_another_version_of_the_function_is_asked_again(films):
    first = json.loads(assay(films, "evaluate", "--json").stdout)
    module = films.parent / "mine" / "my_judges.py"
    module.write_text(MODULE.replace("* 2 >=", "* 3 >="))
    again = json.loads(assay(films, "evaluate", "--json").stdout)
    assert first["judging"]["asked"] > again["judging"]["asked"] > PAIRS  # but for dialogue acts


def test_async_functions_and_classes_serve_in_an_ensemble(films):
    done = assay(
        films,
        "evaluate",
        "--json",
        labellers='default = "ensemble:jury"\nanswer = "my_judges:later"',
        more='[ensembles.jury]\nmembers = ["my_judges:later", "my_judges:Never"]\n',
    )
    assert done.returncode == 0, done.stderr
    document = json.loads(done.stdout)
    assert document["labellers"]["r2c2.entailment"] == "ensemble:jury"
    # Ties go to the stricter: with one that always says no, nothing is entailed.
    marks = [notes["marks"] for notes in document["runs"].values()]
    assert sum(one["R"] + one["N"] for one in marks) == 0
    assert sum(one["B"] for one in marks) > 0


def test_a_verdict_that_does_not_fit_is_a_failed_label(films):
    done = assay(films, "evaluate", labellers='default = "rules"\nentailment = "my_judges:odd"')
    assert done.returncode == 1
    assert "Traceback" not in done.stderr
    assert "could not be used" in done.stderr


def test_an_exception_ends_the_run_with_its_text(films):
    done = assay(films, "evaluate", labellers='default = "rules"\nentailment = "my_judges:breaks"')
    assert done.returncode == 3
    assert "my_judges:breaks raised RuntimeError: out of ink" in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize(
    ("spec", "why"),
    [
        ("my_judges:nobody", "has no 'nobody'"),
        ("my_judges:NoLabeller", "neither a function nor a labeller"),
        ("no_such_module:x", "cannot be imported"),
        ("no labeller", "is no labeller"),
    ],
)
def test_what_is_no_labeller_is_said_so(films, spec, why):
    done = assay(films, "evaluate", labellers=f'default = "{spec}"')
    assert done.returncode == 2
    assert why in done.stderr
    assert "Traceback" not in done.stderr


def test_a_folder_cannot_bring_code_along(films):
    (films / "my_judges.py").write_text(MODULE)
    done = assay(films, "evaluate", path=False)
    assert done.returncode == 2
    assert "cannot be imported" in done.stderr


def test_ensembles_that_cannot_be_are_said_so(films):
    cases = {
        "": "[ensembles.jury] is missing",
        '[ensembles.jury]\nmembers = ["rules", "rules"]': "names a member twice",
        '[ensembles.jury]\nmembers = ["rules"]\nrule = "weighted"': "needs weights",
        '[ensembles.jury]\nmembers = ["rules"]\nweights = [1.0, 2.0]': "weight for each member",
        '[ensembles.jury]\nmembers = ["rules"]\nsamples = 3': "says the same each time",
        '[ensembles.jury]\nmembers = ["ensemble:jury"]': "is an ensemble",
        '[ensembles.jury]\nmembers = ["rules"]\nrule = "loudest"': "rule",
        '[ensembles.jury]\nmembers = ["rules"]': "cannot do r2c2.entailment",
    }
    for more, why in cases.items():
        done = assay(films, "evaluate", labellers='default = "ensemble:jury"', more=more)
        assert done.returncode == 2, (more, done.stderr)
        assert why in done.stderr.replace("\n", " "), (more, done.stderr)


def test_entry_points_are_specs(monkeypatch):
    class Point:
        name = "mine"

        def load(self):
            return lambda task, unit: None

    monkeypatch.setattr(
        "assay.labellers.custom.entry_points",
        lambda group, name=None: [Point()] if name in (None, "mine") else [],
    )
    assert custom_labeller("mine").id.name == "mine"
    assert custom_labeller("other") is None
    with pytest.raises(SettingsError, match="cannot be imported"):
        custom_labeller("nowhere.at_all:x")


def test_the_example_of_the_documentation(films):
    page = (Path(__file__).parents[2] / "docs" / "labellers.md").read_text()
    (code,) = re.findall(r"^```python\n(.*?)^```", page, re.DOTALL | re.MULTILINE)
    (films.parent / "mine" / "my_judges.py").write_text(code)
    done = assay(
        films,
        "judge",
        "--labeller",
        "my_judges:overlap",
        labellers='default = "rules"',
    )
    assert done.returncode == 1, done.stderr  # it has no word on the answers
    command = [sys.executable, "-m", "assay.cli.main", "labels", "stats", str(films), "--json"]
    stats = json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout)
    assert ("r2c2.entailment", "my_judges:overlap", "ok", PAIRS) in [
        (row["task"], row["labeller"], row["status"], row["labels"]) for row in stats
    ]
