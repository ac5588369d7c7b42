"""Scores, files and tables from the labels of a TREC RAG evaluation."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import replace
from functools import partial
from itertools import compress

from assay.formats.trec_rag_nuggets import write_assignments, write_nuggets
from assay.formats.trec_rag_passages import write_judgment_run
from assay.formats.trec_rag_support import write_support
from assay.formats.trec_rag_topics import write_sub_narratives
from assay.measures.names import parse_measure
from assay.measures.ranges import Range
from assay.measures.scores import PerTopic, Scores
from assay.measures.support import SUPPORT_MEASURES
from assay.model.trec_rag import NuggetList
from assay.model.wording import and_list, joined, noun
from assay.page.page import Board, Gap
from assay.protocols.definitions import glossary
from assay.protocols.judgment_runs import judgment_board, judgment_scores, own_judgment_run
from assay.protocols.label_sheets import NUGGET_NAMES, SUPPORT_COUNTS, support_sheet
from assay.protocols.labels import LabelBook
from assay.protocols.means import score_table
from assay.protocols.output import FileData, csv_lines
from assay.protocols.ranked_scores import score_rankings
from assay.protocols.results import Findings
from assay.protocols.trec_rag.bank import Bank
from assay.protocols.trec_rag.inputs import TrecRagInputs, TrecRagSettings
from assay.protocols.trec_rag.responses import Responses, bank_sheet
from assay.protocols.trec_rag.retrieval import (
    RELEVANCE_COLUMNS,
    compare_gradings,
    ranked_runs,
    relevance_rows,
)
from assay.protocols.trec_rag.support import support_labels
from assay.protocols.trec_rag.views import ScoredLabels, facts, parts
from assay.tasks.trec_rag import WAYS, grade_of


def findings(inputs: TrecRagInputs, settings: TrecRagSettings, book: LabelBook) -> Findings:
    """Score every run. Asks nobody; what is missing is counted in ``book``."""
    bank = Bank(inputs, settings, book)
    state = _scored(bank)
    per_topic: dict[str, dict[str, Mapping[str, Range | None]]] = {}
    tables: list[PerTopic] = [score_rankings(state.ranked)]
    sheets = (state.nugget_sheet, state.support_sheet)
    tables += [one.per_topic(settings.answers) for one in sheets if one is not None]
    for values in tables:
        for run, by_measure in values.items():
            per_topic.setdefault(run, {}).update(by_measure)
    scores = score_table(per_topic, settings)
    judged, shares = judgment_scores(
        inputs.rj_runs, state.ranked, settings.highest, settings.resampling
    )
    for name, rows in judged.items():
        scores.setdefault(name, {}).update(rows)
    ways = compare_gradings(bank.relevance)
    files = _files(state)
    if any(inputs.ranks.values()):
        files["relevance.csv"] = lambda: csv_lines(
            RELEVANCE_COLUMNS, relevance_rows(bank.relevance)
        )
    return Findings(
        topics=inputs.topics,
        scores=scores,
        per_topic=per_topic,
        boards=tuple(_boards(state, scores, shares)),
        definitions=(*glossary("nuggets"), *glossary("support"), *glossary("judgments")),
        facts=facts(state),
        given=_given(state),
        gaps=tuple(_gaps(state)),
        files=files,
        commands=tuple(_commands(files, settings)),
        ranked=state.ranked if any(state.ranked.qrels.values()) else None,
        parts=lambda: parts(state, ways, per_topic),
        # "settings" is always present; PeopleBeside.document replaces the empty list.
        document=lambda: {"settings": [], "support_counts": state.counts},
        topic_texts={one: bank[one].narrative or "" for one in inputs.topics},
    )


def _scored(bank: Bank) -> ScoredLabels:
    """The grades of documents, and the labels of nuggets and support with their values."""
    inputs, settings, ranked = bank.inputs, bank.settings, ranked_runs(bank.relevance)
    nuggets = {one.topic: one for one in Responses(bank).nugget_tables()}
    found = ScoredLabels(bank, ranked, nuggets, bank_sheet(bank, nuggets.values()))
    if not (settings.support or inputs.support) or not inputs.every_answer:
        return found
    support = support_labels(bank)
    sheet, counts = support_sheet(
        support.cited, settings.citations, inputs.topics, runs=inputs.answers
    )
    return replace(found, support=support, support_sheet=sheet, counts=counts)


def _boards(
    state: ScoredLabels, scores: Scores, shares: Mapping[str, float | None]
) -> Iterator[Board]:
    """A leaderboard for each kind of run."""
    settings, given = state.settings, state.bank.given
    policy = {
        "all": "A run gets 0 on a topic that it does not answer.",
        "answered": "Topics that a run does not answer are left out of its means.",
    }[settings.answers]
    kinds = {name for by_run in scores.values() for name in by_run}
    if kinds.intersection(settings.measures):
        note = f"{policy} Relevance: {_relevance_words(state)}."
        yield Board("Retrieval runs", settings.measures, note)
    if "strict_vital" in kinds:
        note = f"{policy}{_given_words(state, 'assignments', given.assignments)}"
        yield Board("Answers: nuggets", NUGGET_NAMES, note)
    if "weighted_precision" in kinds:
        which = "its first citation" if settings.citations == "first" else "all citations"
        given_note = _given_words(state, "support labels", given.support)
        note = f"A sentence is judged by {which}. {policy}{given_note}"
        columns = {
            name: {run: one[name] for run, one in state.counts.items()} for name in SUPPORT_COUNTS
        }
        yield Board("Answers: support", SUPPORT_MEASURES, note, columns=columns)
    if "agreement" in kinds:
        yield judgment_board(shares)


def _given(state: ScoredLabels) -> str:
    """Which labels that count are among the inputs, and whose they are."""
    given = state.bank.given
    kinds = {"relevance": given.qrels, "assignments": given.assignments, "support": given.support}
    names = [name for name, labels in kinds.items() if labels]
    by = state.settings.given_by_words
    return f"{and_list(names)} as {by} gave it in the inputs" if names else ""


def _given_words(state: ScoredLabels, what: str, given: Collection[tuple[str, str]]) -> str:
    """A note on labels among the inputs, if they count."""
    answers = {(one.run, one.topic) for one in state.inputs.every_answer}
    count = len(answers.intersection(given))
    return f" The {what} of {count} of {len(answers)} answers are given." if count else ""


def _relevance_words(state: ScoredLabels) -> str:
    way = state.settings.relevance
    asked = "" if way == "none" else WAYS[way].words
    given = "the given qrels" if state.bank.given.qrels else ""
    return ", else ".join(filter(None, (given, asked)))


def _files(state: ScoredLabels) -> dict[str, FileData]:
    """The protocol's own files under ``out/``."""
    inputs, bank = state.inputs, state.bank
    files: dict[str, FileData] = {}
    for way in state.settings.ways[:1]:  # the main way, if there is any
        judged, grade = bank.relevance.judged(way), partial(grade_of, way)
        own = own_judgment_run("assay", bank.relevance.pool, *judged, grade)
        if own is not None:
            files["rj.txt"] = write_judgment_run(own)
    lists = [
        NuggetList(topic, bank[topic].narrative or "", tuple(one.nugget for one in standing))
        for topic in inputs.topics
        if (standing := bank[topic].nuggets) is not None
    ]
    if lists:
        files["nuggets.jsonl"] = write_nuggets(lists)
    if inputs.every_answer:
        files["assignments.jsonl"] = lambda: write_assignments(
            (one, bank[one.topic].narrative or "", table.nuggets, table.assigned(one.run))
            for one in inputs.every_answer
            for table in (state.nuggets[one.topic],)
        )
    if (support := state.support) is not None:
        files["support.jsonl"] = lambda: write_support(inputs.every_answer, support.cited.said)
    aspects = {topic: found for topic in inputs.topics if (found := bank[topic].aspects)}
    if aspects:
        texts = [
            one._replace(text=bank[one.id].narrative or "") for one in inputs.narratives.values()
        ]
        files["sub_narratives.jsonl"] = write_sub_narratives(texts, aspects)
    return files


def _commands(files: Mapping[str, FileData], settings: TrecRagSettings) -> Iterator[str]:
    """The commands that reproduce the scores of answers from the files."""
    if "assignments.jsonl" in files:
        aspects = " --sub-narratives sub_narratives.jsonl" * ("sub_narratives.jsonl" in files)
        yield f"assay nuggets assignments.jsonl{aspects} --topics {settings.answers}"
    if "support.jsonl" in files:
        which = f"--citations {settings.citations} --topics {settings.answers}"
        yield f"assay support support.jsonl {which}"


def _gaps(state: ScoredLabels) -> Iterator[Gap]:
    inputs, ranked = state.inputs, state.ranked
    nuggets, support = state.nugget_sheet, state.support_sheet
    counts = "Left out of the means." if state.settings.answers == "answered" else "Counted as 0."
    for what, runs in (
        ("answers", {name: run.answers.keys() for name, run in inputs.answers.items()}),
        ("retrieval runs", {name: run.scores.keys() for name, run in inputs.r_runs.items()}),
    ):
        silent = {name: len(set(inputs.topics) - known) for name, known in runs.items()}
        total = sum(silent.values())
        names = ", ".join(f"{name}: {count}" for name, count in silent.items() if count)
        gap = f"{noun(total, 'topic')} missing from {what} ({names})"
        yield Gap(total, gap, counts, grave=False)
    unscored = [topic for topic in inputs.topics if topic not in ranked.qrels]
    without = [topic for topic in inputs.topics if state.bank[topic].nuggets is None]
    plain = set(nuggets.without("strict_vital")) - set(without) if nuggets else set()
    makes = bool(state.settings.nuggets)
    open_ones = "All nugget scores range from 0 to 1 there."
    for topics, what, so, grave in (
        (unscored if inputs.r_runs and ranked.topics else (), "qrels",
         "No retrieval run is scored on them.", False),
        (without if inputs.answers and nuggets else (), "nuggets yet",
         open_ones if makes else "No run has nugget scores there.", makes),
        ([one for one in inputs.topics if one in plain], "vital nuggets",
         "No run has vital scores there.", False),
    ):  # fmt: skip
        gap = f"{noun(len(topics), 'narrative')} without {what} ({joined(topics, 10)})"
        yield Gap(len(topics), gap, so, grave=grave)
    first = parse_measure(state.settings.measures[0]) if state.settings.measures else None
    unjudged = ranked.unjudged(first.k) if first else {}
    at = f" at ranks 1 to {first.k}" if first and first.k else ""
    count = sum(lacking for lacking, _ in unjudged.values())
    shares = (f"{run}: {100 * lacking / of:.0f} %" for run, (lacking, of) in unjudged.items())
    gap = f"retrieved {noun(count, 'document')}{at} not judged ({joined(shares, 10)})"
    yield Gap(count, gap, "Counted as not relevant, as trec_eval does.", grave=False)
    stray = state.bank.lost_edits()
    of = joined((f"{topic}: {n}" for topic, n in stray.items()), 10)
    count = sum(stray.values())
    gap = f"{noun(count, 'edit')} of nuggets that are no longer in the list ({of})"
    so = (
        "They have no effect: the list was made again, because other documents are relevant now. "
        "Give the list that people edit as [inputs] nuggets."
    )
    yield Gap(count, gap, so, grave=False)
    left_out = {run: support.unjudged(run) for run in support.values} if support else {}
    count = sum(map(len, left_out.values()))
    names = "; ".join(f"{run}: {joined(found, 10)}" for run, found in left_out.items() if found)
    gap = f"{noun(count, 'answer')} whose cited sentences are all unjudged ({names})"
    yield Gap(count, gap, "The topics are left out of the means of these runs.", grave=False)
    count = 0
    if state.support is not None:
        cited = state.support.cited
        lacking = cited.missing & cited.counting(state.settings.citations)
        count = len(set(compress(cited.docs, lacking.tolist())) - inputs.segments.keys())
    gap = f"{noun(count, 'cited passage')} without a text among the segments"
    yield Gap(count, gap, "Their labels are missing, so their support ranges from none to full.")
    count = sum(one not in inputs.segments for docs in ranked.rising.values() for one in docs)
    gap = f"retrieved {noun(count, 'document')} without a text or a given grade"
    so = f"Their labels are missing, so their grades range from 0 to {state.settings.highest}."
    if inputs.qrels:
        so += ' If the given qrels are complete, set relevance = "none".'
    yield Gap(count, gap, so)
