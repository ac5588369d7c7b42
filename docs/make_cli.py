"""Writes ``docs/cli.md`` from the commands' own ``--help``. Run: ``python docs/make_cli.py``."""

from __future__ import annotations

from pathlib import Path

import typer
from click.testing import CliRunner

from assay.cli.commands import COMMANDS, app, command_of


def commands() -> list[str]:
    """Every command as it is typed, groups with their commands after them."""
    found = [""]
    for name in COMMANDS:
        found.append(name)
        target = command_of(name)
        if isinstance(target, typer.Typer):
            group = typer.main.get_command(target)
            found += [f"{name} {one}" for one in group.commands]  # type: ignore[attr-defined]
    return found


def page() -> str:
    """The page's text as it should be."""
    runner, main = CliRunner(), typer.main.get_command(app)
    env = {"COLUMNS": "90", "TERMINAL_WIDTH": "90", "NO_COLOR": "1"}
    parts = ["# The command line\n\nMade by `docs/make_cli.py` from `--help`.\n"]
    for command in commands():
        # In this process: starting fifty would take half a minute.
        done = runner.invoke(main, [*command.split(), "--help"], prog_name="assay", env=env)
        if done.exit_code:
            raise SystemExit(f"assay {command} --help: {done.output}")
        text = "\n".join(line.rstrip() for line in done.output.splitlines()).strip()
        title = f"assay {command}".strip()
        parts.append(f"## `{title}`\n\n```text\n{text}\n```\n")
    return "\n".join(parts)


if __name__ == "__main__":
    Path(__file__).with_name("cli.md").write_text(page(), encoding="utf-8")
