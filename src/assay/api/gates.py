"""``assay gate``: a folder's run against a committed baseline."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from assay.api.correcting import Trusted
from assay.api.gate_terms import Terms
from assay.api.gating import gate
from assay.api.opened import Opened
from assay.formats.baselines import (
    Baseline,
    GatedMeasure,
    GatedQuestion,
    GatedTask,
    baseline_bytes,
    read_baseline,
)
from assay.formats.naming import normal_id
from assay.ledger.ledger import Ledger
from assay.measures.ranges import Range
from assay.model.errors import SettingsError
from assay.model.paths import path_inside
from assay.model.version import __version__
from assay.model.wording import joined, printable
from assay.page.gates import Gate
from assay.page.wording import span
from assay.protocols.config import GateMeasure
from assay.protocols.contents import digest
from assay.protocols.evaluation import Evaluation
from assay.protocols.label_shares import label_basis
from assay.protocols.output import write_bytes
from assay.protocols.pages import policy_in_words
from assay.protocols.results import Result


@dataclass(frozen=True)
class GateOptions:
    """Options of a gate on the command line, which take precedence over ``[gate]`` of assay.toml.
    ``rules`` are merged with those there, measure by measure."""

    run: str | None = None
    protocol: str | None = None
    baseline: Path | None = None
    rules: Mapping[str, GateMeasure] | None = None
    alpha: float | None = None
    prove: bool = False


def save_baseline(opened: Opened, path: Path, asked: GateOptions) -> tuple[str, int, list[str]]:
    """Write a run's baseline, without asking labellers. Returns the run, its number of questions,
    and remarks: a comparison with the baseline it replaces, and missing labels. Raises
    SettingsError for an unknown run, LedgerError if nothing is labelled."""
    name = _protocol(opened, asked.protocol)
    part = opened.parts[name]
    with opened.ledger(create=False) as ledger:
        result, alone = _scored(part, ledger)
        ledger.checked()
    run = chosen_run(result, asked.run or opened.folder.config.gate.run)
    found = snapshot(part, result, run, alone)
    before = read_baseline(path).value if path.is_file() else None
    write_bytes(path, baseline_bytes(found))
    gated = opened.folder.config.gate.measures or _first_measures(result, run)
    said = [] if before is None else [_replaced(before, found, gated)]
    if lacking := _unlabelled(result):
        said.append(
            f"{lacking} Then write the baseline again: until then, scores that depend on them are "
            "not known."
        )
    return run, len(found.questions), said


def _replaced(before: Baseline, now: Baseline, gated: Iterable[str]) -> str:
    """A remark comparing the tested measures with the baseline that is overwritten, as losses too
    small to detect can add up over many renewals."""
    scores = (
        f"{name} {' → '.join(span(one.floor, one.ceiling) for one in both if one is not None)}"
        for name in gated
        for both in [[of.measures.get(name) for of in (before, now)]]
    )
    return f"it replaces the baseline of run {before.run}, {before.made[:10]}: {', '.join(scores)}."


def gate_folder(opened: Opened, asked: GateOptions) -> Gate:
    """Decide whether a run of a folder passes, without asking labellers. Raises SettingsError,
    FormatError for an unusable baseline, LedgerError if nothing is labelled."""
    name = _protocol(opened, asked.protocol)
    part, section = opened.parts[name], opened.folder.config.gate
    with opened.ledger(create=False) as ledger:
        result, alone = _scored(part, ledger)
        trusted = opened.corrected(ledger)
        ledger.checked()
    run = chosen_run(result, asked.run or section.run)
    now = snapshot(part, result, run, alone)
    rules = dict(section.measures)
    for measure, rule in (asked.rules or {}).items():
        given = rule.model_dump(exclude_none=True)
        rules[measure] = rules.get(measure, rule).model_copy(update=given)
    path = asked.baseline
    if path is None and section.baseline is not None:
        where = f"{opened.folder.path / 'assay.toml'}: [gate] baseline"
        path = path_inside(opened.folder.path, section.baseline, where)
    if path is not None and not path.exists():
        raise SettingsError(
            f"{path}: there is no baseline yet. 'assay gate {opened.folder.path} --save {path}' "
            "writes the baseline of a run as it is now."
        )
    if not rules:
        if path is None:
            raise SettingsError(
                "There is nothing to check: give --baseline FILE (assay gate FOLDER --save FILE "
                "writes one), or a bound such as --min MEASURE=VALUE."
            )
        rules = {measure: GateMeasure(loss=0.0) for measure in _first_measures(result, run)}
    if path is None and any(rule.loss is not None for rule in rules.values()):
        raise SettingsError(
            "A test needs a baseline: --baseline FILE; 'assay gate FOLDER --save FILE' writes one."
        )
    terms = Terms(
        rules,
        alpha=asked.alpha or section.alpha,
        share=section.questions,
        prove=asked.prove,
        lower=frozenset(m for board in result.findings.boards for m in board.lower_is_better),
        silence=part.protocol.said_nothing,
    )
    contents = part.protocol.contents(part.inputs, run)
    texts = {topic: one.question for topic, one in contents.items()}
    absent = [name for name, one in contents.items() if one.answer is None and one.passages is None]
    if len(absent) == len(contents):  # what runs handed in the protocol does not tell
        absent = []
    before = None if path is None else read_baseline(path).require()
    found = gate(
        now,
        before,
        terms,
        texts=texts,
        bounds=_corrected(trusted, run),
        stands_on=tuple(_stands_on(result, before)),
    )
    against = f"{path} ({found.against})" if found.against else ""
    title = printable(opened.folder.title)
    return replace(found, against=against, absent=tuple(absent), evaluation=title)


def _protocol(opened: Opened, named: str | None) -> str:
    names = list(opened.parts)
    if named is None and len(names) == 1:
        return names[0]
    if named not in names:
        which = "Name one" if named is None else f"{named} is none"
        raise SettingsError(
            f"{which} of the folder's protocols. Choose one with --protocol {' | '.join(names)}."
        )
    return named


def _first_measures(result: Result, run: str) -> dict[str, None]:
    """The measures tested by default: the first of each leaderboard of the run."""
    firsts = (board.measures[0] for board in result.findings.boards if board.measures)
    return dict.fromkeys(name for name in firsts if name in result.findings.scores.get(run, {}))


def _corrected(trusted: Trusted | None, run: str) -> dict[str, Range]:
    """The corrected intervals of a run by measure, which bounds are checked against if people have
    labelled a draw."""
    found = {}
    for board in trusted.boards if trusted is not None else ():
        for one in board.found:
            if run in one.runs:
                at = one.runs.index(run)
                found[one.measure] = Range(float(one.low[at]), float(one.high[at]))
    return found


def _stands_on(result: Result, before: Baseline | None) -> Iterator[str]:
    basis = label_basis(result)
    was = "" if before is None else before.stands_on
    who = sorted({one.name for one in result.labellers.values() if one is not None})
    yield f"Policy {result.policy}: {policy_in_words(result.policy)}."
    if who:
        yield f"Labellers: {', '.join(who)}."
    if basis:
        yield f"Based on: {basis}."
    if was and was != basis:
        yield f"The baseline is based on: {was}."
    if lacking := _unlabelled(result):
        yield lacking


def _unlabelled(result: Result) -> str:
    """A sentence on the number of missing labels; empty if none is missing."""
    lacking = result.unlabelled
    if not lacking.count:
        return ""
    return f"{lacking.count} {lacking.what} have no usable label; 'assay judge' asks for them."


_OF_NO_SCORE = {"level", "resamples", "seed", "policy", "measures", "by"}
"""Settings that do not affect scores, and the policy, which is stored separately."""


def chosen_run(result: Result, run: str | None) -> str:
    """The run called ``run``, or the only one if None. Raises SettingsError if there is none."""
    runs = list(result.findings.per_topic)
    if run is not None and (found := [one for one in runs if normal_id(one) == normal_id(run)]):
        return run if run in found else found[0]
    if run is None and len(runs) == 1:
        return runs[0]
    which = "Name one with --run" if run is None else f"There is no run {run}"
    raise SettingsError(f"{which}; runs: {joined(runs, 20) or 'none'}.")


def _scored(part: Evaluation, ledger: Ledger) -> tuple[Result, Result | None]:
    """The result by all labels, even if runs are compared by fewer, and the result by the machine's
    labels alone, as another run's baseline may lack people's labels. The latter is None if a policy
    was chosen or more labels would be missing."""
    result = replace(part.quick().score(ledger), evened=None)
    if not result.by_people:
        return result, result
    alone = part.quick().by_machine(ledger) if part.evens else None
    return result, None if alone is None or alone.lacking > result.lacking else alone


def _at(values: Mapping[str, Mapping[str, Range | None]], topic: str) -> dict[str, Range]:
    """The values of one topic by measure."""
    return {name: end for name, of in values.items() if (end := of.get(topic)) is not None}


def snapshot(part: Evaluation, result: Result, run: str, alone: Result | None) -> Baseline:
    """The baseline of ``run``: its scores in ``result`` and, if given, in the result of the machine
    ``alone``, with digests in place of texts."""
    contents = part.protocol.contents(part.inputs, run)
    values = result.findings.per_topic[run]
    topics = dict.fromkeys((*result.findings.topics, *(t for of in values.values() for t in of)))
    questions = []
    for topic in topics:
        scores = _at(values, topic)
        by_machine = scores if alone is None else _at(alone.findings.per_topic.get(run, {}), topic)
        about = contents.get(topic)
        hashes: dict[str, Any] = {}
        if about is not None:
            hashes = {
                "question": digest(about.question),
                "references": digest(list(about.references)),
                "answerable": about.answerable,
                "answer": digest(about.answer),
                "passages": digest(about.passages),
                "session": about.session,
            }
        hashes["by_machine"] = by_machine if by_machine != scores else None
        questions.append(GatedQuestion(id=topic, scores=scores, **hashes))
    return Baseline(
        assay=__version__,
        protocol=result.protocol,
        run=run,
        made=datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ"),
        policy=result.policy,
        stands_on=label_basis(result),
        people={
            task: people / every
            for task, runs in result.used.by_run().items()
            for every, people in [runs.get(run, (1, 0))]
            if people
        },
        machine=alone is not None,
        settings={
            name: value
            for name, value in {**result.settings, **result.findings.grounds}.items()
            if name not in _OF_NO_SCORE
        },
        tasks={
            task.name: GatedTask(
                version=task.version,
                labeller="" if who is None else who.name,
                params="" if who is None else digest(dict(who.params)),
                prompt=digest(part.folder.renderer.source(task)),
                models=tuple(sorted(result.models.get(task.name, ()))),
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
