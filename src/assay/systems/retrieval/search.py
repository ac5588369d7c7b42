"""Retrieval of ranked passages for topics: search, decomposition, fusion, reranking."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum

from assay.labellers.base import Request
from assay.model.errors import SettingsError
from assay.systems.asking import Asker, usable
from assay.systems.corpus.passages import CutPassage
from assay.systems.retrieval.bm25 import BM25Settings, Hit
from assay.systems.retrieval.embedders import Embedder
from assay.systems.retrieval.fusion import K, rrf
from assay.systems.retrieval.index import Index
from assay.systems.retrieval.rerank import STRIDE, WINDOW, RankedPassage, listwise, pointwise
from assay.tasks.retrieval import DECOMPOSITION, DecompositionUnit


class Method(StrEnum):
    """How passages are retrieved."""

    BM25 = "bm25"
    DENSE = "dense"
    FUSED = "fused"


class Rerank(StrEnum):
    """How a language model reranks them."""

    POINTWISE = "pointwise"
    LISTWISE = "listwise"


@dataclass(frozen=True, slots=True)
class RetrievalSettings:
    """Settings of retrieval. ``k``: passages returned per topic. ``depth``: size of each list
    before fusion and reranking. ``rrf_k``: the constant of RRF. ``exact``: search vectors exactly
    even if there are cells. ``rerank_depth``: how many are reranked. ``window`` and ``stride``: for
    listwise reranking."""

    method: Method = Method.BM25
    k: int = 20
    depth: int = 100
    bm25: BM25Settings = field(default_factory=BM25Settings)
    rrf_k: float = K
    exact: bool = False
    rerank: Rerank | None = None
    rerank_depth: int = 50
    window: int = WINDOW
    stride: int = STRIDE

    def __post_init__(self) -> None:
        if self.k < 1 or self.depth < self.k or self.rerank_depth < 1:
            raise SettingsError("--k must be at least 1, and --depth at least --k.")
        if not (self.rrf_k >= 0 and math.isfinite(self.rrf_k)):
            raise SettingsError("The constant of RRF must be a number of at least 0.")


@dataclass(frozen=True, slots=True)
class Retrieved:
    """Ranked passages of every topic, and counts of unusable and missing model replies."""

    lists: dict[str, list[RankedPassage]]
    queries: dict[str, tuple[str, ...]]
    failed: int = 0
    missing: int = 0


def retrieve(
    index: Index,
    topics: Mapping[str, str],
    settings: RetrievalSettings,
    *,
    embedder: Embedder | None = None,
    decomposer: Asker | None = None,
    reranker: Asker | None = None,
) -> Retrieved:
    """Retrieve ranked passages for each topic.

    With a ``decomposer``, each topic is searched with its own words and the model's queries, and
    the lists are fused. If decomposition fails, only the topic's own words are used, and the
    failure is counted. Raises SettingsError if vectors or an embedder are needed but missing.
    """
    queries: dict[str, tuple[str, ...]] = {topic: (text,) for topic, text in topics.items()}
    failed = missing = 0
    if decomposer is not None:
        requests = [
            Request(DECOMPOSITION, DecompositionUnit(question=text)) for text in topics.values()
        ]
        labels = decomposer.ask("Query decomposition", requests)
        for (topic, text), label in zip(topics.items(), labels, strict=True):
            verdict = usable(label)
            if verdict is not None:
                found = [" ".join(str(one).split()) for one in verdict["queries"]]
                queries[topic] = tuple(dict.fromkeys([text, *found]))
            elif label is None:
                missing += 1
            else:
                failed += 1
    ranked = _searched(index, queries, settings, embedder)
    known: dict[int, CutPassage] = {}
    lists: dict[str, list[RankedPassage]] = {}
    most = settings.k if settings.rerank is None else max(settings.k, settings.rerank_depth)
    for topic, hits in ranked.items():
        rows = []
        for hit in hits[:most]:
            if hit.number not in known:
                known[hit.number] = index.bm25.passage(hit.number)
            rows.append(RankedPassage(known[hit.number], hit.score))
        lists[topic] = rows
    if settings.rerank is not None:
        if reranker is None:
            raise SettingsError("Reranking needs a model: --rerank-with SPEC.")
        if settings.rerank is Rerank.POINTWISE:
            done = pointwise(reranker, topics, lists, settings.rerank_depth)
        else:
            done = listwise(
                reranker,
                topics,
                lists,
                settings.rerank_depth,
                window=settings.window,
                stride=settings.stride,
            )
        lists = done.lists
        failed, missing = failed + done.failed, missing + done.missing
    cut = {topic: rows[: settings.k] for topic, rows in lists.items()}
    return Retrieved(cut, queries, failed, missing)


def _searched(
    index: Index,
    queries: Mapping[str, Sequence[str]],
    settings: RetrievalSettings,
    embedder: Embedder | None,
) -> dict[str, list[Hit]]:
    flat = [(topic, text) for topic, texts in queries.items() for text in texts]
    lists: dict[str, list[list[Hit]]] = {topic: [] for topic in queries}
    single = settings.method is not Method.FUSED and len(flat) == len(queries)
    depth = settings.depth
    if single and settings.rerank is None:
        depth = settings.k  # no lower passage can move up
    if settings.method is not Method.DENSE:
        for topic, text in flat:
            lists[topic].append(index.bm25.search(text, depth, settings.bm25))
    if settings.method is not Method.BM25:
        if embedder is None:
            raise SettingsError("Dense search needs an embedder.")
        if embedder.name != index.dense.embedder:
            raise SettingsError(
                f"The index has vectors by {index.dense.embedder}, but the queries would be "
                f"embedded by {embedder.name}. Use --dense with the embedder that built the index."
            )
        vectors = embedder.queries([text for _, text in flat])
        found = index.dense.search(vectors, depth, exact=settings.exact)
        for (topic, _), hits in zip(flat, found, strict=True):
            lists[topic].append(hits)
    if single:
        return {topic: each[0] for topic, each in lists.items()}
    fused = {}
    for topic, each in lists.items():
        pairs = rrf([[hit.number for hit in hits] for hits in each], k=settings.rrf_k)
        fused[topic] = [Hit(number, score) for number, score in pairs[: settings.depth]]
    return fused
