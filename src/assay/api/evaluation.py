"""Evaluation folders in scripts and notebooks: ``assay.open`` and ``assay.evaluate``."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from os import PathLike
from pathlib import Path
from typing import Any, TypeVar

import polars as pl

from assay.api import frames
from assay.api.arguments import (
    budget_of,
    path_of,
    path_or_none,
    paths_of,
    text_of,
    whole_of,
)
from assay.api.forecast import COLUMNS, forecast_rows, prompts
from assay.api.hosting import hosting_of
from assay.api.loops import beside_a_loop, outside_a_loop
from assay.api.notebook import as_html
from assay.api.opened import Opened
from assay.api.reading import warn
from assay.api.results import Results
from assay.api.telling import progress_of
from assay.judging.asking import INTERRUPTED
from assay.judging.batch import MOST_QUESTIONS, BatchExport, BatchImport
from assay.judging.progress import Progress, SilentProgress, Tally
from assay.labellers.custom import AnyLabeller, spec_and_labeller
from assay.ledger import Ledger
from assay.ledger.chain import Head
from assay.ledger.policy import Policy
from assay.model.errors import SettingsError
from assay.model.paths import TRUSTED_FOLDERS
from assay.model.wording import counted
from assay.protocols.folder import Folder
from assay.protocols.label_shares import UNEVEN_WARNING
from assay.protocols.manifest import read_manifest

Name = str | PathLike[str]
T = TypeVar("T")


class Evaluation:
    """An open evaluation folder, returned by :func:`open`.

    Inputs are read once, when the folder is opened. Labels are read from the ledger on every
    access, so scores are always up to date. A notebook displays the leaderboards. Methods raise the
    errors of the command line: SettingsError, FormatError, LedgerError and LabellerUnreachable, all
    subclasses of AssayError.
    """

    def __init__(
        self,
        folder: Name,
        *,
        labeller: AnyLabeller | None = None,
        policy: str | None = None,
        trust: Sequence[Name] = (),
    ) -> None:
        self._path = path_of(folder, "folder")
        self._place = self._path.absolute()  # the working directory may change later
        if policy is not None and policy != "":
            Policy.parse(policy)
        self._labeller, self._policy = labeller, policy
        self._trust = paths_of(trust, "trust")
        self._opened = self._open(labeller)
        self._found: tuple[Head | None, Results] | None = None

    def _open(self, labeller: AnyLabeller | None) -> Opened:
        with self._trusting():
            if labeller is None:
                return Opened.open(self._place, policy=self._policy)
            spec, made = spec_and_labeller(labeller)
            given = {} if made is None else {spec: made}
            return Opened.of(Folder.open(self._place, labeller=spec, given=given), self._policy)

    @property
    def folder(self) -> Path:
        """Path of the folder."""
        return self._opened.folder.path

    @property
    def protocols(self) -> tuple[str, ...]:
        """Names of the folder's protocols, usually just one."""
        return self._opened.folder.protocols

    @property
    def policy(self) -> str:
        """The policy that decides which labels count."""
        return self._opened.policy

    # -- judging -----------------------------------------------------------------------------

    def judge(
        self,
        *,
        labeller: AnyLabeller | None = None,
        budget: float | None = None,
        retry_failed: bool = False,
        shard: str | None = None,
        workers: int | None = None,
        on: str | None = None,
        progress: Progress | bool = False,
    ) -> Tally:
        """Ask labellers for all missing labels, and save each one as it arrives.

        ``labeller`` (a SPEC, a labeller, or a function ``(task, unit) -> verdict``) replaces the
        labeller of every task from now on, and its labels count. ``budget`` is in US dollars.
        ``retry_failed`` asks again if a reply was unusable. ``progress=True`` prints progress to
        standard error. ``shard="2/8"`` asks only the second of eight shares of the questions;
        steps listed in the tally's ``waiting`` need labels from the other shares. ``workers`` is
        the number of processes for embedded labellers; ``on`` (``ray`` or ``ray:ADDRESS``) runs
        labellers on a cluster. Also works in notebooks. Raises LabellerUnreachable, or
        KeyboardInterrupt if interrupted; labels received so far are kept.
        """
        return outside_a_loop(
            self._judging(labeller, budget, shard, workers, on, retry_failed=retry_failed),
            progress_of(progress),
        )

    async def judge_async(
        self,
        *,
        labeller: AnyLabeller | None = None,
        budget: float | None = None,
        retry_failed: bool = False,
        shard: str | None = None,
        workers: int | None = None,
        on: str | None = None,
        progress: Progress | bool = False,
    ) -> Tally:
        """:meth:`judge` without blocking the running event loop. If cancelled, it stops after the
        next answer, which is kept."""
        return await beside_a_loop(
            self._judging(labeller, budget, shard, workers, on, retry_failed=retry_failed),
            progress_of(progress),
        )

    def _judging(
        self,
        labeller: AnyLabeller | None,
        budget: float | None,
        shard: str | None,
        workers: int | None,
        on: str | None,
        *,
        retry_failed: bool,
        report: bool = False,
    ) -> Callable[[Progress], Tally]:
        """Return the function that judges and, with ``report``, writes scores and report."""
        budget = budget_of(budget)
        if on is not None:
            text_of(on, "on", "'ray' or 'ray:ADDRESS', or None")
        if labeller is not None:
            opened = self._open(labeller)
            with self._trusting():
                opened.labellers()  # raises before an unusable labeller replaces the current one
            self._opened, self._found, self._labeller = opened, None, labeller
        opened = self._opened.sharing(shard)

        def judging(reporter: Progress) -> Tally:
            with self._trusting(), ExitStack() as elsewhere:
                opened.labellers()  # raises if one is unusable, before a ledger is created
                hosted = opened.hosted(elsewhere.enter_context(hosting_of(on, workers)))
                with opened.ledger(scores=report) as ledger:
                    tally = hosted.judge(
                        ledger, progress=reporter, budget=budget, retry_failed=retry_failed
                    )
                    elsewhere.close()  # frees workers or cluster before scores are written
                    _finished(tally)
                    if report:
                        results, _ = self._opened.write(ledger)
                        self._found = ledger.checked(), results
                        self._opened.write_report(results, ledger=ledger)
                    return tally

        return judging

    def dry_run(self) -> pl.DataFrame:
        """Forecast what :meth:`judge` would ask, with a row for each task and labeller: the number
        of labels ``known``, ``shared`` with a row above, and ``to_ask``, with calls, tokens
        (estimated from words) and cost in US dollars (null if the price is unknown). Assumptions
        behind the figures are issued as warnings. Asks nothing and writes nothing."""
        with self._trusting():
            outlook = self._opened.look_ahead()
        for note in filter(None, (*outlook.repeats, outlook.note)):
            warn(note)
        return frames.frame(COLUMNS, (tuple(row.values()) for row in forecast_rows(outlook.plans)))

    def prompts(self, count: int = 1) -> list[dict[str, Any]]:
        """Return the first ``count`` prompts of each step exactly as they would be sent, as dicts
        with ``task``, ``labeller``, ``title`` and ``messages``."""
        most = whole_of(count, "count", "how many prompts of each step, a whole number")
        with self._trusting():
            return list(prompts(self._opened.look_ahead(anew=True).plans, most))

    def export_batch(
        self,
        path: Name,
        *,
        retry_failed: bool = False,
        shard: str | None = None,
        most: int = MOST_QUESTIONS,
    ) -> BatchExport:
        """Write the questions for endpoints to OpenAI batch files: JSON Lines, or Parquet if
        ``path`` ends in ``.parquet``. A file holds questions for one model, at most ``most``
        questions and 200 MB. Returns the files, the number of questions in them, and which
        questions cannot be batched. Raises SettingsError if the folder uses no endpoint."""
        opened = self._opened.sharing(shard)

        def exporting(reporter: Progress) -> BatchExport:
            with self._trusting(), opened.ledger(scores=False) as ledger:
                return opened.export_batch(
                    ledger,
                    path_of(path, "path"),
                    progress=reporter,
                    retry_failed=retry_failed,
                    most=most,
                )

        return outside_a_loop(exporting, SilentProgress())

    def import_batch(self, *paths: Name, retry_failed: bool = False) -> BatchImport:
        """Import the results of batch files as labels. Later steps may depend on them: export
        again until nothing is left. Raises FormatError if a file cannot be read."""
        with self._trusting(), self._opened.ledger() as ledger:
            files = [path_of(path, "path") for path in paths]
            return self._opened.import_batch(ledger, *files, retry_failed=retry_failed)

    # -- scores ------------------------------------------------------------------------------

    @property
    def scores(self) -> pl.DataFrame:
        """A row for each run and measure, as in ``scores.csv``: ``value`` (null if it depends on
        missing labels), its interval (``low``, ``high``), the number of topics and of topics with
        missing labels, and the score's ``floor`` and ``ceiling``."""
        return frames.scores(self._results())

    @property
    def per_topic(self) -> pl.DataFrame:
        """A row for each run, topic and measure, with its value, floor and ceiling."""
        return frames.per_topic(self._results())

    @property
    def missing(self) -> pl.DataFrame:
        """Tasks that lack usable labels: the number of labels ``wanted``, ``missing`` and
        ``failed``. Empty if all labels are there."""
        return frames.missing(self._results())

    @property
    def remarks(self) -> tuple[str, ...]:
        """Warnings about the scores, as sentences."""
        results = self._results()
        return (*results.warnings, *([UNEVEN_WARNING] if results.uneven else []))

    @property
    def labels(self) -> pl.DataFrame:
        """Labels the scores are based on: the labeller, the ``verdict`` (JSON) and its reason, the
        cost in US dollars, and the ``places`` (run, topic, position) where it is used."""
        with self._looking() as ledger:
            return frames.labels(self._scored(ledger), ledger)

    @property
    def units(self) -> pl.DataFrame:
        """All units to be labelled: the ``content`` (JSON) and the label that counts, with
        ``status`` ``ok``, ``failed`` or ``missing``."""
        with self._looking() as ledger:
            return frames.units(self._opened.parts, self._scored(ledger), ledger)

    @property
    def manifest(self) -> dict[str, Any]:
        """``out/manifest.json`` as last written; empty if there is none yet."""
        with self._trusting():
            return read_manifest(self._opened.folder.out)

    def _results(self) -> Results:
        with self._looking() as ledger:
            return self._scored(ledger)

    def _scored(self, ledger: Ledger | None) -> Results:
        """The results for the current ledger, cached until a label is added."""
        head = None if ledger is None else ledger.head()
        if self._found is None or self._found[0] != head:
            results = self._opened.score(ledger)
            if ledger is not None:
                head = ledger.checked()  # raises for a damaged ledger before its results are kept
            self._found = head, results
        return self._found[1]

    # -- files -------------------------------------------------------------------------------

    def write(self, labels: Name | None = None) -> list[Path]:
        """Score, write ``out/`` as ``assay score`` does, and return the files written. ``labels``
        is a folder of Parquet files to read labels from instead of the ledger. Raises LedgerError
        if there are no labels yet, SettingsError if a file cannot be read or written."""
        if labels is not None:
            exported = path_of(labels, "labels")
            with self._trusting(), self._opened.labels(exported) as ledger:
                return self._opened.write(ledger, whole=False)[1]
        with self._trusting(), self._opened.ledger(create=False, by_index=False) as own:
            results, files = self._opened.write(own, whole=False)
            self._found = own.checked(), results
        return files

    def report(self, path: Name | None = None) -> Path:
        """Write the HTML report to ``path`` (default: ``out/report.html``) and return its path.

        With several protocols, this is an overview; the reports it links to are written beside it.
        """
        target = path_or_none(path, "path")
        with self._looking() as ledger:
            results = self._opened.score(ledger, whole=True)
            if ledger is not None:
                ledger.checked()  # before anything is written
            return self._opened.write_report(results, target, ledger=ledger)

    # -- around it ---------------------------------------------------------------------------

    @contextmanager
    def _trusting(self) -> Iterator[None]:
        """Allow input files in the caller's ``trust`` folders, like ``assay --trust``."""
        before = TRUSTED_FOLDERS.set((*TRUSTED_FOLDERS.get(), *self._trust))
        try:
            yield
        finally:
            TRUSTED_FOLDERS.reset(before)

    @contextmanager
    def _looking(self) -> Iterator[Ledger | None]:
        """Open the ledger, if there is one. Raises SettingsError if the folder is gone."""
        if not self.folder.is_dir():
            raise SettingsError(
                f"{self.folder} no longer exists. Open the folder at its new place."
            )
        with self._trusting(), self._opened.ledger_if_any() as ledger:
            yield ledger

    def __reduce__(self) -> tuple[Any, ...]:
        """Copy or pickle by reopening the folder, as an open ledger cannot be copied."""
        return _reopened, (self._place, self._labeller, self._policy, self._trust)

    def __repr__(self) -> str:
        return f"<assay.Evaluation {str(self._path)!r}: {self._opened.inputs_in_words()}>"

    def _repr_html_(self) -> str:
        return as_html(self._results())


def _reopened(
    folder: Path, labeller: AnyLabeller | None, policy: str | None, trust: Sequence[Path]
) -> Evaluation:
    return Evaluation(folder, labeller=labeller, policy=policy, trust=trust)


def open(  # noqa: A001 (it is called as assay.open)
    folder: Name,
    *,
    labeller: AnyLabeller | None = None,
    policy: str | None = None,
    trust: Sequence[Name] = (),
) -> Evaluation:
    """Open an evaluation folder (or its ``assay.toml``) and read all its inputs.

    ``labeller`` (a SPEC, a labeller or a function) replaces all labellers of ``assay.toml``, like
    ``--labeller``. ``policy`` decides which labels count. ``trust`` lists folders outside this one
    that may hold its files, like ``assay --trust``. These arguments are trusted as the command line
    is: a host named only in a file gets no API key, and a module named only there is not loaded.
    Raises SettingsError, or FormatError with all faults of all inputs.
    """
    return Evaluation(folder, labeller=labeller, policy=policy, trust=trust)


def evaluate(
    folder: Name,
    *,
    labeller: AnyLabeller | None = None,
    policy: str | None = None,
    budget: float | None = None,
    retry_failed: bool = False,
    shard: str | None = None,
    workers: int | None = None,
    on: str | None = None,
    trust: Sequence[Name] = (),
    progress: Progress | bool = False,
) -> Evaluation:
    """Open a folder, ask for missing labels, score, and write ``out/`` with the report, as ``assay
    evaluate`` does. For arguments and errors, see :func:`open` and :meth:`Evaluation.judge`."""
    found = Evaluation(folder, labeller=labeller, policy=policy, trust=trust)
    outside_a_loop(
        found._judging(None, budget, shard, workers, on, retry_failed=retry_failed, report=True),
        progress_of(progress),
    )
    return found


def _finished(tally: Tally) -> None:
    """Warn of questions without an answer. Raises KeyboardInterrupt if judging was interrupted."""
    if tally.stopped == INTERRUPTED:
        raise KeyboardInterrupt
    if tally.unanswered:
        asked = counted(tally.unanswered, "question")
        warn(f"The labeller gave no answer (None) to {asked}.")
