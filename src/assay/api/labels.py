"""Find, export, compare and check the labels of a folder."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path
from typing import Any

import orjson

from assay.api.opened import Opened
from assay.api.reading import Note
from assay.ledger import Ledger, NewLabel
from assay.ledger.chain import Head
from assay.ledger.checking import GONE, MEND, LedgerFault
from assay.ledger.exchange import label_row
from assay.ledger.hashes import packed, unpacked
from assay.model.errors import AssayError, SettingsError
from assay.model.labels import Label, Status, without_reasons
from assay.model.progress import ProgressCallback, no_progress
from assay.model.wording import and_list, printable
from assay.protocols.folder import Folder, relative_to
from assay.protocols.manifest import MANIFEST, heads, read_manifest
from assay.protocols.places import WhereUsed
from assay.tasks.registry import REGISTRY

_FEW = 4
"""Lists of texts in a verdict are shown if shorter than this, otherwise only counted."""


def in_words(label: Label | NewLabel) -> str:
    """A verdict in a few characters."""
    if label.verdict is None:
        return "failed"
    parts = []
    known = REGISTRY.get(label.task)
    if known is not None and known.compared:
        whole = known.verdict.model_validate(label.verdict)
        parts.append(f"{known.compared} {getattr(whole, known.compared)}")
    for name, value in label.verdict.items():
        if name == "reason":
            continue
        if isinstance(value, bool):
            parts.append(f"{name} {'YES' if value else 'NO'}")
        elif isinstance(value, list):
            parts.append(_items(name, value))
        else:
            parts.append(str(value))
    return "; ".join(parts)


def _items(name: str, items: list[Any]) -> str:
    """A list within a verdict in words: counts by value, the texts, or just the number of items."""
    if all(isinstance(one, dict) and "helped" in one for one in items):
        helped = [str(one["nugget"]) for one in items if one["helped"]]
        return f"helped {','.join(helped) or 'none'}"
    if all(isinstance(one, bool) for one in items):
        return f"{sum(items)} of {len(items)} {name}"
    if all(isinstance(one, str) and len(one.split()) == 1 for one in items):
        return ", ".join(f"{count} {word}" for word, count in Counter(items).items())
    if len(items) < _FEW and all(isinstance(one, dict) and "text" in one for one in items):
        return " / ".join(str(one["text"]) for one in items)
    return f"{len(items)} {name.replace('_', ' ')}"


Content = Mapping[str, Any]
"""What a label is about, as plain JSON."""

MANY = 300_000
"""Number of labels above which places are left out: finding them needs scoring, which takes about
four kilobytes of memory per label."""

_NAMED = 5
"""Number of faults of a ledger named in a remark."""
_AT_ONCE = 1000
"""Number of labels searched together."""


@contextmanager
def shown_ledger(folder: Path, note: Note) -> Iterator[Ledger]:
    """Open the folder's ledger for reading; at the end, ``note`` is called if it is damaged. Raises
    LedgerError if there is none."""
    with Folder.open(folder).open_ledger(create=False) as ledger:
        yield ledger
        remark = faults_in_words(ledger)
    if remark:
        note(remark)


def faults_in_words(ledger: Ledger) -> str:
    """A remark on the damage of a ledger; empty if there is none."""
    faults = list(islice(ledger.faults(), _NAMED + 1))
    if not faults:
        return ""
    more = "; and more" if len(faults) > _NAMED else ""
    named = printable("; ".join(map(str, faults[:_NAMED])))
    return f"{named}{more}. No score uses this ledger. 'assay labels verify' lists every fault."


def where_used(open_folder: Callable[[], Opened], ledger: Ledger, note: Note) -> WhereUsed:
    """Where each label of a folder is used under its policy, including labels that people disagree
    on. Empty, with a note, if the inputs cannot be read."""
    if ledger.size() > MANY:
        note(f"more than {MANY:,} labels: the places that use them are left out.")
        return WhereUsed(())
    try:
        opened = open_folder().quick()
        results = [
            replace(one, policy=one.policy.under("people") if one.policy.settles else one.policy)
            .score(ledger)
            for one in opened.parts.values()
        ]  # fmt: skip
    except AssayError as error:
        note(f"the places that use labels are left out: {error}")
        return WhereUsed(())
    return WhereUsed(used for one in results for used in one.used)


def tasks_named(name: str | None) -> list[str] | None:
    """Full names of the tasks called ``name`` (in full, or by the last part), or None for all.
    Raises SettingsError if there is none."""
    if name is None:
        return None
    found = [task for task in REGISTRY if name in (task, task.rpartition(".")[2])]
    if not found:
        raise SettingsError(f"There is no task '{name}'. Tasks: {', '.join(REGISTRY)}.")
    return found


def found_labels(
    ledger: Ledger,
    *,
    task: str | None = None,
    by: str | None = None,
    status: Status | None = None,
    contains: str | None = None,
) -> Iterator[Label]:
    """Yield labels, oldest first, filtered by task, labeller, status, and text contained in the
    unit or reason."""
    who = None if by is None else ledger.named(by)
    chosen = (
        label
        for label in ledger.labels(tasks_named(task))
        if (who is None or label.labeller in who) and status in (None, label.status)
    )
    if contains is None:
        yield from chosen
        return
    wanted = contains.casefold()
    while some := list(islice(chosen, _AT_ONCE)):
        for label, content in with_contents(ledger, some):
            text = f"{orjson.dumps(dict(content)).decode()} {label.reason or ''}"
            if wanted in text.casefold():
                yield label


def with_contents(ledger: Ledger, labels: Collection[Label]) -> Iterator[tuple[Label, Content]]:
    """Each label with the content of its unit."""
    contents = ledger.contents({one.unit for one in labels})
    return ((one, contents[one.unit]) for one in labels)


def one_label(ledger: Ledger, uid: str) -> tuple[Label, Content, list[Label]]:
    """The label whose id begins with ``uid``, the content of its unit, and the other labels of that
    unit. Raises SettingsError if there is none, or several."""
    found = ledger.find(uid)
    if len(found) != 1:
        what = "No label's id begins" if not found else f"{len(found)} labels' ids begin"
        raise SettingsError(f"{what} with '{uid}'. 'assay labels list' shows ids.")
    (label,) = ledger.of_numbers([ledger.numbers()[packed(found[0])]])
    same = [one for one in ledger.of_units([label.unit]) if one.uid != label.uid]
    return label, ledger.unit(label.unit), same


def exported(label: Label, content: Content, where: WhereUsed) -> dict[str, Any]:
    """A label as a row of an export."""
    places = where.of(label.unit, label.rowid)
    return {**label_row(label, content), "places": [place._asdict() for place in places]}


def export_lines(
    ledger: Ledger, task: str | None, where: WhereUsed, by: str | None = None
) -> Iterator[bytes]:
    """Yield every label (or those ``by`` one labeller) as a line of JSON, oldest first, with the
    places where it is used."""
    if by is not None:
        for one, content in with_contents(ledger, list(found_labels(ledger, task=task, by=by))):
            yield orjson.dumps(exported(one, content, where), option=orjson.OPT_APPEND_NEWLINE)
        return
    for numbers, _, units, objects in ledger.lines(tasks_named(task)):
        for rowid, unit, line in zip(numbers, map(unpacked, units), objects, strict=True):
            places = [place._asdict() for place in where.of(unit, rowid)]
            yield b'%b,"places":%b}\n' % (line.encode(), orjson.dumps(places))


@dataclass(frozen=True, slots=True)
class Differing:
    """Two labellers' labels of one unit, and its content."""

    first: Label
    second: Label
    content: Content

    def document(self, first: str, second: str) -> dict[str, Any]:
        """The JSON document, under the labellers' names."""
        return {
            "task": self.first.task,
            "unit": dict(self.content),
            first: label_row(self.first, self.content),
            second: label_row(self.second, self.content),
        }


def label_differences(
    ledger: Ledger, first: str, second: str, task: str | None
) -> tuple[int, list[Differing]]:
    """The number of units labelled by both, and those on which the labels differ. Raises
    SettingsError if there are none, or if a name is ambiguous between several settings."""
    tasks = tasks_named(task)
    sides: tuple[dict[str, Label], dict[str, Label]] = ({}, {})
    named = [ledger.named(name) for name in (first, second)]
    for several in named:
        if len(several) > 1:
            exact = and_list([one.exact_name for one in several])
            raise SettingsError(
                f"'{several[0].name}' labelled with {len(several)} different settings: {exact}. "
                "Name one of these. 'assay labels stats' shows how many labels each gave."
            )
    for label in ledger.labels(tasks):
        for side, who in zip(sides, named, strict=True):
            if label.labeller in who and label.verdict is not None:
                side[label.unit] = label
    both = [unit for unit in sides[0] if unit in sides[1]]
    if not both:
        raise SettingsError(f"No unit was labelled by both '{first}' and '{second}'.")
    contents = ledger.units(tasks)  # after the labels, as above
    found = [
        Differing(sides[0][unit], sides[1][unit], contents[unit])
        for unit in both
        if without_reasons(sides[0][unit].verdict) != without_reasons(sides[1][unit].verdict)
    ]
    return len(both), found


@dataclass(frozen=True, slots=True)
class Verified:
    """The head of a ledger, how many manifests name one, all damage, and what to do about it."""

    head: Head
    manifests: int
    faults: Sequence[LedgerFault]
    cures: Sequence[str]


def verified(folder: Path, progress: ProgressCallback = no_progress) -> Verified:
    """Check every label of a folder, and the ledger heads named by manifests in ``out/``. Raises
    LedgerError if there is no ledger."""
    opened = Folder.open(folder)
    with opened.open_ledger(create=False) as ledger:
        ledger.progress = progress
        named = list(heads(opened.path / "out"))
        within = [*ledger.faults()]
        faults = [
            LedgerFault(f"{relative_to(opened.path, path)}: is not a manifest written by Assay")
            for path in sorted((opened.path / "out").rglob(MANIFEST))
            if not read_manifest(path.parent)
        ]
        faults += (
            LedgerFault(f"{relative_to(opened.path, path)}: {why}")
            for path, head in named
            if (why := ledger.faulty_head(head)) is not None
        )
        cures = [cure for cure, some in ((MEND, within), (GONE, faults)) if some]
        return Verified(ledger.head(), len(named), [*within, *faults], cures)
