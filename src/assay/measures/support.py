"""Support measures: how far the passages that an answer cites support its sentences.

A citation is worth 1 if the passage fully supports the sentence, 1/2 if in part, else 0; hard
measures count partial support as 0. Source: overview of the TREC 2025 RAG track, section 3.3, after
Liu et al. (2023), *Evaluating verifiability in generative search engines*.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple

import numpy as np
import numpy.typing as npt

from assay.measures.arrays import Bools, Floats, Integers

SUPPORT_MEASURES = ("weighted_precision", "weighted_recall", "hard_precision", "hard_recall")
"""The measures of :func:`support_scores`."""

Citations = Literal["first", "all"]
"""Which citations of a sentence count: only the first, as in the track, or the mean of all."""


@dataclass(frozen=True, slots=True)
class SupportScores:
    """The support scores of one answer.

    ``values``: the :data:`SUPPORT_MEASURES`, None if undefined. ``sentences``: the number of
    sentences; ``uncited`` of them have no citation, and ``unjudged`` have citations, but no label
    on those that count.
    """

    values: dict[str, float | None]
    sentences: int
    uncited: int
    unjudged: int


class SupportTable(NamedTuple):
    """The support scores of many answers: ``values`` are measures × answers in the order of
    :data:`SUPPORT_MEASURES`, NaN if undefined; the others are the counts of
    :class:`SupportScores`, one per answer."""

    values: Floats
    sentences: Integers
    uncited: Integers
    unjudged: Integers


def support_scores(
    sentences: Sequence[Sequence[float | None]], *, citations: Citations = "first"
) -> SupportScores:
    """Support precision and recall of one answer, weighted and hard.

    ``sentences``: for each sentence, the worth of each citation (1, 0.5 or 0) in order, None if
    unjudged. ``citations``: which of them count; with ``all``, a sentence is worth the mean of its
    judged citations. Raises ValueError if a value is not 0, 0.5 or 1, or ``citations`` is unknown.

    Precision is the mean over the sentences with citations, recall over all sentences, where one
    without citations counts as 0. Unjudged sentences are left out of both; precision is undefined
    if all sentences with citations are unjudged, recall if all sentences are. An answer without
    citations or sentences has precision and recall 0, so handing in less never pays.
    """
    if any(value not in (None, 0.0, 0.5, 1.0) for sentence in sentences for value in sentence):
        raise ValueError("a citation is worth 0, 0.5 or 1")
    worth = np.array([value for sentence in sentences for value in sentence], np.float64)
    counts = np.array([len(sentence) for sentence in sentences], np.int64)
    table = support_table(worth, counts, [len(sentences)], citations=citations)
    values = [None if value != value else value for value in table.values[:, 0].tolist()]
    return SupportScores(
        dict(zip(SUPPORT_MEASURES, values, strict=True)), *(int(count[0]) for count in table[1:])
    )


def support_table(
    worth: Floats, cited: npt.ArrayLike, sentences: npt.ArrayLike, *, citations: Citations = "first"
) -> SupportTable:
    """:func:`support_scores` of many answers at once.

    ``worth``: 1, 0.5 or 0 for each citation, NaN if unjudged; sentence by sentence, answer by
    answer. ``cited``: the number of citations of each sentence. ``sentences``: the number of
    sentences of each answer. ``citations``: which citations of a sentence count.
    """
    per_sentence, per_answer = np.asarray(cited, np.int64), np.asarray(sentences, np.int64)
    of_answer = np.repeat(np.arange(len(per_answer)), per_answer)
    judged = counted_citations(per_sentence, citations) & ~np.isnan(worth)
    of_sentence = np.repeat(np.arange(len(per_sentence)), per_sentence)[judged]
    labels = np.bincount(of_sentence, minlength=len(per_sentence))
    scored = labels > 0

    def summed(worth: Floats) -> Floats:
        """The sum of the sentences' means, for each answer."""
        means = np.bincount(of_sentence, worth, len(per_sentence))[scored] / labels[scored]
        sums: Floats = np.bincount(of_answer[scored], means, len(per_answer)).astype(np.float64)
        return sums

    def by_answer(which: Bools) -> Integers:
        return np.bincount(of_answer[which], minlength=len(per_answer))

    uncited = by_answer(per_sentence == 0)
    unjudged = by_answer((per_sentence > 0) & ~scored)
    cited_and_scored = by_answer(scored)
    values = []
    for sums in (summed(worth[judged]), summed((worth[judged] == 1.0).astype(np.float64))):
        for count in (cited_and_scored, cited_and_scored + uncited):
            undefined = np.where(unjudged > 0, np.nan, 0.0)
            values.append(np.divide(sums, count, out=undefined, where=count > 0))
    return SupportTable(np.stack(values), per_answer, uncited, unjudged)


def counted_citations(cited: Integers, citations: Citations) -> Bools:
    """Which citations count. ``cited``: the number of citations of each sentence."""
    if citations not in ("first", "all"):
        raise ValueError(f"citations must be 'first' or 'all', got {citations!r}")
    counted = np.full(int(cited.sum()), citations == "all")
    counted[(np.cumsum(cited) - cited)[cited > 0]] = True
    return counted
