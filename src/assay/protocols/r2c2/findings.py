"""Scores, files and tables from the labels of an R2C2 evaluation: steps 5 and 6."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict
from functools import cache, partial
from sys import intern

from assay.formats.confidence import COLUMNS as CONFIDENCE_COLUMNS
from assay.formats.r2c2_ac import AnswerRunFile, write_marked
from assay.measures.names import parse_measure
from assay.measures.scores import Score
from assay.model.rag import Mark, PassageKey
from assay.protocols import relevance
from assay.protocols.answers.columns import JudgedAnswers, JudgedRun
from assay.protocols.answers.results import AnswerFindings
from assay.protocols.confidence_scores import Abstention
from assay.protocols.labels import LabelBook
from assay.protocols.means import score_table, scores_by_category
from assay.protocols.output import FileData, csv_bytes, csv_lines
from assay.protocols.r2c2 import views
from assay.protocols.r2c2.inputs import R2c2Inputs, R2C2Settings
from assay.protocols.ranked import Ranked
from assay.protocols.ranked_scores import score_rankings
from assay.protocols.results import Findings, Unlabelled
from assay.protocols.scores import score_document
from assay.tasks.r2c2 import ENTAILMENT

ByKey = Mapping[str, Mapping[PassageKey, int]]


class DerivedGrades:
    """Step 6: the grade of (question, PassageKey) is the number of relevant nuggets that cite it
    over all AC runs, for every passage of every PR run (``known``). ``rising`` is the number of
    nuggets that cite it, lack a mark and may be relevant: by so much grades may rise."""

    def __init__(self, inputs: R2c2Inputs) -> None:
        self.known = {one.id: dict.fromkeys(inputs.passages(one.id), 0) for one in inputs.questions}
        self.rising: dict[str, Counter[PassageKey]] = {}

    def add(self, found: JudgedAnswers) -> None:
        """Count the nuggets of some answers."""
        for question, key in found.cited(Mark.RELEVANT):
            self.known[question][key] += 1
        for question, key in found.cited(None):
            self.rising.setdefault(question, Counter())[key] += 1


def findings(
    inputs: R2c2Inputs,
    settings: R2C2Settings,
    judged: Mapping[str, JudgedRun],
    derived: DerivedGrades,
    book: LabelBook,
) -> Findings:
    """Scores, files and tables from judged answers and derived grades."""
    grades, rising = derived.known, derived.rising
    ranked = ranked_passages(inputs, settings, grades, rising)
    topics = {question.id: question.category for question in inputs.questions}
    verdicts = {name: found.stated() for name, found in judged.items()}
    values = score_rankings(ranked)

    def table(places: list[int]) -> dict[str, dict[str, Score]]:
        some = [ranked.topics[place] for place in places]
        return {
            **{name: one.only(places).scores(name, settings) for name, one in verdicts.items()},
            **score_table(values, settings, some),
        }

    scores = table(list(range(len(topics))))
    of_answers = {name: scores[name] for name in judged}
    attempted = {
        name: one.attempted(name, settings, scores[name]) for name, one in verdicts.items()
    }
    found = AnswerFindings(
        questions=inputs.questions,
        pr_runs=inputs.pr_runs,
        answers=judged,
        notes={name: of.notes() for name, of in judged.items()},
        grades=grades,
        no_relevant=tuple(
            topic for topic in topics if topic not in rising and not any(grades[topic].values())
        ),
        failed_nuggets=book.failed[ENTAILMENT.name],
        helps_open=sum(of.helps_open() for of in judged.values()),
        relevance=relevance.check_relevance(
            settings.relevance_check, inputs.every_passage(), grades, book
        ),
    )

    @cache
    def abstention() -> dict[str, Abstention]:
        return {name: Abstention.of(one.answers) for name, one in verdicts.items()}

    return Findings(
        topics=ranked.topics,
        scores=scores,
        per_topic={**{name: of.per_topic() for name, of in judged.items()}, **values},
        boards=tuple(views.boards(found, judged, settings, attempted, scores)),
        definitions=views.definitions(found),
        facts=views.facts(found, book.used),
        lede=views.lede(found, of_answers),
        nothing=views.nothing_missing(found),
        gaps=tuple(views.gaps(found)),
        files=dict(_files(inputs, found, judged)),
        commands=(
            f"assay confidence confidence.csv --bins {settings.bins}"
            + " --left-closed" * (settings.bins_closed == "left"),
        ),
        ranked=ranked,
        parts=lambda: views.parts(found, verdicts, of_answers, abstention(), settings, book.used),
        document=lambda: {
            "attempted": [score_document(one) for by in attempted.values() for one in by.values()],
            "abstention": {name: one.document() for name, one in abstention().items()},
            "runs": {name: asdict(notes) for name, notes in found.notes.items()},
        },
        more_scores={"attempted": attempted},
        by_category=cache(lambda: scores_by_category(topics.values(), table, scores) or {}),
        unlabelled=Unlabelled(found.unlabelled, "answers, nuggets or passages"),
        detail=found,
        topic_texts={question.id: question.text for question in inputs.questions},
    )


def _files(
    inputs: R2c2Inputs, found: AnswerFindings, judged: Mapping[str, JudgedRun]
) -> Iterator[tuple[str, FileData]]:
    every = judged.values()
    yield (
        "confidence.csv",
        lambda: csv_lines(CONFIDENCE_COLUMNS, (row for one in every for row in one.confidences())),
    )
    if found.relevance is not None:
        passages = (
            p for run in inputs.pr_runs.values() for of in run.passages.values() for p in of
        )
        rows = relevance.relevance_rows(found.relevance, passages, found.grades)
        yield "relevance.csv", csv_bytes(relevance.COLUMNS, rows)
    for name, file in inputs.ac_files.items():
        yield f"marked/{name}.txt", partial(_marked, file, judged[name])


def _marked(file: AnswerRunFile, judged: JudgedRun) -> Iterable[bytes]:
    return (write_marked(file, dict(judged.marks())),)


# -- passages -------------------------------------------------------------------------------------


def ranked_passages(
    inputs: R2c2Inputs, settings: R2C2Settings, grades: ByKey, rising: ByKey
) -> Ranked:
    """The PR runs as rankings of relevance units, with grades that may rise. A unit is a passage,
    or all passages with the same document and text."""
    rankings: dict[str, dict[str, list[str]]] = {name: {} for name in inputs.pr_runs}
    qrels: dict[str, dict[str, float]] = {}
    more: dict[str, dict[str, float]] = {}
    for topic in (question.id for question in inputs.questions):
        units: dict[PassageKey, str] = {}
        first: dict[tuple[str, str], str] = {}
        for name, run in inputs.pr_runs.items():
            shown: dict[str, None] = {}
            for passage in run.passages.get(topic, ()):
                unit = own = intern(str(passage.key))
                if settings.merge_identical:
                    unit = first.setdefault((passage.doc, passage.text), own)
                units[passage.key] = unit
                # A repeated unit counts at its first rank. The repetition keeps its own rank
                # under its own key, which has no grade, as its unit has another key.
                shown[own if unit in shown else unit] = None
            rankings[name][topic] = list(shown)
        qrels[topic] = _by_unit(grades[topic], units)
        if topic in rising:
            more[topic] = _by_unit(rising[topic], units)
    highest = max((g for judged in qrels.values() for g in judged.values()), default=0.0)
    return Ranked(
        topics=list(qrels),
        qrels=qrels,
        runs=rankings,
        measures={str(parse_measure(name)): name for name in settings.measures},
        g_max=max(settings.g_max or 0.0, highest) or 1.0,
        own_ideal=settings.ideal == "own",
        rising=more,
    )


def _by_unit(grades: Mapping[PassageKey, int], units: Mapping[PassageKey, str]) -> dict[str, float]:
    found: dict[str, float] = {}
    for key, grade in grades.items():
        found[units[key]] = found.get(units[key], 0.0) + grade
    return found
