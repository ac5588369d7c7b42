"""Remarks on the labels of an evaluation: which others exist, are missing, or failed, and why."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping

from assay.model.labels import LabellerId
from assay.model.wording import and_list, counted, noun
from assay.page.page import Gap
from assay.protocols.labels import LabelBook
from assay.protocols.results import RETRY
from assay.protocols.unit_labels import UnitLabels
from assay.tasks.base import AnyTask

_REASONS = 3
"""Most reasons that are listed; the rest are counted."""


def label_gaps(book: LabelBook, tasks: Iterable[AnyTask]) -> Iterator[Gap]:
    """The labels that scoring wanted and that are missing or failed."""
    titles = {task.name: task.title for task in tasks}
    unsettled = 0 if book.by_unit is None else len(book.by_unit.unsettled)
    so = "“assay judge” asks for the missing labels."
    if unsettled:
        settled = f"people settle the units that they disagree on ({unsettled:,}) in “assay ui”."
        others = unsettled < book.missing.total()
        so = f"{so[:-1]}; {settled}" if others else settled.capitalize()
    for task, count in book.missing.items():
        asked = book.asked[task]
        of = f"of {asked:,} labels" if asked > count else "label" if count == 1 else "labels"
        what = f"{of} {noun(count, 'is', 'are')} missing: {titles[task]}"
        yield Gap(count, what, so)
    for task, count in book.failed.items():
        what = f"of {book.asked[task]:,} labels failed: {titles[task]}"
        yield Gap(count, what, RETRY)


def why_failed(book: LabelBook, tasks: Iterable[AnyTask]) -> Iterator[str]:
    """Why labels in the ledger failed, the most frequent reasons first, for units without a usable
    label by anybody who counts here (labels by others, or under former settings, do not). They may
    include units that are not asked about any more."""
    for task in tasks:
        if book.by_unit is None or not book.failed[task.name]:
            continue
        own, ledger = book.by_unit.configured[task.name], book.by_unit.ledger
        who = ledger.labellers().items()
        labellers = [n for n, one in who if book.by_unit.policy.counts(one, task.name, own)]
        why = ledger.why_failed(task.name, labellers) if labellers else Counter[str]()
        grouped: dict[str, Counter[str]] = defaultdict(Counter)  # "… is in" once for all languages
        for reason, count in why.items():
            head, cut, tail = reason.rpartition(" is in ")
            grouped[head + cut or reason][tail if cut else ""] += count
        by_number = sorted(grouped.items(), key=lambda one: -one[1].total())
        reasons = [
            head + ", ".join(f"{tail} ({count:,})" for tail, count in of.most_common())
            for head, of in by_number[:_REASONS]
        ]
        rest = sum(of.total() for _, of in by_number[_REASONS:])
        reasons += [f"other reasons ({rest:,})"] if rest else []
        if reasons:
            yield f"Failed labels in the ledger ({task.title}): {'; '.join(reasons)}"


def label_remarks(labels: UnitLabels, *, missing: bool) -> Iterator[str]:
    """What to know about the labels: other versions, questions asked again and, if labels are
    ``missing``, labels by others that would count under another policy."""
    policy = labels.policy
    others = labels.ledger.of_other_versions({one.name: one.version for one in labels.tasks})
    if others:
        yield f"{others} labels in the ledger are of other task versions; they do not count."
    for (task, why), count in sorted(labels.superseded().items()):
        yield (
            f"{task}: {counted(count, 'unit')} asked again because {why}; only the new labels "
            "count."
        )
    yield from labels.shared.remarks()
    if labels.unsettled:
        yield (
            f"People disagree on {counted(len(labels.unsettled), 'unit')}, and nothing is "
            f"settled. Under the policy {policy.name} that counts as missing, and no labeller is "
            "asked. 'assay ui' has a queue of disagreements."
        )
    if labels.disputed and not policy.settles:
        other = f"majority{policy.name.removeprefix(policy.rule)}"
        yield (
            f"People disagree on {counted(len(labels.disputed), 'unit')}, and the newest label "
            f"counts, whoever gave it. The policy '{other}' uses the label that most people gave; "
            "'assay labels people' shows how far they agree, and whose labels seem to say nothing."
        )
    if policy.without:
        by = Counter(one.labeller.name for one in labels.ledger.usable_by_each())
        each = and_list([f"{counted(by[who], 'label')} by {who}" for who in policy.without])
        yield f"The policy leaves out {each}."
        if strange := [who for who in policy.without if not by[who]]:
            names = and_list(strange)
            yield f"The ledger has no label by {names} (yet, or the name is misspelt)."
    if missing and (by_others := _others(labels)):
        yield (
            "Labels are missing under this policy and labeller, but the ledger holds others. "
            + " ".join(_cures(by_others))
        )


def _others(labels: UnitLabels) -> dict[str, str]:
    """Labellers whose usable labels exist but do not count, and what would make them count."""
    found: dict[str, str] = {}
    for one in labels.ledger.usable_by_each():
        who = one.labeller
        if one.task not in labels.configured or who.is_audited:
            continue
        own = labels.configured[one.task]
        if labels.policy.rank(one, own) or who.name in labels.policy.without:
            continue
        if not who.is_human and labels.policy.counts_machine(one.task):
            cure = _JUDGE if own is not None and who.name in _names(own) else _NAME
            if own is not None and who.name == own.name and own.kind != "ensemble":
                cure = _SETTINGS
        else:
            cure = _PEOPLE if who == own else _ONLY
        # A labeller gets the first cure that applies under any task.
        found[who.name] = min(cure, found.get(who.name, cure), key=_CURES.index)
    return found


_NAME, _JUDGE, _SETTINGS, _PEOPLE, _ONLY = _CURES = (
    "To use those by {}, name that labeller in [labellers], or use --policy only:NAME.",
    "Some are by {}, named in [labellers]: 'assay judge' asks for the missing ones.",
    (
        "Some by {} were given under other settings ('assay judge --dry-run' says which). To use "
        "them, give --labeller recorded:FILE with a file of 'assay labels export'."
    ),
    "Those by {} count under --policy people.",
    "Those by {} count under --policy only:NAME.",
)


def _cures(by_others: Mapping[str, str]) -> Iterator[str]:
    """The cures, each with the labellers to which it applies."""
    for cure in _CURES:
        names = sorted(name for name, one in by_others.items() if one == cure)
        if names:
            yield cure.format(and_list(names))


def _names(labeller: LabellerId) -> Iterator[str]:
    """The name of a labeller and, for an ensemble, of its members."""
    yield labeller.name
    for one in labeller.params["members"] if labeller.kind == "ensemble" else ():
        yield from _names(LabellerId(one["name"], one["kind"], one["params"]))
