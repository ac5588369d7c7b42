"""Indexes of passages from Python: ``assay.index.build`` and ``open``."""

from __future__ import annotations

from os import PathLike
from pathlib import Path

from assay.api.corpus import Corpus
from assay.api.options import one_of
from assay.api.retrieving import SearchIndex
from assay.model.errors import SettingsError
from assay.model.going import Told, unheard
from assay.systems.retrieval.analysis import Analysis
from assay.systems.retrieval.dense import ANN_ABOVE
from assay.systems.retrieval.index import IndexSettings, build_index
from assay.systems.retrieval.stored import Form

Name = str | PathLike[str]


def build(
    corpus: Name | Corpus,
    folder: Name,
    *,
    dense: str | None = None,
    language: str = "en",
    stemming: bool = True,
    stopwords: bool = False,
    pairs: bool = True,
    title: bool = True,
    ann_above: int = ANN_ABOVE,
    vectors: str | None = None,
    memory: int = 256,
    restart: bool = False,
    update: bool = False,
    told: Told = unheard,
) -> SearchIndex:
    """Build an index of ``corpus`` in ``folder``, as ``assay index build`` does.

    ``dense`` names an embedder (``minilm``, ``e5``, ``openai:MODEL`` …) whose vectors are made,
    too, and kept in f16 or int8 (``vectors``). ``language`` (ISO 639-1) chooses the stemmer and the
    stop words, ``pairs`` splits what is written without spaces into pairs of characters, ``title``
    indexes a passage's title with its text, ``memory`` is in megabytes. What is there already is
    kept and gone on with; ``update`` takes up a corpus that has changed. ``told`` hears what is
    being done, of how many passages, and which share of all that is (None where nobody knows).
    Raises SettingsError where ``folder`` holds the index of something else, unless ``restart`` says
    to replace it.
    """
    form = None if vectors is None else one_of(Form, vectors, "vectors")
    settings = IndexSettings(
        Analysis(language, stemming, stopwords, pairs), title, dense, ann_above, form, memory
    )
    path = corpus.folder if isinstance(corpus, Corpus) else Path(corpus)
    if restart and update:
        raise SettingsError("--restart and --update exclude each other.")
    build_index(
        path,
        Path(folder),
        settings,
        restart=restart,
        update=update,
        told=told,
    )
    return SearchIndex(folder)


def open(folder: Name) -> SearchIndex:  # noqa: A001 (it is called as index.open)
    """The index in ``folder``. Raises SettingsError where there is none."""
    return SearchIndex(folder)
