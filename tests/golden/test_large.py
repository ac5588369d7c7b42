"""The generated evaluations of large.py, with 2,000 labels."""

import re
import shutil
from pathlib import Path
from unittest import mock

import polars as pl
import pytest
from benchmarks import score

from assay.api.evaluation import Evaluation
from tests.command import run_here
from tests.golden import large, pins
from tests.golden.stage import assay


def with_little_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    """Have all that can lie in files lie there."""
    monkeypatch.setattr("assay.ledger.columns.HELD", 0)
    monkeypatch.setattr("assay.ledger.columns._SORTED", 100)
    monkeypatch.setattr("assay.model.scratch._HELD", 1000)
    monkeypatch.setattr("assay.model.scratch._BLOCK", 30)
    monkeypatch.setattr("assay.protocols.places._BLOCK", 70)
    monkeypatch.setattr("assay.protocols.places._MOST_IN_MEMORY", 5)
    monkeypatch.setattr("assay.protocols.record._PART", 128)
    monkeypatch.setattr("assay.protocols.record._AT_ONCE", 100)
    monkeypatch.setattr("assay.model.exam_storage.MAX_IN_MEMORY", 0)
    monkeypatch.setattr("assay.protocols.exam.pools._PLACES", 1000)


@pytest.mark.parametrize("protocol", large.WRITERS)
def test_no_number_of_a_generated_evaluation_has_moved(
    protocol: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    large.WRITERS[protocol](tmp_path, large.SMALL)
    assay("judge", tmp_path, "--json")
    assay("score", tmp_path, "--csv")
    found = {"score": large.digests(tmp_path / "out")}
    said = pins.differences(pins.read(large.name_of(protocol, large.SMALL)), found)
    assert not said, "\n".join(said[:30])
    # Nor does one where labels lie in a file, as more of them than memory has room do.
    with_little_memory(monkeypatch)
    assay("score", tmp_path, "--csv")
    assert {"score": large.digests(tmp_path / "out")} == found


def bytes_of(out: Path) -> dict[Path, bytes]:
    return {one.relative_to(out): one.read_bytes() for one in out.rglob("*") if one.is_file()}


@pytest.fixture(scope="module")
def scored_once(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An evaluation of 400 labels, scored from its own ledger, which nobody changes."""
    folder = tmp_path_factory.mktemp("scored") / "own"
    folder.mkdir()
    large.WRITERS["r2c2"](folder, 400)
    assay("judge", folder, "--json")
    assay("score", folder, "--csv")
    return folder


@pytest.fixture
def scored(scored_once: Path, tmp_path: Path) -> Path:
    """A copy of it."""
    return Path(shutil.copytree(scored_once, tmp_path / "own"))


@pytest.fixture(scope="module")
def exported_once(scored_once: Path) -> Path:
    """Its labels in Parquet files of a few each."""
    labels = scored_once.with_name("labels")
    with mock.patch("assay.api.labels_parquet.AT_ONCE", 37):
        assay("labels", "export", scored_once, "-o", labels, "--parquet")
    return labels


def test_labels_on_a_server_give_the_same_bytes_with_little_memory(
    scored: Path, on_postgres: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = bytes_of(scored / "out")
    assay("labels", "copy", scored, on_postgres)
    (scored / "labels.sqlite").unlink()
    with_little_memory(monkeypatch)
    monkeypatch.setenv("ASSAY_LEDGER", on_postgres)
    assay("score", scored, "--csv")
    assert bytes_of(scored / "out") == found
    assert not (scored / "labels.sqlite").exists()


def test_labels_in_parquet_files_give_the_same_bytes(
    scored: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    found, labels = bytes_of(scored / "out"), tmp_path / "labels"
    with_little_memory(monkeypatch)
    monkeypatch.setattr("assay.api.labels_parquet.AT_ONCE", 37)
    assay("labels", "export", scored, "-o", labels, "--parquet")
    (scored / "labels.sqlite").unlink()
    assay("score", scored, "--csv", "--labels", labels)
    assert bytes_of(scored / "out") == found
    assert len(Evaluation(scored).write(labels)) > 5
    assert bytes_of(scored / "out") == found
    assert not (scored / "labels.sqlite").exists()


def test_thousands_of_labels_in_parquet_files_give_the_same_bytes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("assay.api.labels_parquet.AT_ONCE", 500)
    monkeypatch.setattr("assay.ledger.parquet.AT_ONCE", 170)
    monkeypatch.setattr("assay.ledger.columns.HELD", 0)
    folder, labels = tmp_path / "own", tmp_path / "labels"
    folder.mkdir()
    assert score.make(folder, 1_200, labellers=3, runs=33) == 2_970
    assay("score", folder, "--csv")
    found = bytes_of(folder / "out")
    assay("labels", "export", folder, "-o", labels, "--parquet")
    (folder / "labels.sqlite").unlink()
    assay("score", folder, "--csv", "--labels", labels)
    assert bytes_of(folder / "out") == found


def parquet_with_a_fault(labels: Path, fault: str) -> str:
    """Break an export, and return what is to be said of it."""
    one = sorted(labels.rglob("*.parquet"))[3]
    frame = pl.read_parquet(one)
    if fault == "newest":
        for path in labels.rglob("part-00010.parquet"):
            path.unlink()
        return "label 371 is missing"
    if fault == "stopped":
        (labels / "ledger.json").unlink()
        return "ledger.json: does not say how many labels were exported"
    if fault == "gone":
        one.unlink()
        return rf"label {frame['number'].min()} is missing or duplicated"
    if fault == "twice":
        frame.write_parquet(labels / "again.parquet")
        return rf"label {frame['number'].min() + 1} is missing or duplicated"
    if fault == "no Parquet":
        one.write_bytes(b"number,uid")
        return f"{one}: is not a file written by"
    if fault == "no files":
        for path in labels.iterdir():
            path.unlink() if path.is_file() else shutil.rmtree(path)
        return "ledger.json: does not say how many labels were exported .* this is another folder"
    if fault == "columns":
        frame.drop("uid").write_parquet(one)
        return f"{one}: is not a file written by"
    column, value = fault.split("=", 1)
    changed = frame.with_columns(pl.lit(value).alias(column))
    changed.write_parquet(one)
    if column == "key":
        return "its 400 labels are not the 400 that were exported: .* a key, error"
    if value == "no JSON":
        return f"label {frame['number'].min()} cannot be read: "
    return rf"label {frame['number'].min()} \(uid {changed['uid'][0]}\) is not as it was written"


@pytest.mark.parametrize(
    "fault",
    ["gone", "newest", "stopped", "twice", "no Parquet", "no files", "columns",
     'verdict={"entailed": false}', 'unit={"passage": "p", "nugget": "n"}', "uid=" + "0" * 32,
     "labeller=other", "created=2020-01-01", "detail=no JSON", "key=" + "0" * 32],
)  # fmt: skip
def test_what_is_wrong_with_parquet_files_is_said(
    scored_once: Path, exported_once: Path, tmp_path: Path, fault: str
) -> None:
    labels = Path(shutil.copytree(exported_once, tmp_path / "labels"))
    said = parquet_with_a_fault(labels, fault)
    done = run_here("score", scored_once, "--labels", labels)
    assert done.returncode == 2
    assert re.search(said, " ".join(done.stderr.split())), done.stderr
