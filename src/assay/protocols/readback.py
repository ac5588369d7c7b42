"""Whether the files of rankings, read back, give the scores that stand beside them."""

from __future__ import annotations

from pathlib import Path

from assay.formats.trec import read_qrels, read_topic_list
from assay.formats.trec_fast import read_runs
from assay.formats.trec_subtopics import read_subtopic_qrels
from assay.measures.frames import Ideal, run_scores, to_judgements
from assay.measures.judgements import Judgements
from assay.measures.names import parse_measure
from assay.measures.tables import Topics
from assay.model.errors import FormatError
from assay.protocols.ranked import SUBTOPICS, TOPICS, Expected

NEAR = 1e-9
"""How far sums in another order may be apart."""


def differences(expected: Expected) -> list[str]:
    """What the files say otherwise, a sentence each; none where all is well. They are read as
    ``assay measure`` reads them."""
    out = expected.out
    files = {out / "runs" / f"{name}.txt": run for run, name in expected.runs.items()}
    ideal: Ideal = "run" if expected.own_ideal else "qrels"
    over: Topics = "answered" if expected.answered else "qrels"
    found: list[str] = []
    try:
        topics = read_topic_list(out / TOPICS).require()
        for file, names in expected.sides:
            judged = _judgements(out / file, expected.g_max).over(topics)
            measures = {name: parse_measure(text) for name, text in names.items()}
            for batch in read_runs(list(files), judged):
                every = measures.values()
                scores = run_scores(batch.hits, judged, every, batch.unjudged, ideal=ideal)
                for path, one in zip(batch.paths, scores, strict=True):
                    for name, (least, most) in expected.values[files[path]].items():
                        if name not in measures:
                            continue
                        mean = one.mean(measures[name], topics=over)
                        if mean is None or not least - NEAR <= mean <= most + NEAR:
                            found.append(f"{path.name} gives {name} {mean}, not {least}")
    except FormatError as error:
        return [str(error)]
    return found


def _judgements(path: Path, g_max: float) -> Judgements:
    if path.name == SUBTOPICS:
        found = read_subtopic_qrels(path).require()
        return to_judgements(found.grades, g_max=g_max, subtopics=found.subtopics)
    return to_judgements(read_qrels(path).require().grades, g_max=g_max)
