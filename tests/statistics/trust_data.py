"""Real labels by people and judges, as arrays for simulated draws.

The collections hold labels, but no runs: these are made here from the real labels, with a seed.
"""

from __future__ import annotations

import csv
from pathlib import Path
from typing import NamedTuple

import numpy as np

import assay
from assay.formats.trec import read_qrels
from assay.measures.arrays import Floats
from assay.statistics.corrected.estimates import Estimates, half_widths

GOOD, POOR = "willia-umbrela1", "NISTRetrieval-instruct0"
"""Two judges of LLMJudge, with a κ of .29 and .19 on four grades."""

RUNS, DEPTH = 24, 10


class Passages(NamedTuple):
    """Runs that rank the judged passages of LLMJudge.

    nDCG@10 by people, runs × topics, and by each judge; for P@10 weights, runs × items, people's
    labels (1 for a grade of 2 or 3), the judges' grades and the topics of the items.
    """

    people: Floats
    judges: dict[str, Floats]
    weights: Floats
    labels: Floats
    grades: dict[str, Floats]
    topic: np.ndarray


def _grades(path: Path) -> dict[str, dict[str, int]]:
    """The grades of a file by topic; grade 5 counts as 3."""
    found: dict[str, dict[str, int]] = {}
    for topic, docs in read_qrels(path).value.grades.items():
        found[topic] = {doc: min(max(grade, 0), 3) for doc, grade in docs.items()}
    return found


def passages(shared: Path) -> Passages:
    """Runs that rank by people's grades, another judge's grades and noise, in different shares."""
    folder = shared / "data" / "llmjudge"
    people = _grades(folder / "llmjudge_test_qrel_idx.txt")
    judges = {name: _grades(folder / "scores" / f"{name}.txt") for name in (GOOD, POOR)}
    other = _grades(folder / "scores" / "TREMA-4prompts.txt")
    generator = np.random.default_rng(20)
    runs: dict[str, dict[str, dict[str, float]]] = {}
    for number in range(RUNS):
        of_people, of_other = generator.random(2)
        runs[f"run{number:02}"] = {}
        for topic, docs in sorted(people.items()):
            score = {
                doc: of_people * grade + of_other * other[topic][doc] + generator.normal(0, 1.5)
                for doc, grade in sorted(docs.items())
            }
            best = sorted(score, key=lambda doc: -score[doc])[:DEPTH]
            runs[f"run{number:02}"][topic] = {doc: score[doc] for doc in best}
    scores = {name: _ndcg(labels, runs) for name, labels in {"people": people, **judges}.items()}
    pooled = {(topic, doc) for run in runs.values() for topic in run for doc in run[topic]}
    items = sorted(pooled)
    place = {item: number for number, item in enumerate(items)}
    weights = np.zeros((RUNS, len(items)))
    for row, run in enumerate(runs.values()):
        for topic, docs in run.items():
            for doc in docs:
                weights[row, place[topic, doc]] = 1 / (DEPTH * len(people))
    return Passages(
        scores["people"],
        {name: scores[name] for name in judges},
        weights,
        np.array([float(people[topic][doc] >= 2) for topic, doc in items]),
        {name: np.array([float(given[t][d]) for t, d in items]) for name, given in judges.items()},
        np.unique([topic for topic, _ in items], return_inverse=True)[1],
    )


def _ndcg(qrels: dict[str, dict[str, int]], runs: dict[str, dict[str, dict[str, float]]]) -> Floats:
    frame = assay.measure(qrels, runs, "nDCG@10", per_topic=True)
    rows = [row for row in frame.sort("run", "topic").rows(named=True) if row["topic"] != "all"]
    return np.array([row["value"] for row in rows]).reshape(len(runs), len(qrels))


class Answers(NamedTuple):
    """Systems that answer the questions of OpenQA, each with one of the answers of its models.

    Accuracy as weights over answers, systems × answers; people's labels, one annotator as judge,
    and the questions of the answers; of each system the number of its answer to each question.
    """

    weights: Floats
    labels: Floats
    judge: Floats
    question: np.ndarray
    chosen: np.ndarray


def answers(shared: Path) -> Answers:
    """The first annotator is the judge; people's labels are those after resolving disagreements."""
    with (shared / "data" / "openqa" / "NQ301_human.tsv").open(encoding="utf-8") as lines:
        rows = list(csv.DictReader(lines, delimiter="\t", quoting=csv.QUOTE_NONE))
    question = np.unique([int(row["id"]) for row in rows], return_inverse=True)[1]
    labels = np.array([float(row["Acceptable?"] == "Yes") for row in rows])
    judge = np.array([float(row["annotator1"] == "Yes") for row in rows])
    generator = np.random.default_rng(21)
    groups = [np.flatnonzero(question == number) for number in range(question.max() + 1)]
    chosen = np.empty((12, len(groups)), dtype=np.int64)
    weights = np.zeros((12, len(rows)))
    for system, skill in enumerate(np.linspace(0, 2, 12)):
        for number, group in enumerate(groups):
            share = np.exp(skill * labels[group])
            chosen[system, number] = generator.choice(group, p=share / share.sum())
        weights[system, chosen[system]] = 1 / len(groups)
    return Answers(weights, labels, judge, question, chosen)


class Marks(NamedTuple):
    """A system's confidences, people's marks, and a judge's."""

    confidence: Floats
    correct: Floats
    judge: Floats


def exams(shared: Path) -> dict[str, Marks]:
    """20 systems on 300 exam questions, with simulated errors of the judge: 2 % and 5 %."""
    with (shared / "data" / "confidence" / "gastro.csv").open(encoding="utf-8") as lines:
        rows = list(csv.DictReader(lines))
    names = [name.removesuffix("_confidence") for name in rows[0] if name.endswith("_confidence")]
    generator = np.random.default_rng(22)
    found = {}
    for name in names:
        given = [row for row in rows if row[f"{name}_confidence"]]
        correct = np.array([float(row[f"{name}_correctness"]) for row in given])
        errs = generator.random(len(given)) < np.where(correct == 1, 0.02, 0.05)
        confidence = np.array([float(row[f"{name}_confidence"]) / 10 for row in given])
        found[name] = Marks(confidence, correct, np.where(errs, 1 - correct, correct))
    return found


def estimates(value: list[float], covariance: Floats, df: float = 1e9) -> Estimates:
    """A leaderboard with these scores."""
    scores = np.array(value, dtype=float)
    half = half_widths(np.diag(covariance), np.full(len(scores), df), 0.95)
    return Estimates(
        value=scores,
        low=scores - half,
        high=scores + half,
        covariance=np.asarray(covariance, dtype=float),
        df=np.full(len(scores), df),
        judge_weight=0.0,
        human_only_value=scores,
        human_only_low=scores - half,
        human_only_high=scores + half,
        labels=100,
        population="these",
    )
