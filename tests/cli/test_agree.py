"""``assay agree``: published agreements of 12 judges, goldens, labels off the scale, faults."""

from __future__ import annotations

import csv
import gzip
import io
import json
from pathlib import Path

import numpy as np
import pytest

from tests.conftest import ROOT

MEASURES = [
    "agreement", "kappa", "kappa_linear", "kappa_quadratic", "alpha_nominal", "alpha_ordinal",
    "alpha_interval",
]  # fmt: skip
WORKED = list(zip([0, 1, 2, 3, 4, 2, 1, 0], [0, 2, 2, 3, 3, 1, 1, 1], strict=True))


def rows(done) -> dict[str, dict[str, str]]:
    assert done.returncode == 0, done.stderr
    return {row["measure"]: row for row in csv.DictReader(io.StringIO(done.stdout))}


def write(path: Path, text: str) -> Path:
    path.write_text(text, encoding="utf-8")
    return path


def labels(path: Path, given, header: str = "topic,doc,label") -> Path:
    lines = [",".join(map(str, row)) for row in given]
    return write(path, "\n".join([header, *lines]) + "\n")


@pytest.fixture
def worked(tmp_path) -> tuple[Path, Path]:
    """The spec's two labellers, on 8 documents of 4 topics."""
    a = [(f"t{i // 2}", f"d{i}", one) for i, (one, _) in enumerate(WORKED)]
    b = [(f"t{i // 2}", f"d{i}", two) for i, (_, two) in enumerate(WORKED)]
    return labels(tmp_path / "a.csv", a), labels(tmp_path / "b.csv", reversed(b))


def test_labels_off_the_scale_of_a_real_file_are_told(shared_data, assay):
    """The agreements of all 12 judges of this challenge: tests/docs/test_reproductions.py."""
    folder = shared_data / "data" / "llmjudge"
    human, judge = folder / "llmjudge_test_qrel_idx.txt", folder / "scores" / "RMITIR-llama70B.txt"
    done = assay("agree", human, judge, "--scale", "0:3", "--clip", "--csv")
    assert "Labels of B outside the scale: 5 (2 times); clipped" in done.stderr
    assert all(
        float(r["low"]) <= float(r["value"]) <= float(r["high"]) for r in rows(done).values()
    )


def test_the_specs_worked_example(worked, assay):
    got = rows(assay("agree", *worked, "--csv", "--scale", "0:4"))
    assert list(got) == [*MEASURES, "kappa@1", "kappa@2", "kappa@3", "kappa@4"]
    for name, value in (("kappa", 0.36), ("kappa_linear", 0.619048), ("kappa_quadratic", 0.816092)):
        assert float(got[name]["value"]) == pytest.approx(value, abs=5e-7)
    assert float(got["agreement"]["value"]) == 0.5


def test_json_is_one_document_with_counts(worked, assay):
    done = assay("agree", *worked, "--json", "--scale", "0:4", "--by", "topic")
    document = json.loads(done.stdout)
    assert [row["measure"] for row in document["rows"]][:7] == MEASURES
    assert document["confusion"] == {
        "labels": [0, 1, 2, 3, 4],
        "A_by_B": [[1, 1, 0, 0, 0], [0, 1, 1, 0, 0], [0, 1, 1, 0, 0], [0, 0, 0, 1, 0],
                   [0, 0, 0, 1, 0]],
    }  # fmt: skip
    assert document["by_label"][1] == {"label": 1, "A": 2, "B": 3, "both": 1, "agreement": 0.4}
    assert document["units"]["both"] == 8
    assert document["topics"] == 4
    assert [one["topic"] for one in document["by_topic"]] == ["t0", "t1", "t2", "t3"]
    first = {row["measure"]: row for row in document["by_topic"][0]["rows"]}
    assert first["agreement"] == {
        "measure": "agreement", "value": 0.5, "low": None, "high": None,
        "reason": "no interval: there is only one topic",
    }  # fmt: skip


def test_single_topics(worked, assay):
    done = assay("agree", *worked, "--by", "topic", "--csv")
    table = list(csv.DictReader(io.StringIO(done.stdout)))
    assert list(table[0]) == ["topic", "measure", "value", "low", "high"]
    assert list(dict.fromkeys(row["topic"] for row in table)) == ["t0", "t1", "t2", "t3", "all"]
    whole = [list(row.values())[1:] for row in table if row["topic"] == "all"]
    plain = csv.reader(io.StringIO(assay("agree", *worked, "--csv").stdout))
    assert whole == list(plain)[1:]
    shown = assay("agree", *worked, "--by", "topic").stdout
    assert "By topic" in shown
    assert "Counts: A down, B across" in shown


def test_single_runs(tmp_path, assay):
    given = [(run, t, f"d{d}", (t + d) % 3) for run in "XY" for t in range(4) for d in range(3)]
    other = [(run, t, d, 1 if run == "X" else label) for run, t, d, label in given]
    a = labels(tmp_path / "a.csv", given, "run,topic,doc,label")
    b = labels(tmp_path / "b.csv", other, "run,topic,doc,label")
    document = json.loads(assay("agree", a, b, "--by", "run", "--json").stdout)
    assert [(one["run"], one["units"]) for one in document["by_run"]] == [("X", 12), ("Y", 12)]
    kappas = [one["rows"][1]["value"] for one in document["by_run"]]
    assert kappas == [0, 1]
    assert document["by_run"][1]["rows"][1]["low"] == 1
    answers = [(run, t, label) for run, t, d, label in given if d == "d0"]
    c = labels(tmp_path / "c.csv", answers, "run,topic,label")
    assert float(rows(assay("agree", c, c, "--csv"))["kappa"]["value"]) == 1
    none = assay("agree", c, labels(tmp_path / "d.csv", [(1, "d", 1)]), "--by", "run")
    assert none.returncode == 2
    assert "no column of runs" in none.stderr


def test_groups_of_continuous_labels_show_what_csv_holds_and_speak_of_nothing_else(tmp_path, assay):
    scores = np.random.default_rng(3).random((2, 60)).round(2).tolist()
    a, b = (
        labels(tmp_path / f"{name}.csv", [(n % 3, n, one) for n, one in enumerate(given)])
        for name, given in zip("ab", scores, strict=True)
    )
    shown = assay("agree", a, b, "--by", "topic").stdout
    assert shown.count("kappa@") == 1  # that the thresholds are not shown
    table = csv.DictReader(io.StringIO(assay("agree", a, b, "--by", "topic", "--csv").stdout))
    values = {(row["topic"], row["measure"]): row["value"] for row in table}
    lines = {words[0]: words[2:] for words in map(str.split, shown.splitlines()) if words}
    names = ("agreement", "kappa", "kappa_quadratic", "alpha_ordinal")
    for topic in "012":
        assert lines[topic] == [f"{float(values[topic, name]):.4f}" for name in names]


def test_labels_outside_the_scale_are_reported_and_clipped_only_when_asked(tmp_path, assay):
    a = labels(tmp_path / "a.csv", [(1, "a", 0), (1, "b", 1), (2, "a", 3), (2, "b", -2)])
    b = labels(tmp_path / "b.csv", [(1, "a", 0), (1, "b", 7), (2, "a", 3), (2, "b", 0)])
    for clip in (False, True):
        done = assay("agree", a, b, "--scale", "0:3", "--json", *(["--clip"] if clip else []))
        document = json.loads(done.stdout)
        assert document["outside"] == [
            {"file": "A", "label": -2, "count": 1, "counted_as": 0 if clip else -2},
            {"file": "B", "label": 7, "count": 1, "counted_as": 3 if clip else 7},
        ]
        assert document["confusion"]["labels"] == ([0, 1, 2, 3] if clip else [-2, 0, 1, 2, 3, 7])
        # The binarisations are those of the scale, whatever else was given.
        names = [row["measure"] for row in document["rows"]][7:]
        assert names == ["kappa@1", "kappa@2", "kappa@3"]
    shown = assay("agree", a, b, "--scale", "0:3").stdout
    assert "Labels of A outside the scale: -2 (1 time); counted unchanged" in shown
    off = labels(tmp_path / "c.csv", [(1, "a", 0.5), (1, "b", 9)])
    clipped = assay("agree", a, off, "--scale", "0:3", "--clip").stdout
    assert "those beyond its ends clipped, others counted unchanged" in clipped


def test_units_in_one_file_only_and_without_labels(tmp_path, assay):
    a = write(tmp_path / "a.txt", "1 0 a 1\n1 0 b -1\n2 0 a 0\n2 0 c 1\n")
    b = labels(
        tmp_path / "b.csv", [(1, "a", 1), (1, "b", 1), (2, "a", 1), (3, "z", ""), (3, "y", 1)]
    )
    done = assay("agree", a, b, "--json")
    assert json.loads(done.stdout)["units"] == {
        "both": 2, "only_A": 1, "only_B": 2, "unlabelled_A": 1, "unlabelled_B": 1,
    }  # fmt: skip
    assert "b.csv:5 The label is missing on 1 line (5)." in done.stderr
    noted = assay("agree", a, b, "--csv")
    assert "2 units in B and not in A: left out." in noted.stderr
    assert "1 unit without a label in A: left out." in noted.stderr
    kept = json.loads(assay("agree", a, b, "--scale=-1:1", "--json").stdout)
    assert kept["units"]["both"] == 3  # −1 is a label where the scale holds it


def test_a_list_of_labels_is_a_scale(tmp_path, assay):
    a = labels(tmp_path / "a.csv", [(1, "a", 0), (1, "b", 0.5), (2, "a", 1)])
    got = rows(assay("agree", a, a, "--scale", "0,0.5,1", "--csv"))
    assert list(got)[7:] == ["kappa@0.5", "kappa@1"]


def test_labels_that_differ_late_keep_thresholds_of_their_own(tmp_path, assay):
    given = [0.1234561, 0.1234562, 0.1234563, 0.9]
    a = labels(tmp_path / "a.csv", [(n, "d", label) for n, label in enumerate(given)])
    got = rows(assay("agree", a, a, "--csv"))
    assert list(got)[7:] == ["kappa@0.1234562", "kappa@0.1234563", "kappa@0.9"]
    shown = assay("agree", a, a, env={"COLUMNS": "120"}).stdout
    assert all(shown.count(str(label)) >= 2 for label in given)  # of the counts, row and column
    b = labels(tmp_path / "b.csv", [(n, "d", 0.9) for n in range(2)])
    said = assay("agree", b, b, "--scale", "0.1234561,0.1234562,0.9").stdout
    assert "no one gave the label (label 0.1234561, label 0.1234562)" in said


def test_continuous_labels(tmp_path, assay, monkeypatch):
    monkeypatch.setattr("assay.api.agreeing.RESAMPLES", 100)
    scores = np.random.default_rng(3).random((2, 1005)).round(9).tolist()
    a, b = (
        labels(tmp_path / f"{name}.csv", [(n % 4, n, one) for n, one in enumerate(given)])
        for name, given in zip("ab", scores, strict=True)
    )
    done = assay("agree", a, b, "--csv")
    assert len(rows(done)) == 7 + 2009
    assert "No table of counts: there are too many different labels (2,010)." in done.stderr
    document = json.loads(assay("agree", a, b, "--json").stdout)
    assert document["confusion"]["A_by_B"] is None
    assert document["confusion"]["reason"].startswith("No table of counts")
    shown = assay("agree", a, b).stdout
    assert "kappa@t at 2,009 thresholds is not shown here (use --csv)." in shown
    assert len(shown.splitlines()) < 30
    cut = assay("agree", a, b, "--scale", "0,0.5,1")
    assert "kappa@0.5" in cut.stdout
    assert "… and 985 more; counted unchanged" in cut.stdout


def test_undefined_is_null_and_empty(tmp_path, assay):
    a = labels(tmp_path / "a.csv", [(1, "a", 0), (2, "b", 0)])
    got = rows(assay("agree", a, a, "--csv", "--scale", "0:1"))
    assert got["agreement"]["value"] == "1.0"
    assert got["kappa"] == {"measure": "kappa", "value": "", "low": "", "high": ""}
    document = json.loads(assay("agree", a, a, "--json", "--scale", "0:1").stdout)
    why = "both gave the same label throughout"
    assert document["rows"][1] == {
        "measure": "kappa", "value": None, "low": None, "high": None, "reason": why,
    }  # fmt: skip
    assert document["rows"][-1]["reason"] == "all labels of both are on the same side of the cut"
    assert document["by_label"][1]["reason"] == "no one gave the label"
    assert "reason" not in document["by_label"][0]
    assert "reason" not in document["rows"][0]
    assert f"– is undefined: {why} (kappa, " in assay("agree", a, a).stdout
    done = assay("agree", a, a, "--csv", "--by", "topic")
    assert f"Note: Empty is undefined: {why} (kappa, " in done.stderr
    assert "kappa_linear of topic 1" in done.stderr


def test_resamples_that_leave_a_coefficient_undefined_are_counted(tmp_path, assay):
    """The label 1 is in one topic of three: (2/3)³ of the resamples do not draw it."""
    given = [(topic, doc, int(topic == doc == 1)) for topic in (1, 2, 3) for doc in (1, 2)]
    a = labels(tmp_path / "a.csv", given)
    document = json.loads(assay("agree", a, a, "--json").stdout)
    counts = {row["measure"]: row.get("undefined_resamples", 0) for row in document["rows"]}
    assert counts["agreement"] == 0
    assert counts["kappa"] == counts["kappa@1"] == pytest.approx(2000 * (2 / 3) ** 3, abs=80)
    assert document["settings"]["resamples"] == 2000
    said = f"the resamples (of 2,000) in which the value is undefined: kappa {counts['kappa']}, "
    assert said in assay("agree", a, a).stdout
    done = assay("agree", a, a, "--csv")
    assert said in done.stderr
    assert "Low and high" not in done.stdout


def test_one_topic_has_no_interval(tmp_path, assay):
    a = labels(tmp_path / "a.csv", [(1, "a", 0), (1, "b", 1)])
    assert rows(assay("agree", a, a, "--csv"))["kappa"]["low"] == ""
    assert "No intervals: there is only one topic." in assay("agree", a, a).stdout


def test_compressed_qrels_against_a_tsv(tmp_path, assay):
    a = tmp_path / "a.txt.gz"
    a.write_bytes(gzip.compress(b"1 0 a 1\n1 0 b 0\n"))
    b = write(tmp_path / "b.tsv", "qid\tdocno\tlabel\n1\ta\t1\n1\tb\t0\n")
    assert float(rows(assay("agree", a, b, "--csv"))["kappa"]["value"]) == 1


def test_the_seed_decides_the_intervals(assay):
    files = [ROOT / "examples" / "statistics" / name for name in ("person.txt", "judge.txt")]
    one, same, other = (
        assay("agree", *files, "--csv", "--seed", seed).stdout for seed in (3, 3, 4)
    )
    assert one == same
    assert one != other


def test_all_faults_of_a_file_at_once(worked, tmp_path, assay):
    bad = write(
        tmp_path / "bad.csv",
        'topic,doc,label\n1,a,0\n1,b,x\n,c,1\n1,a,2\n2,a\n2,b,"1\n',
    )
    done = assay("agree", bad, worked[0])
    assert done.returncode == 2
    for line in range(3, 8):
        assert f"bad.csv:{line}" in done.stderr
    assert "[1] “a” has label 2 here and 0 on line 2. Keep one" in done.stderr
    assert "Traceback" not in done.stderr


def test_all_faults_of_both_files_at_once(tmp_path, assay):
    bad = labels(tmp_path / "bad.csv", [(1, "a", "x")])
    done = assay("agree", bad, labels(tmp_path / "worse.csv", [(1, "a", 0), (2, "b", "y")]))
    assert done.returncode == 2
    assert "2 faults in the input" in done.stderr
    assert "bad.csv:2 [1] The label “x”" in done.stderr
    assert "worse.csv:3 [2] The label “y”" in done.stderr
    lost = assay("agree", tmp_path / "none.csv", bad)
    assert "There is no such file." in lost.stderr
    assert "bad.csv:2" in lost.stderr


def test_the_names_of_files_do_not_reach_the_terminal_raw(worked, tmp_path, assay):
    odd = labels(tmp_path / "a\x1b[31m.csv", [(9, "z", 1)])
    done = assay("agree", odd, worked[0])
    assert done.returncode == 2
    assert "\x1b" not in done.stderr
    assert "a\\x1b[31m.csv has 1 labels" in done.stderr


@pytest.mark.parametrize(
    "options",
    [
        ("--scale", "3:0"), ("--scale", "1"), ("--scale", "x:y"), ("--scale", "0,nan"),
        ("--scale", "0:9999999"), ("--clip",), ("--by", "doc"), ("--json", "--csv"),
    ],
)  # fmt: skip
def test_wrong_options(worked, assay, options):
    done = assay("agree", *worked, *options)
    assert done.returncode == 2
    assert "Traceback" not in done.stderr
    assert done.stdout == ""


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "The file is empty."),
        ("topic,doc,label\n", "The file holds no label."),
        ("topic,doc\n1,a\n", "The header lacks label; it has topic, doc."),
        ("1,a,0\n", "The header lacks topic"),
        ("topic,qid,doc,label\n1,1,a,0\n", "more than one topic column: topic, qid"),
        ("topic,doc,label\n1,a,2e200\n", "The label “2e200” is beyond 1e+100."),
        ("topic,doc,label\n9,zz,0\n", "no unit has a label in both files"),
        ("1 0 a x\n", "The grade “x” is not an integer."),
    ],
)
def test_files_that_cannot_be_used(worked, tmp_path, assay, text, said):
    done = assay("agree", worked[0], write(tmp_path / "other", text))
    assert done.returncode == 2
    assert said in done.stderr
    assert "Traceback" not in done.stderr


def test_a_file_that_is_not_there(worked, tmp_path, assay):
    for name in ("none.csv", "."):
        done = assay("agree", worked[0], tmp_path / name)
        assert done.returncode == 2
        assert "Traceback" not in done.stderr


@pytest.mark.parametrize("kind", ["support", "assignments"])
def test_support_labels_and_assignments(tmp_path, assay, kind):
    """Two judges, the second's lines in another order; labels are 0 to 2."""
    both = [(0, 0), (1, 2), (2, 2), (2, 1), (0, 0), (None, 1), (2, 2)]
    topics = ["1", "1", "1", "2", "2", "2", "2"]

    def record(topic: str, labels: list[int | None]) -> dict[str, object]:
        if kind == "support":
            codes = ["-1" if one is None else str(one) for one in labels]
            cited = [{"reference": "d", "support": code} for code in codes]
            return {
                "narrative_id": topic,
                "run_id": "r",
                "sentences": [{"text": "", "citations": []}, {"text": "b", "citations": cited}],
            }
        words = {None: "failed", 0: "not_support", 1: "partial_support", 2: "support"}
        nuggets = [{"text": "n", "importance": "vital", "assignment": words[one]} for one in labels]
        return {"qid": topic, "run_id": "r", "nuggets": nuggets}

    files = []
    for place, order in enumerate((["1", "2"], ["2", "1"])):
        answers = [
            record(topic, [one[place] for one, at in zip(both, topics, strict=True) if at == topic])
            for topic in order
        ]
        text = "".join(json.dumps(row) + "\n" for row in answers)
        files.append(write(tmp_path / f"{place}.jsonl", text))
    done = assay("agree", *files, "--by", "run", "--json")
    assert done.returncode == 0, done.stderr
    document = json.loads(done.stdout)
    found = {row["measure"]: row["value"] for row in document["rows"]}
    known = [pair for pair in both if None not in pair]
    assert found["agreement"] == pytest.approx(4 / 6)
    table = labels(tmp_path / "a.csv", [(1, n, a) for n, (a, _) in enumerate(known)])
    other = labels(tmp_path / "b.csv", [(1, n, b) for n, (_, b) in enumerate(known)])
    plain = rows(assay("agree", table, other, "--csv"))
    for name in ("kappa", "alpha_ordinal", "kappa@2"):
        assert found[name] == pytest.approx(float(plain[name]["value"]))


def test_records_that_are_no_labels_are_named(shared_data, worked, assay):
    bank = shared_data / "data" / "trec-rag-2026" / "research-rubrics-dev-rubrics.jsonl"
    done = assay("agree", worked[0], bank)
    assert done.returncode == 2
    assert "The JSON records are no labels; the first has qid, domain," in done.stderr
