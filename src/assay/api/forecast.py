"""Forecast of judging in plain values: calls, tokens, cost, and prompts."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from assay.judging.engine import TitledPlans
from assay.judging.todo import KeySet
from assay.labellers.base import Estimate
from assay.model.progress import ProgressCallback, no_progress, with_progress

COLUMNS = (
    "task", "labeller", "known", "shared", "to_ask", "calls", "tokens_in", "tokens_out", "cost",
)  # fmt: skip


def forecast_rows(
    plans: TitledPlans, progress: ProgressCallback = no_progress
) -> list[dict[str, Any]]:
    """A row for each plan and labeller, with the keys :data:`COLUMNS`: the number of labels
    ``known``, ``shared`` with a row above, and ``to_ask``, the calls and tokens these take
    (estimated from words), and the cost in US dollars (None if a price is unknown)."""
    rows = []
    seen = KeySet()  # what several steps or protocols need is asked once
    for title, plan in plans:
        for part in plan.parts:
            count, estimate = 0, Estimate()
            what = f"{title}: prompts measured"
            for key, request in with_progress(part.todo, what, len(part.todo), progress):
                if seen.add(key):
                    count += 1
                    estimate += part.labeller.estimate(request)
            cells = (
                title,
                part.labeller.id.name,
                part.known,
                len(part.todo) - count,
                count,
                estimate.calls,
                estimate.tokens_in,
                estimate.tokens_out,
                estimate.cost,
            )
            rows.append(dict(zip(COLUMNS, cells, strict=True)))
    return rows


def prompts(plans: TitledPlans, count: int) -> Iterator[dict[str, Any]]:
    """Yield the first ``count`` prompts of each plan exactly as they would be sent. Labellers that
    use no prompts yield none."""
    for title, plan in plans:
        for _, request in plan.todo[:count]:
            messages = plan.labeller.preview(request)
            if messages:
                yield {
                    "task": request.task.name,
                    "labeller": plan.labeller.id.name,
                    "title": title,
                    "messages": [dict(message) for message in messages],
                }
