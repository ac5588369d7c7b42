"""Fills the tables of ``docs/reproductions.md``: what Assay's commands print for published files,
beside what was published. Run: ``python docs/make_reproductions.py DATA``, where DATA holds
``llmjudge/``, ``trec-rag-2024/`` and ``confidence/``."""

from __future__ import annotations

import csv
import io
import re
import shlex
import shutil
import sys
import tempfile
from collections.abc import Callable, Iterable, Sequence
from contextlib import chdir
from fractions import Fraction
from pathlib import Path

import typer
from click.testing import CliRunner

from assay.cli.commands import app

HERE = Path(__file__).parent
PAGE = HERE / "reproductions.md"
_CODE = r"^```(sh|python)\n([^`]*)^```\n+"
_TABLE = re.compile(
    rf"(?P<code>(?:{_CODE})+)<!-- (?P<name>[\w-]+) -->\n.*?<!-- end -->", re.DOTALL | re.MULTILINE
)
Row = dict[str, str]
AGREEMENTS = {
    "kappa4": ("κ", "kappa"),
    "alpha": ("α", "alpha_ordinal"),
    "k_0_123": ("κ, 1–3", "kappa@1"),
    "k_01_23": ("κ, 2–3", "kappa@2"),
    "k_012_3": ("κ, 3", "kappa@3"),
}
"""Columns of the challenge's table, with what they are called here and by ``assay agree``."""


def page(data: Path) -> str:
    """The page's text as it should be: its code is run, and each table made of the output."""
    data = data.resolve()
    with tempfile.TemporaryDirectory() as place, chdir(place):
        for name in ("llmjudge", "trec-rag-2024", "confidence"):
            Path(name).symlink_to(data / name)
        ignore = shutil.ignore_patterns("out", "labels.sqlite*")
        shutil.copytree(HERE.parent / "examples" / "slide", "examples/slide", ignore=ignore)
        return _TABLE.sub(_filled, PAGE.read_text(encoding="utf-8"))


def _filled(match: re.Match[str]) -> str:
    commands = []
    for kind, code in re.findall(_CODE, match["code"], re.MULTILINE):
        if kind == "python":
            exec(compile(code, PAGE.name, "exec"), {})  # the page's own
        else:
            commands += [line for line in code.splitlines() if line.startswith("assay ")]
    made = TABLES[match["name"]](commands)
    return f"{match['code']}<!-- {match['name']} -->\n{made}\n<!-- end -->"


def run(command: str) -> list[Row]:
    """The CSV that a command prints, but for figures that are not defined."""
    # In this process: starting a dozen would take half a minute.
    done = CliRunner().invoke(typer.main.get_command(app), shlex.split(command)[1:])
    if done.exit_code not in (0, 1):
        raise SystemExit(f"{command}: {done.stderr}")
    return [row for row in csv.DictReader(io.StringIO(done.stdout)) if row["value"]]


def published(file: str) -> list[Row]:
    with Path(file).open(encoding="utf-8", newline="") as lines:
        return list(csv.DictReader(lines, delimiter="\t" if file.endswith(".tsv") else ","))


def table(header: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = [header, ["---", *["---:"] * (len(header) - 1)], *rows]
    return "\n".join(f"| {' | '.join(cells)} |" for cells in lines)


def decimals(value: float, count: int = 6) -> str:
    return f"{value + 0.0:.{count}f}"


def alike(pairs: Sequence[tuple[float, str]], most: int = 99) -> str:
    """How many figures are those that were printed, in all decimals that were, or in ``most``."""
    same = 0
    for ours, theirs in pairs:
        count = min(most, len(theirs.partition(".")[2]))
        same += decimals(ours, count) == decimals(float(theirs), count)
    which = "every decimal that was printed" if most == 99 else f"the first {most} decimals"
    figures = "figure agrees" if len(pairs) == 1 else "figures agree"
    return f"{same} of {len(pairs)} {figures} in {which}."


def llmjudge(commands: Sequence[str]) -> str:
    (command,) = commands
    lines, pairs = [], []
    for row in published("llmjudge/published.tsv"):
        found = run(command.replace("RUN", row["submission"]))
        values = {one["measure"]: float(one["value"]) for one in found}
        cells = [row["submission"]]
        for column, (_, name) in AGREEMENTS.items():
            cells += [decimals(values[name]), row[column]]
            pairs.append((values[name], row[column]))
        lines.append(cells)
    names = [cell for name, _ in AGREEMENTS.values() for cell in (name, "published")]
    return f"{table(['judge', *names], lines)}\n\n{alike(pairs)}"


def clipping(commands: Sequence[str]) -> str:
    lines = []
    for what, command in zip(("counted as 3", "left out", "as they are"), commands, strict=True):
        values = {row["measure"]: float(row["value"]) for row in run(command)}
        lines.append([what, decimals(values["kappa"]), decimals(values["alpha_ordinal"])])
    row = next(r for r in published("llmjudge/published.tsv") if r["submission"] in commands[0])
    lines.append(["published", row["kappa4"], row["alpha"]])
    return table(["the two 5s", "κ", "α"], lines)


def support(commands: Sequence[str]) -> str:
    (command,) = commands
    found = [row for row in run(command) if row["measure"] == "weighted_precision"]
    scored = {row["run"]: float(row["value"]) for row in found}
    best = sorted(scored, key=lambda name: -scored[name])[:5]
    printed = {best[0]: "0.793074"}  # the figure of the best run, whichever that is here
    lines = [[name, decimals(scored[name], 9), printed.get(name, "")] for name in best]
    pairs = [(scored[name], figure) for name, figure in printed.items()]
    return f"{table(['run', 'weighted precision', 'published'], lines)}\n\n{alike(pairs)}"


def confidence(commands: Sequence[str]) -> str:
    (command,) = commands
    found = {(row["run"], row["measure"]): float(row["value"]) for row in run(command)}
    lines, pairs = [], []
    for row in published("confidence/published.csv"):
        cells = [row["Model"]]
        for measure, column in (("Brier", "Brier Score"), ("AUROC", "ROC_AUC")):
            ours = found[row["Model"], measure]
            cells += [decimals(ours), decimals(float(row[column]))]
            pairs.append((ours, row[column]))
        lines.append(cells)
    header = ["model", "Brier", "published", "AUROC", "published"]
    return f"{table(header, lines)}\n\n{alike(pairs, 12)}"


def slide(commands: Sequence[str]) -> str:
    (command,) = commands
    found = {(row["run"], row["measure"]): float(row["value"]) for row in run(command)}
    marked = Path("examples/slide/out/marked/SLIDE.txt").read_text(encoding="utf-8").splitlines()
    ours = " ".join(line.partition(";")[0] for line in marked[2:-1])
    lines = [["marks", ours, "N1 N2 B3 R4 R5"]]
    pairs = []
    theirs = {"Accuracy": "1", "NuggetPrecision": "2/5", "R_O": "1", "R_U": "9/10", "HMR": "18/19"}
    for measure, fraction in theirs.items():
        value = decimals(float(Fraction(fraction)))
        pairs.append((found["SLIDE", measure], value))
        shown = value if "/" not in fraction else f"{fraction} = {value}"
        lines.append([measure, decimals(found["SLIDE", measure]), shown])
    return f"{table(['', 'Assay', 'slides'], lines)}\n\n{alike(pairs)}"


TABLES: dict[str, Callable[[Sequence[str]], str]] = {
    "llmjudge": llmjudge,
    "clipping": clipping,
    "support": support,
    "confidence": confidence,
    "slide": slide,
}


if __name__ == "__main__":
    PAGE.write_text(page(Path(sys.argv[1])), encoding="utf-8")
