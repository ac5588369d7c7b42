"""BM25 over tantivy, exact for any k1 and b.

    score(q, d) = Σ_{t ∈ q} idf_t · f_td / (f_td + k1·(1 − b + b·|d|/avgdl))
    idf_t = ln(1 + (N − n_t + ½) / (n_t + ½))

This is the BM25 of Lucene since version 8 (Robertson et al., TREC-3, without the constant k1 + 1;
Kamphuis et al., ECIR 2020), called "lucene" in bm25s. tantivy fixes k1 = 1.2 and b = 0.75 and
rounds lengths to one byte, so its scores only select candidates, which are rescored from their
terms and true lengths. The difference of the two scores is bounded for each length, and passages
are fetched as long as one could still be among the best k. As k1 and b are free at query time, one
index serves all settings.
"""

from __future__ import annotations

import math
from array import array
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from heapq import heappush, heappushpop
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from assay.model.errors import SettingsError
from assay.systems.corpus.passages import CutPassage
from assay.systems.damage import damage_reported
from assay.systems.retrieval.analysis import Analysis, backend

LENGTHS = "lengths.npy"
_K1, _B = 1.2, 0.75  # tantivy's own
_ANALYZER = "assay"
_STORED = ("id", "doc", "title", "text")
_FIRST = 50  # candidates more than asked for, in the first round
_REMEMBERED = 1_000  # passages whose terms are held for the next queries, some 25 MB


class Hit(NamedTuple):
    """A passage found: its number in the index and its score."""

    number: int
    score: float


@dataclass(frozen=True, slots=True)
class BM25Settings:
    """``k1`` ≥ 0: term frequency saturation. ``b`` in [0, 1]: length normalisation. Without
    ``exact``, scores are tantivy's own: k1 = 1.2, b = 0.75, rounded lengths."""

    k1: float = 1.2
    b: float = 0.75
    exact: bool = True

    def __post_init__(self) -> None:
        if not (self.k1 >= 0 and math.isfinite(self.k1)):
            raise SettingsError("k1 must be a number of at least 0.")
        if not 0 <= self.b <= 1:
            raise SettingsError("b must be between 0 and 1.")
        if not self.exact and (self.k1, self.b) != (_K1, _B):
            raise SettingsError("Scores that are not exact need k1 = 1.2 and b = 0.75.")


def indexed_text(passage: CutPassage, *, title: bool) -> str:
    """The indexed text of a passage; with ``title``, after its title unless that is in it."""
    if not title or not passage.title or passage.text.startswith(passage.title):
        return passage.text
    return f"{passage.title}\n{passage.text}"


class BM25Writer:
    """Writes an index; memory is bounded by ``megabytes`` whatever the number of passages."""

    def __init__(self, folder: Path, analysis: Analysis, *, title: bool, megabytes: int) -> None:
        tantivy = backend()
        builder = tantivy.SchemaBuilder()
        builder.add_text_field("body", tokenizer_name=_ANALYZER, index_option="freq")
        builder.add_unsigned_field("n", indexed=True, fast=True)
        for name in _STORED:
            builder.add_bytes_field(name, stored=True)
        folder.mkdir(parents=True)
        self._folder = folder
        self._title = title
        self._document = tantivy.Document
        self._analyzer = analysis.analyzer()
        with _disk_errors_reported(folder):
            self._index = _unwatched(tantivy.Index(builder.build(), path=str(folder)))
            self._index.register_tokenizer(_ANALYZER, self._analyzer.tokenizer)
            self._writer = self._index.writer(heap_size=megabytes * 1_000_000, num_threads=0)
        self._lengths = array("I")

    def __len__(self) -> int:
        return len(self._lengths)

    def add(self, passage: CutPassage) -> None:
        """Add a passage. Passages are numbered from 0."""
        text = indexed_text(passage, title=self._title)
        document = self._document()
        prepared = self._analyzer.prepared(text)
        document.add_text("body", prepared)
        document.add_unsigned("n", len(self._lengths))
        for name in _STORED:
            document.add_bytes(name, getattr(passage, name).encode("utf-8", "replace"))
        with _disk_errors_reported(self._folder):
            self._writer.add_document(document)
        self._lengths.append(len(self._analyzer.tokenizer.analyze(prepared)))

    def finish(self) -> None:
        """Commit, wait until segments are merged, and write the lengths."""
        with _disk_errors_reported(self._folder):
            self._writer.commit()
            self._writer.wait_merging_threads()
        np.save(self._folder / LENGTHS, np.asarray(self._lengths, dtype=np.uint32))


def _unwatched(index: Any) -> Any:
    """Stop tantivy from polling the index for commits: twice a second it would write a lock file
    into a folder that others may be moving or deleting."""
    index.config_reader(reload_policy="manual")
    return index


@contextmanager
def _disk_errors_reported(folder: Path) -> Iterator[None]:
    """Raise SettingsError if tantivy cannot write, which it reports as a ValueError."""
    try:
        yield
    except ValueError as error:
        raise SettingsError(
            f"{folder}: cannot be written: {error}. Free some space, or check the disk, and run "
            "again."
        ) from error


_CURE = "Build the index again: assay index build --restart"


class BM25Index:
    """An index on the disk: searches, and the passages by their numbers."""

    def __init__(self, folder: Path, analysis: Analysis, *, title: bool) -> None:
        """Open the index in ``folder``. Raises SettingsError if there is none."""
        tantivy = backend()
        self._tantivy = tantivy
        if not (folder / LENGTHS).is_file():
            raise SettingsError(f"{folder} holds no index. Make one with: assay index build")
        self._title = title
        self._analyzer = analysis.analyzer()
        self._folder = folder
        with damage_reported(folder, _CURE):
            self._index = _unwatched(tantivy.Index.open(str(folder)))
            self._index.register_tokenizer(_ANALYZER, self._analyzer.tokenizer)
            self._searcher = self._index.searcher()
            self._schema = self._index.schema
            self.lengths: NDArray[np.uint32] = np.load(folder / LENGTHS, mmap_mode="r")
            if self.lengths.shape != (self._searcher.num_docs,):
                raise ValueError(
                    f"{self._searcher.num_docs} passages, lengths of {self.lengths.shape}"
                )
        self._known_terms: dict[int, Counter[str]] = {}
        self._known_ratios: dict[tuple[float, float], tuple[NDArray[np.float64], float]] = {}

    def __len__(self) -> int:
        return len(self.lengths)

    @cached_property
    def average(self) -> float:
        """Mean number of terms of a passage."""
        return float(self.lengths.mean(dtype=np.float64)) if len(self.lengths) else 0.0

    def terms(self, text: str) -> list[str]:
        """The terms of a text, in order, as they are indexed."""
        return self._analyzer.analyze(text)

    def search(self, query: str, k: int, settings: BM25Settings) -> list[Hit]:
        """The best ``k`` passages for ``query``, best first; equal scores by number.

        A repeated query term counts each time. Passages without any query term are not found.
        """
        with damage_reported(self._folder, _CURE):
            return self._search(Counter(self._analyzer.query(query)), k, settings)

    def _search(self, terms: Counter[str], k: int, settings: BM25Settings) -> list[Hit]:
        known = {term: self._searcher.doc_freq("body", term) for term in terms}
        terms = Counter({term: count for term, count in terms.items() if known[term]})
        if not terms or k < 1:
            return []
        asked = self._query(terms)
        if not settings.exact:
            found = self._searcher.search(asked, limit=k, count=False).hits
            numbers = self._numbers([address for _, address in found])
            hits = [Hit(n, s / (_K1 + 1)) for n, (s, _) in zip(numbers, found, strict=True)]
            return sorted(hits, key=lambda hit: (-hit.score, hit.number))
        idf = {term: self._idf(df) * terms[term] for term, df in known.items() if df}
        return self._exact(asked, idf, k, settings)

    def passage(self, number: int) -> CutPassage:
        """The passage with this number (without its position in the document)."""
        with damage_reported(self._folder, _CURE):
            query = self._tantivy.Query.term_query(self._schema, "n", number)
            hits = self._searcher.search(query, limit=1, count=False).hits
            return self._at(hits[0][1])

    def _at(self, address: Any) -> CutPassage:
        document = self._searcher.doc(address)
        one, doc, title, text = (bytes(document.get_first(name)).decode() for name in _STORED)
        return CutPassage(one, doc, title, 0, text, 0, 0, 0)

    def _query(self, terms: Mapping[str, int]) -> Any:
        kind, should = self._tantivy.Query, self._tantivy.Occur.Should
        parts = []
        for term, count in terms.items():
            part = kind.term_query(self._schema, "body", term, "freq")
            parts.append((should, part if count == 1 else kind.boost_query(part, float(count))))
        return kind.boolean_query(parts)

    def _idf(self, frequency: int) -> float:
        return math.log(1 + (len(self) - frequency + 0.5) / (frequency + 0.5))

    def _numbers(self, addresses: Sequence[Any]) -> list[int]:
        return [int(n) for n in self._searcher.fast_field_values("n", list(addresses))]

    def _exact(
        self, asked: Any, idf: Mapping[str, float], k: int, settings: BM25Settings
    ) -> list[Hit]:
        ratios, most = self._ratios(settings)
        scored: dict[int, float] = {}
        best: list[float] = []  # the k highest scores so far, a heap
        limit = k + _FIRST
        while True:
            # Counting stops tantivy from skipping documents, so that its own best are exact.
            found = self._searcher.search(asked, limit=limit, count=True).hits
            numbers = self._numbers([address for _, address in found])
            theirs = np.array([score for score, _ in found]) / (_K1 + 1)
            bounds = theirs * ratios[numbers]
            for place in np.argsort(-bounds, kind="stable"):
                if len(best) == k and bounds[place] < best[0]:
                    break  # neither this passage nor any after it can come among the best
                number = numbers[place]
                if number not in scored:
                    score = self._score(number, found[place][1], idf, settings)
                    scored[number] = score
                    (heappush if len(best) < k else heappushpop)(best, score)
            # No passage that was not fetched scores higher than the last one.
            if len(found) < limit or theirs[-1] * most < best[0]:
                hits = (Hit(*item) for item in scored.items())
                return sorted(hits, key=lambda hit: (-hit.score, hit.number))[:k]
            limit *= 3

    def _score(
        self, number: int, address: Any, idf: Mapping[str, float], settings: BM25Settings
    ) -> float:
        counts = self._known_terms.get(number)
        if counts is None:
            text = indexed_text(self._at(address), title=self._title)
            counts = Counter(self._analyzer.analyze(text))
            if len(self._known_terms) < _REMEMBERED:
                self._known_terms[number] = counts
        length = float(self.lengths[number])
        norm = settings.k1 * (1 - settings.b + settings.b * length / self.average)
        return sum(
            weight * counts[t] / (counts[t] + norm) for t, weight in idf.items() if counts[t]
        )

    def _ratios(self, settings: BM25Settings) -> tuple[NDArray[np.float64], float]:
        """Upper bounds of the ratio of exact score to tantivy's (without its constant), for each
        passage, and the largest of them. For a given length (f + K) / (f + K') is largest at f = 1
        if K' is the smaller."""
        key = (settings.k1, settings.b)
        if key not in self._known_ratios:
            lengths = np.asarray(self.lengths, dtype=np.float64)
            theirs = _K1 * (1 - _B + _B * rounded(lengths) / self.average)
            ours = settings.k1 * (1 - settings.b + settings.b * lengths / self.average)
            ratios = np.maximum(1.0, (1 + theirs) / (1 + ours)) * (1 + 1e-4)
            self._known_ratios[key] = ratios, float(ratios.max())
        return self._known_ratios[key]


def rounded(lengths: NDArray[np.float64]) -> NDArray[np.float64]:
    """Lengths as tantivy keeps them in one byte: four significant bits above 24."""
    rest = np.maximum(lengths - 24, 0)
    with np.errstate(divide="ignore"):
        bits = np.where(rest > 0, np.floor(np.log2(np.maximum(rest, 1))) + 1, 0)
    step = np.exp2(np.maximum(bits - 4, 0))
    return np.where(lengths < 24, lengths, 24 + np.floor(rest / step) * step)
