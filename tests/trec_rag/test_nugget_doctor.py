"""``assay nuggets doctor``: what each nugget does, against files scored without it."""

from __future__ import annotations

import csv
import io
import json

import numpy as np
import pytest
from scipy import stats

LABELS = {0.0: "not_support", 0.5: "partial_support", 1.0: "support"}
TOPICS = {"t1": 4, "t2": 3, "t3": 1}
RUNS = 5


def values_of(seed):
    generator = np.random.default_rng(seed)
    return {topic: generator.integers(0, 3, (RUNS, n)) / 2 for topic, n in TOPICS.items()}


def write(path, values, without=None):
    """Assignments of all runs but for a nugget (topic, column)."""
    lines = []
    for topic, matrix in values.items():
        kept = [c for c in range(matrix.shape[1]) if (topic, c) != without]
        for run in range(RUNS) if kept else ():
            nuggets = [
                {"text": f"{topic} nugget {c}", "importance": "vital",
                 "assignment": "failed" if np.isnan(matrix[run, c]) else LABELS[matrix[run, c]]}
                for c in kept
            ]  # fmt: skip
            lines.append(
                {"run_id": f"r{run}", "qid": topic, "query": topic, "answer_text": "x",
                 "response_length": 1, "nuggets": nuggets}
            )  # fmt: skip
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return path


def official(path, seed):
    scores = np.random.default_rng(seed + 50).random(RUNS)
    path.write_text("run,score\n" + "".join(f"r{n},{s}\n" for n, s in enumerate(scores)))
    return scores


def doctor(assay, *arguments):
    done = assay("nuggets", "doctor", *arguments, "--csv")
    assert done.returncode == 0, done.stderr
    return list(csv.DictReader(io.StringIO(done.stdout)))


def scored(assay, path):
    """'all' by topic and run, and over topics."""
    done = assay("nuggets", path, "--per-topic", "--csv")
    assert done.returncode == 0, done.stderr
    found = {}
    for row in csv.DictReader(io.StringIO(done.stdout)):
        if row["measure"] == "all":
            found.setdefault(row["topic"], {})[row["run"]] = float(row["value"])
    return found


@pytest.mark.parametrize("seed", [1, 2])
def test_it_says_what_scoring_without_the_nugget_would(assay, tmp_path, seed):
    values, scores = values_of(seed), official(tmp_path / "official.csv", seed)
    path = write(tmp_path / "whole.jsonl", values)
    runs = [f"r{n}" for n in range(RUNS)]

    def tau(found):
        return stats.kendalltau([found["all"][r] for r in runs], scores).statistic

    whole = scored(assay, path)
    rows = doctor(assay, path, "--official", tmp_path / "official.csv")
    document = json.loads(
        assay("nuggets", "doctor", path, "--official", tmp_path / "official.csv", "--json").stdout
    )
    assert document["tau"] == pytest.approx(tau(whole))
    assert document["tau_low"] <= document["tau"] <= document["tau_high"]
    for row in rows:
        if row["proposal"] == "add":
            continue
        low, high = float(row["tau_without_low"]), float(row["tau_without_high"])
        assert -2 <= low <= high <= 2
        topic, column = row["topic"], int(row["nugget"].split()[-1])
        less = scored(assay, write(tmp_path / "less.jsonl", values, (topic, column)))
        assert float(row["tau_without"]) == pytest.approx(tau(less) - tau(whole))
        before, after = whole[topic], less.get(topic, dict.fromkeys(runs, 0.0))
        changed = sum(
            np.sign(round(before[a] - before[b], 9)) != np.sign(round(after[a] - after[b], 9))
            for a in runs for b in runs if a < b
        )  # fmt: skip
        assert int(row["decides"]) == changed
        assert int(row["stated_floor"]) == (values[topic][:, column] > 0).sum()


def test_what_is_proposed(assay, tmp_path):
    values = values_of(3)
    values["t1"][:, 0] = 0
    values["t1"][:, 1] = 1
    values["t1"][:, 2:] = np.array([[0, 1, 1, 0, 0.5]]).T
    rows = doctor(assay, write(tmp_path / "a.jsonl", values))
    assert [row["proposal"] for row in rows[:4]] == ["drop", "drop", "", "merge"]
    assert rows[3]["most_like"] == "t1 nugget 2"
    assert {row["tau_without"] for row in rows} == {""}
    shown = assay("nuggets", "doctor", tmp_path / "a.jsonl").stdout
    assert "no answer states it" in shown
    assert "the same answers state “t1 nugget 2”" in " ".join(shown.split())


def test_proposals_say_what_they_settle_and_that_first(assay, tmp_path):
    values = values_of(5)
    values["t1"] = np.array([[1, 0, 0, 0], [1, 0, 0, 0], [1, 1, 1, 0], [1, 1, 1, 0], [1, 1, 1, 1]])
    path = write(tmp_path / "a.jsonl", values)
    proposals = json.loads(assay("nuggets", "doctor", path, "--json").stdout)["proposals"]
    most = [one["settles_ceiling"] for one in proposals]
    assert most == sorted(most, reverse=True)
    by = {(one["topic"], one["proposal"], one["nugget"]): one for one in proposals}
    dropped = by["t1", "drop", "t1 nugget 0"]
    assert (dropped["decides"], dropped["settles_floor"], dropped["settles_ceiling"]) == (0, 0, 0)
    merged = by["t1", "merge", "t1 nugget 2"]
    assert merged["settles_floor"] == merged["settles_ceiling"] == merged["decides"]
    # Runs 0 and 1 are tied, and 2 and 3: a nugget can tell each pair apart.
    added = by["t1", "add", ""]
    assert (added["decides"], added["settles_floor"], added["settles_ceiling"]) == (2, 0, 2)
    assert added["why"] == "2 pairs of runs tied"
    shown = " ".join(assay("nuggets", "doctor", path).stdout.split())
    assert "those that settle most pairs of runs first" in shown


def test_nothing_is_said_of_what_hangs_on_missing_labels(assay, tmp_path):
    values = values_of(4)
    values["t1"][1, 2] = np.nan
    rows = doctor(assay, write(tmp_path / "a.jsonl", values))
    mine = [row for row in rows if row["topic"] == "t1"]
    assert {row["decides"] for row in mine} == {""}
    assert int(mine[2]["stated_ceiling"]) == int(mine[2]["stated_floor"]) + 1
    assert mine[2]["discrimination"] == ""
    assert all(row["decides"] != "" for row in rows if row["topic"] == "t2")
