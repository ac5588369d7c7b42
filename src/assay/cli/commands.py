"""The ``assay`` command: finds the command asked for and loads only that one."""

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
from assay.model.places import TRUSTED
from assay.model.version import __version__
from assay.model.wording import printable

# name -> (module, attribute, one line for --help). A Typer attribute is a command group.
COMMANDS: dict[str, tuple[str, str, str]] = {
    "init": ("assay.cli.start", "init_command", "Write a folder for a protocol."),
    "status": ("assay.cli.status", "status_command", "What is there, what comes next."),
    "evaluate": ("assay.cli.evaluate", "evaluate_command", "Judge, score and report a folder."),
    "judge": ("assay.cli.evaluate", "judge_command", "Ask labellers for the labels that miss."),
    "score": ("assay.cli.evaluate", "score_command", "Compute every score from the labels."),
    "report": ("assay.cli.evaluate", "report_command", "Write the HTML report."),
    "release": ("assay.cli.release", "release_command", "Pages, tables and files to publish."),
    "validate": ("assay.cli.validate", "validate_command", "Check files, list all faults."),
    "ui": ("assay.cli.ui", "ui_command", "The workbench: people label in a browser."),
    "draw": ("assay.cli.draw", "draw_command", "Draw at random what people label."),
    "plan": ("assay.cli.plan", "plan_command", "What to label next, and what that buys."),
    "trust": ("assay.cli.trust", "trust_command", "Scores corrected by what people labelled."),
    "import": ("assay.cli.importing", "import_command", "Answers from traces and data sets."),
    "gate": ("assay.cli.gate", "gate_command", "Whether a run may go out: bounds, a baseline."),
    "diff": ("assay.cli.diff", "diff_command", "Two evaluations, topic by topic."),
    "calibrate": (
        "assay.cli.calibrate",
        "calibrate_command",
        "The embedded judge fitted to people's labels.",
    ),
    "audit": ("assay.cli.audit", "audit_command", "What the judge can be fooled by."),
    "label": ("assay.cli.label", "label_command", "Judge a list of pairs one by one."),
    "measure": ("assay.cli.measure", "measure_command", "Ranking measures of TREC runs."),
    "confidence": ("assay.cli.confidence", "confidence_command", "HMR and calibration of a CSV."),
    "nuggets": ("assay.cli.nuggets", "app", "Nugget scores of assignment files; edit nuggets."),
    "support": ("assay.cli.support", "support_command", "Support scores of label files."),
    "rubrics": ("assay.cli.rubrics", "app", "Scores of answers graded by weighted rubrics."),
    "battles": ("assay.cli.battles", "battles_command", "Ratings of runs from judged battles."),
    "sgss": ("assay.cli.sgss", "app", "SGSS: weights from preferences, degraded versions."),
    "bank": ("assay.cli.bank", "app", "Question banks: generate, list, edit, diff."),
    "exam": ("assay.cli.exam", "exam_command", "EXAM++ scores of graded passages."),
    "agree": ("assay.cli.agree", "agree_command", "Agreement of two label files."),
    "correlate": ("assay.cli.correlate", "correlate_command", "Correlation of two score tables."),
    "compare": ("assay.cli.compare", "compare_command", "Which differences of runs are real."),
    "samplesize": ("assay.cli.samplesize", "samplesize_command", "How many topics are needed."),
    "corpus": ("assay.cli.corpus", "app", "From dumps and wikitext to passages."),
    "index": ("assay.cli.index", "app", "From passages to a BM25 index and vectors."),
    "retrieve": ("assay.cli.retrieve", "retrieve_command", "From topics to runs."),
    "answer": ("assay.cli.answer", "answer_command", "From passages to answers."),
    "recalibrate": (
        "assay.cli.recalibrate",
        "recalibrate_command",
        "Confidences mended by what was seen.",
    ),
    "mcp": ("assay.cli.mcp", "mcp_command", "A folder for programs that speak MCP."),
    "labels": ("assay.cli.labels", "app", "See, export and import labels."),
    "models": ("assay.cli.models", "app", "Embedded models: list and fetch."),
    "doctor": ("assay.cli.doctor", "doctor_command", "What is installed, what answers."),
}


class LazyGroup(TyperGroup):
    """Loads a command's module when the command is run; ``--help`` needs none of them."""

    def list_commands(self, ctx: Any) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        if cmd_name not in COMMANDS:
            return None
        return TyperCommand(cmd_name, help=COMMANDS[cmd_name][2])

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        if args and args[0] not in COMMANDS and not args[0].startswith("-"):
            near = difflib.get_close_matches(args[0][:50], COMMANDS, n=1)
            hint = f"Did you mean '{near[0]}'?" if near else "'assay --help' lists all."
            ctx.fail(f"No such command '{printable(args[0])}'. {hint}")
        name, _, rest = super().resolve_command(ctx, args)
        return name, _load(str(name)), rest

    def invoke(self, ctx: Any) -> Any:
        try:
            return super().invoke(ctx)
        except typer.BadParameter as error:
            folder = error.param is not None and error.param.name == "folder"
            if folder and not error.message and Path("assay.toml").is_file():
                error.message = "This folder is an evaluation: its name is '.'."
            raise


def _load(name: str) -> Any:
    module, attribute, short = COMMANDS[name]
    target = getattr(import_module(module), attribute)
    if isinstance(target, typer.Typer):
        target.info.name = name
        return typer.main.get_command(target)
    wrapper = typer.Typer(add_completion=False, rich_markup_mode=None)
    wrapper.command(name, short_help=short)(target)
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
        typer.Option("--version", callback=_version, is_eager=True, help="Show the version."),
    ] = False,
    trust: Annotated[
        list[Path] | None,
        typer.Option(
            "--trust",
            metavar="DIRECTORY",
            help="A place outside of evaluation folders that their files may lie in.",
        ),
    ] = None,
    quiet: Annotated[
        bool, typer.Option("--quiet", "-q", help="Tell nothing of how work goes on.")
    ] = False,
) -> None:
    """Assay evaluates retrieval-augmented generation: runs, labels, scores, conclusions.

    Exit status: 0 good, 1 findings, 2 wrong usage or unreadable input, 3 a labeller could not
    be reached or gave nothing of use, 130 interrupted (Ctrl-C, SIGTERM).
    """
    TRUSTED.set(tuple(trust or ()))
    QUIET.set(quiet)
    if context.invoked_subcommand is not None:
        return
    if Path("assay.toml").is_file():
        from assay.cli.status import status_command  # noqa: PLC0415 (of one command)

        status_command(Path())
    else:
        typer.echo(context.get_help())


def run() -> None:
    """Run the command asked for: errors of Assay's own become a message and an exit status."""
    open_streams()
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # ended as by Ctrl-C
    output = sys.stdout
    try:
        app()
    except AssayError as error:
        from assay.model.secrets import told  # noqa: PLC0415 (slow, for errors alone)

        print(f"assay: {told(error)}", file=sys.stderr)
        sys.exit(error.exit_status)
    except KeyboardInterrupt:
        leave(SystemExit(INTERRUPTED))
    except OSError as error:
        denied(error)
    except MemoryError:
        print("assay: there is not enough memory for this. Allow more.", file=sys.stderr)
        sys.exit(AssayError.exit_status)
    except SystemExit as done:
        # The reader of our output went away (``| head``): nothing is wrong, though typer, which
        # puts something else in its place then, takes it for a failure.
        leave(done if sys.stdout is output else SystemExit(0))
