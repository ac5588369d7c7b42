"""Which modules a file may name: none that only happen to be installed, or came with a folder.

A folder that somebody sends names labellers and protocols as ``module:attribute``. Python itself
and installed packages are full of functions that run whatever they are given, and Python also looks
where one works (in a notebook, or by ``python -m``), which may be in that folder, or beside it. So
these are imported for a file's sake only where somebody who may decide that said so.
"""

from __future__ import annotations

import os
import sys
import sysconfig
from functools import cache
from importlib.machinery import PathFinder
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

from assay.model.errors import SettingsError

if TYPE_CHECKING:
    from importlib.metadata import EntryPoints

TRUSTED = "ASSAY_TRUSTED_MODULES"
"""Modules of installed packages that files may name, separated by commas; what lies in a package
that is named is trusted too."""


def check_module(module: str, spec: str) -> None:
    """Raise SettingsError where ``module``, which a file names in ``spec``, is of Python, Assay,
    an installed package or an evaluation folder, and not named in ``ASSAY_TRUSTED_MODULES``.
    Imports none of these."""
    trusted = [name.strip() for name in os.environ.get(TRUSTED, "").split(",") if name.strip()]
    if any(module == name or module.startswith(f"{name}.") for name in trusted):
        return
    top = module.partition(".")[0]
    why = "it came with Python, Assay or an installed package"
    if not (top in sys.stdlib_module_names or top == "assay" or _installed(top)):
        if not _sent(module):
            return
        why = "it lies in an evaluation folder"
    raise SettingsError(
        f"'{spec}': {module} is no module of yours: {why}, and a file alone cannot have it run. If "
        f"you mean it, set {TRUSTED}={module}; a labeller can also be named on the command line."
    )


def _places(module: str) -> list[Path]:
    """Where a module, or what is in a package, lies. Imports what packages it is in."""
    try:
        found = find_spec(module)
    # ValueError: __main__ and some others have no spec.
    except (ImportError, ValueError):
        return []
    places = [] if found is None else [found.origin, *(found.submodule_search_locations or ())]
    return [Path(place) for place in places if place and Path(place).is_absolute()]


def _installed(top: str) -> bool:
    """Whether a package lies where packages are installed. One that was installed from its own
    folder (``pip install -e``) does not."""
    return any(
        # By name too: those of --user, and Debian's own, lie elsewhere.
        home in file.parents or {"site-packages", "dist-packages"} & set(file.parts)
        for file in map(Path.resolve, _places(top))
        for home in _homes()
    )


def _sent(module: str) -> bool:
    """Whether a module, or a package that it is in, lies in an evaluation folder, and nobody has
    Python look there."""
    names = module.split(".")
    return (
        not _chosen(names[0])
        and any(
            (folder / "assay.toml").exists()
            for end in range(1, len(names) + 1)  # a package is looked at before it is imported
            for place in _places(".".join(names[:end]))
            for folder in place.parents
        )
    )


def _chosen(top: str) -> bool:
    """Whether a module is the one to which ``PYTHONPATH``, or what was installed with
    ``pip install -e``, leads: one of its name where Python looks of itself may go before it."""
    here = Path.cwd()
    paths = [
        *filter(os.path.isabs, os.environ.get("PYTHONPATH", "").split(os.pathsep)),
        # The first is where the script lies, or where one works.
        *(one for one in sys.path[1:] if os.path.isabs(one) and Path(one).resolve() != here),
    ]
    found = PathFinder.find_spec(top, paths)
    # (A package without an __init__.py may lie in several places, and has no origin.)
    return (
        found is not None and found.origin is not None and _places(top)[:1] == [Path(found.origin)]
    )


@cache
def _homes() -> tuple[Path, ...]:
    """Where this Python's packages are installed."""
    paths = map(sysconfig.get_path, ("purelib", "platlib", "stdlib"))
    return tuple(Path(path).resolve() for path in paths)


def entry_points(group: str) -> EntryPoints:
    """What installed packages offer in a group of entry points."""
    return _entry_points(group, tuple((path, _changed(path)) for path in sys.path))


def _changed(path: str) -> float:
    """When something was last installed there; -1 where there is no such place."""
    try:
        return os.stat(path or ".").st_mtime
    except OSError:
        return -1


@cache
def _entry_points(group: str, places: tuple[tuple[str, float], ...]) -> EntryPoints:
    # To read what all packages say of themselves takes a fifth of evaluating a small folder.
    from importlib import metadata  # noqa: PLC0415 (slow to load)

    # The places are there for the cache: what is installed while this runs is found.
    return metadata.entry_points(group=group)
