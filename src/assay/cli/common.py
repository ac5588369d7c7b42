"""What commands share: consoles, and the one way in which what was found is presented."""

from __future__ import annotations

import csv
import inspect
import sys
from collections.abc import Callable, Iterable, Sequence
from contextvars import ContextVar
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer.core import TyperGroup

from assay.cli.taking import as_typer_has_it
from assay.model.csv_cells import ACTED_ON, csv_cell
from assay.model.errors import SettingsError
from assay.model.options import Argument, Option
from assay.model.wording import printable, printable_lines
from assay.page.tables import Table

if TYPE_CHECKING:
    from rich.console import RenderableType


FORM: ContextVar[str] = ContextVar("FORM", default="")
"""The form that the command that runs is to give what it found in; empty is for people."""

_FORMS = {
    "json": "Print one JSON document and nothing else.",
    "csv": "Print CSV and nothing else.",
    "trec": "Print lines as trec_eval does: measure, topic, value.",
}


def forms(*names: str) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Make of a command's parameters what their :mod:`assay.model.options` say that they are, and
    give it ``--json`` and the like, last. :func:`present` then does what these say, and progress is
    silent: standard output holds one document."""

    def decorated(command: Callable[..., None]) -> Callable[..., None]:
        @wraps(command)
        def asked(*given: Any, **options: Any) -> None:
            wanted = [name for name in names if options.pop(f"as_{name}", False)]
            before = FORM.set(wanted[0] if wanted else "")
            try:
                command(*given, **options)
            finally:
                FORM.reset(before)

        own = inspect.signature(command, eval_str=True).parameters.values()
        asked.__signature__ = inspect.Signature(  # type: ignore[attr-defined]
            [*map(as_typer_has_it, own), *map(_form, names)]
        )
        return asked

    return decorated


def _form(name: str) -> inspect.Parameter:
    """The option for a form. A second one beside it is refused."""

    def alone(context: typer.Context, wanted: bool) -> bool:
        known = [f"as_{one}" for one in _FORMS]
        offered = {one.name: one.opts[0] for one in context.command.params if one.name in known}
        if wanted and any(context.params.get(one) for one in offered if one is not None):
            *most, last = offered.values()
            raise typer.BadParameter(f"choose one of {', '.join(most)} and {last}")
        return wanted

    option = typer.Option(f"--{name}", callback=alone, help=_FORMS[name])
    return inspect.Parameter(
        f"as_{name}",
        inspect.Parameter.KEYWORD_ONLY,
        default=False,
        annotation=Annotated[bool, option],
    )


FolderArgument = Annotated[Path, Argument("FOLDER", "Evaluation folder with an assay.toml.")]


def seed_option(says: str) -> Any:
    """``--seed``, no larger than the ledger and JSON hold whole numbers."""

    def fits(seed: int) -> int:
        if seed >= 2**63:
            raise typer.BadParameter("must be below 2 to the power of 63")
        return seed

    return typer.Option("--seed", min=0, callback=fits, help=says)


PerTopicOption = Annotated[bool, Option("Single topics too, not only the mean.")]


def group(says: str, kind: type[TyperGroup] = TyperGroup) -> typer.Typer:
    """A command that has commands, be it a single one."""
    return typer.Typer(
        cls=kind, add_completion=False, no_args_is_help=True, rich_markup_mode=None, help=says,
        callback=lambda: None,
    )  # fmt: skip


class ScoreUnlessNamed(TyperGroup):
    """``assay nuggets FILE`` is ``assay nuggets score FILE``."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        if args and args[0] not in self.commands and args[0] != "--help":
            args = ["score", *args]
        parsed: list[str] = super().parse_args(ctx, args)
        return parsed


def one_of(value: str, known: Sequence[str], option: str) -> None:
    """Refuse a value that an option does not have."""
    if value not in known:
        *most, last = map(repr, known)
        said = f"{', '.join(most)} or {last}" if most else last
        raise typer.BadParameter(f"must be {said}", param_hint=option)


def named_values(given: Sequence[str], option: str, form: str) -> dict[str, str]:
    """What an option that is given as ``NAME=VALUE``, perhaps several times, says. Raises
    SettingsError."""
    found = {}
    for one in given:
        name, _, value = one.partition("=")
        if not name or not value:
            raise SettingsError(f"{option} {one}: give it as {form}.")
        found[name] = value
    return found


def is_share(value: float, option: str) -> None:
    """Refuse what is not between 0 and 1."""
    if not 0 < value < 1:
        raise typer.BadParameter("must be between 0 and 1", param_hint=option)


def topics_file(topics: str) -> Path | None:
    """The file that ``--topics`` names, None where it is ``qrels`` or ``answered``."""
    if topics in ("qrels", "answered"):
        return None
    if not Path(topics).is_file():
        raise typer.BadParameter(
            f"must be 'qrels', 'answered' or a file with one topic id a line; there is no file "
            f"{printable(topics)!r}",
            param_hint="--topics",
        )
    return Path(topics)


def say(text: object) -> None:
    """A line for people on standard output. Texts of files may be in it."""
    print(printable_lines(str(text)))


def tell(text: object) -> None:
    """A line for people on standard error, where results are not."""
    print(printable_lines(str(text)), file=sys.stderr)


def remark(text: object) -> None:
    """A remark on standard error."""
    tell(f"Note: {text}")


class Paragraph(str):
    """Sentences for people that are broken into lines as wide as the screen."""

    __slots__ = ()


def present(
    document: Callable[[], Any],
    people: Iterable[Table | RenderableType],
    csv_rows: tuple[Sequence[str], Iterable[Iterable[object]]] = ((), ()),
    remarks: Iterable[str] = (),
) -> None:
    """What was found, in the form that was asked for (:func:`forms`): ``document`` as JSON,
    ``csv_rows`` (the heading, and what stands under it) with ``remarks`` on standard error, or
    ``people``: tables and lines. Only what is printed is computed."""
    if FORM.get() == "json":
        print_json(document())
    elif FORM.get() == "csv":
        for line in remarks:
            remark(line)
        print_csv(*csv_rows)
    else:
        # Drawing takes longer to load than many a command to run; the other forms need none of it.
        from assay.cli.screen import show  # noqa: PLC0415

        for one in people:
            if isinstance(one, str) and not isinstance(one, Paragraph):
                say(one)
            else:
                show(one)


def print_json(document: Any) -> None:
    """One JSON document on standard output; numbers at full precision, undefined ones null, and
    nothing in it that a terminal acts on."""
    import orjson  # noqa: PLC0415 (of one form)

    text = orjson.dumps(document, option=orjson.OPT_INDENT_2).decode()
    if not text.isascii():
        text = ACTED_ON.sub(lambda found: f"\\u{ord(found.group()):04x}", text)
    sys.stdout.write(text + "\n")


def print_csv(header: Sequence[str], rows: Iterable[Iterable[object]]) -> None:
    """CSV on standard output; numbers at full precision, undefined ones empty.

    What a terminal would act on is escaped, and what a spreadsheet would calculate guarded
    (:func:`assay.model.csv_cells.csv_cell`); line breaks and tabs in a cell stay.
    """
    writer = csv.writer(sys.stdout, lineterminator="\n")
    writer.writerow(header)
    for row in rows:
        writer.writerow(map(csv_cell, row))


def safe(text: object) -> str:
    """Text from files and labels as it may be shown: controls visible, no Rich markup."""
    return printable(str(text)).replace("[", r"\[")
