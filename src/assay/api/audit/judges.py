"""Favouritism among judges, for folders in which the ledger has labels by more than one.

How much more does a judge prefer runs of its own family than judges of other families, or people,
do? If a family is simply better, all judges see it and the difference cancels it out. Any remainder
may be the fault of this judge or of the others; only people's labels can tell.

Source of the question: the R2C2 overview (Sakai et al. 2025), sections 2.3 and 4.2; Panickssery,
Bowman & Feng 2024.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from assay.api.audit.findings import RESAMPLES, Finding, low_high
from assay.api.audit.people import SELF, of_families
from assay.api.corrected import Corrected, family_of
from assay.api.correcting import Evaluations
from assay.api.results import prefix_of
from assay.ledger import Ledger
from assay.ledger.policy import Policy
from assay.measures.arrays import Floats
from assay.measures.bootstrap import mean_interval
from assay.model.wording import counted, joined
from assay.protocols.evaluation import Evaluation
from assay.protocols.results import Findings


@dataclass(frozen=True)
class JudgedApart:
    """An evaluation scored separately with the labels of each of several ``judges``."""

    part: Evaluation
    ledger: Ledger
    judges: Sequence[str]

    @cached_property
    def findings(self) -> Mapping[str, Findings]:
        """Findings by judge."""
        part = self.part.quick()
        return {
            one: replace(part, policy=Policy.parse(f"only:{one}")).score(self.ledger).findings
            for one in self.judges
        }

    def tables(self, measure: str) -> tuple[tuple[str, ...], dict[str, Floats]]:
        """The runs, and each judge's values (runs × topics, NaN where a topic is undefined). Only
        judges without missing labels are included."""
        found: dict[str, Floats] = {}
        runs: tuple[str, ...] = ()
        for judge, one in self.findings.items():
            runs = tuple(run for run, by in one.per_topic.items() if measure in by)
            cells = [[one.per_topic[run][measure].get(t) for t in one.topics] for run in runs]
            if runs and all(v is None or v.value is not None for row in cells for v in row):
                found[judge] = np.array(
                    [[np.nan if v is None else v.value for v in row] for row in cells], dtype=float
                )
        return runs, found

    def scores(self, judge: str, measure: str, runs: Sequence[str]) -> Floats | None:
        """The runs' scores by one judge alone, or None if labels are missing."""
        found = self.findings[judge].scores
        values = [found[run][measure].value if measure in found.get(run, {}) else None
                  for run in runs]  # fmt: skip
        return None if None in values else np.array(values, dtype=float)


def of_judges(
    evaluations: Evaluations,
    ledger: Ledger,
    corrected: Sequence[Corrected | str],
    configured: Sequence[str],
    families: Mapping[str, str],
    *,
    level: float,
    seed: int,
) -> Iterator[Finding]:
    """Compare each judge of a named family with the other judges and with people, for each measure
    with enough of its labels. ``corrected`` holds people's corrected scores; for the ``configured``
    judges another probe reports that comparison. Empty if the ledger has one judge."""
    machines = (one for one in ledger.labellers().values() if not (one.is_human or one.is_audited))
    judges = sorted({one.name for one in machines})
    if len(judges) < 2:
        return
    known = {one.measure: one for one in corrected if isinstance(one, Corrected)}
    for name, part in evaluations.items():
        prefix = prefix_of(name, evaluations)
        apart = JudgedApart(part, ledger, judges)
        boards = apart.findings[judges[0]].boards
        for board, measure in ((one, m) for one in boards for m in one.measures):
            sign = -1.0 if measure in board.lower_is_better else 1.0
            own = Finding(SELF, "", prefix + measure, "")
            yield from _beside(own, apart, measure, families, sign, level, seed)
            one = known.get(prefix + measure)
            for judge in judges if one is not None else ():
                scores = None
                if one is not None and judge not in configured and family_of(judge, families):
                    scores = apart.scores(judge, measure, one.runs)
                if one is not None and scores is not None:
                    yield from of_families(
                        replace(own, labeller=judge), replace(one, judge=scores), families,
                        [judge], level,
                    )  # fmt: skip


def _beside(
    own: Finding,
    apart: JudgedApart,
    measure: str,
    families: Mapping[str, str],
    sign: float,
    level: float,
    seed: int,
) -> Iterator[Finding]:
    """Compare a judge with the judges of other families: the lead of its own family's runs over the
    other runs by its labels, less the same lead by their labels, averaged over topics."""
    runs, tables = apart.tables(measure)
    if len(tables) < 2:
        return
    first = next(iter(tables.values()))
    if all(np.array_equal(one, first, equal_nan=True) for one in tables.values()):
        return  # this measure does not depend on labels
    named = np.array([family_of(run, families) for run in runs])
    for judge in tables:
        family = family_of(judge, families)
        rivals = [one for one in tables if family_of(one, families) not in ("", family)]
        ours, others = named == family, (named != family) & (named != "")
        if not family or not ours.any() or not others.any() or not rivals:
            continue  # the comparison with people reports missing names
        gaps = {
            one: sign * (tables[one][ours].mean(axis=0) - tables[one][others].mean(axis=0))
            for one in (judge, *rivals)
        }
        beside = np.mean([gaps[one] for one in rivals], axis=0)
        defined = ~np.isnan(gaps[judge] - beside)
        more = (gaps[judge] - beside)[defined]
        if not len(more):
            continue
        interval = mean_interval(more, level=level, resamples=RESAMPLES, seed=seed)
        yield replace(
            own, variant=f"{family}, other judges", labeller=judge, n=len(more),
            before=float(beside[defined].mean()), after=float(gaps[judge][defined].mean()),
            figure="Δ (own − others) to other judges", value=float(more.mean()),
            note=(
                f"{counted(int(ours.sum()), 'run')} of the family, {others.sum()} of others; "
                f"compared with {joined(rivals, 3)}; n: topics"
            ), **low_high(interval),
        )  # fmt: skip
