"""Folders as they come from elsewhere: labels of other versions, junk, links, damaged files."""

from __future__ import annotations

import asyncio
import json
import shutil
import sqlite3
import time
import uuid
from dataclasses import replace
from itertools import count
from pathlib import Path

import pytest

from assay.api.opened import Opened
from assay.ledger import Ledger, NewLabel
from assay.ledger.exchange import person, person_label
from assay.model.errors import AssayError, FormatError, LedgerError, SettingsError
from assay.model.labels import Status
from assay.model.paths import TRUSTED_FOLDERS
from assay.web import people
from assay.web.desk import Desk
from assay.web.people import Role
from assay.web.server import opened_bench
from assay.web.state import WorkbenchState
from tests.engine.asking import aloud, ended, forked, meekly
from tests.web.conftest import ANSWERS, write_folder
from tests.web.test_report import report_of
from tests.web.test_server import Client

ENTAILMENT = "r2c2.entailment"


def opened(folder):
    return Desk.open(Opened.open(folder))


def label_of(desk, content, **more):
    return person_label(
        person("human:KIM"), desk.tasks[ENTAILMENT], content, {"entailed": "YES"}, **more
    )


def asked(desk, name="KIM"):
    kim = desk.state.person(name)
    return {one["unit"] for one in desk.next(kim, ENTAILMENT, count=50)}


def contents(desk):
    return [
        json.loads(row.content) for row in desk.state.units("WHERE wanted AND task = ?", ENTAILMENT)
    ]


def test_a_label_of_another_version_of_the_task_is_asked_anew(tmp_path):
    with opened(write_folder(tmp_path / "f")) as desk:
        desk.sync()
        before = asked(desk)
        content = contents(desk)[0]
        desk.ledger.add([replace(label_of(desk, content), version="0")])
        desk.sync()
        assert asked(desk) == before
        desk.ledger.add([label_of(desk, content)])
        desk.sync()
        assert len(asked(desk)) == len(before) - 1


def test_a_label_that_was_there_before_its_unit_counts(tmp_path):
    folder = write_folder(tmp_path / "f", answers={"ONE": ANSWERS["ONE"]})
    other = write_folder(tmp_path / "g", answers={"TWO": ANSWERS["TWO"]})
    with opened(other) as desk:
        desk.sync()
        (content,) = contents(desk)
    with opened(folder) as desk:
        desk.ledger.add([label_of(desk, content)])
        desk.sync()
        assert content not in contents(desk)
    shutil.copy(other / "ac" / "TWO.txt", folder / "ac")
    with opened(folder) as desk:
        desk.sync()
        assert content in contents(desk)
        left = [desk.state.unit(one).content for one in asked(desk)]
        assert content not in map(json.loads, left)


def machine_label(desk, content, detail):
    return NewLabel(
        key=uuid.uuid4().hex, task=ENTAILMENT, version=desk.tasks[ENTAILMENT].version,
        unit=label_of(desk, content).unit, content=content, status=Status.OK,
        labeller=desk.asked.machine_of(ENTAILMENT), verdict={"entailed": "NO", "reason": ""},
        detail=detail,
    )  # fmt: skip


def test_what_labels_from_elsewhere_say_of_themselves_may_be_anything(tmp_path):
    odd = {"probes": [{"margin": "high"}], "rulings": 7, "workbench": 7}
    with opened(write_folder(tmp_path / "f")) as desk:
        desk.sync()
        content = contents(desk)[0]
        of_person = label_of(desk, content, detail={"workbench": ["blind"]})
        desk.ledger.add([of_person, machine_label(desk, content, odd)])
        desk.sync()
        assert desk.state.one("SELECT COUNT(*) FROM given")[0] == 1
        assert desk.state.one("SELECT sure FROM units WHERE machine = 'ok'")[0] is None


def test_what_the_machine_was_least_certain_of_comes_first(tmp_path):
    """As embedded models and the embedded judge write it; a rule has no probability."""
    details = [
        {"probes": [{"margin": 4.0, "threshold": 0.5}, {"margin": -0.5, "threshold": 0.5}]},
        {"rulings": [{"yes": 0.0, "threshold": 0.5}]},
        {"rulings": [{"yes": 0.62, "threshold": 0.5}]},
        {"rulings": []},
    ]
    with opened(write_folder(tmp_path / "f")) as desk:
        desk.sync()
        some = contents(desk)[: len(details)]
        desk.ledger.add(map(machine_label, [desk] * len(some), some, details))
        desk.sync()
        screens = desk.next(desk.state.person("KIM"), ENTAILMENT, "uncertain", count=9)
        rows = [desk.row(one["unit"]) for one in screens]
        assert [some.index(json.loads(one.content)) for one in rows] == [2, 0, 1]


@pytest.mark.parametrize("name", ["guidelines/r2c2.entailment.md", "workbench.sqlite"])
def test_a_link_out_of_the_folder_is_not_followed(tmp_path, name):
    folder = write_folder(tmp_path / "f")
    (tmp_path / "elsewhere").write_text("secret", encoding="utf-8")
    (folder / name).parent.mkdir(exist_ok=True)
    (folder / name).symlink_to(tmp_path / "elsewhere")
    with pytest.raises(SettingsError, match="outside the folder"), opened(folder) as desk:
        desk.sync()
    assert (tmp_path / "elsewhere").read_text(encoding="utf-8") == "secret"


def test_guidelines_and_settings_of_another_encoding_are_shown_to_nobody(tmp_path):
    folder = write_folder(tmp_path / "f")
    (folder / "guidelines").mkdir()
    (folder / "guidelines" / "r2c2.entailment.md").write_bytes(b"Caf\xe9 \n\nTwo")
    with pytest.raises(FormatError, match=r"entailment\.md:1 Not UTF-8"), opened(folder):
        pass
    with (folder / "assay.toml").open("ab") as stream:
        stream.write("# 予行".encode("cp932"))
    with (
        pytest.raises(SettingsError, match=r"assay\.toml: the file is not UTF-8\. Save"),
        opened(folder),
    ):
        pass


@pytest.mark.parametrize(
    "write",
    [
        lambda path: path.write_bytes(b"no database at all" * 100),
        lambda path: sqlite3.connect(path).execute("CREATE TABLE units (id)"),
        lambda path: sqlite3.connect(path).execute("CREATE VIEW people AS SELECT 1"),
    ],
)
def test_a_damaged_state_is_told_with_its_cure(tmp_path, write, assay_process):
    folder = write_folder(tmp_path / "f")
    write(folder / "workbench.sqlite")
    done = assay_process("ui", folder, "--no-browser", "--port", "0")
    assert done.returncode == 2
    assert "workbench.sqlite: " in done.stderr
    assert "Traceback" not in done.stderr


def test_a_person_of_no_role_is_told(tmp_path):
    with WorkbenchState(tmp_path / "w.sqlite") as state:
        state.person("ANN")
        state.execute("UPDATE people SET role = 'king'")
        with pytest.raises(AssayError, match="unknown role"):
            state.people()


def test_a_restart_in_a_container_without_an_id_lets_everybody_in_again(tmp_path, monkeypatch):
    read = Path.read_text

    def text(path, *how, **options):
        if str(path) == "/etc/machine-id":
            raise FileNotFoundError
        return read(path, *how, **options)

    monkeypatch.setattr(Path, "read_text", text)
    monkeypatch.setattr(uuid, "getnode", count(1).__next__)  # as without a card for the network
    with WorkbenchState(tmp_path / "w.sqlite") as state:
        cookie = state.enter(state.link(state.person("ANN", Role.ORGANISER), hours=1))
    with WorkbenchState(tmp_path / "w.sqlite") as state:
        assert state.session(cookie)


def test_a_copy_of_the_state_lets_nobody_in(tmp_path):
    path, copy = tmp_path / "w.sqlite", tmp_path / "copy.sqlite"
    with WorkbenchState(path) as state:
        ann = state.person("ANN", Role.ORGANISER)
        cookie = state.enter(state.link(ann, hours=1))
        token = state.link(ann, hours=1)
        assert state.session(cookie)
    with WorkbenchState(path) as state:
        assert state.session(cookie)
    shutil.copy(path, copy)
    with WorkbenchState(copy) as state:
        assert state.session(cookie) is None
        assert state.enter(token) is None
        assert state.people() == [ann._replace(role=Role.LABELLER)]


PREPARED = {
    "trigger": "CREATE TRIGGER t AFTER INSERT ON links BEGIN "
    "INSERT INTO sessions VALUES ({known}, NEW.person, '', 4e9); END",
    "view": "DROP TABLE sessions; CREATE VIEW sessions AS SELECT {known} AS hash, 1 AS person",
    "table": "DROP TABLE sessions; CREATE TABLE sessions "
    "(junk, person, csrf, made, hash GENERATED ALWAYS AS ({known}) VIRTUAL)",
}


@pytest.mark.parametrize("what", PREPARED)
def test_a_state_that_somebody_prepared_lets_nobody_in(tmp_path, what):
    path, sent = tmp_path / "w.sqlite", tmp_path / "sent.sqlite"
    with WorkbenchState(path) as state:
        state.person("EVE", Role.ORGANISER)
    shutil.copy(path, sent)
    with sqlite3.connect(sent) as db:
        db.executescript(PREPARED[what].format(known=f"x'{people.hashed('known').hex()}'"))
    if what != "table":
        with pytest.raises(LedgerError, match=rf"holds a {what} .* Move the file away"):
            WorkbenchState(sent)
        return
    with WorkbenchState(sent) as state:
        assert state.enter(state.link(state.person("ANN", Role.ORGANISER), hours=1))
        assert state.session("known") is None


def test_a_link_that_is_opened_again_and_again_stores_little(tmp_path):
    with WorkbenchState(tmp_path / "w.sqlite") as state:
        token = state.link(state.person("ANN"), hours=1)
        cookies = [state.enter(token) for _ in range(50)]
        assert state.one("SELECT COUNT(*) FROM sessions")[0] <= 20
        assert state.one("SELECT COUNT(*) FROM entering")[0] <= 20
        assert state.session(cookies[-1])
        assert state.session(cookies[0]) is None


def test_a_cookie_lets_in_for_three_months(tmp_path, monkeypatch):
    with WorkbenchState(tmp_path / "w.sqlite") as state:
        cookie = state.enter(state.link(state.person("ANN"), hours=1))
        assert state.session(cookie)
        now = time.time()
        monkeypatch.setattr(time, "time", lambda: now + people.SESSION + 1)
        assert state.session(cookie) is None
        state.enter(state.link(state.person("ANN"), hours=1))
        assert state.one("SELECT COUNT(*) FROM sessions")[0] == 1


@pytest.mark.parametrize(
    ("keys", "told"),
    [
        ('jump = "x"', "unknown commands: jump"),
        ('skip = "f"', "skip and flag have the same key"),
        ('skip = "x"\nflag = "x"', "have the same key"),
        ('skip = "1"', "digits give verdicts"),
        ('skip = ""', "cannot be a command's key"),
        ('skip = "xy"', "cannot be a command's key"),
        ('skip = "Tab"', "cannot be a command's key"),
        ('[ui.topics]\nKIM = ["1"]\n"human:KIM" = ["2"]', "is listed twice"),
    ],
)
def test_keys_that_cannot_be_are_told(tmp_path, keys, told):
    folder = write_folder(tmp_path / "f", more=f"[ui.keys]\n{keys}")
    with pytest.raises(SettingsError, match=told):
        Opened.open(folder)


def test_two_commands_may_change_their_keys_with_each_other(tmp_path):
    folder = write_folder(tmp_path / "f", more='[ui.keys]\nskip = "f"\nflag = "s"\nsubmit = "F2"')
    keys = Opened.open(folder).folder.config.ui.keys
    assert (keys["skip"], keys["flag"], keys["submit"], keys["undo"]) == (
        "f",
        "s",
        "F2",
        "Backspace",
    )


@pytest.mark.parametrize("name", ["kim kong", "ＫＩＭ KONG", "KIM  KONG"])
def test_a_name_that_people_take_for_anothers_is_refused(tmp_path, name):
    with opened_bench(Opened.open(write_folder(tmp_path / "f"))) as bench:
        assert bench.link("KIM KONG", Role.LABELLER)[0] == bench.link("KIM KONG", None)[0]
        bench.link("KÏM KONG", None)
        with pytest.raises(SettingsError, match=r"There is already KIM KONG, .*Write KIM KONG"):
            bench.link(name, None)


def test_labels_by_names_that_people_take_for_one_are_told_of(tmp_path, assay):
    folder = write_folder(tmp_path / "f")
    unit = {"passage": "It is old.", "nugget": "It is."}
    row = {"task": ENTAILMENT, "verdict": {"entailed": "YES"}, "unit": unit}
    file = tmp_path / "labels.jsonl"
    names = ("human:KIM", "human:LEE", "human:kim", "human:LEE")
    lines = (json.dumps(row | {"labeller": one}) + "\n" for one in names)
    file.write_text("".join(lines), encoding="utf-8")
    done = assay("labels", "import", folder, file)
    assert done.returncode == 0
    assert "human:kim and human:KIM are two people here." in done.stderr
    assert "--rename human:kim=human:KIM' joins them" in done.stderr.replace("\n", " ")
    assert "LEE" not in done.stderr


def test_who_is_invited_again_stays_what_they_are(serve, tmp_path):
    folder = write_folder(tmp_path / "f")
    server = serve(folder, "--invite", "KIM", "--role", "adjudicator")
    assert "For KIM (adjudicator): " in "\n".join(server.lines)
    server.stop()
    server = serve(folder, "--invite", "KIM", "--invite", "LEE")
    assert "For KIM (adjudicator): " in "\n".join(server.lines)
    assert "For LEE (labeller): " in "\n".join(server.lines)


@pytest.mark.parametrize("name", ["", " ANN", "A\nB", "山田　太郎"])
def test_a_name_that_cannot_be_told_from_others_is_refused(tmp_path, assay_process, name):
    folder = write_folder(tmp_path / "f")
    done = assay_process("ui", folder, "--no-browser", "--port", "0", "--invite", name)
    assert done.returncode == 2
    assert "is not a name" in done.stderr


def test_scores_that_cannot_be_had_are_told_on_every_page(serve, tmp_path):
    folder = write_folder(tmp_path / "f")
    client = Client(serve(folder))
    with sqlite3.connect(folder / "labels.sqlite") as db:
        db.execute("DROP TABLE labels")
    for path in ("/runs", "/report", "/live", "/label/r2c2.entailment?queue=widest"):
        reply, text = client.get(path)
        assert reply.status == 503, path
        assert "labels.sqlite" in json.loads(text)["error"]


def test_the_report_stands_in_no_frame_of_another_page(serve, tmp_path):
    reply, _ = report_of(Client(serve(write_folder(tmp_path / "f"))))
    assert "frame-ancestors 'none'" in reply.getheader("Content-Security-Policy")
    assert "script-src" in reply.getheader("Content-Security-Policy")


async def reported(bench):
    number = await bench.report.asked()
    while not await bench.report.there(number):
        pass


def test_what_the_command_line_trusts_is_trusted_in_every_thread(tmp_path):
    folder = write_folder(tmp_path / "f")
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    shutil.move(folder / "ac" / "ONE.txt", elsewhere)
    (folder / "ac" / "ONE.txt").symlink_to(elsewhere / "ONE.txt")
    token = TRUSTED_FOLDERS.set((elsewhere,))
    try:
        with opened_bench(Opened.open(folder)) as bench:
            assert "ONE" in asyncio.run(bench.scored()).runs
            asyncio.run(reported(bench))
            assert bench.now(TRUSTED_FOLDERS.get) == (elsewhere,)
    finally:
        TRUSTED_FOLDERS.reset(token)


def begin(folder):
    with opened_bench(Opened.open(folder)):
        pass


def test_where_no_label_could_be_kept_no_workbench_opens(tmp_path):
    folder, told = write_folder(tmp_path / "f"), tmp_path / "told"
    Ledger.open(folder / "labels.sqlite").close()
    (folder / "labels.sqlite").chmod(0o444)
    assert ended(forked(meekly, aloud, told, begin, folder)) == 1
    assert "attempt to write a readonly database. Check that" in told.read_text()
