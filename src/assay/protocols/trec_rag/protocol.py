"""The protocol ``trec-rag``: what is asked about what, and how labels become scores."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from operator import attrgetter, methodcaller

from assay.labellers.base import Labeller, Request
from assay.model.trec_rag import RagAnswer
from assay.model.wording import counted
from assay.protocols.base import Protocol, Reading, Requests, Step
from assay.protocols.contents import Content, cited
from assay.protocols.folder import Folder
from assay.protocols.labels import LabelBook
from assay.protocols.linear import LinearMeasure
from assay.protocols.results import Findings
from assay.protocols.trec_rag.bank import Bank, TopicBank
from assay.protocols.trec_rag.inputs import Needs, TrecRagInputs, TrecRagSettings, load_inputs
from assay.protocols.trec_rag.linear import linear_measures
from assay.protocols.trec_rag.responses import Responses
from assay.protocols.trec_rag.score import score
from assay.protocols.trec_rag.support import support_requests, support_task
from assay.tasks.base import AnyTask
from assay.tasks.relevance import WAYS
from assay.tasks.trec_rag import ASSIGNMENT
from assay.tasks.trec_rag_narratives import NARRATIVE, SUB_NARRATIVES, SUB_NARRATIVES_DRAFT
from assay.tasks.trec_rag_nuggets import CREATE, EDIT, IMPORTANCE, MAPPING, MERGE


class TrecRag(Protocol[TrecRagSettings, TrecRagInputs]):
    """R, AG, RAG and RJ of the TREC RAG track."""

    name = "trec-rag"
    title = "TREC RAG"
    settings = TrecRagSettings
    entries = (
        "narratives",
        "topics",
        "sub_narratives",
        "segments",
        "r_runs",
        "rag_runs",
        "rj_runs",
        "qrels",
        "nuggets",
        "assignments",
        "support",
    )

    def tasks(self, settings: TrecRagSettings) -> Sequence[AnyTask]:
        ways = [WAYS[way].task for way in settings.ways]
        return (
            NARRATIVE,
            SUB_NARRATIVES_DRAFT,
            SUB_NARRATIVES,
            *ways,
            CREATE,
            MERGE,
            EDIT,
            IMPORTANCE,
            MAPPING,
            ASSIGNMENT,
            support_task(settings),
        )

    def asks(self, settings: TrecRagSettings) -> Sequence[AnyTask]:
        every = self.tasks(settings)
        return every if settings.support else every[:-1]

    def load(self, folder: Folder, settings: TrecRagSettings, reading: Reading) -> TrecRagInputs:
        return load_inputs(folder, settings, reading)

    def by_people(
        self, inputs: TrecRagInputs, settings: TrecRagSettings, book: LabelBook
    ) -> Iterator[Request]:
        """Edits of nuggets; the empty one is for what the list misses."""
        bank = Bank(inputs, settings, book)
        for topic in inputs.topics:
            listed = bank[topic].machine_list
            for root in () if listed is None else ("", *(one.text for one in listed)):
                yield Request(EDIT, bank[topic].edit_unit(root), topic=topic)

    def prefilled(self, inputs: TrecRagInputs, asked: Request) -> Mapping[str, str]:
        """Of the nugget that is edited."""
        listed = inputs.nuggets.get(asked.topic) if asked.task is EDIT else None
        root = asked.content.get("nugget")
        one = next((one for one in listed.nuggets if one.text == root), None) if listed else None
        found = {} if one is None else one._asdict()
        return {
            name: str(found[name]) for name in ("importance", "sub_narrative") if found.get(name)
        }

    def linear(
        self, inputs: TrecRagInputs, settings: TrecRagSettings, book: LabelBook
    ) -> Iterator[LinearMeasure]:
        return linear_measures(Bank(inputs, settings, book))

    def contents(self, inputs: TrecRagInputs, run: str) -> Mapping[str, Content]:
        answers = inputs.answers[run].answers if run in inputs.answers else {}
        retrieved = inputs.r_runs.get(run)
        found = {}
        for topic, narrative in inputs.narratives.items():
            answer, bank = answers.get(topic), inputs.nuggets.get(topic)
            used = {one for s in (answer.sentences if answer else ()) for one in s.citations}
            passages = retrieved.ranked(topic) if retrieved else [*sorted(used)]
            found[topic] = Content(
                narrative.text or "\n".join(narrative.queries),
                [one.text for one in bank.nuggets] if bank else (),
                answer=None if answer is None else [list(one) for one in answer.sentences],
                passages=[
                    [doc, inputs.segments[doc].text if doc in inputs.segments else None]
                    for doc in passages
                ],
                lines=[cited(*one) for one in answer.sentences] if answer else (),
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

    def steps(self, inputs: TrecRagInputs, settings: TrecRagSettings) -> Sequence[Step]:
        return list(_Steps(inputs, settings).all())

    def score(self, inputs: TrecRagInputs, settings: TrecRagSettings, book: LabelBook) -> Findings:
        return score(inputs, settings, book)


class _Steps:
    """What is asked, in order; only what the inputs leave open."""

    def __init__(self, inputs: TrecRagInputs, settings: TrecRagSettings) -> None:
        self.inputs = inputs
        self.settings = settings
        self.needs = Needs(inputs, settings)

    def all(self) -> Iterator[Step]:
        inputs, needs, walked = self.inputs, self.needs, self.walked
        if any(not one.text for one in inputs.narratives.values()):
            yield Step("narratives", NARRATIVE, walked(NARRATIVE, attrgetter("narrative")))
        if needs.aspects and any(not inputs.sub_narratives.get(one) for one in inputs.topics):
            for title, task in (
                ("sub-narratives, draft", SUB_NARRATIVES_DRAFT), ("sub-narratives", SUB_NARRATIVES),
            ):  # fmt: skip
                yield Step(title, task, walked(task, attrgetter("aspects")), waits=True)
        for place, way in enumerate(needs.ways):
            requests = self.of_bank(partial(Bank.relevance_requests, way=way))
            yield Step(f"relevance ({way})", WAYS[way].task, requests, waits=not place)
        if self.settings.support and inputs.answers:
            task = support_task(self.settings)
            yield Step(
                "support", task, self.of_answers(lambda bank: partial(support_requests, bank))
            )
        if needs.nuggets:
            yield from self.creation()
        if not needs.bank or not (needs.nuggets or inputs.nuggets):
            return
        # A complete bank has nothing to ask here, but for nuggets that a person added to it.
        important = walked(IMPORTANCE, attrgetter("nuggets"))
        yield Step("nugget importance", IMPORTANCE, important, waits=needs.importance)
        if self.settings.mapping:
            yield from self.mapping()
        if inputs.answers:
            assigning = self.of_answers(lambda bank: Responses(bank).assignment_requests)
            yield Step("nugget assignment", ASSIGNMENT, assigning, waits=True)

    def of_bank(self, of: Callable[[Bank], Iterable[Request]]) -> Requests:
        return lambda book: of(Bank(self.inputs, self.settings, book))

    def walked(
        self, task: AnyTask, walk: Callable[[TopicBank], object], which: slice = slice(None)
    ) -> Requests:
        """Of what a walk looks up of a task, topic by topic, what is asked: all, or some."""

        def requests(bank: Bank) -> Iterator[Request]:
            for topic in self.inputs.topics:
                walk(bank[topic])
                yield from bank.walk.take(task)[which]

        return self.of_bank(requests)

    def of_answers(
        self, of: Callable[[Bank], Callable[[RagAnswer], Iterable[Request]]]
    ) -> Requests:
        """What is asked of each answer, topic by topic."""

        def requests(bank: Bank) -> Iterator[Request]:
            asked = of(bank)
            for topic in self.inputs.topics:
                for run in self.inputs.answers.values():
                    if topic in run.answers:
                        yield from asked(run.answers[topic])

        return self.of_bank(requests)

    def creation(self) -> Iterator[Step]:
        """A step for each window that may be needed, for all topics and creators at once."""
        inputs, settings = self.inputs, self.settings
        pool = max((len(self.pool(topic)) for topic in inputs.topics), default=0)
        creators = [_creator(spec) for spec in settings.creators] or [""]
        for number in range(-(-pool // settings.documents)):
            for place, name in enumerate(creators):
                title = f"nuggets, window {number + 1}" + (f", {name}" if name else "")
                making = methodcaller("created", inputs.creators[place] if name else None)
                requests = self.walked(CREATE, making, slice(number, number + 1))
                yield Step(title, CREATE, requests, waits=not place, labeller=name)
        if len(creators) > 1:
            merging = self.walked(MERGE, attrgetter("machine_list"))
            yield Step("nuggets, merged", MERGE, merging, waits=True)

    def pool(self, topic: str) -> set[str]:
        """The documents that nuggets of a topic may be made from."""
        if topic in self.inputs.nuggets:
            return set()
        docs = {*self.inputs.ranks.get(topic, {}), *self.inputs.qrels.get(topic, {})}
        return docs & self.inputs.segments.keys()

    def mapping(self) -> Iterator[Step]:
        """A step for each window of the longest list: each is shown what those before it found."""
        given = self.inputs.nuggets
        lists = [
            sum(one.sub_narrative is None for one in given[topic].nuggets)
            if topic in given
            else self.settings.most_nuggets
            for topic in self.inputs.topics
        ]
        count = max(1, -(-max(lists, default=0) // self.settings.nugget_window))
        # The windows that can be asked by now; what is labelled is not asked again.
        ready = self.walked(MAPPING, attrgetter("nuggets"))
        for number in range(1, count + 1):
            title = "nugget mapping" + (f", window {number}" if count > 1 else "")
            yield Step(title, MAPPING, ready, waits=self.needs.mapping or number > 1)


def _creator(spec: str) -> str:
    return f"{CREATE.name} by {spec}"


TREC_RAG = TrecRag()
"""The protocol."""
