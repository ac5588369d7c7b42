"""``out/`` reproduces the scores of rankings: with Assay's command, and with NTCIREVAL."""

from __future__ import annotations

import csv
import io
import json
import re
import shlex
import subprocess
import sys
from collections import defaultdict
from pathlib import Path

import pytest

QUESTIONS = 6
BLOCK = """<{id}>
answer;{confidence}
{nuggets}</{id}>
"""


def passages(run: str, question: int) -> list[str]:
    """Texts by rank. Some are in both runs, A repeats one, nobody has any for the last question."""
    if question == QUESTIONS or (run == "B 2" and question == 2):
        return []
    own = [f"{run} on {question}, {n}" for n in range(4)]
    shared = [f"shared on {question}, {n}" for n in range(3)]
    if run == "A":
        return [own[0], shared[0], shared[1], shared[0], own[1], own[2]]
    return [shared[1], own[0], shared[2], own[1], shared[0]]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Two passage runs (a name holds a space), two answering runs; labels are recorded."""
    (tmp_path / "pr").mkdir()
    (tmp_path / "ac").mkdir()
    ids = [f"{n:04}" for n in range(1, QUESTIONS + 1)]
    (tmp_path / "questions.tsv").write_text("".join(f"{one}\tWho is {one}?\n" for one in ids))
    for run in ("A", "B 2"):
        lines = [
            f"{one};{rank};d;{text}\n"
            for number, one in enumerate(ids, 1)
            for rank, text in enumerate(passages(run, number), 1)
        ]
        (tmp_path / "pr" / f"{run}.txt").write_text("".join(lines))
    for place, name in enumerate(("X", "Y")):
        blocks = []
        for number, one in enumerate(ids, 1):
            cited = [
                (run, rank)
                for run in ("A", "B 2")
                for rank in range(1, len(passages(run, number)) + 1)
                if (rank * number + place) % 3 == 0 or (run == "A" and rank == 4)
            ][:10]
            nuggets = "".join(
                f"{n};{run};{rank};claim {place} {n}\n" for n, (run, rank) in enumerate(cited, 1)
            )
            blocks.append(BLOCK.format(id=one, confidence=50, nuggets=nuggets))
        (tmp_path / "ac" / f"{name}.txt").write_text("".join(blocks))
    return tmp_path


JUDGE = """
def judge(task, unit):
    if "nuggets" in unit:
        nuggets = [{"nugget": n + 1, "reason": "", "helped": (len(unit["question"]) + n) % 3 < 2}
                   for n in range(len(unit["nuggets"]))]
        return {"reason": "so", "correct": True, "nuggets": nuggets}
    return {"reason": "so", "entailed": True}
"""


def write_toml(folder: Path, settings: str) -> None:
    (folder / "my_judge.py").write_text(JUDGE)
    (folder / "assay.toml").write_text(
        '[evaluation]\nprotocol = "r2c2"\n[inputs]\nquestions = "questions.tsv"\n'
        'pr_runs = ["pr/*.txt"]\nac_runs = ["ac/*.txt"]\n[labellers]\n'
        'default = "my_judge:judge"\ndialogue_act = "rules"\n'
        f"[settings]\nresamples = 100\n{settings}\n"
    )


def scores(out: Path) -> dict[tuple[str, str], float]:
    with (out / "scores.csv").open() as file:
        rows = csv.DictReader(file)
        return {(row["run"], row["measure"]): float(row["value"]) for row in rows if row["value"]}


def run_command(command: str, folder: Path) -> str:
    """What a command of the manifest prints, as a shell would run it in the folder."""
    words: list[str] = []
    for word in shlex.split(command)[1:]:
        words += sorted(str(p.relative_to(folder)) for p in folder.glob(word)) if "*" in word else [
            word
        ]  # fmt: skip
    done = subprocess.run(
        [sys.executable, "-m", "assay.cli.main", *words, "--csv"],
        cwd=folder, capture_output=True, text=True, timeout=120, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return done.stdout


def measured(folder: Path, out: str = "out") -> dict[tuple[str, str], float]:
    """The scores that the manifest's command gives."""
    command, *_ = json.loads((folder / out / "manifest.json").read_text())["reproduce"]
    rows = csv.DictReader(io.StringIO(run_command(command, folder)))
    return {(row["run"], row["measure"]): float(row["value"]) for row in rows}


SETTINGS = [
    "",
    "merge_identical = true",
    'ideal = "own"',
    "g_max = 9",
    'merge_identical = true\nideal = "own"\ng_max = 7.5',
]


@pytest.mark.parametrize("settings", SETTINGS)
def test_the_command_of_the_manifest_gives_every_score(folder, assay, settings):
    measures = '["nDCG@20", "Q@20", "nERR@20", "iRBU@20", "AP(rel=2)", "RR", "Judged@3", "P@2"]'
    write_toml(folder, f"{settings}\nmeasures = {measures}")
    done = assay("evaluate", folder, env={"PYTHONPATH": str(folder)})
    assert done.returncode == 0, done.stderr
    expected = {key: value for key, value in scores(folder / "out").items() if key[0] in "A B 2"}
    assert len(expected) == 16
    assert min(expected.values()) < max(expected.values())
    assert measured(folder) == pytest.approx(expected, abs=1e-12)
    topics = (folder / "out" / "topics.txt").read_text().split()
    assert topics == [f"{n:04}" for n in range(1, QUESTIONS + 1)]
    qrels = (folder / "out" / "qrels.txt").read_text()
    assert "0006" not in qrels  # nobody has a passage there, and its 0 counts all the same
    merged = "merge_identical" in settings
    assert qrels.count("\n") == (37 if merged else 50)
    # Of a passage that A repeats, the first stands for both.
    assert ("\tA;4\t" in qrels) != merged


@pytest.mark.parametrize("settings", SETTINGS[:4])
def test_pyntcireval_gives_the_same_scores(folder, assay, settings):
    """Its commands, topic by topic; a topic without a relevant document is 0 here, and refused
    there."""
    write_toml(folder, settings)
    done = assay("evaluate", folder, env={"PYTHONPATH": str(folder)})
    assert done.returncode == 0, done.stderr
    reproduce = json.loads((folder / "out" / "manifest.json").read_text())["reproduce"]
    gains = re.search(r"-g ([0-9:]+)", reproduce[1])[1]
    place = folder / "out" / "ntcireval"
    names = {"MSnDCG@0020": "nDCG@20", "QMeasure@0020": "Q@20", "nERR@0020": "nERR@20"}
    expected = scores(folder / "out")
    for run, name in (("A", "A"), ("B 2", "B-2")):
        own = place / f"{name}.rels"
        rels = split(own if "own" in settings else place / "rels.txt")
        assert own.exists() == ("own" in settings)
        ranked = split(place / f"{name}.res")
        sums: dict[str, float] = defaultdict(float)
        for topic, judged in rels.items():
            if topic in ranked and any(not line.endswith("L0") for line in judged):
                for measure, value in ntcireval(folder, judged, ranked[topic], gains).items():
                    sums[measure] += value
        for theirs, ours in names.items():
            assert sums[theirs] / QUESTIONS == pytest.approx(expected[run, ours], abs=1e-4)


def split(path: Path) -> dict[str, list[str]]:
    """Lines by their first word."""
    found: dict[str, list[str]] = {}
    for line in path.read_text().splitlines():
        topic, rest = line.split(" ", 1)
        found.setdefault(topic, []).append(rest)
    return found


def ntcireval(folder: Path, rel: list[str], res: list[str], gains: str) -> dict[str, float]:
    for name, lines in (("rel", rel), ("res", res)):
        (folder / name).write_text("".join(f"{line}\n" for line in lines))
    tool = Path(sys.executable).parent / "pyNTCIREVAL"
    label = [tool, "label", "-r", folder / "rel", folder / "res"]
    (folder / "labelled").write_text(subprocess.check_output(label, text=True))
    compute = [tool, "compute", "-r", folder / "rel", "-g", gains, "--cutoffs", "20"]
    said = subprocess.check_output([*compute, folder / "labelled"], text=True)
    return {k.strip(): float(v) for k, v in re.findall(r"(\S+)=\s*([0-9.]+)", said) if "@" in k}
