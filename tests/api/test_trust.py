"""Draws in the ledger, and scores corrected by what people said of them."""

from __future__ import annotations

import csv
import json
import random
import shutil
import sqlite3
from pathlib import Path

import numpy as np
import pytest
from scipy import stats

import assay as assay_package
from assay.api import correcting
from assay.api.corrected import ranked
from assay.api.opened import Opened
from assay.ledger import Ledger
from assay.ledger.exchange import person, person_label
from assay.model.errors import SettingsError
from assay.model.labels import is_independent
from assay.page.wording import narrow, number
from assay.statistics import corrected
from assay.tasks.registry import REGISTRY
from assay.web.desk import Desk
from tests.command import run_here
from tests.engine.test_checking import tampered
from tests.statistics.trust_data import estimates

RUNS, QUESTIONS = ("A", "B", "C"), [f"{number:04}" for number in range(1, 31)]
SHARE = {"A": 0.8, "B": 0.6, "C": 0.3}


def units(run, topic):
    """What is asked of a run's answer: the dialogue act, and whether it is right."""
    question, answer = f"Who was the {topic}?", f"Somebody {run} {topic}"
    act = {"question": question, "answer": answer}
    return [
        ("r2c2.dialogue_act", act, lambda right: {"act": "answer"}),
        (
            "r2c2.answer",
            act | {"gold": ["Gold"], "nuggets": []},
            lambda right: {"correct": right, "nuggets": [], "reason": "so"},
        ),
    ]


def lines(rows, who=None, **more):
    """Labels as JSON lines: rows of (run, topic, whether the answer is right)."""
    found = []
    for run, topic, right in rows:
        for task, unit, verdict in units(run, topic):
            said = {"task": task, "unit": unit, "verdict": verdict(right)} | more
            found.append(json.dumps(said | ({} if who is None else {"labeller": who})))
    return "\n".join(found) + "\n"


def made(folder):
    """A folder for a machine that labels with errors: it is wrong of one answer in six. Returns
    what people would say, what it says, and the answers' confidences."""
    draw = random.Random(5)
    truth = {(run, one): draw.random() < SHARE[run] for run in RUNS for one in QUESTIONS}
    judge = {key: right != (draw.random() < 1 / 6) for key, right in truth.items()}
    confidence = {
        key: draw.randint(50, 99) if right else draw.randint(5, 80) for key, right in truth.items()
    }
    (folder / "ac").mkdir(parents=True)
    text = "".join(f"{one}\tWho was the {one}?\tSimple\tGold\n" for one in QUESTIONS)
    (folder / "questions.tsv").write_text(text, encoding="utf-8")
    (folder / "pr").mkdir()
    passages = "".join(f"{one};1;d{one};A passage.\n" for one in QUESTIONS)
    (folder / "pr" / "P.txt").write_text(passages, encoding="utf-8")
    for run in RUNS:
        blocks = (
            f"<{one}>\nSomebody {run} {one};{confidence[run, one]}\n</{one}>\n" for one in QUESTIONS
        )
        (folder / "ac" / f"{run}.txt").write_text("".join(blocks), encoding="utf-8")
    rows = [(*key, right) for key, right in judge.items()]
    (folder / "machine.jsonl").write_text(lines(rows), encoding="utf-8")
    (folder / "assay.toml").write_text(
        '[evaluation]\nprotocol = "r2c2"\n[inputs]\nquestions = "questions.tsv"\n'
        'pr_runs = "pr/*.txt"\nac_runs = "ac/*.txt"\n'
        '[labellers]\ndefault = "recorded:machine.jsonl"\n'
        "[settings]\nresamples = 100\n",
        encoding="utf-8",
    )
    return truth, judge, confidence


@pytest.fixture
def world(tmp_path):
    """A folder that the machine is to label, and what :func:`made` says of it."""
    return tmp_path / "f", *made(tmp_path / "f")


@pytest.fixture(scope="session")
def judged_once(tmp_path_factory):
    """The same once it has, which nobody changes."""
    folder = tmp_path_factory.mktemp("judged") / "f"
    about = made(folder)
    done = run_here("judge", folder)
    assert done.returncode == 0, done.stderr
    return folder, *about


@pytest.fixture
def judged(judged_once, tmp_path):
    """A copy of it."""
    folder, *about = judged_once
    return Path(shutil.copytree(folder, tmp_path / "f")), *about


@pytest.fixture
def people(assay, tmp_path):
    """Has a person say the truth of some topics."""

    def say(folder, truth, topics, **more):
        file = tmp_path / "said.jsonl"
        rows = [(run, one, truth[run, one]) for run in RUNS for one in topics]
        file.write_text(lines(rows, "human:KIM", **more), encoding="utf-8")
        done = assay("labels", "import", folder, file)
        assert done.returncode == 0, done.stderr

    return say


def drawn(assay, folder, n=12, seed=3):
    done = assay("draw", folder, "--n", n, "--seed", seed, "--json")
    assert done.returncode == 0, done.stderr
    (found,) = json.loads(done.stdout)["draws"]
    return found, [one["name"] for one in found["names"] if one["drawn"]]


def trusted(assay, folder, *more, code=0):
    done = assay("trust", folder, "--json", *more)
    assert done.returncode == code, done.stderr
    return json.loads(done.stdout)


def test_that_labels_open_more_of_a_draw_is_told(assay, world):
    folder, *_ = world
    said = "More units may follow as people label."
    assert said in " ".join(assay("draw", folder, "--n", 12).stdout.split())
    done = assay("draw", folder, "--n", 12, "--seed", 2, "--task", "r2c2.answer")
    assert done.returncode == 0, done.stderr
    assert said not in " ".join(done.stdout.split())


def test_the_machines_own_labels_are_asked_for_where_people_came_first(assay, world, people):
    folder, truth, _, _ = world
    _, topics = drawn(assay, folder)
    people(folder, truth, topics)
    shown = " ".join(assay("trust", folder, "-m", "Accuracy").stdout.split())
    assert (
        "by the machine's labels: a label is missing ('assay judge FOLDER --policy machine'"
        in shown
    )
    assert assay("judge", folder, "--policy", "machine").returncode == 0
    assert "Accuracy" in {one["measure"] for one in trusted(assay, folder)["scores"]}


def table(truth, judge, topics):
    """People's and the machine's verdicts, runs × questions, and which were drawn."""
    chosen = np.isin(QUESTIONS, topics)
    f = np.array([[float(judge[run, one]) for one in QUESTIONS] for run in RUNS])
    y = np.array([[float(truth[run, one]) for one in QUESTIONS] for run in RUNS])
    return np.where(chosen, y, np.nan), f, chosen


def test_a_draw_is_kept_with_its_probabilities_and_never_changed(assay, judged, people):
    folder, truth, *_ = judged
    found, topics = drawn(assay, folder)
    assert len(topics) == 12
    assert {one["pi"] for one in found["names"]} == {12 / 30}
    assert found["units"] == 12 * 3 * 2
    assert found["labelled"] == 0
    again, same = drawn(assay, folder)
    assert (again["draw"], same) == (found["draw"], topics)
    people(folder, truth, topics[:2])
    assert drawn(assay, folder)[0]["labelled"] == 2 * 3 * 2
    assert drawn(assay, folder, seed=4)[1] != topics
    assert len(json.loads(assay("draw", folder, "--json").stdout)["draws"]) == 2
    with sqlite3.connect(folder / "labels.sqlite") as db:
        for statement in (
            "UPDATE drawn SET drawn = 1 - drawn", "DELETE FROM drawn", "DELETE FROM draws",
            "UPDATE draws SET seed = 9",
        ):  # fmt: skip
            with pytest.raises(sqlite3.IntegrityError, match="draws are never"):
                db.execute(statement)
        db.execute("DROP TRIGGER drawn_keep")
        db.execute("UPDATE drawn SET drawn = 1 - drawn WHERE name = '0001'")
    done = assay("draw", folder)
    assert done.returncode == 2
    assert "not as it was written" in done.stderr


def test_corrected_scores_are_those_of_the_arrays(assay, judged, people):
    folder, truth, judge, confidence = judged
    _, topics = drawn(assay, folder)
    people(folder, truth, topics)
    found = trusted(assay, folder, "-m", "Accuracy", "-m", "HMR")
    y, f, chosen = table(truth, judge, topics)
    expected = corrected.topics(y, f, chosen)
    rows = {(one["run"], one["measure"]): one for one in found["scores"]}
    for at, run in enumerate(RUNS):
        row = rows[run, "Accuracy"]
        assert (row["value"], row["low"], row["high"]) == pytest.approx(
            (expected.value[at], expected.low[at], expected.high[at])
        )
        assert row["judge_alone"] == pytest.approx(f[at].mean())
        assert row["human_only"] == pytest.approx(y[at][chosen].mean())
        p = np.array([confidence[run, one] / 100 for one in QUESTIONS])
        own = corrected.hmr(p, y[at], f[at], chosen)
        row = rows[run, "HMR"]
        assert (row["value"], row["low"], row["high"]) == pytest.approx(
            (own.value[0], own.low[0], own.high[0])
        )
    (board,) = found["boards"]
    accuracy = next(one for one in board["measures"] if one["measure"] == "Accuracy")
    order = corrected.rank_sets(expected)
    assert accuracy["ranks"] == {
        run: [int(order.best[at]), int(order.worst[at])] for at, run in enumerate(RUNS)
    }
    wider = trusted(assay, folder, "-m", "Accuracy", "--population", "like-these")["scores"]
    for one in wider:
        own = rows[one["run"], "Accuracy"]
        assert one["low"] < own["low"]
        assert one["high"] > own["high"]


def test_all_measures_go_into_the_file_or_are_refused_in_words(assay, judged, people):
    folder, truth, *_ = judged
    _, topics = drawn(assay, folder)
    people(folder, truth, topics)
    done = assay("trust", folder)
    assert done.returncode == 0, done.stderr
    assert "judge corrected by 72 drawn labels by people (12 of 30 topics)" in done.stdout
    assert "ECE" in done.stdout  # refused
    with (folder / "out" / "trust.csv").open(encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    assert {one["measure"] for one in rows} >= {"HMR", "Accuracy", "R_O", "R_U"}
    assert {one["labels"] for one in rows} == {"72"}
    assert {(one["design"], one["population"]) for one in rows} == {("topics", "these")}


def test_where_all_is_labelled_the_interval_is_a_point(assay, judged, people):
    folder, truth, *_ = judged
    _, topics = drawn(assay, folder, n=30)
    people(folder, truth, topics)
    for one in trusted(assay, folder, "-m", "Accuracy", "-m", "HMR")["scores"]:
        assert one["low"] == pytest.approx(one["high"])
        if one["measure"] == "Accuracy":
            right = [truth[one["run"], each] for each in QUESTIONS]
            assert one["value"] == pytest.approx(sum(right) / 30)


def test_all_of_two_topics_is_a_point_and_one_of_them_too_few(assay, world, people):
    folder, truth, *_ = world
    topics = QUESTIONS[:2]
    for file in (folder / "questions.tsv", folder / "pr" / "P.txt"):
        file.write_text("".join(file.read_text().splitlines(keepends=True)[:2]))
    for file in (folder / "ac").glob("*.txt"):
        end = f"</{topics[-1]}>\n"
        file.write_text(file.read_text().partition(end)[0] + end)
    assert assay("judge", folder).returncode == 0
    _, (one,) = drawn(assay, folder, n=1)
    people(folder, truth, [one])
    found = trusted(assay, folder, "-m", "Accuracy", code=1)
    refused = " ".join(why for board in found["boards"] for why in board["refused"].values())
    assert "1 drawn topic is too few: at least 3 are needed for an interval" in refused
    assert drawn(assay, folder, n=2)[1] == topics
    people(folder, truth, topics)
    found = trusted(assay, folder)
    by_run = {one["run"]: one for one in found["scores"] if one["measure"] == "Accuracy"}
    for run in RUNS:
        right = sum(truth[run, topic] for topic in topics) / 2
        assert [by_run[run][name] for name in ("value", "low", "high")] == [right] * 3
    like = trusted(assay, folder, "-m", "Accuracy", "--population", "like-these", code=1)
    refused = " ".join(why for board in like["boards"] for why in board["refused"].values())
    assert "2 drawn topics are too few" in refused


def test_where_people_labelled_everything_before_a_draw_of_everything_is_theirs(
    assay, judged, people
):
    folder, truth, *_ = judged
    people(folder, truth, QUESTIONS)
    found = trusted(assay, folder, code=1)
    assert "If people labelled everything, draw all topics: the scores are then" in found["why"]
    drawn(assay, folder, n=30)
    found = trusted(assay, folder, "-m", "Accuracy")
    assert not any("before the draw" in one for one in found["remarks"])
    for one in found["scores"]:
        right = sum(truth[one["run"], each] for each in QUESTIONS) / 30
        assert [one[name] for name in ("value", "low", "high")] == pytest.approx([right] * 3)


def test_labels_outside_of_the_draw_do_not_count(assay, judged, people):
    folder, truth, *_ = judged
    _, topics = drawn(assay, folder)
    people(folder, truth, topics)
    before = trusted(assay, folder)["scores"]
    others = [one for one in QUESTIONS if one not in topics]
    people(folder, {key: not right for key, right in truth.items()}, others[:6])
    assert trusted(assay, folder)["scores"] == before


def test_what_is_missing_or_was_seen_first_stops_it(assay, judged, people):
    folder, truth, *_ = judged
    found = trusted(assay, folder, code=1)
    assert found["stands_on"] == "judge alone, never checked here"
    people(folder, truth, QUESTIONS[:2])
    found = trusted(assay, folder, code=1)
    assert "picked by hand" in found["stands_on"]
    assert "How likely each unit was" in found["why"]
    _, topics = drawn(assay, folder)
    left = [one for one in topics if one not in QUESTIONS[:2]]
    people(folder, truth, left[:-1])
    shown = {"workbench": {"mode": "shown"}}
    people(folder, truth, left[-1:], detail=shown)
    found = trusted(assay, folder, code=1)
    assert "6 of 72 labels of draw" in found["why"]
    assert left[-1] in found["why"]
    assert found["scores"] == []


def test_the_reports_of_python_have_the_corrected_scores_too(assay, judged, people):
    folder, truth, *_ = judged
    _, topics = drawn(assay, folder)
    people(folder, truth, topics)
    text = assay_package.open(folder).report().read_text(encoding="utf-8")
    assert "judge corrected by 72 drawn labels by people" in text


def test_topics_that_came_after_the_draw_are_told(assay, judged, people):
    folder, truth, *_ = judged
    _, topics = drawn(assay, folder)
    people(folder, truth, topics)
    with (folder / "questions.tsv").open("a", encoding="utf-8") as file:
        file.write("0099\tWho was the 0099?\tSimple\tGold\n")
    done = assay("trust", folder)
    assert done.returncode == 2
    assert "added after draw" in done.stderr


@pytest.mark.parametrize(
    ("options", "told"),
    [
        (("--n", 31), "31 of 30 topics cannot be drawn"),
        (("--n", 5, "--task", "r2c2.nope"), "asks nothing under r2c2.nope"),
    ],
)
def test_what_cannot_be_drawn_is_told(assay, world, options, told):
    done = assay("draw", world[0], *options)
    assert done.returncode == 2
    assert told in done.stderr


def test_measures_and_draws_that_there_are_not_are_told(assay, judged, people):
    folder, truth, *_ = judged
    _, topics = drawn(assay, folder)
    people(folder, truth, topics)
    assert "has nDCG" in assay("trust", folder, "-m", "nDCG").stderr
    assert "no draw ffff" in assay("trust", folder, "--draw", "ffff").stderr


def test_the_report_begins_with_the_corrected_scores(assay, judged, people):
    folder, truth, *_ = judged
    assert assay("report", folder).returncode == 0
    report = folder / "out" / "report.html"
    assert "Corrected by people" not in report.read_text(encoding="utf-8")
    assert "Based on: judge alone, never checked here." in report.read_text(encoding="utf-8")
    _, topics = drawn(assay, folder)
    assay("report", folder)
    assert "of 72 labels of draw" in report.read_text(encoding="utf-8")
    people(folder, truth, topics)
    assay("report", folder)
    text = report.read_text(encoding="utf-8")
    assert "judge corrected by 72 drawn labels by people" in text
    assert "Answering runs, corrected" in text


def test_the_workbench_has_the_draw_as_a_queue(assay, judged):
    folder, *_ = judged
    _, topics = drawn(assay, folder)
    with Desk.open(Opened.open(folder)) as desk:
        desk.sync()
        ann = desk.state.person("ANN")
        found = desk.next(ann, "r2c2.dialogue_act", "drawn", count=100)
        assert len(found) == 36
        assert {desk.state.unit(one["unit"]).topic for one in found} == set(topics)
        first = found[0]
        said = {"verdict": {"act": "answer"}, "before": None, "mode": "blind"}
        desk.give(ann, first["unit"], said)
        left = desk.next(ann, "r2c2.dialogue_act", "drawn", count=100)
        assert len(left) == 35
    (one,) = json.loads(assay("draw", folder, "--json").stdout)["draws"]
    assert one["labelled"] == 1


def test_a_leaderboard_of_uneven_labels_is_not_shown_as_one(assay, judged, people):
    """People say the truth of one run alone: mixed scores would take the machine's errors out of
    that run only."""
    folder, truth, *_ = judged
    machine = json.loads(assay("score", folder, "--policy", "machine", "--json").stdout)["scores"]
    rows = [("C", one, truth["C", one]) for one in QUESTIONS]
    (folder / "said.jsonl").write_text(lines(rows, "human:KIM"), encoding="utf-8")
    assert assay("labels", "import", folder, folder / "said.jsonl").returncode == 0
    shown = assay("score", folder).stdout
    told = " ".join(shown.split())
    assert "only the judge's labels count, for all runs" in told
    assert "C 100 %, A 0 %" in told

    def accuracy(scores):
        return {s["run"]: s["value"] for s in scores if s["measure"] == "Accuracy"}

    opened = Opened.open(folder)
    with opened.ledger() as ledger:
        (result,) = opened.score(ledger).by_protocol.values()
    fair = {
        run: by["Accuracy"].value
        for run, by in result.comparable.findings.scores.items()
        if "Accuracy" in by
    }
    assert fair == accuracy(machine)
    with (folder / "out" / "scores.csv").open() as file:
        mixed = {r["run"]: float(r["value"]) for r in csv.DictReader(file)
                 if r["measure"] == "Accuracy"}  # fmt: skip
    assert mixed["C"] == pytest.approx(np.mean([truth["C", one] for one in QUESTIONS]))
    assert mixed["A"] == pytest.approx(fair["A"])
    asked = assay("score", folder, "--policy", "people").stdout
    assert "more of some runs than of others" in " ".join(asked.split())
    config = folder / "assay.toml"
    config.write_text(config.read_text() + 'policy = "people"\n')
    assert "more of some runs than of others" in " ".join(assay("score", folder).stdout.split())


def test_scores_of_a_draw_come_before_the_leaderboard(assay, judged, people):
    folder, truth, *_ = judged
    _, topics = drawn(assay, folder)
    people(folder, truth, topics)
    shown = assay("score", folder).stdout
    assert shown.index("corrected: HMR") < shown.index("by HMR (policy")
    assay("report", folder)
    report = (folder / "out" / "report.html").read_text(encoding="utf-8")
    assert report.index('<section id="first-1') < report.index('<section id="board-1"')


def test_labels_that_change_another_are_no_independent_ones(assay, judged):
    """Who edits an export has the machine's verdict in sight."""
    folder, *_ = judged
    drawn(assay, folder)
    exported = folder / "export.jsonl"
    assert assay("labels", "export", folder, "-o", exported).returncode == 0
    changed = []
    for line in exported.read_text(encoding="utf-8").splitlines():
        row = json.loads(line)
        row["labeller"] = "human:KIM"
        row["reason"] = "looked at it again"
        changed.append(json.dumps(row))
    exported.write_text("\n".join(changed), encoding="utf-8")
    done = assay("labels", "import", folder, exported)
    assert done.returncode == 0, done.stderr
    found = trusted(assay, folder, code=1)
    assert "72 of 72 labels of draw" in found["why"]


def test_of_several_draws_the_newest_that_is_labelled_counts(assay, judged, people):
    folder, truth, *_ = judged
    first, topics = drawn(assay, folder)
    people(folder, truth, topics)
    assert "one of" not in trusted(assay, folder)["stands_on"]
    drawn(assay, folder, seed=9)
    found = trusted(assay, folder)
    assert found["draw"] == first["draw"]
    assert found["stands_on"].endswith("; one of 2 draws)")
    assert any(
        "only if its labels did not influence that choice" in one for one in found["remarks"]
    )
    second, more = drawn(assay, folder, seed=9)
    people(folder, truth, more)
    assert trusted(assay, folder)["draw"] == second["draw"]
    assert trusted(assay, folder, "--draw", first["draw"][:8])["draw"] == first["draw"]


def test_people_who_differ_are_told(assay, judged, people):
    folder, truth, *_ = judged
    _, topics = drawn(assay, folder)
    people(folder, truth, topics)
    rows = [("A", one, not truth["A", one]) for one in topics[:2]]
    former = [("A", one, not truth["A", one]) for one in topics[2:6]]
    said = lines(rows, "human:ANN") + lines(former, "human:ANN", version="0")
    (folder / "ann.jsonl").write_text(said, encoding="utf-8")
    done = assay("labels", "import", folder, folder / "ann.jsonl")
    assert done.returncode == 0, done.stderr
    assert "People differ on 2 drawn units" in " ".join(assay("trust", folder).stdout.split())


def test_where_the_policy_goes_by_most_people_so_do_corrected_scores(assay, judged, people):
    folder, truth, *_ = judged
    _, topics = drawn(assay, folder)
    people(folder, truth, topics)

    def accuracy(found):
        (one,) = (o for o in found["scores"] if (o["run"], o["measure"]) == ("A", "Accuracy"))
        return one["human_only"]

    before = accuracy(trusted(assay, folder))
    others = [("A", one, not truth["A", one]) for one in topics[:2]]
    (folder / "ann.jsonl").write_text(lines(others, "human:ANN"), encoding="utf-8")
    assay("labels", "import", folder, folder / "ann.jsonl")
    by_newest = accuracy(trusted(assay, folder))
    config = folder / "assay.toml"
    config.write_text(config.read_text() + 'policy = "majority"\n')
    found = trusted(assay, folder, code=1)
    assert "2 units of these have no majority verdict" in found["why"]
    with Ledger.open(folder / "labels.sqlite") as ledger:
        tied = [one.unit for one in ledger.by_people() if one.labeller.name == "human:ANN"]
        first = {one.unit: one for one in reversed([*ledger.of_units(tied)]) if is_independent(one)}
        contents = ledger.contents(tied)
        ledger.add(
            person_label(
                person("human:EVE"), REGISTRY[one.task], contents[one.unit], one.verdict,
                detail={"workbench": {"mode": "adjudication"}},
            )
            for one in first.values()
        )  # fmt: skip
    assert accuracy(trusted(assay, folder)) == before  # by the one who settled them
    same = [("A", one, truth["A", one]) for one in topics[:2]]
    (folder / "ben.jsonl").write_text(lines(same, "human:BEN"), encoding="utf-8")
    assay("labels", "import", folder, folder / "ben.jsonl")
    found = trusted(assay, folder)
    assert accuracy(found) == before != by_newest
    assert any("for each, the verdict most people gave counts" in one for one in found["remarks"])
    config.write_text(config.read_text().replace("majority", "majority without human:ANN"))
    found = trusted(assay, folder)
    assert accuracy(found) == before
    assert not any("People differ" in one for one in found["remarks"])
    config.write_text(config.read_text().replace("majority without human:ANN", "only:human:ANN"))
    assert "are still missing" in trusted(assay, folder, code=1)["why"]  # ANN labelled two


def test_where_lower_is_better_the_lowest_is_first():
    found = estimates([0.6, 0.2, 0.4], 1e-6 * np.eye(3))
    alone = np.array([0.5, 0.1, 0.6])
    one, other = (
        ranked("M", RUNS, found, alone, lower=lower, level=0.95) for lower in (True, False)
    )
    assert (one.best, one.worst) == ((3, 1, 2), (3, 1, 2))
    assert (other.best, other.worst) == ((1, 3, 2), (1, 3, 2))
    assert one.tau == other.tau == (pytest.approx(1 / 3), pytest.approx(1 / 3))
    assert (one.decided, one.pairs) == (3, 3)
    assert one.value.tolist() == found.value.tolist()


def test_a_file_of_corrected_scores_goes_when_they_do(assay, judged, people):
    folder, truth, *_ = judged
    _, topics = drawn(assay, folder)
    people(folder, truth, topics)
    trusted(assay, folder, "--level", ".5")
    file = folder / "out" / "trust.csv"
    assert {row["level"] for row in csv.DictReader(file.open())} == {"0.5"}
    trusted(assay, folder, "-m", "Accuracy")  # those that were asked for
    assert {row["measure"] for row in csv.DictReader(file.open())} == {"Accuracy"}
    trusted(assay, folder, "-m", "ECE", code=1)  # which says nothing of the others
    assert file.exists()
    second, _ = drawn(assay, folder, seed=9)
    trusted(assay, folder, "--draw", second["draw"][:8], code=1)
    assert not file.exists()


def test_status_and_comparisons_say_what_scores_stand_on(assay, world, people, tmp_path):
    folder, truth, *_ = world
    assay("evaluate", folder)
    before = shutil.copytree(folder, tmp_path / "before")

    def status():
        found = json.loads(assay("status", folder, "--json").stdout)
        rows.append(dict(found["rows"]))
        return rows[-1]["stands on"], [command for command, _ in found["next"]]

    rows: list[dict[str, str]] = []
    stands, following = status()
    assert stands == "judge alone, never checked here"
    assert "draw" not in rows[-1]
    assert f"assay draw {folder}" in following
    _, topics = drawn(assay, folder)
    assert f"assay ui {folder}" in status()[1]
    units = rows[-1]["draw"].partition(" units, ")[0]
    assert rows[-1]["draw"] == f"{units} units, 0 labelled by people"
    people(folder, truth, topics)
    assay("score", folder)
    stands, following = status()
    assert rows[-1]["draw"] == f"{units} units, {units} labelled by people"
    assert stands == "human labels for 40 %, the judge's for the rest, uncorrected"
    assert f"assay trust {folder}" in following
    said = " ".join(assay("diff", before, folder).stdout.split())
    assert (
        f"The first is based on: judge alone, never checked here. The second is based on: {stands}."
        in said
    )
    assert "Both are based on: judge alone" in assay("diff", before, before).stdout


def test_where_nothing_can_be_corrected_it_is_said(assay, judged, people):
    folder, truth, *_ = judged
    _, topics = drawn(assay, folder)
    people(folder, truth, topics)
    config = folder / "assay.toml"
    config.write_text(config.read_text().replace("machine.jsonl", "other.jsonl"))
    (folder / "other.jsonl").write_text(lines([("A", "0001", True)]), encoding="utf-8")
    found = trusted(assay, folder, "-m", "HMR", code=1)
    assert found["stands_on"] == "a draw is labelled, but corrects nothing"
    assert "'assay judge' asks" in found["why"]


def test_a_draw_that_was_altered_or_taken_out_is_seen(assay, judged):
    folder, *_ = judged
    drawn(assay, folder)
    assert assay("score", folder).returncode == 0
    path = folder / "labels.sqlite"
    with sqlite3.connect(path) as db:
        (made,) = db.execute("SELECT created FROM draws").fetchone()
    for said, *statements in (
        (
            f"was made {made}, but the ledger says 2020-01-01",
            "UPDATE draws SET created = '2020-01-01'",
        ),
        (
            "draw 1 is not as it was written", f"UPDATE draws SET created = '{made}'",
            "UPDATE drawn SET drawn = 1 - drawn WHERE name = '0001'",
        ),
        ("it was removed", "DELETE FROM drawn", "DELETE FROM draws"),
    ):  # fmt: skip
        tampered(path, *statements)
        done = assay("labels", "verify", folder)
        assert done.returncode != 0
        assert said in done.stdout + done.stderr


@pytest.mark.parametrize(
    ("value", "shown"), [(10.5, "10.500"), (20.25, "20.250"), (0.25, ".250"), (-0.5, "-.500")]
)
def test_numbers_are_printed_as_they_are(value, shown):
    assert narrow(number(value)) == shown


def test_a_draw_may_be_of_some_tasks(assay, judged):
    folder, *_ = judged
    done = assay("draw", folder, "--n", 12, "--seed", 3, "--task", "r2c2.answer", "--json")
    (found,) = json.loads(done.stdout)["draws"]
    assert found["tasks"] == ["r2c2.answer"]
    assert found["units"] == 12 * 3
    drawn(assay, folder)
    assert len(json.loads(assay("draw", folder, "--json").stdout)["draws"]) == 2


def test_a_lower_level_gives_narrower_intervals_and_decides_no_less(assay, judged, people):
    folder, truth, *_ = judged
    _, topics = drawn(assay, folder)
    people(folder, truth, topics)
    wide, narrow = (trusted(assay, folder, "--level", one) for one in (".95", ".5"))
    widths = [
        {(s["run"], s["measure"]): s["high"] - s["low"] for s in found["scores"]}
        for found in (wide, narrow)
    ]
    for key, width in widths[0].items():
        assert widths[1][key] < width or width == 0
    decided = [
        {m["measure"]: m["decided"] for board in found["boards"] for m in board["measures"]}
        for found in (wide, narrow)
    ]
    assert any(decided[1][name] > count for name, count in decided[0].items())
    assert all(decided[1][name] >= count for name, count in decided[0].items())


def test_labels_by_hand_are_counted(assay, judged, people):
    folder, truth, *_ = judged
    people(folder, truth, QUESTIONS[:2])
    people(folder, truth, QUESTIONS[2:3], detail={"workbench": {"mode": "shown"}})
    assert "People gave 12 labels" in trusted(assay, folder, code=1)["why"]


def test_a_run_that_leaves_questions_out_has_no_corrected_hmr(assay, world, people):
    folder, truth, *_ = world
    file = folder / "ac" / "B.txt"
    blocks = file.read_text(encoding="utf-8").split("<0002>\n")
    file.write_text(blocks[0] + blocks[1].split("</0002>\n")[1], encoding="utf-8")
    assay("judge", folder)
    _, topics = drawn(assay, folder)
    people(folder, {**truth, ("B", "0002"): False}, topics)
    found = trusted(assay, folder)
    assert {one["run"] for one in found["scores"] if one["measure"] == "HMR"} == {"A", "C"}
    said = [w for board in found["boards"] for one in board["measures"] for w in one["warnings"]]
    assert any("Not corrected: B: it leaves questions out" in one for one in said)


def test_errors_from_elsewhere_give_a_sensitivity_analysis_alone(assay, judged):
    folder, _truth, judge, _ = judged
    done = assay("trust", folder, "--carried", "45/50,40/50", "--json")
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert found["kind"] == "sensitivity analysis"
    scores = {one["run"]: one for one in found["scores"] if one["measure"] == "Accuracy"}
    for run in RUNS:
        right = sum(judge[run, one] for one in QUESTIONS)
        value, low, high = corrected.rogan_gladen(right, 30, 45, 50, 40, 50)
        assert (scores[run]["value"], scores[run]["low"]) == pytest.approx((value, low))
        assert scores[run]["high"] == pytest.approx(high)
        assert scores[run]["judge_alone"] == pytest.approx(right / 30)
    shown = " ".join(assay("trust", folder, "--carried", "45/50,40/50").stdout.split())
    assert "This is a sensitivity analysis, not a correction" in shown
    assert not (folder / "out" / "trust.csv").exists()


@pytest.mark.parametrize(
    ("options", "told"),
    [
        (("--carried", "28/50,26/50"), "The judge is near chance"),
        (("--carried", "45"), "not of the form 45/50,40/50"),
        (("--carried", "60/50,40/50"), "more than m1"),
        (("--carried", "45/50,40/50", "-m", "HMR"), "nothing to carry over to"),
    ],
)
def test_what_cannot_be_carried_over_is_told(assay, judged, options, told):
    done = assay("trust", judged[0], *options)
    assert done.returncode == 2
    assert told in " ".join(done.stderr.split())


def test_the_judge_is_off_by_family_as_computed_by_hand(assay, world, people):
    folder, truth, judge, _ = world
    with (folder / "assay.toml").open("a", encoding="utf-8") as file:
        file.write('[audit.families]\nA = "ours"\n"[BC]" = "theirs"\n')
    assay("judge", folder)
    _, topics = drawn(assay, folder)
    people(folder, truth, topics)
    found = trusted(assay, folder)
    (board,) = [
        one for b in found["boards"] for one in b["measures"] if one["measure"] == "Accuracy"
    ]
    y, f, chosen = table(truth, judge, topics)
    own = corrected.topics(y, f, chosen)
    off = f.mean(axis=1) - own.value
    families = {(one["family"], one["beyond"]): one for one in board["families"]}
    assert families.keys() == {("ours", ""), ("theirs", ""), ("ours", "theirs")}
    for key, a in (
        (("ours", ""), [1, 0, 0]), (("theirs", ""), [0, 0.5, 0.5]),
        (("ours", "theirs"), [1, -0.5, -0.5]),
    ):  # fmt: skip
        half = stats.t.ppf(0.975, len(topics) - 1) * np.sqrt(a @ own.covariance @ np.array(a))
        assert families[key]["off"] == pytest.approx(a @ off)
        assert families[key]["low"] == pytest.approx(a @ off - half)
        assert families[key]["high"] == pytest.approx(a @ off + half)
    assert families["theirs", ""]["runs"] == 2
    shown = assay("trust", folder).stdout
    assert "ours, beyond theirs" in shown
    like = trusted(assay, folder, "--population", "like-these")
    assert not any(one["families"] for b in like["boards"] for one in b["measures"])


def test_corrected_scores_of_ledgers_that_grew_are_not_kept(assay, judged, monkeypatch):
    folder, *_ = judged
    drawn(assay, folder)
    monkeypatch.setattr(correcting, "correct", lambda *_: SettingsError("none"))
    opened = Opened.open(folder)
    with opened.folder.open_ledger() as ledger:
        opened.corrected(ledger)
        one = next(ledger.labels())
        content = ledger.contents([one.unit])[one.unit]
        ledger.add([person_label(person("human:EVE"), REGISTRY[one.task], content, one.verdict)])
        opened.corrected(ledger)
        assert [*opened._corrected] == [ledger.head()]


def test_a_release_has_the_corrected_scores_and_how_its_figures_were_made(
    assay, judged, people, monkeypatch
):
    folder, truth, *_ = judged
    _, topics = drawn(assay, folder)
    people(folder, truth, topics)
    assert assay("trust", folder).returncode == 0
    public = folder.parent / "public"
    worked, correct = [], correcting.correct
    monkeypatch.setattr(correcting, "correct", lambda *a: worked.append(a) or correct(*a))
    done = assay("release", folder, "-o", public, "--no-figures")
    assert done.returncode == 0, done.stderr
    assert len(worked) == 1  # it takes long
    written = (folder / "out" / "trust.csv").read_bytes()
    assert (public / "tables" / "corrected.csv").read_bytes() == written
    draws = json.loads((folder / "out" / "manifest.json").read_text())["ledger"]["draws"]
    drawn_by = {row["draw"] for row in csv.DictReader(written.decode().splitlines())}
    assert [one.split()[0] for one in draws] == [*drawn_by]
    score = next(one for one in csv.DictReader(written.decode().splitlines())
                 if (one["run"], one["measure"]) == ("A", "Accuracy"))  # fmt: skip
    value = f"{float(score['value']):.3f}"
    for name in ("corrected-1.md", "corrected-1.tex"):
        text = (public / "tables" / name).read_text()
        assert value in text
        assert "Based on: judge corrected by" in text
    assert "lualatex" not in text
    assert "Corrected by people’s labels" in (public / "index.html").read_text()
    table = (public / "tables" / "board-1.tex").read_text()
    assert r"95\% bootstrap intervals over topics (100 draws, seed 20251210)" in table
    assert json.loads((public / "release.json").read_text())["made_with"]["numpy"] == np.__version__
