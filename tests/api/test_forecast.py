"""What a dry run tells while it measures prompts."""

from __future__ import annotations

from types import SimpleNamespace

from assay.api.forecast import forecast_rows
from assay.labellers.base import Estimate


def test_measuring_many_prompts_is_told_of():
    labeller = SimpleNamespace(id=SimpleNamespace(name="l"), estimate=lambda _: Estimate(1, 2, 0))
    todo = [(f"{n}", None) for n in range(1_200)]
    part = SimpleNamespace(todo=todo, labeller=labeller, known=0)
    heard = []
    (row,) = forecast_rows([("nuggets", SimpleNamespace(parts=[part]))], lambda *a: heard.append(a))
    assert (row["to_ask"], row["tokens_in"]) == (1_200, 2_400)
    assert [done for _, done, _ in heard] == [500, 1_000, 1_200]
    assert heard[-1] == ("nuggets: prompts measured", 1_200, 1.0)
