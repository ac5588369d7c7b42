"""Score run files of any size against a file of relevance grades."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, NamedTuple, cast

import numpy as np

from assay.api.reading import Note
from assay.formats.trec import read_qrels, read_subtopic_qrels, read_topic_list
from assay.formats.trec_fast import read_runs
from assay.measures.base import MEASURES, Measure
from assay.measures.judgements import Judgements
from assay.measures.names import parse_measure
from assay.measures.order import Ties
from assay.measures.run_scores import Ideal, RunScores, run_scores, to_judgements
from assay.measures.tables import ALL, TOPICS, Row, Topics, rows
from assay.model.errors import Fault, FormatError, SettingsError, fault_lines, group_faults
from assay.model.options import Option
from assay.model.wording import joined, printable

COLUMNS = ("run", "topic", "measure", "value")
DEFAULTS = ("nDCG@20", "AP", "RR")
KNOWN = tuple(name for name, kind in MEASURES.items() if kind.__module__.startswith("assay."))
"""The names of Assay's own measures."""
OFFICIAL = (
    "map",
    "Rprec",
    "recip_rank",
    *(f"P_{k}" for k in (5, 10, 15, 20, 30, 100, 200, 500, 1000)),
)
"""The measures that trec_eval prints by default, as far as Assay has them, in its order."""
_SEVERAL_CUTOFFS = re.compile(r"(?P<stem>[A-Za-z_]+)\.(?P<cutoffs>[0-9]+(?:,[0-9]+)*)")
_TREC_EVAL_CUTOFFS = dict.fromkeys(
    ("P", "recall", "ndcg_cut", "map_cut"), (5, 10, 15, 20, 30, 100, 200, 500, 1000)
) | {"success": (1, 5, 10)}


class ScoredRuns(NamedTuple):
    """The scores of runs by ``measures`` (requested name → measure), and what they are based on.
    ``only`` is a file of the topics to score."""

    runs: Mapping[str, RunScores]
    measures: Mapping[str, Measure]
    judged: Judgements
    topics: Topics
    ties: Ties
    ideal: Ideal
    only: Path | None

    @property
    def of(self) -> str:
        """The source of the topics, in words."""
        return "the qrels" if self.only is None else printable(str(self.only))

    @property
    def strangers(self) -> list[str]:
        """Runs without a single known topic, probably from another collection."""
        return [
            run
            for run, scores in self.runs.items()
            if scores.unjudged and not scores.answered.any()
        ]

    def rows(self, *, per_topic: bool, means: bool = True) -> Iterator[Row]:
        """The scores, single topics before the mean, with the reason if one is undefined."""
        return rows(self.runs, self.measures, self.topics, per_topic=per_topic, means=means)

    def document(self, *, per_topic: bool) -> dict[str, Any]:
        """The JSON document."""
        return {
            "scores": [
                dict(zip(COLUMNS, row, strict=False)) | ({"reason": row[4]} if row[4] else {})
                for row in self.rows(per_topic=per_topic)
            ],
            "runs": {
                run: {
                    "answered": len(scores.topics) - len(scores.missing),
                    "missing": scores.missing,
                    "unjudged": scores.unjudged,
                }
                for run, scores in self.runs.items()
            },
            "measures": {name: str(measure) for name, measure in self.measures.items()},
            "topics": str(self.only or self.topics),
            "ties": self.ties,
            "ideal": self.ideal,
            "g_max": self.judged.g_max,
            "without_relevant": self.judged.without_relevant,
        }

    def remarks(self) -> Iterator[str]:
        """Remarks on unexpected gaps behind the means."""
        total, bare, of = len(self.judged.topics), self.judged.without_relevant, self.of
        if bare:
            yield (
                f"{len(bare)} of {total} topics of {of} have no relevant document (grade 1 or "
                f"more); no run can score there: {joined(bare, 10)}."
            )
        so = "they count as 0" if self.topics == "qrels" else "they are left out of the mean"
        for run in self.strangers:
            yield (
                f"Run {run} and {of} have no topic in common, so its scores mean nothing: one of "
                "them is from another collection, or its topic ids are written differently."
            )
        for run, scores in self.runs.items():
            if scores.missing:
                yield (
                    f"Run {run} has no documents for {len(scores.missing)} of {total} topics of "
                    f"{of}, {so}: {joined(scores.missing, 10)}."
                )
            if scores.unjudged:
                yield (
                    f"{of[0].upper()}{of[1:]} lack{('' if self.only is None else 's')} "
                    f"{len(scores.unjudged)} of the topics of run {run}, so these are not scored: "
                    f"{joined(scores.unjudged, 10)}."
                )

    def trec_lines(self, *, per_topic: bool, counts: bool) -> Iterator[str]:
        """Yield the scores in trec_eval's format: for each run single topics, ordered by id, then
        the means.

        ``per_topic``: whether to print single topics (``-q``); as in trec_eval, only those that the
        run has, even if the mean is over all topics (``-c``). ``counts``: whether to print
        ``runid`` and ``num_q num_ret num_rel num_rel_ret`` too, as trec_eval does by default.
        """
        relevant = self.judged.relevant()
        for run, scores in self.runs.items():
            numbers = {
                "num_ret": scores.shown,
                "num_rel": np.where(scores.answered, relevant, 0),
                "num_rel_ret": scores.found,
            }
            numbers = numbers if counts else {}
            if per_topic:
                answered = np.flatnonzero(scores.answered).tolist()
                for place in sorted(answered, key=scores.topics.__getitem__):
                    topic = scores.topics[place]
                    for name, values in numbers.items():
                        yield _trec_line(name, topic, str(values[place]))
                    for name, measure in self.measures.items():
                        yield _trec_line(name, topic, f"{scores.values[measure][place]:6.4f}")
            if counts or len(self.runs) > 1:
                yield _trec_line("runid", ALL, run)
            if counts:
                every = self.topics == "qrels"
                count = len(self.judged.topics) if every else int(scores.answered.sum())
                yield _trec_line("num_q", ALL, str(count))
            for name, values in numbers.items():
                yield _trec_line(name, ALL, str(values.sum()))
            for name, measure in self.measures.items():
                mean = scores.mean(measure, topics=self.topics)
                yield _trec_line(name, ALL, "" if mean is None else f"{mean:6.4f}")


def _trec_line(name: str, topic: str, value: str) -> str:
    return f"{name:<22}\t{printable(topic)}\t{value}"


def measures_named(names: Sequence[str]) -> dict[str, Measure]:
    """Requested name → measure. Raises ValueError with all unknown names."""
    wanted: dict[str, Measure] = {}
    wrong: list[str] = []
    for given in names:
        for name in _spelt_out(given.strip()):
            try:
                wanted[name] = parse_measure(name)
            except ValueError as error:
                wrong.append(str(error))
    if wrong:
        raise ValueError("\n".join(wrong))
    return wanted


def _spelt_out(name: str) -> list[str]:
    """Expand names as trec_eval does: ``P.5,10`` to ``P_5`` and ``P_10``, ``P`` to nine names."""
    match = _SEVERAL_CUTOFFS.fullmatch(name)
    if match is not None:
        return [f"{match['stem']}_{cutoff}" for cutoff in match["cutoffs"].split(",")]
    return [f"{name}_{cutoff}" for cutoff in _TREC_EVAL_CUTOFFS.get(name, ())] or [name]


def scored(
    qrels: Path,
    runs: Sequence[Path],
    measures: Mapping[str, Measure],
    *,
    note: Note,
    topics: Annotated[
        str,
        Option(
            "What the mean is taken over: 'qrels' for all topics of the qrels, counting 0 if the "
            "run does not answer (trec_eval -c); 'answered' for the topics of the run; or a file "
            "with one topic id per line for these topics, counting 0 if the run does not answer "
            "or nothing is judged.",
            metavar="qrels|answered|FILE",
        ),
    ] = "qrels",
    only: Path | None,
    ties: Annotated[
        Ties,
        Option(
            "How equal scores are ordered: 'trec' compares 32-bit scores, then document ids in "
            "descending order; 'trec64' does the same with 64-bit scores; 'file' compares 64-bit "
            "scores, then keeps the file's order."
        ),
    ] = "trec",
    g_max: Annotated[
        float | None,
        Option("Highest grade of the scale (default: the qrels' highest).", metavar="G"),
    ] = None,
    ideal: Annotated[
        Ideal,
        Option(
            "Where ideal lists, and the number of relevant documents, come from: 'qrels' uses all "
            "judged documents, 'run' only those in the run itself."
        ),
    ] = "qrels",
) -> ScoredRuns:
    """Score run files, with means over ``topics`` (:data:`TOPICS`) or those in the file ``only``.
    Raises FormatError with all faults, SettingsError if a measure cannot be computed."""
    over = TOPICS[0] if only else cast("Topics", topics)
    try:
        found, judged = score_run_files(
            qrels,
            runs,
            measures.values(),
            note=note,
            only=only,
            ties=ties,
            ideal=ideal,
            g_max=g_max,
        )
    except ValueError as error:
        raise SettingsError(str(error)) from None
    return ScoredRuns(found, measures, judged, over, ties, ideal, only)


def _by_name(
    names: Sequence[str], files: Sequence[Path], scores: Sequence[RunScores], note: Note
) -> dict[str, RunScores]:
    """The scores by run. Runs of the same name get their paths added, and ``note`` is called."""
    if len(set(files)) < len(files):
        raise SettingsError("A run file is given twice: give each file only once.")
    twice = {name for name in names if names.count(name) > 1}
    shown = [
        f"{name} ({printable(str(path))})" if name in twice else name
        for name, path in zip(names, files, strict=True)
    ]
    if len(set(shown)) < len(shown):  # one name looks like another one with its path
        shown = [f"{number}: {name}" for number, name in enumerate(shown, 1)]
    if twice:
        note(
            f"Several files hold a run of the same name ({joined(sorted(twice), 5)}), so their "
            "paths are added to the names."
        )
    return dict(zip(shown, scores, strict=True))


def require_own_names(names: Sequence[str], files: Sequence[Path]) -> None:
    """Raise SettingsError if two files hold runs of the same name."""
    seen: dict[str, Path] = {}
    for name, file in zip(names, files, strict=True):
        if name in seen:
            both = printable(f"{seen[name]} and {file}")
            raise SettingsError(
                f"{both} are both runs named {printable(name)}: give each its own name in the "
                "last column, and give each file only once."
            )
        seen[name] = file


def score_run_files(
    qrels: Path,
    paths: Sequence[Path],
    measures: Iterable[Measure],
    *,
    note: Note,
    only: Path | None = None,
    ties: Ties = "trec",
    ideal: Ideal = "qrels",
    g_max: float | None = None,
) -> tuple[dict[str, RunScores], Judgements]:
    """Score every run; returns run name → scores, and the judgements used. Raises FormatError with
    all faults of all files; warnings go to ``note``. ``only`` is a file of the topics to score."""
    wanted = list(measures)
    by_subtopic = any(measure.by_subtopic for measure in wanted)
    judged, faults = _judgements(qrels, g_max, note, by_subtopic=by_subtopic)
    try:
        if only is not None:
            topics = read_topic_list(only).require()
            judged = judged and judged.restricted_to(topics)
    except FormatError as error:
        judged, faults = None, [*faults, *error.faults]
    judged = judged and judged.reduced_for(wanted)
    checked = judged or Judgements({"": {}})
    names: list[str] = []
    files: list[Path] = []
    scores: list[RunScores] = []
    try:
        for batch in read_runs(paths, checked, ties=ties):
            for warnings in batch.warnings:
                for said in fault_lines(group_faults(warnings)):
                    note(said)
            if judged is None:
                continue
            names += batch.names
            files += batch.paths
            scores += run_scores(batch.hits, judged, wanted, batch.unjudged, ideal=ideal)
    except FormatError as error:
        faults += error.faults
    if faults or judged is None:
        raise FormatError(faults)
    return _by_name(names, files, scores, note), judged


def _judgements(
    path: Path, g_max: float | None, note: Note, *, by_subtopic: bool
) -> tuple[Judgements | None, list[Fault]]:
    """The judgements in the qrels, or all their faults."""
    try:
        if by_subtopic:
            several = read_subtopic_qrels(path)
            faults, found = several.faults, several.require()
            judged = to_judgements(found.grades, g_max=g_max, subtopics=found.subtopics)
        else:
            parsed = read_qrels(path)
            faults, judged = parsed.faults, to_judgements(parsed.require().grades, g_max=g_max)
    except FormatError as error:
        return None, list(error.faults)
    for said in fault_lines(group_faults(faults)):
        note(said)
    return judged, []
