"""Whether the files of rankings, read back, give the scores that stand beside them."""

from __future__ import annotations

from assay.formats.trec import read_qrels, read_topic_list
from assay.formats.trec_fast import read_runs
from assay.measures.frames import Ideal, run_scores, to_judgements
from assay.measures.names import parse_measure
from assay.model.errors import FormatError
from assay.protocols.ranked import QRELS, TOPICS, Expected

NEAR = 1e-9
"""How far sums in another order may be apart."""


def differences(expected: Expected) -> list[str]:
    """What the files say otherwise, a sentence each; none where all is well. They are read as
    ``assay measure`` reads them."""
    out, runs = expected.out, expected.runs
    try:
        judged = to_judgements(read_qrels(out / QRELS).require().grades, g_max=expected.g_max)
        judged = judged.over(read_topic_list(out / TOPICS).require())
        measures = {name: parse_measure(text) for name, text in expected.measures.items()}
        files = {out / "runs" / f"{name}.txt": run for run, name in runs.items()}
        found: list[str] = []
        ideal: Ideal = "run" if expected.own_ideal else "qrels"
        for batch in read_runs(list(files), judged):
            scores = run_scores(batch.hits, judged, measures.values(), batch.unjudged, ideal=ideal)
            for path, one in zip(batch.paths, scores, strict=True):
                run = files[path]
                for name, (least, most) in expected.values.get(run, {}).items():
                    mean = one.mean(
                        measures[name], topics="answered" if expected.answered else "qrels"
                    )
                    if mean is None or not least - NEAR <= mean <= most + NEAR:
                        found.append(f"{path.name} gives {name} {mean}, scores.csv {least}")
    except FormatError as error:
        return [str(error)]
    return found
