"""A comparison of two evaluations as tables, remarks and a page."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from assay.api.diffing import MOST_TEXT, Difference, Paired
from assay.api.opened import html_of
from assay.model.wording import counted, joined
from assay.page.page import Gap, Page
from assay.page.parts import Part, Table
from assay.page.tables import Value
from assay.page.wording import number, shortened
from assay.protocols.definitions import glossary
from assay.protocols.output import write_bytes

MOST_SHOWN = 20
"""Most rows of a table in a terminal, unless all are requested."""
_MOST_NAMED = 6
_OPEN = "depend on labels that are missing, or texts that are cut or absent"
_CHANGE_COLUMNS = ("run", "topic", "measure", "first", "second", "another")


def hanging_in_words(found: Difference) -> Iterator[str]:
    """The number of values that are ranges, in words."""
    if hanging := sum(one.open for one in found.tests):
        yield f"{counted(hanging, 'value')} {_OPEN}, and are not tested."


def summary(found: Difference) -> Iterator[str]:
    """The main findings: scores that changed by more than chance explains, other differences, and
    whether runs changed places by the first measure of each leaderboard."""
    differing = [one for one in found.tests if one.differs]
    shifted = [one for one in differing if one.has_moved]
    if any(found.topics_apart):
        alone = (
            f"{counted(len(some), 'topic')} only in the {which} ({joined(some, _MOST_NAMED)})"
            for which, some in zip(("first", "second"), found.topics_apart, strict=True)
            if some
        )
        yield (
            f"Topics differ: {', '.join(alone)}. Scores are over all topics of each "
            "evaluation, differences and tests over those in both."
        )
    if differing:
        said = f"{len(shifted)} of {counted(len(found.tests), 'score')} changed"
        yield ", ".join((said, *_by_chance(shifted))) + "."
    for words, some in _otherwise(differing):
        if some:
            real = _by_chance(some) if any(one.is_real for one in some) else ()
            yield ", ".join((f"{counted(len(some), 'score')} {words}", *real)) + "."
    main: dict[str, str] = {}
    for one in found.tests:
        main.setdefault(one.run, one.measure)
    for order in found.orders:
        if order.measure in main.values() and differing:
            pairs = counted(order.pairs, "pair")
            if order.turned:
                turned = [f"{better} better than {worse}" for better, worse in order.turned]
                yield (
                    f"By {order.measure} {len(order.turned)} of {pairs} of runs changed places: "
                    f"now {joined(turned, _MOST_NAMED)}."
                )
            else:
                yield f"By {order.measure} no two runs changed places ({pairs})."


def _by_chance(some: Sequence[Paired]) -> Iterator[str]:
    """How many scores differ by more than chance explains, and how many cannot be tested."""
    real = [one for one in some if one.is_real]
    untested = sum(one.p is None for one in some)
    if real:
        real.sort(key=lambda one: -abs(one.difference or 0.0))
        largest = [f"{one.measure} of {one.run} {_by(one)}" for one in real]
        yield f"{len(real)} by more than chance explains: {joined(largest, _MOST_NAMED)}"
    elif untested < len(some):
        yield "none by more than chance explains (p, corrected for all of them, is above .05)"
    if untested:
        yield f"{untested} cannot be tested"


def _otherwise(differing: Sequence[Paired]) -> Iterator[tuple[str, list[Paired]]]:
    """The scores that differ in some way other than a new value, grouped by how they differ."""
    words = {
        (True, True): "with topics that changed, but the same value",
        (False, True): "known now, a range or undefined before",
        (True, False): "known before, a range or undefined now",
        (False, False): "unknown in both, with different topic values or ranges",
    }
    for known, said in words.items():
        yield (
            said,
            [
                one
                for one in differing
                if not one.has_moved and (one.first is not None, one.second is not None) == known
            ],
        )


def _by(one: Paired) -> str:
    return "" if one.difference is None else f"{one.difference:+.3f}"


def diff_tables(
    found: Difference, *, texts: bool = False, most: int | None = None
) -> Iterator[Table]:
    """Tables of the changed scores (those beyond chance first), other differences and changed
    inputs, then label flips and other movements. Each has at most ``most`` rows; with ``texts``,
    answers are shown too."""
    measures = list(dict.fromkeys(one.measure for one in found.tests))
    differing = [one for one in found.tests if one.differs]
    differing.sort(key=lambda one: (not one.is_real, measures.index(one.measure)))
    for title, some in (
        ("Scores that moved", [one for one in differing if one.has_moved]),
        ("Scores that differ in other ways", [one for one in differing if not one.has_moved]),
    ):
        if some:
            yield _scores(title, some, most)
    if found.changed:
        wide = frozenset(("what", "first", "second"))
        yield Table("What changed", ("what", "first", "second"),
                    [(o.what, o.first or "–", o.second or "–") for o in found.changed],
                    texts=wide)  # fmt: skip
    if found.flips:
        more = ("question", "answer: first", "answer: second") if texts else ()
        flips: list[tuple[Value, ...]] = []
        for o in found.flips:
            shown = (shortened(text, MOST_TEXT) for text in (o.question, o.before, o.after))
            row = (o.run, o.topic, o.measure, int(o.first), int(o.second), o.why)
            flips.append((*row, *shown) if texts else row)
        up = sum(one.second > one.first for one in found.flips)
        title = f"Flips: {counted(len(flips), 'value')} changed, {up} to 1, {len(flips) - up} to 0"
        yield Table(_of(title, flips, most), (*_CHANGE_COLUMNS, *more), flips[:most],
                    texts=frozenset(more))  # fmt: skip
    others = [one for one in found.moves if not one.flip]
    if others:
        rows = [(o.run, o.topic, o.measure, o.first, o.second, o.why) for o in others]
        yield Table(_of("Other large changes", rows, most), _CHANGE_COLUMNS, rows[:most])


def _scores(title: str, some: Sequence[Paired], most: int | None) -> Table:
    columns: dict[str, list[Value]] = {
        "run": [o.run for o in some],
        "measure": [o.measure for o in some],
        "first": [o.first for o in some],
        "second": [o.second for o in some],
        "difference": [_interval(o) for o in some],
        "p (Holm)": [o.p_holm for o in some],
        "detects": [o.detectable for o in some],
        "n": [o.n for o in some],
    }
    in_common = {name: columns.pop(name)[0] for name in ("run", "n") if len({*columns[name]}) == 1}
    title = ", ".join((title, *(f"{name} {one}" for name, one in in_common.items())))
    rows = list(zip(*columns.values(), strict=True))
    return Table(_of(title, rows, most), tuple(columns), rows[:most],
                 numbers=frozenset({"difference"}))  # fmt: skip


def _of(title: str, rows: Sequence[object], most: int | None) -> str:
    """A title that says how many rows are omitted, and how to see them."""
    if most is None or len(rows) <= most:
        return title
    return f"{title} ({most} of {len(rows)} shown; --all shows all)"


def _interval(one: Paired) -> str:
    if one.difference is None:
        return "–"
    return f"{one.difference:+.3f}\n[{number(one.low, 2)}, {number(one.high, 2)}]"


def diff_remarks(found: Difference) -> Iterator[str]:
    """Remarks that must accompany the tables."""
    differing = [one for one in found.tests if one.differs]
    if not found.apart and not differing:
        yield "No value of any topic differs."
    first, second = (one.manifest.get("stands_on") for one in (found.first, found.second))
    if first and first == second:
        yield f"Both are based on: {first}."
    elif first and second:
        yield (
            f"The first is based on: {first}. The second is based on: {second}. So a difference "
            "may be that of who labelled: scores under --policy machine are by the judge on both "
            "sides."
        )
    for task, (both, other) in found.relabelled.items():
        if other:
            units = counted(both, "unit")
            yield f"{task}: {other} of {units} labelled in both have another verdict."
    if found.apart:
        yield f"Runs in only one of them: {joined(found.apart, 20)}."
    if still := len(found.tests) - len(differing):
        yield f"{still} of {counted(len(found.tests), 'score')} are the same, topic by topic."
    if differing:
        yield (
            "Differences are second − first; p is from sign flips (for HMR and similar measures, "
            "from swapped answers), with Holm's correction over all tests. A difference that is "
            "not significant may still exist, but be smaller than the test can detect."
        )


def write_diff(found: Difference, path: Path) -> None:
    """Write the comparison as an HTML page. Raises SettingsError if it cannot."""
    write_bytes(path, html_of(diff_page(found)))


def diff_page(found: Difference) -> Page:
    """The comparison as a page."""
    names = [one.path.resolve() for one in (found.first, found.second)]
    titles = [(p.parent if p.name == "out" else p).name for p in names]
    hanging = sum(one.open for one in found.tests)
    parts = tuple(
        Part(table.title.partition(":")[0], items=(replace(table, title=""),))
        for table in diff_tables(found, texts=True)
    )
    return Page(
        title=" → ".join(titles),
        protocol="Two evaluations",
        parts=parts,
        definitions=glossary("differences"),
        gaps=(Gap(hanging, f"values {_OPEN}.", "They are not tested."),)
        if hanging else (),
        nothing="Every value is known.",
        lede=(*summary(found), *diff_remarks(found)),
        facts=(("first", str(found.first.path)), ("second", str(found.second.path))),
        reproduce=(
            "assay diff FIRST SECOND --html FILE makes this page from scores.csv, per_topic.csv, "
            "labels.jsonl and manifest.json of both."
        ),
    )  # fmt: skip
