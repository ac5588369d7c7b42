"""One relevance job by umbrela, as a process of its own environment: JOB.json CONCURRENCY URL.

umbrela 0.0.7 asks one question after the other; CONCURRENCY is not used.
"""

from __future__ import annotations

import contextlib
import io
import json
import os
import sys
import time
from pathlib import Path

# What its documentation asks for; empty Azure settings choose the plain OpenAI client.
os.environ.update(
    OPEN_AI_API_KEY="none", OPENAI_API_KEY="none", OPENAI_BASE_URL=sys.argv[3],
    AZURE_OPENAI_API_VERSION="", AZURE_OPENAI_API_BASE="", DEPLOYMENT_NAME="benchmark",
)  # fmt: skip

from umbrela.gpt_judge import GPTJudge


def main() -> None:
    job = json.loads(Path(sys.argv[1]).read_bytes())
    judge = GPTJudge("dl19-passage", few_shot_count=0, engine="benchmark")
    started, cpu = time.perf_counter(), time.process_time()
    candidates = [{"doc": {"segment": text}} for text in job["texts"]]
    with contextlib.redirect_stderr(io.StringIO()):  # its progress bar
        found = judge.judge({"query": {"text": job["question"]}, "candidates": candidates})
    ended, spent = time.perf_counter(), time.process_time()
    print(
        json.dumps(
            {
                "startup_cpu": cpu,
                "job_wall": ended - started,
                "job_cpu": spent - cpu,
                "labels": [one["judgment"] for one in found],
            }
        )
    )


if __name__ == "__main__":
    main()
