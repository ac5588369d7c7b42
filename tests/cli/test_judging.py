"""Judging through the command line against a server: what is asked again and why, ensembles."""

import json
import re
from importlib.resources import files

import pytest

from assay.ledger.parquet import ParquetLedger
from assay.protocols.evaluation import Evaluation
from assay.protocols.folder import Folder
from assay.protocols.r2c2.protocol import R2C2
from tests.command import run_here
from tests.engine.server import completion, serve
from tests.films import PAIRS, two_runs


def verdict(body, number):
    """Entailed where the nugget has an even length; answers are wrong."""
    properties = body["response_format"]["json_schema"]["schema"]["properties"]
    if "entailed" in properties:
        even = len(body["messages"][1]["content"]) % 2
        said = {"reason": "so it says", "entailed": "YES" if even else "NO"}
    else:
        said = {"reason": "wrong", "correct": "NO", "nuggets": []}
    made = completion(json.dumps(said))
    made["model"] = "m-2026-11-01"
    return made


def always(body, number):
    made = verdict(body, number)
    text = made["choices"][0]["message"]["content"].replace('"NO"', '"YES"', 1)
    if "entailed" in text:
        made["choices"][0]["message"]["content"] = text
    return made


SAYING = ("judge", "--dry-run"), ("status",), ("judge",)


@pytest.fixture
def films(tmp_path):
    return two_runs(tmp_path / "films")


def assay(folder, command, *arguments, labellers, more=""):
    (folder / "assay.toml").write_text(
        f'[evaluation]\nprotocol = "r2c2"\n[inputs]\nquestions = "questions.tsv"\n'
        'pr_runs = ["pr/*.txt"]\nac_runs = ["ac/*.txt"]\n[settings]\nresamples = 100\n'
        f"[labellers]\n{labellers}\n{more}"
    )
    return run_here(command, folder, *arguments)


def test_a_changed_prompt_asks_again_and_says_why(films):
    with serve(verdict) as server:
        spec = f'default = "openai:m@{server.url}"'
        first = assay(films, "judge", labellers=spec)
        assert "asked again" not in first.stderr
        asked = len(server.requests)
        (films / "prompts").mkdir()
        source = files("assay.tasks").joinpath("templates/r2c2_entailment.j2").read_text()
        changed = source.replace("Decide whether", "Say whether", 1)
        assert changed != source
        (films / "prompts" / "r2c2_entailment.j2").write_text(changed)
        again = assay(films, "evaluate", labellers=spec)
    note = " ".join(again.stderr.split())
    assert f"{PAIRS} of {PAIRS} are asked again because the prompt was changed" in note
    assert len(server.requests) >= asked + PAIRS
    report = (films / "out" / "report.html").read_text()
    assert f"{PAIRS} units asked again because the prompt was changed" in report
    manifest = json.loads((films / "out" / "manifest.json").read_text())
    assert list(manifest["own_prompts"]) == ["r2c2_entailment.j2"]
    assert manifest["models_as_reported"]["r2c2.entailment"] == {"m-2026-11-01": PAIRS}


def test_changed_settings_ask_again_and_say_why(films):
    with serve(verdict) as server:
        spec = f'default = "openai:m@{server.url}"'
        assay(films, "judge", labellers=spec)
        warm = "[judging]\ntemperature = 0.5\n"
        told = [assay(films, *command, labellers=spec, more=warm) for command in SAYING]
    for one in told:  # before anything is paid
        why = "the labeller's settings changed (temperature 0.0, now 0.5)"
        said = " ".join((one.stdout + one.stderr).split())
        assert f"{PAIRS} of {PAIRS} are asked again because {why}." in said
    score = assay(films, "score", labellers=spec, more="[judging]\ntemperature = 0.7\n")
    assert "by openai:m were given under other settings" in " ".join(score.stderr.split())


def test_a_shard_that_is_judged_twice_moves_no_score(films, tmp_path, monkeypatch):
    """Whichever of two answers to a question comes later, from a machine that shares nothing."""
    with serve(verdict) as one, serve(always) as other:
        for server in (one, other):
            monkeypatch.setenv("ASSAY_LEDGER", str(tmp_path / f"{server is one}.sqlite"))
            spec = f'default = "openai:m@{server.url}"\n[prices.m]\ninput = 1000\noutput = 0'
            assert assay(films, "judge", labellers=spec).returncode == 0
        paid = len(other.requests)
    monkeypatch.setenv("ASSAY_LEDGER", str(tmp_path / "True.sqlite"))
    assert run_here("score", films).returncode == 0
    before = (films / "out" / "scores.csv").read_bytes()
    said = run_here("labels", "merge", films, tmp_path / "False.sqlite").stdout
    (twice,) = re.findall(
        r"(\d+) of them answer questions that the same labeller had already answered here", said
    )
    assert PAIRS <= int(twice) <= paid  # most answers are asked beside other nuggets
    assert f", for ${int(twice) / 10:.4f} more:" in said
    assert run_here("score", films).returncode == 0
    assert (films / "out" / "scores.csv").read_bytes() == before


def test_the_report_shows_how_members_agree(films):
    with serve(verdict) as one, serve(always) as other:
        done = assay(
            films,
            "evaluate",
            "--json",
            labellers='default = "ensemble:jury"',
            more=f'[ensembles.jury]\nmembers = ["openai:a@{one.url}", "openai:b@{other.url}"]\n'
            'rule = "strictest"\n',
        )
    document = json.loads(done.stdout)
    assert document["missing"] == 0, done.stderr
    report = (films / "out" / "report.html").read_text()
    assert "How the members of" in report
    (jury, _) = sorted(document["juries"], key=lambda one: one["task"], reverse=True)
    assert (jury["task"], jury["value"], jury["units"]) == ("r2c2.entailment", "entailed", PAIRS)
    a, b = jury["members"]
    assert (a["votes"], b["votes"], a["unusable"]) == (PAIRS, PAIRS, 0)
    assert a["agreement"] == 1.0  # b says yes to all, so that the stricter is always a's
    assert b["agreement"] == pytest.approx(jury["unanimous"] / PAIRS)


def test_a_dry_run_counts_every_members_questions(films):
    done = assay(
        films,
        "judge",
        "--dry-run",
        "--json",
        labellers='default = "ensemble:jury"',
        more='[ensembles.jury]\nmembers = ["openai:gpt-4.1@https://api.openai.com/v1", "openai:b"]',
    )
    rows = [row for row in json.loads(done.stdout)["ahead"] if row["task"] == "bogus nuggets"]
    assert [(row["labeller"], row["to_ask"]) for row in rows] == [
        ("openai:gpt-4.1", PAIRS),
        ("openai:b", PAIRS),
    ]
    assert rows[0]["cost"] > 0
    assert rows[1]["cost"] is None


@pytest.mark.parametrize(("said", "sign"), [(verdict, -1), (always, 1)])
def test_what_answers_will_read_is_foretold_from_the_nuggets_judged_so_far(films, said, sign):
    """They are asked beside their entailed nuggets, of which this labeller has half, or all."""

    def read(*arguments):
        done = assay(films, "judge", "--dry-run", "--json", *arguments, labellers=spec)
        return {row["task"]: row["tokens_in"] for row in json.loads(done.stdout)["ahead"]}

    with serve(said) as server:
        spec = f'default = "openai:m@{server.url}"'
        before = read()["answers"]
        assay(films, "judge", "--shard", "1/2", labellers=spec)
        after = read()["answers"]
    assert (after - before) * sign > 0


def test_agreement_is_with_the_labels_under_the_prompt_that_is_set_now(films):
    """A prompt was changed, which turned the verdicts, and changed back: its labels are newest."""

    def by_prompt(body, number):
        return (always if "Say whether" in str(body["messages"]) else verdict)(body, number)

    prompts, own = films / "prompts", "r2c2_entailment.j2"
    source = files("assay.tasks").joinpath(f"templates/{own}").read_text()
    with serve(by_prompt) as server:
        spec = f'default = "openai:m@{server.url}"'
        assay(films, "judge", labellers=spec)
        exported = run_here("labels", "export", films).stdout.splitlines()
        rows = [json.loads(one) for one in exported]
        said = [
            {"task": one["task"], "unit": one["unit"], "verdict": one["verdict"]}
            for one in rows
            if one["task"] == "r2c2.entailment"
        ]
        people = films / "people.jsonl"
        people.write_text("".join(json.dumps(one) + "\n" for one in said))
        run_here("labels", "import", films, people, "--by", "human:KIM")
        prompts.mkdir()
        (prompts / own).write_text(source.replace("Decide whether", "Say whether", 1))
        assay(films, "judge", labellers=spec)
        (prompts / own).unlink()
        asked = len(server.requests)
        assay(films, "judge", labellers=spec)
        assert len(server.requests) == asked
    evaluation = Evaluation.open(Folder.open(films), R2C2, None)
    parquet = films / "labels"
    run_here("labels", "export", films, "-o", parquet, "--parquet")
    with evaluation.folder.open_ledger(create=False) as ledger:
        for read in (ledger, ParquetLedger(parquet)):
            (found,) = evaluation.score(read).beside().labels
            assert found.beside is not None
            assert (found.beside.labels, found.beside.agreement.value) == (PAIRS, 1.0)
