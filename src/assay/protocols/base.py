"""What a protocol is: what to ask about what, and how labels become scores. All else is shared.

A protocol derives from :class:`Protocol`, usually in well under a hundred lines. Judging, the
ledger, files, reports and the command line are the same for all (docs/protocols.md).
"""

from __future__ import annotations

import re
import typing
from abc import ABC, abstractmethod
from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Annotated, ClassVar, Generic, Self, TypeVar

from pydantic import AfterValidator, BaseModel, ConfigDict, Field

from assay.formats.parsed import Parsed
from assay.judging.other_tasks import request_under
from assay.labellers.base import Labeller, Request
from assay.measures.names import parse_measure
from assay.model.errors import Fault, FormatError, SettingsError
from assay.model.paths import FileStamp, file_stamp, matching_files
from assay.model.wording import joined, quoted
from assay.protocols.answers.marked import Originals
from assay.protocols.contents import Content
from assay.protocols.folder import Folder, relative_to
from assay.protocols.labels import Asked, LabelBook, requests_of
from assay.protocols.linear import LinearMeasure
from assay.protocols.means import USUAL, ResamplingArguments
from assay.protocols.places import Place
from assay.protocols.results import Findings
from assay.protocols.sides import Sides, Under, by_board
from assay.tasks.base import AnyTask

_MOST_TOLD = 100
"""Passages of two texts that are told of a file."""
_NO_INPUT = re.compile(r"^\.|^README|~$", re.IGNORECASE)
"""Names of files that are likely no inputs."""


def _stem(path: Path) -> str:
    return path.name.partition(".")[0]


class Named(typing.Protocol):
    """A run."""

    @property
    def name(self) -> str: ...


T = TypeVar("T")
N = TypeVar("N", bound=Named)


class CommonSettings(BaseModel):
    """``[settings]`` that every protocol has: which label counts, and the bootstrap intervals."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    policy: str = "people"
    level: float = Field(USUAL["level"], gt=0, lt=1)
    resamples: int = Field(USUAL["resamples"], ge=100, le=1_000_000)
    seed: int = Field(USUAL["seed"], ge=0)

    @property
    def resampling(self) -> ResamplingArguments:
        """Those of bootstrap intervals."""
        return {"level": self.level, "resamples": self.resamples, "seed": self.seed}


MeasureNames = tuple[Annotated[str, AfterValidator(lambda name: str(parse_measure(name)))], ...]
"""Names of ranking measures in ``[settings]``, each as the measure itself spells it. What is none
is told when the folder is opened."""

S = TypeVar("S", bound=CommonSettings)
I = TypeVar("I")  # noqa: E741 (a protocol's inputs)


@dataclass
class Reading:
    """Reads input files and keeps what was found: ``faults`` of all files, ``warnings``, and the
    ``files`` that went in, as they were then."""

    folder: Folder
    faults: list[Fault] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)
    files: dict[Path, FileStamp] = field(default_factory=dict)
    _of_runs: dict[str, Path] = field(default_factory=dict, init=False)

    def one(self, name: str, read: Callable[[Path], Parsed[T]]) -> T | None:
        """The single file that an entry of ``[inputs]`` names; None where it has faults."""
        files = self.folder.input_files(name)
        if len(files) != 1:
            raise SettingsError(f"{self.folder.path}: [inputs] {name} must be one file.")
        return self.read_file(files[0], read)

    def optional(self, name: str, read: Callable[[Path], Parsed[T]]) -> T | None:
        """The same for an entry that may be left out."""
        return self.one(name, read) if name in self.folder.config.inputs else None

    def many(
        self,
        name: str,
        read: Callable[[Path], Parsed[T]],
        *,
        required: bool = False,
        partly: bool = False,
    ) -> Iterator[tuple[Path, T]]:
        """Yield the path and value of each file of an entry, read as by :meth:`read_file`.

        Unless ``required``, the entry may be left out. Files are read one by one as the caller
        iterates, so that not all of them need to be in memory at once.
        """
        for path in self.folder.input_files(name, required=required):
            value = self.read_file(path, read, partly=partly)
            if value is not None:
                yield path, value

    def read_file(
        self, path: Path, read: Callable[[Path], Parsed[T]], *, partly: bool = False
    ) -> T | None:
        """Read one file; None where it has faults, or with ``partly`` what could be read of it, so
        that other files can be checked against it."""
        self.files.setdefault(path, file_stamp(path))
        try:
            parsed = read(path)
        except FormatError as error:  # the file cannot be read at all
            self.faults.extend(error.faults)
            return None
        self.faults.extend(parsed.errors)
        for fault in parsed.warnings:
            # Names relative to the folder: reports are sent round, and should not change with it.
            name = relative_to(self.folder.path, Path(fault.file))
            self.warnings.append(str(replace(fault, file=name)))
        return parsed.value if parsed.ok or partly else None

    def add_fault(self, path: Path, why: str, cure: str, *, line: int = 0, topic: str = "") -> None:
        """A fault that shows only where files are set beside each other."""
        self.faults.append(Fault(str(path), line, topic or None, why, cure))

    def add_run(
        self, runs: dict[str, T], name: str, run: T, path: Path, beside: Container[str] = ()
    ) -> None:
        """Add a run to those of its kind; a fault where its name is one of theirs, or of a run
        ``beside`` them."""
        if name in runs or name in beside:
            other = relative_to(self.folder.path, self._of_runs.get(name, path))
            cure = "Keep one, or name one anew: in the file, or where it has no name the file."
            self.add_fault(path, f"The run of {other} is called '{name}' too.", cure)
        self._of_runs[name] = path
        runs[name] = run

    def runs(
        self,
        name: str,
        read: Callable[[Path], Parsed[N]],
        *,
        required: bool = False,
        partly: bool = False,
        beside: Container[str] = (),
    ) -> dict[str, N]:
        """The runs of all files of an entry by their names, of which no two may be the same, nor
        one as that of a run ``beside`` them."""
        found: dict[str, N] = {}
        for path, run in self.many(name, read, required=required, partly=partly):
            self.add_run(found, run.name, run, path, beside)
        return found

    def texts(
        self,
        name: str,
        read: Callable[[Path], Parsed[Mapping[str, T]]],
        text_of: Callable[[T], str] = str,
    ) -> dict[str, T]:
        """The passages in all files of an entry, by id: none has another text in another."""
        found: dict[str, T] = {}
        for path, passages in self.many(name, read):
            differ = [
                one
                for one, passage in passages.items()
                if text_of(found.setdefault(one, passage)) != text_of(passage)
            ]
            for one in differ[:_MOST_TOLD]:
                why = f"The passage {quoted(one)} has another text in another file."
                self.add_fault(path, why, "Give each text an id of its own.")
        return found

    def unread_files(self) -> Iterator[str]:
        """Says which files lie beside all of one ending that an entry names (``runs/*.txt``) and
        are named by none: nothing would be scored of a run with another ending. What is called as
        a file that is read, but for what follows a dot, belongs to that one."""
        folder, of = self.folder, {}
        for name in folder.config.inputs:
            with suppress(SettingsError):  # of a pattern that matches nothing, nothing lies beside
                of[name] = folder.input_files(name)
        named = {path.resolve() for files in of.values() for path in files}
        for name, files in of.items():
            given = folder.config.inputs[name]
            patterns = [
                one for one in ([given] if isinstance(given, str) else given) if "/*." in one
            ]
            read = {_stem(path) for path in files}
            places = {
                path.parent
                for pattern in patterns
                for path in matching_files(folder.path, pattern, name)
            }
            others = [
                one
                for place in sorted(places - {folder.path})
                for one in sorted(place.iterdir())
                if not _NO_INPUT.search(one.name)
                and _stem(one) not in read
                and one.is_file()
                and one.resolve() not in named
            ]
            if others:
                yield (
                    f"[inputs] {name} = {' or '.join(map(quoted, patterns))} does not match "
                    f"{joined([relative_to(folder.path, one) for one in others], 5)}, which is not "
                    "read. Name it too, or put it elsewhere."
                )

    def done(self) -> None:
        """Raise FormatError with the faults of *all* files, if there are any."""
        if self.faults:
            raise FormatError(self.faults)


Requests = Callable[[LabelBook], Iterable[Request]]
"""What a step asks, given the labels of the steps before it."""


@dataclass(frozen=True)
class Assumed:
    """What a dry run takes a step to ask while labels of the task ``of`` are to be asked before it;
    ``note`` says what was assumed."""

    of: AnyTask
    requests: Requests
    note: str


@dataclass(frozen=True)
class AskedAs:
    """Another task that a step is asked under: its verdicts tell those of the step's own task
    (tasks.shared). What its labeller leaves unanswered is asked under the own task, as ``rest``."""

    task: AnyTask
    rest: str


@dataclass(frozen=True)
class Step:
    """Something to ask of the labeller of ``task``. ``requests`` is given the labels of the steps
    before it; where it makes use of them it ``waits`` for them. ``labeller`` names one of
    :meth:`Protocol.more_labellers` where it is not the task's own. A step whose requests hang on
    its own labels ``repeats`` until there is nothing new to ask; one that no later step makes use
    of ``feeds`` none. With ``strict`` nothing but ``task`` will do: no machine's label of another
    task saves the question, or counts.
    ``of_people`` is given where people are asked something else: also what a machine's label would
    not count of, or nothing."""

    title: str
    task: AnyTask
    requests: Requests
    waits: bool = False
    labeller: str = ""
    assumed: Assumed | None = None
    asked_as: AskedAs | None = None
    strict: bool = False
    repeats: bool = False
    feeds: bool = True
    of_people: Requests | None = None

    @classmethod
    def about(
        cls, title: str, task: AnyTask, asked: Callable[[LabelBook], Asked], *, waits: bool = False
    ) -> Self:
        """A step that asks about each of a row of units."""
        return cls(title, task, lambda book: requests_of(task, asked(book)), waits=waits)

    @property
    def asked_task(self) -> AnyTask:
        """The task that its labeller is asked."""
        return self.task if self.asked_as is None else self.asked_as.task

    def people_requests(self, book: LabelBook) -> Iterable[Request]:
        """What people are asked: its ``requests``, unless that is something else."""
        return (self.of_people or self.requests)(book)

    def as_asked(self, request: Request) -> Request:
        """One of its ``requests`` as the labeller is asked it."""
        return request if self.asked_as is None else request_under(self.asked_as.task, request)


class Protocol(ABC, Generic[S, I]):
    """An evaluation protocol. It has no state: one instance serves all evaluations."""

    name: ClassVar[str]
    title: ClassVar[str]
    settings: type[S]
    entries: ClassVar[Sequence[str]] = ()
    """The entries of ``[inputs]`` that :meth:`load` reads; others are then misspelt. Empty: all are
    taken to be known."""
    shows_labels: ClassVar[bool] = False
    """Whether ``Findings.detail`` has labels that a report shows with their reasons."""
    own_tasks: ClassVar[Sequence[AnyTask]] = ()
    """Tasks whose versions the manifest names even where they are not asked."""

    said_nothing: ClassVar[Mapping[str, str]] = {}
    """Measures that silence lowers, though less of them is better, with the measure of silence that
    is added in tests (``assay gate``): saying nothing cannot pass."""

    @abstractmethod
    def tasks(self, settings: S) -> Sequence[AnyTask]:
        """The labelling tasks that ``settings`` ask for."""

    def asks(self, settings: S) -> Sequence[AnyTask]:
        """Those of :meth:`tasks` that may be asked under ``settings``; the others only count where
        there are labels. Other protocols of a folder go by it."""
        return self.tasks(settings)

    @abstractmethod
    def load(self, folder: Folder, settings: S, reading: Reading) -> I:
        """Read the inputs through ``reading``, which collects all faults; call
        ``reading.done()`` before anything is made of them."""

    @abstractmethod
    def steps(self, inputs: I, settings: S) -> Iterable[Step]:
        """What is asked, in order."""

    @abstractmethod
    def score(self, inputs: I, settings: S, book: LabelBook) -> Findings:
        """Everything that the labels say. Asks nobody; every label is had from ``book.verdict``,
        which counts what is missing."""

    def sides(self, inputs: I, settings: S, under: Under) -> Iterable[Sides]:
        """Scores by people's labels and by the machine's side by side, where there are both."""
        one = settings.model_copy(update={"resamples": 1})
        score, quickly = (partial(self.score, inputs, of) for of in (settings, one))
        return by_board(score, under, quickly=quickly)

    def by_people(self, inputs: I, settings: S, book: LabelBook) -> Iterable[Request]:
        """What people alone are asked in the workbench, beside what the steps ask."""
        return ()

    def prefilled(self, inputs: I, asked: Request) -> Mapping[str, str]:
        """What the inputs say, by the name of a field of the verdict, where a person leaves the
        field open."""
        return {}

    def linear(self, inputs: I, settings: S, book: LabelBook) -> Iterable[LinearMeasure]:
        """The measures that are linear in the labels of a task, given the labels of the tasks
        before it. They alone can be corrected by labels of single units (``assay draw``)."""
        return ()

    def contents(self, inputs: I, run: str) -> Mapping[str, Content]:
        """What a run was asked and handed in, by topic, so that two evaluations are compared on the
        topics that both have unchanged (``assay gate``). Empty: topics are known by their ids."""
        return {}

    def inputs_in_words(self, inputs: I) -> str:
        """What was read, for ``assay doctor``."""
        return "inputs read"

    def more_labellers(self, folder: Folder, settings: S) -> dict[str, Labeller]:
        """Labellers that steps name beside those of the tasks (several models for one task)."""
        return {}

    def marked(self, inputs: I) -> Originals | None:
        """The answer runs of which ``out/marked/`` has copies with marks, which people may change
        and bring in (``assay labels import``); ``Findings.detail`` is then
        :class:`assay.protocols.answers.results.AnswerFindings`."""
        return None

    def used_at(self, place: Place) -> str:
        """A place that a label is used at, as ``labels.jsonl`` names it."""
        return str(place)
