"""Every labelling task by name."""

from __future__ import annotations

<<<<<<< HEAD
from assay.tasks import (
    answering,
    exam,
    r2c2,
    retrieval,
    trec_rag,
    trec_rag_narratives,
    trec_rag_nuggets,
)
from assay.tasks.base import AnyTask

_MODULES = (r2c2, trec_rag, trec_rag_narratives, trec_rag_nuggets, exam, retrieval, answering)

REGISTRY: dict[str, AnyTask] = {task.name: task for module in _MODULES for task in module.TASKS}
=======
from assay.tasks import exam, r2c2, retrieval, sgss, trec_rag, trec_rag_narratives, trec_rag_nuggets
from assay.tasks.base import AnyTask

REGISTRY: dict[str, AnyTask] = {
    task.name: task
    for module in (r2c2, trec_rag, trec_rag_narratives, trec_rag_nuggets, exam, retrieval, sgss)
    for task in module.TASKS
}
>>>>>>> 7abf2fb (Protocol sgss: structured search summaries, weights from preferences, degraded versions)
