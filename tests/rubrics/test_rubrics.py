"""Weighted rubrics: R1 to R5 of the specification of TREC RAG 2026, and ``assay rubrics``."""

from __future__ import annotations

import csv
import io
import json
import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.measures.rubrics import rubric_score, unmet
from assay.model.rubrics import rubric_of_nuggets
from assay.model.trec_rag import Importance, RagNugget
from tests.conftest import ROOT

WORDS = ("satisfied", "partially_satisfied", "not_satisfied")


def lines(path: Path, *rows: dict[str, object]) -> Path:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def graded(run: str, topic: str, weights, verdicts, **more) -> dict[str, object]:
    criteria = [
        {"text": f"criterion {place}", "weight": weight, "verdict": verdict, **more}
        for place, (weight, verdict) in enumerate(zip(weights, verdicts, strict=True))
    ]
    return {"qid": topic, "run_id": run, "criteria": criteria}


def table(text: str) -> dict[tuple[str, str, str], float | None]:
    return {
        (row["run"], row["topic"], row["measure"]): float(row["value"]) if row["value"] else None
        for row in csv.DictReader(io.StringIO(text))
    }


def test_r1_failings_cost():
    weights = (5, 3, -4, 2)
    assert rubric_score(weights, (1, 0.5, 1, 0)) == pytest.approx((0.25, 0.25))
    assert rubric_score(weights, (1, 0.5, 1, 0), binary=True) == pytest.approx((0.1, 0.1))
    assert rubric_score(weights, (0, 0, 1, 0)) == pytest.approx((-0.4, -0.4))


def test_r2_a_rubric_of_nuggets(assay, tmp_path):
    nuggets = [
        RagNugget(f"n{place}", importance)
        for place, importance in enumerate([Importance.VITAL, Importance.VITAL, Importance.OKAY])
    ]
    alone = rubric_of_nuggets(nuggets)
    assert alone[0] == ("The answer conveys: n0", 5, "explicit", "mandatory", "n0")
    found = rubric_of_nuggets(nuggets, [("says n0", "odd", "n0"), ("joins", "synthesis", None)])
    assert found == [
        ("says n0", 5, "explicit", "mandatory", "n0"),
        ("joins", 2, "synthesis", "optional", None),
        alone[1],
    ]
    criteria = [
        {"text": one.text, "weight": one.weight, "tier": one.tier, "verdict": verdict}
        for one, verdict in zip(found, WORDS, strict=True)
    ]
    file = lines(tmp_path / "g.jsonl", {"qid": "1", "run_id": "r", "criteria": criteria})
    document = json.loads(assay("rubrics", file, "--json").stdout)
    values = {row["measure"]: row["value"] for row in document["scores"]}
    assert values == pytest.approx({"ternary": 0.5, "binary": 5 / 12})
    assert document["counts"]["r"]["mandatory unmet"] == 1


def _dev(shared_data: Path) -> list[dict]:
    file = shared_data / "data" / "trec-rag-2026" / "research-rubrics-dev-rubrics.jsonl"
    return [json.loads(line) for line in file.read_text().splitlines()]


def _graded_dev(path: Path, rows: list[dict], verdict) -> Path:
    return lines(
        path,
        *(
            {
                "qid": row["qid"],
                "run_id": "r",
                "rubrics": [
                    {**one, "verdict": verdict(place, one)}
                    for place, one in enumerate(row["rubrics"])
                ],
            }
            for row in rows
        ),
    )


def test_r3_and_r5_everything_and_only_failings_satisfied(assay, shared_data, tmp_path):
    rows = _dev(shared_data)
    first = ("r", "683a58c9a7e7fe4e7695846f", "ternary")
    file = _graded_dev(tmp_path / "all.jsonl", rows, lambda place, one: "Satisfied")
    found = table(assay("rubrics", file, "--csv", "--per-topic").stdout)
    assert found[first] == pytest.approx(0.531915, abs=5e-7)
    assert found["r", "all", "ternary"] == pytest.approx(0.820481, abs=5e-7)
    topics = [v for (_, topic, name), v in found.items() if topic != "all" and name == "ternary"]
    assert len(topics) == 30
    assert min(topics) == pytest.approx(0.5)
    file = _graded_dev(
        tmp_path / "bad.jsonl", rows, lambda place, one: WORDS[0 if one["weight"] < 0 else 2]
    )
    found = table(assay("rubrics", file, "--csv", "--per-topic").stdout)
    assert found[first] == pytest.approx(-0.468085, abs=5e-7)
    clipped = table(assay("rubrics", file, "--csv", "--per-topic", "--clip").stdout)
    assert clipped["r", "all", "ternary"] == 0


def test_r4_axes(assay, shared_data, tmp_path):
    file = _graded_dev(tmp_path / "g.jsonl", _dev(shared_data), lambda place, one: WORDS[place % 3])
    found = table(assay("rubrics", file, "--csv", "--per-topic", "--axes").stdout)
    of = "683a58c9a7e7fe4e7695846f"
    first = {name: value for (_, topic, name), value in found.items() if topic == of}
    expected = {
        "ternary": 0.297872, "binary": 0.063830, "ternary:Communication Quality": 0.75,
        "ternary:Implicit Criteria": -0.318182, "ternary:Instruction Following": 0.625,
        "ternary:Explicit Criteria": 0.25, "ternary:Synthesis of Information": 0.75,
        "ternary:References & Citation Quality": -1, "ternary:Miscellaneous": None,
    }  # fmt: skip
    assert {name: first[name] for name in expected} == pytest.approx(expected, abs=5e-7)
    assert found["r", "all", "ternary"] == pytest.approx(0.421164, abs=5e-7)
    assert found["r", "all", "binary"] == pytest.approx(0.277465, abs=5e-7)


def test_failed_criteria_leave_both_sums_or_count_zero_or_make_a_range(assay, tmp_path):
    file = lines(
        tmp_path / "g.jsonl", graded("r", "1", (5, 5, -2), ("satisfied", "failed", "failed"))
    )
    rows = {}
    for way in ("out", "zero", "range"):
        done = assay("rubrics", file, "--csv", "--failed", way)
        rows[way] = next(csv.DictReader(io.StringIO(done.stdout)))
    assert float(rows["out"]["value"]) == 1
    assert float(rows["zero"]["value"]) == 0.5
    assert rows["range"]["value"] == ""
    assert (float(rows["range"]["floor"]), float(rows["range"]["ceiling"])) == (0.3, 1)
    done = assay("rubrics", file)
    assert "Judging failed of 2 of 3 criteria" in done.stderr
    assert "failed" in done.stdout


def test_results_of_researchrubrics_are_a_criterion_a_row(assay, tmp_path):
    rows = [
        {"sample_id": "s1", "weight": weight, "score": 1.0, "verdict": verdict}
        for weight, verdict in ((5, "Satisfied"), (3, "Partially Satisfied"), (-4, "Satisfied"),
                                (2, "Not Satisfied"))
    ]  # fmt: skip
    found = table(assay("rubrics", lines(tmp_path / "sys.jsonl", *rows), "--csv").stdout)
    assert found["sys", "all", "ternary"] == 0.25


def test_a_topic_without_positive_weight_leaves_the_mean_and_silence_counts_zero(assay, tmp_path):
    yes = "satisfied"
    file = lines(
        tmp_path / "g.jsonl",
        graded("r", "1", (1, 1), (yes, "not_satisfied")),
        graded("r", "2", (-1,), (yes,)),
        graded("s", "1", (1, 1), (yes, yes)),
        graded("s", "3", (1,), (yes,)),
    )
    done = assay("rubrics", file, "--csv")
    assert table(done.stdout)["r", "all", "ternary"] == 0.25
    assert "undefined for 1 of 3 topics" in done.stderr
    answered = table(assay("rubrics", file, "--csv", "--topics", "answered").stdout)
    assert answered["r", "all", "ternary"] == 0.5


def test_all_faults_of_graded_answers_are_told_at_once(assay, tmp_path):
    good = graded("r", "1", (1,), ("satisfied",))
    file = lines(
        tmp_path / "g.jsonl",
        good,
        good,
        graded("r", "2", ("much",), ("satisfied",)),
        graded("r", "3", (1,), ("perhaps",)),
        {"run_id": "r", "criteria": []},
        {"qid": "5", "answer": "…"},
        {"qid": "6", "criteria": ["be kind"]},
    )
    done = assay("rubrics", file)
    assert done.returncode == 2
    for said in ("on line 1", "“much” is not a weight", "“perhaps” is not a verdict", "no topic id",
                 "no list of criteria", "is not an object"):  # fmt: skip
        assert said in done.stderr, said


def test_rubrics_alone_and_graded_are_validated(assay, shared_data, tmp_path):
    file = shared_data / "data" / "trec-rag-2026" / "research-rubrics-dev-rubrics.jsonl"
    done = assay("validate", file)
    assert done.returncode == 0
    assert "30 answers or topics, 755 criteria" in done.stdout
    assert "No criterion has a verdict" in assay("rubrics", file).stderr
    bad = lines(tmp_path / "g.jsonl", graded("r", "1", ("much",), ("satisfied",)))
    assert "is not a weight" in assay("validate", bad).stdout


def test_rubrics_made_of_the_dev_nuggets(assay, shared_data):
    file = shared_data / "data" / "trec-rag-2026" / "rag25-dev-nuggets.jsonl"
    rows = [json.loads(line) for line in assay("rubrics", "make", file).stdout.splitlines()]
    assert len(rows) == 22
    criteria = [one for row in rows for one in row["criteria"]]
    assert len(criteria) >= 924  # of 925 vital nuggets one may be written twice
    assert {(one["tier"], one["weight"]) for one in criteria} == {("mandatory", 5)}


@given(st.lists(st.tuples(st.integers(-5, 5), st.sampled_from([0.0, 0.5, 1.0, None])), max_size=12))
def test_scores_lie_where_they_must(criteria):
    weights, values = [one[0] for one in criteria], [one[1] for one in criteria]
    span = rubric_score(weights, values, failed="range")
    out = rubric_score(weights, values)
    if not any(weight > 0 for weight in weights):
        assert span is None
        return
    assert span.floor <= span.ceiling <= 1 + 1e-12
    filled = [0.0 if one is None else one for one in values]
    whole = rubric_score(weights, filled)
    assert span.floor - 1e-12 <= whole.floor <= span.ceiling + 1e-12
    assert rubric_score(weights, values, failed="zero") == whole
    if None not in values:
        assert out == whole
    assert not any(unmet(weight, None) for weight in weights)


def test_axes_have_tables_of_their_own_and_no_number_is_broken(assay):
    graded = ROOT / "examples" / "rubrics" / "graded.jsonl"
    env = {**os.environ, "COLUMNS": "80"}
    shown = assay("rubrics", graded, "--axes", env=env).stdout
    assert all(len(line) <= 80 for line in shown.splitlines())
    words = set(shown.split())
    assert {"0.7139", "0.9062", "ternary:communication", "binary:synthesis"} <= words
