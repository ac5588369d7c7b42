"""Measuring and comparing from Python: the same numbers as the commands print."""

from __future__ import annotations

import csv
import io
from fractions import Fraction
from pathlib import Path

import numpy as np
import polars as pl
import pytest

import assay as package
from assay import AP, RR, agree, compare, correlate, measure, nDCG, read_qrels, read_run
from assay.formats.score_cells import ENDS
from assay.model.errors import FormatError, SettingsError
from tests.conftest import ROOT, Assay

FILES = ROOT / "examples" / "statistics"
QRELS = "t1 0 a 2\nt1 0 b 0\nt2 0 a 1\nt2 0 c 3\nt3 0 d 1\n"
RUNS = {
    "one": "t1 Q0 a 1 2 one\nt1 Q0 b 2 1 one\nt2 Q0 c 1 3 one\nt3 Q0 d 1 1 one\n",
    "two": "t1 Q0 b 1 2 two\nt1 Q0 a 2 1 two\nt2 Q0 a 1 3 two\nt3 Q0 e 1 1 two\n",
}


@pytest.fixture
def files(tmp_path: Path) -> tuple[Path, list[Path]]:
    qrels = tmp_path / "qrels.txt"
    qrels.write_text(QRELS)
    paths = [tmp_path / f"{name}.txt" for name in RUNS]
    for path, text in zip(paths, RUNS.values(), strict=True):
        path.write_text(text)
    return qrels, paths


def table(text: str) -> list[tuple[str | float | None, ...]]:
    """CSV that a command printed, numbers as numbers."""

    def cell(value: str) -> str | float | None:
        try:
            return float(value) if value else None
        except ValueError:
            return value

    return [tuple(map(cell, row)) for row in list(csv.reader(io.StringIO(text)))[1:]]


def same(frame: pl.DataFrame, text: str) -> None:
    assert [tuple(row) for row in frame.rows()] == table(text)


def test_files_give_what_the_command_prints(assay: Assay, files: tuple[Path, list[Path]]):
    qrels, paths = files
    for options in ((), ("--per-topic",)):
        done = assay("measure", qrels, *paths, "-m", "nDCG@5", "-m", "AP", "--csv", *options)
        found = measure(qrels, paths, [nDCG @ 5, "AP"], per_topic=bool(options))
        same(found, done.stdout)
    assert found.columns == ["run", "topic", "measure", "value"]


def test_files_dicts_and_frames_mean_the_same(files: tuple[Path, list[Path]]):
    qrels, paths = files
    wanted = [nDCG(k=5), AP, RR]
    whole = measure(qrels, paths, wanted)
    grades, runs = read_qrels(qrels), {path.stem: read_run(path) for path in paths}
    assert runs["one"]["t1"] == {"a": 2.0, "b": 1.0}
    assert grades["t2"] == {"a": 1, "c": 3}
    assert measure(grades, runs, wanted).equals(whole)
    assert measure(grades, paths, wanted).equals(whole)
    assert measure(qrels, {path.stem: path for path in paths}, wanted).equals(whole)
    import pandas as pd  # half a second for each process of tests

    judged = pd.DataFrame(
        [(t, d, g) for t, own in grades.items() for d, g in own.items()],
        columns=["qid", "docno", "label"],
    )
    assert measure(judged, runs, wanted).equals(whole)
    assert measure(qrels, paths[0], "AP")["run"].to_list() == ["one"]


def test_faults_of_files_are_told(tmp_path: Path, files: tuple[Path, list[Path]]):
    bad = tmp_path / "bad.txt"
    bad.write_text("t1 Q0 a 1 x one\n")
    with pytest.raises(FormatError, match=r"bad\.txt:1"):
        measure(files[0], [bad])
    with pytest.raises(FormatError, match=r"bad\.txt:1"):
        read_run(bad)


def test_agreement_is_that_of_the_command(assay: Assay):
    a, b = FILES / "person.txt", FILES / "judge.txt"
    found = agree(a, b, scale=[0, 1, 2, 3, 4])
    same(found, assay("agree", a, b, "--scale", "0:4", "--csv").stdout)
    frames = [
        pl.DataFrame(
            [(t, d, float(g)) for t, own in read_qrels(path).items() for d, g in own.items()],
            schema=["topic", "doc", "label"],
            orient="row",
        )
        for path in (a, b)
    ]
    assert agree(*frames, scale=[0, 1, 2, 3, 4]).equals(found)
    assert agree(frames[0].to_pandas(), frames[1], scale=[0, 1, 2, 3, 4]).equals(found)
    plain = agree([1, 0, 1, None], [1, 1, 1, 0])
    assert plain.row(0) == ("agreement", pytest.approx(2 / 3), None, None)
    with pytest.raises(ValueError, match="labelled twice"):
        agree(pl.concat([frames[0]] * 2), frames[1])


def test_correlation_is_that_of_the_command(assay: Assay):
    a, b = FILES / "manual.csv", FILES / "automatic.csv"
    done = assay("correlate", a, b, "--csv")
    found = correlate(a, b)
    same(found, done.stdout)
    assert correlate(pl.read_csv(a), pl.read_csv(b)).equals(found)
    found = correlate({"x": 1.0, "y": 2.0, "z": 3.0}, {"x": 1.0, "y": 3.0, "z": 2.0})
    assert found["setting"].unique().to_list() == ["runs"]
    assert found.filter(pl.col("measure") == "tau")["value"][0] == pytest.approx(1 / 3)


def test_comparison_is_that_of_the_command(assay: Assay, files: tuple[Path, list[Path]]):
    qrels, paths = files
    scores = measure(qrels, paths, ["AP", "nDCG@5"], per_topic=True)
    done = assay("compare", qrels, *paths, "-m", "AP", "-m", "nDCG@5", "--csv")
    same(compare(scores), done.stdout)
    assert compare(scores, "AP")["measure"].unique().to_list() == ["AP"]
    by_run = {
        run: dict(rows.select("topic", "value").filter(pl.col("topic") != "all").iter_rows())
        for (run,), rows in scores.filter(pl.col("measure") == "AP").group_by("run")
    }
    assert compare(by_run).drop("measure").equals(compare(scores, "AP").drop("measure"))
    matrix = FILES / "scores.csv"
    same(compare(matrix), assay("compare", "--matrix", matrix, "--csv").stdout)
    with pytest.raises(ValueError, match=r"no measure “RR”\. It has AP, nDCG@5"):
        compare(scores, "RR")


def test_confidences_of_a_file_are_compared_as_by_the_command(assay: Assay, tmp_path: Path):
    rows = [
        f"{run},{n},{10 * (n % 8) + add},{int(n % add > 0)}"
        for run, add in (("a", 3), ("b", 20))
        for n in range(16)
    ]
    table = tmp_path / "confidence.csv"
    table.write_text("\n".join(["run,topic,confidence,correct", *rows]) + "\n")
    done = assay("compare", table, "-m", "HMR", "-m", "Brier", "--csv")
    assert done.returncode == 0, done.stderr
    same(compare(table, ["HMR", "Brier"]), done.stdout)
    with pytest.raises(ValueError, match="its test must be 'randomisation'"):
        compare(table, "HMR", test="t")


def test_measures_are_objects_by_name():
    assert str(package.nDCG @ 10) == "nDCG@10"
    assert {"P", "Q", "Recall", "iRBU", "alpha_nDCG"} <= set(package.__all__)


GRADES = {"t": {"a": 1, "b": 0}}
RANKED = {"one": {"t": ["b", "a"]}}
MATRIX = pl.DataFrame({"run": ["a", "b"], "x": [0.1, 0.2], "y": [0.3, 0.1]})
TOPICS = pl.DataFrame(
    {
        "run": ["a", "a", "b", "b"],
        "topic": ["1", "2", "1", "2"],
        "measure": ["AP"] * 4,
        "value": [None, 0.1, 0.2, 0.4],
        "floor": [0.0, 0.1, 0.2, 0.4],
        "ceiling": [1.0, 0.1, 0.2, 0.4],
    }
)


@pytest.mark.parametrize(
    ("call", "error", "says"),
    [
        (lambda: agree([1], [1, 2]), ValueError, "a has 1 labels and b 2"),
        (lambda: agree(5, 6), TypeError, "a file, a frame, a dict or a list, not int"),
        (lambda: agree({"a": 1}, {"b": 1}), ValueError, "none of the 2 items has a label"),
        (lambda: agree({"a": 1, "t": {"d": 1}}, {"a": 1}), TypeError, "'a' has one label, but"),
        (lambda: compare(5), TypeError, "a file, a frame or a dict"),
        (lambda: correlate(1, 2), TypeError, "a file, a frame or a dict"),
        (lambda: compare({"a": 5}), ValueError, "runs are compared topic by topic"),
        (lambda: compare({"a": {"t": "x"}}), ValueError, "“x” is not a finite number"),
        (lambda: compare({"a": {"t": 1}, "b": 5}), TypeError, "run 'b' must be topic → score"),
        (lambda: compare(pl.DataFrame({"run": ["a"], "value": [1.0]})), ValueError,
         "no scores of single topics, but runs are compared topic by topic"),
        (lambda: compare(measure(GRADES, RANKED, AP)), ValueError, "the result of measure"),
        (lambda: measure(GRADES, RANKED, 5), TypeError, "not 5"),
        (lambda: measure("q.txt", ["r.txt"], [None]), ValueError, "None is neither a measure nor"),
        (lambda: correlate(MATRIX, MATRIX, score="z"), ValueError, "a The table has no column “z”"),
        (lambda: correlate(MATRIX, MATRIX), ValueError, "is meant, e.g. score='x'."),
        (lambda: correlate(MATRIX.drop("run"), MATRIX), ValueError, "a The header lacks run"),
        (lambda: correlate(TOPICS, TOPICS, score="RR"), ValueError, "no measure “RR”"),
    ],
)  # fmt: skip
def test_what_cannot_be_is_named(call, error, says):
    with pytest.raises(error, match=says):
        call()


def test_no_measures_are_the_usual_ones():
    assert measure(GRADES, RANKED, None).equals(measure(GRADES, RANKED))


def test_topics_may_be_numbers():
    scores = {"a": {10: 0.5, 2: 0.6, 1: 0.7}, "b": {1: 0.4, 2: 0.3, 10: 0.2}}
    as_texts = {run: {f"{one:02}": x for one, x in own.items()} for run, own in scores.items()}
    assert compare(scores).equals(compare(as_texts))  # type: ignore[arg-type]


def test_scores_may_be_any_numbers():
    scores = {"a": {"1": 0.5, "2": 1.0, "3": 0.1}, "b": {"1": 0.25, "2": 0.0, "3": 0.5}}
    odd = {run: {t: Fraction(one) for t, one in own.items()} for run, own in scores.items()}
    odd["a"]["2"], odd["b"]["2"] = True, False  # type: ignore[assignment]
    assert compare(odd).equals(compare(scores))
    narrow = {"a": {"1": np.float32(0.1), "2": 1}, "b": {"1": 0, "2": 0}}
    assert compare(narrow)["difference"].item() == (float(np.float32(0.1)) + 1) / 2


def test_dicts_agree_as_files_do(tmp_path):
    first = {"1": {"a": 1, "b": 0, "c": -1}, "2": {"a": 2, "d": 1}}
    second = {"1": {"a": 1, "b": 1, "c": 1}, "2": {"a": 2, "d": 0}}
    files = []
    for name, grades in (("a", first), ("b", second)):
        files.append(tmp_path / name)
        lines = (f"{t} 0 {d} {grade}\n" for t, docs in grades.items() for d, grade in docs.items())
        files[-1].write_text("".join(lines))
    assert agree(first, second).equals(agree(*files))
    by_id = agree({"x": 1, "y": 0, "z": 2}, {"z": 2, "y": 0, "x": 1})
    assert by_id["value"].to_list() == agree([1, 0, 2], [1, 0, 2])["value"].to_list()


@pytest.mark.parametrize(
    ("call", "says"),
    [
        (compare, "scores:2 The topic is empty"),
        (lambda frame: agree(frame, frame), "row 2 of the frame has no topic"),
        (lambda frame: correlate(frame, frame), "a:2 The topic is empty"),
    ],
)
def test_a_row_without_an_id_is_named(call, says):
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(
        {"run": ["a", "a", "b"], "topic": ["1", float("nan"), "2"], "value": [1.0, 2.0, 3.0]}
    )
    frame["label"] = frame["value"]
    for one in (frame, frame.convert_dtypes()):  # with NaN, and with pandas' own NA
        with pytest.raises(ValueError, match=says):
            call(one)


def test_what_is_odd_in_files_is_told_at_the_callers_line(tmp_path: Path):
    qrels, run = tmp_path / "qrels", tmp_path / "run"
    qrels.write_text("t 0 a\x07 1\nt 0 b 0\n")
    run.write_text("t Q0 b 1 2.0 r\n")
    for call in (
        lambda: measure(qrels, run, "RR"),
        lambda: measure(qrels, {"r": run}, "RR"),
        lambda: agree(qrels, qrels),
    ):
        with pytest.warns(UserWarning, match="control characters") as caught:
            call()
        assert {one.filename for one in caught} == {__file__}
    with pytest.warns(UserWarning, match="control characters"):
        exec("agree(qrels, qrels)", {"agree": agree, "qrels": qrels})  # a caller without a name


def test_frames_of_scores_go_on_as_they_are():
    floor, ceiling = (compare(TOPICS, f"AP:{end}")["difference"].item() for end in ENDS)
    assert [round(one, 3) for one in (floor, ceiling)] == [0.25, 0.25]  # b before a, a before b
    sure = TOPICS.with_columns(value="floor")
    assert compare(sure, AP).equals(compare(sure, "AP"))
    runs = {"a": 0.1, "b": 0.2}
    with pytest.warns(UserWarning, match=r"a on 1 \(0.0–1.0\)"):
        assert correlate(TOPICS, runs, score=(AP, "x")).equals(correlate(TOPICS, runs))


def test_labels_of_pairs_agree_as_words_and_in_files(assay: Assay, tmp_path: Path):
    pairs = [{"id": f"p{n}", "claim": "c", "passage": f"{n}"} for n in range(4)]

    def says(words: str):
        def judge(task, unit):
            if words[int(unit["passage"])] == "-":
                return None
            return {
                "support": {"y": "full", "p": "partial", "n": "none"}[words[int(unit["passage"])]]
            }

        judge.version = words
        return package.label("support", pairs, judge)

    with pytest.warns(UserWarning, match="gave no answer .None. for 1 pair"):
        first, second = says("ypn-"), says("ynny")
    found = agree(first, second)
    assert found.filter(measure="agreement")["value"].item() == pytest.approx(2 / 3)
    assert agree([2, 1, 0, None], [2, 0, 0, 2]).equals(found)
    words = ("yes", "partly", "no", None), ("yes", "no", "no", "yes")
    assert agree(*map(list, words)).equals(found)
    names = [tmp_path / name for name in ("a.jsonl", "b.csv")]
    first.write_ndjson(names[0])
    second.write_csv(names[1])
    same(found, assay("agree", *names, "--csv").stdout)
    assert "partly" in assay("agree", *names).stdout
    assert agree(*names).equals(found)
    names[1].write_text(names[1].read_text().replace("yes", "maybe"))
    done = assay("agree", *names)
    assert (done.returncode, "“maybe” is not one of no, partly, yes" in done.stderr) == (2, True)


def test_two_files_of_one_name_are_two_runs(files: tuple[Path, list[Path]]):
    qrels, (path, _) = files
    copied = path.with_name("copy.txt")
    copied.write_bytes(path.read_bytes())
    with pytest.raises(SettingsError, match="are both runs named one"):
        measure(read_qrels(qrels), [path, copied])
