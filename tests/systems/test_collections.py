"""benchmarks/collection.py reads test collections as they are handed round."""

import gzip
import sys

import pytest
from benchmarks import collection

TREC = (
    (
        "<DOC>\n<DOCNO>1</DOCNO>\ncompact memories  a digital data\nstorage system\n</DOC>\n"
        "<DOC>\n<DOCNO>2</DOCNO>\nan electronic analogue computer for linear equations\n</DOC>\n"
    ),
    (
        "<top>\n<num>1</num><title>\nDIGITAL DATA STORAGE\n</title>\n</top>\n"
        "<top>\n<num> Number: 2\n<title> Topic: analogue computers\n\n<desc> none\n</top>\n"
    ),
    "1 0 1 1\n2 0 2 1\n2 0 1 0\n",
)
SMART = (
    (
        ".I 1\n.T\nwings in a slipstream .\n.A\nx,m.\n.B\nj. 1958.\n.W\na study of a wing\n"
        ".I 2\n.T\nshear flow\n.A\n.B\n.W\npast a flat plate\n.I 3\n.T\n.A\n.B\n.W\n"
    ),
    ".I 001\n.W\nwhat of wings ?\n.I 004\n.W\nflow past plates .\n",
    "1 1 2 \n1 2 -1\n2 2 1\n2 1 5 \n",
)
BEIR = (
    (
        '{"_id": "M-1", "title": "Statins", "text": "Recent studies", "metadata": {}}\n'
        '{"_id": "M-2", "title": "", "text": "Olive oil"}\n'
    ),
    '{"_id": "P-1", "text": "Do statins help?", "metadata": {}}\n',
    "query-id\tcorpus-id\tscore\nP-1\tM-1\t2\n",
)


def run(monkeypatch, place, files, *options):
    names = [place / name for name in ("documents.txt", "topics.txt", "qrels.txt")]
    for path, text in zip(names, files, strict=True):
        path.write_text(text)
    monkeypatch.setattr(sys, "argv", ["collection.py", *map(str, names), *options])
    collection.main()


@pytest.mark.parametrize(
    ("files", "options"),
    [
        (TREC, ()),
        (SMART, ("--topics-by", "place", "--grades", "cranfield")),
        (BEIR, ()),
        ((BEIR[0], "P-1\tDo statins help?\n", BEIR[2]), ()),
    ],
)
def test_collections_are_read_as_they_are_handed_round(
    monkeypatch, tmp_path, capsys, files, options
):
    run(monkeypatch, tmp_path, files, *options, "--published", "AP=.9951")
    said = capsys.readouterr().out
    assert "default (k1 1.2, b .75): AP 1.0000, nDCG@10 1.0000, P@10 0.1000\n" in said
    assert "AP 0.9951 published; +0.0049 by default" in said


def test_grades_that_run_backwards_are_turned(tmp_path):
    (tmp_path / "q").write_text("1 5 2\n1 6 4\n1 7 5\n1 8 -1\n")
    assert collection.judged(tmp_path / "q", backwards=True) == {
        "1": {"5": 3, "6": 1, "7": 0, "8": 0}
    }


def test_settings_of_ones_own_and_packed_folders(monkeypatch, tmp_path, capsys):
    (tmp_path / "stop").write_text("digital\nstorage\ndata\n")
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "a.gz").write_bytes(gzip.compress(TREC[0].encode()))
    assert collection.documents(tmp_path / "docs").keys() == {"1", "2"}
    options = ("--k1", "2", "--stop-words", str(tmp_path / "stop"))
    run(monkeypatch, tmp_path, TREC, *options)
    said = capsys.readouterr().out
    assert "own: k1 2, b 0.75, 3 stop words: AP 0.5000" in said


def test_files_that_do_not_go_together_are_told(monkeypatch, tmp_path, capsys):
    with pytest.raises(SystemExit, match="do not go together"):
        run(monkeypatch, tmp_path, (TREC[0], BEIR[1], BEIR[2]))
    run(monkeypatch, tmp_path, (TREC[0], TREC[1], TREC[2] + "9 0 77 1\n"))
    said = capsys.readouterr().err
    assert "1 topics of the qrels are not asked, such as ['9']" in said
    assert "1 judged documents are not there, such as ['77']" in said
