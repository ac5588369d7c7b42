"""``assay samplesize``: goldens, pooling, the three designs, the power that an experiment had."""

from __future__ import annotations

import csv
import io
import json
import math
from itertools import product
from pathlib import Path

import numpy as np
import pytest
from scipy import stats

HEADER = ["design", "alpha", "beta", "mind", "m", "topics"]
POWER = ["matrix", "alpha", "mind", "m", "topics", "paired_t", "anova", "width"]
SCORES = [[0.5, 0.6, 0.4], [0.7, 0.8, 0.5], [0.2, 0.4, 0.3], [0.9, 0.85, 0.6], [0.3, 0.35, 0.1]]


def write(path: Path, text: str) -> Path:
    path.write_text(text, encoding="utf-8")
    return path


def matrix(path: Path, scores) -> Path:
    lines = [",".join(["topic", *(f"run{place + 1}" for place in range(len(scores[0])))])]
    lines += [",".join(map(str, [f"t{n}", *row])) for n, row in enumerate(scores)]
    return write(path, "\n".join(lines) + "\n")


def table(done, header=HEADER) -> list[dict[str, str]]:
    assert done.returncode == 0, done.stderr
    found = list(csv.DictReader(io.StringIO(done.stdout)))
    assert list(found[0]) == header
    return found


def sizes(done) -> dict[tuple[str, ...], int]:
    return {
        (r["design"], r["alpha"], r["beta"], r["mind"], r["m"]): int(r["topics"])
        for r in table(done)
    }


@pytest.fixture
def worked(tmp_path) -> Path:
    return matrix(tmp_path / "scores.csv", SCORES)


def test_the_specs_topic_set_sizes(assay):
    got = sizes(assay("samplesize", "--variance", ".05", "--mind", ".1", "--m", "2,10", "--csv"))
    assert got == {
        ("paired-t", "0.05", "0.2", "0.1", "2"): 81,
        ("anova", "0.05", "0.2", "0.1", "2"): 80,
        ("anova", "0.05", "0.2", "0.1", "10"): 158,
        ("interval", "0.05", "", "0.1", "2"): 156,
    }


def test_the_residual_variance_of_the_worked_example(worked, assay):
    document = json.loads(assay("samplesize", worked, "--json").stdout)
    assert document["variance"] == pytest.approx(0.00616667, abs=5e-9)
    assert document["degrees"] == 8
    one = document["matrices"][0]
    assert (one["topics"], one["runs"], one["score"]) == (5, 3, "scores")
    assert [list(row) for row in document["rows"]] == [HEADER] * 24


def test_variances_are_pooled_by_their_degrees_of_freedom(worked, tmp_path, assay):
    generator = np.random.default_rng(6)
    other = generator.random((12, 4))
    residuals = other - other.mean(axis=1, keepdims=True) - other.mean(axis=0) + other.mean()
    variance = (residuals**2).sum() / 33
    files = (worked, matrix(tmp_path / "other.csv", other.tolist()))
    document = json.loads(assay("samplesize", *files, "--json").stdout)
    assert document["matrices"][1]["variance"] == pytest.approx(variance)
    assert document["degrees"] == 41
    expected = (8 * 0.0061666666667 + 33 * variance) / 41
    assert document["variance"] == pytest.approx(expected, abs=1e-10)
    same = assay("samplesize", "--variance", repr(document["variance"]), "--csv").stdout
    assert assay("samplesize", *files, "--csv").stdout == same
    shown = assay("samplesize", *files).stdout
    assert "pooled" in shown
    assert "41" in shown


def test_tables_over_all_settings(assay):
    options = ("--alpha", ".01,.05", "--beta", ".1", "--beta", ".2", "--mind", ".1,.2")
    got = sizes(assay("samplesize", "--variance", ".1", *options, "--m", "3,30", "--csv"))
    tested = list(product(("0.01", "0.05"), ("0.1", "0.2"), ("0.1", "0.2")))
    assert list(got) == sorted(got, key=lambda key: (key[1], key[0] == "interval", key[2], key[3]))
    expected = {("paired-t", *one, "2") for one in tested}
    expected |= {("anova", *one, m) for one in tested for m in ("3", "30")}
    expected |= {("interval", a, "", w, "2") for a in ("0.01", "0.05") for w in ("0.1", "0.2")}
    assert set(got) == expected
    for (design, alpha, beta, mind, m), n in got.items():
        if design == "interval":
            continue  # below
        d1, per = (1, 1) if design == "paired-t" else (int(m) - 1, int(m))
        powers = [
            stats.ncf.sf(
                stats.f.isf(float(alpha), d1, per * (k - 1)),
                d1, per * (k - 1), k * float(mind) ** 2 / 0.2,
            )
            for k in (n, n - 1)
        ]  # fmt: skip
        assert powers[0] >= 1 - float(beta) > powers[1]


def test_the_interval_design_against_simulation(assay):
    got = sizes(assay("samplesize", "--variance", ".02", "--width", ".2", "--csv"))
    n = got["interval", "0.05", "", "0.2", "2"]
    generator = np.random.default_rng(1)

    def width(topics: int) -> float:
        drawn = generator.normal(0, math.sqrt(0.04), (40_000, topics)).std(axis=1, ddof=1)
        return 2 * stats.t.isf(0.025, topics - 1) * drawn.mean() / math.sqrt(topics)

    assert width(n) < 0.2 < width(n - 1)


def test_the_power_that_an_experiment_had(worked, assay):
    done = assay("samplesize", worked, "--power", "--mind", ".1", "--alpha", ".05,.01", "--csv")
    found = table(done, POWER)
    assert [(r["alpha"], round(float(r["mind"]), 6)) for r in found] == [
        ("0.05", 0.22), ("0.05", 0.1), ("0.01", 0.22), ("0.01", 0.1),
    ]  # fmt: skip
    variance = 0.074 / 12
    for row in found:
        assert (row["m"], row["topics"]) == ("3", "5")
        alpha, noncentrality = float(row["alpha"]), 5 * float(row["mind"]) ** 2 / (2 * variance)
        # the power of a two-sided t-test by the noncentral t
        t, shift = stats.t.isf(alpha / 2, 4), math.sqrt(noncentrality)
        power = stats.nct.sf(t, 4, shift) + stats.nct.cdf(-t, 4, shift)
        assert float(row["paired_t"]) == pytest.approx(power, abs=1e-6)
        anova = stats.ncf.sf(stats.f.isf(alpha, 2, 12), 2, 12, noncentrality)
        assert float(row["anova"]) == pytest.approx(anova, abs=1e-9)
    document = json.loads(assay("samplesize", worked, "--power", "--json").stdout)
    assert document["rows"] == []
    power = document["matrices"][0]["power"]
    assert [round(one["mind"], 6) for one in power] == [0.22, 0.05, 0.1, 0.2]
    with_sizes = json.loads(assay("samplesize", worked, "--json").stdout)
    assert with_sizes["matrices"][0]["power"] == power
    shown = assay("samplesize", worked, "--power").stdout
    assert "Power that the experiment had" in shown
    assert "Topics needed" not in shown
    assert "Topics needed" in assay("samplesize", worked).stdout


def test_a_long_table_is_the_same_matrix(worked, tmp_path, assay):
    lines = ["run,topic,measure,value"]
    for place, run in enumerate(("x", "y", "z")):
        lines += [f"{run},{n},AP,{row[place]}" for n, row in enumerate(SCORES)]
        lines += [f"{run},all,AP,0", f"{run},0,RR,1"]
    file = write(tmp_path / "long.csv", "\n".join(lines) + "\n")
    done = assay("samplesize", file, "--score", "AP", "--csv")
    assert table(done) == table(assay("samplesize", worked, "--csv"))
    unsaid = assay("samplesize", file)
    assert unsaid.returncode == 2
    assert "e.g. --score AP." in unsaid.stderr


def test_a_huge_difference_needs_two_topics(worked, assay):
    for given in (("--variance", "1"), (worked,)):
        done = assay("samplesize", *given, "--mind", "1e200", "--m", "2", "--csv")
        assert done.returncode == 0, done.stderr
        assert set(sizes(done).values()) == {2}


def test_a_constant_difference_has_no_variance(tmp_path, assay):
    file = matrix(tmp_path / "m.csv", [[0.1, 0.2], [0.2, 0.3], [0.4, 0.5]])
    done = assay("samplesize", file)
    assert done.returncode == 2
    assert "m.csv: the residual variance is 0" in done.stderr


def test_all_faults_of_all_matrices_at_once(tmp_path, assay):
    first = write(tmp_path / "a\x1b.csv", "topic,A,B\n1,.5,x\n")
    second = write(tmp_path / "b.csv", "run,topic,score,n\nA,1,O.9,5\nB,1,.2,9\n")
    done = assay("samplesize", first, second)
    assert done.returncode == 2
    assert "a\\x1b.csv:2 [1] The score “x” of run “B”" in done.stderr
    assert "b.csv:2 [1] The score “O.9”" in done.stderr
    assert "\x1b" not in done.stderr


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "m.csv The file is empty."),
        ("topic,A,B\n1,.5,x\n2,y,.6\n", "2 faults in the input"),
        ("topic,A,B\n1,.5,.6\n", "The matrix has 2 runs and 1 topic"),
    ],
)
def test_matrices_that_cannot_be_used(tmp_path, assay, text, said):
    done = assay("samplesize", write(tmp_path / "m.csv", text))
    assert done.returncode == 2
    assert said in done.stderr
    assert "Traceback" not in done.stderr
    assert done.stdout == ""


@pytest.mark.parametrize(
    "options",
    [
        (), ("--power",), ("--variance", "0"), ("--variance", "nan"), ("--variance", "-1"),
        ("--variance", "1", "--alpha", "0"), ("--variance", "1", "--beta", "1"),
        ("--variance", "1", "--mind", "0"), ("--variance", "1", "--mind", ","),
        ("--variance", "1", "--m", "1"), ("--variance", "1", "--m", "2.5"),
        ("--variance", "1", "--width", "x"), ("--variance", "1", "--json", "--csv"),
        ("--variance", "1", "--power"), ("--variance", "1e300", "--mind", "1e-9"),
        ("--variance", "1", "--mind", "1e-300"),
        ("--variance", "1", "none.csv"), ("none.csv",), ("--variance", "1", "--seed", str(2**63)),
    ],
)  # fmt: skip
def test_wrong_options(assay, options):
    done = assay("samplesize", *options)
    assert done.returncode == 2
    assert "Traceback" not in done.stderr
    assert done.stdout == ""


def confident(path: Path, *, topics: int = 30) -> Path:
    generator = np.random.default_rng(3)
    lines = ["run,topic,confidence,correct"]
    lines += [
        f"{run},{topic},{generator.integers(101)},{generator.integers(2)}"
        for run in "AB"
        for topic in range(topics)
    ]
    return write(path, "\n".join(lines) + "\n")


def test_topics_for_hmr_are_simulated_from_a_pilot(tmp_path, assay):
    file = confident(tmp_path / "pilot.csv")
    options = ("samplesize", file, "--score", "HMR", "--mind", ".1,.2")
    found = table(assay(*options, "--csv"), ["design", "alpha", "beta", "mind", "topics", "worst"])
    assert [row["design"] for row in found] == [
        "paired", "paired", "interval", "interval-run", "interval", "interval-run",
    ]  # fmt: skip
    assert found[0]["topics"] == found[0]["worst"]  # there is one pair
    assert int(found[0]["topics"]) > int(found[1]["topics"])
    assert found[2]["worst"] == ""
    document = json.loads(assay(*options, "--json").stdout)
    assert document["rows"][0]["topics"] == int(found[0]["topics"])
    assert document["matrices"][0]["power"][0]["topics"] == 30
    assert assay(*options, "--csv").stdout == assay(*options, "--csv").stdout
    assert assay(*options, "--csv", "--seed", "1").stdout != assay(*options, "--csv").stdout
    had = table(
        assay(*options, "--power", "--csv"),
        ["matrix", "alpha", "mind", "m", "topics", "power", "least_power", "width", "run_width"],
    )
    assert [row["mind"] for row in had] == ["0.1", "0.2"]
    shown = assay(*options).stdout
    assert "Topics needed for HMR" in shown
    assert "What the pilot could show for HMR" in shown


def test_scores_and_confidences_do_not_mix(worked, tmp_path, assay):
    scores = write(tmp_path / "s.csv", "run,topic,HMR\nA,1,.1\nA,2,.3\nB,1,.3\nB,2,.2\n")
    done = assay("samplesize", confident(tmp_path / "pilot.csv"), scores, "--score", "HMR")
    assert done.returncode == 2
    assert "give only one kind" in done.stderr
