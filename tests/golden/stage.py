"""Copies of the examples, with other settings and labels, that commands are run on."""

from __future__ import annotations

import gzip
import json
import shutil
import tomllib
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

from tests.command import run_here
from tests.golden import pins

EXAMPLES = Path(__file__).parents[2] / "examples"
LABELS = Path(__file__).parent / "labels"
"""What the embedded judge said of examples that come without labels, so that no golden hangs on a
processor's arithmetic."""

ORACLE = "tests.golden.oracle:judge"
RECORDED = "recorded:recorded.jsonl"

Row = dict[str, Any]


def assay(*arguments: object, status: int | None = 0) -> str:
    """Run the command in this process; its standard output. ``status`` None: 0 or 1."""
    done = run_here(*arguments)
    wanted = (0, 1) if status is None else (status,)
    if done.returncode not in wanted:
        raise AssertionError(f"{arguments} ended with {done.returncode}: {done.stderr}")
    return done.stdout


class Stage:
    """A copy of an example in a folder of its own, of which any entry of ``assay.toml`` may be
    changed (None takes one out). Labels are those that come with the example, or ``labels/``."""

    def __init__(self, folder: Path, example: str, **changed: Mapping[str, Any]) -> None:
        self.folder = folder
        ignored = shutil.ignore_patterns("out", "labels.sqlite*", "build", "wiki", "README.md")
        shutil.copytree(EXAMPLES / example, folder, ignore=ignored)
        kept = LABELS / f"{example}.jsonl.gz"
        if kept.exists():
            (folder / "recorded.jsonl").write_bytes(gzip.decompress(kept.read_bytes()))
        self.configure(labellers={"default": RECORDED})
        self.configure(**changed)
        self._machines: list[Row] | None = None

    @classmethod
    def of(cls, folder: Path) -> Stage:
        """A folder that is there already."""
        made = cls.__new__(cls)
        made.folder, made._machines = folder, None
        return made

    def configure(self, **changed: Mapping[str, Any]) -> None:
        """Change ``assay.toml``."""
        path = self.folder / "assay.toml"
        config: dict[str, Any] = tomllib.loads(path.read_text(encoding="utf-8"))
        for section, entries in changed.items():
            config.setdefault(section, {}).update(entries)
        path.write_text(_toml(config), encoding="utf-8")

    def judge(self) -> None:
        self._machines = None
        assay("judge", self.folder, "--json", status=None)

    def pins(self, policy: str | None = None) -> pins.Files:
        """Score, and take what is pinned of the results."""
        shutil.rmtree(self.folder / "out", ignore_errors=True)
        more = [] if policy is None else ["--policy", policy]
        printed = assay("score", self.folder, "--json", *more, status=None)
        out = self.folder / "out"
        if policy is not None and (out / policy.replace(":", "-")).is_dir():
            out /= policy.replace(":", "-")
        return {**pins.files_of(out), "printed.json": pins.document(printed)}

    # -- labels -----------------------------------------------------------------------------------

    def recorded(self) -> list[Row]:
        text = (self.folder / "recorded.jsonl").read_text(encoding="utf-8")
        return [json.loads(line) for line in text.splitlines()]

    def record(self, rows: Iterable[Row], name: str = "recorded.jsonl") -> None:
        lines(self.folder / name, rows)

    def export(self) -> list[Row]:
        """All labels of the ledger, in the order of what they say: none hangs on the time or on
        who was asked first."""
        path = self.folder / "exported.jsonl"
        assay("labels", "export", self.folder, "-o", path)
        rows = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
        return sorted(
            rows, key=lambda row: (row["task"], row["unit_hash"], row["labeller"]["name"])
        )

    def say(self, rows: Iterable[Row], by: str = "human:KIM") -> None:
        """Bring in changed labels as a person's. Of each that it corrects, only the verdict."""
        kept = ("uid", "task", "unit", "verdict", "labeller")
        path = self.folder / "said.jsonl"
        some = [{key: one for key, one in row.items() if key in kept} for row in rows]
        lines(path, [{**row, "labeller": by} for row in some])
        assay("labels", "import", self.folder, path, "--by", by)

    def correct(self, task: str, every: int, by: str = "human:KIM", start: int = 0) -> list[Row]:
        """A person turns the verdict of every so manyth label of a task into another one."""
        if self._machines is None:
            self._machines = [row for row in self.export() if _machine(row)]
        found = [row for row in self._machines if row["task"] == task]
        rows = [{**row, "verdict": turned(row)} for row in found[start::every]]
        self.say(rows, by)
        return rows


def _machine(row: Row) -> bool:
    return bool(row["labeller"]["kind"] != "human" and row["status"] == "ok")


def turned(row: Row) -> dict[str, Any]:
    """Another verdict than a label's, that fits its unit."""
    said = {key: one for key, one in row["verdict"].items() if key != "reason"}
    turns: dict[str, Callable[[Any], Any]] = {
        "entailed": lambda one: not one,
        "correct": lambda one: not one,
        "relevant": lambda one: not one,
        "support": {"full": "none", "partial": "full", "none": "partial"}.get,
        "label": {"perfectly": "no", "partially": "perfectly", "no": "partially"}.get,
        "rating": lambda one: 5 - one,
        "grade": lambda one: 0 if one else 1,
        "labels": lambda every: [_OTHER.get(one, one) for one in every],
        "act": lambda one: "dont_know" if one == "answer" else "answer",
    }
    return {key: turns[key](one) if key in turns else one for key, one in said.items()}


_OTHER = {
    "support": "partial_support",
    "partial_support": "not_support",
    "not_support": "support",
    "vital": "okay",
    "okay": "vital",
}


def lines(path: Path, rows: Iterable[Row]) -> None:
    """Write JSON Lines."""
    text = "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)
    path.write_text(text, encoding="utf-8")


def _toml(config: Mapping[str, Any], above: str = "") -> str:
    """A document of TOML with these tables."""
    own = {key: one for key, one in config.items() if not isinstance(one, Mapping)}
    text = "".join(f"{_key(key)} = {_value(one)}\n" for key, one in own.items() if one is not None)
    for key, one in config.items():
        if isinstance(one, Mapping):
            name = f"{above}.{_key(key)}" if above else _key(key)
            text += f"[{name}]\n{_toml(one, name)}"
    return text


def _key(key: str) -> str:
    return key if key.replace("-", "").replace("_", "").isalnum() else json.dumps(key)


def _value(value: Any) -> str:
    if isinstance(value, list | tuple):
        return f"[{', '.join(map(_value, value))}]"
    return json.dumps(value, ensure_ascii=False)
