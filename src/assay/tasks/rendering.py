"""Prompt templates: from a task and a unit to the messages that a model is sent.

Templates are Jinja2 files in the package, with the blocks ``system`` and ``user`` (chat prompts)
or one block a yes/no question beside ``system`` (probes). A file of the same name in the
evaluation folder's ``prompts/`` takes its place. Texts from runs and corpora are data: they are
fenced, and never evaluated as templates.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Any

from jinja2 import ChoiceLoader, FileSystemLoader, PackageLoader, StrictUndefined, Template
from jinja2.exceptions import TemplateError, TemplateNotFound
from jinja2.sandbox import SandboxedEnvironment

from assay.model.errors import SettingsError
from assay.tasks.base import AnyTask, Unit

Messages = tuple[Mapping[str, str], ...]


def fence(text: str, label: str) -> str:
    """Put ``text`` between marks that it cannot close.

    The marks are angle brackets, more of them than the longest run of such brackets inside.
    """
    runs = [len(run) for run in re.findall(r"<+|>+", text)]
    width = max([2, *runs]) + 1
    return f"{'<' * width}{label}\n{text}\n{label}{'>' * width}"


@dataclass(frozen=True)
class Renderer:
    """Renders prompts; ``overrides`` is the evaluation folder's ``prompts/`` or None.

    Rendering raises SettingsError where a template of the user's cannot be read or misses a
    block, naming the file.
    """

    overrides: Path | None = None
    _environment: SandboxedEnvironment = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        own = PackageLoader("assay.tasks", "templates")
        loader = ChoiceLoader([FileSystemLoader(self.overrides), own]) if self.overrides else own
        environment = SandboxedEnvironment(
            loader=loader,
            autoescape=False,
            undefined=StrictUndefined,
            trim_blocks=True,
            lstrip_blocks=True,
            keep_trailing_newline=False,
        )
        environment.filters["fence"] = fence
        object.__setattr__(self, "_environment", environment)
        object.__setattr__(self, "_template", lru_cache(maxsize=64)(self._load))

    def _load(self, name: str) -> Template:
        try:
            return self._environment.get_template(name)
        except TemplateNotFound:
            raise SettingsError(f"There is no prompt template {name}.") from None
        except TemplateError as error:
            raise SettingsError(f"The prompt template {name} cannot be read: {error}") from error

    def _block(self, template: Template, block: str, context: Mapping[str, Any]) -> str:
        if block not in template.blocks:
            raise SettingsError(
                f"The prompt template {template.filename or template.name} has no block "
                f"'{block}'; it has {', '.join(sorted(template.blocks)) or 'none'}."
            )
        try:
            return "".join(template.blocks[block](template.new_context(dict(context)))).strip()
        except TemplateError as error:
            raise SettingsError(
                f"The prompt template {template.filename or template.name} fails: {error}"
            ) from error

    def chat(self, task: AnyTask, unit: Unit) -> Messages:
        """System and user message that ask for the whole verdict as JSON."""
        return self._messages(f"{task.template}.j2", "system", "user", unit, {})

    def probe(self, task: AnyTask, unit: Unit, probe: str, context: Mapping[str, Any]) -> Messages:
        """System and user message that ask the yes/no question ``probe``."""
        return self._messages(f"{task.template}.probes.j2", "system", probe, unit, context)

    def probe_source(self, task: AnyTask) -> str:
        """Source text of the task's probe template (part of an embedded labeller's key)."""
        loader = self._environment.loader
        if loader is None:  # pragma: no cover (always set above)
            raise SettingsError("no template loader")
        return loader.get_source(self._environment, f"{task.template}.probes.j2")[0]

    def _messages(
        self, name: str, system: str, user: str, unit: Unit, extra: Mapping[str, Any]
    ) -> Messages:
        template: Template = self._template(name)  # type: ignore[attr-defined]
        context = {**dict(unit), **extra}
        return (
            {"role": "system", "content": self._block(template, system, context)},
            {"role": "user", "content": self._block(template, user, context)},
        )
