"""Creation, importance and assignment by nuggetizer, in its own environment: JOB.json URL.

Prints the nuggets of every case and the assignments of every answer as JSON.
"""

from __future__ import annotations

import asyncio
import json
import os
import sys
from pathlib import Path
from typing import Any

os.environ.update(OPENAI_API_KEY="none", OPENAI_BASE_URL=sys.argv[2])

from nuggetizer.core.types import Document, Query, Request
from nuggetizer.models.async_nuggetizer import AsyncNuggetizer


async def work(job: dict[str, Any]) -> dict[str, Any]:
    made = AsyncNuggetizer(model="benchmark")
    nuggets: dict[str, Any] = {}
    assigned: dict[str, Any] = {}
    for case in job["cases"]:
        documents = [
            Document(docid=str(n), segment=text) for n, text in enumerate(case["documents"])
        ]
        query = Query(qid=case["id"], text=case["narrative"])
        found = await made.create(Request(query=query, documents=documents))
        nuggets[case["id"]] = {one.text: one.importance for one in found}
        for run, answer in case["answers"].items():
            labels = await made.assign(case["narrative"], " ".join(answer), found)
            assigned[f"{run} {case['id']}"] = {one.text: one.assignment for one in labels}
    return {"nuggets": nuggets, "assigned": assigned}


if __name__ == "__main__":
    print(json.dumps(asyncio.run(work(json.loads(Path(sys.argv[1]).read_bytes())))))
