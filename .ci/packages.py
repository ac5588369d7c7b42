"""Builds what a release consists of, installs the wheel in clean environments and tries it.

Run by .ci/run with the Python of .venv. For every Python that uv finds: without extras, with the
judge, then the larger one beside it, and with the lowest versions that pyproject.toml allows. Ends
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


def installed(python: str, wheel: Path, extras: str, into: Path, *, lowest: bool) -> Path:
    """An environment of its own with the wheel; returns its folder of programs."""
    run(UV, "venv", "--quiet", "--python", python, into)
    programs = into / "bin"
    install = (UV, "pip", "install", "--quiet", "--python", programs / "python")
    if lowest:
        wanted = into / "lowest.txt"
        extra = ("--extra", extras.strip("[]"))
        run(
            UV,
            "pip",
            "compile",
            "--quiet",
            "--resolution",
            "lowest-direct",
            "--python",
            python,
            *extra,
            ROOT / "pyproject.toml",
            "-o",
            wanted,
        )
        run(*install, "-r", wanted)
    run(*install, f"assay-rag{extras} @ {wheel.as_uri()}")
    return programs


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
        for python in pythons():
            version = run(python, "-c", "import sys; print('%d.%d' % sys.version_info[:2])").strip()
            sizes = {}
            for name, extras in (
                ("core", ""),
                ("judge", "[embedded]"),
                ("judge, lowest versions", "[embedded]"),
            ):
                into = place / f"environment-{version}"
                programs = installed(python, wheel, extras, into, lowest="lowest" in name)
                tried(programs, place, judge=bool(extras))
                sizes[name] = megabytes(into / "lib")
                print(f"Python {version}, {name}: {sizes[name]:.0f} MB")
                if name == "judge":
                    tried_large(programs, large_judge, place)
                shutil.rmtree(into)
            if sizes["core"] > CORE_MB:
                large.append(f"core {sizes['core']:.0f} MB, more than {CORE_MB}")
            if sizes["judge"] - sizes["core"] > JUDGE_MB:
                large.append(f"the judge adds {sizes['judge'] - sizes['core']:.0f} MB")
    if large:
        raise SystemExit("; ".join(large))


if __name__ == "__main__":
    main()
