"""Nugget banks of questions with gold answers.

* RAGTIME: ``{metadata: {topic_id}, nugget_bank: [{question, aggregator_type, answers: [{answer,
  references: [docid]}]}]}``
* Auto-Judge, format v3: ``{query_id, title_query, nugget_bank: {text: {question, question_id,
  answers: {text: {answer, references: [{doc_id}]}}, aggregator_type, importance?}}, claim_bank}``,
  one bank per file or per line
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from assay.formats.jsonl import one_id, one_text, read_json, read_objects
from assay.formats.parsed import FaultList, Spot
from assay.formats.text import SourceText, reads_file
from assay.model.question_banks import Aggregator, GoldAnswer, GoldQuestion, QuestionBank
from assay.model.trec_rag import Importance, NuggetList, RagNugget
from assay.model.wording import counted, joined, quoted

_TOPIC_KEYS = ("query_id", "topic_id", "qid", "narrative_id", "request_id")
_DEFAULT = {"default": Aggregator.OR, "": Aggregator.OR}


@reads_file
def read_question_banks(source: SourceText, faults: FaultList) -> Mapping[str, QuestionBank]:
    """Read question banks by topic. Questions without answers are kept."""
    found: dict[str, QuestionBank] = {}
    for number, record in _records(source, faults):
        metadata = record.get("metadata")
        holder = {**metadata, **record} if isinstance(metadata, dict) else record
        topic = one_id(holder, *_TOPIC_KEYS)
        if topic is None:
            faults.error(number, "The bank has no topic id.", 'Give "topic_id".')
            continue
        at = faults.at(number, topic)
        given = record.get("nugget_bank", {} if "claim_bank" in record else None)
        if not isinstance(given, dict | list):
            cure = "Write [{question, aggregator_type, answers}]."
            at.error("'nugget_bank' holds no questions.", cure)
            continue
        questions = tuple(
            one for text, item in _items(given) if (one := _question(text, item, at)) is not None
        )
        claims = tuple(text for text, _ in _items(record.get("claim_bank")) if text)
        title = one_text(holder, "title_query", "title", "query") or ""
        bank = QuestionBank(topic, title, questions, claims, number)
        if found.setdefault(topic, bank) is not bank:
            why = f"The topic already has a bank on line {found[topic].line}."
            at.error(why, "Keep one of the two; the first was read.")
        empty = sum(not one.answers for one in questions)
        if empty:
            every = counted(len(questions), "question")
            at.warning(f"No gold answer for {empty} of {every}.", "These are not scored.")
    if not found and not faults.faulty:
        faults.error(0, "The file holds no bank.", "Write one JSON object per topic.")
    return found


def _records(source: SourceText, faults: FaultList) -> Iterator[tuple[int, dict[str, Any]]]:
    """One object per line, or a single object over several lines, with line numbers."""
    first = source.first_line
    if first.strip() == "{" or (first.lstrip()[:1] == "{" and not first.rstrip().endswith("}")):
        try:
            whole, _ = read_json("\n".join(source.lines))
        except ValueError:
            pass
        else:
            yield 1, whole
            return
    yield from read_objects(source, faults)


def _items(given: Any) -> Iterator[tuple[str, Any]]:
    """The entries of a list, or of an object whose keys are the texts."""
    if isinstance(given, dict):
        yield from given.items()
    elif isinstance(given, list):
        yield from (("", one) for one in given)


def _question(key: str, item: Any, at: Spot) -> GoldQuestion | None:
    text = (one_text(item, "question") if isinstance(item, dict) else None) or key
    if not isinstance(item, dict) or not text.strip():
        at.error("A question has no text.", 'Write {"question": …}.')
        return None
    aggregator = str(item.get("aggregator_type") or "").strip()
    kind = _DEFAULT.get(aggregator.casefold()) or next(
        (one for one in Aggregator if one.value == aggregator.upper()), None
    )
    if kind is None:
        why = f"{quoted(text)}: {quoted(aggregator)} is not an aggregator."
        at.error(why, f"Write {joined(Aggregator)}.")
        return None
    answers = []
    for name, answer in _items(item.get("answers")):
        gold = answer if isinstance(answer, str) else None
        if isinstance(answer, dict):
            gold = one_text(answer, "answer", "text") or name
        if gold is None or not gold.strip():
            why = f"An answer of {quoted(text)} has no text."
            at.error(why, 'Write {"answer": …}.')
            continue
        references = answer.get("references") if isinstance(answer, dict) else None
        answers.append(GoldAnswer(gold, tuple(_documents(references))))
    importance = item.get("importance")
    return GoldQuestion(text, kind, tuple(answers), None if importance is None else str(importance))


def _documents(references: Any) -> Iterator[str]:
    for one in references if isinstance(references, list) else ():
        doc = one_id(one, "doc_id", "docid", "id") if isinstance(one, dict) else one
        if doc is not None:
            yield str(doc)


def nuggets_of_bank(bank: QuestionBank) -> NuggetList:
    """Convert a bank to nuggets that a labeller can assign: each gold answer with its question,
    which becomes its sub-narrative so that coverage is over questions, and each claim.

    An importance that is neither vital nor okay is on a numeric scale, which cannot be converted:
    such nuggets are vital.
    """
    nuggets = [
        RagNugget(
            nugget_text(one.text, answer.text),
            Importance.OKAY if one.importance == Importance.OKAY else Importance.VITAL,
            one.text,
            answer.references,
        )
        for one in bank.questions
        for answer in one.answers
    ]
    nuggets += [RagNugget(text, Importance.VITAL) for text in bank.claims]
    return NuggetList(bank.topic, bank.title, tuple(nuggets), bank.line)


def nugget_text(question: str, answer: str) -> str:
    """The text of a nugget made from a question and one of its answers."""
    return f"{question} {answer}"
