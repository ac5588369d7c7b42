"""Prompt rendering: from a task and a unit to the messages that a model is sent.

Templates are Jinja2 files in the package, with the blocks ``system`` and ``user`` (chat prompts) or
``system`` and one block for each yes/no question (probes). A file of the same name in the
evaluation folder's ``prompts/`` replaces the package's. Texts from runs and corpora are data: they
are fenced, and never evaluated as templates.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from functools import cached_property
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Any

from assay.model.errors import SettingsError
from assay.model.paths import check_file, path_inside
from assay.tasks.base import AnyTask, Unit

if TYPE_CHECKING:
    from assay.tasks.template_files import SandboxedTemplates, Templates

Messages = tuple[Mapping[str, str], ...]


@dataclass(frozen=True)
class Renderer:
    """Renders prompts. ``overrides`` is the evaluation folder's ``prompts/``, or None. Raises
    SettingsError that names the file if a template of the user's cannot be read or lacks a
    block."""

    overrides: Path | None = None

    @cached_property
    def _templates(self) -> Templates | SandboxedTemplates:
        # Jinja2 takes a tenth of the time that a command takes to start.
        from assay.tasks.template_files import SandboxedTemplates, packaged  # noqa: PLC0415

        if self.overrides is not None and any(self.overrides.glob("*.j2")):
            return SandboxedTemplates(self.overrides)
        return packaged()

    def chat(self, task: AnyTask, unit: Unit) -> Messages:
        """The system and user messages that ask for the whole verdict as JSON."""
        return self._messages(f"{task.template}.j2", "user", unit, {})

    def probe(self, task: AnyTask, unit: Unit, probe: str, context: Mapping[str, Any]) -> Messages:
        """The system and user messages that ask the yes/no question ``probe``."""
        return self._messages(f"{task.template}.probes.j2", probe, unit, context)

    def source(self, task: AnyTask) -> str:
        """Source text of all prompts of a task."""
        chat: str = self._templates.source(f"{task.template}.j2")
        return chat if task.decide is None else chat + self.probe_source(task)

    def probe_source(self, task: AnyTask) -> str:
        """Source text of the task's probe template (part of an embedded labeller's key)."""
        source: str = self._templates.source(f"{task.template}.probes.j2")
        return source

    def own_files(self, task: AnyTask) -> Iterator[tuple[str, bytes]]:
        """The files of a task's prompts, by name: the folder's, or else the package's."""
        packaged = files("assay.tasks").joinpath("templates")
        for name in (f"{task.template}.j2", f"{task.template}.probes.j2"):
            own = None if self.overrides is None else self.overrides / name
            found = own if own is not None and own.is_file() else packaged.joinpath(name)
            if found.is_file():
                yield name, found.read_bytes()

    def _messages(self, name: str, block: str, unit: Unit, extra: Mapping[str, Any]) -> Messages:
        context = {**vars(unit), **extra}  # units have no fields beyond their own
        system, user = self._templates.render(name, ("system", block), context)
        return {"role": "system", "content": system}, {"role": "user", "content": user}


LARGEST = 1_000_000
"""Largest size of a template file in bytes."""

_SIMILAR = 0.8  # similarity to a template's name from which a file is likely misspelt


def check_overrides(prompts: Path, more: Iterable[str] | None = None) -> None:
    """Raise SettingsError for a ``*.j2`` file in ``prompts`` that nothing would read. The message
    names the templates that may have been meant.

    Files that another file there includes or extends are read. ``more`` are the templates of
    protocols that are not Assay's, if there are any: then only a name very similar to a template's
    is a fault, as such protocols may have further templates.
    """
    found = {path.name: path for path in sorted(prompts.glob("*.j2")) if not path.is_dir()}
    for name, path in found.items():
        path_inside(prompts.parent, path.absolute(), f"The prompt template {name}")
        check_file(path, LARGEST, f"The prompt template {name}")
    known = {one.name for one in files("assay.tasks").joinpath("templates").iterdir()}
    known.update(more or ())
    unknown = [name for name in found if name not in known and not _is_part(name, found)]
    for name in unknown:
        meant = get_close_matches(name, sorted(known), 3, 0.6 if more is None else _SIMILAR)
        if meant or more is None:
            cure = f"Did you mean {' or '.join(meant)}?" if meant else "Rename or remove it."
            raise SettingsError(
                f"{found[name]}: there is no prompt template of this name, so the file would not "
                f"be used. {cure}"
            )


def _is_part(name: str, found: dict[str, Path]) -> bool:
    texts = (path.read_text("utf-8", "replace") for one, path in found.items() if one != name)
    return any(f'"{name}"' in text or f"'{name}'" in text for text in texts)
