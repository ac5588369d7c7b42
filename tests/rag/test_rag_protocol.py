"""The protocol rag from its files to its scores, in a world where labels follow from words."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import assay as package
from assay.api.correcting import correct, open_units
from assay.api.opened import Opened
from assay.model.errors import FormatError
from tests.conftest import Assay
from tests.rag.world import ASKED, SILENT, folder, judge, record


@pytest.fixture(autouse=True)
def _fresh() -> Iterator[None]:
    ASKED.clear()
    SILENT.clear()
    yield
    SILENT.clear()


def scores(place: Path, run: str = "main", **more: Any) -> dict[str, tuple[float, float]]:
    found = package.open(place, trust=[], labeller="tests.rag.world:judge", **more)
    found.judge()
    return ends(found, run)


def ends(found: package.Evaluation, run: str = "main") -> dict[str, tuple[float, float]]:
    rows = found.scores.filter(run=run).iter_rows(named=True)
    return {row["measure"]: (row["floor"], row["ceiling"]) for row in rows}


# The golden example G1: five claims of the answer a0…a4, three passages, five of the reference
# b0…b4. Passage 1: a0 a2 b0 b1; passage 2: a3; passage 3: a2 b3.
G1 = record("q1", "a0 a1 a2 a3 a4 b0 b2 b3 right.", ["a0 a2 b0 b1", "a3", "a2 b3"],
            ["a0 a1 b0 b1 b2 b3 b4"])  # fmt: skip


def test_claims_of_both_sides_are_set_against_passages_and_each_other(tmp_path: Path):
    found = scores(folder(tmp_path, {"main": [G1]}))
    # Answer claims: a0 a1 a2 a3 a4 b0 b2 b3 right; the reference has a0 a1 b0 b2 b3 of them.
    wanted = {
        "ClaimPrecision": 5 / 9, "Faithfulness": 5 / 9,  # a0 a2 a3 b0 b3 are found
        "GroundedRight": 3 / 9, "SelfKnowledge": 2 / 9,  # a0 b0 b3; a1 b2
        "NoiseRelevant": 1 / 9, "NoiseIrrelevant": 1 / 9,  # a2; a3
        "Hallucination": 2 / 9,  # a4 right
        "ClaimRecall": 5 / 7, "ContextRecall": 4 / 7,  # a0 a1 b0 b2 b3; a0 b0 b1 b3
        "UsedFound": 3 / 7, "UsedOwn": 2 / 7, "FoundUnused": 1 / 7, "Missed": 1 / 7,
        "ContextPrecision(claims)": 2 / 3, "Utilization": 3 / 4, "Correct": 1.0, "NoClaim": 0.0,
        "DeclinedWrongly": 0.0,
    }  # fmt: skip
    for name, value in wanted.items():
        assert found[name] == pytest.approx((value, value)), name
    assert "DeclinedRightly" not in found
    assert "CitationPrecision" not in found


def test_a_refusal_an_empty_answer_and_a_missing_record_are_the_worst(tmp_path: Path):
    questions = tmp_path / "questions.jsonl"
    rows = [{"id": f"q{n}", "question": f"Question q{n}?", "references": ["b0"]} for n in (1, 2, 3)]
    questions.write_text("".join(json.dumps(one) + "\n" for one in rows))
    main = [record("q1", "dunno", ["b0 g3"], ["b0"]), record("q2", "", ["b0 g3"], ["b0"])]
    place = folder(tmp_path, {"main": main}, inputs='questions = "questions.jsonl"')
    found = scores(place)
    for name in ("Faithfulness", "ClaimPrecision", "ClaimRecall", "ClaimF1", "Correct",
                 "AnswerRelevance", "Hallucination", "UsedFound"):  # fmt: skip
        assert found[name] == (0, 0), name
    assert found["NoClaim"] == (1, 1)
    assert found["DeclinedWrongly"] == (1, 1)
    # The retriever's measures stand, but for the record that is not there.
    assert found["ContextRecall"] == pytest.approx((2 / 3, 2 / 3))
    assert found["ContextPrecision"] == pytest.approx((2 / 3, 2 / 3))
    assert ASKED["trec_rag.support"] == 1  # b0 against the one passage, of both records once
    assert not any(one["unit"].get("text") == "dunno" for one in _labels(place, "rag.claims"))


def test_a_run_that_its_pattern_passes_over_is_told(tmp_path: Path, assay: Assay):
    place = folder(tmp_path, {"main": [record("q1", "a0", ["a0"], [])]})
    for name in (".hidden", "README.md"):
        (place / "runs" / name).write_text("")
    assert "does not match" not in assay("evaluate", place).stderr
    (place / "runs" / "new.json").write_text("{}")
    told = " ".join(assay("score", place).stderr.split())
    assert "answers = “runs/*.jsonl” does not match runs/new.json, which is not read" in told


def test_what_lies_beside_a_file_that_is_named_in_full_is_no_run(tmp_path: Path, assay: Assay):
    place = folder(tmp_path, {"main": [record("q1", "a0", ["a0"], [])]})
    (place / "texts").mkdir()
    (place / "runs" / "main.jsonl").rename(place / "texts" / "main.jsonl")
    (place / "runs" / "other.jsonl").write_text(json.dumps(record("q1", "a1")) + "\n")
    (place / "texts" / "paper.pdf").write_text("")
    file = place / "assay.toml"
    file.write_text(file.read_text().replace('["runs/', '["texts/main.jsonl", "runs/'))
    assert "does not match" not in assay("evaluate", place).stderr


def test_what_the_file_of_questions_asks_is_what_is_judged(tmp_path: Path, assay: Assay):
    rows = [{"id": f"q{n}", "question": f"Question q{n}?", "references": ["a0"]} for n in (1, 2)]
    (tmp_path / "questions.jsonl").write_text("".join(json.dumps(one) + "\n" for one in rows))
    main = [
        record("q1", "a0 right", ["g2"]) | {"question": "rewritten"},
        record("q2", "a0 right", ["g2"]) | {"question": " Question  q2?"},  # the same words
    ]
    place = folder(tmp_path, {"main": main}, inputs='questions = "questions.jsonl"')
    assert assay("judge", place).returncode == 0
    told = " ".join(assay("score", place).stderr.split())
    assert (
        "runs/main.jsonl: 1 record with a different question than the file of questions, whose "
        "text is judged: q1." in told
    )
    for task in ("r2c2.answer", "trec_rag.relevance", "r2c2.dialogue_act", "rag.claims"):
        asked = {one["unit"]["question"] for one in _labels(place, task)}
        assert asked == {"Question q1?", "Question q2?"}, task


def test_a_file_of_other_questions_is_one_fault(tmp_path: Path):
    (tmp_path / "questions.jsonl").write_text('{"id": "a", "question": "Why?"}\n')
    main = [record(f"q{n}", "a0", [], []) for n in (1, 2)]
    place = folder(tmp_path, {"main": main}, inputs='questions = "questions.jsonl"')
    with pytest.raises(FormatError, match=r"leave \[inputs\] questions out") as told:
        package.open(place)
    assert len(told.value.faults) == 1


def test_an_answer_without_claims_is_as_bad_as_none_but_is_no_refusal(tmp_path: Path):
    found = scores(
        folder(tmp_path, {"main": [record("q1", "b0 mute right [p0].", ["b0"], ["b0"])]})
    )
    for name in ("Faithfulness", "ClaimRecall", "ClaimF1", "Correct", "UsedFound", "UsedOwn",
                 "AnswerRelevance", "CitationPrecision", "DeclinedWrongly"):  # fmt: skip
        assert found[name] == (0, 0), name
    assert found["NoClaim"] == found["FoundUnused"] == found["ContextRecall"] == (1, 1)
    assert ASKED["trec_rag.support"] == 1  # the reference's claim and the passage


def test_partial_support_of_a_reference_makes_a_passage_no_more_relevant(tmp_path: Path):
    found = scores(folder(tmp_path, {"main": [record("q1", "a1", ["half-b0 a1"], ["b0"])]}))
    assert found["ContextPrecision(claims)"] == found["NoiseRelevant"] == (0, 0)
    assert found["NoiseIrrelevant"] == (1, 1)


def _labels(place: Path, task: str) -> list[dict[str, Any]]:
    package.open(place, labeller="tests.rag.world:judge").write()
    lines = (place / "out" / "labels.jsonl").read_text().splitlines()
    return [one for one in map(json.loads, lines) if one["task"] == task]


def _report(place: Path) -> str:
    found = package.open(place, labeller="tests.rag.world:judge")
    return found.report(place / "report.html").read_text(encoding="utf-8")


def test_refusals_are_tied_to_answerability_g10(tmp_path: Path):
    said = [("a", True), ("dunno", True), ("a", True), ("a", True), ("dunno", False), ("a", False)]
    rows = [record(f"q{n}", answer, ["a"], answerable=can) for n, (answer, can) in enumerate(said)]
    found = scores(folder(tmp_path, {"main": rows}))
    assert found["DeclinedWrongly"] == (0.25, 0.25)
    assert found["DeclinedRightly"] == (0.5, 0.5)
    assert found["DeclinePrecision"] == (0.5, 0.5)
    assert found["Faithfulness"] == (0.75, 0.75)  # over what can be answered alone
    assert "ClaimRecall" not in found


def test_citations_g6(tmp_path: Path):
    answer = [
        {"text": "a", "citations": [0]}, {"text": "x", "citations": ["p0"]},
        {"text": "b", "citations": [0, 1]}, {"text": "c"}, {"text": "d", "citations": ["z"]},
    ]  # fmt: skip
    rows = [record("q1", answer, ["a", "b"])]
    found = scores(folder(tmp_path, {"main": rows}))
    assert found["CitationPrecision"] == (0.25, 0.25)
    assert found["CitationRecall"] == pytest.approx((0.2, 0.2))
    found = scores(folder(tmp_path, {"main": rows}, settings='citations = "all"'))
    assert found["CitationPrecision"] == (0.375, 0.375)
    assert found["CitationRecall"] == pytest.approx((0.3, 0.3))


def test_what_is_missing_makes_a_range(tmp_path: Path):
    SILENT.add("a1")
    place = folder(tmp_path, {"main": [record("q1", "a0 a1", ["a0 g3", "a1"], ["a0"])]})
    with pytest.warns(UserWarning, match="no answer"):
        found = scores(place)
    assert found["Faithfulness"] == (0, 1)  # the answer could not be split
    assert found["NoClaim"] == (1, 0)
    assert found["ClaimRecall"] == (0, 1)
    assert found["ContextRecall"] == (1, 1)
    assert found["ContextPrecision"] == (0.5, 1)
    frame = package.open(place, labeller="tests.rag.world:judge").missing
    assert set(frame["task"]) >= {"r2c2.dialogue_act", "trec_rag.relevance"}


def test_of_several_references_the_best_counts(tmp_path: Path):
    rows = [record("q1", "a0 a1 c0", ["a0"], ["a0 b0", "a0 a1"])]
    found = scores(folder(tmp_path, {"main": rows}))
    assert found["ClaimRecall"] == (1, 1)
    assert found["ClaimPrecision"] == pytest.approx((2 / 3, 2 / 3))
    assert found["ContextRecall"] == (0.5, 0.5)


def test_truncated_passages_and_passages_without_text_are_open(tmp_path: Path):
    passages = [
        {"id": "p0", "text": "a0 half-a1 …", "truncated": True}, {"id": "p1", "text": None},
    ]  # fmt: skip
    row = {**record("q1", "a0 a1"), "passages": passages}
    found = scores(folder(tmp_path, {"main": [row]}))
    assert found["Faithfulness"] == (0.5, 1)  # a0 is entailed by what is seen
    assert found["ContextRelevance"] == (0, 0.5)


def test_topics_that_are_open_for_their_texts_are_not_said_to_lack_labels(tmp_path: Path):
    passages = [{"id": "p0", "text": "a0 …", "truncated": True}]
    row = {**record("q1", "a0 a1"), "passages": passages}
    place = folder(tmp_path, {"main": [row]})
    scores(place)
    report = _report(place)
    assert "1 topic open: passages are cut<" in report
    assert "passage is cut" in report
    assert "with missing labels" not in report
    (place / "labels.sqlite").unlink()
    report = _report(place)
    assert "1 topic open: passages are cut, labels are missing<" in report


def test_all_passages_together_may_entail_what_none_does(tmp_path: Path):
    rows = [record("q1", "a0 ab", ["a0", "half-ab"])]
    assert scores(folder(tmp_path / "a", {"main": rows}))["Faithfulness"] == (0.5, 0.5)
    rows = [record("q1", "a0 ab", ["a0 half-ab", "x"])]
    place = folder(tmp_path / "b", {"main": rows}, settings='partial = "half"')
    found = scores(place)
    assert found["Faithfulness"] == (0.5, 0.5)
    assert found["Faithfulness~"] == (0.75, 0.75)
    place = folder(tmp_path / "c", {"main": rows}, settings='evidence = "each-then-all"')
    scores(place)
    assert any(one["unit"]["passage"] == "a0 half-ab\n\nx"
               for one in _labels(place, "trec_rag.support"))  # fmt: skip


def test_an_embedded_judge_takes_sentences(tmp_path: Path, assay: Assay):
    place = folder(tmp_path, {"main": [record("q1", "One is. Two is.", ["One is."])]})
    toml = place / "assay.toml"
    toml.write_text(toml.read_text().replace("tests.rag.world:judge", "embedded", 1))
    done = assay("judge", place, "--dry-run", "--json")
    steps = {one["task"]: one["to_ask"] for one in json.loads(done.stdout)["ahead"]}
    assert steps == {"refusals": 1, "support": 2, "relevance": 2, "answers": 0}


def test_rankings_are_scored_by_the_pool_of_all_runs_g8(tmp_path: Path):
    good = [record("q1", "a", ["x1 g3", "x2 g2", "x3", "x4", "x5"])]
    other = [record("q1", "a", ["x6 g3"], ranked=False)]
    found = package.open(
        folder(tmp_path, {"main": good, "other": other}, settings='measures = ["nDCG@5"]'),
        labeller="tests.rag.world:judge",
    )
    found.judge()
    assert ends(found)["nDCG@5"] == pytest.approx((1, 1))
    assert ends(found)["ContextAP"] == (1, 1)
    assert not {"nDCG@5", "ContextAP"} & ends(found, "other").keys()
    assert any("several retrievers" in one for one in found.remarks)
    found.write()  # the files of rankings give the scores again


def test_slices_by_metadata(tmp_path: Path):
    rows = [record(f"q{n}", "a" if n else "b", ["a"], metadata={"lang": "en" if n else "de"})
            for n in range(3)]  # fmt: skip
    place = folder(tmp_path, {"main": rows}, settings='by = "lang"')
    scores(place)
    package.open(place, labeller="tests.rag.world:judge").write()
    text = (place / "out" / "scores_by_category.csv").read_text()
    assert "de,main,Faithfulness,0.0" in text
    assert "en,main,Faithfulness,1.0" in text
    page = package.open(place, labeller="tests.rag.world:judge").report(tmp_path / "r.html")
    shown = page.read_text(encoding="utf-8").partition("its interval is below it")[2]
    assert ">1.00–1.00<" in shown  # for whoever has no mouse to point with


def test_the_same_question_is_the_same_in_all_runs(tmp_path: Path, assay: Assay):
    other = [record("q1", "a", references=["c"]), record("q2", "a", answerable=False)]
    place = folder(tmp_path, {"a": [record("q1", "a", references=["b"]), record("q2", "a")],
                              "b": other})  # fmt: skip
    done = assay("score", place)
    assert done.returncode == 2
    assert "references differs from that in" in done.stderr
    assert "answerable differs from that in" in done.stderr
    assert "a.jsonl:1" in done.stderr


def test_history_goes_before_the_question(tmp_path: Path):
    turns = [{"role": "user", "text": "Hi"}, {"role": "assistant", "text": "Hello"}]
    place = folder(tmp_path, {"main": [record("q1", "a", ["a"], history=turns)]})
    scores(place)
    (one,) = _labels(place, "r2c2.dialogue_act")
    assert one["unit"]["question"] == "user: Hi\nassistant: Hello\nuser: Question q1?"


def test_the_files_say_what_each_claim_is(tmp_path: Path, assay: Assay):
    place = folder(tmp_path, {"main": [G1]})
    done = assay("evaluate", place)
    assert done.returncode == 0, done.stderr
    claims = [json.loads(x) for x in (place / "out" / "claims.jsonl").read_text().splitlines()]
    cells = {one["claim"]: one["cell"] for one in claims if one["side"] == "answer"}
    assert cells["a0"] == "GroundedRight"
    assert cells["a3"] == "NoiseIrrelevant"
    assert {one["cell"] for one in claims if one["side"] == "reference"} == {
        "UsedFound", "UsedOwn", "FoundUnused", "Missed"
    }  # fmt: skip
    entailed = (place / "out" / "entailment.jsonl").read_text().splitlines()
    assert len(entailed) == (9 + 7) * 3
    report = (place / "out" / "report.html").read_text()
    assert "Question by question" in report
    assert "NoiseIrrelevant" in report


def test_linear_measures_are_sums_of_their_labels(tmp_path: Path):
    rows = [
        record("q1", "a right", ["x g3", "y g1", "g2"], ["a"]),
        record("q2", "b", ["z g2"], ["b right"]),
        record("q3", "dunno", ["z g2"], ["c"]),
        record("q4", "dunno", ["z"], answerable=False),
    ]
    place = folder(tmp_path, {"main": rows, "other": rows[1:]})
    found = scores(place), scores(place, "other")
    opened = Opened.open(place, labeller="tests.rag.world:judge")
    with opened.ledger(create=False) as ledger:
        part = opened.parts["rag"]
        book = part.book(ledger)
        sums: dict[tuple[str, str], float] = {}
        for one in part.protocol.linear(part.inputs, part.settings, book):
            for run, request, weight in one.shares:
                label = book.find(one.task, request.unit)
                assert label is not None
                assert label.verdict is not None
                value = weight * one.worth(request, label.verdict)
                sums[run, one.measure] = sums.get((run, one.measure), 0.0) + value
    for run, own in zip(("main", "other"), found, strict=True):
        for measure in ("Correct", "ContextPrecision", "ContextRelevance"):
            assert sums[run, measure] == pytest.approx(own[measure][0]), (run, measure)


def labelled_by_people(place: Path, assay: Assay, n: int) -> tuple[dict, dict]:
    """The corrected scores of a draw that people label as the machine does, and what is refused."""
    drawn = ("draw", place, "--n", n, "--task", "trec_rag.relevance", "--task", "r2c2.answer")
    assert assay(*drawn).returncode == 0
    opened = Opened.open(place, labeller="tests.rag.world:judge")
    with opened.ledger() as ledger:
        (draw,) = ledger.draws()
        said = [
            {"task": unit.task.name, "unit": unit.content, "labeller": "human:KIM",
             "verdict": judge(unit.task.name, unit.content)}
            for unit, _ in open_units(opened.parts, ledger, draw)
        ]  # fmt: skip
    (place / "kim.jsonl").write_text("".join(json.dumps(one) + "\n" for one in said))
    assert assay("labels", "import", place, place / "kim.jsonl").returncode == 0
    with opened.ledger() as ledger:
        boards = correct(opened.parts, ledger).boards
    return (
        {one.measure: one.value[0] for board in boards for one in board.found},
        {name: why for board in boards for name, why in board.refused.items()},
    )


def test_measures_are_corrected_over_the_topics_that_they_are_about(tmp_path: Path, assay: Assay):
    rows = [
        record(f"q{n}", f"a{n} {'right' * (n % 2)}", [f"x{n} g{n % 4}"], [f"a{n}"])
        for n in range(1, 9)
    ]
    # Where there is no answer nothing can be correct.
    rows += [record(f"q{n}", "dunno", [f"z{n}"], answerable=False) for n in (9, 10)]
    place = folder(tmp_path, {"main": rows})
    alone = scores(place)
    found, refused = labelled_by_people(place, assay, 10)
    assert found["Correct"] == pytest.approx(alone["Correct"][0]) == pytest.approx(0.5)
    assert found["ContextRelevance"] == pytest.approx(alone["ContextRelevance"][0])
    # What nobody was asked about is the machine's, not corrected by a difference of nothing.
    assert {name for name, why in refused.items() if why.startswith("The draw is of ")} >= {
        "Faithfulness",
        "DeclinedWrongly",
    }


def test_a_measure_that_whole_topics_cannot_correct_names_the_draw_that_can(
    tmp_path: Path, assay: Assay
):
    rows = [record(f"q{n}", f"a{n} right", ["x g3"], [f"a{n}"]) for n in range(1, 5)]
    place = folder(tmp_path, {"main": rows})
    SILENT.add("a4 right")
    scores(place)
    SILENT.clear()
    found, refused = labelled_by_people(place, assay, 4)
    assert "ContextRelevance" in found
    assert refused["Correct"].startswith("It has no value on 1 topic by the machine's labels")
    assert refused["Correct"].endswith(
        "Single labels can correct it: 'assay draw FOLDER --task r2c2.answer --design leverage "
        "--n N'."
    )
