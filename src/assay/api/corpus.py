"""Corpora of passages from Python: ``assay.corpus.build``, ``open`` and ``convert``."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from assay.api.arguments import number_of, one_of, path_of, whole_of
from assay.api.telling import progress_callback
from assay.model.errors import SettingsError
from assay.model.options import Option
from assay.model.progress import ProgressCallback
from assay.model.wording import printable
from assay.systems.corpus.build import BuildSettings, Built, build_corpus
from assay.systems.corpus.documents import Document, Source, SourceSettings, TextKind
from assay.systems.corpus.explain import Explained
from assay.systems.corpus.explain import explain as explain_page
from assay.systems.corpus.files import SourceFormat
from assay.systems.corpus.passages import Cut, CutPassage, WordWindow
from assay.systems.corpus.store import Documents, Layout, read_passages, write_passages
from assay.systems.corpus.wikitext import CleanSettings

if TYPE_CHECKING:
    import polars as pl

Name = str | PathLike[str]


class Corpus:
    """Passages on disk. Iterating yields the passages. ``built`` holds the ``counts`` of the build
    (documents, passages, words, and what was left out) and the ``faults`` of the source; it is
    empty for a corpus that was opened."""

    def __init__(self, folder: Name, built: Built | None = None) -> None:
        self.folder = Path(folder)
        self.built = built or Built({}, (), 0, 0)

    def __iter__(self) -> Iterator[CutPassage]:
        """Yield all passages in order. Raises FormatError if one cannot be read, SettingsError if
        there is no corpus."""
        return read_passages(self.folder)

    @property
    def passages(self) -> pl.DataFrame:
        """All passages, in memory (iterate over a large corpus instead): ``id``, ``doc``,
        ``title``, ``number`` in the document (from 0), ``text``, ``words``, ``overlap`` (words
        shared with the previous passage) and ``start`` (where the text begins)."""
        return _frame(self)

    def document(self, doc: str) -> pl.DataFrame:
        """A frame of a document's passages. Raises SettingsError if there is no such document."""
        return _frame(self.of(doc))

    def of(self, doc: str) -> list[CutPassage]:
        """The passages of a document as a list. Raises SettingsError as :meth:`document` does."""
        found = Documents(self.folder).passages(doc)
        if not found:
            raise SettingsError(f"There is no document {doc!r} in {self.folder}.")
        return found

    def __repr__(self) -> str:
        return f"<assay.corpus.Corpus {str(self.folder)!r}>"


def build(
    source: Name,
    folder: Name,
    *,
    format: Annotated[  # noqa: A002 (as the option is called)
        str, Option("Format of the source.", of=SourceFormat)
    ] = "auto",
    words: Annotated[int, Option("Words per passage.", least=1)] = 400,
    overlap: Annotated[float, Option("Share of a passage that repeats the previous one.")] = 0.15,
    by: Annotated[
        str, Option("Where passages may end; with sentences and headings they end earlier.", of=Cut)
    ] = "words",
    layout: Annotated[
        str, Option("One file, or one compressed JSON file per document.", of=Layout)
    ] = "jsonl",
    ids: Annotated[
        str, Option("What identifies the documents of a dump.", metavar="id|title")
    ] = "id",
    namespaces: Annotated[Sequence[int], Option("Namespaces of a dump to include, by number.")] = (
        0,
    ),
    categories: Annotated[
        bool, Option("Keep the names of a page's categories as its last line.")
    ] = True,
    captions: Annotated[bool, Option("Keep image captions.")] = True,
    disambiguations: Annotated[bool, Option("Keep disambiguation pages.")] = False,
    page_seconds: Annotated[
        float, Option("Seconds after which a page is left out and named.", least=0.1)
    ] = 30.0,
    processes: Annotated[
        int | None, Option("Worker processes (default: one per core).", least=1)
    ] = None,
    restart: Annotated[bool, Option("Start again from scratch; replaces a corpus in OUT.")] = False,
    update: Annotated[
        bool,
        Option("Only process what is new or changed in SOURCE, and drop what is gone."),
    ] = False,
    progress: ProgressCallback | bool = False,
) -> Corpus:
    """Build a corpus of overlapping passages in ``folder``, as ``assay corpus build`` does.

    ``source`` is a MediaWiki dump, a .jsonl, .tsv or .parquet file, or a folder of these or of
    .wikitext, .html, .pdf or .md files. A passage has ``words`` words, of which the share
    ``overlap`` repeats the previous passage; with ``by`` sentences or headings it may be shorter.
    ``layout`` is jsonl, jsonl.gz, parquet or documents. Calling again resumes a build that was
    interrupted. ``update`` processes only what is new, changed or gone in the source. ``processes``
    is the number of worker processes (None: one per core). ``progress``: True writes a line now and
    then; a function is called with what is counted, how many, and the share done. ``built.faults``
    of the corpus lists what could not be read. Raises SettingsError for invalid settings, and if
    ``folder`` holds another corpus (``restart`` replaces it) or another build.
    """
    if ids not in ("id", "title"):
        raise SettingsError("--ids is 'id' or 'title'.")
    whole_of(words, "words", "how many words a passage has, a whole number")
    number_of(overlap, "overlap", "a share of a passage, a number")
    settings = BuildSettings(
        source=SourceSettings(one_of(SourceFormat, format, "format"), tuple(namespaces), ids),
        clean=CleanSettings(categories, captions),
        window=WordWindow.of(words, overlap, one_of(Cut, by, "by")),
        layout=one_of(Layout, layout, "layout"),
        disambiguations=disambiguations,
        page_seconds=page_seconds,
    )
    if restart and update:
        raise SettingsError("--restart and --update cannot be combined.")
    built = build_corpus(
        path_of(source, "source"),
        path_of(folder, "folder"),
        settings,
        processes=processes,
        restart=restart,
        update=update,
        progress=progress_callback(progress),
    )
    return Corpus(folder, built)


def open(folder: Name) -> Corpus:  # noqa: A001 (it is called as corpus.open)
    """Open the corpus in ``folder`` (or a file), in any layout, whether or not Assay built it.
    Raises SettingsError if there is none."""
    path = path_of(folder, "folder")
    if not path.exists():
        raise SettingsError(f"There is no corpus at {path}. Make one with assay.corpus.build.")
    return Corpus(path)


def convert(corpus: Name | Corpus, folder: Name, *, layout: str = "jsonl") -> int:
    """Copy a corpus to ``folder`` in another layout and return its number of passages. Raises
    SettingsError if ``folder`` is not empty."""
    target = Path(folder)
    if target.exists() and (not target.is_dir() or any(target.iterdir())):
        raise SettingsError(f"{folder} already exists. Choose a new or empty folder.")
    given = corpus if isinstance(corpus, Corpus) else Corpus(corpus)
    return write_passages(given, target, one_of(Layout, layout, "layout"))


def explain(
    source: Name,
    page: str = "",
    *,
    format: str = "auto",  # noqa: A002 (as the option is called)
    categories: bool = True,
    captions: bool = True,
) -> Explained:
    """Explain how a wikitext page of ``source`` becomes text: its lines beside the text made from
    them, and how its templates were treated. ``page`` is an id or title (default: the first page).
    Raises SettingsError if there is no such page of wikitext."""
    found = Source(Path(source), SourceSettings(one_of(SourceFormat, format, "format")))
    for item in found.items():
        if not isinstance(item, Document) or page not in ("", item.id, item.title):
            continue
        if item.kind is TextKind.WIKITEXT:
            return explain_page(item.text, item.title, CleanSettings(categories, captions))
        if page:
            raise SettingsError(f"{printable(page)!r} in {source} is not a page of wikitext.")
    what = f"no page {printable(page)!r}" if page else "no page of wikitext"
    raise SettingsError(f"There is {what} in {source}.")


def _frame(passages: Iterable[CutPassage]) -> pl.DataFrame:
    from assay.api.frames import frame  # noqa: PLC0415 (polars, for this alone)

    return frame(CutPassage._fields, passages)
