"""Base classes of protocols: what is read, what is asked, and how labels become scores.

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

_MAX_FAULTS = 100
"""Most conflicting texts that are reported for one file."""
_NO_INPUT = re.compile(r"^\.|^README|~$", re.IGNORECASE)
"""File names that are unlikely to be inputs."""


def _stem(path: Path) -> str:
    return path.name.partition(".")[0]


class Named(typing.Protocol):
    """Anything with a name, such as a run."""

    @property
    def name(self) -> str: ...


T = TypeVar("T")
N = TypeVar("N", bound=Named)


class CommonSettings(BaseModel):
    """``[settings]`` of every protocol: which label counts, and the bootstrap intervals."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    policy: str = "people"
    level: float = Field(USUAL["level"], gt=0, lt=1)
    resamples: int = Field(USUAL["resamples"], ge=100, le=1_000_000)
    seed: int = Field(USUAL["seed"], ge=0)

    @property
    def resampling(self) -> ResamplingArguments:
        """The settings of bootstrap intervals, as functions take them."""
        return {"level": self.level, "resamples": self.resamples, "seed": self.seed}


MeasureNames = tuple[Annotated[str, AfterValidator(lambda name: str(parse_measure(name)))], ...]
"""Names of ranking measures in ``[settings]``, normalised to each measure's own spelling. An
unknown name is an error when the folder is opened."""

S = TypeVar("S", bound=CommonSettings)
I = TypeVar("I")  # noqa: E741 (a protocol's inputs)


@dataclass
class Reading:
    """Reads input files and collects the ``faults`` of all files, ``warnings``, and the stamps of
    the ``files`` as they were when they were read."""

    folder: Folder
    faults: list[Fault] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)
    files: dict[Path, FileStamp] = field(default_factory=dict)
    _run_files: dict[str, Path] = field(default_factory=dict, init=False)

    def one(self, name: str, read: Callable[[Path], Parsed[T]]) -> T | None:
        """Read the single file that an entry of ``[inputs]`` names. Returns None if it has faults;
        raises SettingsError if the entry does not name exactly one file."""
        files = self.folder.input_files(name)
        if len(files) != 1:
            raise SettingsError(f"{self.folder.path}: [inputs] {name} must be one file.")
        return self.read_file(files[0], read)

    def optional(self, name: str, read: Callable[[Path], Parsed[T]]) -> T | None:
        """Like :meth:`one`, for an entry that may be left out."""
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
        """Read one file. Returns None if it has faults or, if ``partly``, what could be read of it,
        so that other files can be checked against it."""
        self.files.setdefault(path, file_stamp(path))
        try:
            parsed = read(path)
        except FormatError as error:  # the file cannot be read at all
            self.faults.extend(error.faults)
            return None
        self.faults.extend(parsed.errors)
        for fault in parsed.warnings:
            # Relative to the folder: reports are passed on and should not depend on its location.
            name = relative_to(self.folder.path, Path(fault.file))
            self.warnings.append(str(replace(fault, file=name)))
        return parsed.value if parsed.ok or partly else None

    def add_fault(self, path: Path, why: str, cure: str, *, line: int = 0, topic: str = "") -> None:
        """Add a fault that shows only when files are compared with each other."""
        self.faults.append(Fault(str(path), line, topic or None, why, cure))

    def add_run(
        self, runs: dict[str, T], name: str, run: T, path: Path, other_runs: Container[str] = ()
    ) -> None:
        """Add a run to ``runs``. It is a fault if its name is taken there or in ``other_runs``."""
        if name in runs or name in other_runs:
            other = relative_to(self.folder.path, self._run_files.get(name, path))
            cure = "Keep one, or rename one, in the file; if it holds no name, rename the file."
            self.add_fault(path, f"The run in {other} is also called '{name}'.", cure)
        self._run_files[name] = path
        runs[name] = run

    def runs(
        self,
        name: str,
        read: Callable[[Path], Parsed[N]],
        *,
        required: bool = False,
        partly: bool = False,
        other_runs: Container[str] = (),
    ) -> dict[str, N]:
        """Read the runs of all files of an entry, by name. It is a fault if two have the same name,
        or if ``other_runs`` has it."""
        runs: dict[str, N] = {}
        for path, run in self.many(name, read, required=required, partly=partly):
            self.add_run(runs, run.name, run, path, other_runs)
        return runs

    def texts(
        self,
        name: str,
        read: Callable[[Path], Parsed[Mapping[str, T]]],
        text_of: Callable[[T], str] = str,
    ) -> dict[str, T]:
        """Read the passages in all files of an entry, by id. Different texts for one id are a
        fault."""
        known: dict[str, T] = {}
        for path, passages in self.many(name, read):
            conflicting = [
                key
                for key, passage in passages.items()
                if text_of(known.setdefault(key, passage)) != text_of(passage)
            ]
            for key in conflicting[:_MAX_FAULTS]:
                why = f"The passage {quoted(key)} has a different text in another file."
                self.add_fault(path, why, "Give each text its own id.")
        return known

    def unread_files(self) -> Iterator[str]:
        """Yield a warning for each entry with a pattern such as ``runs/*.txt`` if the same folder
        holds files that no entry names: nothing would be scored of a run with another extension. A
        file that differs from one that is read only after the first dot belongs to it."""
        folder, files_by_entry = self.folder, {}
        for name in folder.config.inputs:
            with suppress(SettingsError):  # a pattern that matches nothing is reported elsewhere
                files_by_entry[name] = folder.input_files(name)
        read = {path.resolve() for files in files_by_entry.values() for path in files}
        for name, files in files_by_entry.items():
            entry = folder.config.inputs[name]
            patterns = [
                one for one in ([entry] if isinstance(entry, str) else entry) if "/*." in one
            ]
            stems = {_stem(path) for path in files}
            places = {
                path.parent
                for pattern in patterns
                for path in matching_files(folder.path, pattern, name)
            }
            unread = [
                path
                for place in sorted(places - {folder.path})
                for path in sorted(place.iterdir())
                if not _NO_INPUT.search(path.name)
                and _stem(path) not in stems
                and path.is_file()
                and path.resolve() not in read
            ]
            if unread:
                yield (
                    f"[inputs] {name} = {' or '.join(map(quoted, patterns))} does not match "
                    f"{joined([relative_to(folder.path, one) for one in unread], 5)}, which is not "
                    "read. Name it too, or move it elsewhere."
                )

    def done(self) -> None:
        """Raise FormatError with the faults of *all* files, if there are any."""
        if self.faults:
            raise FormatError(self.faults)


Requests = Callable[[LabelBook], Iterable[Request]]
"""Computes what a step asks from the labels of earlier steps."""


@dataclass(frozen=True)
class Assumed:
    """What a dry run assumes a step will ask as long as labels of the task ``of`` are still to be
    asked for. ``note`` says what is assumed."""

    of: AnyTask
    requests: Requests
    note: str


@dataclass(frozen=True)
class AskedAs:
    """Another task that a step is asked under because its verdicts imply those of the step's own
    task (:mod:`assay.tasks.shared`). Questions that its labeller leaves unanswered are asked under
    the step's own task, with ``rest`` as the title."""

    task: AnyTask
    rest: str


@dataclass(frozen=True)
class Step:
    """One thing to ask the labeller of ``task``.

    ``requests`` computes the questions from the labels of earlier steps; a step that uses those
    labels ``waits`` for them. ``labeller`` names one of :meth:`Protocol.more_labellers`, or is
    empty for the task's own. A step whose requests depend on its own labels ``repeats`` until there
    is nothing new to ask; a step whose labels no later step uses ``feeds`` none. If ``strict``, a
    machine's label of another task neither saves the question nor counts. ``of_people`` is given if
    people are asked something else: also units of which a machine's label could not count yet, or
    nothing.
    """

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
        """Make a step that asks about each of many units."""
        return cls(title, task, lambda book: requests_of(task, asked(book)), waits=waits)

    @property
    def asked_task(self) -> AnyTask:
        """The task that the labeller is asked."""
        return self.task if self.asked_as is None else self.asked_as.task

    def people_requests(self, book: LabelBook) -> Iterable[Request]:
        """What people are asked: ``of_people`` if given, else ``requests``."""
        return (self.of_people or self.requests)(book)

    def as_asked(self, request: Request) -> Request:
        """Convert one of the step's ``requests`` to the form that the labeller is asked."""
        return request if self.asked_as is None else request_under(self.asked_as.task, request)


class Protocol(ABC, Generic[S, I]):
    """An evaluation protocol. It has no state: one instance serves all evaluations."""

    name: ClassVar[str]
    title: ClassVar[str]
    settings: type[S]
    entries: ClassVar[Sequence[str]] = ()
    """The entries of ``[inputs]`` that :meth:`load` reads; any other is reported as misspelt. If
    empty, every entry is accepted."""
    shows_labels: ClassVar[bool] = False
    """Whether ``Findings.detail`` has labels that a report shows with their reasons."""
    own_tasks: ClassVar[Sequence[AnyTask]] = ()
    """Tasks whose versions the manifest names even if they are not asked."""

    said_nothing: ClassVar[Mapping[str, str]] = {}
    """Maps a measure that is better if lower, and that a silent run lowers, to the measure of
    silence that ``assay gate`` also tests: saying nothing cannot pass."""

    @abstractmethod
    def tasks(self, settings: S) -> Sequence[AnyTask]:
        """The labelling tasks that ``settings`` ask for."""

    def asks(self, settings: S) -> Sequence[AnyTask]:
        """The tasks of :meth:`tasks` that may be asked under ``settings``; for the others, only
        existing labels count. The other protocols of a folder rely on this."""
        return self.tasks(settings)

    @abstractmethod
    def load(self, folder: Folder, settings: S, reading: Reading) -> I:
        """Read the inputs through ``reading``, which collects all faults. Call ``reading.done()``
        before making anything of them."""

    @abstractmethod
    def steps(self, inputs: I, settings: S) -> Iterable[Step]:
        """What is asked, in order."""

    @abstractmethod
    def score(self, inputs: I, settings: S, book: LabelBook) -> Findings:
        """Compute everything that the labels say. Asks nobody; take every label from
        ``book.verdict``, which counts what is missing."""

    def sides(self, inputs: I, settings: S, under: Under) -> Iterable[Sides]:
        """Scores by people's labels and by the machine's side by side, if there are both."""
        quick = settings.model_copy(update={"resamples": 1})
        score, quickly = (partial(self.score, inputs, of) for of in (settings, quick))
        return by_board(score, under, quickly=quickly)

    def by_people(self, inputs: I, settings: S, book: LabelBook) -> Iterable[Request]:
        """What only people are asked, in the workbench, in addition to the steps."""
        return ()

    def prefilled(self, inputs: I, asked: Request) -> Mapping[str, str]:
        """What the inputs say, by field of the verdict, for fields that a person leaves open."""
        return {}

    def linear(self, inputs: I, settings: S, book: LabelBook) -> Iterable[LinearMeasure]:
        """The measures that are linear in the labels of a task, given the labels of earlier tasks.
        Only these can be corrected by labels of single units (``assay draw``)."""
        return ()

    def contents(self, inputs: I, run: str) -> Mapping[str, Content]:
        """What a run was asked and handed in, by topic, so that ``assay gate`` can compare two
        evaluations on the topics that are unchanged. If empty, topics are known only by id."""
        return {}

    def inputs_in_words(self, inputs: I) -> str:
        """Describe what was read, for ``assay doctor``."""
        return "inputs read"

    def more_labellers(self, folder: Folder, settings: S) -> dict[str, Labeller]:
        """Labellers that steps name beside those of the tasks (several models for one task)."""
        return {}

    def marked(self, inputs: I) -> Originals | None:
        """The answer runs of which ``out/marked/`` has copies with marks. People may change the
        marks and import them (``assay labels import``). ``Findings.detail`` must then be an
        :class:`assay.protocols.answers.results.AnswerFindings`."""
        return None

    def used_at(self, place: Place) -> str:
        """Name a place where a label is used, for ``labels.jsonl``."""
        return str(place)
