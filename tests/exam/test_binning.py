"""The bins of the agreement tables: read, checked, counted."""

import json

import pytest

from assay.statistics.exam_agreement import default_bins, read_bins
from tests.exam.test_exam_protocol import folder, toml

__all__ = ["folder"]


def test_bins_are_single_grades_ranges_and_open_ends():
    found = read_bins(("<=0", "1", "2-3", ">=4"))
    assert [(-7 in b, 0 in b, 1 in b, 2 in b, 3 in b, 4 in b, 9 in b) for b in found] == [
        (True, True, False, False, False, False, False),
        (False, False, True, False, False, False, False),
        (False, False, False, True, True, False, False),
        (False, False, False, False, False, True, True),
    ]
    assert [str(one) for one in found] == ["≤ 0", "1", "2–3", "≥ 4"]
    assert -9 in read_bins(("-9-0",))[0]
    for wrong, why in (
        (("x",), "not a bin"), (("0-2", "2-3"), "overlap"), (("3", "1"), "lowest first"),
        ((), "no bin"), (("3-1",), "not a bin"),
    ):  # fmt: skip
        with pytest.raises(ValueError, match=why):
            read_bins(wrong)


@pytest.mark.parametrize("top", [1, 2, 3, 5])
def test_default_bins_hold_every_grade_once_and_pair_with_those_of_judgments(top):
    labels, judgments = default_bins(top)
    labels, judgments = read_bins(labels), read_bins(judgments)
    assert all(sum(grade in one for one in labels) == 1 for grade in range(top + 1))
    assert all(sum(grade in one for one in judgments) == 1 for grade in range(-3, 10))
    assert len(labels) == len(judgments)


def binned(assay, folder, settings=""):
    (folder / "qrels.txt").write_text(
        "q1 0 p1 3\nq1 0 p2 1\nq1 0 p3 0\nq1 0 p4 -1\nq2 0 p5 1\nq2 0 p6 0\n"
    )
    toml(folder, 'default = "recorded:recorded.jsonl"', 'qrels = "qrels.txt"\n', settings)
    return assay("evaluate", folder, "--json")


def test_counts_and_kappa_at_the_binning_of_the_settings(assay, folder):
    done = binned(assay, folder)
    assert done.returncode == 0, done.stderr
    # Labels: p1 5, p2 4, p3 3, p4 1, p5 5, p6 0.
    agreement = json.loads(done.stdout)["agreement"]
    assert agreement["passages"] == 6
    assert agreement["binned"]["labels"] == ["0", "1–3", "4–5"]
    assert agreement["binned"]["judgments"] == ["≤ 0", "1", "≥ 2"]
    assert agreement["binned"]["counts"] == [[1, 0, 0], [2, 0, 0], [0, 2, 1]]
    one = {(row["label"], row["judgment"]): row["kappa"] for row in agreement["binarised"]}
    assert one[4, 1] == 1.0
    assert one[1, 1] == pytest.approx(1 - (2 / 6) / (1 - (5 * 3 + 1 * 3) / 36))
    settings = 'label_bins = ["0-3", "4-5"]\njudgment_bins = ["<=0", ">=1"]'
    agreement = json.loads(binned(assay, folder, settings).stdout)["agreement"]
    assert agreement["binned"]["counts"] == [[3, 0], [0, 3]]
    assert agreement["binned"]["kappa"] == 1.0
    assert "κ" in (folder / "out" / "report.html").read_text()


def test_what_lies_in_no_bin_is_counted(assay, folder):
    done = binned(assay, folder, 'label_bins = ["0-3", "5"]\njudgment_bins = ["0", ">=1"]')
    agreement = json.loads(done.stdout)["agreement"]
    assert agreement["binned"]["outside"] == 2  # p2's label 4, p4's judgment -1


def test_bins_that_cannot_be_read_are_told_with_the_file(assay, folder):
    done = binned(assay, folder, 'label_bins = ["0-2", "2-5"]')
    assert done.returncode == 2
    assert "assay.toml" in done.stderr
    assert "overlap" in done.stderr
