"""A folder of two summarisers, and the command line."""

import pytest

from tests.sgss.cases import toml, write


@pytest.fixture
def folder(tmp_path):
    write(tmp_path)
    toml(tmp_path)
    return tmp_path


@pytest.fixture
def sgss(assay):
    return assay
