"""Questions as cards: every answer, nugget and label, and who gave it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from assay.model.rag import Mark, PassageKey, Question
from assay.page.cards import Badge, Body, Card, Cards, Chip, Entry, Quotation, RankedPassage, Remark
from assay.page.parts import Part
from assay.page.wording import one_line, span
from assay.protocols.answers.acts import IN_WORDS
from assay.protocols.answers.results import AnswerFindings, AnswerResult, LabelState, NuggetResult
from assay.protocols.places import Place, WhereUsed
from assay.protocols.remarks import remarks, used_elsewhere

_OUTCOMES = {
    kind: Badge(kind, sign, word)
    for kind, sign, word in (
        ("right", "✓", "right"), ("wrong", "✗", "wrong"), ("declined", "–", "declined"),
        ("out", "∅", "left out"), ("missing", "?", "no label yet"), ("failed", "!", "label failed"),
    )
}  # fmt: skip
_MARKS = {
    Mark.RELEVANT: ("good", "relevant"),
    Mark.NONRELEVANT: ("neutral", "nonrelevant"),
    Mark.BOGUS: ("bad", "bogus"),
}
_FILTERS = (
    *((kind, one.word) for kind, one in _OUTCOMES.items() if kind not in ("missing", "failed")),
    ("missing", "without a label"), ("failed", "label failed"), ("mixed", "runs disagree"),
    ("bogus", "a nugget is bogus"), ("overruled", "overruled by a person"),
)  # fmt: skip


def question_part(found: AnswerFindings, order: Sequence[str], where: WhereUsed) -> Part:
    """The section of the questions, with the runs in this ``order``."""
    cards = tuple(_card(found, question, order, where) for question in found.questions)
    note = (
        "✓ right, ✗ wrong, – declined, ∅ left out, ? no label yet, ! label failed; the number is "
        "the confidence. Open a question to see its answers, nuggets, passages and the labellers’ "
        "reasons. Nuggets: R relevant, N nonrelevant, B bogus. When printed, each closed question "
        "takes one line."
    )
    whole = "The answers and labels of every question are in marked/ and labels.jsonl."
    return Part("Questions", note, (Cards(tuple(order), cards, _FILTERS, "question", whole),))


def _card(
    found: AnswerFindings, question: Question, order: Sequence[str], where: WhereUsed
) -> Card:
    answers = {run: found.answers[run][question.id] for run in order}

    def body() -> Body:
        return Body(
            "Required answers: "
            if question.required
            else "Gold answers: "
            if question.gold
            else "No gold answers were given.",
            question.keys,
            tuple(_entry(answer, where) for answer in answers.values()),
            "Passages with derived grades",
            _rankings(found, question, answers),
        )

    return Card(
        question.id,
        question.text,
        question.category or "",
        _tags(list(answers.values())),
        tuple(_chip(answer, number) for number, answer in enumerate(answers.values(), 1)),
        body,
    )


def _outcome(result: AnswerResult) -> str:
    if result.answer is None:
        return "out"
    if result.correct is None:
        return "missing" if result.state is LabelState.MISSING else "failed"
    return "right" if result.correct else "declined" if result.refused else "wrong"


def _chip(result: AnswerResult, number: int) -> Chip:
    badge = _OUTCOMES[_outcome(result)]
    confidence = "" if result.answer is None else str(result.answer.confidence)
    about = f"{number} {one_line(result.run)}: {badge.word}"
    return Chip(number, badge, confidence, about + (confidence and f", confidence {confidence}"))


def _tags(results: Sequence[AnswerResult]) -> tuple[str, ...]:
    kinds = {_outcome(result) for result in results}
    if "right" in kinds and kinds & {"wrong", "declined"}:
        kinds.add("mixed")
    nuggets = [nugget for result in results for nugget in result.nuggets]
    if any(nugget.mark is Mark.BOGUS for nugget in nuggets):
        kinds.add("bogus")
    overruled = [one.overruled for one in results] + [one.overruled for one in nuggets]
    if any(one is not None for one in overruled):
        kinds.add("overruled")
    return tuple(sorted(kinds))


def _entry(result: AnswerResult, where: WhereUsed) -> Entry:
    badge, answer = _OUTCOMES[_outcome(result)], result.answer
    if answer is None:
        nothing = (
            "This run leaves the question out: it counts as wrong, with an unknown confidence and "
            "nugget precision 0."
        )
        return Entry(result.run, badge, None, remarks=(nothing,))
    at = Place(result.run, result.question.id)
    given = remarks(
        result.label, result.overruled, "correct", ("correct", "not correct"), before="Judged "
    )
    notes: list[Remark | str] = []
    if (
        result.state is not LabelState.CARRIED
    ):  # a label that was carried over is about a former unit
        notes += filter(None, [used_elsewhere(result.label, at._replace(position="answer"), where)])
    notes += _required(result)
    if result.state is LabelState.WAITING:
        notes.append(
            "The labels of some nuggets failed. No machine judges this answer until it is known "
            "whether those nuggets are entailed."
        )
    elif not given:
        notes.append("This answer has no label yet.")
    if result.state is LabelState.CARRIED:
        notes.append(
            "Carried over: the label was given with other entailed nuggets in view, before a "
            "person changed a mark."
        )
    if result.act is not None and result.refused:
        by = f" ({result.act_label.labeller.name})" if result.act_label else ""
        notes.append(f"The answer {IN_WORDS.get(result.act, result.act)}{by}.")
    if not result.nuggets:
        notes.append("No nuggets: nugget precision 0.")
    return Entry(
        result.run,
        badge,
        answer.text,
        result.confidence or 0.0,
        f"confidence {answer.confidence}",
        f"nugget precision {span(*result.precision, 2)}" if result.nuggets else "",
        (*given, *notes),
        tuple(_nugget(nugget, at, where) for nugget in result.nuggets),
    )


def _required(result: AnswerResult) -> Iterator[Remark]:
    """Which of several required answers are given, according to the answer's label."""
    verdict = None if result.label is None else result.label.verdict
    if verdict is not None:
        for one, text in zip(verdict.get("required", ()), result.question.keys, strict=False):
            verdict_in_words = "given" if one["given"] else "not given"
            yield Remark(f"{one_line(text)}: {verdict_in_words}", one.get("reason") or "")


def _nugget(result: NuggetResult, at: Place, where: WhereUsed) -> Quotation:
    num, passage = result.nugget.num, result.passage
    if result.mark is not None:
        kind, word = _MARKS[result.mark]
        badge = Badge(kind, f"{result.mark}{num}", word)
    elif result.state is LabelState.FAILED:
        badge = Badge("open", f"!{num}", "unmarked: label failed")
    else:
        badge = Badge("open", f"?{num}", "unmarked")
    words = ("entailed", "not entailed")
    notes: list[Remark | str] = [*remarks(result.entailment, result.overruled, "entailed", words)]
    if elsewhere := used_elsewhere(result.entailment, at._replace(position=f"nugget {num}"), where):
        notes.append(elsewhere)
    if result.helped is not None or result.help_reason:
        helped = "" if result.helped is None else "helped" if result.helped else "did not help"
        notes.append(Remark(helped and f"{helped} in finding the answer", result.help_reason or ""))
    return Quotation(
        badge,
        result.nugget.text,
        None if passage is None else passage.text,
        str(result.nugget.key),
        "" if passage is None else passage.doc,
        tuple(notes),
    )


def _rankings(
    found: AnswerFindings, question: Question, answers: Mapping[str, AnswerResult]
) -> tuple[tuple[str, tuple[RankedPassage, ...]], ...]:
    why: dict[PassageKey, list[str]] = {}
    for run, answer in answers.items():
        for one in answer.nuggets:
            if one.mark is Mark.RELEVANT:
                why.setdefault(one.nugget.key, []).append(f"{run} {one.nugget.num}")
    grades = found.grades.get(question.id, {})

    def ranked(key: PassageKey, text: str, doc: str) -> RankedPassage:
        by = f"relevant nuggets: {', '.join(why[key])}" if key in why else ""
        return RankedPassage(key.rank, grades.get(key, 0), text, doc, by)

    return tuple(
        (name, tuple(ranked(p.key, p.text, p.doc) for p in run.passages.get(question.id, ())))
        for name, run in found.pr_runs.items()
    )
