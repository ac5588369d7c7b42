"""Qrels and runs of any kind that are in memory, as dicts: checked, and ids as text.

Nothing here needs pandas or polars: a table is whatever has ``columns`` and gives a column that
can be turned into a list. The columns are pyterrier's (``qid docno score``, ``label``), those of
ir_measures (``query_id doc_id score``, ``relevance``), or Assay's own (``topic``, ``doc`` or
``id``, ``score``, ``grade``); a column ``run`` tells runs apart.
"""

from __future__ import annotations

import math
from collections import Counter, deque
from collections.abc import Callable, Iterable, Mapping, Sequence, Set
from itertools import repeat
from numbers import Integral, Real
from typing import Any

Ranking = Mapping[str, float] | Sequence[str]
"""Document id → score, or document ids in rank order."""

Run = Mapping[str, Ranking]

_TOPIC = ("qid", "query_id", "topic")
_DOCUMENT = ("docno", "doc_id", "docid")
_ITEM = ("doc", "id")
_RUN = "run"
_GRADE = ("label", "relevance", "grade")
_SCORE = ("score",)
_RANKING = "give a dict of document → score, or a list of documents, the best first"


def to_runs(given: Any) -> dict[str, Any]:
    """Name → run: what is a mapping, or the runs that a table's column ``run`` tells apart. Without
    it a table is one run, called ``run``. Raises ValueError as :func:`to_run`."""
    if isinstance(given, Mapping):
        return {str(name): run for name, run in given.items()}
    return {**_tables(given, _SCORE, "ranked")} or {_RUN: {}}


def to_run(given: Any) -> Run:
    """A run as topic → document id → score, or topic → document ids in rank order.

    Ids that are whole numbers become text, as tables and files have them. Raises ValueError if a
    ranking is neither a mapping nor a sequence of ids, an id is missing or no text, or two ids are
    one as text; or what :func:`_tables` says of tables.
    """
    if not isinstance(given, Mapping):
        runs = _tables(given, _SCORE, "ranked")
        if len(runs) > 1:
            several = ", ".join([*runs][:3])
            raise ValueError(f"its table holds several runs ({several}, …): give it by itself")
        run = next(iter(runs.values()), {})
        for topic, documents in run.items():
            _check_numbers(topic, documents, "score")
        return run
    if _is_plain(given, {dict, list}):
        return given
    return _renamed(given, _ranking)


def to_grades(given: Any) -> Mapping[str, Mapping[str, float]]:
    """Qrels as topic → document id → grade. Raises ValueError as :func:`to_run`, or a
    grade is no finite number."""
    grades: Mapping[str, Mapping[str, float]]
    if not isinstance(given, Mapping):
        grades = next(iter(_tables(given, _GRADE, "judged").values()), {})
    elif _is_plain(given, {dict}):
        grades = given
    else:
        grades = _renamed(given, _judged)
    for topic, documents in grades.items():
        _check_numbers(topic, documents, "grade")
    return grades


def to_subtopics(given: Mapping[Any, Any]) -> dict[str, Mapping[str, Mapping[str, float]]]:
    """Topic → subtopic → document id → grade, with ids as :func:`to_grades` has them. Raises
    ValueError as :func:`to_grades`."""
    return {topic: to_grades(one) for topic, one in _renamed(given, lambda _, one: one).items()}


def _check_numbers(topic: str, documents: Mapping[str, Any], what: str) -> None:
    numbers = all(issubclass(kind, Real) for kind in set(map(type, documents.values())))
    if not numbers or not _finite(documents.values()):
        raise ValueError(odd_number(topic, documents, what))


def odd_number(topic: str, documents: Mapping[str, Any], what: str) -> str | None:
    """Say which of a topic's documents has a score or grade that is no finite number."""
    for document, value in documents.items():
        if not isinstance(value, Real):
            return f"topic {topic}: the {what} of {document} is no number ({value!r:.80})"
        if not _finite([value]):
            return f"topic {topic}: the {what} of {document} is not a finite number ({value!r:.80})"
    return None


def _finite(values: Iterable[Any]) -> bool:
    try:
        return all(map(math.isfinite, values))
    except OverflowError:  # a whole number too large for a float
        return False


def _is_plain(given: Mapping[Any, Any], kinds: set[type]) -> bool:
    """Whether all ids are text, and what belongs to each topic is of one of the ``kinds``."""
    if not set(map(type, given)) <= {str} or not set(map(type, given.values())) <= kinds:
        return False
    try:
        deque(map("".join, given.values()), maxlen=0)  # the quickest look at every id
    except TypeError:
        return False
    return True


def _renamed(given: Mapping[Any, Any], of: Callable[[str, Any], Any]) -> dict[str, Any]:
    topics = _unique(given, "topics", "")
    return {topic: of(topic, one) for topic, one in zip(topics, given.values(), strict=True)}


def _ranking(topic: str, documents: Any) -> Ranking:
    if isinstance(documents, Mapping):
        _check_numbers(topic, documents, "score")
        names = _unique(documents, "documents", f"topic {topic}: ")
        return dict(zip(names, documents.values(), strict=True))
    unfit = isinstance(documents, str | bytes | Set) or not hasattr(documents, "__getitem__")
    if unfit or getattr(documents, "ndim", 1) != 1:
        raise ValueError(
            f"topic {topic}: a ranking cannot be a {type(documents).__name__}; {_RANKING}"
        )
    items = documents.tolist() if hasattr(documents, "tolist") else list(documents)
    for item in items:
        if isinstance(item, tuple | list | dict | float):
            raise ValueError(f"topic {topic}: {item!r:.80} is no document id; {_RANKING}")
    return [_id(item, f"topic {topic}: ") for item in items]


def _judged(topic: str, documents: Any) -> dict[str, Any]:
    if not isinstance(documents, Mapping):
        raise ValueError(
            f"topic {topic}: its grades must be a dict of document → grade, "
            f"not a {type(documents).__name__}"
        )
    names = _unique(documents, "documents", f"topic {topic}: ")
    return dict(zip(names, documents.values(), strict=True))


def _unique(ids: Iterable[Any], what: str, where: str) -> list[str]:
    names = [_id(one, where) for one in ids]
    if len(set(names)) < len(names):
        twice = Counter(names).most_common(1)[0][0]
        raise ValueError(f"{where}two {what} are the same as text: {twice}")
    return names


def _id(value: Any, where: str) -> str:
    if isinstance(value, str):
        return str.__str__(value)
    if isinstance(value, Real) and not isinstance(value, bool):
        if isinstance(value, Integral):
            return str(int(value))
        if _finite([value]) and float(value).is_integer():
            return str(int(float(value)))  # whole numbers of a column that has missing ones
    kind = type(value).__name__
    missing = value is None or kind in {"NAType", "NaTType"} or value != value
    raise ValueError(
        f"{where}an id is missing" if missing else f"{where}{value!r:.80} is no id: ids are text"
    )


def _tables(table: Any, value: Sequence[str], done: str) -> dict[str, dict[str, dict[str, float]]]:
    """Run → topic → document → value of a DataFrame or of an iterable of named tuples."""
    if hasattr(table, "collect"):  # a frame of polars that is not computed yet
        table = table.collect()
    runs: Iterable[str] = repeat(_RUN)
    if hasattr(table, "columns"):
        names = [str(name) for name in getattr(table, "column_names", table.columns)]
        wanted = (_TOPIC, _documents(names), value)
        columns = [_column(table, names, one) for one in wanted]
        if value is _SCORE and _RUN in names:
            runs = _texts(_column(table, names, (_RUN,)))
    else:
        fields = ("query_id", "doc_id", "relevance" if value is _GRADE else "score")
        try:
            rows = list(table)
            columns = [[getattr(row, name) for row in rows] for name in fields]
        except (AttributeError, TypeError):
            raise ValueError(
                f"{'qrels' if value is _GRADE else 'runs'}: neither a dict, nor a DataFrame, nor "
                f"tuples with the fields {', '.join(fields)}"
            ) from None
    found: dict[str, dict[str, dict[str, float]]] = {}
    topics, documents = map(_texts, columns[:2])
    for run, topic, document, number in zip(runs, topics, documents, columns[2], strict=False):
        own = found.setdefault(run, {}).setdefault(topic, {})
        if document in own:
            raise ValueError(f"topic {topic}: document {document} is {done} twice")
        own[document] = number
    return found


def _documents(names: Sequence[str]) -> Sequence[str]:
    """The columns that may hold documents. Raises ValueError if it cannot be told which does."""
    if not any(one in names for one in _DOCUMENT) and all(one in names for one in _ITEM):
        raise ValueError(
            "the table has columns doc and id: rename the one that the qrels go by to docno"
        )
    return (*_DOCUMENT, *_ITEM)


def _texts(column: list[Any]) -> list[str]:
    """A column of ids as text; the message counts rows from 1."""
    if set(map(type, column)) <= {str}:
        return column
    return [_id(value, f"row {row}: ") for row, value in enumerate(column, 1)]


def _column(table: Any, names: Sequence[str], wanted: Sequence[str]) -> list[Any]:
    name = next((one for one in wanted if one in names), None)
    if name is None:
        raise ValueError(
            f"the table has no column {' or '.join(wanted)}; its columns: {', '.join(names)}"
        )
    if names.count(name) > 1:
        raise ValueError(f"the table has several columns {name}")
    column = table[name]
    for whole in ("to_list", "to_pylist"):  # of pandas and polars, of pyarrow
        if hasattr(column, whole):
            return list(getattr(column, whole)())
    return list(column)
