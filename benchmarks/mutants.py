"""Which changes of the code that decides numbers no test notices.

Run: ``pip install mutmut``, then ``python benchmarks/mutants.py [AREA …] [--survivors FILE]``. All
mutants take hours; ``--sample 40`` takes as many of each area, drawn by ``--seed``.
mutmut changes one operator, constant, argument or branch at a time and runs the tests that reach
the function. This is done in a copy of the tracked files; the tree itself is not touched. Prints of
each area how many mutants there were, how many a test noticed (killed, or ran out of time), how
many lived, and how many no test of the area reaches. ``--survivors`` writes the difference that
each living one makes. ``mutants.md`` has the figures and says why those that are left may live.
"""

from __future__ import annotations

import argparse
import os
import random
import re
import subprocess
import sys
import tempfile
from collections import Counter
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parents[1]
CONFIG = """
[tool.mutmut]
source_paths = ["src"]
only_mutate = {mutated}
pytest_add_cli_args_test_selection = {tests}
pytest_add_cli_args = ["-q", "-p", "no:cacheprovider", "-k", "not importing"]
also_copy = ["tests", "examples", "docs", "README.md"]
process_isolation = "forkserver"  # polars has threads, which a fork of a used process lacks
"""
_RESULT = re.compile(r"^ *(?P<name>\S+): (?P<status>[a-z ]+)$", re.MULTILINE)
_NOTICED = ("killed", "timeout", "segfault", "suspicious", "caught by type check")


class Area(NamedTuple):
    """What is changed, as patterns of paths, and the tests that should notice."""

    mutated: tuple[str, ...]
    tests: tuple[str, ...]


AREAS = {
    "measures": Area(
        ("src/assay/measures/*",),
        (
            "tests/measures",
            "tests/exam/test_coverage.py",
            "tests/exam/test_ranges.py",
            "tests/sgss/test_summary_measures.py",
            "tests/trec_rag/test_trec_rag_scores.py",
            "tests/trec_rag/test_trec_rag_ranges.py",
        ),
    ),
    "statistics": Area(
        ("src/assay/statistics/*",),
        ("tests/statistics", "tests/measures/test_bootstrap_intervals.py"),
    ),
    "trust": Area(
        (
            *(
                f"src/assay/api/{name}.py"
                for name in (
                    "by_items",
                    "by_topics",
                    "corrected",
                    "correcting",
                    "linear_tasks",
                    "people",
                    "planning",
                    "trust",
                )
            ),
            "src/assay/api/audit/*",
            "src/assay/protocols/*/linear.py",
        ),
        (
            *(
                f"tests/api/test_{name}.py"
                for name in ("audit", "families", "item_draws", "people", "planning", "trust")
            ),
            "tests/cli/test_audit.py",
            "tests/docs/test_tutorial.py",
            "tests/rag/test_rag_protocol.py",
        ),
    ),
    "r2c2": Area(("src/assay/protocols/r2c2/*",), ("tests/r2c2",)),
    "trec_rag": Area(("src/assay/protocols/trec_rag/*",), ("tests/trec_rag",)),
    "exam": Area(("src/assay/protocols/exam/*",), ("tests/exam",)),
    "sgss": Area(("src/assay/protocols/sgss/*",), ("tests/sgss",)),
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("areas", nargs="*", metavar="AREA", help=", ".join(AREAS))
    parser.add_argument("--survivors", type=Path, help="a file for what the living ones change")
    parser.add_argument("--sample", type=int, help="how many of each area, drawn; else all")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--processes", type=int, default=os.cpu_count() or 1)
    options = parser.parse_args()
    unknown = set(options.areas) - set(AREAS)
    if unknown:
        parser.error(f"no area {', '.join(sorted(unknown))}; there are {', '.join(AREAS)}")
    print(
        f"{'area':<12}{'mutants':>9}{'tried':>9}{'noticed':>9}{'lived':>9}{'reached by none':>17}"
    )
    for name in options.areas or AREAS:
        with tempfile.TemporaryDirectory() as folder:
            tree = Path(folder) / "tree"
            there, found = mutate(tree, AREAS[name], options)
            counts = Counter(found.values())
            noticed = sum(counts[one] for one in _NOTICED)
            print(f"{name:<12}{there:>9,}{len(found):>9,}{noticed:>9,}{counts['survived']:>9,}"
                  f"{counts['no tests']:>17,}", flush=True)  # fmt: skip
            if options.survivors:
                with options.survivors.open("a", encoding="utf-8") as file:
                    for mutant, status in found.items():
                        if status == "survived":
                            file.write(difference(tree, mutant))


def mutate(tree: Path, area: Area, options: argparse.Namespace) -> tuple[int, dict[str, str]]:
    """Test mutants of an area in a copy of the tracked files: how many there are, and the status
    of each that was tried."""
    copy(tree)
    with (tree / "pyproject.toml").open("a", encoding="utf-8") as file:
        file.write(CONFIG.format(mutated=list(area.mutated), tests=list(area.tests)))
    log = run(tree, "run", "no-such-mutant") if options.sample else ""  # makes them and no more
    made = sorted(statuses(tree))
    drawn = random.Random(options.seed).sample(made, min(options.sample or 0, len(made)))
    log += run(tree, "run", "--max-children", str(options.processes), *drawn)
    found = statuses(tree)
    tried = {name: found[name] for name in drawn or found}
    if not tried or "not checked" in tried.values():
        raise SystemExit(f"mutmut did not test all:\n{log[-3000:]}")
    return len(found), tried


def statuses(tree: Path) -> dict[str, str]:
    """The status of every mutant that was made."""
    return dict(_RESULT.findall(run(tree, "results", "--all", "True")))


def copy(tree: Path) -> None:
    """Copy the tracked files; material beside the tree is found beside the copy."""
    names = subprocess.run(
        ["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, check=True, text=True
    ).stdout.split("\0")
    for name in filter(None, names):
        place = tree / name
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_bytes((ROOT / name).read_bytes())
    shared = ROOT.parent / "shared"
    if shared.is_dir():
        (tree.parent / "shared").symlink_to(shared)
        (tree / "shared").symlink_to(shared)  # mutmut runs the tests a folder below


def run(tree: Path, *arguments: str) -> str:
    """What mutmut prints in a tree."""
    env = {**os.environ, "OMP_NUM_THREADS": "1", "POLARS_MAX_THREADS": "1"}
    done = subprocess.run(
        [sys.executable, "-m", "mutmut", *arguments],
        cwd=tree, env=env, capture_output=True, text=True, check=False,
    )  # fmt: skip
    return done.stdout + done.stderr


def difference(tree: Path, mutant: str) -> str:
    """What a mutant changes: its name and the lines that differ."""
    lines = run(tree, "show", mutant).splitlines()
    changed = [one for one in lines if one[:1] in "+-" and one[:3] not in ("+++", "---")]
    return "\n".join([f"## {mutant}", "```diff", *changed, "```", ""])


if __name__ == "__main__":
    main()
