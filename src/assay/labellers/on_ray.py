"""Hosts on a Ray cluster: actors of Ray Core, on whatever nodes have room.

Actors return their answers and write nothing. If one dies, it is restarted and its blocks are sent
again; if the cluster goes down, only the answers in flight are lost. Keys come from each node's own
environment; none is sent through Ray, whose dashboard shows much.
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
    """Actors on the cluster at ``address``; by default on the one that Ray finds (RAY_ADDRESS, or
    one on this machine), or else on this machine alone.

    A labeller gets as many actors as there is room for, at most ``most``: one per processor if it
    is embedded, one per GPU (or per group of GPUs that the model needs) for ``vllm:``, one per node
    for endpoints. Raises PrerequisiteError without Ray, and LabellerUnreachable without a cluster.
    """

    kinds = frozenset(("embedded", "openai", "anthropic", "vllm"))
    option = "--on ray"

    def __init__(self, address: str | None = None, most: int | None = None) -> None:
        os.environ["RAY_USAGE_STATS_ENABLED"] = "0"  # no telemetry
        ray = import_extra("ray", "--on ray needs Ray, here and on every node", "ray")
        self._ray = ray
        self._most = most
        self._made: dict[tuple[str, str], list[_Actor]] = {}
        try:
            _check_listening(address)
            ray.init(
                address=address,
                include_dashboard=None if address else False,
                log_to_driver=False,
                logging_level=logging.ERROR,
            )
        except (OSError, RuntimeError, ValueError) as error:
            where = f"at {address}" if address else "on this machine"
            raise LabellerUnreachable(
                f"There is no Ray cluster {where}: {error}. Start one (ray start --head), or "
                "check its address. If the cluster requires a token (for example, because it was "
                "started where ~/.ray/auth_token exists), set RAY_AUTH_MODE=token here too, and "
                "provide that file or RAY_AUTH_TOKEN."
            ) from error

    def count(self, recipe: Recipe) -> int:
        return len(self._places(recipe))

    def _places(self, recipe: Recipe) -> list[dict[str, Any]]:
        """The resources of each actor of a labeller."""
        kind = recipe.spec.partition(":")[0]
        total: dict[str, float] = self._ray.cluster_resources()
        places: list[dict[str, Any]]
        if kind == "vllm":
            gpus = recipe.options.gpus
            places = [{"num_cpus": 1, "num_gpus": gpus}] * (int(total.get("GPU", 0)) // gpus)
            if not places:
                raise LabellerUnreachable(
                    f"{recipe.spec} needs {gpus} GPU on a node, but the cluster has "
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
                        max_concurrency=BLOCKS_PER_HOST + 1,  # and the call of ready
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
            f"Free on the cluster: {', '.join(kinds)}. If this command's own actors use the rest, "
            "they are killed as they start (out of memory?): see Ray's logs."
        )

    def close(self) -> None:
        self._made.clear()
        self._ray.shutdown()


def _check_listening(address: str | None) -> None:
    """Raise OSError if nothing listens at ``HOST:PORT``; Ray itself would try for minutes."""
    host, _, port = (address or "").rpartition(":")
    if port.isdigit() and "/" not in host:
        socket.create_connection((host.strip("[]"), int(port)), timeout=_CONNECTING).close()


class _Actor:
    """A host that runs in an actor."""

    def __init__(self, ray: Any, actor: Any, spec: str) -> None:
        self._ray = ray
        self._actor = actor
        self._spec = spec

    async def ready(self) -> None:
        await self._result(self._actor.ready.remote())

    async def answer(self, block: bytes) -> bytes:
        answer: bytes = await self._result(self._actor.answer.remote(block))
        return answer

    async def _result(self, reference: Any) -> Any:
        future: Future[Any] = reference.future()
        try:
            return await asyncio.wrap_future(future)
        except self._ray.exceptions.RayError as error:
            raise LabellerUnreachable(_lost(self._spec, str(error).strip())) from error


def _lost(spec: str, error: str) -> str:
    """A message about an actor that no longer answers, from Ray's error."""
    lines = error.splitlines() or ["for no known reason"]
    if "Traceback (most recent call last)" in error:
        node = re.search(r"\bip=([\w.:]+)", error)
        where = f" on {node[1]}" if node else ""
        return (
            f"Ray's actor for {spec}{where} cannot answer: {lines[-1]}. Install this version of "
            f"Assay ({__version__}) on every node (pip install 'assay-rag[ray]')."
        )
    return (
        f"Ray's actor for {spec} is lost: {lines[0]}. It failed {_TASK_RETRIES + 1} times; see "
        "'ray status' and Ray's logs."
    )
