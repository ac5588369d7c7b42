"""File formats for ``assay validate``: how to check a file, and how to recognise its format."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sized
from dataclasses import dataclass, field
from typing import Any, TypeVar

from assay.formats.jsonl import first_object
from assay.formats.parsed import Parsed
from assay.formats.r2c2_pr import Corpus
from assay.formats.text import SourceText
from assay.model.errors import Fault
from assay.model.rag import PassageRun, Question

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Against:
    """What files are checked against; everything is optional."""

    questions: tuple[Question, ...] | None = None
    pr_runs: Mapping[str, PassageRun] | None = None
    max_passage_chars: int | None = None
    corpus: Corpus | None = None
    topics: Mapping[str, str] | None = None
    year: str | None = None


@dataclass(frozen=True, slots=True)
class Checked:
    """The faults of a file, counts of what it holds, and the name of its run, if it has one."""

    faults: tuple[Fault, ...]
    counts: Mapping[str, int] = field(default_factory=dict)
    run: str | None = None


@dataclass(frozen=True, slots=True)
class Format:
    """A file format: ``check`` reads a file, ``recognises`` says whether a text looks like one.

    ``of_track`` names the format of the TREC RAG track whose files look the same. It is the guess
    if files are checked against topics or rules of the track.
    """

    name: str
    description: str
    check: Callable[[SourceText, Against], Checked]
    recognises: Callable[[SourceText], bool] | None = None
    of_track: str | None = None


def counted_by(
    read: Callable[[SourceText], Parsed[T]],
    count: Callable[[T], Mapping[str, int]],
    name: Callable[[T], str | None] = lambda _: None,
) -> Callable[[SourceText, Against], Checked]:
    """A check that reads a file and counts what it holds; ``name`` gives the name of its run."""

    def check(source: SourceText, against: Against) -> Checked:
        parsed = read(source)
        if parsed.value is None:
            return Checked(parsed.faults)
        return Checked(parsed.faults, count(parsed.value), name(parsed.value))

    return check


def first_has(test: Callable[[Mapping[str, Any]], bool]) -> Callable[[SourceText], bool]:
    """A recogniser that tests the first JSON object of a file."""

    def recognises(source: SourceText) -> bool:
        record = first_object(source)
        return record is not None and test(record)

    return recognises


def count_of(
    of: str, what: str = "", inside: Callable[[Any], Sized] = lambda one: one
) -> Callable[[Collection[Any]], dict[str, int]]:
    """A function that counts the items of a collection (values of a mapping) under the name ``of``
    and, if ``what`` is given, under that name all that is ``inside`` the items."""

    def count(found: Collection[Any]) -> dict[str, int]:
        every = found.values() if isinstance(found, Mapping) else found
        more = {what: sum(len(inside(one)) for one in every)} if what else {}
        return {of: len(found), **more}

    return count


def pr_counts(run: PassageRun) -> dict[str, int]:
    """The numbers of questions and of passages in a passage run."""
    return count_of("questions", "passages")(run.passages)
