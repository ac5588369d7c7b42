"""Every labelling task by name."""

from __future__ import annotations

from assay.tasks import exam, r2c2, retrieval, trec_rag
from assay.tasks.base import AnyTask

REGISTRY: dict[str, AnyTask] = {
    task.name: task for task in (*r2c2.TASKS, *trec_rag.TASKS, *exam.TASKS, *retrieval.TASKS)
}
