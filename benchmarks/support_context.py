"""What the context of a support question changes: ``support = "in-context"`` beside ``true``.

    python benchmarks/support_context.py ../shared/data/wice [--most 5000] [--labeller embedded]

Claims of WiCE's dev set whose evidence has a title and fewer than ``--most`` characters; the title
is that of the cited page, the sentences before are those before the claim. People's labels are
WiCE's. Printed are the share of labels equal to people's and quadratic κ, both ways, and what the
context adds, with 95 % bootstrap intervals over claims. (The TREC RAG 2024 files hold where people
labelled, and no texts.)
"""

from __future__ import annotations

import argparse
import asyncio
import json
import re
from pathlib import Path

import numpy as np

from assay.labellers.base import Labeller, Request
from assay.labellers.spec import LabellerOptions, make_labeller
from assay.statistics.agreement import cohen_kappa
from assay.tasks.rendering import Renderer
from assay.tasks.trec_rag import BEFORE, SUPPORT, SUPPORT_IN_CONTEXT, ContextUnit, SupportUnit

TITLE = "(meta data) TITLE: "
LEVELS = {"supported": 2, "partially_supported": 1, "not_supported": 0}
GRADES = {"full": 2, "partial": 1, "none": 0}
DRAWS = 2000


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("wice", type=Path)
    parser.add_argument("--most", type=int, default=5000, help="characters of evidence")
    parser.add_argument("--labeller", default="embedded")
    options = parser.parse_args()
    text = (options.wice / "claim_dev.jsonl").read_text(encoding="utf-8")
    rows = [row for line in text.splitlines() if _usable(row := json.loads(line), options.most)]
    people = np.array([LEVELS[row["label"]] for row in rows])
    labeller = make_labeller(
        options.labeller, folder=Path(), renderer=Renderer(), options=LabellerOptions()
    )
    requests = [one for row in rows for one in _both(row)]
    said = np.array(asyncio.run(_labelled(labeller, requests))).reshape(-1, 2)
    given = ~np.isnan(said).any(axis=1)
    people, said = people[given], said[given]
    print(f"{len(people)} claims, {labeller.id.name}; {(~given).sum()} without a label")
    chance = np.random.default_rng(7)
    drawn = [chance.integers(len(people), size=len(people)) for _ in range(DRAWS)]
    for name, figure in (("equal labels", _equal), ("quadratic κ", _kappa)):
        plain, context = (figure(people, said[:, at]) for at in range(2))
        gains = [figure(people[n], said[n, 1]) - figure(people[n], said[n, 0]) for n in drawn]
        low, high = np.percentile(gains, [2.5, 97.5])
        print(f"{name:<13} plain {plain:.3f}  in context {context:.3f}  "
              f"difference {context - plain:+.3f} ({low:+.3f}, {high:+.3f})")  # fmt: skip
    print(f"{(said[:, 0] != said[:, 1]).sum()} labels differ")


def _usable(row: dict, most: int) -> bool:
    evidence = row["evidence"]
    return sum(map(len, evidence)) < most and any(one.startswith(TITLE) for one in evidence)


def _both(row: dict) -> tuple[Request, Request]:
    passage = "\n".join(one for one in row["evidence"] if not one.startswith("(meta data)"))
    title = next(one for one in row["evidence"] if one.startswith(TITLE)).removeprefix(TITLE)
    before = re.split(r"(?<=[.!?])\s+", " ".join(row["meta"]["claim_context"].split()))
    plain = SupportUnit(passage=passage, sentence=row["claim"])
    context = ContextUnit(
        passage=passage,
        sentence=row["claim"],
        title=title,
        before=tuple(one for one in before if one)[-BEFORE:],
    )
    return Request(SUPPORT, plain), Request(SUPPORT_IN_CONTEXT, context)


async def _labelled(labeller: Labeller, requests: list[Request]) -> list[float]:
    async with labeller:
        outcomes = await asyncio.gather(*map(labeller.label, requests))
    return [
        np.nan if one.verdict is None else GRADES[one.verdict.support.value] for one in outcomes
    ]


def _equal(people: np.ndarray, said: np.ndarray) -> float:
    return float((people == said).mean())


def _kappa(people: np.ndarray, said: np.ndarray) -> float:
    return float(cohen_kappa(people.astype(float), said, weights="quadratic"))


if __name__ == "__main__":
    main()
