"""Which modules a file may name: none that only happen to be installed.

A folder that somebody sends names labellers and protocols as ``module:attribute``. Python itself
and installed packages are full of functions that run whatever they are given, so these are imported
for a file's sake only where somebody who may decide that said so.
"""

from __future__ import annotations

import os
import sys
import sysconfig
from importlib.util import find_spec
from pathlib import Path

from assay.model.errors import SettingsError

TRUSTED = "ASSAY_TRUSTED_MODULES"
"""Modules of installed packages that files may name, separated by commas; what lies in a package
that is named is trusted too."""


def check_module(module: str, spec: str) -> None:
    """Raise SettingsError where ``module``, which a file names in ``spec``, is Python's, Assay's or
    an installed package's, and is not named in ``ASSAY_TRUSTED_MODULES``. Imports nothing."""
    trusted = [name.strip() for name in os.environ.get(TRUSTED, "").split(",") if name.strip()]
    if any(module == name or module.startswith(f"{name}.") for name in trusted):
        return
    top = module.partition(".")[0]
    if top in sys.stdlib_module_names or top == "assay" or _installed(top):
        raise SettingsError(
            f"'{spec}': {module} is no module of yours: it came with Python, Assay or an installed "
            "package, and a file alone cannot have it run. If you mean it, set "
            f"{TRUSTED}={module}; a labeller can also be named on the command line."
        )


def _installed(top: str) -> bool:
    """Whether a package lies where packages are installed. One that was installed from its own
    folder (``pip install -e``) does not."""
    try:
        found = find_spec(top)
    except (ImportError, ValueError):
        return False
    if found is None:
        return False
    places = [found.origin, *(found.submodule_search_locations or ())]
    files = [Path(place).resolve() for place in places if place and Path(place).is_absolute()]
    homes = [Path(sysconfig.get_path(name)).resolve() for name in ("purelib", "platlib", "stdlib")]
    return any(
        home in file.parents or {"site-packages", "dist-packages"} & set(file.parts)
        for file in files
        for home in homes
    )
