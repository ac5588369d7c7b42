"""The ``assay`` process: settings that must precede the loading of its commands."""

from __future__ import annotations

import gc
import os


def main() -> None:
    """Entry point."""
    # A command makes many small objects and ends, so that collecting cycles wastes time: a tenth of
    # scoring, as the collector scans the 70,000 objects made by imports again and again.
    gc.set_threshold(1_000_000, 100, 100)
    # Idle threads of numpy's linear algebra sleep; by default they spin from its import on.
    os.environ.setdefault("OPENBLAS_THREAD_TIMEOUT", "4")
    from assay.cli.commands import run  # noqa: PLC0415 (loading is what this makes quicker)

    try:
        run()
    finally:
        gc.freeze()  # saves a last collection at exit


if __name__ == "__main__":
    main()
