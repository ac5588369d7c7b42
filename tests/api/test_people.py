"""``assay labels people``: people who labelled the same units, and how reliable each of them is."""

from __future__ import annotations

import csv
import json
import random
from dataclasses import asdict

import numpy as np
import pytest

from assay.api.people import people_of
from assay.model.labels import Label, LabellerId, Status
from assay.protocols.people_doubts import copied_labels, guideline_notes, order_effects
from assay.protocols.people_parts import in_words
from assay.statistics.agreement import agree, alpha_estimate, cohen_kappa
from assay.statistics.dawid_skene import dawid_skene
from assay.tasks.sgss import PREFERENCE
from tests.api.test_trust import (  # noqa: F401 (fixtures)
    QUESTIONS,
    RUNS,
    judged,
    judged_once,
    lines,
)


@pytest.fixture
def labelled(assay, judged):  # noqa: F811
    """Three people say of all answers what is true, each with errors of their own."""
    folder, truth, *_ = judged
    rng = random.Random(4)
    said = {}
    for name, accuracy in (("ANN", 0.97), ("BEN", 0.9), ("CAT", 0.6)):
        rows = [
            (run, one, truth[run, one] == (rng.random() < accuracy))
            for run in RUNS
            for one in QUESTIONS
        ]
        said[name] = {(run, one): right for run, one, right in rows}
        mine = lines(rows, f"human:{name}").splitlines()
        file = folder / f"{name}.jsonl"
        file.write_text("\n".join(one for one in mine if "r2c2.answer" in one), encoding="utf-8")
        assert assay("labels", "import", folder, file).returncode == 0
    return folder, truth, said


def test_the_one_who_errs_is_found(assay, labelled):
    folder, _, said = labelled
    done = assay("labels", "people", folder, "--json")
    (found,) = json.loads(done.stdout)
    assert (found["task"], found["field"], found["shared"]) == ("r2c2.answer", "correct", 90)
    by_name = {one["name"]: one for one in found["people"]}
    assert by_name["ANN"]["accuracy"] > by_name["BEN"]["accuracy"] > by_name["CAT"]["accuracy"]
    assert by_name["CAT"]["accuracy"] == pytest.approx(0.6, abs=0.12)
    assert by_name["CAT"]["kappa"] < by_name["ANN"]["kappa"]
    keys = list(said["ANN"])
    codes = [[int(said[name][key]) for name in ("ANN", "BEN", "CAT")] for key in keys]
    alone = dawid_skene(codes, 2)
    assert [by_name[name]["accuracy"] for name in ("ANN", "BEN", "CAT")] == pytest.approx(
        alone.accuracy, abs=1e-6
    )
    yes = int(alone.labels.sum())
    assert found["consensus"] == {"no": 90 - yes, "yes": yes}
    shown = assay("labels", "people", folder).stdout
    assert "answer: correct" in shown
    assert f"The model's labels: no {90 - yes}, yes {yes}; they differ from what most" in " ".join(
        shown.split()
    )
    rows = assay("labels", "people", folder, "--csv").stdout.splitlines()
    assert len(rows) == 1 + 4 * 2
    alpha = found["alpha"]
    ends = (alpha["value"], *(alpha["interval"][end] for end in ("low", "high")))
    columns = ("alpha", "alpha_low", "alpha_high")
    assert {tuple(float(one[c]) for c in columns) for one in csv.DictReader(rows)} == {ends}
    machine = [one["correct"] for one in verdicts(assay, folder, "recorded:machine.jsonl")]
    of_people = [[said[name][key] for key in keys] for name in said]
    kappas = [cohen_kappa(machine, one) for one in of_people]
    assert found["machine"]["kappa"] == pytest.approx(np.mean(kappas))
    alike = np.mean([np.array(machine) == np.array(one) for one in of_people])
    assert found["beside"]["labels"] == 270
    assert found["beside"]["agreement"]["value"] == pytest.approx(alike)
    assert found["differ"] == sum(len(set(one)) > 1 for one in zip(*of_people, strict=True))
    # Intervals are over topics.
    topics = [topic for _, topic in keys] * 3
    said_by_all = [value for one in of_people for value in one]
    alone = agree(np.array(said_by_all, float), np.array(machine * 3, float), topics=topics)
    ends = alone.estimates["kappa"].interval
    assert found["beside"]["kappa"]["interval"] == pytest.approx(asdict(ends))
    alpha = alpha_estimate(np.array(of_people, float), topics=topics[: len(keys)])
    assert found["alpha"]["interval"] == pytest.approx(asdict(alpha.interval))
    assert f"α (nominal) {in_words(alpha)} over 90" in " ".join(shown.split())


def test_topics_of_what_people_disagree_on_are_known_under_every_policy(assay, labelled):
    folder, *_ = labelled
    dan = folder / "DAN.jsonl"  # so that as many may say yes as no
    dan.write_text((folder / "CAT.jsonl").read_text().replace("human:CAT", "human:DAN"))
    assert assay("labels", "import", folder, dan).returncode == 0
    alone = people_of(folder)
    toml = folder / "assay.toml"
    toml.write_text(toml.read_text() + 'policy = "majority"\n')
    assert people_of(folder) == alone
    assay("evaluate", folder)
    assert in_words(alone[0].alpha) in (folder / "out" / "report.html").read_text("utf-8")


def test_whoever_goes_by_the_place_or_copies_is_told_of_and_a_guideline_that_changed():
    """Among labels on two sides, which half of the people see the other way round."""
    given = []
    for unit in range(16):
        for name, chosen in (("KIM", "LEFT" if unit % 2 else "RIGHT"), ("CAT", "LEFT")):
            turned = bool(unit % 4 < 2)
            side = {"LEFT": "RIGHT", "RIGHT": "LEFT"}[chosen] if turned else chosen
            who = LabellerId(f"human:{name}", "human")
            detail = {"workbench": {"mode": "blind", "turned": turned, "guideline": "a"}}
            verdict = {"reason": "LEFT", "preferred": side}
            given.append(
                Label("", "", PREFERENCE.name, "1", str(unit), who, Status.OK, verdict,
                      detail=detail)
            )  # fmt: skip
    assert order_effects(PREFERENCE, given) == (
        ["CAT chose what was shown first in 16 of 16."],
        ["What was shown first was chosen in 24 of 32."],
    )
    new = [one._replace(detail={"workbench": {"guideline": "b"}}) for one in given[:4]]
    assert [*guideline_notes([*given, *new])] == [
        "Labels were given under 2 versions of the guideline: 32 and 4."
    ]
    assert [*guideline_notes(given)] == []
    plain = [one._replace(detail={}) for one in given]  # from a file: nobody knows
    assert order_effects(PREFERENCE, plain) == ([], [])
    told = "CAT and KIM labelled 16 units at the same moments: one copied the other."
    assert [*copied_labels(given)] == [told]
    assert [*copied_labels([one._replace(created=one.labeller.name) for one in given])] == []
    assert [*copied_labels(plain)] == []  # in a file all have one moment


def test_nobody_is_taken_for_the_machine_by_the_name(assay, labelled):
    folder, *_ = labelled
    (folder / "more.jsonl").write_text(
        lines([("A", one, True) for one in QUESTIONS], "human:recorded:machine.jsonl"),
        encoding="utf-8",
    )
    assert assay("labels", "import", folder, folder / "more.jsonl").returncode == 0
    shown = assay("labels", "people", folder, "--task", "answer", "--csv").stdout.splitlines()
    named = [one["person"] for one in csv.DictReader(shown)][::2]
    assert named[-2:] == ["human:recorded:machine.jsonl", "recorded:machine.jsonl"]
    (found,) = people_of(folder, "r2c2.answer")
    assert [row[0] for row in found.table("").rows][-2:] == named[-2:]


def verdicts(assay, folder, labeller):
    """What a labeller said of the answers, run by run."""
    rows = map(
        json.loads, assay("labels", "export", folder, "--task", "answer").stdout.splitlines()
    )
    found = {
        one["places"][0]["run"] + one["places"][0]["topic"]: one["verdict"]
        for one in rows
        if one["labeller"]["name"] == labeller
    }
    return [found[run + topic] for run in RUNS for topic in QUESTIONS]


def test_whoever_says_the_same_of_all_is_told_of(assay, labelled):
    folder, *_ = labelled
    rows = [("A", one, True) for one in QUESTIONS] + [("C", one, True) for one in QUESTIONS]
    file = folder / "DAN.jsonl"
    quick = {"detail": {"workbench": {"mode": "blind", "seconds": 0.4}}}
    file.write_text(lines(rows, "human:DAN", **quick), encoding="utf-8")
    assert assay("labels", "import", folder, file).returncode == 0
    (found,) = [one for one in people_of(folder) if one.field == "correct"]
    doubt = next(one for one in found.doubts if one.startswith("DAN"))
    assert doubt.startswith("DAN said yes of all 60; others said yes in ")
    assert not any(one.startswith(("ANN", "BEN")) for one in found.doubts)
    assert doubt in " ".join(assay("labels", "people", folder).stdout.split())
    assay("evaluate", folder)
    assert doubt in (folder / "out" / "report.html").read_text(encoding="utf-8")


def test_two_people_are_told_to_read_kappa(assay, labelled):
    folder, *_ = labelled
    run = ("r2c2.dialogue_act",)
    assert people_of(folder, *run) == []
    done = assay("labels", "people", folder, "--task", "r2c2.dialogue_act")
    assert "No two people" in done.stdout


def test_labels_that_change_another_are_no_second_opinion(assay, labelled):
    folder, _truth, _said = labelled
    exported = assay("labels", "export", folder, "--task", "r2c2.answer").stdout.splitlines()
    anns = [row for row in map(json.loads, exported) if row["labeller"]["name"] == "human:ANN"]
    assert len(anns) == 90
    file = folder / "more.jsonl"
    for name, rows in {
        "DAN": [  # edits ANN's
            row | {"verdict": row["verdict"] | {"correct": not row["verdict"]["correct"]}}
            for row in anns
        ],
        "EVE": [  # had others' in sight
            {key: row[key] for key in ("task", "unit", "verdict")}
            | {"detail": {"workbench": {"mode": "shown"}}}
            for row in anns
        ],
    }.items():
        said = [json.dumps(row | {"labeller": f"human:{name}"}) for row in rows]
        file.write_text("\n".join(said), encoding="utf-8")
        assert "90 labels added" in assay("labels", "import", folder, file).stdout
    (found,) = people_of(folder)
    assert {one.name for one in found.people} == {"ANN", "BEN", "CAT"}


def test_few_shared_labels_give_no_accuracies(assay, judged):  # noqa: F811
    folder, truth, *_ = judged
    for name in ("ANN", "BEN"):
        rows = [("A", one, truth["A", one]) for one in QUESTIONS[:5]]
        file = folder / f"{name}.jsonl"
        file.write_text(lines(rows, f"human:{name}"), encoding="utf-8")
        assert assay("labels", "import", folder, file).returncode == 0
    found = {one.field: one for one in people_of(folder)}
    assert "at least 10 are needed" in found["correct"].why
    assert all(one.accuracy is None for one in found["correct"].people)
    assert "No accuracies" in " ".join(assay("labels", "people", folder).stdout.split())
