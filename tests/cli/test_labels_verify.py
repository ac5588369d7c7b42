"""A changed label stops the commands that rest on it, and ``labels verify`` names it."""

from __future__ import annotations

import json
import random
import shutil
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from assay.cli.common import present, tell
from assay.ledger import Ledger, NewLabel
from assay.ledger.chain import Head, chained
from assay.model.labels import LabellerId, Status
from assay.page.tables import Table
from assay.protocols.evaluation import Evaluation
from tests.cli.ground import make, toml
from tests.engine.test_checking import damaged, tampered


@pytest.fixture
def slide(evaluated_slide: Path, tmp_path: Path) -> Path:
    """The slide example, judged and scored."""
    return Path(shutil.copytree(evaluated_slide, tmp_path / "slide"))


def test_a_changed_label_stops_the_score_and_is_named(slide: Path, assay):
    before = (slide / "out" / "scores.csv").read_bytes()
    tampered(
        slide / "labels.sqlite",
        "UPDATE labels SET verdict = replace(verdict, 'false', 'true') "
        "WHERE id = (SELECT min(id) FROM labels WHERE verdict LIKE '%\"entailed\":false%')",
    )
    done = assay("labels", "verify", slide, "--json")
    found = json.loads(done.stdout)
    (fault,) = found["faults"]
    name = fault["label"][:8]
    assert (done.returncode, found["labels"], found["manifests"]) == (1, 7, 1)
    assert f" {name} " in assay("labels", "list", slide).stdout
    told = assay("labels", "verify", slide).stdout
    assert told.startswith(f"label {name}: its verdict")
    assert "Restore the ledger from a backup. Or export" in told
    for command in ("score", "report", "judge", "evaluate"):
        done = assay(command, slide)
        assert (done.returncode, f"label {name}: its verdict" in done.stderr) == (2, True)
    assert (slide / "out" / "scores.csv").read_bytes() == before


def make_digests_anew(path: Path) -> None:
    columns = "id, uid, key, error, tokens_in, tokens_out, cost, seconds, detail"
    with closing(sqlite3.connect(path)) as db:
        rows = db.execute(f"SELECT {columns} FROM labels ORDER BY id").fetchall()
        digests = chained(Head().digest, *zip(*rows, strict=True))
        pairs = zip(digests, (row[0] for row in rows), strict=True)
        db.executemany("UPDATE labels SET digest = ? WHERE id = ?", pairs)
        db.commit()
        db.execute("PRAGMA wal_checkpoint")  # else the log would be told not to go on from the file


@pytest.mark.parametrize("anew", [False, True])
def test_a_ledger_that_is_changed_while_it_is_scored_stops_the_score(
    slide: Path, assay, monkeypatch: pytest.MonkeyPatch, anew: bool
):
    """Also by somebody who makes all digests anew."""
    ledger, out = slide / "labels.sqlite", slide / "out"
    (out / "manifest.json").unlink()  # which would tell, too
    before = {path: path.read_bytes() for path in out.rglob("*") if path.is_file()}
    score = Evaluation.score

    def changed(*given, **more):
        found = score(*given, **more)
        tampered(ledger, "UPDATE labels SET cost = 99 WHERE id = 3")
        if anew:
            make_digests_anew(ledger)
        return found

    monkeypatch.setattr(Evaluation, "score", changed)
    done = assay("score", slide)
    why = "the score was made from 7 labels" if anew else "its key, error, tokens, cost"
    assert (done.returncode, why in done.stderr) == (2, True), done.stderr
    assert {path: path.read_bytes() for path in out.rglob("*") if path.is_file()} == before


def test_a_label_that_cannot_be_scored_is_named(slide: Path, assay):
    tampered(slide / "labels.sqlite", "UPDATE labels SET verdict = '[' WHERE id = 3")
    done = assay("score", slide)
    assert (done.returncode, done.stderr.count(": its verdict, subject")) == (2, 1), done.stderr


def test_a_manifest_is_tied_to_its_ledger(slide: Path, assay):
    done = assay("labels", "verify", slide)
    manifest = json.loads((slide / "out" / "manifest.json").read_text())
    head = manifest["ledger"]["head"]
    said = f"7 labels, head {head}, 1 manifest: all as written."
    assert (done.returncode, done.stdout.split()) == (0, said.split())
    tampered(slide / "labels.sqlite", "DELETE FROM labels WHERE id = 7")
    done = assay("labels", "verify", slide)
    assert done.returncode == 1
    assert f"out/manifest.json: was made from 7 labels with head {head[:8]}" in done.stdout


def test_half_a_manifest_is_told(slide: Path, assay):
    manifest = slide / "out" / "manifest.json"
    manifest.write_bytes(manifest.read_bytes()[:99])
    done = assay("labels", "verify", slide)
    assert done.returncode == 1
    assert "out/manifest.json: is not a manifest written by Assay" in done.stdout


def test_a_ledger_under_several_protocols_stands_in_every_manifest(tmp_path: Path, assay):
    folder = make(tmp_path / "ground")
    toml(folder, ["r2c2", "sgss"])
    assert assay("evaluate", folder).returncode in (0, 1)
    paths = sorted((folder / "out").rglob("manifest.json"))
    named = [json.loads(path.read_text())["ledger"] for path in paths]
    assert len(paths) > 2
    assert all(one == named[0] for one in named)
    assert assay("labels", "verify", folder).returncode == 0


@pytest.mark.parametrize("seed", range(4))
def test_damage_gives_a_message_or_the_same_numbers(slide: Path, assay, seed: int):
    numbers = assay("score", slide, "--csv").stdout
    path = slide / "labels.sqlite"
    with closing(sqlite3.connect(path)) as db:
        db.execute("VACUUM")  # so that most of the file is of use
    whole = path.read_bytes()
    path.write_bytes(damaged(whole, random.Random(seed)))
    for command in (("labels", "list"), ("labels", "verify"), ("score", "--csv"), ("judge",)):
        done = assay(*command, slide)
        assert done.returncode in (0, 1, 2)
        assert "Traceback" not in done.stderr
        if command[0] == "score" and done.returncode != 2:
            assert done.stdout == numbers


@pytest.mark.parametrize(
    ("row", "why"),
    [
        ({"tokens_in": 2**63}, "'tokens_in' 9223372036854775808 is too large"),
        ({"cost": 1e300}, "'cost' 1e+300 is too large"),
        ({"sample": 2**63}, "'sample' 9223372036854775808 is not an integer"),
        ({"created": "10000-01-01T00:00:00+00:00"}, ""),
    ],
)
def test_numbers_and_dates_that_nobody_thought_of(slide: Path, assay, row: dict, why: str):
    first = json.loads(assay("labels", "export", slide).stdout.splitlines()[0])
    kept = {name: first[name] for name in ("task", "unit", "verdict")}
    lines = slide / "more.jsonl"
    lines.write_text(json.dumps({**kept, "labeller": "human:KIM", **row}) + "\n")
    done = assay("labels", "import", slide, lines)
    assert (done.returncode, why in done.stderr) == (2 if why else 0, True)
    for command in (("labels", "list"), ("labels", "stats"), ("labels", "verify"), ("report",)):
        assert assay(*command, slide).returncode == 0


def test_keys_and_ids_that_are_none_are_not_kept(slide: Path, assay):
    first = json.loads(assay("labels", "export", slide).stdout.splitlines()[0])
    kept = {name: first[name] for name in ("task", "unit", "verdict")}
    row = {**kept, "labeller": "human:KIM", "key": "my own", "overrules": "that one"}
    (slide / "more.jsonl").write_text(json.dumps(row) + "\n")
    assert assay("labels", "import", slide, slide / "more.jsonl").returncode == 0
    last = json.loads(assay("labels", "export", slide).stdout.splitlines()[-1])
    assert (last["labeller"]["name"], len(last["key"]), last["overrules"]) == (
        "human:KIM", 32, None
    )  # fmt: skip
    assert assay("labels", "verify", slide).returncode == 0


def test_an_older_ledgers_label_in_place_of_what_is_none_is_imported(slide: Path, assay):
    first = json.loads(assay("labels", "export", slide).stdout.splitlines()[0])
    label = NewLabel(
        "my own", first["task"], first["version"], first["unit_hash"], first["unit"],
        LabellerId("human:KIM", "human"), Status.OK, first["verdict"], overrules="that one",
        reason=first["reason"], created="2025-01-01T00:00:00+00:00",
    )  # fmt: skip
    with Ledger.open(slide / "other.sqlite") as ledger:
        (uid,) = ledger.add([label])
        (lines,) = ledger.lines()
    (slide / "more.jsonl").write_text(lines.objects[0] + "}")
    for added in (1, 0):
        done = assay("labels", "import", slide, slide / "more.jsonl")
        assert f"{added} labels added" in done.stdout + done.stderr
    assert json.loads(assay("labels", "export", slide).stdout.splitlines()[-1])["uid"] == uid
    assert assay("labels", "verify", slide).returncode == 0


def forged(folder: Path) -> str:
    """A folder whose first label says the contrary; its name."""
    tampered(
        folder / "labels.sqlite",
        "UPDATE labels SET verdict = replace(verdict, 'false', 'true') "
        "WHERE id = (SELECT min(id) FROM labels WHERE verdict LIKE '%\"entailed\":false%')",
    )
    with Ledger.open(folder / "labels.sqlite") as ledger:
        return next(one.uid[:8] for one in ledger.faults() if one.uid)


def test_nothing_is_made_of_a_changed_label(slide: Path, assay):
    marked = next((slide / "out" / "marked").glob("*.txt"))
    edited = slide / marked.name
    edited.write_bytes(marked.read_bytes())
    empty = slide / "empty.jsonl"
    empty.write_text("")
    name = forged(slide)
    size = (slide / "labels.sqlite").stat().st_size
    for command in (
        ("judge", slide, "--import-batch", empty),
        ("judge", slide, "--export-batch", slide / "batch.jsonl"),
        ("judge", slide, "--dry-run"),
        ("evaluate", slide, "--dry-run"),
        ("calibrate", slide),
        ("labels", "import", slide, edited, "--by", "human:KIM"),
        ("labels", "import", slide, edited, "--by", "human:KIM", "--dry-run"),
        ("labels", "import", slide, empty, "--by", "human:KIM"),
    ):
        done = assay(*command)
        assert (done.returncode, f"label {name}: its verdict" in done.stderr) == (2, True), command
    assert not (slide / "batch.jsonl").exists()
    assert (slide / "labels.sqlite").stat().st_size == size


@pytest.mark.parametrize("emptied", [False, True])
def test_a_manifest_of_labels_that_are_gone_is_not_replaced(slide: Path, assay, emptied: bool):
    manifest = slide / "out" / "manifest.json"
    before = manifest.read_bytes()
    if emptied:
        for path in slide.glob("labels.sqlite*"):
            path.unlink()
        (slide / "labels.sqlite").touch()
    else:
        tampered(slide / "labels.sqlite", "DELETE FROM labels WHERE id = 7")
    for command in ("score", "report", "evaluate"):
        done = assay(command, slide)
        assert done.returncode == 2
        assert "out/manifest.json: was made from 7 labels" in done.stderr
        assert "first move away the out/ that the other one produced" in done.stderr
    assert manifest.read_bytes() == before
    assert assay("labels", "verify", slide).returncode == 1
    (slide / "out").rename(slide / "other")
    assert assay("evaluate", slide).returncode == 0


def test_whoever_looks_at_a_changed_label_is_told(slide: Path, assay):
    uid = json.loads(assay("labels", "export", slide).stdout.splitlines()[0])["uid"]
    name = forged(slide)
    for command in (("list",), ("show", uid), ("export",), ("stats",)):
        done = assay("labels", command[0], slide, *command[1:])
        assert done.returncode == 0
        assert f"Note: label {name}: its verdict" in done.stderr
        assert "'assay labels verify' lists every fault" in done.stderr
    assert f"label {name}: its verdict" in " ".join(assay("doctor", slide).stdout.split())


def test_no_colons_become_pictures(capsys):
    tell("openai:m: is no emoji")
    present(dict, [Table("t", ("by",), [("openai:m:",)])])
    captured = capsys.readouterr()
    assert "openai:m: is" in captured.err
    assert "openai:m:" in captured.out
