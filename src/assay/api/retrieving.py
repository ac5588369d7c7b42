"""Retrieve passages for topics: ``assay.retrieve``, and the basis of ``assay retrieve``."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from contextlib import ExitStack
from dataclasses import dataclass, field
from enum import StrEnum
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from assay.api.arguments import budget_of, one_of, path_of, path_or_none, text_of, whole_of
from assay.api.loops import outside_a_loop
from assay.api.reading import warn
from assay.api.telling import progress_of
from assay.formats.naming import run_name
from assay.formats.r2c2_pr import MAX_RANK
from assay.judging.progress import Progress, SilentProgress, Tally
from assay.labellers.models import DownloadProgress
from assay.labellers.prices import require_prices
from assay.labellers.spec import LabellerOptions
from assay.ledger import Ledger
from assay.model.errors import SettingsError
from assay.model.options import Option
from assay.protocols.output import require_plain, write_bytes
from assay.systems.asking import Asker, Spending
from assay.systems.retrieval.bm25 import BM25Settings
from assay.systems.retrieval.embedders import make_embedder
from assay.systems.retrieval.fusion import K
from assay.systems.retrieval.index import Index
from assay.systems.retrieval.rerank import STRIDE, WINDOW, RankedPassage
from assay.systems.retrieval.runs import pr_run, trec_run
from assay.systems.retrieval.search import Method, Rerank, RetrievalSettings
from assay.systems.retrieval.search import retrieve as retrieve_passages
from assay.systems.topics import load_topics
from assay.systems.writers import WRITER_HELP, make_writer

if TYPE_CHECKING:
    import polars as pl

Name = str | PathLike[str]
Topics = Name | Mapping[str, str]
"""A file of topics, or a mapping topic id → text."""

TREC_DEPTH = 100
"""Default number of passages per topic in a TREC run."""


class RunFormat(StrEnum):
    """Format of a run file."""

    PR = "pr"
    TREC = "trec"
    TREC_DOCUMENTS = "trec-documents"


@dataclass(frozen=True, slots=True)
class Models:
    """Models used for retrieval, by SPEC: ``dense`` embeds queries (empty: the index's embedder),
    ``decompose`` splits questions into queries, ``rerank`` reorders passages. Their replies are
    kept in ``ledger`` (None: INDEX/labels.sqlite); ``budget`` is in US dollars."""

    dense: str = ""
    decompose: str | None = None
    rerank: str | None = None
    ledger: Path | None = None
    budget: float | None = None
    progress: Progress = field(default_factory=SilentProgress)
    fetching: DownloadProgress | None = None


@dataclass(frozen=True)
class RetrievedRuns:
    """Ranked passages of each topic that has any. ``failed`` counts unusable model replies
    (``faults`` their reasons), ``missing`` the absent ones. ``warnings`` name topics in another
    language than the index's."""

    topics: Mapping[str, str]
    lists: Mapping[str, list[RankedPassage]]
    index: Index
    failed: int
    missing: int
    faults: Counter[str]
    tally: Tally
    warnings: list[str]

    @property
    def silent(self) -> list[str]:
        """Topics without any passage."""
        return [topic for topic in self.topics if topic not in self.lists]

    def frame(self) -> pl.DataFrame:
        """Columns ``topic``, ``rank`` (from 1), ``score``, ``id``, ``doc``, ``title``, ``text``."""
        from assay.api.frames import ranked_frame  # noqa: PLC0415 (polars, for this alone)

        return ranked_frame(self.lists)

    def write(self, path: Path, kind: RunFormat, *, max_chars: int | None = None) -> None:
        """Write a run, named after its file. ``max_chars`` cuts passages of a PR run to their
        best-matching part. Raises SettingsError for ids that the format cannot hold."""
        if kind is RunFormat.PR:
            data = pr_run(
                dict(self.lists), self.topics, max_chars=max_chars, terms=self.index.bm25.terms
            )
        else:
            documents = kind is RunFormat.TREC_DOCUMENTS
            data = trec_run(dict(self.lists), run_name(path), documents=documents)
        write_bytes(path, data)


def search(
    index: Index, topics: Mapping[str, str], settings: RetrievalSettings, models: Models
) -> RetrievedRuns:
    """Retrieve the passages of each topic. Models are not asked again what the ledger already
    holds. Raises SettingsError if something the settings need is missing, LabellerUnreachable, or
    KeyboardInterrupt if interrupted; replies received so far are kept."""
    spending = Spending(models.budget)
    askers: list[Asker] = []
    with ExitStack() as closing:

        def asker(spec: str | None) -> Asker | None:
            if spec is None:
                return None
            path = models.ledger or index.folder / "labels.sqlite"
            ledger = closing.enter_context(Ledger.open(path))
            ledger.checked()  # raises for a damaged ledger before a reply in it is used
            options = LabellerOptions(fetching=models.fetching)
            # A model that answers yes or no can rerank pointwise; all else needs written replies.
            model = make_writer(spec, folder=Path(), options=options)
            if models.budget is not None:
                require_prices([model], "Nothing here has a known price: leave out the budget.")
            askers.append(Asker(ledger, model, models.progress, spending))
            return askers[-1]

        embedder = None
        if settings.method is not Method.BM25:
            spec = models.dense or index.dense.spec
            embedder = make_embedder(spec, named=bool(models.dense))
        found = retrieve_passages(
            index,
            topics,
            settings,
            embedder=embedder,
            decomposer=asker(models.decompose),
            reranker=asker(models.rerank),
        )
    lists = {topic: rows for topic, rows in found.lists.items() if rows}
    faults = sum((one.faults for one in askers), start=Counter[str]())
    return RetrievedRuns(
        topics,
        lists,
        index,
        found.failed,
        found.missing,
        faults,
        spending.tally,
        index.warnings_of(topics) if settings.method is not Method.DENSE else [],
    )


_WANTED = "how many passages a topic gets, a whole number"


def settings_for(
    kind: RunFormat,
    *,
    method: Annotated[str, Option("", of=Method)] = "bm25",
    k: Annotated[
        int | None, Option("Passages per topic (default: 20; TREC: 100).", least=1)
    ] = None,
    k1: Annotated[float, Option("BM25: how slowly repeated terms saturate.")] = 1.2,
    b: Annotated[float, Option("BM25: how much passage length matters.")] = 0.75,
    fast: Annotated[bool, Option("Use tantivy's BM25: k1 1.2, b .75, rounded lengths.")] = False,
    exact: Annotated[bool, Option("Compare all vectors, even if the index has cells.")] = False,
    depth: Annotated[int, Option("Length of the lists to fuse.", least=1)] = 100,
    rrf_k: Annotated[float, Option("Constant of reciprocal rank fusion.")] = K,
    rerank: Annotated[str | None, Option("Have a model rerank the passages.", of=Rerank)] = None,
    rerank_with: Annotated[
        str | None, Option(f"Model for --rerank: {WRITER_HELP}.", metavar="SPEC")
    ] = None,
    rerank_depth: Annotated[int, Option("Number of passages to rerank.", least=1)] = 50,
    window: Annotated[int, Option("Listwise reranking: passages per prompt.")] = WINDOW,
    stride: Annotated[int, Option("Listwise reranking: how far the window moves.")] = STRIDE,
) -> RetrievalSettings:
    """Retrieval settings from the options of ``assay retrieve``. Raises SettingsError if ``k``
    exceeds what the format holds, or if options contradict each other."""
    wanted = (MAX_RANK if kind is RunFormat.PR else TREC_DEPTH) if k is None else k
    if wanted < 1:
        raise SettingsError(f"k is {k}, but a topic needs at least one passage.")
    if kind is RunFormat.PR and wanted > MAX_RANK:
        raise SettingsError(
            f"A PR run holds at most {MAX_RANK} passages per question: use --k {MAX_RANK}."
        )
    if (rerank is None) != (rerank_with is None):
        raise SettingsError("--rerank and --rerank-with must be given together.")
    return RetrievalSettings(
        method=one_of(Method, method, "method"),
        k=wanted,
        depth=max(depth, wanted, rerank_depth if rerank else 0),
        bm25=BM25Settings(k1, b, exact=not fast),
        rrf_k=rrf_k,
        exact=exact,
        rerank=None if rerank is None else one_of(Rerank, rerank, "rerank"),
        rerank_depth=rerank_depth,
        window=window,
        stride=stride,
    )


def retrieve(
    index: Name | SearchIndex,
    topics: Topics,
    *,
    output: Name | None = None,
    format: str = "pr",  # noqa: A002 (as the option is called)
    method: str = "bm25",
    k: int | None = None,
    dense: str = "",
    decompose: str | None = None,
    rerank: str | None = None,
    rerank_with: str | None = None,
    max_passage_chars: int | None = None,
    ledger: Name | None = None,
    budget: float | None = None,
    progress: Progress | bool = False,
    **more: Any,
) -> pl.DataFrame:
    """Retrieve passages for topics. Returns a frame with ``topic``, ``rank``, ``score``, ``id``,
    ``doc``, ``title`` and ``text``; with ``output``, also writes a run as ``assay retrieve`` does.

    ``topics`` is a file (R2C2 questions, TREC RAG topics) or a mapping topic id → text. ``format``
    is pr (R2C2), trec or trec-documents; ``method`` is bm25, dense or fused; ``k`` is the number of
    passages per topic (default: 20; TREC: 100). ``decompose`` and ``rerank_with`` are SPECs of
    models; ``rerank`` is pointwise or listwise. Model replies are kept in ``ledger`` (default:
    INDEX/labels.sqlite); ``budget`` is in US dollars. ``more`` takes further options of the
    command: k1, b, fast, exact, depth, rrf_k, rerank_depth, window, stride. Warns of unusable and
    missing replies. Raises SettingsError, FormatError for the topics, or LabellerUnreachable.
    """
    kind = one_of(RunFormat, format, "format")
    budget = budget_of(budget)
    if k is not None:
        whole_of(k, "k", _WANTED)
    settings = settings_for(
        kind, method=method, k=k, rerank=rerank, rerank_with=rerank_with, **more
    )
    texts = topic_texts(topics)
    opened = index.index if isinstance(index, SearchIndex) else Index(path_of(index, "index"))
    path, target = path_or_none(ledger, "ledger"), path_or_none(output, "output")
    if target is not None:
        require_plain(target)

    def searching(reporter: Progress) -> RetrievedRuns:
        return search(
            opened, texts, settings, Models(dense, decompose, rerank_with, path, budget, reporter)
        )

    found = outside_a_loop(searching, progress_of(progress))
    if target is not None:
        found.write(target, kind, max_chars=max_passage_chars)
    for said in found.warnings:
        warn(said)
    if found.failed or found.missing:
        why = "; ".join(f"{count} × {what}" for what, count in found.faults.most_common(3))
        said = f"{found.failed} replies are unusable, {found.missing} are missing"
        warn(f"{said}: {why}" if why else said)
    return found.frame()


def topic_texts(topics: Topics) -> dict[str, str]:
    """Topic id → text. Raises FormatError with all faults of a file, TypeError for a topic that is
    not a str."""
    if not isinstance(topics, Mapping):
        return load_topics(path_of(topics, "topics"))
    return {str(topic): text_of(text, f"topic {topic}") for topic, text in topics.items()}


class SearchIndex:
    """A search index on disk; its ``len`` is the number of passages. Raises SettingsError if
    ``folder`` holds no index."""

    def __init__(self, folder: Name) -> None:
        self.folder = path_of(folder, "folder")
        self.index = Index(self.folder)

    def __len__(self) -> int:
        return len(self.index)

    def search(self, query: str, k: int = 10, *, method: str = "bm25") -> pl.DataFrame:
        """Return the ``k`` best passages for ``query``, best first: ``rank``, ``score``, ``id``,
        ``doc``, ``title`` and ``text``. ``method`` is bm25, dense or fused. Raises SettingsError
        if the method needs vectors and the index has none."""
        whole_of(k, "k", _WANTED)
        settings = settings_for(RunFormat.TREC, method=method, k=k)
        return (
            search(self.index, {"": text_of(query, "query")}, settings, Models())
            .frame()
            .drop("topic")
        )

    def __repr__(self) -> str:
        return f"<assay.index.SearchIndex {str(self.folder)!r}: {len(self):,} passages>"
