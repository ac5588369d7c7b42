"""Every file format that ``assay validate`` knows, those of all protocols."""

from __future__ import annotations

from assay.formats import (
    exam_validate,
    r2c2_validate,
    records_validate,
    sgss_validate,
    trec_rag_validate,
)
from assay.formats.validate import (
    FORMATS,
    FileReport,
    ValidationReport,
    guess_format,
    register,
    validate,
)

__all__ = ["FORMATS", "FileReport", "ValidationReport", "guess_format", "validate"]

for _module in (
    r2c2_validate,
    trec_rag_validate,
    exam_validate,
    sgss_validate,
    records_validate,
):
    for _one in _module.FORMATS:
        register(_one)
