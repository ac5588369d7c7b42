"""The sections of a TREC RAG report, as plain values."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import partial

from assay.measures.ranges import Range
from assay.measures.scores import PerTopic
from assay.measures.support import SUPPORT_MEASURES
from assay.model.labels import Label
from assay.model.trec_rag import Importance, RagAnswer, RagNugget, Support
from assay.page.page import Definition
from assay.page.parts import (
    Cited,
    Grid,
    Item,
    Marked,
    MarkedSentence,
    Part,
    Point,
    Scatter,
    Table,
)
from assay.protocols.trec_rag.agreement import Way
from assay.protocols.trec_rag.settings import Sides
from assay.protocols.trec_rag.state import ScoredLabels
from assay.statistics.agreement import label_name

_TRACK = "Overview of the TREC 2025 RAG track"
DEFINITIONS = (
    Definition(
        "strict_vital", "Share of the vital nuggets that the answer fully supports.",
        f"{_TRACK}, 3.2",
    ),
    Definition("vital", "The same with partial support worth one half.", f"{_TRACK}, 3.2"),
    Definition("strict_all", "Share of all nuggets that the answer fully supports.", _TRACK),
    Definition("all", "The same with partial support worth one half.", _TRACK),
    Definition(
        "weighted",
        "(Σ s over vital + ½ Σ s over okay) / (vital + ½ okay), s = 1, ½ or 0.",
        "Pradeep et al. 2025, The great nugget recall",
    ),
    Definition(
        "coverage",
        "Share of the sub-narratives with at least one nugget that the answer fully supports.",
        f"{_TRACK}, 3.2",
    ),
    Definition(
        "weighted_precision",
        "Mean support (1, ½, 0) of the sentences that cite something; 0 where none does.",
        f"{_TRACK}, 3.3; Liu et al. 2023",
    ),
    Definition(
        "weighted_recall",
        "The same over all sentences; one without citations counts 0.",
        f"{_TRACK}, 3.3; Liu et al. 2023",
    ),
    Definition("hard_precision", "weighted_precision with full support alone counted.", _TRACK),
    Definition("hard_recall", "weighted_recall with full support alone counted.", _TRACK),
    Definition(
        "agreement", "Share of the documents of the pool with the same label.", f"{_TRACK}, 3.4"
    ),
    Definition(
        "kappa",
        "Cohen's κ, unweighted, on labels 0 to 4; an undecided document has the label that makes "
        "κ least.",
        f"{_TRACK}, 3.4",
    ),
    Definition(
        "pairs_agree", "Share of pairs of documents of a topic that both order the same way.",
        f"{_TRACK}, 3.4",
    ),
    Definition("pairs_tie", "Share of pairs that one side gives the same label.", _TRACK),
    Definition(
        "pairs_disagree", "Share of pairs ordered in opposite ways, or not judged.", _TRACK
    ),
)  # fmt: skip

_STATED = {1.0: "support", 0.5: "partial", 0.0: "no"}


def facts(state: ScoredLabels) -> tuple[tuple[str, str], ...]:
    """What heads the report."""
    inputs = state.inputs
    nuggets = [len(state.bank.nuggets(topic) or ()) for topic in inputs.topics]
    people = state.bank.book.used.count(lambda label: label.labeller.is_human).get(True, 0)
    every = [
        ("Narratives", f"{len(inputs.topics):,}"),
        ("Retrieval runs", f"{len(inputs.r_runs):,}"),
        ("Runs of answers", f"{len(inputs.answers):,}"),
        ("Judgment runs", f"{len(inputs.rj_runs):,}"),
        ("Segments", f"{len(inputs.segments):,}"),
        ("Nuggets", f"{sum(nuggets):,}"),
        ("Labels by people", f"{people:,}"),
    ]
    return tuple((name, value) for name, value in every if value != "0" or name == "Narratives")


def parts(
    state: ScoredLabels, ways: Sequence[Way], sides: Sequence[Sides], per_topic: PerTopic
) -> tuple[Part, ...]:
    """The sections of the report. ``per_topic`` is run -> measure -> topic -> value."""
    found: list[Part] = [_narratives(state, per_topic)] if per_topic else []
    found += [_settings(kind) for kind in sides]
    if ways:
        found.append(_relevance(ways))
    return tuple(found)


# --- narratives ----------------------------------------------------------------------------------


def _narratives(state: ScoredLabels, per_topic: PerTopic) -> Part:
    numbers = {(one.topic, one.run): at for at, one in enumerate(state.inputs.every_answer)}

    def items(topic: str) -> Iterator[Item]:
        yield _scores(topic, per_topic)
        yield from _heat(state, topic)
        yield from _nugget_table(state, topic)
        every = (numbers.get((topic, run)) for run in state.inputs.answers)
        shown = [number for number in every if number is not None]
        labels = _labels(state, shown)
        for number in shown:
            yield from _answer(state, number, per_topic, labels)

    groups = tuple(
        (
            f"{topic}: {state.bank.narrative(topic) or '(narrative not written yet)'}",
            partial(items, topic),
        )
        for topic in state.inputs.topics
    )
    note = (
        "Each sentence is coloured by the support of the passage it cites: click it for the "
        "passage. Below an answer, its nuggets and what is missing."
    )
    return Part("Narratives", note, groups=groups)


def _scores(topic: str, per_topic: PerTopic) -> Table:
    """Every run's scores on one narrative."""
    measures = list(dict.fromkeys(name for found in per_topic.values() for name in found))
    rows = [
        (run, *(found.get(name, {}).get(topic) for name in measures))
        for run, found in per_topic.items()
    ]
    return Table("Scores on this narrative", ("run", *measures), rows, folded=True)


def _heat(state: ScoredLabels, topic: str) -> list[Item]:
    """Runs by nuggets: what each answer states."""
    standing = state.bank.nuggets(topic)
    table = state.nuggets.get(topic)
    if not standing or table is None or not table.runs:
        return []
    columns = tuple(str(number) for number in range(1, len(standing) + 1))
    cells = [[None if one != one else one for one in row] for row in table.values.tolist()]
    about = {column: one.nugget.text for column, one in zip(columns, standing, strict=True)}
    note = "1 support, 0.5 partial, 0 none. Vital nuggets: " + (
        ", ".join(
            column
            for column, one in zip(columns, standing, strict=True)
            if one.nugget.importance is Importance.VITAL
        )
        or "none"
    )
    return [Grid("Runs by nuggets", table.runs, columns, cells, note=note, about=about, digits=1)]


def _nugget_table(state: ScoredLabels, topic: str) -> list[Item]:
    standing = state.bank.nuggets(topic)
    if not standing:
        return []
    table = state.nuggets.get(topic)
    full = [0] * len(standing) if table is None else (table.values == 1).sum(axis=0).tolist()
    rows = []
    for place, one in enumerate(standing):
        importance = one.nugget.importance
        rows.append(
            (
                place + 1,
                one.nugget.text,
                importance.value if importance else "not said",
                one.nugget.sub_narrative or "none",
                full[place],
                "edited" if one.roots != (one.nugget.text,) else "",
            )
        )
    columns = ("#", "nugget", "importance", "sub-narrative", "answers that state it", "by a person")
    texts = frozenset(("nugget", "sub-narrative"))
    return [Table("Nuggets", columns, rows, texts=texts, folded=True)]


def _labels(state: ScoredLabels, answers: Sequence[int]) -> dict[int, Label]:
    """The labels of the citations of these answers, whole, by number. The ledger must be open."""
    if state.support is None:
        return {}
    labels = state.support.labels
    every = (at for answer in answers for at in state.support.of(answer))
    numbers = {at: number for at in every if (number := int(state.support.label[at])) >= 0}
    found = {at: label for at, one in numbers.items() if (label := labels[one]) is not None}
    return state.bank.book.whole(found)


def _answer(
    state: ScoredLabels, number: int, per_topic: PerTopic, labels: Mapping[int, Label]
) -> Iterator[Item]:
    answer = state.inputs.every_answer[number]
    yield _marked(state, number, per_topic.get(answer.run, {}), labels)
    table = state.nuggets[answer.topic]
    if table.nuggets:
        worth = table.values[table.runs.index(answer.run)].tolist()
        yield _assignments(state, answer, table.nuggets, worth)


def _marked(
    state: ScoredLabels, number: int, scores: Mapping[str, Mapping[str, Range | None]],
    whole: Mapping[int, Label],
) -> Marked:  # fmt: skip
    answer, support = state.inputs.every_answer[number], state.support
    said = iter(()) if support is None else support.said(number)
    labels = iter(() if support is None else support.of(number))
    sentences = []
    first = state.settings.citations == "first"
    for sentence in answer.sentences:
        cited = []
        for doc in sentence.citations:
            segment = state.inputs.segments.get(doc)
            known = next(said, None)
            worth = None if known is None else known.support
            label = whole.get(next(labels, -1))
            given = "" if worth is None else f"given, by {state.settings.given_by_words}"
            who = given if label is None else label.labeller.name
            why = "" if label is None or not label.reason else label.reason
            word = worth.value if worth is not None else "unjudged"
            text = segment.text if segment is not None else ""
            cited.append(Cited(doc, text, word, who, why))
        sentences.append(MarkedSentence(sentence.text, _mark(cited, first), tuple(cited)))
    count = len(answer.sentences)
    note = f"{answer.length} words, {count} sentence{'s' if count != 1 else ''}"
    for name in SUPPORT_MEASURES[:2]:
        value = scores.get(name, {}).get(answer.topic)
        if value is not None:
            note += f"; {name.replace('_', ' ')} {_ends(value)}"
    return Marked(answer.run, tuple(sentences), note)


def _ends(value: Range) -> str:
    low, high = f"{value.floor:.2f}", f"{value.ceiling:.2f}"
    return low if low == high else f"{low} to {high}"


def _mark(cited: Sequence[Cited], first: bool) -> str:
    """The colour of a sentence: that of its first citation, or of the best of all."""
    if not cited:
        return "uncited"
    if first:
        return cited[0].label
    order = [one.value for one in (Support.FULL, Support.PARTIAL, Support.NONE)]
    labels = [one.label for one in cited]
    return next((word for word in order if word in labels), "unjudged")


def _assignments(
    state: ScoredLabels, answer: RagAnswer, nuggets: Sequence[RagNugget], worth: Sequence[float]
) -> Table:
    rows = [
        (
            number,
            one.text,
            one.importance.value if one.importance else "not said",
            one.sub_narrative or "none",
            _STATED.get(value, "no label"),
        )
        for number, (one, value) in enumerate(zip(nuggets, worth, strict=True), 1)
    ]
    covered = {one.sub_narrative for one, value in zip(nuggets, worth, strict=True) if value == 1}
    named = [one.text for one in state.bank.aspects(answer.topic) or ()]
    named += [one.sub_narrative for one in nuggets if one.sub_narrative]
    open_ones = [name for name in dict.fromkeys(named) if name not in covered]
    vital = [
        value
        for one, value in zip(nuggets, worth, strict=True)
        if one.importance is Importance.VITAL
    ]
    unsure = sum(value != value for value in vital)
    missing = sum(value < 1 for value in vital)
    note = f"Missing: {missing} of {len(vital)} vital nuggets"
    if unsure:
        note += f" ({unsure} without a label)"
    if open_ones:
        note += f"; sub-narratives not covered: {'; '.join(open_ones)}"
    columns = ("#", "nugget", "importance", "sub-narrative", "answer")
    texts = frozenset(("nugget", "sub-narrative"))
    title = f"Nuggets of {answer.run}: {note}"
    return Table(title, columns, rows, texts=texts, folded=True)


# --- comparisons ---------------------------------------------------------------------------------


def _settings(sides: Sides) -> Part:
    items: list[Item] = []
    runs = list(dict.fromkeys(run for table in sides.means.values() for run in table))
    for measure in sides.measures:
        rows = [
            (
                run,
                *(
                    table[run][measure].ends if run in table else None
                    for table in sides.means.values()
                ),
            )
            for run in runs
        ]
        items.append(Table(measure, ("run", *sides.means), rows))
    correlations = [
        (f"{pair.first} ↔ {pair.second}", pair.measure, row.setting, row.measure, row.value, row.n)
        for pair in sides.pairs
        for row in pair.report.rows
    ]
    columns = ("settings", "score", "over", "coefficient", "value", "n")
    items.append(Table("Correlations", columns, correlations, folded=True))
    for pair in sides.pairs:
        points = tuple(Point(one.run, one.second, one.first) for one in pair.report.run_means)
        title = f"{pair.measure}: {pair.first} against {pair.second}"
        items.append(Scatter(title, pair.second, pair.first, points, diagonal=True))
    note = (
        "The settings of response evaluation side by side, by the rules of the leaderboards: what "
        "lacks labels in a setting is a range. Correlations and plots are over the topics without "
        "such ranges in the two. τ over runs is what a leaderboard keeps; over all pairs, what "
        "single answers do."
    )
    return Part(f"{sides.title}: manual and automatic", note, tuple(items))


def _relevance(ways: Sequence[Way]) -> Part:
    rows = []
    for way in ways:
        estimates = way.found.estimates
        values = [
            estimates[name].value if name in estimates else None
            for name in ("agreement", "kappa", "kappa_quadratic", "alpha_ordinal")
        ]
        rows.append((way.first, way.second, way.found.n, *values))
    columns = ("labels", "beside", "documents", "agreement", "κ", "κ quadratic", "α ordinal")
    items: list[Item] = [Table("Agreement", columns, rows)]
    for way in ways:
        if way.found.table is None:
            continue  # thousands of labels, which given qrels could hold
        names = tuple(map(label_name, way.found.labels))
        most = max((count for row in way.found.table for count in row), default=1) or 1
        cells = [[float(count) for count in row] for row in way.found.table]
        title = f"{way.first} (rows) beside {way.second} (columns)"
        items.append(Grid(title, names, names, cells, high=float(most), folded=True))
    note = "Relevance labels of the same documents, asked for in several ways or given."
    return Part("Relevance labels beside each other", note, tuple(items))
