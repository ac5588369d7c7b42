"""Functions that another process calls: the same results, whatever becomes of that process."""

from __future__ import annotations

import math
import os
import sys
from pathlib import Path

import pytest

from assay.protocols.second_process import SecondProcess

PROC = Path("/proc/self")
needs_proc = pytest.mark.skipif(not PROC.exists(), reason="asks /proc which process it is")


@needs_proc
def test_another_process_computes_where_one_is_started():
    with SecondProcess("math") as aside:
        there = aside.call("os", "readlink", "/proc/self")
        assert there() == there() != str(os.getpid())
    with SecondProcess("math", start=False) as aside:
        assert aside.call("os", "readlink", "/proc/self")() == str(os.getpid())


def test_several_calls_whatever_their_size_and_whenever_they_are_read():
    large = list(range(300_000))
    with SecondProcess("math") as aside:
        first = aside.call("builtins", "sorted", large[::-1])
        second = aside.call("builtins", "sorted", large)
        third = aside.call("math", "sqrt", 9)
        assert third() == 3
        assert first() == second() == large


@needs_proc
@pytest.mark.parametrize("when", ["before", "after"])
def test_where_the_process_breaks_this_one_computes(when):
    with SecondProcess("math") as aside:
        assert aside._process is not None
        if when == "before":
            aside._process.kill()
            aside._process.wait()
        found = aside.call("os", "readlink", "/proc/self")
        if when == "after":
            # What it wrote before it ended can be read, so nothing is computed twice.
            assert found() != str(os.getpid())
            aside._process.kill()
            aside._process.wait()
            found = aside.call("os", "readlink", "/proc/self")
        assert found() == str(os.getpid())
        assert aside.call("math", "sqrt", 4)() == 2


def test_what_goes_wrong_there_is_raised_here():
    with SecondProcess("math") as aside, pytest.raises(ValueError, match="math domain error"):
        aside.call("math", "sqrt", -1)()


def test_without_a_python_to_start_this_one_computes(monkeypatch):
    for where in ("", "/no/such/python"):
        monkeypatch.setattr(sys, "executable", where)
        with SecondProcess("math") as aside:
            assert aside.call("math", "sqrt", 16)() == 4


def test_files_of_the_folder_are_no_modules(tmp_path, monkeypatch):
    for name in ("pickle", "gc", "signal"):
        (tmp_path / f"{name}.py").write_text("open('run', 'w')\nraise SystemExit\n")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [one for one in sys.path if one])
    with SecondProcess("math") as aside:
        assert aside.call("math", "sqrt", 25)() == 5
    assert not (tmp_path / "run").exists()


def test_leaving_early_ends_the_process():
    with SecondProcess("math") as aside:
        process = aside._process
        aside.call("time", "sleep", 600)
    assert process is not None
    assert process.returncode is not None
    with pytest.raises(KeyError), SecondProcess("math") as aside:
        raise KeyError(math.pi)
