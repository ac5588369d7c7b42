"""Labellers of your own: a function or a class, named ``module:attribute`` or by entry point.

Nothing is imported but what a SPEC names, and only from where Python finds modules: an evaluation
folder that someone sends round cannot bring code along. What is imported is code that nobody here
has seen: whatever it does wrong is said in a sentence that names it, and reaches no ledger.
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
"""The entry point group: ``my-judge = "my_package.judge:make"`` makes the SPEC ``my-judge``."""

Answer = Mapping[str, Any] | None
Function = Callable[[str, Mapping[str, Any]], Answer | Awaitable[Answer]]
AnyLabeller = str | Labeller | Callable[..., Any]
"""What a script may give as a labeller: a SPEC, a labeller, or a :data:`Function`."""

_PATH = re.compile(r"[A-Za-z_]\w*(\.[A-Za-z_]\w*)*:[A-Za-z_]\w*")
_NEEDED = ("id", "concurrency", "varies", "refusal", "rendered", "preview", "estimate", "label")


class FunctionLabeller(BaseLabeller):
    """A function ``(task, unit) -> verdict`` as a labeller.

    ``task`` is the task's name, ``unit`` and the verdict are plain JSON values; None says that
    the function has nothing to say. It may be ``async``, an object that can be called, or a
    ``functools.partial``. Its attributes ``concurrency`` (default 1), ``varies`` (default False)
    and ``version`` are honoured; without ``version`` its source text tells one version from
    another, so that labels are asked again when it changes.
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
        """What the function says. A verdict that does not fit is a failed label; an exception
        becomes LabellerFailed, is not recorded, and ends the run."""
        # A copy: what the function does to its unit must not reach the ledger.
        given = (request.task.name, deepcopy(dict(request.content)))
        if self._is_async:
            said = self._call(*given)
        else:
            said = await asyncio.to_thread(self._call, *given)
        if inspect.isawaitable(said):
            with errors_as(partial(labeller_failed, self._name)):
                said = await said
        if said is None:
            return None
        try:
            return Outcome(Status.OK, verdict_in(request.task, request.unit, said))
        except UnusableReply as unusable:
            why = f"the verdict does not fit: {unusable}"
            return Outcome(Status.FAILED, error=why, suspect=True)

    @cached_property
    def _is_async(self) -> bool:
        """Whether the function itself is, so that no thread is needed to call it."""
        function = self._function
        return inspect.iscoroutinefunction(function) or inspect.iscoroutinefunction(
            getattr(function, "__call__", None)  # noqa: B004 (an object's, which may be async)
        )

    def _call(self, task: str, unit: dict[str, Any]) -> Any:
        """Call the function. Its exceptions are turned into ours here, as not all of them get
        out of a thread (nobody would ever hear of a StopIteration)."""
        with errors_as(partial(labeller_failed, self._name)):
            return self._function(task, unit)


def custom_labeller(spec: str, *, named: bool = True) -> Labeller | None:
    """The labeller that ``module:attribute`` or an entry point of :data:`GROUP` names, else None.

    The attribute may be a function (see :class:`FunctionLabeller`), a labeller, or a class or
    factory (an attribute ``makes_labeller = True``) that makes one without arguments. Unless it is
    ``named`` by a person, its module must be one of the person's own (assay.model.modules). Raises
    SettingsError where it cannot be imported or made, or is none of these.
    """
    found = entry_points(GROUP).select(name=spec)
    if found:
        try:
            with errors_as(partial(_not_imported, spec, "it"), ImportError, AttributeError):
                target = next(iter(found)).load()
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
            f"'{spec}' is no labeller of Assay's, and as module:attribute it cannot be imported: "
            f"{error}. Python must find the module (install it, or set PYTHONPATH)."
        ) from error
    try:
        target = getattr(loaded, attribute)
    except AttributeError as error:
        raise SettingsError(f"'{spec}': the module {module} has no '{attribute}'.") from error
    return labeller_from(spec, target)


def known_entry_points() -> list[str]:
    """Names of the labellers that installed packages bring."""
    return sorted(point.name for point in entry_points(GROUP))


def spec_and_labeller(given: AnyLabeller) -> tuple[str, Labeller | None]:
    """The SPEC that names what is given, and the labeller itself where it is not named by that
    alone. Raises SettingsError for what is no labeller."""
    if isinstance(given, str):
        return given, None
    name = getattr(given, "__qualname__", type(given).__qualname__)
    spec = f"{getattr(given, '__module__', 'custom')}:{name}"
    return spec, labeller_from(spec, given)


def labeller_from(spec: str, target: Any) -> Labeller:
    """What a person gave as a labeller, under the name ``spec``: see :func:`custom_labeller`."""
    with errors_as(partial(_not_made, spec, "object")):
        if inspect.isclass(target) or getattr(target, "makes_labeller", False):
            made = _made(spec, target)
        else:
            made = target
        missing = [name for name in _NEEDED if not _has(made, name)]
        if missing and not callable(made):
            raise SettingsError(
                f"'{spec}' is neither a function nor a labeller (it lacks {', '.join(missing)}). "
                "Derive from assay.labellers.base.BaseLabeller, or give a function "
                "(task, unit) -> verdict."
            )
        labeller = FunctionLabeller(spec, made) if missing else GuardedLabeller(spec, made)
        # Asked now, so that what is wrong with them is said before anything is planned.
        _ = labeller.id, labeller.concurrency, labeller.varies
    return labeller


def _made(spec: str, target: Any) -> Any:
    """What a class or a factory makes."""
    what = "class" if inspect.isclass(target) else "factory"
    with suppress(ValueError):  # of some built-in ones nobody knows what they need
        signature = inspect.signature(target)
        try:
            signature.bind()
        except TypeError as error:
            raise SettingsError(
                f"The labeller '{spec}': its {what} needs arguments ({error}), and is made "
                "without any. Give them defaults, or name a function without arguments that "
                "makes it and has the attribute makes_labeller = True."
            ) from error
    with errors_as(partial(_not_made, spec, what)):
        made = target()
    if inspect.iscoroutine(made):
        made.close()
        raise SettingsError(
            f"The labeller '{spec}': its {what} is async. Write it without, and connect in "
            "'__aenter__' or with the first 'label'."
        )
    return made


def _has(thing: Any, name: str) -> bool:
    """Whether it has the attribute, without running what may stand behind it: a property that
    raises is there, too, and what it raises is told when it is asked."""
    try:
        inspect.getattr_static(thing, name)
    except AttributeError:
        return hasattr(thing, name)  # handed on by its __getattr__
    return True


def _version(spec: str, function: Any) -> str:
    """What tells one version of the function from another: its attribute ``version``, else its
    source. Raises SettingsError where there is neither, as its labels would be kept for ever."""
    named = getattr(function, "version", None)
    if named is not None:
        if isinstance(named, bool) or not isinstance(named, str | int | float):
            raise SettingsError(
                f"The labeller '{spec}': its 'version' is {describe_value(named)}. "
                "It must be a text."
            )
        return str(named)
    if isinstance(function, partial):
        wrapped = _version(spec, function.func)
        # What is bound changes the answers as the source does.
        return _digest(f"{wrapped} {_bound(function.args)} {_bound(function.keywords)}")
    source = _source(function)
    if not source:
        raise SettingsError(
            f"The labeller '{spec}': its source text cannot be found, which would tell when it "
            "changes. Set its attribute 'version' to a text, and change it whenever its answers do."
        )
    return _digest(source)


def _source(function: Any) -> str:
    """The source of a function, or of an object's class; empty where there is none."""
    parts = [function]
    if not inspect.isroutine(function):
        kind = type(function)
        package = kind.__module__.partition(".")[0]
        # With its parents, as __call__ may be one's; other packages' change for other reasons.
        parts += [one for one in kind.__mro__ if one.__module__.partition(".")[0] == package]
        parts.append(kind.__call__)
    found: list[str] = []
    for part in parts:
        with suppress(OSError, TypeError):
            found.append(inspect.getsource(part))
    return "".join(dict.fromkeys(found))


def _bound(values: Any) -> str:
    """Arguments of a partial as text; those that are no JSON count by their type only, as their
    text may hold an address that is another one in each process."""

    def kind(value: Any) -> str:
        return f"{type(value).__module__}.{type(value).__qualname__}"

    try:
        return orjson.dumps(values, default=kind, option=orjson.OPT_SORT_KEYS).decode()
    except TypeError:  # keys that are no texts, or numbers too great
        return kind(values)


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:16]


def _not_made(spec: str, what: str, error: BaseException) -> SettingsError:
    return SettingsError(
        f"The labeller '{spec}' cannot be made: its {what} raised {error_text(error)}. "
        "Correct it there."
    )


def _not_imported(spec: str, what: str, error: BaseException) -> SettingsError:
    if isinstance(error, SystemExit):
        cure = "A module must not end the program when it is imported."
    else:
        cure = "Correct it there."
    return SettingsError(
        f"'{spec}': {what} raised {error_text(error)} when it was imported. {cure}"
    )
