"""``assay corpus``: from dumps and wikitext to passages."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

from assay.api import corpus as corpora
from assay.cli.common import JsonOption, err, out, present, print_json, safe, say, tell
from assay.model.errors import SettingsError
from assay.model.wording import counted
from assay.systems.corpus.build import Built
from assay.systems.corpus.documents import SourceFormat
from assay.systems.corpus.store import Layout

app = typer.Typer(
    add_completion=False,
    help="From dumps and wikitext to passages.",
    no_args_is_help=True,
    rich_markup_mode=None,
)

_LEFT_OUT = {
    "redirect": ("redirect", "redirects"),
    "namespace": ("page of another namespace", "pages of other namespaces"),
    "disambiguation": ("disambiguation page", "disambiguation pages"),
    "empty": ("document without text", "documents without text"),
    "slow": ("page that took too long", "pages that took too long"),
    "unreadable": ("unreadable file", "unreadable files"),
    "twice": ("document whose id came before", "documents whose id came before"),
}
_EVERY = 5.0


@app.command("build")
def build_command(
    source: Annotated[
        Path,
        typer.Argument(
            metavar="SOURCE",
            help="A MediaWiki dump (.xml, also .bz2, .gz, .7z), a .jsonl or .tsv file, or a folder "
            "of such files or of .wikitext files.",
        ),
    ],
    folder: Annotated[Path, typer.Argument(metavar="OUT", help="Folder for the corpus.")],
    source_format: Annotated[
        SourceFormat, typer.Option("--format", help="What SOURCE holds.")
    ] = SourceFormat.AUTO,
    words: Annotated[int, typer.Option("--words", min=1, help="Words a passage.")] = 400,
    overlap: Annotated[
        float, typer.Option("--overlap", help="Share of a passage that repeats the one before.")
    ] = 0.15,
    layout: Annotated[
        Layout,
        typer.Option("--layout", help="One file, or one compressed JSON file a document."),
    ] = Layout.JSONL,
    ids: Annotated[
        str, typer.Option("--ids", metavar="id|title", help="What a dump's documents are called.")
    ] = "id",
    namespaces: Annotated[
        str, typer.Option("--namespaces", help="Namespaces of a dump, by number.")
    ] = "0",
    categories: Annotated[
        bool, typer.Option(help="Keep the names of a page's categories as its last line.")
    ] = True,
    captions: Annotated[bool, typer.Option(help="Keep captions of images.")] = True,
    disambiguations: Annotated[
        bool, typer.Option("--disambiguations", help="Keep disambiguation pages.")
    ] = False,
    page_seconds: Annotated[
        float,
        typer.Option(
            "--page-seconds", min=0.1, help="A page that takes longer is left out and named."
        ),
    ] = 30.0,
    processes: Annotated[
        int | None, typer.Option("--processes", min=1, help="Default: one a core.")
    ] = None,
    restart: Annotated[
        bool, typer.Option("--restart", help="Begin anew; replaces a corpus in OUT.")
    ] = False,
    as_json: JsonOption = False,
) -> None:
    """Make a corpus of overlapping passages from SOURCE.

    Wikitext becomes plain text: infobox fields as "Field: value" lines, tables as Markdown,
    templates, tags, references and comments out. A build that was stopped goes on when the same
    command is run again. Exit status 1 where something could not be read.
    """
    started = time.perf_counter()
    with _bar(quiet=as_json) as told:
        made = corpora.build(
            source,
            folder,
            format=source_format,
            words=words,
            overlap=overlap,
            layout=layout,
            ids=ids,
            namespaces=_numbers(namespaces),
            categories=categories,
            captions=captions,
            disambiguations=disambiguations,
            page_seconds=page_seconds,
            processes=processes,
            restart=restart,
            told=told,
        )
    seconds = time.perf_counter() - started
    built = made.built
    present(
        lambda: {
            "corpus": str(folder),
            "counts": dict(built.counts),
            "seconds": seconds,
            "resumed_parts": built.resumed,
            "faults": [str(fault) for fault in built.faults],
            "more_faults": built.more_faults,
        },
        _people(built, folder, seconds),
        as_json=as_json,
    )
    if built.faults:
        raise typer.Exit(1)


@app.command("convert")
def convert_command(
    corpus: Annotated[
        Path, typer.Argument(metavar="CORPUS", help="A corpus in any layout, whoever made it.")
    ],
    folder: Annotated[Path, typer.Argument(metavar="OUT", help="Folder for the copy.")],
    layout: Annotated[Layout, typer.Option("--layout")] = Layout.JSONL,
) -> None:
    """Write the passages of a corpus in another layout."""
    count = corpora.convert(corpus, folder, layout=layout)
    say(f"{counted(count, 'passage')} in {folder}")


@app.command("show")
def show_command(
    corpus: Annotated[Path, typer.Argument(metavar="CORPUS", help="Folder of a corpus.")],
    document: Annotated[str, typer.Argument(metavar="DOCID", help="A document's id.")],
    as_json: JsonOption = False,
) -> None:
    """Print the passages of a document."""
    found = corpora.open(corpus).of(document)
    if as_json:
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


def _numbers(text: str) -> tuple[int, ...]:
    try:
        return tuple(sorted({int(number) for number in text.split(",")}))
    except ValueError:
        raise SettingsError("--namespaces takes numbers separated by commas, e.g. 0,14.") from None


def _people(built: Built, folder: Path, seconds: float) -> Iterator[str]:
    counts = built.counts
    rate = counts["passages"] / seconds if seconds else 0.0
    yield (
        f"{counts['documents']:,} documents, {counts['passages']:,} passages, "
        f"{counts['words']:,} words in {folder}"
    )
    if built.resumed:
        tell(f"Went on after {built.resumed} parts that were done.")
    tell(f"{seconds:.1f} s, {rate:,.0f} passages/s")
    left_out = [
        counted(counts[key], one, many) for key, (one, many) in _LEFT_OUT.items() if counts.get(key)
    ]
    if left_out:
        yield f"Left out: {', '.join(left_out)}"
    if built.faults:
        yield f"{counted(len(built.faults) + built.more_faults, 'fault')} in the source:"
        yield from (f"  {fault}" for fault in built.faults)
        if built.more_faults:
            yield f"  … and {built.more_faults:,} more"


@contextmanager
def _bar(*, quiet: bool = False) -> Iterator[Any]:
    """A progress bar, or lines now and then where standard error is no terminal."""
    console = err()
    if quiet or not console.is_terminal:
        last = time.monotonic()

        def tell(done: int, total: int, passages: int) -> None:
            nonlocal last
            if not quiet and time.monotonic() - last >= _EVERY:
                last = time.monotonic()
                console.print(f"{done / max(total, 1):.0%}, {passages:,} passages")

        yield tell
        return
    bar = Progress(
        TextColumn("{task.description}"),
        BarColumn(bar_width=24),
        TextColumn("{task.percentage:.0f} %"),
        TextColumn("{task.fields[passages]} passages"),
        TimeElapsedColumn(),
        TimeRemainingColumn(),
        console=console,
        transient=True,
    )
    task = bar.add_task("Building", total=None, passages="0")
    with bar:
        yield lambda done, total, passages: bar.update(
            task, completed=done, total=total, passages=f"{passages:,}"
        )
