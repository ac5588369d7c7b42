"""What tokens cost, and about how many a text has."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any
from urllib.parse import urlsplit

import orjson

from assay.model.errors import SettingsError

_PRICE = re.compile(r"([0-9.]+)[/,]([0-9.]+)")
_WORD = re.compile(r"[^\W\d_]+|\d|[^\w\s]+|_+")
_LETTERS = 7  # letters of a word up to which it is about one token
# Kanji and hanzi, kana, bopomofo, hangul syllables: about a token each.
_CJK = re.compile(
    "[\u3005-\u3007\u3040-\u312f\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af\uf900-\ufaff"
    "\uff66-\uff9d\U00020000-\U0003ffff]"
)


@dataclass(frozen=True, slots=True)
class Price:
    """US dollars for a million tokens in and out; ``cached`` those that the server had read
    before, ``cache_write`` those that it puts into its cache (a service may ask more for them), at
    the price of others where they are None."""

    input: float
    output: float
    cached: float | None = None
    cache_write: float | None = None

    def of(self, tokens_in: int, tokens_out: int, cached: int = 0, stored: int = 0) -> float:
        """US dollars for ``tokens_in`` tokens, ``cached`` of them from the server's cache and
        ``stored`` of them put there, and ``tokens_out`` written ones."""
        saved = self._gain(self.cached, cached) + self._gain(self.cache_write, stored)
        return (tokens_in * self.input + tokens_out * self.output) / 1e6 - saved

    def saved(self, cached: int, stored: int) -> float | None:
        """US dollars that the server's cache saved, fewer than 0 where it cost more to put tokens
        there than reading them from there saved; None where a price that this needs is unknown."""
        if (cached and self.cached is None) or (stored and self.cache_write is None):
            return None
        return self._gain(self.cached, cached) + self._gain(self.cache_write, stored)

    def most(self, tokens_in: int, tokens_out: int) -> float:
        """The most that so many tokens can cost, whatever a cache does."""
        dearest = max(self.input, self.cached or 0.0, self.cache_write or 0.0)
        return (tokens_in * dearest + tokens_out * self.output) / 1e6

    def _gain(self, price: float | None, tokens: int) -> float:
        """US dollars that ``tokens`` at ``price`` are cheaper than read anew."""
        return 0.0 if price is None else tokens * (self.input - price) / 1e6


def list_price(model: str, base_urls: tuple[str, ...]) -> Price | None:
    """The list price of a model where all its addresses are of a provider in the package's table
    (``prices.json``), else None: a model of the same name elsewhere may cost anything."""
    found = {_table().get(urlsplit(url).hostname or "", {}).get(model) for url in base_urls}
    return found.pop() if len(found) == 1 else None


def given_prices(model: str, price: str | None) -> dict[str, Price]:
    """What ``--price`` says (IN/OUT) of the model that a SPEC names."""
    if price is None:
        return {}
    found = _PRICE.fullmatch(price.strip())
    kind, _, rest = model.strip().partition(":")
    try:
        if found is None or kind not in ("openai", "anthropic"):
            raise ValueError
        made = Price(float(found.group(1)), float(found.group(2)))
    except ValueError:
        raise SettingsError(
            "--price is IN/OUT for an openai: model, in US dollars for a million tokens: 0.4/1.6."
        ) from None
    return {re.split(r"@(?=https?://)", rest)[0]: made}


IN_SETTINGS = (
    'Add to assay.toml:\n[prices."{model}"]\n'
    "input = 0.0   # US dollars for a million tokens\noutput = 0.0"
)


def require_prices(labellers: Iterable[Any], cure: str = IN_SETTINGS) -> None:
    """A budget means nothing for a model whose price is unknown: say so before calling it.
    ``cure`` says how a price is given; ``{model}`` in it is the model's name."""
    for labeller in labellers:
        for member in getattr(labeller, "members", (labeller,)):
            # (what has no price at all, such as rules, costs nothing)
            if getattr(member, "price", 0) is None:
                model = str(member.id.params.get("model", member.id.name))
                raise SettingsError(
                    f"A budget needs the price of '{model}'. {cure.replace('{model}', model)}"
                )


def checked() -> str:
    """The months in which the table's prices were looked up, by provider."""
    months = orjson.loads(_data())["checked"].items()
    return ", ".join(f"{month} ({host})" for host, month in months)


def _data() -> bytes:
    return files("assay.labellers").joinpath("prices.json").read_bytes()


@cache
def _table() -> Mapping[str, Mapping[str, Price]]:
    hosts = orjson.loads(_data())["hosts"]
    return {
        host: {model: Price(**price) for model, price in models.items()}
        for host, models in hosts.items()
    }


def tokens(text: str) -> int:
    """About how many tokens a text has for the byte-pair vocabularies of current models: a short
    word, a digit or a run of signs is one, a longer word one for every seven letters begun.

    That is a rule of thumb, as is what holds of letters that are not ASCII: a Chinese, Japanese or
    Korean character is about one token, of other letters two are; a lone accent in a word is none.
    """
    parts = _WORD.findall(text)
    if text.isascii():
        return sum(1 if len(part) <= _LETTERS else -(-len(part) // _LETTERS) for part in parts)
    return sum(_of_part(part) for part in parts)


def tokens_read(messages: Iterable[Mapping[str, str]]) -> int:
    """About how many tokens a model reads of messages, with what stands around each."""
    return sum(tokens(message["content"]) + 4 for message in messages)


def _of_part(part: str) -> int:
    whole = -(-len(part) // _LETTERS)
    if part.isascii() or not part[0].isalnum():  # signs count as they do in English
        return whole
    plain = len(part.encode("ascii", "ignore"))
    cjk = len(_CJK.findall(part))
    others = len(part) - plain - cjk
    return max(whole, -(-plain // _LETTERS) + cjk + others // 2)
