"""``assay audit`` through the command line, on the examples and the packaged judge."""

from __future__ import annotations

import csv
import io
import json

import pytest

from assay.api.audit.findings import COLUMNS
from tests.conftest import copy_example


@pytest.fixture
def films(tmp_path):
    """The films example without what was made of it."""
    return copy_example("films", tmp_path / "films")


def test_the_films_judge_is_audited_once(assay, films):
    done = assay("audit", films)
    assert done.returncode == 2
    assert "judge" in done.stderr
    assert assay("judge", films).returncode == 0
    probes = ("--probe", "stuffing", "--probe", "swap", "--probe", "order", "--n", 6)
    ahead = json.loads(assay("audit", films, *probes, "--dry-run", "--json").stdout)["ahead"]
    asked = sum(row["to_ask"] for row in ahead)
    shown = assay("audit", films, *probes, "--dry-run", env={"COLUMNS": "80"}).stdout.splitlines()
    assert "Forecast of audit:embedded:judge (nothing was asked)" in map(str.strip, shown)
    assert any(line.startswith(" r2c2.entailment ") for line in shown)
    assert max(map(len, shown)) <= 80
    assert asked > 20
    assert not (films / "out").exists()
    done = assay("audit", films, *probes, "--json")
    assert done.returncode == 0, done.stderr
    said = json.loads(done.stdout)
    assert said["judging"]["asked"] == asked
    rows = {(one["probe"], one["variant"], one["of"]): one for one in said["probes"]}
    numbers = rows["swap", "number", "r2c2.entailment"]
    assert (numbers["before"], numbers["up"]) == (1.0, 0)
    assert rows["order", "shuffled", "r2c2.answer"]["value"] == 1.0
    assert rows["stuffing", "words", "r2c2.entailment"]["against"] == "other words"
    table = assay("audit", films, *probes, "--csv")
    header, *cells = csv.reader(io.StringIO(table.stdout))
    assert header == list(COLUMNS)
    assert len(cells) == len(said["probes"])
    shown = assay("audit", films, *probes)
    assert "Nothing to ask" in shown.stderr
    assert "swap: number" in shown.stdout
    assert "makes no claim" not in shown.stdout
    html = (films / "out" / "audit.html").read_text(encoding="utf-8")
    assert "<script src" not in html
    assert "how the judge can be fooled" in html
    assert json.loads((films / "out" / "audit.json").read_bytes())["probes"] == said["probes"]
    labels = assay("labels", "export", films).stdout.splitlines()
    audited = [json.loads(one) for one in labels if '"audit:' in one]
    assert len(audited) == asked
    assert {one["detail"]["audit"]["probe"] for one in audited} == {"stuffing", "swap", "order"}


def test_trec_rag_with_an_ensemble(assay, tmp_path):
    folder = copy_example("trec-rag", tmp_path / "trec-rag")
    settings = (folder / "assay.toml").read_text(encoding="utf-8")
    (folder / "assay.toml").write_text(
        settings.replace('default = "embedded"', 'default = "ensemble:two"')
        + '\n[ensembles.two]\nmembers = ["embedded"]\n',
        encoding="utf-8",
    )
    before = assay("evaluate", folder, "--json")
    assert before.returncode == 0, before.stderr
    done = assay("audit", folder, "--probe", "repeat", "--probe", "length", "--n", 4, "--json")
    assert done.returncode == 0, done.stderr
    rows = {(one["probe"], one["variant"], one["of"]): one
            for one in json.loads(done.stdout)["probes"]}  # fmt: skip
    same = rows["repeat", "the same again", "trec_rag.support"]
    assert (same["n"], same["value"], same["labeller"]) == (4, 1.0, "ensemble:two")
    assert rows["length", "padded", "trec_rag.assignment"]["n"] == 4
    after = assay("score", folder, "--json")
    assert json.loads(after.stdout)["scores"] == json.loads(before.stdout)["scores"]
    stats = assay("labels", "stats", folder).stdout
    assert "ensemble:audit:two" in stats.replace("\n", "")
    assert "audit:embedded" in stats


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (("--probe", "luck"), "There is no probe luck. Probes: repeat, order"),
        (("--family", "R1"), "write it as NAME=FAMILY"),
        (("--level", "1.5"), "at most 0.9999"),
        (("--level", "0.99999"), "at most 0.9999"),
        (("--budget", "1", "--probe", "drift"), "judge"),
    ],
)
def test_what_cannot_be_done_is_said(assay, films, arguments, says):
    done = assay("audit", films, *arguments)
    assert done.returncode == 2
    assert says in " ".join(done.stderr.split())
    assert "Traceback" not in done.stderr
