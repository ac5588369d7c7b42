"""What Assay is installed with is permissive or MPL: it is Apache-2.0 itself."""

import importlib.metadata
import re

import pytest
from packaging.requirements import Requirement

from tests.conftest import ROOT

ALLOWED = re.compile(
    r"(?:MIT(?:-CMU)?|ISC|0BSD|Zlib|CC0-1\.0|PSF-2\.0|Python Software Foundation|Apache(?:-2\.0)?|"
    r"(?:[23]-Clause )?BSD(?:[ -][23]-Clause)?|MPL-2\.0|Mozilla Public)\b.*",
    re.S,
)


def locked():
    """Each package of the lock files that is installed on a machine such as this one."""
    for name in ("requirements.lock", "requirements-test.lock"):
        for line in (ROOT / name).read_text().splitlines():
            if line[:1].isalnum():
                wanted = Requirement(line.removesuffix("\\").strip())
                if wanted.marker is None or wanted.marker.evaluate():
                    yield wanted.name


def licences(package):
    """The licences that a package names: as an expression, by classifiers, or in words."""
    about = importlib.metadata.metadata(package)
    if expression := about.get("License-Expression"):
        return re.split(r"\s+(?:AND|OR)\s+", expression.replace("(", "").replace(")", ""))
    found = [
        classifier.rpartition(" :: ")[2]
        for classifier in about.get_all("Classifier", [])
        if classifier.startswith("License :: ")
    ]
    return found or re.split(r"\s+(?:AND|OR)\s+", about.get("License", "none"))


@pytest.mark.parametrize("package", sorted(set(locked())))
def test_the_licence_is_permissive_or_mpl(package):
    found = licences(package)
    assert found
    assert all(ALLOWED.fullmatch(each) for each in found), found


@pytest.mark.parametrize("name", ["GPL-3.0-only", "LGPLv2", "AGPL-3.0", "none", "Proprietary"])
def test_others_would_be_seen(name):
    assert not ALLOWED.fullmatch(name)
