"""Everything that the labels of a TREC RAG evaluation say."""

from __future__ import annotations

from collections.abc import Collection, Mapping

import numpy as np

from assay.formats.trec_rag_nuggets import write_assignments, write_nuggets
from assay.formats.trec_rag_passages import write_judgment_run
from assay.formats.trec_rag_support import write_support
from assay.formats.trec_rag_topics import write_sub_narratives
from assay.measures.ranges import Range
from assay.measures.scores import Score
from assay.measures.support import SUPPORT_MEASURES, counted_citations
from assay.model.trec_rag import NuggetList
from assay.model.wording import listed, listing, named
from assay.page.page import Board, Gap
from assay.protocols.definitions import JUDGMENTS, NUGGETS, SUPPORT
from assay.protocols.label_sheets import NUGGET_NAMES, SUPPORT_COUNTS, support_sheet
from assay.protocols.labels import LabelBook
from assay.protocols.output import FileData, csv_bytes
from assay.protocols.results import Findings
from assay.protocols.sheets import Sheet, means
from assay.protocols.sides import SETTING_COLUMNS, setting_rows
from assay.protocols.trec_rag.agreement import (
    RELEVANCE_COLUMNS,
    compare_ways,
    judged_shares,
    judgment_run,
    judgment_scores,
    relevance_rows,
)
from assay.protocols.trec_rag.bank import Bank
from assay.protocols.trec_rag.inputs import TrecRagInputs, TrecRagSettings
from assay.protocols.trec_rag.responses import Responses, assigned_answers, bank_sheet
from assay.protocols.trec_rag.retrieval import pooled, ranked_runs, retrieval_sheet
from assay.protocols.trec_rag.settings import compare_settings
from assay.protocols.trec_rag.state import ScoredLabels
from assay.protocols.trec_rag.support import support_labels
from assay.protocols.trec_rag.views import facts, parts
from assay.statistics.judgments import RJ_NAMES

PerRun = dict[str, dict[str, dict[str, Range | None]]]


def score(inputs: TrecRagInputs, settings: TrecRagSettings, book: LabelBook) -> Findings:
    """Score every run. Asks nobody; what is missing is counted in ``book``."""
    bank = Bank(inputs, settings, book)
    state = ScoredLabels(inputs, settings, bank, pooled(bank))
    scores: dict[str, dict[str, Score]] = {}
    per_topic: PerRun = {}
    nuggets, support = _responses(state)
    for sheet in (retrieval_sheet(inputs, settings, state.pool), nuggets, support):
        if sheet is not None:
            _add(sheet, settings, scores, per_topic)
    for name, rows in judgment_scores(inputs, state.pool, settings).items():
        scores.setdefault(name, {}).update(rows)
    ways = compare_ways(bank)
    sides = compare_settings(inputs, settings, book)
    files = _files(state)
    if sides:
        files["settings.csv"] = csv_bytes(SETTING_COLUMNS, setting_rows(sides))
    if any(inputs.ranks.values()):
        files["relevance.csv"] = csv_bytes(
            RELEVANCE_COLUMNS, relevance_rows(bank, state.pool.grades)
        )
    return Findings(
        topics=inputs.topics,
        scores=scores,
        per_topic=per_topic,
        boards=_boards(state, scores),
        definitions=(*NUGGETS, *SUPPORT, *JUDGMENTS),
        facts=facts(state),
        given=_given(state),
        gaps=_gaps(state, nuggets, support),
        files=files,
        ranked=ranked_runs(inputs, settings, state.pool),
        parts=lambda: parts(state, ways, sides, per_topic),
        document=lambda: {
            "settings": [
                dict(zip(SETTING_COLUMNS, row, strict=True)) for row in setting_rows(sides)
            ],
            "support_counts": state.counts,
        },
        warnings=_warnings(state),
        topic_texts={one: bank[one].narrative or "" for one in inputs.topics},
    )


def _responses(state: ScoredLabels) -> tuple[Sheet | None, Sheet | None]:
    """Nugget and support values of every answer."""
    inputs, settings = state.inputs, state.settings
    if not inputs.answers:
        return None, None
    state.nuggets = {one.topic: one for one in Responses(state.bank).nugget_tables()}
    nuggets = bank_sheet(state.bank, state.nuggets.values())
    if not (settings.support or inputs.support) or not inputs.every_answer:
        return nuggets, None
    state.support = support_labels(state.bank)
    support, state.counts = support_sheet(
        state.support.cited, settings.citations, inputs.topics, runs=inputs.answers
    )
    return nuggets, support


def _add(
    sheet: Sheet,
    settings: TrecRagSettings,
    scores: dict[str, dict[str, Score]],
    per_topic: PerRun,
) -> None:
    found = means(sheet, topics=settings.answers, **settings.resampling)
    for run, by_measure in found.items():
        scores.setdefault(run, {}).update(by_measure)
        per_topic.setdefault(run, {}).update(sheet.completed(run, settings.answers))


def _boards(state: ScoredLabels, scores: Mapping[str, Mapping[str, Score]]) -> tuple[Board, ...]:
    """A leaderboard for each kind of run that there is."""
    policy = {
        "all": "A run gets 0 on a topic that it does not answer.",
        "answered": "Topics that a run does not answer are left out of its means.",
    }[state.settings.answers]
    boards = []
    kinds = {name for by_run in scores.values() for name in by_run}
    names = state.settings.measures
    if kinds.intersection(names):
        note = f"{policy} Relevance: {_relevance_words(state)}."
        boards.append(Board("Retrieval runs", names, note))
    if "strict_vital" in kinds:
        note = f"{policy}{_given_words(state, 'assignments', state.inputs.assignments)}"
        boards.append(Board("Answers: nuggets", NUGGET_NAMES, note))
    if "weighted_precision" in kinds:
        which = "its first citation" if state.settings.citations == "first" else "all citations"
        given = _given_words(state, "support labels", state.inputs.support)
        note = f"A sentence is judged by {which}. {policy}{given}"
        columns = {
            name: {run: one[name] for run, one in state.counts.items()} for name in SUPPORT_COUNTS
        }
        boards.append(Board("Answers: support", SUPPORT_MEASURES, note, columns=columns))
    if "agreement" in kinds:
        note = (
            "Labels of judgment runs against the labels used here, over the whole pool: a document "
            "that a run leaves undecided counts as a wrong label. Pairs are two documents of a "
            "topic: ordered alike, tied by one side, or ordered in opposite ways (or undecided). "
            "κ is undefined for a run whose labels are not 0 to 4. The last column is the share of "
            "the pool that a run judged."
        )
        lower = frozenset({"pairs_disagree"})
        shares = {"judged": judged_shares(state.inputs, state.pool)}
        boards.append(Board("Judgment runs", RJ_NAMES, note, lower_is_better=lower, columns=shares))
    return tuple(boards)


def _given(state: ScoredLabels) -> str:
    """Which labels that count are among the inputs, and whose."""
    inputs = state.inputs
    every = (
        ("relevance", inputs.qrels), ("assignments", inputs.assignments),
        ("support", inputs.support),
    )  # fmt: skip
    kinds = [name for name, labels in every if labels]
    if not kinds or not state.bank.people_given:
        return ""
    return f"{listing(kinds)} as {state.settings.given_by_words} gave it in the inputs"


def _given_words(state: ScoredLabels, what: str, given: Collection[tuple[str, str]]) -> str:
    """What is said of labels among the inputs, where they count."""
    answers = {(run, topic) for run, one in state.inputs.answers.items() for topic in one.answers}
    count = len(answers.intersection(given))
    if not count or not state.bank.people_given:
        return ""
    return f" The {what} of {count} of {len(answers)} answers are given."


def _relevance_words(state: ScoredLabels) -> str:
    given = bool(state.inputs.qrels) and state.bank.people_given
    way = state.settings.relevance
    asked = {
        "counted": "labels 0 to 4, by the sub-narratives that a document answers",
        "at-once": "labels 0 to 4",
        "0-3": "labels 0 to 3",
        "yes-no": "labels yes or no",
        "none": "",
    }[way]
    if given and asked:
        return f"the given qrels, else {asked}"
    return "the given qrels" if given else asked


def _files(state: ScoredLabels) -> dict[str, FileData]:
    """The protocol's own files under ``out/``."""
    inputs, bank = state.inputs, state.bank
    files: dict[str, FileData] = {}
    own = judgment_run(bank, "assay")
    if own is not None:
        files["rj.txt"] = write_judgment_run(own)
    lists = []
    for topic in inputs.topics:
        standing = bank[topic].nuggets
        if standing is not None:
            nuggets = tuple(one.nugget for one in standing)
            lists.append(NuggetList(topic, bank[topic].narrative or "", nuggets))
    if lists:
        files["nuggets.jsonl"] = write_nuggets(lists)
    if inputs.every_answer:
        files["assignments.jsonl"] = lambda: write_assignments(
            assigned_answers(bank, state.nuggets)
        )
    support = state.support
    if support is not None:
        files["support.jsonl"] = lambda: write_support(support.records())
    aspects = {topic: found for topic in inputs.topics if (found := bank[topic].aspects)}
    if aspects:
        texts = [
            one._replace(text=bank[one.id].narrative or "") for one in inputs.narratives.values()
        ]
        files["sub_narratives.jsonl"] = write_sub_narratives(texts, aspects)
    return files


def _gaps(state: ScoredLabels, nuggets: Sheet | None, support: Sheet | None) -> tuple[Gap, ...]:
    inputs = state.inputs
    gaps = []
    for what, runs in (
        ("answers", {name: run.answers.keys() for name, run in inputs.answers.items()}),
        ("retrieval runs", {name: run.scores.keys() for name, run in inputs.r_runs.items()}),
    ):
        silent = {
            name: sum(topic not in known for topic in inputs.topics) for name, known in runs.items()
        }
        total = sum(silent.values())
        if total:
            names = ", ".join(f"{name}: {count}" for name, count in silent.items() if count)
            so = "Counted as 0."
            if state.settings.answers == "answered":
                so = "Left out of the means."
            said = f"{named(total, 'topic')} missing from {what} ({names})"
            gaps.append(Gap(total, said, so, grave=False))
    unscored = [topic for topic in inputs.topics if topic not in state.pool.topics]
    without = [topic for topic in inputs.topics if state.bank[topic].nuggets is None]
    plain = (
        [one for one in nuggets.without("strict_vital") if one not in without] if nuggets else []
    )
    makes = bool(state.settings.nuggets)
    open_ones = "The nugget scores of all answers are 0 to 1 there."
    for topics, what, so, grave in (
        (unscored if inputs.r_runs and state.pool.topics else (), "qrels",
         "No retrieval run is scored on them.", False),
        (without if inputs.answers and nuggets else (), "nuggets yet",
         open_ones if makes else "No run has nugget scores there.", makes),
        (plain, "vital nuggets", "No run has vital scores there.", False),
    ):  # fmt: skip
        if topics:
            said = f"{named(len(topics), 'narrative')} without {what} ({listed(topics, 10)})"
            gaps.append(Gap(len(topics), said, so, grave=grave))
    if support is not None:
        unjudged = {run: found for run in support.values if (found := support.unjudged(run))}
        count = sum(map(len, unjudged.values()))
        if unjudged:
            names = "; ".join(f"{run}: {listed(found, 10)}" for run, found in unjudged.items())
            said = f"{named(count, 'answer')} of which every cited sentence is unjudged ({names})"
            so = "The topics are left out of the means of these runs."
            gaps.append(Gap(count, said, so, grave=False))
    unread = _passages_without_text(state)
    if unread:
        said = f"{named(len(unread), 'cited passage')} without a text among the segments"
        so = "Their labels are missing: their support is none to full."
        gaps.append(Gap(len(unread), said, so))
    empty = sum(
        doc not in inputs.segments
        for topic in state.pool.topics
        for doc in state.pool.missing[topic]
    )
    if empty:
        said = f"retrieved {named(empty, 'document')} without a text or a given grade"
        so = f"Their labels are missing: their grades are 0 to {state.pool.highest}."
        gaps.append(Gap(empty, said, so))
    return tuple(gaps)


def _passages_without_text(state: ScoredLabels) -> set[str]:
    """Cited passages that lack a label because they lack a text."""
    if state.support is None:
        return set()
    cited = state.support.cited
    lacking = cited.missing & counted_citations(cited.cited, state.settings.citations)
    docs = {state.support.docs[at] for at in np.flatnonzero(lacking).tolist()}
    return docs - state.inputs.segments.keys()


def _warnings(state: ScoredLabels) -> tuple[str, ...]:
    found = []
    if state.support is not None and state.support.unmatched:
        found.append(
            f"{state.support.unmatched} given support labels are of citations that the runs "
            "do not have at that place; they do not count."
        )
    return tuple(found)
