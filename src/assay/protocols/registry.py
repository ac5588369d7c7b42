"""The protocols there are: Assay's own, those of installed packages, and ``module:attribute``."""

from __future__ import annotations

import re
from importlib import import_module
from typing import Any

from assay.model.errors import SettingsError
from assay.model.modules import check_module, entry_points

OWN = {
    "r2c2": "assay.protocols.r2c2.protocol:R2C2",
    "exam": "assay.protocols.exam.protocol:EXAM",
    "trec-rag": "assay.protocols.trec_rag.protocol:TREC_RAG",
    "sgss": "assay.protocols.sgss.protocol:SGSS",
    "rag": "assay.protocols.rag.protocol:RAG",
    "battles": "assay.protocols.battles.protocol:BATTLES",
}
"""Assay's own protocols and where each is. Imported on use, as a command needs only one."""

GROUP = "assay.protocols"
"""The entry point group: ``mine = "my_package.protocol:MINE"`` makes ``protocol = "mine"``."""

_PATH = re.compile(r"[A-Za-z_]\w*(\.[A-Za-z_]\w*)*:[A-Za-z_]\w*")


def names() -> list[str]:
    """The names of all protocols."""
    return [*OWN, *sorted(point.name for point in entry_points(GROUP))]


def known(name: str) -> bool:
    """Whether ``name`` can be a protocol (``module:attribute`` is taken on trust)."""
    return is_own(name) or bool(_PATH.fullmatch(name)) or name in names()


def is_own(name: str) -> bool:
    """Whether the protocol is one of Assay's own."""
    return name in OWN


def find_protocol(name: str) -> Any:
    """The protocol with that name. Raises SettingsError if it cannot be imported."""
    if is_own(name):
        module, _, attribute = OWN[name].partition(":")
        return getattr(import_module(module), attribute)
    found = entry_points(GROUP).select(name=name)
    target = next(iter(found)).value if found else name
    if not _PATH.fullmatch(target):
        raise SettingsError(f"There is no protocol '{name}'. Protocols: {', '.join(names())}.")
    module, _, attribute = target.partition(":")
    if target == name:  # named by a file, and by no package
        check_module(module, name)
    try:
        protocol = getattr(import_module(module), attribute)
    except (ImportError, AttributeError) as error:
        raise SettingsError(
            f"The protocol '{name}' cannot be loaded: {error}. Python must find the module "
            "(install it, or set PYTHONPATH)."
        ) from error
    missing = [part for part in ("tasks", "load", "steps", "score") if not hasattr(protocol, part)]
    if missing:
        raise SettingsError(
            f"'{name}' is not a protocol: it lacks {', '.join(missing)}. Derive from "
            "assay.protocols.base.Protocol and name an instance."
        )
    return protocol
