"""The report's questions as plain values: every answer, nugget and label with who gave it."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from markupsafe import Markup

from assay.model.labels import Label, Status
from assay.model.rag import Mark, PassageKey, Question
from assay.protocols.places import Place, WhereUsed
from assay.protocols.r2c2.results import AnswerResult, Found, NuggetResult, State
from assay.reports.plots import meter
from assay.reports.text import number, one_line, question_anchor, span
from assay.reports.wording import ACTS

OUTCOMES = {
    "right": ("✓", "right"),
    "wrong": ("✗", "wrong"),
    "declined": ("–", "declined"),
    "out": ("∅", "left out"),
    "missing": ("?", "no label yet"),
    "failed": ("!", "label failed"),
}
MARKS = {
    Mark.RELEVANT: ("R", "relevant", "r"),
    Mark.NONRELEVANT: ("N", "nonrelevant", "n"),
    Mark.BOGUS: ("B", "bogus", "b"),
}


def outcome(result: AnswerResult) -> str:
    """Return which of :data:`OUTCOMES` an answer came to."""
    if result.answer is None:
        return "out"
    if result.correct is None:
        return "failed" if result.state is State.FAILED else "missing"
    if result.correct:
        return "right"
    return "declined" if result.refused else "wrong"


@dataclass(frozen=True)
class Said:
    """What a labeller said: ``struck`` where a person overruled it."""

    who: str
    person: bool
    verdict: str
    reason: str
    detail: str
    struck: bool = False


@dataclass(frozen=True)
class Chip:
    """A run's outcome on one question, in small."""

    rank: int
    kind: str
    glyph: str
    confidence: str
    about: str


@dataclass(frozen=True)
class NuggetView:
    """A nugget with its mark."""

    num: int
    text: str
    letter: str
    word: str
    css: str
    key: str
    doc: str
    passage: str | None
    said: tuple[Said, ...]
    shared: str
    helped: str
    help_reason: str


@dataclass(frozen=True)
class AnswerView:
    """A run's answer."""

    run: str
    rank: int
    swatch: int
    kind: str
    glyph: str
    word: str
    text: str | None
    confidence: int
    meter: Markup
    precision: str
    act: str
    carried: bool
    said: tuple[Said, ...]
    shared: str
    nuggets: tuple[NuggetView, ...]


@dataclass(frozen=True)
class PassageView:
    """A passage with its derived grade and the relevant nuggets that gave it."""

    rank: int
    doc: str
    text: str
    grade: int
    why: str


@dataclass(frozen=True)
class QuestionView:
    """A question with all that is known of it."""

    anchor: str
    id: str
    text: str
    category: str
    gold: tuple[str, ...]
    tags: str
    chips: tuple[Chip, ...]
    answers: tuple[AnswerView, ...] = ()
    passages: tuple[tuple[str, tuple[PassageView, ...]], ...] = ()


def _margins(value: object, depth: int = 0) -> Iterator[tuple[str, Any, Any]]:
    """Yield (name, margin, threshold) wherever a label's detail holds a margin."""
    if isinstance(value, Mapping):
        if "margin" in value:
            name = value.get("nugget") or value.get("probe") or ""
            yield str(name), value["margin"], value.get("threshold")
        if depth < 3:
            for key, inner in value.items():
                if isinstance(inner, Mapping | list | tuple):
                    for name, margin, threshold in _margins(inner, depth + 1):
                        yield (name or str(key)), margin, threshold
    elif isinstance(value, list | tuple) and depth < 3:
        for inner in value:
            yield from _margins(inner, depth + 1)


def _signed(value: object) -> str:
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        return ""
    shown = number(float(value), 2)
    return (shown if value < 0 and shown != "0.00" else f"+{shown}").replace("-", "−")


def _detail(label: Label) -> str:
    """Return a label's margins or probabilities in words: how sure an embedded model was."""
    parts = []
    for name, margin, threshold in _margins(label.detail):
        if shown := _signed(margin):
            limit = f" (threshold {_signed(threshold)})" if _signed(threshold) else ""
            named = f"{name}: " if name and name != "margin" else ""
            parts.append(f"{named}margin {shown}{limit}")
    for ruling in label.detail.get("rulings", ()):
        parts.append(_probabilities(ruling))
    if label.sample:
        parts.append(f"sample {label.sample}")
    return "; ".join(parts[:12])


def _probabilities(ruling: object) -> str:
    """What the embedded judge's label holds of one question, in words."""
    if not isinstance(ruling, Mapping):
        return "unreadable"
    shown = [
        f"{name} {number(float(ruling[name]), 2)}"
        for name in ("yes", "partly", "no")
        if isinstance(ruling.get(name), int | float) and math.isfinite(ruling[name])
    ]
    return f"probability of {', '.join(shown)}" if shown else "unreadable"


def _flag(label: Label, field: str) -> bool | None:
    value = (label.verdict or {}).get(field)
    if isinstance(value, str):
        return {"yes": True, "true": True, "no": False, "false": False}.get(value.casefold())
    return value if isinstance(value, bool) else None


def _said(
    label: Label | None, field: str, yes: str, no: str, *, struck: bool = False
) -> list[Said]:
    if label is None:
        return []
    if label.status is Status.FAILED:
        verdict, reason = "no usable label", label.error or "the labeller failed"
    else:
        flag = _flag(label, field)
        verdict = "verdict unreadable" if flag is None else (yes if flag else no)
        reason = label.reason or str((label.verdict or {}).get("reason") or "")
    return [
        Said(
            label.labeller.name,
            label.labeller.is_human,
            verdict,
            reason,
            _detail(label),
            struck,
        )
    ]


def _both(label: Label | None, overruled: Label | None, *words: str) -> tuple[Said, ...]:
    field, yes, no = words
    return (
        *_said(label, field, yes, no),
        *_said(overruled, field, yes, no, struck=True),
    )


_PLACES = 5
"""Other places of a label that are named; of more only the number is."""


def _shared(label: Label | None, here: Place, where: WhereUsed) -> str:
    """Say where else a label is used: what is equal has one label."""
    if label is None:
        return ""
    others = [one_line(str(place)) for place in where.of(label.unit) if place != here]
    more = f" and {len(others) - _PLACES} more" if len(others) > _PLACES else ""
    return f"Equal, so one label with {', '.join(others[:_PLACES])}{more}." if others else ""


def _nugget(result: NuggetResult, at: Place, where: WhereUsed) -> NuggetView:
    if result.mark is not None:
        letter, word, css = MARKS[result.mark]
    elif result.state is State.FAILED:
        letter, word, css = "!", "unmarked: label failed", "u"
    else:
        letter, word, css = "?", "unmarked", "u"
    helped = {True: "helped to find the answer", False: "did not help to find the answer"}
    return NuggetView(
        result.nugget.num,
        result.nugget.text,
        letter,
        word,
        css,
        str(result.nugget.key),
        "" if result.passage is None else result.passage.doc,
        None if result.passage is None else result.passage.text,
        _both(result.entailment, result.overruled, "entailed", "entailed", "not entailed"),
        _shared(result.entailment, at._replace(position=f"nugget {result.nugget.num}"), where),
        "" if result.helped is None else helped[result.helped],
        result.help_reason or "",
    )


def _act(result: AnswerResult) -> str:
    if result.act is None or result.act == "answer":
        return ""
    by = f" ({result.act_label.labeller.name})" if result.act_label else ""
    return f"{ACTS.get(result.act, result.act)}{by}"


def _answer(result: AnswerResult, rank: int, where: WhereUsed) -> AnswerView:
    kind = outcome(result)
    at = Place(result.run, result.question.id)
    glyph, word = OUTCOMES[kind]
    return AnswerView(
        run=result.run,
        rank=rank,
        swatch=rank - 1,
        kind=kind,
        glyph=glyph,
        word=word,
        text=None if result.answer is None else result.answer.text,
        confidence=0 if result.answer is None else result.answer.confidence,
        meter=meter(result.confidence or 0.0, kind),
        precision=span(*result.precision, 2),
        act=_act(result),
        carried=result.state is State.CARRIED,
        said=_both(result.label, result.overruled, "correct", "correct", "not correct"),
        shared=(
            # A label that was carried here is not about what this answer holds now.
            ""
            if result.state is State.CARRIED
            else _shared(result.label, at._replace(position="answer"), where)
        ),
        nuggets=tuple(_nugget(nugget, at, where) for nugget in result.nuggets),
    )


def _chip(result: AnswerResult, rank: int) -> Chip:
    kind = outcome(result)
    glyph, word = OUTCOMES[kind]
    confidence = "" if result.answer is None else str(result.answer.confidence)
    about = f"{rank} {one_line(result.run)}: {word}"
    return Chip(
        rank, kind, glyph, confidence, about + (f", confidence {confidence}" if confidence else "")
    )


def _tags(results: Sequence[AnswerResult]) -> str:
    kinds = {outcome(result) for result in results}
    if {"right", "wrong"} <= kinds or {"right", "declined"} <= kinds:
        kinds.add("mixed")
    if any(nugget.mark is Mark.BOGUS for result in results for nugget in result.nuggets):
        kinds.add("bogus")
    if any(
        result.overruled is not None or any(n.overruled is not None for n in result.nuggets)
        for result in results
    ):
        kinds.add("overruled")
    return " ".join(sorted(kinds))


def _passages(
    result: Found, question: Question, found: Mapping[str, AnswerResult]
) -> tuple[tuple[str, tuple[PassageView, ...]], ...]:
    why: dict[PassageKey, list[str]] = {}
    for run, answer in found.items():
        for nugget in answer.nuggets:
            if nugget.mark is Mark.RELEVANT:
                why.setdefault(nugget.nugget.key, []).append(f"{run} {nugget.nugget.num}")
    grades = result.grades.get(question.id, {})
    return tuple(
        (
            name,
            tuple(
                PassageView(
                    passage.key.rank,
                    passage.doc,
                    passage.text,
                    grades.get(passage.key, 0),
                    ", ".join(why.get(passage.key, [])),
                )
                for passage in run.passages.get(question.id, ())
            ),
        )
        for name, run in result.pr_runs.items()
    )


def question_view(
    result: Found, where: WhereUsed, question: Question, order: Sequence[str], *, full: bool
) -> QuestionView:
    """Return what the report shows of a question; without *full* only its line in the matrix."""
    found = {
        run: result.answers[run][question.id]
        for run in order
        if question.id in result.answers.get(run, {})
    }
    ranks = {run: rank for rank, run in enumerate(order, start=1)}
    return QuestionView(
        anchor=question_anchor(question.id),
        id=question.id,
        text=question.text,
        category=question.category or "",
        gold=question.gold,
        tags=_tags(list(found.values())),
        chips=tuple(_chip(answer, ranks[run]) for run, answer in found.items()),
        answers=tuple(_answer(a, ranks[run], where) for run, a in found.items()) if full else (),
        passages=_passages(result, question, found) if full else (),
    )
