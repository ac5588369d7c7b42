"""An evaluation folder in scripts and notebooks: ``assay.open`` and ``assay.evaluate``."""

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
    """An evaluation folder, opened: made by :func:`open`.

    Inputs are read once, when the folder is opened; labels are looked at whenever something is
    asked, so that scores are always those of the ledger as it is. A notebook shows the
    leaderboards. What goes wrong is raised as the command line says it: SettingsError,
    FormatError, LedgerError, LabellerUnreachable (all of them AssayError).
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
        self._place = self._path.absolute()  # the caller may go elsewhere
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
        """The folder."""
        return self._opened.folder.path

    @property
    def protocols(self) -> tuple[str, ...]:
        """The protocols that it is evaluated under, usually one."""
        return self._opened.folder.protocols

    @property
    def policy(self) -> str:
        """Which labels count."""
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
        """Ask labellers for every label that is missing, and keep each as it comes; what the
        ledger holds is not asked again.

        ``labeller`` (a SPEC, a labeller, or a function ``(task, unit) -> verdict``) is asked for
        all tasks, from now on, and its labels count. ``budget`` is in US dollars, ``retry_failed``
        asks again where a reply was unusable, ``progress=True`` writes lines to standard error.
        ``shard`` (``2/8``) asks only that share of the questions; the tally's ``waiting`` steps
        wait for labels of the others. Embedded labellers answer in ``workers`` processes; ``on``
        (``ray`` or ``ray:ADDRESS``) has labellers answer on a cluster.
        Works in a notebook, too. Raises LabellerUnreachable, and KeyboardInterrupt where a person
        stops it, with what was answered kept.
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
        """:meth:`judge` beside whatever else the running event loop does. Cancelled, it ends with
        the answer under way, which is kept."""
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
        """What judges, and with ``report`` writes what comes of it."""
        budget = budget_of(budget)
        if on is not None:
            text_of(on, "on", "'ray' or 'ray:ADDRESS', or None")
        if labeller is not None:
            opened = self._open(labeller)
            with self._trusting():
                opened.labellers()  # one that is refused does not stay
            self._opened, self._found, self._labeller = opened, None, labeller
        opened = self._opened.sharing(shard)

        def judging(told: Progress) -> Tally:
            with self._trusting(), ExitStack() as elsewhere:
                opened.labellers()  # what is wrong with one is said before a ledger is made
                hosted = opened.hosted(elsewhere.enter_context(hosting_of(on, workers)))
                with opened.ledger(scores=report) as ledger:
                    tally = hosted.judge(
                        ledger, progress=told, budget=budget, retry_failed=retry_failed
                    )
                    elsewhere.close()  # nobody is asked any more
                    _finished(tally)
                    if report:
                        results, _ = self._opened.write(ledger)
                        self._found = ledger.checked(), results
                        self._opened.write_report(results, ledger=ledger)
                    return tally

        return judging

    def dry_run(self) -> pl.DataFrame:
        """What :meth:`judge` would ask now, as a frame: the labels that are ``known``, ``shared``
        with a row above or ``to_ask``, with calls, tokens (estimated from words) and US dollars
        (null where the price is unknown) by task and labeller. What the figures assume is a
        warning. Asks nobody and writes nothing."""
        with self._trusting():
            outlook = self._opened.look_ahead()
        for note in filter(None, (*outlook.repeats, outlook.note)):
            warn(note)
        return frames.frame(COLUMNS, (tuple(row.values()) for row in forecast_rows(outlook.plans)))

    def prompts(self, count: int = 1) -> list[dict[str, Any]]:
        """The first ``count`` prompts of each step, as they would be sent: task, labeller, title
        and messages."""
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
        """Write what endpoints would be asked now as OpenAI batch files (JSON lines, or Parquet
        where ``path`` ends so), of ``most`` questions and 200 MB at most, one model's each; say
        which files, how many questions they hold and which cannot go into one. Raises SettingsError
        where no endpoint is asked."""
        opened = self._opened.sharing(shard)

        def exporting(told: Progress) -> BatchExport:
            with self._trusting(), opened.ledger(scores=False) as ledger:
                return opened.export_batch(
                    ledger,
                    path_of(path, "path"),
                    progress=told,
                    retry_failed=retry_failed,
                    most=most,
                )

        return outside_a_loop(exporting, SilentProgress())

    def import_batch(self, *paths: Name, retry_failed: bool = False) -> BatchImport:
        """Take the results of batch files as labels; export again for what they leave open, until
        nothing is. Raises FormatError for a file that cannot be read."""
        with self._trusting(), self._opened.ledger() as ledger:
            files = [path_of(path, "path") for path in paths]
            return self._opened.import_batch(ledger, *files, retry_failed=retry_failed)

    # -- scores ------------------------------------------------------------------------------

    @property
    def scores(self) -> pl.DataFrame:
        """A row for each run and measure, as in ``scores.csv``: ``value`` (null where it hangs on
        labels that are missing), the interval from ``low`` to ``high``, the number of topics and
        of those with missing labels, ``floor`` and ``ceiling``."""
        return frames.scores(self._results())

    @property
    def per_topic(self) -> pl.DataFrame:
        """A row for each run, topic and measure, with value, floor and ceiling."""
        return frames.per_topic(self._results())

    @property
    def missing(self) -> pl.DataFrame:
        """The tasks that usable labels are missing of: how many were ``wanted``, how many are
        ``missing`` and how many ``failed``. Empty where nothing is missing."""
        return frames.missing(self._results())

    @property
    def remarks(self) -> tuple[str, ...]:
        """What people should know of the scores, in sentences."""
        results = self._results()
        return (*results.warnings, *([UNEVEN_WARNING] if results.uneven else []))

    @property
    def labels(self) -> pl.DataFrame:
        """The labels that the scores rest on: who gave which ``verdict`` (JSON) and why, what it
        cost (US dollars), and the ``places`` (run, topic, position) that it is used at."""
        with self._looking() as ledger:
            return frames.labels(self._scored(ledger), ledger)

    @property
    def units(self) -> pl.DataFrame:
        """Everything that labellers are asked about: its ``content`` (JSON) and the label that
        counts, ``status`` being ``ok``, ``failed`` or ``missing``."""
        with self._looking() as ledger:
            return frames.units(self._opened.parts, self._scored(ledger), ledger)

    @property
    def manifest(self) -> dict[str, Any]:
        """``out/manifest.json`` as it was written last; empty where nothing was written yet."""
        with self._trusting():
            return read_manifest(self._opened.folder.out)

    def _results(self) -> Results:
        with self._looking() as ledger:
            return self._scored(ledger)

    def _scored(self, ledger: Ledger | None) -> Results:
        """The results for the ledger as it is, which are computed once."""
        head = None if ledger is None else ledger.head()
        if self._found is None or self._found[0] != head:
            results = self._opened.score(ledger)
            if ledger is not None:
                head = ledger.checked()  # before anything rests on a label
            self._found = head, results
        return self._found[1]

    # -- files -------------------------------------------------------------------------------

    def write(self, labels: Name | None = None) -> list[Path]:
        """Score and write ``out/`` as ``assay score`` does; returns the files. ``labels`` is a
        folder of Parquet files that hold them, in place of the ledger. Raises LedgerError where
        there are no labels yet, SettingsError where a file cannot be read or written."""
        if labels is not None:
            exported = path_of(labels, "labels")
            with self._trusting(), self._opened.labels(exported) as ledger:
                return self._opened.write(ledger, whole=False)[1]
        with self._trusting(), self._opened.ledger(create=False, by_index=False) as own:
            results, files = self._opened.write(own, whole=False)
            self._found = own.checked(), results
        return files

    def report(self, path: Name | None = None) -> Path:
        """Write the HTML report of the labels there are, to ``path`` or ``out/report.html``, and
        return where it is. Of several protocols it is the page over all, and the reports that it
        links are written beside it."""
        target = path_or_none(path, "path")
        with self._looking() as ledger:
            results = self._opened.score(ledger, whole=True)
            if ledger is not None:
                ledger.checked()  # before anything is written
            return self._opened.write_report(results, target, ledger=ledger)

    # -- around it ---------------------------------------------------------------------------

    @contextmanager
    def _trusting(self) -> Iterator[None]:
        """The places that the caller trusts hold as those of ``assay --trust`` do."""
        before = TRUSTED_FOLDERS.set((*TRUSTED_FOLDERS.get(), *self._trust))
        try:
            yield
        finally:
            TRUSTED_FOLDERS.reset(before)

    @contextmanager
    def _looking(self) -> Iterator[Ledger | None]:
        """The ledger, if there is one yet. Raises SettingsError where the folder is gone."""
        if not self.folder.is_dir():
            raise SettingsError(
                f"{self.folder} no longer exists. Open the folder at its new place."
            )
        with self._trusting(), self._opened.ledger_if_any() as ledger:
            yield ledger

    def __reduce__(self) -> tuple[Any, ...]:
        """Copies, and what goes to another process, open the folder anew."""
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
    """Open an evaluation folder (or its ``assay.toml``) with everything that it names.

    ``labeller`` stands for all labellers of ``assay.toml``, as ``--labeller`` does, and may be a
    labeller or a function, too; ``policy`` says which labels count; ``trust`` are folders outside
    of this one that its files may lie in, as ``assay --trust`` has them. What the caller gives
    counts as named by the person who runs Assay: a file's word alone gets no key and no module.
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
    """Open a folder, judge what is missing, score, and write ``out/`` with its report, as ``assay
    evaluate`` does. The arguments are those of :func:`open` and :meth:`Evaluation.judge`, which
    also say what is raised."""
    found = Evaluation(folder, labeller=labeller, policy=policy, trust=trust)
    outside_a_loop(
        found._judging(None, budget, shard, workers, on, retry_failed=retry_failed, report=True),
        progress_of(progress),
    )
    return found


def _finished(tally: Tally) -> None:
    """Warn of what the labeller has no answer to. Raises KeyboardInterrupt where a person stopped
    it."""
    if tally.stopped == INTERRUPTED:
        raise KeyboardInterrupt
    if tally.unanswered:
        asked = counted(tally.unanswered, "question")
        warn(f"The labeller gave no answer (None) to {asked}.")
