"""How far the passages that an answer cites support its sentences.

Source: overview of the TREC 2025 RAG track, section 3.3, after Liu et al. (2023), *Evaluating
verifiability in generative search engines*. A citation is worth 1 where the passage fully supports
the sentence, 1/2 in part, else 0; the hard form counts full support only.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

__all__ = ["SUPPORT_MEASURES", "Citations", "SupportScores", "support_scores"]

SUPPORT_MEASURES = ("weighted_precision", "weighted_recall", "hard_precision", "hard_recall")
"""Names of :func:`support_scores`."""

Citations = Literal["first", "all"]
"""Which citations of a sentence count: the first, as the track has it, or all, by their mean."""


@dataclass(frozen=True, slots=True)
class SupportScores:
    """``values`` by the names of :data:`SUPPORT_MEASURES`, None where undefined. Of ``sentences``,
    ``uncited`` have no citation and ``unjudged`` none with a label among those that count."""

    values: dict[str, float | None]
    sentences: int
    uncited: int
    unjudged: int


def support_scores(
    sentences: Sequence[Sequence[float | None]], *, citations: Citations = "first"
) -> SupportScores:
    """Return weighted precision and recall of one answer.

    Precision is the mean over the sentences with citations, recall over all; a sentence without
    citations counts 0 in recall. An unjudged sentence leaves both. With ``all``, a sentence is
    worth the mean of its judged citations. An answer that cites nothing, or has no sentence, has
    precision and recall 0: to hand in less never pays.

    Args:
        sentences: for each sentence what each of its citations is worth (1, 0.5 or 0), in order;
            None is unjudged.
        citations: ``first`` or ``all``.

    Returns:
        The scores; precision is undefined where all sentences with citations are unjudged, recall
        where all sentences are.

    Raises:
        ValueError: a value is not 0, 0.5 or 1, or *citations* is neither.
    """
    if citations not in ("first", "all"):
        raise ValueError(f"citations must be 'first' or 'all', got {citations!r}")
    uncited = unjudged = 0
    soft: list[float] = []
    hard: list[float] = []
    for sentence in sentences:
        if any(value not in (None, 0.0, 0.5, 1.0) for value in sentence):
            raise ValueError("a citation is worth 0, 0.5 or 1")
        if not sentence:
            uncited += 1
            continue
        counted = sentence[:1] if citations == "first" else sentence
        judged = [value for value in counted if value is not None]
        if not judged:
            unjudged += 1
            continue
        soft.append(sum(judged) / len(judged))
        hard.append(sum(value == 1.0 for value in judged) / len(judged))
    cited, every = len(soft), len(soft) + uncited
    values = {
        f"{kind}_{name}": sum(worth) / count if count else None if unjudged else 0.0
        for kind, worth in (("weighted", soft), ("hard", hard))
        for name, count in (("precision", cited), ("recall", every))
    }
    return SupportScores(values, len(sentences), uncited, unjudged)
