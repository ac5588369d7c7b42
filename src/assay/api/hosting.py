"""Where labellers answer: here, in several processes, or on a Ray cluster."""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext

from assay.labellers.hosted import Hosting
from assay.labellers.processes import Processes
from assay.model.errors import SettingsError


def hosting_of(on: str | None, workers: int | None) -> AbstractContextManager[Hosting | None]:
    """The hosting for ``--on`` (``ray`` or ``ray:ADDRESS``) and ``--workers``; None is this
    process. Raises SettingsError if ``on`` is invalid, PrerequisiteError if Ray is not installed,
    LabellerUnreachable if its cluster cannot be reached."""
    if on is None:
        return nullcontext() if workers is None else Processes(workers)
    name, _, address = on.strip().partition(":")
    if name != "ray":
        raise SettingsError(f"--on {on!r} is not valid. Write ray, or ray:ADDRESS of a cluster.")
    from assay.labellers.on_ray import RayActors  # noqa: PLC0415 (an extra)

    return RayActors(address or None, workers)
