"""Every file format that ``assay validate`` knows, those of all protocols."""

from __future__ import annotations

from assay.formats import exam_validate, sgss_validate, trec_rag_validate
from assay.formats.validate import FORMATS, FileReport, ValidationReport, register, validate

__all__ = ["FORMATS", "FileReport", "ValidationReport", "validate"]

for _one in (*trec_rag_validate.FORMATS, *exam_validate.FORMATS, *sgss_validate.FORMATS):
    register(_one)
