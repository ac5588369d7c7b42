"""``assay-judge-large``: the distribution of the larger judge, and what of it is installed."""

from __future__ import annotations

import json
import os
import tomllib

import pytest

from assay.labellers.judge import LARGE
from assay.labellers.judge.packages import JUDGES
from tests.conftest import ROOT

FOLDER = ROOT / "judges" / "large"
PASSAGE = "Casablanca is a film of 1942 that Michael Curtiz directed for Warner Bros."
CLAIMS = {
    "yes": "Curtiz was the director of Casablanca.",
    "no": "Casablanca was directed by Billy Wilder.",
}


@pytest.mark.skipif(not FOLDER.is_dir(), reason="the source archive has no larger judge")
def test_it_is_what_assay_expects():
    judge = JUDGES[LARGE]
    about = tomllib.loads((FOLDER / "pyproject.toml").read_text())["project"]
    assert about["name"] == judge.requirement
    assert (ROOT / judge.checkout).resolve() == FOLDER
    assert about["license"] == "Apache-2.0"
    assert "dependencies" not in about
    assert (FOLDER / "LICENSE").read_bytes() == (ROOT / "LICENSE").read_bytes()
    module = FOLDER / "src" / str(judge.place)
    assert (module / "py.typed").is_file()
    assert all(one.stat().st_size <= 16e6 for one in (module / "data").iterdir())


def test_the_one_that_is_installed_judges(assay, tmp_path):
    if JUDGES[LARGE].missing() and not os.environ.get("CI"):
        pytest.skip("assay-judge-large is not installed")
    pairs = tmp_path / "pairs.jsonl"
    rows = ({"id": name, "claim": one, "passage": PASSAGE} for name, one in CLAIMS.items())
    pairs.write_text("".join(json.dumps(row) + "\n" for row in rows))
    done = assay("label", pairs, "--task", "support", "--labeller", "embedded:large", "--json")
    assert done.returncode == 0, done.stderr
    assert {one["id"]: one["label"] for one in json.loads(done.stdout)["labels"]} == {
        name: name for name in CLAIMS
    }
