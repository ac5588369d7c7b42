"""Compare an embedded model with the gold verdicts of examples/films, and time it.

    python calibration/check_example.py [--model qwen2.5-1.5b] [--no-reasons]

Nothing is ever fitted on these verdicts: they are ours, and few.
"""

from __future__ import annotations

import argparse
import asyncio
import csv
import sys
import time
from collections.abc import Iterable
from pathlib import Path

from assay.formats.r2c2_ac import read_ac_run
from assay.formats.r2c2_pr import read_pr_run
from assay.formats.r2c2_questions import read_questions
from assay.labellers.base import Outcome, Request
from assay.labellers.embedded import EmbeddedLabeller
from assay.tasks.r2c2 import ANSWER, ENTAILMENT, AnswerUnit, EntailmentUnit
from assay.tasks.rendering import Renderer

FILMS = Path(__file__).parents[1] / "examples/films"


def rows(name: str) -> list[list[str]]:
    with (FILMS / "gold" / name).open(encoding="utf-8", newline="") as stream:
        return list(csv.reader(stream, delimiter="\t"))
