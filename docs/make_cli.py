"""Writes ``docs/cli.md`` from the commands' own ``--help``. Run: ``python docs/make_cli.py``."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

COMMANDS = (
    "", "evaluate", "judge", "score", "report", "validate", "confidence", "exam", "nuggets",
    "nuggets score", "support", "labels",
    "labels stats", "labels list", "labels show", "labels export", "labels import",
    "labels diff", "models", "models list", "models fetch", "corpus", "corpus build",
    "corpus convert", "corpus show", "doctor",
)  # fmt: skip


def page() -> str:
    """The page's text as it should be."""
    parts = ["# The command line\n\nMade by `docs/make_cli.py` from `--help`.\n"]
    for command in COMMANDS:
        arguments = [*command.split(), "--help"]
        done = subprocess.run(
            [sys.executable, "-m", "assay.cli.main", *arguments],
            capture_output=True,
            text=True,
            check=True,
            env={**os.environ, "COLUMNS": "90", "TERMINAL_WIDTH": "90", "NO_COLOR": "1"},
        )
        text = "\n".join(line.rstrip() for line in done.stdout.splitlines()).strip()
        text = text.replace("python -m assay.cli.main", "assay")
        title = f"assay {command}".strip()
        parts.append(f"## `{title}`\n\n```text\n{text}\n```\n")
    return "\n".join(parts)


if __name__ == "__main__":
    Path(__file__).with_name("cli.md").write_text(page(), encoding="utf-8")
