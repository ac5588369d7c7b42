"""Label pairs of texts one by one: ``assay.label`` and ``assay label``."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, cast

from assay.api.arguments import budget_of, one_of, path_or_none, price_of
from assay.api.ledgers import known_at, ledger_at
from assay.api.loops import outside_a_loop
from assay.api.reading import Note, used, warn
from assay.api.run_manifest import write_run_manifest
from assay.api.telling import progress_of
from assay.formats.cells import is_table
from assay.formats.jsonl import dump_line
from assay.formats.pairs import FIELDS, GOLD, Id, Pair, pairs_of, read_pairs
from assay.formats.pairs import PairTask as PairTask
from assay.judging.engine import Plan, plan
from assay.judging.progress import Progress, Tally
from assay.labellers.base import Labeller, Request
from assay.labellers.custom import AnyLabeller, spec_and_labeller
from assay.labellers.judge.packages import judge_of
from assay.labellers.judge.unread import unread
from assay.labellers.prices import Price, given_prices, require_prices
from assay.labellers.refusals import refusal_in
from assay.labellers.spec import LabellerOptions, make_labeller
from assay.model.errors import SettingsError
from assay.model.labels import Label, Status
from assay.model.wording import counted
from assay.protocols.output import csv_bytes, require_plain, write_bytes
from assay.systems.asking import Asker, Spending
from assay.tasks.base import AnyTask, Unit
from assay.tasks.exam import SELF_RATING, RatingUnit
from assay.tasks.r2c2 import ANSWER, AnswerUnit
from assay.tasks.rendering import Renderer
from assay.tasks.trec_rag import SUPPORT, SupportUnit

if TYPE_CHECKING:
    import polars as pl

YES, PARTLY, NO = "yes", "partly", "no"
_ROUNDED = 1e-4
"""Precision of the probabilities stored in labels."""
_SUPPORT = {"full": YES, "partial": PARTLY, "none": NO}


@dataclass(frozen=True, slots=True)
class PairKind:
    """How a kind of pairs is judged: the labelling task, its unit, and the level of a verdict."""

    task: AnyTask
    unit: Callable[[Pair], Unit]
    level: Callable[[Mapping[str, Any]], str]


def _rated(verdict: Mapping[str, Any]) -> str:
    """Level of a rating: 4 (a small gap) and 5 are yes, as in EXAM++; 2 and 3 are partly."""
    rating = verdict["rating"]
    return YES if rating >= 4 else PARTLY if rating >= 2 else NO


KINDS: Mapping[PairTask, PairKind] = {
    PairTask.SUPPORT: PairKind(
        SUPPORT,
        lambda pair: SupportUnit(passage=pair.texts["passage"], sentence=pair.texts["claim"]),
        lambda verdict: _SUPPORT[verdict["support"]],
    ),
    PairTask.ANSWERS: PairKind(SELF_RATING, lambda pair: RatingUnit(**pair.texts), _rated),
    PairTask.CORRECT: PairKind(
        ANSWER,
        lambda pair: AnswerUnit(**pair.texts, gold=pair.gold),
        lambda verdict: YES if verdict["correct"] else NO,
    ),
}


def probability(label: Label, level: str) -> float | None:
    """The probability of yes behind a label, or None if its labeller gives none or a rule overrode
    it."""
    for ruling in label.detail.get("rulings", ())[:1]:
        return None if by_rule(label, level) else float(ruling["yes"])
    for probe in label.detail.get("probes", ())[:1]:
        return 1 / (1 + math.exp(-max(min(float(probe["margin"]), 700.0), -700.0)))
    return None


def by_rule(label: Label, level: str) -> bool:
    """Whether an embedded judge's rules on denials and refusals overrode its network."""
    if label.detail.get("by_rule"):
        return True
    for ruling in label.detail.get("rulings", ())[:1]:
        beyond = ruling["yes"] - ruling["threshold"]
        return bool(abs(beyond) > _ROUNDED and (beyond > 0) != (level == YES))
    return False


_WORD = re.compile(r"\w")
NOT_ASKED = "no label: it was not asked, because judging stopped before it"
UNANSWERED = "no label: the labeller has nothing to say about it"


def warning(
    task: PairTask,
    kind: PairKind,
    pair: Pair,
    label: Label | None,
    level: str | None,
    *,
    stopped: bool,
) -> str | None:
    """All warnings about a pair's label in one line, or None if there are none."""
    found: list[str] = []
    if label is None:
        found.append(NOT_ASKED if stopped else UNANSWERED)
    elif label.status is not Status.OK or level is None:
        found.append(f"no label: {label.error or 'the reply could not be used'}")
    elif by_rule(label, level):
        found.append("decided by the judge's rules on refusals and denials, not by its network")
        found[-1] += f": {str(label.detail['rule']).rstrip('.')}" if "rule" in label.detail else ""
    found += _of_texts(task, pair)
    judged = label if level is not None else None
    if judged is not None and judge_of(judged.labeller.name) is not None:
        found += unread(kind.task, kind.unit(pair))
    return "; ".join(found) or None


def _of_texts(task: PairTask, pair: Pair) -> list[str]:
    found = []
    for name in FIELDS[task]:
        if name == GOLD:
            if not any(map(_WORD.search, pair.gold)):
                found.append("there is no gold answer to compare with")
        elif not _WORD.search(pair.texts[name]):
            but = " but for marks" if pair.texts[name].strip() else ""
            found.append(f"the {name} is empty{but}")
        elif name in ("claim", "answer") and refusal_in(pair.texts[name]) is not None:
            found.append(f"the {name} declines to answer")
    return found


Records = Iterable[Mapping[str, Any]]


class PairLabel(NamedTuple):
    """The label of a pair: ``label`` is yes, partly or no, or None if there is none; ``yes`` is the
    probability of yes, or None if the labeller gives none."""

    id: Id
    task: str
    label: str | None
    yes: float | None
    reason: str | None
    warning: str | None


COLUMNS = PairLabel._fields
TITLE = "Labels"
"""Title of the labelling step in progress output."""


@dataclass(frozen=True, slots=True)
class PairJob:
    """Pairs to label, the task, and the labeller."""

    task: PairTask
    pairs: Sequence[Pair]
    labeller: Labeller

    @property
    def kind(self) -> PairKind:
        return KINDS[self.task]

    def requests(self) -> list[Request]:
        """The requests to the labeller, in the order of the pairs."""
        return [Request(self.kind.task, self.kind.unit(pair)) for pair in self.pairs]

    def look_ahead(self, ledger: Path | None, *, retry_failed: bool) -> Plan:
        """Plan what would be asked, without asking. ``ledger`` may not exist yet."""
        with known_at(ledger) as known:
            return plan(
                known, self.labeller, self.requests(), retry_failed=retry_failed, across_tasks=False
            )

    def labels(
        self,
        ledger: Path | None,
        *,
        progress: Progress,
        budget: float | None = None,
        retry_failed: bool = False,
    ) -> tuple[list[PairLabel], Tally]:
        """Label the pairs within ``budget`` US dollars. Returns the labels, in the order of the
        pairs, and the tally. Labels in the ledger are not asked for again; without a ledger, a
        temporary one is used.

        Raises LabellerUnreachable or KeyboardInterrupt; labels received so far are kept. A
        temporary ledger then stays, and a note on the exception names it.
        """
        with ledger_at(ledger) as opened:
            opened.checked()  # raises for a damaged ledger before anything is paid for
            spending = Spending(budget)
            asker = Asker(opened, self.labeller, progress, spending, retry_failed)
            found = asker.ask(TITLE, self.requests())
        stopped = spending.tally.stopped is not None
        pairs = zip(self.pairs, found, strict=True)
        return [self._labelled(pair, label, stopped) for pair, label in pairs], spending.tally

    def _labelled(self, pair: Pair, label: Label | None, stopped: bool) -> PairLabel:
        level = yes = reason = None
        if label is not None and label.status is Status.OK and label.verdict is not None:
            level = self.kind.level(label.verdict)
            yes = probability(label, level)
            reason = label.reason
        said = warning(self.task, self.kind, pair, label, level, stopped=stopped)
        return PairLabel(pair.id, self.task.value, level, yes, reason, said)


def pair_job(
    file: Path,
    task: PairTask,
    labeller: str,
    output: Path | None,
    *,
    price: str | None,
    budget: float | None,
    fetching: Callable[[str, int, int], None],
    note: Note,
) -> PairJob:
    """Read the pairs of a file and create the labeller of a SPEC. Raises FormatError with all
    faults of the file, SettingsError if the arguments contradict each other."""
    pairs = used(read_pairs(file, task), note)
    if output is not None and output.resolve() == file.resolve():
        raise SettingsError(f"-o {output}: that is the input file. Choose another name.")
    if output is not None:
        require_plain(output)
    options = LabellerOptions(prices=given_prices(labeller, price), fetching=fetching)
    who = make_labeller(labeller, folder=Path(), renderer=Renderer(), options=options)
    if budget is not None:
        require_prices([who], "Set it with --price IN/OUT, in US dollars per million tokens.")
    return PairJob(task, pairs, who)


def write_labels(job: PairJob, labels: Sequence[PairLabel], file: Path, output: Path) -> None:
    """Write the labels of a file's pairs with their manifest, as JSON Lines, or as CSV or TSV if
    ``output`` has that extension."""
    rows = (dump_line(one._asdict()) for one in labels)
    table = is_table(output)
    write_bytes(output, csv_bytes(COLUMNS, labels, output) if table else b"".join(rows))
    settings, who = {"task": job.task.value}, [job.labeller.id]
    write_run_manifest(output, "label", settings, labellers=who, inputs=[file], outputs=[output])


def label(
    task: Literal["support", "answers", "correct"] | PairTask,
    records: Records | Any,
    labeller: AnyLabeller = "embedded",
    *,
    ledger: str | PathLike[str] | None = None,
    budget: float | None = None,
    price: tuple[float, float] | None = None,
    retry_failed: bool = False,
    progress: Progress | bool = False,
) -> pl.DataFrame:
    """Label pairs of texts one by one. Returns a frame with the columns ``id``, ``task``, ``label``
    (yes, partly or no), ``yes`` (the probability of yes), ``reason`` and ``warning``, in the order
    of the records.

    ``task`` is ``support`` (does ``passage`` support ``claim``?), ``answers`` (does ``passage``
    answer ``question``?) or ``correct`` (is ``answer`` to ``question`` right according to ``gold``,
    a list of texts?). ``records`` are mappings with these fields and an ``id``, or a polars or
    pandas frame; if no record has an id, they are numbered from 0. ``labeller`` is a SPEC, a
    labeller or a function ``(task, unit) -> verdict``. Labels in ``ledger`` (a file) are not asked
    for again. ``budget`` is in US dollars, ``price`` in US dollars per million tokens (input,
    output). ``progress=True`` prints progress to standard error.

    ``label`` and ``yes`` are null if there is none; ``warning`` then says why. Raises FormatError
    with all faults of the records, SettingsError, or LabellerUnreachable.
    """
    kind = one_of(PairTask, task, "task")
    parsed = pairs_of(_rows(records), kind)
    pairs = used(parsed, warn)
    who = _labeller_of(labeller, price_of(price))
    if budget_of(budget) is not None:
        require_prices([who], "Set it with price=(IN, OUT), in US dollars per million tokens.")
    job = PairJob(kind, pairs, who)
    path = path_or_none(ledger, "ledger")

    labels, tally = outside_a_loop(
        lambda reporter: job.labels(
            path, progress=reporter, budget=budget, retry_failed=retry_failed
        ),
        progress_of(progress),
    )
    if tally.unanswered:
        warn(f"The labeller gave no answer (None) for {counted(tally.unanswered, 'pair')}.")
    return frame_of(labels)


def frame_of(labels: Sequence[PairLabel]) -> pl.DataFrame:
    """Convert labels to a frame. Ids are integers if all of them are, otherwise strings."""
    from assay.api.frames import frame  # noqa: PLC0415 (polars, for this alone)

    found = frame(COLUMNS, (one._replace(id=str(one.id)) for one in labels))
    numbers = bool(labels) and all(isinstance(one.id, int) for one in labels)
    return found.cast({"id": int}) if numbers else found


def _rows(records: Any) -> Iterable[object]:
    """The records as mappings. Frames are recognised by their methods, as pandas may not be
    installed."""
    if hasattr(records, "collect"):  # a polars LazyFrame
        records = records.collect()
    if hasattr(records, "to_pylist"):  # a pyarrow Table
        return cast("Iterable[object]", records.to_pylist())
    if hasattr(records, "iter_rows"):
        return cast("Iterable[object]", records.iter_rows(named=True))
    if hasattr(records, "to_dict") and hasattr(records, "columns"):
        return cast("Iterable[object]", records.to_dict("records"))
    if isinstance(records, str | Mapping) or not isinstance(records, Iterable):
        raise SettingsError(
            'The records must be a frame or a list of mappings such as {"id": …, "claim": …, '
            '"passage": …}.'
        )
    return records


def _labeller_of(given: AnyLabeller, price: tuple[float, float] | None) -> Labeller:
    spec, made = spec_and_labeller(given)
    if made is not None:
        return made
    model = spec.partition(":")[2].partition("@")[0]
    prices = {} if price is None else {model: Price(*price)}
    options = LabellerOptions(prices=prices)
    return make_labeller(spec, folder=Path(), renderer=Renderer(), options=options)
