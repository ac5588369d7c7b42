"""What the labels make of nuggets: lists as made or given, as people edited them, as they stand.

The same code says what is asked next and what is scored, so that the two cannot differ.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from assay.model.labels import Label, LabellerId, Status
from assay.model.trec_rag import Importance, RagNugget, sub_narrative_key, sub_narrative_name
from assay.protocols.places import Place
from assay.protocols.trec_rag.narratives import Narratives
from assay.tasks.base import unit_hash
from assay.tasks.trec_rag_nuggets import (
    CREATE,
    EDIT,
    IMPORTANCE,
    MAPPING,
    MERGE,
    CreateUnit,
    EditUnit,
    ImportanceUnit,
    MappingUnit,
    MergeUnit,
    windows,
)


class Kept(NamedTuple):
    """A nugget as it stands, and the machine's nuggets (texts) that it was made from; none for one
    that a person added."""

    nugget: RagNugget
    roots: tuple[str, ...]


@dataclass
class Bank(Narratives):
    """The nuggets of every narrative under a policy."""

    _edits: dict[tuple[str, str], Label | None] = field(default_factory=dict, init=False)
    _lists: dict[str, tuple[str, ...] | None] = field(default_factory=dict, init=False)
    _final: dict[str, tuple[Kept, ...] | None] = field(default_factory=dict, init=False)

    # -- lists -------------------------------------------------------------------------------

    def create_units(self, topic: str, creator: LabellerId | None) -> Iterator[CreateUnit]:
        """The units of the windows so far: the last is the next to be asked, unless the list is
        complete (see :meth:`created`)."""
        text, documents = self.narrative(topic), self.documents(topic)
        if text is None or documents is None:
            return
        nuggets: tuple[str, ...] = ()
        for window in windows([one.text for one in documents], self.settings.documents):
            unit = CreateUnit(
                narrative=text,
                most=self.settings.most_nuggets,
                nuggets=nuggets,
                documents=window,
            )
            yield unit
            verdict = self._created(unit, topic, creator)
            if verdict is None:
                return
            nuggets = tuple(verdict["nuggets"])

    def _created(
        self, unit: CreateUnit, topic: str, creator: LabellerId | None
    ) -> Mapping[str, Any] | None:
        if creator is None:
            return self.verdict(CREATE, unit, Place("", topic, "nuggets"))
        # Several models were asked the same: each list is its maker's own.
        content = unit.model_dump(mode="json")
        labels = (
            [] if self.book.book is None else self.book.book.of(unit_hash(CREATE.name, content))
        )
        mine = [one for one in labels if one.labeller == creator and one.status is Status.OK]
        if self.counting:
            self.book.asked[CREATE.name] += 1
            if mine:
                self.book.note(mine[-1], Place("", topic, "nuggets"))
            else:
                self.book.missing[CREATE.name] += 1
        return mine[-1].verdict if mine else None

    def created(self, topic: str, creator: LabellerId | None) -> tuple[str, ...] | None:
        """The list that one creator made of all windows; None while it is not complete."""
        documents = self.documents(topic)
        if documents is None:
            return None
        units = list(self.create_units(topic, creator))
        wanted = -(-len(documents) // self.settings.documents)
        if len(units) < wanted or (self.narrative(topic) is None):
            return None
        if not units:
            return ()
        verdict = self.quiet._created(units[-1], topic, creator)
        return None if verdict is None else tuple(verdict["nuggets"])

    def merge_unit(self, topic: str) -> MergeUnit | None:
        """What is asked to merge the creators' lists; None while one is missing, or for one."""
        text = self.narrative(topic)
        if len(self.inputs.creators) < 2 or text is None:
            return None
        lists = [self.created(topic, creator) for creator in self.inputs.creators]
        if any(one is None for one in lists):
            return None
        standing = tuple(one for one in lists if one)
        return MergeUnit(narrative=text, most=self.settings.most_nuggets, lists=standing)

    def machine_list(self, topic: str) -> tuple[RagNugget, ...] | None:
        """The nuggets as given or made, before anybody edits them; None while they are not."""
        given = self.inputs.nuggets.get(topic)
        if given is not None:
            return given.nuggets
        if not self.needs.nuggets:
            return None
        if topic not in self._lists:
            self._lists[topic] = self._made(topic)
        texts = self._lists[topic]
        return None if texts is None else tuple(RagNugget(" ".join(one.split())) for one in texts)

    def _made(self, topic: str) -> tuple[str, ...] | None:
        if len(self.inputs.creators) < 2:
            return self.created(topic, self.inputs.creators[0] if self.inputs.creators else None)
        unit = self.merge_unit(topic)
        if unit is None:
            return None
        if not unit.lists:
            return ()
        verdict = self.verdict(MERGE, unit, Place("", topic, "nuggets, merged"))
        return None if verdict is None else tuple(verdict["nuggets"])

    # -- importance and mapping --------------------------------------------------------------

    def importance_units(self, topic: str) -> list[ImportanceUnit]:
        """Windows of the nuggets that say nothing of their importance: the machine's list first,
        so that a person's edits change no window of it, then what edits added."""
        listed, text = self.machine_list(topic), self.narrative(topic)
        if listed is None or text is None or not self.needs.bank:
            return []
        lacking = [one.text for one in listed if one.importance is None]
        added = [
            one.nugget.text
            for one in self.edited(topic, listed)
            if one.nugget.importance is None and one.nugget.text not in lacking
        ]
        size = self.settings.nugget_window
        return [
            ImportanceUnit(narrative=text, nuggets=window)
            for group in (lacking, added)
            for window in windows(group, size)
        ]

    def mapping_units(self, topic: str) -> Iterator[tuple[MappingUnit, bool]]:
        """The same for nuggets that are mapped to no sub-narrative, with whether each can be asked
        yet: a window of the list is shown the new sub-narratives of the windows before it, so that
        not each of them makes its own. Windows of what edits added see those of the list. A label
        of a window that was asked without them counts: nobody is asked twice."""
        listed, text = self.machine_list(topic), self.narrative(topic)
        wanted = self.settings.mapping and self.needs.bank
        aspects = self.aspects(topic) if wanted else None
        if listed is None or text is None or aspects is None:
            return
        lacking = [one.text for one in listed if one.sub_narrative is None]
        added = [
            one.nugget.text
            for one in self.edited(topic, listed)
            if one.nugget.sub_narrative is None and one.nugget.text not in lacking
        ]
        given, ready, size = tuple(one.text for one in aspects), True, self.settings.nugget_window
        known = set(map(sub_narrative_key, given))
        shown = given
        for group in (lacking, added):
            for window in windows(group, size):
                unit = MappingUnit(narrative=text, sub_narratives=shown, nuggets=window)
                label = self.book.find(MAPPING, unit)
                if label is None and shown != given:
                    alone = MappingUnit(narrative=text, sub_narratives=given, nuggets=window)
                    label = self.book.find(MAPPING, alone)
                    unit = unit if label is None else alone
                yield unit, ready
                if group is added:
                    continue
                ready = ready and label is not None
                if label is not None and label.verdict is not None:
                    for name in _mapped(unit, label.verdict).values():
                        if sub_narrative_key(name) not in known:
                            known.add(sub_narrative_key(name))
                            shown = (*shown, name)

    def edit_unit(self, topic: str, root: str) -> EditUnit:
        """What a person's edit of a nugget is about; the empty root stands for added nuggets."""
        return EditUnit(narrative=self.narrative(topic) or "", nugget=root)

    def edit_label(self, topic: str, root: str) -> Label | None:
        """The edit of a nugget that counts under the policy."""
        if (topic, root) not in self._edits:
            label = self.book.find(EDIT, self.edit_unit(topic, root))
            if label is not None and self.counting:
                self.book.note(label, Place("", topic, "nugget edit"))
            self._edits[topic, root] = label
        return self._edits[topic, root]

    def edited(self, topic: str, listed: Sequence[RagNugget]) -> list[Kept]:
        """The list after people's edits: nuggets that became the same text are one."""
        found: dict[str, Kept] = {}

        def add(nugget: RagNugget, roots: tuple[str, ...]) -> None:
            known = found.get(nugget.text)
            if known is None:
                found[nugget.text] = Kept(nugget, roots)
                return
            merged = RagNugget(
                nugget.text,
                known.nugget.importance or nugget.importance,
                known.nugget.sub_narrative or nugget.sub_narrative,
                tuple(dict.fromkeys((*known.nugget.sources, *nugget.sources))),
            )
            found[nugget.text] = Kept(merged, tuple(dict.fromkeys((*known.roots, *roots))))

        for one in (*listed, RagNugget("")):
            label = self.edit_label(topic, one.text)
            if label is None or label.verdict is None:
                if one.text:
                    add(one, (one.text,))
                continue
            for item in label.verdict["becomes"]:
                said = item.get("importance")
                importance = Importance(said) if said else one.importance
                aspect = item.get("sub_narrative") or one.sub_narrative
                roots = (one.text,) if one.text else ()
                add(RagNugget(item["text"].strip(), importance, aspect, one.sources), roots)
        return list(found.values())

    def nuggets(self, topic: str) -> tuple[Kept, ...] | None:
        """The nuggets as they stand under the policy, with importance and sub-narrative where
        these are known; None while there is no list."""
        if topic not in self._final:
            self._final[topic] = self._complete(topic)
        return self._final[topic]

    def _complete(self, topic: str) -> tuple[Kept, ...] | None:
        listed = self.machine_list(topic)
        if listed is None:
            return None
        importance: dict[str, Importance] = {}
        for unit in self.importance_units(topic):
            verdict = self.verdict(IMPORTANCE, unit, Place("", topic, "importance"))
            if verdict is not None:
                importance |= dict(
                    zip(unit.nuggets, map(Importance, verdict["labels"]), strict=True)
                )
        aspects: dict[str, str] = {}
        for mapped, _ in self.mapping_units(topic):
            verdict = self.verdict(MAPPING, mapped, Place("", topic, "mapping"))
            if verdict is not None:
                aspects |= _mapped(mapped, verdict)

        def known(table: Mapping[str, Any], standing: Kept) -> Any:
            """What is said of the nugget itself, else of the first it was made from."""
            return next(
                (table[one] for one in (standing.nugget.text, *standing.roots) if one in table),
                None,
            )

        names = {sub_narrative_key(one.text): one.text for one in self.aspects(topic) or ()}

        def named(aspect: str | None) -> str | None:
            """The first spelling of a sub-narrative."""
            name = sub_narrative_name(aspect or "")
            return names.setdefault(sub_narrative_key(name), name) if name else None

        return tuple(
            Kept(
                standing.nugget._replace(
                    importance=standing.nugget.importance or known(importance, standing),
                    sub_narrative=named(standing.nugget.sub_narrative or known(aspects, standing)),
                ),
                standing.roots,
            )
            for standing in self.edited(topic, listed)
        )

    def post_edited(self, topic: str) -> bool:
        """Whether a person changed the topic's nuggets."""
        listed = self.machine_list(topic) or ()
        return any(self.edit_label(topic, one.text) for one in (*listed, RagNugget("")))


def _mapped(unit: MappingUnit, verdict: Mapping[str, Any]) -> dict[str, str]:
    """The sub-narrative of each nugget of a window, known or new."""
    found = {}
    for item in verdict["mapping"]:
        place = int(item["sub_narrative"])
        name = unit.sub_narratives[place - 1] if place else sub_narrative_name(item["new"])
        found[unit.nuggets[int(item["nugget"]) - 1]] = name
    return found
