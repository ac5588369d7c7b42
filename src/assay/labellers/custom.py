"""Users' own labellers: a function or a class, named ``module:attribute`` or by an entry point.

Only what a SPEC names is imported, and only from where Python finds modules, so an evaluation
folder that somebody sends cannot bring code along. Whatever a user's labeller does wrong is
reported in a sentence that names it, and does not reach the ledger.
"""

from __future__ import annotations

import asyncio
import hashlib
import inspect
import re
from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from copy import deepcopy
from functools import cached_property, partial
from importlib import import_module
from typing import Any

import orjson

from assay.labellers.base import BaseLabeller, Labeller, Outcome, Request
from assay.labellers.guarded import (
    GuardedLabeller,
    checked_concurrency,
    describe_value,
    error_text,
    errors_as,
    labeller_failed,
)
from assay.labellers.replies import UnusableReply, verdict_in
from assay.model.errors import SettingsError
from assay.model.labels import LabellerId, Status
from assay.model.modules import check_module, entry_points

GROUP = "assay.labellers"
"""Entry point group: ``my-judge = "my_package.judge:make"`` defines the SPEC ``my-judge``."""

Answer = Mapping[str, Any] | None
Function = Callable[[str, Mapping[str, Any]], Answer | Awaitable[Answer]]
AnyLabeller = str | Labeller | Callable[..., Any]
"""What scripts may pass as a labeller: a SPEC, a labeller, or a :data:`Function`."""

_PATH = re.compile(r"[A-Za-z_]\w*(\.[A-Za-z_]\w*)*:[A-Za-z_]\w*")
_NEEDED = ("id", "concurrency", "varies", "refusal", "rendered", "preview", "estimate", "label")


class FunctionLabeller(BaseLabeller):
    """A function ``(task, unit) -> verdict`` as a labeller.

    ``task`` is the task's name; ``unit`` and the verdict are plain JSON, and None means that the
    function has nothing to say. It may be ``async``, a callable object or a ``functools.partial``.
    Its attributes ``concurrency`` (default 1), ``varies`` (default False) and ``version`` are used;
    without ``version``, its source text identifies the version, and a change asks again.
    """

    def __init__(self, name: str, function: Function) -> None:
        self._name = name
        self._function = function

    @cached_property
    def id(self) -> LabellerId:
        return LabellerId(self._name, "custom", {"version": _version(self._name, self._function)})

    @property
    def concurrency(self) -> int:
        return checked_concurrency(self._name, getattr(self._function, "concurrency", 1))

    @property
    def varies(self) -> bool:
        return bool(getattr(self._function, "varies", False))

    async def label(self, request: Request) -> Outcome | None:
        """Call the function. A verdict that does not fit becomes a failed label; an exception
        becomes LabellerFailed, which ends the run and is not recorded."""
        # A copy: changes that the function makes to its unit must not reach the ledger.
        args = (request.task.name, deepcopy(dict(request.content)))
        if self._is_async:
            verdict = self._call(*args)
        else:
            verdict = await asyncio.to_thread(self._call, *args)
        if inspect.isawaitable(verdict):
            with errors_as(partial(labeller_failed, self._name)):
                verdict = await verdict
        if verdict is None:
            return None
        try:
            return Outcome(Status.OK, verdict_in(request.task, request.unit, verdict))
        except UnusableReply as unusable:
            why = f"the verdict does not fit: {unusable}"
            return Outcome(Status.FAILED, error=why, suspect=True)

    @cached_property
    def _is_async(self) -> bool:
        """Whether the function is async, so that calling it needs no thread."""
        function = self._function
        return inspect.iscoroutinefunction(function) or inspect.iscoroutinefunction(
            getattr(function, "__call__", None)  # noqa: B004 (an object's, which may be async)
        )

    def _call(self, task: str, unit: dict[str, Any]) -> Any:
        """Call the function, converting exceptions already here: some, such as StopIteration, do
        not get out of a thread."""
        with errors_as(partial(labeller_failed, self._name)):
            return self._function(task, unit)


def custom_labeller(spec: str, *, named: bool = True) -> Labeller | None:
    """The labeller that ``module:attribute`` or an entry point of :data:`GROUP` names, or None.

    The attribute may be a function (see :class:`FunctionLabeller`), a labeller, or a class or
    factory (with ``makes_labeller = True``) that makes one without arguments. Unless the user has
    ``named`` it, its module must be the user's own (:mod:`assay.model.modules`). Raises
    SettingsError if it cannot be imported or made, or is none of these.
    """
    points = entry_points(GROUP).select(name=spec)
    if points:
        try:
            with errors_as(partial(_not_imported, spec, "it"), ImportError, AttributeError):
                target = next(iter(points)).load()
        except (ImportError, AttributeError) as error:
            raise SettingsError(f"The labeller '{spec}' cannot be loaded: {error}.") from error
        return labeller_from(spec, target)
    if not _PATH.fullmatch(spec):
        return None
    module, _, attribute = spec.partition(":")
    try:
        with errors_as(partial(_not_imported, spec, f"the module {module}"), ImportError):
            if not named:
                check_module(module, spec)
            loaded = import_module(module)
    except ImportError as error:
        raise SettingsError(
            f"'{spec}' is not a labeller known to Assay, and cannot be imported as "
            f"module:attribute: {error}. Python must be able to find the module (install it, or "
            "set PYTHONPATH)."
        ) from error
    try:
        target = getattr(loaded, attribute)
    except AttributeError as error:
        raise SettingsError(f"'{spec}': the module {module} has no '{attribute}'.") from error
    return labeller_from(spec, target)


def known_entry_points() -> list[str]:
    """Names of the labellers that installed packages offer."""
    return sorted(point.name for point in entry_points(GROUP))


def spec_and_labeller(labeller: AnyLabeller) -> tuple[str, Labeller | None]:
    """A SPEC for ``labeller``, and the labeller object unless ``labeller`` was a SPEC. Raises
    SettingsError if it is not a labeller."""
    if isinstance(labeller, str):
        return labeller, None
    name = getattr(labeller, "__qualname__", type(labeller).__qualname__)
    spec = f"{getattr(labeller, '__module__', 'custom')}:{name}"
    return spec, labeller_from(spec, labeller)


def labeller_from(spec: str, target: Any) -> Labeller:
    """The labeller that ``target`` is or makes, under the name ``spec``: see
    :func:`custom_labeller`."""
    with errors_as(partial(_not_made, spec, "object")):
        if inspect.isclass(target) or getattr(target, "makes_labeller", False):
            made = _made(spec, target)
        else:
            made = target
        missing = [name for name in _NEEDED if not _has(made, name)]
        if missing and not callable(made):
            raise SettingsError(
                f"'{spec}' is neither a function nor a labeller (missing: {', '.join(missing)}). "
                "Derive it from assay.labellers.base.BaseLabeller, or give a function (task, "
                "unit) -> verdict."
            )
        labeller = FunctionLabeller(spec, made) if missing else GuardedLabeller(spec, made)
        # Read now, so that faults in them are reported before anything is planned.
        _ = labeller.id, labeller.concurrency, labeller.varies
    return labeller


def _made(spec: str, target: Any) -> Any:
    """The object that a class or a factory makes."""
    what = "class" if inspect.isclass(target) else "factory"
    with suppress(ValueError):  # some built-in ones have no signature
        signature = inspect.signature(target)
        try:
            signature.bind()
        except TypeError as error:
            raise SettingsError(
                f"The labeller '{spec}': its {what} needs arguments ({error}), but Assay calls it "
                "without any. Give them defaults, or name a function without arguments that "
                "creates it and has the attribute makes_labeller = True."
            ) from error
    with errors_as(partial(_not_made, spec, what)):
        made = target()
    if inspect.iscoroutine(made):
        made.close()
        raise SettingsError(
            f"The labeller '{spec}': its {what} is async. Write it as a normal function, and "
            "connect in '__aenter__' or at the first 'label'."
        )
    return made


def _has(thing: Any, name: str) -> bool:
    """Whether ``thing`` has an attribute, without running a property: one that raises counts, and
    its error is reported when it is read."""
    try:
        inspect.getattr_static(thing, name)
    except AttributeError:
        return hasattr(thing, name)  # provided by its __getattr__
    return True


def _version(spec: str, function: Any) -> str:
    """The function's version: its attribute ``version``, or else a hash of its source. Raises
    SettingsError if it has neither, as its labels would then never be asked again."""
    named = getattr(function, "version", None)
    if named is not None:
        if isinstance(named, bool) or not isinstance(named, str | int | float):
            raise SettingsError(
                f"The labeller '{spec}': its 'version' is {describe_value(named)}. It must be a "
                "str."
            )
        return str(named)
    if isinstance(function, partial):
        wrapped = _version(spec, function.func)
        # Bound arguments change the answers just as the source does.
        return _digest(f"{wrapped} {_bound(function.args)} {_bound(function.keywords)}")
    source = _source(function)
    if not source:
        raise SettingsError(
            f"The labeller '{spec}': its source code, which shows when it changes, cannot be "
            "found. Set its attribute 'version' to a str, and change that whenever its answers "
            "change."
        )
    return _digest(source)


def _source(function: Any) -> str:
    """The source of a function, or of an object's class; empty if there is none."""
    parts = [function]
    if not inspect.isroutine(function):
        kind = type(function)
        package = kind.__module__.partition(".")[0]
        # With base classes, which may define __call__, but not those of other packages.
        parts += [base for base in kind.__mro__ if base.__module__.partition(".")[0] == package]
        parts.append(kind.__call__)
    sources: list[str] = []
    for part in parts:
        with suppress(OSError, TypeError):
            sources.append(inspect.getsource(part))
    return "".join(dict.fromkeys(sources))


def _bound(values: Any) -> str:
    """Arguments of a partial as text. Those that are not JSON are represented by their type, as
    their repr may contain a memory address."""

    def kind(value: Any) -> str:
        return f"{type(value).__module__}.{type(value).__qualname__}"

    try:
        return orjson.dumps(values, default=kind, option=orjson.OPT_SORT_KEYS).decode()
    except TypeError:  # keys that are not str, or numbers that are too large
        return kind(values)


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:16]


def _not_made(spec: str, what: str, error: BaseException) -> SettingsError:
    return SettingsError(
        f"The labeller '{spec}' cannot be created: its {what} raised {error_text(error)}. Fix it "
        "there."
    )


def _not_imported(spec: str, what: str, error: BaseException) -> SettingsError:
    if isinstance(error, SystemExit):
        cure = "A module must not exit the program when it is imported."
    else:
        cure = "Fix it there."
    return SettingsError(
        f"'{spec}': {what} raised {error_text(error)} when it was imported. {cure}"
    )
