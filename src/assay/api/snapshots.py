"""A run's scores as ``assay gate`` keeps and compares them."""

from __future__ import annotations

from datetime import UTC, datetime

from assay.formats.baselines import Baseline, GatedMeasure, GatedQuestion, GatedTask
from assay.model.errors import SettingsError
from assay.model.version import __version__
from assay.model.wording import listed
from assay.protocols.contents import Content, digest
from assay.protocols.evaluation import Evaluation
from assay.protocols.results import Result

_OF_INTERVALS = {"level", "resamples", "seed", "policy"}
"""Settings that no score hangs on, and the policy, which stands by itself."""


def chosen_run(result: Result, run: str | None) -> str:
    """The run that is meant; the only one where none is named. Raises SettingsError."""
    runs = list(result.findings.per_topic)
    if run in runs:
        return str(run)
    if run is None and len(runs) == 1:
        return runs[0]
    which = "Name one with --run" if run is None else f"There is no run {run}"
    raise SettingsError(f"{which}; there are {listed(runs, 20) or 'none'}.")


def snapshot(part: Evaluation, result: Result, run: str) -> Baseline:
    """What ``run`` scored in a result of ``part``, without its texts."""
    contents = part.protocol.contents(part.inputs, run)
    values = result.findings.per_topic[run]
    topics = dict.fromkeys((*result.findings.topics, *(t for of in values.values() for t in of)))
    questions = []
    for topic in topics:
        scores = {name: of[topic] for name, of in values.items() if of.get(topic) is not None}
        about = contents.get(topic)
        hashes = {} if about is None else _hashes(about)
        questions.append(GatedQuestion(id=topic, scores=scores, **hashes))
    return Baseline(
        assay=__version__,
        protocol=result.protocol,
        run=run,
        made=datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ"),
        policy=result.policy,
        settings={
            name: value
            for name, value in {**result.settings, **result.findings.grounds}.items()
            if name not in _OF_INTERVALS
        },
        tasks={
            task.name: GatedTask(
                version=task.version,
                labeller="" if who is None else who.name,
                params="" if who is None else digest(dict(who.params)),
                prompt=digest(part.folder.renderer.source(task)),
            )
            for task in part.tasks
            if not task.by_people
            for who in [result.labellers.get(task.name)]
        },
        measures={
            name: GatedMeasure(
                value=one.value, floor=one.floor, ceiling=one.ceiling, questions=one.topics
            )
            for name, one in result.findings.scores[run].items()
        },
        questions=tuple(sorted(questions, key=lambda one: one.id)),
    )


def _hashes(about: Content) -> dict[str, object]:
    return {
        "question": digest(about.question),
        "references": digest(list(about.references)),
        "answerable": about.answerable,
        "answer": digest(about.answer),
        "passages": digest(about.passages),
        "session": about.session,
    }
