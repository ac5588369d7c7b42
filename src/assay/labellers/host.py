"""A host: answers questions in another process or on another machine.

It receives blocks of questions as bytes and returns the outcomes as bytes; it writes nothing. Keys
are never sent: the labeller is made with those of the host's own environment.
"""

from __future__ import annotations

import asyncio
import platform
from collections.abc import Mapping, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import Any

import orjson

from assay.labellers.base import Labeller, Outcome, Request, for_task
from assay.labellers.spec import LabellerOptions, make_labeller
from assay.labellers.watch import WATCH, Watch
from assay.model.errors import (
    AssayError,
    LabellerUnreachable,
    PrerequisiteError,
    SettingsError,
)
from assay.model.labels import LabellerId, Status
from assay.model.paths import TRUSTED_FOLDERS
from assay.model.version import __version__
from assay.tasks.base import AnyTask, Unit, Verdict, canonical, content_hash
from assay.tasks.registry import REGISTRY
from assay.tasks.rendering import Messages, Renderer

# Errors are sent as the first class that fits; LabellerFailed, for example, as its base class.
_ERRORS = (LabellerUnreachable, PrerequisiteError, SettingsError, AssayError)


def labeller_digest(labeller: LabellerId) -> str:
    """A hash that is equal for labellers whose labels have the same keys, under the same version of
    Assay."""
    known = [__version__, labeller.name, labeller.kind, dict(labeller.params)]
    return content_hash(canonical(known))


@dataclass(frozen=True)
class Recipe:
    """How to make a labeller again on a host. ``identity`` is the one that it must have,
    ``trusted`` are the folders outside ``folder`` that files may be in, and ``task`` selects the
    labeller's variant for a task."""

    spec: str
    folder: Path
    options: LabellerOptions
    identity: str
    trusted: tuple[Path, ...] = ()
    task: str = ""

    @property
    def name(self) -> tuple[str, str]:
        """Distinguishes recipes."""
        return self.spec, self.identity

    @classmethod
    def of(cls, labeller: Labeller, spec: str, folder: Path, options: LabellerOptions) -> Recipe:
        """The recipe of ``labeller``, with a single processor thread."""
        alone = replace(options, fetching=None, threads=1)
        return cls(
            spec, folder.resolve(), alone, labeller_digest(labeller.id), TRUSTED_FOLDERS.get()
        )

    def for_task(self, labeller: Labeller, task: AnyTask) -> Recipe:
        """The recipe of ``labeller``, the variant for a task."""
        return replace(self, identity=labeller_digest(labeller.id), task=task.name)


@dataclass(frozen=True, eq=False)
class _RenderedPrompts(Renderer):
    """Chat prompts that the planning process has rendered, as its folder may not exist here;
    ``prompts`` is keyed by the unit's ``id()``."""

    prompts: dict[int, Messages] = field(default_factory=dict)

    def chat(self, task: AnyTask, unit: Unit) -> Messages:
        known = self.prompts.get(id(unit))
        return super().chat(task, unit) if known is None else known


class Host:
    """Answers blocks of questions with a labeller made from a recipe; for one event loop only."""

    def __init__(self, recipe: Recipe) -> None:
        self._recipe = recipe
        self._renderer = _RenderedPrompts()
        self._labeller: Labeller | None = None
        self._open = AsyncExitStack()

    async def ready(self) -> None:
        """Return, which shows the caller that the host is running."""

    async def answer(self, block: bytes) -> bytes:
        """The outcome of each question of a block, and messages for the user."""
        notes: list[str] = []
        WATCH.set(Watch(note=notes.append))
        TRUSTED_FOLDERS.set(self._recipe.trusted)
        rows = orjson.loads(block)
        try:
            labeller = await self._get_labeller()
        except AssayError as error:
            outcomes: Sequence[Any] = [_error(error)] * len(rows)
        else:
            outcomes = await asyncio.gather(*(self._answer_one(labeller, *row) for row in rows))
        return orjson.dumps([outcomes, notes])

    async def close(self) -> None:
        await self._open.aclose()

    async def _get_labeller(self) -> Labeller:
        if self._labeller is None:
            recipe = self._recipe
            labeller = make_labeller(
                recipe.spec, folder=recipe.folder, renderer=self._renderer, options=recipe.options
            )
            if recipe.task:
                labeller = for_task(labeller, REGISTRY[recipe.task])
            if labeller_digest(labeller.id) != recipe.identity:
                raise SettingsError(
                    f"{labeller.id.name} differs between the machine that answers "
                    f"({platform.node()}) and the machine that plans the questions. Install the "
                    "same Assay and the same model on both and, if it is calibrated, copy the "
                    "evaluation folder to both."
                )
            self._labeller = await self._open.enter_async_context(labeller)
        return self._labeller

    async def _answer_one(
        self,
        labeller: Labeller,
        task: str,
        content: Mapping[str, Any],
        sample: int,
        messages: Sequence[Mapping[str, str]],
    ) -> Any:
        known = REGISTRY[task]
        request = Request(known, known.unit.model_validate(content), sample)
        if messages:
            self._renderer.prompts[id(request.unit)] = tuple(messages)
        try:
            return _packed(await labeller.label(request))
        except AssayError as error:
            return _error(error)
        finally:
            self._renderer.prompts.pop(id(request.unit), None)


def pack_question(request: Request, messages: Messages) -> list[Any]:
    """A request as an item of a block, with its prompts if they are rendered."""
    return [request.task.name, request.content, request.sample, messages]


def _error(error: AssayError) -> dict[str, str]:
    kind = next(each for each in _ERRORS if isinstance(error, each))
    return {"raised": kind.__name__, "text": str(error)}


def _packed(outcome: Outcome | None) -> dict[str, Any] | None:
    if outcome is None:
        return None
    verdict = None if outcome.verdict is None else outcome.verdict.model_dump(mode="json")
    return {one.name: getattr(outcome, one.name) for one in fields(outcome)} | {"verdict": verdict}


def unpack_outcome(answer: Any, verdict: type[Verdict]) -> Outcome | None:
    """The outcome in a host's answer. Raises the AssayError that the host met."""
    if answer is None:
        return None
    if "raised" in answer:
        kind = next(each for each in _ERRORS if each.__name__ == answer["raised"])
        raise kind(answer["text"])
    values = answer["verdict"]
    made = None if values is None else verdict.model_validate(values)
    return Outcome(**answer | {"status": Status(answer["status"]), "verdict": made})
