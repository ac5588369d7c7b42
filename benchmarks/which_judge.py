"""Which embedded judge a benchmark is about: ``--judge large``, or ``--package FOLDER``."""

from __future__ import annotations

import argparse
from pathlib import Path

from assay.labellers.judge import NAME
from assay.labellers.judge.packages import JUDGES, JudgePackage


def add_judge(parser: argparse.ArgumentParser) -> None:
    """Have a parser take the options."""
    which = parser.add_mutually_exclusive_group()
    which.add_argument("--judge", choices=tuple(JUDGES), default=NAME, help="by default: judge")
    which.add_argument(
        "--package", type=Path, metavar="FOLDER", help="one that training/calibrate.py --out wrote"
    )


def asked_for(options: argparse.Namespace) -> JudgePackage:
    """The judge that the options name."""
    if options.package is None:
        return JUDGES[options.judge]
    return JudgePackage(options.package.name, "assay-judge", options.package, str(options.package))
