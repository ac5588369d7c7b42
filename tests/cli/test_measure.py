"""``assay measure`` as a person runs it."""

from __future__ import annotations

import bz2
import contextlib
import csv
import gzip
import io
import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.apart import Apart
from tests.command import without_keys

GOLDEN_QRELS = "".join(
    f"{topic} 0 {pair.replace('=', ' ')}\n"
    for topic, pairs in (
        ("V1", "d1=3 d2=2 d3=1 d4=0 d5=2 d6=1"),
        ("V2", "a=1 b=1 c=2 d=3 e=1 f=2 g=0"),
        ("V3", "p1=1 p3=2 p5=3 p6=1 p2=0 p4=0 p7=0 p8=0"),
    )
    for pair in pairs.split()
)
GOLDEN_RUN = "".join(
    f"{topic} Q0 {document} {rank} {1 / rank} golden\n"
    for topic, documents in (
        ("V1", "d3 d1 d7 d4 d2 d5"),
        ("V2", "z c"),
        ("V3", "p2 p4 p9 p1 p3 p8 p6 p7 p5 p10"),
    )
    for rank, document in enumerate(documents.split(), 1)
)


@pytest.fixture
def golden(tmp_path: Path) -> tuple[Path, Path]:
    (tmp_path / "qrels").write_text(GOLDEN_QRELS)
    (tmp_path / "golden.run").write_text(GOLDEN_RUN)
    return tmp_path / "qrels", tmp_path / "golden.run"


def table(text: str) -> dict[tuple[str, str, str], float]:
    return {
        (row["run"], row["topic"], row["measure"]): float(row["value"]) if row["value"] else None
        for row in csv.DictReader(io.StringIO(text))
    }


def options(*names: str) -> list[str]:
    return [part for name in names for part in ("-m", name)]


def test_the_golden_values(golden, assay):
    names = [f"{name}@10" for name in ("nDCG", "nDCG-JK", "Q", "AP(norm=min)", "ERR", "nERR")]
    names += ["iRBU@10", "niRBU@10"]
    done = assay("measure", *golden, *options(*names), "--csv", "--per-topic")
    assert done.returncode == 0, done.stderr
    got = table(done.stdout)
    rows = {
        "V1": ".720288 .783459 .560000 .653333 .557813 .664392 .932093 .979285",
        "V2": ".196075 .263874 .071429 .083333 .250000 .297248 .490050 .510424",
        "V3": ".470060 .434511 .446496 .380754 .174330 .210347 .876846 .955328",
    }
    for topic, values in rows.items():
        for name, value in zip(names, values.split(), strict=True):
            assert got["golden", topic, name] == pytest.approx(float(value), abs=5e-7), (
                topic,
                name,
            )
    mean = sum(float(values.split()[0]) for values in rows.values()) / 3
    assert got["golden", "all", "nDCG@10"] == pytest.approx(mean, abs=1e-6)
    assert len(got) == 8 * 4


def test_names_of_trec_eval_and_names_printed_back(golden, assay):
    asked = ["ndcg_cut_10", "map", "recip_rank", "P.5,10", "recall_100", "Rprec", "Q(beta=1)@20"]
    document = json.loads(assay("measure", *golden, *options(*asked), "--json").stdout)
    assert document["measures"] == {
        "ndcg_cut_10": "nDCG@10",
        "map": "AP",
        "recip_rank": "RR",
        "P_5": "P@5",
        "P_10": "P@10",
        "recall_100": "Recall@100",
        "Rprec": "Rprec",
        "Q(beta=1)@20": "Q@20",
    }
    assert [row["measure"] for row in document["scores"]] == list(document["measures"])
    assert all(row["topic"] == "all" for row in document["scores"])
    assert document["g_max"] == 3
    assert document["runs"]["golden"] == {"answered": 3, "missing": [], "unjudged": []}


def test_trec_evals_lines(golden, assay):
    done = assay("measure", *golden, "-m", "map", "-m", "P_5", "--trec", "-q")
    assert done.stdout.splitlines() == [
        "map                   \tV1\t0.6533",
        "P_5                   \tV1\t0.6000",
        "map                   \tV2\t0.0833",
        "P_5                   \tV2\t0.2000",
        "map                   \tV3\t0.3808",
        "P_5                   \tV3\t0.4000",
        "map                   \tall\t0.3725",
        "P_5                   \tall\t0.4000",
    ]


def test_trec_evals_own_choice_of_lines(golden, assay):
    lines = assay("measure", *golden, "--trec").stdout.splitlines()
    found = dict(line.split("\tall\t") for line in lines)
    found = {name.strip(): value for name, value in found.items()}
    assert found["runid"] == "golden"
    assert [found[name] for name in ("num_q", "num_ret", "num_rel", "num_rel_ret")] == [
        "3", "18", "15", "9",
    ]  # fmt: skip
    assert found["map"] == "0.3725"
    assert found["P_1000"] == "0.0030"
    nine = assay("measure", *golden, "-m", "ndcg_cut", "--trec").stdout
    assert [line.split()[0] for line in nine.splitlines()][:2] == ["ndcg_cut_5", "ndcg_cut_10"]


def test_missing_topics_count_as_zero_unless_told_otherwise(tmp_path, assay):
    (tmp_path / "q").write_text("1 0 a 1\n2 0 a 1\n3 0 a 0\n")
    (tmp_path / "r").write_text("1 Q0 a 1 1 r\n9 Q0 a 1 1 r\n")
    done = assay("measure", tmp_path / "q", tmp_path / "r", "-m", "RR", "--csv", "--per-topic")
    got = table(done.stdout)
    assert got["r", "2", "RR"] == got["r", "3", "RR"] == 0
    assert got["r", "all", "RR"] == pytest.approx(1 / 3)
    assert "1 of 3 topics of the qrels have no relevant document" in done.stderr
    assert "no documents for 2 of 3 topics of the qrels, they count as 0: 2, 3." in done.stderr
    assert "The qrels lack 1 of the topics of run r, so these are not scored: 9" in done.stderr
    answered = assay(
        "measure", tmp_path / "q", tmp_path / "r", "-m", "RR", "--csv", "-q", "--topics", "answered"
    )
    assert table(answered.stdout) == {("r", "1", "RR"): 1, ("r", "all", "RR"): 1}


def test_an_undefined_mean_is_empty_null_and_has_a_reason(tmp_path, assay):
    (tmp_path / "q").write_text("1 0 a 1\n")
    (tmp_path / "r").write_text("9 Q0 a 1 1 r\n")
    both = ("measure", tmp_path / "q", tmp_path / "r", "-m", "RR", "--topics", "answered")
    assert assay(*both, "--csv").stdout.splitlines()[1] == "r,all,RR,"
    assert json.loads(assay(*both, "--json").stdout)["scores"] == [
        {
            "run": "r", "topic": "all", "measure": "RR", "value": None,
            "reason": "the run has no topic of the qrels",
        }
    ]  # fmt: skip
    assert "–" in assay(*both).stdout


def test_ties(tmp_path, assay):
    (tmp_path / "q").write_text("1 0 a 1\n1 0 b 0\n")
    # Equal in 32 bits, not in 64.
    (tmp_path / "r").write_text("1 Q0 a 1 0.50000000001 r\n1 Q0 b 2 0.5 r\n")
    both = ("measure", tmp_path / "q", tmp_path / "r", "-m", "RR", "--csv")
    assert table(assay(*both).stdout)["r", "all", "RR"] == 0.5
    assert table(assay(*both, "--ties", "file").stdout)["r", "all", "RR"] == 1
    # b above a, both equal in 64 bits: only the id decides, the file's order does not.
    (tmp_path / "r").write_text(
        "1 Q0 a 1 0.50000000001 r\n1 Q0 b 2 0.50000000001 r\n1 Q0 c 3 0.5 r\n"
    )
    values = [
        table(assay(*both, "--ties", ties).stdout)["r", "all", "RR"]
        for ties in ("trec", "trec64", "file")
    ]
    assert values == [pytest.approx(1 / 3), 0.5, 1]


def test_the_ideal_list_and_the_top_grade_are_settings(golden, assay):
    both = ("measure", *golden, "-q", "--csv", "-m", "nDCG@10", "-m", "ERR@10")
    usual = table(assay(*both).stdout)
    own = table(assay(*both, "--ideal", "run").stdout)
    assert own["golden", "V2", "nDCG@10"] == pytest.approx(0.63092975)  # 2 at rank 2, nothing else
    assert own["golden", "V2", "ERR@10"] == usual["golden", "V2", "ERR@10"]
    higher = table(assay(*both, "--g-max", "4").stdout)
    assert higher["golden", "V2", "nDCG@10"] == usual["golden", "V2", "nDCG@10"]
    assert higher["golden", "V2", "ERR@10"] == pytest.approx(2 / 5 / 2)
    for more in ("-m", "AP"), ():
        done = assay("measure", *golden, *more, "--g-max", "2")
        assert done.returncode == 2
        assert "topic V1: d1 has grade 3, above g_max = 2" in done.stderr
    assert "must not be negative" in assay("measure", *golden, "--g-max", "-1").stderr


def test_several_runs_compressed_and_with_tabs(golden, tmp_path, assay):
    qrels, run = golden
    (tmp_path / "q.bz2").write_bytes(bz2.compress(qrels.read_bytes()))
    text = run.read_text().replace(" golden", " other").replace(" ", "\t").replace("\n", "\r\n")
    (tmp_path / "other.gz").write_bytes(gzip.compress(text.encode()))
    done = assay("measure", tmp_path / "q.bz2", run, tmp_path / "other.gz", "-m", "AP", "--csv")
    assert done.returncode == 0, done.stderr
    got = table(done.stdout)
    assert got["golden", "all", "AP"] == got["other", "all", "AP"] > 0.3
    same = assay("measure", qrels, run, run, "-m", "AP")
    assert same.returncode == 2
    assert "given twice" in same.stderr
    (tmp_path / "copy.run").write_bytes(run.read_bytes())
    named = assay("measure", qrels, run, tmp_path / "copy.run", "-m", "AP", "--csv")
    assert "copy.run)" in named.stdout
    assert "Several files hold a run of the same name (golden)" in named.stderr


def test_pipes_are_read_whole(golden, tmp_path, assay, assay_process):
    qrels, run = golden
    lines = [f"V{t} Q0 doc{d} {d} {5000 - d} long\n" for t in range(1, 40) for d in range(1000)]
    text = "".join([*lines, "V1 Q0 d1 1001 1 long\n"])  # the only one that is judged
    (tmp_path / "long.run").write_text(text)
    expected = assay("measure", qrels, tmp_path / "long.run", "-m", "RR", "--csv").stdout
    assert table(expected)["long", "all", "RR"] == pytest.approx(1 / 1001 / 3)
    for packed in text.encode(), gzip.compress(text.encode()):
        (tmp_path / "packed").write_bytes(packed)
        command = f'cat "{tmp_path}/packed" | "{sys.executable}" -m assay.cli.main measure'
        done = subprocess.run(
            ["bash", "-c", f'{command} "{qrels}" /dev/stdin "{run}" -m RR --csv'],
            capture_output=True, text=True, timeout=60, check=False,
        )  # fmt: skip
        assert done.stdout.startswith(expected), done.stderr
    piped = f'"{sys.executable}" -m assay.cli.main measure "{qrels}" <(echo "1 Q0 a x 1 r") <(:)'
    bad = subprocess.run(
        ["bash", "-c", piped], capture_output=True, text=True, timeout=60, check=False
    )
    assert bad.returncode == 2
    assert "rank “x” is not an integer" in bad.stderr
    assert "holds no ranked document" in bad.stderr
    passages = "".join(f"V1;{rank};doc{rank};Text.\n" for rank in (1, 2))
    done = assay_process("measure", qrels, "/dev/stdin", "-m", "RR", "--csv", input=passages)
    assert "stdin,all,RR,0.0" in done.stdout


def test_notes_say_the_line(golden, tmp_path, assay):
    rows = [f"V{t} Q0 x{d} {d} {9000 - d} r\n" for t in (1, 2, 3) for d in range(8000)]
    rows[12_345] = rows[12_345].replace("V2 Q0", "V2 7")
    rows[20_000] = rows[20_000].replace(" 5000 r", " 8999.5 r")
    (tmp_path / "r").write_text("".join(rows))
    done = assay("measure", golden[0], tmp_path / "r", "-m", "AP", "--csv")
    assert "r:12346 The second column holds 7, not Q0" in done.stderr
    assert "r:20001 [V3] Ranks and scores disagree in 1 topic: V3" in done.stderr


def test_hostile_names_do_not_reach_the_terminal(golden, tmp_path, assay):
    qrels, run = golden
    odd = tmp_path / "e\x1b[31mR\nx.txt"
    odd.write_bytes(run.read_bytes())
    topics = tmp_path / "q"
    topics.write_text(qrels.read_text() + "t\x1b[31m 0 d 1\n")
    # Python takes a byte that is not UTF-8 for a lone surrogate.
    raw = Path(os.fsdecode(os.fsencode(tmp_path) + b"/x\xff.txt"))
    raw.write_bytes(run.read_bytes())
    for form in ("--csv", "--trec", "--json", "--ties=trec"):
        done = assay("measure", topics, run, odd, raw, "-m", "AP", "-q", form)
        assert done.returncode == 0, done.stderr
        assert "\x1b" not in done.stdout + done.stderr
        assert "x1b[31mR" in done.stdout
        assert "udcff.txt" in done.stdout


@contextlib.contextmanager
def begun(*arguments: object, out: int, said: Path) -> Iterator[Apart]:
    """The command in a process of its own that writes to ``out``, which is closed here then."""
    with open(os.devnull) as nothing, said.open("w") as told:
        streams = (nothing.fileno(), out, told.fileno())
        process = Apart(*arguments, env=without_keys(), streams=streams)
    os.close(out)
    try:
        yield process
    finally:
        process.kill()


@pytest.mark.parametrize("form", ["--csv", "--json", "--trec", "--ties=trec"])
def test_a_full_disk_is_said_and_no_success(golden, tmp_path, form):
    said, full = tmp_path / "said", os.open("/dev/full", os.O_WRONLY)
    with begun("measure", *golden, form, out=full, said=said) as process:
        assert process.wait(60) == 2
    assert said.read_text() == (
        "assay: cannot write to the output or a file: No space left on device. Free "
        "some space and run it again.\n"
    )


@pytest.mark.parametrize("form", ["--csv", "--json", "--trec", "--ties=trec", "--help"])
def test_a_reader_that_goes_away_is_no_failure(golden, tmp_path, form):
    (tmp_path / "q").write_text("".join(f"{t} 0 d 1\n" for t in range(3_000)))
    words, said = ("measure", tmp_path / "q", golden[1], "-q", form), tmp_path / "said"
    reading, writing = os.pipe()
    with begun(*words, out=writing, said=said) as process:
        with open(reading, "rb", buffering=0) as reader:
            assert reader.read(1)
        assert process.wait(60) == 0
    assert not {"Broken", "Traceback"} & set(re.findall(r"[A-Z][a-z]+", said.read_text()))


def test_closed_output_and_closed_errors(golden, tmp_path):
    command = f'"{sys.executable}" -m assay.cli.main measure "{golden[0]}"'
    for arguments, status in (
        (f'"{golden[1]}" --csv 2>&- >{tmp_path}/out', 0),
        (f'"{golden[1]}" >&-', 0),
        (f"--nope >&- 2>{tmp_path}/said", 2),
        (f"{tmp_path}/none 2>&- >{tmp_path}/nothing", 2),
    ):
        done = subprocess.run(
            ["bash", "-c", f"{command} {arguments}"],
            capture_output=True, text=True, timeout=60, check=False,
        )  # fmt: skip
        assert (done.returncode, done.stdout, done.stderr) == (status, "", "")
    assert len((tmp_path / "out").read_text().splitlines()) == 4
    assert "No such option" in (tmp_path / "said").read_text()
    assert (tmp_path / "nothing").read_text() == ""


def test_output_that_cannot_show_a_character_shows_its_number(golden, assay_process):
    env = {"PYTHONIOENCODING": "ascii"}
    done = assay_process("measure", *golden, "-m", "α-nDCG@5", env=env)
    assert done.returncode == 0, done.stderr
    assert r"\u03b1-nDCG@5" in done.stdout


def test_numbers_are_never_folded(golden, assay):
    wanted = [f"P_{k}" for k in (5, 10, 15, 20, 30, 100, 200, 500, 1000)] + ["Q(beta=100)@1000"]
    for width in 80, 40:
        done = assay("measure", *golden, *options("P", wanted[-1]), env={"COLUMNS": str(width)})
        shown = done.stdout.splitlines()
        tables = [shown[at : at + 3] for at, line in enumerate(shown) if line.startswith(" run ")]
        assert len(tables) > 1
        heads = [one[0].split() for one in tables]
        assert [name for head in heads for name in head[1:]] == wanted
        for lines, head in zip(tables, heads, strict=True):
            values = lines[2].split()
            assert len(head) == len(values)
            assert all(len(value) == 6 for value in values[1:])
            assert max(map(len, lines)) <= width


def test_a_topic_called_all_is_not_the_mean(tmp_path, assay):
    (tmp_path / "q").write_text("all 0 a 1\n2 0 a 1\n")
    (tmp_path / "r").write_text("all Q0 a 1 1 r\n")
    done = assay("measure", tmp_path / "q", tmp_path / "r", "-m", "RR", "-q")
    rows = [line.split() for line in done.stdout.splitlines() if line.startswith(" r ")]
    assert rows == [["r", "all", "1.0000"], ["r", "2", "0.0000"], ["r", "all", "0.5000"]]


def test_names_that_look_like_another_file_are_kept_apart(tmp_path, assay):
    (tmp_path / "q").write_text("1 0 a 1\n")
    for file, name in (("n1", "x"), ("n2", "x"), ("n3", f"x ({tmp_path}/n1)")):
        (tmp_path / file).write_text(f"1\tQ0\ta\t1\t1\t{name}\n")
    files = [tmp_path / file for file in ("n1", "n2", "n3")]
    done = assay("measure", tmp_path / "q", *files, "-m", "RR", "--csv")
    assert done.returncode == 0, done.stderr
    assert [line[:3] for line in done.stdout.splitlines()[1:]] == ["1: ", "2: ", "3: "]


def test_faults_of_each_file_are_shown(golden, tmp_path, assay):
    for name in "abc":
        bad = "".join(f"1 Q0 d{n} {n} bad r\n" for n in range(60))
        (tmp_path / name).write_text(f"1 Q0 d 1 1 r\n{bad}")
    done = assay("measure", golden[0], *(tmp_path / name for name in "abc"))
    assert "180 faults in the input" in done.stderr
    for name in "abc":
        assert done.stderr.count(f"{tmp_path / name}:") == 16
        assert f"… and 44 more (assay validate {tmp_path / name} lists all)" in done.stderr


def test_columns_apart_by_tabs_are_a_trec_run_whatever_the_ids_hold(tmp_path, assay):
    (tmp_path / "q").write_text("q1\t0\tx;1;y;z\t1\n")
    (tmp_path / "r").write_text("q1\tQ0\tx;1;y;z\t1\t1\tmy run\n")
    done = assay("measure", tmp_path / "q", tmp_path / "r", "-m", "RR", "--csv")
    assert "my run,all,RR,1.0" in done.stdout, done.stderr


def test_passage_runs_of_r2c2(tmp_path, assay):
    lines = [f"0001;{rank};doc{rank};A passage; with a semicolon.\n" for rank in (3, 1, 2, 4, 5)]
    (tmp_path / "WASEDA-PR-1.txt").write_text("".join(lines))
    (tmp_path / "qrels").write_text(
        "".join(f"0001 0 WASEDA-PR-1;{rank} {int(rank > 3)}\n" for rank in range(1, 6))
    )
    names = ["nDCG@20", "nDCG-JK@20", "Q@20", "AP@20", "ERR@20", "nERR@20", "iRBU@20"]
    values = [0.501266, 0.465338, 0.452381, 0.325, 0.175, 0.28, 0.718046]
    done = assay(
        "measure", tmp_path / "qrels", tmp_path / "WASEDA-PR-1.txt", *options(*names), "--csv"
    )
    assert done.returncode == 0, done.stderr
    assert "Rank 1 comes after rank 3" in done.stderr
    got = table(done.stdout)
    for name, value in zip(names, values, strict=True):
        assert got["WASEDA-PR-1", "all", name] == pytest.approx(value, abs=5e-7), name


def test_alpha_ndcg_reads_the_subtopics_of_the_second_column(tmp_path, assay):
    (tmp_path / "q").write_text("1 1 a 1\n1 2 a 1\n1 1 b 1\n1 2 c 1\n1 1 c 0\n")
    (tmp_path / "r").write_text("1 Q0 a 1 3 r\n1 Q0 b 2 2 r\n1 Q0 c 3 1 r\n")
    both = ("measure", tmp_path / "q", tmp_path / "r", "--csv")
    got = table(assay(*both, "-m", "alpha_nDCG(alpha=1)@3", "-m", "α-nDCG@3", "-m", "AP").stdout)
    assert got["r", "all", "alpha_nDCG(alpha=1)@3"] == 1
    assert got["r", "all", "α-nDCG@3"] == pytest.approx(1)  # b and c bring a half each
    assert got["r", "all", "AP"] == 1
    diverse = table(assay(*both, "-m", "I-rec@1", "-m", "D#-nDCG@1", "-m", "D♯-nDCG@3").stdout)
    assert list(diverse.values()) == [1, 1, 1]
    plain = assay(*both, "-m", "AP")
    assert plain.returncode == 2
    assert "c" in plain.stderr
    (tmp_path / "q").write_text("1 a 1\n1 2\n")
    cures = assay(*both, "-m", "I-rec").stderr
    assert "Put a subtopic between topic and document id." in cures
    assert "The line has 2 columns, not 4. Write topic, subtopic, document id, grade." in cures
    (tmp_path / "q").write_text("1\t0\tmy doc;1\t1\n")
    (tmp_path / "r").write_text("1\tQ0\tmy doc;1\t1\t3\tr\n")
    spaced = table(assay(*both, "-m", "alpha-nDCG@5", "-m", "nDCG@5").stdout)
    assert list(spaced.values()) == [1, 1]


def test_all_faults_of_all_files_at_once(tmp_path, assay):
    (tmp_path / "q").write_text("1 0 a 1\n1 0 a 2\n1 0 b high\n")
    (tmp_path / "r").write_text("1 Q0 a 1 1 r\n1 Q0 b one 1 r\n1 Q0 c 3 nan r\n")
    (tmp_path / "p.txt").write_text("1;1;doc;text\n1;21;doc;text\n")
    done = assay("measure", *(tmp_path / name for name in ("q", "r", "p.txt", "missing")))
    assert done.returncode == 2
    assert done.stdout == ""
    assert "6 faults in the input" in done.stderr
    for place in ("q:2 [1]", "q:3 [1]", "r:2 [1]", "r:3 [1]", "p.txt:2 [1]", "missing There is no"):
        assert place in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize(
    ("more", "message"),
    [
        (("-m", "nDGC@20", "-m", "P@0"), "unknown measure 'nDGC'"),
        (("-m", "nDGC@20", "-m", "P@0"), "whole number from 1"),
        (("--topics", "some"), "must be 'qrels', 'answered' or a file"),
        (("--ties", "random"), "must be 'trec', 'trec64' or 'file'"),
        (("--ideal", "none"), "must be 'qrels' or 'run'"),
        (("--json", "--csv"), "choose only one"),
    ],
)
def test_wrong_usage(golden, assay, more, message):
    done = assay("measure", *golden, *more)
    assert done.returncode == 2
    assert message in " ".join(done.stderr.replace("│", " ").split())
    assert "Traceback" not in done.stderr


def test_the_table_says_what_it_stands_on(golden, assay):
    done = assay("measure", *golden)
    assert "Means over all topics of the qrels (3 in the qrels). Equal scores: trec." in done.stdout
    assert "Highest grade: 3." in done.stdout
    assert "0.3725" in done.stdout


def test_means_over_the_topics_of_a_file(tmp_path, assay):
    """Topics that nobody judged count 0, others are left out; the scale is that of all qrels."""
    for name, text in {
        "qrels": "1 0 a 1\n1 0 b 2\n2 0 c 3\n",
        "run": "1 Q0 b 1 2 r\n2 Q0 c 1 2 r\n3 Q0 c 1 2 r\n",
        "topics": "1\tfirst\n\n3\n4\n",
        "twice": "1\n2\n1\n",
        "none": "\n",
    }.items():
        (tmp_path / name).write_text(text)

    def run(topics, *more):
        files = (tmp_path / "qrels", tmp_path / "run")
        return assay("measure", *files, "--topics", tmp_path / topics, "-m", "RR", *more)

    document = json.loads(run("topics", "--per-topic", "--json").stdout)
    found = {row["topic"]: row["value"] for row in document["scores"]}
    assert found == {"1": 1, "3": 0, "4": 0, "all": pytest.approx(1 / 3)}
    assert (document["g_max"], document["topics"]) == (3, str(tmp_path / "topics"))
    table = run("topics")
    assert f"Means over all topics of {tmp_path}/topics" in " ".join(table.stdout.split())
    assert "lacks 1 of the topics of run r, so these are not scored: 2." in table.stderr
    twice, none = run("twice"), run("none")
    assert (twice.returncode, none.returncode) == (2, 2)
    assert "topics" not in twice.stdout
    assert "'1' is already on line 1" in twice.stderr.replace("“", "'").replace("”", "'")
    assert "names no topic" in none.stderr


def test_a_run_of_another_collection_is_a_finding(golden, tmp_path, assay):
    """Its scores are printed as trec_eval has them, and nobody takes them for good."""
    qrels, run = golden
    other = tmp_path / "other.txt"
    other.write_text(re.sub(r"(?m)^\S+", "elsewhere-7", run.read_text()))
    done = assay("measure", qrels, run, other)
    assert done.returncode == 1
    assert "have no topic in common" in " ".join(done.stderr.split())
    assert assay("measure", qrels, run).returncode == 0
    assert assay("measure", qrels, other, "--trec").returncode == 0
