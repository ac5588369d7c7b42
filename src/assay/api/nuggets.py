"""Edit the nuggets of a narrative by hand."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from assay.api.opened import Opened
from assay.formats.nugget_text import NuggetLine, nugget_text, parse_nugget_text
from assay.formats.parsed import Parsed
from assay.formats.text import read_text
from assay.ledger import Ledger, NewLabel
from assay.ledger.exchange import person_label
from assay.model.errors import SettingsError
from assay.model.labels import LabellerId
from assay.model.trec_rag import RagNugget
from assay.model.wording import joined
from assay.protocols.trec_rag.bank import Bank, CurrentNugget, TopicBank
from assay.protocols.trec_rag.inputs import TrecRagInputs, TrecRagSettings
from assay.tasks.trec_rag_nuggets import EDIT, NuggetEdit

Lines = tuple[NuggetLine, ...]
Reader = Callable[..., Parsed[Lines]]
"""Parses an edited text, optionally from a ``file``, and reports all its faults at once."""
Edit = Callable[[str, Reader], Lines]
"""Has a text of nuggets edited and returns the parsed lines."""


def edit_narrative(opened: Opened, topic: str, name: str | None, edit: Edit) -> Edited | str:
    """Have a person, ``name``, edit a narrative's nuggets, and save the changes as labels. Without
    a name, return the text to edit. Raises SettingsError if there are no nuggets."""
    (evaluation, *others) = opened.parts.values()
    inputs, settings = evaluation.inputs, evaluation.settings
    if others or not isinstance(inputs, TrecRagInputs) or not isinstance(settings, TrecRagSettings):
        raise SettingsError(
            f"{opened.folder.path} is not a trec-rag evaluation, so it has no nuggets."
        )
    if topic not in inputs.narratives:
        known = joined(inputs.topics, 20)
        raise SettingsError(f"There is no narrative '{topic}'; narratives: {known}.")
    with opened.folder.open_ledger() as ledger:
        ledger.checked()  # raises for a damaged ledger before a label overrules another
        bank = Bank(inputs, settings, evaluation.book(ledger))
        nuggets = bank[topic].nuggets
        if nuggets is None:
            raise SettingsError(f"Narrative {topic} has no nuggets yet. Run 'assay judge' first.")
        text = nugget_text(
            topic,
            bank[topic].narrative or "",
            [one.nugget for one in nuggets],
            [one.text for one in bank[topic].aspects or ()],
        )
        if name is None:
            return text
        read = partial(parse_nugget_text, count=len(nuggets))
        return _write_edits(bank[topic], nuggets, ledger, edit(text, read), name)


def from_file(path: Path) -> Edit:
    """Take the edited text from a file. Raises FormatError with all its faults, SettingsError if it
    is empty, as an unsaved file would be."""

    def edit(_text: str, read: Reader) -> Lines:
        text = "\n".join(read_text(path).sound().lines)
        if not text.strip():
            raise SettingsError(f"{path} is empty. To drop all nuggets, delete only their lines.")
        return read(text, file=str(path)).require()

    return edit


_Becomes = tuple[tuple[str, str | None, str | None], ...]


@dataclass(frozen=True)
class Edited:
    """Numbers of nuggets changed (reworded or otherwise), split, merged, dropped and added."""

    changed: int = 0
    split: int = 0
    merged: int = 0
    dropped: int = 0
    added: int = 0
    labels: int = 0


def _write_edits(
    bank: TopicBank,
    standing: Sequence[CurrentNugget],
    ledger: Ledger,
    lines: Sequence[NuggetLine],
    name: str,
) -> Edited:
    """Write a person's edits of a topic's nuggets to the ledger.

    Each nugget of the machine's list whose outcome changed gets a new label by ``human:NAME``. It
    overrules the person's previous label, or else the label of the list the nugget came from.
    """
    who = LabellerId(f"human:{name}", "human", {})
    labels: list[NewLabel] = []
    for root in ("", *(one.text for one in bank.machine_list or ())):
        before = _becomes(one.nugget for one in standing if root in (one.roots or ("",)))
        after = _becomes(one for one in lines if root in _roots(one, standing))
        if after == before:
            continue
        previous = bank.edits.get(root, bank.made_by if root else None)
        verdict = {"becomes": [dict(zip(_FIELDS, one, strict=True)) for one in after]}
        labels.append(
            person_label(
                who,
                EDIT,
                bank.edit_unit(root).model_dump(mode="json"),
                NuggetEdit.model_validate(verdict).model_dump(mode="json"),
                overrules=None if previous is None else next(ledger.whole([previous])).uid,
            )
        )
    ledger.add(labels)
    return _counted(standing, lines, len(labels))


_FIELDS = ("text", "importance", "sub_narrative")


def _becomes(nuggets: Iterable[RagNugget | NuggetLine]) -> _Becomes:
    return tuple(
        (one.text, one.importance.value if one.importance else None, one.sub_narrative)
        for one in nuggets
    )


def _roots(line: NuggetLine, standing: Sequence[CurrentNugget]) -> tuple[str, ...]:
    """The machine's nuggets that a line comes from; ``("",)`` if it was added."""
    roots = (root for number in line.numbers for root in standing[number - 1].roots or ("",))
    return tuple(dict.fromkeys(roots)) or ("",)


def _counted(standing: Sequence[CurrentNugget], lines: Sequence[NuggetLine], labels: int) -> Edited:
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
