"""The command line as a newcomer and as a script meet it."""

from __future__ import annotations

import json
import re
import shutil

import pytest
from typer.testing import CliRunner

from assay.cli.commands import app
from tests.conftest import ROOT
from tests.engine.server import completion, serve


def test_help_names_every_command(assay):
    done = assay("--help")
    assert done.returncode == 0
    for name in ("evaluate", "judge", "score", "report", "validate", "confidence", "labels"):
        assert name in done.stdout
        assert assay(name, "--help").returncode == 0


def test_unknown_commands_and_options_are_wrong_usage(assay, slide):
    assert assay("evaluat", slide).returncode == 2
    assert assay("score", slide, "--nonsense").returncode == 2
    done = assay("score", slide, "--policy", "whatever")
    assert done.returncode == 2
    assert "machine" in done.stderr


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (lambda text: text.replace('"r2c2"', '"r2d2"'), "no protocol 'r2d2'"),
        (lambda text: text + "\n[setings]\na = 1\n", "setings"),
        (lambda text: text + '\n[settings]\nbins = "many"\nbinz = 1\n', "binz"),
        (lambda text: text.replace("ac/*.txt", "answers/*.txt"), "matches no file."),
        (lambda text: text.replace("ac/*.txt", "ac/*.csv"), "no file; ac/ has SLIDE.txt."),
        (lambda text: text.replace("questions =", "question ="), "did you mean questions?"),
        (lambda text: text + "][", "cannot be read"),
        (lambda text: text.replace("recorded:recorded.jsonl", "gpt-4"), "is not a labeller"),
        (lambda text: text.replace("recorded:", "openai:m@http://u:secret@h/v1#"), "password"),
        (lambda text: text.replace("recorded:", "openai:m@http://h/v1?key="), "a query"),
    ],
)
def test_faults_of_the_settings_are_named(slide, assay, change, says):
    toml = slide / "assay.toml"
    toml.write_text(change(toml.read_text()))
    done = assay("evaluate", slide)
    assert done.returncode == 2
    assert says in done.stderr
    assert "Traceback" not in done.stderr
    assert not (slide / "out").exists()


@pytest.mark.parametrize(
    "extra",
    [
        'api_key = "hush"',
        '"Api-Key" = "hush"',
        'apikey = "hush"',
        '"x-api-key" = "hush"',
        'Authorization = "Bearer hush"',
        'token = "hush"',
        'access_token = "hush"',
        'password = "hush"',
        'client_secret = "hush"',
        'extra_headers = {authorization = "hush"}',
        'tools = [{server = {secret = "hush"}}]',
    ],
)
def test_secrets_among_the_extra_settings_are_refused(slide, assay, extra):
    with (slide / "assay.toml").open("a") as file:
        file.write(f"\n[judging]\nextra = {{top_p = 0.9, {extra}}}\n")
    done = assay("evaluate", slide)
    assert done.returncode == 2
    assert "judging.extra: " in done.stderr
    assert "OPENAI_API_KEY or ASSAY_<NAME>_API_KEY" in " ".join(done.stderr.split())
    assert "hush" not in done.stdout + done.stderr
    assert not (slide / "labels.sqlite").exists()


def test_extra_settings_that_speak_of_tokens_are_no_secrets(slide, assay):
    with (slide / "assay.toml").open("a") as file:
        file.write(
            "\n[judging]\n"
            "extra = {max_tokens = 9, min_tokens = 1, logit_bias = {}, stop_token_ids = [1]}\n"
        )
    assert assay("judge", slide, "--dry-run").returncode == 0


@pytest.mark.parametrize(
    ("name", "meant"),
    [
        ("r2c2_entailmnt.j2", "r2c2_entailment.j2"),
        ("r2c2_answer.probe.j2", "r2c2_answer.probes.j2"),
        ("zzz.j2", "Rename or remove it."),
    ],
)
@pytest.mark.parametrize("command", ["evaluate", "judge"])
def test_a_misspelt_template_is_named(slide, assay, command, name, meant):
    (slide / "prompts").mkdir()
    (slide / "prompts" / name).write_text("{% block system %}{% endblock %}")
    done = assay(command, slide)
    said = " ".join(done.stderr.split())
    assert done.returncode == 2, said
    assert name in said
    assert meant in said
    assert not (slide / "out").exists()


def test_scores_are_not_made_beside_a_misspelt_template(slide, assay):
    assert assay("judge", slide).returncode == 0
    (slide / "prompts").mkdir()
    (slide / "prompts" / "r2c2_entailmnt.j2").write_text("")
    done = assay("score", slide)
    assert done.returncode == 2
    assert "Did you mean r2c2_entailment.j2" in " ".join(done.stderr.split())
    assert not (slide / "out").exists()


def test_other_files_among_the_prompts_are_left_alone(slide, assay):
    prompts = slide / "prompts"
    prompts.mkdir()
    (prompts / "notes.md").write_text("r2c2_entailmnt")
    (prompts / "frame.j2").write_text("Be strict.")
    (prompts / "r2c2_entailment.j2").write_text(
        '{% block system %}{% include "frame.j2" %}{% endblock %}{% block user %}{% endblock %}'
    )
    done = assay("evaluate", slide)
    assert done.returncode == 0, done.stderr


def test_faults_of_all_input_files_are_listed_together(slide, assay):
    (slide / "ac" / "SLIDE.txt").write_text("<0001>\nX;101\n1;WASEDA-PR-1;9;n\n</0001>\n")
    with (slide / "pr" / "WASEDA-PR-1.txt").open("a") as file:
        file.write("0001;21;d;t\n")
    done = assay("evaluate", slide)
    assert done.returncode == 2
    for place in ("SLIDE.txt:2", "SLIDE.txt:3", "WASEDA-PR-1.txt:6"):
        assert place in done.stderr
    assert not (slide / "labels.sqlite").exists()


def test_dry_run_asks_nothing_and_writes_nothing(slide, assay):
    with serve(lambda body, n: completion("{}")) as server:
        spec = f"openai:m@{server.url}"
        done = assay("judge", slide, "--labeller", spec, "--dry-run", "--json")
        assert done.returncode == 0, done.stderr
        assert server.requests == []
    rows = {row["task"]: row for row in json.loads(done.stdout)["ahead"]}
    assert rows["bogus nuggets"]["calls"] == 5
    assert rows["answers"]["calls"] == 1
    assert 500 < rows["bogus nuggets"]["tokens_in"] < 3000
    assert not (slide / "labels.sqlite").exists()


def test_prompts_are_shown_without_a_call_and_can_be_overridden(slide, assay):
    (slide / "prompts").mkdir()
    (slide / "prompts" / "r2c2_entailment.j2").write_text(
        "{% block system %}OUR OWN WORDS{% endblock %}"
        "{% block user %}{{ nugget | fence('N') }}{% endblock %}"
    )
    done = assay(
        "judge",
        slide,
        "--labeller",
        "openai:m@http://127.0.0.1:9/v1",
        "--show-prompts",
        2,
        "--json",
    )
    assert done.returncode == 0, done.stderr
    shown = json.loads(done.stdout)
    entailment = [row for row in shown if row["task"] == "r2c2.entailment"]
    assert len(entailment) == 2
    assert entailment[0]["messages"][0]["content"] == "OUR OWN WORDS"
    (slide / "prompts" / "r2c2_entailment.j2").write_text("{{ nugget }}")
    done = assay(
        "judge", slide, "--labeller", "openai:m@http://127.0.0.1:9/v1", "--show-prompts", 1
    )
    assert done.returncode == 2
    assert "no block" in done.stderr


def test_an_evaluation_through_an_endpoint(slide, assay):
    """The whole pipeline with an OpenAI-compatible server, counted, priced and never repeated."""

    def script(body, number):
        schema = body["response_format"]["json_schema"]["schema"]["properties"]
        if "entailed" in schema:
            no = "starred Harvey Janet" in body["messages"][1]["content"]
            return completion(json.dumps({"reason": "r", "entailed": "NO" if no else "YES"}))
        asked = re.findall(r"<<<FACT (\d+)", body["messages"][1]["content"])
        nuggets = [
            {"nugget": int(n), "reason": "r", "helped": "YES" if int(n) > 2 else "NO"}
            for n in asked
        ]
        return completion(json.dumps({"reason": "r", "correct": "YES", "nuggets": nuggets}))

    with serve(script) as server:
        with (slide / "assay.toml").open("a") as file:
            file.write('[prices."m"]\ninput = 1.0\noutput = 2.0\n')
        spec = f"openai:m@{server.url}"
        done = assay("evaluate", slide, "--labeller", spec, "--json", "--budget", "1")
        assert done.returncode == 0, done.stderr
        again = assay("evaluate", slide, "--labeller", spec, "--json")
        assert len(server.requests) == 6
    tally = json.loads(done.stdout)["judging"]
    assert tally["asked"] == 7  # one of them a dialogue act, by rules
    assert tally["cost"] == pytest.approx(6 * (100 + 2 * 10) / 1e6)
    assert json.loads(again.stdout)["judging"]["asked"] == 0
    marked = (slide / "out" / "marked" / "SLIDE.txt").read_text().splitlines()
    assert [line.split(";")[0] for line in marked[2:-1]] == ["N1", "N2", "B3", "R4", "R5"]


def test_an_endpoint_that_is_down_is_status_3(slide, assay):
    with serve(lambda body, n: (401, {"error": {"message": "bad key"}})) as server:
        done = assay("evaluate", slide, "--labeller", f"openai:m@{server.url}")
    assert done.returncode == 3
    assert "API key" in done.stderr
    assert "Traceback" not in done.stderr


def test_a_budget_needs_a_price(slide, assay):
    assert "must be a number, not nan" in assay("judge", slide, "--budget", "nan").stderr
    done = assay("evaluate", slide, "--labeller", "openai:m", "--budget", "1")
    assert done.returncode == 2
    assert '[prices."m"]' in done.stderr


def test_relevance_labels_check_the_derived_grades(slide, assay):
    with (slide / "assay.toml").open("a") as file:
        file.write("[settings]\nrelevance_check = true\n")
    question = (slide / "questions.tsv").read_text().split("\t")[1]
    with (slide / "recorded.jsonl").open("a") as file:
        for line in (slide / "pr" / "WASEDA-PR-1.txt").read_text().splitlines():
            _, rank, _, text = line.split(";", 3)
            row = {
                "task": "r2c2.relevance",
                "unit": {"question": question, "passage": text, "gold": ["Anthony Mackie"]},
                "verdict": {"relevant": "YES" if rank in "345" else "NO"},
            }
            file.write(json.dumps(row) + "\n")
    done = assay("evaluate", slide)
    assert done.returncode == 0, done.stderr
    lines = (slide / "out" / "relevance.csv").read_text().splitlines()
    assert lines[0] == "topic,passage,doc,grade,judged"
    assert [line.split(",")[-2:] for line in lines[1:]] == [
        ["0", "0"], ["0", "0"], ["0", "1"], ["1", "1"], ["1", "1"],
    ]  # fmt: skip
    report = (slide / "out" / "report.html").read_text()
    assert "Relevant passages that earned no grade (1)" in report


def test_hostile_texts_reach_no_terminal_and_no_page_unescaped(slide, assay):
    for name in ("questions.tsv", "pr/WASEDA-PR-1.txt", "ac/SLIDE.txt", "recorded.jsonl"):
        file = slide / name
        text = file.read_text().replace("Anthony Mackie", "[red]<script>alert(1)</script>")
        file.write_text(text)
    done = assay("evaluate", slide)
    assert done.returncode == 0, done.stderr
    assert "<script>alert" not in (slide / "out" / "report.html").read_text()
    shown = assay("labels", "list", slide)
    assert "[red]" in shown.stdout


def test_two_runs_of_one_name_are_refused(slide, assay):
    shutil.copy(slide / "pr" / "WASEDA-PR-1.txt", slide / "ac" / "WASEDA-PR-1.txt")
    (slide / "pr" / "more").mkdir()
    shutil.copy(slide / "pr" / "WASEDA-PR-1.txt", slide / "pr" / "more" / "WASEDA-PR-1.txt")
    toml = slide / "assay.toml"
    toml.write_text(toml.read_text().replace('"pr/*.txt"', '"pr/**/*.txt"'))
    (slide / "ac" / "WASEDA-PR-1.txt").unlink()
    done = assay("evaluate", slide)
    assert done.returncode == 2
    assert "also called 'WASEDA-PR-1'" in done.stderr


def test_doctor_says_what_is_missing(slide, assay, tmp_path):
    done = assay("doctor", slide, "--json")
    assert done.returncode == 0, done.stdout
    findings = {row["what"]: row for row in json.loads(done.stdout)}
    assert findings["ledger"]["ok"]
    with serve(lambda body, n: completion("{}")) as server:
        toml = slide / "assay.toml"
        toml.write_text(
            toml.read_text().replace("recorded:recorded.jsonl", f"openai:m@{server.url}")
        )
        done = assay("doctor", slide, env={"ASSAY_127_0_0_1_API_KEY": "sk-secret"})
        assert done.returncode == 0, done.stdout
        assert "answers" in done.stdout
        assert "sk-secret" not in done.stdout + done.stderr
        passwords = tmp_path / "netrc"
        passwords.write_text("default login kim password hunter2\n")
        passwords.chmod(0o600)
        assay("doctor", slide, env={"NETRC": str(passwords)})
    assert [sent.get("Authorization") for sent in server.headers] == ["Bearer sk-secret", None]
    down = assay("doctor", slide)
    assert down.returncode == 1
    assert "does not answer" in down.stdout


def test_doctor_names_entry_points_that_a_spec_of_assays_hides(monkeypatch):
    monkeypatch.setattr("assay.cli.doctor.known_entry_points", lambda: ["mine", "rules"])
    done = CliRunner().invoke(app, ["doctor", "--json"])
    findings = {row["what"]: row for row in json.loads(done.stdout)}
    assert "is never used" in findings["entry point rules"]["says"]
    assert "entry point mine" not in findings
    assert done.exit_code == 0


def test_the_two_labellers_of_a_unit_can_be_compared(slide, assay):
    assert assay("evaluate", slide).returncode == 0
    with (slide / "assay.toml").open("a") as file:
        file.write('answer = "rules"\n')
    assert assay("judge", slide).returncode == 0
    done = assay("labels", "diff", slide, "recorded:recorded.jsonl", "rules", "--json")
    assert done.returncode in (0, 1)
    assert json.loads(done.stdout)["both"] == 1
    policy = assay("score", slide, "--policy", "only:nobody", "--json")
    assert policy.returncode == 1
    assert json.loads(policy.stdout)["missing"] > 0


def test_many_warnings_of_a_kind_are_one_line(slide, assay):
    run = slide / "pr" / "WASEDA-PR-1.txt"
    lines = run.read_text(encoding="utf-8").splitlines()
    topic, _, doc, passage = lines[0].split(";", 3)
    repeated = [f"{topic};{rank};{doc};{passage}" for rank in range(len(lines) + 1, 21)]
    assert len(repeated) > 5
    run.write_text("\n".join([*lines, *repeated]) + "\n", encoding="utf-8")
    done = assay("evaluate", slide)
    notes = [line for line in done.stderr.splitlines() if "same passage" in line]
    assert len(notes) == 1, done.stderr
    assert notes[0].startswith(f"Note: {len(repeated)} × … ")
    assert f"pr/WASEDA-PR-1.txt:{len(lines) + 1}" in notes[0]


@pytest.mark.parametrize(
    "command",
    [
        "retrieve index topics.tsv",
        f"answer {ROOT}/examples/films/questions.tsv --pr-runs pr.txt --model openai:m@http://x/v1",
        "import deepeval traces.json",
        "recalibrate seen.csv --apply run.txt",
    ],
)
def test_no_plain_text_is_called_compressed(assay, tmp_path, command):
    done = assay(*command.split(), "-o", tmp_path / "run.txt.gz")
    assert (done.returncode, "Name it run.txt." in done.stderr) == (2, True), done.stderr
    assert not list(tmp_path.iterdir())
