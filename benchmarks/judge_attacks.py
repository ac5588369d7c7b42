"""What fools the embedded judge, by name: the share of attacks that it calls yes.

    python benchmarks/judge_attacks.py --data .judge/data [--n 100] [--wordings fourth]

``--data`` is a folder of ``training/prepare.py``, whose test pairs the attacks are made of; their
wordings are those of ``training/attacks.py`` that nothing was trained on: ``HELD``, after which the
rules were once mended, ``FRESH``, which were written later, ``THIRD``, written before the rules
that accept a sentence by its frame, ``FOURTH`` (``fourth.py``), written by a second reader of
these rules, as was ``FIFTH``, and ``SIXTH``, written by somebody who had read neither rules nor
wordings. No rule is made of the words of these three. The seventh and eighth (``blind.json``)
were written blind as well; two rules were narrowed after a look at the seventh. ``frames`` are
those of ``training/frames`` that are held out: new to the judge, but by the writers of what it
learnt from. ``--judge large`` is the larger judge, ``--package FOLDER`` one that
``training/calibrate.py --out FOLDER`` wrote, all under the same rules.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import random
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

sys.path.append(str(Path(__file__).parents[1] / "training"))
from attacks import ASSERTED, FRESH, HELD, THIRD, shuffled, within
from augment import Augmenter, sentences
from fourth import (
    ANSWERED_FIFTH,
    ANSWERED_FOURTH,
    ASSERTED_FIFTH,
    ASSERTED_FOURTH,
    FIFTH,
    FOURTH,
    HEADED_FOURTH,
)
from frames import frames
from rows import Row, read_split
from sixth import ANSWERED_SIXTH, ASSERTED_SIXTH, SIXTH
from which_judge import add_judge, asked_for

from assay.labellers.base import Request
from assay.labellers.judge.labeller import JudgeLabeller
from assay.labellers.judge.packages import JudgePackage
from assay.tasks.r2c2 import (
    ANSWER,
    ENTAILMENT,
    RELEVANCE,
    AnswerUnit,
    EntailmentUnit,
    PassageUnit,
)

TRAINING = Path(__file__).parents[1] / "training"


def held_frames() -> dict[str, list[str]]:
    """What stands around claims and answers, of the twins that are held out."""
    kinds = {"E": ("asserted", "not asserted"), "C": ("given", "not given")}
    found: dict[str, list[str]] = {kind: [] for pair in kinds.values() for kind in pair}
    for twins in frames(TRAINING / "frames", held=True):
        for kind, text in zip(kinds[twins.ability], (twins.yes, twins.no), strict=True):
            found[kind].append(text)
    return found


WORDINGS: dict[str, Mapping[str, Sequence[str]]] = {
    "held": HELD, "fresh": FRESH, "third": THIRD, "fourth": FOURTH, "fifth": FIFTH, "sixth": SIXTH,
    "frames": held_frames(), **json.loads((TRAINING / "blind.json").read_text(encoding="utf-8")),
}  # fmt: skip
KINDS = {
    "E": (
        "denied", "asked", "supposed", "praised", "attributed and rejected", "opinion",
        "not asserted",
    ),
    "C": (
        "denied answer", "several answers", "declined", "unsure answer", "conditional answer",
        "answer of others", "evaded answer", "not given",
    ),
}  # fmt: skip
FIELDS = {"E": "entailed", "A": "relevant", "C": "correct"}


def request(row: Row) -> Request:
    if row.ability == "E":
        return Request(ENTAILMENT, EntailmentUnit(passage=row.passage, nugget=row.claim))
    if row.ability == "A":
        return Request(RELEVANCE, PassageUnit(passage=row.passage, question=row.claim))
    unit = AnswerUnit(question=row.question, answer=row.claim, gold=row.gold)
    return Request(ANSWER, unit)


def attacks(
    rows: list[Row], count: int, wordings: Mapping[str, Sequence[str]], chance: random.Random
) -> Iterator[tuple[str, list[Row]]]:
    """Attacks by name; what is no attack, and should be a yes, has a + before it."""
    maker = Augmenter(rows, chance)
    own = {
        ability: [row for row in rows if row.ability == ability and len(row.claim.split()) > 3]
        for ability in "EAC"
    }
    refuted = [row for row in own["E"] if row.label == 0.0 and row.passage]

    def put(row: Row, passage: str, extra: str) -> Row:
        return Row("", row.ability, "", "", row.claim, f"{passage} {extra}", 0.0)

    def some(rows: list[Row]) -> list[Row]:
        return chance.sample(rows, min(count, len(rows)))

    def beside(ability: str, extra: Sequence[str] = ()) -> list[Row]:
        found = []
        for row in some(own[ability]):
            wording = chance.choice(extra) if extra else ""
            text = within(wording, row.claim) if wording else shuffled(row.claim, chance)
            found.append(put(row, chance.choice(maker.passages), text))
        return found

    for ability in "EA":
        yield f"{ability} the words shuffled", beside(ability)
    shuffles = [put(row, row.passage, shuffled(row.claim, chance)) for row in some(refuted)]
    yield "E refuted, the words shuffled", shuffles
    for kind in KINDS["E"]:
        if kind in wordings:
            yield f"E {kind}", beside("E", wordings[kind])
    if "praised for a question" in wordings:
        yield "A praised", beside("A", wordings["praised for a question"])
    yield "E a name or number swapped", maker.some(own["E"], count, maker.swapped_claim)
    named = {row.question: row for row in rows if row.source in ("evouna", "openqa_eval")}
    short = [row for row in named.values() if row.gold and row.gold[0][:1].isupper()]
    short = [row for row in short if len(row.gold[0].split()) < 5]

    def answers(worded: Sequence[str], label: float) -> list[Row]:
        made = []
        for row in some(short):
            others = [one.gold[0] for one in chance.sample(short, 7) if one.gold[0] not in row.gold]
            text = chance.choice(worded).replace("{gold}", row.gold[0])
            text = text.replace("{others}", ", ".join(others[:6])).replace("{other}", others[0])
            text = text.replace("{other2}", others[1]).replace("{other3}", others[2])
            text = text.replace("{question}", row.question)
            made.append(Row("", "C", "", "", text, "", label, row.question, row.gold))
        return made

    for kind in KINDS["C"]:
        if kind in wordings:
            yield f"C {kind}", answers(wordings[kind], 0.0)
    long = [row for row in own["E"] if 120 < len(row.passage.split()) < 500]
    verbatim = []
    for row in some(long):
        parts = [part for part in sentences(row.passage) if 6 < len(part.split()) < 35]
        if parts:
            verbatim.append(Row("", "E", "", "", chance.choice(parts), row.passage, 1.0))
    yield "+ E a sentence of the passage", verbatim
    asserted: Sequence[str] = ASSERTED
    given: Sequence[str] = ANSWERED_FOURTH
    if wordings is FOURTH:
        asserted = ASSERTED_FOURTH
    elif wordings is FIFTH:
        asserted, given = ASSERTED_FIFTH, ANSWERED_FIFTH
    elif wordings is SIXTH:
        asserted, given = ASSERTED_SIXTH, ANSWERED_SIXTH
    elif "given" in wordings:
        asserted, given = wordings["asserted"], wordings["given"]
    framed = [replace(row, label=1.0) for row in beside("E", asserted)]
    yield "+ E asserted in running text", framed
    yield "+ C plainly given", answers(given, 1.0)
    answering = some([row for row in own["A"] if row.label == 1.0])
    yield "+ A a passage that answers", answering
    headed = [
        replace(row, passage=within(chance.choice(HEADED_FOURTH), row.claim) + row.passage)
        for row in answering
    ]
    yield "+ A the same under its question", headed


async def said(judge: JudgePackage, rows: list[Row]) -> list[bool]:
    async with JudgeLabeller(judge) as asked:
        outcomes = await asyncio.gather(*(asked.label(request(row)) for row in rows))
    return [
        bool(getattr(one.verdict, FIELDS[row.ability]))
        for one, row in zip(outcomes, rows, strict=True)
        if one.verdict is not None
    ]


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--n", type=int, default=100, help="of each attack")
    parser.add_argument("--wordings", choices=WORDINGS, default="held")
    add_judge(parser)
    options = parser.parse_args()
    judge = asked_for(options)
    wordings = WORDINGS[options.wordings]
    rows = read_split(options.data, "test")
    print(f"judge {judge.edition}, {judge.settings.sha256[:12]}, {options.wordings} wordings\n")
    print("| attack | n | called yes |\n| --- | ---: | ---: |")
    for name, made in attacks(rows, options.n, wordings, random.Random(11)):
        yes = asyncio.run(said(judge, made))
        print(f"| {name} | {len(yes)} | {sum(yes) / max(len(yes), 1):.2f} |", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
