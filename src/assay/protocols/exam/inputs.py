"""The inputs of an EXAM++ evaluation, and its settings."""

from __future__ import annotations

from array import array
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import partial
from sys import intern
from typing import Literal

from pydantic import Field, field_validator

from assay.formats.exam_bank_reading import read_bank
from assay.formats.exam_graded import GradedFile, read_graded
from assay.formats.passages import read_passages, read_queries, read_responses
from assay.formats.score_tables import ScoreTable, read_scores
from assay.formats.trec import Qrels, TrecRun, read_qrels, read_trec_run
from assay.model.errors import SettingsError
from assay.model.exam import Bank, QueryBank, Ranking, Run
from assay.model.exam_storage import RunStore, store_texts
from assay.protocols.base import CommonSettings, MeasureNames, Reading
from assay.protocols.exam.scoring import MEASURES
from assay.protocols.folder import Folder
from assay.statistics.exam_agreement import default_bins, read_bins
from assay.tasks.base import AnyTask
from assay.tasks.exam import DIRECT
from assay.tasks.trec_rag import RELEVANCE

DIRECT_TASKS: Mapping[str, tuple[AnyTask, int]] = {
    **{name: (task, 2 if name == "thomas" else 1) for name, task in DIRECT.items()},
    "trec_rag": (RELEVANCE, 3),
}
"""Direct graders by their name in ``grading = "direct:NAME"``, with their highest label."""


class ExamSettings(CommonSettings):
    """``[settings]`` of an EXAM++ evaluation.

    ``grading``: ``self-rating`` (0 to 5), ``qa`` (an answer is extracted and checked against
      the key), ``qa-verified`` (a labeller decides whether it matches), or ``direct:NAME``, a
      direct grader.
    ``k``: how many passages of a run are graded and count.
    ``tau``: lowest grade that counts as answered (default: 4 for self-ratings, otherwise 1).
    ``denominator``: all questions of the ``bank``, or those that have been ``graded``.
    ``silent``: a query that a run leaves out counts as ``zero``, or is ``left-out`` of its
      means.
    ``measures``: measures of EXAM-Qrels.
    ``passage_words``: longest passage of a generated response.
    ``llm``, ``prompt_class``: which grades of a graded file to use.
    ``official_score``: column of the official leaderboard.
    ``label_bins``, ``judgment_bins``: bins of the agreement tables, lowest first (default: by
      the highest label).
    """

    grading: str = "self-rating"
    k: int = Field(20, ge=1)
    tau: int | None = Field(None, ge=1, le=5)
    denominator: Literal["bank", "graded"] = "bank"
    silent: Literal["zero", "left-out"] = "zero"
    measures: MeasureNames = MEASURES
    passage_words: int = Field(200, ge=10)
    llm: str | None = None
    prompt_class: str | None = None
    official_score: str | None = None
    label_bins: tuple[str, ...] | None = None
    judgment_bins: tuple[str, ...] | None = None

    @field_validator("grading")
    @classmethod
    def _known(cls, value: str) -> str:
        names = ["self-rating", "qa", "qa-verified", *(f"direct:{name}" for name in DIRECT_TASKS)]
        if value not in names:
            raise ValueError(f"must be one of {', '.join(names)}")
        return value

    @field_validator("label_bins", "judgment_bins")
    @classmethod
    def _bins(cls, value: tuple[str, ...] | None) -> tuple[str, ...] | None:
        if value is not None:
            read_bins(value)
        return value

    @property
    def is_direct(self) -> bool:
        """Whether passages are graded directly, without exam questions."""
        return self.grading.startswith("direct:")

    @property
    def bins(self) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """Bins of labels and of judgments."""
        labels, judgments = default_bins(self.top)
        return self.label_bins or labels, self.judgment_bins or judgments

    @property
    def top(self) -> int:
        """The highest possible grade."""
        if self.is_direct:
            return DIRECT_TASKS[self.grading.removeprefix("direct:")][1]
        return 5 if self.grading == "self-rating" else 1

    @property
    def least(self) -> int:
        """τ, which cannot be above the highest grade."""
        return min(self.tau or (4 if self.grading == "self-rating" else 1), self.top)


@dataclass(frozen=True)
class ExamInputs:
    """All inputs, checked. ``pool`` has the passages of each query that are graded, whoever
    retrieved them, and ``texts`` their texts. ``given`` has the grades of a graded file.
    ``without_text`` counts judged passages without a text. ``runs_given``: the runs have files of
    their own."""

    bank: Bank
    queries: Mapping[str, str]
    runs: Mapping[str, Run]
    texts: Mapping[str, str]
    pool: Mapping[str, tuple[str, ...]]
    given: GradedFile | None = None
    qrels: Qrels | None = None
    official: ScoreTable | None = None
    without_text: int = 0
    runs_given: bool = True


def load(folder: Folder, settings: ExamSettings, reading: Reading) -> ExamInputs:
    """Read everything; the faults of all files are raised together."""
    given = reading.optional(
        "graded", partial(read_graded, llm=settings.llm, prompt=settings.prompt_class)
    )
    bank = reading.optional("bank", read_bank)
    queries = reading.optional("queries", read_queries) or ()
    runs: dict[str, Run] = {}
    rankings = RunStore()
    for path, run in reading.many("runs", read_trec_run):
        reading.add_run(runs, run.name, rankings.store(rankings_of(run)), path)
    texts = reading.texts("passages", read_passages)
    cut = partial(read_responses, most_words=settings.passage_words)
    for path, responses in reading.many("responses", cut):
        own: dict[str, dict[str, Ranking]] = {}
        for one in responses:
            shown = Ranking.of(identity for identity, _ in one.passages)
            own.setdefault(one.run, {})[one.query] = shown
            texts.update(one.passages)
        for name, ranking in own.items():
            reading.add_run(runs, name, rankings.store(ranking), path)
    rankings.finish()
    qrels = reading.optional("qrels", read_qrels)
    official = reading.optional(
        "official", partial(read_scores, score=settings.official_score, option="official_score")
    )
    reading.done()
    own_runs = bool(runs)
    if given is not None:
        for query in given.queries.values():
            texts.update({p.id: p.text for p in query.passages if p.text and p.id not in texts})
        if not runs:
            runs.update(given.runs())
        qrels = qrels or given.judgments()
    bank = bank or _bank_of(given, queries, folder, settings)
    if not runs:
        raise SettingsError(
            f"{folder.path / 'assay.toml'}: [inputs] names no run. Give 'runs' (TREC runs), "
            "'responses' (generated texts), or a 'graded' file with rankings."
        )
    texts_by_id = store_texts(texts)
    pool, without_text = pool_of(bank, runs, texts_by_id, given, qrels, settings.k)
    words = _query_texts(bank, {query.id: query.text for query in queries})
    inputs = ExamInputs(
        bank, words, runs, texts_by_id, pool, given, qrels, official, without_text, own_runs
    )
    _check(inputs, folder, settings)
    return inputs


def rankings_of(run: TrecRun) -> Run:
    """The ranking of each query in a run, best first, with its scores."""
    found = {}
    for query, scores in run.scores.items():
        names = run.ranked(query)
        # Interned, as runs name the same documents again and again.
        found[query] = Ranking.of(map(intern, names), array("d", map(scores.__getitem__, names)))
    return found


def _bank_of(
    given: GradedFile | None, queries: object, folder: Folder, settings: ExamSettings
) -> Bank:
    if given is not None:
        return given.bank()
    if settings.is_direct and isinstance(queries, tuple) and queries:
        return Bank({one.id: QueryBank(one.id, one.text, ()) for one in queries})
    raise SettingsError(
        f"{folder.path / 'assay.toml'}: [inputs] has no 'bank'. Write one, or make one with "
        "'assay bank generate'; with grading = \"direct:…\" 'queries' is enough."
    )


def _query_texts(bank: Bank, given: Mapping[str, str]) -> dict[str, str]:
    return {name: given.get(name) or one.text or "" for name, one in bank.queries.items()}


def pool_of(
    bank: Bank,
    runs: Mapping[str, Run],
    texts: Mapping[str, str],
    given: GradedFile | None,
    qrels: Qrels | None,
    k: int,
) -> tuple[dict[str, tuple[str, ...]], int]:
    """The passages to grade: those with grades in the graded file, the first k of every run, and
    all judged ones. Judged passages without a text are left out, and counted."""
    pool: dict[str, tuple[str, ...]] = {}
    without_text = 0
    for query in bank.queries:
        found: dict[str, None] = {}
        graded = given.queries.get(query) if given is not None else None
        known = set(graded.grades.passages) if graded is not None else set()
        found.update(dict.fromkeys(graded.grades.graded() if graded is not None else ()))
        for run in runs.values():
            found.update(dict.fromkeys(run.get(query, Ranking()).first(k)))
        for passage in qrels.grades.get(query, {}) if qrels is not None else ():
            if passage in texts or passage in known:
                found[passage] = None
            elif passage not in found:
                without_text += 1
        pool[query] = tuple(found)
    return pool, without_text


def with_bank(inputs: ExamInputs, bank: Bank, settings: ExamSettings) -> ExamInputs:
    """The same inputs with another bank, whose queries may differ."""
    pool, without_text = pool_of(
        bank, inputs.runs, inputs.texts, inputs.given, inputs.qrels, settings.k
    )
    texts = _query_texts(bank, inputs.queries)
    return replace(inputs, bank=bank, queries=texts, pool=pool, without_text=without_text)


def _check(inputs: ExamInputs, folder: Folder, settings: ExamSettings) -> None:
    where = folder.path / "assay.toml"
    given = inputs.given
    unread = [
        passage
        for query, passages in inputs.pool.items()
        for passage in passages
        if passage not in inputs.texts
        and not (given is not None and query in given.queries
                 and passage in given.queries[query].grades.passages)
    ]  # fmt: skip
    if unread:
        raise SettingsError(
            f"{where}: {len(unread)} passages of the runs have no text, the first is "
            f"{unread[0]!r}. Add their texts to [inputs] passages."
        )
    if given is not None and given.way is not None:
        asked = settings.grading == "self-rating"
        if given.way.rated != asked:
            need = "self-rating" if given.way.rated else "qa"
            raise SettingsError(
                f'{where}: the graded file holds {given.way}; set grading = "{need}".'
            )
    if settings.grading.startswith("qa") and given is None:
        keyless = [
            question.id
            for query in inputs.bank.queries
            for question in inputs.bank.questions(query)
            if not question.gold
        ]
        if keyless:
            raise SettingsError(
                f"{where}: {len(keyless)} questions have no gold answers, the first is "
                f'{keyless[0]!r}; grading = "{settings.grading}" checks answers against a key. '
                'Use "self-rating", or give gold_answers in the bank.'
            )
    if settings.is_direct:
        silent = [query for query, text in inputs.queries.items() if not text]
        if silent:
            raise SettingsError(
                f"{where}: the query {silent[0]!r} has no text, which direct graders need. "
                "Give query_text in the bank, or [inputs] queries."
            )
