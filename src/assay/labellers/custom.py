"""Labellers of your own: a function or a class, named ``module:attribute`` or by entry point.

Nothing is imported but what a SPEC names, and only from where Python finds modules: an evaluation
folder that someone sends round cannot bring code along.
"""

from __future__ import annotations

import asyncio
import hashlib
import inspect
import re
from collections.abc import Awaitable, Callable, Mapping
from functools import cached_property
from importlib import import_module
from importlib.metadata import entry_points
from typing import Any

from pydantic import ValidationError

from assay.labellers.base import BaseLabeller, Labeller, Outcome, Request
from assay.model.errors import LabellerUnreachable, SettingsError
from assay.model.labels import LabellerId, Status

GROUP = "assay.labellers"
"""The entry point group: ``my-judge = "my_package.judge:make"`` makes the SPEC ``my-judge``."""

Answer = Mapping[str, Any] | None
Function = Callable[[str, Mapping[str, Any]], Answer | Awaitable[Answer]]

_PATH = re.compile(r"[A-Za-z_]\w*(\.[A-Za-z_]\w*)*:[A-Za-z_]\w*")
_NEEDED = ("id", "concurrency", "varies", "refusal", "rendered", "preview", "estimate", "label")


class FunctionLabeller(BaseLabeller):
    """A function ``(task, unit) -> verdict`` as a labeller.

    ``task`` is the task's name, ``unit`` and the verdict are plain JSON values; None says that
    the function has nothing to say. It may be ``async``. Its attributes ``concurrency`` (default
    1), ``varies`` (default False) and ``version`` are honoured; without ``version`` its source
    text tells one version from another, so that labels are asked again when it changes.
    """

    def __init__(self, name: str, function: Function) -> None:
        self._name = name
        self._function = function

    @cached_property
    def id(self) -> LabellerId:
        return LabellerId(self._name, "custom", {"version": _version(self._function)})

    @property
    def concurrency(self) -> int:
        return int(getattr(self._function, "concurrency", 1))

    @property
    def varies(self) -> bool:
        return bool(getattr(self._function, "varies", False))

    async def label(self, request: Request) -> Outcome | None:
        """What the function says. A verdict that does not fit is a failed label; an exception
        becomes LabellerUnreachable, is not recorded, and ends the run."""
        try:
            if inspect.iscoroutinefunction(self._function):
                said = await self._function(request.task.name, dict(request.content))
            else:
                said = await asyncio.to_thread(
                    self._function, request.task.name, dict(request.content)
                )
        except Exception as error:
            raise LabellerUnreachable(
                f"{self._name} raised {type(error).__name__}: {error}"
            ) from error
        if said is None:
            return None
        try:
            verdict = request.task.verdict.model_validate(said)
        except ValidationError as error:
            why = "; ".join(
                f"{'.'.join(map(str, fault['loc'])) or 'verdict'}: {fault['msg']}"
                for fault in error.errors(include_url=False)
            )
            return Outcome(Status.FAILED, error=f"the verdict does not fit: {why}")
        problem = request.task.check(request.unit, verdict)
        if problem is not None:
            return Outcome(Status.FAILED, error=f"the verdict does not fit: {problem}")
        return Outcome(Status.OK, verdict)


def custom_labeller(spec: str) -> Labeller | None:
    """The labeller that ``module:attribute`` or an entry point of :data:`GROUP` names, else None.

    The attribute may be a function (see :class:`FunctionLabeller`), a labeller, or a class or
    factory (an attribute ``makes_labeller = True``) that makes one without arguments. Raises
    SettingsError where it cannot be imported or is none of these.
    """
    found = entry_points(group=GROUP, name=spec)
    if found:
        try:
            return _labeller(spec, next(iter(found)).load())
        except (ImportError, AttributeError) as error:
            raise SettingsError(f"The labeller '{spec}' cannot be loaded: {error}.") from error
    if not _PATH.fullmatch(spec):
        return None
    module, _, attribute = spec.partition(":")
    try:
        target = getattr(import_module(module), attribute)
    except ImportError as error:
        raise SettingsError(
            f"'{spec}' is no labeller of Assay's, and as module:attribute it cannot be imported: "
            f"{error}. Python must find the module (install it, or set PYTHONPATH)."
        ) from error
    except AttributeError as error:
        raise SettingsError(f"'{spec}': the module {module} has no '{attribute}'.") from error
    return _labeller(spec, target)


def known_entry_points() -> list[str]:
    """Names of the labellers that installed packages bring."""
    return sorted(point.name for point in entry_points(group=GROUP))


def _labeller(spec: str, target: Any) -> Labeller:
    made = target() if inspect.isclass(target) or hasattr(target, "makes_labeller") else target
    if all(hasattr(made, name) for name in _NEEDED):
        return made  # type: ignore[no-any-return]
    if callable(made):
        return FunctionLabeller(spec, made)
    missing = ", ".join(name for name in _NEEDED if not hasattr(made, name))
    raise SettingsError(
        f"'{spec}' is neither a function nor a labeller (it lacks {missing}). Derive from "
        "assay.labellers.base.BaseLabeller, or give a function (task, unit) -> verdict."
    )


def _version(function: Function) -> str:
    named = getattr(function, "version", None)
    if named is not None:
        return str(named)
    try:
        source = inspect.getsource(function)
    except (OSError, TypeError):
        return "unknown"
    return hashlib.sha256(source.encode()).hexdigest()[:16]
