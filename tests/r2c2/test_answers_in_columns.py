"""What is found of answers is decided in arrays and held in columns: it is what the rules say one
by one, block by block."""

from __future__ import annotations

import random
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any
from unittest.mock import patch

from hypothesis import given, settings
from hypothesis import strategies as st

from assay.labellers.base import Request
from assay.ledger.policy import Policy
from assay.model.labels import Label, Status
from assay.model.rag import Mark
from assay.protocols import labels as looking_up
from assay.protocols.answers import judged as judging
from assay.protocols.answers.columns import JudgedAnswers
from assay.protocols.answers.judged import judge_answers
from assay.protocols.answers.requests import nuggets_asked
from assay.protocols.answers.results import AnswerResult
from assay.protocols.labels import requests_of
from assay.tasks.r2c2 import ANSWER, DIALOGUE_ACT, ENTAILMENT
from tests.r2c2 import one_by_one, worlds
from tests.r2c2.worlds import KIM, World, label, write_world

POLICIES = ("people", "machine", "majority", "only:human:KIM")
KINDS = ("Simple", "Unanswerable", "Simple")
worlds_verdict = worlds.some_verdict


def plain(found: AnswerResult, *, whole: bool) -> dict[str, Any]:
    """A result with the numbers of its labels; with reasons where they are held."""

    def number(one: Label | None) -> int | None:
        return None if one is None else one.rowid

    return {
        **{name: value for name, value in vars_of(found).items() if name != "nuggets"},
        "label": number(found.label),
        "overruled": number(found.overruled),
        "act_label": number(found.act_label),
        "nuggets": [
            one._replace(
                entailment=number(one.entailment), overruled=None,
                help_reason=one.help_reason if whole else None,
            )
            for one in found.nuggets
        ],
        "overruled nuggets": [number(one.overruled) for one in found.nuggets],
    }  # fmt: skip


def vars_of(found: AnswerResult) -> dict[str, Any]:
    return {name: getattr(found, name) for name in found.__dataclass_fields__}


def some_verdict(request: Request, draw: random.Random) -> dict[str, Any]:
    """What is said of a unit; some answers decline, and of some nuggets a person says nothing."""
    verdict = worlds_verdict(request, draw)
    if request.task is DIALOGUE_ACT and draw.random() < 0.4:
        return {**verdict, "act": "dont_know"}
    if request.task is ANSWER and draw.random() < 0.3:
        return {**verdict, "nuggets": verdict["nuggets"][1:]}
    return verdict


@settings(max_examples=15)
@given(st.integers(0, 10**6), st.sampled_from(POLICIES))
def test_arrays_come_to_what_the_rules_say_one_by_one(seed: int, policy: str):
    draw = random.Random(seed)
    with TemporaryDirectory() as place, patch.object(worlds, "some_verdict", some_verdict):
        write_world(Path(place), draw)
        (Path(place) / "questions.tsv").write_text(
            "".join(f"000{n}\tWho was it?\t{kind}\n" for n, kind in enumerate(KINDS, 1))
        )
        world = World(Path(place))
        world.judge(draw, draw.choice((0.6, 0.85, 1.0)))
        asked = list(requests_of(ENTAILMENT, nuggets_asked(world.inputs.answers())))
        book = world.evaluation.book(world.ledger)
        answers = [one for step in world.evaluation.steps for one in step.requests(book)
                   if one.task is not ENTAILMENT]  # fmt: skip
        for _ in range(3):
            world.say(draw.choice([*asked, *answers]), draw)
        world.judge(draw, 0.5)
        one = draw.choice(asked)
        failed = replace(label(one, KIM, {}, "failed"), status=Status.FAILED, verdict=None)
        world.ledger.add([failed])
        evaluation = replace(world.evaluation, policy=Policy.parse(policy))
        runs = {name: file.run.answers for name, file in world.inputs.ac_files.items()}
        for whole in (False, True):
            book = evaluation._open_book(world.ledger, world.labellers, whole=whole)
            seen: list[JudgedAnswers] = []
            with patch.object(judging, "_BLOCK", draw.randint(1, 9)):
                judged = judge_answers(world.inputs, runs, book, seen.append)
            counts = (book.asked[ANSWER.name], book.missing[ANSWER.name], book.failed[ANSWER.name])
            assert counts == one_by_one.counted(world.inputs, book)
            expected = one_by_one.results(world.inputs, book)
            for (run, question), known in expected.items():
                found = judged[run][question]
                assert plain(found, whole=whole) == plain(known, whole=whole)
            relevant = [key for some in seen for key in some.cited(Mark.RELEVANT)]
            assert relevant == [
                (question, each.nugget.key)
                for (_, question), known in expected.items()
                for each in known.nuggets
                if each.mark is Mark.RELEVANT
            ]
            for run, of in judged.items():
                own = [known for (name, _), known in expected.items() if name == run]
                assert list(of) == [known.question.id for known in own]
                assert dict(of.marks()) == {known.question.id: known.marks for known in own}
                notes = of.notes()
                labels = [known.label for known in own]
                labels += [each.entailment for known in own for each in known.nuggets]
                by_people = (one is not None and one.labeller.is_human for one in labels)
                assert notes.by_people == sum(by_people)
                assert notes.unmarked_nuggets == sum(
                    each.mark is None for known in own for each in known.nuggets
                )
                assert of.helps_open() == sum(known.helps_open for known in own)
                accuracy = of.per_topic()["Accuracy"]
                assert dict(accuracy) == {
                    known.question.id: known.recall for known in own
                }  # one answer is asked for
        world.ledger.close()


@settings(max_examples=8)
@given(st.integers(0, 10**6))
def test_nothing_hangs_on_where_blocks_end(seed: int):
    draw = random.Random(seed)
    with TemporaryDirectory() as place:
        write_world(Path(place), draw)
        world = World(Path(place))
        world.judge(draw, 0.9)
        asked = requests_of(ENTAILMENT, nuggets_asked(world.inputs.answers()))
        world.say(draw.choice(list(asked)), draw)
        whole = world.result()
        with patch.object(judging, "_BLOCK", 2), patch.object(looking_up, "_BLOCK", 3):
            parts = world.result()
        assert parts.findings.scores == whole.findings.scores
        assert (parts.asked, parts.missing, parts.failed) == (
            whole.asked, whole.missing, whole.failed,
        )  # fmt: skip
        assert list(parts.used.rows()) == list(whole.used.rows())
        world.ledger.close()
