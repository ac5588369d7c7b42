"""Baselines of ``assay gate``: the scores of a run by question, without any of its text.

The file is made to be committed: JSON, sorted by question id, one question per line, numbers at
full precision, texts as SHA-256.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Literal

import orjson
from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator

from assay.formats.cells import LARGEST
from assay.formats.parsed import FaultList
from assay.formats.text import SourceText, reads_file

Finite = Annotated[float, Field(allow_inf_nan=False, ge=-LARGEST, le=LARGEST)]


class _Record(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", defer_build=True)


class GatedQuestion(_Record):
    """A question and what the run scored. ``scores`` are [floor, ceiling] by measure;
    ``by_machine`` those from the machine's labels alone, if they differ; ``session`` is the
    conversation that the question is a turn of. What the protocol does not know is empty."""

    id: str
    question: str = ""
    references: str = ""
    answerable: bool = True
    answer: str = ""
    passages: str = ""
    session: str | None = None
    scores: dict[str, tuple[Finite, Finite]]
    by_machine: dict[str, tuple[Finite, Finite]] | None = None

    @property
    def of_machine(self) -> GatedQuestion:
        """The question with the scores from the machine's labels alone."""
        scores = self.scores if self.by_machine is None else self.by_machine
        return self.model_copy(update={"scores": scores})

    @property
    def asked(self) -> tuple[str, str, bool]:
        """Everything that has to be equal for two questions to be the same."""
        return self.question, self.references, self.answerable

    @property
    def handed_in(self) -> tuple[str, str]:
        """The answer and the passages of the run."""
        return self.answer, self.passages


class GatedTask(_Record):
    """How a task was labelled: the labeller, with digests of its parameters and of the prompt.
    ``models`` are those that gave the labels, as the servers named them."""

    version: str
    labeller: str
    params: str = ""
    prompt: str = ""
    models: tuple[str, ...] = ()


class GatedMeasure(_Record):
    """A score of the whole run: None if it is undefined; ``value`` is also None if it depends on
    missing labels."""

    value: Finite | None
    floor: Finite | None
    ceiling: Finite | None
    questions: int


class Baseline(_Record):
    """The file that ``assay gate --save`` writes. ``stands_on`` says whose labels the scores are
    based on, ``people`` the share of people's labels by task, and ``machine`` whether the scores
    from the machine's labels alone are known."""

    assay_gate: Literal[1] = 1
    assay: str
    protocol: str
    run: str
    made: str
    policy: str
    stands_on: str = ""
    people: dict[str, Finite]
    machine: bool
    settings: dict[str, Any]
    tasks: dict[str, GatedTask]
    measures: dict[str, GatedMeasure]
    questions: tuple[GatedQuestion, ...]

    @field_validator("questions")
    @classmethod
    def _no_duplicates(cls, questions: tuple[GatedQuestion, ...]) -> tuple[GatedQuestion, ...]:
        seen: set[str] = set()
        for one in questions:
            if one.id in seen:
                raise ValueError(f"question {one.id!r} is listed twice")
            seen.add(one.id)
        return questions

    @property
    def by_id(self) -> Mapping[str, GatedQuestion]:
        """The questions by id."""
        return {one.id: one for one in self.questions}


@reads_file
def read_baseline(source: SourceText, faults: FaultList) -> Baseline | None:
    """Read a baseline."""
    cure = "Write it again with 'assay gate FOLDER --save FILE'."
    try:
        return Baseline.model_validate(orjson.loads("\n".join(source.lines)))
    except orjson.JSONDecodeError as error:
        faults.error(error.lineno, f"This is not JSON ({error.msg}).", cure)
    except ValidationError as error:
        for fault in error.errors(include_url=False):
            place = ".".join(map(str, fault["loc"]))
            faults.error(0, f"This is not a baseline: {place}: {fault['msg']}.", cure)
    return None


def baseline_bytes(found: Baseline) -> bytes:
    """The contents of a baseline file."""
    document = found.model_dump(mode="json", exclude={"questions"})
    document["settings"] = dict(sorted(document["settings"].items()))
    # Without the last line break and brace: the questions follow, one per line.
    head = orjson.dumps(document, option=orjson.OPT_INDENT_2)[:-2]
    questions = sorted(found.questions, key=lambda one: one.id)
    lines = [b"    " + orjson.dumps(one.model_dump(mode="json")) for one in questions]
    return head + b',\n  "questions": [\n' + b",\n".join(lines) + b"\n  ]\n}\n"
