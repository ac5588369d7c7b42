"""What ``assay bank diff`` says: changed questions, and the labels and scores that they move."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from assay.cli.common import out, plain_table, safe
from assay.page.wording import span

__all__ = ["print_diff"]


def print_diff(document: Mapping[str, Any]) -> None:
    """Print what ``--json`` holds, for people."""
    console = out()
    if not document["changes"]:
        console.print("The banks ask the same.")
        return
    table = plain_table("Questions")
    for name in ("query", "id", "change", "before", "after"):
        table.add_column(name, overflow="fold")
    for one in document["changes"]:
        table.add_row(*(safe(one[k]) for k in ("query", "id", "what", "before", "after")))
    console.print(table)
    if "passages" not in document:
        return
    moved = plain_table(f"Passages whose label moves ({len(document['passages'])})")
    for name in ("query", "passage"):
        moved.add_column(name, overflow="fold")
    for name in ("before", "after"):
        moved.add_column(name, justify="right")
    for one in document["passages"][:50]:
        moved.add_row(safe(one["query"]), safe(one["passage"]), *_sides(one))
    console.print(moved)
    if len(document["passages"]) > 50:
        console.print(f"and {len(document['passages']) - 50} more (--json lists all)")
    runs = plain_table(f"Scores that move ({len(document['scores'])})")
    for name in ("run", "measure"):
        runs.add_column(name, overflow="fold")
    for name in ("before", "after"):
        runs.add_column(name, justify="right")
    for one in document["scores"]:
        runs.add_row(safe(one["run"]), safe(one["measure"]), *_sides(one))
    console.print(runs)
    missing = document["grades_missing"]
    if missing["after"] or missing["before"]:
        console.print(
            f"Grades that nobody has given yet: {missing['before']} before, {missing['after']} "
            "after. What hangs on them is shown from its value with none of these questions "
            "answered to that with all of them. 'assay judge' asks for those of the folder's bank."
        )


def _sides(one: Mapping[str, Any]) -> Iterator[str]:
    """A label or score before and after, as people see it."""
    for side in ("before", "after"):
        ends = [one.get(f"{side}_{end}", one[side]) for end in ("floor", "ceiling")]
        whole = all(isinstance(end, int) for end in ends)
        yield "–".join(map(str, dict.fromkeys(ends))) if whole else span(*ends)
