"""The files of the R2C2 task in one place: questions, PR runs, AC runs (marked or not)."""

from __future__ import annotations

from assay.formats.parsed import Parsed
from assay.formats.r2c2_ac import AnswerRunFile, read_ac_run, write_marked
from assay.formats.r2c2_nuggets import MAX_NUGGETS
from assay.formats.r2c2_pr import MAX_RANK, read_pr_run
from assay.formats.r2c2_questions import CATEGORIES, read_questions

__all__ = [
    "CATEGORIES",
    "MAX_NUGGETS",
    "MAX_RANK",
    "AnswerRunFile",
    "Parsed",
    "read_ac_run",
    "read_pr_run",
    "read_questions",
    "write_marked",
]
