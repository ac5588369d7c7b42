"""``assay bank doctor``: what each question does, against the bank scored without it."""

from __future__ import annotations

import csv
import io
import json
import re

import numpy as np
import pytest
from scipy import stats

from .cases import entry, write

RUNS = 5
QUERIES = {"q1": 4, "q2": 3, "q3": 1}
PASSAGES = 6


def folder_of(path, seed, *, without=None, qrels=False, grade=None):
    """A folder of graded passages that are random but for ``without`` (query, column)."""
    generator = np.random.default_rng(seed)
    path.mkdir(parents=True)
    bank, rows, judged = [], [], []
    for query, count in QUERIES.items():
        grades = generator.integers(0, 6, (PASSAGES, count))
        shown = [generator.permutation(PASSAGES)[:2] for _ in range(RUNS)]
        names = [f"{query}/{column}" for column in range(count)]
        kept = [column for column in range(count) if (query, column) != without]
        if not kept:
            continue
        if query == "q1" and grade is not None:
            grades[:, 0] = grade
        items = [{"question_id": names[c], "question_text": f"{names[c]}?"} for c in kept]
        bank.append({"query_id": query, "query_text": query, "items": items})
        pool = []
        for place in range(PASSAGES):
            rankings = [
                {"method": f"r{run}", "paragraphId": f"{query}p{place}", "queryId": query,
                 "rank": 1 + list(ranked).index(place), "score": 1.0}
                for run, ranked in enumerate(shown) if place in ranked
            ]  # fmt: skip
            given = {names[c]: int(grades[place, c]) for c in kept}
            pool.append({
                "paragraph_id": f"{query}p{place}", "text": "x",
                "paragraph_data": {"judgments": [], "rankings": rankings},
                "exam_grades": [entry(given)],
            })  # fmt: skip
            judged.append(f"{query} 0 {query}p{place} {place % 2}")
        rows.append([query, pool])
    write(path / "graded.jsonl", rows)
    write(path / "bank.jsonl", bank)
    official = [f"r{run},{score}" for run, score in enumerate(generator.random(RUNS))]
    (path / "official.csv").write_text("\n".join(["run,score", *official]) + "\n")
    more = ""
    if qrels:
        (path / "qrels.txt").write_text("\n".join(judged) + "\n")
        more = 'qrels = "qrels.txt"\n'
    (path / "assay.toml").write_text(
        '[evaluation]\nprotocol = "exam"\n[inputs]\ngraded = "graded.jsonl"\n'
        f'bank = "bank.jsonl"\nofficial = "official.csv"\n{more}'
    )
    return path


def doctor(assay, path):
    done = assay("bank", "doctor", path, "--csv")
    assert done.returncode == 0, done.stderr
    return list(csv.DictReader(io.StringIO(done.stdout)))


def tau_and_covers(assay, path):
    """τ-b with the official board and each run's cover by query, from what scoring writes."""
    assert assay("judge", path).returncode == assay("score", path).returncode == 0
    covers = {}
    for row in csv.DictReader((path / "out" / "per_topic.csv").open()):
        if row["measure"] == "EXAM-Cover":
            covers.setdefault(row["topic"], {})[row["run"]] = float(row["value"])
    official = {r["run"]: float(r["score"]) for r in csv.DictReader((path / "official.csv").open())}
    means = {run: np.mean([of[run] for of in covers.values()]) for run in official}
    order = sorted(official)
    tau = stats.kendalltau([means[r] for r in order], [official[r] for r in order]).statistic
    return tau, covers


@pytest.mark.parametrize("seed", [1, 2])
def test_it_says_what_scoring_without_the_question_would(assay, tmp_path, seed):
    whole = folder_of(tmp_path / "whole", seed)
    tau, covers = tau_and_covers(assay, whole)
    rows = {row["question_id"]: row for row in doctor(assay, whole) if row["question_id"]}
    assert json.loads(assay("bank", "doctor", whole, "--json").stdout)["tau"] == pytest.approx(tau)
    for query, count in QUERIES.items():
        for column in range(count):
            row = rows[f"{query}/{column}"]
            less = folder_of(tmp_path / f"{query}{column}", seed, without=(query, column))
            tau_less, covers_less = tau_and_covers(assay, less)
            assert float(row["tau_without"]) == pytest.approx(tau_less - tau)
            assert float(row["tau_without_low"]) <= float(row["tau_without_high"])
            changed = sum(
                np.sign(round(covers[query][f"r{a}"] - covers[query][f"r{b}"], 9))
                != np.sign(round(left.get(f"r{a}", 0) - left.get(f"r{b}", 0), 9))
                for left in [covers_less.get(query, {})]
                for a in range(RUNS)
                for b in range(a)
            )
            assert int(row["decides"]) == changed


def test_what_is_proposed(assay, tmp_path):
    path = folder_of(tmp_path / "all", 3, grade=5)
    first = doctor(assay, path)[0]
    assert (first["proposal"], first["decides"]) == ("drop", "0")
    assert "every run answers it" in first["why"]
    path = folder_of(tmp_path / "none", 3, grade=0)
    first = doctor(assay, path)[0]
    assert (first["proposal"], first["answered_ceiling"]) == ("reword", "0")
    judged = doctor(assay, folder_of(tmp_path / "judged", 3, qrels=True))
    assert {row["misleads"] != "" for row in judged if row["question_id"]} == {True}
    shown = assay("bank", "doctor", path, "--query", "q1").stdout
    assert "no run answers it" in shown
    assert "q2" not in shown
    shown = assay("bank", "doctor", path, "--all").stdout
    assert "discr." in shown
    assert re.search(r"tau with the official leaderboard: -?[\d.]+ \[-?[\d.]+–-?[\d.]+\]", shown)


def test_of_two_questions_that_ask_the_same_the_later_goes(assay, tmp_path):
    path = folder_of(tmp_path / "twice", 4)
    graded = [json.loads(line) for line in (path / "graded.jsonl").read_text().splitlines()]
    ranked = [p for p in graded[0][1] if p["paragraph_data"]["rankings"]]
    for passage in graded[0][1]:
        ratings = passage["exam_grades"][0]["self_ratings"]
        for rating in ratings[1:3]:
            rating["self_rating"] = 5 if passage is ranked[0] else 0
    write(path / "graded.jsonl", graded)
    proposals = {row["question_id"]: row for row in doctor(assay, path)}
    assert proposals["q1/2"]["proposal"] == "drop"
    assert "q1/1 is answered by the same passages" in proposals["q1/2"]["why"]
    assert "same passages" not in proposals["q1/1"]["why"]


def test_nothing_is_said_of_what_hangs_on_missing_grades(assay, tmp_path):
    path = folder_of(tmp_path / "some", 5)
    graded = [json.loads(line) for line in (path / "graded.jsonl").read_text().splitlines()]
    for passage in graded[0][1]:
        for key in ("self_ratings", "answers"):
            passage["exam_grades"][0][key] = passage["exam_grades"][0][key][1:]
    write(path / "graded.jsonl", graded)
    rows = doctor(assay, path)
    assert {row["decides"] for row in rows if row["query"] == "q1"} == {""}
    assert {row["tau_without"] for row in rows} == {""}
    assert rows[0]["answered_ceiling"] > rows[0]["answered_floor"]
    assert all(row["decides"] != "" for row in rows if row["query"] == "q2")


def test_folders_without_a_bank(assay, tmp_path):
    path = folder_of(tmp_path / "x", 1)
    assert assay("bank", "doctor", path, "--query", "q9").returncode == 2
    (path / "assay.toml").write_text('[evaluation]\nprotocol = "trec-rag"\n')
    done = assay("bank", "doctor", path)
    assert done.returncode == 2
    assert "Traceback" not in done.stderr
