"""What an evaluation folder names lies in it: one that somebody sends can take no files."""

import json
import re
import shutil
import struct

import pytest

from assay.ledger import Ledger
from assay.model.errors import LedgerError, SettingsError
from assay.protocols.folder import Folder
from assay.web.state import WorkbenchState
from tests.conftest import copy_example


@pytest.fixture
def slide(tmp_path):
    (tmp_path / "private").mkdir()
    return copy_example("slide", tmp_path / "slide")


def outside(slide, name):
    """Moves a file of the folder beside it."""
    target = slide.parent / "private" / name.rpartition("/")[2]
    shutil.move(slide / name, target)
    return target


def renamed(slide, old, new):
    path = slide / "assay.toml"
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new))


def through_dots(slide):
    outside(slide, "questions.tsv")
    renamed(slide, '"questions.tsv"', '"../private/questions.tsv"')


def through_a_whole_path(slide):
    renamed(slide, '"questions.tsv"', f'"{outside(slide, "questions.tsv")}"')


def through_a_link(slide):
    (slide / "questions.tsv").symlink_to(outside(slide, "questions.tsv"))


def through_a_link_that_a_pattern_finds(slide):
    (slide / "ac" / "SLIDE.txt").symlink_to(outside(slide, "ac/SLIDE.txt"))


def through_a_linked_folder(slide):
    shutil.move(slide / "pr", slide.parent / "private" / "pr")
    (slide / "pr").symlink_to(slide.parent / "private" / "pr", target_is_directory=True)


def a_labeller(slide):
    outside(slide, "recorded.jsonl")
    renamed(slide, "recorded:recorded.jsonl", "recorded:../private/recorded.jsonl")


def a_prompt(slide):
    secret = slide.parent / "private" / "secret"
    secret.write_text("{% block system %}x{% endblock %}{% block user %}y{% endblock %}")
    (slide / "prompts").mkdir()
    (slide / "prompts" / "r2c2_entailment.j2").symlink_to(secret)


def a_ledger(slide):
    path = slide / "assay.toml"
    path.write_text(path.read_text() + '[ledger]\npath = "../private/labels.sqlite"\n')


WAYS = [
    *(
        through_dots,
        through_a_whole_path,
        through_a_link,
        through_a_link_that_a_pattern_finds,
        through_a_linked_folder,
    ),
    *(a_labeller, a_prompt, a_ledger),
]


@pytest.mark.parametrize("way", WAYS)
def test_nothing_outside_is_read_unless_the_person_names_the_place(assay, slide, way):
    way(slide)
    done = assay("evaluate", slide)
    assert done.returncode == 2, done.stdout
    assert "outside the folder" in done.stderr
    assert "--trust" in done.stderr
    private = slide.parent / "private"
    assert not (private / "labels.sqlite").exists()
    assert assay("--trust", private, "evaluate", slide).returncode == 0


def test_files_of_one_name_in_trusted_folders_are_several_in_the_manifest(assay, slide, tmp_path):
    folder = copy_example("exam", tmp_path / "exam", recorded=True)
    for run in (folder / "runs").iterdir():
        (tmp_path / "private" / run.stem).mkdir()
        run.rename(tmp_path / "private" / run.stem / "x.run")
    renamed(folder, '"runs/*.run"', '"../private/*/x.run"')
    done = assay("--trust", tmp_path / "private", "evaluate", folder)
    assert done.returncode == 0, done.stderr
    inputs = json.loads((folder / "out" / "manifest.json").read_text())["inputs"]
    assert {"GOOD/x.run", "NARROW/x.run", "VAGUE/x.run"} < inputs.keys()


@pytest.mark.parametrize("name", ["../private/secret", "/etc/hostname", "link.j2"])
def test_a_template_includes_nothing_from_outside(assay, slide, name):
    secret = slide.parent / "private" / "secret"
    secret.write_text("hush")
    prompts = slide / "prompts"
    prompts.mkdir()
    (prompts / "link.j2").symlink_to(secret)
    (prompts / "r2c2_entailment.j2").write_text(
        f"{{% block system %}}x{{% include '{name}' %}}{{% endblock %}}"
        "{% block user %}link.j2 'link.j2'{% endblock %}"
    )
    done = assay("judge", slide, "--show-prompts", "3", "--labeller", "openai:m@http://127.0.0.1:9")
    assert done.returncode == 2
    assert "hush" not in done.stdout + done.stderr


def test_a_labeller_that_the_person_names_may_lie_anywhere(assay, slide):
    recorded = outside(slide, "recorded.jsonl")
    done = assay("evaluate", slide, "--labeller", f"recorded:{recorded}")
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize(
    ("url", "host"),
    [
        ("postgresql://me@db.example.org/x", "db.example.org"),
        ("postgresql://me@localhost,DB.example.org:5432/x", "db.example.org"),
        ("postgresql://me@[fd00::1]:5432/x", "fd00::1"),
        ("postgresql://localhost/x?host=db.example.org", "db.example.org"),
        ("postgresql://localhost/x?hostaddr=192.0.2.1", "192.0.2.1"),
        ("postgresql:///x?hostaddr=%3192.0.2.1", "192.0.2.1"),
        ("postgresql:///x?service=theirs", "service=theirs"),
    ],
)
def test_labels_and_passwords_go_to_no_host_that_only_a_file_names(slide, monkeypatch, url, host):
    path = slide / "assay.toml"
    path.write_text(path.read_text() + f'[ledger]\nurl = "{url}"\n')
    with pytest.raises(
        SettingsError, match=f"would go to {re.escape(host)}, a host that only a file"
    ):
        Folder.open(slide)
    if "=" not in host:
        monkeypatch.setenv("ASSAY_TRUSTED_HOSTS", f"other.example, {host}")
        assert Folder.open(slide).ledger_place == url
        monkeypatch.delenv("ASSAY_TRUSTED_HOSTS")
    monkeypatch.setenv("ASSAY_LEDGER", "postgresql://me@mine.example/x")
    assert Folder.open(slide).ledger_place == "postgresql://me@mine.example/x"


@pytest.mark.parametrize("url", ["postgresql://me@localhost/x", "postgresql:///x?host=/tmp/y"])
def test_nor_does_a_password_to_a_port_of_this_machine(slide, monkeypatch, url):
    path = slide / "assay.toml"
    path.write_text(path.read_text() + f'[ledger]\nurl = "{url}"\n')
    monkeypatch.delenv("PGPASSWORD", raising=False)
    assert Folder.open(slide).ledger_place == url
    monkeypatch.setenv("PGPASSWORD", "hush")
    with pytest.raises(SettingsError, match="password and the labels would go to"):
        Folder.open(slide)


def test_an_address_is_read_as_by_the_library_that_connects(slide):
    path = slide / "assay.toml"
    path.write_text(path.read_text() + '[ledger]\nurl = "postgresql://x@evil,y@localhost/x"\n')
    with pytest.raises(SettingsError, match="URL cannot be read"):
        Folder.open(slide)


@pytest.mark.parametrize(
    "url",
    ["postgresql:///x", "postgresql://me@127.0.0.1:5432/x", "postgresql://%2Fvar%2Frun/x",
     "postgresql://me@[::1]/x?host=/tmp"],
)  # fmt: skip
def test_a_folder_may_name_a_ledger_of_this_machine(slide, url):
    path = slide / "assay.toml"
    path.write_text(path.read_text() + f'[ledger]\nurl = "{url}"\n')
    assert Folder.open(slide).ledger_place == url


MAGIC = bytes.fromhex("d9d505f920a163d7")


def journal(path, named):
    """A rollback journal beside a file of SQLite's; one that names a file has SQLite delete it."""
    page = int.from_bytes(path.read_bytes()[16:18], "big")
    head = MAGIC + struct.pack(">5I", 0, 0, path.stat().st_size // page, 512, page)
    name = str(named).encode() if named else b""
    end = struct.pack(">I", (1 << 30) // page + 1) + name + struct.pack(">2I", len(name), sum(name))
    path.with_name(f"{path.name}-journal").write_bytes(
        head.ljust(512, b"\0") + (end + MAGIC if named else b"")
    )


@pytest.mark.parametrize("opened", [Ledger.open, WorkbenchState], ids=["ledger", "workbench"])
def test_no_file_is_deleted_that_a_folder_names_to_sqlite(tmp_path, opened):
    path, precious = tmp_path / "f" / "x.sqlite", tmp_path / "precious"
    path.parent.mkdir()
    precious.write_text("kept for years")
    with opened(path):
        pass
    link = tmp_path / "f" / "link.sqlite"
    link.symlink_to(path)
    journal(path, precious)
    for each in (path, link):
        with pytest.raises(LedgerError, match="this journal names a file that SQLite would delete"):
            opened(each)
    assert precious.read_text() == "kept for years"
    journal(path, None)  # as SQLite leaves it where it was killed
    with opened(path):
        assert not path.with_name("x.sqlite-journal").exists()
