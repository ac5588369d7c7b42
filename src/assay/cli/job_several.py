"""A folder under several protocols: one ledger, each protocol's results, and how their
leaderboards agree."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from pathlib import Path

import numpy as np
from rich.table import Table as RichTable
from rich.text import Text

from assay.cli.common import plain_table
from assay.cli.jobs import Job as OneJob
from assay.cli.jobs import Outlook, Plans, Results, job_of
from assay.judging.progress import Progress, Tally
from assay.labellers.base import Labeller
from assay.ledger import Ledger
from assay.ledger.policy import Policy
from assay.model.secrets import without_keys
from assay.model.version import __version__
from assay.protocols.folder import Folder
from assay.protocols.manifest import MANIFEST, REPORT, read_manifest, replace_manifest
from assay.protocols.output import csv_bytes, sha256, write_bytes
from assay.protocols.parts import Part, Table, Value
from assay.protocols.results import Definition, Findings, Gap, Result
from assay.reports.general import render_report
from assay.reports.text import number
from assay.statistics.correlation import kendall_tau, spearman_rho
from assay.tasks.base import AnyTask

COLUMNS = ("first", "second", "tau", "rho", "runs")


DEFINITIONS = (
    Definition(
        "τ-b",
        "Kendall’s rank correlation of the two leaderboards’ scores over the runs that both have; "
        "1: the same order, −1: the reverse.",
        "Kendall 1945",
    ),
    Definition("ρ", "Spearman’s rank correlation over the same runs.", "Spearman 1904"),
)


@dataclass(frozen=True, slots=True)
class Agreement:
    """How two leaderboards rank the runs that both have; None where fewer than two are."""

    first: str
    second: str
    tau: float | None
    rho: float | None
    runs: int


class Job:
    """A folder whose ``protocol`` is a list (a :class:`assay.cli.jobs.Job`)."""

    def __init__(self, folder: Folder, policy: str | None) -> None:
        self.folder = replace(folder, policy=policy or None)
        self._jobs: dict[str, OneJob] = {
            name: job_of(folder.under(name), policy) for name in folder.protocols
        }
        self.policy: Policy = next(iter(self._jobs.values())).policy

    def inputs_in_words(self) -> str:
        return "; ".join(f"{name}: {job.inputs_in_words()}" for name, job in self._jobs.items())

    def tasks(self) -> Sequence[AnyTask]:
        return list({t.name: t for job in self._jobs.values() for t in job.tasks()}.values())

    def labellers(self) -> Mapping[str, Labeller]:
        return {name: one for job in self._jobs.values() for name, one in job.labellers().items()}

    def look_ahead(self, ledger: Ledger | None) -> Outlook:
        ahead = {name: job.look_ahead(ledger) for name, job in self._jobs.items()}
        plans = [
            (f"{name}: {title}", plan) for name, one in ahead.items() for title, plan in one.plans
        ]
        notes = [one.note for one in ahead.values() if one.note]
        return Outlook(plans, " ".join(notes), any(one.assumed for one in ahead.values()))

    def plans_now(self, ledger: Ledger, *, retry_failed: bool) -> Plans:
        return [
            (f"{name}: {title}", plan)
            for name, job in self._jobs.items()
            for title, plan in job.plans_now(ledger, retry_failed=retry_failed)
        ]

    def judge(
        self, ledger: Ledger, *, progress: Progress, budget: float | None, retry_failed: bool
    ) -> Tally:
        total = Tally()
        for job in self._jobs.values():
            left = None if budget is None else budget - total.spent
            total += job.judge(ledger, progress=progress, budget=left, retry_failed=retry_failed)
            if total.stopped:
                break
        return total

    def score(self, ledger: Ledger) -> Results:
        return self._joined({name: job.score(ledger) for name, job in self._jobs.items()})

    def write(self, ledger: Ledger, *, whole: bool = True) -> tuple[Results, list[Path]]:
        found: dict[str, Results] = {}
        files: list[Path] = []
        for name, job in self._jobs.items():
            found[name], written = job.write(ledger, whole=whole)
            files += written
        joined = self._joined(found)
        path = self.folder.out / "agreement.csv"
        rows = ((one.first, one.second, one.tau, one.rho, one.runs) for one in _agreements(found))
        digest = write_bytes(path, csv_bytes(COLUMNS, rows))
        document = {
            "assay": __version__,
            "protocol": list(found),
            "policy": joined.policy,
            "ledger": ledger.checked().in_manifest(),
        }
        manifest = replace_manifest(
            self.folder.out,
            {**document, "report": REPORT, "outputs": {path.name: digest, **self._outputs()}},
        )
        return joined, [*files, path, manifest]

    def _outputs(self) -> dict[str, str]:
        """What the protocols wrote, under its names here."""
        outputs: dict[str, str] = {}
        for job in self._jobs.values():
            out, part = job.folder.out, job.folder.part
            outputs |= {f"{part}/{name}": d for name, d in read_manifest(out)["outputs"].items()}
            outputs[f"{part}/{MANIFEST}"] = sha256(out / MANIFEST)
        return outputs

    def report(self, results: Results) -> str:
        """The page over all; the protocols' own reports, which it links, are written with it."""
        for name, one in results.value.items():
            job = self._jobs[name]
            write_bytes(job.folder.out / REPORT, without_keys(job.report(one)).encode())
        return render_report(_page(self.folder, results), generated_by=f"Assay {__version__}")

    def _joined(self, found: Mapping[str, Results]) -> Results:
        agreements = _agreements(found)
        return Results(
            value=found,
            policy=self.policy.name,
            labellers={t: who for one in found.values() for t, who in one.labellers.items()},
            scores=[
                replace(score, measure=f"{name}: {score.measure}")
                for name, one in found.items()
                for score in one.scores
            ],
            tables=lambda: [
                *(table for one in found.values() for table in one.tables()),
                _shown(agreements),
            ],
            missing=sum(one.missing for one in found.values()),
            missing_what="labels",
            warnings=[f"{name}: {text}" for name, one in found.items() for text in one.warnings],
            more={
                "protocols": {name: dict(one.more) for name, one in found.items()},
                "agreement": [
                    dict(zip(COLUMNS, (a.first, a.second, a.tau, a.rho, a.runs), strict=True))
                    for a in agreements
                ],
            },
        )


def _mains(result: Result) -> list[str]:
    """The measures that a protocol's leaderboards are sorted by."""
    return list(dict.fromkeys(board.measures[0] for board in result.findings.boards))


def _boards(found: Mapping[str, Results]) -> dict[str, dict[str, float]]:
    """``PROTOCOL: MEASURE`` → run → score, for every leaderboard."""
    boards: dict[str, dict[str, float]] = {}
    for name, one in found.items():
        for measure in _mains(one.value):
            boards[f"{name}: {measure}"] = {
                score.run: score.value
                for score in one.scores
                if score.measure == measure and score.value is not None
            }
    return boards


def _agreements(found: Mapping[str, Results]) -> list[Agreement]:
    """Kendall's τ-b and Spearman's ρ of every two leaderboards of different protocols."""
    rows = []
    for (first, one), (second, other) in combinations(_boards(found).items(), 2):
        if first.split(": ")[0] == second.split(": ")[0]:
            continue
        common = [run for run in one if run in other]
        tau = rho = None
        if len(common) > 1:
            x, y = np.array([(one[run], other[run]) for run in common]).T
            tau, rho = kendall_tau(x, y), spearman_rho(x, y)
        rows.append(Agreement(first, second, tau, rho, len(common)))
    return rows


def _shown(agreements: Sequence[Agreement]) -> RichTable:
    table = plain_table("How the leaderboards agree")
    for name in ("leaderboard", "and"):
        table.add_column(name, overflow="fold")
    for name in ("τ-b", "ρ", "runs"):
        table.add_column(name, justify="right")
    if alone := sum(one.runs < 2 for one in agreements):
        table.caption = Text(_alone(alone, len(agreements)))
        table.caption_justify = "left"
    for one in agreements:
        if one.runs < 2:
            continue
        table.add_row(
            Text(one.first), Text(one.second), number(one.tau), number(one.rho), str(one.runs)
        )
    return table


def _alone(count: int, of: int) -> str:
    """Why pairs of leaderboards are not compared."""
    which = "No two leaderboards have" if count == of else f"{count} of {of} pairs do not have"
    return f"{which} two runs in common: a run counts as the same where its name is the same."


def _gaps(name: str, one: Results) -> Iterator[Gap]:
    """What a protocol lacks, under its name."""
    if isinstance(one.value, Result) and one.value.findings.unlabelled is None:
        for gap in one.value.gaps:
            yield replace(gap, what=f"{name}: {gap.what}")
    elif one.missing:
        what = f"{name}: {one.missing_what} have no usable label"
        yield Gap(one.missing, what, "“assay judge” asks for the labels that are missing.")


def _labels(found: Mapping[str, Results]) -> int:
    """How many labels the scores of all protocols rest on, those that they share counted once."""
    used: set[int] = set()
    for one in found.values():
        used.update(label.rowid for label, _ in one.value.used)
    return len(used)


def _page(folder: Folder, results: Results) -> Result:
    """The page that stands over the reports of the protocols."""
    found: Mapping[str, Results] = results.value
    boards = _boards(found)
    runs = sorted({run for board in boards.values() for run in board})
    scores: list[tuple[Value, ...]] = [
        (run, *(board.get(run) for board in boards.values())) for run in runs
    ]
    agreements = _agreements(found)
    agreement: list[tuple[Value, ...]] = [
        (one.first, one.second, one.tau, one.rho, one.runs) for one in agreements if one.runs > 1
    ]
    alone = len(agreements) - len(agreement)
    where: list[tuple[Value, ...]] = [
        (name, f"{folder.under(name).part}/report.html", one.missing) for name, one in found.items()
    ]
    parts = (
        Part(
            "Leaderboards",
            "The first measure of every leaderboard. Each protocol has a report of its own.",
            (
                Table("Scores", ("run", *boards), scores),
                Table(
                    "Reports",
                    ("protocol", "report", "labels missing"),
                    where,
                    links=frozenset({"report"}),
                ),
            ),
        ),
        Part(
            "How the leaderboards agree",
            "Kendall’s τ-b and Spearman’s ρ over the runs that both leaderboards have."
            + (f" {_alone(alone, len(agreements))}" if alone else ""),
            (Table("", ("leaderboard", "and", "τ-b", "ρ", "runs"), agreement),),
        ),
    )
    return Result(
        protocol=", ".join(found),
        protocol_title=" · ".join(found),
        title=folder.config.evaluation.title or folder.path.resolve().name,
        policy=results.policy,
        findings=Findings((), {}, {}, (), DEFINITIONS, parts=parts),
        labellers={},
        task_titles={},
        settings={},
        used=(),
        asked={"": _labels(found)},
        missing={"": results.missing} if results.missing else {},
        failed={},
        gaps=tuple(gap for name, one in found.items() for gap in _gaps(name, one)),
        warnings=tuple(results.warnings),
        out=f"{folder.out_in_words}PROTOCOL/",
    )
