"""The answers that compete, from the files of any protocol, and the protocol's settings."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from pathlib import Path
from typing import Any, Literal, Self

from pydantic import Field, model_validator

from assay.formats.r2c2_ac import read_ac_run
from assay.formats.r2c2_questions import read_questions
from assay.formats.records import read_records
from assay.formats.summaries import read_summaries
from assay.formats.trec_rag_answers import read_answers
from assay.formats.trec_rag_topics import read_topics
from assay.measures.arrays import Floats
from assay.model.battles import Battle
from assay.protocols.base import CommonSettings, Reading
from assay.protocols.folder import Folder
from assay.protocols.results import ResampledScores
from assay.statistics.battle_counts import Battles
from assay.statistics.battles import WinRates, resampled_ratings
from assay.statistics.pair_models import BradleyTerry, Davidson, Model, RaoKupper
from assay.statistics.pairing import SEED, Match, all_battles, drawn, shown
from assay.tasks.battles import BattleUnit

ENTRIES = ("rag_runs", "ac_runs", "summaries", "answers")
"""Entries of ``[inputs]`` that hold answers: those of trec-rag, r2c2, sgss and rag."""


class BattleSettings(CommonSettings):
    """``[settings]`` of battles.

    By default all pairs are judged on all topics. To judge fewer battles, set one of these:
    ``topics_per_pair``: topics for each pair.
    ``per_topic``: battles for each topic.
    ``per_run``: battles for each run and topic, on average.
    ``adaptive``: this many more battles (without one of the above: in all), those that are most
      informative given the judgments so far.
    ``orders``: ``both`` orders of each battle, which must agree, or ``one``, drawn by a hash
      with ``draw_seed``.
    ``silent``: a run without an answer to a topic loses its battles there, and nobody is asked
      about them; or they are ``left-out``.
    ``model``, ``theta`` (for rao-kupper), ``prior``, ``win_rate``: as for ``assay battles``.
    """

    topics_per_pair: int | None = Field(None, ge=1)
    per_topic: int | None = Field(None, ge=1)
    per_run: float | None = Field(None, gt=0)
    adaptive: int = Field(0, ge=0)
    orders: Literal["both", "one"] = "both"
    draw_seed: int = Field(SEED, ge=0)
    silent: Literal["loses", "left-out"] = "loses"
    model: Literal["bradley-terry", "davidson", "rao-kupper"] = "bradley-terry"
    theta: float | None = Field(None, gt=1)
    prior: float = Field(0.0, ge=0)
    win_rate: WinRates = "half"

    @model_validator(mode="after")
    def _one_sample(self) -> Self:
        if len(self.sampled) > 1:
            raise ValueError(f"choose one of {', '.join(self.sampled)}")
        if self.theta is not None and self.model != "rao-kupper":
            raise ValueError("only the model rao-kupper has the setting theta")
        return self

    @property
    def chosen(self) -> Model:
        """The model of ratings."""
        if self.model == "rao-kupper":
            return RaoKupper(self.theta)
        return Davidson() if self.model == "davidson" else BradleyTerry()

    @property
    def sampled(self) -> dict[str, Any]:
        """The way of sampling that is set; empty for all battles."""
        ways = {name: getattr(self, name) for name in ("topics_per_pair", "per_topic", "per_run")}
        return {name: value for name, value in ways.items() if value is not None}


@dataclass(frozen=True)
class BattleInputs:
    """Questions by topic, and the answers of runs: ``answers[run][topic]``. ``sample`` are the
    battles that are judged before any is chosen adaptively."""

    questions: Mapping[str, str]
    answers: Mapping[str, Mapping[str, str]]
    settings: BattleSettings

    @cached_property
    def runs(self) -> tuple[str, ...]:
        return tuple(sorted(self.answers))

    @cached_property
    def topics(self) -> tuple[str, ...]:
        return tuple(self.questions)

    @cached_property
    def possible(self) -> list[Match]:
        """Every pair of runs on every topic, if so set without runs that give no answer there."""
        left_out = self.settings.silent == "left-out"
        return all_battles(
            {
                topic: [run for run in self.runs if not left_out or self.text(run, topic)]
                for topic in self.topics
            }
        )

    @cached_property
    def sample(self) -> list[Match]:
        answered: dict[str, dict[str, None]] = {}
        for topic, *pair in self.possible:
            answered.setdefault(topic, {}).update(dict.fromkeys(pair))
        settings = self.settings
        if settings.sampled:
            runs = {topic: list(found) for topic, found in answered.items()}
            return drawn(runs, **settings.sampled, seed=settings.draw_seed)
        return [] if settings.adaptive else self.possible

    def text(self, run: str, topic: str) -> str:
        """A run's answer, empty if it has none."""
        return self.answers[run].get(topic, "").strip()

    def known(self, match: Match) -> Battle | None:
        """The result of a battle in which a run gives no answer; None if it must be judged."""
        topic, a, b = match
        texts = [bool(self.text(run, topic)) for run in (a, b)]
        if all(texts):
            return None
        return Battle.from_silence(topic, a, b, *texts)

    def orders(self, match: Match) -> list[tuple[str, str]]:
        """The orders in which a battle is shown, the one that is drawn for it first."""
        topic, a, b = match
        first, second = shown(a, b, topic, self.settings.draw_seed)
        both = [(first, second), (second, first)]
        return both if self.settings.orders == "both" else both[:1]

    def unit(self, topic: str, first: str, second: str) -> BattleUnit:
        """A battle as it is shown."""
        return BattleUnit(
            question=self.questions[topic],
            answer_a=self.text(first, topic),
            answer_b=self.text(second, topic),
        )


@dataclass(frozen=True, eq=False)
class BattleCounts(ResampledScores):
    """The battles that count, as arrays. ``table`` refers to ``runs`` and ``topics`` by index."""

    measure = "Rating"

    runs: tuple[str, ...]
    topics: tuple[str, ...]
    table: Battles
    model: Model
    prior: float

    def scored_topics(self) -> list[str]:
        fought = (self.table.counts.sum(axis=(1, 2)) > 0).tolist()
        return [topic for topic, some in zip(self.topics, fought, strict=True) if some]

    def resampled(self, runs: Sequence[str], topics: Sequence[str], weights: Floats) -> Floats:
        places = [self.topics.index(topic) for topic in topics]
        found = resampled_ratings(self.table.of_topics(places), weights, self.model, self.prior)
        return found[:, [self.runs.index(run) for run in runs]]


def load(folder: Folder, settings: BattleSettings, reading: Reading) -> BattleInputs:
    """Read the answers in the folder; the faults of all files are raised together."""
    questions: dict[str, str] = {}
    answers: dict[str, dict[str, str]] = {}

    def add_each(every: Iterable[tuple[Path, int, str, str, str]]) -> None:
        """Path, line, run, topic and text of answers whose runs may stand in several files."""
        runs: dict[str, tuple[Path, dict[str, str]]] = {}
        for path, line, run, topic, text in every:
            _, own = runs.setdefault(run, (path, {}))
            if topic in own:
                why = f"These files hold a second answer of run '{run}' to this topic."
                reading.add_fault(path, why, "Keep one answer.", line=line, topic=topic)
            own[topic] = text
        for run, (path, texts) in runs.items():
            reading.add_run(answers, run, texts, path)

    if not any(name in folder.config.inputs for name in ENTRIES):
        folder.input_files(ENTRIES[0])  # raises the error that it must be named
    entry = "narratives" if "narratives" in folder.config.inputs else "topics"  # as in trec-rag
    listed = reading.optional(entry, read_topics) or ()
    questions.update((one.id, one.text or "\n".join(one.queries)) for one in listed)
    # Answers are only checked against a list of narratives, not against those in answer files.
    given = {one.id: one.text for one in listed} or None
    for path, rag in reading.many("rag_runs", partial(read_answers, topics=given, limits=False)):
        texts = {topic: one.text for topic, one in rag.answers.items()}
        reading.add_run(answers, rag.name, texts, path)
        for topic, answer in rag.answers.items():
            if not given:
                questions.setdefault(topic, answer.narrative)
    if "ac_runs" in folder.config.inputs:
        for each in reading.optional("questions", read_questions) or ():
            questions[each.id] = each.text
    for path, ac in reading.many("ac_runs", read_ac_run):
        texts = {topic: answer.text for topic, answer in ac.run.answers.items()}
        reading.add_run(answers, ac.run.name, texts, path)
    every = []
    for path, summaries in reading.many("summaries", read_summaries):
        for summary in summaries:
            every.append((path, summary.line, summary.run, summary.query, summary.text))
            questions.setdefault(summary.query, summary.query_text)
    add_each(every)
    every = []
    for path, records in reading.many("answers", read_records):
        for record in records:
            every.append((path, record.line, record.run, record.id, record.answer))
            questions.setdefault(record.id, record.full_question)
    add_each(every)
    if not reading.faults and len(answers) < 2:
        reading.add_fault(
            folder.path, "Battles need the answers of at least two runs.", "Add files."
        )
    reading.done()
    return BattleInputs(questions, answers, settings)
