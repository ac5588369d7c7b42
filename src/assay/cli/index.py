"""``assay index``: from passages to a BM25 index and vectors."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Annotated

import typer

from assay.api import index as indexes
from assay.cli.common import FORM, forms, present, remark, tell
from assay.cli.judging import going
from assay.model.wording import counted
from assay.systems.retrieval.dense import ANN_ABOVE
from assay.systems.retrieval.embedders import DEFAULT, SPEC_HELP
from assay.systems.retrieval.stored import Form

app = typer.Typer(
    add_completion=False,
    help="From passages to a BM25 index and vectors.",
    no_args_is_help=True,
    rich_markup_mode=None,
)


@app.callback()
def _group() -> None:
    """From passages to a BM25 index and vectors."""


@app.command("build")
@forms("json")
def build_command(
    corpus: Annotated[
        Path, typer.Argument(metavar="CORPUS", help="A corpus in any layout (see assay corpus).")
    ],
    folder: Annotated[Path, typer.Argument(metavar="INDEX", help="Folder for the index.")],
    dense: Annotated[
        str | None,
        typer.Option(
            "--dense", metavar="SPEC", help=f"Also make vectors: {SPEC_HELP}; e.g. {DEFAULT}."
        ),
    ] = None,
    language: Annotated[
        str,
        typer.Option(
            "--language", help="ISO 639-1 code, for stemmer and stop words; none: whole words."
        ),
    ] = "en",
    stemming: Annotated[bool, typer.Option(help="Reduce words to their stems.")] = True,
    stopwords: Annotated[
        bool, typer.Option("--stopwords", help="Leave stop words out of the index.")
    ] = False,
    pairs: Annotated[
        bool,
        typer.Option(
            help="Make pairs of characters of Chinese, Japanese, Korean, Thai, Lao, Khmer, Burmese."
        ),
    ] = True,
    title: Annotated[bool, typer.Option(help="Index a passage's title with its text.")] = True,
    ann_above: Annotated[
        int,
        typer.Option(
            "--ann-above",
            min=0,
            help="Passages from which on cells of vectors are made; 0: never.",
        ),
    ] = ANN_ABOVE,
    vectors: Annotated[
        Form | None,
        typer.Option(
            "--vectors",
            help="How vectors are kept: int8 takes half as much as f16, which is the default.",
        ),
    ] = None,
    memory: Annotated[
        int, typer.Option("--memory", min=16, help="Megabytes for building the BM25 index.")
    ] = 256,
    restart: Annotated[
        bool, typer.Option("--restart", help="Begin anew; replaces an index in INDEX.")
    ] = False,
    update: Annotated[
        bool,
        typer.Option(
            "--update", help="Take up a CORPUS that has changed; only what is new is embedded."
        ),
    ] = False,
) -> None:
    """Build an index of CORPUS for assay retrieve.

    A BM25 index that is there is kept and vectors are added to it; embedding goes on where it was
    stopped when the same command is run again. k1 and b are chosen when searching.
    """
    started = time.perf_counter()
    with going() as shown:
        made = indexes.build(
            corpus,
            folder,
            dense=dense,
            language=language,
            stemming=stemming,
            stopwords=stopwords,
            pairs=pairs,
            title=title,
            ann_above=ann_above,
            vectors=vectors,
            memory=memory,
            restart=restart,
            update=update,
            told=shown.at,
        )
    seconds = time.perf_counter() - started
    index = made.index
    if warning := index.warning():
        remark(warning)
    present(
        lambda: {
            "index": str(folder),
            "passages": len(made),
            "analysis": index.about["analysis"],
            "languages": index.about["languages"],
            "seconds": seconds,
        },
        [f"{counted(len(made), 'passage')} in {folder} ({index.analysis})"],
    )
    if not FORM.get():
        tell(f"{seconds:.1f} s")
