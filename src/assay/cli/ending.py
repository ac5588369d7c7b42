"""How a command ends that holds millions of objects: at once, without freeing them one by one."""

from __future__ import annotations

import gc
import os
import sys
from typing import NoReturn

_kept: list[object] = []


def keep_to_the_end(*objects: object) -> None:
    """Hold ``objects`` until the process ends, and stop looking for cycles among them."""
    gc.disable()
    _kept.extend(objects)


def leave(done: SystemExit) -> NoReturn:
    """End the process with the status of ``done``; right away where objects are kept.

    All files are written and closed by then; what would be skipped is flushed here.
    """
    if not _kept or not (done.code is None or isinstance(done.code, int)):
        raise done
    status = done.code or 0
    try:
        sys.stdout.flush()
        sys.stderr.flush()
    except BrokenPipeError:  # the reader of our output went away (``| head``)
        status = 0
    os._exit(status)
