"""``assay corpus``: from dumps and wikitext to passages."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from itertools import groupby
from operator import attrgetter
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.box import SIMPLE_HEAD
from rich.table import Table as RichTable
from rich.text import Text

from assay.api import corpus as corpora
from assay.cli.common import FORM, forms, group, present, print_json, safe, say, takes, tell
from assay.cli.judging import going
from assay.cli.screen import out
from assay.model.errors import SettingsError, fault_lines, group_faults
from assay.model.options import Argument, Option
from assay.model.wording import counted, printable, printable_lines
from assay.page.tables import Table
from assay.systems.corpus.accounting import Became
from assay.systems.corpus.build import Built
from assay.systems.corpus.explain import Explained
from assay.systems.corpus.files import SourceFormat
from assay.systems.corpus.store import Layout

app = group("Turn dumps and wikitext into passages.")

_LEFT_OUT = {
    "redirect": ("redirect", "redirects"),
    "namespace": ("page of another namespace", "pages of other namespaces"),
    "disambiguation": ("disambiguation page", "disambiguation pages"),
    "empty": ("document without text", "documents without text"),
    "slow": ("page that took too long", "pages that took too long"),
    "unreadable": ("unreadable file", "unreadable files"),
    "other_kind": ("file of another kind", "files of other kinds"),
    "twice": ("document with an id used before", "documents with an id used before"),
}
_SHOWN = 12  # most kinds of templates shown
_STYLE = {True: "red strike", False: ""}


@app.command("build")
@forms("json")
@takes(corpora.build)
def build_command(
    source: Annotated[
        Path,
        Argument(
            "SOURCE",
            "A MediaWiki dump (.xml, also .bz2, .gz, .7z), a .jsonl, .tsv or .parquet file, or a "
            "folder of such files or of .wikitext, .html, .pdf or .md files.",
        ),
    ],
    folder: Annotated[Path, Argument("OUT", "Folder for the corpus.")],
    *,
    namespaces: Annotated[str, Option("Namespaces of a dump to include, by number.")] = "0",
    **options: Any,
) -> None:
    """Build a corpus of overlapping passages from SOURCE.

    Wikitext becomes plain text: infobox fields become "Field: value" lines and tables become
    Markdown; templates, tags, references and comments are removed. If a build is stopped, run the
    same command again to continue it. Exit status 1 if something could not be read.
    """
    started = time.perf_counter()
    with going() as shown:
        made = corpora.build(
            source, folder, namespaces=_numbers(namespaces), progress=shown.at, **options
        )
    seconds = time.perf_counter() - started
    built = made.built
    present(
        lambda: {
            "corpus": str(folder),
            "counts": dict(built.counts),
            "seconds": seconds,
            "resumed_parts": built.resumed,
            "templates": [row._asdict() for row in built.templates],
            "updated": None if built.updated is None else built.updated._asdict(),
            "faults": [str(fault) for fault in built.faults],
            "more_faults": built.more_faults,
        },
        _people(built, folder, seconds),
    )
    if built.faults:
        raise typer.Exit(1)


@app.command("convert")
@forms()
def convert_command(
    corpus: Annotated[Path, Argument("CORPUS", "A corpus in any layout, made by any tool.")],
    folder: Annotated[Path, Argument("OUT", "Folder for the copy.")],
    layout: Annotated[Layout, Option("")] = Layout.JSONL,
) -> None:
    """Write the passages of a corpus in another layout."""
    count = corpora.convert(corpus, folder, layout=layout)
    say(f"{counted(count, 'passage')} in {folder}")


@app.command("show")
@forms("json")
def show_command(
    corpus: Annotated[Path, Argument("CORPUS", "Folder of a corpus.")],
    document: Annotated[str, Argument("DOCID", "A document's id.")],
) -> None:
    """Print the passages of a document."""
    found = corpora.open(corpus).of(document)
    if FORM.get():
        print_json([passage._asdict() for passage in found])
        return
    for passage in found:
        out().print(
            f"{safe(passage.id)} · {safe(passage.title)} · {passage.words} words, "
            f"{passage.overlap} of them in the one before",
            style="bold",
        )
        for line in passage.text.split("\n"):
            out().print(safe(line), soft_wrap=True)
        out().print()


@app.command("explain")
@forms("json")
def explain_command(
    source: Annotated[Path, Argument("PAGE", "A .wikitext file, or a dump or folder of pages.")],
    page: Annotated[str, Argument("[ID]", "Of several pages, the id or title of one.")] = "",
    source_format: Annotated[
        SourceFormat, Option("What PAGE holds.", flag="--format")
    ] = SourceFormat.AUTO,
    categories: Annotated[bool, Option("As in build.")] = True,
    captions: Annotated[bool, Option("As in build.")] = True,
) -> None:
    """Show a page's source and its text side by side.

    Source that is missing from the text appears between [- and -]. A table below shows what
    happened to the templates.
    """
    found = corpora.explain(
        source, page, format=source_format, categories=categories, captions=captions
    )
    present(
        lambda: {
            "lines": [
                {
                    "source": [{"text": text, "dropped": dropped} for text, dropped in line.source],
                    "text": line.text,
                }
                for line in found.lines
            ],
            "templates": [row._asdict() for row in found.templates],
        },
        [_side_by_side(found), *_templates(found.templates)],
    )


def _side_by_side(found: Explained) -> RichTable:
    drawn = RichTable("source", "text", box=SIMPLE_HEAD, pad_edge=False, expand=True)
    for line in found.lines:
        source = Text()
        for text, dropped in line.source:
            source.append(f"[-{printable(text)}-]" if dropped else printable(text), _STYLE[dropped])
        if source.plain.strip() or line.text:
            drawn.add_row(source, Text(printable_lines(line.text)))
    for column in drawn.columns:
        column.overflow, column.ratio = "fold", 1
    return drawn


def _templates(rows: Sequence[Became]) -> Iterator[Table | str]:
    """What became of templates, starting with the kinds that lost most words."""
    if not rows:
        return
    shown = [(row.name, row.fate, row.times, row.lost) for row in rows[:_SHOWN]]
    if len(rows) > _SHOWN:
        rest = rows[_SHOWN:]
        more = f"{counted(len(rest), 'other name')}"
        shown.append((more, "", sum(row.times for row in rest), sum(row.lost for row in rest)))
    yield Table("", ("template", "became", "times", "words lost"), shown)


def _numbers(text: str) -> tuple[int, ...]:
    try:
        return tuple(sorted({int(number) for number in text.split(",")}))
    except ValueError:
        raise SettingsError("--namespaces takes numbers separated by commas, e.g. 0,14.") from None


def _people(built: Built, folder: Path, seconds: float) -> Iterator[Table | str]:
    counts = built.counts
    rate = counts["passages"] / seconds if seconds else 0.0
    yield (
        f"{counts['documents']:,} documents, {counts['passages']:,} passages, "
        f"{counts['words']:,} words in {folder}"
    )
    if built.updated is not None:
        yield ", ".join(f"{count:,} {what}" for what, count in built.updated._asdict().items())
    if built.resumed:
        tell(f"Continued after {built.resumed} parts that were already done.")
    tell(f"{seconds:.1f} s, {rate:,.0f} passages/s")
    left_out = [
        counted(counts[key], one, many) for key, (one, many) in _LEFT_OUT.items() if counts.get(key)
    ]
    if left_out:
        yield f"Left out: {', '.join(left_out)}"
    yield from _templates(built.templates)
    if built.faults:
        of_file = attrgetter("file")
        yield f"{counted(len(built.faults) + built.more_faults, 'fault')} in the source:"
        for _, own in groupby(sorted(built.faults, key=of_file), of_file):
            yield from (f"  {fault}" for fault in fault_lines(group_faults(own)))
        if built.more_faults:
            yield f"  … and {built.more_faults:,} more"
