"""Scores, files and tables from the labels of a RAG application's runs."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from functools import cache, partial

import numpy as np

from assay.formats.jsonl import dump_line
from assay.measures.claims import (
    ANSWER_CELLS,
    REFERENCE_CELLS,
    ClaimLabels,
    cell_of_answer_claim,
    cell_of_reference_claim,
    utilization,
)
from assay.measures.ranges import OPEN, Range
from assay.measures.scores import Score
from assay.model.records import HISTORY_VERSION, Record
from assay.model.wording import joined, noun
from assay.page.page import Board, Gap
from assay.protocols.definitions import glossary
from assay.protocols.labels import LabelBook
from assay.protocols.means import mean_score, scores_by_category
from assay.protocols.rag.inputs import RagInputs, RagSettings
from assay.protocols.rag.judged import JudgedRecord, RecordWalk
from assay.protocols.rag.scoring import (
    LOWER,
    Values,
    decline_precision,
    scores,
    worst,
)
from assay.protocols.rag.views import parts
from assay.protocols.ranked import Ranked
from assay.protocols.ranked_scores import score_rankings
from assay.protocols.results import Findings

ANSWERS = (
    "Faithfulness", "Correct", "ClaimF1", "ClaimPrecision", "ClaimRecall", "AnswerRelevance",
    "CitationPrecision", "CitationRecall", "Faithfulness~", "ClaimRecall~",
)  # fmt: skip
REFUSALS = ("DeclinedWrongly", "DeclinedRightly", "DeclinePrecision")
PASSAGES = (
    "ContextPrecision", "ContextRecall", "ContextRelevance", "ContextAP",
    "ContextPrecision(claims)", "ContextRecall~",
)  # fmt: skip
_BRIEF = ("Faithfulness", "Correct", "ClaimF1", "AnswerRelevance")


Judged = Mapping[str, Mapping[str, JudgedRecord]]
"""run → question → the judged record, for every record that exists."""


def findings(inputs: RagInputs, settings: RagSettings, book: LabelBook) -> Findings:
    """Score every run. Asks nobody; what is missing is counted in ``book``."""
    walk = RecordWalk(inputs, settings, book)
    judged: dict[str, dict[str, JudgedRecord]] = {run: {} for run in inputs.runs}
    for record in inputs.records():
        judged[record.run][record.id] = walk.judged(record)
        walk.take()
    values = {
        run: {
            question: _values(inputs, settings, run, question, judged[run].get(question))
            for question in inputs.questions
        }
        for run in inputs.runs
    }
    ranked, rankings = _rankings(inputs, judged, settings)
    names = [*ANSWERS, *REFUSALS, *PASSAGES, *ANSWER_CELLS, *REFERENCE_CELLS]
    per_topic: dict[str, dict[str, Mapping[str, Range | None]]] = {}
    for run, by_question in values.items():
        own = {
            name: {question: of[name] for question, of in by_question.items() if name in of}
            for name in names
            if name != "ContextAP" or inputs.ranked[run]
        }
        every = {**own, **rankings.get(run, {})}
        per_topic[run] = {name: of for name, of in every.items() if of}
    questions = list(inputs.questions)
    table = _table(inputs, judged, per_topic, settings, questions)
    return Findings(
        topics=tuple(inputs.questions),
        scores=table,
        per_topic=per_topic,
        boards=tuple(
            _boards(table, settings, _open(inputs, lacking=bool(book.missing or book.failed)))
        ),
        definitions=glossary("rag"),
        facts=tuple(_facts(inputs)),
        gaps=tuple(_gaps(inputs)),
        files=dict(_files(inputs, judged)),
        ranked=ranked,
        parts=partial(parts, inputs, judged),
        warnings=tuple(_warnings(inputs)),
        topic_texts={name: one.question for name, one in inputs.questions.items()},
        by_category=cache(
            partial(
                scores_by_category,
                [one.category for one in inputs.questions.values()],
                lambda at: _table(inputs, judged, per_topic, settings, [questions[n] for n in at]),
                table,
            )
        ),
        grounds={
            "splitter": "rag.claims" if inputs.splits else "sentences",
            "history": HISTORY_VERSION,
        },
    )


def _values(
    inputs: RagInputs, settings: RagSettings, run: str, question: str, judged: JudgedRecord | None
) -> Values:
    about, half = inputs.questions[question], settings.partial == "half"
    if not about.answerable:
        if judged is None:
            return {"DeclinedRightly": Range.certain(0.0)}
        declined = judged.declined
        return {"DeclinedRightly": OPEN if declined is None else Range.certain(float(declined))}
    if judged is None:
        return worst(reference=bool(about.references), cites=inputs.cites, half=half)
    record = inputs.runs[run][question]
    return scores(record, judged, cites=inputs.cites, half=half, citations=settings.citations)


# -- tables ---------------------------------------------------------------------------------------


def _table(
    inputs: RagInputs,
    judged: Judged,
    per_topic: Mapping[str, Mapping[str, Mapping[str, Range | None]]],
    settings: RagSettings,
    questions: list[str],
) -> dict[str, dict[str, Score]]:
    """The means over some questions, and the ratios of totals."""
    table: dict[str, dict[str, Score]] = {}
    for run, by_measure in per_topic.items():
        rows: dict[str, Score] = {}
        for name, of in by_measure.items():
            some = [of[one] for one in questions if one in of]
            if some:
                rows[name] = mean_score(run, name, some, settings)
        own = {one: judged[run][one] for one in questions if one in judged[run]}
        totals = {
            "DeclinePrecision": decline_precision(
                (one.declined, inputs.questions[q].answerable) for q, one in own.items()
            ),
            "Utilization": _utilization(own.values()),
        }
        for name, ends in totals.items():
            if ends is not None:
                count = len(questions)
                open_ones = count if ends.value is None else 0
                rows[name] = Score.between(run, name, ends, topics=count, missing=open_ones)
        table[run] = rows
    return table


def _utilization(judged: Iterable[JudgedRecord]) -> Range | None:
    """Utilization over the references' claims; unknown until all of these are known."""
    every = [one for one in judged if one.references]
    if any(not one.split for one in every):
        return OPEN
    labels = [one.best() for one in every]
    return utilization([one for one in labels if one is not None])


def _rankings(
    inputs: RagInputs, every: Judged, settings: RagSettings
) -> tuple[Ranked | None, Mapping[str, Mapping[str, Mapping[str, Range | None]]]]:
    """The runs' passages as rankings, with the passages of all runs as the ideal. Passages are
    identified by their text: the same text with the same id in several runs is one document."""
    runs = [run for run, ranked in inputs.ranked.items() if ranked]
    topics = [name for name, one in inputs.questions.items() if one.answerable]
    qrels: dict[str, dict[str, float]] = {topic: {} for topic in topics}
    rising: dict[str, dict[str, float]] = {}
    texts: dict[tuple[str, str], str | None] = {}
    shown: dict[str, dict[str, list[str]]] = {run: {} for run in runs}
    for run in runs:
        for topic in topics:
            judged = every[run].get(topic)
            if judged is None:
                continue
            passages = inputs.runs[run][topic].passages
            for passage, grade in zip(passages, judged.grades, strict=True):
                name = passage.id
                if texts.setdefault((topic, name), passage.text) != passage.text:
                    name = f"{passage.id}@{run}"
                shown[run].setdefault(topic, []).append(name)
                qrels[topic][name] = 0.0 if np.isnan(grade) else grade
                if np.isnan(grade):
                    rising.setdefault(topic, {})[name] = 3.0
    if not any(qrels.values()):
        return None, {}
    ranked = Ranked(
        topics, qrels, shown, {name: name for name in settings.measures}, g_max=3.0, rising=rising
    )
    return ranked, score_rankings(ranked)


def _open(inputs: RagInputs, *, lacking: bool) -> Mapping[str, str]:
    """By run, why values are unknown that no label could settle; labels may also be ``lacking``."""
    found = {}
    for run, records in inputs.runs.items():
        passages = [one for record in records.values() for one in record.passages]
        why = [
            reason
            for reason, applies in (
                ("answers are cut", any(one.truncated for one in records.values())),
                ("passages are cut", any(one.truncated for one in passages)),
                ("passages have no text", any(one.text is None for one in passages)),
            )
            if applies
        ]
        if why:
            found[run] = ", ".join([*why, *(["labels are missing"] if lacking else [])])
    return found


def _boards(
    table: Mapping[str, Mapping[str, Score]], settings: RagSettings, why: Mapping[str, str]
) -> Iterator[Board]:
    known = dict.fromkeys(name for of in table.values() for name in of)
    for title, names, note in (
        ("Answers", ANSWERS, "Refusing an answerable question or answering nothing is the worst."),
        ("Passages", (*PASSAGES, *settings.measures),
         "ContextAP’s ideal is what was retrieved; that of ranking measures is all runs’ pool."),
        ("Refusals", REFUSALS, "An empty answer to an answerable question counts as declined."),
        ("Where claims of the answers come from", ANSWER_CELLS, "The six sum to 1."),
        ("What became of the references", (*REFERENCE_CELLS, "Utilization"),
         "The first four sum to 1."),
    ):  # fmt: skip
        shown = tuple(name for name in names if name in known)
        if shown:
            brief = {name: name for name in _BRIEF if name in shown}
            yield Board(
                title, shown, note, frozenset(LOWER & set(shown)), brief=brief, why_open=why
            )


# -- what is said ---------------------------------------------------------------------------------


def _facts(inputs: RagInputs) -> Iterator[tuple[str, str]]:
    answerable = [one for one in inputs.questions.values() if one.answerable]
    yield "Questions", f"{len(inputs.questions):,}"
    yield "Answerable", f"{len(answerable):,}"
    yield "With references", f"{sum(bool(one.references) for one in answerable):,}"
    yield "Runs", f"{len(inputs.runs):,}"
    yield "A claim is", "a claim by rag.claims" if inputs.splits else "a sentence"


def _gaps(inputs: RagInputs) -> Iterator[Gap]:
    """Missing records, empty answers, and passages without text."""
    for run, of in inputs.runs.items():
        absent = [name for name in inputs.questions if name not in of]
        has = noun(len(absent), "question has", "questions have")
        what = f"{has} no record of {run} ({joined(absent, 10)})"
        yield Gap(len(absent), what, "Each counts as the worst.", grave=False)
    empty = sum(not one.answer for one in inputs.records())
    what = noun(empty, "answer is empty", "answers are empty")
    yield Gap(empty, what, "Each counts as the worst.", grave=False)
    cut = sum(one.truncated for one in inputs.records())
    what = noun(cut, "answer is cut", "answers are cut")
    yield Gap(cut, what, "No labels are asked for: all its scores are open.", grave=False)
    passages = [one for record in inputs.records() for one in record.passages]
    so = "What they support is unknown. Give their texts in [inputs] passages."
    bare, short = (sum(one.text is None for one in passages), sum(p.truncated for p in passages))
    yield Gap(bare, noun(bare, "passage has no text", "passages have no text"), so, grave=False)
    yield Gap(short, noun(short, "passage is cut", "passages are cut"), so, grave=False)


def _warnings(inputs: RagInputs) -> Iterator[str]:
    unranked = [run for run, ranked in inputs.ranked.items() if not ranked]
    if unranked:
        yield (
            f"Passages of several retrievers were combined in {joined(unranked, 10)}. They have no "
            "order to score, so ContextAP and the ranking measures leave "
            f"{'it' if len(unranked) == 1 else 'these'} out."
        )
    if not any(one.references for one in inputs.questions.values()):
        yield "No question has a reference, so measures that need one are absent, not 0."
    errors = sum(one.error is not None for one in inputs.records())
    if errors:
        one, many = (
            "record holds an error and counts as an answer",
            "records hold an error and count as answers",
        )
        yield f"{errors:,} {noun(errors, one, many)} of nothing."


# -- files ----------------------------------------------------------------------------------------


def _files(inputs: RagInputs, every: Judged) -> Iterator[tuple[str, bytes]]:
    claims: list[bytes] = []
    support: list[bytes] = []
    passages: list[bytes] = []
    for record in inputs.records():
        judged = every[record.run][record.id]
        claims += map(dump_line, _claim_rows(record, judged))
        support += map(dump_line, _support_rows(record, judged))
        passages += [
            dump_line({"run": record.run, "id": record.id, "rank": n, "passage": one.id,
                       "grade": None if np.isnan(grade) else int(grade), "text": one.text})
            for n, (one, grade) in enumerate(zip(record.passages, judged.grades, strict=True), 1)
        ]  # fmt: skip
    yield "claims.jsonl", b"".join(claims)
    yield "entailment.jsonl", b"".join(support)
    yield "passages.jsonl", b"".join(passages)


def _claim_rows(record: Record, judged: JudgedRecord) -> Iterator[dict[str, object]]:
    labels = judged.best()
    about = {"run": record.run, "id": record.id}
    for n, claim in enumerate(judged.claims or ()):
        cell = None if labels is None else cell_of_answer_claim(labels, n)
        yield {**about, "side": "answer", "n": n + 1, "claim": claim, "cell": cell}
    for m, (claims, own) in enumerate(zip(judged.references, _by_reference(judged), strict=True)):
        for n, claim in enumerate(claims or ()):
            cell = None if own is None else cell_of_reference_claim(own, n)
            side = "reference" if len(judged.references) == 1 else f"reference {m + 1}"
            yield {**about, "side": side, "n": n + 1, "claim": claim, "cell": cell}


def _by_reference(judged: JudgedRecord) -> list[ClaimLabels | None]:
    """The labels against each reference, None if its claims are not known."""
    waiting = iter(judged.labels())
    return [None if claims is None else next(waiting) for claims in judged.references]


def _support_rows(record: Record, judged: JudgedRecord) -> Iterator[dict[str, object]]:
    tables = [("answer", judged.e), *((f"reference {n}", r) for n, r in enumerate(judged.r, 1))]
    for side, table in tables:
        for claim, row in enumerate(table.tolist(), 1):
            for passage, worth in zip(record.passages, row, strict=True):
                entailed = None if worth != worth else worth == 1.0
                yield {"run": record.run, "id": record.id, "side": side, "n": claim,
                       "passage": passage.id, "entailed": entailed}  # fmt: skip
