"""What lies ahead and what was done: dry runs, prompts, prices, the closing line of a run."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from assay.api.forecast import TitledPlans, forecast_rows, prompts
from assay.cli.common import out, plain_table, print_json, safe
from assay.judging.progress import Tally
from assay.labellers.prices import checked


def told(tally: Tally) -> str:
    """What a run did, in a few sentences."""
    if tally.asked == tally.unanswered == tally.skipped == 0:
        text = f"Nothing to ask: all {tally.known} labels are in the ledger."
    else:
        text = f"Asked {tally.asked}, reused {tally.known}."
    if tally.tokens_in:
        cached = f" ({tally.tokens_cached:,} from the cache)" if tally.tokens_cached else ""
        text += f" {tally.tokens_in:,} tokens read{cached}, {tally.tokens_out:,} written."
    if tally.cost:
        text += f" ${tally.cost:.4f}."
    if tally.unpriced:
        text += (
            f" The cost of {tally.unpriced} answers is unknown (no price, or no token counts in "
            "the replies)."
        )
        if tally.at_most:
            text += f" The budget took them for ${tally.at_most:.4f}, the most they can have cost."
    failed = tally.failed + tally.known_failed
    if failed:
        text += f" {failed} replies could not be used (--retry-failed asks them again)."
    if tally.unanswered:
        text += f" {tally.unanswered} have no answer from the labeller."
    if tally.stopped == "budget":
        text += f" Stopped at the budget with {tally.skipped} left."
    elif tally.stopped:
        text += f" Stopped ({tally.stopped}) with {tally.skipped} left; run again to go on."
    return text


def print_ahead(
    plans: TitledPlans,
    *,
    as_json: bool,
    price_cure: str,
    notes: Sequence[str] = (),
    **more: Any,
) -> None:
    """Calls, tokens and cost of ``plans``; ``more`` goes into the JSON document."""
    rows = forecast_rows(plans)
    if as_json:
        print_json({"ahead": rows, **more})
        return
    table = plain_table("Forecast (nothing was asked)")
    table.add_column("task", overflow="fold")
    table.add_column("labeller", overflow="fold")
    columns = {"known": "known", "shared": "above", "to_ask": "to ask", "calls": "calls",
               "tokens_in": "read", "tokens_out": "written"}  # fmt: skip
    if not any(row["shared"] for row in rows):
        del columns["shared"]
    for name in (*columns.values(), "cost, $"):
        table.add_column(name, justify="right")
    for row in rows:
        counts = (row[key] for key in columns)
        cost = "unknown" if row["cost"] is None else f"{row['cost']:.4f}"
        table.add_row(str(row["task"]), safe(row["labeller"]), *(f"{n:,}" for n in counts), cost)
    console = out()
    console.print(table)
    console.print("Read, written: tokens, estimated from words; replies may be shorter or longer.")
    if "shared" in columns:
        console.print("Above: what a line above asks already; it is asked once.")
    if any(row["cost"] is None for row in rows):
        console.print(f"For the cost, give a price: {price_cure}.", markup=False)
    elif any(row["cost"] for row in rows):
        said = f"Prices: those given, else list prices of {checked()}."
        console.print(said, markup=False)
    for note in notes:
        console.print(note, markup=False)


def print_prompts(plans: TitledPlans, count: int, *, as_json: bool) -> None:
    """The first ``count`` prompts of each plan, as they would be sent."""
    document = list(prompts(plans, count))
    if as_json:
        print_json(document)
        return
    console = out()
    for shown in document:
        console.rule(safe(f"{shown['task']} · {shown['labeller']}"), align="left")
        for message in shown["messages"]:
            console.print(f"({message['role']})", style="bold", markup=False)
            for line in message["content"].splitlines():
                console.print(safe(line), soft_wrap=True)
            console.print()
    if not document:
        console.print("These labellers use no prompts.")
