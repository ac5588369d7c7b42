"""The HTML report: safe, complete, deterministic, and plain about what is missing."""

from __future__ import annotations

import base64
import hashlib
import re
import subprocess
import sys
from dataclasses import replace

import pytest

from assay.measures.ranges import Range
from assay.model.labels import Status
from assay.model.rag import Answer, Question
from assay.model.wording import and_list
from assay.page.wording import visible
from assay.protocols.answers.results import AnswerResult, LabelState
from assay.reports.page import setting
from assay.reports.text import question_anchor, slug
from assay.statistics.comparison import compare_confidences
from tests.reports import report_cases as cases
from tests.reports.report_page import Page

HIDDEN = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f]")

NOTHING, OPEN = Range(0.0, 0.0), Range(0.0, 1.0)


report = cases.html


def read(result, **options):
    """The page of a result, with what must hold for every report."""
    html = report(result, **options)
    html.encode("utf-8")
    page = Page(html)
    assert page.faults == []
    assert len(page.ids) == len(set(page.ids))
    assert all(link.startswith("#") for link in page.links)
    assert {link[1:] for link in page.links} <= set(page.ids)
    assert page.tags.count("script") == 1
    assert page.tags.count("style") == 1
    assert not HIDDEN.search(html)
    for text in page.texts:
        assert not re.search(r"\b(None|nan|NaN|inf|Infinity)\b", text), text
    assert not re.search(r'[">](None|nan|inf)[<"]', html)
    return page


def test_the_films_report_is_sound(films):
    page = read(films)
    assert page.text.count("helped in finding the answer") > 30
    for words in ("MODEST", "0.877", "Anthony Mackie", "Janet Leigh", "human:KIM", "left out"):
        assert words in page.text


def test_the_report_names_the_runs_that_are_not_told_apart_from_the_best(films, films_html):
    """As ``assay compare`` finds them; what is left out counts as the worst answer."""
    found = films.findings.detail
    runs = list(found.answers)
    known = [[found.answers[run][question.id] for run in runs] for question in found.questions]
    compared = compare_confidences(
        [[1.0 if one.confidence is None else one.confidence for one in row] for row in known],
        [[float(one.correct) for one in row] for row in known],
        runs,
        measure="HMR",
        seed=0,
    )
    assert (
        f"Not significantly different from the best run by HMR: {and_list(list(compared.top))};"
        in films_html
    )
    assert f"Paired randomisation tests over {len(known)} questions" in films_html


def test_equal_results_give_equal_bytes(films, films_html):
    assert report(cases.films()) == films_html
    code = (
        "import hashlib; from tests.reports import report_cases as c;"
        "print(hashlib.sha256(c.html(c.films()).encode()).hexdigest())"
    )
    done = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        check=True,
        env={"PYTHONPATH": ":".join(sys.path), "PYTHONHASHSEED": "7"},
    )
    assert done.stdout.strip() == hashlib.sha256(films_html.encode()).hexdigest()


def test_the_policy_admits_only_the_reports_own_style_and_script(films_html):
    policy = re.search(r'Content-Security-Policy" content="([^"]*)"', films_html)[1]
    policy = policy.replace("&#39;", "'")
    assert "default-src 'none'" in policy
    assert "unsafe" not in policy
    for tag in ("style", "script"):
        inside = re.search(rf"<{tag}>(.*?)</{tag}>", films_html, re.DOTALL)[1]
        digest = base64.b64encode(hashlib.sha256(inside.encode()).digest()).decode()
        assert f"{tag}-src 'sha256-{digest}'" in policy
    assert "url(" not in films_html
    assert "@import" not in films_html
    assert not re.search(r"(src|href|action)\s*=\s*[\"']?\s*(https?:|//|data:)", films_html)


def test_hostile_texts_are_only_ever_text():
    result = cases.hostile()
    html = report(result)
    page = read(result)
    for raw in ("<script>alert", "</style><img", "onerror=alert(2)>", "<!--", "\u202e", "\ud800"):
        assert raw not in html
    shown = visible(cases.HOSTILE)
    assert "{{7*7}}" in page.text
    assert page.text.count(shown) > 40
    assert any(shown in value for value in page.values)
    for identifier in page.ids:
        assert re.fullmatch(r"[A-Za-z0-9._-]+", identifier), identifier


def test_an_unusual_id_is_hashed_and_a_plain_one_is_kept():
    assert question_anchor("0001") == "q-0001"
    assert re.fullmatch(r"qx-a-b-[0-9a-f]{10}", question_anchor("A b"))
    assert slug("run", "A b") != slug("run", "a-b")
    assert re.fullmatch(r"run-[0-9a-f]{10}", slug("run", "映画"))


def test_a_person_who_overruled_stands_before_the_struck_label(films_html):
    place = films_html.index("It was Janet Leigh.")
    struck = films_html.index("<s>entailed</s>")
    assert 0 < struck - place < 400
    assert "Harvey and Janet are both named." in films_html[struck : struck + 400]


def test_what_is_missing_is_said_first():
    found = cases.small(4, runs=("A", "B")).findings.detail
    answers = {run: dict(by_question) for run, by_question in found.answers.items()}
    one = answers["A"]["0001"]
    unmarked = one.nuggets[0]._replace(mark=None, state=LabelState.MISSING, entailment=None)
    failed = one.nuggets[0].entailment._replace(
        status=Status.FAILED, verdict=None, error="no JSON in the reply"
    )
    answers["A"]["0001"] = replace(
        one,
        state=LabelState.MISSING,
        correct=None,
        precision=OPEN,
        label=None,
        nuggets=(unmarked,),
    )
    broken = one.nuggets[0]._replace(mark=None, state=LabelState.FAILED, entailment=failed)
    answers["A"]["0002"] = replace(
        answers["A"]["0002"],
        state=LabelState.FAILED,
        correct=None,
        precision=OPEN,
        nuggets=(broken,),
    )
    answers["A"]["0003"] = replace(answers["A"]["0003"], state=LabelState.CARRIED)
    answers["B"]["0004"] = AnswerResult(
        "B", found.questions[3], None, LabelState.LEFT_OUT, False, NOTHING
    )
    page = read(cases.assemble(found.questions, found.pr_runs, answers, warnings=("Mind this.",)))
    top = (
        page.text[: page.text.index("Answering runs  Over-")]
        if ("Answering runs  Over-" in page.text)
        else page.text[:4000]
    )
    for words in (
        "1 answer has no label yet (A: 1)",
        "1 answer could not be labelled: the labeller failed (A: 1)",
        "2 nuggets have no mark: their own labels or their answers’ are missing or failed (A: 2)",
        "1 answer label is carried over (A: 1)",
        "1 question was left out by a run (B: 1)",
        "Mind this.",
    ):
        assert words in top
    for words in ("no JSON in the reply", "This answer has no label yet."):
        assert words in page.text
    assert "Nothing is missing" not in page.text


def test_where_nothing_is_missing_the_report_says_so():
    page = read(cases.small(3))
    assert "Every run answers every question" in page.text
    assert "Nothing is missing" in page.text
    assert "What is missing" not in page.text


@pytest.mark.parametrize(
    ("count", "more"),
    [
        (1, {}),
        (1, {"nuggets": 0}),
        (3, {"correct": lambda run, i: False}),
        (3, {"nuggets": 0}),
        (30, {"runs": [f"run {i}" for i in range(25)], "correct": lambda run, i: i % 3 > 0}),
    ],
    ids=["one question", "one question without nuggets", "none right", "no nuggets", "many runs"],
)
def test_small_and_large_results_are_sound(count, more):
    read(cases.small(count, **more))


def test_a_run_without_a_right_answer_is_read_by_its_confidence():
    page = read(cases.small(3, correct=lambda run, i: False))
    assert "Never right" in page.text
    assert "AUROC" in page.text


def test_a_run_that_leaves_out_everything():
    found = cases.small(2, runs=("A", "B")).findings.detail
    answers = {
        "A": found.answers["A"],
        "B": {
            q.id: AnswerResult("B", q, None, LabelState.LEFT_OUT, False, NOTHING)
            for q in found.questions
        },
    }
    page = read(cases.assemble(found.questions, found.pr_runs, answers))
    assert "2 questions were left out by runs (B: 2)" in page.text
    assert "2 left out" in page.text


def test_no_label_at_all():
    found = cases.small(2).findings.detail
    answers = {
        "A": {
            q: replace(
                a,
                state=LabelState.MISSING,
                correct=None,
                precision=OPEN,
                label=None,
                act=None,
                act_label=None,
                nuggets=tuple(
                    n._replace(mark=None, state=LabelState.MISSING, entailment=None)
                    for n in a.nuggets
                ),
            )
            for q, a in found.answers["A"].items()
        }
    }
    page = read(cases.assemble(found.questions, found.pr_runs, answers))
    assert "so there is nothing to draw" in page.text
    assert "No score" in page.text


def test_no_passage_runs_and_no_categories():
    question = Question("1", "Who?")
    answer = AnswerResult(
        "A",
        question,
        Answer("1", "I", 0),
        LabelState.COUNTED,
        True,
        NOTHING,
        label=cases.label("t", {}),
    )
    page = read(cases.assemble([question], {}, {"A": {"1": answer}}))
    assert "Scores by category" not in page.text
    assert "No gold answers were given." in page.text
    assert "verdict unreadable" in page.text


def test_a_large_evaluation_keeps_some_questions_in_the_matrix_only(films):
    page = read(cases.small(60), max_bytes=100_000)
    assert re.search(r"the first [0-9]+ of 60 questions are shown in full", page.text)
    assert {f"q-{i:04d}" for i in range(1, 61)} <= set(page.ids)
    small = read(films, max_bytes=50_000)
    assert re.search(r"the first [1-9] of 14 questions", small.text)
    assert len(report(films, max_bytes=50_000)) < 250_000


def test_grades_say_which_nuggets_gave_them(films):
    page = read(films)
    assert "MODEST 5, BOGUS 3" in page.text


def test_importing_the_reports_loads_neither_matplotlib_nor_jinja():
    code = (
        "import sys, assay.reports, assay.reports.statistics_plots;"
        "assert 'matplotlib' not in sys.modules and 'jinja2' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True, env={"PYTHONPATH": ":".join(sys.path)})


@pytest.mark.parametrize(
    ("value", "said"),
    [
        (None, "not set"),
        (True, "yes"),
        ({}, "none given"),
        ([], "none given"),
        ({"OS": 0.5, "OF": None}, "OS 0.5, OF not set"),
        (("a", False), "a, no"),
    ],
)
def test_settings_are_said_in_words(value, said):
    assert setting(value) == said
