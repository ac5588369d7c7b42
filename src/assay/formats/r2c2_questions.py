"""The R2C2 question file: ``id<TAB>text[<TAB>category[<TAB>gold answers separated by |]]``.

Any one of the gold answers is right; ``&&`` separates answers all of which are required, each with
its alternative wordings: ``Paris | City of Light && Rome``.

Source: R2C2 paper, section 3.2 (question types). Categories and gold answers are Assay's own: the
task's file does not have them.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from assay.formats.naming import normal_id
from assay.formats.parsed import FaultList, Spot
from assay.formats.text import SourceText, check_break, reads_file
from assay.model.rag import Question
from assay.model.records import folded_text
from assay.model.wording import joined, printable, quoted

CATEGORIES = (
    "Simple",
    "Simple w. Condition",
    "Comparison",
    "Aggregation",
    "Multi-hop",
    "Post-processing-heavy",
    "Set",
    "False Premise",
)
"""The question types of the task; round 1 leaves out the last two."""

_HEADER = {"id", "questionid", "question_id", "question id", "qid"}
_MOST_COLUMNS = 4
REQUIRED = "&&"
"""Separator of gold answers all of which are required."""


def _key(category: str) -> str:
    # “Simple with Condition” is the task's “Simple w. Condition”.
    return re.sub(r"[\W_]+", "", category.casefold()).replace("simplewith", "simplew")


_BY_KEY = {_key(category): category for category in CATEGORIES}


def known_category(text: str) -> str | None:
    """The category of the task that a text names, ignoring case and punctuation; else None."""
    return _BY_KEY.get(_key(text))


@reads_file
def read_questions(source: SourceText, faults: FaultList) -> tuple[Question, ...]:
    """Read a question file, with or without a header line.

    A line without a tab but with a ``;`` is read as ``id;text``, with a warning. Categories are
    matched without regard to case and punctuation, and returned in the task's spelling; unknown
    ones are kept as written.
    """
    questions: dict[str, Question] = {}
    unpadded: dict[str, str] = {}
    texts: dict[str, str] = {}
    with_semicolon: list[int] = []
    first = True
    for number, line in source.numbered():
        if not line.strip():
            continue
        cells = line.split("\t")
        semicolon = len(cells) == 1 and ";" in line
        if semicolon:
            cells = line.split(";", 1)
        is_header = first and normal_id(cells[0]).casefold() in _HEADER
        first = False
        if is_header:
            continue
        if semicolon:
            with_semicolon.append(number)
        if len(cells) == 1:
            why = f"The line {quoted(line.strip())} has one field."
            faults.error(number, why, "Write id, a tab, and the question.")
            continue
        at = faults.at(number, normal_id(cells[0]))
        question = _question(cells, at)
        if not question.id:
            continue
        before = questions.setdefault(question.id, question)
        if before is not question:
            at.error(
                f"The id {printable(question.id)} was already used on line {before.line}.",
                "Give every question its own id.",
            )
            continue
        twin = unpadded.setdefault(question.id.lstrip("0"), question.id)
        if twin != question.id:
            at.warning(
                f"The ids {printable(twin)} and {printable(question.id)} differ only in zeros.",
                "They are two questions; check that this is intended.",
            )
        same = texts.setdefault(question.text, question.id) if question.text else question.id
        if same != question.id:
            at.warning(
                f"The question has the same text as {printable(same)}.",
                "If this is not intended, remove one of them.",
            )
    if with_semicolon:
        lines = joined(map(str, with_semicolon), 10)
        faults.warning(
            with_semicolon[0],
            f"No tab but a “;” (line {lines}): read as id;text.",
            "Write a tab between id and text.",
        )
    if not questions:
        faults.error(0, "The file holds no question.", "Write id, a tab, the question.")
    return tuple(questions.values())


def _question(given: Sequence[str], at: Spot) -> Question:
    """Make a question from the cells of a line, and report its faults."""
    _check_id(at)
    if any(cell.strip() for cell in given[_MOST_COLUMNS:]):
        at.error(
            f"The line has more than {_MOST_COLUMNS} fields.",
            "Fields are id, text, category and gold answers; is there a tab in the text?",
        )
    _, raw_text, category, answers = [*given, "", ""][:_MOST_COLUMNS]
    text = raw_text.strip()
    if not text:
        at.error("The question's text is empty.", "Write the question.")
    check_break(text, "question", at)
    known = _category(category.strip(), at)
    groups = tuple(_gold(part, at) for part in answers.split(REQUIRED))
    gold = tuple(dict.fromkeys(answer for group in groups for answer in group))
    required = groups if len(groups) > 1 else ()
    if required and not all(required):
        at.error(
            f"There is nothing on one side of {REQUIRED}, between answers that are required.",
            f"Write an answer there, or remove the {REQUIRED}.",
        )
    folded = [set(map(folded_text, one)) for one in required]
    if len(set[str]().union(*folded)) < sum(map(len, folded)):
        at.error(
            "One gold answer is required twice.",
            f"Separate different answers with {REQUIRED}, wordings of one answer with |.",
        )
    return Question(at.topic or "", text, known, gold, at.line, required)


def _check_id(at: Spot) -> None:
    one = at.topic or ""
    if not one:
        at.error("The question's id is empty.", "Write the id before the first tab.")
    elif re.search(r"[;<>]", one) or one.startswith("/") or not one.isprintable():
        at.error(
            f"The id {quoted(one)} holds a character that run files cannot carry.",
            "Use no ; < > and no control characters, and no / at the start.",
        )
    elif " " in one:
        at.warning(
            f"The id {quoted(one)} holds a space, at which TREC tools split lines.",
            "Use an id without spaces.",
        )


def _category(cell: str, at: Spot) -> str | None:
    if not cell:
        return None
    known = known_category(cell)
    if known is None:
        at.warning(
            f"The category {quoted(cell)} is not one of the task's.",
            f"Known ones: {joined(CATEGORIES)}.",
        )
    return known or cell


def _gold(cell: str, at: Spot) -> tuple[str, ...]:
    if not cell.strip():
        return ()
    answers = [answer.strip() for answer in cell.split("|")]
    if not all(answers):
        at.warning("One of the gold answers is empty.", "Remove the extra |.")
    if wide := re.search("｜|＆＆", cell):
        at.warning(
            f"The gold answers hold a full-width {wide.group()}, which does not separate answers.",
            "Write | between wordings, && between answers that are all required.",
        )
    return tuple(dict.fromkeys(answer for answer in answers if answer))
