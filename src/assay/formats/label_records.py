"""Labels from JSON records, for comparison with other labels: support, assignments, importances,
battles, and the labels that Assay exports."""

from __future__ import annotations

import re
from collections.abc import Container, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

from assay.formats.battles import BATTLE_KEYS, read_battles
from assay.formats.jsonl import read_objects
from assay.formats.parsed import FaultList, Parsed
from assay.formats.reasons import rationale_of
from assay.formats.text import SourceText
from assay.formats.trec_rag_nuggets import read_assignments, read_nuggets
from assay.formats.trec_rag_support import CODES, read_support
from assay.model.battles import merge_battles
from assay.model.labels import AUDIT, NO_RATIONALE, POST_EDIT, SEEN, WORKBENCH, Rationale
from assay.model.trec_rag import Assigned, AssignedNugget, Importance
from assay.model.wording import joined, quoted

Unit = tuple[str, str, str]
"""What is labelled: topic, run and document; run or document may be empty."""

_ASSIGNED = {Assigned.SUPPORT: 2.0, Assigned.PARTIAL: 1.0, Assigned.NONE: 0.0, None: None}
_SUPPORT_NAMES = {2.0: "full", 1.0: "partial", 0.0: "none"}
_ASSIGNED_NAMES = {2.0: "support", 1.0: "partial_support", 0.0: "not_support"}
_IMPORTANCE = {Importance.VITAL: 1.0, Importance.OKAY: 0.0, None: None}
_IMPORTANCE_NAMES = {1.0: "vital", 0.0: "okay"}
_BATTLE_NAMES = {1.0: "first", 0.5: "tie", 0.0: "second"}

_SCALES = (
    ("none", "partial", "full"),
    ("not_support", "partial_support", "support"),
    ("okay", "vital"),
    ("no", "yes"),
    ("no", "partly", "yes"),
    ("False", "True"),
    ("B", "Tie", "A"),
    ("RIGHT", "LEFT"),
)
"""Known scales of verdicts in words, lowest first."""

PAIR_LABELS = ("no", "partly", "yes")
"""The labels that ``assay label`` gives to pairs."""

_WITHOUT_RUN = re.compile(
    r"(exam\.\w+|\w+\.(nuggets|importance|mapping|preference)) .*"
    r"|\w+\.relevance\w* (?!.* (passage|claim) \d+$).*"
)
"""Labels of documents, queries and nuggets, as ``TASK PLACE``: these places begin with the topic.
Passages of an answer (``RUN TOPIC passage 2``) belong to its run."""


class LabelNote(NamedTuple):
    """What is known about a label: the text it is about, its reason, whether it is an edit, and its
    uid in a ledger."""

    text: str = ""
    rationale: Rationale = NO_RATIONALE
    uid: str = ""


@dataclass(frozen=True, slots=True)
class LabelTable:
    """The labels of one file, by topic, run and document in file order.

    ``labels``: the label of each unit, or None. ``qrels``: whether the file is qrels, where −1
    means that the document was not judged. ``runs``: whether units belong to runs. ``notes``: what
    else is known about labels. ``names``: the words for labels; others are known by number.
    """

    labels: dict[Unit, float | None] = field(default_factory=dict, repr=False)
    qrels: bool = False
    runs: bool = False
    notes: dict[Unit, LabelNote] = field(default_factory=dict, repr=False)
    names: Mapping[float, str] = field(default_factory=dict)

    def add(self, unit: Unit, value: float | None, note: LabelNote) -> None:
        """Add a label; a repeated unit is told apart by a number after its name."""
        topic, run, what = unit
        place, key = 1, unit
        while key in self.labels:
            place += 1
            key = (topic, run, f"{what} ({place})")
        self.labels[key] = value
        if note != LabelNote():
            self.notes[key] = note


def labels_of_records(
    source: SourceText, first: Mapping[str, Any], label: str | None = None
) -> Parsed[LabelTable] | None:
    """The labels of a file of JSON records.

    Support and assignments are 2 full, 1 partial, 0 none; importance is 1 vital, 0 okay. A battle
    is 1 if the run whose name sorts first won, 0 if the other did, ½ for a tie, whichever was shown
    first. If both orders were judged, they are one battle, a tie if the two verdicts disagree.

    A citation is known by its document and the position of its sentence, a nugget by its text, a
    battle by its two runs.

    ``source``: the file. ``first``: its first record. ``label``: ``importance`` to read that from
    assignments; for an export, the task, or the end of its name. Returns None if the record is
    none of these.
    """
    if "unit_hash" in first:
        return _exported(source, label)
    if "sentences" in first:
        return _support(source)
    nuggets = first.get("nuggets")
    if isinstance(nuggets, list) and nuggets:
        graded = any(isinstance(one, dict) and "assignment" in one for one in nuggets)
        if graded and label in (None, "assignment"):
            return _assigned(source)
        return _importances(source)
    if BATTLE_KEYS & first.keys():
        return _battles(source)
    if is_pairs(first):
        faults = FaultList(source.file, source.faults)
        return Parsed(labels_of_pairs(read_objects(source, faults), faults), faults.done())
    return None


def is_pairs(names: Container[str]) -> bool:
    """Whether records with these keys, or columns, were written by ``assay label``."""
    return all(name in names for name in ("id", "task", "label", "warning"))


def labels_of_pairs(
    records: Iterable[tuple[int, Mapping[str, Any]]], faults: FaultList
) -> LabelTable | None:
    """The labels that ``assay label`` gave, by the id of the pair."""
    words: dict[Unit, str | None] = {}
    notes: dict[Unit, LabelNote] = {}
    for number, record in records:
        unit, word = ("", "", str(record.get("id"))), record.get("label") or None
        if word is not None and word not in PAIR_LABELS:
            why = f"The label {quoted(str(word))} is not one of {', '.join(PAIR_LABELS)}."
            faults.error(number, why, "Give what 'assay label' wrote.")
        elif unit in words:
            faults.error(number, f"{quoted(unit[2])} was already labelled.", "Keep one.")
        else:
            words[unit], notes[unit] = word, LabelNote(rationale=rationale_of(record))
    return None if faults.faulty else labels_of_words(words, notes)


def labels_of_words(
    words: Mapping[Unit, str | None], notes: Mapping[Unit, LabelNote] | None = None
) -> LabelTable:
    """A table of labels that are words, of a known scale or numbered in alphabetical order."""
    values = _values([word for word in words.values() if word is not None])
    numbers = {unit: None if word is None else values[word] for unit, word in words.items()}
    names = {value: word for word, value in values.items() if word != str(value)}
    return LabelTable(numbers, notes=dict(notes or {}), names=names)


def _support(source: SourceText) -> Parsed[LabelTable]:
    read = read_support(source)
    found = LabelTable(names=_SUPPORT_NAMES, runs=True)
    for one in read.value or ():
        for place, sentence in enumerate(one.sentences, 1):
            for cited in sentence.citations:
                found.add(
                    (one.topic, one.run, f"sentence {place}, {cited.reference}"),
                    None if cited.support is None else float(CODES[cited.support]),
                    LabelNote(sentence.text, cited.rationale),
                )
    return Parsed(found, read.faults)


def _assigned(source: SourceText) -> Parsed[LabelTable]:
    read = read_assignments(source)
    found = LabelTable(names=_ASSIGNED_NAMES, runs=True)
    for one in read.value or ():
        for each in one.nuggets:
            unit = (one.topic, one.run, each.nugget.text)
            found.add(unit, _ASSIGNED[each.assigned], LabelNote(rationale=each.rationale))
    return Parsed(found, read.faults)


def _importances(source: SourceText) -> Parsed[LabelTable]:
    """The importance of nuggets; a nugget that is repeated with several answers counts once."""
    parsed = read_nuggets(source)
    assigned: tuple[Any, ...] = ()
    faults = parsed.faults
    if any("already" in fault.why for fault in parsed.errors):  # one list per answer, not per topic
        read = read_assignments(source)
        assigned, faults = read.value or (), read.faults
    found = LabelTable(names=_IMPORTANCE_NAMES)
    seen: set[Unit] = set()
    lists: Iterable[tuple[str, Iterable[Any]]] = (
        [(one.topic, one.nuggets) for one in assigned]
        if assigned
        else [(one.topic, one.nuggets) for one in (parsed.value or {}).values()]
    )
    for topic, nuggets in lists:
        for one in nuggets:
            nugget = one.nugget if isinstance(one, AssignedNugget) else one
            unit = (topic, "", nugget.text)
            if unit in seen and assigned:
                continue
            seen.add(unit)
            source_key = {"source": nugget.sources[0]} if len(nugget.sources) == 1 else {}
            found.add(
                unit, _IMPORTANCE[nugget.importance], LabelNote(rationale=rationale_of(source_key))
            )
    return Parsed(found, faults)


def _battles(source: SourceText) -> Parsed[LabelTable]:
    read = read_battles(source)
    found = LabelTable(names=_BATTLE_NAMES)
    every = [one._replace(judge="") for one in read.value or ()]
    judged = merge_battles(one for one in every if one.verdict is not None)
    for one in (*judged, *(one for one in every if one.verdict is None)):
        low, high = sorted((one.a, one.b))
        unit = (one.topic or str(one.line), "", f"{low} against {high}")
        if one.verdict is None and unit in found.labels:
            continue  # the other order has a verdict
        found.add(unit, one.outcome_for(low), LabelNote(rationale=one.rationale))
    return Parsed(found, read.faults)


def _exported(source: SourceText, label: str | None) -> Parsed[LabelTable]:
    """The exported labels of one task, for every place where a label is used. Those from a ledger
    must be by one labeller, whose newest label counts; all of ``out/labels.jsonl`` count."""
    faults = FaultList(source.file, source.faults)
    every = [(str(record.get("task")), record) for _, record in read_objects(source, faults)]
    wanted = [one for one in every if label in (None, one[0], one[0].rpartition(".")[2])]
    tasks = list(dict.fromkeys(task for task, _ in wanted))
    if len(tasks) != 1:
        what = f"labels of {len(tasks)} tasks: {joined(tasks)}" if tasks else "no such label"
        faults.error(0, f"The file has {what}.", "Name one task with --label.")
        return Parsed(None, faults.done())
    of_ledger = [record for _, record in wanted if record.get("places")]
    of_ledger = [one for one in of_ledger if not _labeller(one).startswith(f"{AUDIT}:")]
    names = list(dict.fromkeys(map(_labeller, of_ledger)))
    if len(names) > 1:
        why = f"The labels are by {len(names)} labellers: {joined(names)}."
        cure = (
            "Keep those of one, or use out/only-NAME/labels.jsonl ('assay score --policy "
            "only:NAME')."
        )
        faults.error(0, why, cure)
        return Parsed(None, faults.done())
    # Newest first, but failed ones after those with a verdict.
    of_ledger.sort(key=lambda one: one.get("verdict") is not None)
    records = [*reversed(of_ledger), *(record for _, record in wanted if not record.get("places"))]
    words = [one for record in records for one in _choices(record)]
    if not words:
        why = "No label says where it is used, as in very large exports."
        faults.error(0, why, "Use out/labels.jsonl, which 'assay score' writes.")
        return Parsed(None, faults.done())
    counted: dict[Unit, tuple[str | None, LabelNote]] = {}
    for unit, word, note in words:
        counted.setdefault(unit, (word, note))  # the first label of a unit counts
    runs = any(run for _, run, _ in counted)
    notes = {unit: note for unit, (_, note) in counted.items() if note != LabelNote()}
    found = labels_of_words({unit: word for unit, (word, _) in counted.items()}, notes)
    return Parsed(replace(found, runs=runs), faults.done())


def _choices(record: Mapping[str, Any]) -> Iterator[tuple[Unit, str | None, LabelNote]]:
    """The choice in an exported label, or each one of a list of choices, for every place of use."""
    verdict, about = record.get("verdict"), record.get("unit")
    unit = about if isinstance(about, dict) else {}
    choices = verdict if isinstance(verdict, dict) else {}
    chosen = next((value for name, value in choices.items() if name != "reason"), None)
    several = isinstance(chosen, list)
    every = chosen if isinstance(chosen, list) else [chosen]
    lists = (value for value in unit.values() if several and isinstance(value, list))
    texts = next((one for one in lists if len(one) == len(every)), None)
    why = Rationale(str(record.get("reason") or ""), _is_edit(record))
    for topic, run, where in _places(record):
        for number, one in enumerate(every, 1):
            own = str(texts[number - 1]) if texts else _about(unit)
            key = f"{where} {number}".strip() if several else where
            word = one if isinstance(one, str) or one is None else str(one)
            yield (topic, run, key), word, LabelNote(own, why, str(record.get("uid") or ""))


def _places(record: Mapping[str, Any]) -> Iterator[Unit]:
    """Where an exported label is used: topic, run (or empty) and the rest of the place."""
    for place in record.get("places") or ():
        if isinstance(place, dict):
            topic, run, where = (str(place.get(name, "")) for name in ("topic", "run", "position"))
            yield topic, run, where
    for place in record.get("used_at") or ():
        run, text = "", str(place)
        if not _WITHOUT_RUN.fullmatch(f"{record.get('task')} {text}"):
            run, _, text = text.partition(" ")
        topic, _, where = text.partition(" ")
        yield topic, run, where


def _labeller(record: Mapping[str, Any]) -> str:
    who = record.get("labeller")
    return str(who.get("name") if isinstance(who, dict) else who)


def _about(unit: Mapping[str, Any]) -> str:
    """The first two texts of a unit, as its description."""
    texts = [value for value in unit.values() if isinstance(value, str) and value]
    return " — ".join(texts[:2])


def _is_edit(record: Mapping[str, Any]) -> bool | None:
    """Whether a person's label was made by editing another one; None for a machine's label."""
    detail, who = record.get("detail"), record.get("labeller")
    note = detail.get(WORKBENCH) if isinstance(detail, dict) else None
    mode = note.get("mode") if isinstance(note, dict) else None
    if mode:
        return mode in (POST_EDIT, SEEN)
    human = isinstance(who, dict) and who.get("kind") == "human"
    return bool(record.get("overrules")) if human else None


def _values(words: list[str]) -> dict[str, float]:
    """A number for each word: itself, its position on a known scale, or its alphabetical rank."""
    every = set(words)
    if all(re.fullmatch(r"-?\d+(\.\d+)?", word) for word in every):
        return {word: float(word) for word in every}
    scale = next((one for one in _SCALES if every <= set(one)), tuple(sorted(every)))
    return {word: float(place) for place, word in enumerate(scale)}
