"""Files of the track as they are published, through the command line."""

from __future__ import annotations

import csv
import io
from pathlib import Path

import pytest

from tests.conftest import Assay


@pytest.fixture(scope="module")
def published(shared_data: Path) -> Path:
    return shared_data / "data"


def test_the_human_support_labels_of_2024_give_the_tracks_best_run(assay: Assay, published: Path):
    labels = published / "trec-rag-2024" / "rag24_human_support_labels.jsonl"
    done = assay("validate", labels)
    assert done.returncode == 0
    assert "lines 31, 56, 104, 207, 209, 218, 292, 315" in done.stdout
    assert "1 warning; support (guessed); 930 answers, 8163 sentences" in done.stdout
    done = assay("support", labels, "--topics", "answered", "--csv")
    rows = list(csv.DictReader(io.StringIO(done.stdout)))
    best = max(
        (row for row in rows if row["measure"] == "weighted_precision" and row["value"]),
        key=lambda row: float(row["value"]),
    )
    assert best["run"] == "IITD-IRL.ag_rag_gpt35_expansion_rrf_20"
    assert float(best["value"]) == pytest.approx(0.793074, abs=5e-7)
