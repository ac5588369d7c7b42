"""AG and RAG runs of every year as one answer type.

A record of 2024 has ``run_id, topic_id, topic, references, response_length, answer``; from 2025
on the first three stand in ``metadata``. Other tracks write ``responses`` for ``answer``. Citations
are positions in the references from 0, document ids, or ``{document id: score}``; they come out as
document ids in the order given, by falling score where there are scores.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from os import PathLike
from pathlib import Path
from typing import Any

from assay.formats.jsonl import one_id, one_text, read_objects
from assay.formats.naming import run_name
from assay.formats.parsed import FaultList, Parsed
from assay.formats.text import SourceText, read_text
from assay.formats.trec_rag_citations import Sources
from assay.formats.trec_rag_rules import RULES, Rules, rules_for, sentences_key
from assay.model.trec_rag import RagAnswer, RagRun, Sentence
from assay.model.wording import counted, listed, printable, quoted

KINDS = ("automatic", "manual")
_TOPIC_KEYS = ("narrative_id", "topic_id", "request_id", "qid")


def read_answers(
    path: str | PathLike[str],
    *,
    topics: Mapping[str, str] | None = None,
    year: str | None = None,
    limits: bool = True,
) -> Parsed[RagRun]:
    """Read a run of answers.

    ``topics`` are the official texts by id; ``year`` (``2024``, ``2025``, ``2026``, ``other``)
    overrides what each record looks like. Without ``limits`` an answer over the year's limits
    (words, references, citations) is a warning, document ids may be of any corpus and fields that
    the track only wishes for may be missing, so that the run can be used. Raises
    :class:`FormatError` only where the file cannot be read at all.
    """
    return parse_answers(read_text(path), topics=topics, year=year, limits=limits)


def parse_answers(
    source: SourceText,
    *,
    topics: Mapping[str, str] | None = None,
    year: str | None = None,
    limits: bool = True,
) -> Parsed[RagRun]:
    """As :func:`read_answers`, of a text that was read."""
    reader = _ResponseReader(source, topics, None if year is None else RULES[year], limits)
    for number, record in read_objects(source, reader.faults):
        reader.record(number, record)
    return reader.done()


class _ResponseReader:
    """The state of reading one run."""

    def __init__(
        self,
        source: SourceText,
        topics: Mapping[str, str] | None,
        rules: Rules | None,
        limits: bool,
    ) -> None:
        self.faults = FaultList(source.file, source.faults)
        self.path = source.path
        self.topics = topics
        self.given = rules
        self.limit = self.faults.error if limits else self.faults.warning
        self.checked = limits
        self.answers: dict[str, RagAnswer] = {}
        self.names: dict[str, int] = {}
        self.teams: dict[str, int] = {}
        self.wished: dict[tuple[str, ...], list[int]] = {}

    def record(self, number: int, record: dict[str, Any]) -> None:
        rules = self.given or rules_for(record)
        metadata = record if rules.flat else record.get("metadata")
        if not isinstance(metadata, dict):
            where = "It holds the run's and the topic's id."
            self.faults.error(number, "'metadata' is missing or no object.", where)
            metadata = {}
        topic = one_id(metadata, *_TOPIC_KEYS) or ""
        self._fields(number, topic, metadata, rules)
        name = _name(metadata.get("run_id"))
        if name:
            self.names.setdefault(name, number)
        team = _name(metadata.get("team_id"))
        if team:
            self.teams.setdefault(team, number)
        narrative = one_text(metadata, "narrative", "topic", "title") or ""
        self._topic(number, topic, narrative, rules)
        kind = metadata.get("type", metadata.get("run_type"))
        if kind is not None and rules.year == "2025" and kind not in KINDS:
            self.faults.error(
                number,
                f"The type {quoted(str(kind))} is unknown.",
                "Write automatic or manual.",
                topic,
            )
        references = self._references(number, topic, record, rules)
        sentences = self._sentences(number, topic, record, references, rules)
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
        self._length(number, answer, record, rules)
        if not topic:
            return
        first = self.answers.setdefault(topic, answer)
        if first is not answer:
            self.faults.error(
                number,
                f"The topic is answered on line {first.line} already.",
                "Keep one answer to each topic; the first was read.",
                topic,
            )

    def _fields(self, number: int, topic: str, metadata: dict[str, Any], rules: Rules) -> None:
        place = "" if rules.flat else " of 'metadata'"
        lacking = [name for name in rules.required if _empty(metadata.get(name))]
        if lacking:
            verb = "is" if len(lacking) == 1 else "are"
            why = f"{_fields(lacking)}{place} {verb} missing or empty."
            self.faults.error(number, why, f"Give {listed(lacking)}.", topic)
        if rules.year == "other" and not topic and "topic_id" not in lacking:
            self.faults.error(number, "There is no topic id.", "Give metadata.topic_id.", topic)
        wished = tuple(name for name in rules.wished if _empty(metadata.get(name)))
        if wished and self.checked:
            self.wished.setdefault(wished, []).append(number)
        for name in (*rules.required, *rules.wished):
            value = metadata.get(name)
            if value is None or isinstance(value, str) or name == "response_length":
                continue
            if name not in _TOPIC_KEYS:
                cure = "Write a string, in quotes."
                self.limit(number, f"{_fields([name])}{place} is no text.", cure, topic)
            elif not topic:
                cure = "Write a string or a whole number."
                self.faults.error(number, f"{_fields([name])}{place} is no topic id.", cure)
        run = metadata.get("run_id")
        new = isinstance(run, str) and run.strip() and run not in self.names
        if new and rules.run_id is not None and not rules.run_id.fullmatch(str(run)):
            self.limit(
                number,
                f"The run_id {quoted(str(run))} breaks the rules of {rules.year}.",
                "At most 20 letters, digits, '-', '_' and '.', no '.' at the start.",
                topic,
            )

    def _topic(self, number: int, topic: str, narrative: str, rules: Rules) -> None:
        if self.topics is None or not topic:
            return
        official = self.topics.get(topic)
        if official is None:
            self.faults.error(
                number,
                "The topic is not in the topic file.",
                "Use the id of an official topic.",
                topic,
            )
        elif rules.exact_topic and official and narrative and narrative != official:
            report = self.limit if rules.year != "2025" else self.faults.warning
            report(
                number,
                "The text of the topic is not the official one.",
                f"Copy it exactly: {quoted(official)}.",
                topic,
            )

    def _references(
        self, number: int, topic: str, record: dict[str, Any], rules: Rules
    ) -> list[str] | None:
        """The references as strings, so that positions stay what they are; None without any."""
        given = record.get("references")
        if given is None:
            if rules.needs_references or "references" in record:
                self.faults.error(
                    number, "'references' is missing.", "Give the list of document ids.", topic
                )
            return None
        if not isinstance(given, list):
            self.faults.error(number, "'references' is no list.", "Write a list.", topic)
            return None
        wrong = [place for place, one in enumerate(given) if not isinstance(one, str) or not one]
        if wrong:
            self.faults.error(
                number,
                f"{_places('Reference', wrong)} no document id.",
                "Write document ids in quotes.",
                topic,
            )
        if len(set(map(str, given))) < len(given):
            twice = [place for place, one in enumerate(given) if one in given[:place]]
            report = self.limit if rules.unique_references else self.faults.warning
            report(
                number,
                f"{_places('Reference', twice)} listed before.",
                "List each document once and renumber the citations (--fix does both).",
                topic,
            )
        pattern = rules.doc_id if self.checked else None
        if pattern is not None:
            match = pattern.fullmatch
            odd = [one for one in given if isinstance(one, str) and not match(one)]
            if odd:
                report = self.limit if rules.strict_ids else self.faults.warning
                report(
                    number,
                    f"Not in the form of {rules.year}'s document ids: "
                    f"{counted(len(odd), 'reference')} ({listed(map(quoted, odd), 3)}).",
                    f"They look like {rules.example}.",
                    topic,
                )
        if rules.max_references is not None and len(given) > rules.max_references:
            self.limit(
                number,
                f"There are {len(given)} references; {rules.year} allows {rules.max_references}.",
                "Leave out the last ones (--fix does, with their citations).",
                topic,
            )
        return [one if isinstance(one, str) else str(one) for one in given]

    def _sentences(
        self,
        number: int,
        topic: str,
        record: dict[str, Any],
        references: list[str] | None,
        rules: Rules,
    ) -> tuple[Sentence, ...]:
        key = sentences_key(record, rules)
        given = record.get(key)
        if given is not None and key != rules.sentences and rules.by is not None:
            why = f"The sentences stand under '{key}'."
            cure = f"{rules.year} calls them '{rules.sentences}' (--fix does)."
            self.limit(number, why, cure, topic)
        if given is None:
            self.faults.error(
                number, f"'{rules.sentences}' is missing.", "Give the list of sentences.", topic
            )
            return ()
        if not isinstance(given, list):
            self.faults.error(number, f"'{key}' is no list.", "Write a list of sentences.", topic)
            return ()
        if not given:
            self.faults.warning(
                number, "The answer holds no sentence.", "It is scored as an empty answer.", topic
            )
        known = frozenset(references or ())
        sources = Sources(references, known, rules, self.faults, self.limit, number, topic)
        found: list[Sentence] = []
        blank: list[int] = []
        for place, item in enumerate(given, 1):
            text = item.get("text", item) if isinstance(item, dict) else item
            text = "" if text is None else text
            if not isinstance(item, dict) or not isinstance(text, str):
                self.faults.error(
                    number,
                    f"Sentence {place} has no text.",
                    'Write {"text": …, "citations": […]}.',
                    topic,
                )
                continue
            if not text.strip():
                blank.append(place)
            found.append(Sentence(text, sources.citations(place, item.get("citations"))))
        if blank:  # those of real runs are judged with the others, whose places they keep
            self.faults.warning(
                number,
                f"{_places('Sentence', blank)} blank.",
                "It keeps its place; its words and citations count as they are.",
                topic,
            )
        sources.check_ways()
        return tuple(found)

    def _length(self, number: int, answer: RagAnswer, record: dict[str, Any], rules: Rules) -> None:
        length = sum(rules.words(sentence.text) for sentence in answer.sentences)
        if rules.max_words is not None and length > rules.max_words:
            self.limit(
                number,
                f"The answer has {length} words; {rules.year} allows {rules.max_words}.",
                "Cut sentences from the end (--fix does).",
                answer.topic,
            )
        said = record.get("response_length")
        if said is None:
            return
        if type(said) is not int:
            self.faults.error(
                number, "'response_length' is no number.", "Count words.", answer.topic
            )
        elif said != length:
            self.faults.warning(
                number,
                f"response_length is {said}, but the sentences have {length} words.",
                f"Split at white space{', after Unicode NFKC' * rules.nfkc} (--fix does).",
                answer.topic,
            )

    def done(self) -> Parsed[RagRun]:
        for wished, lines in self.wished.items():
            self.faults.warning(
                lines[0],
                f"{_fields(list(wished))} of 'metadata' {'is' if len(wished) == 1 else 'are'} not "
                f"given{f' (in {len(lines)} records)' if len(lines) > 1 else ''}.",
                "The track wishes for it; nothing rests on it.",
            )
        for what, seen in (("run_id", self.names), ("team_id", self.teams)):
            if len(seen) > 1:
                report = self.faults.error if what == "run_id" else self.faults.warning
                report(
                    sorted(seen.values())[1],
                    f"The file holds several {what}s: {listed(seen, 10)}.",
                    "Write one file a run, with one name.",
                )
        if not self.answers:
            self.faults.error(0, "The file holds no answer.", "Write one JSON object a topic.")
        silent = [topic for topic in self.topics or () if topic not in self.answers]
        if silent and self.answers:
            self.faults.warning(
                0,
                f"{len(silent)} of {len(self.topics or ())} topics are not answered: "
                f"{listed(silent, 10)}.",
                "A run is scored 0 on topics that it leaves out.",
            )
        name = printable(next(iter(self.names), "")) or run_name(Path(self.path))
        return Parsed(RagRun(name, self.answers), self.faults.done())


def _empty(value: object) -> bool:
    return value is None or (isinstance(value, str) and not value.strip())


def _name(value: object) -> str:
    """A run's or team's name; a number is taken as its digits, so that the run keeps a name."""
    if isinstance(value, str):
        return value if value.strip() else ""
    return str(value) if isinstance(value, int) and not isinstance(value, bool) else ""


def _fields(names: Sequence[str]) -> str:
    return " and ".join(f"'{name}'" for name in names)


def _places(what: str, places: Sequence[int]) -> str:
    shown = listed([str(place) for place in places], 5)
    return f"{what} {shown} is" if len(places) == 1 else f"{what}s {shown} are"
