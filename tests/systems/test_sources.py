"""Corpora of web pages, PDF, Markdown and Parquet; passages by sentences and by headings."""

import io

import polars as pl
import pypdf
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pypdf.generic import DecodedStreamObject, DictionaryObject, NameObject

from assay.model.errors import SettingsError
from assay.model.paths import TRUSTED_FOLDERS
from assay.model.words import word_spans
from assay.systems.corpus.accounting import Account
from assay.systems.corpus.build import BuildSettings, build_corpus, document_passages
from assay.systems.corpus.documents import Document, TextKind
from assay.systems.corpus.files import files_in
from assay.systems.corpus.passages import Cut, WordWindow, cut
from assay.systems.corpus.readers import html_text, markdown_text, pdf_text
from assay.systems.corpus.store import read_passages

HTML = """<html><head><title>A film &amp; its score</title></head><body>
<nav><a href="/">Home</a> <a href="/all">All pages of this site</a></nav>
<article><h1>The Oak Door</h1><p>The Oak Door is a film of 1954 that was shot in Lisbon by Ann Bell,
with a score for strings that she wrote herself in the same year.</p>
<ul><li>Ann Bell directed</li><li>Tom Cole wrote</li></ul></article>
<footer>Imprint and cookies</footer><script>alert(1)</script></body></html>"""
MARKDOWN = """---
title: "The Oak Door"
---
# Plot *of it*

A [door](http://x.y) opens.

- one
- **two**

| who | what |
| --- | --- |
| Ann | dir |

```
code <b>
```
"""


def pdf(*pages):
    writer = pypdf.PdfWriter()
    for text in pages:
        page = writer.add_blank_page(200, 200)
        font = {"/Type": "/Font", "/Subtype": "/Type1", "/BaseFont": "/Helvetica"}
        fonts = DictionaryObject({NameObject(k): NameObject(v) for k, v in font.items()})
        page[NameObject("/Resources")] = DictionaryObject(
            {NameObject("/Font"): DictionaryObject({NameObject("/F1"): fonts})}
        )
        stream = DecodedStreamObject()
        stream.set_data(f"BT /F1 12 Tf 10 100 Td ({text}) Tj ET".encode())
        page[NameObject("/Contents")] = writer._add_object(stream)
    writer.add_metadata({"/Title": "A report"})
    out = io.BytesIO()
    writer.write(out)
    return out.getvalue()


def test_a_folder_of_documents_of_all_kinds(tmp_path):
    folder = tmp_path / "in"
    (folder / "sub").mkdir(parents=True)
    (folder / "sub" / "oak door.html").write_text(HTML)
    (folder / "report.pdf").write_bytes(pdf("Page one.", "Page two."))
    (folder / "broken.pdf").write_bytes(b"%PDF-1.4 no more")
    (folder / "notes.md").write_text(MARKDOWN)
    rows = [
        {"id": "p1", "text": "One text.", "metadata": {"title": "From metadata"}},
        {"id": "p2", "text": None, "metadata": {"title": "x"}},
    ]
    pl.DataFrame(rows).write_parquet(folder / "rows.parquet")
    built = build_corpus(folder, tmp_path / "out", processes=1)
    found = {p.doc: (p.title, p.text) for p in read_passages(tmp_path / "out")}
    title, text = found["sub/oak_door"]
    assert "shot in Lisbon by Ann Bell" in text
    assert "- Ann Bell directed" in text
    assert not {"Home", "cookies", "alert", "<"} & set(text.replace("(", " ").split())
    assert title
    assert found["report"] == ("A report", "Page one.\n\nPage two.")
    assert found["notes"] == (
        "The Oak Door",
        "# Plot of it\n\nA door opens.\n\n- one\n- two\n| who | what |\n| Ann | dir |\n\ncode <b>",
    )
    assert found["p1"] == ("From metadata", "One text.")
    assert len(found) == 4
    faults = sorted(str(fault) for fault in built.faults)
    assert len(faults) == 2
    assert "broken.pdf" in faults[0]
    assert "There is no text" in faults[1]


BODY = "<html><head>{}<title>映画</title></head><body><p>1954年に公開された㈱①。</p></body></html>"


@pytest.mark.parametrize(
    ("charset", "codec"),
    [
        ("Shift_JIS", "cp932"),
        ("EUC-JP", "euc_jis_2004"),
        ("GB2312", "gb18030"),
        ("UTF-8", "utf-8-sig"),
        ("", "utf-16"),
        ("iso-2022-jp", "iso2022_jp_2004"),
    ],
)
def test_web_pages_are_read_in_the_encoding_that_they_name(tmp_path, charset, codec):
    meta = f'<meta charset="{charset}">' if charset else ""
    body = BODY.replace("㈱①", "") if "jp" in charset.lower() else BODY
    (tmp_path / "x.html").write_bytes(body.format(meta).encode(codec))
    built = build_corpus(tmp_path / "x.html", tmp_path / "out", processes=1)
    (found,) = read_passages(tmp_path / "out")
    assert not built.faults
    assert found.title == "映画"
    assert found.text in ("1954年に公開された㈱①。", "1954年に公開された。")


def test_what_holds_the_page_is_no_frame_and_what_is_dropped_is_counted():
    form = "<body><form><h1>Oak</h1><p>All in a form.</p></form></body>"
    assert html_text(form).text == "Oak\n\nAll in a form."
    long = f"<body><form>{'<p>All of this page.</p>' * 9}</form><p>No heading.</p></body>"
    assert "All of this page." in html_text(long).text
    box = '<main><p>Text of it.</p></main><aside class="portable-infobox">Jedi</aside>'
    assert "Jedi" in html_text(box).text
    read = html_text(HTML)
    assert dict(read.dropped) == {"<nav>": 6, "<footer>": 3}
    document = Document("a", "", read.text, TextKind.PLAIN, dropped=read.dropped)
    account = Account()
    document_passages(document, BuildSettings(), account)
    assert account.rows == [("<nav>", "dropped", 1, 6), ("<footer>", "dropped", 1, 3)]


def test_a_page_of_a_pdf_that_cannot_be_read_costs_no_other(tmp_path, monkeypatch):
    read = pypdf.PageObject.extract_text

    def extract(page):
        text = read(page)
        if "two" in text:
            raise AttributeError("no such thing")
        return text

    monkeypatch.setattr(pypdf.PageObject, "extract_text", extract)
    (tmp_path / "x.pdf").write_bytes(pdf("Page one.", "Page two.", "Page three."))
    built = build_corpus(tmp_path / "x.pdf", tmp_path / "out", processes=1)
    (found,) = read_passages(tmp_path / "out")
    assert found.text == "Page one.\n\nPage three."
    (fault,) = built.faults
    assert "page 2 of 3 cannot be read: no such thing" in str(fault)
    with pytest.raises(ValueError, match="page 1 of 1"):
        pdf_text(pdf("Page two."))


def test_a_pdf_that_needs_what_is_not_there_is_a_fault(monkeypatch):
    def fail(*_args):
        raise pypdf.errors.DependencyError("cryptography is needed")

    monkeypatch.setattr(pypdf, "PdfReader", fail)
    with pytest.raises(ValueError, match="cryptography"):
        pdf_text(b"")


def test_letters_of_a_pdf_are_letters_not_glyphs(monkeypatch):
    drawn = "⽇本 ﬁlm ﻣﺮﺣﺒﺎ x²"
    monkeypatch.setattr(pypdf.PageObject, "extract_text", lambda _page: drawn)
    assert pdf_text(pdf("x")).text == "日本 film مرحبا x²"


def test_files_of_one_name_and_two_endings_are_two_documents(tmp_path):
    folder = tmp_path / "in"
    folder.mkdir()
    (folder / "a.html").write_text("<p>Web.</p>")
    (folder / "a.md").write_text("Mark.")
    (folder / "b.md").write_text("<p align=center>In <b>HTML</b></p>\n\n<!-- no -->\n")
    built = build_corpus(folder, tmp_path / "out", processes=1)
    found = {p.doc: p.text for p in read_passages(tmp_path / "out")}
    assert found == {"a.html": "Web.", "a.md": "Mark.", "b": "In HTML"}
    assert not built.counts["twice"]


def test_no_link_draws_in_what_lies_elsewhere(tmp_path):
    """A corpus that somebody sends must not have the reader's own files indexed and quoted."""
    source, other = tmp_path / "source", tmp_path / "other"
    (source / "a").mkdir(parents=True)
    (source / "a" / "one.md").write_text("One.")
    (source / "two.md").symlink_to("a/one.md")
    other.mkdir()
    (other / "secret.md").write_text("Hidden.")
    assert [*files_in(source)] == ["a/one.md", "two.md"]
    for link, target in (("file.md", other / "secret.md"), ("folder", other), ("up", ".")):
        (source / "a" / link).symlink_to(target)
        with pytest.raises(SettingsError, match=f"a/{link}.*(outside the folder|holds it)"):
            list(files_in(source))
        (source / "a" / link).unlink()
    (source / "folder").symlink_to(other)
    token = TRUSTED_FOLDERS.set((other,))
    try:
        assert [*files_in(source)] == ["a/one.md", "folder/secret.md", "two.md"]
    finally:
        TRUSTED_FOLDERS.reset(token)


def test_damaged_parquet_is_a_fault(assay, tmp_path):
    (tmp_path / "x.parquet").write_bytes(b"PAR1 no")
    done = assay("corpus", "build", tmp_path / "x.parquet", tmp_path / "out", "--processes", "1")
    assert done.returncode == 1
    assert "Reading stops here" in done.stdout


def test_the_title_of_markdown_is_its_first_heading():
    assert markdown_text("text\n\n## Two\n\n# One")[0] == "Two"


TEXT = (
    "Plot\nOne two three. Four five six! Seven.\n\nCast\n- A as B\n- C as D\n\n"
    "日本語の文。次の文です。"
)


@pytest.mark.parametrize(
    ("by", "parts"),
    [
        (
            Cut.SENTENCES,
            [
                ("Plot\nOne two three. Four five six!", 0),
                ("Four five six! Seven.\n\nCast", 3),
                ("Seven.\n\nCast\n- A as B", 2),
                ("- C as D", 0),
                ("日本語の文。", 0),
                ("次の文です。", 0),
            ],
        ),
        (Cut.HEADINGS, [("Plot\nOne two three. Four five six!", 0), ("Four five six! Seven.", 3)]),
    ],
)
def test_passages_by_sentences_and_headings(by, parts):
    found = [(text, overlap) for _, text, _, overlap in cut(TEXT, WordWindow.of(7, 0.43, by))]
    assert found[: len(parts)] == parts
    if by is Cut.HEADINGS:
        assert found[2][0].startswith("Cast\n- A")


@given(
    st.text(alphabet="ab .!\n#日。", max_size=200),
    st.integers(1, 12),
    st.floats(0, 0.99),
    st.sampled_from(Cut),
)
def test_every_cut_covers_every_word(text, size, share, by):
    spans = word_spans(text)
    covered = set()
    for start, part, count, overlap in cut(text, WordWindow.of(size, share, by)):
        assert text[start : start + len(part)] == part
        inside = {at for at, (a, b) in enumerate(spans) if start <= a and b <= start + len(part)}
        assert len(inside) == count <= size
        assert len(inside & covered) == overlap
        assert inside - covered
        covered |= inside
    assert covered == set(range(len(spans)))


def test_by_sentences_through_the_command_line(assay, tmp_path):
    (tmp_path / "a.tsv").write_text("D\tOne two three. Four five six. Seven eight nine.\n")
    command = ["corpus", "build", tmp_path / "a.tsv", tmp_path / "out", "--processes", "1"]
    done = assay(*command, "--words", "5", "--overlap", "0", "--by", "sentences")
    assert done.returncode == 0, done.stderr
    texts = [passage.text for passage in read_passages(tmp_path / "out")]
    assert texts == ["One two three.", "Four five six.", "Seven eight nine."]
    assert BuildSettings().window.by is Cut.WORDS
