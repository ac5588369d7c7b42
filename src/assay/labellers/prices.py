"""Prices of tokens, and estimates of how many tokens a text has."""

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
_LETTERS = 7  # a word up to this long is about one token
# Kanji and hanzi, kana, bopomofo, hangul syllables: about one token each.
_CJK = re.compile(
    "[\u3005-\u3007\u3040-\u312f\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af\uf900-\ufaff"
    "\uff66-\uff9d\U00020000-\U0003ffff]"
)


@dataclass(frozen=True, slots=True)
class Price:
    """US dollars per million input and output tokens. ``cached`` is the price of input tokens read
    from the server's cache, ``cache_write`` of those added to it, for which a service may charge
    more; None means the price of other input tokens."""

    input: float
    output: float
    cached: float | None = None
    cache_write: float | None = None

    def of(self, tokens_in: int, tokens_out: int, cached: int = 0, stored: int = 0) -> float:
        """US dollars for ``tokens_in`` input tokens, of which ``cached`` were read from the cache
        and ``stored`` added to it, and ``tokens_out`` output tokens."""
        saved = self._gain(self.cached, cached) + self._gain(self.cache_write, stored)
        return (tokens_in * self.input + tokens_out * self.output) / 1e6 - saved

    def saved(self, cached: int, stored: int) -> float | None:
        """US dollars that the cache saved, negative if writing to it cost more than reading from it
        saved; None if a price for this is unknown."""
        if (cached and self.cached is None) or (stored and self.cache_write is None):
            return None
        return self._gain(self.cached, cached) + self._gain(self.cache_write, stored)

    def most(self, tokens_in: int, tokens_out: int) -> float:
        """The highest cost of so many tokens, whatever the cache does."""
        dearest = max(self.input, self.cached or 0.0, self.cache_write or 0.0)
        return (tokens_in * dearest + tokens_out * self.output) / 1e6

    def _gain(self, price: float | None, tokens: int) -> float:
        """US dollars saved if ``tokens`` cost ``price`` instead of the input price."""
        return 0.0 if price is None else tokens * (self.input - price) / 1e6


def list_price(model: str, base_urls: tuple[str, ...]) -> Price | None:
    """The list price of a model in the package's table (``prices.json``). None unless all its
    addresses are of one provider in the table: elsewhere, a model of the same name may cost
    anything."""
    prices = {_table().get(urlsplit(url).hostname or "", {}).get(model) for url in base_urls}
    return prices.pop() if len(prices) == 1 else None


def given_prices(model: str, price: str | None) -> dict[str, Price]:
    """The price of ``--price`` (IN/OUT), by the name of the model of a SPEC."""
    if price is None:
        return {}
    match = _PRICE.fullmatch(price.strip())
    kind, _, rest = model.strip().partition(":")
    try:
        if match is None or kind not in ("openai", "anthropic"):
            raise ValueError
        made = Price(float(match[1]), float(match[2]))
    except ValueError:
        raise SettingsError(
            "--price needs IN/OUT for an openai: model, in US dollars per million tokens, e.g. "
            "0.4/1.6."
        ) from None
    return {re.split(r"@(?=https?://)", rest)[0]: made}


IN_SETTINGS = (
    'Add to assay.toml:\n[prices."{model}"]\n'
    "input = 0.0   # US dollars per million tokens\noutput = 0.0"
)


def require_prices(labellers: Iterable[Any], cure: str = IN_SETTINGS) -> None:
    """Raise SettingsError if the price of a model is unknown, as a budget needs it. ``cure`` says
    how to give a price; ``{model}`` in it stands for the model's name."""
    for labeller in labellers:
        for member in getattr(labeller, "members", (labeller,)):
            # Labellers without the attribute, such as rules, cost nothing.
            if getattr(member, "price", 0) is None:
                model = str(member.id.params.get("model", member.id.name))
                raise SettingsError(
                    f"A budget needs the price of '{model}'. {cure.replace('{model}', model)}"
                )


def checked() -> str:
    """When the prices in the table were looked up, by provider."""
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
    """Estimate the number of tokens of a text in the byte-pair vocabularies of current models. The
    rule of thumb: a short word, a digit or a run of symbols is one token, a longer word one per
    seven letters or part of it; a Chinese, Japanese or Korean character is one token, two other
    letters outside ASCII are one, and a lone accent in a word is none."""
    parts = _WORD.findall(text)
    if text.isascii():
        return sum(1 if len(part) <= _LETTERS else -(-len(part) // _LETTERS) for part in parts)
    return sum(_of_part(part) for part in parts)


def tokens_read(messages: Iterable[Mapping[str, str]]) -> int:
    """Estimate the number of input tokens of messages, including the chat format around them."""
    return sum(tokens(message["content"]) + 4 for message in messages)


def _of_part(part: str) -> int:
    whole = -(-len(part) // _LETTERS)
    if part.isascii() or not part[0].isalnum():  # symbols count as in English
        return whole
    plain = len(part.encode("ascii", "ignore"))
    cjk = len(_CJK.findall(part))
    others = len(part) - plain - cjk
    return max(whole, -(-plain // _LETTERS) + cjk + others // 2)
