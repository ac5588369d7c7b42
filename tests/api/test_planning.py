"""``assay plan``: what to label next, and what that buys."""

from __future__ import annotations

import json
import shlex

import numpy as np
import pytest

from assay.api.opened import Opened
from assay.api.planning import Aim, Purchase, _together, plan_labels
from assay.api.trust import draw_units, trust
from assay.statistics import corrected
from tests.api.test_item_draws import (  # noqa: F401 (fixtures)
    answers,
    drawn_units,
    rag,
    rag_once,
    say,
    truly,
)
from tests.api.test_trust import (  # noqa: F401 (fixtures)
    QUESTIONS,
    RUNS,
    drawn,
    judged,
    judged_once,
    people,
)


def planned(assay, folder, *more, code=0):
    done = assay("plan", folder, "--json", *more)
    assert done.returncode == code, done.stderr
    return json.loads(done.stdout)


def test_more_labels_buy_narrower_intervals_and_more_pairs(assay, answers):  # noqa: F811
    folder, *_ = answers
    found = planned(assay, folder)
    assert (found["measure"], found["task"], found["pairs"]) == ("Accuracy", "r2c2.answer", 3)
    assert {one["design"] for one in found["offers"]} == {"leverage", "pairs", "topics"}
    for design in ("leverage", "pairs", "topics"):
        mine = [one for one in found["offers"] if one["design"] == design]
        widths = [one["width"] for one in mine]
        assert widths == sorted(widths, reverse=True)
        assert widths[-1] == pytest.approx(0, abs=1e-9)
        assert mine[-1]["labels"] == 90
        settled = [one["decided"] for one in mine]
        assert settled == sorted(settled)
    assert found["cheapest"] is None
    assert found["command"] is None
    assert any("80%" in note for note in found["notes"])
    ledger = (folder / "labels.sqlite").read_bytes()
    planned(assay, folder, "--to-decide")
    assert (folder / "labels.sqlite").read_bytes() == ledger


def test_the_draw_that_is_named_buys_about_what_was_said(assay, answers):  # noqa: F811
    folder, truth, _ = answers
    found = planned(assay, folder, "--width", "0.25")
    best = found["cheapest"]
    assert best["width"] <= 0.25
    assert all(
        one["width"] > 0.25 or one["labels"] >= best["labels"]
        for one in found["offers"]
        if one["design"] == best["design"]
    )
    command = shlex.split(found["command"])
    assert command[:3] == ["assay", "draw", str(folder)]
    done = assay(*command[1:])
    assert done.returncode == 0, done.stderr
    truly(assay, folder, truth)
    (one,) = [c for b in trust(folder).boards for c in b.found if c.measure == "Accuracy"]
    assert (one.high - one.low).max() == pytest.approx(0.25, rel=0.3)


def test_later_plans_go_by_what_people_said_and_stop_when_all_is_settled(assay, answers):  # noqa: F811
    folder, truth, _ = answers
    draw_units(folder, n=30, seed=1, task="r2c2.answer", design="leverage")
    truly(assay, folder, truth)
    found = planned(assay, folder, "--to-decide")
    assert any("people's labels of" in note for note in found["notes"])
    assert "--seed 2" in found["command"]
    assert {one["design"] for one in found["offers"]} <= {"leverage", "pairs"}
    draw_units(folder, n=60, seed=2, task="r2c2.answer", design="leverage")
    truly(assay, folder, truth, "rest.jsonl")
    last = plan_labels(Opened.open(folder), Aim())
    accuracy = [np.mean([truth[run, one] for one in QUESTIONS]) for run in RUNS]
    assert len(set(accuracy)) == 3
    (one,) = [c for b in trust(folder).boards for c in b.found if c.measure == "Accuracy"]
    assert last.settled == one.decided
    if last.settled == 3:
        assert any("all pairs is settled" in note for note in last.notes)


def test_looking_more_often_asks_for_more(assay, answers):  # noqa: F811
    folder, *_ = answers
    once = planned(assay, folder, "--to-decide")
    often = planned(assay, folder, "--to-decide", "--looks", "5")
    assert often["deciding_level"] == pytest.approx(0.99)
    assert often["cheapest"]["labels"] >= once["cheapest"]["labels"]
    assert any("--level 0.99" in note for note in often["notes"])


def test_n_labels_are_priced_in_hours_at_peoples_pace(assay, answers):  # noqa: F811
    folder, truth, _ = answers
    draw_units(folder, n=20, seed=1, task="r2c2.answer", design="uniform")
    truly(assay, folder, truth)
    found = planned(assay, folder, "--n", "30")
    assert {one["labels"] for one in found["offers"]} == {30}
    assert {one["hours"] for one in found["offers"]} == {None}, "no label says how long it took"
    rows = [json.loads(one) for one in (folder / "true.jsonl").read_text().splitlines()]
    timed = [row | {"labeller": "human:LEE", "seconds": 36.0} for row in rows]
    file = folder / "timed.jsonl"
    file.write_text("".join(json.dumps(row) + "\n" for row in timed), encoding="utf-8")
    assert assay("labels", "import", folder, file).returncode == 0
    found = planned(assay, folder, "--n", "30")
    assert [one["hours"] for one in found["offers"]] == pytest.approx([0.3] * 2)


def test_other_measures_are_planned_by_topics_once_some_are_labelled(
    assay,
    judged,  # noqa: F811
    people,  # noqa: F811
):
    folder, truth, *_ = judged
    done = assay("plan", folder, "-m", "HMR")
    assert done.returncode == 2
    assert "first draw" in " ".join(done.stderr.split())
    _, topics = drawn(assay, folder)
    people(folder, truth, topics)
    done = assay("plan", folder, "-m", "HMR")
    assert "separately" in " ".join(done.stderr.split())


def test_ndcg_is_planned_by_how_its_topics_vary(assay, rag):  # noqa: F811
    done = assay("draw", rag, "--n", "4", "--task", "trec_rag.relevance")
    assert done.returncode == 0, done.stderr
    say(assay, rag, drawn_units(rag), 2, "human:KIM")
    (now,) = [c for b in trust(rag).boards for c in b.found if c.measure == "nDCG@4"]
    looks = planned(assay, rag, "-m", "nDCG@4", "--looks", "4")
    assert any("Look at most 4 times" in note for note in looks["notes"])
    assert looks["settled"] <= now.decided
    found = planned(assay, rag, "-m", "nDCG@4", "--width", "0.01")
    assert {one["design"] for one in found["offers"]} == {"topics"}
    assert [one["topics"] for one in found["offers"]] == [5, 6, 8]
    widths = [one["width"] for one in found["offers"]]
    assert (now.high - now.low).max() > widths[0] > widths[1] > widths[2]
    assert widths[2] == pytest.approx(0, abs=1e-9)
    assert found["command"].endswith("--n 8 --task trec_rag.relevance --seed 2")
    done = assay(*shlex.split(found["command"])[1:])
    assert done.returncode == 0, done.stderr
    say(assay, rag, drawn_units(rag), 2, "human:KIM")
    last = planned(assay, rag, "-m", "nDCG@4", "--to-decide")
    assert (last["offers"], last["command"]) == ([], None)
    assert any(
        "more labels can gain nothing" in note or "is settled" in note for note in last["notes"]
    )


@pytest.mark.parametrize(
    ("options", "says"),
    [
        (("-m", "nothing"), "No leaderboard here has nothing"),
        (("--task", "r2c2.nothing"), "No measure here can be corrected"),
        (("--width", "0"), "above 0"),
        (("--width", "nan"), "must be a number, not nan"),
        (("--width", "0.1", "--to-decide"), "one of"),
        (("--agreement", "1"), "below 1"),
        (("--level", "1"), "at most 0.9999"),
        (("--looks", "1000000"), "at most 0.9999"),
    ],
)
def test_what_cannot_be_planned_is_said(assay, answers, options, says):  # noqa: F811
    done = assay("plan", answers[0], *options)
    assert done.returncode == 2
    assert says in " ".join(done.stderr.split())


def test_more_than_there_is_buys_all_that_there_is(assay, answers):  # noqa: F811
    found = planned(assay, answers[0], "--n", "500")
    assert {one["labels"] for one in found["offers"]} == {90}
    assert all(one["width"] == 0 for one in found["offers"])


def test_whole_topics_cost_what_is_asked_of_them(assay, rag):  # noqa: F811
    """P@2 hangs on fewer passages than people are asked about."""
    found = planned(assay, rag, "-m", "P@2")
    everything = assay("draw", rag, "--n", "8", "--task", "trec_rag.relevance", "--json")
    units = json.loads(everything.stdout)["draws"][0]["units"]
    whole = [one for one in found["offers"] if one["topics"] == 8]
    assert [one["labels"] for one in whole] == [units]
    assert units > max(one["labels"] for one in found["offers"] if one["topics"] is None)


def test_three_batches_are_put_together_as_two_and_one():
    """What a plan expects of a batch to come, and what is estimated once it is there."""
    weights = np.random.default_rng(3).random((3, 60)) / 60
    draws = [corrected.draw(weights, 30, seed=seed) for seed in (1, 2, 3)]
    labels = (np.arange(60) % 3 == 0).astype(float)
    found = [
        corrected.items(weights, np.where(one.drawn, labels, np.nan), np.arange(60) % 2, one.pi,
                        one.drawn, np.arange(60) // 4)
        for one in draws
    ]  # fmt: skip
    counts = np.array([2.0, 1.0, 5.0])
    both = corrected.combine(found[:2], counts[:2])
    covariance, df = _together(both, counts, found[2].covariance, found[2].df)
    assert covariance == pytest.approx(corrected.combine(found, counts).covariance)
    assert (df >= np.minimum(both.df, found[2].df)).all()
    exact = Purchase("pairs", 20, None, 0.25, 1.0, None, None)
    assert Aim(width=0.25).reached(exact, 2.0)
    assert not Aim(width=0.24).reached(exact, 2.0)
    assert not Aim(width=0.25, to_decide=True).reached(exact, 2.0)


def test_the_cheapest_is_just_enough(assay, answers):  # noqa: F811
    folder = answers[0]
    best = planned(assay, folder, "--width", "0.25")["cheapest"]
    assert best["width"] <= 0.25
    one_less = planned(assay, folder, "--n", str(best["labels"] - 1))
    (less,) = [one for one in one_less["offers"] if one["design"] == best["design"]]
    assert less["width"] > 0.25
    for design in ("leverage", "pairs"):
        decided = planned(assay, folder, "--to-decide")
        found = planned(assay, folder, "--n", "90")
        most = max(one["decided"] for one in found["offers"] if one["design"] == design)
        assert decided["cheapest"]["decided"] >= 0.9 * most


@pytest.mark.parametrize(("left", "said"), [(1, "1 topic is"), (2, "2 topics are")])
def test_with_so_few_topics_nothing_is_promised(assay, answers, left, said):  # noqa: F811
    folder, *_ = answers
    settings = folder / "questions.tsv"
    settings.write_text("".join(settings.read_text().splitlines(keepends=True)[:left]))
    for run in (folder / "ac").glob("*.txt"):
        end = f"</{QUESTIONS[left - 1]}>\n"
        run.write_text(run.read_text().partition(end)[0] + end)
    for run in (folder / "pr").glob("*.txt"):
        run.write_text("".join(run.read_text().splitlines(keepends=True)[:left]))
    done = assay("plan", folder)
    assert done.returncode == 2
    assert f"{said} too few to correct scores with people's labels" in done.stderr
