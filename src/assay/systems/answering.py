"""Answering questions from passages: AC runs of R2C2."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, NamedTuple

import orjson

from assay.formats.r2c2_nuggets import MAX_NUGGETS
from assay.labellers.base import Request
from assay.labellers.refusals import refusal_in
from assay.model.errors import SettingsError
from assay.model.labels import Label
from assay.model.rag import PassageKey, PassageRun
from assay.systems.answer_text import answer_of, nugget_of, one_line, same_answer
from assay.systems.asking import Asker, usable
from assay.systems.retrieval.fusion import rrf
from assay.tasks.answering import (
    ANSWER,
    CERTAINTY,
    FROM_NUGGETS,
    NUGGETS,
    AnsweringUnit,
    CertaintyUnit,
    FromNuggetsUnit,
    NuggetsUnit,
)
from assay.tasks.base import AnyTask, Unit, canonical

DONT_KNOW = "I don't know"


class Confidence(StrEnum):
    """How an answer's confidence is obtained."""

    VERBALISED = "verbalised"
    SAMPLED = "sampled"
    LOGPROB = "logprob"


class PassageSource(NamedTuple):
    """A passage to answer from. ``key`` names it in its PR run, ``doc`` its document."""

    key: PassageKey
    doc: str
    text: str


@dataclass(frozen=True, slots=True)
class AnswerSettings:
    """How answers are made. ``passages``: how many the model sees. ``samples``: replies for sampled
    confidence. ``unknown_below``: confidence (0-100) below which the answer becomes
    ``unknown_text``, None for never. ``words``: the limit for a report. ``steps``: extract nuggets
    passage by passage, then answer from these alone, instead of using one prompt."""

    confidence: Confidence = Confidence.VERBALISED
    passages: int = 8
    samples: int = 5
    unknown_below: int | None = None
    unknown_text: str = DONT_KNOW
    words: int = 400
    steps: bool = False

    @property
    def replies(self) -> int:
        """The number of replies that one R2C2 answer needs."""
        return self.samples if self.confidence is Confidence.SAMPLED else 1

    def __post_init__(self) -> None:
        if self.passages < 1 or self.samples < 2 or self.words < 1:
            raise SettingsError("At least 1 passage, 2 samples and 1 word are needed.")
        if self.unknown_below is not None and not 0 <= self.unknown_below <= 100:
            raise SettingsError("The threshold of 'I don't know' must be between 0 and 100.")


@dataclass
class AnswerProblems:
    """Problems met while answering. ``unusable`` holds the unusable parts of replies, each as an
    object with ``question``, ``what``, ``given`` and ``why``. ``missing`` lists questions without a
    reply, ``failed`` those with an unusable reply, ``bare`` those without any passage."""

    unusable: list[dict[str, Any]] = field(default_factory=list)
    bare: list[str] = field(default_factory=list)
    missing: list[str] = field(default_factory=list)
    failed: list[str] = field(default_factory=list)
    unknown: int = 0

    @property
    def kinds(self) -> dict[str, int]:
        """The number of unusable parts of each kind."""
        return dict(Counter(str(row["what"]) for row in self.unusable))

    def drop(self, question: str, what: str, given: object, why: str) -> None:
        self.unusable.append({"question": question, "what": what, "given": given, "why": why})

    def without(self, question: str, *replies: Label | None) -> None:
        """Record a question without a usable reply; ``replies`` holds None for a missing one."""
        (self.missing if None in replies else self.failed).append(question)

    def drop_reply(self, question: str, reply: Label) -> None:
        """Record an unusable reply, in the model's own words if they were kept."""
        given = reply.detail.get("reply", reply.detail.get("raw"))
        self.drop(question, "reply", given, reply.error or "it is unusable")

    def drop_odd(self, question: str, what: str, odd: Iterable[str]) -> None:
        """Record items of a reply's list, given as JSON, that have the wrong form."""
        for item in odd:
            self.drop(
                question, what, orjson.loads(item), f"it is not the {what} that was asked for"
            )


def sources_of(
    runs: Sequence[PassageRun], topics: Sequence[str], most: int
) -> dict[str, list[PassageSource]]:
    """Each topic's best passages from PR runs, combined by reciprocal rank fusion. A passage in
    several runs (same document and text) appears once, with the key of the first run."""
    found = {}
    for topic in topics:
        first: dict[tuple[str, str], PassageSource] = {}
        lists = []
        for run in runs:
            ranked = run.passages.get(topic, ())
            for passage in ranked:
                source = PassageSource(passage.key, passage.doc, passage.text)
                first.setdefault((passage.doc, passage.text), source)
            lists.append([(passage.doc, passage.text) for passage in ranked])
        found[topic] = [first[same] for same, _ in rrf(lists)[:most]]
    return found


def answer_units(
    topics: Mapping[str, str], sources: Mapping[str, Sequence[PassageSource]]
) -> dict[str, AnsweringUnit]:
    """The question and passages that the model sees for each topic."""
    return {
        topic: AnsweringUnit(question=text, passages=tuple(s.text for s in sources[topic]))
        for topic, text in topics.items()
    }


def answer_requests(units: Mapping[str, AnsweringUnit], settings: AnswerSettings) -> list[Request]:
    """The requests of :func:`answer_r2c2`: one for each unit and sample."""
    return _samples(ANSWER, units, settings)


def _samples(task: AnyTask, units: Mapping[str, Unit], settings: AnswerSettings) -> list[Request]:
    replies = range(settings.replies)
    return [Request(task, unit, n, topic) for topic, unit in units.items() for n in replies]


TopicNuggets = Sequence[tuple[int, str]]
"""Nuggets of a topic, each with the number (from 1) of its passage."""


def nuggets_requests(
    topics: Mapping[str, str], sources: Mapping[str, Sequence[PassageSource]]
) -> list[Request]:
    """The requests for nuggets, one for each passage of each topic."""
    return [
        Request(NUGGETS, NuggetsUnit(question=text, passage=source.text), topic=topic)
        for topic, text in topics.items()
        for source in sources[topic]
    ]


def nuggets_found(
    topics: Mapping[str, str],
    sources: Mapping[str, Sequence[PassageSource]],
    writer: Asker,
    made: AnswerProblems,
) -> dict[str, TopicNuggets]:
    """The nuggets of every topic whose passages all have a reply, without duplicates. An unusable
    reply yields none, and is recorded in ``made``."""
    labels = iter(writer.ask("Nuggets", nuggets_requests(topics, sources)))
    found: dict[str, TopicNuggets] = {}
    for topic in topics:
        nuggets: dict[str, int] = {}
        replies = [next(labels) for _ in sources[topic]]
        for number, reply in enumerate(replies, 1):
            verdict = usable(reply)
            if verdict is None:
                if reply is not None:
                    made.drop_reply(topic, reply)
                continue
            for text in filter(None, map(one_line, verdict["nuggets"])):
                nuggets.setdefault(text, number)
            made.drop_odd(topic, "nugget", verdict.get("odd") or ())
        if None not in replies:
            found[topic] = [(number, text) for text, number in nuggets.items()]
    return found


def from_nuggets_requests(
    topics: Mapping[str, str], found: Mapping[str, TopicNuggets], settings: AnswerSettings
) -> list[Request]:
    """The requests for answers from nuggets, for the topics that have them."""
    units = {
        topic: FromNuggetsUnit(question=topics[topic], nuggets=tuple(text for _, text in nuggets))
        for topic, nuggets in found.items()
    }
    return _samples(FROM_NUGGETS, units, settings)


def _with_nuggets(verdict: Mapping[str, Any], found: TopicNuggets) -> dict[str, Any]:
    """Convert an answer from nuggets to one from passages, with the nuggets that it names."""
    named = dict.fromkeys(int(one) for one in verdict.get("facts") or ())
    known = [found[one - 1] for one in named if 1 <= one <= len(found)]
    odd = [canonical(one).decode() for one in named if not 1 <= one <= len(found)]
    nuggets = [{"passage": number, "nugget": text} for number, text in known]
    return {**verdict, "nuggets": nuggets, "odd": [*(verdict.get("odd") or ()), *odd]}


def certainty_request(unit: AnsweringUnit, answer: str, topic: str = "") -> Request:
    """The request that asks whether ``answer`` is correct."""
    return Request(
        CERTAINTY,
        CertaintyUnit(question=unit.question, passages=unit.passages, answer=one_line(answer)),
        topic=topic,
    )


def answer_r2c2(
    topics: Mapping[str, str],
    sources: Mapping[str, Sequence[PassageSource]],
    settings: AnswerSettings,
    writer: Asker,
    certainty: Asker | None = None,
) -> tuple[bytes, AnswerProblems]:
    """An AC run for ``topics`` from the passages ``sources``.

    Confidence is what the model states (verbalised), the share of samples that agree with the
    majority answer (sampled; ties go to the earlier sample), or the probability of yes when the
    model is asked whether its answer is correct (logprob). Questions without a usable reply are
    left out. Raises SettingsError if ``certainty`` is needed and None.
    """
    made = AnswerProblems(bare=[topic for topic in topics if not sources[topic]])
    count = settings.replies
    units = answer_units(topics, sources)
    if settings.steps:
        found = nuggets_found(topics, sources, writer, made)
        requests = from_nuggets_requests(topics, found, settings)
    else:
        found = {}
        requests = answer_requests(units, settings)
    labels = iter(writer.ask("Answers", requests))
    drawn: dict[str, tuple[dict[str, Any], float]] = {}
    for topic in topics:
        if settings.steps and topic not in found:
            made.missing.append(topic)  # a passage's reply is missing: it might say more
            continue
        replies = [next(labels) for _ in range(count)]
        verdicts = []
        for reply in replies:
            verdict = usable(reply)
            if verdict is not None and settings.steps:
                verdict = _with_nuggets(verdict, found[topic])
            if verdict is not None and answer_of(str(verdict["answer"])):
                verdicts.append(verdict)
            elif reply is not None:
                made.drop_reply(topic, reply)
        if not verdicts:
            made.without(topic, *replies)
            continue
        if settings.confidence is Confidence.SAMPLED and None in replies:
            made.missing.append(topic)  # agreement of fewer samples would mean something else
            continue
        drawn[topic] = _agreed(verdicts, settings)
    if settings.confidence is Confidence.LOGPROB:
        drawn = _certain(units, drawn, certainty, made)
    blocks = []
    for topic, (verdict, confidence) in drawn.items():
        blocks.append(_block(topic, verdict, confidence, sources[topic], settings, made))
    return "".join(blocks).encode(), made


def _agreed(
    verdicts: Sequence[dict[str, Any]], settings: AnswerSettings
) -> tuple[dict[str, Any], float]:
    """The majority answer and its confidence: its share of all samples requested, or the model's
    own value for a single sample. If the majority declines to answer, the confidence is 0."""
    if settings.replies == 1:
        return verdicts[0], float(verdicts[0]["confidence"])
    said = [_said(str(verdict["answer"]), settings) for verdict in verdicts]
    best, agree = Counter(said).most_common(1)[0]
    chosen = verdicts[said.index(best)]
    if best == _DECLINED:
        return chosen, 0.0
    return chosen, 100.0 * agree / settings.replies


_DECLINED = ""


def _said(answer: str, settings: AnswerSettings) -> str:
    """The normal form in which answers agree. All that decline to answer agree."""
    words = same_answer(answer)
    declines = words == same_answer(settings.unknown_text) or refusal_in(answer) is not None
    return _DECLINED if declines else words


def _certain(
    units: Mapping[str, AnsweringUnit],
    drawn: Mapping[str, tuple[dict[str, Any], float]],
    certainty: Asker | None,
    made: AnswerProblems,
) -> dict[str, tuple[dict[str, Any], float]]:
    if certainty is None:
        raise SettingsError("Confidence from log-probabilities needs a model that returns them.")
    requests = [
        certainty_request(units[topic], str(verdict["answer"]), topic)
        for topic, (verdict, _) in drawn.items()
    ]
    found = {}
    labels = certainty.ask("Certainty", requests)
    for (topic, (verdict, _)), label in zip(drawn.items(), labels, strict=True):
        value = usable(label)
        if value is None:
            made.without(topic, label)
            if label is not None:
                made.drop(topic, "certainty", None, label.error or "it is unusable")
            continue
        found[topic] = (verdict, 100.0 * float(value["probability"]))
    return found


def _block(
    topic: str,
    verdict: Mapping[str, Any],
    confidence: float,
    sources: Sequence[PassageSource],
    settings: AnswerSettings,
    made: AnswerProblems,
) -> str:
    """One question's block of an AC run."""
    # Round halves up; round() would go to the even number.
    value = int(confidence + 0.5)
    answer = answer_of(str(verdict["answer"]))
    if answer != one_line(str(verdict["answer"])):
        made.drop(
            topic,
            "answer",
            verdict["answer"],
            "it looks like a nugget line, so its semicolons became commas",
        )
    keys: list[str] = []
    texts: list[str] = []
    made.drop_odd(topic, "nugget", verdict.get("odd") or ())
    for item in verdict.get("nuggets") or ():
        number, text = int(item["passage"]), nugget_of(str(item["nugget"]), topic)
        why = ""
        if not 1 <= number <= len(sources):
            why = f"there is no passage {number}"
        elif not text:
            why = "the nugget is empty"
        elif len(texts) == MAX_NUGGETS:
            why = f"more than {MAX_NUGGETS} nuggets"
        elif text in texts:
            why = "the same nugget is already there"
        if why:
            made.drop(topic, "nugget", dict(item), why)
            continue
        if text != one_line(str(item["nugget"])):
            made.drop(topic, "tag", item["nugget"], "the end of a nugget would close the block")
        keys.append(str(sources[number - 1].key))
        texts.append(text)
    if settings.unknown_below is not None and value < settings.unknown_below:
        why = f"confidence {value} is below the threshold"
        if same_answer(answer) != same_answer(settings.unknown_text):
            made.unknown += 1
            made.drop(topic, "answer", answer, why)
        for key, text in zip(keys, texts, strict=True):
            made.drop(topic, "nugget", f"{key};{text}", f"{why}, so the answer is unknown")
        answer, keys, texts = settings.unknown_text, [], []
    lines = [f"{n};{key};{text}" for n, (key, text) in enumerate(zip(keys, texts, strict=True), 1)]
    return "\n".join([f"<{topic}>", f"{answer};{value}", *lines, f"</{topic}>"]) + "\n"
