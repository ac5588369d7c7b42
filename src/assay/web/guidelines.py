"""Guidelines for people: the folder's own, or else the machine's prompt without its reply
instructions, since labels are comparable only if both follow the same words."""

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
"""Sentences on how texts are passed to a machine, or with values known only when it is asked."""
_GRADE = re.compile(r"^(\d+) – ", re.MULTILINE)
_AFTER_LIST = re.compile(r"^((?:- |  ).*)\n(?=[A-Z])", re.MULTILINE)


def guideline(opened: Opened, task: AnyTask) -> str:
    """The Markdown file ``guidelines/TASK.md`` of the folder, or else the text of the prompt or
    task. Raises SettingsError if the file lies elsewhere, FormatError if it is not UTF-8."""
    folder = opened.folder
    path = path_inside(folder.path, f"guidelines/{task.name}.md", f"The guideline of {task.name}")
    if path.is_file():
        return "\n".join(read_text(path).sound().lines)
    try:
        said = instructions(folder.renderer.source(task))
    except TemplateNotFound:  # a task that is never put to a model
        said = ""
    return f"# {task.title}\n\n{said or _docs(task)}\n"


def instructions(template: str) -> str:
    """The part of a prompt's source that is addressed to labellers, as Markdown; may be empty."""
    found = _SYSTEM.search(template)
    text = _TAG.sub("", found[1] if found else "")
    paragraphs = re.split(r"\n\s*\n", text.strip())
    for_people = [_OF_MACHINES.sub("", one).strip() for one in paragraphs if "JSON" not in one]
    listed = _GRADE.sub(r"- **\1** – ", "\n\n".join(filter(None, for_people)))
    return _AFTER_LIST.sub(r"\1\n\n", listed)


def _docs(task: AnyTask) -> str:
    texts = (" ".join((one.__doc__ or "").split()) for one in (task.unit, task.verdict))
    return "\n\n".join(texts).replace("``", "`")
