"""A small evaluation: rivers and canals, three segments to a topic, two runs of each kind."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

import numpy as np

from assay.model.trec_rag import AssignedAnswer, RagNugget
from assay.protocols.label_sheets import NuggetTable, nugget_tables

NARRATIVES = [
    {
        "id": "1",
        "title": "I want to know why rivers meander and how canals were built.",
        "queries": ["why rivers meander", "canals built with locks"],
    },
    {"id": "2", "title": "I want to know when lakes freeze.", "queries": ["lakes freeze winter"]},
]
SEGMENTS = {
    "d1": "Rivers meander because banks erode outside. Sediment settles inside bends.",
    "d2": "Canals were built with locks. Locks lift boats between levels.",
    "d3": "Bread needs flour. Bakers knead dough.",
    "d4": "Shallow lakes freeze early during winter nights. Deep lakes freeze late.",
}
ANSWERS = {
    "good": {
        "1": [
            ("Rivers meander because banks erode outside.", ["d1"]),
            ("Locks lift boats between levels.", ["d2", "d1"]),
            ("This matters.", []),
        ],
        "2": [("Shallow lakes freeze early during winter nights.", ["d4"])],
    },
    "poor": {"1": [("Rivers erode banks and bread needs flour.", ["d3"])]},
}
TOML = """
[evaluation]
protocol = "trec-rag"
[inputs]
narratives = "narratives.jsonl"
r_runs = ["r/*.txt"]
rag_runs = ["rag/*.jsonl"]
rj_runs = ["rj/*.txt"]
segments = ["segments.jsonl"]
{inputs}
[labellers]
default = "tests.trec_rag.judge:judge"
[settings]
resamples = 100
{settings}
"""


def lines(path: Path, rows: list[dict]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")


def make(folder: Path, *, inputs: str = "", settings: str = "") -> Path:
    """Write the evaluation; ``inputs`` and ``settings`` are further lines of assay.toml."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "assay.toml").write_text(TOML.format(inputs=inputs, settings=settings))
    lines(folder / "narratives.jsonl", NARRATIVES)
    lines(
        folder / "segments.jsonl",
        [{"docid": doc, "title": doc, "segment": text} for doc, text in SEGMENTS.items()],
    )
    (folder / "r").mkdir(exist_ok=True)
    ranking = {"ret": {"1": ["d1", "d2", "d3"], "2": ["d4", "d3"]}, "bad": {"1": ["d3", "d2"]}}
    for run, topics in ranking.items():
        rows = [
            f"{topic} Q0 {doc} {rank} {9 - rank} {run}\n"
            for topic, docs in topics.items()
            for rank, doc in enumerate(docs, 1)
        ]
        (folder / "r" / f"{run}.txt").write_text("".join(rows))
    for run, topics in ANSWERS.items():
        rows = []
        for topic, sentences in topics.items():
            docs = list(dict.fromkeys(doc for _, cited in sentences for doc in cited))
            rows.append(
                {
                    "metadata": {"team_id": "t", "run_id": run, "narrative_id": topic,
                                 "narrative": NARRATIVES[int(topic) - 1]["title"],
                                 "type": "automatic", "prompt": ""},
                    "references": docs,
                    "answer": [
                        {"text": text, "citations": [docs.index(doc) for doc in cited]}
                        for text, cited in sentences
                    ],
                }
            )  # fmt: skip
        lines(folder / "rag" / f"{run}.jsonl", rows)
    (folder / "rj").mkdir(exist_ok=True)
    guesses = [("1", "d1", 2), ("1", "d2", 2), ("1", "d3", 1), ("2", "d4", 3), ("2", "d3", 0)]
    (folder / "rj" / "rj.txt").write_text(
        "".join(f"{topic} Q0 {doc} {label} 0.9 rj\n" for topic, doc, label in guesses)
    )
    return folder


def tables(
    answers: Iterable[AssignedAnswer], banks: Mapping[str, Sequence[RagNugget]]
) -> list[NuggetTable]:
    """The answers, and the nuggets of every topic, whether anybody answered it or not."""
    every = [NuggetTable(topic, tuple(bank), (), np.zeros((0, len(bank))))
             for topic, bank in banks.items()]  # fmt: skip
    return every + nugget_tables(answers)
