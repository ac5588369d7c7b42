"""``assay correlate``: the tables of a TREC track, goldens, missing runs and topics, plots."""

from __future__ import annotations

import csv
import io
import json
import re
from itertools import combinations
from pathlib import Path

import numpy as np
import pytest
from scipy import stats

TREC = Path(__file__).parent / "trec_rag_2025"
SETTINGS = ("runs", "topics-mean", "pairs")
MEASURES = ("tau", "rho", "ap", "rbo")

RETRIEVAL = [("table05-retrieval-manual", "table06-retrieval-automatic")]
RESPONSE = list(
    combinations(
        ("table07-response-manual", "table08-response-assigned", "table09-response",
         "table10-response"), 2,
    )
)  # fmt: skip
SUPPORT = [("table11-support-manual", "table12-support-automatic")]
PAIRS = [
    *((a, b, name) for a, b in RETRIEVAL for name in ("nDCG@30", "nDCG@100", "Recall@100")),
    *((a, b, name) for a, b in RESPONSE for name in ("strict_vital", "coverage")),
    *((a, b, name) for a, b in SUPPORT for name in ("weighted_precision", "weighted_recall")),
]


def rows(done) -> dict[tuple[str, str], dict[str, str]]:
    assert done.returncode == 0, done.stderr
    return {(r["setting"], r["measure"]): r for r in csv.DictReader(io.StringIO(done.stdout))}


def scores(name: str, column: str) -> dict[str, float]:
    with (TREC / f"{name}.tsv").open(encoding="utf-8") as file:
        return {r["run"]: float(r[column]) for r in csv.DictReader(file, delimiter="\t")}


def write(path: Path, text: str) -> Path:
    path.write_text(text, encoding="utf-8")
    return path


def tau(a: str, b: str, column: str, assay) -> float:
    done = assay("correlate", TREC / f"{a}.tsv", TREC / f"{b}.tsv", "--score", column, "--csv")
    return float(rows(done)["runs", "tau"]["value"])


# --- the tables of the TREC 2025 RAG track -------------------------------------------------------


@pytest.mark.parametrize(("a", "b", "column"), PAIRS)
def test_every_pair_of_settings_of_the_track(a, b, column, assay):
    """Manual against automatic: τ and ρ are those of scipy on the runs that both tables have."""
    first, second = scores(a, column), scores(b, column)
    shared = [run for run in first if run in second]
    done = assay("correlate", TREC / f"{a}.tsv", TREC / f"{b}.tsv", "--score", column, "--json")
    assert done.returncode == 0, done.stderr
    document = json.loads(done.stdout)
    got = {(r["setting"], r["measure"]): r for r in document["rows"]}
    x, y = [first[run] for run in shared], [second[run] for run in shared]
    assert got["runs", "tau"]["value"] == pytest.approx(stats.kendalltau(x, y).statistic, abs=1e-12)
    assert got["runs", "rho"]["value"] == pytest.approx(stats.spearmanr(x, y).statistic, abs=1e-12)
    assert 0.5 < got["runs", "ap"]["value"] <= got["runs", "rho"]["value"]
    assert 0 < got["runs", "rbo"]["value"] <= 1
    assert got["runs", "tau"]["n"] == len(shared)
    assert [one["run"] for one in document["runs"]] == shared
    assert document["runs_only_A"] == [run for run in first if run not in second]
    assert document["runs_only_B"] == [run for run in second if run not in first]


def test_what_the_paper_says_of_its_correlations(assay):
    """Sections 4.1 and 4.2, of run-level τ; see the README on tables 9 and 10."""
    a, b = RETRIEVAL[0]
    assert round(tau(a, b, "nDCG@30", assay), 4) == 0.9206
    assert round(tau(a, b, "nDCG@100", assay), 4) == 0.9323  # it rises with the cutoff
    manual = "table07-response-manual"
    others = ("table10-response", "table09-response", "table08-response-assigned")
    vital = [round(tau(manual, one, "strict_vital", assay), 4) for one in others]
    covered = [round(tau(manual, one, "coverage", assay), 4) for one in others]
    assert vital == [0.8173, 0.7764, 0.8373]
    assert covered == [0.8710, 0.8587, 0.7892]
    assert max(vital) == vital[2]  # only the assignment is automatic: the strongest
    assert min(covered) == covered[2]  # … and for coverage it orders runs worst


def test_a_misprinted_and_two_unjudged_runs_are_reported(assay):
    a, b = (TREC / f"{name}.tsv" for name in SUPPORT[0])
    done = assay("correlate", a, b, "--score", "weighted_recall")
    assert "Runs in A only, left out (1): nick cluster-generation." in done.stdout
    assert "Runs in B only, left out (3): cluster-generation, rag25_test_qwen3_20" in done.stdout
    as_csv = assay("correlate", a, b, "--score", "weighted_recall", "--csv")
    assert "nick cluster-generation" in as_csv.stderr
    assert "nick" not in as_csv.stdout


def test_the_figures_are_those_of_the_paper(shared_data):
    """What is transcribed here stands in the paper, number for number."""
    paper = next((shared_data / "papers").glob("004_*.txt")).read_text(encoding="utf-8")
    tables: list[list[list[str]]] = []
    inside = False
    for line in paper.splitlines():
        if re.match(r"\|\s*run id", line, re.IGNORECASE):
            tables.append([])
            inside = True
        elif inside and line.startswith("|"):
            cells = [cell.strip() for cell in line.strip("|").split("|")]
            if not cells[0].startswith("-"):
                tables[-1].append(cells)
        else:
            inside = False
    files = sorted(TREC.glob("*.tsv"))
    assert len(files) == 8
    for file, table in zip(files, tables, strict=False):
        header, *lines = (line.split("\t") for line in file.read_text("utf-8").splitlines())
        printed = [[cells[0], *map(float, cells[-len(header) + 1 :])] for cells in table]
        assert [[name, *map(float, values)] for name, *values in lines] == printed, file.name


# --- three settings ------------------------------------------------------------------------------

A = "run,topic,AP\nr1,1,.9\nr2,1,.8\nr3,1,.7\nr4,1,.6\nr5,1,.5\n"
B = "run,topic,AP\nr1,1,.85\nr2,1,.9\nr3,1,.6\nr4,1,.7\nr5,1,.5\n"


def test_the_specs_worked_example(tmp_path, assay):
    done = assay("correlate", write(tmp_path / "a.csv", A), write(tmp_path / "b.csv", B), "--csv")
    got = rows(done)
    assert list(got) == [(setting, name) for setting in SETTINGS for name in MEASURES]
    for setting in SETTINGS:
        assert float(got[setting, "tau"]["value"]) == pytest.approx(0.6, abs=1e-12)
        assert float(got[setting, "ap"]["value"]) == pytest.approx(1 / 3, abs=1e-12)
        assert got[setting, "tau"]["low"] == ""
    assert [got[setting, "tau"]["n"] for setting in SETTINGS] == ["5", "1", "5"]
    assert done.stdout.splitlines()[0] == "setting,measure,value,low,high,n"


@pytest.fixture
def two(tmp_path) -> tuple[Path, Path]:
    """Two runs tables of 3 runs × 4 topics; C lacks topic 4 in B, topic 9 and run D stand alone."""
    a = ["run_id,topic,nDCG@20,other"]
    b = ["run\ttopic\tmeasure\tvalue"]
    for number, run in enumerate("ABC"):
        for topic in range(1, 5):
            a.append(f"{run},{topic},{0.2 * number + 0.05 * topic},1")
            if (run, topic) != ("C", 4):
                b.append(f"{run}\t{topic}\tnDCG@20\t{0.2 * number + 0.04 * topic * (-1) ** topic}")
    a += ["A,9,.5,1", "D,1,.5,1"]
    b += ["A\tall\tnDCG@20\t.4", "A\t1\tAP\t.3"]
    return (
        write(tmp_path / "a.csv", "\n".join(a) + "\n"),
        write(tmp_path / "b.tsv", "\n".join(b) + "\n"),
    )


@pytest.mark.parametrize(
    ("policy", "topics", "pairs"), [("topics", 3, 9), ("cells", 4, 11), ("zero", 4, 12)]
)
def test_missing_topics_and_runs(two, policy, topics, pairs, assay):
    done = assay("correlate", *two, "--score", "nDCG@20", "--missing", policy, "--json")
    assert done.returncode == 0, done.stderr
    document = json.loads(done.stdout)
    got = {(r["setting"], r["measure"]): r for r in document["rows"]}
    assert [got[setting, "tau"]["n"] for setting in SETTINGS] == [3, topics, pairs]
    assert document["runs_only_A"] == ["D"]
    assert document["topics_only_A"] == ["9"]
    assert document["missing"] == [{"run": "C", "topic": "4"}]
    assert document["topics_left_out"] == (["4"] if policy == "topics" else [])
    assert document["settings"]["missing"] == policy
    for row in got.values():
        assert row["low"] <= row["value"] <= row["high"]
    shown = assay("correlate", *two, "--score", "nDCG@20", "--missing", policy)
    assert "Missing scores (1): C 4;" in shown.stdout
    assert "Runs in A only, left out (1): D." in shown.stdout
    assert "Topics in A only, left out (1): 9." in shown.stdout
    assert "95 % bootstrap interval over topics, seed 0" in shown.stdout


def test_scores_are_named_for_each_file(two, assay):
    for words in (("A:nDCG@20", "B:nDCG@20"), ("nDCG@20",), ("ndcg@20",)):
        given = [word for name in words for word in ("--score", name)]
        done = assay("correlate", *two, *given, "--csv")
        assert done.returncode == 0, done.stderr
    done = assay("correlate", *two, "--score", "A:nDCG@20")
    assert done.returncode == 2
    assert "b.tsv:1 The table has 2 scores: nDCG@20, AP." in done.stderr
    assert "--score nDCG@20" in done.stderr
    twice = assay("correlate", *two, "--score", "A:AP", "--score", "A:nDCG@20")
    assert twice.returncode == 2
    unknown = assay("correlate", *two, "--score", "MAP")
    assert unknown.returncode == 2
    assert "a.csv:1 The table has no column “MAP”. It has nDCG@20, other." in unknown.stderr


def test_runs_without_topics_have_one_setting(tmp_path, assay):
    a = write(tmp_path / "a.csv", "run,score\nA,.5\nB,.4\nC,.3\n")
    done = assay("correlate", a, a, "--csv")
    got = rows(done)
    assert float(got["runs", "tau"]["value"]) == 1
    assert got["pairs", "tau"] == {
        "setting": "pairs", "measure": "tau", "value": "", "low": "", "high": "", "n": "0",
    }  # fmt: skip
    shown = assay("correlate", a, a)
    assert "Only runs" in shown.stdout
    assert "topics-mean" not in shown.stdout


MEANS = "run,score\na,.3\nb,.2\nc,.6\n"


@pytest.mark.parametrize(
    ("policy", "means", "topics", "what"),
    [
        ("topics", [0.9, 0.8, 0.7], [1, 1, 1], "1 topic left out for all runs"),
        ("cells", [0.5, 0.8, 0.7], [2, 1, 2], "left out for these runs"),
        ("zero", [0.5, 0.4, 0.7], [2, 2, 2], "counted as 0"),
    ],
)
def test_missing_topics_where_one_file_has_run_scores_only(
    tmp_path, assay, policy, means, topics, what
):
    text = "run,topic,score\na,1,.9\na,2,.1\nb,1,.8\nc,1,.7\nc,2,.7\nd,1,.5\n"
    files = write(tmp_path / "a.csv", text), write(tmp_path / "b.csv", MEANS)
    for pair, side, other in ((files, "A", "B"), (files[::-1], "B", "A")):
        done = assay("correlate", *pair, "--missing", policy, "--json")
        document = json.loads(done.stdout)
        assert [one[side] for one in document["runs"]] == pytest.approx(means)
        assert [one[other] for one in document["runs"]] == [0.3, 0.2, 0.6]
        assert [one["topics"] for one in document["runs"]] == topics
        assert document["missing"] == [{"run": "b", "topic": "2"}]
        assert document["topics_left_out"] == (["2"] if policy == "topics" else [])
        assert document[f"runs_only_{side}"] == ["d"]
        tau_b = stats.kendalltau([0.3, 0.2, 0.6], means).statistic
        assert document["rows"][0]["value"] == pytest.approx(tau_b)
    noted = assay("correlate", *files, "--missing", policy, "--csv").stderr
    assert f"Missing scores (1): b 2; {what}." in noted
    assert "Only runs can be compared: a file has no scores of single topics" in noted


def test_means_that_a_file_gives_for_every_run_are_its_scores(tmp_path, assay):
    b = write(tmp_path / "b.csv", MEANS)
    lines = "run,topic,s\na,1,.1\nb,1,.2\nc,1,.3\na,all,.7\nb,all,.8\n"
    for last, means in (("c,all,.9\n", [0.7, 0.8, 0.9]), ("", [0.1, 0.2, 0.3])):
        done = assay("correlate", write(tmp_path / "a.csv", lines + last), b, "--json")
        assert [one["A"] for one in json.loads(done.stdout)["runs"]] == means
        assert ("the topic all give some runs no value: “c”" in done.stderr) == (not last)


@pytest.mark.parametrize("policy", ["topics", "cells", "zero"])
@pytest.mark.parametrize("line", ["b,1,\nb,2,\n", "b,all,.9\n"])
def test_runs_without_a_usable_score_are_left_out_and_named(tmp_path, assay, policy, line):
    a = write(tmp_path / "a.csv", f"run,topic,s\na,1,.1\na,2,.2\n{line}c,1,.3\nc,2,.1\n")
    plain = write(tmp_path / "c.csv", "run,topic,s\na,1,.1\na,2,.2\nc,1,.3\nc,2,.1\n")
    means = write(tmp_path / "b.csv", MEANS)
    options = ("--missing", policy)
    document = json.loads(assay("correlate", a, a, *options, "--json").stdout)
    expected = json.loads(assay("correlate", plain, plain, *options, "--json").stdout)
    assert document["rows"] == expected["rows"]
    assert document["runs_unscored_A"] == document["runs_unscored_B"] == ["b"]
    assert document["missing"] == []
    document = json.loads(assay("correlate", a, means, *options, "--json").stdout)
    assert document["runs_unscored_A"] == ["b"]
    assert document["runs_unscored_B"] == document["runs_only_B"] == []
    said = "Runs without a usable score in A, left out (1): b."
    assert said in assay("correlate", a, means, *options).stdout


@pytest.mark.parametrize("policy", ["topics", "cells"])
def test_cures_do_not_contradict_each_other(tmp_path, assay, policy):
    a = write(tmp_path / "a.csv", "run,topic,s\na,1,.1\na,2,.2\nb,1,.3\nc,1,.3\n")
    b = write(tmp_path / "b.csv", "run,topic,s\na,1,.1\na,2,.2\nb,2,.3\nc,1,.3\n")
    said = assay("correlate", a, b, "--missing", policy).stderr
    assert "run b has no topic that both tables score. Write its topics the same way" in said
    empty = write(tmp_path / "e.csv", "run,topic,s\na,1,.1\nb,1,\nc,1,\n")
    said = assay("correlate", a, empty, "--missing", policy).stderr
    assert "beside 2 without a score in one of them" in said
    assert said.rstrip().endswith("Add the scores of these runs.")


def test_run_means_that_differ_by_rounding_are_tied(tmp_path, assay):
    """The topics of a and b hold the same scores in another order, and a + b ≠ b + a."""
    rows_of_a = [("a", (0.1, 0.2, 0.3)), ("b", (0.3, 0.2, 0.1)), ("c", (0.9, 0.8, 0.9))]
    lines = [f"{run},{t},{s}" for run, scores in rows_of_a for t, s in enumerate(scores)]
    a = write(tmp_path / "a.csv", "\n".join(["run,topic,score", *lines]) + "\n")
    b = write(tmp_path / "b.csv", "run,score\na,.5\nb,.5\nc,.7\n")
    assert float(rows(assay("correlate", a, b, "--csv"))["runs", "tau"]["value"]) == 1


def test_undefined_is_null_with_a_reason(tmp_path, assay):
    a = write(tmp_path / "a.csv", "run,topic,s\nA,1,.5\nB,1,.5\n")
    done = assay("correlate", a, a, "--json")
    got = {(r["setting"], r["measure"]): r for r in json.loads(done.stdout)["rows"]}
    assert got["runs", "tau"]["value"] is None
    assert got["runs", "tau"]["reason"] == "all scores of a table are equal"
    equal = "in every topic all scores of a table are equal"
    assert got["topics-mean", "tau"]["reason"] == equal
    assert got["runs", "rbo"]["value"] == 1
    assert got["runs", "rbo"]["reason"] == "no interval: there is only one topic"
    said = "is undefined: all scores of a table are equal (runs tau, runs rho, runs ap, pairs tau"
    assert f"– {said}" in assay("correlate", a, a).stdout
    noted = assay("correlate", a, a, "--csv").stderr
    assert f"Note: Empty {said}" in noted
    assert "No intervals: there is only one topic." in noted
    runs = write(tmp_path / "b.csv", "run,score\nA,.5\nB,.6\n")
    last = json.loads(assay("correlate", runs, runs, "--json").stdout)["rows"][-1]
    assert last["reason"] == "a file has no scores of single topics"


def test_topics_of_one_run_each_have_no_mean_and_some_resamples_no_value(tmp_path, assay):
    a = write(tmp_path / "a.csv", "run,topic,score\na,1,.1\nb,2,.2\nc,3,.3\n")
    document = json.loads(assay("correlate", a, a, "--missing", "cells", "--json").stdout)
    got = {(r["setting"], r["measure"]): r for r in document["rows"]}
    assert got["topics-mean", "tau"]["reason"] == "no topic has two runs"
    # Three draws of one topic leave one score, without any pair: 3 of 27 resamples.
    count = got["pairs", "tau"]["undefined_resamples"]
    assert count == pytest.approx(2000 / 9, abs=60)
    assert "undefined_resamples" not in got["runs", "tau"]
    shown = assay("correlate", a, a, "--missing", "cells").stdout
    assert "– is undefined: no topic has two runs (topics-mean tau," in shown
    assert f"in which the value is undefined: pairs tau {count}, " in shown


# --- plots ---------------------------------------------------------------------------------------


def test_the_plot_is_drawn_and_the_same_each_time(two, tmp_path, assay):
    made = []
    for number in range(2):
        file = tmp_path / f"plot{number}.svg"
        done = assay("correlate", *two, "--score", "nDCG@20", "--plot", file)
        assert done.returncode == 0, done.stderr
        made.append(file.read_text(encoding="utf-8"))
    assert made[0] == made[1]
    assert "topic and run (9)" in made[0]
    assert "mean of A" in made[0]
    assert "τ runs: 1.000" in made[0]
    assert "a.csv: nDCG@20" in made[0]


def test_a_plot_that_cannot_be_written(two, tmp_path, assay):
    for name in ("plot.gif", "none/plot.svg"):
        done = assay("correlate", *two, "--score", "nDCG@20", "--plot", tmp_path / name)
        assert done.returncode == 2
        assert "Traceback" not in done.stderr


# --- what goes wrong -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("run,topic,s\nA,1,.5\nA,2,.5\n", "; at least 2 are needed."),
        ("run,score\nA,.5\nX,.5\n", "; at least 2 are needed."),
        ("run,topic,s\nA,7,.5\nB,7,.5\n", "no topic is left: the tables share none. Topics are"),
        ("run,topic,s\nA,1,.5\nB,2,.5\n", "run they share. Try --missing cells."),
        ("run,topic,s\nA,1,x\nB,1,.5\n", "The score “x” is not a finite number."),
        ("run,topic\nA,1\nB,1\n", "The table has no column of scores."),
        ("topic,A,B\n1,.5,.6\n", "The header lacks run"),
        ("", "The file is empty."),
    ],
)
def test_faults_are_said_without_a_traceback(tmp_path, assay, text, said):
    a = write(tmp_path / "a.csv", "run,topic,s\nA,1,.5\nB,1,.4\nA,2,.3\nB,2,.1\n")
    done = assay("correlate", a, write(tmp_path / "b.csv", text))
    assert done.returncode == 2
    assert said in done.stderr
    assert "b.csv" in done.stderr
    assert "Traceback" not in done.stderr
    assert done.stdout == ""


def test_disjoint_topics_are_not_mended_by_what_is_missing(tmp_path, assay):
    a = write(tmp_path / "a.csv", "run,topic,s\nA,1,.5\nB,1,.4\n")
    b = write(tmp_path / "b.csv", "run,topic,s\nA,7,.5\nB,7,.4\n")
    for policy in ("topics", "cells", "zero"):
        said = assay("correlate", a, b, "--missing", policy).stderr
        assert "write these the same way in both files" in said
        assert "Try --missing" not in said


def test_all_faults_of_both_files_at_once(tmp_path, assay):
    a = write(tmp_path / "a.csv", "run,topic,s\nA,1,x\nB,1,.4\n")
    b = write(tmp_path / "b.csv", "run,topic,s\nA,1,.5\nB,,.4\n")
    done = assay("correlate", a, b)
    assert "a.csv:2 [1] The score “x”" in done.stderr
    assert "b.csv:3 The topic is empty." in done.stderr


def test_the_names_of_files_do_not_reach_the_terminal_raw(two, tmp_path, assay):
    odd, b = write(tmp_path / "a\x1b[31m.csv", "run,s\nX,1\n"), two[1]
    done = assay("correlate", odd, b, "--score", "B:nDCG@20")
    assert "a\\x1b[31m.csv and " in done.stderr
    assert "\x1b" not in done.stderr
    plot = tmp_path / "p\x1b[31m.svg"
    drawn = assay("correlate", *two, "--score", "nDCG@20", "--plot", plot)
    assert "Plot: " in drawn.stdout
    assert "\x1b" not in drawn.stdout
    refused = assay("correlate", *two, "--score", "nDCG@20", "--plot", tmp_path / "p\x1b.gif")
    assert refused.returncode == 2
    assert "\x1b" not in refused.stderr


@pytest.mark.parametrize(
    "options",
    [("--missing", "guess"), ("--rbo-p", "1"), ("--json", "--csv"), ("--seed", "-1")],
)
def test_wrong_options(two, assay, options):
    done = assay("correlate", *two, "--score", "nDCG@20", *options)
    assert done.returncode == 2
    assert "Traceback" not in done.stderr


def test_the_seed_decides_the_intervals(tmp_path, assay):
    generator = np.random.default_rng(1)
    names = []
    for name in "ab":
        lines = [f"r{run},{topic},{generator.random()}" for run in range(6) for topic in range(12)]
        names.append(write(tmp_path / f"{name}.csv", "\n".join(["run,topic,s", *lines]) + "\n"))
    one, same, other = (
        assay("correlate", *names, "--csv", "--seed", seed).stdout for seed in (3, 3, 4)
    )
    assert one == same
    assert one != other
    values = [[row["value"] for row in csv.DictReader(io.StringIO(text))] for text in (one, other)]
    assert values[0] == values[1]
