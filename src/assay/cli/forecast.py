"""Before and after a run: dry runs, prompts, prices, and the closing summary."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from assay.api.forecast import COLUMNS, forecast_rows, prompts
from assay.cli.common import FORM, present, print_json, safe, tell
from assay.cli.judging import going
from assay.cli.screen import out
from assay.judging.asking import INTERRUPTED
from assay.judging.engine import TitledPlans
from assay.judging.progress import Tally, cache_savings, unpriced_text
from assay.labellers.prices import checked
from assay.model.wording import joined, noun
from assay.page.tables import Table


def done_in_words(tally: Tally) -> str:
    """Summarise a run in a few sentences."""
    if tally.asked == tally.unanswered == tally.skipped == 0:
        text = f"Nothing to ask: all {tally.known} labels are in the ledger."
    else:
        text = f"Asked {tally.asked}, reused {tally.known}."
    if tally.tokens_in:
        text += f" {tally.tokens_in:,} tokens read{_cached(tally)}, {tally.tokens_out:,} written."
    if tally.cost:
        saved = f"; {cache_savings(tally.cache_saved)}" if tally.cache_saved else ""
        text += f" ${tally.cost:.4f}{saved}."
    if tally.unpriced:
        text += f" {unpriced_text(tally.unpriced)}"
        if tally.at_most:
            text += (
                f" The budget counted them as ${tally.at_most:.4f}, the most they can have cost."
            )
    failed = tally.failed + tally.known_failed
    if failed:
        text += f" {failed} failed (--retry-failed asks again if a reply was unusable)."
    if tally.unanswered:
        text += f" {tally.unanswered} got no answer from the labeller."
    if tally.stopped == "budget":
        text += f" Stopped at the budget with {tally.skipped} left."
    elif tally.stopped:
        text += f" Stopped ({tally.stopped}) with {tally.skipped} left; run again to continue."
    return text


def tell_of(tally: Tally) -> None:
    """Print the summary of a run; raises KeyboardInterrupt if a person stopped it."""
    if not FORM.get():
        tell(done_in_words(tally))
    if tally.stopped == INTERRUPTED:
        raise KeyboardInterrupt


def _cached(tally: Tally) -> str:
    """How many of the input tokens a server's cache supplied or stored."""
    said = [
        f"{count:,} {where}"
        for count, where in (
            (tally.tokens_cached, "from the cache"),
            (
                tally.tokens_cache_write,
                "put into it" if tally.tokens_cached else "put into a cache",
            ),
            (tally.cache_unpriced if tally.cache_saved else 0, "of these at an unknown price"),
        )
        if count
    ]
    return f" ({', '.join(said)})" if said else ""


def tallied(tally: Tally, *names: str) -> dict[str, Any]:
    """Selected counts for JSON."""
    return {name: getattr(tally, name) for name in names}


def shard_done(shard: str, tally: Tally) -> str:
    """Say that a shard is done, and what waits for others."""
    if not tally.waiting:
        return f"Shard {shard} is done."
    waits = "step waits" if len(tally.waiting) == 1 else "steps wait"
    shards = noun(len(tally.waiting_for), "shard")
    whose = f"{shards} {joined(map(str, tally.waiting_for), 8)}"
    return (
        f"Shard {shard} is done; {len(tally.waiting)} {waits} for labels from {whose}: "
        f"{', '.join(tally.waiting)}. Run it again when this ledger has them."
    )


def why_unusable(errors: Mapping[str, int], most: int = 10) -> list[str]:
    """Why replies were unusable, commonest reasons first."""
    common = sorted(errors.items(), key=lambda one: -one[1])[:most]
    return [f"  {count} × {why}" for why, count in common]


def print_ahead(
    plans: TitledPlans,
    *,
    price_cure: str = '[prices."MODEL"] in assay.toml',
    notes: Sequence[str] = (),
) -> None:
    """Print calls, tokens and cost of ``plans``, and the basis of the figures."""
    with going() as shown:
        rows = forecast_rows(plans, shown.at)
    cells = (row.values() for row in rows)
    document = {"ahead": rows, "notes": list(notes)}
    present(lambda: document, _people(rows, price_cure, notes), (COLUMNS, cells), notes)


def _people(
    rows: Sequence[dict[str, Any]], price_cure: str, notes: Sequence[str]
) -> Iterator[Table | str]:
    columns = {"known": "known", "shared": "above", "to_ask": "to ask", "calls": "calls",
               "tokens_in": "read", "tokens_out": "written"}  # fmt: skip
    if not any(row["shared"] for row in rows):
        del columns["shared"]
    by_labeller: dict[str, list[tuple[Any, ...]]] = {}
    for row in rows:
        cost = "unknown" if row["cost"] is None else f"{row['cost']:.4f}"
        cells = (row["task"], *(row[key] for key in columns), cost)
        by_labeller.setdefault(row["labeller"], []).append(cells)
    heading = ("task", *columns.values(), "cost, $")
    for labeller, cells_of in by_labeller.items():
        title = f"Forecast of {labeller} (nothing was asked)"
        yield Table(title, heading, cells_of, numbers=frozenset(("cost, $",)))
    yield "Read, written: tokens, estimated from words; replies may differ in length."
    if "shared" in columns:
        yield "Above: already asked in a line above, so asked only once."
    if any(row["cost"] is None for row in rows):
        yield f"To see the cost, give a price: {price_cure}."
    elif any(row["cost"] for row in rows):
        yield f"Prices: those you gave, otherwise list prices as of {checked()}."
    yield from notes


def print_prompts(plans: TitledPlans, count: int) -> None:
    """Print the first ``count`` prompts of each plan, as they would be sent."""
    document = list(prompts(plans, count))
    if FORM.get() == "json":
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
