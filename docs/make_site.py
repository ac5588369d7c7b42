"""Gathers the pages of the documentation site into ``build/docs``. Run: ``make docs``.

The pages of ``docs/`` link to files beside it (examples, cards, benchmarks); a site holds pages
only. What is linked and is Markdown becomes a page, what is not a file to fetch; the reference of
the Python API is made from the docstrings by mkdocstrings.
"""

from __future__ import annotations

import re
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parent.parent
PAGES = (
    *sorted((ROOT / "docs").glob("*.md")),
    *sorted((ROOT / "examples").glob("*/README.md")),
    *(ROOT / name for name in (
        "ARCHITECTURE.md", "CHANGELOG.md", "SECURITY.md", "benchmarks/README.md",
        "benchmarks/judges.md", "benchmarks/mutants.md", "calibration/README.md",
        "training/README.md", "training/frames/README.md", "training/written/README.md",
        "src/assay/labellers/judge/data/CARD.md",
    )),
)  # fmt: skip
API = {
    "evaluations": "assay.api.evaluation assay.api.labelling",
    "measures": "assay.api.measuring assay.measures.base assay.measures.names",
    "confidence": "assay.measures.confidence assay.statistics.confidence",
    "statistics": "assay.api.comparing assay.statistics.agreement assay.statistics.comparison "
    "assay.statistics.correlation assay.statistics.samplesize assay.statistics.confidence_sizes",
    "corrected": "assay.statistics.corrected",
    "battles": "assay.statistics.pair_models assay.measures.rubrics",
    "systems": "assay.api.corpus assay.api.index assay.api.retrieving assay.api.answering",
    "testing": "assay.testing",
    "protocols": "assay.protocols.base assay.labellers.base assay.tasks.base",
    "settings": "assay.protocols.config assay.protocols.base.CommonSettings "
    "assay.protocols.r2c2.inputs.R2C2Settings assay.protocols.trec_rag.inputs.TrecRagSettings "
    "assay.protocols.exam.inputs.ExamSettings assay.protocols.sgss.inputs.SgssSettings "
    "assay.protocols.rag.inputs.RagSettings assay.protocols.battles.inputs.BattleSettings",
}
"""Pages of the reference, with what each shows."""

ELSEWHERE = {"assay.protocols.base": "CommonSettings"}
"""What of a module another page shows: an object that is on two has no address of its own."""

_LINK = re.compile(r"(\]\()([^)#\s]+)((?:#[^)\s]*)?\))")


def place(source: Path) -> Path:
    """Where a page stands in the site."""
    relative = source.relative_to(ROOT)
    if relative.parts[0] == "docs":
        return Path(*relative.parts[1:])
    return Path("more") / "-".join(relative.parts).lower()


def linked(source: Path, files: dict[Path, Path]) -> str:
    """A page's text with its links as the site has them; files that it links are noted."""
    here = place(source).parent

    def link(found: re.Match[str]) -> str:
        before, target, after = found.groups()
        if "://" in target or target.startswith("mailto:"):
            return found[0]
        path = (source.parent / target).resolve()
        if path.is_dir() and (path / "README.md") in PAGES:
            path /= "README.md"
        if not path.is_relative_to(ROOT) or not path.exists():
            raise SystemExit(f"{source.relative_to(ROOT)}: {target} is not there")
        if path == ROOT / "README.md":
            there = Path("index.md")
        elif path in PAGES:
            there = place(path)
        elif path.is_file():
            there = files.setdefault(path, Path("files") / "-".join(path.relative_to(ROOT).parts))
        else:
            return f"]({'../' * len(here.parts)}index.html)"
        return f"{before}{'../' * len(here.parts)}{there.as_posix()}{after}"

    return _LINK.sub(link, source.read_text(encoding="utf-8"))


def reference() -> Iterator[tuple[str, str]]:
    """The pages of the Python API, by name."""
    for name, modules in API.items():
        parts = [f"# Python: {name}", *map(_shown, modules.split())]
        yield f"api/{name}.md", "\n\n".join(parts) + "\n"


def _shown(module: str) -> str:
    """The directive that shows a module or an object."""
    name = ELSEWHERE.get(module)
    left_out = f'\n    options:\n      filters: ["!^_[^_]", "!^{name}$"]' if name else ""
    return f"::: {module}{left_out}"


def make(into: Path) -> None:
    """Write all pages into a folder of their own."""
    shutil.rmtree(into, ignore_errors=True)
    files: dict[Path, Path] = {}
    pages = {place(source).as_posix(): linked(source, files) for source in PAGES}
    pages.update(reference())
    for name, text in pages.items():
        path = into / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    files |= {path: Path(*path.parts[-2:]) for path in (ROOT / "docs" / "site").iterdir()}
    for source, there in files.items():
        path = into / there
        path.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(source, path)


if __name__ == "__main__":
    make(Path(sys.argv[1]) if len(sys.argv) > 1 else ROOT / "build" / "docs")
