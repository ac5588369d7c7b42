"""What Assay is installed with is permissive or MPL: it is Apache-2.0 itself."""

import importlib.metadata
import re
import tomllib

import pytest
from packaging.requirements import Requirement

from tests.conftest import ROOT

ALLOWED = {
    *(
        "mit",
        "mit-0",
        "mit license",
        "mit-cmu",
        "isc",
        "isc license (iscl)",
        "0bsd",
        "zlib",
        "cc0-1.0",
    ),
    *("apache-2.0", "apache 2.0", "apache license 2.0", "apache software license", "psf-2.0"),
    *("python software foundation license", "bsd license", "3-clause bsd license"),
    *("bsd-2-clause", "bsd-3-clause", "mpl-2.0", "mozilla public license 2.0 (mpl 2.0)"),
}

# LGPL, of which none of Assay's own is a part: whoever wants a ledger on PostgreSQL installs it
# with the extra 'postgres', and may exchange it for another version.
ONLY_BY_AN_EXTRA = {"psycopg", "psycopg-binary"}


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
    found = [
        classifier.rpartition(" :: ")[2]
        for classifier in about.get_all("Classifier", [])
        if classifier.startswith("License :: ")
    ]
    if expression := about.get("License-Expression"):
        return [expression]
    return found or (about.get("License") or "none").strip().splitlines()[:1]


def refused(licence):
    """The parts of a licence, or of an expression of several, that are not known to be permissive
    or MPL. Of a choice (OR) every one must be: nobody writes down which was chosen."""
    parts = re.split(r"\s+(?:AND|OR|WITH)\s+|[,;/()]", licence, flags=re.IGNORECASE)
    if licence.strip().casefold() in ALLOWED:
        return []
    return [part for part in parts if part.strip() and part.strip().casefold() not in ALLOWED]


@pytest.mark.parametrize("package", sorted(set(locked()) - ONLY_BY_AN_EXTRA))
def test_the_licence_is_permissive_or_mpl(package):
    found = licences(package)
    assert found, package
    assert not [part for each in found for part in refused(each)], package


def test_what_only_an_extra_brings_is_asked_for_by_nothing_else():
    wanted = map(Requirement, importlib.metadata.requires("assay-rag"))
    extras = {one.name: str(one.marker) for one in wanted if one.name in ONLY_BY_AN_EXTRA}
    assert all("extra ==" in marker for marker in extras.values())
    imports = re.compile(r"^\s*(?:import|from) psycopg", re.MULTILINE)
    source = ROOT / "src" / "assay"
    found = {
        str(p.relative_to(source)) for p in source.rglob("*.py") if imports.search(p.read_text())
    }
    assert found == {f"ledger/postgres{one}.py" for one in ("", "_values")}


def test_what_others_made_stands_in_the_notice_and_its_licence_in_the_package():
    about = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert about["license"] == "Apache-2.0 AND 0BSD"
    assert all((ROOT / name).is_file() for name in about["license-files"])
    notice = (ROOT / "NOTICE").read_text()
    for path in (ROOT / "src").rglob("*"):
        if ".min." in path.name or path.suffix in {".onnx", ".gz", ".woff2", ".ttf"}:
            assert path.name in notice, path


@pytest.mark.parametrize(
    "name",
    [
        *(
            "GPL-3.0-only",
            "GPL-3.0",
            "GPLv3+",
            "LGPLv2",
            "LGPL-2.1-or-later",
            "AGPL-3.0",
            "SSPL-1.0",
        ),
        *(
            "BUSL-1.1",
            "Business Source License 1.1",
            "none",
            "UNKNOWN",
            "Proprietary",
            "OSI Approved",
        ),
        *("Other/Proprietary License", "MIT AND GPL-3.0", "MIT OR GPL-3.0-only", "MIT/GPL"),
        *("GPL-3.0-or-later WITH GCC-exception-3.1", "MIT, but with conditions", "MIT-like"),
        *(
            "GNU General Public License v3 (GPLv3)",
            "Apache-2.0 with Commons-Clause",
            "CC-BY-NC-4.0",
        ),
        *("(MIT)AND(GPL-3.0)", "Apache", "BSD-4-Clause", "MPL-1.1", "LicenseRef-Proprietary"),
    ],
)
def test_others_would_be_seen(name):
    assert refused(name)


@pytest.mark.parametrize(
    "name",
    ["MIT", "MPL-2.0 AND (Apache-2.0 OR MIT)", "ISC License (ISCL)", "BSD-3-Clause AND 0BSD"],
)
def test_these_pass(name):
    assert not refused(name)
