"""Rubrics, and answers graded with them, in the formats of ResearchRubrics and RAGDoll.

* RAGDoll: ``{qid, run_id, criteria: [{text, type, tier, weight, source_nugget, verdict}]}``
* ResearchRubrics, graded: ``{qid, run_id, rubrics: [{criterion, weight, axis, verdict}]}``
* its results, one criterion per row: ``{sample_id, weight, score, verdict}``, perhaps
  ``criterion``, ``axis`` and ``run_id`` (or ``model``); without these the file is one run
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping
from typing import Any

from assay.formats.jsonl import dump_line, one_id, one_text, read_objects
from assay.formats.naming import run_name
from assay.formats.parsed import FaultList, Spot
from assay.formats.text import SourceText, reads_file
from assay.model.rubrics import Criterion, GradedAnswer, GradedCriterion, Met
from assay.model.wording import joined, quoted

_TOPIC_KEYS = ("qid", "topic_id", "query_id", "narrative_id", "sample_id", "task_name")
_RUN_KEYS = ("run_id", "run", "model", "pdf")
_FAILED = ("failed", "fail", "error")


@reads_file
def read_graded_answers(
    source: SourceText, faults: FaultList, *, graded: bool = True
) -> tuple[GradedAnswer, ...]:
    """Read graded answers, or rubrics alone (``graded=False``). The verdict ``failed`` is read as a
    missing one."""
    found: dict[tuple[str, str], GradedAnswer] = {}
    for number, record in read_objects(source, faults):
        metadata = record.get("metadata")
        holder = {**metadata, **record} if isinstance(metadata, dict) else record
        topic = one_id(holder, *_TOPIC_KEYS)
        if topic is None:
            faults.error(number, "The record has no topic id.", 'Give "qid".')
            continue
        run = (one_id(holder, *_RUN_KEYS) or "").strip() or run_name(source.path)
        at = faults.at(number, topic)
        given = record.get("criteria", record.get("rubrics"))
        single = given is None and "weight" in record
        if not single and not isinstance(given, list):
            why = f"The record has no list of criteria; it has {joined(record, 8)}."
            at.error(why, 'Give "criteria": [{text, weight, verdict}].')
            continue
        items = [record] if single else given
        criteria = tuple(
            one
            for place, item in enumerate(items or (), 1)
            if (one := _criterion(item, place, at)) is not None
        )
        first = found.get((run, topic))
        if first is None:
            found[run, topic] = GradedAnswer(run, topic, criteria, number)
        elif single:
            both = first.criteria + criteria
            found[run, topic] = GradedAnswer(run, topic, both, first.line)
        else:
            at.twice(run, first.line)
    if not found and not faults.faulty:
        faults.error(0, "The file holds no graded answer.", "Write one JSON object per answer.")
    verdicts = (each for one in found.values() for each in one.criteria)
    if graded and found and all(one.verdict is None for one in verdicts):
        faults.error(0, "No criterion has a verdict.", "Give each criterion its verdict.")
    return tuple(found.values())


def _criterion(item: Any, place: int, at: Spot) -> GradedCriterion | None:
    if not isinstance(item, dict):
        cure = "Write {text, weight, verdict}."
        at.error(f"Criterion {place} is not an object.", cure)
        return None
    weight = item.get("weight")
    if isinstance(weight, bool) or not isinstance(weight, int | float) or not math.isfinite(weight):
        why = f"Criterion {place}: {quoted(str(weight))} is not a weight."
        at.error(why, "Write a number, below 0 for a fault.")
        return None
    text = one_text(item, "text", "criterion", "title", "rubric_title") or ""
    axis = one_text(item, "axis", "type", "category", "criterion_type") or ""
    tier = one_text(item, "tier") or ""
    criterion = Criterion(text, float(weight), axis, tier, one_text(item, "source_nugget"))
    raw = item.get("verdict")
    word = "" if raw is None else re.sub(r"[\s_-]+", "_", str(raw).strip().casefold())
    if not word or word in _FAILED or item.get("success") is False:
        return GradedCriterion(criterion, None)
    try:
        return GradedCriterion(criterion, Met(word))
    except ValueError:
        at.error(
            f"Criterion {place}: {quoted(str(raw))} is not a verdict.",
            f"Write {joined(Met)} or failed.",
        )
        return None


def write_rubrics(rubrics: Mapping[str, tuple[str, Iterable[Criterion]]]) -> bytes:
    """Write rubrics, given by topic with the text of the topic, as RAGDoll reads them."""
    return b"".join(
        dump_line(
            {
                "qid": topic,
                "query": query,
                "status": "completed",
                "criteria": [
                    {
                        "text": one.text,
                        "type": one.axis,
                        "tier": one.tier,
                        "weight": int(one.weight) if one.weight.is_integer() else one.weight,
                        "source_nugget": one.source,
                    }
                    for one in criteria
                ],
            }
        )
        for topic, (query, criteria) in rubrics.items()
    )
