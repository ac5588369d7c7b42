"""``out/`` reproduces the scores of rankings: with Assay's command, and with NTCIREVAL."""

from __future__ import annotations

import csv
import io
import json
import re
import shlex
import sqlite3
import tempfile
from collections import defaultdict
from contextlib import closing
from pathlib import Path

import pytest
from click.testing import CliRunner
from hypothesis import given, settings
from hypothesis import strategies as st
from pyNTCIREVAL.main import cli as pyntcireval

from assay.formats.trec import read_qrels, read_topic_list, read_trec_run
from assay.formats.trec_writing import format_judged, judged_lines
from assay.model.errors import AssayError
from assay.model.wording import printable
from assay.protocols.ranked import Ranked, ranked_files
from tests.command import run_here
from tests.conftest import copy_example

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


def write_toml(folder: Path, more: str) -> None:
    (folder / "my_judge.py").write_text(JUDGE)
    (folder / "assay.toml").write_text(
        '[evaluation]\nprotocol = "r2c2"\n[inputs]\nquestions = "questions.tsv"\n'
        'pr_runs = ["pr/*.txt"]\nac_runs = ["ac/*.txt"]\n[labellers]\n'
        'default = "my_judge:judge"\ndialogue_act = "rules"\n'
        f"[settings]\nresamples = 100\n{more}\n"
    )


def scores(out: Path) -> dict[tuple[str, str], float]:
    with (out / "scores.csv").open() as file:
        rows = csv.DictReader(file)
        return {(row["run"], row["measure"]): float(row["value"]) for row in rows if row["value"]}


def queried(table: Path, query: str) -> list[tuple[object, ...]]:
    with closing(sqlite3.connect(":memory:")) as db, table.open(newline="") as file:
        columns, *rows = csv.reader(file)
        db.execute(f"CREATE TABLE t ({','.join(columns)})")
        db.executemany("INSERT INTO t VALUES (?, ?, ?, ?)", rows)
        return db.execute(query).fetchall()


def run_command(command: str, folder: Path) -> str:
    """What a command of the manifest prints, as a shell would run it where that lies."""
    if command.startswith("#"):
        return ""
    if command.startswith("sqlite3"):  # whose shell need not be there
        done = queried(folder / "per_topic.csv", shlex.split(command)[-1])
        return "\n".join(["run,topic,measure,value", *(",".join(map(str, row)) for row in done)])
    words: list[str] = []
    for word in shlex.split(command)[1:]:
        words += sorted(str(p.relative_to(folder)) for p in folder.glob(word)) if "*" in word else [
            word
        ]  # fmt: skip
    done = run_here(*words, "--csv", cwd=folder)
    assert done.returncode == 0, done.stderr
    return done.stdout


def measured(folder: Path, out: str = "out") -> dict[tuple[str, str], float]:
    """The scores that the manifest's command gives."""
    command, *_ = json.loads((folder / out / "manifest.json").read_text())["reproduce"]
    rows = csv.DictReader(io.StringIO(run_command(command, folder / out)))
    return {(row["run"], row["measure"]): float(row["value"]) for row in rows}


SETTINGS = [
    "",
    "merge_identical = true",
    'ideal = "own"',
    "g_max = 9",
    'merge_identical = true\nideal = "own"\ng_max = 7.5',
]


@pytest.mark.parametrize("more", SETTINGS)
def test_the_command_of_the_manifest_gives_every_score(folder, assay, more):
    measures = '["nDCG@20", "Q@20", "nERR@20", "iRBU@20", "AP(rel=2)", "RR", "Judged@3", "P@2"]'
    write_toml(folder, f"{more}\nmeasures = {measures}")
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
    merged = "merge_identical" in more
    assert qrels.count("\n") == (37 if merged else 50)
    # Of a passage that A repeats, the first stands for both.
    assert ("\tA;4\t" in qrels) != merged


@pytest.mark.parametrize("more", SETTINGS[:4])
def test_pyntcireval_gives_the_same_scores(folder, assay, more):
    """Its commands, topic by topic; a topic without a relevant document is 0 here, and refused
    there."""
    write_toml(folder, more)
    done = assay("evaluate", folder, env={"PYTHONPATH": str(folder)})
    assert done.returncode == 0, done.stderr
    reproduce = json.loads((folder / "out" / "manifest.json").read_text())["reproduce"]
    gains = re.search(r"-g ([0-9:]+)", reproduce[1])[1]
    place = folder / "out" / "ntcireval"
    names = {"MSnDCG@0020": "nDCG@20", "QMeasure@0020": "Q@20", "nERR@0020": "nERR@20"}
    expected = scores(folder / "out")
    for run, name in (("A", "A"), ("B 2", "B-2")):
        own = place / f"{name}.rels"
        rels = split(own if "own" in more else place / "rels.txt")
        assert own.exists() == ("own" in more)
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

    def tool(*words: object) -> str:
        done = CliRunner().invoke(pyntcireval, [*map(str, words)], catch_exceptions=False)
        assert done.exit_code == 0, done.output
        return done.stdout

    (folder / "labelled").write_text(tool("label", "-r", folder / "rel", folder / "res"))
    compute = ("compute", "-r", folder / "rel", "-g", gains, "--cutoffs", "20")
    said = tool(*compute, folder / "labelled")
    return {k.strip(): float(v) for k, v in re.findall(r"(\S+)=\s*([0-9.]+)", said) if "@" in k}


@pytest.mark.parametrize(
    ("name", "more", "commands"),
    [
        ("slide", 'bins = 1\nbins_closed = "left"', 4),
        ("trec-rag", 'citations = "all"\nanswers = "answered"', 5),
        ("exam", 'tau = 3\nk = 1\ndenominator = "graded"', 5),
        ("sgss", 'silent = "left-out"', 1),
    ],
)
def test_every_score_of_an_example_comes_out_of_its_files_again(
    tmp_path, assay, name, more, commands
):
    """By the commands of the manifest, whatever the settings, and wherever ``out/`` lies."""
    folder = copy_example(name, tmp_path / name)
    toml = folder / "assay.toml"
    head, _, rest = toml.read_text().partition("[settings]")
    if name == "trec-rag":  # by people's labels: the judge takes seconds
        given = 'assignments = "gold/assignments.jsonl"\nsupport = "gold/support.jsonl"'
        head = head.replace("[inputs]", f"[inputs]\n{given}")
    toml.write_text(f"{head}\n[settings]\n{more}\n{rest}")
    said = ["--labeller", "recorded:recorded.jsonl"] if name in ("exam", "sgss") else []
    assert assay("evaluate", folder, *said).returncode in (0, 1)
    (folder / "out").rename(tmp_path / "dossier")
    reproduce = json.loads((tmp_path / "dossier" / "manifest.json").read_text())["reproduce"]
    assert len(reproduce) == commands
    found: dict[tuple[str, str], float] = {}
    for command in reproduce:
        for row in csv.DictReader(io.StringIO(run_command(command, tmp_path / "dossier"))):
            if row["topic"] == "all" and row["value"]:
                # EXAM++ asks binary measures for τ, under their plain names.
                measure = re.sub(r"\(rel=3\)", "", row["measure"])
                found[row["run"], measure] = float(row["value"])
    expected = scores(tmp_path / "dossier")
    others = {"EXAM-Cover-normalised"} | {
        measure for _, measure in expected if measure.startswith("pairs_")
    } | {"agreement", "kappa"}  # fmt: skip
    measures = {measure for _, measure in expected} - others
    assert measures <= {measure for _, measure in found}
    for (run, measure), value in expected.items():
        if measure in measures:
            assert found[run, measure] == pytest.approx(value, abs=1e-12), (run, measure)


ODD = st.text(st.sampled_from('ab;1 %"\t\n\x1f\u00a0é/.'), min_size=1, max_size=4)


@settings(max_examples=60)
@given(
    st.dictionaries(
        ODD, st.lists(ODD, min_size=1, max_size=3, unique=True), min_size=1, max_size=3
    ),
    ODD,
)
def test_ids_of_any_kind_come_back_or_are_refused(ranking, run):
    ranked = Ranked(list(ranking), {t: dict.fromkeys(d, 1) for t, d in ranking.items()},
                    {run: ranking}, {}, 1.0)  # fmt: skip
    try:
        files = {
            name: data if isinstance(data, bytes) else b"".join(data())
            for name, data in ranked_files(ranked)
        }
    except AssayError as error:
        assert "cannot stand in a qrels or run file" in str(error)
        return
    with tempfile.TemporaryDirectory() as place:
        for name, data in files.items():
            path = Path(place) / name
            path.parent.mkdir(exist_ok=True)
            path.write_bytes(data)
        (file,) = (Path(place) / "runs").iterdir()
        read = read_trec_run(file).require()
        assert {topic: list(docs) for topic, docs in read.scores.items()} == ranking
        assert read.name == printable(run)
        qrels = read_qrels(Path(place) / "qrels.txt").require().grades
        assert {topic: list(docs) for topic, docs in qrels.items()} == ranking
        assert read_topic_list(Path(place) / "topics.txt").require() == tuple(ranking)
    for line in files["ntcireval/rels.txt"].decode().splitlines():
        assert len(line.split()) == 3


@given(st.lists(st.tuples(ODD, ODD, ODD, st.integers(-1, 3)), max_size=6))
def test_judgments_in_pieces_are_those_in_one(rows):
    try:
        whole = format_judged(rows)
    except AssayError as error:
        with pytest.raises(AssayError, match=re.escape(str(error))):
            judged_lines(lambda: rows)
        return
    assert b"".join(judged_lines(lambda: rows)()).decode() == whole
