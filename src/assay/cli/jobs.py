"""What the commands of an evaluation folder need of its protocol, or protocols."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path
from typing import Any, Protocol

from rich.console import RenderableType

from assay.cli.common import FetchLines
from assay.judging.engine import Plan
from assay.judging.progress import Progress, Tally
from assay.labellers.base import Labeller
from assay.ledger import Ledger
from assay.ledger.policy import Policy
from assay.protocols.folder import Folder
from assay.protocols.scores import Score
from assay.tasks.base import AnyTask

Plans = list[tuple[str, Plan]]

GENERAL = "assay.cli.job_general"
SEVERAL = "assay.cli.job_several"


@dataclass(frozen=True)
class Outlook:
    """What judging would ask now (title, plan); ``note`` says what the figures assume, and
    ``assumed`` whether they assume anything."""

    plans: Sequence[tuple[str, Plan]]
    note: str = ""
    assumed: bool = False


@dataclass(frozen=True)
class Results:
    """What scoring found, for the terminal and for scripts.

    ``tables`` makes the leaderboards, which files and scripts do not need.
    ``missing`` counts what has no usable label, ``missing_what`` names it; ``more`` is what the
    JSON document says beside the common entries; ``value`` is the protocol's own result.
    """

    value: Any
    policy: str
    labellers: Mapping[str, str | None]
    scores: Sequence[Score]
    tables: Callable[[], Sequence[RenderableType]]
    missing: int
    missing_what: str
    warnings: Sequence[str] = ()
    more: Mapping[str, Any] = field(default_factory=dict)


class Job(Protocol):
    """A folder, opened and read. Whatever the protocol, the commands do the same with it."""

    folder: Folder
    policy: Policy

    def inputs_in_words(self) -> str:
        """What was read: ``14 questions, 3 PR runs, 4 AC runs``."""

    def tasks(self) -> Sequence[AnyTask]:
        """The labelling tasks that the folder's settings ask for."""

    def labellers(self) -> Mapping[str, Labeller]:
        """The labeller of each task, by the task's name."""

    def look_ahead(self, ledger: Ledger | None) -> Outlook:
        """What ``judge`` would ask. Calls nothing; None is a ledger that is not there yet."""

    def plans_now(self, ledger: Ledger, *, retry_failed: bool) -> Plans:
        """All that can be asked before any further label is known (for batch files)."""

    def judge(
        self, ledger: Ledger, *, progress: Progress, budget: float | None, retry_failed: bool
    ) -> Tally:
        """Fill the ledger with what is missing."""

    def score(self, ledger: Ledger) -> Results:
        """Compute every score from the ledger."""

    def write(self, ledger: Ledger, *, whole: bool = True) -> tuple[Results, list[Path]]:
        """Score, and write ``out/`` but for the report; returns the files. Without ``whole`` the
        results may lack what only a report shows."""

    def report(self, results: Results) -> str:
        """The report as HTML."""


def open_job(path: Path, labeller: str | None = None, policy: str | None = None) -> Job:
    """Open an evaluation folder with everything in it. Raises SettingsError or FormatError."""
    return job_of(Folder.open(path, labeller=labeller, fetching=FetchLines()), policy)


def job_of(folder: Folder, policy: str | None) -> Job:
    """The job of an opened folder, whatever its protocols are."""
    several = len(folder.protocols) > 1
    module = import_module(SEVERAL if several else GENERAL)
    job: Job = module.Job(folder, policy)
    return job
