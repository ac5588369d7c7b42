"""What the embedded judge's labels are worth to an order of systems, and what abstaining buys.

    python benchmarks/judge_boards.py --data .judge/data [--shared ../shared/data] [--most 400]

``--judge large`` is the larger judge, ``--package FOLDER`` one that ``training/calibrate.py --out
FOLDER`` wrote. ``--data`` is a folder of ``training/prepare.py``. First, systems ranked by the
share of their answers that the judge calls right, beside people: EVOUNA's five systems on each of
its two question sets, on questions of the test groups, with Kendall's τ, the largest error of a
score, and both in draws of as many questions (95 % of 1,000). Then, on pairs of sources that no
training, calibration or threshold saw (OpenQA-eval, ConjNLI, WiCE's dev claims; answers of OpenQA-
eval have no system's name), how many labels fail where the judge abstains, how often the others
agree with people, and how much of either kind (yes, no) lies within its prediction sets, which were
made to hold .9.
"""

from __future__ import annotations

import argparse
import asyncio
import random
import sys
from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from judge_attacks import FIELDS, request

sys.path.append(str(Path(__file__).parents[1] / "training"))
from prepare import load
from rows import Row, read_split
from which_judge import add_judge, asked_for

from assay.labellers.base import Outcome
from assay.labellers.judge.labeller import JudgeLabeller
from assay.labellers.judge.packages import JudgePackage
from assay.labellers.judge.texts import Ability
from assay.statistics.ranks import tau_rows

DRAWS = 1000


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--shared", type=Path, default=Path("../shared/data"))
    parser.add_argument("--most", type=int, default=400, help="questions, and pairs of a source")
    add_judge(parser)
    options = parser.parse_args()
    judge = asked_for(options)
    print(judge.title)
    boards(judge, read_split(options.data, "test"), options.most)
    doubts(judge, load(options.shared), options.most)


def labelled(judge: JudgePackage, rows: Sequence[Row]) -> list[Outcome]:
    async def run() -> list[Outcome]:
        async with JudgeLabeller(judge) as asked:
            return list(await asyncio.gather(*(asked.label(request(row)) for row in rows)))

    return asyncio.run(run())


def said(row: Row, outcome: Outcome) -> float:
    """1 for yes, 0 for no; NaN where there is no label."""
    if outcome.verdict is None:
        return float("nan")
    return float(getattr(outcome.verdict, FIELDS[row.ability]))


def boards(judge: JudgePackage, rows: Sequence[Row], most: int) -> None:
    print(f"{'board':<12}{'questions':>10}{'systems':>9}{'τ':>18}{'largest error':>22}")
    for split in ("NQ", "TQ"):
        asked: dict[str, dict[str, Row]] = defaultdict(dict)
        for row in rows:
            if row.source == "evouna" and row.split == split:
                asked[row.question][row.id.rpartition("-")[2]] = row
        names = sorted({name for own in asked.values() for name in own})
        whole = [own for own in asked.values() if len(own) == len(names)]
        random.Random(split).shuffle(whole)
        flat = [own[name] for own in whole[:most] for name in names]
        given = labelled(judge, flat)
        machine = np.array([said(*pair) for pair in zip(flat, given, strict=True)])
        machine = machine.reshape(-1, len(names))
        people = np.array([row.label for row in flat]).reshape(machine.shape)

        chance = np.random.default_rng(7)
        drawn = chance.integers(len(people), size=(DRAWS, len(people)))
        apart = [_compared(machine[at], people[at]) for at in drawn]
        low, high = np.percentile(apart, [2.5, 97.5], axis=0)
        tau, error = _compared(machine, people)
        print(f"{'EVOUNA ' + split:<12}{len(people):>10}{len(names):>9}"
              f"{tau:>7.2f} ({low[0]:.2f}, {high[0]:.2f})"
              f"{error:>8.3f} ({low[1]:.3f}, {high[1]:.3f})")  # fmt: skip
        for name, by, of in zip(
            names, people.mean(axis=0), np.nanmean(machine, axis=0), strict=True
        ):
            print(f"  {name:<10} people {by:.3f}  judge {of:.3f}")


def _compared(judge: np.ndarray, people: np.ndarray) -> tuple[float, float]:
    """τ between both orders, and the largest error of a system's score."""
    of, by = np.nanmean(judge, axis=0), people.mean(axis=0)
    return float(tau_rows(of[None], by[None])[0]), float(np.abs(of - by).max())


def doubts(judge: JudgePackage, rows: Sequence[Row], most: int) -> None:
    print(f"\n{'source':<14}{'pairs':>7}{'abstains':>10}{'right, all':>12}{'right, rest':>13}"
          f"{'yes within':>12}{'no within':>11}")  # fmt: skip
    for source in ("openqa_eval", "conjnli", "wice"):
        own = [
            row for row in rows if row.source == source and (source != "wice" or row.split == "dev")
        ]
        random.Random(source).shuffle(own)
        own = own[:most]
        outcomes = labelled(judge, own)
        given = [
            (row, one) for row, one in zip(own, outcomes, strict=True) if one.verdict is not None
        ]
        truth = np.array([row.label == 1 for row, _ in given])
        right = np.array([said(row, one) for row, one in given]) == truth
        first = [one.detail["rulings"][0] for _, one in given]
        low, high = judge.settings.unsure(Ability(own[0].ability), "yes")
        yes = np.array([one["yes"] for one in first])
        read = np.array([one["windows"] > 0 for one in first])
        read &= ~np.array([bool(one.detail.get("by_rule")) for _, one in given])
        doubt = read & (low < yes) & (yes < high)
        print(f"{source:<14}{len(given):>7}{doubt.mean():>10.2f}{right.mean():>12.3f}"
              f"{right[~doubt].mean():>13.3f}{(yes > low)[truth].mean():>12.3f}"
              f"{(yes < high)[~truth].mean():>11.3f}")  # fmt: skip


if __name__ == "__main__":
    main()
