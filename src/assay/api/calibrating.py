"""Fit embedded judges to people's labels of a folder: ``assay calibrate``."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from assay.labellers.judge.labeller import JudgeLabeller
from assay.labellers.judge.local import Local, file_name, read_local
from assay.labellers.judge.packages import JUDGES, JudgePackage
from assay.labellers.judge.texts import Ability
from assay.ledger import Ledger
from assay.ledger.policy import Policy, choose, for_all, people_differ
from assay.measures.confidence import confidence_measures
from assay.model.errors import SettingsError
from assay.model.labels import Label, LabellerId
from assay.protocols.folder import Folder
from assay.protocols.output import json_bytes, write_bytes
from assay.systems.recalibration import Calibration, Linear, cross_validated, fit
from assay.tasks.r2c2 import ANSWER, ENTAILMENT, RELEVANCE
from assay.tasks.registry import REGISTRY
from assay.tasks.trec_rag import SUPPORT

LEAST = 50
"""Least number of units of an ability labelled by both people and the judge to fit a map."""
LEAST_EITHER = 10
"""Least number of these units that must be yes, and least number that must be no."""

_SAID: Mapping[str, tuple[Ability, str, Any]] = {
    ENTAILMENT.name: (Ability.E, "entailed", True),
    SUPPORT.name: (Ability.E, "support", "full"),
    RELEVANCE.name: (Ability.A, "relevant", True),
    ANSWER.name: (Ability.C, "correct", True),
}
"""Task → ability, and the field and value of its verdict that mean yes."""


@dataclass(frozen=True, slots=True)
class Fitted:
    """The fit of one ability: the number of units, and of those labelled yes by people; measures
    ``before`` and ``after`` the fit (cross-validated) by name; and the map, or ``why_not``."""

    ability: Ability
    units: int
    yes: int
    before: Mapping[str, float | None]
    after: Mapping[str, float | None]
    fitted: Linear | None
    why_not: str = ""


@dataclass(frozen=True, slots=True)
class Calibrated:
    """What a judge learnt for each ability that people labelled, and the file written.
    ``outdated`` counts units labelled by people that the judge labelled only under former rules or
    texts, ``differ`` units on which people disagree. ``why_not`` is the reason if nothing was
    fitted."""

    judge: JudgePackage
    abilities: tuple[Fitted, ...]
    output: Path | None = None
    outdated: int = 0
    differ: int = 0
    why_not: str = ""

    def document(self) -> dict[str, Any]:
        """The JSON document."""
        return {
            "judge": self.judge.name,
            "version": None if self.judge.missing() else self.judge.settings.version,
            "abilities": {
                one.ability.value: {
                    "units": one.units, "yes": one.yes, "before": one.before, "after": one.after,
                    **({} if one.fitted is None else one.fitted.parameters),
                    **({"why_not": one.why_not} if one.why_not else {}),
                }
                for one in self.abilities
            },
            "outdated": self.outdated,
            "differ": self.differ,
            "output": None if self.output is None else str(self.output),
            **({"why_not": self.why_not} if self.why_not else {}),
        }  # fmt: skip


def calibrate(folder: Path, *, dry_run: bool = False) -> list[Calibrated]:
    """Fit threshold, prior and slope of each embedded judge that labelled ``folder`` to people's
    labels, and save them there, unless ``dry_run``. Raises SettingsError if no unit is labelled by
    both a person and a judge."""
    opened = Folder.open(folder)
    with opened.open_ledger(create=False) as ledger:
        ledger.checked()  # raises for a damaged ledger before a judge is fitted to it
        who = list(ledger.labellers().values())
        names = {str(one.params.get("calibration")) for one in who}
        asked = {one.name for one in who}
        judges = [judge for judge in JUDGES.values() if judge.labeller in asked]
        policy = for_all([*map(Policy.parse, opened.own_policies)]).of_drawn(_SAID)
        pairs = {
            judge.name: _pairs(ledger, judge, policy) for judge in judges if not judge.missing()
        }
    found = []
    for judge in judges:
        if absent := judge.missing():
            found.append(Calibrated(judge, (), why_not=absent))
        else:
            own = pairs[judge.name]
            found.append(_calibrated(judge, own, folder, names, dry_run=dry_run))
    if not any(one.abilities for one in found):
        cure = " ".join(f"{one.judge.labeller}: {one.why_not}" for one in found) or _NEITHER
        raise SettingsError(
            f"{folder}: no unit has labels by both a person and an embedded judge. {cure}"
        )
    return found


_NEITHER = (
    f"Let people label {LEAST} to 200 units ('assay draw', 'assay ui'), and run 'assay judge'."
)


class _Pairs(NamedTuple):
    """A judge's probabilities and people's verdicts by ability; the number of units on which people
    disagree; and the number the judge labelled only in a former state."""

    by_ability: Mapping[Ability, tuple[Sequence[float], Sequence[bool]]]
    differ: int
    outdated: int


def _calibrated(
    judge: JudgePackage, pairs: _Pairs, folder: Path, names: Collection[str], *, dry_run: bool
) -> Calibrated:
    """Fit one judge and write its file."""
    taught, differ, outdated = pairs
    if not taught:
        why = (
            f"It labelled {outdated} that people did, but in an earlier form: 'assay judge' asks "
            "again for those still needed."
            if outdated
            else _NEITHER
        )
        return Calibrated(judge, (), outdated=outdated, differ=differ, why_not=why)
    found = tuple(_fitted(judge, one, *map(np.array, taught[one])) for one in sorted(taught))
    output = folder / judge.taught
    known = _known(output, judge)
    usable = {
        one.ability.value: {**_as_before(one.fitted, known, one.ability), "units": one.units}
        for one in found
        if one.fitted is not None
    }
    if not usable or dry_run:
        return Calibrated(judge, found, outdated=outdated, differ=differ)
    write_bytes(output, _document(usable, known, names))
    return Calibrated(judge, found, output, outdated, differ)


def _document(usable: Mapping[str, Any], known: Local, names: Collection[str]) -> bytes:
    """The contents of the file. Earlier versions wrote it without ``named``, and labels hold its
    digest: if the ledger knows that digest (``names``) and no other maps are named, it is written
    that way again, so that the labels stay valid."""
    document = {"judge": known.judge.edition, "abilities": usable}
    as_earlier = json_bytes(document)
    if not known.named and file_name(as_earlier) in names:
        return as_earlier
    return json_bytes({**document, "named": dict(known.named)})


def _known(path: Path, judge: JudgePackage) -> Local:
    """What was learnt before; empty if another judge's or unreadable, as it is overwritten."""
    nothing = Local({}, judge=judge)
    with suppress(SettingsError):
        return read_local(path, judge) or nothing
    return nothing


def _as_before(fitted: Linear, known: Local, ability: Ability) -> dict[str, float]:
    """The map, or the previous one if they differ only by rounding, so that labels stay valid."""
    parameters = fitted.parameters
    before = known.maps.get(ability)
    if before is None or not np.allclose((fitted.slope, fitted.shift), before, rtol=1e-9, atol=0):
        return parameters
    return {**parameters, "slope": before[0], "shift": before[1]}


def _pairs(ledger: Ledger, judge: JudgePackage, policy: Policy) -> _Pairs:
    """A judge's own probabilities of yes (the newest for each unit), and people's verdicts on the
    same units. Probabilities of labels on which the judge abstained count, as doubtful cases say
    most about the threshold. Labels decided by a rule do not count, nor those given under other
    rules, texts or settings, as the map applies to current probabilities."""
    people: dict[tuple[str, str], list[Label]] = {}
    said: dict[tuple[str, str], float] = {}
    now, outdated = _probabilities_of(JudgeLabeller(judge).id), set[tuple[str, str]]()
    answered = set[tuple[str, str]]()
    for label in ledger.labels(list(_SAID)):
        key = (label.task, label.unit)
        if label.version != REGISTRY[label.task].version:
            continue
        if policy.rank(label, None):
            people.setdefault(key, []).append(label)
        elif label.labeller.name != judge.labeller:
            continue
        elif _probabilities_of(label.labeller) != now:
            outdated.add(key)
        else:
            answered.add(key)
            said.pop(key, None)
            for ruling in (
                () if label.detail.get("by_rule") else label.detail.get("rulings", ())[:1]
            ):
                if ruling["windows"] and ruling["ability"] == _SAID[label.task][0]:
                    said[key] = float(ruling.get("unfitted", ruling["yes"]))
    found: dict[Ability, tuple[list[float], list[bool]]] = defaultdict(lambda: ([], []))
    differ = 0
    for key in sorted(people.keys() & said.keys()):
        differ += people_differ(people[key], policy, None)
        counts = choose(people[key], policy, None)
        if counts is None or counts.verdict is None:
            continue
        ability, field, yes = _SAID[key[0]]
        found[ability][0].append(said[key])
        found[ability][1].append(counts.verdict.get(field) == yes)
    return _Pairs(found, differ, len((outdated - answered) & people.keys()))


def _probabilities_of(who: LabellerId) -> dict[str, Any]:
    """The parameters that a judge's probabilities depend on, not those applied afterwards."""
    return {key: one for key, one in who.params.items() if key not in ("calibration", "abstains")}


def _fitted(
    judge: JudgePackage, ability: Ability, p: np.ndarray[Any, Any], truth: np.ndarray[Any, Any]
) -> Fitted:
    yes = int(truth.sum())
    if len(p) < LEAST or min(yes, len(p) - yes) < LEAST_EITHER:
        why = (
            f"{len(p)} units, {yes} of them yes: at least {LEAST} are needed, {LEAST_EITHER} of "
            "each"
        )
        return Fitted(ability, len(p), yes, {}, {}, None, why)
    before = _measures(p, truth, judge.settings.threshold(ability))
    crossed = cross_validated(Calibration.PLATT, p, truth)
    after = _measures(crossed, truth, 0.5)
    fitted = fit(Calibration.PLATT, p, truth)
    if not isinstance(fitted, Linear) or fitted.slope <= 0:
        why = "the judge's probabilities do not agree with what people say"
        return Fitted(ability, len(p), yes, before, after, None, why)
    if float(after["Brier"] or 0) >= float(before["Brier"] or 0):
        why = "the fit is no better on units that it was not fitted on (Brier)"
        return Fitted(ability, len(p), yes, before, after, None, why)
    return Fitted(ability, len(p), yes, before, after, fitted)


def _measures(
    p: np.ndarray[Any, Any], truth: np.ndarray[Any, Any], cut: float
) -> dict[str, float | None]:
    known = confidence_measures(p, truth)
    said = p > cut
    return {
        "agreement": float((said == truth).mean()),
        "balanced": float((said[truth].mean() + (~said[~truth]).mean()) / 2),
        "ECE": known["ECE"],
        "Brier": known["Brier"],
    }
