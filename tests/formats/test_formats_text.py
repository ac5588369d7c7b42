"""Text files as lines: compression, byte order marks, line endings, encodings; run names."""

from __future__ import annotations

import bz2
import gzip
import subprocess
import sys
import zipfile

import pytest
from typer.testing import CliRunner

from assay.cli.commands import app
from assay.formats.naming import run_name
from assay.formats.parsed import Parsed
from assay.formats.text import read_text
from assay.model.errors import AssayError, Fault, FormatError, SettingsError
from assay.model.wording import printable


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("WASEDA-PR-1.txt.gz", "WASEDA-PR-1"),
        ("WASEDA-PR-1.TXT", "WASEDA-PR-1"),
        ("run.v2.txt", "run.v2"),
        ("run.v2", "run.v2"),
        ("run.v2.bz2", "run.v2"),
        ("a/b/x.tsv.bz2", "x"),
        ("plain", "plain"),
        (".txt", ".txt"),
    ],
)
def test_run_name(name, expected):
    assert run_name(name) == expected


def test_plain_lines(write):
    source = read_text(write("a\n\nb"))
    assert source.lines == ("a", "", "b")
    assert source.last_newline_missing
    assert source.faults == ()


@pytest.mark.parametrize("end", ["", "\n", "\n\n"])
def test_long_plain_files_line_by_line(write, end):
    lines = [f"{n} " + "x" * (n * 37 % 211) for n in range(3000)] + ["y" * 100_000, "", "last"]
    path = write("\n".join(lines) + end)
    expected = [*lines, *[""] * (len(end) - 1)]
    assert [line for _, line in read_text(path).numbered()] == expected
    source = read_text(path)
    assert source.plain
    assert list(source.lines) == expected
    assert [number for number, _ in source.numbered()] == list(range(1, len(expected) + 1))


def test_bom_and_crlf(write):
    source = read_text(write(b"\xef\xbb\xbfa\r\n\xc3\xa9\r\nb\n"))
    assert source.lines == ("a", "é", "b")
    assert not source.last_newline_missing


@pytest.mark.parametrize("name", ["x.txt.gz", "x.txt.bz2", "misnamed.txt"])
@pytest.mark.parametrize("pack", [gzip.compress, bz2.compress])
def test_compression_is_recognised_by_its_magic(write, name, pack):
    source = read_text(write(pack(b"a;b\n"), name))
    assert source.lines == ("a;b",)
    assert source.data == b"a;b\n"
    assert source.faults == ()


def test_empty_compressed_files(write):
    assert read_text(write(bz2.compress(b""), "x.bz2")).lines == ()
    assert read_text(write(gzip.compress(b""), "x.gz")).lines == ()


def test_gz_name_on_plain_file_is_a_warning(write):
    (fault,) = read_text(write("a\n", "x.gz")).faults
    assert fault.severity == "warning"
    assert "not compressed" in fault.why


@pytest.mark.parametrize(
    "data",
    [
        gzip.compress(b"hello" * 99)[:-9],
        gzip.compress(b"hello" * 99)[:-1] + b"\x01",
        gzip.compress(b"x")[:12],
        bz2.compress(b"hello" * 99)[:-4],
        bz2.compress(b"hello" * 99)[:10] + b"garbage",
    ],
    # Explicit ids: gzip headers hold the time, so generated ids would differ between processes.
    ids=["gz-cut", "gz-sum", "gz-start", "bz2-cut", "bz2-middle"],
)
def test_damaged_compression(write, data):
    with pytest.raises(FormatError, match="damaged or cut off"):
        read_text(write(data, "x.bin"))


def test_unreadable_files(tmp_path, write):
    with pytest.raises(AssayError, match="no such file"):
        read_text(tmp_path / "none.txt")
    with pytest.raises(AssayError, match=r"a folder\. Give the files in it\.$"):
        read_text(tmp_path)
    (tmp_path / "assay.toml").touch()
    with pytest.raises(AssayError, match="'assay judge FOLDER --dry-run' checks all"):
        read_text(tmp_path)
    with pytest.raises(AssayError, match="cannot be read"):
        read_text("a\0b")
    with pytest.raises(FormatError, match="UTF-16"):
        read_text(write("a".encode("utf-16")))
    with pytest.raises(FormatError, match="a Parquet file"):
        read_text(write(b"PAR1\x15\x04"))
    packed = tmp_path / "x.zip"
    with zipfile.ZipFile(packed, "w") as archive:
        archive.writestr("a", "b")
    with pytest.raises(FormatError, match="ZIP"):
        read_text(packed)


@pytest.mark.parametrize(
    ("encoding", "text"),
    [
        ("cp932", "日-{}\tゴジラの{}作目\n"),
        ("gb18030", "中-{}\t《红楼梦》第{}回\n"),
        ("cp949", "한-{}\t제{}대 왕\n"),
        ("cp1252", "x{}\tFür Köln {}\n"),
        ("utf-16-le", "日-{}\t{}作目\n"),
    ],
)
def test_a_file_in_another_encoding_is_one_fault(write, encoding, text):
    lines = ["id\ttext\n", *(text.format(n, n) for n in range(1, 9))]
    path = write("".join(lines).encode(encoding))
    with pytest.raises(FormatError, match=r"another encoding than UTF-8.*CP932 in Japan") as error:
        read_text(path)
    (fault,) = error.value.faults
    assert fault.line in {1, 2}
    # If most of what is not ASCII is valid UTF-8, single lines are damaged: all are reported.
    mixed = [line.encode() for line in lines] + [b"x\xff\n"] * 2
    faults = read_text(write(b"".join(mixed))).faults
    assert [fault.line for fault in faults] == [10, 11]


def test_decompression_bomb(write, monkeypatch):
    monkeypatch.setenv("ASSAY_MAX_UNPACKED", "5000")
    path = write(gzip.compress(b"\n" * 100_000), "x.gz")
    with pytest.raises(FormatError, match=r"bytes unpack to more than 5,000"):
        read_text(path)


@pytest.mark.parametrize("pack", [gzip.compress, bz2.compress])
@pytest.mark.parametrize("command", [["validate"], ["measure", "-m", "nDCG@10", "QRELS"]])
def test_a_high_compression_ratio_is_refused_naming_the_setting(
    tmp_path, write, pack, command, monkeypatch
):
    monkeypatch.setattr("assay.formats.text._ALWAYS_ALLOWED", 1 << 20)
    (tmp_path / "qrels").write_text("q 0 d 1\n")
    bomb = write(pack(b"q Q0 d 1 1 r\n" + b"x" * (3 << 20)), "run.txt")
    command = [str(tmp_path / "qrels") if part == "QRELS" else part for part in command]
    found = CliRunner().invoke(app, [*command, str(bomb)])
    assert isinstance(found.exception, FormatError | SystemExit)
    said = f"{found.output} {found.exception}"
    assert "run.txt" in said
    assert "unpack to more than 1,048,576" in said
    assert "ASSAY_MAX_UNPACKED" in said
    monkeypatch.setenv("ASSAY_MAX_UNPACKED", "4000000")
    assert len(read_text(bomb).data) > 3 << 20
    monkeypatch.setenv("ASSAY_MAX_UNPACKED", "much")
    with pytest.raises(SettingsError, match="write a number of bytes"):
        read_text(bomb)


@pytest.mark.skipif(sys.platform != "linux", reason="limits on a process's memory are Linux's")
@pytest.mark.parametrize(
    "packed", [bytes, gzip.compress, bz2.compress], ids=["plain", "gzip", "bzip2"]
)
def test_a_small_file_needs_little_memory_whatever_the_limit(write, packed):
    path = write(packed(b"one\ntwo\n"), "x.txt")
    code = (
        "import resource, sys; from assay.formats.text import read_text; "
        "resource.setrlimit(resource.RLIMIT_AS, (1 << 30, 1 << 30)); "
        "print(read_text(sys.argv[1]).lines)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, str(path)], capture_output=True, text=True, check=False
    )
    assert done.stdout == "('one', 'two')\n", done.stderr


def test_every_bad_line_is_reported(write):
    source = read_text(write(b"\xc3\xb6k\nna\xefve\n\xc3\xb6k\ncaf\xe9\r\nx\0y\n\x1b[31mred\n"))
    assert [(fault.line, fault.severity) for fault in source.faults] == [
        (2, "error"),
        (4, "error"),
        (5, "error"),
        (6, "warning"),
    ]
    assert "0xEF at byte 3" in source.faults[0].why
    assert "UTF-8" in source.faults[0].cure
    assert source.lines[1] == "na\ufffdve"
    assert source.lines[3] == "caf\ufffd"
    assert "U+001B" in source.faults[3].why


def test_replacement_characters_and_old_line_ends(write):
    (fault,) = read_text(write("a\nb\ufffd\n")).faults
    assert (fault.line, fault.severity) == (2, "warning")
    source = read_text(write(b"a\rb\r"))
    assert source.lines == ("a", "b")
    assert "Macintosh" in source.faults[0].why


def test_printable():
    assert printable("naïve 東京") == "naïve 東京"
    assert printable("a\x1b[2J\u202eb\ud800\n") == "a\\x1b[2J\\u202eb\\ud800\\n"


def test_parsed():
    warning = Fault("f", 1, None, "w.", "", "warning")
    errors = [Fault("f", line, None, f"e{line}.", "") for line in (2, 3)]
    assert Parsed(1, (warning,)).require() == 1
    assert Parsed(1, (warning,)).ok
    bad = Parsed(1, (warning, *errors))
    assert not bad.ok
    with pytest.raises(FormatError) as caught:
        bad.require()
    assert caught.value.faults == tuple(errors)
    assert "2 faults" in str(caught.value)
