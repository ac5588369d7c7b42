"""What ``[settings]`` names is checked when the folder is opened, before anything is asked."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.conftest import copy_example


@pytest.fixture
def wrong(tmp_path: Path):
    """Copies an example with a server for its labeller, and two measures misspelt."""

    def copy(name: str) -> Path:
        folder = copy_example(name, tmp_path / name)
        toml = folder / "assay.toml"
        text = toml.read_text().replace("[settings]\n", "").replace('relevance = "none"', "")
        text = text.replace('default = "embedded"', 'default = "openai:m@http://127.0.0.1:1/v1"')
        text += '\n[settings]\nmeasures = ["AP", "nDGC@20", "Recal@10"]\n'
        toml.write_text(text)
        return folder

    return copy


@pytest.mark.parametrize(
    ("name", "commands"),
    [
        ("slide", [["judge"], ["evaluate"], ["evaluate", "--dry-run"], ["score"]]),
        ("trec-rag", [["judge"], ["evaluate", "--dry-run"]]),
        ("exam", [["judge", "--dry-run"], ["evaluate"]]),
    ],
)
def test_a_measure_that_does_not_exist_stops_every_command(assay, wrong, name, commands):
    folder = wrong(name)
    for command in commands:
        done = assay(command[0], folder, *command[1:])
        assert done.returncode == 2
        assert f"{folder}/assay.toml: [settings]" in done.stderr
        for line in ("measures.1: unknown measure 'nDGC'", "measures.2: unknown measure 'Recal'"):
            assert line in done.stderr
        assert "Did you mean nDCG@20?" in done.stderr
        assert "Did you mean Recall@10?" in done.stderr
    assert not (folder / "labels.sqlite").exists()
    done = assay("doctor", folder)
    assert done.returncode == 1
    assert "Did you mean nDCG@20?" in " ".join(done.stdout.split())


def test_with_several_protocols_the_table_is_named(assay, wrong):
    folder = wrong("slide")
    toml = folder / "assay.toml"
    text = toml.read_text().replace('"r2c2"', '["r2c2", "trec-rag"]')
    toml.write_text(text.replace("[settings]", "[settings.r2c2]"))
    done = assay("judge", folder)
    assert done.returncode == 2
    assert "assay.toml: [settings.r2c2]\n  measures.1: unknown measure" in done.stderr
