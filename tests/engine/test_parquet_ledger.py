"""What an export says of labels is what the ledger says of them."""

import random
from unittest import mock

import polars as pl
import pytest

from assay.api.labels_parquet import write_parquet
from assay.ledger import Ledger, NewLabel, parquet
from assay.ledger.columns import Columns
from assay.ledger.draws import Draw
from assay.ledger.parquet import ParquetLedger
from assay.model.errors import SettingsError
from assay.model.labels import LabellerId, Status
from assay.tasks.base import unit_hash

TASKS = {"r2c2.entailment": "1", "r2c2.answer": "2", "trec_rag.support": "1"}
WHO = [
    LabellerId("m", "model", {"t": 0.5, "a": ["é", None]}),
    LabellerId("m", "model", {}),
    LabellerId("rules", "rules", {}),
    LabellerId("human:KIM", "human", {}),
]


LABELS = 400


def made(count):
    rng = random.Random(5)
    for number in range(count):
        task = rng.choice([*TASKS])
        content = {"passage": f"p%{rng.randrange(40)}é\n", "nugget": "n"}
        failed = rng.random() < 0.2 or content["passage"].startswith("p%1")
        yield NewLabel(
            key=rng.choice(["k", "12" * 16, f"{number:032x}", f"{number % 90:032x}"]),
            task=task,
            version=rng.choice(["1", "2"]),
            unit=unit_hash(task, content),
            content=content,
            labeller=rng.choice(WHO),
            status=Status.FAILED if failed else Status.OK,
            verdict=None if failed else {"entailed": rng.random() < 0.5, "why": f"{number % 7}"},
            reason=f"because %s {number}",
            error=rng.choice([f"no JSON: {number}", "cut off."]) if failed else None,
            sample=rng.choice([0, 0, 0, -3, 2**40]),
            overrules=rng.choice([None, "ab" * 16, "odd"]),
            tokens_in=rng.choice([None, 0, 17, 2**40]),
            tokens_out=3,
            cost=rng.choice([None, 0.0, 1e-7, 0.1 + 0.2]),
            seconds=rng.choice([None, 1.0, 1 / 3]),
            detail=rng.choice([{}, {"model": "x", "at": number}]),
        )


@pytest.fixture
def ledger(tmp_path):
    with Ledger.open(tmp_path / "labels.sqlite") as ledger:
        ledger.add(made(LABELS))
        yield ledger


@pytest.fixture
def exported(ledger, tmp_path, monkeypatch):
    monkeypatch.setattr("assay.api.labels_parquet.AT_ONCE", 90)
    assert write_parquet(ledger, tmp_path / "labels") == LABELS
    return tmp_path / "labels"


def test_an_export_that_broke_off_is_no_folder(ledger, tmp_path, monkeypatch):
    monkeypatch.setattr("assay.api.labels_parquet.write_head", mock.Mock(side_effect=OSError(28)))
    before = {*tmp_path.iterdir()}
    with pytest.raises(OSError):
        write_parquet(ledger, tmp_path / "labels")
    assert {*tmp_path.iterdir()} == before


def test_an_export_goes_to_an_empty_folder_by_a_link_but_not_in_the_place_of_a_disk(
    ledger, tmp_path
):
    (tmp_path / "there").mkdir()
    (tmp_path / "link").symlink_to("there")
    assert write_parquet(ledger, tmp_path / "link") == ledger.size()
    assert any((tmp_path / "there").iterdir())
    assert (tmp_path / "link").is_symlink()
    with mock.patch("pathlib.Path.is_mount", return_value=True):
        with pytest.raises(SettingsError, match="the root of a disk"):
            write_parquet(ledger, tmp_path / "disk")


def everything(ledger):
    """All that scores ask of a ledger."""
    labels = [label._replace(verdict=None, detail={}) for label in ledger.usable_by_each()]
    order = sorted(label.rowid for label in labels)
    found = {"names": ledger.task_names(), "who": ledger.labellers()}
    who = {number: one.name for number, one in found["who"].items()}
    rows = [row for block in ledger.of_versions(TASKS, LABELS) for row in block]
    contents = sorted(map(str, ledger.unit_contents(["r2c2.answer"])))
    return found | {
        "size": (ledger.size(), ledger.count(), ledger.checked(), ledger.head()),
        "tasks": ledger.tasks(),
        "people": ledger.judged_by_people(),
        "others": ledger.of_other_versions(dict(list(TASKS.items())[:2])),
        "why": [
            ledger.why_failed(task, some)
            for task, some in zip(TASKS, ([1], [2, 4], [3]), strict=True)
        ],
        "rows": [(*row[:3], who[row[3]], *row[4:]) for row in rows],
        "keys": ledger.keys(range(1, LABELS + 1)),
        "usable": order,
        "whole": list(ledger.whole(labels)),
        "contents": contents,
        "lines": [
            one
            for some in ledger.checked_lines(["r2c2.answer"], ledger.head())
            for one in zip(*some, strict=True)
        ],
    }


@pytest.mark.parametrize("at_once", [13, 50_000])
def test_an_export_says_what_the_ledger_says(ledger, exported, monkeypatch, at_once):
    monkeypatch.setattr(parquet, "AT_ONCE", at_once)
    monkeypatch.setattr(parquet, "ROWS", 11)
    assert everything(ParquetLedger(exported)) == everything(ledger)


def test_files_may_be_put_together_in_any_order(ledger, exported, tmp_path, monkeypatch):
    one = tmp_path / "one"
    one.mkdir()
    (exported / "ledger.json").rename(one / "ledger.json")
    frames = map(pl.read_parquet, sorted(exported.rglob("*.parquet")))
    pl.concat(frames).sample(fraction=1, shuffle=True, seed=1).write_parquet(one / "all.parquet")
    monkeypatch.setattr(parquet, "AT_ONCE", 50)
    assert everything(ParquetLedger(one)) == everything(ledger)


def test_its_head_has_the_draws(ledger, tmp_path):
    ledger.add_draw(Draw("uniform", ("r2c2.answer",), 1, 3, ("ab" * 16,), (1.0,), (True,)))
    write_parquet(ledger, tmp_path / "labels")
    assert ParquetLedger(tmp_path / "labels").checked() == ledger.checked()
    assert ledger.checked().draws


def test_an_export_of_one_task_is_not_the_whole(ledger, tmp_path):
    write_parquet(ledger, tmp_path / "labels", "r2c2.answer")
    with pytest.raises(SettingsError, match="is missing or duplicated"):
        ParquetLedger(tmp_path / "labels")


def test_columns_in_a_file_hold_what_an_export_says(ledger, exported, monkeypatch):
    monkeypatch.setattr("assay.ledger.columns.HELD", 0)
    monkeypatch.setattr("assay.ledger.columns._TEXTS", 20)  # most texts are in a file, too
    columns = [Columns.of_ledger(one, TASKS) for one in (ledger, ParquetLedger(exported))]
    units = {label.unit for label in ledger.labels()}
    one, other = (
        [label for unit in sorted(units) for label in every.of(unit)] for every in columns
    )
    assert one == other
    assert len(one) > LABELS // 3
    texts = {label.rowid: label for label in ledger.labels()}
    assert all(label.verdict == texts[label.rowid].verdict for label in one)
