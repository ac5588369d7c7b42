"""``assay compare``: goldens of all tests, letters, runs and matrices in, pictures, faults."""

from __future__ import annotations

import csv
import io
import json
import re
import shutil
from itertools import combinations, product
from pathlib import Path

import numpy as np
import pytest
from scipy import stats

from tests.conftest import copy_example

HEADER = ["measure", "run_a", "run_b", "difference", "low", "high", "p", "p_adjusted", "effect"]
SCORES = [[0.5, 0.6, 0.4], [0.7, 0.8, 0.5], [0.2, 0.4, 0.3], [0.9, 0.85, 0.6], [0.3, 0.35, 0.1]]
# The spec's worked values: pairs of runs 1, 2, 3.
TUKEY = {("2", "1"): 0.677469, ("1", "3"): 0.249228, ("2", "3"): 0.014660}
PAIRS = {("2", "1"): (1, 0), ("2", "3"): (1, 2), ("1", "3"): (0, 2)}


def write(path: Path, text: str) -> Path:
    path.write_text(text, encoding="utf-8")
    return path


def matrix(path: Path, scores, runs=None) -> Path:
    runs = runs or [str(place + 1) for place in range(len(scores[0]))]
    lines = [",".join(["topic", *runs])]
    lines += [",".join(map(str, [f"t{n}", *row])) for n, row in enumerate(scores)]
    return write(path, "\n".join(lines) + "\n")


def rows(done) -> dict[tuple[str, str, str], dict[str, str]]:
    assert done.returncode == 0, done.stderr
    table = list(csv.reader(io.StringIO(done.stdout)))
    assert table[0] == HEADER
    return {(r[0], r[1], r[2]): dict(zip(HEADER, r, strict=True)) for r in table[1:]}


@pytest.fixture
def worked(tmp_path) -> Path:
    return matrix(tmp_path / "scores.csv", SCORES)


# --- the tests -----------------------------------------------------------------------------------


def test_randomised_tukey_goes_through_all_permutations_of_the_worked_example(worked, assay):
    got = rows(assay("compare", "--matrix", worked, "--csv"))
    for (a, b), p in TUKEY.items():
        row = got["scores", a, b]
        assert float(row["p"]) == float(row["p_adjusted"]) == pytest.approx(p, abs=5e-7)
    document = json.loads(assay("compare", "--matrix", worked, "--json").stdout)
    measure = document["measures"][0]
    assert measure["permutations"] == 7776
    assert measure["exact"] is True
    assert measure["residual_variance"] == pytest.approx(0.00616667, abs=5e-9)
    assert [(run["run"], run["letters"], run["top"]) for run in measure["runs"]] == [
        ("2", "a", True), ("1", "ab", True), ("3", "b", False),
    ]  # fmt: skip
    assert measure["different"] == [["2", "3"]]
    assert [list(row) for row in document["rows"]] == [HEADER] * 3


def test_the_t_test_with_holm_is_that_of_scipy(worked, assay):
    got = rows(assay("compare", "--matrix", worked, "--csv", "--test", "t"))
    scores = np.array(SCORES)
    p = {pair: stats.ttest_rel(scores[:, x], scores[:, y]).pvalue for pair, (x, y) in PAIRS.items()}
    for pair, value in p.items():
        assert float(got["scores", *pair]["p"]) == pytest.approx(value, abs=1e-12)
    smallest, middle, largest = sorted(p, key=lambda pair: p[pair])
    adjusted = {pair: float(got["scores", *pair]["p_adjusted"]) for pair in p}
    assert adjusted[smallest] == pytest.approx(3 * p[smallest])
    assert adjusted[middle] == pytest.approx(2 * p[middle])
    assert adjusted[largest] == pytest.approx(max(2 * p[middle], p[largest]))


def test_the_randomisation_test_is_exact_where_it_can_be(worked, assay):
    got = rows(assay("compare", "--matrix", worked, "--csv", "--test", "randomisation"))
    scores = np.array(SCORES)
    for pair, (x, y) in PAIRS.items():
        differences = scores[:, x] - scores[:, y]
        sums = [abs(np.dot(signs, differences)) for signs in product((1, -1), repeat=5)]
        share = np.mean(np.array(sums) >= abs(differences.sum()) - 1e-12)
        assert float(got["scores", *pair]["p"]) == pytest.approx(share, abs=1e-12)


def test_the_bootstrap_test_against_a_plain_loop(tmp_path, assay):
    generator = np.random.default_rng(5)
    scores = generator.random((20, 3)) * [0.9, 1.0, 1.2]
    file = matrix(tmp_path / "m.csv", scores.tolist())
    got = rows(assay("compare", "--matrix", file, "--csv", "--test", "bootstrap"))
    for (_, a, b), row in got.items():
        differences = scores[:, int(a) - 1] - scores[:, int(b) - 1]
        observed = abs(stats.ttest_1samp(differences, 0).statistic)
        centred = differences - differences.mean()
        drawn = centred[generator.integers(0, 20, (5000, 20))]
        t = np.abs(stats.ttest_1samp(drawn, 0, axis=1).statistic)
        assert float(row["p"]) == pytest.approx((t >= observed).mean(), abs=0.03)
        assert float(row["p"]) <= float(row["p_adjusted"])


def test_differences_effects_and_intervals(worked, assay):
    got = rows(assay("compare", "--matrix", worked, "--csv"))
    scores = np.array(SCORES)
    for pair, (x, y) in PAIRS.items():
        row = {name: float(got["scores", *pair][name]) for name in HEADER[3:]}
        differences = scores[:, x] - scores[:, y]
        assert row["difference"] == pytest.approx(differences.mean(), abs=1e-12)
        assert row["effect"] == pytest.approx(differences.mean() / 0.00616667**0.5, abs=1e-5)
        assert differences.min() <= row["low"] < row["difference"] < row["high"]
        assert row["high"] <= differences.max()
    effects = json.loads(assay("compare", "--matrix", worked, "--json").stdout)["measures"][0]
    first = effects["paired_effects"][0]
    differences = scores[:, 1] - scores[:, 0]
    assert first["effect"] == pytest.approx(differences.mean() / differences.std(ddof=1))


def test_large_comparisons_rest_on_the_seed(tmp_path, assay):
    scores = np.random.default_rng(2).random((30, 6)).tolist()
    file = matrix(tmp_path / "m.csv", scores)
    one, same, other = (
        assay("compare", "--matrix", file, "--csv", "--seed", seed, "--permutations", 500).stdout
        for seed in (1, 1, 2)
    )
    assert one == same
    assert one != other
    document = json.loads(assay("compare", "--matrix", file, "--json").stdout)
    assert document["measures"][0]["exact"] is False
    assert document["settings"] == {
        "test": "tukey", "topics": "matrix", "alpha": 0.05, "level": 0.95,
        "permutations": 10000, "seed": 0,
    }  # fmt: skip
    assert min(row["p"] for row in document["rows"]) >= 1 / 10001


@pytest.mark.parametrize("test", ["tukey", "t", "randomisation", "bootstrap"])
def test_runs_share_a_letter_if_and_only_if_they_do_not_differ(tmp_path, assay, test):
    generator = np.random.default_rng(8)
    scores = 0.1 * generator.random((25, 7)) + 0.015 * np.arange(7)
    file = matrix(tmp_path / "m.csv", scores.tolist())
    done = assay("compare", "--matrix", file, "--json", "--test", test)
    document = json.loads(done.stdout)
    measure = document["measures"][0]
    letters = {run["run"]: set(run["letters"]) for run in measure["runs"]}
    different = {tuple(pair) for pair in measure["different"]}
    assert 0 < len(different) < len(document["rows"])
    for row in document["rows"]:
        pair = (row["run_a"], row["run_b"])
        assert bool(letters[pair[0]] & letters[pair[1]]) == (pair not in different)
        assert (row["p_adjusted"] < 0.05) == (pair in different)
    best = measure["runs"][0]["run"]
    for run in measure["runs"]:
        assert run["top"] == ((best, run["run"]) not in different)


def test_letters_beyond_z_are_set_apart_in_every_run(tmp_path, assay):
    """Run 1 varies more than its neighbours and so belongs to two of 28 groups."""
    waves = np.sin(12.9898 * np.outer(np.arange(1, 61), np.arange(1, 32)))
    means = np.concatenate([[0.96, 0.94, 0.92], 0.7 - 0.02 * np.arange(28)])
    spreads = np.where(np.arange(31) < 3, 0.08, 0.002)
    file = matrix(tmp_path / "m.csv", np.round(means + spreads * waves, 4).tolist())
    done = assay("compare", "--matrix", file, "--test", "t", "--json")
    measure = json.loads(done.stdout)["measures"][0]
    letters = {run["run"]: set(run["letters"].split(",")) for run in measure["runs"]}
    different = {tuple(pair) for pair in measure["different"]}
    assert max(map(len, set().union(*letters.values()))) == 2
    assert max(map(len, letters.values())) >= 2
    for pair in combinations(letters, 2):
        assert bool(letters[pair[0]] & letters[pair[1]]) == (pair not in different)


def test_equal_and_shifted_runs(tmp_path, assay):
    file = matrix(tmp_path / "m.csv", [[0.5, 0.5, 0.75], [0.25, 0.25, 0.5], [0, 0, 0.25]])
    for test in ("t", "bootstrap"):
        got = rows(assay("compare", "--matrix", file, "--csv", "--test", test))
        assert got["m", "1", "2"]["p"] == got["m", "3", "1"]["p_adjusted"] == ""
        assert got["m", "3", "1"]["effect"] == ""
        document = json.loads(assay("compare", "--matrix", file, "--json", "--test", test).stdout)
        assert document["measures"][0]["different"] == []
        assert {run["letters"] for run in document["measures"][0]["runs"]} == {"a"}
        assert document["rows"][0]["p"] is None
        same = "the difference is the same on every topic"
        assert [row["reason"] for row in document["rows"]] == [
            f"p: {same}; effect: the residual variance is 0"
        ] * 3
        assert document["measures"][0]["paired_effects"][0]["reason"] == same
        done = assay("compare", "--matrix", file, "--csv", "--test", test)
        assert f"Note: Empty is undefined: {same} (p of 3 and 1, p of 3 and 2" in done.stderr
        assert "the residual variance is 0 (effect of 3 and 1," in done.stderr
    shown = assay("compare", "--matrix", file, "--test", "t").stdout
    assert f"– is undefined: {same} (p of 3 and 1, " in shown
    told = "3 pairs without p do not count as different"
    assert told in " ".join(shown.split())
    for option in ("--csv", "--json"):
        assert told in assay("compare", "--matrix", file, "--test", "t", option).stderr


def test_a_test_that_can_find_nothing_says_so(worked, assay):
    done = assay("compare", "--matrix", worked, "--test", "randomisation", "--csv")
    assert "no pair can count as different: 32 draws" in done.stderr
    assert "more topics are needed" in done.stderr
    few = assay("compare", "--matrix", worked, "--test", "bootstrap", "--permutations", 50)
    assert "use --permutations 60" in few.stderr
    enough = assay("compare", "--matrix", worked, "--test", "bootstrap", "--permutations", 60)
    assert "no pair" not in enough.stderr


# --- qrels and runs ------------------------------------------------------------------------------


@pytest.fixture
def trec(tmp_path) -> list[Path]:
    """Qrels of 8 topics, runs A and B, and run C, which is silent on topic 8 and has a topic 9."""
    generator = np.random.default_rng(3)
    lines = [f"{t} 0 d{d} {generator.integers(0, 3)}" for t in range(1, 9) for d in range(15)]
    files = [write(tmp_path / "qrels.txt", "\n".join(lines) + "\n")]
    for run, topics in (("A", range(1, 9)), ("B", range(1, 9)), ("C", [*range(1, 8), 9])):
        lines = []
        for topic in topics:
            for rank, doc in enumerate(generator.permutation(15)[:10], 1):
                lines.append(f"{topic} Q0 d{doc} {rank} {1 - rank / 20} {run}")
        files.append(write(tmp_path / f"{run}.txt", "\n".join(lines) + "\n"))
    return files


def test_qrels_and_runs_give_the_means_of_assay_measure(trec, assay):
    names = ("nDCG@10", "map")
    words = [word for name in names for word in ("-m", name)]
    done = assay("compare", *trec, *words, "--json")
    assert done.returncode == 0, done.stderr
    document = json.loads(done.stdout)
    measured = csv.DictReader(io.StringIO(assay("measure", *trec, *words, "--csv").stdout))
    means = {(row["measure"], row["run"]): float(row["value"]) for row in measured}
    found = {
        (one["measure"], run["run"]): run["mean"]
        for one in document["measures"]
        for run in one["runs"]
    }
    assert found == pytest.approx(means, abs=1e-12)
    assert "Run C does not answer 1 topic: 8." in done.stderr
    assert "Run C has 1 topic not counted: 9." in done.stderr


def test_a_run_of_which_less_is_judged_is_named(trec, assay):
    """It may only look worse: who was not in the pool has documents that nobody looked at."""
    qrels, a, b, _ = trec
    assert "Not judged" not in assay("compare", *trec, "-m", "nDCG@10").stderr
    b.write_text(b.read_text().replace(" d1", " e1").replace(" d2", " e2"))
    done = assay("compare", qrels, a, b, "-m", "nDCG@10", "-m", "AP")
    assert done.stderr.count("Not judged among the first 10 documents: B 45 %, A 0 %.") == 1


def test_topics_of_a_file_count_whether_anything_is_judged_there_or_not(trec, assay, tmp_path):
    (tmp_path / "topics.txt").write_text("1\n2\n3\n\n10\n")
    done = assay("compare", *trec, "-m", "AP", "--topics", tmp_path / "topics.txt", "--json")
    (measure,) = json.loads(done.stdout)["measures"]
    assert measure["topics"] == 4
    assert "does not answer 1 topic: 10." in done.stderr


def test_topics_answered_leaves_topics_out_for_all_runs(trec, assay):
    for policy, topics, left_out in (("qrels", 8, []), ("answered", 7, ["8"])):
        done = assay("compare", *trec, "-m", "AP", "--topics", policy, "--json")
        measure = json.loads(done.stdout)["measures"][0]
        assert measure["topics"] == topics
        assert measure["topics_left_out"] == left_out
    shown = assay("compare", *trec, "-m", "AP", "--topics", "answered").stdout
    assert "1 topic left out for all runs, because some run has no score there." in shown
    assert "that a run does not answer count 0" in assay("compare", *trec, "-m", "AP").stdout


def test_several_measures_in_one_option(trec, assay):
    done = assay("compare", *trec, "-m", "AP,P(rel=2)@5", "-m", "RR", "--csv")
    assert list(dict.fromkeys(key[0] for key in rows(done))) == ["AP", "P(rel=2)@5", "RR"]


def test_a_long_table_of_assay_is_a_matrix(trec, tmp_path, assay):
    text = assay("measure", *trec[:3], "-m", "AP", "-m", "RR", "--per-topic", "--csv").stdout
    file = write(tmp_path / "per_topic.csv", text)
    got = rows(assay("compare", "--matrix", file, "-m", "AP", "--csv"))
    assert got == rows(assay("compare", *trec[:3], "-m", "AP", "--csv"))
    unsaid = assay("compare", "--matrix", file)
    assert unsaid.returncode == 2
    assert (
        "The table has 2 scores: AP, RR. Say which measure is meant, e.g. -m AP." in unsaid.stderr
    )


def test_a_file_that_is_read_for_several_measures_is_warned_of_once(tmp_path, assay):
    lines = [f"{run};{topic};.{topic};.{topic + 1}" for run in "AB" for topic in (1, 2, 3)]
    file = write(tmp_path / "m.csv", "\n".join(["run;topic;x;y", *lines]) + "\n")
    done = assay("compare", "--matrix", file, "-m", "x", "-m", "y", "--csv")
    assert done.returncode == 0
    assert done.stderr.count("separated by semicolons") == 1


def test_topics_that_a_run_lacks_in_a_matrix(tmp_path, assay):
    file = write(tmp_path / "m.csv", "topic,A,B\n1,.5,.4\n2,.5,\n3,.7,.1\n4,.9,.2\n")
    done = assay("compare", "--matrix", file, "--json")
    assert json.loads(done.stdout)["measures"][0]["topics_left_out"] == ["2"]
    assert "Some run has no score for 1 topic: 2." in done.stderr


@pytest.mark.parametrize("lines", ["c,all,.9\n", "c,1,\nc,2,\n"])
def test_runs_without_a_score_of_any_topic_are_left_out_and_named(tmp_path, assay, lines):
    text = "run,topic,score\na,1,.1\na,2,.2\nb,1,.1\nb,2,.3\n"
    plain = write(tmp_path / "plain.csv", text)
    file = write(tmp_path / "m.csv", text + lines)
    done = assay("compare", "--matrix", file, "--json")
    document = json.loads(done.stdout)
    assert document["measures"][0]["runs_left_out"] == ["c"]
    assert document["measures"][0]["topics_left_out"] == []
    alone = json.loads(assay("compare", "--matrix", plain, "--json").stdout)
    assert document["rows"] == alone["rows"]
    assert "m.csv Runs without a score of any topic (1): c. They are left out." in done.stderr
    shown = assay("compare", "--matrix", file).stdout
    assert "Runs left out because they have no score for any topic (1): c." in shown
    sizes = assay("samplesize", file, "--json")
    assert json.loads(sizes.stdout)["matrices"][0]["runs_left_out"] == ["c"]
    assert "Runs without a score of any topic (1): c." in sizes.stderr


# --- what people see -----------------------------------------------------------------------------


def test_the_table_says_what_it_stands_on(worked, assay):
    shown = assay("compare", "--matrix", worked, env={"COLUMNS": "80"}).stdout
    assert "Runs by mean scores" in shown
    assert "Really different" in shown
    assert "1 of 3 pairs differ at 0.05 on 5 topics." in shown
    assert "all 7,776 permutations (exact)" in shown
    table = shown[: shown.index("1 of 3 pairs")]
    assert max(map(len, table.splitlines())) <= 80


def test_the_picture_of_intervals(worked, tmp_path, assay):
    made = []
    for number in range(2):
        file = tmp_path / f"plot{number}.svg"
        done = assay("compare", "--matrix", worked, "-m", "nDCG@20", "--plot", file)
        assert done.returncode == 0, done.stderr
        made.append(file.read_text(encoding="utf-8"))
    assert made[0] == made[1]
    for said in ("nDCG@20", "2 − 3", "Filled: real at 0.05", "95 % bootstrap"):
        assert said in made[0]


def test_the_picture_of_many_runs_is_cut_and_says_so(tmp_path, assay):
    scores = np.random.default_rng(1).random((5, 12)).tolist()
    file, plot = matrix(tmp_path / "m.csv", scores), tmp_path / "plot.svg"
    assert assay("compare", "--matrix", file, "--test", "t", "--plot", plot).returncode == 0
    assert "11 of 66 pairs" in plot.read_text(encoding="utf-8")


# --- what goes wrong -----------------------------------------------------------------------------


def test_all_faults_of_a_matrix_at_once(tmp_path, assay):
    text = "topic,A,B,C\n1,.5,.6,.4\n2,.7,x,.5\n2,.7,.8,.5\n,.2,.4,.3\n4,.9,.85\n"
    done = assay("compare", "--matrix", write(tmp_path / "m.csv", text))
    assert done.returncode == 2
    assert "4 faults in the input" in done.stderr
    for said in (
        "m.csv:3 [2] The score “x” of run “B” is not a finite number.",
        "m.csv:4 [2] The topic is on line 3 already.",
        "m.csv:5 The topic is empty.",
        "m.csv:6 The line has 3 cells, the header 4.",
    ):
        assert said in done.stderr
    assert "Traceback" not in done.stderr
    assert done.stdout == ""


def test_all_faults_of_qrels_and_runs_at_once(trec, tmp_path, assay):
    qrels = write(tmp_path / "q.txt", "1 0 d1 1\n1 0 d1 2\n2 0 d2 high\n")
    run = write(tmp_path / "r.txt", "1 Q0 d1 1 2 R\n1 Q0 d2 2 nan R\n")
    done = assay("compare", qrels, trec[1], run, tmp_path / "missing", "-m", "AP")
    assert done.returncode == 2
    assert done.stdout == ""
    assert "4 faults in the input" in done.stderr
    for place in ("q.txt:2 [1]", "q.txt:3 [2]", "r.txt:2 [1]", "missing There is no"):
        assert place in done.stderr
    assert "Traceback" not in done.stderr
    alone = assay("compare", qrels, *trec[1:], "-m", "AP")
    assert alone.returncode == 2
    assert "2 faults in the input" in alone.stderr


def test_scores_too_large_to_count_with_are_faults(tmp_path, assay):
    long = write(tmp_path / "l.csv", "run,topic,score\na,1,1e308\na,2,.5\nb,1,1\nb,2,-1e101\n")
    for command in (
        ("compare", "--matrix", long), ("correlate", long, long), ("samplesize", long),
    ):  # fmt: skip
        done = assay(*command)
        assert done.returncode == 2
        assert "l.csv:2 [1] The score “1e308” is beyond 1e+100." in done.stderr
        assert "l.csv:5 [2] The score “-1e101” is beyond 1e+100." in done.stderr
        assert "Warning" not in done.stderr
        assert "Traceback" not in done.stderr


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "The file is empty."),
        ("topic,A\n1,.5\n2,.6\n", "The matrix has 1 run and 2 topics that every run"),
        ("topic,A,B\n1,.5,.6\n", "The matrix has 2 runs and 1 topic that every run"),
        ("topic,A,A\n1,.5,.6\n2,.5,.6\n", "the run “A” twice"),
        ("topic,A,\n1,.5,.6\n2,.5,.6\n", "a column without a name"),
        ("run,score\nA,.5\nB,.6\n", "no scores of single topics"),
        ("run,t1,t2\nA,.5,.6\nB,.6,.7\n", "m.csv:1 The first column holds runs, but a matrix"),
        ("run,topic,score,n\nA,1,inf,5\nA,2,.3,6\nB,1,.2,9\nB,2,.1,8\n",
         "m.csv:2 [1] The score “inf” is not a finite number."),
    ],
)  # fmt: skip
def test_matrices_that_cannot_be_used(tmp_path, assay, text, said):
    done = assay("compare", "--matrix", write(tmp_path / "m.csv", text))
    assert done.returncode == 2
    assert said in done.stderr
    assert "Traceback" not in done.stderr


def test_runs_of_one_name_are_told_apart_by_their_files(trec, tmp_path, assay):
    qrels, a, _, _ = trec
    other = write(tmp_path / "o\x1b.txt", a.read_text())
    done = assay("compare", qrels, a, other, "-m", "AP", "--csv")
    assert done.returncode == 0
    assert "o\\x1b.txt)" in done.stdout
    assert "their paths are added to the names" in done.stderr


def test_runs_that_cannot_be_used(trec, tmp_path, assay):
    qrels, a, b, _ = trec
    cases = [
        ((qrels, a, a), "A run file is given twice"),
        ((qrels, a, tmp_path / "none.txt"), "There is no such file."),
        ((a, qrels, b), "This looks like a run file"),
        ((qrels, a, write(tmp_path / "bad.txt", "1 Q0 d1 1 x R\n1 Q0 d2\n")), "bad.txt:2"),
        ((qrels, a), "at least two runs"),
    ]
    for files, said in cases:
        done = assay("compare", *files, "-m", "AP")
        assert done.returncode == 2
        assert said in done.stderr
        assert "Traceback" not in done.stderr
    few = write(tmp_path / "few.txt", "1 0 d1 1\n")
    done = assay("compare", few, a, b, "-m", "AP")
    assert done.returncode == 2
    assert "AP: 1 topic left to compare on; at least 2 are needed." in done.stderr


@pytest.mark.parametrize(
    "options",
    [
        ("--test", "anova"), ("--alpha", "0"), ("--alpha", "1"), ("--topics", "some"),
        ("--permutations", "0"), ("--plot", "x.gif"), ("--json", "--csv"), ("-m", "a", "-m", "b"),
        ("qrels.txt",),
    ],
)  # fmt: skip
def test_wrong_options(worked, assay, options):
    done = assay("compare", "--matrix", worked, *options)
    assert done.returncode == 2
    assert "Traceback" not in done.stderr
    assert done.stdout == ""


@pytest.mark.parametrize("options", [(), ("-m", "foo"), ("-m", "nDCG@0")])
def test_wrong_measures(trec, assay, options):
    done = assay("compare", *trec, *options)
    assert done.returncode == 2
    assert "-m" in done.stderr
    assert "Traceback" not in done.stderr


def test_measures_of_subtopics_are_compared_as_they_are_measured(tmp_path, assay):
    qrels = write(tmp_path / "q", "1 s1 a 1\n1 s2 b 1\n2 s1 a 1\n2 s2 a 1\n3 s2 c 1\n3 s1 c 1\n")
    runs = [
        write(tmp_path / run, "".join(
            f"{topic} Q0 {doc} {rank} {9 - rank} {run}\n"
            for topic in "123" for rank, doc in enumerate(docs)
        ))
        for run, docs in (("x", "abc"), ("y", "cba"))
    ]  # fmt: skip
    compared = json.loads(assay("compare", qrels, *runs, "-m", "alpha-nDCG@3", "--json").stdout)
    measured = json.loads(assay("measure", qrels, *runs, "-m", "alpha-nDCG@3", "--json").stdout)
    means = {row["run"]: row["mean"] for row in compared["measures"][0]["runs"]}
    expected = {row["run"]: row["value"] for row in measured["scores"]}
    assert means == pytest.approx(expected)
    assert means["x"] != means["y"]


def test_the_difference_of_two_runs_is_shown_with_its_interval_where_it_is_not_real(
    tmp_path, assay
):
    """Whether a new version is better is asked of two runs: "0 of 1 pairs differ" is half of it."""
    table = tmp_path / "scores.csv"
    rows = [f"{n},{n % 3 / 2},{(n + 1) % 3 / 2 + 0.01 * (n == 1)}" for n in range(12)]
    table.write_text("\n".join(["topic,old,new", *rows]) + "\n")
    shown = assay("compare", "--matrix", table).stdout
    said = assay("compare", "--matrix", table, "--csv").stdout.splitlines()[1].split(",")
    difference, low, high = (f"{float(one):.4f}" for one in said[3:6])
    assert "No difference shown" in shown
    (row,) = [line for line in shown.splitlines() if line.split()[:2] == ["new", "old"]]
    assert row.split()[2:6] == [difference, low, "to", high]


def test_a_scored_folder_stands_for_the_values_of_its_topics(assay, tmp_path):
    (tmp_path / "out").mkdir()
    rows = [f"{run},t{n},M,{n * k % 7}" for k, run in ((2, "A"), (3, "B")) for n in range(9)]
    table = tmp_path / "out" / "per_topic.csv"
    table.write_text("\n".join(["run,topic,measure,value", *rows]) + "\n")
    expected = assay("compare", table, "-m", "M").stdout
    assert "A" in expected
    for folder in (tmp_path, tmp_path / "out"):
        assert assay("compare", folder, "-m", "M").stdout == expected
    table.unlink()
    done = assay("compare", tmp_path, "-m", "M")
    assert (done.returncode, "assay score" in done.stderr) == (2, True)


def test_scores_that_are_older_than_labels_are_said_to_be(assay, tmp_path):
    folder = copy_example("rag-app", tmp_path / "rag")
    for path in (folder / "questions.jsonl", folder / "runs" / "main.jsonl"):
        path.write_text("".join(path.read_text().splitlines(keepends=True)[:3]))
    shutil.copy(folder / "runs" / "main.jsonl", folder / "runs" / "other.jsonl")
    assert assay("evaluate", folder).returncode == 0
    for given in (folder, folder / "out", folder / "out" / "per_topic.csv"):
        told = assay("compare", given, "-m", "Correct").stderr
        assert "added to the ledger" not in told
        assert "is based on: judge alone, never checked here." in told
    first = json.loads(assay("labels", "export", folder).stdout.splitlines()[0])
    line = {name: first[name] for name in ("task", "unit", "verdict")} | {"labeller": "human:KIM"}
    (tmp_path / "more.jsonl").write_text(json.dumps(line) + "\n")
    assert assay("labels", "import", folder, tmp_path / "more.jsonl").returncode == 0
    for given in (folder, folder / "out", folder / "out" / "per_topic.csv"):
        done = assay("compare", given, "-m", "Correct", "--json")
        assert "per_topic.csv: 1 label added to the ledger after it was written." in done.stderr
        assert f"assay score {folder}" in done.stderr
    assert "report.html; 1 label added since" in assay("status", folder).stdout
    assert assay("score", folder).returncode == 0
    assert "added since" not in assay("status", folder).stdout
    assert "added to the ledger" not in assay("compare", folder, "-m", "Correct").stderr
    shutil.copytree(folder / "out", tmp_path / "sent")
    shutil.copytree(folder / "out", folder / "out-before")
    line["labeller"] = "human:LEE"
    (tmp_path / "more.jsonl").write_text(json.dumps(line) + "\n")
    assert assay("labels", "import", folder, tmp_path / "more.jsonl").returncode == 0
    assert "1 label added" in assay("compare", folder, "-m", "Correct").stderr
    kept = assay("compare", folder / "out-before", "-m", "Correct")  # which score never writes
    assert (kept.returncode, "added to the ledger" in kept.stderr) == (0, False)
    manifest = folder / "out" / "manifest.json"
    manifest.write_text(re.sub(r'"head": "\w', '"head": "x', manifest.read_text()))
    assert "added to the ledger" not in assay("compare", folder, "-m", "Correct").stderr
    (folder / "labels.sqlite").unlink()
    for given in (folder, tmp_path / "sent"):
        assert assay("compare", given, "-m", "Correct").returncode == 0
