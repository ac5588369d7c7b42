"""An evaluation under a protocol, opened and read: judging, scoring and writing its files."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache, cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from assay.judging.engine import LARGE, TitledPlans, judge
from assay.judging.progress import Progress, Tally
from assay.judging.repeats import why_repeated
from assay.judging.shards import Shard
from assay.labellers.base import Labeller
from assay.ledger import Ledger
from assay.ledger.policy import Policy
from assay.measures.scores import identical_runs
from assay.model.errors import Fault, FormatError, SettingsError
from assay.model.paths import FileStamp, file_stamp
from assay.model.wording import joined
from assay.protocols.answers.marked import Originals
from assay.protocols.base import CommonSettings, Protocol, Reading, Step
from assay.protocols.folder import Folder
from assay.protocols.label_remarks import label_gaps, label_remarks, why_failed
from assay.protocols.label_shares import uneven
from assay.protocols.labels import LabelBook
from assay.protocols.members import juries
from assay.protocols.output import digests_of
from assay.protocols.people import Overlap, overlaps
from assay.protocols.record import PlacesUsed, models_of, renamed, require_asked, write_out
from assay.protocols.results import Result
from assay.protocols.sides import PeopleBeside
from assay.protocols.step_plans import StepPlans
from assay.tasks.base import AnyTask
from assay.tasks.shared import sources

if TYPE_CHECKING:
    from assay.ledger.parquet import AnyLedger

_NOTES = 5
"""Notes on the inputs that stand beside a refusal."""


@dataclass(frozen=True)
class Forecast:
    """What a judging run would ask, for ``--dry-run``. ``note`` says what was assumed, ``repeats``
    why something is asked that looks as if it had been asked before."""

    plans: TitledPlans
    note: str = ""
    repeats: tuple[str, ...] = ()


@dataclass(frozen=True)
class Evaluation:
    """A folder, opened under its protocol with all inputs read and checked. With a ``shard`` only
    its questions are asked, and steps wait for labels of the others."""

    folder: Folder
    protocol: Protocol[Any, Any]
    settings: CommonSettings
    policy: Policy
    inputs: Any
    files: Mapping[Path, FileStamp]
    warnings: tuple[str, ...]
    shard: Shard | None = None

    @classmethod
    def open(cls, folder: Folder, protocol: Protocol[Any, Any], policy: str | None) -> Self:
        """Read settings and inputs. Raises SettingsError, or FormatError with all faults."""
        settings = folder.settings(protocol.settings)
        chosen = Policy.parse(policy or settings.policy)
        folder.check_entries()
        reading = Reading(folder)
        inputs = protocol.load(folder, settings, reading)
        reading.done()
        folder = replace(folder, policy=policy or None)
        warnings = (*reading.warnings, *reading.unread_files())
        return cls(folder, protocol, settings, chosen, inputs, reading.files, warnings)

    def quick(self) -> Self:
        """The same where the intervals of scores are not used, which take longest."""
        return replace(self, settings=self.settings.model_copy(update={"resamples": 1}))

    @cached_property
    def tasks(self) -> tuple[AnyTask, ...]:
        """The tasks that the settings ask for, with those that steps are asked under, and that
        only some inputs need."""
        under = (step.asked_task for step in self.steps)
        return tuple(dict.fromkeys((*self.protocol.tasks(self.settings), *under)))

    @property
    def marked(self) -> Originals | None:
        """The answer runs of which people may change marks."""
        return self.protocol.marked(self.inputs)

    @cached_property
    def steps(self) -> tuple[Step, ...]:
        """What is asked, in order."""
        return tuple(self.protocol.steps(self.inputs, self.settings))

    # -- judging -----------------------------------------------------------------------------

    def labellers(self) -> dict[str, Labeller]:
        """The labeller of each task. One SPEC is one labeller, so that a model is loaded once."""
        more = self.protocol.more_labellers(self.folder, self.settings)
        return {**self.folder.labellers(self.tasks, self._spec), **more}

    def _labellers_for_scoring(self) -> tuple[dict[str, Labeller | None], list[str]]:
        """The same to know who they are and how they are asked; nobody is asked."""
        found, warnings = self.folder.labellers_for_scoring(self.tasks, self._spec)
        return {**found, **self.protocol.more_labellers(self.folder, self.settings)}, warnings

    def _spec(self, task: AnyTask) -> str:
        """The labeller of a task; that of another under which a step asks it answers for both."""
        under = {step.task: step.asked_task for step in self.steps}
        return self.folder.labeller_spec(under.get(task, task))

    def judge(
        self,
        ledger: Ledger,
        *,
        progress: Progress | None = None,
        budget: float | None = None,
        retry_failed: bool = False,
    ) -> Tally:
        """Fill the ledger with what is missing. Raises as ``assay.judging.engine.judge`` does."""
        labellers = self.labellers()
        self._check(ledger, labellers)
        stepping = StepPlans(ledger, labellers, self.shard, retry_failed)
        total = Tally()
        groups = _groups(self.steps)
        while groups:
            group = groups.pop(0)
            book = self._book(ledger, labellers)
            plans = [(step.title, stepping.plan(step, step.requests(book))) for step in group]
            if progress is not None:
                for line in _asked_again(ledger, plans):
                    progress.note(line)
            ask = partial(
                judge,
                progress=progress,
                give_up_after=self.folder.config.judging.give_up_after,
                shard=self.shard,
            )
            done = ask(plans, ledger, budget=_left(budget, total))
            if done.unanswered and not done.stopped:
                for step in group:
                    if step.asked_as is not None:
                        rest = stepping.rest(step, step.requests(book), ledger)
                        done = _without(done, len(rest.todo))
                        left = _left(budget, total + done)
                        done += ask([(step.asked_as.rest, rest)], ledger, budget=left)
            total += done
            if total.stopped:
                return total
            elsewhere = [stepping.open_elsewhere(one, one.requests(book)) for one in group]
            repeated = [
                step
                for step, (_, each), others in zip(group, plans, elsewhere, strict=True)
                if step.repeats and (each.todo or others)
            ]
            groups = [repeated, *groups] if repeated else groups
            fed = (own for step, own in zip(group, elsewhere, strict=True) if step.feeds)
            others = set().union(*fed)
            if others and groups:
                later = (step.title for waiting in groups for step in waiting)
                return replace(total, waiting=tuple(later), waiting_for=tuple(sorted(others)))
        return total

    def _check(self, ledger: Ledger, labellers: Mapping[str, Labeller]) -> None:
        """Every refusal shows before anything is paid for. A step that asks nothing is passed
        over, unless a step before it may still give it something to ask."""
        asked = [labellers[step.labeller or step.asked_task.name] for step in self.steps]
        refusals = [
            who.refusal(step.asked_task) for who, step in zip(asked, self.steps, strict=True)
        ]
        if not any(refusals):
            return
        book = self._book(ledger, labellers)
        pending = False
        for step, refusal in zip(self.steps, refusals, strict=True):
            asks = next(iter(step.requests(book)), None) is not None
            if refusal and (asks or (pending and step.waits)):
                # What the inputs lack may be why it is asked at all.
                notes = (f"Note: {one}" for one in self.warnings[:_NOTES])
                raise SettingsError("\n".join((refusal, *notes)))
            pending = pending or (step.feeds and asks)

    def plans_now(self, ledger: Ledger, *, retry_failed: bool = False) -> TitledPlans:
        """All that can be asked before any further label is known (for batch files)."""
        labellers = self.labellers()
        book = self._book(ledger, labellers)
        stepping = StepPlans(ledger, labellers, self.shard, retry_failed)
        return [(step.title, stepping.plan(step, step.requests(book))) for step in self.steps]

    def look_ahead(self, ledger: Ledger | None) -> Forecast:
        """What ``judge`` would ask now. Calls nothing."""
        labellers = self.labellers()
        book = self._book(ledger, labellers)
        stepping = StepPlans(ledger, labellers, self.shard)
        plans = tuple(
            (step.title, stepping.plan(step, (step.assumed or step).requests(book)))
            for step in self.steps
        )
        pending, waiting = False, []
        for step, (title, each) in zip(self.steps, plans, strict=True):
            more = (step.waits and pending) or (step.repeats and bool(each.todo))
            if more and step.assumed is None:
                waiting.append(title)
            pending = pending or (step.feeds and (more or bool(each.todo)))
        asking = {step.task for step, (_, each) in zip(self.steps, plans, strict=True) if each.todo}
        notes = [
            step.assumed.note
            for step in self.steps
            if step.assumed is not None and step.assumed.of in asking
        ]
        if waiting:
            known = "More may be asked once labels before it are known"
            notes.append(f"{known}: {', '.join(waiting)}.")
        repeats = () if ledger is None else tuple(_asked_again(ledger, plans))
        return Forecast(plans, " ".join(dict.fromkeys(notes)), repeats)

    def _book(self, ledger: Ledger | None, labellers: Mapping[str, Labeller]) -> LabelBook:
        if ledger is not None and ledger.size() > LARGE:
            ledger.use_less_memory()
        return self._opened(ledger, labellers)

    def _opened(
        self,
        ledger: AnyLedger | None,
        labellers: Mapping[str, Labeller | None],
        *,
        whole: bool = False,
    ) -> LabelBook:
        return LabelBook.open(
            ledger,
            self.policy,
            self.tasks,
            labellers,
            asked_as=frozenset(step.task.name for step in self.steps if step.asked_as),
            strict=frozenset(step.task.name for step in self.steps if step.strict),
            whole=whole,
        )

    def book(self, ledger: AnyLedger | None) -> LabelBook:
        """The labels under the evaluation's policy, for looking at."""
        labellers, _ = self._labellers_for_scoring()
        return self._opened(ledger, labellers)

    # -- scoring -----------------------------------------------------------------------------

    def score(self, ledger: AnyLedger | None, *, whole: bool = False) -> Result:
        """Everything that the labels in the ledger say; asks nobody. With ``whole`` the protocol's
        ``detail`` has labels with their reasons, as a report shows them.

        A policy that somebody chose is kept to; else, where people labelled more of some runs than
        of others, the result has one by the machine's labels beside it, to compare runs by."""
        result = self._score(ledger, whole=whole)
        if not result.by_people or not self.evens:
            return result
        apart = uneven(result.used)
        if not apart:
            return result
        left = self.policy.left_to_machine((task.name for task in self.tasks), apart)
        evened = replace(self, policy=left)._score(ledger)
        # The machine was not asked all that people labelled: its scores would compare less, not
        # more.
        if evened.lacking > result.lacking:
            return result
        return replace(result, evened=evened, uneven=apart)

    @property
    def evens(self) -> bool:
        """Whether what people labelled more of is compared by the machine's labels: where nobody
        chose a policy by which both count."""
        chosen = self.folder.policy is not None or "policy" in self.settings.model_fields_set
        return self.policy.mixes and not chosen

    def by_machine(self, ledger: AnyLedger | None) -> Result:
        """Everything that the machine's labels say alone."""
        return replace(self, policy=Policy.parse("machine")).score(ledger)

    def _score(self, ledger: AnyLedger | None, *, whole: bool = False) -> Result:
        labellers, warnings = self._labellers_for_scoring()
        book = self._opened(ledger, labellers, whole=whole and self.protocol.shows_labels)
        found = self.protocol.score(self.inputs, self.settings, book)
        if book.by_unit is not None:
            warnings += label_remarks(book.by_unit, missing=bool(book.missing))
        warnings += book.uncalibrated()
        warnings += why_failed(book, self.tasks)
        models = models_of(book.used)
        warnings += renamed(models)
        warnings += [
            f"The runs {joined(runs)} score the same on all {topics} topics, by every measure: is "
            "one a copy of the other?"
            for runs, topics in identical_runs(found.scores, found.per_topic)
        ]
        titles = {task.name: task.title for task in self.tasks}
        of_labels = () if found.unlabelled else label_gaps(book, self.tasks)
        return Result(
            protocol=self.protocol.name,
            protocol_title=self.protocol.title,
            title=self.folder.title,
            policy=self.policy.name,
            findings=found,
            labellers={
                name: None if one is None else one.id
                for name, one in labellers.items()
                if name in titles
            },
            task_titles=titles,
            settings=self.settings.model_dump(mode="json"),
            used=book.used,
            asked=dict(book.asked),
            missing=dict(book.missing),
            failed=dict(book.failed),
            gaps=tuple(one for one in (*of_labels, *found.gaps) if one.count),
            warnings=(*self.warnings, *warnings, *found.warnings),
            juries=juries(book.used.of_kind("ensemble")),
            by_people=any(book.people_labelled(task) for task in self.tasks),
            disputed=0 if book.by_unit is None else len(book.by_unit.disputed),
            beside=cache(partial(self._beside, book)),
            out=self.folder.out_in_words,
            models=models,
        )

    def _beside(self, book: LabelBook) -> PeopleBeside:
        """People's labels beside the machine's, whatever policy the evaluation has."""
        if book.by_unit is None:
            return PeopleBeside()
        under = cache(book.under)
        sides = tuple(self.protocol.sides(self.inputs, self.settings, under))
        return PeopleBeside(sides, tuple(self.overlaps(book, scored=self.policy.rule == "people")))

    def overlaps(self, book: LabelBook, *, scored: bool = False) -> Iterator[Overlap]:
        """People who labelled the same units, whatever policy the evaluation has: which topics
        these are of is told by scores under ``people``, by which all that somebody labelled counts
        (where the book was ``scored`` so, by that)."""
        if not scored and book.by_people:
            book = book.under("people")
            self.protocol.score(self.inputs, self.settings, book)
        if book.by_unit is not None:
            yield from overlaps(book.by_unit, self.tasks, book.used)

    def write(self, ledger: AnyLedger, *, whole: bool = True) -> tuple[Result, list[Path]]:
        """Score and write ``out/`` (but for the report, for which labels are had ``whole``). The
        same inputs and labels give the same bytes."""
        evened = (source.task for task in self.tasks for source in sources(task))
        names = dict.fromkeys(task.name for task in (*self.tasks, *evened))
        head = ledger.head()
        try:
            result = self.score(ledger, whole=whole)
        except Exception:
            ledger.checked()  # what cannot be scored may be a ledger that is damaged
            raise
        require_asked(self.folder, result, ledger)
        lines = ledger.checked_lines(names, head)
        tasks = dict.fromkeys((*self.protocol.own_tasks, *self.tasks))
        places = PlacesUsed(result.used, self.protocol.used_at)
        inputs = self._digests_of_inputs()
        return result, write_out(self.folder, result, tasks, inputs, lines, places, ledger.checked)

    def _digests_of_inputs(self) -> dict[Path, str]:
        """For the manifest, which is to name the files that were scored. Raises FormatError where
        one is another by now."""
        changed = [path for path, stamp in self.files.items() if file_stamp(path) != stamp]
        if changed:
            why = "The file was changed after it had been read."
            cure = "Run the command again; from Python, open the folder again."
            raise FormatError([Fault(str(path), 0, None, why, cure) for path in changed])
        return digests_of(self.files)


def _asked_again(ledger: Ledger, plans: TitledPlans) -> Iterator[str]:
    """Why plans ask what looks as if it had been asked before, in sentences."""
    for _, each in plans:
        for (task, why), count in why_repeated(ledger, each).items():
            yield f"{task}: {count:,} of {len(each.todo):,} are asked again because {why}."


def _left(budget: float | None, spent: Tally) -> float | None:
    return None if budget is None else budget - spent.spent


def _without(tally: Tally, unanswered: int) -> Tally:
    """A tally without questions that are asked again in other words."""
    return replace(
        tally, wanted=tally.wanted - unanswered, unanswered=tally.unanswered - unanswered
    )


def _groups(steps: Sequence[Step]) -> list[list[Step]]:
    """Steps that can be planned together: a new group begins with each step that waits."""
    groups: list[list[Step]] = []
    for step in steps:
        if step.waits or not groups:
            groups.append([])
        groups[-1].append(step)
    return groups
