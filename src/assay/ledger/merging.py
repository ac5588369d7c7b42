"""The labels of one ledger added to another's: shards that met nowhere, people who worked apart;
and to an empty one, under other names of people."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence, Set
from dataclasses import replace
from itertools import islice
from typing import Any, NamedTuple

from assay.ledger.exchange import key_of, person, spelt_alike
from assay.ledger.ledger import Ledger, NewLabel
from assay.model.errors import LedgerError
from assay.model.labels import Label, Status, without_reasons
from assay.model.progress import with_progress
from assay.model.wording import joined

_AT_ONCE = 5000  # labels that are written together


class Merged(NamedTuple):
    """How many labels and draws were ``added``, how many were ``known``; how many of the added
    count as a person's newest word although the same person has ``later`` said otherwise; how many
    are by people (``namesakes``) on units that people of these names had labelled elsewhere; and
    how many are ``second`` answers of a labeller to a question that it had answered already, at a
    ``cost`` in US dollars as far as that is known."""

    added: int
    known: int
    draws: int
    later: int
    namesakes: Mapping[str, int]
    second: int
    cost: float


def merge(target: Ledger, source: Ledger) -> Merged:
    """Add the labels and draws of ``source`` that ``target`` lacks, behind its own. To do so twice
    adds nothing. Raises LedgerError where either is not as it was written."""
    target.checked()
    source.checked()
    added, known, later, second, cost = 0, 0, 0, 0, 0.0
    namesakes = Counter[str]()
    labels = with_progress(source.labels(), "labels merged", source.size(), target.told)
    while some := list(islice(labels, _AT_ONCE)):
        contents = source.contents({one.unit for one in some})
        said = _said(target, {one.unit for one in some if one.labeller.is_human})
        free = target.by_key((one.unit, one.key) for one in some if one.labeller.is_free)
        wanted = [one for one in some if not _is_told(one, free.get(one.key))]
        asked = ((one.unit, one.key) for one in wanted if not one.labeller.is_human)
        answered = target.statuses(asked)
        new = set(target.add(_as_it_is(one, contents[one.unit]) for one in wanted))
        added, known = added + len(new), known + len(some) - len(new)
        later += sum(one.uid in new and _overtaken(one, said) for one in some)
        theirs = {one.uid for one in source.of_units({one.unit for one in some})} if said else set()
        for one in some:
            before = said.get((one.unit, one.labeller.name), ())
            if one.uid in new and any(own.uid not in theirs for own in before):
                namesakes[one.labeller.name] += 1
        for one in some:
            if one.uid in new and answered.get(one.key) is Status.OK:
                second, cost = second + 1, cost + (one.cost or 0.0)
    draws = sum(map(target.add_draw, source.draws()))
    target.checked()
    return Merged(added, known, draws, later, namesakes, second, cost)


def check_names(source: Ledger, names: Mapping[str, str], left_out: Set[str]) -> None:
    """Raise LedgerError where nobody in ``source`` has such a name, or is to be ``left_out``, or
    somebody else has or gets the new one. Whose name is the same in another spelling is nobody
    else."""
    people = _people_of(source)
    for name in sorted({*names, *left_out} - people):
        there = joined(sorted(people)) or "nobody"
        raise LedgerError(f"{source.name}: {name} gave no label. People there: {there}.")
    for name, other in names.items():
        others = {one for one in people - {name} if not spelt_alike(name, [one])}
        got = {names[one] for one in others & names.keys()}
        if other in others | got or spelt_alike(other, others | got):
            raise LedgerError(
                f"{source.name}: {other} is another person there. Choose another name."
            )


def _people_of(source: Ledger) -> set[str]:
    """The names of all people who gave a label."""
    return {who.name for who in source.labellers().values() if who.is_human}


def renamed(target: Ledger, source: Ledger, names: Mapping[str, str], left_out: Set[str]) -> int:
    """Write what ``source`` holds into ``target``, which is empty, but for the labels of people who
    are ``left_out``, and return how many labels those are: people in ``names`` have the other name
    there, and, unless that is the same in another spelling, their labels no reasons, which they
    wrote. Ids that hang on a name are made anew wherever they stand. Raises LedgerError where the
    source is not as it was written."""
    source.checked()
    if target.size():
        raise LedgerError(f"{target.name} holds labels: copy into a new ledger.")
    anew: dict[str, str] = dict(names)

    def under_new_names(value: Any) -> Any:
        if isinstance(value, Mapping):
            return {name: under_new_names(one) for name, one in value.items()}
        if isinstance(value, list | tuple):
            return [under_new_names(one) for one in value]
        return anew.get(value, value) if isinstance(value, str) else value

    gone = {who for who in _people_of(source) if who in left_out or spelt_alike(who, left_out)}
    stay = (one for one in source.labels() if one.labeller.name not in gone)
    labels = with_progress(stay, "labels copied", source.size(), target.told)
    while some := list(islice(labels, _AT_ONCE)):
        contents, new = source.contents({one.unit for one in some}), []
        for one in some:
            label = replace(
                _as_it_is(one, contents[one.unit]),
                overrules=under_new_names(one.overrules), detail=under_new_names(one.detail),
            )  # fmt: skip
            if one.labeller.name in names:
                who = person(names[one.labeller.name])
                key = key_of(label.task, label.version, label.content, who)
                label = replace(label, labeller=who, key=key)
                if not spelt_alike(one.labeller.name, [who.name]):
                    verdict = one.verdict and without_reasons(one.verdict)
                    label = replace(label, verdict=verdict, reason=None)
            uid = label.uid(one.created)
            if uid != one.uid:
                anew[one.uid] = uid
            new.append(label)
        target.add(new)
    for draw in source.draws():
        target.add_draw(draw)
    return target.checked().labels


def _is_told(label: Label, before: Label | None) -> bool:
    """Whether a labeller that costs nothing, which every shard asks, said the same ``before``."""
    return before is not None and label.labeller.is_free and label.verdict == before.verdict


def _as_it_is(label: Label, content: Mapping[str, Any]) -> NewLabel:
    fields = label._asdict()
    del fields["uid"], fields["rowid"]
    return NewLabel(**fields, content=content)


def _said(ledger: Ledger, units: Set[str]) -> Mapping[tuple[str, str], Sequence[Label]]:
    """What people said of units, by unit and person."""
    found: dict[tuple[str, str], list[Label]] = {}
    for one in ledger.of_units(units):
        if one.labeller.is_human:
            found.setdefault((one.unit, one.labeller.name), []).append(one)
    return found


def _overtaken(label: Label, said: Mapping[tuple[str, str], Sequence[Label]]) -> bool:
    """Whether the same person has said otherwise of the same unit later."""
    return any(
        own.created > label.created and own.verdict != label.verdict
        for own in said.get((label.unit, label.labeller.name), ())
    )
