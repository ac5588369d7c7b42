"""Corpora of web pages, PDF, Markdown and Parquet; passages by sentences and by headings."""

import io

import polars as pl
import pypdf
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pypdf.generic import DecodedStreamObject, DictionaryObject, NameObject

from assay.systems.corpus.build import BuildSettings, build_corpus
from assay.systems.corpus.passages import Cut, WordWindow, cut, word_spans
from assay.systems.corpus.readers import markdown_text
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
