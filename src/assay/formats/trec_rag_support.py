"""Support labels: how far each cited passage supports its sentence.

``{topic_id|narrative_id, run_id, sentences: [{sentenceID, text, citations: [{citationID,
reference, support}]}]}``; ``support`` is ``"2"`` full, ``"1"`` partial, ``"0"`` none, ``"-1"``
unjudged, null where the label is missing. Real files write ``sentenceId`` and ``citationId`` as
well, and numbers without quotes.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from assay.formats.jsonl import dump_line, one_id, one_text, read_objects
from assay.formats.naming import run_name
from assay.formats.parsed import FaultList, Spot
from assay.formats.reasons import rationale_of
from assay.formats.text import SourceText, reads_file
from assay.model.trec_rag import CitedSupport, JudgedSentence, RagAnswer, Support, SupportAnswer
from assay.model.wording import quoted

CODES: Mapping[Support | None, str] = {
    Support.FULL: "2",
    Support.PARTIAL: "1",
    Support.NONE: "0",
    None: "-1",
}
"""How labels are written."""

_LABELS: Mapping[str, Support | None] = {code: label for label, code in CODES.items()} | {
    "full_support": Support.FULL,
    "fs": Support.FULL,
    "partial_support": Support.PARTIAL,
    "ps": Support.PARTIAL,
    "no_support": Support.NONE,
    "ns": Support.NONE,
}
_TOPIC_KEYS = ("topic_id", "narrative_id", "qid", "request_id")
_UNKNOWN = object()


@reads_file
def read_support(source: SourceText, faults: FaultList) -> tuple[SupportAnswer, ...]:
    """Read support labels, one record per answer. Sentences and citations keep the file's order.

    A citation with ``-1`` is unjudged; with null, or without ``support``, its label is missing.
    """
    found: dict[tuple[str, str], SupportAnswer] = {}
    for number, record in read_objects(source, faults):
        metadata = record.get("metadata")
        holder = {**metadata, **record} if isinstance(metadata, dict) else record
        topic = one_id(holder, *_TOPIC_KEYS)
        if topic is None:
            faults.error(number, "The record has no topic id.", 'Give "narrative_id".')
            continue
        run = (one_text(holder, "run_id") or "").strip() or run_name(source.path)
        at = faults.at(number, topic)
        given = record.get("sentences", record.get("answer"))
        if not isinstance(given, list):
            cure = "Write a list, [] for none."
            if "nuggets" in record:
                cure = "Is it a file of nuggets? 'assay nuggets' scores assignments."
            at.error("'sentences' is not a list.", cure)
            continue
        sentences = tuple(
            sentence
            for place, item in enumerate(given, 1)
            if (sentence := _sentence(item, place, at)) is not None
        )
        answer = SupportAnswer(run, topic, sentences, number)
        first = found.setdefault((run, topic), answer)
        if first is not answer:
            at.twice(run, first.line)
    if not found:
        faults.error(0, "The file holds no answer.", "Write one JSON object per answer.")
    return tuple(found.values())


def _sentence(item: Any, place: int, at: Spot) -> JudgedSentence | None:
    citations = item.get("citations", []) if isinstance(item, dict) else None
    if not isinstance(citations, list):
        cure = 'Write {"sentenceID": …, "text": …, "citations": […]}.'
        at.error(f"Sentence {place} has no list of citations.", cure)
        return None
    found = []
    for spot, one in enumerate(citations, 1):
        label = _label(one.get("support")) if isinstance(one, dict) else _UNKNOWN
        if label is _UNKNOWN or not isinstance(one, dict):
            shown = quoted(str(one.get("support"))) if isinstance(one, dict) else quoted(str(one))
            at.error(
                f"Sentence {place}, citation {spot}: {shown} is not a support label.",
                'Write "2" full, "1" partial, "0" none or "-1" unjudged.',
            )
            continue
        reference = one_id(one, "reference", "docid", "segment_id") or ""
        unjudged = label is None and one.get("support") is not None
        why = rationale_of(one)
        found.append(CitedSupport(reference, label, unjudged, why))  # type: ignore[arg-type]
    return JudgedSentence(one_text(item, "text", "sentence") or "", tuple(found))


def _label(value: object) -> object:
    """The label, None if unjudged, ``_UNKNOWN`` if it is not a label."""
    if value is None:
        return None
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    if isinstance(value, int) and not isinstance(value, bool):
        value = str(value)
    if not isinstance(value, str):
        return _UNKNOWN
    # The minus sign of -1 is kept.
    return _LABELS.get(re.sub(r"[\s-]+(?!\d)", "_", value.strip().casefold()), _UNKNOWN)


def write_support(
    answers: Iterable[RagAnswer], labels: Iterable[tuple[Support | None, bool]]
) -> Iterator[bytes]:
    """Lines of support labels in the track's format, from answers and, for all of their citations
    in turn, the label and whether it was left unjudged. A missing label is null."""
    codes = (CODES[label] if label is not None or open_one else None for label, open_one in labels)
    for one in answers:
        yield dump_line(
            {
                "narrative_id": one.topic,
                "run_id": one.run,
                "sentences": [
                    {
                        "sentenceID": number,
                        "text": text,
                        "citations": [
                            {"citationID": place, "reference": doc, "support": code}
                            # docs comes first: zip then stops without taking a code that belongs
                            # to the next sentence.
                            for place, (doc, code) in enumerate(zip(docs, codes, strict=False))
                        ],
                    }
                    for number, (text, docs) in enumerate(one.sentences)
                ],
            }
        )
