"""Three pairs of passage and claim, handed in under all four protocols; and a labeller that
remembers what it was asked (``tests.cli.ground:judge``)."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

QUESTION = "Why do rivers meander?"
GOLD = "banks erode"
PAIRS = {  # claim -> passage that it cites, how far that supports it
    "Rivers meander because banks erode.": ("Rivers meander because their banks erode.", "full"),
    "Canals have locks and towers.": ("Canals have locks.", "partial"),
    "Bread is blue.": ("Bread needs flour.", "none"),
}
ASKED: list[tuple[str, dict[str, Any]]] = []


def judge(task: str, unit: Mapping[str, Any]) -> Mapping[str, Any]:
    ASKED.append((task, dict(unit)))
    said: dict[str, Any] = {"reason": "because"}
    if task == "trec_rag.support":
        return {**said, "support": PAIRS[unit["sentence"]][1]}
    if task == "r2c2.entailment":
        return {**said, "entailed": PAIRS[unit["nugget"]][1] == "full"}
    if task == "r2c2.answer":
        helped = [{"nugget": n, "helped": True} for n, _ in enumerate(unit["nuggets"], 1)]
        return {**said, "correct": unit["answer"] == GOLD, "nuggets": helped}
    if task == "trec_rag.relevance":
        return {**said, "grade": 3 if "Rivers" in unit["passage"] else 0}
    if task == "exam.answer":
        return {"answer": GOLD if "erode" in unit["passage"] else "unanswerable"}
    if task.startswith("sgss."):
        return {**said, "label": "perfectly"}
    raise AssertionError(f"{task} was not to be asked")


def pairs() -> list[tuple[str, str, str]]:
    """(task, passage, claim) of every question about a pair so far."""
    return [
        (task, unit["passage"], unit.get("sentence") or unit["nugget"])
        for task, unit in ASKED
        if task in ("trec_rag.support", "r2c2.entailment")
    ]


def count(*tasks: str) -> int:
    return sum(task in tasks for task, _ in ASKED)


def lines(path: Path, rows: list[dict[str, Any]]) -> None:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")


def toml(folder: Path, protocols: list[str], settings: str = "", labellers: str = "") -> None:
    named = protocols[0] if len(protocols) == 1 else protocols
    (folder / "assay.toml").write_text(f"""
[evaluation]
protocol = {json.dumps(named)}
[inputs]
questions = "questions.tsv"
pr_runs = ["pr/*.txt"]
ac_runs = ["ac/*.txt"]
narratives = "narratives.jsonl"
segments = ["segments.jsonl"]
rag_runs = ["rag.jsonl"]
r_runs = ["retrieved.run"]
summaries = ["summaries.jsonl"]
bank = "bank.jsonl"
runs = ["retrieved.run"]
passages = "passages.jsonl"
[labellers]
{labellers or 'default = "tests.cli.ground:judge"'}
{settings}
""")


def make(folder: Path) -> Path:
    """All inputs; ``toml`` says which protocols read them."""
    ASKED.clear()
    for name in ("pr", "ac"):
        (folder / name).mkdir(parents=True)
    (folder / "questions.tsv").write_text(f"q1\t{QUESTION}\tSimple\t{GOLD}\n")
    passages = [passage for passage, _ in PAIRS.values()]
    cited = list(enumerate(zip(PAIRS, passages, strict=True), 1))
    (folder / "pr" / "PRX.txt").write_text(
        "".join(f"q1;{n};d{n};{passage}\n" for n, (_, passage) in cited)
    )
    nuggets = "".join(f"{n};PRX;{n};{claim}\n" for n, (claim, _) in cited)
    (folder / "ac" / "ACX.txt").write_text(f"<q1>\n{GOLD};80\n{nuggets}</q1>\n")
    (folder / "ac" / "BARE.txt").write_text(f"<q1>\n{GOLD};70\n</q1>\n")
    lines(folder / "narratives.jsonl", [{"id": "q1", "title": QUESTION}])
    lines(
        folder / "segments.jsonl",
        [{"docid": f"d{n}", "title": "", "segment": text} for n, (_, text) in cited],
    )
    lines(folder / "passages.jsonl", [{"id": f"d{n}", "text": text} for n, (_, text) in cited])
    answer = [{"text": claim, "citations": [n - 1]} for n, (claim, _) in cited]
    about = {"team_id": "t", "run_id": "RAGX", "narrative_id": "q1", "narrative": QUESTION}
    about |= {"type": "automatic"}
    references = [f"d{n}" for n, _ in cited]
    lines(folder / "rag.jsonl", [{"metadata": about, "references": references, "answer": answer}])
    (folder / "retrieved.run").write_text(
        "".join(f"q1 Q0 d{n} {n} {9 - n} RETX\n" for n, _ in cited)
    )
    docs = [
        {"number": n, "url": f"https://example.org/{n}", "title": "", "text": text}
        for n, (_, text) in cited
    ]
    (first, second, third) = PAIRS
    sections = [
        {"heading": "Canals", "statements": [{"text": second, "citations": [2]}]},
        {"heading": "Bread", "statements": [{"text": third, "citations": [3]}]},
    ]
    lines(
        folder / "summaries.jsonl",
        [
            {
                "query_id": "q1", "query": QUESTION, "summariser": run,
                "overview": {"text": first, "citations": [1]},
                "sections": sections[:shown], "doclist": docs,
            }
            for run, shown in (("SUMX", 2), ("SUMY", 1))
        ],
    )  # fmt: skip
    exam = {"question_id": "q1/a", "question_text": QUESTION, "gold_answers": [GOLD]}
    bank = {"query_id": "q1", "query_text": QUESTION, "items": [exam]}
    lines(folder / "bank.jsonl", [bank])
    return folder
