"""What reports of an R2C2 evaluation show: leaderboards, sections, and what is missing."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from itertools import chain

from assay.measures.confidence import LOWER_IS_BETTER
from assay.measures.scores import Scores, ranks
from assay.model.wording import and_list, counted, noun
from assay.page.page import Board, Definition, Gap
from assay.page.parts import Part
from assay.protocols.answers.cards import question_part
from assay.protocols.answers.columns import JudgedRun
from assay.protocols.answers.requests import several
from assay.protocols.answers.results import PRECISION, RECALL, AnswerFindings, answer_gaps
from assay.protocols.confidence_parts import ConfidentRun, confidence_parts
from assay.protocols.confidence_scores import Abstention, Verdicts, measures_with
from assay.protocols.definitions import glossary
from assay.protocols.pages import best_in_words
from assay.protocols.places import UsedLabels, WhereUsed
from assay.protocols.r2c2.inputs import R2C2Settings
from assay.protocols.relevance import relevance_gaps, relevance_part


def definitions(found: AnswerFindings) -> tuple[Definition, ...]:
    """The definitions of the measures that are shown."""
    recall, precision = glossary("r2c2")
    of_answers = (*glossary("confidence"), precision)
    return (*((recall,) if several(found.questions) else ()), *of_answers, *glossary("ranking"))


def boards(
    found: AnswerFindings,
    judged: Mapping[str, JudgedRun],
    settings: R2C2Settings,
    attempted: Scores,
    scores: Scores,
) -> Iterator[Board]:
    """The leaderboards of the answering runs and, if there are any, of the passage runs."""
    declined = [f"{run}: {n}" for run, one in found.notes.items() if (n := one.declined)]
    note = (
        "Below each run’s name is what it left out or declined, and how many labels are missing. "
        "Attempted scores do not count the questions that a run left out or declined."
    )
    if any(judged.values()) and all(one.acts_unknown for one in judged.values()):
        note += " Nobody labelled which answers decline, so attempted scores are ranges."
    shown = ("HMR", "Accuracy")
    recall = (RECALL,) if several(found.questions) else ()
    yield Board(
        "Answering runs",
        measures_with((*recall, PRECISION)),
        note,
        LOWER_IS_BETTER,
        {f"{name} attempted": {run: of.get(name) for run, of in attempted.items()}
         for name in shown},
        apart=frozenset(("Accuracy", "ECE")),
        remarks={run: notes.counts() for run, notes in found.notes.items()},
        below=f"Questions declined ({and_list(declined)})." if declined else "",
        brief={
            **{name: name for name in (*shown, "R_O", "R_U")},
            **dict.fromkeys(recall, "AnsR"),
            PRECISION: "NugP",
            "ECE": "ECE",
        },
        by_category=("Accuracy", "HMR", PRECISION),
    )  # fmt: skip
    if found.pr_runs:
        yield _passage_board(found, settings, {run: scores[run] for run in found.pr_runs})


def _passage_board(found: AnswerFindings, settings: R2C2Settings, scores: Scores) -> Board:
    own = "the run’s own passages" if settings.ideal == "own" else "the passages of all runs"
    note = (
        "These passages were not assessed directly. The grade of a passage is the number of "
        "relevant nuggets that cite it, over all answering runs. The ideal list of a question is "
        f"taken from {own}."
    )
    if settings.merge_identical:
        note += " Identical passages of several runs are one relevance unit."
    unsure = max((score.missing for by in scores.values() for score in by.values()), default=0)
    if unsure:
        note += f" For {counted(unsure, 'question')} labels are missing; grades may still rise."
    by_question = [[key.run for key, n in of.items() if n] for of in found.grades.values()]
    each = (map(kind, by_question) for kind in (list, set))
    relevant, with_one = (Counter(chain.from_iterable(of)) for of in each)
    passages = {name: run.passages for name, run in found.pr_runs.items()}
    silent = {
        run: sum(not own.get(question.id) for question in found.questions)
        for run, own in passages.items()
    }
    return Board(
        "Passage runs",
        tuple(dict.fromkeys(settings.measures)),
        note,
        columns={
            "Passages": {run: sum(map(len, own.values())) for run, own in passages.items()},
            "Relevant": {run: relevant[run] for run in passages},
            "Questions with one": {run: with_one[run] for run in passages},
        },
        remarks={
            run: (f"{counted(n, 'question')} without a passage",) if n else ()
            for run, n in silent.items()
        },
    )


def lede(found: AnswerFindings, scores: Scores) -> tuple[str, ...]:
    """The first sentences: what was evaluated, and which runs are best."""
    runs = counted(len(found.answers), "answering run"), counted(len(found.pr_runs), "passage run")
    words = ("the highest HMR", "the highest accuracy")
    best = best_in_words(scores, ("HMR", "Accuracy"), words)
    sentence = f"{runs[0]} and {runs[1]} on {counted(len(found.questions), 'question')}."
    return (sentence, best) if best else (sentence,)


def facts(found: AnswerFindings, used: UsedLabels) -> tuple[tuple[str, str], ...]:
    """The facts at the head of the report."""
    marks = sum((Counter(one.marks) for one in found.notes.values()), Counter())
    passages = sum(len(p) for run in found.pr_runs.values() for p in run.passages.values())
    people = used.count(lambda label: label.labeller.is_human).get(True, 0)
    return (
        ("Questions", f"{len(found.questions):,}"),
        ("Answering runs", f"{len(found.answers):,}"),
        ("Passage runs", f"{len(found.pr_runs):,}"),
        ("Passages", f"{passages:,}"),
        ("Nuggets R · N · B", " · ".join(f"{marks[mark]:,}" for mark in "RNB")),
        ("Labels by people", f"{people:,}"),
    )


def nothing_missing(found: AnswerFindings) -> str:
    """What is said if there are no :func:`gaps`."""
    text = "Every run answers every question, and every answer and every nugget has a usable label"
    return text + ("; every question has a relevant passage." if found.pr_runs else ".")


def gaps(found: AnswerFindings) -> Iterator[Gap]:
    """What is missing, gravest first."""
    yield from answer_gaps(list(found.notes.values()), found.failed_nuggets, found.helps_open)
    yield from relevance_gaps(found.relevance)
    if n := len(found.no_relevant):
        what = noun(n, "question has no relevant passage", "questions have no relevant passage")
        which = and_list(list(found.no_relevant), most=30)
        yield Gap(n, f"{what} ({which})", "Every PR run scores 0 there.", False)
    if n := sum(not any(by.values()) for by in found.grades.values()) - len(found.no_relevant):
        what = f"{noun(n, 'question has', 'questions have')} no passage yet that is known to be"
        yield Gap(n, f"{what} relevant", "That depends on nuggets without a mark.", False)


def parts(
    found: AnswerFindings,
    verdicts: Mapping[str, Verdicts],
    scores: Scores,
    abstention: Mapping[str, Abstention],
    settings: R2C2Settings,
    used: UsedLabels,
) -> Iterator[Part]:
    """The sections of the report, with the runs by HMR."""
    order = list(ranks(scores, "HMR"))
    runs = [
        ConfidentRun(run, verdicts[run].answers, scores[run], abstention[run],
               found.notes[run].in_words())
        for run in order
    ]  # fmt: skip
    yield from confidence_parts(runs, settings, topics="question")
    if found.relevance is not None:
        yield relevance_part(found.relevance)
    yield question_part(found, order, WhereUsed(used))
