"""One evaluation, whose ledger is a file or on a server: everything is the same. Ledgers that are
copied and merged."""

from __future__ import annotations

import json
import math
import re
import shutil
import sqlite3
from dataclasses import replace
from pathlib import Path

import polars as pl
import pytest

from assay.api.opened import Opened
from assay.ledger import Ledger
from assay.ledger.draws import Draw
from assay.ledger.exchange import person, person_label
from assay.tasks.r2c2 import ENTAILMENT as TASK
from assay.web.desk import Desk
from tests.api.test_trust import drawn, people, trusted, world  # noqa: F401 (fixtures)
from tests.engine.test_postgres import label
from tests.web.conftest import write_folder
from tests.web.test_desk import ENTAILMENT, yes


def with_url(folder: Path, url: str) -> Path:
    """A copy of a folder whose ledger is on a server."""
    ignore = shutil.ignore_patterns("out", "labels.sqlite*")
    other = Path(shutil.copytree(folder, folder.with_name("served"), ignore=ignore))
    with (other / "assay.toml").open("a") as file:
        file.write(f'\n[ledger]\nurl = "{url}"\n')
    return other


COMMANDS = (
    ("score",), ("report",), ("status",), ("judge", "--dry-run"), ("labels", "stats"),
    ("labels", "list"), ("labels", "verify"), ("labels", "export"), ("labels", "people"),
    ("doctor", "--json"), ("compare",), ("trust",), ("plan",),
)  # fmt: skip


def test_every_command_says_and_writes_the_same(assay, slide, on_postgres, tmp_path):
    def all_said(**more):
        said = {}
        for name, *rest in COMMANDS:
            first = [name, rest.pop(0)] if name == "labels" else [name]
            done = assay(*first, slide, *rest, **more)
            assert "Traceback" not in done.stderr
            said[*first, *rest] = done.returncode, done.stdout, done.stderr
        return said

    assert assay("judge", slide).returncode == 0
    in_file = all_said()
    done = assay("labels", "copy", slide, on_postgres)
    assert "7 labels copied; 7 in both" in done.stdout
    out = (slide / "out").rename(tmp_path / "out")
    (slide / "labels.sqlite").unlink()
    on_server = all_said(env={"ASSAY_LEDGER": on_postgres})
    version = re.compile(r"[^\"]*version \d+")  # where it is, which doctor tells
    for command, said in in_file.items():
        plain = [version.sub("", str(one)) for one in said]
        assert plain == [version.sub("", str(one)) for one in on_server[command]], command
    assert not (slide / "labels.sqlite").exists()
    files = sorted(one.relative_to(out) for one in out.rglob("*") if one.is_file())
    assert len(files) > 8
    for name in files:
        assert (out / name).read_bytes() == (slide / "out" / name).read_bytes(), name


def test_each_machine_with_a_file_of_its_own(assay, slide, tmp_path, monkeypatch):
    monkeypatch.setenv("ASSAY_LEDGER", str(tmp_path / "two.sqlite"))
    assert assay("judge", slide).returncode == 0
    assert not (slide / "labels.sqlite").exists()
    monkeypatch.delenv("ASSAY_LEDGER")
    done = assay("labels", "merge", slide, tmp_path / "two.sqlite")
    assert done.stdout == f"{tmp_path / 'two.sqlite'}: 7 labels added, 0 known.\n"
    assert assay("judge", slide).returncode == 0
    assert "Nothing to ask: all 7 labels" in assay("judge", slide).stderr
    assert assay("score", slide).returncode == 0  # out/ is of all shards together
    monkeypatch.setenv("ASSAY_LEDGER", str(tmp_path / "three.sqlite"))
    for more in ((), ("--dry-run",)):
        assert assay("judge", slide, "--shard", "1/2", *more).returncode == 0
    assert assay("labels", "merge", slide, slide / "labels.sqlite").returncode == 0
    for command in ("score", "judge", "evaluate --shard 1/2"):
        name, *more = command.split()
        assert "or it belongs to another ledger" in assay(name, slide, *more).stderr, command


@pytest.mark.parametrize("url", ["postgresql:labels", "POSTGRES:labels", "mysql://h/labels"])
def test_what_is_meant_for_a_url_is_no_file(assay, slide, url, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    before = {*tmp_path.iterdir()}
    monkeypatch.setenv("ASSAY_LEDGER", url)
    assert assay("judge", slide).returncode == 2
    monkeypatch.delenv("ASSAY_LEDGER")
    assert assay("judge", with_url(slide, url)).returncode == 2
    assert {*tmp_path.iterdir()} == before | {tmp_path / "served"}


def test_people_draws_and_trust_on_a_server(assay, world, people, on_postgres, monkeypatch):  # noqa: F811
    folder, truth, *_ = world
    found = []
    for url in ("", on_postgres):
        monkeypatch.setenv("ASSAY_LEDGER", url)
        shutil.rmtree(folder / "out", ignore_errors=True)
        assert assay("judge", folder).returncode == 0
        _, topics = drawn(assay, folder)
        people(folder, truth, topics)
        found.append(trusted(assay, folder, "-m", "HMR", "-m", "Accuracy")["scores"])
        assert assay("audit", folder, "--n", "5").returncode in (0, 1)
        plan = assay("plan", folder, "--width", ".2", "--json")
        found[-1].append((plan.returncode, plan.stdout))
    assert found[0] == found[1]
    assert "ASSAY_LEDGER" not in assay("labels", "stats", folder).stdout
    with Ledger.open(on_postgres) as ledger:
        assert len(ledger.draws()) == 1
        assert ledger.checked().labels > 180


def test_two_workbenches_see_each_others_labels(tmp_path, on_postgres, monkeypatch):
    monkeypatch.setattr("assay.web.desk.AT_ONCE", math.inf)  # not put off on a slow machine
    folders = [tmp_path / "one", tmp_path / "other"]
    for folder in folders:
        write_folder(folder, more=f'[ledger]\nurl = "{on_postgres}"\n')
    with Desk.open(Opened.open(folders[0])) as one, Desk.open(Opened.open(folders[1])) as other:
        for desk in (one, other):
            desk.sync()
        ann, kim = one.state.person("ANN"), other.state.person("KIM")
        (screen,) = one.next(ann, ENTAILMENT, count=1)
        waiting = [each["unit"] for each in other.next(kim, ENTAILMENT, count=9)]
        one.give(ann, screen["unit"], yes(screen))
        assert other.refresh()
        assert not other.refresh()
        assert [x.labeller.name for x in other.ledger.by_people()] == ["human:ANN"]
        left = [each["unit"] for each in other.next(kim, ENTAILMENT, count=9)]
        assert len(left) == len(waiting) - 1


def test_a_password_is_in_nothing_that_is_written_or_said(assay, slide, postgres, on_postgres):
    secret = "hush-hush-0815"
    postgres.run("CREATE ROLE kim LOGIN SUPERUSER")
    url = on_postgres.replace("postgres@", "kim@")
    told = []
    env = {"ASSAY_LEDGER": url.replace("kim@", f"kim:{secret}@")}
    for command in (("judge",), ("score",), ("report",), ("doctor",), ("labels", "stats")):
        done = assay(*command, slide, env=env)
        assert done.returncode in (0, 1), done.stderr
        told.append(done.stdout + done.stderr)
    for wrong in (
        f"postgresql://kim:{secret}@127.0.0.1:1/x",
        f"host=127.0.0.1 password = {secret}",
    ):
        refused = assay("score", slide, env={"ASSAY_LEDGER": wrong})
        assert refused.returncode == 2
        told.append(refused.stderr)
    with (slide / "assay.toml").open("a") as file:
        file.write(f'\n[ledger]\nurl = "{env["ASSAY_LEDGER"]}"\n')
    refused = assay("score", slide)
    assert refused.returncode == 2
    assert "assay.toml: [ledger] url: " in refused.stderr
    assert "PGPASSWORD" in refused.stderr
    told.append(refused.stderr)
    told += [one.read_text(errors="replace") for one in (slide / "out").rglob("*.*")]
    with Ledger.open(url) as ledger:
        told += map(repr, ledger.labels())
    assert not [one for one in told if secret in one]


def test_merging_adds_what_is_missing_once(assay, slide, tmp_path, on_postgres):
    assert assay("judge", slide).returncode == 0
    before = assay("labels", "export", slide).stdout
    parts = [tmp_path / "a.sqlite", on_postgres]
    for number, place in enumerate(parts):
        with Ledger.open(place) as ledger:
            ledger.add([label(n) for n in range(number, number + 3)])
            ledger.add([label(9, created="2026-01-01T00:00:00+00:00")])
    done = assay("labels", "merge", slide, *parts, "--json")
    assert done.returncode == 0, done.stderr
    added = [(one["added"], one["known"]) for one in json.loads(done.stdout)]
    assert added == [(4, 0), (3, 1)]
    with Ledger.open(slide / "labels.sqlite") as ledger:
        labels = list(ledger.labels())
        assert ledger.checked().labels == len({one.uid for one in labels}) == 14
        for place in parts:
            with Ledger.open(place) as other:
                there = {one.uid: one for one in other.labels()}
            own = {one.uid: one for one in labels if one.uid in there}
            assert [one._replace(rowid=0) for one in there.values()] == [
                own[uid]._replace(rowid=0) for uid in there
            ]
    assert assay("labels", "export", slide).stdout.startswith(before.splitlines()[0])
    again = assay("labels", "merge", slide, *parts)
    assert again.stdout.count("0 labels added") == 2
    assert assay("labels", "verify", slide).returncode == 0


def test_nothing_is_merged_where_one_was_changed(assay, slide, tmp_path):
    assert assay("judge", slide).returncode == 0
    parts = [tmp_path / "a.sqlite", tmp_path / "b.sqlite"]
    for number, place in enumerate(parts):
        with Ledger.open(place) as ledger:
            ledger.add([label(number)])
    with sqlite3.connect(parts[1]) as db:
        db.execute("DROP TRIGGER labels_keep")
        db.execute("UPDATE labels SET cost = 9")
    size = assay("labels", "stats", slide, "--json").stdout
    done = assay("labels", "merge", slide, *parts)
    assert done.returncode == 2
    assert "b.sqlite" in done.stderr
    assert assay("labels", "stats", slide, "--json").stdout == size
    assert assay("labels", "merge", slide, slide).returncode == 2
    assert "no ledger yet" in assay("labels", "merge", slide, tmp_path / "none").stderr


def test_who_said_otherwise_later_is_told_of(assay, slide, tmp_path):
    unit, kim = {"passage": "p", "nugget": "n"}, person("human:KIM")
    assert assay("judge", slide).returncode == 0
    for place, verdict, year in (
        (slide / "labels.sqlite", True, 2026),
        (tmp_path / "b", False, 2025),
    ):
        said = person_label(kim, TASK, unit, {"entailed": verdict, "reason": ""})
        with Ledger.open(place) as ledger:
            ledger.add([replace(said, created=f"{year}-01-01T00:00:00+00:00")])
    done = assay("labels", "merge", slide, tmp_path / "b")
    assert "1 label added" in done.stdout
    assert "1 of them now count" in done.stdout
    assert "1 of them are by human:KIM, on units that human:KIM has labelled here." in done.stdout
    with Ledger.open(slide / "labels.sqlite") as ledger, Ledger.open(tmp_path / "c") as later:
        later.copy_from(ledger)
        later.add([person_label(kim, TASK, unit, {"entailed": True, "reason": "again"})])
    assert "are by" not in assay("labels", "merge", slide, tmp_path / "c").stdout  # it goes on


def test_a_copy_grows_with_its_original_and_with_nothing_else(assay, tmp_path, on_postgres):
    file, back = tmp_path / "a.sqlite", tmp_path / "b.sqlite"
    with Ledger.open(file) as ledger:
        ledger.add([label(1), label(2)])
    assert "2 labels copied" in assay("labels", "copy", file, on_postgres).stdout
    with Ledger.open(file) as ledger:
        ledger.add([label(3)])
    assert "1 label copied; 3 in both" in assay("labels", "copy", file, on_postgres).stdout
    assert "3 labels copied" in assay("labels", "copy", on_postgres, back).stdout
    with Ledger.open(on_postgres) as ledger:
        ledger.add([label(4)])
    assert "1 label copied; 4 in both" in assay("labels", "copy", on_postgres, back).stdout
    refused = assay("labels", "copy", file, on_postgres)
    assert refused.returncode == 2
    assert "has labels that" in refused.stderr
    with Ledger.open(file) as ledger:
        ledger.add([label(5)])
    refused = assay("labels", "copy", file, back)
    assert refused.returncode == 2
    with Ledger.open(back) as one, Ledger.open(on_postgres) as other:
        assert one.checked() == other.checked()


def test_a_copy_holds_somebody_under_another_name_and_none_of_their_words(assay, tmp_path):
    file, copy = tmp_path / "a.sqlite", tmp_path / "b.sqlite"
    unit, kim, lee = {"passage": "p", "nugget": "n"}, person("human:kim@x"), person("human:LEE")

    def said(who, entailed, **more):
        verdict = {"entailed": entailed, "reason": "call Kim"}
        return person_label(who, TASK, unit, verdict, reason="call Kim", **more)

    draw = Draw("topics", (TASK.name,), 1, 7, ("1", "2"), (0.5, 0.5), (True, False))
    with Ledger.open(file) as ledger:
        (first,) = ledger.add([label(1), said(kim, True)])[1:]
        (second,) = ledger.add([said(kim, False, overrules=first)])
        ledger.add([said(lee, True, detail={"workbench": {"settles": [second], "seconds": 2.5}})])
        ledger.add_draw(draw)
    for name, other, why in (
        ("human:KIM", "human:P1", "KIM gave no label. People there: human:LEE, human:kim@x"),
        ("human:kim@x", "human:lee", "human:lee is another person there"),
        ("kim@x", "P1", "write human:NAME=human:OTHER"),
        ("kim@x", "human:P1", "is not a person's name"),
    ):
        done = assay("labels", "copy", file, copy, "--rename", f"{name}={other}")
        assert (done.returncode, why in done.stderr, copy.exists()) == (2, True, False)
    done = assay("labels", "copy", file, copy, "--rename", "human:kim@x=human:P1")
    assert "4 labels copied; 4 in the copy, head" in done.stdout
    assert b"kim@x" not in copy.read_bytes()
    with Ledger.open(copy) as ledger:
        machine, one, two, theirs = ledger.labels()
        assert ledger.draws() == [draw]
    assert [each.labeller.name for each in (one, two, theirs)] == ["human:P1"] * 2 + ["human:LEE"]
    assert two.overrules == one.uid
    assert theirs.detail["workbench"] == {"settles": [two.uid], "seconds": 2.5}
    assert (two.verdict, two.reason) == ({"entailed": False}, None)
    assert (theirs.verdict["reason"], theirs.reason) == ("call Kim", "call Kim")
    anew = person_label(person("human:P1"), TASK, unit, {})
    assert one.key == two.key == anew.key
    with Ledger.open(file) as ledger:
        assert machine.uid == next(ledger.labels()).uid
    assert "copy into a new ledger" in assay(
        "labels", "copy", file, copy, "--rename", "human:kim@x=human:P1"
    ).stderr  # fmt: skip
    gone = tmp_path / "d.sqlite"
    done = assay("labels", "copy", file, gone, "--without", "human:kim@x")
    assert "2 labels copied; 2 in the copy" in done.stdout
    assert b"kim@x" not in gone.read_bytes()
    with Ledger.open(gone) as ledger:
        assert [one.labeller for one in ledger.labels()] == [machine.labeller, lee]
        assert ledger.draws() == [draw]
    done = assay("labels", "copy", file, tmp_path / "e.sqlite", "--without", "human:kim")
    assert "human:kim gave no label" in done.stderr
    with Ledger.open(file) as ledger:
        ledger.add([said(person("human:KIM@X"), True)])
    done = assay("labels", "copy", file, tmp_path / "f.sqlite", "--without", "human:kim@x")
    assert "2 labels copied; 2 in the copy" in done.stdout
    joined = tmp_path / "c.sqlite"  # another spelling is the same person, whose words stay
    done = assay("labels", "copy", file, joined, "--rename", "human:KIM@X=human:kim@x")
    assert done.returncode == 0, done.stderr
    with Ledger.open(joined) as ledger:
        *_, last = ledger.labels()
        assert (last.labeller, last.reason) == (kim, "call Kim")
        assert {who.name for who in ledger.labellers().values()} >= {"human:kim@x", "human:LEE"}
    for other, code in (("human:KIM@X", 0), ("human:LEE", 2)):
        renaming = ("--rename", "human:kim@x=human:P1", "--rename", f"{other}=human:P1")
        target = tmp_path / f"{code}.sqlite"
        assert assay("labels", "copy", file, target, *renaming).returncode == code
        assert target.exists() == (code == 0)


@pytest.mark.parametrize("served", [False, True])
def test_parquet_holds_labels_by_task_and_labeller(assay, slide, tmp_path, on_postgres, served):
    assert assay("judge", slide).returncode == 0
    folder = slide
    if served:
        folder = with_url(slide, on_postgres)
        assay("labels", "copy", slide, on_postgres)
    out = tmp_path / "labels"
    assert "7 labels written" in assay("labels", "export", folder, "-o", out, "--parquet").stdout
    names = sorted(one.relative_to(out).parent.as_posix() for one in out.rglob("*.parquet"))
    assert names == [
        "task=r2c2.answer/labeller=recorded%3Arecorded.jsonl",
        "task=r2c2.dialogue_act/labeller=rules",
        "task=r2c2.entailment/labeller=recorded%3Arecorded.jsonl",
    ]
    frame = pl.concat(map(pl.read_parquet, out.rglob("*.parquet"))).sort("number")
    rows = map(json.loads, assay("labels", "export", slide).stdout.splitlines())
    for one, row in zip(frame.to_dicts(), rows, strict=True):
        assert one["uid"] == row["uid"]
        assert (one["task"], one["labeller"], one["unit_hash"], one["created"]) == (
            row["task"], row["labeller"]["name"], row["unit_hash"], row["created"]
        )  # fmt: skip
        for name in ("unit", "verdict", "detail"):
            assert json.loads(one[name]) == row[name]
    refused = assay("labels", "export", folder, "-o", out, "--parquet")
    assert refused.returncode == 2
    assert "is not empty" in refused.stderr
