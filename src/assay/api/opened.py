"""An open evaluation folder: judging, scoring, and writing the results.

The commands and :class:`assay.api.evaluation.Evaluation` both use it, for one protocol or several.
Methods take the ledger as an argument, so that one can be used for several steps.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass, field, replace
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from assay.api.batches import write_batches
from assay.api.overview import overview
from assay.api.results import AGREEMENT_COLUMNS, Results, prefix_of
from assay.judging.batch import (
    MOST_QUESTIONS,
    BatchExport,
    BatchImport,
    import_batch,
    split_into_files,
    unexportable,
)
from assay.judging.engine import TitledPlans, judge
from assay.judging.progress import Progress, Tally
from assay.judging.shards import Shard
from assay.labellers.base import Labeller, Request
from assay.labellers.hosted import Hosting
from assay.labellers.models import DownloadProgress
from assay.labellers.prices import require_prices
from assay.ledger import Ledger
from assay.ledger.chain import Head
from assay.ledger.policy import POLICY_HELP as POLICY_HELP
from assay.ledger.policy import shared_policy
from assay.model.errors import AssayError, SettingsError
from assay.model.paths import file_sha256, path_inside
from assay.model.progress import ProgressCallback, no_progress
from assay.model.secrets import redact_keys
from assay.model.version import __version__
from assay.page.files import folder_of, remove_pages
from assay.page.page import Page
from assay.protocols.evaluation import Evaluation, Forecast
from assay.protocols.folder import Folder
from assay.protocols.manifest import MANIFEST, REPORT, heads, read_manifest, replace_manifest
from assay.protocols.output import csv_bytes, write_bytes
from assay.protocols.pages import page_of
from assay.protocols.registry import find_protocol
from assay.protocols.results import Result
from assay.reports.general import render_folder, render_report
from assay.tasks.base import AnyTask

if TYPE_CHECKING:
    from assay.api.correcting import Trusted
    from assay.ledger.parquet import AnyLedger

AGREEMENT = "agreement.csv"


@dataclass(frozen=True)
class Opened:
    """A folder with all its inputs read and checked, for each of its protocols. ``progress``
    reports the checking of a large ledger and the writing of a large report."""

    folder: Folder
    parts: Mapping[str, Evaluation]
    progress: ProgressCallback = no_progress
    _corrected: dict[Head, Trusted | SettingsError] = field(default_factory=dict, init=False)

    @classmethod
    def open(
        cls,
        path: Path,
        *,
        labeller: str | None = None,
        policy: str | None = None,
        fetching: DownloadProgress | None = None,
    ) -> Self:
        """Open the folder at ``path``. ``labeller`` (a SPEC) and ``policy`` replace the folder's
        own. Raises SettingsError, or FormatError with all faults of the inputs."""
        return cls.of(Folder.open(path, labeller=labeller, fetching=fetching), policy)

    @classmethod
    def of(cls, folder: Folder, policy: str | None = None) -> Self:
        """Open a folder whose ``assay.toml`` has already been read."""
        parts = {
            name: Evaluation.open(folder.for_protocol(name), find_protocol(name), policy)
            for name in folder.protocols
        }
        return cls(replace(folder, policy=policy or None), parts)

    def quick(self) -> Self:
        """A copy that computes no intervals of scores, which take longest."""
        return replace(self, parts={name: one.quick() for name, one in self.parts.items()})

    def sharing(self, shard: str | None) -> Self:
        """A copy that asks only the questions of a shard (``2/8``: the second of eight), or all if
        None. Raises SettingsError if ``shard`` is invalid."""
        if shard is None:
            return self
        part = Shard.parse(shard)
        parts = {name: replace(one, shard=part) for name, one in self.parts.items()}
        return replace(self, parts=parts)

    def hosted(self, hosting: Hosting | None) -> Self:
        """A copy whose labellers run elsewhere. Raises SettingsError if none of them can."""
        if hosting is None:
            return self
        parts = {
            name: replace(one, folder=replace(one.folder, hosting=hosting))
            for name, one in self.parts.items()
        }
        made = replace(self, parts=parts)
        made.labellers()
        if not hosting.used:
            raise SettingsError(
                f"{hosting.option} is for labellers of the kinds "
                f"{', '.join(sorted(hosting.kinds))}, and no task has one. Leave it out."
            )
        return made

    @property
    def several(self) -> bool:
        """Whether the folder has more than one protocol."""
        return len(self.parts) > 1

    @property
    def policy(self) -> str:
        """The policy that decides which labels count."""
        return shared_policy(one.policy.name for one in self.parts.values())

    def inputs_in_words(self) -> str:
        """A summary of the inputs: ``14 questions, 3 PR runs, 4 AC runs``."""
        return "; ".join(
            prefix_of(name, self.parts) + one.protocol.inputs_in_words(one.inputs)
            for name, one in self.parts.items()
        )

    def tasks(self) -> Sequence[AnyTask]:
        """The labelling tasks that the inputs require."""
        return list(
            {s.task.name: s.task for one in self.parts.values() for s in one.steps}.values()
        )

    def people_requests(self, ledger: Ledger) -> Iterator[Request]:
        """Yield requests for what people can label now, each unit once."""
        seen: set[str] = set()
        for part in self.parts.values():
            book = part.book(ledger)
            asked = (request for step in part.steps for request in step.people_requests(book))
            by_hand = part.protocol.by_people(part.inputs, part.settings, book)
            for request in chain(asked, by_hand):
                if request.unit_hash not in seen:
                    seen.add(request.unit_hash)
                    yield request

    def labellers(self) -> Mapping[str, Labeller]:
        """The labeller of each task, by the task's name. Raises SettingsError or
        PrerequisiteError if one cannot be created."""
        return {name: who for one in self.parts.values() for name, who in one.labellers().items()}

    @contextmanager
    def ledger(
        self, *, create: bool = True, by_index: bool = True, scores: bool = True
    ) -> Iterator[Ledger]:
        """Open the folder's ledger. Every label is checked before it counts:
        :meth:`assay.ledger.Ledger.checked` requires every head named in ``out/``. Even without
        ``create``, a missing ledger is created if no label has to be asked for. Without
        ``by_index`` labels are not looked up.

        Without ``scores``, the heads in ``out/`` are ignored for a shard's own ledger, as ``out/``
        may come from the merged ledger of all shards."""
        create = create or not (self.folder.has_ledger() or self._asks())
        apart = self.folder.ledger_is_named and any(one.shard for one in self.parts.values())
        of_out = scores or not apart
        with self.folder.open_ledger(create=create) as ledger:
            named = {str(path): head for path, head in heads(self.folder.out) if of_out}
            ledger.expect(named, by_index=by_index)
            ledger.progress = self.progress
            yield ledger

    def _asks(self) -> bool:
        """Whether any label has to be asked for."""
        try:
            return any(plan.todo for _, plan in self.look_ahead(anew=True).plans)
        except AssayError:  # a labeller that cannot be created would be asked something
            return True

    @contextmanager
    def labels(self, exported: Path | None) -> Iterator[AnyLedger]:
        """Open the labels to score: the folder's ledger, or an export."""
        if exported is None:
            with self.ledger(create=False, by_index=False) as ledger:
                yield ledger
        else:
            from assay.ledger.parquet import ParquetLedger  # noqa: PLC0415 (polars takes long)

            yield ParquetLedger(exported, self.progress)

    def ledger_if_any(self, *, scores: bool = True) -> AbstractContextManager[Ledger | None]:
        """Open the folder's ledger, or None if there is none yet."""
        exists = self.folder.has_ledger()
        return self.ledger(create=False, scores=scores) if exists else nullcontext()

    # -- judging -----------------------------------------------------------------------------

    def look_ahead(self, *, anew: bool = False) -> Forecast:
        """Forecast what judging would ask, given the current ledger, if any; with ``anew``, as if
        nothing were known. Asks nothing and writes nothing."""
        known: AbstractContextManager[Ledger | None]
        known = nullcontext() if anew else self.ledger_if_any(scores=False)
        with known as ledger:
            if ledger is not None:
                ledger.checked()
            forecasts = {name: one.look_ahead(ledger) for name, one in self.parts.items()}
        plans = (
            (prefix_of(name, self.parts) + title, plan)
            for name, one in forecasts.items()
            for title, plan in one.plans
        )
        notes = " ".join(one.note for one in forecasts.values() if one.note)
        repeats = (line for one in forecasts.values() for line in one.repeats)
        return Forecast(tuple(plans), notes, tuple(dict.fromkeys(repeats)))

    def plans_now(self, ledger: Ledger, *, retry_failed: bool) -> TitledPlans:
        """Plans for all questions that depend on no missing label (for batch files)."""
        return [
            (prefix_of(name, self.parts) + title, plan)
            for name, one in self.parts.items()
            for title, plan in one.plans_now(ledger, retry_failed=retry_failed)
        ]

    def judge(
        self,
        ledger: Ledger,
        *,
        progress: Progress,
        budget: float | None = None,
        retry_failed: bool = False,
    ) -> Tally:
        """Ask for missing labels within ``budget`` US dollars (default: that of ``[judging]``).
        Raises LabellerUnreachable or SettingsError; labels received so far are kept. An
        interruption by Ctrl-C is only recorded in the tally."""
        limit = budget if budget is not None else self.folder.config.judging.budget
        if limit is not None:
            require_prices(self.labellers().values())
        ledger.checked()  # before anything is asked that rests on a label
        total = Tally()
        for one in self.parts.values():
            left = None if limit is None else limit - total.spent
            total += one.judge(ledger, progress=progress, budget=left, retry_failed=retry_failed)
            if total.stopped:
                break
        return total

    def export_batch(
        self,
        ledger: Ledger,
        path: Path,
        *,
        progress: Progress,
        retry_failed: bool = False,
        most: int = MOST_QUESTIONS,
    ) -> BatchExport:
        """Write what can be asked now to OpenAI batch files: JSON Lines, or Parquet if the name
        says so. Beyond the limits of one file (``most`` questions, 200 MB, one model), further
        files are called ``NAME-2`` and so on. Labellers that are rules answer at once. Raises
        SettingsError if no endpoint is asked."""
        self._require_no_input(path)
        ledger.checked()  # before anything is asked or made that rests on a label
        now = self.plans_now(ledger, retry_failed=retry_failed)
        judge([one for one in now if one[1].labeller.id.kind == "rules"], ledger, progress=progress)
        plans = self.plans_now(ledger, retry_failed=retry_failed)
        left_out = unexportable(plans)
        return BatchExport(*write_batches(path, split_into_files(plans, most=most)), left_out)

    def import_batch(self, ledger: Ledger, *paths: Path, retry_failed: bool = False) -> BatchImport:
        """Import the results of batch files. Raises the errors of
        :func:`assay.judging.batch.import_batch`."""
        ledger.checked()  # before a label is made that rests on another
        return import_batch(self.plans_now(ledger, retry_failed=retry_failed), ledger, *paths)

    # -- scoring -----------------------------------------------------------------------------

    def score(self, ledger: Ledger | None, *, whole: bool = False) -> Results:
        """Compute all scores from the ledger (None: there is none yet), without asking anything.
        With ``whole``, the results include all that a report shows."""
        found = {name: one.score(ledger, whole=whole) for name, one in self.parts.items()}
        return Results(found)

    def write(self, ledger: AnyLedger, *, whole: bool = True) -> tuple[Results, list[Path]]:
        """Score, write ``out/`` except for the report, and return the files. Without ``whole`` the
        results may lack what only a report shows."""
        found: dict[str, Result] = {}
        files: list[Path] = []
        for name, one in self.parts.items():
            self.progress(f"{prefix_of(name, self.parts)}scores", 0, None)
            found[name], written = one.write(ledger, whole=whole)
            files += written
        results = Results(found)
        if self.several:
            files += self._write_agreement(results, ledger)
        return results, files

    def manifests(self) -> dict[str, Mapping[str, Any]]:
        """The manifest in ``out/`` of each protocol; empty if there is none."""
        return {name: read_manifest(one.folder.out) for name, one in self.parts.items()}

    def _write_agreement(self, results: Results, ledger: AnyLedger) -> list[Path]:
        out = self.folder.out
        rows = (one.row for one in results.agreements)
        digest = write_bytes(out / AGREEMENT, csv_bytes(AGREEMENT_COLUMNS, rows))
        manifest = replace_manifest(
            out,
            {
                "assay": __version__,
                "protocol": list(results.by_protocol),
                "policy": results.policy,
                "ledger": ledger.checked().in_manifest(),
                "report": REPORT,
                "outputs": {AGREEMENT: digest, **self._outputs()},
            },
        )
        return [out / AGREEMENT, manifest]

    def _outputs(self) -> dict[str, str]:
        """The digests of the files the protocols wrote, by name within ``out/``."""
        outputs: dict[str, str] = {}
        for one in self.parts.values():
            out, part = one.folder.out, one.folder.part
            outputs |= {f"{part}/{name}": d for name, d in read_manifest(out)["outputs"].items()}
            outputs[f"{part}/{MANIFEST}"] = file_sha256(out / MANIFEST)
        return outputs

    def write_report(
        self, results: Results, path: Path | None = None, *, ledger: Ledger | None = None
    ) -> Path:
        """Write the report of ``whole`` results to ``path`` (default: in ``out/``) and return its
        path. A large report has a folder of pages beside it. With several protocols, it is an
        overview, and the reports it links to are written below it. ``ledger`` must be the open
        ledger of the results."""
        if path is not None:
            self._require_no_input(path)
        path = path or self.folder.out / REPORT
        if results.only is None:
            for name, one in results.by_protocol.items():
                own = path.parent / self.parts[name].folder.part / REPORT
                write_page(own, page_of(one), self.progress)
        write_page(path, self.page(results, ledger=ledger), self.progress)
        return path

    def page(self, results: Results, *, ledger: Ledger | None = None) -> Page:
        """The page of results. If units were drawn for people in ``ledger``, it begins with the
        scores corrected by their labels."""
        only = results.only
        page = page_of(only) if only is not None else overview(self.folder, results)
        if ledger is not None and ledger.draws():
            from assay.api.corrected_tables import trust_part  # noqa: PLC0415 (as below)

            page = replace(page, first=(trust_part(self._correcting(ledger)),))
        return page

    def corrected(self, ledger: AnyLedger) -> Trusted | None:
        """Scores corrected by people's labels of a draw. None if there are none, if a policy was
        chosen, or if labels come from an export, which has no draws."""
        if self.folder.policy is not None or not isinstance(ledger, Ledger) or not ledger.draws():
            return None
        found = self._correcting(ledger)
        if isinstance(found, SettingsError):
            return None  # the report says why
        return found if found.corrects else None

    def _correcting(self, ledger: Ledger) -> Trusted | SettingsError:
        """Scores corrected by people's labels of a draw, or why there are none. Cached, as they
        take long to compute and the report, the terminal and a release all show them."""
        head = ledger.head()
        found = self._corrected.get(head)
        if found is None:
            from assay.api.correcting import correct  # noqa: PLC0415 (few folders have a draw)

            try:
                found = correct(self.parts, ledger)
            except SettingsError as error:
                found = error
            self._corrected.clear()  # keep one entry: a workbench's ledger grows all day
            self._corrected[head] = found
        return found

    def _require_no_input(self, path: Path) -> None:
        self.folder.require_no_input(path, chain(*(one.files for one in self.parts.values())))


_MADE_BY = f"Assay {__version__}"


def html_of(page: Page) -> bytes:
    """Render a page as a single-file report, with keys redacted and without details that it has no
    room for."""
    return redact_keys(render_report(page, generated_by=_MADE_BY)).encode()


def write_page(path: Path, page: Page, progress: ProgressCallback = no_progress) -> None:
    """Write a page with keys redacted and, if it is large, a folder of pages beside it. Pages of a
    previous report are removed."""
    folder = path_inside(path.parent, folder_of(path.name), f"The report {path.name}")
    written: set[str] = set()
    progress(path.name, 0, None)

    def write(name: str, html: str) -> None:
        write_bytes(folder / name, redact_keys(html).encode())
        written.add(name)

    html = render_folder(
        page, generated_by=_MADE_BY, name=path.name, write=write, progress=progress
    )
    write_bytes(path, redact_keys(html).encode())
    remove_pages(path, but=frozenset(written))
