"""Prompt templates as Jinja2 reads them. Apart from :mod:`assay.tasks.rendering`, as Jinja2 is
needed only once a prompt is rendered."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any

from jinja2 import (
    ChoiceLoader,
    Environment,
    FileSystemLoader,
    PackageLoader,
    StrictUndefined,
    Template,
)
from jinja2 import nodes as syntax
from jinja2.exceptions import TemplateError, TemplateNotFound
from jinja2.sandbox import SandboxedEnvironment

from assay.model.errors import SettingsError
from assay.model.places import inside

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


class _FolderLoader(FileSystemLoader):
    """Templates of an evaluation folder: what a link would draw in from elsewhere is none."""

    def __init__(self, overrides: Path) -> None:
        super().__init__(overrides)
        self._folder = overrides.parent

    def get_source(
        self, environment: Environment, template: str
    ) -> tuple[str, str, Callable[[], bool]]:
        source, path, fresh = super().get_source(environment, template)
        inside(self._folder, Path(path).absolute(), f"The prompt template {template}")
        return source, path, fresh


class Templates:
    """The package's templates, and those in the folder ``overrides``, which go first."""

    def __init__(self, overrides: Path | None) -> None:
        own = PackageLoader("assay.tasks", "templates")
        self._loader = ChoiceLoader([_FolderLoader(overrides), own]) if overrides else own
        environment = SandboxedEnvironment(
            loader=self._loader,
            autoescape=False,
            undefined=StrictUndefined,
            trim_blocks=True,
            lstrip_blocks=True,
            keep_trailing_newline=False,
        )
        environment.filters["fence"] = fence
        environment.filters["numbered"] = numbered
        self._environment = environment
        self._globals = dict(environment.globals)
        # Per template, the blocks that are plain text: they come out the same for every unit.
        self._plain: dict[str, dict[str, str]] = {}
        self.template = lru_cache(maxsize=64)(self._load)

    def source(self, name: str) -> str:
        """The text of a template."""
        return self._loader.get_source(self._environment, name)[0]

    def block(self, template: Template, block: str, context: Mapping[str, Any]) -> str:
        """What a block of a template comes to."""
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
        tree = self._environment.parse(self.source(name))
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
