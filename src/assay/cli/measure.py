"""``assay measure``: ranking measures of runs, as a table, CSV, JSON or trec_eval's lines."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, cast

import typer

from assay.api.run_files import score_files
from assay.cli.common import (
    CsvOption,
    JsonOption,
    err,
    out,
    print_csv,
    print_json,
    topics_file,
)
from assay.cli.measure_table import measure_tables
from assay.cli.measure_trec import OFFICIAL, trec_lines
from assay.measures.base import Measure
from assay.measures.frames import IDEALS, Ideal, RunScores
from assay.measures.judgements import Judgements
from assay.measures.names import parse_measure
from assay.measures.order import TIES, Ties
from assay.measures.tables import TOPICS, Row, Topics, rows
from assay.model.errors import SettingsError
from assay.model.wording import listed, printable

DEFAULTS = ("nDCG@20", "AP", "RR")
HEADER = ("run", "topic", "measure", "value")
_SEVERAL_CUTOFFS = re.compile(r"(?P<stem>[A-Za-z_]+)\.(?P<cutoffs>[0-9]+(?:,[0-9]+)*)")
_TREC_EVAL_CUTOFFS = dict.fromkeys(
    ("P", "recall", "ndcg_cut", "map_cut"), (5, 10, 15, 20, 30, 100, 200, 500, 1000)
) | {"success": (1, 5, 10)}


@dataclass(frozen=True, slots=True)
class _Settings:
    """What the scores stand on."""

    topics: Topics
    ties: Ties
    ideal: Ideal
    only: Path | None = None
    """A file of the topics that means are taken over."""

    @classmethod
    def checked(cls, topics: str, ties: str, ideal: str) -> _Settings:
        only = topics_file(topics)
        topics = TOPICS[0] if only else topics
        for option, given, known in (
            ("--ties", ties, TIES),
            ("--ideal", ideal, IDEALS),
        ):
            if given not in known:
                choices = " or ".join(f"'{one}'" for one in known)
                raise typer.BadParameter(f"must be {choices}", param_hint=option)
        return cls(cast("Topics", topics), cast("Ties", ties), cast("Ideal", ideal), only)


@dataclass(frozen=True, slots=True)
class _Scored:
    """The scores of all runs, by the names that are shown."""

    runs: Mapping[str, RunScores]
    measures: Mapping[str, Measure]
    judged: Judgements
    settings: _Settings

    def rows(self, *, per_topic: bool) -> Iterator[Row]:
        return rows(self.runs, self.measures, self.settings.topics, per_topic=per_topic)


def measure_command(
    qrels: Annotated[Path, typer.Argument(metavar="QRELS", help="Relevance grades, TREC qrels.")],
    runs: Annotated[
        list[Path], typer.Argument(metavar="RUN...", help="TREC run files, or R2C2 PR runs.")
    ],
    measures: Annotated[
        list[str] | None,
        typer.Option(
            "-m",
            "--measure",
            metavar="NAME",
            help="A measure, e.g. nDCG@20, 'Q(beta=1)@20', AP, or trec_eval's ndcg_cut_20, map; "
            f"may be given again. Without any: {', '.join(DEFAULTS)}.",
        ),
    ] = None,
    per_topic: Annotated[
        bool, typer.Option("--per-topic", "-q", help="Single topics too, not only the mean.")
    ] = False,
    topics: Annotated[
        str,
        typer.Option(
            "--topics",
            metavar="qrels|answered|FILE",
            help="What the mean is taken over: 'qrels' for all topics of the qrels, 0 where the "
            "run is silent (trec_eval -c); 'answered' for those that the run has; a file with one "
            "topic id a line for these, 0 where the run is silent or nothing is judged.",
        ),
    ] = "qrels",
    ties: Annotated[
        str,
        typer.Option(
            "--ties",
            help="Equal scores: 'trec' compares 32-bit scores, then document ids, last first; "
            "'trec64' does so with 64-bit scores; 'file' compares those, then keeps the file's "
            "order.",
        ),
    ] = "trec",
    g_max: Annotated[
        float | None,
        typer.Option("--g-max", metavar="G", help="Highest grade of the scale [the qrels' own]."),
    ] = None,
    ideal: Annotated[
        str,
        typer.Option(
            "--ideal",
            help="What ideal lists, and the number of relevant documents, are taken from: 'qrels' "
            "for all that was judged, 'run' for what the run itself shows.",
        ),
    ] = "qrels",
    as_json: JsonOption = False,
    as_csv: CsvOption = False,
    as_trec: Annotated[
        bool, typer.Option("--trec", help="Print lines as trec_eval does: measure, topic, value.")
    ] = False,
) -> None:
    """Measure runs against relevance grades: nDCG, Q, AP, ERR, iRBU, RBP, P, RR and more.

    Files may be compressed with gzip or bzip2; columns are separated by tabs or spaces. For
    alpha-nDCG the second column of the qrels is the subtopic. R2C2 PR runs are measured against
    qrels of passage keys (RUN;RANK), in the order of their ranks.
    """
    settings = _Settings.checked(topics, ties, ideal)
    if as_json + as_csv + as_trec > 1:
        raise typer.BadParameter("choose one of --json, --csv and --trec")
    wanted = _measures(measures or (OFFICIAL if as_trec else DEFAULTS))
    try:
        scores, judged = score_files(
            qrels,
            runs,
            wanted.values(),
            only=settings.only,
            ties=settings.ties,
            ideal=settings.ideal,
            g_max=g_max,
            note=_note,
        )
    except ValueError as error:
        raise SettingsError(str(error)) from None
    scored = _Scored(scores, wanted, judged, settings)
    _notes(scored)
    if as_json:
        _print_json(scored, per_topic=per_topic)
    elif as_csv:
        print_csv(HEADER, (row[:4] for row in scored.rows(per_topic=per_topic)))
    elif as_trec:
        lines = trec_lines(
            scored.runs,
            scored.measures,
            scored.judged,
            settings.topics,
            per_topic=per_topic,
            counts=not measures,
        )
        sys.stdout.writelines(f"{line}\n" for line in lines)
    else:
        _print_table(scored, per_topic=per_topic)


def _measures(names: Sequence[str]) -> dict[str, Measure]:
    """Measures by the names that they were asked for by; all names that are none at once."""
    wanted: dict[str, Measure] = {}
    wrong: list[str] = []
    for given in names:
        for name in _spelt_out(given.strip()):
            try:
                wanted[name] = parse_measure(name)
            except ValueError as error:
                wrong.append(str(error))
    if wrong:
        raise typer.BadParameter("\n".join(wrong), param_hint="-m")
    return wanted


def _spelt_out(name: str) -> list[str]:
    """``P.5,10`` of trec_eval's command line is printed as ``P_5`` and ``P_10``, ``P`` as nine."""
    match = _SEVERAL_CUTOFFS.fullmatch(name)
    if match is not None:
        return [f"{match['stem']}_{cutoff}" for cutoff in match["cutoffs"].split(",")]
    if name in _TREC_EVAL_CUTOFFS:
        return [f"{name}_{cutoff}" for cutoff in _TREC_EVAL_CUTOFFS[name]]
    return [name]


# --- what is shown -------------------------------------------------------------------------------


def _note(text: str) -> None:
    err().print(f"Note: {text}", markup=False, soft_wrap=True)


def _notes(scored: _Scored) -> None:
    """Say what the means stand on where it is not what one would expect."""
    judged = scored.judged
    total = len(judged.topics)
    of = "the qrels" if scored.settings.only is None else printable(str(scored.settings.only))
    if judged.without_relevant:
        count = len(judged.without_relevant)
        _note(
            f"{count} of {total} topics of {of} have no relevant document (grade 1 or more); "
            f"no run can score there: {listed(judged.without_relevant, 10)}."
        )
    qrels = scored.settings.topics == "qrels"
    counted = "they count as 0" if qrels else "they are left out of the mean"
    for run, scores in scored.runs.items():
        if scores.missing:
            _note(
                f"Run {run} has no documents for {len(scores.missing)} of {total} topics of {of}, "
                f"{counted}: {listed(scores.missing, 10)}."
            )
        if scores.unjudged:
            _note(
                f"{of[0].upper()}{of[1:]} lack{'' if of == 'the qrels' else 's'} "
                f"{len(scores.unjudged)} of the topics of run {run}, they are not scored: "
                f"{listed(scores.unjudged, 10)}."
            )


def _print_json(scored: _Scored, *, per_topic: bool) -> None:
    settings, judged = scored.settings, scored.judged
    print_json(
        {
            "scores": [
                dict(zip(HEADER, row, strict=False)) | ({"reason": row[4]} if row[4] else {})
                for row in scored.rows(per_topic=per_topic)
            ],
            "runs": {
                run: {
                    "answered": len(scores.topics) - len(scores.missing),
                    "missing": scores.missing,
                    "unjudged": scores.unjudged,
                }
                for run, scores in scored.runs.items()
            },
            "measures": {name: str(measure) for name, measure in scored.measures.items()},
            "topics": str(settings.only or settings.topics),
            "ties": settings.ties,
            "ideal": settings.ideal,
            "g_max": judged.g_max,
            "without_relevant": judged.without_relevant,
        }
    )


def _print_table(scored: _Scored, *, per_topic: bool) -> None:
    for table in measure_tables(
        scored.runs, scored.measures, scored.settings.topics, per_topic=per_topic, width=out().width
    ):
        out().print(table)
    settings, judged = scored.settings, scored.judged
    of = "the qrels" if settings.only is None else printable(str(settings.only))
    over = f"all topics of {of}" if settings.topics == "qrels" else "the topics answered"
    ideals = "" if settings.ideal == "qrels" else " Ideal lists: what each run shows."
    out().print(
        f"Means over {over} ({len(judged.topics)} in {of}). Equal scores: {settings.ties}. "
        f"Highest grade: {judged.g_max:g}.{ideals}",
        markup=False,
    )
