"""Indexes of passages from Python: ``assay.index.build`` and ``open``."""

from __future__ import annotations

from os import PathLike
from pathlib import Path
from typing import Annotated

from assay.api.arguments import one_of
from assay.api.corpus import Corpus
from assay.api.retrieving import SearchIndex
from assay.api.telling import progress_callback
from assay.model.errors import SettingsError
from assay.model.options import Option
from assay.model.progress import ProgressCallback
from assay.systems.retrieval.analysis import Analysis
from assay.systems.retrieval.dense import ANN_ABOVE
from assay.systems.retrieval.embedders import DEFAULT, SPEC_HELP
from assay.systems.retrieval.index import IndexSettings, build_index
from assay.systems.retrieval.stored import Precision

Name = str | PathLike[str]


def build(
    corpus: Name | Corpus,
    folder: Name,
    *,
    dense: Annotated[
        str | None,
        Option(f"Also build vectors: {SPEC_HELP}; e.g. {DEFAULT}.", metavar="SPEC"),
    ] = None,
    language: Annotated[
        str, Option("ISO 639-1 code, for the stemmer and stop words; none keeps whole words.")
    ] = "en",
    stemming: Annotated[bool, Option("Reduce words to their stems.")] = True,
    stopwords: Annotated[bool, Option("Leave stop words out of the index.")] = False,
    pairs: Annotated[
        bool,
        Option(
            "Index pairs of characters in Chinese, Japanese, Korean, Thai, Lao, Khmer and Burmese."
        ),
    ] = True,
    title: Annotated[bool, Option("Index a passage's title along with its text.")] = True,
    ann_above: Annotated[
        int, Option("Group vectors into cells from this number of passages on; 0: never.", least=0)
    ] = ANN_ABOVE,
    vectors: Annotated[
        str | None,
        Option(
            "Number format of the vectors: int8 takes half the space of f16, the default.",
            of=Precision,
        ),
    ] = None,
    memory: Annotated[
        int, Option("Megabytes of memory for building the BM25 index.", least=16, most=4293)
    ] = 256,
    restart: Annotated[
        bool, Option("Start again from scratch; replaces an index in INDEX.")
    ] = False,
    update: Annotated[
        bool, Option("Update the index to a changed CORPUS; only new passages are embedded.")
    ] = False,
    progress: ProgressCallback | bool = False,
) -> SearchIndex:
    """Build an index of ``corpus`` in ``folder``, as ``assay index build`` does.

    ``dense`` names an embedder (``minilm``, ``e5``, ``openai:MODEL`` …) to build vectors with,
    stored as f16 or int8 (``vectors``). ``language`` (ISO 639-1) selects stemmer and stop words;
    ``pairs`` splits text written without spaces into pairs of characters; ``title`` indexes each
    passage's title with its text; ``memory`` is in megabytes. Calling again resumes an interrupted
    build; ``update`` adapts the index to a changed corpus. ``progress``: True writes a line now
    and then; a function is called with the step, the number of passages and the share done (None
    if unknown). Raises SettingsError if
    ``folder`` holds an index of something else, unless ``restart`` replaces it.
    """
    form = None if vectors is None else one_of(Precision, vectors, "vectors")
    settings = IndexSettings(
        Analysis(language, stemming, stopwords, pairs), title, dense, ann_above, form, memory
    )
    path = corpus.folder if isinstance(corpus, Corpus) else Path(corpus)
    if restart and update:
        raise SettingsError("--restart and --update exclude each other.")
    report = progress_callback(progress)
    build_index(path, Path(folder), settings, restart=restart, update=update, progress=report)
    return SearchIndex(folder)


def open(folder: Name) -> SearchIndex:  # noqa: A001 (it is called as index.open)
    """Open the index in ``folder``. Raises SettingsError if there is none."""
    return SearchIndex(folder)
