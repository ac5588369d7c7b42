"""The sentences of the report, each derived from the numbers by a rule that the report states."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from assay.model.labels import LabellerId
from assay.protocols.r2c2.results import AnswerResult, Found, RunNotes
from assay.protocols.scores import Score
from assay.reports.text import counted, interval, percent, shortened

GOOD = 0.8
"""A balanced run with an HMR of at least this is called modest."""

READING_RULE = (
    "Overconfident: the interval of R_O lies below that of R_U. Underconfident: the interval of R_U"
    f" lies below that of R_O. Otherwise modest where HMR is at least {GOOD:.1f}, else middling."
    " The mean confidence of the wrong answers is 1 − R_O, that of the right ones is R_U."
)

ACTS = {
    "answer": "answers",
    "dont_know": "says that it does not know",
    "false_premise": "says that the question rests on a false premise",
    "other_refusal": "declines to answer",
}

TASK_TITLES = {
    "r2c2.entailment": "Bogus nuggets: does the passage entail the nugget?",
    "r2c2.answer": "Answers and relevant nuggets: is the answer correct, which nuggets helped?",
    "r2c2.dialogue_act": "Dialogue act: does the text answer, or decline to?",
}


def policy_in_words(policy: str) -> str:
    """Say which label counts under a policy."""
    known = {
        "people": "a person’s label counts before the machine’s",
        "machine": "only the machine’s labels count; people’s are left out",
        "human": "only people’s labels count",
    }
    if policy in known:
        return known[policy]
    if policy.startswith("only:"):
        return f"only the labels of {policy[len('only:') :]} count"
    return policy


def model_in_words(labeller: LabellerId | None) -> str:
    """Say what is behind a labeller: its model and the settings that change its answers."""
    if labeller is None:
        return ""
    parts = []
    for key, value in sorted(labeller.params.items(), key=lambda item: str(item[0])):
        shown = str(value)
        if "sha" in str(key).lower() and len(shown) > 20:
            shown = shown[:12] + "…"
        parts.append(f"{key}: {shortened(shown, 90)}")
    return "; ".join(parts)


@dataclass(frozen=True)
class Reading:
    """A run in one word and one sentence."""

    word: str
    sentence: str


def read_run(
    scores: Mapping[str, Score], results: Sequence[AnswerResult], notes: RunNotes | None
) -> Reading:
    """Say by :data:`READING_RULE` how well a run's confidence fits."""
    over, under, hmr = (scores.get(name) for name in ("R_O", "R_U", "HMR"))
    right = sum(result.correct is True for result in results)
    wrong = sum(result.correct is False for result in results)
    ends = tuple(one.ends if one else None for one in (over, under, hmr))
    if over is None or under is None or None in ends or not (right or wrong):
        return Reading("No score", "no answer has a usable label yet.")
    at_wrong = _share(*(None if one is None else 1 - one for one in (over.ceiling, over.floor)))
    at_right = _share(under.floor, under.ceiling)
    sentence = (
        f"wrong answers at {at_wrong} confidence on average, right ones at {at_right}"
        f" (R_O {interval(over.low, over.high)}, R_U {interval(under.low, under.high)})."
    )
    known = all(result.correct is not None for result in results)
    if known and not wrong:
        word = "Never wrong"
        sentence = f"R_O is 1 by definition; right answers at {at_right} confidence on average."
    elif known and not right:
        word = "Never right"
        sentence = f"R_U is 1 by definition; wrong answers at {at_wrong} confidence on average."
    elif _below(over, under):
        word = "Overconfident"
    elif _below(under, over):
        word = "Underconfident"
    else:
        word = "Modest" if hmr and hmr.floor is not None and hmr.floor >= GOOD else "Middling"
    if notes is not None and notes.left_out:
        n = len(notes.left_out)
        sentence += f" {counted(n, 'question')} left out: wrong, with an unknown confidence."
    return Reading(word, sentence)


def _below(one: Score, other: Score) -> bool:
    """Whether the whole interval of a score lies below that of another."""
    return one.high is not None and other.low is not None and one.high < other.low


def _share(low: float | None, high: float | None) -> str:
    """A share, or from its least to its greatest where it hangs on what is missing."""
    ends = dict.fromkeys((percent(low), percent(high)))
    return "–".join(ends)


def nothing_missing(result: Found) -> str:
    """Say what was checked where :func:`gaps` finds nothing."""
    return (
        "Every run answers every question, and every answer and every nugget has a usable label"
        + ("; every question has a relevant passage." if result.pr_runs else ".")
    )


def every_question_has_one(result: Found) -> str:
    """Say of a result without questions that surely have no relevant passage how many have one."""
    open_questions = sum(not any(found.values()) for found in result.grades.values())
    if open_questions:
        return (
            f"Whether {counted(open_questions, 'question')} of {len(result.questions):,} has a "
            "relevant passage is not known yet."
        )
    return "Every question has a relevant passage."


def refusals_in_words(notes: RunNotes) -> str:
    """Say how a run declined questions, for a tooltip."""
    return "; ".join(
        f"{n} × {ACTS.get(act, act)}" for act, n in sorted(notes.refusals.items()) if n
    )
