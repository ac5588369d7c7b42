"""``assay battles`` on files, as people and scripts meet it; C1 to C6 on CrowdRAG-25."""

from __future__ import annotations

import csv
import gzip
import io
import json
import uuid
from pathlib import Path

import numpy as np
import pytest

from assay.formats.battles import (
    DIMENSIONS,
    Crowd,
    read_battle_responses,
    read_battles,
    write_battles,
)
from assay.model.battles import BattleVerdict
from assay.statistics.battle_counts import tally
from assay.statistics.correlation import kendall_tau
from assay.statistics.pair_models import RaoKupper, fit

RUNS = ("llm-bullet", "llm-essay", "llm-news", "human-bullet", "human-essay", "human-news")
RAGDOLL = {
    "task_id": "arena:x:y:q1", "qid": "q1", "pair": ["x", "y"], "assistant_a_run_id": "y",
    "assistant_b_run_id": "x", "judge_verdict": "A", "preferred_run_id": "y", "status": "completed",
}  # fmt: skip


def lines(path: Path, *rows: dict[str, object]) -> Path:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def plain(path: Path, text: str) -> Path:
    """Battles as ``topic a b verdict``, a line each."""
    names = ("topic", "run_a", "run_b", "verdict")
    rows = [dict(zip(names, line.split(" ", 3), strict=True)) for line in text.splitlines()]
    return lines(path, *rows)


def values(text: str, measure: str) -> dict[str, float | None]:
    rows = csv.DictReader(io.StringIO(text))
    return {
        row["run"]: float(row["value"]) if row["value"] else None
        for row in rows
        if row["measure"] == measure and row["topic"] == "all"
    }


def test_ratings_win_rates_and_counts_as_csv(assay, tmp_path):
    file = plain(tmp_path / "b.jsonl", "t1 a b A\nt1 b a B\nt2 a b [[A]]\nt2 b a A")
    done = assay("battles", file, "--csv")
    assert done.returncode == 0
    assert done.stdout.startswith("run,topic,measure,value,low,high\na,all,Rating,1095.42")
    assert values(done.stdout, "Rating") == pytest.approx({"a": 1095.4243, "b": 904.5757})
    assert values(done.stdout, "WinRate") == {"a": 0.75, "b": 0.25}
    assert values(done.stdout, "Battles") == {"a": 4, "b": 4}
    document = json.loads(assay("battles", file, "--json", "--per-topic").stdout)
    assert document["runs"][0]["sandwich"] == pytest.approx([898.853, 1291.996], abs=5e-4)
    assert {"run": "b", "topic": "t2", "measure": "WinRate", "value": 0.5, "low": None,
            "high": None} in document["rows"]  # fmt: skip
    assert document["pairs"][0] == {
        "run_a": "a", "run_b": "b", "topics": 2, "battles": 4, "run_a_wins": 3, "run_b_wins": 1,
        "ties": 0, "run_a_rate": 0.75, "run_b_rate": 0.25,
    }  # fmt: skip
    assert document["orders"] == {"first_won": 3, "decided": 4, "both": 2, "disagree": 1}


def test_without_a_finite_fit_there_is_no_rating_and_the_status_is_1(assay, tmp_path):
    file = plain(tmp_path / "b.jsonl", "t a b A\nt a b Tie\nt a c A\nt b c A")
    done = assay("battles", file, "--csv")
    assert done.returncode == 1
    assert values(done.stdout, "Rating") == {"a": None, "b": None, "c": None}
    assert values(done.stdout, "WinRate")["c"] == 0
    assert "not finite" in done.stderr
    assert "[c] won 0 and lost 2" in done.stderr
    done = assay("battles", file, "--csv", "--prior", 1)
    assert done.returncode == 0
    assert values(done.stdout, "Rating") == pytest.approx(
        {"a": 1170.7728, "b": 1036.8313, "c": 779.6052}
    )


def test_files_of_ragdoll_with_failed_judgments_and_two_bad_answers(assay, tmp_path):
    file = lines(
        tmp_path / "judgments.jsonl",
        RAGDOLL,
        {**RAGDOLL, "qid": "q2", "judge_verdict": "Tie (Both Bad)", "preferred_run_id": None},
        {**RAGDOLL, "qid": 3, "judge_verdict": None, "preferred_run_id": None, "status": "failed"},
        {**RAGDOLL, "qid": "q4", "judge_verdict": "A", "status": "failed"},
        {**RAGDOLL, "qid": "q5", "judge_verdict": "B", "preferred_run_id": "x"},
    )
    document = json.loads(assay("battles", file, "--json").stdout)
    assert (document["battles"], document["failed"], document["both_bad"]) == (3, 2, 1)
    read = read_battles(file).require()
    assert read[0][:4] == ("q1", "y", "x", BattleVerdict.A)
    copy = tmp_path / "copy.jsonl"
    copy.write_bytes(write_battles(read))
    assert [one[:4] for one in read_battles(copy).require()] == [one[:4] for one in read]


def test_all_faults_of_judgments_are_told_at_once(assay, tmp_path):
    file = lines(
        tmp_path / "j.jsonl",
        RAGDOLL,
        RAGDOLL,
        {**RAGDOLL, "qid": "q2", "judge_verdict": "maybe"},
        {**RAGDOLL, "qid": "q3", "preferred_run_id": "x"},
        {**RAGDOLL, "qid": "q4", "pair": ["x", "z"]},
        {**RAGDOLL, "qid": None},
        {"topic": "t", "run_a": "a", "run_b": "a", "verdict": "A"},
        {"topic": "t", "run_a": "a", "run_b": None, "verdict": "A"},
        {"run": "a"},
    )
    assert "is not a verdict" in assay("validate", file).stdout
    done = assay("battles", file)
    assert done.returncode == 2
    for said in ("on line 1", "“maybe” is not a verdict", "is preferred", "do not match",
                 "no topic", "battles itself", "two runs", "not a judgment"):  # fmt: skip
        assert said in done.stderr, said


def test_halves_of_crowdrag_are_faults(tmp_path):
    row = {"query_id": "1", "response_a": "u", "response_b": "v", "worker": ["x", "y"],
           "quality_overall_vote": ["A", "B"],
           "quality_overall_spam_probability": [1, None]}  # fmt: skip
    asked = {"query_id": "1", "response_a": "u", "quality_overall": "a", "inference": "combined"}
    file = lines(tmp_path / "c.jsonl", row, asked)
    faults = read_battles(file, Crowd(votes=True)).errors
    assert [(one.line, one.why[:20]) for one in faults] == [
        (1, "There must be as man"), (2, "The judgment does no")
    ]  # fmt: skip


def test_files_of_arena_rank_have_no_topics_and_unknown_words_are_no_ties(assay, tmp_path):
    file = tmp_path / "arena.csv"
    rows = [
        "model_a,model_b,winner",
        *["x,y,model_a"] * 3,
        "y,x,model_a",
        "x,y,both_bad",
        "y,x,tie",
    ]
    file.write_text("\n".join(rows) + "\n")
    done = assay("battles", file, "--json")
    document = json.loads(done.stdout)
    assert document["topics"] is None
    assert document["rows"][0]["low"] is not None  # battles are drawn
    assert document["battles"] == 6
    file.write_text(file.read_text() + "x,y,model_c\n")
    assert "is not a verdict" in assay("battles", file).stderr


def test_two_orders_are_one_battle_with_merge(assay, tmp_path):
    file = plain(
        tmp_path / "b.jsonl",
        "t1 a b A\nt1 b a B\nt2 a b A\nt2 b a A\nt3 b a A\nt4 a b Tie\nt4 b a Tie (Both Bad)",
    )
    document = json.loads(assay("battles", file, "--json", "--merge").stdout)
    assert document["orders"]["disagree"] == 1
    (pair,) = document["pairs"]
    assert (pair["run_a_wins"], pair["ties"], pair["run_b_wins"]) == (1, 2, 1)


def test_what_to_judge_next(assay, tmp_path):
    file = plain(tmp_path / "b.jsonl", "t1 a b A\nt2 a b B\nt1 c a A\nt2 a c A")
    done = assay("battles", file, "--next", 3, "--csv")
    found = list(csv.DictReader(io.StringIO(done.stdout)))
    assert {frozenset((one["run_a"], one["run_b"])) for one in found} == {frozenset("bc")}
    assert [one["topic"] for one in found] == ["t1", "t2"]  # all else was judged


@pytest.mark.parametrize(
    ("options", "says"),
    [
        (["--model", "elo"], "--model"),
        (["--theta", "1.1"], "rao-kupper"),
        (["--model", "rao-kupper", "--theta", "1"], "above 1"),
        (["--win-rate", "all"], "--win-rate"),
        (["--dimension", "beauty"], "--dimension"),
        (["--seed", str(2**63), "--json"], "2 to the power of 63"),
        (["--prior", "1e308"], "do not converge"),
    ],
)
def test_settings_that_there_are_not(assay, tmp_path, options, says):
    done = assay("battles", plain(tmp_path / "b.jsonl", "t a b A"), *options)
    assert done.returncode == 2
    assert says in done.stderr


def test_what_is_in_files_is_shown_and_not_acted_on(assay, tmp_path):
    file = lines(
        tmp_path / "b.jsonl",
        {"topic": "t", "run_a": "=1+1", "run_b": "\x1b[31mred", "verdict": "A"},
        {"topic": "t", "run_a": "=1+1", "run_b": "\x1b[31mred", "verdict": "B"},
    )
    for form in ("--csv", "--json", "--per-topic"):
        done = assay("battles", file, form)
        assert "\x1b" not in done.stdout
        assert "\n=1" not in done.stdout


# --- CrowdRAG-25 ---------------------------------------------------------------------------------

_NAMES = uuid.UUID("0e8b439f-cc41-4468-81c1-f2cf514851d9")
"""Of the published script that names the model's responses: a UUID of topic, style and "llm"."""


@pytest.fixture(scope="module")
def crowd(shared_data: Path) -> Path:
    return shared_data / "data" / "crowdrag25"


@pytest.fixture(scope="module")
def responses(crowd: Path, tmp_path_factory: pytest.TempPathFactory) -> tuple[object, ...]:
    file = tmp_path_factory.mktemp("crowd") / "llm.jsonl"
    with gzip.open(crowd / "artifacts-ratings.jsonl.gz", "rt") as text:
        topics = sorted({json.loads(line)["query_id"] for line in text})
    styles = ("bullet", "essay", "news")
    lines(
        file,
        *(
            {"response": str(uuid.uuid3(_NAMES, f"{topic}{style}llm")), "style": style}
            for topic in topics
            for style in styles
        ),
    )
    return ("--responses", crowd / "raw-study1_tasks.jsonl.gz", "--responses", file)


def test_c1_gold_labels_of_quality(assay, crowd, responses):
    done = assay("battles", crowd / "artifacts-ratings.jsonl.gz", *responses, "--json")
    document = json.loads(done.stdout)
    rows = {(row["run"], row["measure"]): row for row in document["rows"]}
    rating = [rows[run, "Rating"]["value"] for run in RUNS]
    assert rating == pytest.approx([1128.73, 1051.55, 1005.33, 986.56, 924.72, 903.11], abs=5e-3)
    won = [319, 270, 226, 215, 170, 152]
    fought = [454, 464, 444, 452, 449, 441]
    assert [rows[run, "Battles"]["value"] for run in RUNS] == fought
    rates = [rows[run, "WinRate"]["value"] for run in RUNS]
    assert rates == pytest.approx([w / n for w, n in zip(won, fought, strict=True)])
    assert document["runs"][0]["sandwich"] == pytest.approx([1099.13, 1158.34], abs=6e-3)
    assert document["orders"]["first_won"] / document["orders"]["decided"] == pytest.approx(
        0.486, abs=1e-4
    )
    # C4: intervals over topics are wider than those that take battles for independent.
    ends = {run: (rows[run, "Rating"]["low"], rows[run, "Rating"]["high"]) for run in RUNS}
    assert ends["llm-bullet"] == pytest.approx((1094, 1167), abs=4)
    assert ends["llm-news"] == pytest.approx((977, 1035), abs=4)
    for one in document["runs"]:
        low, high = ends[one["run"]]
        if one["run"] != "llm-news":
            assert high - low > one["sandwich"][1] - one["sandwich"][0]


def test_c2_and_c3_ties_and_merged_orders(assay, crowd, responses):
    file = crowd / "artifacts-ratings.jsonl.gz"
    done = assay("battles", file, *responses, "--csv", "--dimension", "coverage_broad")
    found = values(done.stdout, "Rating")
    expected = [1083.43, 1027.71, 1006.70, 1015.60, 943.99, 922.57]
    assert [found[run] for run in RUNS] == pytest.approx(expected, abs=5e-3)
    document = json.loads(assay("battles", file, *responses, "--json", "--merge").stdout)
    assert document["battles"] == 975
    assert (document["orders"]["both"], document["orders"]["disagree"]) == (377, 128)
    found = {row["run"]: row["value"] for row in document["rows"] if row["measure"] == "Rating"}
    expected = [1129.85, 1046.51, 1021.07, 973.41, 926.85, 902.31]
    assert [found[run] for run in RUNS] == pytest.approx(expected, abs=5e-3)


def test_c5_merits_of_single_topics_rank_responses_as_published(crowd, responses):
    runs = (
        read_battle_responses(responses[1]).require()
        | read_battle_responses(responses[3]).require()
    )
    with gzip.open(crowd / "artifacts-grades.jsonl.gz", "rt") as text:
        grades = {one["response"]: one for one in map(json.loads, text)}
    by_response = {response: runs[response] for response in grades}
    for dimension in DIMENSIONS:
        chosen = Crowd(dimension, runs=by_response)
        read = read_battles(crowd / "artifacts-ratings.jsonl.gz", chosen).require()
        topics = sorted({one.topic for one in read})
        counts = tally(
            [RUNS.index(one.a) for one in read],
            [RUNS.index(one.b) for one in read],
            [one.verdict.outcome for one in read],
            [topics.index(one.topic) for one in read],
            runs=6,
            topics=65,
        )
        found = fit(counts.counts, counts.first, counts.second, 6, RaoKupper(np.exp(0.05)), 0.4)
        order = {
            topic: dict(zip(RUNS, one.argsort().argsort() + 1, strict=True))
            for topic, one in zip(topics, found.strength.round(4), strict=True)
        }
        plainly = read_battles(crowd / "artifacts-ratings.jsonl.gz", Crowd(dimension)).require()
        wrong = {
            one.topic
            for one in plainly
            for response in (one.a, one.b)
            if order[one.topic][by_response[response]] != grades[response][dimension]
        }
        assert len(wrong) <= 1, dimension  # of near-equal merits, which the published fit swaps


def test_c6_the_models_labels(assay, crowd, responses):
    file = crowd / "artifacts-llm_ratings.jsonl.gz"
    done = assay("battles", crowd / "artifacts-ratings.jsonl.gz", *responses, "--csv")
    people = values(done.stdout, "Rating")
    expected = {"combined": 0.466667, "individual": 0.6}
    for way, tau in expected.items():
        done = assay("battles", file, *responses, "--csv", "--inference", way)
        found = values(done.stdout, "Rating")
        assert values(done.stdout, "Battles")["llm-essay"] > 0
        mine = kendall_tau([people[run] for run in RUNS], [found[run] for run in RUNS])
        assert mine == pytest.approx(tau, abs=1e-6)
        if way == "combined":
            expected_ratings = [1157.15, 1416.74, 1276.80, 631.42, 805.45, 712.43]
            assert [found[run] for run in RUNS] == pytest.approx(expected_ratings, abs=5e-3)
            assert "378 rows" in done.stderr


def test_votes_of_the_crowd_but_for_likely_spammers(crowd, responses):
    file = crowd / "artifacts-ratings.jsonl.gz"
    every = read_battles(file, Crowd(votes=True)).require()
    assert len(every) == 1352 * 5
    fewer = read_battles(file, Crowd(votes=True, most_spam=0.7))
    assert 0 < len(fewer.require()) < len(every)
    assert any("spammers" in one.why for one in fewer.faults)


def test_raw_files_of_crowdrag_are_read(tmp_path):
    pair = {"query_id": "2024-1", "response_a": "u1", "response_b": "u2"}
    ratings = {f"Q{number}_rating": "N" for number in range(1, 7)} | {"Q7_rating": "B"}
    raw = lines(tmp_path / "raw.jsonl", {**pair, "ratings": ratings}, {**pair, "ratings": ratings})
    read = read_battles(raw)
    assert [one.verdict for one in read.require()] == [BattleVerdict.B]
    assert read_battles(raw, Crowd("coverage_deep")).require()[0].verdict is BattleVerdict.TIE
    votes = lines(
        tmp_path / "votes.jsonl",
        {**pair, "worker": "w1", "validity": "A", "quality_overall": "B"},
        {**pair, "worker": "w2", "validity": "N", "quality_overall": "A"},
    )
    read = read_battles(votes, Crowd("correctness_topical"))
    assert [(one.verdict, one.judge) for one in read.require()] == [
        (BattleVerdict.A, "w1"), (BattleVerdict.TIE, "w2"),
    ]  # fmt: skip
    both = dict.fromkeys(("u1", "u2"), "same")
    assert not read_battles(votes, Crowd(runs=both)).ok
