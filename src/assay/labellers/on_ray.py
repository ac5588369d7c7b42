"""Hosts on a Ray cluster: actors of Ray Core, on whatever nodes have room.

Actors give back what they answered and write nothing. One that dies is started again, and the
blocks that it had are sent once more; a cluster that goes down loses only what was under way.
Keys are those of each node's own environment: none goes through Ray, whose dashboard shows much.
"""

from __future__ import annotations

import asyncio
import logging
import os
import re
import socket
from collections.abc import Sequence
from concurrent.futures import Future
from typing import Any

from assay.labellers.host import Host, Recipe
from assay.labellers.hosted import BLOCKS_PER_HOST, Hosting, RemoteHost
from assay.model.errors import LabellerUnreachable
from assay.model.extras import import_extra
from assay.model.version import __version__

_TASK_RETRIES = 3
_CONNECTING = 10.0  # seconds


class RayActors(Hosting):
    """Actors on the cluster at ``address``; without one on the cluster that Ray finds (RAY_ADDRESS,
    or one that runs on this machine), else on this machine alone. A labeller has as many as there
    is room for: one a processor for embedded ones, one a GPU (or as many as a model takes) for
    ``vllm:``, one a node for endpoints; ``most`` if given. Raises PrerequisiteError without Ray and
    LabellerUnreachable without a cluster."""

    kinds = frozenset(("embedded", "openai", "anthropic", "vllm"))
    option = "--on ray"

    def __init__(self, address: str | None = None, most: int | None = None) -> None:
        os.environ["RAY_USAGE_STATS_ENABLED"] = "0"  # nothing is told to Ray's makers
        ray = import_extra("ray", "--on ray needs Ray, here and on every node", "ray")
        self._ray = ray
        self._most = most
        self._made: dict[tuple[str, str], list[_Actor]] = {}
        try:
            _there(address)
            ray.init(
                address=address,
                include_dashboard=None if address else False,
                log_to_driver=False,
                logging_level=logging.ERROR,
            )
        except (OSError, RuntimeError, ValueError) as error:
            where = f"at {address}" if address else "on this machine"
            raise LabellerUnreachable(
                f"There is no Ray cluster {where}: {error}. Start one (ray start --head), or see "
                "to its address. One that wants a token, as those do that were started where "
                "~/.ray/auth_token is, needs RAY_AUTH_MODE=token here, too, and that file or "
                "RAY_AUTH_TOKEN."
            ) from error

    def count(self, recipe: Recipe) -> int:
        return len(self._places(recipe))

    def _places(self, recipe: Recipe) -> list[dict[str, Any]]:
        """What each actor of a labeller asks Ray for."""
        kind = recipe.spec.partition(":")[0]
        total: dict[str, float] = self._ray.cluster_resources()
        places: list[dict[str, Any]]
        if kind == "vllm":
            gpus = recipe.options.gpus
            places = [{"num_cpus": 1, "num_gpus": gpus}] * (int(total.get("GPU", 0)) // gpus)
            if not places:
                raise LabellerUnreachable(
                    f"{recipe.spec} needs {gpus} GPU on a node, and the cluster has "
                    f"{total.get('GPU', 0):g}."
                )
        elif kind == "embedded":
            places = [{"num_cpus": 1}] * max(1, int(total.get("CPU", 1)))
        else:
            from ray.util.scheduling_strategies import (  # noqa: PLC0415 (an extra)
                NodeAffinitySchedulingStrategy,
            )

            places = [
                {
                    "num_cpus": 0,
                    "scheduling_strategy": NodeAffinitySchedulingStrategy(one["NodeID"], soft=True),
                }
                for one in self._ray.nodes()
                if one["Alive"]
            ]
        return places[: self._most]

    def hosts(self, recipe: Recipe) -> Sequence[RemoteHost]:
        if recipe.name not in self._made:
            actor = self._ray.remote(Host)
            self._made[recipe.name] = [
                _Actor(
                    self._ray,
                    actor.options(
                        max_restarts=-1,
                        max_task_retries=_TASK_RETRIES,
                        max_concurrency=BLOCKS_PER_HOST + 1,  # and the question whether it is there
                        **place,
                    ).remote(recipe),
                    recipe.spec,
                )
                for place in self._places(recipe)
            ]
        return self._made[recipe.name]

    def room(self) -> str:
        total, free = self._ray.cluster_resources(), self._ray.available_resources()
        kinds = (f"{free.get(one, 0):g} of {total.get(one, 0):g} {one}s" for one in ("CPU", "GPU"))
        return (
            f"Free on the cluster: {', '.join(kinds)}. If its own actors have what is taken, they "
            "are killed as they start (out of memory?): Ray's logs say more."
        )

    def close(self) -> None:
        self._made.clear()
        self._ray.shutdown()


def _there(address: str | None) -> None:
    """Raise OSError where nobody listens at ``HOST:PORT``: Ray would try for minutes."""
    host, _, port = (address or "").rpartition(":")
    if port.isdigit() and "/" not in host:
        socket.create_connection((host.strip("[]"), int(port)), timeout=_CONNECTING).close()


class _Actor:
    """A host in an actor."""

    def __init__(self, ray: Any, actor: Any, spec: str) -> None:
        self._ray = ray
        self._actor = actor
        self._spec = spec

    async def ready(self) -> None:
        await self._got(self._actor.ready.remote())

    async def answer(self, block: bytes) -> bytes:
        said: bytes = await self._got(self._actor.answer.remote(block))
        return said

    async def _got(self, reference: Any) -> Any:
        future: Future[Any] = reference.future()
        try:
            return await asyncio.wrap_future(future)
        except self._ray.exceptions.RayError as error:
            raise LabellerUnreachable(_lost(self._spec, str(error).strip())) from error


def _lost(spec: str, said: str) -> str:
    """What Ray says of an actor that gives no answer any more, and what to do."""
    lines = said.splitlines() or ["for no known reason"]
    if "Traceback (most recent call last)" in said:
        node = re.search(r"\bip=([\w.:]+)", said)
        where = f" on {node[1]}" if node else ""
        return (
            f"Ray's actor for {spec}{where} cannot answer: {lines[-1]}. Have this Assay "
            f"({__version__}) on every node (pip install 'assay-rag[ray]')."
        )
    return (
        f"Ray's actor for {spec} is lost: {lines[0]}. {_TASK_RETRIES + 1} tries came to nothing; "
        "'ray status' and Ray's logs say more."
    )
