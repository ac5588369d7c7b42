"""Everything that the labels of a TREC RAG evaluation say."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import replace

from assay.formats.trec_rag_nuggets import write_assignments, write_nuggets
from assay.formats.trec_rag_passages import write_judgment_run
from assay.formats.trec_rag_support import write_support
from assay.formats.trec_rag_topics import write_sub_narratives
from assay.measures.ranges import Range
from assay.model.trec_rag import NuggetList
from assay.protocols.labels import LabelBook
from assay.protocols.output import csv_bytes
from assay.protocols.results import Board, Findings, Gap
from assay.protocols.scores import Score
from assay.protocols.trec_rag.agreement import (
    RELEVANCE_COLUMNS,
    compare_ways,
    judgment_run,
    judgment_scores,
    relevance_rows,
)
from assay.protocols.trec_rag.bank import Bank
from assay.protocols.trec_rag.inputs import Inputs, TrecRagSettings
from assay.protocols.trec_rag.responses import Responses
from assay.protocols.trec_rag.retrieval import ranked_runs, retrieval_sheet
from assay.protocols.trec_rag.scoring import (
    NUGGET_NAMES,
    Sheet,
    means,
    nugget_sheet,
    support_sheet,
)
from assay.protocols.trec_rag.settings import SETTING_COLUMNS, compare_settings, setting_rows
from assay.protocols.trec_rag.state import State
from assay.protocols.trec_rag.views import DEFINITIONS, facts, parts

RJ_NAMES = ("agreement", "kappa", "pairs_agree", "pairs_tie", "pairs_disagree")

PerRun = dict[str, dict[str, dict[str, Range | None]]]


def score(inputs: Inputs, settings: TrecRagSettings, book: LabelBook) -> Findings:
    """Score every run. Asks nobody; what is missing is counted in ``book``."""
    bank = Bank(inputs, settings, book, counting=True)
    state = State(inputs, settings, bank, Responses(bank))
    scores: dict[str, dict[str, Score]] = {}
    per_topic: PerRun = {}
    _grade(state)
    nuggets, support = _responses(state)
    retrieval = retrieval_sheet(inputs, settings, state.grades)
    for sheet in (retrieval, nuggets, support):
        if sheet is not None:
            _add(sheet, settings, scores, per_topic)
    _count_ungraded(state, scores)
    judged = judgment_scores(inputs, state.grades, settings)
    for name, rows in judged.items():
        scores.setdefault(name, {}).update(rows)
    ways = compare_ways(bank)
    sides = compare_settings(inputs, settings, book)
    files = _files(state)
    if sides:
        files["settings.csv"] = csv_bytes(SETTING_COLUMNS, setting_rows(sides))
    if any(inputs.ranks.values()):
        files["relevance.csv"] = csv_bytes(RELEVANCE_COLUMNS, relevance_rows(bank, state.grades))
    return Findings(
        topics=inputs.topics,
        scores=scores,
        per_topic=per_topic,
        boards=_boards(state, scores),
        definitions=DEFINITIONS,
        facts=facts(state),
        gaps=_gaps(state, nuggets),
        files=files,
        ranked=ranked_runs(
            inputs,
            settings,
            state.grades,
            tuple(state.grades) if retrieval is None else retrieval.topics,
        ),
        parts=parts(state, ways, sides, per_topic),
        document={
            "settings": [
                dict(zip(SETTING_COLUMNS, row, strict=True)) for row in setting_rows(sides)
            ],
            "support_counts": {
                run: {
                    name: sum(getattr(one, name) for one in by_topic.values())
                    for name in ("sentences", "uncited", "unjudged")
                }
                for run, by_topic in state.counts.items()
            },
        },
        warnings=_warnings(state),
    )


def _grade(state: State) -> None:
    """The qrels that retrieval and judgment runs are scored by."""
    for topic in state.inputs.topics:
        found = state.bank.grades(topic)
        known = {doc: grade for doc, grade in found.items() if grade is not None}
        state.ungraded[topic] = len(found) - len(known)
        if known:
            state.grades[topic] = known


def _count_ungraded(state: State, scores: dict[str, dict[str, Score]]) -> None:
    """A topic where some pooled document has no label is counted as missing."""
    count = sum(bool(state.ungraded[topic]) for topic in state.grades)
    for run in state.inputs.r_runs:
        for name in state.settings.measures:
            if count and name in scores.get(run, {}):
                scores[run][name] = replace(scores[run][name], missing=count)


def _responses(state: State) -> tuple[Sheet | None, Sheet | None]:
    """Nugget and support values of every answer."""
    inputs, settings = state.inputs, state.settings
    if not inputs.answers:
        return None, None
    banked = [topic for topic in inputs.topics if state.bank.nuggets(topic) is not None]
    for run, answers in inputs.answers.items():
        for topic in inputs.topics:
            answer = answers.answers.get(topic)
            if answer is None:
                continue
            if topic in banked:
                state.assigned[run, topic] = state.responses.assigned(topic, answer)
            if settings.support or (run, topic) in inputs.support:
                found, labels = state.responses.supported(answer)
                state.supported[run, topic] = found
                state.labels[run, topic] = labels
    nuggets = None
    if banked:
        aspects = {topic: state.bank.aspects(topic) or () for topic in banked}
        nuggets = nugget_sheet(state.assigned.values(), aspects, banked)
        nuggets = _with_every_run(nuggets, inputs)
    support = None
    if state.supported:
        support, state.counts = support_sheet(
            state.supported.values(), settings.citations, inputs.topics
        )
        support = _with_every_run(support, inputs)
    return nuggets, support


def _with_every_run(sheet: Sheet, inputs: Inputs) -> Sheet:
    """The sheet with runs that answer none of its topics: they are silent on all."""
    nothing: dict[str, dict[str, float | None]] = {name: {} for name in sheet.measures}
    empty = {name: frozenset[str]() for name in sheet.measures}
    return Sheet(
        sheet.topics,
        sheet.measures,
        {run: sheet.values.get(run, nothing) for run in inputs.answers},
        sheet.without,
        {run: sheet.missing.get(run, empty) for run in inputs.answers},
    )


def _add(
    sheet: Sheet,
    settings: TrecRagSettings,
    scores: dict[str, dict[str, Score]],
    per_topic: PerRun,
) -> None:
    found = means(
        sheet,
        topics=settings.answers,
        level=settings.level,
        resamples=settings.resamples,
        seed=settings.seed,
    )
    for run, by_measure in found.items():
        scores.setdefault(run, {}).update(by_measure)
        completed = sheet.completed(run, settings.answers)
        mine = per_topic.setdefault(run, {})
        for measure, values in completed.items():
            mine[measure] = {topic: values[topic] for topic in sheet.topics if topic in values}


def _boards(state: State, scores: Mapping[str, Mapping[str, Score]]) -> tuple[Board, ...]:
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
        names = ("weighted_precision", "weighted_recall", "hard_precision", "hard_recall")
        which = "its first citation" if state.settings.citations == "first" else "all citations"
        given = _given_words(state, "support labels", state.inputs.support)
        note = f"A sentence is judged by {which}. {policy}{given}"
        columns: dict[str, dict[str, float | int | str | None]] = {
            name: {
                run: sum(getattr(one, name) for one in by_topic.values())
                for run, by_topic in state.counts.items()
            }
            for name in ("sentences", "uncited", "unjudged")
        }
        boards.append(Board("Answers: support", names, note, columns=columns))
    if "agreement" in kinds:
        note = (
            "Labels of judgment runs against the labels used here, over the documents that have "
            "both. Pairs are two documents of a topic: ordered alike, tied by one side, or "
            "ordered in opposite ways. κ is undefined for a run whose labels are not 0 to 4."
        )
        lower = frozenset({"pairs_disagree"})
        boards.append(Board("Judgment runs", RJ_NAMES, note, lower_is_better=lower))
    return tuple(boards)


def _given_words(state: State, what: str, given: Collection[tuple[str, str]]) -> str:
    """What is said of labels among the inputs, where they count."""
    answers = {(run, topic) for run, one in state.inputs.answers.items() for topic in one.answers}
    count = len(answers.intersection(given))
    if not count or not state.bank.people_given:
        return ""
    return f" The {what} of {count} of {len(answers)} answers are given."


def _relevance_words(state: State) -> str:
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


def _files(state: State) -> dict[str, bytes]:
    """The protocol's own files under ``out/``."""
    inputs, bank = state.inputs, state.bank
    files: dict[str, bytes] = {}
    own = judgment_run(bank, "assay")
    if own is not None:
        files["rj.txt"] = write_judgment_run(own)
    lists = []
    for topic in inputs.topics:
        kept = bank.nuggets(topic)
        if kept is not None:
            nuggets = tuple(one.nugget for one in kept)
            lists.append(NuggetList(topic, bank.narrative(topic) or "", nuggets))
    if lists:
        files["nuggets.jsonl"] = write_nuggets(lists)
    if state.assigned:
        files["assignments.jsonl"] = write_assignments(state.assigned.values())
    if state.supported:
        files["support.jsonl"] = write_support(state.supported.values())
    aspects = {topic: found for topic in inputs.topics if (found := bank.aspects(topic))}
    if aspects:
        texts = [
            one._replace(text=bank.narrative(one.id) or "") for one in inputs.narratives.values()
        ]
        files["sub_narratives.jsonl"] = write_sub_narratives(texts, aspects)
    return files


def _gaps(state: State, nuggets: Sheet | None) -> tuple[Gap, ...]:
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
            so = "They count as 0."
            if state.settings.answers == "answered":
                so = "They are left out of the means."
            said = f"{_many(total, 'topic')} missing from {what} ({names})"
            gaps.append(Gap(total, said, so, grave=False))
    if inputs.answers and state.settings.nuggets:
        without = [topic for topic in inputs.topics if state.bank.nuggets(topic) is None]
        if without:
            names = ", ".join(without[:10])
            said = f"{_many(len(without), 'narrative')} without nuggets yet ({names})"
            gaps.append(Gap(len(without), said, "Their answers have no nugget scores."))
    if nuggets is not None and nuggets.without["strict_vital"]:
        topics = sorted(nuggets.without["strict_vital"])
        said = f"{_many(len(topics), 'narrative')} without vital nuggets ({', '.join(topics[:10])})"
        gaps.append(
            Gap(len(topics), said, "They leave the means of the vital scores.", grave=False)
        )
    unread = _passages_without_text(state)
    if unread:
        said = f"{_many(len(unread), 'cited passage')} without a text among the segments"
        gaps.append(Gap(len(unread), said, "Sentences that cite them are unjudged.", grave=False))
    empty = sum(
        doc not in inputs.segments and doc not in inputs.qrels.get(topic, {})
        for topic in inputs.topics
        for doc in inputs.ranks.get(topic, {})
    )
    if empty:
        said = f"retrieved {_many(empty, 'document')} without a text or a given grade"
        gaps.append(Gap(empty, said, "They count as not relevant.", grave=False))
    return tuple(gaps)


def _passages_without_text(state: State) -> set[str]:
    return {
        doc
        for (run, topic), _ in state.supported.items()
        if (run, topic) not in state.inputs.support
        for sentence in state.inputs.answers[run].answers[topic].sentences
        for doc in sentence.citations[: 1 if state.settings.citations == "first" else None]
        if doc not in state.inputs.segments
    }


def _warnings(state: State) -> tuple[str, ...]:
    found = []
    if state.responses.unmatched:
        found.append(
            f"{len(state.responses.unmatched)} given support labels are of citations that the runs "
            "do not have at that place; they do not count."
        )
    return tuple(found)


def _many(count: int, what: str) -> str:
    return f"{what}{'s' if count != 1 else ''}"
