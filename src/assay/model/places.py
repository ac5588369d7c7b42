"""What a folder names lies in the folder: one that somebody sends must not draw other files in."""

from __future__ import annotations

from contextvars import ContextVar
from pathlib import Path

from assay.model.errors import SettingsError

TRUSTED: ContextVar[tuple[Path, ...]] = ContextVar("TRUSTED", default=())
"""Places outside of evaluation folders that the person who runs Assay has named."""


def inside(folder: Path, name: Path | str, what: str) -> Path:
    """The path of the file ``name``, relative to ``folder``. Raises SettingsError where it, or
    what a link leads to, lies neither in the folder nor in a place that the person has named.
    ``what`` begins the message: what it is that names the file."""
    path = folder / name
    try:
        real = path.resolve()
    except (OSError, RuntimeError, ValueError) as error:  # a loop of links; a NUL
        raise SettingsError(f"{what} names no path: {error}.") from error
    places = (folder, *TRUSTED.get())
    if any(real.is_relative_to(place.resolve()) for place in places):
        return path
    raise SettingsError(
        f"{what} names {path}, which lies outside of the folder: {real}. Copy it into the folder, "
        "or name its place on the command line: assay --trust DIRECTORY COMMAND … (from Python: "
        "trust=[DIRECTORY])."
    )
