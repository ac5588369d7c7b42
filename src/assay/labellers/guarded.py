"""A wrapper around a user's own labeller that checks everything it returns."""

from __future__ import annotations

import inspect
import math
import traceback
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, Self

import orjson

from assay.labellers.base import Estimate, Labeller, Outcome, Request
from assay.labellers.forwarding import ForwardingLabeller, T
from assay.model.errors import AssayError, LabellerFailed, SettingsError
from assay.model.labels import LabellerId, Status
from assay.model.secrets import redact_keys, secret_in, secret_message
from assay.tasks.base import AnyTask, canonical
from assay.tasks.rendering import Messages

_HERE = Path(__file__).parent


_PROMISED: Mapping[str, tuple[tuple[type, ...], str]] = {
    "refusal": ((str, type(None)), "a str or None"),
    "rendered": ((bytes,), "bytes"),
    "preview": ((tuple, list), "a tuple of messages with role and content"),
    "estimate": ((Estimate,), "an Estimate"),
}
"""Return types of the methods."""


class GuardedLabeller(ForwardingLabeller):
    """A user's own labeller, with every return value checked. An exception while it labels becomes
    LabellerFailed, as with a function. An exception elsewhere, or a return value that breaks the
    protocol, becomes a SettingsError. Assay's own errors pass through. Other attributes are those
    of the labeller (:func:`unwrapped`)."""

    def __init__(self, spec: str, labeller: Any) -> None:
        super().__init__(labeller)
        self._spec = spec
        self._checked: tuple[Any, LabellerId] | None = None

    @property
    def id(self) -> LabellerId:
        found = super().id
        if self._checked is None or self._checked[0] is not found:
            self._checked = found, _checked_id(self._spec, found)
        return self._checked[1]

    @property
    def concurrency(self) -> int:
        return checked_concurrency(self._spec, super().concurrency)

    def preview(self, request: Request) -> Messages:
        messages = super().preview(request)
        for message in messages:
            if not isinstance(message, Mapping) or not {"role", "content"} <= set(message):
                raise self._wrong("preview", _PROMISED["preview"][1], message)
        return tuple(messages)

    def _forward(self, name: str, ask: Callable[[Labeller], T]) -> T:
        with errors_as(partial(self._raised, name)):
            returned = super()._forward(name, ask)
        kinds, what = _PROMISED.get(name, ((object,), ""))
        if not isinstance(returned, kinds):
            raise self._wrong(name, what, returned)
        return returned

    async def label(self, request: Request) -> Outcome | None:
        with errors_as(partial(labeller_failed, self._spec)):
            # A copy: changes that the labeller makes to the content must not reach the ledger.
            outcome: Any = self.inner.label(replace(request))
            is_async = inspect.isawaitable(outcome)
            if is_async:
                outcome = await outcome
        if not is_async:
            raise SettingsError(
                f"The labeller '{self._spec}': its 'label' is not async. Write 'async def label'."
            )
        if outcome is None:
            return None
        if not isinstance(outcome, Outcome):
            raise self._wrong("label", "an Outcome or None", outcome)
        fault = _fault(outcome, request.task)
        if fault is not None:
            raise SettingsError(f"The labeller '{self._spec}': its 'label' returned {fault}")
        problem = outcome.verdict and request.task.check(request.unit, outcome.verdict)
        if problem:
            why = f"the verdict does not fit: {problem}"
            return replace(outcome, status=Status.FAILED, verdict=None, error=why, suspect=True)
        return replace(outcome, error=redact_keys(outcome.error)) if outcome.error else outcome

    async def __aenter__(self) -> Self:
        await self._open_or_close("__aenter__")
        return self

    async def __aexit__(self, *raised: Any) -> None:
        try:
            await self._open_or_close("__aexit__", *raised)
        except AssayError:
            if raised[1] is None:  # the error that ended the run matters, not the one after it
                raise

    async def _open_or_close(self, name: str, *args: Any) -> None:
        """Open or close the labeller, if it is a context manager."""
        if not hasattr(self.inner, name):
            return
        with errors_as(partial(self._raised, name)):
            await getattr(self.inner, name)(*args)

    def _wrong(self, name: str, what: str, returned: Any) -> SettingsError:
        return SettingsError(
            f"The labeller '{self._spec}': its '{name}' returned {describe_value(returned)}. It "
            f"must return {what}."
        )

    def _raised(self, name: str, error: BaseException) -> SettingsError:
        return SettingsError(
            f"The labeller '{self._spec}': its '{name}' raised {error_text(error)}. Fix it there."
        )


def unwrapped(labeller: Labeller) -> Labeller:
    """The labeller without its guard, for checks of its class: a user's own may derive from
    Assay's."""
    return labeller.inner if isinstance(labeller, GuardedLabeller) else labeller


def checked_concurrency(spec: str, number: Any) -> int:
    if not isinstance(number, int) or isinstance(number, bool) or number < 1:
        raise SettingsError(
            f"The labeller '{spec}': its 'concurrency' is {describe_value(number)}. It must be a "
            "whole number of at least 1."
        )
    return number


def _checked_id(spec: str, found: Any) -> LabellerId:
    """The id with its params as the ledger returns them (tuples become lists)."""
    where = f"The labeller '{spec}': its 'id'"
    cure = 'Set it to LabellerId("my-name", "custom", {…}), with params of plain JSON.'
    if not isinstance(found, LabellerId):
        raise SettingsError(f"{where} is {describe_value(found)}, not a LabellerId. {cure}")
    if not all(isinstance(part, str) and part for part in (found.name, found.kind)):
        raise SettingsError(f"{where} has a name or kind that is empty or not a str. {cure}")
    if not isinstance(found.params, Mapping):
        raise SettingsError(f"{where} has params that are {describe_value(found.params)}. {cure}")
    try:
        name, kind, params = orjson.loads(canonical([found.name, found.kind, dict(found.params)]))
    except TypeError as error:
        raise SettingsError(f"{where} has parts that are not JSON: {error}. {cure}") from error
    secret = secret_in([name, params])
    if secret is not None:
        raise SettingsError(f"{where}: {secret_message(secret)}")
    return LabellerId(name, kind, params)


def _fault(outcome: Outcome, task: AnyTask) -> str | None:
    """What is wrong with an outcome, and the cure; None if nothing is."""
    failed = outcome.status is Status.FAILED
    if not isinstance(outcome.status, Status):
        return (
            f"the status {describe_value(outcome.status)}. It must be Status.OK or Status.FAILED."
        )
    if failed and outcome.verdict is not None:
        return "a failed Outcome with a verdict. Leave the verdict out, or use Status.OK."
    if failed and not (isinstance(outcome.error, str) and outcome.error):
        return "a failed Outcome without an error. Set 'error' to a str that says why."
    if not failed and outcome.verdict is None:
        return (
            "an Outcome with status OK and no verdict. Set a verdict; or use Status.FAILED and "
            "'error'; or return None instead of the Outcome if there is nothing to say."
        )
    if not failed and not isinstance(outcome.verdict, task.verdict):
        return (
            f"the verdict {describe_value(outcome.verdict)} for {task.name}, which is not a "
            f"{task.verdict.__name__}. Make it with request.task.verdict(…)."
        )
    if not isinstance(outcome.error, str | None):
        return f"the error {describe_value(outcome.error)}. It must be a str or None."
    for name, number, kind in (
        ("tokens_in", outcome.tokens_in, int),
        ("tokens_out", outcome.tokens_out, int),
        ("cost", outcome.cost, int | float),
        ("seconds", outcome.seconds, int | float),
    ):
        if number is not None and not (
            isinstance(number, kind) and math.isfinite(number) and number >= 0
        ):
            return f"{name} = {describe_value(number)}. It must be a number of at least 0, or None."
    if not isinstance(outcome.detail, Mapping):
        return f"the detail {describe_value(outcome.detail)}. It must be a dict of plain JSON."
    try:
        orjson.dumps(outcome.detail)  # as the ledger does
    except TypeError as error:
        return f"a detail that is not JSON: {error}. It must be a dict of plain JSON."
    return None


@contextmanager
def errors_as(into: Callable[[BaseException], AssayError], *but: type[Exception]) -> Iterator[None]:
    """Run a user's code, with its exceptions converted by ``into``. Assay's own errors pass
    through, as do interruptions (Ctrl-C, a cancelled task) and ``but``."""
    passing: tuple[type[Exception], ...] = (AssayError, *but)
    try:
        yield
    except passing:
        raise
    except (Exception, SystemExit) as error:
        raise into(error) from error


def labeller_failed(spec: str, error: BaseException) -> LabellerFailed:
    return LabellerFailed(f"{spec} raised {error_text(error)}")


def error_text(error: BaseException) -> str:
    """An exception in words, with the place where it was raised; the user sees no more of it."""
    text = f"{type(error).__name__}: {error}".rstrip(": ")
    if isinstance(error, SyntaxError):  # its text names the place
        return text
    frames = [
        frame
        for frame in traceback.extract_tb(error.__traceback__)
        if Path(frame.filename).parent != _HERE and "importlib" not in frame.filename
    ]
    if not frames:
        return text
    # The line in the user's own file, not in a library that it called.
    line = max(n for n, frame in enumerate(frames) if frame.filename == frames[0].filename)
    return f"{text} ({Path(frames[0].filename).name}, line {frames[line].lineno})"


def describe_value(value: Any) -> str:
    """A wrong value, in words; its repr may be user code that fails too."""
    if inspect.iscoroutine(value):
        value.close()  # nobody will await it
        return "a coroutine (it is 'async def')"
    try:
        text = repr(value)
    except Exception:  # noqa: BLE001 (a user's code)
        return f"a {type(value).__name__}"
    return f"{text[:80]} ({type(value).__name__})" if value is not None else "None"
