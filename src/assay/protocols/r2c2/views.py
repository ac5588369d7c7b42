"""What people are shown of an R2C2 evaluation: leaderboards, sections, and what is missing."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

from assay.measures.confidence import LOWER_IS_BETTER
from assay.measures.scores import Score, Scores, ranks
from assay.model.wording import counted, listing, named
from assay.page.page import Board, Definition, Gap
from assay.page.parts import Part
from assay.protocols.confidence_parts import Stated, confidence_parts
from assay.protocols.confidence_scores import Abstention
from assay.protocols.definitions import CONFIDENCE, RANKING
from assay.protocols.pages import best_in_words
from assay.protocols.places import UsedLabels, WhereUsed
from assay.protocols.r2c2.acts import IN_WORDS
from assay.protocols.r2c2.cards import question_part
from assay.protocols.r2c2.inputs import R2C2Settings
from assay.protocols.r2c2.results import Found, RunNotes
from assay.protocols.r2c2.scores import AC_MEASURES, PRECISION, Verdicts
from assay.protocols.relevance import relevance_part

DEFINITIONS = (
    *CONFIDENCE,
    Definition(
        PRECISION,
        "Relevant nuggets over all nuggets of a question (0 without nuggets), averaged over the"
        " questions. Relevant: entailed by its passage and of help in finding a right answer."
        " Bogus: not entailed. Higher is better.",
        "R2C2 task paper, step 5",
    ),
    *RANKING,
)


# -- leaderboards ---------------------------------------------------------------------------------


def answer_board(found: Found, attempted: Scores) -> Board:
    """The leaderboard of the answering runs."""
    declined = [f"{run}: {n}" for run, one in found.notes.items() if (n := one.declined)]
    note = (
        "Below a run’s name: what it left out or declined, and the labels that are missing. "
        "Attempted: without the questions that a run left out or declined."
    )
    answers = [one for by_question in found.answers.values() for one in by_question.values()]
    if answers and all(one.act is None for one in answers):
        note += " Nobody labelled which answers decline, so that attempted scores are ranges."
    return Board(
        "Answering runs",
        AC_MEASURES,
        note,
        LOWER_IS_BETTER,
        {
            f"{name} attempted": {run: scores.get(name) for run, scores in attempted.items()}
            for name in ("HMR", "Accuracy")
        },
        apart=frozenset(("Accuracy", "ECE")),
        remarks={run: _counts(notes) for run, notes in found.notes.items()},
        below=f"Questions declined ({listing(declined)})." if declined else "",
        brief={
            "HMR": "HMR",
            "Accuracy": "Accuracy",
            "R_O": "R_O",
            "R_U": "R_U",
            PRECISION: "NugP",
            "ECE": "ECE",
        },
        by_category=("Accuracy", "HMR", PRECISION),
    )


def _counts(notes: RunNotes) -> tuple[str, ...]:
    """What must be known beside a run's scores, only what is not zero."""
    parts = (
        (len(notes.left_out), "left out"),
        (notes.declined, "declined"),
        (notes.missing_answers, f"{named(notes.missing_answers, 'label')} missing"),
        (notes.failed_answers, "failed"),
        (notes.carried_answers, "carried"),
        (notes.unmarked_nuggets, f"{named(notes.unmarked_nuggets, 'nugget')} unmarked"),
    )
    return tuple(f"{n:,} {words}" for n, words in parts if n)


def passage_board(
    found: Found,
    settings: R2C2Settings,
    measures: Sequence[str],
    scores: Mapping[str, Mapping[str, Score]],
) -> Board:
    """The leaderboard of the passage runs."""
    own = "the run’s own passages" if settings.ideal == "own" else "the passages of all runs"
    note = (
        "Nobody assessed these passages. The grade of a passage is the number of relevant nuggets "
        f"that cite it, over all answering runs. The ideal list of a question is taken from {own}."
    )
    if settings.merge_identical:
        note += " Identical passages of several runs are one relevance unit."
    unsure = max((score.missing for by in scores.values() for score in by.values()), default=0)
    if unsure:
        note += f" In {counted(unsure, 'question')} labels are missing: grades may still rise."
    relevant = {run: [0, 0] for run in found.pr_runs}
    for grades in found.grades.values():
        with_one = Counter(key.run for key, grade in grades.items() if grade)
        for run, n in with_one.items():
            relevant[run][0] += n
            relevant[run][1] += 1
    passages = {name: run.passages for name, run in found.pr_runs.items()}
    silent = {
        run: sum(not own.get(question.id) for question in found.questions)
        for run, own in passages.items()
    }
    return Board(
        "Passage runs",
        tuple(measures),
        note,
        columns={
            "Passages": {run: sum(map(len, own.values())) for run, own in passages.items()},
            "Relevant": {run: n for run, (n, _) in relevant.items()},
            "Questions with one": {run: n for run, (_, n) in relevant.items()},
        },
        remarks={
            run: (f"{counted(n, 'question')} without a passage",) if n else ()
            for run, n in silent.items()
        },
    )


# -- what heads the page --------------------------------------------------------------------------


def lede(found: Found, scores: Scores) -> tuple[str, ...]:
    """The first sentences: what there is, and who is best."""
    runs = counted(len(found.answers), "answering run"), counted(len(found.pr_runs), "passage run")
    words = ("the highest HMR", "the highest accuracy")
    best = best_in_words(scores, ("HMR", "Accuracy"), words)
    said = f"{runs[0]} and {runs[1]} on {counted(len(found.questions), 'question')}."
    return (said, best) if best else (said,)


def facts(found: Found, used: UsedLabels) -> tuple[tuple[str, str], ...]:
    """What heads the report."""
    marks: Counter[str] = Counter()
    for notes in found.notes.values():
        marks.update(notes.marks)
    passages = sum(len(p) for run in found.pr_runs.values() for p in run.passages.values())
    people = used.count(lambda label: label.labeller.is_human).get(True, 0)
    return (
        ("Questions", f"{len(found.questions):,}"),
        ("Answering runs", f"{len(found.answers):,}"),
        ("Passage runs", f"{len(found.pr_runs):,}"),
        ("Passages", f"{passages:,}"),
        ("Nuggets R · N · B", " · ".join(f"{marks[mark]:,}" for mark in "RNB")),
        ("Labels by people", f"{people:,}"),
    )


def nothing_missing(found: Found) -> str:
    """What was checked where there are no :func:`gaps`."""
    relevant = "; every question has a relevant passage." if found.pr_runs else "."
    said = "Every run answers every question, and every answer and every nugget has a usable label"
    return said + relevant


def gaps(found: Found) -> tuple[Gap, ...]:
    """What is missing, gravest first; empty where nothing is."""
    return tuple(_gaps(found))


def _gaps(found: Found) -> Iterator[Gap]:
    held = "What hangs on them is a range, from the worst to the best that it can be."
    notes = list(found.notes.values())
    by_run: tuple[tuple[Sequence[int], str, str, str, bool], ...] = (
        (
            [one.missing_answers for one in notes],
            "answer has no label yet", "answers have no label yet",
            f"{held} “assay judge” asks for the labels that are missing.", True,
        ),
        (
            [one.failed_answers for one in notes],
            "answer could not be labelled: the labeller failed",
            "answers could not be labelled: the labeller failed", held, True,
        ),
        (
            [one.unmarked_nuggets for one in notes],
            "nugget has no mark: its label is missing or failed",
            "nuggets have no mark: their labels are missing or failed",
            "Nugget precision and the scores of passage runs are ranges.", True,
        ),
        (
            [one.carried_answers for one in notes],
            "answer label is carried over", "answer labels are carried over",
            "Given before a person changed the mark of some nugget of the answer.", False,
        ),
        (
            [len(one.left_out) for one in notes],
            "question was left out by a run", "questions were left out by runs",
            (
                "Counted as wrong with an unknown confidence: HMR, R_O, R_U and the calibration "
                "measures are ranges, from the worst answer there could have been to confidence 0."
            ),
            False,
        ),
    )  # fmt: skip
    for counts, one, many, so, grave in by_run:
        if n := sum(counts):
            where = [f"{note.run}: {n}" for note, n in zip(notes, counts, strict=True) if n]
            yield Gap(n, f"{named(n, one, many)} ({listing(where)})", so, grave)
    if found.relevance is not None and (n := found.relevance.missing):
        what = f"{named(n, 'passage')} judged on {named(n, 'its', 'their')} own without a label"
        yield Gap(n, what, "The check of the derived grades is without them.")
    if n := len(found.no_relevant):
        what = named(n, "question has no relevant passage", "questions have no relevant passage")
        which = listing(list(found.no_relevant), most=30)
        yield Gap(n, f"{what} ({which})", "Every PR run scores 0 there.", False)
    if n := sum(not any(by.values()) for by in found.grades.values()) - len(found.no_relevant):
        what = (
            named(n, "question has", "questions have")
            + " no passage yet that is known to be relevant"
        )
        yield Gap(n, what, "That hangs on nuggets without a mark.", False)


# -- sections -------------------------------------------------------------------------------------


def parts(
    found: Found,
    verdicts: Mapping[str, Verdicts],
    scores: Scores,
    abstention: Mapping[str, Abstention],
    settings: R2C2Settings,
    used: UsedLabels,
) -> Iterator[Part]:
    """The sections of the report, the runs by HMR."""
    order = list(ranks({run: scores[run] for run in found.answers}, "HMR"))
    runs = [
        Stated(run, verdicts[run].answers, scores[run], abstention[run], _about(found.notes[run]))
        for run in order
    ]
    yield from confidence_parts(runs, settings, topics="question")
    if found.relevance is not None:
        texts = {
            (question, passage.key): passage.text
            for run in found.pr_runs.values()
            for question, passages in run.passages.items()
            for passage in passages
        }
        yield relevance_part(found.relevance, texts)
    yield question_part(found, order, WhereUsed(used))


def _about(notes: RunNotes) -> str:
    """What must be known of a run, in words."""
    acts = "; ".join(
        f"{n} × {IN_WORDS.get(act, act)}" for act, n in sorted(notes.refusals.items()) if n
    )
    return "; ".join(_counts(notes)) + (f" ({acts})" if acts else "")
