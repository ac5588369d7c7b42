"""Results to make reports of: the films example with its gold verdicts, and small made-up ones."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from types import SimpleNamespace

import numpy as np

from assay.formats.r2c2_ac import read_ac_run
from assay.formats.r2c2_pr import read_pr_run
from assay.formats.r2c2_questions import read_questions
from assay.measures.ranges import Range
from assay.measures.scores import Score
from assay.model.labels import Label, LabellerId, Status
from assay.model.rag import Answer, Mark, Nugget, Passage, PassageKey, PassageRun, Question
from assay.model.scratch import Scratch
from assay.protocols.answers.columns import (
    ACTS,
    ANSWER_ROW,
    MARKS,
    NUGGET_ROW,
    STATES,
    AnswerLabels,
    JudgedAnswers,
    JudgedRun,
    rows,
)
from assay.protocols.answers.marked import Originals
from assay.protocols.answers.requests import GivenAnswer
from assay.protocols.answers.results import AnswerResult, LabelState, NuggetResult
from assay.protocols.pages import page_of
from assay.protocols.places import Place, Used, UsedLabels
from assay.protocols.r2c2.findings import DerivedGrades, findings
from assay.protocols.r2c2.inputs import R2c2Inputs, R2C2Settings
from assay.protocols.results import Result
from assay.reports.general import render_report
from assay.tasks.r2c2 import Act
from tests.films import FILMS

MODEL = LabellerId(
    "embedded:qwen2.5-coder-1.5b",
    "model",
    {"model": "Qwen2.5-Coder-1.5B-Instruct", "sha256": "cc324af070c2ecbfd324a30884d2f951a7ff"},
)
PERSON = LabellerId("human:KIM", "human")
PR_MEASURES = ("nDCG@20", "Q@20", "nERR@20", "iRBU@20")
SETTINGS = {
    "policy": "people",
    "ideal": "pooled",
    "merge_identical": False,
    "g_max": None,
    "bins": 10,
    "bins_closed": "right",
    "level": 0.95,
    "resamples": 300,
    "seed": 1,
    "max_passage_chars": None,
    "measures": PR_MEASURES,
}


def label(task, verdict, reason="", labeller=MODEL, *, uid=None, detail=None, error=None):
    """A label; without a verdict a failed one."""
    uid = uid or f"{task}/{verdict}/{reason}/{labeller.name}"
    return Label(
        uid=uid,
        key=uid,
        task=task,
        version="1",
        unit="u",
        labeller=labeller,
        status=Status.OK if verdict is not None else Status.FAILED,
        verdict=verdict,
        reason=reason or None,
        error=error,
        detail=detail or {},
    )


RESAMPLING = R2C2Settings(resamples=300, seed=1)


def certain(run, name, value, interval=None, topics=3, missing=0):
    """A score that hangs on nothing."""
    if value is None:
        return Score.undefined(run, name, topics=topics, missing=missing)
    ends = [(interval.low, interval.high)] if interval else []
    return Score.between(run, name, Range.certain(value), *ends, topics=topics, missing=missing)


def assemble(questions, pr_runs, answers, *, title="Films", warnings=(), policy="people"):
    """A result from questions, PR runs and answers[run][question]."""
    every = Originals(tuple(questions), {}, pr_runs)
    inputs = R2c2Inputs(every.questions, pr_runs, {}, every)
    rests_on = UsedLabels(used(answers))
    grades = DerivedGrades(inputs)
    judged = in_columns(questions, answers, grades)
    found = findings(
        inputs, RESAMPLING, judged, grades, SimpleNamespace(used=rests_on, failed=Counter())
    )
    return Result(
        protocol="r2c2",
        protocol_title="R2C2",
        title=title,
        policy=policy,
        findings=found,
        labellers={"r2c2.entailment": MODEL, "r2c2.answer": MODEL, "r2c2.dialogue_act": None},
        task_titles={},
        settings=SETTINGS,
        used=rests_on,
        asked={"r2c2.answer": len(answers)},
        missing={},
        failed={},
        gaps=found.gaps,
        warnings=tuple(warnings),
    )


def in_columns(questions, answers, grades):
    """The answers as the protocol holds them."""

    def given(run, question):
        found = answers[run][question.id]
        passages = {one.nugget.key: one.passage for one in found.nuggets}
        return GivenAnswer(run, question, passages, found.answer)

    labels = AnswerLabels(tuple(questions), given, [], [], [])
    judged = {run: JudgedRun(run, labels, Scratch()) for run in answers}
    every = [by_question[question.id] for question in questions for by_question in answers.values()]
    found = as_arrays(every)
    for one in every:
        labels.nuggets += [nugget.entailment for nugget in one.nuggets]
        if one.answer is not None:
            labels.answers.append(one.label)
            labels.acts.append(one.act_label)
    by_run = np.tile(np.arange(len(answers)), len(questions))
    labels.share(found, list(judged.values()), by_run)
    grades.add(found)
    return judged


def as_arrays(every):
    """Results one behind the other, as they are found."""
    given = [one for one in every if one.answer is not None]
    nuggets = [nugget for one in given for nugget in one.nuggets]

    def by_person(label):
        return label is not None and label.labeller.is_human

    def of_all(values):
        return {place: value for place, value in enumerate(values) if value is not None}

    return JudgedAnswers(
        questions=[one.question for one in every],
        given=np.array([one.answer is not None for one in every], bool),
        first=0,
        first_nugget=0,
        answers=rows(
            ANSWER_ROW, len(given),
            state=[STATES.index(one.state) for one in given],
            correct=np.array([one.correct for one in given], float),
            act=[ACTS.index(one.act) for one in given],
            by_person=[by_person(one.label) for one in given],
            confidence=[one.answer.confidence for one in given],
            precision_floor=[one.precision.floor for one in given],
            precision_ceiling=[one.precision.ceiling for one in given],
            recall_floor=[one.recall.floor for one in given],
            recall_ceiling=[one.recall.ceiling for one in given],
        ),
        nuggets=[one.nugget for one in nuggets],
        of=np.repeat(np.arange(len(given)), [len(one.nuggets) for one in given]),
        marks=rows(
            NUGGET_ROW, len(nuggets),
            mark=[MARKS.index(one.mark) for one in nuggets],
            state=[STATES.index(one.state) for one in nuggets],
            helped=np.array([one.helped for one in nuggets], float),
            num=[one.nugget.num for one in nuggets],
        ),
        overruled=of_all(one.overruled for one in given),
        overruled_nuggets=of_all(one.overruled for one in nuggets),
        reasons=of_all(one.help_reason for one in nuggets),
    )  # fmt: skip


def html(result, **options):
    """The report of a result."""
    return render_report(page_of(result), generated_by="assay test", **options)


def used(answers):
    """The labels that answers rest on, each where it is used."""
    for run, by_question in answers.items():
        for question, answer in by_question.items():
            found = [(one.entailment, f"nugget {one.nugget.num}") for one in answer.nuggets]
            carried = "answer, carried" if answer.state is LabelState.CARRIED else "answer"
            found += [(answer.label, carried), (answer.act_label, "dialogue act")]
            for said, position in found:
                if said is not None:
                    yield Used(said, Place(run, question, position))


def judged(run, question, answer, passages, bogus, correct, relevant, *, act="answer"):
    """An answer with its labels, as the protocol would resolve them."""
    if answer is None:
        return AnswerResult(run, question, None, LabelState.LEFT_OUT, False, Range.certain(0.0))
    nuggets = []
    for nugget in answer.nuggets:
        entailed = nugget.num not in bogus
        helped = (nugget.num in relevant) if entailed and correct else None
        mark = Mark.BOGUS if not entailed else Mark.RELEVANT if helped else Mark.NONRELEVANT
        said = (
            "The passage states this in other words."
            if entailed
            else "The passage does not mention it; the nugget adds a name of its own."
        )
        nuggets.append(
            NuggetResult(
                nugget,
                passages.get(nugget.key),
                mark,
                LabelState.COUNTED,
                label(
                    "r2c2.entailment",
                    {"entailed": entailed},
                    said,
                    uid=f"e/{run}/{question.id}/{nugget.num}",
                    detail={"probes": [{"margin": 2.31 if entailed else -1.07, "threshold": 0.4}]},
                ),
                helped=helped,
                help_reason="It names the person asked for." if helped else None,
            )
        )
    marks = [n.mark for n in nuggets]
    return AnswerResult(
        run,
        question,
        answer,
        LabelState.COUNTED,
        correct,
        Range.certain(marks.count(Mark.RELEVANT) / len(marks) if marks else 0.0),
        tuple(nuggets),
        label(
            "r2c2.answer",
            {"correct": correct, "nuggets": []},
            "It means the same as the gold answer." if correct else "It is not the gold answer.",
            uid=f"a/{run}/{question.id}",
        ),
        act=act,
        act_label=label("r2c2.dialogue_act", {"act": act}, uid=f"d/{run}/{question.id}"),
    )


def films(only=None):
    """The films example, judged by its gold verdicts, with one label that a person overruled.
    ``only``: places of some of its questions."""
    questions = read_questions(FILMS / "questions.tsv").require()
    pr_runs = {
        path.stem: read_pr_run(path, questions=questions).require()
        for path in sorted((FILMS / "pr").glob("*.txt"))
    }
    bogus, verdicts = set(), {}
    for line in (FILMS / "gold/entailment.tsv").read_text("utf-8").splitlines():
        run, question, num, verdict = line.split("\t")
        if verdict == "NO":
            bogus.add((run, question, int(num)))
    for line in (FILMS / "gold/answers.tsv").read_text("utf-8").splitlines():
        run, question, verdict, relevant = [*line.split("\t"), ""][:4]
        verdicts[run, question] = (
            verdict == "YES",
            {int(n) for n in relevant.split(",") if n.strip()},
        )
    some = questions if only is None else [questions[place] for place in only]
    answers = {}
    for name in sorted({run for run, _ in verdicts}):
        path = FILMS / "ac" / f"{name}.txt"
        run = read_ac_run(path, questions=questions, pr_runs=pr_runs).require().run
        answers[name] = {}
        for q in some:
            passages = {p.key: p for r in pr_runs.values() for p in r.passages.get(q.id, ())}
            answer = run.answers.get(q.id)
            act = "dont_know" if answer and "don't know" in answer.text.lower() else "answer"
            correct, relevant = verdicts.get((name, q.id), (False, set()))
            bad = {n for r, i, n in bogus if r == name and i == q.id}
            answers[name][q.id] = judged(name, q, answer, passages, bad, correct, relevant, act=act)
    first = answers["MODEST"]["0001"]
    person = label("r2c2.entailment", {"entailed": False}, "It was Janet Leigh.", PERSON)
    nuggets = list(first.nuggets)
    machine = label("r2c2.entailment", {"entailed": True}, "Harvey and Janet are both named.")
    nuggets[2] = nuggets[2]._replace(entailment=person, overruled=machine)
    answers["MODEST"]["0001"] = replace(first, nuggets=tuple(nuggets))
    return assemble(some, pr_runs, answers, title="Films: fourteen questions")


def small(n=1, *, runs=("A",), text="t", correct=lambda run, i: True, nuggets=1):
    """A made-up result of ``n`` questions; ``correct`` says who is right where."""
    questions = [Question(f"{i:04d}", f"{text} {i}", "Simple", ("gold",)) for i in range(1, n + 1)]
    passages = {
        q.id: (Passage(q.id, PassageKey("P", 1), "doc", f"passage {text}"),) for q in questions
    }
    answers = {}
    for r, run in enumerate(runs):
        answers[run] = {}
        for i, q in enumerate(questions):
            cited = tuple(
                Nugget(k + 1, PassageKey("P", 1), f"nugget {text}") for k in range(nuggets)
            )
            answer = Answer(q.id, f"answer {text}", (37 * i + 11 * r) % 101, cited)
            keys = {p.key: p for p in passages[q.id]}
            good = correct(run, i)
            answers[run][q.id] = judged(run, q, answer, keys, {2}, good, {1})
    return assemble(questions, {"P": PassageRun("P", passages)}, answers)


HOSTILE = (
    "<script>alert(1)</script></style><img src=x onerror=alert(2)>\"'`&amp;{{7*7}}{% raw %}"
    "]]>--><!--\u202etxt\u2066\x1b[31m\u200b\U000e0041\ud800 [bold red]x[/] [/nothing]"
)


def hostile():
    """A result in which every text is hostile."""
    bad = HOSTILE
    key = PassageKey(bad, 1)
    labeller = LabellerId(bad, "human", {bad: bad, "model": bad})
    question = Question(bad, bad, bad, (bad,))
    passage = Passage(bad, key, bad, bad * 5)
    machine = replace(MODEL, name=bad + "m")

    def said(task, verdict, who, uid):
        return label(
            task,
            verdict,
            bad,
            who,
            uid=uid,
            detail={"probes": [{"margin": 1.5, "probe": bad}, bad], "rulings": bad},
            error=bad,
        )

    nuggets = tuple(
        NuggetResult(
            Nugget(i, key, bad),
            passage if i < 3 else None,
            mark,
            LabelState.COUNTED if mark else LabelState.FAILED,
            said("r2c2.entailment", {"entailed": True} if mark else None, labeller, f"e{i}"),
            overruled=said("r2c2.entailment", {"entailed": False}, machine, f"o{i}"),
            helped=True,
            help_reason=bad,
        )
        for i, mark in enumerate((Mark.RELEVANT, Mark.BOGUS, Mark.NONRELEVANT, None), start=1)
    )
    answers = {
        name: {
            bad: AnswerResult(
                name,
                question,
                Answer(bad, bad, 50, tuple(n.nugget for n in nuggets)),
                LabelState.COUNTED,
                name != bad,
                Range(0.25, 0.5),
                nuggets,
                said("r2c2.answer", {"correct": True}, labeller, f"a{name}"),
                said("r2c2.answer", {"correct": False}, machine, f"b{name}"),
                Act.OTHER_REFUSAL,
                said(bad, {"act": bad}, labeller, f"c{name}"),
            )
        }
        for name in (bad, bad + "2")
    }
    result = assemble(
        [question],
        {bad: PassageRun(bad, {bad: (passage,)})},
        answers,
        title=bad,
        warnings=(bad,),
        policy="only:" + bad,
    )
    return replace(
        result,
        labellers={"r2c2.entailment": labeller, bad: machine},
        settings={**SETTINGS, bad: bad},
    )
