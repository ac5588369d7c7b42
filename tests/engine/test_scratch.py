"""Bytes that do not fit into memory lie in a file without a name, which nobody has to remove."""

import os
import tempfile
from array import array
from io import FileIO

import pytest

from assay.model import scratch
from assay.model.errors import SettingsError
from assay.model.scratch import Numbers, Parts, Scratch, Texts


@pytest.fixture(autouse=True)
def _little_memory(tmp_path, monkeypatch):
    monkeypatch.setattr(scratch, "_HELD", 10)
    monkeypatch.setattr(scratch, "_BUFFER", 50)
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    for name in ("pread", "pwrite"):  # Windows has none
        monkeypatch.delattr(os, name)


def test_what_was_added_is_read_wherever_it_lies(tmp_path):
    found = Scratch()
    parts = [b"", b"four", b"sixsix", b"more", b"", b"x" * 5000, b"1"]
    places = [found.add(one) for one in parts]
    assert [found.read(at, len(one)) for at, one in zip(places, parts, strict=True)] == parts
    assert found.read(2, 2000) == b"".join(parts)[2:2002]
    assert len(found) == sum(map(len, parts))
    assert not list(tmp_path.iterdir())  # however the process ends, nothing is left


def test_what_awaits_being_written_is_read_at_any_time():
    found, said = Scratch(), b""
    for number in range(200):
        new = b"%d," % number
        at = found.add(new)
        said += new
        assert number % 7 or found.read(at, len(new)) == new
    assert found.read(0, len(said)) == said


@pytest.mark.parametrize("held", [None, 0, 10**6])
@pytest.mark.parametrize("count", [0, 1, 90])
def test_all_of_it_is_one_piece_wherever_it_lies(held, count):
    found = Scratch(held)
    for number in range(count):
        found.add(b"%d," % number)
    assert bytes(found.whole()) == b"".join(b"%d," % number for number in range(count))


def test_no_file_is_made_for_what_fits_into_memory(monkeypatch):
    monkeypatch.setattr(tempfile, "TemporaryFile", None)
    assert Scratch().add(b"0123456789") == 0


def test_a_full_disk_is_named_with_its_cure(tmp_path, monkeypatch):
    class Full(FileIO):
        def write(self, _):
            raise OSError(28, "No space left on device")

    monkeypatch.setattr(tempfile, "TemporaryFile", lambda **_: Full(tmp_path / "file", "w+"))
    with pytest.raises(SettingsError, match=f"{tmp_path}: .*No space left on device.*TMPDIR"):
        Scratch().add(b"y" * 100)


def test_where_no_folder_may_be_written_that_is_said(tmp_path, monkeypatch):
    monkeypatch.setattr(tempfile, "tempdir", None)
    monkeypatch.setattr(tempfile, "_candidate_tempdir_list", lambda: [str(tmp_path / "away")])
    with pytest.raises(SettingsError, match=r"No usable temporary directory.*TMPDIR"):
        Scratch(0).add(b"y" * 100_000)


def test_a_system_that_takes_and_gives_little_at_once(tmp_path, monkeypatch):
    class Little(FileIO):
        def write(self, data):
            return super().write(data[:7])

        def read(self, size):
            return super().read(min(size, 5))

    monkeypatch.setattr(tempfile, "TemporaryFile", lambda **_: Little(tmp_path / "file", "w+"))
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


@pytest.mark.parametrize("together", [0, 1000])
def test_several_texts_are_those_that_stand_there(together, monkeypatch):
    monkeypatch.setattr(scratch, "_TOGETHER", together)
    held = Scratch()
    row, beside = Texts(held), Texts(held)
    for number in range(40):
        row.append(f"{number}: ä\ud800" * (number % 3))
        beside.append("x")
    for places in ([7], [3, 3, 1, 20], range(40)):
        assert list(row.get_many(places)) == [row[at] for at in places]


@pytest.mark.parametrize(
    ("kind", "numbers"),
    [("b", range(-50, 50)), ("Q", range(2**63, 2**63 + 100)), ("d", [n / 3 for n in range(100)])],
)
@pytest.mark.parametrize("block", [1, 7, 1000])
def test_numbers_are_those_that_were_added(kind, numbers, block, monkeypatch):
    monkeypatch.setattr(scratch, "_BLOCK", block)
    monkeypatch.setattr(scratch, "_AT_ONCE", 3 * block)
    numbers, held = list(numbers), Scratch()
    found, beside = Numbers(held, kind), Numbers(held, kind)
    for number in numbers[:30]:
        found.append(number)
        beside.append(number)
    found.extend(numbers[30:60])
    found.extend(bytes(memoryview(array(kind, numbers[60:]))))
    assert len(found) == len(numbers)
    assert list(found) == numbers
    assert [found[at] for at in range(len(numbers))] == numbers
    assert [one for some in found.blocks() for one in some] == numbers
    for begin, end in ((0, 0), (3, 5), (0, 100), (13, 99), (100, 100)):
        assert list(found.slice(begin, end)) == numbers[begin:end]
    assert list(beside) == numbers[:30]
    with pytest.raises(IndexError):
        found[len(numbers)]


def test_parts_are_read_in_the_order_in_which_they_were_added():
    found = Parts(Scratch())
    for number, part in enumerate([3, 1, 3, 0, 1] * 9):
        found.add(part, b"%02d" % number)
    assert found.read(1) == b"".join(b"%02d" % n for n in range(45) if n % 5 in (1, 4))
    assert found.read(2) == b""
