"""Who is served goes first: work behind the page stops meanwhile, and goes on for all that."""

from __future__ import annotations

import threading
import time

import pytest

from assay.web import turns
from assay.web.turns import Turns


def test_rows_wait_while_somebody_is_served() -> None:
    ours = Turns()
    taken: list[int] = []
    work = threading.Thread(target=lambda: taken.extend(ours.last(range(3))))
    with ours.served(), ours.served():
        work.start()
        time.sleep(0.05)
        assert taken == []
    work.join(5)
    assert taken == [0, 1, 2]


def test_rows_that_nobody_is_served_beside_do_not_wait() -> None:
    began = time.monotonic()
    assert sum(Turns().last(range(10_000))) == 49_995_000
    assert time.monotonic() - began < 5


def test_who_serves_without_end_does_not_stop_the_work_for_ever(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(turns, "_MOST", 0.02)
    ours = Turns()
    with ours.served():
        assert list(ours.last(range(3))) == [0, 1, 2]
