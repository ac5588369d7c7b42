"""Guidelines for people: the folder's own or else the machine's prompt without its instructions on
replying, since labels can be compared if both follow the same words."""

from __future__ import annotations

import re

from jinja2.exceptions import TemplateNotFound

from assay.api.opened import Opened
from assay.formats.text import read_text
from assay.model.paths import path_inside
from assay.tasks.base import AnyTask

_SYSTEM = re.compile(r"\{%-?\s*block system\s*-?%\}(.*?)\{%-?\s*endblock", re.DOTALL)
_TAG = re.compile(r"\{%.*?%\}|\{#.*?#\}", re.DOTALL)
_OF_MACHINES = re.compile(r"[^.]*(?:angle-bracket|\{\{)[^.]*\.")
"""Sentences on how texts are handed to a machine, and of what is known only once it is asked."""
_GRADE = re.compile(r"^(\d+) – ", re.MULTILINE)
_AFTER_LIST = re.compile(r"^((?:- |  ).*)\n(?=[A-Z])", re.MULTILINE)


def guideline(opened: Opened, task: AnyTask) -> str:
    """``guidelines/TASK.md`` of the folder, Markdown; else what the prompt says, or the task.
    Raises SettingsError where the file lies elsewhere, FormatError where it is not UTF-8."""
    folder = opened.folder
    path = path_inside(folder.path, f"guidelines/{task.name}.md", f"The guideline of {task.name}")
    if path.is_file():
        return "\n".join(read_text(path).sound().lines)
    try:
        said = instructions(folder.renderer.source(task))
    except TemplateNotFound:  # a task that no model is asked
        said = ""
    return f"# {task.title}\n\n{said or _docs(task)}\n"


def instructions(template: str) -> str:
    """What the source of a prompt tells whoever labels, as Markdown; empty where it has nothing."""
    found = _SYSTEM.search(template)
    text = _TAG.sub("", found[1] if found else "")
    paragraphs = re.split(r"\n\s*\n", text.strip())
    for_people = [_OF_MACHINES.sub("", one).strip() for one in paragraphs if "JSON" not in one]
    listed = _GRADE.sub(r"- **\1** – ", "\n\n".join(filter(None, for_people)))
    return _AFTER_LIST.sub(r"\1\n\n", listed)


def _docs(task: AnyTask) -> str:
    texts = (" ".join((one.__doc__ or "").split()) for one in (task.unit, task.verdict))
    return "\n\n".join(texts).replace("``", "`")
