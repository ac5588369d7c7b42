"""Which modules a file of an evaluation may name: only the user's own, or those that the user
trusts.

An ``assay.toml`` that somebody sends can name labellers and protocols as ``module:attribute``.
Python and installed packages are full of functions that execute what they are given, and Python
also imports from the working directory (in a notebook, or with ``python -m``), which may be that
very folder. So modules of these kinds are imported only if the user has allowed it.
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
"""Environment variable: modules and packages that files may name, separated by commas."""


def check_module(module: str, spec: str) -> None:
    """Raise SettingsError if a file must not name ``module``, as it does in ``spec``. That is a
    module of Python, Assay, an installed package or an evaluation folder, unless
    ``ASSAY_TRUSTED_MODULES`` names it. The check imports none of these."""
    trusted = [name.strip() for name in os.environ.get(TRUSTED, "").split(",") if name.strip()]
    if any(module == name or module.startswith(f"{name}.") for name in trusted):
        return
    top = module.partition(".")[0]
    why = "it came with Python, Assay or an installed package"
    if not (top in sys.stdlib_module_names or top == "assay" or _installed(top)):
        if not _in_evaluation_folder(module):
            return
        why = "it is in an evaluation folder"
    raise SettingsError(
        f"'{spec}': {module} is not a module of yours: {why}, and a file by itself cannot make "
        f"Assay run it. If you trust it, set {TRUSTED}={module}; you can also name a labeller on "
        "the command line."
    )


def _places(module: str) -> list[Path]:
    """The file of a module, or the folders of a package. Imports the packages that contain it."""
    try:
        found = find_spec(module)
    # ValueError: __main__ and some others have no spec.
    except (ImportError, ValueError):
        return []
    places = [] if found is None else [found.origin, *(found.submodule_search_locations or ())]
    return [Path(place) for place in places if place and Path(place).is_absolute()]


def _installed(top: str) -> bool:
    """Whether a package is in one of Python's package folders. One installed from its own folder
    (``pip install -e``) is not."""
    return any(
        # By name too: --user and Debian use other folders.
        home in file.parents or {"site-packages", "dist-packages"} & set(file.parts)
        for file in map(Path.resolve, _places(top))
        for home in _homes()
    )


def _in_evaluation_folder(module: str) -> bool:
    """Whether a module, or a package that contains it, is in an evaluation folder that the user
    has not put on Python's path."""
    names = module.split(".")
    return (
        not _on_chosen_path(names[0])
        and any(
            (folder / "assay.toml").exists()
            for end in range(1, len(names) + 1)  # each package is checked before it is imported
            for place in _places(".".join(names[:end]))
            for folder in place.parents
        )
    )


def _on_chosen_path(top: str) -> bool:
    """Whether Python finds a module through ``PYTHONPATH`` or ``pip install -e``, and not through
    the working directory, where another of the same name may shadow it."""
    here = Path.cwd()
    paths = [
        *filter(os.path.isabs, os.environ.get("PYTHONPATH", "").split(os.pathsep)),
        # The first entry is the script's folder or the working directory.
        *(path for path in sys.path[1:] if os.path.isabs(path) and Path(path).resolve() != here),
    ]
    found = PathFinder.find_spec(top, paths)
    # (A package without __init__.py may be in several places and has no origin.)
    return (
        found is not None and found.origin is not None and _places(top)[:1] == [Path(found.origin)]
    )


@cache
def _homes() -> tuple[Path, ...]:
    """The folders in which this Python's packages are installed."""
    paths = map(sysconfig.get_path, ("purelib", "platlib", "stdlib"))
    return tuple(Path(path).resolve() for path in paths)


def entry_points(group: str) -> EntryPoints:
    """Entry points of a group, of all installed packages."""
    return _entry_points(group, tuple((path, _mtime(path)) for path in sys.path))


def _mtime(path: str) -> float:
    """When something was last installed in a folder, or -1 if there is no such folder."""
    try:
        return os.stat(path or ".").st_mtime
    except OSError:
        return -1


@cache
def _entry_points(group: str, places: tuple[tuple[str, float], ...]) -> EntryPoints:
    # Cached, as reading all packages' metadata takes a fifth of the time of a small evaluation. The
    # places are part of the key, so a package that is installed meanwhile is found.
    from importlib import metadata  # noqa: PLC0415 (slow to load)

    return metadata.entry_points(group=group)
