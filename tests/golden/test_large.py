"""The generated evaluations of large.py, with 2,000 labels."""

from pathlib import Path

import pytest

from tests.golden import large, pins
from tests.golden.stage import assay


@pytest.mark.parametrize("protocol", large.WRITERS)
def test_no_number_of_a_generated_evaluation_has_moved(
    protocol: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    large.WRITERS[protocol](tmp_path, large.SMALL)
    assay("judge", tmp_path, "--json")
    assay("score", tmp_path, "--csv")
    found = {"score": large.digests(tmp_path / "out")}
    said = pins.differences(pins.read(large.name_of(protocol, large.SMALL)), found)
    assert not said, "\n".join(said[:30])
    # Nor does one where labels lie in a file, as more of them than memory has room do.
    monkeypatch.setattr("assay.ledger.spilled.HELD", 0)
    monkeypatch.setattr("assay.ledger.spilled._AT_ONCE", 100)
    monkeypatch.setattr("assay.model.scratch._HELD", 1000)
    monkeypatch.setattr("assay.model.scratch._BLOCK", 30)
    monkeypatch.setattr("assay.protocols.places._AT_ONCE", 70)
    monkeypatch.setattr("assay.protocols.places._KNOWN", 5)
    monkeypatch.setattr("assay.protocols.record._PART", 128)
    monkeypatch.setattr("assay.protocols.digest._AT_ONCE", 100)
    assay("score", tmp_path, "--csv")
    assert {"score": large.digests(tmp_path / "out")} == found
