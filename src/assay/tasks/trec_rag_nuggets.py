"""Nugget tasks: create from documents, merge lists, mark as vital, map to sub-narratives.

Source: overview of the TREC 2025 RAG track, section 3.2, after AutoNuggetizer (Pradeep et al.
2025). Documents come in windows together with a growing list. Each model makes its own list; then
the lists are merged.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Annotated

from pydantic import AfterValidator, BeforeValidator

from assay.model.trec_rag import Importance
from assay.tasks.base import AnyTask, Task, Unit, Verdict
from assay.tasks.fields import each_folded
from assay.tasks.lists import each_once, list_of_texts, one_for_each
from assay.tasks.schemas import (
    Schema,
    by_number,
    closed_object,
    distinct,
    numbered,
    readable,
    readable_text,
    whole,
)

MOST_NUGGETS = 30
MOST_EDITED = 100
"""Most nuggets into which a person may split one. Each is asked about for every answer."""
DOCUMENTS = 10
"""Documents in one window."""
WINDOW = 10
"""Nuggets in one window of importance and mapping."""


class NuggetsVerdict(Verdict):
    """A list of nuggets, the most important first."""

    nuggets: Annotated[tuple[str, ...], AfterValidator(distinct)]


class CreateUnit(Unit):
    """A narrative, the nuggets so far (at most ``most`` are wanted), and a window of documents."""

    narrative: str
    most: int
    nuggets: tuple[str, ...]
    documents: tuple[str, ...]


class MergeUnit(Unit):
    """A narrative and the lists of several models. At most ``most`` nuggets are wanted."""

    narrative: str
    most: int
    lists: tuple[tuple[str, ...], ...]


CREATE: AnyTask = Task(
    name="trec_rag.nuggets",
    title="Nugget creation: a growing list from windows of documents",
    unit=CreateUnit,
    verdict=NuggetsVerdict,
    **list_of_texts("nuggets", lambda unit: (0, unit.most)),
    max_tokens=1500,
    joins=False,
)
MERGE: AnyTask = replace(
    CREATE,
    name="trec_rag.merge",
    title="Nugget merging: one list from those of several models",
    unit=MergeUnit,
)


class ImportanceUnit(Unit):
    """A narrative and a window of its nuggets."""

    narrative: str
    nuggets: tuple[str, ...]


class ImportanceLabels(Verdict):
    """One label for each nugget of the unit, in order: vital or okay."""

    labels: Annotated[tuple[Importance, ...], BeforeValidator(each_folded)]


IMPORTANCE = Task(
    name="trec_rag.importance",
    title="Nugget importance: vital or okay",
    unit=ImportanceUnit,
    verdict=ImportanceLabels,
    **one_for_each("nuggets", "labels"),
    max_tokens=200,
    orders={"labels": ("vital", "okay")},
)


class MappingUnit(Unit):
    """A narrative, its sub-narratives and a window of its nuggets."""

    narrative: str
    sub_narratives: tuple[str, ...]
    nuggets: tuple[str, ...]


class Mapped(Verdict):
    """The sub-narrative of nugget number ``nugget``: its position from 1, or 0 if none fits, with
    the text of a ``new`` one."""

    nugget: int
    sub_narrative: int
    new: str = ""


class NuggetMapping(Verdict):
    """The sub-narrative of each nugget of the unit."""

    mapping: Annotated[tuple[Mapped, ...], numbered("nugget")]


def _check_mapping(unit: MappingUnit, verdict: NuggetMapping) -> str | None:
    given = (one.nugget for one in verdict.mapping)
    fault = each_once("mapping", len(unit.nuggets), given, "nuggets")
    if fault is not None:
        return fault
    for one in verdict.mapping:
        if not 0 <= one.sub_narrative <= len(unit.sub_narratives):
            return f"there is no sub-narrative {one.sub_narrative}"
        if one.sub_narrative == 0 and not readable(one.new):
            return f"nugget {one.nugget} fits none, but 'new' is empty"
    return None


def _narrow_mapping(unit: MappingUnit, schema: Schema) -> None:
    by_number(schema, "mapping", Mapped, len(unit.nuggets))
    kinds = [closed_object({"sub_narrative": whole(0, 0), "new": readable_text()})]
    if unit.sub_narratives:
        known = whole(1, len(unit.sub_narratives))
        kinds.insert(0, closed_object({"sub_narrative": known, "new": {"type": "string"}}))
    schema["$defs"][Mapped.__name__] = {"anyOf": kinds}


MAPPING = Task(
    name="trec_rag.mapping",
    title="Sub-narrative of each nugget",
    unit=MappingUnit,
    verdict=NuggetMapping,
    check=_check_mapping,
    narrow=_narrow_mapping,
    max_tokens=600,
    joins=False,
)


class EditUnit(Unit):
    """A nugget of a narrative as a machine made it, or an empty text to add nuggets."""

    narrative: str
    nugget: str


class EditedNugget(Verdict):
    """What a nugget became. An ``importance`` or ``sub_narrative`` of None is kept or asked for."""

    text: str
    importance: Importance | None = None
    sub_narrative: str | None = None


class NuggetEdit(Verdict):
    """A person's edit of one nugget: what it ``becomes``. Nothing: it is dropped. Another text: it
    is reworded. Several: it is split. Nuggets that become the same text are merged."""

    reason: str = ""
    becomes: tuple[EditedNugget, ...]


_EDITED = list_of_texts("becomes", lambda _: (0, MOST_EDITED), model=EditedNugget)


def _check_edit(unit: EditUnit, verdict: NuggetEdit) -> str | None:
    texts = {one.text.strip() for one in verdict.becomes}
    twice = "a nugget is listed twice" if len(texts) < len(verdict.becomes) else None
    return _EDITED["check"](unit, verdict) or twice


EDIT = Task(
    name="trec_rag.nugget_edit",
    title="Post-editing of a nugget: reworded, split, merged, dropped, importance changed",
    unit=EditUnit,
    verdict=NuggetEdit,
    check=_check_edit,
    narrow=_EDITED["narrow"],
    max_tokens=600,
    joins=False,
    by_people=True,
)

TASKS: tuple[AnyTask, ...] = (CREATE, MERGE, EDIT, IMPORTANCE, MAPPING)
