"""Options of a command that stand at the function which it calls."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Sequence
from functools import wraps
from typing import Annotated, Any, Literal, get_args, get_origin, get_type_hints

import typer

from assay.model.options import Argument, Option

_Command = Callable[..., None]
_KEYWORD = inspect.Parameter.KEYWORD_ONLY


def takes(function: Callable[..., object], **after: str) -> Callable[[_Command], _Command]:
    """Give a command the parameters of ``function`` (or fields of a dataclass) that say that they
    are an :class:`Option`, with their defaults. The command gets them as ``**options``.

    They stand after its positional parameters and before its keyword-only ones, but those that are
    to stand ``after`` one of them; one that the command has itself takes the function's place.
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
    """A parameter whose :class:`Argument` or :class:`Option`, if it has one, is typer's."""
    said = _said(one)
    if said is None:
        return one
    kind: Any = get_args(one.annotation)[0]
    if isinstance(said, Argument):
        place = typer.Argument(metavar=said.metavar, help=said.help)
        return one.replace(annotation=Annotated[kind, place])
    flags = said.flag.split() or [f"--{one.name.replace('_', '-')}"]
    if one.default is True and not said.flag:
        flags = []  # typer makes --NAME and --no-NAME
    if get_origin(kind) is Sequence:
        kind = list[get_args(kind)[0]] | None  # type: ignore[misc]
    if get_origin(kind) is Literal:
        kind = str
    if said.of is not None:
        kind = said.of | None if one.default is None else said.of
    option = typer.Option(
        *flags, metavar=said.metavar, min=said.least, max=said.most, help=said.help
    )
    return one.replace(annotation=Annotated[kind, option])
