"""EXAM++ scores from published collections of graded passages."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Annotated, Any, Literal

from assay.api.reading import Note, all_used, used
from assay.api.run_files import require_own_names
from assay.formats.exam_bank_reading import read_bank
from assay.formats.exam_graded import GradedFile, read_graded
from assay.formats.trec import read_trec_run
from assay.formats.trec_writing import format_qrels
from assay.measures.coverage import standard_error
from assay.measures.ranges import Range, Ranges
from assay.measures.scores import Score, ranks
from assay.model.errors import SettingsError
from assay.model.exam import Run
from assay.model.exam_grades import NO_GRADES
from assay.model.options import Option
from assay.protocols.exam.inputs import pool_of, rankings_of
from assay.protocols.exam.pools import COVER, WEIGHTED
from assay.protocols.exam.scoring import ExamOptions, ExamScorer
from assay.protocols.output import write_bytes
from assay.protocols.scores import VALUE_COLUMNS, value_row

Row = dict[str, Any]


@dataclass(frozen=True)
class GradedFileRuns:
    """Graded passages, and the runs scored by them."""

    scorer: ExamScorer
    runs: Mapping[str, Run]
    options: ExamOptions
    unheld: int
    """Number of ranks in the file's own runs whose passages the file lacks."""

    @property
    def unjudged(self) -> dict[str, int]:
        """The number of ungraded passages among the first k of each run."""
        return {run: self.scorer.unjudged(ranking) for run, ranking in self.runs.items()}

    def rows(self, *, sweep: bool, answered: bool, per_topic: bool) -> Iterator[Row]:
        """The scores of every run with τ and the standard error, and for means the number of
        queries and how many of them lack grades. A run scores 0 on queries without results, or with
        ``answered`` those are left out; ``sweep`` goes through every τ. ``mean`` marks rows that
        are means, as a query may have the same name as one."""
        taus = range(1, self.options.top + 1) if sweep else (self.options.tau,)
        found = {run: self.scorer.at({run: shown}, taus) for run, shown in self.runs.items()}
        for tau in taus:
            for run, ranking in self.runs.items():
                silent = {query for query in self.scorer.queries if not ranking.get(query)}
                for measure, values in found[run][tau][run].items():
                    some = values.of(values.keys() - silent) if answered else values
                    yield from _rows((run, tau, measure), some, per_topic=per_topic)

    def document(self, rows: Sequence[Row]) -> dict[str, Any]:
        """The JSON document."""
        return {
            "scores": [{name: row[name] for name in row if name != "mean"} for row in rows],
            "unjudged": self.unjudged,
            "queries": len(self.scorer.queries),
            "k": self.options.k,
            "denominator": self.options.denominator,
        }

    def names(self, rows: Sequence[Row]) -> list[str]:
        """The measures that apply; weighted ones only if questions have weights."""
        names = dict.fromkeys(row["measure"] for row in rows)
        return [name for name in names if name != WEIGHTED or self.scorer.weighted]

    def write_qrels(self, path: Path, *, binary: bool) -> None:
        """Write EXAM-Labels; with ``binary``, 1 for at least τ, otherwise 0."""
        lines = format_qrels(self.scorer.judged(self.options.tau if binary else None))
        write_bytes(path, lines.encode())


def graded(
    file: Path,
    *,
    bank: Annotated[
        Path | None,
        Option("The question bank (default: the questions that have a grade)."),
    ] = None,
    runs: Annotated[
        Sequence[Path],
        Option("A TREC run to score instead of the file's rankings.", flag="--run", metavar="RUN"),
    ] = (),
    tau: Annotated[int, Option("The lowest grade that counts as answered.", least=1, most=5)] = 4,
    k: Annotated[int, Option("How many passages of a run count.", flag="-k", least=1)] = 20,
    measures: Annotated[
        Sequence[str], Option("EXAM-Qrels measure; repeatable.", flag="-m", metavar="M")
    ] = (),
    denominator: Annotated[
        Literal["bank", "graded"],
        Option("Denominator of EXAM-Cover: the questions of the 'bank', or the 'graded' ones."),
    ] = "bank",
    llm: Annotated[str | None, Option("Only grades by this model.")] = None,
    prompt: Annotated[
        str | None, Option("Only grades by this prompt.", flag="--prompt-class")
    ] = None,
    note: Note,
) -> GradedFileRuns:
    """Read graded passages, optionally only those of one model or prompt class, and the runs to
    score (default: those in the file). If grades are only right or wrong, τ is 1. Raises
    FormatError, SettingsError, and ValueError for an unknown measure."""
    found = used(read_graded(file, llm=llm, prompt=prompt, answers=False), note)
    questions = found.bank() if bank is None else read_bank(bank).require()
    top = 5 if found.way is None or found.way.rated else 1
    options = ExamOptions(min(tau, top), k, denominator, top=top)
    options = replace(options, measures=tuple(measures)) if measures else options
    rankings = _rankings(found, runs, note)
    asked, _ = pool_of(questions, rankings, {}, found, found.judgments(), k)
    pool = {
        name: (found.queries[name].grades if name in found.queries else NO_GRADES).of(asked[name])
        for name in asked
    }
    unheld = 0 if runs else sum(one.vacant(k) for run in rankings.values() for one in run.values())
    return GradedFileRuns(ExamScorer(questions, pool, options), rankings, options, unheld)


def _rankings(file: GradedFile, paths: Sequence[Path], note: Note) -> dict[str, Run]:
    if paths:
        runs = all_used((partial(read_trec_run, path) for path in paths), note)
        require_own_names([run.name for run in runs], paths)
        return {run.name: rankings_of(run) for run in runs}
    found = file.runs()
    if not found:
        raise SettingsError("The file holds no rankings. Add runs with --run RUN.")
    return found


def _rows(which: tuple[str, int, str], values: Ranges, *, per_topic: bool) -> Iterator[Row]:
    run, tau, measure = which
    rows: list[tuple[str, Range | None, float | None, int, int]] = [
        ("all", values.mean if values else None, standard_error(values.certain), len(values),
         len(values.uncertain))
    ]  # fmt: skip
    if per_topic:
        rows += ((query, one, None, 1, int(one.value is None)) for query, one in values.items())
    for place, (topic, ends, error, topics, missing) in enumerate(rows):
        named = dict(zip(VALUE_COLUMNS, value_row(run, topic, measure, ends), strict=True))
        counts = {"topics": topics, "missing": missing, "mean": not place}
        yield {**named, "tau": tau, "standard_error": error, **counts}


def cover_ranks(rows: Sequence[Row]) -> dict[str, int | None]:
    """The ranks of the runs by EXAM-Cover; runs with overlapping ranges share a rank."""
    scores = {}
    for row in rows:
        if row["measure"] == COVER:
            ends = None if row["floor"] is None else Range(row["floor"], row["ceiling"])
            scores[row["run"]] = {
                COVER: Score.between(row["run"], COVER, ends, topics=row["topics"])
            }
    return ranks(scores, COVER)
