"""``assay measure`` as a person runs it."""

from __future__ import annotations

import bz2
import csv
import gzip
import io
import json
from pathlib import Path

import pytest

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
    assert "1 topics that the qrels lack, they are not scored: 9" in done.stderr
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


def test_the_ideal_list_and_the_top_grade_are_settings(golden, assay):
    both = ("measure", *golden, "-q", "--csv", "-m", "nDCG@10", "-m", "ERR@10")
    usual = table(assay(*both).stdout)
    own = table(assay(*both, "--ideal", "run").stdout)
    assert own["golden", "V2", "nDCG@10"] == pytest.approx(0.63092975)  # 2 at rank 2, nothing else
    assert own["golden", "V2", "ERR@10"] == usual["golden", "V2", "ERR@10"]
    higher = table(assay(*both, "--g-max", "4").stdout)
    assert higher["golden", "V2", "nDCG@10"] == usual["golden", "V2", "nDCG@10"]
    assert higher["golden", "V2", "ERR@10"] == pytest.approx(2 / 5 / 2)
    done = assay(*both, "--g-max", "2")
    assert done.returncode == 2
    assert "topic V1" in done.stderr
    assert "g_max" in done.stderr


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
    assert "Rank 1 stands after rank 3" in done.stderr
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
    plain = assay(*both, "-m", "AP")
    assert plain.returncode == 2
    assert "c" in plain.stderr


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
        (("--topics", "some"), "must be 'qrels' or 'answered'"),
        (("--ties", "random"), "must be 'trec' or 'file'"),
        (("--ideal", "none"), "must be 'qrels' or 'run'"),
        (("--json", "--csv"), "choose one"),
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
