"""Recorded labels, from a file.

The file is JSON Lines, as ``assay labels export`` writes; ``task``, ``unit`` (the content) or
``unit_hash``, and ``verdict`` suffice. Labels of a task that asks the same on another scale
(:mod:`assay.tasks.shared`) are used too.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from assay.formats.jsonl import read_objects
from assay.formats.parsed import FaultList, Parsed
from assay.formats.text import read_text
from assay.labellers.base import BaseLabeller, Outcome, Request
from assay.labellers.replies import UnusableReply, verdict_in
from assay.model.errors import SettingsError
from assay.model.labels import LabellerId, Status
from assay.model.secrets import secret_in, secret_message
from assay.tasks.base import unit_hash
from assay.tasks.shared import sources


class RecordedLabeller(BaseLabeller):
    """Answers from the file ``path``; requests that it does not contain stay unanswered. The file
    is read at the first request. The last of several labels of a unit counts. People's labels are
    skipped: a machine with people's labels would be corrected by itself. Raises SettingsError if
    the file is missing or has only people's labels, and FormatError with all faulty lines."""

    def __init__(self, path: Path, name: str | None = None) -> None:
        self._path = path
        self._name = name or path.name
        self._rows: dict[tuple[str, str], Mapping[str, Any]] | None = None

    @property
    def id(self) -> LabellerId:
        return LabellerId(f"recorded:{self._name}", "recorded", {})

    async def label(self, request: Request) -> Outcome | None:
        if self._rows is None:
            self._rows = self._read()
        row = self._rows.get((request.task.name, request.unit_hash)) or self._converted(request)
        if row is None:
            return None
        source = row.get("labeller")
        detail = {"recorded_from": source} if source else {}
        if row.get("status") == Status.FAILED.value:
            return Outcome(Status.FAILED, error=str(row.get("error") or "failed"), detail=detail)
        try:
            verdict = verdict_in(request.task, request.unit, row["verdict"])
        except UnusableReply as unusable:
            return Outcome(Status.FAILED, error=f"the recorded verdict does not fit: {unusable}")
        return Outcome(Status.OK, verdict, detail=detail)

    def _converted(self, request: Request) -> Mapping[str, Any] | None:
        """A row that follows from a label of another task in the file."""
        for source in sources(request.task):
            name = source.task.name
            row = (self._rows or {}).get((name, unit_hash(name, source.content(request.content))))
            if row is None or row.get("status") == Status.FAILED.value:
                continue
            try:
                other = source.task.verdict.model_validate(row["verdict"]).model_dump(mode="json")
            except ValidationError:
                continue  # reported if that task is asked
            verdict = source.verdict(other)
            if verdict is not None:
                return {**row, "verdict": {**verdict, "reason": other.get("reason", "")}}
        return None

    def _read(self) -> dict[tuple[str, str], Mapping[str, Any]]:
        if os.path.exists(self._path) and not os.path.isfile(
            self._path
        ):  # reading a pipe may never end
            raise SettingsError(f"The recorded labels {self._path} are not a file.")
        source = read_text(self._path)
        faults = FaultList(source.file, source.faults)
        rows: dict[tuple[str, str], Mapping[str, Any]] = {}
        by_people = 0
        for number, row in read_objects(source, faults):
            problem, secret = _problem(row), secret_in(row.get("labeller"))
            if problem is not None:
                cure = "Give task, unit and verdict, as 'assay labels export' writes them."
                faults.error(number, problem, cure)
                continue
            if secret is not None:
                faults.error(number, "The 'labeller' contains a secret.", secret_message(secret))
                continue
            who = row.get("labeller")
            name = who.get("name") if isinstance(who, dict) else who
            if str(name).startswith("human:"):  # whatever the kind: people edit only the names
                by_people += 1
                continue
            unit = row.get("unit")
            known = row.get("unit_hash")
            identity = unit_hash(row["task"], unit) if isinstance(unit, dict) else str(known)
            rows[(row["task"], identity)] = row
        Parsed(rows, faults.done()).require()
        if by_people and not rows:
            raise SettingsError(
                f"The recorded labels {self._path} are people's, but a recorded labeller stands "
                "for a machine. Import people's labels with 'assay labels import'."
            )
        return rows


def _problem(row: Mapping[str, Any]) -> str | None:
    """Why a line is not a label, or None."""
    if not isinstance(row.get("task"), str):
        return "There is no 'task'."
    if not isinstance(row.get("unit"), dict) and not isinstance(row.get("unit_hash"), str):
        return "There is no 'unit' and no 'unit_hash'."
    if not isinstance(row.get("verdict"), dict) and row.get("status") != Status.FAILED.value:
        return "There is no 'verdict'."
    return None
