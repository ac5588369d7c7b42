"""Compare an embedded labeller with the gold verdicts of examples/films, and time it.

    python calibration/check_example.py [--labeller embedded:qwen2.5-1.5b] [--no-reasons]

Every nugget and answer is judged as `assay judge` would, answers with the nuggets that the gold
verdicts call entailed. Nothing is ever fitted on these verdicts: they are ours, and few.
"""

from __future__ import annotations

import argparse
import asyncio
import sys
import time
from collections import defaultdict
from collections.abc import Iterable
from pathlib import Path

from assay.labellers.base import Labeller, Outcome, Request
from assay.labellers.spec import LabellerOptions, make_labeller
from assay.protocols.answers.requests import answer_content, entailment_content, request
from assay.protocols.evaluation import Evaluation
from assay.protocols.folder import Folder
from assay.protocols.r2c2.protocol import R2C2
from assay.tasks.r2c2 import ANSWER, ENTAILMENT
from assay.tasks.rendering import Renderer

FILMS = Path(__file__).parents[1] / "examples/films"
Place = tuple[str, ...]


def gold_rows(name: str) -> list[list[str]]:
    lines = (FILMS / "gold" / name).read_text(encoding="utf-8").splitlines()
    return [line.split("\t") for line in lines if line]


def requests() -> dict[Request, list[tuple[Place, dict[int, bool]]]]:
    """What is asked, with every (run, question[, nugget]) it is about and what gold says: the
    verdict under 0, and of nuggets that helped under their position."""
    inputs = Evaluation.open(Folder.open(FILMS), R2C2, None).inputs
    entailed = {(run, q, int(n)): verdict for run, q, n, verdict in gold_rows("entailment.tsv")}
    answers = {(row[0], row[1]): [*row[2:], ""][:2] for row in gold_rows("answers.tsv")}
    steps: tuple[dict, dict] = ({}, {})
    for question in inputs.questions:
        passages = inputs.passages(question.id)
        for run, file in inputs.ac_files.items():
            answer = file.run.answers.get(question.id)
            if answer is None or (run, question.id) not in answers:
                continue  # what a model wrote has no gold verdicts
            for nugget in answer.nuggets:
                place = (run, question.id, nugget.num)
                asked = request(ENTAILMENT, entailment_content(nugget, passages[nugget.key]))
                says = {0: entailed[place] == "YES"}
                steps[0].setdefault(asked, []).append((tuple(map(str, place)), says))
            kept = [n for n in answer.nuggets if entailed[run, question.id, n.num] == "YES"]
            verdict, helped = answers[run, question.id]
            numbers = {int(number) for number in helped.split(",") if number}
            says = {0: verdict == "YES"}
            says |= {at: nugget.num in numbers for at, nugget in enumerate(kept, 1)}
            texts = [nugget.text for nugget in kept]
            asked = request(ANSWER, answer_content(question, answer, texts))
            steps[1].setdefault(asked, []).append(((run, question.id), says))
    return steps[0] | steps[1]


async def judge(labeller: Labeller, asked: Iterable[Request]) -> dict[Request, Outcome | None]:
    asked = list(asked)
    async with labeller:
        outcomes = await asyncio.gather(*(labeller.label(one) for one in asked))
    return dict(zip(asked, outcomes, strict=True))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--labeller", default="embedded", help="a SPEC")
    parser.add_argument("--no-reasons", action="store_true")
    parser.add_argument("--verbose", action="store_true", help="print what differs")
    options = parser.parse_args()
    wanted = requests()
    settings = LabellerOptions(reasons=not options.no_reasons)
    labeller = make_labeller(options.labeller, folder=FILMS, renderer=Renderer(), options=settings)
    started = time.monotonic()
    outcomes = asyncio.run(judge(labeller, wanted))
    seconds = time.monotonic() - started
    right: dict[str, list[tuple[bool, bool]]] = defaultdict(list)
    for asked, outcome in outcomes.items():
        if outcome is None or outcome.verdict is None:
            print(f"failed: {outcome and outcome.error}")
            continue
        verdict = outcome.verdict.model_dump()
        for place, says in wanted[asked]:
            pairs = {0: (verdict.get("entailed", verdict.get("correct")), verdict["reason"])}
            if pairs[0][0] and says[0]:  # helps are compared where both find the answer right
                for help_ in verdict.get("nuggets", ()):
                    pairs[help_["nugget"]] = (help_["helped"], help_["reason"])
            for at, (said, reason) in pairs.items():
                name = "helped" if at else ("entailed" if "entailed" in verdict else "correct")
                right[name].append((said, says[at]))
                if options.verbose and said != says[at]:
                    row = (outcome.detail.get("probes") or outcome.detail["rulings"])[at]
                    sure = row.get("margin", row.get("yes"))
                    print(name, *place, at, "said", said, sure, asked.content, reason)
    for name, found in right.items():
        yes = [said for said, gold in found if gold]
        no = [not said for said, gold in found if not gold]
        print(
            f"{name}: {sum(said == gold for said, gold in found)} of {len(found)} as gold; "
            f"{sum(yes)} of {len(yes)} yes, {sum(no)} of {len(no)} no"
        )
    read = sum(outcome.tokens_in or 0 for outcome in outcomes.values() if outcome)
    wrote = sum(outcome.tokens_out or 0 for outcome in outcomes.values() if outcome)
    print(f"{len(outcomes)} labels in {seconds:.1f} s with loading; {read} tokens in, {wrote} out")
    return 0


if __name__ == "__main__":
    sys.exit(main())
