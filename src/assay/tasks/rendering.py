"""Prompt templates: from a task and a unit to the messages that a model is sent.

Templates are Jinja2 files in the package, with the blocks ``system`` and ``user`` (chat prompts)
or one block a yes/no question beside ``system`` (probes). A file of the same name in the
evaluation folder's ``prompts/`` takes its place. Texts from runs and corpora are data: they are
fenced, and never evaluated as templates.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Any

from jinja2 import ChoiceLoader, FileSystemLoader, PackageLoader, StrictUndefined, Template
from jinja2 import nodes as syntax
from jinja2.exceptions import TemplateError, TemplateNotFound
from jinja2.sandbox import SandboxedEnvironment

from assay.model.errors import SettingsError
from assay.tasks.base import AnyTask, Unit

Messages = tuple[Mapping[str, str], ...]

_BRACKETS = re.compile(r"<+|>+")


def fence(text: str, label: str) -> str:
    """Put ``text`` between marks that it cannot close.

    The marks are angle brackets, more of them than the longest run of such brackets inside.
    """
    width = 3
    if "<<<" in text or ">>>" in text:
        width = max(len(run) for run in _BRACKETS.findall(text)) + 1
    return f"{'<' * width}{label}\n{text}\n{label}{'>' * width}"


def numbered(texts: Iterable[str]) -> str:
    """``texts`` as lines ``1. …``, ``2. …``; one that holds line breaks is put on one line, so
    that it cannot pass itself off as several."""
    return "\n".join(f"{n}. {' '.join(text.split())}" for n, text in enumerate(texts, start=1))


@dataclass(frozen=True)
class Renderer:
    """Renders prompts; ``overrides`` is the evaluation folder's ``prompts/`` or None.

    Rendering raises SettingsError where a template of the user's cannot be read or misses a
    block, naming the file.
    """

    overrides: Path | None = None
    _environment: SandboxedEnvironment = field(init=False, repr=False, compare=False)
    _globals: dict[str, Any] = field(init=False, repr=False, compare=False)
    # Per template, the blocks that are plain text: they come out the same for every unit.
    _plain: dict[str, dict[str, str]] = field(init=False, repr=False, compare=False)

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
        environment.filters["numbered"] = numbered
        object.__setattr__(self, "_environment", environment)
        object.__setattr__(self, "_globals", dict(environment.globals))
        object.__setattr__(self, "_plain", {})
        object.__setattr__(self, "_template", lru_cache(maxsize=64)(self._load))

    def _load(self, name: str) -> Template:
        try:
            template = self._environment.get_template(name)
            template.globals = self._globals  # whose names every prompt goes through: a plain dict
            self._plain[name] = self._plain_blocks(name)
            return template
        except TemplateNotFound:
            raise SettingsError(f"There is no prompt template {name}.") from None
        except TemplateError as error:
            raise SettingsError(f"The prompt template {name} cannot be read: {error}") from error

    def _plain_blocks(self, name: str) -> dict[str, str]:
        if self._environment.loader is None:  # pragma: no cover (always set above)
            return {}
        tree = self._environment.parse(
            self._environment.loader.get_source(self._environment, name)[0]
        )
        found = {}
        for block in tree.find_all(syntax.Block):
            texts: list[str] = []
            for part in block.body:
                nodes = part.nodes if isinstance(part, syntax.Output) else [part]
                texts.extend(n.data for n in nodes if isinstance(n, syntax.TemplateData))
                if not all(isinstance(n, syntax.TemplateData) for n in nodes):
                    break
            else:
                found[block.name] = "".join(texts).strip()
        return found

    def _block(self, template: Template, block: str, context: Mapping[str, Any]) -> str:
        plain = self._plain[template.name or ""].get(block)
        if plain is not None:
            return plain
        if block not in template.blocks:
            raise SettingsError(
                f"The prompt template {template.filename or template.name} has no block "
                f"'{block}'; it has {', '.join(sorted(template.blocks)) or 'none'}."
            )
        try:
            # Globals and variables put together here: what Jinja does itself takes longer.
            variables = template.new_context({**self._globals, **context}, shared=True)
            return "".join(template.blocks[block](variables)).strip()
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
