"""Which answering runs are not told apart from the best."""

from __future__ import annotations

from contextlib import suppress

from assay.measures.confidence import LOWER_IS_BETTER
from assay.protocols.r2c2.results import Found
from assay.reports.text import counted, listing
from assay.statistics.comparison import compare_confidences

_MOST_RUNS = {"HMR": 20, "ECE": 20, "AUROC": 8}
_MOST_QUESTIONS = 1_000
"""How much a report compares by itself: what takes a few seconds."""
_ALPHA = 0.05


def top_groups(result: Found) -> str:
    """Return, by HMR, ECE and AUROC, the runs that do not differ from the best, in words; empty
    where there are no two runs to compare, or too many.

    Randomisation tests of all pairs of the runs whose answers all have a label, with Holm's
    correction, as ``assay compare out/per_topic.csv`` makes them; a question left out counts as the
    worst that could have been handed in.
    """
    runs = [
        run
        for run, answers in result.answers.items()
        if all(one.correct is not None for one in answers.values())
    ]
    rows = [
        [
            (1.0 if one.confidence is None else one.confidence, float(bool(one.correct)))
            for one in (result.answers[run][question.id] for run in runs)
        ]
        for question in result.questions
    ]
    if len(runs) < 2 or not 2 <= len(rows) <= _MOST_QUESTIONS:
        return ""
    found = []
    for measure in (name for name, most in _MOST_RUNS.items() if len(runs) <= most):
        with suppress(ValueError):  # AUROC may be undefined
            compared = compare_confidences(
                [[p for p, _ in row] for row in rows],
                [[c for _, c in row] for row in rows],
                runs,
                measure=measure,
                alpha=_ALPHA,
                resamples=1,
                seed=0,
            )
            low = " (low is good)" if measure in LOWER_IS_BETTER else ""
            found.append(f"by {measure}{low} {listing(list(compared.top))}")
    if not found:
        return ""
    left = len(result.answers) - len(runs)
    over = counted(len(rows), "question")
    if left:
        over += f" of the runs without a missing label, {left} left out"
    return (
        f"Not told apart from the best run: {'; '.join(found)}. (Paired randomisation tests over "
        f"{over}, Holm’s correction for all pairs, 5 %; assay compare per_topic.csv -m HMR shows "
        "every pair.)"
    )
