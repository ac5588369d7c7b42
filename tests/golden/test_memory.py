"""How much memory scoring takes: what a label adds, when everything else is there already."""

import gc
import tracemalloc
from pathlib import Path

import pytest

import assay
from assay.ledger import lines, reading
from assay.protocols import labels
from assay.protocols.answers import judged
from tests.golden import large
from tests.golden.stage import ORACLE

BLOCKS = ((lines, "ROWS", 64), (reading, "_BLOCK", 64), (labels, "_BLOCK", 64),
          (judged, "_BLOCK", 8))  # fmt: skip
# R2C2 takes about 450; when answers and labels were objects it took over a thousand.
MOST = {"r2c2": 700, "exam": 550}
SIZES = {"r2c2": (150, 400), "exam": (300, 700)}


def peak(protocol: str, size: int, folder: Path) -> tuple[int, int]:
    """The labels of an evaluation, and the bytes that scoring it takes at most beside inputs."""
    folder.mkdir()
    large.WRITERS[protocol](folder, size)
    with (folder / "assay.toml").open("a") as file:
        file.write("[settings]\nresamples = 100\n")  # draws of topics grow with topics
    assay.open(folder, labeller=ORACLE).judge()
    opened = assay.open(folder, labeller=ORACLE)
    gc.collect()
    tracemalloc.start()
    try:
        opened.write()
        _, most = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    return opened.manifest["labels_counted"], most


@pytest.mark.parametrize("protocol", MOST)
def test_a_label_adds_little(
    protocol: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for module, name, value in BLOCKS:  # else all that there is here is one block
        monkeypatch.setattr(module, name, value)
    peak(protocol, 100, tmp_path / "first")  # what is made once in a process
    (few, little), (many, much) = (
        peak(protocol, size, tmp_path / str(size)) for size in SIZES[protocol]
    )
    each = (much - little) / (many - few)
    assert each < MOST[protocol], f"{each:.0f} bytes a label"
