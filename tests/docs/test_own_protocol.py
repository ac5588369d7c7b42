"""The protocol of docs/protocols.md runs as the page has it."""

import csv
import json
import os
import re

from tests.command import run_here
from tests.conftest import ROOT
from tests.engine.server import completion, serve

PAGE = (ROOT / "docs" / "protocols.md").read_text()


def block(kind):
    return re.search(rf"^```{kind}\n(.*?)^```", PAGE, re.DOTALL | re.MULTILINE).group(1)


def test_the_protocol_of_the_page_runs(tmp_path):
    source = block("python")
    assert len(source.splitlines()) < 80
    (tmp_path / "headlines.py").write_text(source)
    folder = tmp_path / "folder"
    (folder / "prompts").mkdir(parents=True)
    (folder / "runs").mkdir()
    (folder / "prompts" / "headlines_fit.j2").write_text(block("jinja"))
    (folder / "articles.tsv").write_text("1\tA storm hit the coast.\n2\tThe bakery moved.\n")
    (folder / "runs" / "good.tsv").write_text("1\tStorm on the coast\n2\tBakery moves\n")
    (folder / "runs" / "half.tsv").write_text("1\tStorm on the coast\n")

    def run(*arguments):
        return run_here(*arguments, env={**os.environ, "PYTHONPATH": str(tmp_path)})

    def answer(body, number):
        assert "Does" not in body["messages"][0]["content"]
        return completion('{"reason": "it does", "fits": "YES"}')

    with serve(answer) as server:
        toml = block("toml").replace("openai:gpt-4.1", f"openai:m@{server.url}")
        (folder / "assay.toml").write_text(toml)
        done = run("evaluate", folder, "--json")
        assert done.returncode == 0, done.stderr
        assert len(server.requests) == 2  # the same headline of two runs is asked about once
        again = run("evaluate", folder, "--json")
    assert json.loads(again.stdout)["judging"]["asked"] == 0
    with (folder / "out" / "scores.csv").open() as file:
        scores = {row["run"]: float(row["value"]) for row in csv.DictReader(file)}
    assert scores == {"good": 1.0, "half": 0.5}
    report = (folder / "out" / "report.html").read_text()
    assert "The share of articles with a fitting headline." in report
    misspelt = folder / "prompts" / "headline_fit.j2"
    misspelt.write_text(block("jinja"))
    refused = run("evaluate", folder)
    assert refused.returncode == 2
    assert "Did you mean headlines_fit.j2?" in " ".join(refused.stderr.split())
    misspelt.rename(folder / "prompts" / "of_another_setting.j2")  # may be the protocol's
    assert run("score", folder).returncode == 0
    (folder / "articles.tsv").write_text("1notab\n")
    (folder / "runs" / "half.tsv").write_text('{"id": "1"}\n')
    broken = run("evaluate", folder)
    assert broken.returncode == 2
    for fault in ("articles.tsv:1", "half.tsv:1"):
        assert fault in broken.stderr
