"""``assay corpus build``: every kind of source, every layout, resuming, faults."""

import bz2
import gzip
import json
import os
import shutil
import subprocess
import sys
import time
import unicodedata
from types import ModuleType

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.formats.r2c2_pr import read_pr_run
from assay.model.words import word_spans
from assay.systems.corpus import mediawiki
from assay.systems.corpus.build import BuildSettings, build_corpus
from assay.systems.corpus.documents import Source, SourceSettings
from assay.systems.corpus.passages import WordWindow, cut, passages
from assay.systems.corpus.store import (
    Documents,
    Layout,
    file_name,
    joined,
    read_passages,
    write_passages,
)
from tests.apart import Apart
from tests.command import without_keys


def page(number, text, title=None, ns=0, more=""):
    text = text.replace("&", "&amp;").replace("<", "&lt;")
    return (
        f"<page><title>{title or f'Page {number}'}</title><ns>{ns}</ns><id>{number}</id>{more}"
        f"<revision><id>9{number}</id><text xml:space='preserve'>{text}</text></revision></page>"
    )


def dump(*pages):
    head = '<mediawiki xmlns="http://www.mediawiki.org/xml/export-0.11/" version="0.11">'
    return f"{head}<siteinfo><sitename>W</sitename></siteinfo>{''.join(pages)}</mediawiki>".encode()


def words(count, start=0):
    return " ".join(f"w{number}" for number in range(start, start + count))


PAGES = [
    page(1, "{{Infobox film\n| name = One\n| starring = [[A B]]\n}}\n'''One'''"),
    page(2, words(1000)),
    page(3, "#REDIRECT [[One]]", more='<redirect title="One" />'),
    page(4, "talk", ns=1),
    page(5, "X may be\n* a\n{{disambiguation}}"),
    page(6, "<!-- nothing -->"),
]


@pytest.fixture
def source(tmp_path):
    path = tmp_path / "dump.xml"
    path.write_bytes(dump(*PAGES))
    return path


def test_windows_of_400_words_with_15_percent_overlap():
    found = list(passages("D", "T", words(1000), WordWindow.of(400, 0.15)))
    assert [(p.id, p.words, p.overlap) for p in found] == [
        ("D#0", 400, 0),
        ("D#1", 400, 60),
        ("D#2", 320, 60),
    ]
    assert found[1].overlap_ratio == 0.15
    assert found[0].text.split()[340:] == found[1].text.split()[:60]
    assert len(list(passages("D", "T", words(400), WordWindow()))) == 1
    assert len(list(passages("D", "T", words(401), WordWindow()))) == 2
    assert list(passages("D", "T", "", WordWindow())) == []


@given(
    st.text(alphabet="ab \n\u3000日本語ไทก็ée\u0301", max_size=300),
    st.integers(1, 20),
    st.floats(0, 0.99),
)
def test_passages_are_consecutive_parts_and_cover_every_word(text, size, share):
    window = WordWindow.of(size, share)
    spans = word_spans(text)
    covered = set()
    for start, part, count, overlap in cut(text, window):
        assert text[start : start + len(part)] == part
        inside = {at for at, (a, b) in enumerate(spans) if start <= a and b <= start + len(part)}
        assert len(inside) == count <= size
        assert len(inside & covered) == overlap
        assert inside - covered
        covered |= inside
    assert covered == set(range(len(spans)))


def test_scripts_without_spaces_are_counted_by_characters():
    assert len(word_spans("映画は日本で公開された。")) == 12
    assert len(word_spans("the film 映画")) == 4
    assert len(word_spans("ก็ดี")) == 2  # marks stay with their letter


def test_dump(assay, source, tmp_path):
    done = assay("corpus", "build", source, tmp_path / "out", "--json")
    assert done.returncode == 0, done.stderr
    counts = json.loads(done.stdout)["counts"]
    assert counts == {
        "documents": 2,
        "passages": 4,
        "words": 1002 + 8,
        "read": 6,
        "redirect": 1,
        "namespace": 1,
        "disambiguation": 1,
        "empty": 1,
        "twice": 0,
    }
    found = list(read_passages(tmp_path / "out"))
    assert [p.id for p in found] == ["1#0", "2#0", "2#1", "2#2"]
    assert found[0].text == "Page 1\n\nName: One\nStarring: A B\n\nOne"
    assert found[0].title == "Page 1"
    shown = assay("corpus", "show", tmp_path / "out", "2")
    assert "2#1 · Page 2 · 400 words, 60 of them in the one before" in shown.stdout
    assert assay("corpus", "show", tmp_path / "out", "9").returncode == 2


@pytest.mark.parametrize("ending", ["xml.gz", "xml.bz2", "xml.7z"])
def test_packed_dumps_give_the_same(tmp_path, source, ending):
    packed = tmp_path / f"d.{ending}"
    data = source.read_bytes()
    if ending.endswith("gz"):
        packed.write_bytes(gzip.compress(data))
    elif ending.endswith("bz2"):
        half = len(data) // 2  # Wikipedia's dumps are many streams, one after the other
        packed.write_bytes(bz2.compress(data[:half]) + bz2.compress(data[half:]))
    else:
        tool = next(
            (found for name in ("7zz", "7z", "7za", "7zr") if (found := shutil.which(name))), None
        )
        if tool is None:
            pytest.fail("no 7z tool") if os.environ.get("CI") else pytest.skip("no 7z tool")
        subprocess.run([tool, "a", packed, source], check=True, capture_output=True)
    build_corpus(source, tmp_path / "plain", processes=1)
    build_corpus(packed, tmp_path / "out", processes=1)
    want = (tmp_path / "plain" / "passages.jsonl").read_bytes()
    assert want
    assert (tmp_path / "out" / "passages.jsonl").read_bytes() == want


def test_7z_without_the_tool_says_what_to_do(assay, tmp_path):
    (tmp_path / "d.xml.7z").write_bytes(b"7z\xbc\xaf\x27\x1c" + bytes(30))
    done = assay("corpus", "build", tmp_path / "d.xml.7z", tmp_path / "out", env={"PATH": ""})
    assert done.returncode == 2
    assert "no 7z tool is installed" in done.stderr


def test_wikitext_files_with_headers(tmp_path):
    folder = tmp_path / "pages"
    (folder / "sub").mkdir(parents=True)
    (folder / "Q255__Star_Wars.wikitext").write_text(
        "# QID: Q255\n# TITLE: Star_Wars\n# LANG: en\n\n'''Star Wars''' (1977)\n# a list line"
    )
    (folder / "sub" / "17__Clones.wikitext").write_text(
        "# ID: 17\n# TITLE: Attack_of_the_Clones\nText"
    )
    (folder / "Plain name.wikitext").write_text("No header")
    (folder / "18__Old.wikitext").write_text("# ID: 18\n#REDIRECT [[X]]")
    (folder / "19__Ü.wikitext").write_bytes(b"\xef\xbb\xbf\r\n# ID: 20\r\n\r\n# LANG: en\r\nText")
    (folder / "notes.txt").write_text("not a page")
    built = build_corpus(folder, tmp_path / "out", processes=1)
    found = {p.doc: (p.title, p.text) for p in read_passages(tmp_path / "out")}
    assert found["Q255"] == ("Star Wars", "Star Wars\n\nStar Wars (1977)\n- a list line")
    assert found["17"] == ("Attack of the Clones", "Attack of the Clones\n\nText")
    assert found["Plain_name"] == ("Plain name", "Plain name\n\nNo header")
    assert found["20"] == ("Ü", "Ü\n\nText")
    assert built.counts["redirect"] == 1


def test_msmarco_segments_stay_whole(tmp_path):
    rows = [
        {"docid": "msmarco_v2.1_doc_00_0#0_0", "title": "T", "segment": words(500), "url": "u"},
        {"docid": "msmarco_v2.1_doc_00_0#1_9", "title": "T", "segment": "b {{c}}", "url": "u"},
        {"docid": "msmarco_v2.1_doc_00_7#0_3", "title": "T", "segment": "c", "url": "u"},
    ]
    path = tmp_path / "segments.jsonl.gz"
    path.write_bytes(gzip.compress("".join(json.dumps(row) + "\n" for row in rows).encode()))
    build_corpus(path, tmp_path / "out", processes=1)
    found = list(read_passages(tmp_path / "out"))
    assert [p.id for p in found] == [row["docid"] for row in rows]
    assert [p.doc for p in found] == ["msmarco_v2.1_doc_00_0"] * 2 + ["msmarco_v2.1_doc_00_7"]
    assert found[0].words == 500
    assert found[1].text == "b {{c}}"  # plain text is not wikitext
    assert len(Documents(tmp_path / "out").passages("msmarco_v2.1_doc_00_0")) == 2
    # In any order: none is taken for the beginning of the document a second time.
    rows = [
        {"docid": f"d#{at}", "title": "T", "segment": f"s {at}", "url": "u"} for at in (2, 0, 1)
    ]
    path.write_bytes(gzip.compress("".join(json.dumps(row) + "\n" for row in rows).encode()))
    build_corpus(path, tmp_path / "mixed", processes=1)
    assert [p.id for p in read_passages(tmp_path / "mixed")] == ["d#2", "d#0", "d#1"]


def test_jsonl_and_tsv_with_faults(assay, tmp_path):
    folder = tmp_path / "in"
    folder.mkdir()
    (folder / "a.jsonl").write_text(
        '{"_id": "d1", "title": "T", "text": "one two"}\nnot json\n{"id": 5, "contents": "x"}\n'
        '{"text": "no id"}\n{"id": "d9"}\n[1]\n{"id": " ", "text": "a"}\n'
        '{"id": "\\u0000", "text": "a"}\n{"id": true, "text": "a"}\n'
    )
    table = (
        "id\ttext\nt1\ttext one\nt2\tTitle\ttext two\nbad\n\tno id\nt3\t\na\tb\tc\td\n"
        + "\xff\tt4\n" * 5
    )
    (folder / "b.tsv").write_bytes(table.encode("latin-1"))
    done = assay("corpus", "build", folder, tmp_path / "out")
    assert done.returncode == 1
    for line, why in [
        ("a.jsonl:2", "Not JSON"),
        ("a.jsonl:4", "There is no id"),
        ("a.jsonl:5", "There is no text"),
        ("a.jsonl:6", "The line is not a JSON object"),
        ("a.jsonl:7", "The id is blank"),
        ("a.jsonl:8", "The id is blank"),
        ("a.jsonl:9", "There is no id"),
        ("b.tsv:4", "The line has 1 column."),
        ("b.tsv:5", "The id is blank"),
        ("b.tsv:7", "The line has 4 columns."),
        ("b.tsv:8–12 (5 lines)", "Not UTF-8"),
    ]:
        assert f"{line} {why}" in done.stdout
    assert "15 faults" in done.stdout
    assert "Left out: 1 document without text" in done.stdout
    assert [(p.id, p.text) for p in read_passages(tmp_path / "out")] == [
        ("d1#0", "one two"),
        ("5#0", "x"),
        ("t1#0", "text one"),
        ("t2#0", "text two"),
        ("\ufffd#0", "t4"),
    ]


def test_pages_in_utf_16_are_read_where_they_say_so(tmp_path):
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "a.md").write_text("Œuvre de 東京", encoding="utf-16")
    built = build_corpus(tmp_path / "in", tmp_path / "out", BuildSettings(), processes=1)
    assert not built.faults
    assert [p.text for p in read_passages(tmp_path / "out")] == ["Œuvre de 東京"]


def test_ids_made_of_titles_and_file_names_can_stand_in_any_run(tmp_path):
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "Barry Lyndon.wikitext").write_text("text")
    (tmp_path / "in" / f"{unicodedata.normalize('NFD', 'Été')}.md").write_text("text")
    (tmp_path / "in" / "d.xml").write_bytes(dump(page(1, "text", "Steins;Gate (film)")))
    how = BuildSettings(source=SourceSettings(ids="title"))
    build_corpus(tmp_path / "in", tmp_path / "out", how, processes=1)
    found = [(p.doc, p.title) for p in read_passages(tmp_path / "out")]
    assert found == [
        ("Barry_Lyndon", "Barry Lyndon"),
        ("Été", unicodedata.normalize("NFD", "Été")),
        ("Steins%3BGate_(film)", "Steins;Gate (film)"),
    ]


def test_broken_dump_is_read_on_from_the_next_page(assay, tmp_path, monkeypatch):
    """Every fault with its line and the page before it; only the broken pages are lost."""
    path = tmp_path / "d.xml"
    broken = [
        page(2, "one").replace("one", "one &nbsp; two"),
        page(4, "one\nüüü\n").replace("one", "<b>one</i>"),
        page(6, "one").replace("one", "\0"),
        page(7, "one").replace("one", "\0"),
    ]
    good = [page(number, f"text\n {number} ü") for number in (1, 3, 5, 8)]
    text = "\n".join([good[0], broken[0], good[1], broken[1], good[2], *broken[2:], good[3]])
    path.write_bytes(dump(text))
    done = assay("corpus", "build", path, tmp_path / "out")
    assert done.returncode == 1
    assert "4 faults in the source" in done.stdout
    for line, title, why in [
        (3, "Page 1", "undefined entity"),
        (6, "Page 3", "mismatched tag"),
        (11, "Page 5", "not well-formed (invalid token)"),
        (12, "Page 5", "not well-formed (invalid token)"),
    ]:
        assert f"d.xml:{line} The XML is broken after the page “{title}”: {why}." in done.stdout
    assert [p.doc for p in read_passages(tmp_path / "out")] == ["1", "3", "5", "8"]
    for size in (7, 64, 500):  # wherever a page is cut in two on its way from the disk
        monkeypatch.setattr(mediawiki, "_CHUNK", size)
        source = Source(path, SourceSettings())
        assert [one.id for one in source.items()] == ["1", "3", "5", "8"]
        assert [fault.line for fault in source.faults] == [3, 6, 11, 12]
    path.write_bytes(dump(*PAGES)[:-40] + b"<oops")
    done = assay("corpus", "build", path, tmp_path / "cut")
    assert done.returncode == 1
    assert "The XML is broken after the page “Page 5”" in done.stdout
    assert len(list(read_passages(tmp_path / "cut"))) == 4


@pytest.mark.parametrize(
    ("data", "why"),
    [
        (b"", "The file is empty."),
        (b"<html><body>A page</body></html>", "not a MediaWiki export: the XML begins with <html>"),
        (b"no XML at all", "The XML is broken: syntax error."),
    ],
)
def test_what_is_no_dump_is_said(tmp_path, data, why):
    path = tmp_path / "d.xml"
    path.write_bytes(data)
    built = build_corpus(path, tmp_path / "out", processes=1)
    assert [why in fault.why for fault in built.faults] == [True]


def test_a_corpus_that_is_replaced_leaves_nothing_behind(tmp_path):
    path = tmp_path / "d.tsv"
    path.write_text("a\tone\nb\ttwo\n")
    how = BuildSettings(layout=Layout.DOCUMENTS)
    build_corpus(path, tmp_path / "out", how, processes=1)
    path.write_text("c\tthree\n")
    build_corpus(path, tmp_path / "out", how, processes=1, restart=True)
    assert [p.doc for p in read_passages(tmp_path / "out")] == ["c"]
    build_corpus(path, tmp_path / "out", processes=1, restart=True)
    assert len(Documents(tmp_path / "out")) == 1
    assert not list((tmp_path / "out").rglob("*.json.gz"))


@pytest.mark.parametrize("mark", [",", ";", "\t"])
def test_tables_of_spreadsheets(tmp_path, mark):
    rows = [
        ("ID", "Title", "Text"),
        ("a", "A bridge", '"It opened, they say;\nin ""1932""."'),
        ("b", "", ""),
        ("", "no id", "text"),
        ("c", "Another", "Built later."),
    ]
    path = tmp_path / "t.csv"
    path.write_bytes(b"\xef\xbb\xbf" + "\r\n".join(map(mark.join, rows)).encode())
    source = Source(path, SourceSettings())
    found = {item.id: (item.title, item.text) for item in source.items()}
    assert found["a"] == ("A bridge", 'It opened, they say;\nin "1932".')
    assert found["c"] == ("Another", "Built later.")
    (fault,) = source.faults
    assert (fault.line, "There is no id" in fault.why) == (5, True)


def test_a_table_that_is_none_is_named_and_the_rest_built(tmp_path, assay):
    folder = tmp_path / "f"
    folder.mkdir()
    (folder / "a.csv").write_text('id,text\na,"one\n')
    (folder / "b.md").write_text("# B\n\ntwo\n")
    (folder / "c.docx").write_bytes(b"PK")
    (folder / "README").write_text("of the folder")
    done = assay("corpus", "build", folder, tmp_path / "c")
    assert done.returncode == 1
    assert "a.csv It is not a table" in done.stdout
    assert "1 documents" in done.stdout
    assert "Left out: 2 files of other kinds" in done.stdout


def test_a_document_id_that_comes_twice_counts_once(tmp_path):
    path = tmp_path / "d.tsv"
    path.write_text("a\tone\na\tone\nb\ttwo\na\tthree\n")  # also one right after the other
    built = build_corpus(path, tmp_path / "out", processes=1)
    assert built.counts["twice"] == 2
    assert [p.text for p in read_passages(tmp_path / "out")] == ["one", "two"]
    assert built.counts["passages"] == built.counts["documents"] == 2


@pytest.mark.parametrize("layout", list(Layout))
def test_layouts_hold_the_same_passages(assay, source, tmp_path, layout):
    build_corpus(source, tmp_path / "plain", processes=1)
    want = list(read_passages(tmp_path / "plain"))
    build_corpus(source, tmp_path / "out", BuildSettings(layout=layout), processes=1)
    assert list(read_passages(tmp_path / "out")) == want
    done = assay("corpus", "convert", tmp_path / "out", tmp_path / "back")
    assert done.returncode == 0, done.stderr
    name = "passages.jsonl"
    assert (tmp_path / "back" / name).read_bytes() == (tmp_path / "plain" / name).read_bytes()
    assert len(Documents(tmp_path / "back")) == 2


def test_a_folder_as_the_organisers_ship_it(tmp_path):
    rows = [
        {"passage_id": f"Q1_{n}", "text": f"p{n}", "word_count": 1, "overlap_ratio": 0.15 * n}
        for n in range(2)
    ]
    about = {"doc_id": "Q1", "title": "One"}
    (tmp_path / "Q1.json.gz").write_bytes(
        gzip.compress(json.dumps({**about, "passages": rows}).encode())
    )
    (tmp_path / "Q2.json.gz").write_bytes(
        gzip.compress(json.dumps([{**about, "doc_id": "Q2", **rows[0]}]).encode())
    )
    found = list(read_passages(tmp_path))
    assert [(p.id, p.doc, p.title, p.text) for p in found] == [
        ("Q1_0", "Q1", "One", "p0"),
        ("Q1_1", "Q1", "One", "p1"),
        ("Q1_0", "Q2", "One", "p0"),
    ]
    assert Documents(tmp_path).get("Q1") == "p0\np1"
    assert Documents(tmp_path).get("../Q1") is None


def test_the_documents_text_comes_back(source, tmp_path):
    build_corpus(source, tmp_path / "out", processes=1)
    text = Documents(tmp_path / "out").get("2")
    assert text == f"Page 2\n\n{words(1000)}"
    assert Documents(tmp_path / "out").get("no such") is None
    assert joined(cut_of(text, WordWindow(7, 3))) == text


def cut_of(text, window):
    return list(passages("D", "", text, window))


def test_ids_cannot_lead_out_of_the_folder(tmp_path):
    for one in ("../x", "..", ".hidden", "a/b", "c\\d", "x" * 500, "\u202e", "CON", "lpt1.x", "\n"):
        name = file_name(one)
        assert "/" not in name
        assert "\\" not in name
        assert not name.startswith(".")
        assert len(name) < 220
        assert name.partition(".")[0].casefold() not in ("con", "lpt1")  # devices on Windows
    one = list(passages("../../x", "", "text", WordWindow()))
    write_passages(one, tmp_path / "out", Layout.DOCUMENTS)
    assert list(read_passages(tmp_path / "out")) == one
    assert not (tmp_path.parent / "x.json.gz").exists()
    write_passages(passages("Con", "", "A page.", WordWindow()), tmp_path / "out", Layout.DOCUMENTS)
    folder = tmp_path / "out" / "documents"
    (folder / "%43on.json.gz").rename(folder / "Con.json.gz")  # as others may have named it
    assert Documents(tmp_path / "out").get("Con") == "A page."
    assert Documents(tmp_path / "out").get("x" * 500) is None


def test_ids_that_differ_in_capitals_keep_their_texts_where_a_disk_does_not_tell_them_apart(
    tmp_path,
):
    folder = tmp_path / "out" / "documents"
    folder.mkdir(parents=True)
    (folder / "ALIEN.json.gz").symlink_to("Alien.json.gz")  # on such a disk, the same file
    texts = {"Alien": "A film.", "Brazil": "Another.", "ALIEN": "An agency."}
    every = [one for doc in texts for one in passages(doc, "", texts[doc], WordWindow())]
    write_passages(every, tmp_path / "out", Layout.DOCUMENTS)
    found = Documents(tmp_path / "out")
    assert {doc: found.get(doc) for doc in texts} == texts
    assert found.get("alien") is None
    (folder / "ALIEN.json.gz").unlink()
    assert sorted(read_passages(tmp_path / "out")) == sorted(every)


def many_pages(path, count):
    path.write_bytes(dump(*(page(n, f"'''Page''' {words(60, n)} [[x|{n}]]") for n in range(count))))
    return path


def test_all_cores_give_the_same_bytes(tmp_path):
    path = many_pages(tmp_path / "d.xml", 900)
    build_corpus(path, tmp_path / "one", processes=1)
    build_corpus(path, tmp_path / "two", processes=2)
    want = (tmp_path / "one" / "passages.jsonl").read_bytes()
    assert want.count(b"\n") == 900
    assert (tmp_path / "two" / "passages.jsonl").read_bytes() == want


def test_killed_build_goes_on(assay, tmp_path):
    """Killed with SIGKILL after some parts: nothing done twice, the same bytes at the end."""
    path = many_pages(tmp_path / "d.xml", 2400)
    build_corpus(path, tmp_path / "want", processes=1)
    out = tmp_path / "out"
    command = ("corpus", "build", path, out, "--processes", 1)
    with open(os.devnull, "r+") as nothing:
        process = Apart(*command, env=without_keys(), streams=(nothing.fileno(),) * 3)
    journal = out / "parts" / "journal.jsonl"
    deadline = time.monotonic() + 60
    while not (journal.is_file() and journal.read_bytes().count(b'"number"') >= 3):
        assert time.monotonic() < deadline
        time.sleep(0.005)
    process.kill()
    process.wait()
    assert not (out / "corpus.json").exists()
    done = assay("corpus", "build", path, out, "--words", "9")
    assert done.returncode == 2
    assert "an unfinished build" in done.stderr
    done = assay("corpus", "build", path, out, "--json")
    assert done.returncode == 0, done.stderr
    result = json.loads(done.stdout)
    assert result["resumed_parts"] >= 3
    assert result["counts"]["passages"] == 2400
    name = "passages.jsonl"
    assert (out / name).read_bytes() == (tmp_path / "want" / name).read_bytes()
    assert not (out / "parts").exists()
    assert assay("corpus", "build", path, out).returncode == 2  # a corpus is never overwritten
    assert assay("corpus", "build", path, out, "--restart", "--processes", "1").returncode == 0


def test_a_folder_of_many_files_is_read_in_one_go(tmp_path, monkeypatch):
    """What a file is, is looked at a few times, not once for every other file of the folder."""
    for number in range(300):
        (tmp_path / f"{number:03d}__Page.wikitext").write_text("'''Page'''")
    looked = []
    kind = Source._format
    monkeypatch.setattr(Source, "_format", lambda *file: looked.append(file) or kind(*file))
    assert len(list(Source(tmp_path, SourceSettings()).items())) == 300
    assert len(looked) <= 3 * 300


def test_a_resumed_build_lists_all_faults_of_a_folder(tmp_path):
    """Files that were read before the kill are not read again; what was wrong with them is told,
    and one that could not be read at all moves nothing."""
    folder = tmp_path / "pages"
    folder.mkdir()
    for number in range(900):
        (folder / f"{number:03d}__Page.wikitext").write_text(f"'''Page''' {words(5, number)}")
    for number in ("007", "450", "899"):
        (folder / f"{number}__Page.wikitext").write_bytes(b"caf\xe9 and more")
    (folder / "100__Page.wikitext").write_bytes(gzip.compress(b"cut off" * 99)[:-20])
    want = build_corpus(folder, tmp_path / "want", processes=1)
    assert want.counts["documents"] == 899
    assert want.counts["unreadable"] == 1
    assert len(want.faults) == 4

    def told(_what, _made, share):
        if share > 0.5:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        build_corpus(folder, tmp_path / "out", processes=1, progress=told)
    found = build_corpus(folder, tmp_path / "out", processes=1)
    assert found.resumed >= 2
    assert found.counts == want.counts
    assert found.faults == want.faults
    name = "passages.jsonl"
    assert (tmp_path / "out" / name).read_bytes() == (tmp_path / "want" / name).read_bytes()


def test_a_script_that_builds_a_corpus_does_not_run_again_in_each_process(
    source, tmp_path, monkeypatch
):
    script = tmp_path / "script.py"
    script.write_text("raise SystemExit('it ran again')")
    monkeypatch.setitem(sys.modules, "__main__", ModuleType("__main__"))
    monkeypatch.setattr(sys.modules["__main__"], "__file__", str(script), raising=False)
    assert build_corpus(source, tmp_path / "out", processes=1).counts["documents"]


def test_a_page_that_takes_too_long_is_left_out_and_named(assay, tmp_path):
    """Begun and never closed, over and over: the parser, which nothing interrupts, takes a time
    that grows with the square of the page's length."""
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "good.wiki").write_text("A town in [[Kent]].")
    (tmp_path / "in" / "late.wiki").write_text("Another in [[Essex]].")
    (tmp_path / "in" / "hurts.wiki").write_text("{{{a|" * 20_000)
    command = ["corpus", "build", tmp_path / "in", tmp_path / "out", "--page-seconds", "1"]
    done = assay(*command)
    assert done.returncode == 1
    assert "Left out: 1 page that took too long" in done.stdout
    assert "hurts" in done.stdout
    assert "takes more than 1 second" in done.stdout
    kept = {passage.title for passage in read_passages(tmp_path / "out")}
    assert kept == {"good", "late"}


def test_a_dump_that_unpacks_to_many_times_its_size_is_said(assay, tmp_path):
    talk = page(2, " " * 70_000_000, ns=1)  # it is unpacked, and left out
    (tmp_path / "dump.xml").write_bytes(gzip.compress(dump(page(1, "x"), talk), 1))
    command = ["corpus", "build", tmp_path / "dump.xml", tmp_path / "out"]
    done = assay(*command)
    assert done.returncode in (1, 2)
    assert "ASSAY_MAX_UNPACKED" in done.stdout + done.stderr
    assert "Traceback" not in done.stderr
    done = assay(*command, "--restart", env={"ASSAY_MAX_UNPACKED": "100000000"})
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize(
    ("begin", "end"), [("<!--", "-->"), ("<?a ", "?>"), ('<a a="', '"/>'), ("<a ", "/>")]
)
def test_a_dump_with_a_comment_or_tag_of_20_megabytes(tmp_path, begin, end):
    before, root, after = dump(page(1, "x"), page(2, "y")).partition(b"<page>")
    path = tmp_path / "dump.xml"
    path.write_bytes(before + begin.encode() + b"x" * 20_000_000 + end.encode() + root + after)
    started = time.process_time()
    found = [type(item).__name__ for item in Source(path, SourceSettings()).items()]
    assert found == ["Document", "Document"]
    assert time.process_time() - started < 2


def test_a_dump_with_elements_without_number(tmp_path, monkeypatch):
    monkeypatch.setattr(mediawiki, "_ELEMENTS", 20_000)
    monkeypatch.setattr(mediawiki, "_CHUNK", 1 << 14)
    begin = dump(page(1, "x")).removesuffix(b"</mediawiki>").rstrip()
    path = tmp_path / "dump.xml"
    path.write_bytes(begin + b"<a>" * 60_000 + page(2, "y").encode())
    source = Source(path, SourceSettings())
    assert [item.title for item in source.items()] == ["Page 1", "Page 2"]
    assert "elements without number" in str(source.faults[0])


def test_wrong_use(assay, tmp_path, source):
    full = tmp_path / "full"
    full.mkdir()
    (full / "thing").write_text("x")
    (tmp_path / "x.bin").write_text("x")
    for arguments, says in [
        ((tmp_path / "none.xml", tmp_path / "o"), "There is no file or folder"),
        ((full, tmp_path / "o"), "contains no file whose name ends in"),
        ((tmp_path / "x.bin", tmp_path / "o"), "--format"),
        ((source, full), "is not empty"),
        ((source, tmp_path / "o", "--overlap", "1"), "The overlap is a share"),
        ((source, tmp_path / "o", "--ids", "x"), "--ids"),
        ((source, tmp_path / "o", "--namespaces", "a"), "--namespaces"),
    ]:
        done = assay("corpus", "build", *arguments)
        assert done.returncode == 2, arguments
        assert says in done.stderr
    assert (full / "thing").read_text() == "x"
    other = tmp_path / "other" / "parts"
    other.mkdir(parents=True)
    (other / "mine.txt").write_text("x")
    done = assay("corpus", "build", source, tmp_path / "other", "--restart")
    assert done.returncode == 2  # what is not ours is never removed
    assert (other / "mine.txt").read_text() == "x"


def test_the_film_pages_through_the_command_line(assay, film_corpus, tmp_path):
    found = list(read_passages(film_corpus))
    assert len({p.doc for p in found}) == 102
    assert max(p.words for p in found) == 400
    by_doc = Documents(film_corpus)
    assert len(by_doc) == 102
    for passage in found:
        assert passage.text in by_doc.get(passage.doc)
        assert passage.doc.replace("_", " ") == passage.title
    # Passages of a PR run can be checked against the corpus.
    run = tmp_path / "RUN.txt"
    first = " ".join(found[0].text.split())
    run.write_text(f"1;1;{found[0].doc};{first}\n1;2;{found[0].doc};not in it\n1;3;no doc;x\n")
    faults = read_pr_run(run, corpus=by_doc).errors
    assert [fault.line for fault in faults] == [2, 3]
    checked = assay("validate", run, "--format", "r2c2-pr", "--corpus", film_corpus)
    assert checked.returncode == 1
    assert "There is no document “no doc” in the corpus." in checked.stdout + checked.stderr
