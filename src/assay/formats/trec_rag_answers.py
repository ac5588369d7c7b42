"""Reading of AG and RAG runs of every year into one type of answer.

A record of 2024 has ``run_id, topic_id, topic, references, response_length, answer``; from 2025
on, the first three are in ``metadata``. Other tracks write ``responses`` for ``answer``. Citations
are positions in the references from 0, document ids, or ``{document id: score}``; they are read as
document ids in the order given, or by descending score.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from assay.formats.jsonl import one_id, one_text, read_objects
from assay.formats.naming import run_name
from assay.formats.parsed import FaultList, Spot
from assay.formats.text import SourceText, reads_file
from assay.formats.trec_rag_citations import Sources
from assay.formats.trec_rag_rules import RULES, Rules, rules_for, sentences_key
from assay.model.trec_rag import RagAnswer, RagRun, Sentence
from assay.model.wording import counted, joined, printable, quoted

KINDS = ("automatic", "manual")
_TOPIC_KEYS = ("narrative_id", "topic_id", "request_id", "qid")


@reads_file
def read_answers(
    source: SourceText,
    faults: FaultList,
    *,
    topics: Mapping[str, str] | None = None,
    year: str | None = None,
    limits: bool = True,
) -> RagRun:
    """Read a run of answers.

    ``topics`` are the official texts by id; ``year`` (``2024``, ``2025``, ``2026``, ``other``) sets
    the rules, which are otherwise guessed for each record. Without ``limits``, as for scoring, an
    answer over the year's limits (words, references, citations) is only a warning, document ids may
    be of any corpus, and fields that the track asks for but does not require may be missing.
    """
    reader = _ResponseReader(faults, topics, None if year is None else RULES[year], limits)
    for number, record in read_objects(source, faults):
        reader.record(number, record)
    return reader.done(source.path)


@dataclass(slots=True)
class _ResponseReader:
    """Reader of one run, by the ``given`` rules or those that each record looks like. ``checked``
    says whether limits are enforced."""

    faults: FaultList
    topics: Mapping[str, str] | None
    given: Rules | None
    checked: bool
    answers: dict[str, RagAnswer] = field(default_factory=dict)
    names: dict[str, int] = field(default_factory=dict)
    teams: dict[str, int] = field(default_factory=dict)
    wished: dict[tuple[str, ...], list[int]] = field(default_factory=dict)

    def record(self, number: int, record: dict[str, Any]) -> None:
        at = self.faults.at(number)
        rules = self.given or rules_for(record)
        metadata = record if rules.flat else record.get("metadata")
        if not isinstance(metadata, dict):
            where = "It holds the run's and the topic's id."
            at.error("'metadata' is missing or not an object.", where)
            metadata = {}
        topic = one_id(metadata, *_TOPIC_KEYS) or ""
        at = self.faults.at(number, topic)
        self._fields(at, metadata, rules)
        name = _name(metadata.get("run_id"))
        if name:
            self.names.setdefault(name, number)
        team = _name(metadata.get("team_id"))
        if team:
            self.teams.setdefault(team, number)
        narrative = one_text(metadata, "narrative", "topic", "title") or ""
        self._topic(at, narrative, rules)
        kind = metadata.get("type", metadata.get("run_type"))
        if kind is not None and rules.year == "2025" and kind not in KINDS:
            at.error(f"The type {quoted(str(kind))} is unknown.", "Write automatic or manual.")
        references = self._references(at, record, rules)
        sentences = self._sentences(at, record, references, rules)
        answer = RagAnswer(
            run=name,
            topic=topic,
            sentences=sentences,
            references=tuple(references or ()),
            narrative=narrative,
            team=team,
            kind=kind if isinstance(kind, str) else None,
            prompt=one_text(metadata, "prompt"),
            description=one_text(metadata, "run_desc"),
            line=number,
        )
        self._length(at, answer, record, rules)
        if not topic:
            return
        first = self.answers.setdefault(topic, answer)
        if first is not answer:
            at.error(
                f"The topic is already answered on line {first.line}.",
                "Keep one answer to each topic; the first was read.",
            )

    def _limit(self, at: Spot) -> Callable[[str, str], None]:
        """The method that reports what is over a limit: an error, or a warning if unchecked."""
        return at.error if self.checked else at.warning

    def _fields(self, at: Spot, metadata: dict[str, Any], rules: Rules) -> None:
        place = "" if rules.flat else " of 'metadata'"
        lacking = [name for name in rules.required if _empty(metadata.get(name))]
        if lacking:
            verb = "is" if len(lacking) == 1 else "are"
            why = f"{_fields(lacking)}{place} {verb} missing or empty."
            at.error(why, f"Give {joined(lacking)}.")
        if rules.year == "other" and not at.topic and "topic_id" not in lacking:
            at.error("There is no topic id.", "Give metadata.topic_id.")
        wished = tuple(name for name in rules.wished if _empty(metadata.get(name)))
        if wished and self.checked:
            self.wished.setdefault(wished, []).append(at.line)
        for name in (*rules.required, *rules.wished):
            value = metadata.get(name)
            if value is None or isinstance(value, str) or name == "response_length":
                continue
            if name not in _TOPIC_KEYS:
                cure = "Write a string, in quotes."
                self._limit(at)(f"{_fields([name])}{place} is not a string.", cure)
            elif not at.topic:
                cure = "Write a string or a whole number."
                at.error(f"{_fields([name])}{place} is not a topic id.", cure)
        run = metadata.get("run_id")
        new = isinstance(run, str) and run.strip() and run not in self.names
        if new and rules.run_id is not None and not rules.run_id.fullmatch(str(run)):
            self._limit(at)(
                f"The run_id {quoted(str(run))} breaks the rules of {rules.year}.",
                "At most 20 letters, digits, '-', '_' and '.', no '.' at the start.",
            )

    def _topic(self, at: Spot, narrative: str, rules: Rules) -> None:
        if self.topics is None or not at.topic:
            return
        official = self.topics.get(at.topic)
        if official is None:
            at.error("The topic is not in the topic file.", "Use the id of an official topic.")
        elif rules.exact_topic and official and narrative and narrative != official:
            report = self._limit(at) if rules.year != "2025" else at.warning
            report(
                "The text of the topic is not the official one.",
                f"Copy it exactly: {quoted(official)}.",
            )

    def _references(self, at: Spot, record: dict[str, Any], rules: Rules) -> list[str] | None:
        """The references, all as strings so that positions stay the same; None without any."""
        given = record.get("references")
        if given is None:
            if rules.needs_references or "references" in record:
                at.error("'references' is missing.", "Give the list of document ids.")
            return None
        if not isinstance(given, list):
            at.error("'references' is not a list.", "Write a list.")
            return None
        wrong = [place for place, one in enumerate(given) if not isinstance(one, str) or not one]
        if wrong:
            at.error(
                f"{_places('Reference', wrong)} not a document id.", "Write document ids in quotes."
            )
        if len(set(map(str, given))) < len(given):
            twice = [place for place, one in enumerate(given) if one in given[:place]]
            report = self._limit(at) if rules.unique_references else at.warning
            report(
                f"{_places('Reference', twice)} listed before.",
                "List each document once and renumber the citations (--fix does both).",
            )
        pattern = rules.doc_id if self.checked else None
        if pattern is not None:
            match = pattern.fullmatch
            odd = [one for one in given if isinstance(one, str) and not match(one)]
            if odd:
                report = self._limit(at) if rules.strict_ids else at.warning
                report(
                    f"Not in the form of {rules.year}'s document ids: "
                    f"{counted(len(odd), 'reference')} ({joined(map(quoted, odd), 3)}).",
                    f"They look like {rules.example}.",
                )
        if rules.max_references is not None and len(given) > rules.max_references:
            self._limit(at)(
                f"There are {len(given)} references; {rules.year} allows {rules.max_references}.",
                "Leave out the last ones (--fix does, with their citations).",
            )
        return [one if isinstance(one, str) else str(one) for one in given]

    def _sentences(
        self, at: Spot, record: dict[str, Any], references: list[str] | None, rules: Rules
    ) -> tuple[Sentence, ...]:
        key = sentences_key(record, rules)
        given = record.get(key)
        if given is not None and key != rules.sentences and rules.by is not None:
            why = f"The sentences are under '{key}'."
            cure = f"{rules.year} calls them '{rules.sentences}' (--fix does)."
            self._limit(at)(why, cure)
        if given is None:
            at.error(f"'{rules.sentences}' is missing.", "Give the list of sentences.")
            return ()
        if not isinstance(given, list):
            at.error(f"'{key}' is not a list.", "Write a list of sentences.")
            return ()
        if not given:
            at.warning("The answer holds no sentence.", "It is scored as an empty answer.")
        known = frozenset(references or ())
        sources = Sources(references, known, rules, at, self._limit(at))
        found: list[Sentence] = []
        blank: list[int] = []
        for place, item in enumerate(given, 1):
            text = item.get("text", item) if isinstance(item, dict) else item
            text = "" if text is None else text
            if not isinstance(item, dict) or not isinstance(text, str):
                at.error(f"Sentence {place} has no text.", 'Write {"text": …, "citations": […]}.')
                continue
            if not text.strip():
                blank.append(place)
            found.append(Sentence(text, sources.citations(place, item.get("citations"))))
        if blank:  # the track judges blank sentences of real runs too, so they keep their places
            at.warning(
                f"{_places('Sentence', blank)} blank.",
                "It keeps its place; its words and citations count as they are.",
            )
        sources.check_ways()
        return tuple(found)

    def _length(self, at: Spot, answer: RagAnswer, record: dict[str, Any], rules: Rules) -> None:
        length = answer.length if rules.nfkc else rules.words(answer.text)
        if rules.max_words is not None and length > rules.max_words:
            self._limit(at)(
                f"The answer has {length} words; {rules.year} allows {rules.max_words}.",
                "Cut sentences from the end (--fix does).",
            )
        stated = record.get("response_length")
        if stated is None:
            return
        if type(stated) is not int:
            at.error("'response_length' is not a number.", "Count words.")
        elif stated != length:
            at.warning(
                f"response_length is {stated}, but the sentences have {length} words.",
                f"Split at white space{', after Unicode NFKC' * rules.nfkc} (--fix does).",
            )

    def done(self, path: Path) -> RagRun:
        for wished, lines in self.wished.items():
            self.faults.warning(
                lines[0],
                f"{_fields(list(wished))} of 'metadata' {'is' if len(wished) == 1 else 'are'} not "
                f"given{f' (in {len(lines)} records)' if len(lines) > 1 else ''}.",
                "The track asks for it, but no score depends on it.",
            )
        for what, seen in (("run_id", self.names), ("team_id", self.teams)):
            if len(seen) > 1:
                report = self.faults.error if what == "run_id" else self.faults.warning
                report(
                    sorted(seen.values())[1],
                    f"The file holds several {what}s: {joined(seen, 10)}.",
                    "Write one file per run, with one name.",
                )
        if not self.answers:
            self.faults.error(0, "The file holds no answer.", "Write one JSON object per topic.")
        silent = [topic for topic in self.topics or () if topic not in self.answers]
        if silent and self.answers:
            self.faults.warning(
                0,
                f"{len(silent)} of {len(self.topics or ())} topics are not answered: "
                f"{joined(silent, 10)}.",
                "A run is scored 0 on topics that it leaves out.",
            )
        name = printable(next(iter(self.names), "")) or run_name(path)
        return RagRun(name, self.answers)


def _empty(value: object) -> bool:
    return value is None or (isinstance(value, str) and not value.strip())


def _name(value: object) -> str:
    """The name of a run or team; a number is read as a string, so that the run has a name."""
    if isinstance(value, str):
        return value if value.strip() else ""
    return str(value) if isinstance(value, int) and not isinstance(value, bool) else ""


def _fields(names: Sequence[str]) -> str:
    return " and ".join(f"'{name}'" for name in names)


def _places(what: str, places: Sequence[int]) -> str:
    shown = joined([str(place) for place in places], 5)
    return f"{what} {shown} is" if len(places) == 1 else f"{what}s {shown} are"
