"""A folder of two summarisers, and the command line that finds its labeller."""

import pytest

from tests.conftest import ROOT
from tests.sgss.cases import toml, write


@pytest.fixture
def folder(tmp_path):
    write(tmp_path)
    toml(tmp_path)
    return tmp_path


@pytest.fixture
def sgss(assay):
    def run(*arguments):
        return assay(*arguments, env={"PYTHONPATH": f"{ROOT}:{ROOT / 'src'}"})

    return run
