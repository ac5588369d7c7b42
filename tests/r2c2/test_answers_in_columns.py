"""What is found of answers is held as columns: it comes out as it went in, block by block."""

from __future__ import annotations

import random
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from unittest.mock import patch

from hypothesis import given, settings
from hypothesis import strategies as st

from assay.ledger.policy import Policy
from assay.model.labels import Status
from assay.protocols import labels as looking_up
from assay.protocols.answers import judged as judging
from assay.protocols.answers.judged import judge_answers
from assay.protocols.answers.requests import nuggets_asked
from assay.protocols.answers.results import AnswerResult
from assay.protocols.labels import requests_of
from assay.tasks.r2c2 import ENTAILMENT
from tests.r2c2.worlds import KIM, World, label, write_world

POLICIES = ("people", "machine", "majority", "only:human:KIM")


def without_reasons(found: AnswerResult) -> AnswerResult:
    nuggets = (one._replace(help_reason=None) for one in found.nuggets)
    return replace(found, nuggets=tuple(nuggets))


@settings(max_examples=12)
@given(st.integers(0, 10**6), st.sampled_from(POLICIES))
def test_results_come_out_as_they_went_in(seed: int, policy: str):
    draw = random.Random(seed)
    with TemporaryDirectory() as place:
        write_world(Path(place), draw)
        world = World(Path(place))
        world.judge(draw, 0.85)
        asked = list(requests_of(ENTAILMENT, nuggets_asked(world.inputs.answers())))
        for _ in range(3):
            world.say(draw.choice(asked), draw)
        one = draw.choice(asked)
        failed = replace(label(one, KIM, {}, "failed"), status=Status.FAILED, verdict=None)
        world.ledger.add([failed])
        evaluation = replace(world.evaluation, policy=Policy.parse(policy))
        runs = {name: file.run.answers for name, file in world.inputs.ac_files.items()}
        for whole in (False, True):
            book = evaluation._opened(world.ledger, world.labellers, whole=whole)
            seen: list[AnswerResult] = []
            judged = judge_answers(world.inputs, runs, book, seen.append)
            for found in seen:
                expected = found if whole else without_reasons(found)
                assert judged[found.run][found.question.id] == expected
            for run, of in judged.items():
                own = [found for found in seen if found.run == run]
                assert list(of) == [found.question.id for found in own]
                assert dict(of.marks()) == {one.question.id: one.marks for one in own}
                notes = of.notes()
                assert notes.by_people == sum(
                    one.label is not None and one.label.labeller.is_human for one in own
                ) + sum(each.by_person for one in own for each in one.nuggets)
                assert notes.unmarked_nuggets == sum(
                    each.mark is None for one in own for each in one.nuggets
                )
                accuracy = of.per_topic()["Accuracy"]
                assert dict(accuracy) == {
                    one.question.id: one.recall for one in own
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
        with patch.object(judging, "_AT_ONCE", 2), patch.object(looking_up, "_AT_ONCE", 3):
            parts = world.result()
        assert parts.findings.scores == whole.findings.scores
        assert (parts.asked, parts.missing, parts.failed) == (
            whole.asked, whole.missing, whole.failed,
        )  # fmt: skip
        assert list(parts.used.rows()) == list(whole.used.rows())
        world.ledger.close()
