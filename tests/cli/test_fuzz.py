"""A short run of benchmarks/fuzz.py, and what hostile files once did."""

from __future__ import annotations

import time

import pytest
import typer
from benchmarks import fuzz

from assay.model.errors import SettingsError
from assay.protocols.folder import Folder


def test_no_hostile_file_gets_past_the_readers():
    slow = ("wikitext", "dump", "segments")  # pages take processes
    for name in fuzz.SUBJECTS:
        if name not in slow:
            assert not fuzz.try_case(name, 1, 0, 20_000, 20.0)


@pytest.mark.parametrize("name", fuzz.SUBJECTS)
def test_files_without_harm_are_read(name):
    """Else the driver would try nothing but what is said of the first fault."""
    subject = fuzz.SUBJECTS[name]
    for command, wrong, _ in fuzz.tried(subject, fuzz.original(subject), 60.0, statuses=(0, 1)):
        assert wrong is None, command


def test_the_driver_sees_what_it_looks_for(monkeypatch):
    def broken():
        raise KeyError("x")

    for does, seen in [
        (broken, "KeyError"),
        (lambda: print("\x1b[2J"), "output holds"),
        (lambda: time.sleep(5), "took more than"),
        (lambda: exit(5), "exit status 5"),
    ]:
        made = typer.Typer()
        made.command()(does)
        monkeypatch.setattr(fuzz, "app", made)
        assert seen in (fuzz.run([], 0.5) or "")


def test_numbers_that_no_ledger_can_hold_are_refused(tmp_path):
    (tmp_path / "assay.toml").write_text(f"[judging]\nextra = {{a = [{2**63}]}}\n")
    with pytest.raises(SettingsError, match=r"judging.extra.a: 9223372036854775808"):
        Folder.open(tmp_path)


@pytest.mark.parametrize(
    "text", ["x = " + "[" * 100_000, "x = " + "{a=" * 5000, "x = " + "9" * 5000], ids=len
)
def test_toml_that_nests_or_counts_too_far_is_refused(tmp_path, text):
    (tmp_path / "assay.toml").write_text(text)
    with pytest.raises(SettingsError, match=r"assay.toml: (lists or tables|cannot be read)"):
        Folder.open(tmp_path)
