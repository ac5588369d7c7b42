"""Prompt templates: from a task and a unit to the messages that a model is sent.

Templates are Jinja2 files in the package, with the blocks ``system`` and ``user`` (chat prompts)
or one block a yes/no question beside ``system`` (probes). A file of the same name in the
evaluation folder's ``prompts/`` takes its place. Texts from runs and corpora are data: they are
fenced, and never evaluated as templates.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from assay.tasks.base import AnyTask, Unit

if TYPE_CHECKING:
    from assay.tasks.template_files import SandboxedTemplates, Templates

Messages = tuple[Mapping[str, str], ...]


@dataclass(frozen=True)
class Renderer:
    """Renders prompts; ``overrides`` is the evaluation folder's ``prompts/`` or None.

    Rendering raises SettingsError where a template of the user's cannot be read or misses a
    block, naming the file.
    """

    overrides: Path | None = None

    @cached_property
    def _templates(self) -> Templates | SandboxedTemplates:
        # Jinja2 takes a tenth of the time that a command takes to start.
        from assay.tasks.template_files import SandboxedTemplates, packaged  # noqa: PLC0415

        if self.overrides is not None and any(self.overrides.glob("*.j2")):
            return SandboxedTemplates(self.overrides)
        return packaged()

    def chat(self, task: AnyTask, unit: Unit) -> Messages:
        """System and user message that ask for the whole verdict as JSON."""
        return self._messages(f"{task.template}.j2", "user", unit, {})

    def probe(self, task: AnyTask, unit: Unit, probe: str, context: Mapping[str, Any]) -> Messages:
        """System and user message that ask the yes/no question ``probe``."""
        return self._messages(f"{task.template}.probes.j2", probe, unit, context)

    def source(self, task: AnyTask) -> str:
        """Source text of all prompts of a task."""
        chat: str = self._templates.source(f"{task.template}.j2")
        return chat if task.decide is None else chat + self.probe_source(task)

    def probe_source(self, task: AnyTask) -> str:
        """Source text of the task's probe template (part of an embedded labeller's key)."""
        source: str = self._templates.source(f"{task.template}.probes.j2")
        return source

    def _messages(self, name: str, block: str, unit: Unit, extra: Mapping[str, Any]) -> Messages:
        context = {**vars(unit), **extra}  # units have no fields beyond their own
        system, user = self._templates.render(name, ("system", block), context)
        return {"role": "system", "content": system}, {"role": "user", "content": user}
