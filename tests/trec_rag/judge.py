"""A labeller for tests: words decide. Named as ``tests.trec_rag.judge:judge``."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any


def words(text: str) -> set[str]:
    return set(re.findall(r"[a-z]{4,}", text.lower()))


def share(text: str, within: str) -> float:
    mine = words(text)
    return len(mine & words(within)) / len(mine) if mine else 0.0


def judge(task: str, unit: Mapping[str, Any]) -> Mapping[str, Any] | None:
    return _RULES[task](unit)


def _aspects(unit):
    source = unit.get("queries") or [line.partition(": ")[2] for line in unit["draft"]]
    return {
        "sub_narratives": [
            {"text": text, "importance": "okay" if place else "vital"}
            for place, text in enumerate(source)
        ]
    }


def _counted(unit):
    answered = [share(one, unit["passage"]) >= 0.5 for one in unit["sub_narratives"]]
    related = any(answered) or share(unit["narrative"], unit["passage"]) > 0
    return {"related": related, "off_topic": "little", "answered": answered, "reason": "words"}


def _grade(unit):
    found = _counted(unit)
    count = sum(found["answered"])
    return {"grade": [int(found["related"]), 2, 3, 3, 4][min(count, 4)]}


def _nuggets(unit):
    sentences = [
        sentence.strip()
        for text in unit["documents"]
        for sentence in text.split(".")
        if len(words(sentence)) > 2
    ]
    return {"nuggets": list(dict.fromkeys([*unit["nuggets"], *sentences]))[: unit["most"]]}


def _merge(unit):
    every = [one for texts in unit["lists"] for one in texts]
    return {"nuggets": list(dict.fromkeys(every))[: unit["most"]]}


def _importance(unit):
    return {"labels": ["vital" if len(words(one)) > 3 else "okay" for one in unit["nuggets"]]}


def _mapping(unit):
    rows = []
    for number, nugget in enumerate(unit["nuggets"], 1):
        fits = [share(one, nugget) for one in unit["sub_narratives"]]
        best = max(range(len(fits)), key=fits.__getitem__, default=0)
        known = bool(fits) and fits[best] > 0
        rows.append(
            {"nugget": number, "sub_narrative": best + 1 if known else 0,
             "new": "" if known else "other facts"}
        )  # fmt: skip
    return {"mapping": rows}


def _level(text: str, within: str) -> int:
    found = share(text, within)
    return 2 if found >= 0.9 else 1 if found >= 0.4 else 0


def _assignment(unit):
    names = ("not_support", "partial_support", "support")
    return {"labels": [names[_level(one, unit["answer"])] for one in unit["nuggets"]]}


def _support(unit):
    level = _level(unit["sentence"], unit["passage"])
    return {"support": ("none", "partial", "full")[level], "reason": f"level {level}"}


_RULES = {
    "trec_rag.narrative": lambda unit: {"narrative": " and ".join(unit["queries"])},
    "trec_rag.sub_narratives_draft": _aspects,
    "trec_rag.sub_narratives": _aspects,
    "trec_rag.relevance_counted": _counted,
    "trec_rag.relevance_at_once": _grade,
    "trec_rag.relevance": lambda unit: {"grade": _level(unit["question"], unit["passage"])},
    "trec_rag.relevance_yes_no": lambda unit: {
        "relevant": _level(unit["question"], unit["passage"]) > 0
    },
    "trec_rag.nuggets": _nuggets,
    "trec_rag.merge": _merge,
    "trec_rag.importance": _importance,
    "trec_rag.mapping": _mapping,
    "trec_rag.assignment": _assignment,
    "trec_rag.support": _support,
    "trec_rag.support_in_context": _support,
}


def half(task: str, unit: Mapping[str, Any]) -> Mapping[str, Any] | None:
    """Another model: of nuggets it finds only every second."""
    found = judge(task, unit)
    return {"nuggets": found["nuggets"][::2]} if task == "trec_rag.nuggets" else found


def strict(task: str, unit: Mapping[str, Any]) -> Mapping[str, Any] | None:
    """Another model: it finds nothing relevant and nothing stated."""
    found = dict(judge(task, unit) or {})
    if task == "trec_rag.relevance_counted":
        found |= {"related": False, "answered": [False] * len(unit["sub_narratives"])}
    elif task.startswith("trec_rag.relevance"):
        found |= {"relevant": False} if "relevant" in found else {"grade": 0}
    elif task == "trec_rag.assignment":
        found["labels"] = ["not_support"] * len(unit["nuggets"])
    return found


def lenient(task: str, unit: Mapping[str, Any]) -> Mapping[str, Any] | None:
    """Another model: it finds everything answered in detail."""
    found = dict(judge(task, unit) or {})
    if task == "trec_rag.relevance_counted":
        found |= {"related": True, "answered": [True] * len(unit["sub_narratives"])}
    elif task.startswith("trec_rag.relevance"):
        found |= {"relevant": True} if "relevant" in found else {"grade": 3}
    return found


_WORDINGS = iter(("On {}", "Everything about {}", "What else is known of {}") * 100)


def sorting(task: str, unit: Mapping[str, Any]) -> Mapping[str, Any] | None:
    """Sorts nuggets by their last word, and names what fits none otherwise each time."""
    if task != "trec_rag.mapping":
        return judge(task, unit)
    wording = next(_WORDINGS)
    rows = []
    for number, nugget in enumerate(unit["nuggets"], 1):
        last = nugget.split()[-1]
        fits = [at for at, one in enumerate(unit["sub_narratives"], 1) if one.endswith(last)]
        rows.append(
            {"nugget": number, "sub_narrative": fits[0] if fits else 0,
             "new": "" if fits else wording.format(last)}
        )  # fmt: skip
    return {"mapping": rows}
