"""Labels from a file: what someone or something has already said.

The file holds one JSON object a line, as ``assay labels export`` writes them; only ``task``,
``unit`` (the content) or ``unit_hash``, and ``verdict`` are needed. A label of a task that asks the
same on another scale (tasks.shared) answers too where it can.
"""

from __future__ import annotations

from codecs import BOM_UTF8
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import orjson
from pydantic import ValidationError

from assay.labellers.base import BaseLabeller, Outcome, Request
from assay.labellers.replies import UnusableReply, verdict_in
from assay.model.errors import Fault, FormatError, SettingsError
from assay.model.labels import LabellerId, Status
from assay.model.secrets import secret_in, secret_told
from assay.tasks.base import unit_hash
from assay.tasks.shared import sources


class RecordedLabeller(BaseLabeller):
    """Answers from ``path``; a request that the file does not hold stays unanswered.

    The file is read with the first request. Where it holds several labels of one unit, the last
    one counts. Labels by people are passed over: as a machine's they would be corrected by
    themselves. Raises SettingsError where the file is missing or holds people's alone, and
    FormatError with every line that cannot be read.
    """

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
        row = self._rows.get((request.task.name, request.unit_hash)) or self._told(request)
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

    def _told(self, request: Request) -> Mapping[str, Any] | None:
        """A row that follows from what the file says under another task."""
        for source in sources(request.task):
            name = source.task.name
            row = (self._rows or {}).get((name, unit_hash(name, source.content(request.content))))
            if row is None or row.get("status") == Status.FAILED.value:
                continue
            try:
                said = source.task.verdict.model_validate(row["verdict"]).model_dump(mode="json")
            except ValidationError:
                continue  # it is told where that task is asked
            verdict = source.verdict(said)
            if verdict is not None:
                return {**row, "verdict": {**verdict, "reason": said.get("reason", "")}}
        return None

    def _read(self) -> dict[tuple[str, str], Mapping[str, Any]]:
        try:
            if self._path.exists() and not self._path.is_file():
                raise SettingsError(f"The recorded labels {self._path} are no file.")
            lines = self._path.read_bytes().removeprefix(BOM_UTF8).splitlines()
        except OSError as error:
            raise SettingsError(
                f"The recorded labels {self._path} cannot be read: {error.strerror}."
            ) from error
        rows: dict[tuple[str, str], Mapping[str, Any]] = {}
        faults: list[Fault] = []
        by_people = 0
        for number, line in enumerate(lines, start=1):
            if not line.strip():
                continue
            row, problem = _row(line)
            if row is None:
                cure = "Give task, unit and verdict, as 'assay labels export' writes them."
                faults.append(Fault(str(self._path), number, None, problem, cure))
                continue
            secret = secret_in(row.get("labeller"))
            if secret is not None:
                problem, cure = "The 'labeller' holds a secret.", secret_told(secret)
                faults.append(Fault(str(self._path), number, None, problem, cure))
                continue
            who = row.get("labeller")
            name = who.get("name") if isinstance(who, dict) else who
            if str(name).startswith("human:"):  # whatever the kind: names are edited alone
                by_people += 1
                continue
            unit = row.get("unit")
            known = row.get("unit_hash")
            identity = unit_hash(row["task"], unit) if isinstance(unit, dict) else str(known)
            rows[(row["task"], identity)] = row
        if faults:
            raise FormatError(faults)
        if by_people and not rows:
            raise SettingsError(
                f"The recorded labels {self._path} are people's, and a recorded labeller stands "
                "for a machine. 'assay labels import' takes people's labels."
            )
        return rows


def _row(line: bytes) -> tuple[dict[str, Any] | None, str]:
    try:
        row = orjson.loads(line)
    except orjson.JSONDecodeError as error:
        return None, f"This is not JSON ({error})."
    if not isinstance(row, dict):
        return None, "This is not a JSON object."
    if not isinstance(row.get("task"), str):
        return None, "There is no 'task'."
    if not isinstance(row.get("unit"), dict) and not isinstance(row.get("unit_hash"), str):
        return None, "There is neither 'unit' nor 'unit_hash'."
    if not isinstance(row.get("verdict"), dict) and row.get("status") != Status.FAILED.value:
        return None, "There is no 'verdict'."
    return row, ""
