"""The ``assay`` command: finds the requested command and loads only that one."""

from __future__ import annotations

import difflib
import signal
import sys
from importlib import import_module
from pathlib import Path
from typing import Annotated, Any

import typer
from typer.core import TyperCommand, TyperGroup

from assay.cli.ending import INTERRUPTED, QUIET, denied, leave, open_streams
from assay.model.errors import AssayError
from assay.model.paths import TRUSTED_FOLDERS
from assay.model.version import __version__
from assay.model.wording import printable

COMMANDS: dict[str, str] = {
    "init": "Create an evaluation folder for a protocol.",
    "status": "Show what is there and what to do next.",
    "evaluate": "Judge, score and report a folder.",
    "judge": "Ask labellers for the missing labels.",
    "score": "Compute all scores from the labels.",
    "report": "Write the HTML report.",
    "release": "Write pages, tables and files to publish.",
    "validate": "Check files and list every fault.",
    "ui": "Open the workbench: people label in a browser.",
    "draw": "Draw a random sample for people to label.",
    "plan": "Plan what to label next and what it gains.",
    "trust": "Correct scores with people's labels.",
    "import": "Import answers from traces and data sets.",
    "gate": "Check a run against bounds and a baseline.",
    "diff": "Compare two evaluations topic by topic.",
    "calibrate": "Fit the embedded judge to people's labels.",
    "audit": "Test how the judge can be fooled.",
    "label": "Judge a list of pairs one by one.",
    "measure": "Compute ranking measures of TREC runs.",
    "confidence": "Compute HMR and calibration from a CSV.",
    "nuggets": "Score nugget assignments; edit nuggets.",
    "support": "Score support labels.",
    "rubrics": "Score answers graded by weighted rubrics.",
    "battles": "Rate runs from judged battles.",
    "sgss": "Learn SGSS weights from preferences.",
    "bank": "Generate, list, edit and compare question banks.",
    "exam": "Score graded passages by EXAM++.",
    "agree": "Measure the agreement of two label files.",
    "correlate": "Correlate two score tables.",
    "compare": "Test which differences between runs are real.",
    "samplesize": "Compute how many topics are needed.",
    "corpus": "Turn dumps and wikitext into passages.",
    "index": "Build a BM25 index and vectors from passages.",
    "retrieve": "Retrieve passages for topics and write runs.",
    "answer": "Generate answers from passages.",
    "recalibrate": "Recalibrate confidences on known answers.",
    "mcp": "Serve a folder to programs that speak MCP.",
    "labels": "View, export and import labels.",
    "models": "List and fetch embedded models.",
    "doctor": "Check what is installed and what responds.",
}
"""Every command, with a line each for ``--help``."""

_ELSEWHERE = {
    "init": "start",
    "judge": "evaluate",
    "score": "evaluate",
    "report": "evaluate",
    "import": "importing",
}
"""Commands whose module has another name."""


class LazyGroup(TyperGroup):
    """Loads a command's module only when it runs; ``--help`` needs none of them."""

    def list_commands(self, ctx: Any) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        if cmd_name not in COMMANDS:
            return None
        return TyperCommand(cmd_name, help=COMMANDS[cmd_name])

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        if args and args[0] not in COMMANDS and not args[0].startswith("-"):
            near = difflib.get_close_matches(args[0][:50], COMMANDS, n=1)
            hint = f"Did you mean '{near[0]}'?" if near else "'assay --help' lists all commands."
            ctx.fail(f"No such command '{printable(args[0])}'. {hint}")
        name, _, rest = super().resolve_command(ctx, args)
        return name, _load(str(name)), rest

    def invoke(self, ctx: Any) -> Any:
        try:
            return super().invoke(ctx)
        except typer.BadParameter as error:
            folder = error.param is not None and error.param.name == "folder"
            if folder and not error.message and Path("assay.toml").is_file():
                error.message = "This folder is an evaluation: pass '.' as its name."
            raise


def command_of(name: str) -> Any:
    """A command's function, or its group of commands."""
    where = f"assay.cli.{_ELSEWHERE.get(name, name)}"
    module = import_module(where)
    return getattr(module, f"{name}_command", None) or module.app


def _load(name: str) -> Any:
    target = command_of(name)
    if isinstance(target, typer.Typer):
        target.info.name = name
        return typer.main.get_command(target)
    wrapper = typer.Typer(add_completion=False, rich_markup_mode=None)
    wrapper.command(name, short_help=COMMANDS[name])(target)
    return typer.main.get_command(wrapper)


app = typer.Typer(
    cls=LazyGroup,
    invoke_without_command=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)


def _version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"assay {__version__}")
        raise typer.Exit


@app.callback()
def _root(
    context: typer.Context,
    version: Annotated[
        bool,
        typer.Option(
            "--version", callback=_version, is_eager=True, help="Show the version and exit."
        ),
    ] = False,
    trust: Annotated[
        list[Path] | None,
        typer.Option(
            "--trust",
            metavar="DIRECTORY",
            help=("Let evaluation folders use files in this directory too; repeatable."),
        ),
    ] = None,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Show no progress.")] = False,
) -> None:
    """Assay evaluates retrieval-augmented generation: runs, labels, scores and conclusions.

    Exit status: 0 success; 1 findings; 2 wrong usage or unreadable input; 3 a labeller could not be
    reached or gave no usable answer; 130 interrupted (Ctrl-C, SIGTERM).
    """
    TRUSTED_FOLDERS.set(tuple(trust or ()))
    QUIET.set(quiet)
    if context.invoked_subcommand is not None:
        return
    if Path("assay.toml").is_file():
        from assay.cli.status import status_command  # noqa: PLC0415 (of one command)

        status_command(Path())
    else:
        typer.echo(context.get_help())


def run() -> None:
    """Run the requested command, turning Assay's own errors into a message and an exit status."""
    open_streams()
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # ended as by Ctrl-C
    output = sys.stdout
    try:
        app()
    except AssayError as error:
        from assay.model.secrets import safe_text  # noqa: PLC0415 (slow, for errors alone)

        print(f"assay: {safe_text(error)}", file=sys.stderr)
        sys.exit(error.exit_status)
    except KeyboardInterrupt:
        leave(SystemExit(INTERRUPTED))
    except OSError as error:
        denied(error)
    except MemoryError:
        print("assay: not enough memory for this. Allow more and run it again.", file=sys.stderr)
        sys.exit(AssayError.exit_status)
    except SystemExit as done:
        # The reader of our output went away (``| head``). That is no error, but typer, which then
        # replaces the stream, treats it as a failure.
        leave(done if sys.stdout is output else SystemExit(0))
