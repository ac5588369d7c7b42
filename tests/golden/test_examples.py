"""No number of the examples moves, whatever their settings and labels (see make.py)."""

from pathlib import Path

import pytest

from tests.golden import pins
from tests.golden.cases import CASES


@pytest.mark.parametrize("name", CASES)
def test_every_number_is_as_it_was(name: str, tmp_path: Path) -> None:
    said = pins.differences(pins.read(name), CASES[name](tmp_path))
    assert not said, "\n".join([f"{len(said)} differences", *said[:30]])


def test_there_is_no_golden_without_a_case() -> None:
    names = {path.name.removesuffix(".json.xz") for path in pins.DATA.glob("*.xz")}
    assert {name for name in names if not name.startswith("large-")} == {*CASES}
