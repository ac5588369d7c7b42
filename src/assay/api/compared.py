"""Comparison of runs: which differences are real."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from assay.api.paths import scores_in
from assay.api.reading import Note, all_used
from assay.api.run_files import score_run_files
from assay.api.undefined import explained, undefined_values
from assay.formats.confidence_matrices import ConfidenceMatrix, read_confidences
from assay.formats.parsed import Parsed
from assay.formats.score_cells import same_name, split_end
from assay.formats.score_matrices import ScoreMatrix, read_matrix
from assay.formats.text import Given, read_text
from assay.measures import Judged, Measure, parse_measure
from assay.measures.confidence import LOWER_IS_BETTER, MEASURES
from assay.measures.confidence_ranges import confidence_ranges
from assay.measures.run_scores import RunScores
from assay.model.errors import SettingsError
from assay.model.wording import counted, joined, natural_key, printable
from assay.protocols.label_shares import MAX_SHARE_DIFFERENCE
from assay.statistics.comparison import (
    Comparison,
    PairComparison,
    Test,
    compare_confidences,
    compare_runs,
)


def confidence_measure(name: str) -> str | None:
    """The measure of confidence that ``name`` denotes, possibly by one of its ends, or None."""
    return next((one for one in MEASURES if same_name(one, split_end(name)[0])), None)


Comparable = ScoreMatrix | ConfidenceMatrix


def read_tables(
    path: Path, names: Sequence[str | None], note: Note, *, option: str = "-m"
) -> list[Comparable]:
    """Read the scores called ``names`` (None: the only one) from a table. A measure of confidence
    without scores by topic is computed from the table's confidences. For an evaluation folder, its
    table of topics is read, and remarks on how up to date it is
    (:func:`assay.api.since_scored.remarks_since`) go to ``note``. ``option`` is what messages call
    the names. Raises FormatError with all faults, ValueError for several names if the table has one
    score, SettingsError for a folder without a table."""
    path = scores_in(path)
    if path.with_name("manifest.json").is_file():
        # Opening a folder and its ledger takes longer to load than all that tables need.
        from assay.api.since_scored import remarks_since  # noqa: PLC0415

        for one in remarks_since(path):
            note(one)
    text = read_text(path)  # only once, as it may be a pipe
    tables = all_used((partial(read_table, text, name, option) for name in names), note)
    if len(tables) > 1 and isinstance(tables[0], ScoreMatrix) and tables[0].wide:
        raise ValueError(f"{printable(str(path))} holds only one score")
    return tables


def read_table(given: Given, name: str | None, option: str) -> Parsed[Comparable]:
    """Read one score of a table by the rules of :func:`read_tables`."""
    scores = read_matrix(given, name, option=option)
    measure = name and confidence_measure(name)
    if scores.ok or not name or not measure:
        return Parsed(scores.value, scores.faults)
    end = split_end(name)[1]
    completing = None if end is None else (end, partial(completed, measure, end))
    found = read_confidences(given, measure, completing)
    return Parsed(found.value if found.ok else None, found.faults)


def completed(
    measure: str, end: str, p: Sequence[float], c: Sequence[float], left_out: int
) -> Iterable[tuple[float, float]]:
    """Pairs of confidence and correctness for which the measure is at its end (or as near to it as
    is known)."""
    found = confidence_ranges(p, c, left_out=left_out)
    ends = found[measure] or found["Accuracy"]  # undefined however the rest turns out
    if ends is None:
        raise AssertionError("accuracy is defined for every run")
    done = ends.floor if end == "floor" else ends.ceiling
    return zip(done.p.tolist(), done.c.astype(float).tolist(), strict=True)


def compared(
    one: Comparable, note: Note, *, test: Test | None = None, seed: int = 0, **settings: Any
) -> Compared:
    """Compare every pair of runs of a matrix. ``test`` applies to scores of topics (None: tukey);
    confidences use randomisation. ``settings`` are passed to :func:`compare_runs`. Raises
    ValueError if the runs cannot be compared."""
    measure = confidence_measure(one.name)
    if isinstance(one, ScoreMatrix):
        lower = measure in LOWER_IS_BETTER
        settings |= {"test": test or "tukey", "seed": seed, "lower_is_better": lower}
        return Compared(one, compare_runs(one.scores, one.runs, **settings), seed)
    if test not in (None, "randomisation"):
        raise ValueError(f"{one.name} is not a mean over topics: its test must be 'randomisation'")
    arrays, name = (one.confidences, one.correct, one.runs), measure or one.name
    result = compare_confidences(*arrays, measure=name, seed=seed, **settings)
    without = [run for run in one.runs if run not in result.means]
    if without:
        note(f"{one.name} is undefined for these runs, which are left out: {joined(without, 10)}.")
    return Compared(one, result, seed)


def score_runs(
    qrels: Path,
    files: Sequence[Path],
    measures: Sequence[str],
    note: Note,
    *,
    only: Path | None = None,
    answered: bool = False,
) -> list[ScoreMatrix]:
    """Score runs as ``assay measure`` does and return a matrix of topics and runs for each measure.

    Covers the topics of the file ``only``, if given; ``answered`` leaves out topics that any run
    does not answer. Runs of the same name get their file names added. Raises FormatError with all
    faults of all files, ValueError for an unknown measure, SettingsError for a file given twice or
    too few topics."""
    wanted = {name: parse_measure(name) for name in measures}
    judged = {k: Judged @ k for k in sorted({one.k for one in wanted.values() if one.k})}
    every = (*wanted.values(), *judged.values())
    try:
        found, judgements = score_run_files(qrels, files, every, note=note, only=only)
    except ValueError as error:
        raise SettingsError(f"{error}.") from None
    scores = {printable(name): one for name, one in found.items()}
    mask = np.ones(len(judgements.topics), dtype=np.bool_)
    for run, one in scores.items():
        _say_what_lacks(run, one, note)
        if answered:
            mask &= one.answered
    for k, measure in judged.items():
        _say_what_is_not_judged(k, measure, scores, note)
    return [
        _matrix(name, measure, list(scores), list(scores.values()), mask, note)
        for name, measure in wanted.items()
    ]


def _say_what_lacks(name: str, scores: RunScores, note: Note) -> None:
    if scores.missing:
        count = counted(len(scores.missing), "topic")
        note(f"Run {name} does not answer {count}: {joined(scores.missing, 10)}.")
    if scores.unjudged:
        count = counted(len(scores.unjudged), "topic")
        note(f"Run {name} has {count} not counted: {joined(scores.unjudged, 10)}.")


def _say_what_is_not_judged(
    k: int, measure: Measure, scores: Mapping[str, RunScores], note: Note
) -> None:
    """Note if clearly more documents are judged for some runs than for others."""
    shares = {
        run: 1 - float(one.values[measure][one.answered].mean())
        for run, one in scores.items()
        if one.answered.any()
    }
    if shares and max(shares.values()) - min(shares.values()) > MAX_SHARE_DIFFERENCE:
        found = sorted(shares, key=lambda run: -shares[run])
        note(
            f"Not judged among the first {counted(k, 'document')}: "
            f"{joined([f'{run} {100 * shares[run]:.0f} %' for run in found], 10)}. They count as "
            "not relevant, so runs with fewer judged documents may rank too low."
        )


def _matrix(
    name: str,
    measure: Measure,
    runs: Sequence[str],
    scores: Sequence[RunScores],
    mask: npt.NDArray[np.bool_],
    note: Note,
) -> ScoreMatrix:
    # Sorted by name, as in complete(), so that a seed gives the same draws whatever the order of
    # files and of their lines.
    names = sorted(range(len(runs)), key=lambda at: natural_key(runs[at]))
    places = np.array(sorted(range(len(mask)), key=lambda at: natural_key(scores[0].topics[at])))
    table = np.column_stack([scores[name].values[measure][places] for name in names])
    topics, mask = [scores[0].topics[place] for place in places], mask[places]
    undefined = np.asarray(~np.isfinite(table).all(axis=1))
    if undefined[mask].any():
        lost = [topics[place] for place in np.flatnonzero(undefined & mask)]
        note(
            f"{name} is undefined for some run on {counted(len(lost), 'topic')}, left out for all "
            f"runs: {joined(lost, 10)}."
        )
    used_topics = mask & ~undefined
    count = int(used_topics.sum())
    if count < 2:
        raise SettingsError(
            f"{name}: {counted(count, 'topic')} left to compare on; at least 2 are needed."
        )
    return ScoreMatrix(
        name=name,
        topics=tuple(topics[place] for place in np.flatnonzero(used_topics)),
        runs=tuple(runs[name] for name in names),
        scores=tuple(map(tuple, table[used_topics].tolist())),
        left_out=tuple(topics[place] for place in np.flatnonzero(~used_topics)),
    )


COLUMNS = (
    "measure", "run_a", "run_b", "difference", "low", "high", "p", "p_adjusted", "effect",
)  # fmt: skip
TESTS: dict[Test, str] = {
    "tukey": "randomised Tukey HSD, which covers all pairs",
    "t": "paired t-test, Holm's correction over all pairs",
    "randomisation": "paired randomisation test, Holm's correction over all pairs",
    "bootstrap": "paired bootstrap test, Holm's correction over all pairs",
}
TANGLED = "pairs differ in such a tangled way that thousands of letters would be needed"
_SAME_EVERYWHERE = "the difference is the same on every topic"
_NO_VARIANCE = "the residual variance is 0"
_NO_MEAN = "the measure is not a mean over topics"


@dataclass(frozen=True, slots=True)
class Compared:
    """The comparison of runs by one measure. ``seed`` is that of the test's random draws."""

    matrix: Comparable
    result: Comparison
    seed: int

    @property
    def name(self) -> str:
        """Name of the measure, or of an end of it."""
        return self.matrix.name

    @property
    def real(self) -> list[PairComparison]:
        """Pairs of runs with a significant difference."""
        return [pair for pair in self.result.pairs if pair.different]

    @property
    def method(self) -> str:
        """The test in words."""
        result, how = self.result, TESTS[self.result.test]
        if result.permutations is None:
            return how
        what = "resamples" if result.test == "bootstrap" else "permutations"
        exact = f"all {result.permutations:,} {what} (exact)"
        drawn = f"{result.permutations:,} random {what}, seed {self.seed}"
        return f"{how}; {exact if result.exact else drawn}"

    def rows(self) -> Iterator[tuple[str | float | None, ...]]:
        """The pairs under :data:`COLUMNS`."""
        for pair in self.result.pairs:
            p = pair.p_adjusted if self.result.test == "tukey" else pair.p
            yield (
                self.name, pair.run_a, pair.run_b, pair.difference, pair.low, pair.high, p,
                pair.p_adjusted, pair.effect,
            )  # fmt: skip

    def _reasons(self, pair: PairComparison) -> dict[str, str]:
        """The reason for each undefined value of a pair, by column."""
        found = {}
        if pair.p_adjusted is None:
            found["p"] = _SAME_EVERYWHERE
        if pair.effect is None:
            found["effect"] = _NO_MEAN if self.result.variance is None else _NO_VARIANCE
        return found

    def row_documents(self) -> Iterator[dict[str, Any]]:
        """The pairs as JSON objects."""
        for pair, row in zip(self.result.pairs, self.rows(), strict=True):
            reasons = "; ".join(f"{name}: {why}" for name, why in self._reasons(pair).items())
            yield explained(dict(zip(COLUMNS, row, strict=True)), reasons or None)

    def document(self) -> dict[str, Any]:
        """The runs and the method of comparison as a JSON document."""
        result = self.result
        tangled = TANGLED if result.letters is None else None
        return {
            "measure": self.name,
            "topics": result.topics,
            "topics_left_out": self.matrix.left_out,
            "runs_left_out": self.matrix.runs_left_out,
            "runs": [
                explained(
                    {
                        "run": run,
                        "mean": mean,
                        "letters": result.letters and result.letters[run],
                        "top": run in result.top,
                    },
                    tangled,
                )
                for run, mean in result.means.items()
            ],
            "different": [[pair.run_a, pair.run_b] for pair in self.real],
            "paired_effects": [
                explained(
                    {"run_a": pair.run_a, "run_b": pair.run_b, "effect": pair.paired_effect},
                    (_SAME_EVERYWHERE if result.variance else _NO_MEAN)
                    if pair.paired_effect is None
                    else None,
                )
                for pair in result.pairs
            ],
            "residual_variance": result.variance and result.variance.value,
            "permutations": result.permutations,
            "exact": result.exact,
        }

    def undefined(self, mark: str) -> Iterator[str]:
        """Sentences on what is undefined and why."""
        if self.result.variance is None:
            yield f"{mark} is undefined: {_NO_MEAN} (effect)."
            return
        yield from undefined_values(
            mark,
            (
                (f"{name} of {pair.run_a} and {pair.run_b}", reason)
                for pair in self.result.pairs
                for name, reason in self._reasons(pair).items()
            ),
        )

    def hopeless(self) -> str | None:
        """A warning if even the smallest possible p-value is not significant after correction."""
        result = self.result
        if result.test not in ("randomisation", "bootstrap") or result.permutations is None:
            return None
        least = 2 / result.permutations if result.exact else 1 / (result.permutations + 1)
        pairs = len(result.pairs)
        if least * pairs < result.alpha:
            return None
        cure = f"use --permutations {math.ceil(pairs / result.alpha)}"
        if result.exact:
            cure = "more topics are needed"
        use = "Use --test tukey, or " if result.variance is not None else ""
        return (
            f"no pair can count as different: {result.permutations:,} draws give no p-value below "
            f"{least:.2g}, and Holm's correction multiplies it by {counted(pairs, 'pair')}. "
            f"{use}{(cure if use else cure.capitalize())}."
        )

    def without_p(self) -> str | None:
        """A remark on pairs without a p-value, if any."""
        count = sum(pair.p_adjusted is None for pair in self.result.pairs)
        if not count:
            return None
        pairs = "1 pair without p does" if count == 1 else f"{count:,} pairs without p do"
        return (
            f"{pairs} not count as different; --test randomisation gives a p-value for every pair."
        )


def measure_names(given: Sequence[str]) -> list[str]:
    """Split repeated options at commas, except within brackets, where they belong to a measure."""
    parts = [part.strip() for name in given for part in re.split(r",(?![^()]*\))", name)]
    return list(dict.fromkeys(part for part in parts if part))


def compare_all(
    inputs: Sequence[Comparable], test: Test | None, settings: Mapping[str, Any], note: Note
) -> Iterator[Compared]:
    """Compare the runs of each input. Raises SettingsError if they cannot be compared."""
    for one in inputs:
        try:
            yield compared(one, note, test=test, **settings)
        except ValueError as error:
            which = "" if str(error).startswith(one.name) else f"{one.name}: "
            raise SettingsError(f"{which}{error}.") from None
