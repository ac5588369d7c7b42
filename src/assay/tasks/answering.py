"""What the baseline system asks a language model in order to answer from passages.

Only what an answer cannot do without is checked here. Other faults of a reply (a nugget without a
passage, a citation of nothing) are dropped and counted by the code that reads it.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Annotated, Any

from pydantic import BeforeValidator, Field, TypeAdapter, ValidationError, model_validator
from pydantic.json_schema import SkipJsonSchema

from assay.tasks.base import AnyTask, Task, Unit, Verdict, canonical
from assay.tasks.schemas import Schema, exactly, fields, readable, readable_text, whole

_LONGEST_ANSWER = 500
_PERCENTAGE = re.compile(r"([0-9]+(?:\.[0-9]+)?)\s*([%％]?)")
_PASSAGE = re.compile(r"(?:passage\s*|fact\s*)?([0-9]+)", re.IGNORECASE)


def _percentage(given: Any) -> Any:
    """Read ``90``, ``"90 %"`` and ``90.4`` as a whole percentage. Possible probabilities (``0.9``,
    ``1.0``) are refused, which the model is told. Other values are left to the field."""
    if isinstance(given, bool):
        raise ValueError("must be a whole number from 0 to 100")
    sign = False
    if isinstance(given, str) and (found := _PERCENTAGE.fullmatch(given.strip())):
        given, sign = float(found.group(1)), bool(found.group(2))
    if isinstance(given, float) and 0 < given <= 1 and not sign:
        raise ValueError("must be a whole number from 0 to 100, not a probability")
    if isinstance(given, float) and given <= 100:
        return int(given + 0.5) if given >= 0 else given
    return given


def _passage_number(given: Any) -> Any:
    """Read ``"PASSAGE 3"`` and ``"FACT 3"``, the marks in the prompt, as their number."""
    if isinstance(given, bool):
        raise ValueError("must be the number of a passage")
    if isinstance(given, str) and (found := _PASSAGE.fullmatch(given.strip())):
        return int(found.group(1)[:9])
    return given


def _number_as_text(given: Any) -> Any:
    """Write an answer that is a number in digits."""
    if isinstance(given, (int, float)) and not isinstance(given, bool):
        return canonical(given).decode()
    return given


PassageNumber = Annotated[int, BeforeValidator(_passage_number)]
_NUMBER: TypeAdapter[int] = TypeAdapter(PassageNumber)
_TEXT: TypeAdapter[str] = TypeAdapter(str)
Odd = SkipJsonSchema[tuple[str, ...]]
"""The entries of a list in a reply that could not be read, as JSON. No model is asked for it."""


def _sifted(
    name: str, reads: Callable[[Any], Any], *, alone: str = "", needed: bool = False
) -> Any:
    """A validator of replies that keeps those items of the list ``name`` that ``reads`` can read
    (it raises ValidationError for others), and moves the rest to ``odd``. A reply that is a text
    becomes the field ``alone``, if named. If ``needed``, only a list is accepted."""

    def sift(cls: type[Verdict], given: Any) -> Any:
        if alone and isinstance(given, str):
            return {alone: given}
        items = given.get(name) if isinstance(given, dict) else None
        if not isinstance(given, dict) or (needed and not isinstance(items, (list, tuple))):
            return given
        if not isinstance(items, (list, tuple)):
            items = [] if items is None else [items]
        fitting, odd = [], []
        for item in items:
            try:
                fitting.append(reads(item))
            except ValidationError:
                odd.append(canonical(item).decode())
        return {**given, name: fitting, "odd": odd}

    return model_validator(mode="before")(sift)


def _narrow_numbers(entries: Schema, entry: Schema, field: str, count: int) -> None:
    """Constrain ``field`` of each entry to 1 to ``count``; if ``count`` is 0, allow no entries."""
    if count:
        entry[field] = whole(1, count)
    else:
        entries.update(exactly(0))


def _narrow_short_answer(schema: Schema) -> None:
    fields(schema)["answer"] = readable_text(_LONGEST_ANSWER)
    fields(schema)["confidence"] = whole(0, 100)


class AnsweringUnit(Unit):
    """A question and the passages to answer it from, best first."""

    question: str
    passages: tuple[str, ...]


class DrawnNugget(Verdict):
    """A factual claim in one sentence, and the number of the passage (from 1) that it is from."""

    passage: PassageNumber
    nugget: str


class DrawnAnswer(Verdict):
    """Nuggets that lead to the answer, the answer itself, and the model's stated confidence. The
    schema asks for at least one nugget: otherwise small models take a shortcut and write none."""

    nuggets: Annotated[
        tuple[DrawnNugget, ...], Field(json_schema_extra={"minItems": 1, "maxItems": 10})
    ] = ()
    answer: Annotated[str, BeforeValidator(_number_as_text)]
    confidence: Annotated[int, BeforeValidator(_percentage)]
    odd: Odd = ()
    _sift = _sifted("nuggets", DrawnNugget.model_validate)


def _check_short_answer(_unit: Unit, verdict: DrawnAnswer | AnswerFromNuggets) -> str | None:
    if not readable(verdict.answer):
        return "'answer' must not be empty"
    if len(verdict.answer) > _LONGEST_ANSWER:
        return f"'answer' must be a short answer, at most {_LONGEST_ANSWER} characters"
    if not 0 <= verdict.confidence <= 100:
        return "'confidence' must be an integer from 0 to 100"
    return None


def _narrow_answer(unit: AnsweringUnit, schema: Schema) -> None:
    _narrow_short_answer(schema)
    nuggets, nugget = fields(schema)["nuggets"], fields(schema, DrawnNugget)
    _narrow_numbers(nuggets, nugget, "passage", len(unit.passages))


ANSWER = Task(
    name="answering.r2c2",
    title="A short answer from passages, with confidence and nuggets",
    unit=AnsweringUnit,
    verdict=DrawnAnswer,
    check=_check_short_answer,
    narrow=_narrow_answer,
    max_tokens=900,
    usual_tokens=150,
)


class NuggetsUnit(Unit):
    """A question, and one passage that may help to answer it."""

    question: str
    passage: str


class HelpfulNuggets(Verdict):
    """What the passage says that helps, each a claim in one sentence; possibly nothing."""

    nuggets: Annotated[tuple[str, ...], Field(json_schema_extra={"maxItems": 3})] = ()
    odd: Odd = ()
    _sift = _sifted("nuggets", _TEXT.validate_python)


NUGGETS = Task(
    name="answering.nuggets",
    title="What one passage says that helps to answer the question",
    unit=NuggetsUnit,
    verdict=HelpfulNuggets,
    max_tokens=300,
    usual_tokens=60,
)


class FromNuggetsUnit(Unit):
    """A question and the nuggets to answer it from."""

    question: str
    nuggets: tuple[str, ...]


class AnswerFromNuggets(Verdict):
    """The numbers (from 1) of the facts that lead to the answer, the answer, and its confidence."""

    facts: tuple[PassageNumber, ...] = ()
    answer: Annotated[str, BeforeValidator(_number_as_text)]
    confidence: Annotated[int, BeforeValidator(_percentage)]
    odd: Odd = ()
    _sift = _sifted("facts", _NUMBER.validate_python)


def _narrow_from_nuggets(unit: FromNuggetsUnit, schema: Schema) -> None:
    _narrow_short_answer(schema)
    facts = fields(schema)["facts"]
    _narrow_numbers(facts, facts, "items", len(unit.nuggets))


FROM_NUGGETS = Task(
    name="answering.from_nuggets",
    title="A short answer from nuggets, with confidence",
    unit=FromNuggetsUnit,
    verdict=AnswerFromNuggets,
    check=_check_short_answer,
    narrow=_narrow_from_nuggets,
    max_tokens=300,
    usual_tokens=40,
)


class CertaintyUnit(Unit):
    """A question, the passages from which it was answered, and the answer."""

    question: str
    passages: tuple[str, ...]
    answer: str


class Certainty(Verdict):
    """P(yes) / (P(yes) + P(no)) for the model's next token when asked whether the answer is
    correct. (Kadavath et al., *Language models (mostly) know what they know*, 2022: P(True).)"""

    probability: float


CERTAINTY = Task(
    name="answering.certainty",
    title="Is the answer correct? (the probability of yes)",
    unit=CertaintyUnit,
    verdict=Certainty,
    max_tokens=1,
    usual_tokens=1,
)


class ReportUnit(Unit):
    """A narrative and the passages to write from, best first. ``words`` is the maximum length."""

    narrative: str
    passages: tuple[str, ...]
    words: int


class CitedSentence(Verdict):
    """A sentence and the numbers of the passages (from 1) that support it, strongest first."""

    text: str
    citations: tuple[PassageNumber, ...] = ()
    odd: Odd = ()
    _sift = _sifted("citations", _NUMBER.validate_python, alone="text")


class Report(Verdict):
    """An answer, sentence by sentence."""

    sentences: tuple[CitedSentence, ...]
    odd: Odd = ()
    _sift = _sifted("sentences", CitedSentence.model_validate, needed=True)


def _check_report(_unit: ReportUnit, verdict: Report) -> str | None:
    if not any(readable(sentence.text) for sentence in verdict.sentences):
        return "'sentences' must hold at least one sentence"
    return None


def _narrow_report(unit: ReportUnit, schema: Schema) -> None:
    fields(schema)["sentences"]["minItems"] = 1
    fields(schema, CitedSentence)["text"] = readable_text()
    citations = fields(schema, CitedSentence)["citations"]
    _narrow_numbers(citations, citations, "items", len(unit.passages))


REPORT = Task(
    name="answering.report",
    title="An answer to a narrative, sentence by sentence, with citations",
    unit=ReportUnit,
    verdict=Report,
    check=_check_report,
    narrow=_narrow_report,
    max_tokens=2400,
    usual_tokens=700,
)

TASKS: tuple[AnyTask, ...] = (ANSWER, NUGGETS, FROM_NUGGETS, CERTAINTY, REPORT)
