"""Loading and rendering of Jinja2 templates. A module of its own, so that Jinja2 is only imported
when a prompt is rendered."""

from __future__ import annotations

import re
import traceback
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache, lru_cache
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
from jinja2.exceptions import TemplateError, TemplateNotFound, TemplateSyntaxError
from jinja2.loaders import split_template_path
from jinja2.sandbox import ImmutableSandboxedEnvironment

from assay.model.confined import ConfinedFunction
from assay.model.errors import SettingsError
from assay.model.paths import TRUSTED_FOLDERS, check_file, path_inside
from assay.tasks.rendering import LARGEST

LONGEST = 16_000_000
"""Most characters in a rendered prompt."""

_BRACKETS = re.compile(r"<+|>+")


def fence(text: str, label: str) -> str:
    """Put ``text`` between marks that it cannot close: angle brackets, more of them than in any run
    of brackets in the text."""
    width = 3
    if "<<<" in text or ">>>" in text:
        width = max(len(run) for run in _BRACKETS.findall(text)) + 1
    return f"{'<' * width}{label}\n{text}\n{label}{'>' * width}"


def numbered(texts: Iterable[str]) -> str:
    """Write ``texts`` as lines ``1. …``, ``2. …``. Line breaks inside a text become spaces, so that
    it cannot pass itself off as several."""
    return "\n".join(f"{n}. {' '.join(text.split())}" for n, text in enumerate(texts, start=1))


class _FolderLoader(FileSystemLoader):
    """Loads templates of an evaluation folder. Refuses files that a link takes from elsewhere."""

    def __init__(self, overrides: Path) -> None:
        super().__init__(overrides)
        self._folder = overrides.parent

    def get_source(
        self, environment: Environment, template: str
    ) -> tuple[str, str, Callable[[], bool]]:
        what = f"The prompt template {template}"
        for folder in self.searchpath:
            path = Path(folder, *split_template_path(template)).absolute()
            if path.exists() and not path.is_dir():
                path_inside(self._folder, path, what)
                check_file(path, LARGEST, what)
        return super().get_source(environment, template)


class SandboxedTemplates:
    """Templates that include someone else's, which are therefore rendered in a separate process."""

    def __init__(self, overrides: Path) -> None:
        self._overrides = overrides
        self._own = Templates(overrides)
        self._render = ConfinedFunction("assay.tasks.template_files:rendered")
        self.source = self._own.source

    def render(self, name: str, blocks: Sequence[str], context: Mapping[str, Any]) -> list[str]:
        what = f"The prompt template {self._overrides / name}"
        places = [str(place.absolute()) for place in TRUSTED_FOLDERS.get()]
        overrides = str(self._overrides.absolute())
        texts: list[str] = self._render(what, overrides, places, name, blocks, context)
        return texts


def rendered(
    overrides: str, places: Sequence[str], name: str, blocks: Sequence[str], context: dict[str, Any]
) -> list[str]:
    """:meth:`Templates.render`, as called in the separate process."""
    TRUSTED_FOLDERS.set(tuple(map(Path, places)))
    return _of_folder(overrides).render(name, blocks, context)


@lru_cache(maxsize=1)
def _of_folder(overrides: str) -> Templates:
    return Templates(Path(overrides))


class Templates:
    """The package's templates, and those in the folder ``overrides``, which come first."""

    def __init__(self, overrides: Path | None) -> None:
        self._overrides = overrides
        own = PackageLoader("assay.tasks", "templates")
        self._loader = ChoiceLoader([_FolderLoader(overrides), own]) if overrides else own
        environment = ImmutableSandboxedEnvironment(
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
        self.template = lru_cache(maxsize=64)(self._load)

    def source(self, name: str) -> str:
        """The text of a template."""
        return self._loader.get_source(self._environment, name)[0]

    def render(self, name: str, blocks: Sequence[str], context: Mapping[str, Any]) -> list[str]:
        """Render blocks of the template ``name``."""
        template = self.template(name)
        return [self._block(template, block, context) for block in blocks]

    def _block(self, template: Template, block: str, context: Mapping[str, Any]) -> str:
        if block not in template.blocks:
            raise SettingsError(
                f"The prompt template {template.filename or template.name} has no block "
                f"'{block}'; it has {', '.join(sorted(template.blocks)) or 'none'}."
            )
        size, parts = 0, []
        try:
            # Merging globals and variables here is faster than Jinja's own way.
            variables = template.new_context({**self._globals, **context}, shared=True)
            for part in template.blocks[block](variables):
                size += len(part)
                if size > LONGEST:
                    raise ValueError(f"it comes to more than {LONGEST / 1e6:g} million characters")
                parts.append(part)
        except Exception as error:  # a template is code, and may raise anything
            raise self._failed(template.filename or template.name or "", error) from error
        return "".join(parts).strip()

    def _load(self, name: str) -> Template:
        try:
            template = self._environment.get_template(name)
            template.globals = self._globals  # a plain dict, as every prompt merges it
            return template
        except TemplateNotFound:
            raise SettingsError(f"There is no prompt template {name}.") from None
        except SettingsError:
            raise
        except Exception as error:  # Jinja compiles to Python, which has limits of its own
            own = self._overrides and self._overrides / name
            raise self._failed(str(own) if own and own.exists() else name, error) from error

    def _failed(self, name: str, error: Exception) -> SettingsError:
        """The error of a template, with its line if that is known."""
        try:
            self._environment.handle_exception()  # maps compiled lines to the template
        except Exception as same:  # noqa: BLE001 (always, and whatever it is)
            frames = traceback.extract_tb(same.__traceback__)
        lines = [frame.lineno for frame in frames if frame.filename.endswith(".j2")]
        if isinstance(error, TemplateSyntaxError):
            name, lines = error.filename or name, [error.lineno]
        kind = "" if isinstance(error, TemplateError | ValueError) else type(error).__name__
        message = ": ".join(filter(None, (kind, " ".join(str(error).split())[:300].rstrip("."))))
        line = f", line {lines[-1]}," if lines else ""
        return SettingsError(
            f"The prompt template {name}{line} fails: {message}. Correct it, or remove the file to "
            "use Assay's own."
        )


@cache
def packaged() -> Templates:
    """The package's templates alone. Cached, as compiling takes longer than rendering."""
    return Templates(None)
