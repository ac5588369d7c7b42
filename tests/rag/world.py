"""A small world in which labels follow from words: what is entailed, relevant, right, declined.

A claim ``aX`` is entailed by a text that holds the word ``aX``; a passage is relevant to degree N
where it holds ``gN``; an answer is right where it holds ``right``.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

ASKED: Counter[str] = Counter()
SILENT: set[str] = set()
"""Words: a unit that holds one of them gets no label."""


def judge(task: str, unit: Mapping[str, Any]) -> Mapping[str, Any] | None:
    ASKED[task] += 1
    text = json.dumps(unit)
    if any(word in text for word in SILENT):
        return None
    if task == "r2c2.dialogue_act":
        return {"act": "dont_know" if "dunno" in unit["answer"] else "answer"}
    if task == "rag.claims":
        words = unit["text"].replace(".", "").split()
        return {"claims": [] if "mute" in words else words}
    if task == "trec_rag.support":
        words = unit["passage"].replace(".", " ").split()
        claim = unit["sentence"].strip(".")
        if claim in words:
            return {"support": "full"}
        return {"support": "partial" if f"half-{claim}" in words else "none"}
    if task == "trec_rag.relevance":
        grade = next((n for n in (3, 2, 1) if f"g{n}" in unit["passage"]), 0)
        return {"grade": grade}
    assert task == "r2c2.answer", task
    return {"correct": "right" in unit["answer"], "nuggets": []}


def record(
    name: str,
    answer: str,
    passages: Sequence[str] = (),
    references: Sequence[str] = (),
    **more: Any,
) -> dict[str, Any]:
    return {
        "id": name, "question": f"Question {name}?", "answer": answer,
        "passages": [{"id": f"p{n}", "text": text} for n, text in enumerate(passages)],
        "references": list(references), **more,
    }  # fmt: skip


def folder(
    place: Path,
    runs: Mapping[str, Sequence[Mapping[str, Any]]],
    settings: str = "",
    inputs: str = "",
) -> Path:
    (place / "runs").mkdir(parents=True, exist_ok=True)
    for name, rows in runs.items():
        lines = "".join(json.dumps(one) + "\n" for one in rows)
        (place / "runs" / f"{name}.jsonl").write_text(lines)
    (place / "assay.toml").write_text(f"""
[evaluation]
protocol = "rag"
[inputs]
answers = ["runs/*.jsonl"]
{inputs}
[labellers]
default = "tests.rag.world:judge"
dialogue_act = "tests.rag.world:judge"
[settings]
resamples = 100
{settings}
""")
    return place
