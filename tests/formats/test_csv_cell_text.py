"""Cells that are put together one by one are those that the csv module writes."""

import csv
import io

from hypothesis import given
from hypothesis import strategies as st

from assay.model.csv_cells import cell_text, csv_cells, from_csv_cell

texts = st.text(st.sampled_from("ab 1é.;:-=+@'\",\n\r\t\x1b\u202e"), max_size=6) | st.text()


@given(st.lists(texts, min_size=2, max_size=4))
def test_cells_make_the_row_that_the_csv_module_writes(row):
    file = io.StringIO()
    csv.writer(file, lineterminator="\n").writerow(csv_cells(row))
    assert ",".join(map(cell_text, row)) + "\n" == file.getvalue()


def test_a_cell_is_no_formula_and_reads_back():
    assert cell_text("=1+1") == "'=1+1"
    assert cell_text('say "a, b"') == '"say ""a, b"""'
    assert cell_text("") == ""
    assert [from_csv_cell(cell_text(one)) for one in ("=1", "-3", "q1")] == ["=1", "-3", "q1"]
