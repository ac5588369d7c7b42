"""The judge's network: from pairs of texts to calibrated probabilities of each level."""

from __future__ import annotations

import importlib.util
import os
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import cache, lru_cache

import numpy as np
from numpy.typing import NDArray

from assay.labellers.judge.assertions import asserted
from assay.labellers.judge.evidence import (
    FIRST_TOKENS,
    WINDOW,
    Excerpt,
    ExcerptKind,
    Tokenise,
    Tokens,
    parts_of,
)
from assay.labellers.judge.overlap import overlaps, stems
from assay.labellers.judge.packages import SMALL, JudgePackage, Settings, vocabulary
from assay.labellers.judge.texts import (
    ABILITIES,
    MOST_PARTS,
    Ability,
    claim_text,
    clauses,
    sentences,
    words,
)
from assay.labellers.prices import tokens
from assay.model.errors import PrerequisiteError
from assay.model.extras import import_extra

Floats = NDArray[np.float64]

CLS, SEP = 101, 102


@dataclass(frozen=True, slots=True)
class JudgeQuestion:
    """A question for the judge.

    ``first`` is the claim, question or answer in the wording of :mod:`assay.labellers.judge.texts`;
    ``second`` is the passage, or the gold answers. If ``less``, sentences that assert nothing are
    left out of it. ``whole`` is the passage including sentences that may or may not assert the
    claim, if there are any; for it, the judge says yes only if it is ``CERTAIN``.
    """

    ability: Ability
    first: str
    second: str
    less: bool = False
    whole: str | None = None


@dataclass(frozen=True, slots=True)
class Ruling:
    """The judge's answer: probabilities of no, partly and yes (they sum to 1), the most important
    ``sentence``, and the numbers of ``windows`` and ``tokens`` read."""

    no: float
    partly: float
    yes: float
    sentence: str
    windows: int
    tokens: int


def missing() -> str | None:
    """A message about packages that the judge needs, with the command, or None if none is
    missing."""
    absent = [name for name in ("onnxruntime", "tokenizers") if not _found(name)]
    return f"The judge needs {' and '.join(absent)}: {SMALL.install()}" if absent else None


def _found(name: str) -> bool:
    return importlib.util.find_spec(name) is not None


def tokenising(vocabulary: bytes) -> Tokenise:
    """A tokeniser with the rules in ``vocabulary``; it adds no special tokens."""
    tokenizers = import_extra("tokenizers", "The judge needs tokenizers", "embedded")
    tokeniser = tokenizers.Tokenizer.from_buffer(vocabulary)
    tokeniser.no_truncation()
    tokeniser.no_padding()

    def tokenise(texts: Sequence[str]) -> list[Tokens]:
        return [each.ids for each in tokeniser.encode_batch(list(texts), add_special_tokens=False)]

    return tokenise


@cache
def packaged_tokenise() -> Tokenise:
    """The tokeniser of all judges, cached."""
    return tokenising(vocabulary())


class Network:
    """An ONNX network with its tokeniser. Raises PrerequisiteError if onnxruntime or tokenizers is
    missing."""

    def __init__(self, model: bytes, tokeniser: bytes, *, threads: int | None = None) -> None:
        absent = missing()
        if absent:
            raise PrerequisiteError(absent)
        runtime = import_extra("onnxruntime", "The judge needs onnxruntime", "embedded")
        options = runtime.SessionOptions()
        options.intra_op_num_threads = options.inter_op_num_threads = 1
        options.log_severity_level = 3
        self._session = runtime.InferenceSession(model, options, providers=["CPUExecutionProvider"])
        self._readers = ThreadPoolExecutor(threads or os.cpu_count() or 1, "assay-judge-reader")
        self.tokenise = tokenising(tokeniser)

    @classmethod
    def of(cls, judge: JudgePackage, threads: int | None = None) -> Network:
        """The network of a judge. Also raises PrerequisiteError if it is damaged."""
        return cls(judge.network(), vocabulary(), threads=threads)

    def logits(self, pairs: Sequence[tuple[Tokens, Tokens]]) -> Floats:
        """Logits of shape (pairs, abilities, levels) for pairs of token lists. Each pair is run
        alone. That is as fast as batches, and no sum depends on other pairs or on the number of
        threads."""
        found = list(self._readers.map(self._run, pairs))
        return np.array(found).reshape(len(pairs), len(ABILITIES), 3)

    def _run(self, pair: tuple[Tokens, Tokens]) -> Floats:
        first, second = pair
        ids = np.array([[CLS, *first, SEP, *second, SEP]], np.int64)
        kinds = np.zeros_like(ids)
        kinds[0, len(first) + 2 :] = 1
        feed = {"ids": ids, "kinds": kinds, "mask": np.ones_like(ids)}
        return np.asarray(self._session.run(["logits"], feed)[0][0], dtype=np.float64)


@dataclass(frozen=True, slots=True)
class NetworkReading:
    """The network's result for one question before calibration: features, the most important
    sentence, and the numbers of windows and tokens read."""

    features: Floats
    sentence: str
    windows: int
    tokens: int


def size_ahead(question: JudgeQuestion) -> int:
    """How many tokens :func:`read` will read for ``question``, computed without the network; an
    estimate if the tokeniser is not installed."""
    whole = question.whole
    if whole is not None:
        both = (replace(question, whole=None), replace(question, second=whole, whole=None))
        return sum(map(size_ahead, both))
    if empty(question) or verbatim(question):
        return 0
    tokenise = _about_tokens if missing() else packaged_tokenise()
    size = 0
    for one in by_clauses(question):
        own = tokenise([one.first])[0]
        parts = parts_of_question(one, own, tokenise)
        size += sum(len(own[:FIRST_TOKENS]) + len(part.tokens) + 3 for part in parts)
    return size


LONG_CLAIM = 20
"""A claim of at least this many words is also read clause by clause, up to ``MOST_PARTS``."""


def by_clauses(question: JudgeQuestion) -> list[JudgeQuestion]:
    """``question``, and if it is about a long claim, a question for each of its clauses."""
    claim = question.first.partition(": ")[2]
    if question.ability is not Ability.E or len(claim.split()) < LONG_CLAIM:
        return [question]
    parts = clauses(claim)[:MOST_PARTS]
    each = [JudgeQuestion(Ability.E, claim_text(part), question.second) for part in parts]
    return [question, *(one for one in each if len(parts) > 1 and not empty(one))]


def _about_tokens(texts: Sequence[str]) -> list[Tokens]:
    return [[0] * tokens(text) for text in texts]


def parts_of_question(question: JudgeQuestion, own: Tokens, tokenise: Tokenise) -> list[Excerpt]:
    """The parts of the second text that are read with the first, whose tokens are ``own``."""
    room = WINDOW - 3 - len(own[:FIRST_TOKENS])
    parts = parts_of(question.second, question.first, room, tokenise)
    if question.ability is Ability.C:
        return [part for part in parts if part.kind is ExcerptKind.WINDOW]
    return parts


def read(network: Network, questions: Sequence[JudgeQuestion]) -> list[NetworkReading]:
    """Run the network for all parts of all ``questions``. A long claim counts one half as a whole,
    and one half as the mean of its clauses."""
    split = [by_clauses(question) for question in questions]
    each = [one for own in split for one in own]
    firsts = network.tokenise([question.first for question in each])
    pairs: list[tuple[Tokens, Tokens]] = []
    read_parts: list[tuple[int, list[Excerpt]]] = []
    for question, first in zip(each, firsts, strict=True):
        own = first[:FIRST_TOKENS]
        parts = parts_of_question(question, own, network.tokenise)
        read_parts.append((len(pairs), parts))
        pairs.extend((own, part.tokens) for part in parts)
    logits = network.logits(pairs)
    readings = []
    for question, (start, parts) in zip(each, read_parts, strict=True):
        rows = logits[start : start + len(parts), ABILITIES.index(question.ability)]
        size = sum(len(a) + len(b) + 3 for a, b in pairs[start : start + len(parts)])
        readings.append(_reading(question, parts, rows, size))
    in_order = iter(readings)
    return [_together([next(in_order) for _ in own]) for own in split]


def _together(readings: Sequence[NetworkReading]) -> NetworkReading:
    """Combine the reading of a whole claim with those of its clauses, if any."""
    whole, *parts = readings
    if not parts:
        return whole
    mean = np.mean([part.features for part in parts], axis=0)
    tokens = sum(one.tokens for one in readings)
    return replace(whole, features=(whole.features + mean) / 2, tokens=tokens)


def _reading(
    question: JudgeQuestion, parts: Sequence[Excerpt], logits: Floats, tokens: int
) -> NetworkReading:
    logs = logits - np.logaddexp.reduce(logits, axis=1, keepdims=True)
    margin = logs[:, 2] - np.logaddexp(logs[:, 0], logs[:, 1])

    def best(*kinds: ExcerptKind) -> int | None:
        rows = [row for row, part in enumerate(parts) if part.kind in kinds]
        return max(rows, key=margin.__getitem__) if rows else None

    # A group of sentences counts as one more window.
    window = best(ExcerptKind.WINDOW, ExcerptKind.GROUP) or 0
    single = best(ExcerptKind.SENTENCE)
    chosen = logs[[window, window if single is None else single]].reshape(-1)
    shares = overlaps(question.ability, question.first, question.second)
    features = np.concatenate([np.maximum(chosen, -12.0), shares])
    sentence = parts[single].text if single is not None else question.second
    count = sum(part.kind is ExcerptKind.WINDOW for part in parts)
    return NetworkReading(features, sentence, count, tokens)


def calibrated(settings: Settings, ability: Ability, features: Floats) -> Floats:
    """Calibrated probabilities of no, partly and yes."""
    own = settings.calibration[ability]
    return probabilities(np.array(own["weights"]), np.array(own["bias"]), features, own["slope"])


def probabilities(weights: Floats, bias: Floats, features: Floats, slope: float) -> Floats:
    """Softmax of ``features`` (…, features) with ``weights`` (levels, features) and ``bias``; then
    the log odds of yes, and of yes or partly, are multiplied by ``slope``."""
    no, partly, yes = np.moveaxis(features @ weights.T + bias, -1, 0)
    some = 1 / (1 + np.exp(slope * (no - np.logaddexp(partly, yes))))
    whole = 1 / (1 + np.exp(slope * (np.logaddexp(no, partly) - yes)))
    shares: Floats = np.stack([1 - some, some - whole, whole], axis=-1)
    return shares


CERTAIN = 0.87
"""Probability of yes that is required of a sentence that repeats the claim, or an answer that names
the gold answer, if it is unknown whether it asserts it. Chosen on the attacks in the fourth and
fifth wordings: hardly more of them pass than if such sentences are never read."""


def rule(network: Network, questions: Sequence[JudgeQuestion], settings: Settings) -> list[Ruling]:
    """Rulings of a judge with these ``settings``, in the order of ``questions``. If a question has
    a ``whole``, the ruling on that counts if it is a certain yes."""
    wholes = [replace(one, second=one.whole, whole=None) for one in questions if one.whole]
    rulings = _rule(network, questions, settings)
    on_wholes = iter(_rule(network, wholes, settings, quoted=False))
    return [
        _certain(next(on_wholes), ruling) if question.whole else ruling
        for question, ruling in zip(questions, rulings, strict=True)
    ]


def _certain(whole: Ruling, other: Ruling) -> Ruling:
    chosen = whole if whole.yes > max(CERTAIN, other.yes) else other
    return replace(chosen, tokens=whole.tokens + other.tokens)


def _rule(
    network: Network,
    questions: Sequence[JudgeQuestion],
    settings: Settings,
    *,
    quoted: bool = True,
) -> list[Ruling]:
    """Rulings without regard to ``whole``. With ``quoted``, a claim that the passage states word
    for word is supported without asking the network."""
    stated = [quoted and verbatim(one) for one in questions]
    pairs = list(zip(questions, stated, strict=True))
    readings = iter(
        read(network, [one for one, is_stated in pairs if not (empty(one) or is_stated)])
    )
    rulings = []
    for question, is_stated in pairs:
        if empty(question):
            rulings.append(Ruling(1.0, 0.0, 0.0, "", 0, 0))
        elif is_stated:
            claim = question.first.partition(": ")[2]
            rulings.append(Ruling(0.0, 0.0, 1.0, claim, 0, 0))
        else:
            reading = next(readings)
            no, partly, yes = calibrated(settings, question.ability, reading.features).tolist()
            ruling = Ruling(no, partly, yes, reading.sentence, reading.windows, reading.tokens)
            rulings.append(ruling)
    return rulings


VERBATIM = 3
"""Least words of a claim that is supported because it is a sentence of the passage."""


@lru_cache(maxsize=4096)
def verbatim(question: JudgeQuestion) -> bool:
    """Whether every sentence of the claim is a sentence of the passage."""
    claim = question.first.partition(": ")[2]
    if question.ability is not Ability.E or len(stems(claim)) < VERBATIM:
        return False
    stated = {" ".join(stems(one)) for one in sentences(question.second)}
    return all(" ".join(stems(one)) in stated for one in sentences(claim))


def question_of(ability: Ability, first: str, second: str) -> JudgeQuestion:
    """Make a question. Sentences of the passage that contain the words of the claim or question,
    but assert nothing, are left out."""
    if ability is Ability.C:
        return JudgeQuestion(ability, first, second)
    certain = asserted(ability, first, second)
    whole = second if certain is second else asserted(ability, first, second, doubtful=True)
    other = None if whole == certain else whole
    return JudgeQuestion(ability, first, certain, less=whole is not second, whole=other)


def empty(question: JudgeQuestion) -> bool:
    """Whether one of the two sides has no words, which is always a no."""
    _, _, first = question.first.partition(": ")
    if question.ability is Ability.C:
        first = first.rpartition("| question: ")[0]
    return not words(first) or not words(question.second)


def unasked(question: JudgeQuestion) -> str | None:
    """The rule that decides ``question`` without the network, or None if it is asked."""
    if empty(question):
        less = question.less or question.whole is not None
        return "nothing else is asserted" if less else "empty"
    return "verbatim" if verbatim(question) else None
