"""The generated evaluations of large.py, with 2,000 labels."""

from pathlib import Path

import pytest

from tests.golden import large, pins
from tests.golden.stage import assay


@pytest.mark.parametrize("protocol", large.WRITERS)
def test_no_number_of_a_generated_evaluation_has_moved(protocol: str, tmp_path: Path) -> None:
    large.WRITERS[protocol](tmp_path, large.SMALL)
    assay("judge", tmp_path, "--json")
    assay("score", tmp_path, "--csv")
    found = {"score": large.digests(tmp_path / "out")}
    said = pins.differences(pins.read(large.name_of(protocol, large.SMALL)), found)
    assert not said, "\n".join(said[:30])
