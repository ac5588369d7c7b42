"""``assay compare`` of HMR, ECE, AUROC and their fellows, from tables that hold confidences."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path

import numpy as np
import pytest

from assay.measures.confidence import confidence_measures
from assay.statistics.confidence import compare_confidence
from tests.conftest import Assay

RUNS = ("knows", "boasts", "doubts")
NAMES = ["HMR", "R_O", "R_U", "ECE", "MCE", "Brier", "KS", "AUROC", "Accuracy"]


def answers(topics: int = 40) -> dict[str, tuple[np.ndarray, np.ndarray]]:
    """Three runs, two thirds right: one sure where it is right, one always, one never."""
    generator = np.random.default_rng(7)
    right = generator.random((3, topics)) < 2 / 3
    sure = [np.where(right[0], 0.9, 0.2), np.full(topics, 0.95), np.full(topics, 0.1)]
    return {run: (sure[place], right[place]) for place, run in enumerate(RUNS)}


@pytest.fixture
def tables(tmp_path: Path) -> dict[str, Path]:
    """The same answers as per_topic.csv and as a table of confidences."""
    long = ["run,topic,measure,value"]
    wide = ["run,topic,confidence,correct"]
    for run, (p, c) in answers().items():
        for topic, (one, right) in enumerate(zip(p, c, strict=True)):
            long.append(f"{run},{topic},Accuracy,{float(right)}")
            long.append(f"{run},{topic},Confidence,{one}")
            wide.append(f"{run},{topic},{100 * one},{int(right)}")
        long.append(f"{run},all,HMR,{confidence_measures(p, c)['HMR']}")
    long.append("PR,0,nDCG@20,0.5")
    found = {"per_topic.csv": long, "confidence.csv": wide}
    for name, lines in found.items():
        (tmp_path / name).write_text("\n".join(lines) + "\n", encoding="utf-8")
    return {name: tmp_path / name for name in found}


@pytest.mark.parametrize("name", ["per_topic.csv", "confidence.csv"])
def test_pairs_groups_and_letters_by_every_measure(assay: Assay, tables, name: str):
    done = assay("compare", tables[name], *(f"-m{one}" for one in NAMES), "--json")
    assert done.returncode == 0, done.stderr
    document = json.loads(done.stdout)
    given = answers()
    for one in document["measures"]:
        measure = one["measure"]
        if (measure, name) == ("Accuracy", "per_topic.csv"):
            continue  # a mean over topics, compared as all others
        values = {run["run"]: run["mean"] for run in one["runs"]}
        plain = {run: confidence_measures(p, c)[measure] for run, (p, c) in given.items()}
        assert values == pytest.approx(plain)
        best = min if measure in ("ECE", "MCE", "Brier", "KS") else max
        assert one["runs"][0]["mean"] == best(values.values())
        assert one["residual_variance"] is None
        mine = [row for row in document["rows"] if row["measure"] == measure]
        p_values = []
        for row in mine:
            pair = [*given[row["run_a"]], *given[row["run_b"]]]
            expected = compare_confidence(*pair, measures=[measure], seed=0)[measure]
            assert row["difference"] == pytest.approx(expected.difference)
            assert (row["low"], row["high"]) == pytest.approx(
                (expected.interval.low, expected.interval.high)
            )
            assert row["p"] == pytest.approx(expected.p)
            p_values.append(expected.p)
        holm = np.maximum.accumulate(np.sort(p_values) * [3, 2, 1]).clip(max=1)
        assert sorted(row["p_adjusted"] for row in mine) == pytest.approx(list(holm))
    hmr = document["measures"][0]
    assert [run["run"] for run in hmr["runs"] if run["top"]] == ["knows"]


def test_the_table_says_what_was_done(assay: Assay, tables):
    done = assay("compare", tables["per_topic.csv"], "-m", "hmr", "--seed", "3")
    assert "Runs by HMR" in done.stdout
    assert "mean" not in done.stdout.split("\n")[0]
    assert "value" in done.stdout
    assert "paired randomisation test, Holm's correction" in done.stdout
    assert "– is undefined: the measure is not a mean over topics (effect)." in done.stdout
    assert "10,000 random permutations, seed 3" in done.stdout
    rows = list(
        csv.DictReader(
            io.StringIO(assay("compare", tables["confidence.csv"], "-mECE", "--csv").stdout)
        )
    )
    assert [row["effect"] for row in rows] == ["", "", ""]
    assert float(rows[0]["difference"]) < 0  # lower is better: the first run is


def test_runs_without_a_defined_value_and_questions_without_confidence_are_named(
    assay: Assay, tmp_path: Path
):
    lines = ["run,topic,confidence,correct"]
    lines += [
        f"{run},{topic},{50 + 9 * topic % 40},{topic % 2}" for run in "ab" for topic in range(6)
    ]
    lines += [f"sage,{topic},80,1" for topic in range(6)]
    lines[3] = "a,2,,1"
    file = tmp_path / "c.csv"
    file.write_text("\n".join(lines) + "\n")
    done = assay("compare", file, "-m", "AUROC")
    assert done.returncode == 0, done.stderr
    assert "AUROC is undefined for these runs, which are left out: sage." in done.stderr
    assert "Some run has no score for 1 topic: 2. Runs that lack some: a (1)." in done.stderr
    assert "on 5 topics" in done.stdout
    assert "no pair can count as different" in done.stderr
    assert "--test tukey" not in done.stderr


@pytest.mark.parametrize(
    ("text", "options", "said"),
    [
        ("run,topic,measure,value\na,1,AP,.5\nb,1,AP,1\n", (), "has no measure “Confidence”"),
        ("run,topic,confidence,correct\na,1,50,1\nb,1,50,1\n", (), "2 runs and 1 topic"),
        (
            "run,topic,measure,value\n"
            + "".join(f"{r},{t},Confidence,90\n{r},{t},Accuracy,1\n" for r in "ab" for t in "12"),
            (),
            "The confidence 90.0 or accuracy 1.0 of run “a” is not valid.",
        ),
        (
            "run,topic,confidence,correct\n"
            + "".join(f"{r},{t},50,{t}\n" for r in "ab" for t in "01"),
            ("--test", "tukey"),
            "HMR is not a mean over topics: its test must be 'randomisation'",
        ),
    ],
)
def test_what_cannot_be_compared(assay: Assay, tmp_path: Path, text: str, options, said: str):
    file = tmp_path / "t.csv"
    file.write_text(text)
    done = assay("compare", file, "-m", "HMR", *options)
    assert done.returncode == 2
    assert said in " ".join(done.stderr.split())
    assert "Traceback" not in done.stderr
