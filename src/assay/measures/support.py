"""How far the passages that an answer cites support its sentences.

Source: overview of the TREC 2025 RAG track, section 3.3, after Liu et al. (2023), *Evaluating
verifiability in generative search engines*. A citation is worth 1 if the passage fully supports
the sentence, 1/2 in part, else 0; the hard form counts full support only.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple

import numpy as np
import numpy.typing as npt

from assay.measures.arrays import Bools, Floats, Integers

SUPPORT_MEASURES = ("weighted_precision", "weighted_recall", "hard_precision", "hard_recall")
"""Names of :func:`support_scores`."""

Citations = Literal["first", "all"]
"""Which citations of a sentence count: the first, as the track has it, or all, by their mean."""


@dataclass(frozen=True, slots=True)
class SupportScores:
    """``values`` by the names of :data:`SUPPORT_MEASURES`, None if undefined. Of ``sentences``,
    ``uncited`` have no citation and ``unjudged`` none with a label among those that count."""

    values: dict[str, float | None]
    sentences: int
    uncited: int
    unjudged: int


class SupportTable(NamedTuple):
    """The scores of answers: ``values`` are measures × answers in the order of
    :data:`SUPPORT_MEASURES`, NaN if undefined; the counts of :class:`SupportScores` are one an
    answer."""

    values: Floats
    sentences: Integers
    uncited: Integers
    unjudged: Integers


def support_scores(
    sentences: Sequence[Sequence[float | None]], *, citations: Citations = "first"
) -> SupportScores:
    """Weighted precision and recall of one answer.

    Precision is the mean over the sentences with citations, recall over all; a sentence without
    citations counts 0 in recall. An unjudged sentence leaves both. With ``all``, a sentence is
    worth the mean of its judged citations. An answer that cites nothing, or has no sentence, has
    precision and recall 0: to hand in less never pays. ``sentences``: for each sentence what each
    of its citations is worth (1, 0.5 or 0), in order; None is unjudged. ``citations``: ``first`` or
    ``all``. Returns the scores; precision is undefined where all sentences with citations are
    unjudged, recall where all sentences are. Raises ValueError if a value is not 0, 0.5 or 1, or
    ``citations`` is neither.
    """
    if any(value not in (None, 0.0, 0.5, 1.0) for sentence in sentences for value in sentence):
        raise ValueError("a citation is worth 0, 0.5 or 1")
    worth = np.array([value for sentence in sentences for value in sentence], np.float64)
    counts = np.array([len(sentence) for sentence in sentences], np.int64)
    found = support_table(worth, counts, [len(sentences)], citations=citations)
    values = [None if value != value else value for value in found.values[:, 0].tolist()]
    return SupportScores(
        dict(zip(SUPPORT_MEASURES, values, strict=True)), *(int(one[0]) for one in found[1:])
    )


def support_table(
    worth: Floats, cited: npt.ArrayLike, sentences: npt.ArrayLike, *, citations: Citations = "first"
) -> SupportTable:
    """:func:`support_scores` of many answers at once.

    ``worth``: of each citation 1, 0.5 or 0, NaN if it is unjudged; sentence by sentence, answer
    by answer. ``cited``: how many citations each sentence has. ``sentences``: how many sentences
    each answer has. ``citations``: ``first`` or ``all``.
    """
    per_sentence, per_answer = np.asarray(cited, np.int64), np.asarray(sentences, np.int64)
    of_answer = np.repeat(np.arange(len(per_answer)), per_answer)
    judged = counted_citations(per_sentence, citations) & ~np.isnan(worth)
    of_sentence = np.repeat(np.arange(len(per_sentence)), per_sentence)[judged]
    labels = np.bincount(of_sentence, minlength=len(per_sentence))
    scored = labels > 0

    def summed(worth: Floats) -> Floats:
        """The means of sentences, summed up by answer."""
        sums = np.bincount(of_sentence, worth, len(per_sentence))[scored] / labels[scored]
        found: Floats = np.bincount(of_answer[scored], sums, len(per_answer)).astype(np.float64)
        return found

    def by_answer(which: Bools) -> Integers:
        return np.bincount(of_answer[which], minlength=len(per_answer))

    uncited = by_answer(per_sentence == 0)
    unjudged = by_answer((per_sentence > 0) & ~scored)
    precise = by_answer(scored)
    values = []
    for sums in (summed(worth[judged]), summed((worth[judged] == 1.0).astype(np.float64))):
        for count in (precise, precise + uncited):
            undefined = np.where(unjudged > 0, np.nan, 0.0)
            values.append(np.divide(sums, count, out=undefined, where=count > 0))
    return SupportTable(np.stack(values), per_answer, uncited, unjudged)


def counted_citations(cited: Integers, citations: Citations) -> Bools:
    """Which citations count, of sentences that have so many: each one's first, or all."""
    if citations not in ("first", "all"):
        raise ValueError(f"citations must be 'first' or 'all', got {citations!r}")
    found = np.full(int(cited.sum()), citations == "all")
    found[(np.cumsum(cited) - cited)[cited > 0]] = True
    return found
