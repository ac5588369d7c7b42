"""Every labelling task by name."""

from __future__ import annotations

from assay.tasks import exam, r2c2, retrieval, trec_rag, trec_rag_narratives, trec_rag_nuggets
from assay.tasks.base import AnyTask

REGISTRY: dict[str, AnyTask] = {
    task.name: task
    for module in (r2c2, trec_rag, trec_rag_narratives, trec_rag_nuggets, exam, retrieval)
    for task in module.TASKS
}
