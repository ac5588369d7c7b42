"""What commands share: their options, and the presentation of results."""

from __future__ import annotations

import inspect
import math
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextvars import ContextVar
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, get_args, get_origin, get_type_hints

import typer
from typer.core import TyperGroup

from assay.model.csv_cells import CONTROLS
from assay.model.errors import SettingsError
from assay.model.options import Argument, Option
from assay.model.wording import printable, printable_lines
from assay.page.tables import Table
from assay.reports.plotting import checked_plot

_Command = Callable[..., None]
_KEYWORD = inspect.Parameter.KEYWORD_ONLY


def takes(function: Callable[..., object], **after: str) -> Callable[[_Command], _Command]:
    """Add to a command the parameters of ``function`` (or fields of a dataclass) that are declared
    as an :class:`Option`, with their defaults. The command receives them as ``**options``.

    They are placed between its positional and its keyword-only parameters, except those declared to
    come ``after`` one of them; a parameter that the command already has takes precedence.
    """

    def decorated(command: _Command) -> _Command:
        own = inspect.signature(command, eval_str=True).parameters
        theirs = {one.name: one for one in _options(function)}
        defaults = {name: one.default for name, one in theirs.items() if name not in own}
        placed = [
            one for one in own.values() if one.kind is inspect.Parameter.POSITIONAL_OR_KEYWORD
        ]
        more = [one for one in own.values() if one.kind is _KEYWORD and one.name not in theirs]
        every = list(placed)
        for name, one in theirs.items():
            every += [own.get(name, one), *(own[mine] for mine, at in after.items() if at == name)]
        every += [one for one in more if one.name not in after]

        @wraps(command)
        def asked(*first: Any, **options: Any) -> None:
            for name, default in defaults.items():
                if options.get(name) in (None, []):
                    options[name] = default
            command(*first, **options)

        asked.__signature__ = inspect.Signature(  # type: ignore[attr-defined]
            [one.replace(kind=_KEYWORD) for one in every]
        )
        return asked

    return decorated


def _options(function: Callable[..., object]) -> Iterator[inspect.Parameter]:
    """The parameters that are options."""
    hints = get_type_hints(function, include_extras=True)
    for one in inspect.signature(function).parameters.values():
        typed = one.replace(annotation=hints[one.name])
        if isinstance(_said(typed), Option):
            yield typed


def _said(one: inspect.Parameter) -> Argument | Option | None:
    about = get_args(one.annotation)[1:] if get_origin(one.annotation) is Annotated else ()
    return next((said for said in about if isinstance(said, Argument | Option)), None)


def as_typer_has_it(one: inspect.Parameter) -> inspect.Parameter:
    """Convert a parameter's :class:`Argument` or :class:`Option`, if any, to typer's."""
    said = _said(one)
    if said is None:
        return one
    kind: Any = get_args(one.annotation)[0]
    if isinstance(said, Argument):
        place = typer.Argument(metavar=said.metavar, help=said.help)
        return one.replace(annotation=Annotated[kind, place])
    flags = said.flag.split() or [f"--{one.name.replace('_', '-')}"]
    if one.default is True and not said.flag:
        flags = []  # typer generates --NAME and --no-NAME
    if get_origin(kind) is Sequence:
        kind = list[get_args(kind)[0]] | None  # type: ignore[misc]
    kinds = (kind, *get_args(kind))
    words = next((get_args(each) for each in kinds if get_origin(each) is Literal), ())
    if words:
        kind = str | None if one.default is None else str
    if said.of is not None:
        kind = said.of | None if one.default is None else said.of

    def checked(value: Any) -> Any:
        if words and value is not None:
            one_of(value, words, flags[-1])
        if isinstance(value, float) and math.isnan(value):  # nan passes every bound
            raise typer.BadParameter("must be a number, not nan")
        return value

    option = typer.Option(
        *flags, metavar=said.metavar, min=said.least, max=said.most, help=said.help,
        callback=checked if words or float in kinds else None,
    )  # fmt: skip
    return one.replace(annotation=Annotated[kind, option])


if TYPE_CHECKING:
    from rich.console import RenderableType


FORM: ContextVar[str] = ContextVar("FORM", default="")
"""The form in which the running command presents its findings; empty means for people."""

_FORMS = {
    "json": "Print one JSON document and nothing else.",
    "csv": "Print CSV and nothing else.",
    "trec": "Print lines as trec_eval does: measure, topic, value.",
}


def forms(*names: str) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Convert a command's parameters as their :mod:`assay.model.options` declare, and append output
    options such as ``--json``. :func:`present` then follows these, and progress is silent, since
    standard output holds one document."""

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
    """The option for an output form. A second one is refused."""

    def alone(context: typer.Context, wanted: bool) -> bool:
        known = [f"as_{one}" for one in _FORMS]
        offered = {one.name: one.opts[0] for one in context.command.params if one.name in known}
        if wanted and any(context.params.get(one) for one in offered if one is not None):
            *most, last = offered.values()
            raise typer.BadParameter(f"choose only one of {', '.join(most)} and {last}")
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
    """``--seed``, limited to the integers that the ledger and JSON can hold."""

    def fits(seed: int) -> int:
        if seed >= 2**63:
            raise typer.BadParameter("must be below 2 to the power of 63")
        return seed

    return typer.Option("--seed", min=0, callback=fits, help=says)


PerTopicOption = Annotated[bool, Option("Show each topic too, not only the mean.")]


def group(says: str, kind: type[TyperGroup] = TyperGroup) -> typer.Typer:
    """A command with subcommands, even if there is only one."""
    return typer.Typer(
        cls=kind, add_completion=False, no_args_is_help=True, rich_markup_mode=None, help=says,
        callback=lambda: None,
    )  # fmt: skip


class ScoreUnlessNamed(TyperGroup):
    """Makes ``assay nuggets FILE`` mean ``assay nuggets score FILE``."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        if args and args[0] not in self.commands and args[0] != "--help":
            args = ["score", *args]
        parsed: list[str] = super().parse_args(ctx, args)
        return parsed


def one_of(value: str, known: Sequence[str], option: str) -> None:
    """Reject a value that is not one of an option's."""
    if value not in known:
        *most, last = map(repr, known)
        said = f"{', '.join(most)} or {last}" if most else last
        raise typer.BadParameter(f"must be {said}", param_hint=option)


def named_values(given: Sequence[str], option: str, form: str) -> dict[str, str]:
    """Parse a repeatable ``NAME=VALUE`` option. Raises SettingsError."""
    found = {}
    for one in given:
        name, _, value = one.partition("=")
        if not name or not value:
            raise SettingsError(f"{option} {one}: write it as {form}.")
        found[name] = value
    return found


def is_share(value: float, option: str) -> None:
    """Reject a value that is not between 0 and 1."""
    if not 0 < value < 1:
        raise typer.BadParameter("must be between 0 and 1", param_hint=option)


def topics_file(topics: str) -> Path | None:
    """The file named by ``--topics``, or None for ``qrels`` or ``answered``."""
    if topics in ("qrels", "answered"):
        return None
    if not Path(topics).is_file():
        raise typer.BadParameter(
            "must be 'qrels', 'answered' or a file with one topic id per line; there is no file "
            f"{printable(topics)!r}",
            param_hint="--topics",
        )
    return Path(topics)


def say(text: object) -> None:
    """Print a line for people on standard output. It may contain text from files."""
    print(printable_lines(str(text)))


def tell(text: object) -> None:
    """Print a line for people on standard error, which holds no results."""
    print(printable_lines(str(text)), file=sys.stderr)


def remark(text: object) -> None:
    """Print a remark on standard error."""
    tell(f"Note: {text}")


class Paragraph(str):
    """Sentences for people, wrapped to the screen width."""

    __slots__ = ()


def present(
    document: Callable[[], Any],
    people: Iterable[Table | RenderableType],
    csv_rows: tuple[Sequence[str], Iterable[Iterable[object]]] = ((), ()),
    remarks: Iterable[str] = (),
) -> None:
    """Print results in the requested form (:func:`forms`): ``document`` as JSON, ``csv_rows``
    (header and rows) with ``remarks`` on standard error, or ``people``: tables and lines. Only what
    is printed is computed."""
    if FORM.get() == "json":
        print_json(document())
    elif FORM.get() == "csv":
        for line in remarks:
            remark(line)
        print_csv(*csv_rows)
    else:
        # Drawing takes longer to load than many commands to run; other forms do not need it.
        from assay.cli.screen import show  # noqa: PLC0415

        for one in people:
            if isinstance(one, str) and not isinstance(one, Paragraph):
                say(one)
            else:
                show(one)


def print_json(document: Any) -> None:
    """Print one JSON document on standard output, with numbers at full precision, undefined ones
    null, and no terminal control sequences."""
    import orjson  # noqa: PLC0415 (of one form)

    text = orjson.dumps(document, default=_plain, option=orjson.OPT_INDENT_2).decode()
    if not text.isascii():
        text = CONTROLS.sub(lambda found: f"\\u{ord(found.group()):04x}", text)
    put([text.encode(), b"\n"])


def _plain(value: object) -> object:
    """Serialise types unknown to orjson: a range as floor and ceiling, and a path."""
    if isinstance(value, tuple):
        return list(value)
    if isinstance(value, Path):
        return str(value)
    raise TypeError


def print_csv(header: Sequence[str], rows: Iterable[Iterable[object]]) -> None:
    """Print CSV on standard output, with numbers at full precision and undefined ones empty.

    Terminal control characters are escaped, and cells that a spreadsheet would evaluate are guarded
    (:func:`assay.model.csv_cells.csv_cells`); line breaks and tabs in a cell stay.
    """
    from assay.protocols.output import csv_lines  # noqa: PLC0415 (of one form)

    put(csv_lines(header, rows))


def put(pieces: Iterable[bytes]) -> None:
    """Write data to standard output unchanged: UTF-8 and line feeds on every system."""
    sys.stdout.flush()
    sys.stdout.buffer.writelines(pieces)


def safe(text: object) -> str:
    """Text from files and labels, safe to show: control characters visible, no Rich markup."""
    return printable(str(text)).replace("[", r"\[")


def plot_option(draws: str) -> Any:
    """The ``--plot`` option; ``draws`` says what the plot shows."""
    says = f"Draw {draws} (.svg, .pdf or .png)."
    return typer.Option("--plot", callback=_drawable, help=says)


def _drawable(plot: Path | None) -> Path | None:
    """Reject a plot filename without a known ending, before any work is done."""
    try:
        checked_plot(plot or "none.svg")
    except ValueError as error:
        raise typer.BadParameter(printable(str(error)), param_hint="--plot") from None
    return plot
