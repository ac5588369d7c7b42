"""Post-editing of nuggets by a person: every change becomes a label with its parent."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from assay.formats.nugget_text import NuggetLine
from assay.ledger import Ledger, NewLabel
from assay.model.errors import SettingsError
from assay.model.labels import LabellerId, Status
from assay.protocols.trec_rag.bank import StandingNugget, TopicBank
from assay.tasks.base import canonical, content_hash, unit_hash
from assay.tasks.trec_rag_nuggets import EDIT, EditedNugget, NuggetEdit

Becomes = tuple[tuple[str, str | None, str | None], ...]


@dataclass(frozen=True)
class Edited:
    """What an edit did: nuggets reworded (or otherwise changed), split, merged, dropped, added."""

    changed: int = 0
    split: int = 0
    merged: int = 0
    dropped: int = 0
    added: int = 0
    labels: int = 0


def edit_nuggets(bank: TopicBank, ledger: Ledger, lines: Sequence[NuggetLine], name: str) -> Edited:
    """Write what a person made of a topic's nuggets into the ledger.

    Each nugget of the machine's list whose outcome changed gets a new label by ``human:NAME``;
    its parent (``overrules``) is the person's label before it, else the label of the list that the
    nugget came from. Raises SettingsError where the topic has no list yet.
    """
    standing, listed = bank.nuggets, bank.machine_list
    if standing is None or listed is None:
        raise SettingsError(f"Narrative {bank.topic} has no nuggets yet. Run 'assay judge' first.")
    who = LabellerId(f"human:{name}", "human", {})
    labels: list[NewLabel] = []
    now = {root: _becomes(standing, root) for root in ("", *(one.text for one in listed))}
    for root, before in now.items():
        after = tuple(_as_nugget(line) for line in lines if root in _roots(line, standing))
        if after == before:
            continue
        told = bank.edits.get(root, bank.made_by if root else None)
        overrules = None if told is None else next(ledger.whole([told])).uid
        labels.append(_label(bank, root, after, who, overrules))
    ledger.add(labels)
    return _count(standing, lines, len(labels))


def _roots(line: NuggetLine, standing: Sequence[StandingNugget]) -> tuple[str, ...]:
    """The machine's nuggets that a line comes from; the empty one for what was added."""
    found: dict[str, None] = {}
    for number in line.numbers:
        found.update(dict.fromkeys(standing[number - 1].roots or ("",)))
    return tuple(found) or ("",)


def _becomes(standing: Sequence[StandingNugget], root: str) -> Becomes:
    return tuple(
        (
            one.nugget.text,
            one.nugget.importance.value if one.nugget.importance else None,
            one.nugget.sub_narrative,
        )
        for one in standing
        if root in (one.roots or ("",))
    )


def _as_nugget(line: NuggetLine) -> tuple[str, str | None, str | None]:
    importance = line.importance.value if line.importance else None
    return (line.text, importance, line.sub_narrative)


def _label(
    bank: TopicBank,
    root: str,
    after: Becomes,
    who: LabellerId,
    overrules: str | None,
) -> NewLabel:
    content = bank.edit_unit(root).model_dump(mode="json")
    verdict = NuggetEdit(
        becomes=tuple(
            EditedNugget.model_validate(
                {"text": text, "importance": importance, "sub_narrative": aspect}
            )
            for text, importance, aspect in after
        )
    )
    asked = [EDIT.name, EDIT.version, content, who.name, who.kind, {}]
    return NewLabel(
        key=content_hash(canonical(asked)),
        task=EDIT.name,
        version=EDIT.version,
        unit=unit_hash(EDIT.name, content),
        content=content,
        labeller=who,
        status=Status.OK,
        verdict=verdict.model_dump(mode="json"),
        overrules=overrules,
    )


def _count(standing: Sequence[StandingNugget], lines: Sequence[NuggetLine], labels: int) -> Edited:
    uses = [number for line in lines for number in line.numbers]
    changed = 0
    for line in lines:
        if len(line.numbers) == 1 and uses.count(line.numbers[0]) == 1:
            nugget = standing[line.numbers[0] - 1].nugget
            before = (nugget.text, nugget.importance, nugget.sub_narrative)
            changed += before != (line.text, line.importance, line.sub_narrative)
    return Edited(
        changed=changed,
        split=sum(uses.count(number) > 1 for number in set(uses)),
        merged=sum(len(line.numbers) > 1 for line in lines),
        dropped=sum(number not in uses for number in range(1, len(standing) + 1)),
        added=sum(not line.numbers for line in lines),
        labels=labels,
    )
