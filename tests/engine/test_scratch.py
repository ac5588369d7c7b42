"""Bytes that do not fit into memory lie in a file without a name, which nobody has to remove."""

import os
import tempfile

import pytest

from assay.model import scratch
from assay.model.errors import SettingsError
from assay.model.scratch import Scratch, Texts


@pytest.fixture(autouse=True)
def _little_memory(tmp_path, monkeypatch):
    monkeypatch.setattr(scratch, "_HELD", 10)
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))


def test_what_was_added_is_read_wherever_it_lies(tmp_path):
    found = Scratch()
    parts = [b"", b"four", b"sixsix", b"more", b"", b"x" * 5000, b"1"]
    places = [found.add(one) for one in parts]
    assert [found.read(at, len(one)) for at, one in zip(places, parts, strict=True)] == parts
    assert found.read(2, 2000) == b"".join(parts)[2:2002]
    assert len(found) == sum(map(len, parts))
    assert not list(tmp_path.iterdir())  # however the process ends, nothing is left


def test_no_file_is_made_for_what_fits_into_memory(monkeypatch):
    monkeypatch.setattr(tempfile, "TemporaryFile", None)
    assert Scratch().add(b"0123456789") == 0


def test_a_full_disk_is_named_with_its_cure(tmp_path, monkeypatch):
    found = Scratch()
    found.add(b"x" * 100)

    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "pwrite", full)
    with pytest.raises(SettingsError, match=f"{tmp_path}: .*No space left on device.*TMPDIR"):
        found.add(b"y" * 100)


def test_a_system_that_takes_and_gives_little_at_once(monkeypatch):
    write, read = os.pwrite, os.pread
    monkeypatch.setattr(os, "pwrite", lambda file, data, at: write(file, data[:7], at))
    monkeypatch.setattr(os, "pread", lambda file, size, at: read(file, min(size, 5), at))
    found = Scratch()
    data = bytes(range(256))
    assert found.read(found.add(data), len(data)) == data
    with pytest.raises(SettingsError, match="cut short"):
        found.read(100, 200)


def test_texts_of_several_rows_lie_in_one_place():
    held = Scratch()
    rows = [Texts(held), Texts(held)]
    said = ["", "one", "zwölf\nlines", "\ud800 alone", "x" * 50]
    for text in said:
        for row in rows:
            row.append(text)
    assert all([row[at] for at in range(len(row))] == said for row in rows)
