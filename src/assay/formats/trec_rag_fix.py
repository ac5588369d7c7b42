"""``assay validate --fix`` for runs of answers: corrections that need no guessing.

The public validators lose the order of citations (they put them through a set) and do not renumber
integer citations when they remove duplicate references. Here citations keep their order, and each
still names the same document.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import orjson

from assay.formats.jsonl import dump_line, one_id, read_json
from assay.formats.text import SourceText
from assay.formats.trec_rag_rules import RULES, CitationForm, Rules, rules_for, sentences_key


@dataclass(frozen=True, slots=True)
class Mended:
    """A correction: line, topic, what was done."""

    line: int
    topic: str
    what: str


@dataclass(frozen=True, slots=True)
class Fixed:
    """The corrected file; ``data`` is that of the source if nothing had to be corrected."""

    data: bytes
    changes: tuple[Mended, ...]


def fix_answers(
    source: SourceText, *, topics: Mapping[str, str] | None = None, year: str | None = None
) -> Fixed:
    """Correct a run of answers; lines that are correct, or cannot be read, are left as they are.

    Duplicate references and those over the year's limit are removed. Citations by position are
    renumbered; those out of range, of documents no longer listed, repeated, or over the year's
    limit for a sentence are removed. All sentences but the first may be removed, from the end,
    until the answer is within the limit. Citations in forms that the year does not know, or does
    not allow in one answer, become positions. ``response_length`` is corrected, a missing official
    narrative is added, and NaN becomes null.
    """
    changes: list[Mended] = []
    lines: list[bytes] = []
    for number, line in source.numbered():
        raw = line.encode("utf-8", "surrogatepass") + b"\n"
        try:
            record, had_nan = read_json(line)
        except orjson.JSONDecodeError:
            record, had_nan = None, False
        if isinstance(record, dict):
            done = ["NaN is now null"] * had_nan
            done += _correct(record, RULES[year] if year else rules_for(record), topics or {})
            if done:
                metadata = record.get("metadata")
                holder = metadata if isinstance(metadata, dict) else record
                topic = one_id(holder, "narrative_id", "topic_id", "request_id") or ""
                changes += [Mended(number, topic, what) for what in done]
                raw = dump_line(record)
        lines.append(raw)
    return Fixed(b"".join(lines) if changes else source.data, tuple(changes))


def _correct(record: dict[str, Any], rules: Rules, topics: Mapping[str, str]) -> list[str]:
    """Correct a record in place; return what was done."""
    done: list[str] = []
    key = sentences_key(record, rules)
    if key in record and key != rules.sentences and rules.by is not None:
        renamed = {(rules.sentences if name == key else name): one for name, one in record.items()}
        record.clear()
        record.update(renamed)
        done.append(f"'{key}' is now '{rules.sentences}'")
        key = rules.sentences
    given = record.get(key)
    sentences = given if isinstance(given, list) else []
    references = record.get("references")
    # References come last: until then, positions refer to the original list.
    if rules.max_words is not None:
        done += _cut_sentences(sentences, rules.max_words, rules)
    if isinstance(references, list):
        done += _as_positions(sentences, references, rules)
    for place, item in enumerate(sentences, 1):
        if isinstance(item, dict) and isinstance(item.get("citations"), list):
            done += _clean_citations(item, place, references, rules)
    if isinstance(references, list):
        done += _clean_references(record, references, sentences, rules)
    length = sum(rules.words(text) for text in _texts(sentences))
    stated = record.get("response_length")
    if type(stated) is int and stated != length:
        record["response_length"] = length
        done.append(f"response_length {stated} is now {length}")
    metadata = record.get("metadata")
    if isinstance(metadata, dict) and not metadata.get("narrative"):
        official = topics.get(one_id(metadata, "narrative_id") or "")
        if official is not None:
            metadata["narrative"] = official
            done.append("the narrative was put in")
    return done


def _texts(sentences: list[Any]) -> list[str]:
    return [
        item["text"]
        for item in sentences
        if isinstance(item, dict) and isinstance(item.get("text"), str)
    ]


def _cut_sentences(sentences: list[Any], most: int, rules: Rules) -> list[str]:
    """Remove sentences from the end, but never the only one: its author has to shorten it."""
    before = length = sum(rules.words(text) for text in _texts(sentences))
    cut = 0
    while length > most and len(sentences) > 1:
        length -= sum(rules.words(text) for text in _texts([sentences.pop()]))
        cut += 1
    return [f"{_many(cut, 'sentence')} cut from the end: {before} words are now {length}"] * bool(
        cut
    )


def _as_positions(sentences: list[Any], references: list[Any], rules: Rules) -> list[str]:
    """Turn citations into positions if they are in two forms that the year does not allow in one
    answer, or in a form that it does not know; scores become order. Citations that cannot be
    resolved are left to the other checks."""
    lists = [item for item in sentences if isinstance(item, dict)]
    ways = {way for item in lists for way in _forms(item.get("citations"), references)}
    if rules.by is None or (ways <= rules.by and (rules.mixed or len(ways) < 2)):
        return []
    # Reversed, so that a document that is listed twice gets its first position.
    place = {doc: spot for spot, doc in reversed(list(enumerate(references)))}
    for item in lists:
        given = _ranked(item.get("citations"))
        if isinstance(given, list):
            item["citations"] = [
                place.get(one, one) if isinstance(one, str) else one for one in given
            ]
    return ["citations are now positions in 'references'"]


def _ranked(given: Any) -> Any:
    """Scored citations as a list, highest score first; other citations unchanged."""
    if not isinstance(given, dict):
        return given
    scores = list(given.values())
    if any(isinstance(one, bool) or not isinstance(one, int | float) for one in scores):
        return list(given)
    return sorted(given, key=lambda doc: -given[doc])


def _forms(given: object, references: list[Any]) -> set[CitationForm]:
    if isinstance(given, dict):
        return {CitationForm.SCORE} if given else set()
    listed = given if isinstance(given, list) else []
    ways = {CitationForm.POSITION for one in listed if type(one) is int}
    return ways | {CitationForm.ID for one in listed if isinstance(one, str) and one in references}


def _clean_citations(item: dict[str, Any], place: int, references: Any, rules: Rules) -> list[str]:
    """Remove citations of a sentence that are repeated, over the limit, or out of range."""
    listed = references if isinstance(references, list) else []
    known = set(map(str, references)) if isinstance(references, list) else None
    done: list[str] = []
    found: dict[str, Any] = {}  # by document, as it is cited
    wrong = repeated = 0
    for one in item["citations"]:
        unknown = isinstance(one, str) and known is not None and one not in known
        if unknown and one.strip().isdecimal() and int(one) < len(listed):
            one = int(one)
            done.append(f"sentence {place}: citation '{one}' is now a number")
            unknown = False
        if unknown or not (isinstance(one, str) or (type(one) is int and 0 <= one < len(listed))):
            wrong += 1
        elif (doc := _named(one, references)) in found:
            repeated += 1
        else:
            found[doc] = one
    once = list(found.values())
    if wrong:
        done.append(f"sentence {place}: {_many(wrong, 'citation')} of nothing dropped")
    if repeated:
        done.append(f"sentence {place}: {_many(repeated, 'repeated citation')} dropped")
    most = rules.max_citations
    if most is not None and len(once) > most:
        done.append(f"sentence {place}: the first {most} of {len(once)} citations kept")
        once = once[:most]
    item["citations"] = once
    return done


def _named(one: Any, references: Any) -> str:
    return str(references[one]) if type(one) is int else str(one)


def _clean_references(
    record: dict[str, Any], references: list[Any], sentences: list[Any], rules: Rules
) -> list[str]:
    """Remove duplicate references and those over the limit, and renumber citations."""
    done: list[str] = []
    keys = list(map(str, references))
    remaining = list(dict.fromkeys(keys))
    if len(remaining) < len(keys):
        done.append(f"{_many(len(keys) - len(remaining), 'duplicate reference')} taken out")
    if rules.max_references is not None and len(remaining) > rules.max_references:
        done.append(f"the first {rules.max_references} of {len(remaining)} references kept")
        remaining = remaining[: rules.max_references]
    if not done:
        return []
    first = {one: references[keys.index(one)] for one in remaining}
    place = {one: number for number, one in enumerate(remaining)}
    record["references"] = [first[one] for one in remaining]
    dropped = 0
    for item in sentences:
        if not isinstance(item, dict):
            continue
        given = item.get("citations")
        if isinstance(given, list):
            renumbered = [
                place[_named(one, references)] if type(one) is int else one
                for one in given
                if _named(one, references) in place
            ]
            dropped += len(given) - len(renumbered)
            item["citations"] = renumbered
        elif isinstance(given, dict):
            item["citations"] = {doc: score for doc, score in given.items() if doc in place}
            dropped += len(given) - len(item["citations"])
    if dropped:
        done.append(f"{_many(dropped, 'citation')} of dropped references removed")
    return done


def _many(count: int, what: str) -> str:
    return f"{count} {what}{'s' if count != 1 else ''}"
