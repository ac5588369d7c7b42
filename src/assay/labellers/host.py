"""Where a labeller answers that is made elsewhere: in another process, or on another machine.

Blocks of questions come in as bytes, and what came of each goes back as bytes. Nothing is written
here. No key travels: the labeller is made with those of the environment that it runs in.
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
from assay.model.places import TRUSTED
from assay.model.version import __version__
from assay.tasks.base import AnyTask, Unit, Verdict, canonical, content_hash
from assay.tasks.registry import REGISTRY
from assay.tasks.rendering import Messages, Renderer

# The first that fits travels: what derives from one of these, such as LabellerFailed, as that one.
_ERRORS = (LabellerUnreachable, PrerequisiteError, SettingsError, AssayError)


def identity(labeller: LabellerId) -> str:
    """What tells whether a labeller elsewhere is the same: its labels have the same keys, and are
    read from replies by the same Assay."""
    known = [__version__, labeller.name, labeller.kind, dict(labeller.params)]
    return content_hash(canonical(known))


@dataclass(frozen=True)
class Recipe:
    """How a labeller is made again elsewhere. ``identity`` is that of the one that it must be,
    ``trusted`` the places outside of ``folder`` that files may lie in; with a ``task`` it is the
    labeller of that one."""

    spec: str
    folder: Path
    options: LabellerOptions
    identity: str
    trusted: tuple[Path, ...] = ()
    task: str = ""

    @property
    def name(self) -> tuple[str, str]:
        """What tells one recipe from another."""
        return self.spec, self.identity

    @classmethod
    def of(cls, made: Labeller, spec: str, folder: Path, options: LabellerOptions) -> Recipe:
        """How ``made`` is made again, alone on a processor."""
        alone = replace(options, fetching=None, threads=1)
        return cls(spec, folder.resolve(), alone, identity(made.id), TRUSTED.get())

    def for_task(self, made: Labeller, task: AnyTask) -> Recipe:
        """How the labeller of a task is made again."""
        return replace(self, identity=identity(made.id), task=task.name)


@dataclass(frozen=True, eq=False)
class _GivenPrompts(Renderer):
    """Chat prompts as they were rendered where questions are planned, whose folder need not be
    here; ``given`` by the id of the unit."""

    given: dict[int, Messages] = field(default_factory=dict)

    def chat(self, task: AnyTask, unit: Unit) -> Messages:
        known = self.given.get(id(unit))
        return super().chat(task, unit) if known is None else known


class Host:
    """A labeller made of a recipe, and what it answers to blocks. One event loop uses it."""

    def __init__(self, recipe: Recipe) -> None:
        self._recipe = recipe
        self._renderer = _GivenPrompts()
        self._labeller: Labeller | None = None
        self._open = AsyncExitStack()

    async def ready(self) -> None:
        """Return: who hears of it knows that the host is there."""

    async def answer(self, block: bytes) -> bytes:
        """What comes of each question of a block, and what a person should know."""
        notes: list[str] = []
        WATCH.set(Watch(note=notes.append))
        TRUSTED.set(self._recipe.trusted)
        rows = orjson.loads(block)
        try:
            labeller = await self._made()
        except AssayError as error:
            said: Sequence[Any] = [_error(error)] * len(rows)
        else:
            said = await asyncio.gather(*(self._asked(labeller, *row) for row in rows))
        return orjson.dumps([said, notes])

    async def close(self) -> None:
        await self._open.aclose()

    async def _made(self) -> Labeller:
        if self._labeller is None:
            recipe = self._recipe
            labeller = make_labeller(
                recipe.spec, folder=recipe.folder, renderer=self._renderer, options=recipe.options
            )
            if recipe.task:
                labeller = for_task(labeller, REGISTRY[recipe.task])
            if identity(labeller.id) != recipe.identity:
                raise SettingsError(
                    f"{labeller.id.name} is another labeller where it is to answer (on "
                    f"{platform.node()}) than where the questions are planned: have the same "
                    "Assay, the same model and, if it is calibrated, the evaluation folder at both."
                )
            self._labeller = await self._open.enter_async_context(labeller)
        return self._labeller

    async def _asked(
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
            self._renderer.given[id(request.unit)] = tuple(messages)
        try:
            return _packed(await labeller.label(request))
        except AssayError as error:
            return _error(error)
        finally:
            self._renderer.given.pop(id(request.unit), None)


def question(request: Request, messages: Messages) -> list[Any]:
    """A request as blocks hold it, with its prompts where they were rendered."""
    return [request.task.name, request.content, request.sample, messages]


def _error(error: AssayError) -> dict[str, str]:
    kind = next(each for each in _ERRORS if isinstance(error, each))
    return {"raised": kind.__name__, "text": str(error)}


def _packed(outcome: Outcome | None) -> dict[str, Any] | None:
    if outcome is None:
        return None
    given = outcome.verdict
    verdict = None if given is None else given.model_dump(mode="json")
    return {one.name: getattr(outcome, one.name) for one in fields(outcome)} | {"verdict": verdict}


def unpacked(said: Any, verdict: type[Verdict]) -> Outcome | None:
    """What a host said of a question. Raises the AssayError that it met."""
    if said is None:
        return None
    if "raised" in said:
        kind = next(each for each in _ERRORS if each.__name__ == said["raised"])
        raise kind(said["text"])
    given = said["verdict"]
    made = None if given is None else verdict.model_validate(given)
    return Outcome(**said | {"status": Status(said["status"]), "verdict": made})
