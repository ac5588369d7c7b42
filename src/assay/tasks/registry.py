"""Every labelling task by name."""

from __future__ import annotations

from assay.tasks import (
    answering,
    battles,
    exam,
    r2c2,
    rag,
    retrieval,
    sgss,
    trec_rag,
    trec_rag_narratives,
    trec_rag_nuggets,
)
from assay.tasks.base import AnyTask

_MODULES = (
    r2c2,
    trec_rag,
    trec_rag_narratives,
    trec_rag_nuggets,
    exam,
    sgss,
    rag,
    retrieval,
    answering,
    battles,
)

REGISTRY: dict[str, AnyTask] = {task.name: task for module in _MODULES for task in module.TASKS}
