"""One job by Assay, as a process: JOB.json CONCURRENCY URL; prints its figures as JSON."""

from __future__ import annotations

import gc
import json
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from assay.judging.engine import judge, plan
from assay.labellers.base import Request
from assay.labellers.openai import OpenAILabeller, OpenAISettings
from assay.labellers.pace import Limits
from assay.ledger import Ledger
from assay.model.labels import Label
from assay.tasks.rendering import Renderer
from assay.tasks.trec_rag import ASSIGNMENT, RELEVANCE, RelevanceUnit, assignment_units


def main() -> None:
    gc.set_threshold(1_000_000, 100, 100)  # as the command line does
    job = json.loads(Path(sys.argv[1]).read_bytes())
    limits = Limits(concurrency=int(sys.argv[2]))
    settings = OpenAISettings("benchmark", (sys.argv[3],), limits=limits)
    labeller = OpenAILabeller(settings, Renderer())
    started, cpu = time.perf_counter(), time.process_time()
    question, texts = job["question"], job["texts"]
    value: Callable[[Label], object]
    if job["nuggets"]:
        requests = [
            Request(ASSIGNMENT, unit)
            for text in texts
            for unit in assignment_units(question, job["nuggets"], text)
        ]
        place, value = "answer", lambda label: (label.verdict or {})["labels"]
    else:
        requests = [
            Request(RELEVANCE, RelevanceUnit(question=question, passage=text)) for text in texts
        ]
        place, value = "passage", lambda label: (label.verdict or {})["grade"]
    with tempfile.TemporaryDirectory() as folder, Ledger.open(Path(folder) / "l.sqlite") as ledger:
        tally = judge([("job", plan(ledger, labeller, requests))], ledger)
        ended, spent = time.perf_counter(), time.process_time()
        units = ledger.units()
        labels = {str(units[label.unit][place]): value(label) for label in ledger.labels()}
    print(
        json.dumps(
            {
                "startup_cpu": cpu,
                "job_wall": ended - started,
                "job_cpu": spent - cpu,
                "failed": tally.failed + tally.skipped,
                "labels": [labels[text] for text in texts],
            }
        )
    )


if __name__ == "__main__":
    main()
