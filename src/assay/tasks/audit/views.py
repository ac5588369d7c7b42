"""Tasks as an audit sees them: which text is judged, against what, and the verdict as a number."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from assay.tasks import battles, exam, r2c2, sgss, trec_rag
from assay.tasks.base import Unit
from assay.tasks.trec_rag import grade_of

Plain = Mapping[str, Any]

_WORDS = {"no": 0.0, "partially": 1.0, "perfectly": 2.0}
_SUPPORT = {"none": 0.0, "partial": 1.0, "full": 2.0}
_ASSIGNED = {"not_support": 0.0, "partial_support": 0.5, "support": 1.0}


@dataclass(frozen=True)
class Listed:
    """A list of a unit whose order should not matter. ``values`` gives the values of its entries,
    in its order, from unit and verdict; it is None if the verdict is on all entries together. If
    there are several ``fields``, these are swapped instead."""

    fields: tuple[str, ...]
    values: Callable[[Plain, Plain], Sequence[float]] | None = None


@dataclass(frozen=True)
class View:
    """A task as an audit sees it.

    ``text`` is the field that is attacked, ``about`` the field that it is judged by (a question, a
    claim), and ``mark`` is what closes ``text`` in the prompt. ``value`` is the verdict as a number
    from 0 to ``top``; from ``positive`` on it means yes. It is ``binary`` if only 0 and 1 are
    possible. ``best`` is the highest verdict as a labeller writes it. ``claim`` is the field whose
    facts hold or do not, if any; if that is ``about`` itself, a text that contains it is rightly
    judged positive. ``relevance``: the task grades passages of a topic, by which rankings are
    scored.
    """

    text: str
    about: str
    value: Callable[[Plain], float]
    best: Mapping[str, Any]
    top: float = 1.0
    positive: float = 1.0
    claim: str = ""
    mark: str = ""
    listed: Listed | None = None
    relevance: bool = False

    @property
    def binary(self) -> bool:
        return self.top == 1.0 and self.positive == 1.0

    @property
    def fence(self) -> str:
        """The word at the end of ``text`` in a prompt."""
        return self.mark or self.text.upper()

    def said(self, unit: Plain) -> str:
        """What the text is judged by, as one text."""
        about = unit[self.about]
        return about if isinstance(about, str) else " ".join(about)

    def changed(self, unit: Unit, **fields: Any) -> Unit:
        """The unit with other contents in some fields."""
        return type(unit).model_validate({**unit.model_dump(), **fields})


def _flag(name: str) -> Callable[[Plain], float]:
    return lambda verdict: float(verdict[name])


def _word(name: str, values: Mapping[str, float]) -> Callable[[Plain], float]:
    return lambda verdict: values[verdict[name]]


def _helps(unit: Plain, verdict: Plain) -> Sequence[float]:
    helped = {one["nugget"]: float(one["helped"]) for one in verdict["nuggets"]}
    return [helped.get(number, 0.0) for number in range(1, len(unit["nuggets"]) + 1)]


def _assigned(_unit: Plain, verdict: Plain) -> Sequence[float]:
    return [_ASSIGNED[one] for one in verdict["labels"]]


def _mean_assigned(verdict: Plain) -> float:
    values = _assigned({}, verdict)
    return sum(values) / len(values) if values else 0.0


_OUTCOMES = {"A": 1.0, "B": 0.0}


def _answers(_unit: Plain, verdict: Plain) -> Sequence[float]:
    first = _OUTCOMES.get(verdict["verdict"], 0.5)
    return [first, 1 - first]


def _extent(text: str, about: str, **more: Any) -> View:
    return View(text, about, _word("label", _WORDS), {"label": "perfectly"}, 2.0, **more)


_ASPECTS = Listed(("sub_narratives",))
_DIRECT = View("passage", "question", _flag("relevant"), {"relevant": "YES"}, relevance=True)

VIEWS: Mapping[str, View] = {
    r2c2.ENTAILMENT.name: View(
        "passage", "nugget", _flag("entailed"), {"entailed": "YES"}, claim="nugget"
    ),
    r2c2.ANSWER.name: View(
        "answer", "question", _flag("correct"), {"correct": "YES", "nuggets": []}, claim="answer",
        listed=Listed(("nuggets",), _helps),
    ),
    r2c2.RELEVANCE.name: _DIRECT,
    trec_rag.RELEVANCE.name: View(
        "passage", "question", _flag("grade"), {"grade": 3}, 3.0, relevance=True
    ),
    trec_rag.RELEVANCE_YES_NO.name: _DIRECT,
    trec_rag.RELEVANCE_AT_ONCE.name: View(
        "passage", "narrative", _flag("grade"), {"grade": 4}, 4.0, listed=_ASPECTS, relevance=True
    ),
    trec_rag.SUB_NARRATIVES_ANSWERED.name: View(
        "passage", "narrative", partial(grade_of, "counted"),
        {"related": "YES", "off_topic": "little"}, 4.0,
        listed=Listed(
            ("sub_narratives",), lambda _, verdict: [float(one) for one in verdict["answered"]]
        ),
        relevance=True,
    ),
    trec_rag.ASSIGNMENT.name: View(
        "answer", "nuggets", _mean_assigned, {"labels": ["support"]}, positive=0.25,
        claim="nuggets", listed=Listed(("nuggets",), _assigned),
    ),
    **{
        task.name: View(
            "passage", "sentence", _word("support", _SUPPORT), {"support": "full"}, 2.0,
            claim="sentence",
        )
        for task in (trec_rag.SUPPORT, trec_rag.SUPPORT_IN_CONTEXT)
    },
    exam.SELF_RATING.name: View(
        "passage", "question", _flag("rating"), {"rating": 5}, 5.0
    ),
    exam.THOMAS.name: View(
        "passage", "question", _flag("grade"), {"grade": 2}, 2.0, relevance=True
    ),
    **{
        task.name: _DIRECT
        for name, task in exam.DIRECT.items() if name != "thomas"
    },
    sgss.SUFFICIENCY.name: _extent("overview", "query"),
    sgss.REPRESENTATIVENESS.name: _extent("overview", "sections", listed=Listed(("sections",))),
    sgss.HEADING.name: _extent("statement", "heading"),
    sgss.STATEMENT.name: _extent("statement", "query"),
    sgss.COVERAGE.name: _extent("summary", "section"),
    sgss.COMPREHENSIVENESS.name: _extent("summary", "query"),
    sgss.PREFERENCE.name: View(
        "left", "query", lambda verdict: float(verdict["preferred"] == "LEFT"),
        {"preferred": "LEFT"}, mark="LEFT SUMMARY",
        listed=Listed(
            ("left", "right"),
            lambda _, verdict: [float(verdict["preferred"] == side) for side in ("LEFT", "RIGHT")],
        ),
    ),
    battles.BATTLE.name: View(
        "answer_a", "question", lambda verdict: _OUTCOMES.get(verdict["verdict"], 0.5),
        {"verdict": "A"}, mark="ANSWER A", listed=Listed(("answer_a", "answer_b"), _answers),
    ),
}  # fmt: skip
"""Task → how an audit sees it. Tasks without high or low verdicts are only asked again."""
