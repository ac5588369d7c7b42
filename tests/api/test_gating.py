"""A run against a baseline: what may be compared, what fails, what stays open."""

from __future__ import annotations

import io
import re
from collections.abc import Sequence
from itertools import count
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console

from assay.api.gate_terms import Terms
from assay.api.gating import gate
from assay.formats.baselines import (
    Baseline,
    GatedMeasure,
    GatedQuestion,
    GatedTask,
    baseline_bytes,
    read_baseline,
)
from assay.measures.ranges import Range
from assay.model.errors import FormatError, SettingsError
from assay.page.gates import Gated, Verdict
from assay.protocols.config import GateMeasure
from assay.reports.gates import MOST, gate_table, junit, markdown
from assay.reports.tables import table
from assay.statistics.worsening import detectable_loss
from tests.statistics.test_worsening import G11

Ends = tuple[float, float]
_VERSIONS = count()
LOSS_0 = Terms({"M": GateMeasure(loss=0.0)})


def made(
    values: Sequence[float | Ends], *, measure: str = "M", answers: str = "", **more: object
) -> Baseline:
    """A baseline of a run whose questions have these values; texts are new unless ``answers``."""
    ends = [one if isinstance(one, tuple) else (one, one) for one in values]
    version = next(_VERSIONS)
    questions = tuple(
        GatedQuestion(id=f"q{n:02}", question=f"h{n}", answer=f"{answers or version}{n}",
                      passages="p", scores={measure: one})
        for n, one in enumerate(ends)
    )  # fmt: skip
    floor, ceiling = (sum(one[k] for one in ends) / len(ends) for k in (0, 1))
    given: dict[str, object] = {
        "assay": "1", "protocol": "rag", "run": "main", "made": "2026-01-05T10:00:00Z",
        "policy": "people", "people": {}, "machine": True, "settings": {"claims": "rag.claims"},
        "tasks": {"t": GatedTask(version="1", labeller="a")},
        "measures": {measure: GatedMeasure(value=None, floor=floor, ceiling=ceiling,
                                           questions=len(ends))},
        "questions": questions,
    }  # fmt: skip
    return Baseline.model_validate(given | more)


def test_the_golden_differences_fail_and_say_so():
    found = gate(made([0.5 + d for d in G11]), made([0.5] * 10), LOSS_0, texts={})
    (one,) = found.measures
    assert (found.verdict, found.exit_status) == (Verdict.REGRESSION, 1)
    assert one.tested is not None
    assert one.tested.p.floor == one.tested.p_holm.floor == 24 / 1024
    assert one.tested.difference == pytest.approx((-0.225, -0.225))
    assert one.tested.detectable == pytest.approx(0.212022, abs=1e-6)


@pytest.mark.parametrize(("others", "tests"), [(0.9, 3), (1.0, 1)])
def test_holm_over_the_measures_that_differ_can_undo_a_regression(others: float, tests: int):
    rules = {name: GateMeasure(loss=0.0) for name in ("M", "B", "C")}

    def of(values: Sequence[float], first: float) -> Baseline:
        one = made(values)
        ends = [(first, first), *[(1, 1)] * 9]
        questions = [
            q.model_copy(update={"scores": {**q.scores, "B": end, "C": end}})
            for q, end in zip(one.questions, ends, strict=True)
        ]
        measures = dict.fromkeys(rules, one.measures["M"])
        return one.model_copy(update={"questions": tuple(questions), "measures": measures})

    found = gate(of([0.5 + d for d in G11], others), of([0.5] * 10, 1.0), Terms(rules), texts={})
    assert found.verdict is (Verdict.PASS if tests == 3 else Verdict.REGRESSION)
    m, b, _ = (one.tested for one in found.measures)
    assert m is not None
    assert b is not None
    assert m.tests == tests
    assert m.p_holm.floor == pytest.approx(tests * 24 / 1024)
    assert b.p_holm == (1.0, 1.0)
    assert (f"0.05/{tests}" in markdown(found)) is (tests > 1)


def test_a_gate_that_can_find_nothing_passes_no_loss():
    rules = {name: GateMeasure(loss=0.0) for name in ("M", "B")}

    def of(value: float) -> Baseline:
        one = made([value] * 5)
        questions = [q.model_copy(update={"scores": {**q.scores, "B": q.scores["M"]}})
                     for q in one.questions]  # fmt: skip
        measures = dict.fromkeys(rules, one.measures["M"])
        return one.model_copy(update={"questions": tuple(questions), "measures": measures})

    found = gate(of(0), of(1), Terms(rules), texts={})
    assert found.verdict is Verdict.INCOMPLETE
    assert "M: it may have lost, but no loss can be found here" in markdown(found)
    assert gate(of(1), of(0), Terms(rules), texts={}).verdict is Verdict.PASS
    allowed = Terms({name: GateMeasure(loss=1.0) for name in rules})
    assert gate(of(0), of(1), allowed, texts={}).verdict is Verdict.PASS
    found = gate(of(0), of(1), Terms({"M": rules["M"]}), texts={})
    assert found.verdict is Verdict.REGRESSION


def test_missing_labels_are_decided_at_both_extremes():
    before = made([1.0] * 10)
    # Were the open ones right it is as good as before, were they wrong much worse.
    found = gate(made([(0.0, 1.0)] * 8 + [1.0] * 2), before, LOSS_0, texts={})
    assert (found.verdict, found.exit_status) == (Verdict.INCOMPLETE, 1)
    # Wrong however they turn out.
    found = gate(made([0.0] * 8 + [(0.0, 1.0)] * 2), before, LOSS_0, texts={})
    assert found.verdict is Verdict.REGRESSION


def test_unchanged_texts_differ_by_nothing_whatever_labels_say_now():
    before = made([1.0] * 10, answers="same")
    found = gate(made([0.0] * 10, answers="same"), before, LOSS_0, texts={})
    (one,) = found.measures
    assert found.verdict is Verdict.PASS
    assert found.neither == found.relabelled == 10
    assert "10 of those with the same answer and passages have other values now" in markdown(found)
    assert "cover all questions of each" not in markdown(found)
    assert one.tested is not None
    assert one.tested.difference == (0.0, 0.0)
    assert one.tested.detectable is None


def test_where_less_is_better_more_is_a_regression_and_silence_does_not_pass():
    before = made([0.3] * 10, measure="Hallucination")
    terms = Terms({"Hallucination": GateMeasure(loss=0.0)}, lower=frozenset({"Hallucination"}))
    worse = made([0.9] * 10, measure="Hallucination")
    assert gate(worse, before, terms, texts={}).verdict is Verdict.REGRESSION
    silent = made([0.0] * 10, measure="Hallucination")
    assert gate(silent, before, terms, texts={}).verdict is Verdict.PASS
    questions = tuple(
        one.model_copy(update={"scores": {**one.scores, "NoClaim": (1.0, 1.0)}})
        for one in silent.questions
    )
    silent = silent.model_copy(update={"questions": questions})
    added = Terms(terms.rules, lower=terms.lower, silence={"Hallucination": "NoClaim"})
    assert gate(silent, before, added, texts={}).verdict is Verdict.REGRESSION


def test_turns_of_a_session_are_one_in_the_test_and_in_what_it_detects():
    values = [0.4, 0.5, 0.6, 0.5] * 6

    def talked(one: Baseline, size: int) -> Baseline:
        questions = [
            q.model_copy(update={"session": f"s{n // size}"}) for n, q in enumerate(one.questions)
        ]
        return one.model_copy(update={"questions": tuple(questions)})

    def of(size: int) -> Gated:
        now = talked(made(values), size)
        return gate(now, talked(made([0.5] * 24), size), LOSS_0, texts={}).measures[0]

    alone, pairs, few = of(1), of(2), of(6)
    assert alone.tested is not None
    assert pairs.tested is not None
    sums = [a + b - 1 for a, b in zip(values[::2], values[1::2], strict=True)]
    spread = float(np.std(sums, ddof=1)) / 2
    assert pairs.tested.detectable == pytest.approx(detectable_loss(spread, 12, 0.05))
    assert alone.tested.n == pairs.tested.n == 24
    assert (few.verdict, few.tested) == (Verdict.SKIPPED, None)  # 4 sessions can show nothing


def test_nothing_is_proven_without_a_test():
    with pytest.raises(SettingsError, match="give each tested measure"):
        Terms({"M": GateMeasure(min=0.1)}, prove=True)


def test_to_prove_is_another_burden():
    rng = [0.5, 0.6, 0.4, 0.55, 0.45] * 4
    before, now = made(rng), made([v + d for v, d in zip(rng, [0.01, -0.01] * 10, strict=True)])
    terms = Terms({"M": GateMeasure(loss=0.05)}, prove=True)
    assert gate(now, before, terms, texts={}).verdict is Verdict.PASS
    wild = made([v + d for v, d in zip(rng, [0.4, -0.4] * 10, strict=True)])
    assert gate(wild, before, terms, texts={}).verdict is Verdict.REGRESSION
    with pytest.raises(SettingsError, match="cannot be shown"):
        Terms({"M": GateMeasure(loss=0.0)}, prove=True)


@pytest.mark.parametrize(
    ("more", "said"),
    [
        ({"policy": "machine"}, "policy: people in the baseline, machine here"),
        ({"settings": {"claims": "sentences"}}, "setting claims"),
        ({"tasks": {"t": GatedTask(version="2", labeller="a")}}, "version 1 in the baseline"),
        ({"tasks": {"t": GatedTask(version="1", labeller="b")}}, "labeller of t: a"),
        ({"tasks": {"t": GatedTask(version="1", labeller="a", prompt="x")}}, "prompt of t"),
        ({"tasks": {}}, "task t is asked only in the baseline"),
        ({"protocol": "exam"}, "protocol: rag"),
    ],
)
def test_other_grounds_are_not_compared(more: dict[str, object], said: str):
    found = gate(made([1.0] * 6, **more), made([1.0] * 6), LOSS_0, texts={})
    assert (found.verdict, found.exit_status) == (Verdict.UNCOMPARABLE, 2)
    assert said in " ".join(found.uncomparable)
    assert 'type="not comparable"' in junit(found).decode()


def test_what_has_the_same_name_and_may_be_another_is_told():
    def by(*models: str) -> Baseline:
        return made([1.0] * 6, tasks={"t": GatedTask(version="1", labeller="a", models=models)})

    before, now = by("m-1"), by("m-1", "m-2")
    found = gate(now, before, LOSS_0, texts={}, stands_on=["Labellers: a."])
    assert found.verdict is Verdict.PASS
    assert found.stands_on == (
        "Labellers: a.",
        (
            "t: the server called its model m-1 for the baseline, and m-2 for labels "
            "here. If these are different models, a difference may come from them."
        ),
    )
    assert gate(before, now, LOSS_0, texts={}).stands_on == ()
    (said,) = gate(before, by().model_copy(update={"assay": "0"}), LOSS_0, texts={}).stands_on
    assert said == "The baseline was written by Assay 0; this is 1."


def test_changed_new_and_gone_questions_are_in_no_test():
    before, now = made([1.0] * 12), made([0.0] * 12)
    changed = now.questions[0].model_copy(update={"question": "other"})
    new = now.questions[1].model_copy(update={"id": "new"})
    now = now.model_copy(update={"questions": (changed, new, *now.questions[2:])})
    found = gate(now, before, Terms({"M": GateMeasure(loss=0.0)}, share=0.8), texts={})
    assert (found.new, found.gone, found.changed) == (("new",), ("q01",), ("q00",))
    assert found.measures[0].tested is not None
    assert found.measures[0].tested.n == 10
    assert "cover all questions of each" in markdown(found)
    too_few = gate(now, before, LOSS_0, texts={})
    assert too_few.exit_status == 2
    assert "at least 12 are needed" in too_few.uncomparable[0]


def test_bounds_hold_for_the_floor_and_the_ceiling():
    terms = Terms({"M": GateMeasure(min=0.6, max=0.9)})
    assert gate(made([(0.7, 0.8)] * 3), None, terms, texts={}).verdict is Verdict.PASS
    low = gate(made([(0.5, 0.8)] * 3), None, terms, texts={})
    assert (low.verdict, low.measures[0].bounds) == (
        Verdict.BOUND, ("M 0.500 (lower end), min 0.6",)
    )  # fmt: skip
    assert gate(made([(0.7, 0.95)] * 3), None, terms, texts={}).verdict is Verdict.BOUND
    corrected = {"M": Range(0.65, 0.85)}
    held = gate(made([(0.5, 1.0)] * 3), None, terms, texts={}, bounds=corrected)
    assert held.verdict is Verdict.PASS


def test_no_common_value_is_no_pass():
    before = made([1.0] * 6, measure="Other")
    found = gate(made([1.0] * 6), before, LOSS_0, texts={})
    assert (found.verdict, found.exit_status) == (Verdict.SKIPPED, 1)
    suite = ElementTree.fromstring(junit(found))[0]
    assert suite.attrib["skipped"] == "1"


def test_confidences_are_swapped_answer_by_answer():
    def of(right: Sequence[float | Ends]) -> Baseline:
        one = made(right, measure="Accuracy")
        questions = tuple(
            q.model_copy(update={"scores": {**q.scores, "Confidence": (0.9, 0.9)}})
            for q in one.questions
        )
        measures = {"HMR": GatedMeasure(value=0.5, floor=0.5, ceiling=0.5, questions=10)}
        return one.model_copy(update={"questions": questions, "measures": measures})

    terms = Terms({"HMR": GateMeasure(loss=0.0)})
    before = of([1.0] * 9 + [0.0])
    failed = gate(of([0.0] * 9 + [1.0]), before, terms, texts={})
    # HMR does not fall with the number of wrong answers but with what they were said with, so
    # that a swap of answers of the same confidence changes little.
    assert failed.measures[0].tested is not None
    opened = gate(of([(0.0, 1.0)] * 10), before, terms, texts={})
    assert opened.measures[0].tested is not None
    assert opened.measures[0].tested.difference[0] <= opened.measures[0].tested.difference[1]
    with pytest.raises(SettingsError, match="not a mean over questions"):
        gate(before, before, Terms({"HMR": GateMeasure(loss=0.1)}), texts={})
    with pytest.raises(SettingsError, match="has no measure M"):
        gate(before, before, LOSS_0, texts={})


@given(
    st.lists(
        st.tuples(st.floats(0, 1), st.floats(0, 1), st.text(max_size=5)), min_size=1, max_size=6
    )
)
def test_a_baseline_reads_back(tmp_path_factory: pytest.TempPathFactory, rows: list[tuple]):
    found = made([(a, b) for a, b, _ in rows], settings={"text": rows[0][2], "a": 1})
    path = tmp_path_factory.mktemp("b") / "b.json"
    path.write_bytes(baseline_bytes(found))
    assert read_baseline(path).require() == found
    assert orjson.loads(path.read_bytes())["assay_gate"] == 1


HUGE = baseline_bytes(made([0.5])).decode().replace("0.5", "1e308")


OLD = re.sub('"machine": .*,', "", baseline_bytes(made([0.5])).decode())


@pytest.mark.parametrize("text", ["", "{", "[]", "{}", '{"assay_gate": 2}', HUGE, OLD])
def test_what_is_no_baseline_is_said(tmp_path: Path, text: str):
    path = tmp_path / "b.json"
    path.write_text(text)
    with pytest.raises(FormatError, match="--save"):
        read_baseline(path).require()


def test_a_question_whose_value_is_open_is_shown_so_and_behind_those_that_surely_lost():
    before = made([1.0, (0.0, 1.0)] + [1.0] * 8)
    found = gate(made([(0.0, 1.0), 1.0, 0.5] + [1.0] * 7), before, LOSS_0, texts={})
    assert [(one.question, one.before, one.now) for one in found.losers] == [
        ("q02", (1.0, 1.0), (0.5, 0.5)),
        ("q00", (1.0, 1.0), (0.0, 1.0)),
    ]
    assert re.search(r"q00 .* 1\.000 \| \.00–1\.00 \| -1\.00–\.00", markdown(found))


def test_what_hangs_on_texts_is_not_laid_on_labels_alone():
    """Where passages are cut, no labeller can be asked."""
    found = gate(made([(0.0, 1.0)] * 10), made([1.0] * 10), LOSS_0, texts={})
    assert found.verdict is Verdict.INCOMPLETE
    assert "texts that are cut" in found.measures[0].why


def test_no_name_or_number_is_broken_at_80_columns():
    name = "DeclinedWrongly"
    terms = Terms({name: GateMeasure(loss=0.02)})
    found = gate(made([0.5 + d for d in G11], measure=name), made([0.5] * 10, measure=name), terms,
                 texts={})  # fmt: skip
    console = Console(width=80, file=io.StringIO())
    console.print(table(gate_table(found), 80))
    shown = console.file.getvalue()
    assert all(one in shown for one in (name, "regression", "(Holm)"))
    assert re.search(r"\[-\.\d\d, -?\.\d\d\]", shown)
    assert all(len(line) <= 80 for line in shown.splitlines())


def test_hostile_texts_are_escaped_cut_and_kept_out_of_xml():
    now = made([0.0] * 10, run="a|b <script>\x07")
    texts = {f"q{n:02}": "| <img src=x> `code` \x07 [x](http://y)" * 40 for n in range(10)}
    found = gate(now, made([1.0] * 10), LOSS_0, texts=texts)
    text = markdown(found)
    assert len(text) <= MOST
    assert not re.search(r"(?<!\\)<(img|script)", text)
    rows = [line for line in text.splitlines() if line.startswith("| q0")]
    assert rows
    for row in rows:
        assert len(re.findall(r"(?<!\\)\|", row)) == 7
        assert len(row) < 1_000
    suite = ElementTree.fromstring(junit(found))[0]
    assert suite.attrib["failures"] == "1"
    (failure,) = suite.iter("failure")
    assert failure.attrib["type"] == "regression"
    assert "Holm 0.0010" in failure.attrib["message"]
