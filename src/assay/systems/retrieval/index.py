"""An index on disk: BM25, and optionally vectors."""

from __future__ import annotations

import hashlib
import re
import shutil
from collections import Counter
from collections.abc import Callable, Collection, Mapping
from dataclasses import asdict, dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import orjson

from assay.model.errors import SettingsError
from assay.model.languages import NAMES, distinct, languages, likely_language
from assay.model.progress import ProgressCallback, fraction_done, no_progress, with_progress
from assay.model.version import __version__
from assay.systems.alone import alone
from assay.systems.corpus.passages import CutPassage
from assay.systems.corpus.store import passages_in, read_passages, write_whole
from assay.systems.damage import damage_reported, read_about
from assay.systems.retrieval.analysis import FORM, STEMMERS, Analysis
from assay.systems.retrieval.bm25 import BM25Index, BM25Writer, indexed_text
from assay.systems.retrieval.dense import ABOUT as DENSE
from assay.systems.retrieval.dense import ANN_ABOVE, DenseIndex, KnownVectors, build_dense
from assay.systems.retrieval.embedders import Embedder, make_embedder
from assay.systems.retrieval.stored import Precision

ABOUT = "index.json"

_LEDGER = ("labels.sqlite", "labels.sqlite-shm", "labels.sqlite-wal")
_OURS = {".bm25.part", "bm25", f".{ABOUT}.fresh", *_LEDGER}
_PART = re.compile(r"(?:bm25|dense)(?:-[0-9a-f]{12})?|\.bm25\.part")


@dataclass(frozen=True, slots=True)
class IndexSettings:
    """``title``: index a passage's title with its text. ``dense``: an embedder's SPEC, None for
    BM25 alone. ``ann_above``: number of passages from which vectors are put into cells, 0 for
    never. ``vectors``: their precision, None for that of existing ones, else half precision.
    ``megabytes``: memory for building the BM25 index."""

    analysis: Analysis = field(default_factory=Analysis)
    title: bool = True
    dense: str | None = None
    ann_above: int = ANN_ABOVE
    vectors: Precision | None = None
    megabytes: int = 256


def build_index(
    corpus: Path,
    folder: Path,
    settings: IndexSettings | None = None,
    *,
    restart: bool = False,
    update: bool = False,
    progress: ProgressCallback = no_progress,
) -> int:
    """Build the index of ``corpus`` in ``folder`` and return the number of passages.

    An existing BM25 index of the same passages and settings is kept, so vectors can be added later,
    and interrupted embedding continues. ``update`` indexes a changed corpus: BM25 is rebuilt, which
    is quick, and only new or changed passages are embedded; the old index stays until all is done.
    Reports to ``progress``. Raises SettingsError if ``folder`` holds something else, or (without
    ``restart``) an index of other passages or settings, or if another process is building there.
    """
    how = settings or IndexSettings()
    embedder = None if how.dense is None else make_embedder(how.dense)
    if how.megabytes < 16:
        raise SettingsError("Building needs at least 16 MB: use --memory 16.")
    with alone(folder):
        about: dict[str, Any] = {
            "assay": __version__,
            "corpus": corpus.resolve().name,
            "analysis": asdict(how.analysis),
            "form": FORM,
            "title": how.title,
            "bm25": "bm25",
            "dense": "dense",
        }
        path = folder / ABOUT
        if restart and path.is_file():
            # The ledger stays: its labels of these passages were paid for.
            path.unlink()
            _clear(folder)
        known = read_about(path, {}, _CURE) if path.is_file() else None
        if known is None:
            if folder.is_dir() and {entry.name for entry in folder.iterdir()} - _OURS:
                raise SettingsError(
                    f"{folder} is not empty and holds no index. Choose a new folder."
                )
            about.update(_build_bm25(corpus, folder, about["bm25"], how, progress))
            write_whole(path, orjson.dumps(about, option=orjson.OPT_INDENT_2) + b"\n")
            return _with_vectors(corpus, folder, about, how, embedder, None, progress)
        if any(known.get(key) != about[key] for key in ("analysis", "title", "form")):
            raise SettingsError(
                f"{folder} holds an index with other settings. Choose another folder, or use "
                "--restart to replace it."
            )
        about["passages"], about["content"] = _content(corpus, "passages compared", progress)
        if known.get("content") == about["content"]:
            return _with_vectors(corpus, folder, known, how, embedder, None, progress)
        if not update:
            raise SettingsError(
                f"{folder} holds an index of other passages: its {known.get('passages')} are not "
                f"the {about['passages']} of {corpus}. Choose another folder, or use --update to "
                "index the new passages, or --restart to replace the index."
            )
        was = folder / known["dense"]
        if embedder is None and (was / DENSE).is_file():
            embedder = make_embedder(DenseIndex(was).spec, named=False)
        if how.vectors is None and (was / DENSE).is_file():
            how = replace(how, vectors=DenseIndex(was).form)
        name = about["content"][:12]
        about["bm25"], about["dense"] = f"bm25-{name}", f"dense-{name}"
        about.update(_build_bm25(corpus, folder, about["bm25"], how, progress))
        count = _with_vectors(corpus, folder, about, how, embedder, was, progress)
        write_whole(path, orjson.dumps(about, option=orjson.OPT_INDENT_2) + b"\n")
        _clear(folder, but=(about["bm25"], about["dense"]))
        return count


def _with_vectors(
    corpus: Path,
    folder: Path,
    about: Mapping[str, Any],
    how: IndexSettings,
    embedder: Embedder | None,
    was: Path | None,
    progress: ProgressCallback,
) -> int:
    """Add vectors, if there is an embedder, to the index described by ``about``; vectors in ``was``
    are reused."""
    count = int(about["passages"])
    if embedder is not None:
        known = None if was is None else KnownVectors.of(was, embedder.name)
        build_dense(
            folder / about["dense"],
            embedder,
            (indexed_text(passage, title=how.title) for passage in read_passages(corpus)),
            known=known,
            ann_above=how.ann_above or count + 1,
            form=how.vectors,
            progress=lambda done: progress("passages embedded", done, fraction_done(done, count)),
        )
    return count


def _clear(folder: Path, but: Collection[str] = ()) -> None:
    """Remove the folders of an index except ``but``; descriptions of vectors go first, so that
    half-removed vectors do not count."""
    for place in folder.iterdir():
        if _PART.fullmatch(place.name) and place.name not in but:
            (place / DENSE).unlink(missing_ok=True)
            shutil.rmtree(place, ignore_errors=True)


def _content(
    corpus: Path,
    what: str,
    progress: ProgressCallback,
    add: Callable[[CutPassage], None] = lambda _passage: None,
) -> tuple[int, str]:
    """The number of passages and one hash over all, by which an index knows its corpus. ``add``
    receives each passage; ``what`` names the work, for ``progress``."""
    digest, count = hashlib.blake2b(digest_size=16), 0
    for passage in with_progress(read_passages(corpus), what, passages_in(corpus), progress):
        add(passage)
        text = f"{passage.id}\0{passage.doc}\0{passage.title}\0{passage.text}\0"
        digest.update(text.encode("utf-8", "replace"))
        count += 1
    return count, digest.hexdigest()


def _build_bm25(
    corpus: Path, folder: Path, name: str, how: IndexSettings, progress: ProgressCallback
) -> dict[str, Any]:
    part = folder / ".bm25.part"
    for left in (part, folder / name):  # of a build that was killed
        shutil.rmtree(left, ignore_errors=True)
    writer = BM25Writer(part, how.analysis, title=how.title, megabytes=how.megabytes)
    sample: list[str] = []

    def add(passage: CutPassage) -> None:
        writer.add(passage)
        if len(writer) <= _SAMPLE or len(writer) % _SAMPLE == 0:
            sample.append(passage.text)

    count, content = _content(corpus, "passages indexed", progress, add)
    writer.finish()
    part.replace(folder / name)
    return {"passages": count, "content": content, "languages": languages(sample)}


_SAMPLE = 300  # passages that tell which languages a corpus is in, and one in so many after them
_MAIN = 0.1  # the share of passages from which on a language is one of the corpus
_ABOUT = {"analysis": dict, "title": bool, "passages": int}
_CURE = "Build the index again: assay index build --restart"


class Index:
    """A finished index. Raises SettingsError if ``folder`` holds none."""

    def __init__(self, folder: Path) -> None:
        path = folder / ABOUT
        if not path.is_file():
            raise SettingsError(f"{folder} holds no index. Make one with: assay index build")
        self.folder = folder
        if read_about(path, _ABOUT, _CURE).get("form") != FORM:
            raise SettingsError(f"{folder} was built by another version of Assay. {_CURE}")
        self.about = read_about(path, {"bm25": str, "dense": str}, _CURE)
        with damage_reported(path, _CURE):
            self.analysis = Analysis(**self.about["analysis"])
            if not all(_PART.fullmatch(self.about[name]) for name in ("bm25", "dense")):
                raise ValueError("it names folders that are not part of an index")
        self.bm25 = BM25Index(folder / self.about["bm25"], self.analysis, title=self.about["title"])
        if len(self) != self.about["passages"]:
            raise SettingsError(
                f"{folder} holds {len(self)} passages, but {path} says {self.about['passages']}. "
                f"{_CURE}"
            )

    def __len__(self) -> int:
        return len(self.bm25)

    @cached_property
    def dense(self) -> DenseIndex:
        """The vectors. Raises SettingsError if there are none."""
        found = DenseIndex(self.folder / self.about["dense"])
        if len(found) != len(self):
            raise SettingsError(
                f"{self.folder} holds {len(self)} passages but {len(found)} vectors. {_CURE}"
            )
        return found

    @property
    def languages(self) -> list[str]:
        """The languages of the passages, most common first."""
        found: dict[str, float] = self.about.get("languages", {})
        return [code for code, share in found.items() if share >= _MAIN]

    def warning(self) -> str:
        """A warning if the index's language is not that of its passages, else an empty string."""
        own = self.analysis.language
        if own == "none" or not self.languages or not distinct(main := self.languages[0], own):
            return ""
        if main in STEMMERS or own in STEMMERS:
            return (
                f"The passages look {NAMES[main]}, but the index is {self.analysis}: build it "
                f"with --language {main} --restart."
            )
        return ""

    def warnings_of(self, topics: Mapping[str, str]) -> list[str]:
        """Warnings about topics in another language than the index and its passages."""
        own = self.analysis.language
        spoken = (own, *(code for code in self.languages if code not in STEMMERS or own == "none"))
        found = Counter(
            code
            for code in map(likely_language, topics.values())
            if code and all(distinct(code, other) for other in spoken)
        )
        passages = ", ".join(NAMES[code] for code in self.languages) or "no known language"
        return [
            f"{count} of {len(topics)} topics look {NAMES[code]}, but the index is "
            f"{self.analysis} and its passages are in {passages}: few terms will match. Translate "
            "the topics, or use a multilingual embedder (--dense e5)."
            for code, count in found.most_common()
        ]
