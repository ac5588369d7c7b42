"""Conversion of qrels and runs in memory to checked dicts with text ids.

Nothing here imports pandas or polars: a table is any object with ``columns`` whose columns can be
turned into lists. The column names are pyterrier's (``qid docno score``, ``label``), ir_measures'
(``query_id doc_id score``, ``relevance``), or Assay's own (``topic``, ``doc`` or ``id``, ``score``,
``grade``). A column ``run`` may separate several runs.
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
_DOC_OR_ID = ("doc", "id")
_RUN = "run"
_GRADE = ("label", "relevance", "grade")
_SCORE = ("score",)
_RANKING = "give a dict of document → score, or a list of documents, the best first"


def to_runs(data: Any) -> dict[str, Any]:
    """Name → run, from a mapping, or from a table whose column ``run`` names the runs. A table
    without that column is one run, called ``run``. Raises ValueError as :func:`to_run` does."""
    if isinstance(data, Mapping):
        return {str(name): run for name, run in data.items()}
    return {**_read_table(data, _SCORE, "ranked")} or {_RUN: {}}


def to_run(data: Any) -> Run:
    """A run as topic → document id → score, or topic → document ids in rank order.

    Ids that are whole numbers become text, as they are in files. Raises ValueError if a ranking is
    neither a mapping nor a sequence of ids, an id is missing or not text, two ids are the same as
    text, a score is not a finite number, or as :func:`_read_table` does.
    """
    if not isinstance(data, Mapping):
        runs = _read_table(data, _SCORE, "ranked")
        if len(runs) > 1:
            several = ", ".join([*runs][:3])
            raise ValueError(f"its table holds several runs ({several}, …): give it by itself")
        run = next(iter(runs.values()), {})
        for topic, documents in run.items():
            _check_numbers(topic, documents, "score")
        return run
    if _is_plain(data, {dict, list}):
        return data
    return _with_text_ids(data, _topic_ranking)


def to_grades(data: Any) -> Mapping[str, Mapping[str, float]]:
    """Qrels as topic → document id → grade. Raises ValueError as :func:`to_run` does, or if a
    grade is not a finite number."""
    grades: Mapping[str, Mapping[str, float]]
    if not isinstance(data, Mapping):
        grades = next(iter(_read_table(data, _GRADE, "judged").values()), {})
    elif _is_plain(data, {dict}):
        grades = data
    else:
        grades = _with_text_ids(data, _topic_grades)
    for topic, documents in grades.items():
        _check_numbers(topic, documents, "grade")
    return grades


def to_subtopics(data: Mapping[Any, Any]) -> dict[str, Mapping[str, Mapping[str, float]]]:
    """Topic → subtopic → document id → grade, converted and checked by :func:`to_grades`."""
    return _with_text_ids(data, lambda _, by_subtopic: to_grades(by_subtopic))


def _check_numbers(topic: str, documents: Mapping[str, Any], what: str) -> None:
    numbers = all(issubclass(kind, Real) for kind in set(map(type, documents.values())))
    if not numbers or not _finite(documents.values()):
        raise ValueError(invalid_number_message(topic, documents, what))


def invalid_number_message(topic: str, documents: Mapping[str, Any], what: str) -> str | None:
    """A message about the first document whose score or grade is not a finite number, or None.
    ``what``: ``score`` or ``grade``."""
    for document, value in documents.items():
        if not isinstance(value, Real):
            return f"topic {topic}: the {what} of {document} is not a number ({value!r:.80})"
        if not _finite([value]):
            return f"topic {topic}: the {what} of {document} is not a finite number ({value!r:.80})"
    return None


def _finite(values: Iterable[Any]) -> bool:
    try:
        return all(map(math.isfinite, values))
    except OverflowError:  # a whole number too large for a float
        return False


def _is_plain(data: Mapping[Any, Any], kinds: set[type]) -> bool:
    """Whether all ids are ``str``, and each topic's documents are of one of the ``kinds``."""
    if not set(map(type, data)) <= {str} or not set(map(type, data.values())) <= kinds:
        return False
    try:
        deque(map("".join, data.values()), maxlen=0)  # the fastest check of every id
    except TypeError:
        return False
    return True


def _with_text_ids(data: Mapping[Any, Any], convert: Callable[[str, Any], Any]) -> dict[str, Any]:
    """The mapping with topics as text; ``convert(topic, value)`` gives the new values."""
    by_topic = zip(_unique_ids(data, "topics", ""), data.values(), strict=True)
    return {topic: convert(topic, value) for topic, value in by_topic}


def _topic_ranking(topic: str, documents: Any) -> Ranking:
    if isinstance(documents, Mapping):
        _check_numbers(topic, documents, "score")
        names = _unique_ids(documents, "documents", f"topic {topic}: ")
        return dict(zip(names, documents.values(), strict=True))
    unfit = isinstance(documents, str | bytes | Set) or not hasattr(documents, "__getitem__")
    if unfit or getattr(documents, "ndim", 1) != 1:
        raise ValueError(
            f"topic {topic}: a ranking cannot be a {type(documents).__name__}; {_RANKING}"
        )
    items = documents.tolist() if hasattr(documents, "tolist") else list(documents)
    for item in items:
        if isinstance(item, tuple | list | dict | float):
            raise ValueError(f"topic {topic}: {item!r:.80} is not a document id; {_RANKING}")
    return [_id(item, f"topic {topic}: ") for item in items]


def _topic_grades(topic: str, documents: Any) -> dict[str, Any]:
    if not isinstance(documents, Mapping):
        raise ValueError(
            f"topic {topic}: its grades must be a dict of document → grade, "
            f"not a {type(documents).__name__}"
        )
    names = _unique_ids(documents, "documents", f"topic {topic}: ")
    return dict(zip(names, documents.values(), strict=True))


def _unique_ids(ids: Iterable[Any], what: str, where: str) -> list[str]:
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
            return str(int(float(value)))  # a column of integers with gaps holds floats
    kind = type(value).__name__
    missing = value is None or kind in {"NAType", "NaTType"} or value != value
    raise ValueError(
        f"{where}an id is missing"
        if missing
        else f"{where}{value!r:.80} is not an id: ids are text"
    )


def _read_table(
    table: Any, value: Sequence[str], done: str
) -> dict[str, dict[str, dict[str, float]]]:
    """Run → topic → document → value, from a DataFrame or an iterable of named tuples.

    ``value``: possible names of the value column. ``done``: ``ranked`` or ``judged``, for messages.
    Raises ValueError if a column is missing, ambiguous or repeated, an id is missing or not text,
    or a document occurs twice for a topic.
    """
    if hasattr(table, "collect"):  # a polars LazyFrame
        table = table.collect()
    runs: Iterable[str] = repeat(_RUN)
    if hasattr(table, "columns"):
        names = [str(name) for name in getattr(table, "column_names", table.columns)]
        alternatives = (_TOPIC, _document_columns(names), value)
        columns = [_column(table, names, candidates) for candidates in alternatives]
        if value is _SCORE and _RUN in names:
            runs = _text_ids(_column(table, names, (_RUN,)))
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
    values: dict[str, dict[str, dict[str, float]]] = {}
    topics, documents = map(_text_ids, columns[:2])
    for run, topic, document, number in zip(runs, topics, documents, columns[2], strict=False):
        of_topic = values.setdefault(run, {}).setdefault(topic, {})
        if document in of_topic:
            raise ValueError(f"topic {topic}: document {document} is {done} twice")
        of_topic[document] = number
    return values


def _document_columns(names: Sequence[str]) -> Sequence[str]:
    """Possible names of the document column. Raises ValueError if both ``doc`` and ``id`` exist and
    it is unclear which one it is."""
    if not any(one in names for one in _DOCUMENT) and all(one in names for one in _DOC_OR_ID):
        raise ValueError(
            "the table has columns doc and id: rename the one that the qrels go by to docno"
        )
    return (*_DOCUMENT, *_DOC_OR_ID)


def _text_ids(column: list[Any]) -> list[str]:
    """A column of ids as text. Messages count rows from 1."""
    if set(map(type, column)) <= {str}:
        return column
    return [_id(value, f"row {row}: ") for row, value in enumerate(column, 1)]


def _column(table: Any, names: Sequence[str], candidates: Sequence[str]) -> list[Any]:
    name = next((one for one in candidates if one in names), None)
    if name is None:
        raise ValueError(
            f"the table has no column {' or '.join(candidates)}; its columns: {', '.join(names)}"
        )
    if names.count(name) > 1:
        raise ValueError(f"the table has several columns {name}")
    column = table[name]
    for method in ("to_list", "to_pylist"):  # pandas and polars; pyarrow
        if hasattr(column, method):
            return list(getattr(column, method)())
    return list(column)
