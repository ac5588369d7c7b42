"""The protocol ``trec-rag``: the questions that are asked, and how labels become scores."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from operator import attrgetter, methodcaller

from assay.labellers.base import Labeller, Request
from assay.model.wording import counted
from assay.protocols.base import Protocol, Step
from assay.protocols.contents import Content, cited
from assay.protocols.folder import Folder
from assay.protocols.labels import LabelBook
from assay.protocols.linear import LinearMeasure
from assay.protocols.trec_rag.bank import Bank, TopicBank
from assay.protocols.trec_rag.compared import compare_settings
from assay.protocols.trec_rag.findings import findings
from assay.protocols.trec_rag.inputs import TrecRagInputs, TrecRagSettings, load
from assay.protocols.trec_rag.responses import assignment_requests, recall_measures
from assay.protocols.trec_rag.retrieval import precision
from assay.protocols.trec_rag.support import support_measures, support_requests, support_task
from assay.tasks.base import AnyTask
from assay.tasks.trec_rag import ASSIGNMENT, WAYS
from assay.tasks.trec_rag_narratives import NARRATIVE, SUB_NARRATIVES, SUB_NARRATIVES_DRAFT
from assay.tasks.trec_rag_narratives import TASKS as NARRATIVES
from assay.tasks.trec_rag_nuggets import CREATE, EDIT, IMPORTANCE, MAPPING, MERGE
from assay.tasks.trec_rag_nuggets import TASKS as NUGGETS

Asks = Callable[[Bank], Iterable[Request]]


class TrecRag(Protocol[TrecRagSettings, TrecRagInputs]):
    """R, AG, RAG and RJ of the TREC RAG track."""

    name = "trec-rag"
    title = "TREC RAG"
    settings = TrecRagSettings
    entries = (
        "narratives", "topics", "sub_narratives", "segments", "r_runs", "late_runs",
        "withdrawn_runs", "rag_runs", "rj_runs", "qrels", "nuggets", "assignments", "support",
    )  # fmt: skip
    load = staticmethod(load)
    score = staticmethod(findings)
    sides = staticmethod(compare_settings)

    def tasks(self, settings: TrecRagSettings) -> Sequence[AnyTask]:
        ways = [WAYS[way].task for way in settings.ways]
        return (*NARRATIVES, *ways, *NUGGETS, ASSIGNMENT, support_task(settings))

    def asks(self, settings: TrecRagSettings) -> Sequence[AnyTask]:
        every = self.tasks(settings)
        return every if settings.support else every[:-1]

    def by_people(
        self, inputs: TrecRagInputs, settings: TrecRagSettings, book: LabelBook
    ) -> Iterator[Request]:
        """Edits of nuggets, with an empty one to add missing nuggets."""
        bank = Bank(inputs, settings, book)
        for topic in inputs.topics:
            listed = bank[topic].machine_list
            for root in () if listed is None else ("", *(one.text for one in listed)):
                yield Request(EDIT, bank[topic].edit_unit(root), topic=topic)

    def prefilled(self, inputs: TrecRagInputs, asked: Request) -> Mapping[str, str]:
        """Importance and sub-narrative of the nugget that is edited."""
        listed = inputs.nuggets.get(asked.topic) if asked.task is EDIT else None
        nuggets = {one.text: one._asdict() for one in listed.nuggets} if listed else {}
        one = nuggets.get(asked.content.get("nugget", ""), {})
        return {name: str(one[name]) for name in ("importance", "sub_narrative") if one.get(name)}

    def linear(
        self, inputs: TrecRagInputs, settings: TrecRagSettings, book: LabelBook
    ) -> Iterator[LinearMeasure]:
        # Measures with labels among the inputs are left out: those labels cannot be drawn.
        bank = Bank(inputs, settings, book)
        if settings.support and not inputs.support:
            yield from support_measures(bank)
        if not inputs.assignments:
            yield from recall_measures(bank)
        if settings.relevance != "none" and not inputs.qrels:
            yield from precision(bank.relevance)

    def contents(self, inputs: TrecRagInputs, run: str) -> Mapping[str, Content]:
        answers = inputs.answers[run].answers if run in inputs.answers else {}
        retrieved = inputs.rankings.get(run)
        found = {}
        for topic, narrative in inputs.narratives.items():
            answer, bank = answers.get(topic), inputs.nuggets.get(topic)
            sentences = () if answer is None else answer.sentences
            used = sorted({doc for _, citations in sentences for doc in citations})
            passages = retrieved.get(topic, ()) if retrieved else used
            texts = ((doc, inputs.segments.get(doc)) for doc in passages)
            found[topic] = Content(
                narrative.text or "\n".join(narrative.queries),
                [one.text for one in bank.nuggets] if bank else (),
                answer=None if answer is None else [list(one) for one in sentences],
                passages=[[doc, None if one is None else one.text] for doc, one in texts],
                lines=[cited(*one) for one in sentences],
            )
        return found

    def inputs_in_words(self, inputs: TrecRagInputs) -> str:
        return (
            f"{counted(len(inputs.narratives), 'narrative')}, "
            f"{counted(len(inputs.r_runs), 'retrieval run')}, "
            f"{counted(len(inputs.answers), 'run of answers', 'runs of answers')}, "
            f"{counted(len(inputs.rj_runs), 'judgment run')}, "
            f"{counted(len(inputs.segments), 'segment')}"
        )

    def more_labellers(self, folder: Folder, settings: TrecRagSettings) -> dict[str, Labeller]:
        return {_creator(spec): folder.make_labeller(spec) for spec in settings.creators}

    def steps(self, inputs: TrecRagInputs, settings: TrecRagSettings) -> Iterator[Step]:
        """What is asked, in order; only what the inputs leave open."""
        bank, plain = partial(Bank, inputs, settings), Bank(inputs, settings, LabelBook(None))

        def step(title: str, task: AnyTask, asked: Asks, waits: bool = True) -> Step:
            return Step(title, task, lambda book: asked(bank(book)), waits)

        def walked(
            title: str, task: AnyTask, walk: Callable[[TopicBank], object], waits: bool = True
        ) -> Step:
            """What a walk through the topics looks up of a task."""
            return step(title, task, methodcaller("walked", task, walk), waits)

        if any(not one.text for one in inputs.narratives.values()):
            yield walked("narratives", NARRATIVE, attrgetter("narrative"), waits=False)
        if plain.needs_aspects and any(not inputs.sub_narratives.get(one) for one in inputs.topics):
            yield walked("sub-narratives, draft", SUB_NARRATIVES_DRAFT, attrgetter("aspects"))
            yield walked("sub-narratives", SUB_NARRATIVES, attrgetter("aspects"))
        for place, way in enumerate(plain.ways):
            asked = partial(_relevance, way)
            yield step(f"relevance ({way})", WAYS[way].task, asked, waits=not place)
        if settings.support and inputs.answers:
            support = step("support", support_task(settings), support_requests, waits=False)
            yield replace(support, feeds=False)
        if plain.makes_nuggets:
            creators = [_creator(spec) for spec in settings.creators]
            for place, name in enumerate(creators or [""]):
                title = f"nuggets, {name}" if name else "nuggets"
                made = methodcaller("created", inputs.creators[place] if name else None)
                making = walked(title, CREATE, made, waits=not place)
                yield replace(making, labeller=name, repeats=True)
            if len(creators) > 1:
                yield walked("nuggets, merged", MERGE, attrgetter("machine_list"))
        if not plain.is_used or not (plain.makes_nuggets or inputs.nuggets):
            return
        # With a complete bank, these steps only ask about nuggets that a person added.
        nuggets = attrgetter("nuggets")
        yield walked("nugget importance", IMPORTANCE, nuggets, waits=plain.lacks("importance"))
        if settings.mapping:
            mapping = walked("nugget mapping", MAPPING, nuggets, waits=plain.lacks("sub_narrative"))
            yield replace(mapping, repeats=True)
        if inputs.answers:
            assigned = step("nugget assignment", ASSIGNMENT, assignment_requests)
            of_people = step("", ASSIGNMENT, partial(assignment_requests, by_people=True)).requests
            yield replace(assigned, of_people=of_people)


def _relevance(way: str, bank: Bank) -> Iterable[Request]:
    return (request for _, request in bank.relevance.requests(way))


def _creator(spec: str) -> str:
    return f"{CREATE.name} by {spec}"


TREC_RAG = TrecRag()
"""The protocol."""
