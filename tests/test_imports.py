"""What the linters see of imports is all there is; names say what things are."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
import tomllib
from collections import defaultdict
from collections.abc import Iterator
from functools import cache
from itertools import chain
from typing import NamedTuple

from packaging.requirements import Requirement

from tests.conftest import ROOT

NAMED_ELSEWHERE = {
    "systems/corpus/readers.py": "libraries that read documents",
    "cli/commands.py": "the table of commands",
    "labellers/custom.py": "what a SPEC names",
    "model/extras.py": "packages that extras bring",
    "model/confined.py": "what another process is told of",
    "protocols/registry.py": "what assay.toml or a package names",
    "systems/retrieval/embedders.py": "the package of an embedder",
}
"""Modules that import what they are told."""


SOURCE = ROOT / "src" / "assay"
VAGUE = {"aside", "ahead", "again", "alike", "kept", "work", "moved"}
"""Words that only history explains, where they are all that a name says."""


BROUGHT_BY = {"markupsafe": "jinja2", "pydantic_core": "pydantic", "yarl": "aiohttp"}
"""Packages that another one asks for, and whose types it hands out."""
NAMED_OTHERWISE = {"markdown_it": "markdown-it-py", "pytest": None, "vllm": None}
"""Packages that are called otherwise than what they hold; none for what no extra brings."""


class Module(NamedTuple):
    """What is looked at of a module: the first arguments of its calls of ``import_module`` and
    ``__import__``, what its statements import, the names that it gives to something, and those of
    its classes."""

    imports: list[ast.expr]
    statements: set[str]
    names: set[str]
    classes: list[str]


@cache
def modules() -> dict[str, Module]:
    """Every module, read once."""
    found = {}
    for path in SOURCE.rglob("*.py"):
        nodes = list(ast.walk(ast.parse(path.read_text())))
        classes = [node.name for node in nodes if isinstance(node, ast.ClassDef)]
        found[str(path.relative_to(SOURCE))] = Module(
            list(imported(nodes)), set(stated(nodes)), set(map(named, nodes)), classes
        )
    return found


def imported(nodes: list[ast.AST]) -> Iterator[ast.expr]:
    for node in nodes:
        if isinstance(node, ast.Call) and node.args:
            name = getattr(node.func, "id", getattr(node.func, "attr", ""))
            if name in ("import_module", "__import__"):
                yield node.args[0]


def stated(nodes: list[ast.AST]) -> Iterator[str]:
    for node in nodes:
        if isinstance(node, ast.Import):
            yield from (each.name.partition(".")[0] for each in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield str(node.module).partition(".")[0]


def test_what_is_imported_is_asked_for():
    """Another package may bring it along today, in this environment."""
    about = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    extras = about["optional-dependencies"]
    del extras["test"]
    wanted = [*about["dependencies"], *chain(*extras.values())]
    asked = {Requirement(one).name for one in wanted} | {None, "assay"}
    for path, module in modules().items():
        for name in module.statements - set(sys.stdlib_module_names):
            package = NAMED_OTHERWISE.get(name, BROUGHT_BY.get(name, name))
            assert package in asked, f"{path}: {name}"


def test_modules_of_assay_are_imported_by_statements():
    """Neither mypy nor import-linter sees what ``import_module`` imports."""
    for path, module in modules().items():
        for argument in module.imports:
            text = ast.unparse(argument).lstrip("f").strip("'\"")
            assert not text.startswith(("assay", ".")), f"{path}: import {text} by a statement"
            if not isinstance(argument, ast.Constant | ast.JoinedStr):
                assert path in NAMED_ELSEWHERE, path


def named(node: ast.AST) -> str:
    """The name that a node gives to something; empty where it gives none."""
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
        return node.name
    if isinstance(node, ast.arg):
        return node.arg
    stored = isinstance(getattr(node, "ctx", None), ast.Store)
    return str(getattr(node, "id", getattr(node, "attr", ""))) if stored else ""


def test_names_say_what_things_are():
    where = defaultdict(set)
    for path, module in modules().items():
        assert {name for name in module.names if name.strip("_").lower() in VAGUE} == set(), path
        for name in module.classes:
            where[name].add(path.partition("/")[0])
    assert {name: rooms for name, rooms in where.items() if len(rooms) > 2} == {}


def test_docstrings_are_in_one_style():
    """Prose: no sections of arguments, returns and raises."""
    for path in SOURCE.rglob("*.py"):
        found = re.search(r"^ +(Args|Returns|Raises|Attributes):$", path.read_text(), re.MULTILINE)
        assert found is None, (path, found)


def loaded_by(*commands: str) -> set[str]:
    modules = ", ".join(f"assay.cli.{command}" for command in commands)
    code = f"import sys, {modules}; print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return set(done.stdout.split())


def test_who_measures_waits_for_no_labeller():
    """Importing is most of the time that a command on small files takes."""
    loaded = loaded_by("measure")
    assert "numpy" in loaded
    assert not loaded & {"pydantic", "asyncio", "assay.labellers", "assay.ledger", "polars"}


def test_nobody_waits_for_what_only_some_scores_need():
    """Scipy alone takes longer to import than all else that these commands start with."""
    loaded = loaded_by("evaluate", "ui", "trust")
    assert "assay.statistics.corrected.single_items" in loaded
    assert not loaded & {"scipy", "matplotlib", "onnxruntime", "tokenizers"}
