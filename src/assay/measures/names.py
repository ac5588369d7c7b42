"""Parsing of measure names such as ``nDCG(gain=exp)@20``, and of trec_eval's names.

A name is ``NAME``, optionally followed by parameters in brackets, then optionally by ``@`` and a
cutoff. ``str(measure)`` is the canonical name, which leaves defaults out;
``parse_measure(str(measure)) == measure`` always holds. Source: docs/measures.md.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from difflib import get_close_matches
from enum import StrEnum
from typing import Any

from assay.measures.base import MEASURES, Measure

_NAME = re.compile(
    r"(?P<name>[A-Za-zα][A-Za-z_#♯-]*)\s*(?:\((?P<arguments>[^()]*)\))?\s*(?:@\s*(?P<k>[0-9]+))?"
)
_LEADING_NAME = re.compile(r"\s*(?P<name>[A-Za-zα_#♯-]+)(?P<rest>.*)", re.DOTALL)
_TREC_EVAL_CUT = re.compile(r"(?P<stem>ndcg_cut|map_cut|p|recall|success)[._](?P<k>[0-9]+)")
_TREC_EVAL_STEMS = {
    "ndcg_cut": "nDCG",
    "map_cut": "AP",
    "p": "P",
    "recall": "Recall",
    "success": "Success",
}
_TREC_EVAL_NAMES = {"ndcg": "nDCG", "map": "AP", "recip_rank": "RR"}
_SPELLINGS = {"alpha-ndcg": "α-ndcg", "d♯-ndcg": "d#-ndcg", "dsharp-ndcg": "d#-ndcg"}
_OTHER_TOOLS_NAMES = {
    "r": "Recall", "precision": "P", "r-precision": "Rprec", "hit-rate": "Success",
    "ndcg-burges": "nDCG(gain=exp)",
}  # fmt: skip
"""Names in ir_measures and ranx that are too unlike ours for a fuzzy match."""


def parse_measure(text: str) -> Measure:
    """Parse the name of a measure.

    Case does not matter (``ndcg@10``), ``_`` may stand for ``-``, ``alpha`` for ``α`` and ``♯`` for
    ``#``. A parameter with a fixed set of choices may be given by its value alone (``AP(min)@5``,
    ``nDCG(exp)@20``). trec_eval's names are understood: ``ndcg``, ``ndcg_cut_10``, ``map``,
    ``map_cut_10``, ``recip_rank``, ``P_10``, ``recall_100``, ``success_5``, ``Rprec``.

    Raises ValueError if the text is not the name of a measure, or a parameter or the cutoff is
    unknown, missing, repeated or out of range. The message says what would be valid.
    """
    name = _from_trec_eval(text.strip())
    match = _NAME.fullmatch(name)
    if match is None:
        raise ValueError(
            f"{text!r} is not a measure name; names look like nDCG@20, Q(beta=1)@20 or AP(rel=2)."
            f"{_suggestion(text)} Known measures: {', '.join(MEASURES)}"
        )
    folded = match["name"].casefold().replace("_", "-")
    kind = _by_folded_name().get(_SPELLINGS.get(folded, folded))
    if kind is None:
        raise ValueError(
            f"unknown measure {match['name']!r} in {text!r}.{_suggestion(text)}"
            f" Known measures: {', '.join(MEASURES)}"
        )
    arguments = _arguments(kind, match["arguments"] or "", text)
    try:
        return kind(k=None if match["k"] is None else int(match["k"]), **arguments).require_cutoff()
    except ValueError as error:
        raise ValueError(f"{text!r}: {error}") from None


def _by_folded_name() -> dict[str, type[Measure]]:
    return {name.casefold(): kind for name, kind in MEASURES.items()}


def _suggestion(text: str) -> str:
    """A question that suggests the known name closest to the beginning of ``text``; empty if none
    is close."""
    parts = _LEADING_NAME.match(text)
    folded = parts["name"].casefold().replace("_", "-").replace("alpha", "α") if parts else ""
    near = get_close_matches(folded, _by_folded_name(), n=1, cutoff=0.65)
    if parts is None or not (near or folded in _OTHER_TOOLS_NAMES):
        return ""
    name = _OTHER_TOOLS_NAMES.get(folded) or _by_folded_name()[near[0]].name
    whole = name + parts["rest"].rstrip()
    if _NAME.fullmatch(whole) is None:
        numbers = re.findall("[0-9]+", parts["rest"])
        whole = f"{name}@{numbers[-1]}" if numbers else name
    return f" Did you mean {whole}?"


def _from_trec_eval(name: str) -> str:
    cut = _TREC_EVAL_CUT.fullmatch(name.casefold())
    if cut is not None:
        return f"{_TREC_EVAL_STEMS[cut['stem']]}@{cut['k']}"
    return _TREC_EVAL_NAMES.get(name.casefold(), name)


def _arguments(kind: type[Measure], text: str, whole: str) -> dict[str, Any]:
    """Parse ``text``, the part between the brackets of the name ``whole``, into parameters."""
    parameters = kind.parameters
    taken = ", ".join(parameters) or "none"
    arguments: dict[str, Any] = {}
    for part in text.split(",") if text.strip() else []:
        key, equals, value = (piece.strip() for piece in part.partition("="))
        if not equals:
            key, value = _parameter_with_choice(parameters, key), key
        if key not in parameters:
            raise ValueError(
                f"{kind.name} has no parameter {part.strip()!r} in {whole!r};"
                f" its parameters: {taken}"
            )
        if key in arguments:
            raise ValueError(f"the parameter {key!r} is given twice in {whole!r}")
        arguments[key] = value if isinstance(parameters[key], str) else _as_number(value)
    return arguments


def _parameter_with_choice(parameters: Mapping[str, Any], value: str) -> str:
    """The name of the parameter that has ``value`` among its choices, or an empty string."""
    for name, default in parameters.items():
        if isinstance(default, StrEnum) and value in list(type(default)):
            return name
    return ""


def _as_number(text: str) -> float | str:
    """Convert text to a number. Other text is returned as it is, for the measure to refuse."""
    try:
        return float(text)
    except ValueError:
        return text
