"""What a server's cache saved: counted, priced, kept, and shown as far as prices are known."""

from __future__ import annotations

import json
from typing import Any

import pytest

from assay.api.telling import ProgressLines
from assay.cli.forecast import done_in_words
from assay.judging.engine import judge
from assay.judging.progress import Tally
from assay.labellers.anthropic import AnthropicLabeller
from assay.labellers.base import Outcome
from assay.labellers.openai import OpenAISettings, Usage
from assay.labellers.prices import Price, checked, list_price
from assay.ledger import Ledger
from assay.model.labels import Status
from assay.tasks.rendering import Renderer
from tests.engine.asking import labeller, requests
from tests.engine.server import completion, serve
from tests.engine.test_anthropic import VERDICT, message
from tests.engine.test_judging import entailed, plan

CLAUDE = Price(3.0, 15.0, 0.3, 3.75)


def replies(*usages: dict[str, int]):
    """A server with Anthropic's API whose replies report tokens read from and written to the
    cache."""
    names = ("input_tokens", "cache_read_input_tokens", "cache_creation_input_tokens")

    def script(body: dict[str, Any], number: int) -> dict[str, Any]:
        usage = dict.fromkeys(names, 0) | usages[min(number, len(usages)) - 1]
        return message(VERDICT, usage={**usage, "output_tokens": 10})

    return script


def judged(place, script, price: Price | None, count: int) -> tuple[Tally, list[dict[str, Any]]]:
    with serve(script) as server, Ledger.open(place) as ledger:
        settings = OpenAISettings("m", (server.url,), price=price)
        made = AnthropicLabeller(settings, Renderer())
        tally = judge([("t", plan(ledger, made, requests(count)))], ledger)
        return tally, ledger.stats()


WRITES = {"input_tokens": 20, "cache_creation_input_tokens": 1000}
READS = {"input_tokens": 20, "cache_read_input_tokens": 1000}


def test_what_a_cache_took_and_saved_is_counted_and_kept(place):
    tally, (row,) = judged(place, replies(WRITES, READS, READS), CLAUDE, 3)
    without = 3 * (1020 * 3.0 + 10 * 15.0) / 1e6
    saved = (2 * 1000 * 2.7 - 1000 * 0.75) / 1e6
    assert tally.cost == pytest.approx(without - saved)
    assert tally.cache_saved == pytest.approx(saved)
    assert (tally.tokens_cached, tally.tokens_cache_write) == (2000, 1000)
    assert (row["cached"], row["cache_saved"]) == (2000, pytest.approx(saved))
    assert row["cost"] == pytest.approx(tally.cost)
    assert (
        "3,060 tokens read (2,000 from the cache, 1,000 put into it), 30 written."
        in done_in_words(tally)
    )
    assert "$0.0050; the cache saved $0.0047." in done_in_words(tally)


def test_a_cache_that_is_only_written_to_has_cost_more(place):
    tally, (row,) = judged(place, replies(WRITES), CLAUDE, 1)
    assert tally.cache_saved == pytest.approx(-0.00075)
    assert row["cache_saved"] == pytest.approx(-0.00075)
    assert "1,020 tokens read (1,000 put into a cache)" in done_in_words(tally)
    assert "the cache has cost $0.0008 more than it saved so far" in done_in_words(tally)


@pytest.mark.parametrize("price", [None, Price(3.0, 15.0), Price(3.0, 15.0, 0.3)])
def test_where_a_price_is_unknown_only_tokens_are_shown(place, price):
    """If tokens were written to the cache, a price for reads alone would overstate the savings."""
    tally, (row,) = judged(place, replies(WRITES, READS), price, 2)
    cheaper = price is not None and price.cached is not None
    assert tally.cache_saved == pytest.approx(0.0027 if cheaper else 0)
    assert tally.cache_unpriced == (1000 if cheaper else 2000)
    assert row["cached"] == 1000
    assert (row["cache_saved"] is None) is not cheaper
    assert "1,000 from the cache, 1,000 put into it" in done_in_words(tally)
    assert ("saved" in done_in_words(tally)) is cheaper
    assert ("1,000 of these at an unknown price" in done_in_words(tally)) is cheaper


def test_what_comes_to_nothing_is_counted_too(place):
    def script(body: dict[str, Any], number: int) -> dict[str, Any]:
        text = {"type": "text", "text": "no JSON"}
        usage = {"input_tokens": 20, "cache_read_input_tokens": 1000, "output_tokens": 10}
        return message(text, stop_reason="end_turn", usage=usage)

    tally, (row,) = judged(place, script, CLAUDE, 1)
    assert (row["status"], row["cached"]) == ("failed", 2000)
    assert tally.cache_saved == pytest.approx(2 * 1000 * 2.7 / 1e6)


def test_progress_says_what_was_saved(place, capsys):
    def cached(body, number):
        made = entailed(body, number)
        made["usage"] |= {"prompt_tokens": 10_000, "prompt_tokens_details": {"cached_tokens": 8000}}
        return made

    with serve(cached) as server, Ledger.open(place) as ledger:
        made = labeller(server.url, price=Price(1.0, 1.0, 0.5))
        judge([("t", plan(ledger, made, requests(2)))], ledger, progress=ProgressLines())
    assert "t: 2/2, $0.0120, the cache saved $0.0080" in capsys.readouterr().err


def test_no_cache_makes_a_cost_negative_whatever_a_server_says():
    usage = Usage()
    details = {"cached_tokens": 100, "cache_write_tokens": 100}
    usage.add({"usage": {"prompt_tokens": 100, "prompt_tokens_details": details}}, str)
    assert (usage.cached, usage.stored) == (100, 0)
    assert usage.cost(Price(1.0, 1.0, 0.0, 0.0)) == 0.0


def test_the_most_that_a_request_costs_is_with_a_cache_that_takes_it():
    assert CLAUDE.most(1_000_000, 0) == 3.75
    assert Price(3.0, 15.0).most(1_000_000, 1_000_000) == 18.0


def test_list_prices_of_anthropic_hold_for_reads_and_writes():
    """The provider's rule for all its models: a tenth for reads, a quarter more for writes."""
    for model in ("claude-haiku-4-5", "claude-sonnet-4-5-20250929", "claude-opus-4-6"):
        price = list_price(model, ("https://api.anthropic.com/v1",))
        assert price is not None
        assert price.cached == pytest.approx(price.input / 10)
        assert price.cache_write == pytest.approx(price.input * 1.25)
        assert list_price(model, ("https://elsewhere.example/v1",)) is None
    assert "undated copies of the page, seen in 2026-11 (api.anthropic.com)" in checked()


@pytest.mark.parametrize("said", ["many", True, float("nan"), None])
def test_what_a_labeller_of_ones_own_says_of_caches_breaks_nothing(said):
    tally = Tally()
    detail = dict.fromkeys(("cached_tokens", "cache_write_tokens", "cache_saved"), said)
    tally.spend(Outcome(Status.OK, tokens_in=5, tokens_out=1, detail=detail), priced=False)
    assert (tally.tokens_cached, tally.cache_saved) == (0, 0.0)


def test_labels_and_status_show_it(tmp_path, assay):
    folder = tmp_path / "films"
    assay("init", "films", "--protocol", "r2c2", cwd=tmp_path)

    def script(body: dict[str, Any], number: int) -> dict[str, Any]:
        made = entailed_anyhow(body)
        made["usage"] |= {"prompt_tokens": 10_000, "prompt_tokens_details": {"cached_tokens": 8000}}
        return made

    with serve(script) as server:
        settings = folder / "assay.toml"
        prices = '\n[prices."m"]\ninput = 1.0\ncached = 0.5\noutput = 1.0\n'
        settings.write_text(settings.read_text() + prices)
        spec = f"openai:m@{server.url}"
        done = assay("judge", folder, "--labeller", spec, "--json")
    tally = json.loads(done.stdout)
    assert tally["cache_saved"] == pytest.approx(tally["asked"] * 0.004)
    table = assay("labels", "stats", folder).stdout
    assert "saved, $" in table
    (said,) = (
        row for name, row in json.loads(assay("status", folder, "--json").stdout)["rows"]
        if name == "cost"
    )  # fmt: skip
    assert f"; the cache saved ${tally['cache_saved']:.4f}" in said
    assert f"{tally['asked'] * 8000:,} tokens from a server's cache" in said


def entailed_anyhow(body: dict[str, Any]) -> dict[str, Any]:
    return completion(json.dumps({"reason": "it says so", "entailed": "YES"}))
