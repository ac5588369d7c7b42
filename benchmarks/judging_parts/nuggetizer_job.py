"""One assignment job by nuggetizer, in its own environment: JOB.json CONCURRENCY URL.

nuggetizer sends everything at once; CONCURRENCY is not used.
"""

from __future__ import annotations

import asyncio
import json
import os
import sys
import time
from pathlib import Path

os.environ.update(OPENAI_API_KEY="none", OPENAI_BASE_URL=sys.argv[3])

from nuggetizer.core.types import ScoredNugget
from nuggetizer.models.async_nuggetizer import AsyncNuggetizer


def main() -> None:
    job = json.loads(Path(sys.argv[1]).read_bytes())
    made = AsyncNuggetizer(model="benchmark")
    started, cpu = time.perf_counter(), time.process_time()
    nuggets = [ScoredNugget(text=text, importance="vital") for text in job["nuggets"]]
    texts = job["texts"]
    found = asyncio.run(
        made.assign_batch([job["question"]] * len(texts), texts, [nuggets] * len(texts))
    )
    ended, spent = time.perf_counter(), time.process_time()
    print(
        json.dumps(
            {
                "startup_cpu": cpu,
                "job_wall": ended - started,
                "job_cpu": spent - cpu,
                "labels": [[one.assignment for one in answer] for answer in found],
            }
        )
    )


if __name__ == "__main__":
    main()
