"""A narrative's nuggets under a person's control."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path

from assay.api.nugget_edits import Edited, edit_nuggets
from assay.api.opened import Opened
from assay.formats.nugget_text import NuggetLine, nugget_text, parse_nugget_text
from assay.formats.parsed import Parsed
from assay.formats.text import read_text
from assay.model.errors import SettingsError
from assay.model.wording import listed
from assay.protocols.trec_rag.bank import Bank
from assay.protocols.trec_rag.inputs import TrecRagInputs, TrecRagSettings

Lines = tuple[NuggetLine, ...]
Reader = Callable[..., Parsed[Lines]]
"""Reads an edited text, perhaps of a ``file``; all its faults come at once."""
Edit = Callable[[str, Reader], Lines]
"""What becomes of a text that shows nuggets."""


def edit_narrative(opened: Opened, topic: str, name: str | None, edit: Edit) -> Edited | str:
    """What a person, ``name``, changed of a narrative's nuggets, as labels; without a name, the
    text that would be edited. Raises SettingsError where there are no nuggets."""
    (evaluation, *others) = opened.parts.values()
    inputs, settings = evaluation.inputs, evaluation.settings
    if others or not isinstance(inputs, TrecRagInputs) or not isinstance(settings, TrecRagSettings):
        raise SettingsError(
            f"{opened.folder.path} is not a trec-rag evaluation, so that it has no nuggets."
        )
    if topic not in inputs.narratives:
        known = listed(inputs.topics, 20)
        raise SettingsError(f"There is no narrative '{topic}'; there are {known}.")
    with opened.folder.open_ledger() as ledger:
        ledger.checked()  # before anybody's label takes the place of another
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
        return edit_nuggets(bank[topic], ledger, edit(text, read), name)


def from_file(path: Path) -> Edit:
    """Edits that stand in a file. Raises FormatError with all its faults."""
    return lambda _text, read: read("\n".join(read_text(path).lines), file=str(path)).require()
