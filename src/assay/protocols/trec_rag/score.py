"""Everything that the labels of a TREC RAG evaluation say."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping

from assay.formats.trec_rag_nuggets import write_assignments, write_nuggets
from assay.formats.trec_rag_passages import write_judgment_run
from assay.formats.trec_rag_support import write_support
from assay.formats.trec_rag_topics import write_sub_narratives
from assay.measures.ranges import Range
from assay.measures.scores import Score
from assay.measures.support import SUPPORT_MEASURES
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
from assay.protocols.trec_rag.bank import Bank
from assay.protocols.trec_rag.inputs import TrecRagInputs, TrecRagSettings
from assay.protocols.trec_rag.responses import Responses, assigned_answers, bank_sheet
from assay.protocols.trec_rag.retrieval import (
    RELEVANCE_COLUMNS,
    compare_ways,
    judged_shares,
    judgment_run,
    judgment_scores,
    pooled,
    ranked_runs,
    relevance_rows,
    retrieval_sheet,
)
from assay.protocols.trec_rag.settings import compare_settings
from assay.protocols.trec_rag.support import support_labels
from assay.protocols.trec_rag.views import ScoredLabels, facts, parts
from assay.statistics.judgments import RJ_NAMES

PerRun = dict[str, dict[str, dict[str, Range | None]]]


def score(inputs: TrecRagInputs, settings: TrecRagSettings, book: LabelBook) -> Findings:
    """Score every run. Asks nobody; what is missing is counted in ``book``."""
    bank = Bank(inputs, settings, book)
    state = ScoredLabels(bank, pooled(bank))
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
        gaps=tuple(_gaps(state, nuggets, support)),
        files=files,
        ranked=ranked_runs(inputs, settings, state.pool) if state.pool.judged else None,
        parts=lambda: parts(state, ways, sides, per_topic),
        document=lambda: {
            "settings": [
                dict(zip(SETTING_COLUMNS, row, strict=True)) for row in setting_rows(sides)
            ],
            "support_counts": state.counts,
        },
        warnings=tuple(_warnings(state)),
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
        note = f"{policy}{_given_words(state, 'assignments', state.bank.given.assignments)}"
        boards.append(Board("Answers: nuggets", NUGGET_NAMES, note))
    if "weighted_precision" in kinds:
        which = "its first citation" if state.settings.citations == "first" else "all citations"
        given = _given_words(state, "support labels", state.bank.given.support)
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
    inputs = state.bank.given
    every = {
        "relevance": inputs.qrels, "assignments": inputs.assignments, "support": inputs.support,
    }  # fmt: skip
    kinds = [name for name, labels in every.items() if labels]
    by = state.settings.given_by_words
    return f"{listing(kinds)} as {by} gave it in the inputs" if kinds else ""


def _given_words(state: ScoredLabels, what: str, given: Collection[tuple[str, str]]) -> str:
    """What is said of labels among the inputs, where they count."""
    answers = {(one.run, one.topic) for run in state.inputs.answers.values()
               for one in run.answers.values()}  # fmt: skip
    count = len(answers.intersection(given))
    return f" The {what} of {count} of {len(answers)} answers are given." if count else ""


def _relevance_words(state: ScoredLabels) -> str:
    way = state.settings.relevance
    asked = {
        "counted": "labels 0 to 4, by the sub-narratives that a document answers",
        "at-once": "labels 0 to 4",
        "0-3": "labels 0 to 3",
        "yes-no": "labels yes or no",
        "none": "",
    }[way]
    given = "the given qrels" if state.bank.given.qrels else ""
    return ", else ".join(filter(None, (given, asked)))


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


def _gaps(state: ScoredLabels, nuggets: Sheet | None, support: Sheet | None) -> Iterator[Gap]:
    inputs, pool = state.inputs, state.pool
    counts = "Left out of the means." if state.settings.answers == "answered" else "Counted as 0."
    for what, runs in (
        ("answers", {name: run.answers.keys() for name, run in inputs.answers.items()}),
        ("retrieval runs", {name: run.scores.keys() for name, run in inputs.r_runs.items()}),
    ):
        silent = {name: len(set(inputs.topics) - known) for name, known in runs.items()}
        if total := sum(silent.values()):
            names = ", ".join(f"{name}: {count}" for name, count in silent.items() if count)
            said = f"{named(total, 'topic')} missing from {what} ({names})"
            yield Gap(total, said, counts, grave=False)
    unscored = [topic for topic in inputs.topics if topic not in pool.topics]
    without = [topic for topic in inputs.topics if state.bank[topic].nuggets is None]
    plain = set(nuggets.without("strict_vital")) - set(without) if nuggets else set()
    makes = bool(state.settings.nuggets)
    open_ones = "The nugget scores of all answers are 0 to 1 there."
    for topics, what, so, grave in (
        (unscored if inputs.r_runs and pool.topics else (), "qrels",
         "No retrieval run is scored on them.", False),
        (without if inputs.answers and nuggets else (), "nuggets yet",
         open_ones if makes else "No run has nugget scores there.", makes),
        ([one for one in inputs.topics if one in plain], "vital nuggets",
         "No run has vital scores there.", False),
    ):  # fmt: skip
        if topics:
            said = f"{named(len(topics), 'narrative')} without {what} ({listed(topics, 10)})"
            yield Gap(len(topics), said, so, grave=grave)
    left_out = {run: support.unjudged(run) for run in support.values} if support else {}
    if unjudged := {run: topics for run, topics in left_out.items() if topics}:
        count = sum(map(len, unjudged.values()))
        names = "; ".join(f"{run}: {listed(found, 10)}" for run, found in unjudged.items())
        said = f"{named(count, 'answer')} of which every cited sentence is unjudged ({names})"
        yield Gap(count, said, "The topics are left out of the means of these runs.", grave=False)
    unread = set(state.support.lacking(state.settings.citations)) if state.support else set()
    if unread := unread - inputs.segments.keys():
        said = f"{named(len(unread), 'cited passage')} without a text among the segments"
        yield Gap(len(unread), said, "Their labels are missing: their support is none to full.")
    if empty := sum(one not in inputs.segments for docs in pool.missing.values() for one in docs):
        said = f"retrieved {named(empty, 'document')} without a text or a given grade"
        so = f"Their labels are missing: their grades are 0 to {pool.highest}."
        yield Gap(empty, said, so)


def _warnings(state: ScoredLabels) -> Iterator[str]:
    if state.support is not None and state.support.unmatched:
        yield (
            f"{state.support.unmatched} given support labels are of citations that the runs "
            "do not have at that place; they do not count."
        )
