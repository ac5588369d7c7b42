"""What the linters see of imports is all there is."""

from __future__ import annotations

import ast
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

from tests.conftest import ROOT

NAMED_ELSEWHERE = {
    "systems/corpus/readers.py": "libraries that read documents",
    "cli/main.py": "the table of commands",
    "labellers/custom.py": "what a SPEC names",
    "model/extras.py": "packages that extras bring",
    "model/confined.py": "what another process is told of",
    "protocols/registry.py": "what assay.toml or a package names",
    "systems/retrieval/embedders.py": "the package of an embedder",
}
"""Modules that import what they are told."""


def calls(path: Path) -> Iterator[ast.expr]:
    """The first arguments of calls of ``import_module`` and ``__import__``."""
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Call) and node.args:
            name = getattr(node.func, "id", getattr(node.func, "attr", ""))
            if name in ("import_module", "__import__"):
                yield node.args[0]


def test_modules_of_assay_are_imported_by_statements():
    """Neither mypy nor import-linter sees what ``import_module`` imports."""
    source = ROOT / "src" / "assay"
    for path in source.rglob("*.py"):
        for named in calls(path):
            text = ast.unparse(named).lstrip("f").strip("'\"")
            assert not text.startswith(("assay", ".")), f"{path}: import {text} by a statement"
            if not isinstance(named, ast.Constant | ast.JoinedStr):
                assert str(path.relative_to(source)) in NAMED_ELSEWHERE, path


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
    assert "assay.statistics.corrected.linear" in loaded
    assert not loaded & {"scipy", "matplotlib", "onnxruntime", "tokenizers"}
