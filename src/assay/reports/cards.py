"""Cards of topics as HTML: a line of outcomes for each, which opens on all that was said."""

from __future__ import annotations

from dataclasses import replace

from markupsafe import Markup

from assay.page.cards import Card, Cards
from assay.reports.figures import Kinds
from assay.reports.page import macro
from assay.reports.text import question_anchor

_ALIGNED_RUNS = 6
"""With more runs than this the outcomes of a topic stand below its text."""


def draw_cards(cards: Cards, kinds: Kinds, max_bytes: int) -> Markup:
    """Return the cards; their bodies until these take *max_bytes*, and those that have any."""
    wide = " many" if len(cards.runs) > _ALIGNED_RUNS else ""
    drawn: list[Markup] = []
    whole, size = 0, 0
    for place, card in enumerate(cards.cards):
        if whole == place and card.body is not None:
            one = _drawn(card, kinds, wide)
            size += len(one.encode())
            if size <= max_bytes:
                drawn.append(one)
                whole += 1
                continue
        drawn.append(_drawn(replace(card, body=None), kinds, wide))
    limited = ""
    if whole < len(drawn):
        limited = (
            f"To keep this file small, the first {whole:,} of {len(drawn):,} {cards.what}s are "
            f"shown in full, the others as a line of the matrix. All scores above are over all "
            f"{cards.what}s. {cards.whole}"
        )
    categories = dict.fromkeys(card.category for card in cards.cards if card.category)
    return macro("cards", "cards", cards, drawn, list(categories), limited, wide)


def _drawn(card: Card, kinds: Kinds, wide: str) -> Markup:
    return macro("cards", "card", card, question_anchor(card.topic), kinds, wide)
