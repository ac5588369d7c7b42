"""Battles as a protocol: alone and beside others, both orders, silence, samples, people."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import pytest

from assay.tasks.battles import BATTLE, BattleUnit
from tests.conftest import ROOT

STRENGTH = {"strong": 3, "middling": 2, "weak": 1}
JUDGE = '''
import re

def judge(task, unit):
    """The longer answer is better; answers of "odd" topics are told by the place they stand in."""
    a, b = unit["answer_a"], unit["answer_b"]
    if "odd" in unit["question"]:
        return {"verdict": "A", "reason": "it comes first"}
    if len(a) == len(b):
        return {"verdict": "Tie", "reason": "alike"}
    return {"verdict": "A" if len(a) > len(b) else "B", "reason": "longer"}
'''
TOML = """[evaluation]
protocol = {protocol}
[inputs]
narratives = "narratives.jsonl"
rag_runs = ["rag/*.jsonl"]
{inputs}
[labellers]
{labeller}
[settings.battles]
resamples = 200
{settings}
"""
TOPICS = {"1": "What is tea?", "2": "an odd question", "3": "What is rum?"}
WORDS = {
    "strong": {"1": "tea is a plant and a drink", "2": "yes indeed", "3": "rum is rum"},
    "middling": {"1": "tea is a drink", "2": "perhaps so", "3": "rum is made of sugar cane"},
    "weak": {"1": "tea", "2": "no"},
}


def make(
    folder: Path, settings: str = "", *, protocol: str = '"battles"', inputs: str = "",
    labeller: str = 'default = "bout:judge"',
) -> Path:  # fmt: skip
    (folder / "rag").mkdir(parents=True)
    text = TOML.format(protocol=protocol, inputs=inputs, labeller=labeller, settings=settings)
    if "[" not in protocol:
        text = text.replace("[settings.battles]", "[settings]")
    (folder / "assay.toml").write_text(text)
    rows = [{"id": topic, "title": text} for topic, text in TOPICS.items()]
    (folder / "narratives.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    for run, answers in WORDS.items():
        records = [
            {"metadata": {"team_id": "t", "run_id": run, "narrative_id": topic, "type": "automatic",
                          "narrative": TOPICS[topic], "prompt": ""},
             "references": ["d1"], "answer": [{"text": text, "citations": [0]}]}
            for topic, text in answers.items()
        ]  # fmt: skip
        path = folder / "rag" / f"{run}.jsonl"
        path.write_text("".join(json.dumps(record) + "\n" for record in records))
    return folder


@pytest.fixture
def env(tmp_path: Path) -> dict[str, str]:
    (tmp_path / "bout.py").write_text(JUDGE)
    return {"PYTHONPATH": f"{tmp_path}:{ROOT / 'src'}"}


def scores(folder: Path) -> dict[tuple[str, str], dict[str, str]]:
    with (folder / "out" / "scores.csv").open() as file:
        return {(row["run"], row["measure"]): row for row in csv.DictReader(file)}


def test_both_orders_are_asked_and_disagreement_is_a_tie(assay, tmp_path, env):
    folder = make(tmp_path / "f", "prior = 1")
    done = assay("evaluate", folder, "--json", env=env)
    assert done.returncode == 0, done.stderr
    document = json.loads(done.stdout)
    # 9 battles, of which the two with silence in topic 3 are asked of nobody.
    assert document["judging"]["asked"] == 14
    assert (document["battles"], document["both_orders"], document["disagree"]) == (9, 7, 3)
    found = scores(folder)
    # strong wins topic 1 twice, ties topic 2 twice, loses to middling and beats silence in 3.
    assert float(found["strong", "WinRate"]["value"]) == pytest.approx((2 + 1 + 1) / 6)
    assert float(found["weak", "WinRate"]["value"]) == pytest.approx(1 / 6)
    ratings = [float(found[run, "Rating"]["value"]) for run in ("weak", "strong")]
    assert ratings[0] < ratings[1]
    # The file that is written scores the same.
    command, *_ = json.loads((folder / "out" / "manifest.json").read_text())["reproduce"]
    done = assay(*command.split()[1:], "--csv", cwd=folder / "out")
    rows = {(r["run"], r["measure"]): r for r in csv.DictReader(done.stdout.splitlines())}
    for run in STRENGTH:
        theirs, ours = (float(one[run, "Rating"]["value"]) for one in (rows, found))
        assert theirs == pytest.approx(ours)
    report = (folder / "out" / "report.html").read_text()
    assert "Who beats whom" in report
    assert "3 of 7 battles judged in both orders have two winners" in report
    assert assay("evaluate", folder, "--json", env=env).returncode == 0  # nothing new is asked
    again = json.loads(assay("evaluate", folder, "--json", env=env).stdout)
    assert again["judging"]["asked"] == 0


def test_one_order_and_topics_left_out(assay, tmp_path, env):
    folder = make(tmp_path / "f", 'orders = "one"\nsilent = "left-out"\nprior = 1')
    document = json.loads(assay("evaluate", folder, "--json", env=env).stdout)
    assert (document["judging"]["asked"], document["battles"], document["disagree"]) == (7, 7, 0)


def test_without_finite_ratings_it_is_said(assay, tmp_path, env):
    folder = make(tmp_path / "f", 'orders = "one"\nsilent = "left-out"')
    for path in (folder / "narratives.jsonl", *(folder / "rag").iterdir()):
        path.write_text(path.read_text().replace("an odd question", "a question"))
    done = assay("evaluate", folder, env=env)
    assert "leaderboard has no ratings" in " ".join(done.stdout.split())
    assert scores(folder)["strong", "Rating"]["value"] == ""


def test_samples_and_adaptive_choice_judge_as_many_battles_as_they_say(assay, tmp_path, env):
    folder = make(tmp_path / "a", "per_topic = 2\nprior = 1")
    document = json.loads(assay("evaluate", folder, "--json", env=env).stdout)
    assert document["battles"] == 6
    folder = make(tmp_path / "b", 'adaptive = 4\nprior = 1\nsilent = "left-out"')
    document = json.loads(assay("evaluate", folder, "--json", env=env).stdout)
    assert (document["battles"], document["judging"]["asked"]) == (4, 8)
    again = json.loads(assay("evaluate", folder, "--json", env=env).stdout)
    assert (again["battles"], again["judging"]["asked"]) == (4, 0)
    fought = {run for run in STRENGTH if scores(folder)[run, "Rating"]["value"]}
    assert fought == set(STRENGTH)
    settings = 'per_topic = 1\nadaptive = 3\nprior = 1\nsilent = "left-out"'
    folder = make(tmp_path / "c", settings)
    document = json.loads(assay("evaluate", folder, "--json", env=env).stdout)
    assert document["battles"] == 6


def test_missing_judgments_make_the_win_rate_a_range(assay, tmp_path, env):
    (tmp_path / "nothing.jsonl").write_text("")
    folder = make(tmp_path / "f", labeller='default = "recorded:nothing.jsonl"')
    (folder / "nothing.jsonl").write_text("")
    done = assay("evaluate", folder, env=env)
    assert done.returncode == 1
    row = scores(folder)["strong", "WinRate"]
    # Of 6 battles silence lost one.
    assert (float(row["floor"]), float(row["ceiling"])) == pytest.approx((1 / 6, 1))
    assert row["value"] == ""


def test_win_rates_of_topics_are_those_that_are_set(assay, tmp_path, env):
    folder = make(tmp_path / "f", 'prior = 1\nwin_rate = "opponents"')
    assert assay("evaluate", folder, env=env).returncode == 0
    with (folder / "out" / "per_topic.csv").open() as file:
        found = {(row["run"], row["topic"]): float(row["value"]) for row in csv.DictReader(file)}
    # Topic 2 has ties alone, which nobody won.
    assert [found[run, "2"] for run in STRENGTH] == [0, 0, 0]
    assert [found[run, "1"] for run in STRENGTH] == [1, 0.5, 0]


def test_a_persons_judgment_of_one_order_settles_a_battle(assay, tmp_path, env):
    folder = make(tmp_path / "f", "prior = 1")
    assay("judge", folder, env=env)
    labels = [json.loads(line) for line in assay("labels", "export", folder).stdout.splitlines()]
    odd = [one for one in labels if "odd" in one["unit"]["question"]]
    answers = {"yes indeed", "no"}
    one = next(x for x in odd if {x["unit"]["answer_a"], x["unit"]["answer_b"]} == answers)
    said = "A" if one["unit"]["answer_a"] == "yes indeed" else "B"
    human = {
        "task": one["task"], "unit": one["unit"], "version": one["version"], "status": "ok",
        "labeller": {"name": "human:KIM", "kind": "human", "params": {}},
        "verdict": {"reason": "better", "verdict": said}, "unit_hash": one["unit_hash"],
        "key": "f" * 32, "sample": 0, "created": "2026-01-01T00:00:00+00:00", "detail": {},
    }  # fmt: skip
    (tmp_path / "kim.jsonl").write_text(json.dumps(human) + "\n")
    done = assay("labels", "import", folder, tmp_path / "kim.jsonl")
    assert done.returncode == 0, done.stderr
    document = json.loads(assay("score", folder, "--json", env=env).stdout)
    assert (document["both_orders"], document["disagree"]) == (6, 2)


def test_battles_stand_beside_nuggets_with_an_interval_of_tau(assay, tmp_path, env):
    nuggets = [
        {"qid": topic, "query": text, "nuggets": [{"text": "x", "importance": "vital"}]}
        for topic, text in TOPICS.items()
    ]
    folder = make(
        tmp_path / "f",
        'prior = 1\n[settings.trec-rag]\nrelevance = "none"\nmapping = false',
        protocol='["trec-rag", "battles"]',
        inputs='segments = ["segments.jsonl"]\nnuggets = "nuggets.jsonl"',
        labeller='battle = "bout:judge"\ndefault = "bout:other"',
    )
    (tmp_path / "bout.py").write_text(
        JUDGE + "\ndef other(task, unit):\n"
        '    if "nuggets" in unit:\n'
        '        good = len(unit["answer"]) > 9\n'
        '        return {"labels": ["support" if good else "not_support"] * len(unit["nuggets"])}\n'
        '    return {"support": "full"}\n'
    )
    (folder / "nuggets.jsonl").write_text("".join(json.dumps(one) + "\n" for one in nuggets))
    segment = {"docid": "d1", "title": "t", "segment": "tea and rum"}
    (folder / "segments.jsonl").write_text(json.dumps(segment) + "\n")
    done = assay("evaluate", folder, "--json", env=env)
    assert done.returncode in (0, 1), done.stderr
    rows = {(one["first"], one["second"]): one for one in json.loads(done.stdout)["agreement"]}
    tau = rows["trec-rag: strict_vital", "battles: Rating"]
    assert tau["runs"] == 3
    assert -1 <= tau["low"] <= tau["high"] <= 1
    report = (folder / "out" / "report.html").read_text()
    assert "battles: Rating" in report


def ac(folder: Path) -> str:
    (folder / "ac").mkdir()
    (folder / "questions.tsv").write_text("1\tWho built it?\tSimple\tAnna\n")
    for run, text in (("ONE", "Anna Berg"), ("TWO", "Nobody")):
        (folder / "ac" / f"{run}.txt").write_text(f"<1>\n{text};90\n</1>\n")
    return 'questions = "questions.tsv"\nac_runs = ["ac/*.txt"]'


def summaries(folder: Path) -> str:
    rows = [
        {"query_id": "1", "query": "tea", "summariser": run, "sections": [],
         "overview": {"text": text, "citations": []}, "doclist": []}
        for run, text in (("ONE", "Tea is a drink."), ("TWO", "Tea."))
    ]  # fmt: skip
    (folder / "s.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    return 'summaries = "s.jsonl"'


def answers(folder: Path) -> str:
    for run, text in (("ONE", "Tea is a drink."), ("TWO", "Tea.")):
        row = {"run": run, "id": "1", "question": "What is tea?", "answer": text, "passages": []}
        (folder / f"{run}.jsonl").write_text(json.dumps(row) + "\n")
    return 'answers = ["*.jsonl"]'


@pytest.mark.parametrize("write", [ac, summaries, answers])
def test_answers_of_other_protocols_fight_too(assay, tmp_path, env, write):
    folder = tmp_path / "f"
    folder.mkdir()
    (folder / "assay.toml").write_text(
        f'[evaluation]\nprotocol = "battles"\n[inputs]\n{write(folder)}\n'
        '[labellers]\ndefault = "bout:judge"\n[settings]\nprior = 1\n'
    )
    document = json.loads(assay("evaluate", folder, "--json", env=env).stdout)
    assert document["battles"] == 1
    assert float(scores(folder)["ONE", "WinRate"]["value"]) == 1


def test_questions_are_those_of_the_topics_that_trec_rag_takes_too(assay, tmp_path, env):
    folder = make(tmp_path / "f", "prior = 1")
    toml = folder / "assay.toml"
    toml.write_text(toml.read_text().replace("narratives =", "topics ="))
    for path in (folder / "rag").iterdir():  # which need not say what they answer
        path.write_text(path.read_text().replace('"narrative": ', '"said": '))
    assert assay("evaluate", folder, env=env).returncode == 0
    asked = [json.loads(line)["unit"] for line in (folder / "out" / "labels.jsonl").open()]
    assert {one["question"] for one in asked} == {*TOPICS.values()}


def test_a_cluster_of_queries_is_the_question_while_no_narrative_is_written(assay, tmp_path, env):
    folder = make(tmp_path / "f", "prior = 1")
    rows = [{"id": topic, "queries": [text, "and more"]} for topic, text in TOPICS.items()]
    (folder / "narratives.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    assert assay("evaluate", folder, env=env).returncode == 0
    asked = [json.loads(line)["unit"] for line in (folder / "out" / "labels.jsonl").open()]
    assert {one["question"] for one in asked} == {f"{text}\nand more" for text in TOPICS.values()}


@pytest.mark.parametrize("kind", [summaries, answers])
def test_a_run_may_stand_in_several_files_and_answers_a_topic_once(assay, tmp_path, env, kind):
    folder = tmp_path / "f"
    folder.mkdir()
    (folder / "assay.toml").write_text(
        f'[evaluation]\nprotocol = "battles"\n[inputs]\n{kind(folder)}\n'.replace(
            '"s.jsonl"', '["*.jsonl"]'
        )
        + '[labellers]\ndefault = "bout:judge"\n[settings]\nprior = 1\n'
    )
    first = sorted(folder.glob("*.jsonl"))[0]
    other = first.read_text().replace('"query_id": "1"', '"query_id": "2"')
    (folder / "z.jsonl").write_text(other.replace('"id": "1"', '"id": "2"'))
    done = assay("evaluate", folder, "--json", env=env)
    assert done.returncode == 0, done.stderr
    (folder / "z.jsonl").write_text(first.read_text())
    done = assay("score", folder, env=env)
    assert done.returncode == 2
    assert "hold a second answer of run 'ONE' to this topic" in done.stderr


def test_faults_and_settings_are_told(assay, tmp_path, env):
    folder = make(tmp_path / "f", "per_topic = 2\nper_run = 1")
    done = assay("evaluate", folder, env=env)
    assert done.returncode == 2
    assert "choose one of per_topic, per_run" in done.stderr
    for run in ("weak", "strong"):
        (make(tmp_path / run) / "rag" / f"{run}.jsonl").unlink()
    (tmp_path / "weak" / "rag" / "strong.jsonl").unlink()
    done = assay("score", tmp_path / "weak", env=env)
    assert done.returncode == 2
    assert "two runs" in done.stderr


@pytest.mark.parametrize(
    ("reply", "verdict"),
    [("[[A]]", "A"), (" [[Tie (Both Bad)]]\n", "Tie (Both Bad)"), ("A", None), ("[[C]]", None)],
)
def test_a_bare_verdict_in_brackets_is_read_and_nothing_else(reply, verdict):
    unit = BattleUnit(question="q", answer_a="a", answer_b="b")
    found = BATTLE.plain(unit, reply)
    assert (found and found.verdict) == verdict
    assert BATTLE.verdict.model_validate({"verdict": "both_bad"}).verdict == "Tie (Both Bad)"
    assert BATTLE.judged_fields == ("answer_a", "answer_b")
