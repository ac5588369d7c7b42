"""TQA's own JSON: a list of lessons. The key of a question is the text of its right option."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import orjson

from assay.formats.jsonl import read_json
from assay.formats.parsed import FaultList
from assay.formats.text import SourceText
from assay.model.exam import BankQuestion
from assay.model.wording import quoted


def tqa_questions(
    source: SourceText, faults: FaultList
) -> Iterator[tuple[str, str, list[BankQuestion]]]:
    """Each lesson's id, name and questions; what is wrong with others goes into ``faults``."""
    try:
        lessons, _ = read_json("\n".join(source.lines))
    except orjson.JSONDecodeError as error:
        faults.error(0, f"This is not JSON ({error}).", "Give TQA's own file, or a bank.")
        return
    for lesson in lessons:
        try:
            query, name = lesson["globalID"], lesson["lessonName"]
            questions = lesson["questions"]["nonDiagramQuestions"].items()
            found = [(str(key), _question(str(key), one)) for key, one in questions]
        except (KeyError, TypeError, AttributeError):
            where = lesson.get("globalID") if isinstance(lesson, dict) else None
            faults.error(
                0,
                "A lesson lacks globalID, lessonName, or nonDiagramQuestions as TQA has them.",
                "Give TQA's own file.",
                where if isinstance(where, str) else None,
            )
            continue
        for key, question in found:
            if question is None:
                faults.warning(
                    0,
                    f"The right answer of {quoted(key)} is none of its options.",
                    "The question was left out.",
                    query,
                )
        yield query, name, [question for _, question in found if question is not None]


def _question(key: str, row: Mapping[str, Any]) -> BankQuestion | None:
    choices = {
        str(letter): str(choice["processedText"]) for letter, choice in row["answerChoices"].items()
    }
    correct = choices.get(str(row["correctAnswer"]["processedText"]))
    if correct is None:
        return None
    text = str(row["beingAsked"]["processedText"])
    return BankQuestion(key, text, gold=(correct,), choices=choices)
