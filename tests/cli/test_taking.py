"""Options that stand at the function which a command calls."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Annotated, Any

import pytest
import typer
from typer.testing import CliRunner

from assay.cli.common import FORM, forms, present, takes
from assay.model.options import Argument, Option


class Colour(StrEnum):
    RED = "red"
    BLUE = "blue"


@dataclass
class Paint:
    colour: Annotated[str, Option("Which.", of=Colour)] = "red"
    layers: Annotated[int, Option("How many.", flag="-n", least=1)] = 2
    dry: Annotated[bool, Option("Wait for it.")] = True
    places: Annotated[Sequence[str], Option("Where; repeatable.")] = ()
    hidden: str = "not an option"


@pytest.fixture
def run():
    seen: list[Any] = []
    app = typer.Typer(add_completion=False)

    @app.command()
    @forms("json", "csv")
    @takes(Paint, brush="layers")
    def paint(
        wall: Annotated[str, Argument("WALL")],
        *,
        brush: Annotated[str | None, Option("With what.")] = None,
        **given: Any,
    ) -> None:
        seen.append((wall, brush, Paint(**given), FORM.get()))
        present(lambda: {"wall": wall}, ["painted"], (("wall",), [(wall,)]))

    def run(*arguments: str) -> Any:
        done = CliRunner().invoke(app, arguments, env={"COLUMNS": "100"})
        return done, seen.pop() if seen else None

    return run


def test_defaults_are_those_of_the_function(run):
    done, seen = run("north")
    assert seen == ("north", None, Paint(), "")
    assert done.stdout == "painted\n"


def test_what_is_given_gets_there(run):
    _, seen = run("n", "--colour", "blue", "-n", "5", "--no-dry", "--places", "a", "--places", "b")
    assert seen[2] == Paint("blue", 5, False, ["a", "b"])


@pytest.mark.parametrize("wrong", [("--colour", "green"), ("-n", "0"), ("--hidden", "x")])
def test_what_is_none_is_refused(run, wrong):
    done, seen = run("north", *wrong)
    assert done.exit_code == 2
    assert seen is None


def test_an_option_of_the_command_stands_where_it_is_to_stand(run):
    told = run("--help")[0].stdout
    places = [told.index(one) for one in ("--colour", "-n", "--brush", "--dry", "--json", "--csv")]
    assert places == sorted(places)


def test_one_form_at_a_time(run):
    assert run("north", "--json")[0].stdout == '{\n  "wall": "north"\n}\n'
    assert run("north", "--csv")[0].stdout == "wall\nnorth\n"
    done, seen = run("north", "--json", "--csv")
    assert done.exit_code == 2
    assert seen is None
    assert FORM.get() == ""
