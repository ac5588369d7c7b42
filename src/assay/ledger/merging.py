"""Merging ledgers (of shards, or of people who worked apart), and copying one into an empty ledger
with people renamed or left out."""

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

_AT_ONCE = 5000  # labels written together


class Merged(NamedTuple):
    """The result of a merge: labels ``added`` and ``known``, and ``draws`` added.

    Of the added labels, ``later`` counts those that become a person's newest although the same
    person gave another verdict later; ``namesakes`` those on units that a person of the same name
    had labelled elsewhere, by name; ``second`` a labeller's repeated answers to a question, and
    ``cost`` the US dollars these cost, as far as known."""

    added: int
    known: int
    draws: int
    later: int
    namesakes: Mapping[str, int]
    second: int
    cost: float


def merge(target: Ledger, source: Ledger) -> Merged:
    """Append the labels and draws of ``source`` that ``target`` lacks. Merging again adds nothing.
    Raises LedgerError if either ledger was changed."""
    target.checked()
    source.checked()
    added, known, later, second, cost = 0, 0, 0, 0, 0.0
    namesakes = Counter[str]()
    labels = with_progress(source.labels(), "labels merged", source.size(), target.progress)
    while some := list(islice(labels, _AT_ONCE)):
        contents = source.contents({one.unit for one in some})
        said = _labels_by_person(target, {one.unit for one in some if one.labeller.is_human})
        free = target.by_key((one.unit, one.key) for one in some if one.labeller.is_free)
        wanted = [one for one in some if not _is_repeated_free(one, free.get(one.key))]
        asked = ((one.unit, one.key) for one in wanted if not one.labeller.is_human)
        answered = target.statuses(asked)
        new = set(target.add(_as_it_is(one, contents[one.unit]) for one in wanted))
        added, known = added + len(new), known + len(some) - len(new)
        later += sum(one.uid in new and _has_later_verdict(one, said) for one in some)
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
    """Raise LedgerError if ``source`` has nobody of a name to be changed or ``left_out``, or if
    another person has or gets a new name. Different spellings of a name are one person."""
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
    """Copy ``source`` into ``target``, which must be empty, with people renamed by ``names`` and
    without the labels of people ``left_out``. Returns the number of labels copied. Reasons that
    renamed people wrote are removed, unless the new name is only another spelling. Ids that depend
    on a name are replaced everywhere. Raises LedgerError if the source was changed."""
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
    labels = with_progress(stay, "labels copied", source.size(), target.progress)
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


def _is_repeated_free(label: Label, before: Label | None) -> bool:
    """Whether a free labeller, which every shard asks, gave the same verdict ``before``."""
    return before is not None and label.labeller.is_free and label.verdict == before.verdict


def _as_it_is(label: Label, content: Mapping[str, Any]) -> NewLabel:
    fields = label._asdict()
    del fields["uid"], fields["rowid"]
    return NewLabel(**fields, content=content)


def _labels_by_person(ledger: Ledger, units: Set[str]) -> Mapping[tuple[str, str], Sequence[Label]]:
    """People's labels of units, by unit and person."""
    found: dict[tuple[str, str], list[Label]] = {}
    for one in ledger.of_units(units):
        if one.labeller.is_human:
            found.setdefault((one.unit, one.labeller.name), []).append(one)
    return found


def _has_later_verdict(label: Label, said: Mapping[tuple[str, str], Sequence[Label]]) -> bool:
    """Whether the same person gave another verdict on the same unit later."""
    return any(
        own.created > label.created and own.verdict != label.verdict
        for own in said.get((label.unit, label.labeller.name), ())
    )
