"""A folder that somebody sends runs no code, takes no file and writes nowhere else."""

from __future__ import annotations

import os
import sys
import time
from pathlib import Path

import pytest
from yarl import URL

from assay.formats.jsonl import read_json
from assay.formats.score_cells import looks_like_number
from assay.labellers.http import HttpTransport
from assay.labellers.keys import key_for
from assay.labellers.pace import rate_limit_wait
from assay.labellers.replies import _objects as parse_objects
from assay.measures.answers import matches
from assay.model.errors import SettingsError
from assay.model.modules import check_module
from assay.model.paths import matching_files
from assay.systems.corpus.documents import Source, SourceSettings

LONG = 20.0
"""CPU seconds that no file of a megabyte may cost: one that is read wrongly takes minutes."""


def labelled_by(folder, spec):
    path = folder / "assay.toml"
    path.write_text(path.read_text().replace("recorded:recorded.jsonl", spec))
    return folder


@pytest.mark.parametrize(
    "spec",
    ["logging.config:fileConfig", "os:system", "this:s", "numpy:load", "assay.cli.main:main"],
)
def test_no_function_that_is_only_installed_is_called(assay, slide, spec):
    done = assay("evaluate", labelled_by(slide, spec))
    assert done.returncode == 2
    assert "is not a module of yours" in done.stderr
    assert "this" not in sys.modules


def test_nor_is_a_protocol_imported(assay, slide):
    path = slide / "assay.toml"
    path.write_text(path.read_text().replace('"r2c2"', '"this:s"'))
    assert "is not a module of yours" in assay("score", slide).stderr
    assert "this" not in sys.modules


@pytest.mark.parametrize("place", ["slide", "."])
def test_no_code_of_the_folder_is_imported_where_python_looks_there(
    assay, slide, monkeypatch, place
):
    monkeypatch.syspath_prepend(str(slide.parent / place))  # as it does in a notebook there
    module = "sent" if place == "slide" else "slide.sent"
    (slide / "sent.py").write_text("raise SystemExit('it ran')")
    assert "is in an evaluation folder" in assay("judge", labelled_by(slide, f"{module}:x")).stderr
    path = slide / "assay.toml"
    path.write_text(path.read_text().replace('"r2c2"', f'"{module}:x"'))
    assert "is in an evaluation folder" in assay("score", slide).stderr
    assert module not in sys.modules


def test_a_module_of_the_folder_is_imported_where_the_person_has_python_look_there(
    slide, monkeypatch
):
    (slide / "mine.py").touch()
    monkeypatch.chdir(slide)
    for first in ("", str(slide)):  # a notebook, python -m
        monkeypatch.setattr(sys, "path", [first, *sys.path])
        with pytest.raises(SettingsError, match="is in an evaluation folder"):
            check_module("mine", "mine:x")
    monkeypatch.setenv("PYTHONPATH", ".")  # what many have always
    with pytest.raises(SettingsError, match="is in an evaluation folder"):
        check_module("mine", "mine:x")
    monkeypatch.setenv("PYTHONPATH", str(slide))
    check_module("mine", "mine:x")


@pytest.mark.parametrize("module", ["named_alike", "named_alike_too.judge"])
def test_a_module_of_the_persons_own_is_not_taken_for_one_of_the_folder(
    slide, tmp_path, monkeypatch, module
):
    """Python finds that of the folder first."""
    for place in (slide, tmp_path / "own"):
        path = (place / module.replace(".", "/")).with_suffix(".py")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch()
    monkeypatch.chdir(slide)
    monkeypatch.setenv("PYTHONPATH", str(tmp_path / "own"))
    monkeypatch.setattr(sys, "path", [str(slide), str(tmp_path / "own"), *sys.path])
    with pytest.raises(SettingsError, match="is in an evaluation folder"):
        check_module(module, f"{module}:x")
    monkeypatch.setattr(sys, "path", [str(tmp_path / "own"), *sys.path[2:]])
    check_module(module, f"{module}:x")


def test_whoever_may_decide_can_name_such_a_module(monkeypatch):
    with pytest.raises(SettingsError, match=r"ASSAY_TRUSTED_MODULES=numpy.linalg"):
        check_module("numpy.linalg", "numpy.linalg:norm")
    monkeypatch.setenv("ASSAY_TRUSTED_MODULES", "other, numpy")
    check_module("numpy.linalg", "numpy.linalg:norm")


@pytest.mark.parametrize("name", ["out", "out/marked", "out/runs"])
def test_results_are_not_written_through_links(assay, slide, tmp_path, name):
    victim = tmp_path / "victim"
    victim.mkdir()
    (slide / name).parent.mkdir(exist_ok=True)
    (slide / name).symlink_to(victim)
    done = assay("evaluate", slide)
    assert done.returncode == 2
    assert "outside the folder" in done.stderr
    assert not list(victim.iterdir())


def test_no_file_outside_is_read_for_a_model(assay, slide):
    done = assay("judge", labelled_by(slide, "embedded:/etc/passwd"))
    assert done.returncode == 2
    assert "outside the folder" in done.stderr


def test_no_other_folder_is_searched(assay, slide):
    path = slide / "assay.toml"
    path.write_text(path.read_text().replace("pr/*.txt", "/**/none.txt"))
    assert "outside the folder" in assay("judge", slide).stderr


def test_a_model_called_as_a_host_does_not_get_its_key(monkeypatch):
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    monkeypatch.setenv("ASSAY_API_GROQ_COM_API_KEY", "gsk-secret-key")
    assert key_for("http://127.0.0.1:1/v1", "api.groq.com", named=False) is None
    assert key_for("https://api.groq.com/v1", "m", named=False) == "gsk-secret-key"


def test_hostile_texts_take_no_time(tmp_path):
    started = time.process_time()
    for text in ('{"a": x' + '\\"' * 50_000, '"\n' * 50_000):
        with pytest.raises(ValueError, match=r"."):
            read_json(text)
    headers = {"x-ratelimit-remaining-requests": "0", "x-ratelimit-reset-requests": "1" * 7900}
    rate_limit_wait(headers)
    for text in ("1" * 200_000 + "!", ".," * 100_000):
        looks_like_number(text)
    matches("ab" * 10_000, "ba" * 10_000)
    path = tmp_path / "page.wiki"
    path.write_text("# ID: x" + " " * 200_000 + "y" + "\n# TITLE: t" * 50_000)
    list(Source(path, SourceSettings()).items())
    assert time.process_time() - started < LONG


def test_a_proxy_is_for_other_machines_alone(monkeypatch):
    monkeypatch.setenv("HTTP_PROXY", "proxy.example:3128")
    monkeypatch.setenv("ALL_PROXY", "socks5://proxy.example:1080")
    transport = HttpTransport()
    assert str(transport._proxy(URL("http://model.example/v1"))) == "http://proxy.example:3128"
    assert transport._proxy(URL("https://model.example/v1")) is None
    for host in ("127.0.0.1", "localhost", "[::1]"):
        assert transport._proxy(URL(f"http://{host}:8000/v1")) is None


def test_what_a_model_says_after_long_thoughts_is_found():
    thoughts = "{ so then " * 100_000
    assert next(parse_objects(thoughts + '{"reason": "so", "rating": 4}'))["rating"] == 4


@pytest.mark.parametrize("pattern", ["**/*.txt", "r/**/*.txt", "*/*/*/*/*.txt", "r/**"])
def test_no_link_has_the_machine_searched(assay, slide, pattern):
    (slide / "r").symlink_to("/")
    path = slide / "assay.toml"
    path.write_text(path.read_text().replace("pr/*.txt", pattern))
    started = time.process_time()
    done = assay("judge", slide)
    assert done.returncode == 2
    assert "outside the folder" in done.stderr
    assert time.process_time() - started < LONG


def test_links_in_circles_end(slide):
    deep = slide / "pr" / "more"
    deep.mkdir()
    (deep / "b.txt").write_text("x")
    for name in ("one", "two"):
        (deep / name).symlink_to(slide / "pr")
        (slide / "pr" / name).symlink_to(deep)
    started = time.process_time()
    names = [path.name for path in matching_files(slide, "pr/**/*.txt", "It")]
    assert sorted(names) == sorted(path.name for path in slide.glob("pr/**/*.txt"))
    matching_files(slide, "/".join("*" * 40), "It")
    assert time.process_time() - started < LONG


@pytest.mark.parametrize(
    ("pattern", "found"),
    [
        ("a.txt", ["a.txt"]),
        ("*.txt", ["a.txt"]),
        ("**/*.txt", ["a.txt", "d/b.txt", "d/e/c.txt"]),
        ("**", ["a.txt", "d/b.txt", "d/e/c.txt", "d/e/f.tsv"]),
        ("d/**/c.txt", ["d/e/c.txt"]),
        ("*/?.txt", ["d/b.txt"]),
        ("./d//[bx].txt", ["d/b.txt"]),
        ("d/.*.txt", ["d/.hidden.txt"]),
        ("d/../a.txt", ["d/../a.txt"]),
        ("nothing/*.txt", []),
        ("d", []),
    ],
)
def test_patterns_of_inputs(tmp_path, monkeypatch, pattern, found):
    (tmp_path / "s" / "d" / "e").mkdir(parents=True)
    for name in ("a.txt", "d/b.txt", "d/.hidden.txt", "d/e/c.txt", "d/e/f.tsv"):
        (tmp_path / "s" / name).touch()
    monkeypatch.chdir(tmp_path)
    for folder in (Path("s"), tmp_path / "s"):
        files = matching_files(folder, pattern, "It")
        assert [path.relative_to(folder).as_posix() for path in files] == found
        assert [folder / name for name in found] == files
    assert matching_files(Path("s"), f"{tmp_path}/s/*.txt", "It") == [tmp_path / "s" / "a.txt"]


@pytest.mark.parametrize("pattern", ["Zo\u00eb.txt", "Zoe\u0308.txt", "Zo?.txt", "*"])
@pytest.mark.parametrize("name", ["Zo\u00eb.txt", "Zoe\u0308.txt"])
def test_a_name_that_a_mac_wrote_is_the_same_name(tmp_path: Path, name: str, pattern: str):
    (tmp_path / name).touch()
    assert matching_files(tmp_path, pattern, "It") == [tmp_path / name]


@pytest.mark.parametrize("pattern", ["*.txt", "away.txt", "**/*.txt", "a*/*.txt"])
def test_a_file_on_a_disk_that_is_not_there_is_not_left_out(tmp_path: Path, pattern: str):
    (tmp_path / "a.txt").touch()
    (tmp_path / "away.txt").symlink_to(tmp_path / "disk" / "away.txt")
    with pytest.raises(SettingsError, match=r"It names .*away\.txt, a link to .*Is a disk missing"):
        matching_files(tmp_path, pattern, "It")


@pytest.mark.parametrize(
    "text",
    [
        "a" + ".a" * 100_000 + " = 1",
        "[settings]\n" + "".join("b." * 2000 + f"k{n} = 1\n" for n in range(100)),
        "".join("['" + "'.\"".join(["x"] * 3000) + f"'.b{n}]\nx = 1\n" for n in range(100)),
        "".join(f"[t.a{n}]\nx = 1\n" for n in range(100_000)),
        "x = " + "[" * 100_000,
        "x = " + "{a = " * 100_000,
        '"' * 900_000,
        "a." * 450_000,
        "x = 1." + "9" * 900_000,
    ],
    ids=lambda text: text[:12],
)
def test_settings_made_to_hurt_are_told_at_once(assay, slide, text):
    path = slide / "assay.toml"
    path.write_text(path.read_text() + "\n" + text)
    started = time.process_time()
    done = assay("score", slide)
    assert done.returncode == 2
    assert "assay.toml" in done.stderr
    assert len(done.stderr) < 2000
    assert time.process_time() - started < LONG


def test_settings_that_are_no_file_are_not_waited_for(assay, slide):
    (slide / "assay.toml").unlink()
    os.mkfifo(slide / "assay.toml")
    assert "not a regular file" in assay("score", slide).stderr
