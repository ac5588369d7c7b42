"""A guard around a labeller of a user's own: what it says is checked before it is relied on."""

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
from assay.labellers.forwarding import ForwardingLabeller, Said
from assay.model.errors import AssayError, LabellerFailed, SettingsError
from assay.model.labels import LabellerId, Status
from assay.model.secrets import secret_in, secret_told, without_keys
from assay.tasks.base import AnyTask, canonical
from assay.tasks.rendering import Messages

_HERE = Path(__file__).parent


_PROMISED: Mapping[str, tuple[tuple[type, ...], str]] = {
    "refusal": ((str, type(None)), "a text or None"),
    "rendered": ((bytes,), "bytes"),
    "preview": ((tuple, list), "a tuple of messages with role and content"),
    "estimate": ((Estimate,), "an Estimate"),
}
"""What methods return."""


class GuardedLabeller(ForwardingLabeller):
    """A labeller of a user's own, of which every answer is checked before anybody relies on it.

    What it raises while it labels becomes LabellerFailed, as a function's does; what it
    raises elsewhere, and what it returns against the protocol, a SettingsError. Errors of
    Assay's own pass. All further attributes are those of the labeller (:func:`behind`).
    """

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
        return at_once(self._spec, super().concurrency)

    def preview(self, request: Request) -> Messages:
        messages = super().preview(request)
        for message in messages:
            if not isinstance(message, Mapping) or not {"role", "content"} <= set(message):
                raise self._wrong("preview", _PROMISED["preview"][1], message)
        return tuple(messages)

    def _told(self, name: str, ask: Callable[[Labeller], Said]) -> Said:
        with turned(partial(self._raised, name)):
            said = super()._told(name, ask)
        kinds, what = _PROMISED.get(name, ((object,), ""))
        if not isinstance(said, kinds):
            raise self._wrong(name, what, said)
        return said

    async def label(self, request: Request) -> Outcome | None:
        with turned(partial(unreachable, self._spec)):
            # A request of its own: what is done to its content must not reach the ledger.
            said: Any = self.inner.label(replace(request))
            is_async = inspect.isawaitable(said)
            if is_async:
                said = await said
        if not is_async:
            raise SettingsError(
                f"The labeller '{self._spec}': its 'label' is not async. Write 'async def label'."
            )
        if said is None:
            return None
        if not isinstance(said, Outcome):
            raise self._wrong("label", "an Outcome or None", said)
        fault = _fault(said, request.task)
        if fault is not None:
            raise SettingsError(f"The labeller '{self._spec}': its 'label' returned {fault}")
        problem = said.verdict and request.task.check(request.unit, said.verdict)
        if problem:
            why = f"the verdict does not fit: {problem}"
            return replace(said, status=Status.FAILED, verdict=None, error=why, suspect=True)
        return replace(said, error=without_keys(said.error)) if said.error else said

    async def __aenter__(self) -> Self:
        await self._passed("__aenter__")
        return self

    async def __aexit__(self, *raised: Any) -> None:
        try:
            await self._passed("__aexit__", *raised)
        except AssayError:
            if raised[1] is None:  # what ended the run is the news, not what came after it
                raise

    async def _passed(self, name: str, *given: Any) -> None:
        """Open or close the labeller, where it has anything to open or close."""
        if not hasattr(self.inner, name):
            return
        with turned(partial(self._raised, name)):
            await getattr(self.inner, name)(*given)

    def _wrong(self, name: str, what: str, said: Any) -> SettingsError:
        return SettingsError(
            f"The labeller '{self._spec}': its '{name}' returned {shown(said)}. "
            f"It must return {what}."
        )

    def _raised(self, name: str, error: BaseException) -> SettingsError:
        return SettingsError(
            f"The labeller '{self._spec}': its '{name}' raised {told(error)}. Correct it there."
        )


def behind(labeller: Labeller) -> Labeller:
    """The labeller behind its guard, which tells what kind it is: one of a user's own may derive
    from one of Assay's."""
    return labeller.inner if isinstance(labeller, GuardedLabeller) else labeller


def at_once(spec: str, number: Any) -> int:
    if not isinstance(number, int) or isinstance(number, bool) or number < 1:
        raise SettingsError(
            f"The labeller '{spec}': its 'concurrency' is {shown(number)}. It must be a whole "
            "number of 1 or more."
        )
    return number


def _checked_id(spec: str, found: Any) -> LabellerId:
    """The id with its params as they come back from the ledger (a tuple comes as a list)."""
    where = f"The labeller '{spec}': its 'id'"
    cure = 'Give LabellerId("my-name", "custom", {…}), with params of plain JSON.'
    if not isinstance(found, LabellerId):
        raise SettingsError(f"{where} is {shown(found)}, no LabellerId. {cure}")
    if not all(isinstance(part, str) and part for part in (found.name, found.kind)):
        raise SettingsError(f"{where} has a name or kind that is no text, or empty. {cure}")
    if not isinstance(found.params, Mapping):
        raise SettingsError(f"{where} has params that are {shown(found.params)}. {cure}")
    try:
        name, kind, params = orjson.loads(canonical([found.name, found.kind, dict(found.params)]))
    except TypeError as error:
        raise SettingsError(f"{where} has parts that are not JSON: {error}. {cure}") from error
    secret = secret_in([name, params])
    if secret is not None:
        raise SettingsError(f"{where}: {secret_told(secret)}")
    return LabellerId(name, kind, params)


def _fault(outcome: Outcome, task: AnyTask) -> str | None:
    """What is wrong with an outcome that does not keep to what Outcome promises, and the cure."""
    failed = outcome.status is Status.FAILED
    if not isinstance(outcome.status, Status):
        return f"the status {shown(outcome.status)}. Give Status.OK or Status.FAILED."
    if failed and outcome.verdict is not None:
        return "a failed Outcome with a verdict. Leave the verdict out, or give Status.OK."
    if failed and not (isinstance(outcome.error, str) and outcome.error):
        return "a failed Outcome without an error. Give 'error', a text that says why."
    if not failed and outcome.verdict is None:
        return (
            "an Outcome with status OK and no verdict. Give a verdict, or Status.FAILED and "
            "'error', or None in place of the Outcome where there is nothing to say."
        )
    if not failed and not isinstance(outcome.verdict, task.verdict):
        return (
            f"the verdict {shown(outcome.verdict)} for {task.name}, no {task.verdict.__name__}. "
            "Make it with request.task.verdict(…)."
        )
    if not isinstance(outcome.error, str | None):
        return f"the error {shown(outcome.error)}. It must be a text or None."
    for name, number, kind in (
        ("tokens_in", outcome.tokens_in, int),
        ("tokens_out", outcome.tokens_out, int),
        ("cost", outcome.cost, int | float),
        ("seconds", outcome.seconds, int | float),
    ):
        if number is not None and not (
            isinstance(number, kind) and math.isfinite(number) and number >= 0
        ):
            return f"{name} = {shown(number)}. Give a number of 0 or more, or None."
    if not isinstance(outcome.detail, Mapping):
        return f"the detail {shown(outcome.detail)}. It must be a dict of plain JSON."
    try:
        orjson.dumps(outcome.detail)  # as the ledger does
    except TypeError as error:
        return f"a detail that is not JSON: {error}. It must be a dict of plain JSON."
    return None


@contextmanager
def turned(into: Callable[[BaseException], AssayError], *but: type[Exception]) -> Iterator[None]:
    """Run a user's code: what it raises becomes an error of ours. Assay's own pass, what stops a
    run from outside (Ctrl-C, a task that is cancelled), and ``but``."""
    passing: tuple[type[Exception], ...] = (AssayError, *but)
    try:
        yield
    except passing:
        raise
    except (Exception, SystemExit) as error:
        raise into(error) from error


def unreachable(spec: str, error: BaseException) -> LabellerFailed:
    return LabellerFailed(f"{spec} raised {told(error)}")


def told(error: BaseException) -> str:
    """An exception in words, with where it was raised: that is all a person sees of it."""
    text = f"{type(error).__name__}: {error}".rstrip(": ")
    if isinstance(error, SyntaxError):  # names its place itself
        return text
    frames = [
        frame
        for frame in traceback.extract_tb(error.__traceback__)
        if Path(frame.filename).parent != _HERE and "importlib" not in frame.filename
    ]
    if not frames:
        return text
    # The user's own line, and not the one in some library that it called.
    line = max(n for n, frame in enumerate(frames) if frame.filename == frames[0].filename)
    return f"{text} ({Path(frames[0].filename).name}, line {frames[line].lineno})"


def shown(value: Any) -> str:
    """A value that should be another, in words; its repr may be a user's code, and fail too."""
    if inspect.iscoroutine(value):
        value.close()  # nobody will await it
        return "a coroutine (it is 'async def')"
    try:
        text = repr(value)
    except Exception:  # noqa: BLE001 (a user's code)
        return f"a {type(value).__name__}"
    return f"{text[:80]} ({type(value).__name__})" if value is not None else "None"
