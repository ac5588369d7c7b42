"""Builds what a release consists of into a folder: the wheel, that of the larger judge, source
archive and bill of materials.

Run: ``python .ci/dist.py [FOLDER]`` with the Python of .venv; FOLDER is ``dist`` unless given.

The bill (CycloneDX 1.6, JSON) is written by cyclonedx-py from an environment into which
``requirements.lock`` was installed with its hashes checked, so it names what the tests ran with,
its licences, and what asks for what; on the machine that builds it, since the lock holds for all.
It is refused where it says anything else than the lock.
"""

from __future__ import annotations

import json
import runpy
import subprocess
import sys
import tempfile
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).parent.parent
LARGE = ROOT / "judges" / "large"
UV = Path(sys.executable).parent / "uv"
CYCLONEDX = "cyclonedx-bom==7.5.0"


def run(*command: object, cwd: Path | None = None) -> str:
    """Standard output of a command that must succeed."""
    done = subprocess.run([*map(str, command)], cwd=cwd, capture_output=True, text=True)
    if done.returncode:
        raise SystemExit(f"{' '.join(map(str, command))}\n{done.stdout}{done.stderr}")
    return done.stdout


def built(folder: Path) -> tuple[Path, Path | None]:
    """Wheels, source archive and bill of materials in a folder; returns the wheels of Assay and of
    the larger judge, which a source archive has not."""
    refuse_strays()
    run(UV, "build", "--quiet", "--wheel", "--sdist", "--out-dir", folder, ROOT)
    version = runpy.run_path(str(ROOT / "src" / "assay" / "model" / "version.py"))["__version__"]
    (wheel,) = folder.glob(f"assay_rag-{version}-*.whl")
    bill = folder / f"assay_rag-{version}.cdx.json"
    bill.write_text(bill_of_materials(version), encoding="utf-8")
    if not LARGE.is_dir():
        return wheel, None
    run(UV, "build", "--quiet", "--wheel", "--out-dir", folder, LARGE)
    about = json.loads((LARGE / "src" / "assay_judge_large" / "data" / "judge.json").read_bytes())
    (large,) = folder.glob(f"assay_judge_large-{about['version']}-*.whl")
    return wheel, large


def refuse_strays() -> None:
    """Ends where files lie in the checkout that git does not know: the source archive would take
    them along, notes and keys alike."""
    if (ROOT / ".git").exists():
        listed = ("git", "ls-files", "--others", "--exclude-standard")
        if strays := run(*listed, cwd=ROOT).splitlines():
            raise SystemExit(f"not in git, and would be in the source archive: {strays}")


def bill_of_materials(version: str) -> str:
    """What ``requirements.lock`` installs here, as a CycloneDX document."""
    lock = ROOT / "requirements.lock"
    with tempfile.TemporaryDirectory() as folder:
        python = Path(folder) / "bin" / "python"
        run(UV, "venv", "--quiet", "--python", sys.executable, folder)
        run(UV, "pip", "install", "--quiet", "--python", python, "--require-hashes", "-r", lock)
        tool = (UV, "tool", "run", "--quiet", "--from", CYCLONEDX, "cyclonedx-py", "environment")
        about = ("--pyproject", ROOT / "pyproject.toml", "--mc-type", "application")
        bill = json.loads(run(*tool, *about, "--output-reproducible", python))
    # pyproject.toml says where the version stands, not which it is.
    bill["metadata"]["component"] |= {"version": version, "purl": f"pkg:pypi/assay-rag@{version}"}
    named = {(canonicalize_name(one["name"]), one["version"]) for one in bill["components"]}
    if apart := named ^ locked(lock):
        raise SystemExit(f"the bill of materials and {lock.name} differ: {sorted(apart)}")
    return json.dumps(bill, indent=1, sort_keys=True) + "\n"


def locked(lock: Path) -> set[tuple[str, str]]:
    """Names and versions of a lock file that this machine and Python install."""
    lines = (line.removesuffix("\\").strip() for line in lock.read_text().splitlines())
    wanted = [Requirement(line) for line in lines if line[:1].isalnum()]
    return {
        (canonicalize_name(one.name), next(iter(one.specifier)).version)
        for one in wanted
        if one.marker is None or one.marker.evaluate()
    }


if __name__ == "__main__":
    place = Path(sys.argv[1]) if len(sys.argv) > 1 else ROOT / "dist"
    built(place)
    for path in sorted(place.iterdir()):
        print(f"{path.stat().st_size / 1e6:8.2f} MB  {path}")
