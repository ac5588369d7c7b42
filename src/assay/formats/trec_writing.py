"""Writing of TREC run files and qrels, as :mod:`assay.formats.trec` reads them."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from itertools import chain, islice

from assay.model.errors import AssayError
from assay.model.wording import quoted

_ROWS = 2_000  # lines per piece
_BREAKS = re.compile(r"[\x00-\x1f\x7f\x85\u2028\u2029]")


def format_qrels(rows: Iterable[tuple[str, str, int]]) -> str:
    """A qrels file from (topic, document id or PassageKey, grade) in the given order.

    Columns are separated by spaces, or by tabs throughout if any id contains a space (an R2C2 run
    name may). Raises :class:`AssayError` for ids that no qrels file can hold.
    """
    return format_judged((topic, "0", doc, grade) for topic, doc, grade in rows)


def format_judged(rows: Iterable[tuple[str, str, str, int]]) -> str:
    """The same from (topic, second column, document id, grade); the second may be a subtopic."""
    every = list(rows)
    return b"".join(judged_lines(lambda: every)()).decode()


def judged_lines(
    rows: Callable[[], Iterable[tuple[str, str, str, int]]],
) -> Callable[[], Iterator[bytes]]:
    """A function that yields what :func:`format_judged` returns in pieces, for more rows than fit
    in memory; ``rows`` is called for each pass. Raises :class:`AssayError` at once."""
    separator = _separator(one for row in rows() for one in row[:3])

    def pieces() -> Iterator[bytes]:
        lines = (separator.join(ids) + f"{separator}{grade}\n" for *ids, grade in rows())
        return iter(lambda: "".join(islice(lines, _ROWS)).encode(), b"")

    return pieces


def run_lines(name: str, rankings: Mapping[str, Sequence[str]]) -> Callable[[], Iterator[bytes]]:
    """A function that yields a run file in pieces: for each topic its documents, best first, with
    ranks from 1 and integer scores descending to 1, so that no tool sees ties.

    Columns are separated as in :func:`format_qrels`. Raises :class:`AssayError` at once for a name
    or ids that no run file can hold.
    """
    separator = _separator(chain((name,), *((topic, *docs) for topic, docs in rankings.items())))

    @lru_cache(10)
    def ends(count: int) -> list[str]:
        """The ends of the lines (rank, score, name) of a list of ``count`` documents."""
        cells = ((str(rank), str(count + 1 - rank), name) for rank in range(1, count + 1))
        return [separator.join(("", *some)) + "\n" for some in cells]

    def pieces() -> Iterator[bytes]:
        for topic, docs in rankings.items():
            start = separator.join((topic, "Q0", ""))
            pairs = zip(docs, ends(len(docs)), strict=True)
            yield "".join([f"{start}{doc}{end}" for doc, end in pairs]).encode()

    return pieces


def _separator(ids: Iterable[str]) -> str:
    """The separator of columns that hold these ids."""
    found = list(dict.fromkeys(ids))
    if " ".join(found).split() == found:
        return " "
    _check_ids(found)
    return "\t"


def _check_ids(ids: Iterable[str]) -> None:
    for one in ids:
        if not one.strip() or one != one.strip() or _BREAKS.search(one):
            raise AssayError(
                f"The id {quoted(one)} cannot stand in a qrels or run file. Write it without "
                "line breaks and tabs, and without white space at its ends."
            )
