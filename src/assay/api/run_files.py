"""Files of runs scored against a file of relevance grades, of any size."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

from assay.formats.trec import read_qrels, read_topic_list
from assay.formats.trec_fast import read_runs
from assay.formats.trec_subtopics import read_subtopic_qrels
from assay.measures.base import Measure
from assay.measures.frames import Ideal, RunScores, run_scores, to_judgements
from assay.measures.judgements import Judgements
from assay.measures.order import Ties
from assay.measures.ranking.subtopics import AlphaNDCG
from assay.model.errors import Fault, FormatError, SettingsError
from assay.model.wording import listed, printable

Note = Callable[[str], None]


def score_files(
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
    """The scores of every run by its name, and what they were judged by. Everything is read, so
    that all faults of all files come at once (FormatError); warnings go to ``note``. ``only`` is a
    file of the topics that are scored."""
    wanted = list(measures)
    by_subtopic = any(isinstance(measure, AlphaNDCG) for measure in wanted)
    judged, faults = _judgements(qrels, g_max, note, by_subtopic=by_subtopic)
    try:
        if only is not None:
            topics = read_topic_list(only).require()
            judged = judged and judged.over(topics)
    except FormatError as error:
        judged, faults = None, [*faults, *error.faults]
    judged = judged and judged.needed(wanted)
    checked = judged or Judgements({"": {}})
    names: list[str] = []
    files: list[Path] = []
    scores: list[RunScores] = []
    try:
        for batch in read_runs(paths, checked, ties=ties):
            for warnings in batch.warnings:
                for fault in warnings:
                    note(str(fault))
            if judged is None:
                continue
            names += batch.names
            files += batch.paths
            scores += run_scores(batch.hits, judged, wanted, batch.unjudged, ideal=ideal)
    except FormatError as error:
        faults += error.faults
    if faults or judged is None:
        raise FormatError(faults)
    return _named(names, files, scores, note), judged


def _judgements(
    path: Path, g_max: float | None, note: Note, *, by_subtopic: bool
) -> tuple[Judgements | None, list[Fault]]:
    """The qrels, or all their faults."""
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
    for fault in faults:
        note(str(fault))
    return judged, []


def _named(
    names: Sequence[str], paths: Sequence[Path], scores: Sequence[RunScores], note: Note
) -> dict[str, RunScores]:
    """Scores by run; runs of one name get their files' names added."""
    if len(set(paths)) < len(paths):
        raise SettingsError("A run file is given twice: give each file once.")
    twice = {name for name in names if names.count(name) > 1}
    shown = [
        f"{name} ({printable(str(path))})" if name in twice else name
        for name, path in zip(names, paths, strict=True)
    ]
    if len(set(shown)) < len(shown):  # one name looks like another one with its path
        shown = [f"{number}: {name}" for number, name in enumerate(shown, 1)]
    if twice:
        note(
            f"Several files hold a run of the same name ({listed(sorted(twice), 5)}): "
            "their paths are added to the names."
        )
    return dict(zip(shown, scores, strict=True))
