"""A model's reply, complete or half written, as one line for people to read."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from pydantic_core import from_json

from assay.labellers.base import Outcome, Request
from assay.model.wording import counted, printable
from assay.systems.answer_text import one_line
from assay.systems.answering import PassageSource
from assay.tasks.answering import CERTAINTY, FROM_NUGGETS, NUGGETS, REPORT

_LONGEST = 200  # characters of a text shown at most


class Teller:
    """Describes replies. ``sources`` holds the passages shown for each topic. With ``by_document``,
    citations are given as documents instead of passage keys."""

    def __init__(
        self, sources: Mapping[str, Sequence[PassageSource]], *, by_document: bool = False
    ) -> None:
        self._sources = sources
        self._by_document = by_document

    def answered(self, request: Request, outcome: Outcome) -> str | None:
        """A line about the reply to ``request``, or None if there is nothing to say."""
        if outcome.verdict is None:
            why = outcome.error or "it cannot be used"
            return self._line(request, ["no usable reply"], why)
        return self._told(request, outcome.verdict.model_dump(mode="json"))

    def writing(self, request: Request, text: str) -> str | None:
        """A line about a reply of which only ``text`` is written yet, or None if that is too
        little."""
        try:
            given = from_json(text[text.index("{") :], allow_partial="trailing-strings")
        except ValueError:
            return None
        return self._told(request, given) if isinstance(given, dict) else None

    def _told(self, request: Request, given: Mapping[str, Any]) -> str | None:
        task = request.task
        if task is CERTAINTY:
            said = getattr(request.unit, "answer", "")
            return self._line(request, [f"certain {given['probability']:.2f}"], said)
        about: list[str] = []
        sentences = [one for one in _list(given.get("sentences")) if isinstance(one, dict)]
        nuggets = _list(given.get("nuggets"))
        texts = [one.get("nugget") if isinstance(one, dict) else one for one in nuggets]
        if isinstance(given.get("confidence"), int):
            about.append(f"confidence {given['confidence']}")
        if task is REPORT:
            about.append(counted(len(sentences), "sentence"))
            texts = [one.get("text") for one in sentences]
        if task is NUGGETS:
            about.append(counted(len(texts), "nugget"))
        about += dict.fromkeys(self._cited(request, given))
        text = given.get("answer") or next(filter(None, reversed(texts)), None)
        return None if text is None else self._line(request, about, text)

    def _cited(self, request: Request, given: Mapping[str, Any]) -> Iterator[str]:
        if request.task is FROM_NUGGETS:
            yield from (f"nugget {n}" for n in _list(given.get("facts")) if isinstance(n, int))
            return
        shown = self._sources.get(request.topic, ())
        if request.task is NUGGETS:
            passage = getattr(request.unit, "passage", None)
            yield from (self._name(one) for one in shown if one.text == passage)
            return
        for item in [*_list(given.get("nuggets")), *_list(given.get("sentences"))]:
            if isinstance(item, dict):
                for number in [item.get("passage"), *_list(item.get("citations"))]:
                    if isinstance(number, int) and 1 <= number <= len(shown):
                        yield self._name(shown[number - 1])

    def _name(self, source: PassageSource) -> str:
        return source.doc if self._by_document else str(source.key)

    @staticmethod
    def _line(request: Request, about: Sequence[str], text: object) -> str:
        sample = f", sample {request.sample + 1}" if request.sample else ""
        brackets = f" ({', '.join(about)})" if about else ""
        said = one_line(str(text))
        if len(said) > _LONGEST:
            said = f"{said[: _LONGEST - 1]}…"
        return printable(f"{request.topic}{sample}{brackets}: {said}")


def _list(given: object) -> list[Any]:
    return list(given) if isinstance(given, (list, tuple)) else []
