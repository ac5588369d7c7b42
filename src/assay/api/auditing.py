"""What a folder's judge can be fooled by: the probes of an audit, asked and counted."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, date, datetime
from functools import cached_property

from assay.api.audit.asking import (
    DRIFT,
    ORDER,
    REPEAT,
    AuditQuestion,
    drift_trial,
    earlier,
    labelled,
    source,
    trial,
)
from assay.api.audit.findings import Finding, drift_findings, findings
from assay.api.audit.judges import of_judges
from assay.api.audit.people import (
    CIRCLE,
    LENGTH,
    SELF,
    SMALL,
    TOP,
    judged_runs,
    length_slope,
    of_judged_run,
    of_tables,
    small_differences,
)
from assay.api.corrected import check_level
from assay.api.correcting import corrected_together
from assay.api.opened import Opened
from assay.judging.engine import TitledPlans, judge
from assay.judging.progress import Progress, Tally
from assay.labellers.prices import require_prices
from assay.ledger import Ledger
from assay.model.errors import SettingsError
from assay.tasks.audit.probes import PROBES

ASKED = (REPEAT, ORDER, *PROBES)
TABLES = (TOP, SELF, CIRCLE)
USUAL = (*ASKED, TOP, SMALL, SELF, CIRCLE)
"""The probes that are made where none is named: all but drift, which asks anew every day."""

ALL = (*USUAL, DRIFT)

SAYS: Mapping[str, str] = {
    REPEAT: "The same question is asked again: the share of labels that stay the same.",
    ORDER: (
        "Lists are shuffled and sides swapped: the share of entries that are judged the same, and "
        "whether the first or last entry gains by its position."
    ),
    **{name: probe.says for name, probe in PROBES.items()},
    TOP: (
        "How far the judge orders the best quarter of the runs as people do, compared with all "
        "runs."
    ),
    SMALL: (
        "Rankings that are best by people's labels are compared with copies in which one document "
        "is moved down: the share that the judge's labels order correctly."
    ),
    SELF: (
        "How much more the judge overrates runs of its own family than others (f is the judge's "
        "score, y people's). If several judges labelled everything: how much more each prefers "
        "its own family's runs than judges of other families do."
    ),
    CIRCLE: (
        "What runs that used the judge gain over the others by the judge's labels, and by "
        "people's. The same for a run made here from what all runs contain, ranked by the judge."
    ),
    DRIFT: (
        "The same units are asked again on another day; the alarm remains valid however often you "
        "look."
    ),
}
"""What each probe does, in a sentence."""


@dataclass(frozen=True)
class Wanted:
    """What an audit is to do. ``n`` units a probe are drawn by ``seed``, each put ``repeats`` times
    again; intervals are of ``level``. ``families`` are those of runs and labellers by name,
    ``used`` the runs that used the judge, ``day`` the one of the drift."""

    probes: tuple[str, ...] = USUAL
    n: int = 100
    seed: int = 1
    repeats: int = 3
    level: float = 0.95
    families: Mapping[str, str] = field(default_factory=dict)
    used: tuple[str, ...] = ()
    day: date = field(default_factory=lambda: datetime.now(UTC).date())

    def __post_init__(self) -> None:
        check_level(self.level)
        unknown = [name for name in self.probes if name not in ALL]
        if unknown:
            raise SettingsError(
                f"There is no probe {', '.join(unknown)}. Probes: {', '.join(ALL)}."
            )


@dataclass(frozen=True)
class Audit:
    """An audit of a folder with its ledger: what it would ask, and what came of it."""

    opened: Opened
    ledger: Ledger
    wanted: Wanted

    @property
    def families(self) -> Mapping[str, str]:
        """Those of runs and labellers, as the folder names them and then whoever asks."""
        return {**self.opened.folder.config.audit.families, **self.wanted.families}

    @cached_property
    def questions(self) -> Sequence[AuditQuestion]:
        """What is asked, a task and labeller each. Raises SettingsError where nothing is judged
        yet."""
        self.ledger.checked()  # before anything is asked that rests on a label
        wanted, made = self.wanted, []
        for one in labelled(self.opened.parts.values()):
            drawn = source(one, self.ledger, n=wanted.n, seed=wanted.seed)
            if not drawn.asks:
                continue
            trials = [
                trial(drawn, name, n=wanted.n, seed=wanted.seed, repeats=wanted.repeats)
                for name in wanted.probes
                if name in ASKED
            ]
            if DRIFT in wanted.probes:
                trials.append(
                    drift_trial(drawn, self.ledger, n=wanted.n, seed=wanted.seed, day=wanted.day)
                )
            made.append(AuditQuestion(one, trials))
        if not made:
            raise SettingsError(f"{self.opened.folder.path}: no labeller is asked anything here.")
        return made

    def plans(self, *, retry_failed: bool = False) -> TitledPlans:
        """What is to be asked that the ledger does not know."""
        return [
            (one.of.task.name, one.plan(self.ledger, retry_failed=retry_failed))
            for one in self.questions
            if any(each.asks for each in one.trials)
        ]

    def ask(
        self, *, progress: Progress, budget: float | None = None, retry_failed: bool = False
    ) -> Tally:
        """Ask it, within ``budget`` US dollars (else that of ``[judging]``). Raises as
        :meth:`assay.api.opened.Opened.judge` does."""
        judging = self.opened.folder.config.judging
        limit = budget if budget is not None else judging.budget
        if limit is not None:
            require_prices([one.of.labeller for one in self.questions])
        return judge(
            self.plans(retry_failed=retry_failed), self.ledger, progress=progress, budget=limit,
            give_up_after=judging.give_up_after,
        )  # fmt: skip

    def findings(self) -> list[Finding]:
        """What came of it, in the order of the probes; asks nobody."""
        found = [one for each in self._found() for one in each]
        silent = [name for name in self.wanted.probes if all(one.probe != name for one in found)]
        found += [Finding(name, "", "", "", note="nothing here is of that kind") for name in silent]
        place = {name: at for at, name in enumerate(ALL)}
        return sorted(found, key=lambda one: place[one.probe])

    def _found(self) -> Iterator[Iterator[Finding]]:
        wanted, ledger = self.wanted, self.ledger
        for question in self.questions:
            labels = question.labels(ledger)
            for one in question.trials:
                if one.probe == DRIFT:
                    days = {(each.unit, each.sample): each for each in earlier(one.of, ledger)}
                    yield drift_findings(one, days, level=wanted.level)
                else:
                    yield findings(one, labels, level=wanted.level, seed=wanted.seed)
            if LENGTH in wanted.probes:
                yield length_slope(question.of, ledger, level=wanted.level, seed=wanted.seed)
            if SMALL in wanted.probes:
                yield small_differences(question.of, ledger, level=wanted.level, seed=wanted.seed)
        tables = [name for name in wanted.probes if name in TABLES]
        if tables:
            families, parts = self.families, self.opened.parts
            judges = list(dict.fromkeys(one.of.labeller.id.name for one in self.questions))
            corrected = list(corrected_together(parts, ledger, level=wanted.level))
            yield of_tables(
                corrected, tables, families=families, judges=judges, used=wanted.used,
                level=wanted.level,
            )  # fmt: skip
            if SELF in tables:
                yield of_judges(
                    parts, ledger, corrected, judges, families,
                    level=wanted.level, seed=wanted.seed,
                )  # fmt: skip
            if CIRCLE in tables:
                made = list(judged_runs(parts, ledger, level=wanted.level))
                yield of_judged_run(made, judges, wanted.level)
