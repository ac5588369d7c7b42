"""Human-labelled pairs for the TREC RAG tasks' yes/no questions: support, nugget assignment,
relevance. Drawn with a fixed seed from the folder given as ``--shared``.

Support and assignment put the very question of ``r2c2.entailment``; what is fitted here is how
much less a yes must be worth where part of the claim is enough."""

from __future__ import annotations

import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from pairs import Pair, Row, read_rows

LONGEST = 900
"""Characters of a passage: longer ones would take most of the time."""

_SUPPORT = {"fever": 20, "wice": 60, "factcheck_gpt": 60}
_ANSWERS = {"squad2_dev": 36, "qnli": 30}


def by_label(shared: Path, source: str, count: int, seed: str) -> list[Row]:
    """``count`` rows of a source, as many of each label as there are, one a premise."""
    rows = [
        row
        for row in read_rows(shared / "judge" / f"{source}.jsonl.gz")
        if 20 <= len(row["premise"]) <= LONGEST and row["hypothesis"].strip()
    ]
    random.Random(seed).shuffle(rows)
    labels = sorted({row["label"] for row in rows})
    wanted = {label: count // len(labels) for label in labels}
    seen: set[str] = set()
    picked = []
    for row in rows:
        if wanted[row["label"]] and row["premise"] not in seen:
            wanted[row["label"]] -= 1
            seen.add(row["premise"])
            picked.append(row)
    return picked


def support(shared: Path) -> Iterator[Pair]:
    """Whether a passage supports a sentence, and an answer a nugget: the same question about the
    same texts, fully, and at least in part."""
    for source, count in _SUPPORT.items():
        for row in by_label(shared, source, count, f"support {source}"):
            premise, claim = row["premise"], row["hypothesis"]
            for probe, least in (("full", 1.0), ("partial", 0.5)):
                key, label = f"trec_rag.support/{probe}", row["label"] >= least
                unit: dict[str, Any] = {"passage": premise, "sentence": claim}
                yield Pair(key, "trec_rag.support", probe, source, premise, unit, label)
            for probe, least in (("stated", 1.0), ("touched", 0.5)):
                key, label = f"trec_rag.assignment/{probe}", row["label"] >= least
                unit = {"question": "", "nuggets": [claim], "answer": premise}
                context = {"nugget": claim, "number": 1}
                yield Pair(key, "trec_rag.assignment", probe, source, premise, unit, label, context)


def relevance(shared: Path) -> Iterator[Pair]:
    """Passages that do and do not answer a question; related ones are those that a question was
    asked about, whether it can be answered or not, against those of another question."""
    for source, count in _ANSWERS.items():
        rows = by_label(shared, source, count, f"relevance {source}")
        for row in rows:
            question, passage, label = row["hypothesis"], row["premise"], row["label"] == 1.0
            unit = {"question": question, "passage": passage}
            task = "trec_rag.relevance_yes_no"
            yield Pair(f"{task}/relevant", task, "relevant", source, question, unit, label)
            yield _counted("answered", source, question, passage, label, {"aspect": question})
        if source != "squad2_dev":
            continue
        for place, row in enumerate(rows):
            question, own = row["hypothesis"], place % 2 == 0
            passage = row["premise"] if own else rows[(place + 7) % len(rows)]["premise"]
            yield _counted("related", source, question, passage, own, {})


def _counted(
    probe: str, source: str, question: str, passage: str, label: bool, context: dict[str, Any]
) -> Pair:
    task = "trec_rag.relevance_counted"
    unit = {"narrative": question, "sub_narratives": [question], "passage": passage}
    return Pair(f"{task}/{probe}", task, probe, source, question, unit, label, context)


def trec_rag_pairs(shared: Path) -> list[Pair]:
    """Every pair, always the same ones in the same order."""
    return [*support(shared), *relevance(shared)]
