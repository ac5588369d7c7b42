"""An evaluation under one protocol, opened and read: judging, scoring and writing files."""

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
from assay.protocols.label_shares import uneven_shares
from assay.protocols.labels import LabelBook
from assay.protocols.members import juries
from assay.protocols.output import digests_of
from assay.protocols.people import Overlap, overlaps
from assay.protocols.record import PlacesUsed, model_warnings, models_of, require_asked, write_out
from assay.protocols.results import Result
from assay.protocols.sides import PeopleBeside
from assay.protocols.step_plans import StepPlans
from assay.tasks.base import AnyTask
from assay.tasks.shared import sources

if TYPE_CHECKING:
    from assay.ledger.parquet import AnyLedger

_MAX_NOTES = 5
"""Most notes on the inputs that are shown with a refusal."""


@dataclass(frozen=True)
class Forecast:
    """What a judging run would ask, for ``--dry-run``. ``note`` says what was assumed, ``repeats``
    why questions are asked that look as if they had been asked before."""

    plans: TitledPlans
    note: str = ""
    repeats: tuple[str, ...] = ()


@dataclass(frozen=True)
class Evaluation:
    """A folder opened under one protocol, with all inputs read and checked. With a ``shard``, only
    the questions of that shard are asked, and steps wait for the labels of the other shards."""

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
        """A copy for callers that ignore the intervals of scores, which take longest."""
        return replace(self, settings=self.settings.model_copy(update={"resamples": 1}))

    @cached_property
    def tasks(self) -> tuple[AnyTask, ...]:
        """The tasks that the settings ask for, and those that steps ask for these inputs."""
        asked = (step.asked_task for step in self.steps)
        return tuple(dict.fromkeys((*self.protocol.tasks(self.settings), *asked)))

    @property
    def marked(self) -> Originals | None:
        """The answer runs in which people may change marks."""
        return self.protocol.marked(self.inputs)

    @cached_property
    def steps(self) -> tuple[Step, ...]:
        """What is asked, in order."""
        return tuple(self.protocol.steps(self.inputs, self.settings))

    # -- judging -----------------------------------------------------------------------------

    def labellers(self) -> dict[str, Labeller]:
        """The labeller of each task. Equal SPECs share one, so that a model is loaded once."""
        more = self.protocol.more_labellers(self.folder, self.settings)
        return {**self.folder.labellers(self.tasks, self._spec), **more}

    def _labellers_for_scoring(self) -> tuple[dict[str, Labeller | None], list[str]]:
        """The labeller of each task, None with a warning if it cannot be made. Scoring needs to
        know who they are and how they are asked; it asks nobody."""
        found, warnings = self.folder.labellers_for_scoring(self.tasks, self._spec)
        return {**found, **self.protocol.more_labellers(self.folder, self.settings)}, warnings

    def _spec(self, task: AnyTask) -> str:
        """The SPEC of a task's labeller, or of the task as which a step asks it."""
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
        """Ask what the ledger lacks. Raises as :func:`assay.judging.engine.judge` does."""
        labellers = self.labellers()
        self._check(ledger, labellers)
        stepping = StepPlans(ledger, labellers, self.shard, retry_failed)
        total = Tally()
        groups = _groups(self.steps)
        while groups:
            group = groups.pop(0)
            book = self._judging_book(ledger, labellers)
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
            done = ask(plans, ledger, budget=_remaining(budget, total))
            if done.unanswered and not done.stopped:
                for step in group:
                    if step.asked_as is not None:
                        rest = stepping.rest(step, step.requests(book), ledger)
                        done = _without(done, len(rest.todo))
                        remaining = _remaining(budget, total + done)
                        done += ask([(step.asked_as.rest, rest)], ledger, budget=remaining)
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
        """Raise SettingsError for any refusal by a labeller before anything is paid for. A step
        that asks nothing is skipped, unless an earlier step may still give it something to ask."""
        asked = [labellers[step.labeller or step.asked_task.name] for step in self.steps]
        refusals = [
            who.refusal(step.asked_task) for who, step in zip(asked, self.steps, strict=True)
        ]
        if not any(refusals):
            return
        book = self._judging_book(ledger, labellers)
        pending = False
        for step, refusal in zip(self.steps, refusals, strict=True):
            asks = next(iter(step.requests(book)), None) is not None
            if refusal and (asks or (pending and step.waits)):
                # Something that the inputs lack may be the reason why it is asked at all.
                notes = (f"Note: {one}" for one in self.warnings[:_MAX_NOTES])
                raise SettingsError("\n".join((refusal, *notes)))
            pending = pending or (step.feeds and asks)

    def plans_now(self, ledger: Ledger, *, retry_failed: bool = False) -> TitledPlans:
        """Everything that can be asked before any further label is known (for batch files)."""
        labellers = self.labellers()
        book = self._judging_book(ledger, labellers)
        stepping = StepPlans(ledger, labellers, self.shard, retry_failed)
        return [(step.title, stepping.plan(step, step.requests(book))) for step in self.steps]

    def look_ahead(self, ledger: Ledger | None) -> Forecast:
        """What :meth:`judge` would ask now. Calls no labeller."""
        labellers = self.labellers()
        book = self._judging_book(ledger, labellers)
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
            known = "More labels may be needed once earlier ones are known"
            notes.append(f"{known}: {', '.join(waiting)}.")
        repeats = () if ledger is None else tuple(_asked_again(ledger, plans))
        return Forecast(plans, " ".join(dict.fromkeys(notes)), repeats)

    def _judging_book(self, ledger: Ledger | None, labellers: Mapping[str, Labeller]) -> LabelBook:
        if ledger is not None and ledger.size() > LARGE:
            ledger.use_less_memory()
        return self._open_book(ledger, labellers)

    def _open_book(
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
        """The labels under the evaluation's policy, for inspection."""
        labellers, _ = self._labellers_for_scoring()
        return self._open_book(ledger, labellers)

    # -- scoring -----------------------------------------------------------------------------

    def score(self, ledger: AnyLedger | None, *, whole: bool = False) -> Result:
        """Compute everything that the labels in the ledger say; asks nobody.

        With ``whole``, the protocol's ``detail`` has labels with their reasons, as a report shows
        them. A policy that somebody chose is used as it is. Otherwise, if people labelled more of
        some runs than of others, the result has another beside it (``evened``) in which only the
        machine's labels count for those tasks, so that runs can be compared.
        """
        result = self._score(ledger, whole=whole)
        if not result.by_people or not self.evens:
            return result
        shares = uneven_shares(result.used)
        if not shares:
            return result
        policy = self.policy.left_to_machine((task.name for task in self.tasks), shares)
        evened = replace(self, policy=policy)._score(ledger)
        # If the machine was not asked about everything that people labelled, more labels would be
        # missing and runs would be harder to compare, not easier.
        if evened.lacking > result.lacking:
            return result
        return replace(result, evened=evened, uneven=shares)

    @property
    def evens(self) -> bool:
        """Whether tasks that people labelled unevenly are compared by the machine's labels alone:
        if the policy mixes both kinds of labels and nobody chose it."""
        chosen = self.folder.policy is not None or "policy" in self.settings.model_fields_set
        return self.policy.mixes and not chosen

    def by_machine(self, ledger: AnyLedger | None) -> Result:
        """Score by the machine's labels alone."""
        return replace(self, policy=Policy.parse("machine")).score(ledger)

    def _score(self, ledger: AnyLedger | None, *, whole: bool = False) -> Result:
        labellers, warnings = self._labellers_for_scoring()
        book = self._open_book(ledger, labellers, whole=whole and self.protocol.shows_labels)
        found = self.protocol.score(self.inputs, self.settings, book)
        if book.by_unit is not None:
            warnings += label_remarks(book.by_unit, missing=bool(book.missing))
        warnings += book.uncalibrated()
        warnings += why_failed(book, self.tasks)
        models = models_of(book.used)
        warnings += model_warnings(models)
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
            beside=cache(partial(self._people_beside, book)),
            out=self.folder.out_in_words,
            models=models,
        )

    def _people_beside(self, book: LabelBook) -> PeopleBeside:
        """People's labels beside the machine's, whatever the evaluation's policy."""
        if book.by_unit is None:
            return PeopleBeside()
        under = cache(book.under)
        sides = tuple(self.protocol.sides(self.inputs, self.settings, under))
        return PeopleBeside(sides, tuple(self.overlaps(book, scored=self.policy.rule == "people")))

    def overlaps(self, book: LabelBook, *, scored: bool = False) -> Iterator[Overlap]:
        """Compare people who labelled the same units, whatever the evaluation's policy. The topics
        of these units are taken from scoring under ``people``, where all that somebody labelled
        counts; ``scored`` says that ``book`` was scored in this way already."""
        if not scored and book.by_people:
            book = book.under("people")
            self.protocol.score(self.inputs, self.settings, book)
        if book.by_unit is not None:
            yield from overlaps(book.by_unit, self.tasks, book.used)

    def write(self, ledger: AnyLedger, *, whole: bool = True) -> tuple[Result, list[Path]]:
        """Score and write ``out/`` except the report, for which labels are read ``whole``. The same
        inputs and labels give the same bytes."""
        implying = (source.task for task in self.tasks for source in sources(task))
        names = dict.fromkeys(task.name for task in (*self.tasks, *implying))
        head = ledger.head()
        try:
            result = self.score(ledger, whole=whole)
        except Exception:
            ledger.checked()  # damage to the ledger may be why it cannot be scored
            raise
        require_asked(self.folder, result, ledger)
        lines = ledger.checked_lines(names, head)
        tasks = dict.fromkeys((*self.protocol.own_tasks, *self.tasks))
        places = PlacesUsed(result.used, self.protocol.used_at)
        inputs = self._digests_of_inputs()
        return result, write_out(self.folder, result, tasks, inputs, lines, places, ledger.checked)

    def _digests_of_inputs(self) -> dict[Path, str]:
        """Digests of the files that were scored, for the manifest. Raises FormatError if a file has
        changed since it was read."""
        changed = [path for path, stamp in self.files.items() if file_stamp(path) != stamp]
        if changed:
            why = "The file changed after it was read."
            cure = "Run the command again; from Python, open the folder again."
            raise FormatError([Fault(str(path), 0, None, why, cure) for path in changed])
        return digests_of(self.files)


def _asked_again(ledger: Ledger, plans: TitledPlans) -> Iterator[str]:
    """Say why plans ask questions that look as if they had been asked before."""
    for _, each in plans:
        for (task, why), count in why_repeated(ledger, each).items():
            yield f"{task}: {count:,} of {len(each.todo):,} are asked again because {why}."


def _remaining(budget: float | None, spent: Tally) -> float | None:
    return None if budget is None else budget - spent.spent


def _without(tally: Tally, unanswered: int) -> Tally:
    """The tally without questions that are asked again in other words."""
    return replace(
        tally, wanted=tally.wanted - unanswered, unanswered=tally.unanswered - unanswered
    )


def _groups(steps: Sequence[Step]) -> list[list[Step]]:
    """Group the steps that can be planned together: each step that waits begins a new group."""
    groups: list[list[Step]] = []
    for step in steps:
        if step.waits or not groups:
            groups.append([])
        groups[-1].append(step)
    return groups
