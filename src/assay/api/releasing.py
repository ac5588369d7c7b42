"""What organisers publish of an evaluation: a page for all, one for each team, and files.

A public page has leaderboards, categories and topics by their names; no answers, no passages.
"""

from __future__ import annotations

import statistics
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import orjson

from assay.api.compare_inputs import compared, read_table
from assay.api.families import family_of
from assay.api.opened import Opened, html_of
from assay.api.reading import Note
from assay.measures.ranges import Range
from assay.measures.scores import PerTopic
from assay.model.errors import FormatError, SettingsError
from assay.model.wording import listed
from assay.page.cards import Cards
from assay.page.page import Board, Page
from assay.page.parts import Part, Table, Text, Value
from assay.protocols.manifest import MANIFEST, REPORT, read_manifest
from assay.protocols.output import file_name, sha256, write_bytes
from assay.protocols.pages import page_of
from assay.protocols.results import Result
from assay.reports.leaderboards import ranked
from assay.reports.publishing import PublishedBoard, latex, markdown
from assay.reports.statistics_plots import save_leaderboard

PAGE_BYTES = 2_000_000
"""A public page is smaller than this; sections that would make it larger are left out."""

SUMS = "SHA256SUMS"


@dataclass(frozen=True)
class Released:
    """What was written: the folder, its files with their SHA-256, that of the manifest, which seals
    the results, and the sections that the public page has no room for."""

    folder: Path
    files: Mapping[str, str]
    seal: str
    left_out: Sequence[str]

    def document(self) -> dict[str, object]:
        """As JSON has it."""
        return {
            "folder": str(self.folder),
            "seal": self.seal,
            "left_out": self.left_out,
            "files": self.files,
        }


def release(
    opened: Opened,
    into: Path,
    *,
    teams: Mapping[str, str] | None = None,
    figures: bool = True,
    note: Note,
) -> Released:
    """Score a folder by the labels that there are, and write into a new folder the public page
    (``index.html``), a page for each team (``teams/``), tables in Markdown, LaTeX and CSV
    (``tables/``), pictures (``figures/``), results as TREC's and NTCIR's tools have them
    (``results/``, ``matrices/``) and all of ``out/`` (``dossier/``). ``teams`` (run → team, with
    ``*`` for anything) come before those of ``[release.teams]``; a run that has none is a team of
    its own. Asks nobody. Raises SettingsError where ``into`` holds something else.
    """
    if into.exists() and any(into.iterdir()) and not (into / SUMS).is_file():
        raise SettingsError(f"{into} holds files that are no release: give a new folder.")
    named = dict(teams or {})
    for run, team in opened.folder.config.release.teams.items():
        named.setdefault(run, team)
    with opened.ledger(create=False) as ledger:
        results, _ = opened.write(ledger)
        opened.write_report(results, ledger=ledger)
        pages = {
            name: [page_of(one), page_of(one.fair)] for name, one in results.by_protocol.items()
        }
    out = opened.folder.out
    seal = sha256(out / MANIFEST)
    writer = _Writer(into)
    left_out: list[str] = []
    for protocol, result in results.by_protocol.items():
        place = f"{protocol}/" if opened.several else ""
        per_topic = opened.parts[protocol].folder.out / "per_topic.csv"
        public, left = _public(pages[protocol][0], seal)
        left_out += left
        writer.write(f"{place}index.html", html_of(public))
        for team, own in _by_team(result.fair, named).items():
            page = _team_page(result.fair, pages[protocol][1], team, own, seal)
            writer.write(f"{place}teams/{file_name(team)}.html", html_of(page))
        for number, board in enumerate(result.findings.boards, 1):
            told = _published(result.fair, board, per_topic, note)
            stem = f"{place}tables/board-{number}"
            writer.write(f"{stem}.md", markdown(told).encode())
            writer.write(f"{stem}.tex", latex(told).encode())
            if figures:
                writer.draw(f"{place}figures/board-{number}.pdf", result.fair, board)
        for path, data in _results(result.fair.findings.per_topic, result.fair):
            writer.write(f"{place}{path}", data)
    for name in sorted({*read_manifest(out)["outputs"], MANIFEST, *_reports(opened)}):
        writer.write(f"dossier/{name}", (out / name).read_bytes())
    writer.write("release.json", _document(seal, opened, results.policy))
    writer.finish()
    return Released(into, writer.files, seal, left_out)


class _Writer:
    """Writes files under a folder, and takes away those of an earlier release."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self.files: dict[str, str] = {}

    def write(self, name: str, data: bytes) -> None:
        if name in self.files:  # two names that are one as a file's
            stem, _, ending = name.rpartition(".")
            self.write(f"{stem}-2.{ending}", data)
            return
        self.files[name] = write_bytes(self._folder / name, data)

    def draw(self, name: str, result: Result, board: Board) -> None:
        """The picture of a leaderboard's first measure; none where no score is certain."""
        measure = board.measures[0]
        rows = [
            (run, score.value, score.low, score.high)
            for run in ranked(result.findings.scores, board)
            if (score := result.findings.scores[run].get(measure)) and score.value is not None
        ]
        if rows:
            path = self._folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            save_leaderboard(path, measure, rows)
            self.files[name] = sha256(path)

    def finish(self) -> None:
        """Write ``SHA256SUMS``, which ``sha256sum -c`` reads."""
        sums = self._folder / SUMS
        before = sums.read_text(encoding="utf-8").splitlines() if sums.is_file() else []
        for line in before:
            name = line[66:]
            path = (self._folder / name).resolve()
            if name not in self.files and path.is_relative_to(self._folder.resolve()):
                path.unlink(missing_ok=True)
        lines = (f"{digest}  {name}\n" for name, digest in sorted(self.files.items()))
        write_bytes(sums, "".join(lines).encode())


def _reports(opened: Opened) -> list[str]:
    return [REPORT, *(f"{name}/{REPORT}" for name in opened.parts if opened.several)]


def _document(seal: str, opened: Opened, policy: str) -> bytes:
    found = {"protocols": list(opened.parts), "policy": policy, "manifest_sha256": seal}
    return orjson.dumps(found, option=orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE)


# -- pages ----------------------------------------------------------------------------------------


def _public(page: Page, seal: str) -> tuple[Page, list[str]]:
    """The page without answers and passages, and the titles of sections it has no room for."""
    kept = [one for part in page.parts if (one := _without_texts(part)) is not None]
    sealed = f"Sealed: SHA-256 of the manifest {seal}."
    left: list[str] = []
    while True:
        said = [*page.lede, sealed]
        if left:
            said.append(f"In the dossier's report alone: {listed(left, 10)}.")
        public = replace(page, parts=tuple(kept), lede=tuple(said), out="dossier/")
        if not kept or len(html_of(public)) < PAGE_BYTES:
            return public, left
        sizes = [len(html_of(replace(public, parts=(part,)))) for part in kept]
        left.append(kept.pop(sizes.index(max(sizes))).title)


def _without_texts(part: Part) -> Part | None:
    """A section with its tables of numbers, grids and pictures; None where nothing is left. Tables
    with columns of texts, cards and lists by query show what runs and passages say."""
    items = tuple(
        item
        for item in part.items
        if not isinstance(item, Cards | Text) and not (isinstance(item, Table) and item.texts)
    )
    return replace(part, items=items, groups=()) if items else None


def _by_team(result: Result, teams: Mapping[str, str]) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for board in result.findings.boards:
        for run in ranked(result.findings.scores, board):
            own = found.setdefault(family_of(run, teams) or run, [])
            if run not in own:
                own.append(run)
    return found


def _team_page(result: Result, page: Page, team: str, runs: Sequence[str], seal: str) -> Page:
    """The leaderboards, and how each of a team's runs did topic by topic beside all runs."""
    parts = []
    for board in result.findings.boards:
        own = [run for run in runs if run in ranked(result.findings.scores, board)]
        for measure in board.measures if own else ():
            table = _topic_table(result, board, measure, own)
            if table is not None:
                parts.append(table)
    part = Part(
        f"Topic by topic: {team}",
        "Beside each topic the best, the median and the worst of all runs. A range hangs on labels "
        "that are missing.",
        tuple(parts),
    )
    return replace(
        page,
        title=f"{page.title} · {team}",
        lede=(*page.lede, f"Sealed: SHA-256 of the manifest {seal}."),
        parts=(part,) if parts else (),
        out="dossier/",
    )


def _topic_table(result: Result, board: Board, measure: str, own: Sequence[str]) -> Table | None:
    per_topic = result.findings.per_topic
    every = [
        per_topic[run][measure]
        for run in ranked(result.findings.scores, board)
        if measure in per_topic.get(run, {})
    ]
    mine = [run for run in own if measure in per_topic.get(run, {})]
    if not every or not mine:
        return None
    lower = measure in board.lower_is_better
    rows: list[tuple[Value, ...]] = []
    for topic in result.findings.topics:
        ends = [one for values in every if (one := values.get(topic)) is not None]
        if ends:
            rows.append(
                (
                    topic,
                    *_spread(ends, lower=lower),
                    *(per_topic[r][measure].get(topic) for r in mine),
                )
            )
    columns = ("topic", "best", "median", "worst", *mine)
    return Table(measure, columns, rows, folded=len(result.findings.topics) > 30, most=10_000)


def _spread(ends: Sequence[Range], *, lower: bool) -> tuple[Range, Range, Range]:
    """Best, median and worst of all runs, each from its floor to its ceiling: all three rise with
    every value, so that their ends are those of the runs' ends."""
    floors, ceilings = zip(*ends, strict=True)
    best, worst = (min, max) if lower else (max, min)
    return (
        Range(best(floors), best(ceilings)),
        Range(statistics.median(floors), statistics.median(ceilings)),
        Range(worst(floors), worst(ceilings)),
    )


# -- tables ---------------------------------------------------------------------------------------


def _published(result: Result, board: Board, per_topic: Path, note: Note) -> PublishedBoard:
    scores = result.findings.scores
    order = ranked(scores, board)
    letters = _letters(result, board, per_topic, note)
    notes = []
    if letters:
        notes.append(f"Runs that share a letter do not differ in {board.measures[0]} (level 0.05).")
    if page_level := result.settings.get("level"):
        notes.append(f"In brackets: {float(str(page_level)):.0%} intervals.")
    page = page_of(result, sections=False)
    if page.stands_on:
        notes.append(f"Stands on: {page.stands_on}.")
    notes += [f"{gap.count:,} {gap.what}. {gap.so}" for gap in page.gaps]
    rows = [
        (rank, run, [scores[run].get(m) for m in board.measures]) for run, rank in order.items()
    ]
    return PublishedBoard(board.title, board.measures, rows, letters, notes)


def _letters(result: Result, board: Board, per_topic: Path, note: Note) -> dict[str, str]:
    """Letters of the runs by the first measure; none where labels are missing, or the measure has
    no values of topics that could be compared."""
    measure = board.measures[0]
    runs = ranked(result.findings.scores, board)
    found = [result.findings.scores[run].get(measure) for run in runs]
    if result.alike is not None or len(runs) < 2 or any(s is None or s.missing for s in found):
        return {}
    try:
        table = read_table(per_topic, measure, "-m").require()
        comparison = compared(table, note)
    except (FormatError, ValueError):
        return {}
    return dict(comparison.letters or {})


# -- results as other tools have them -------------------------------------------------------------


def _results(per_topic: PerTopic, result: Result) -> Iterator[tuple[str, bytes]]:
    """A file of each run as ``trec_eval -q`` prints it (measure, topic, value), with its means as
    topic ``all``; and of each measure a matrix of topics by runs as NTCIR's Discpower reads it,
    with the names of the runs beside it. What hangs on missing labels has no value in either."""
    measures: dict[str, None] = {}
    for run, by_measure in per_topic.items():
        lines = [f"runid\tall\t{run}"]
        for measure, values in by_measure.items():
            measures[measure] = None
            name = measure.replace(" ", "_")
            lines += [
                f"{name}\t{topic}\t{ends.value:.6f}"
                for topic, ends in values.items()
                if ends is not None and ends.value is not None
            ]
            score = result.findings.scores.get(run, {}).get(measure)
            if score is not None and score.value is not None:
                lines.append(f"{name}\tall\t{score.value:.6f}")
        yield f"results/{file_name(run)}.txt", _lines(lines)
    for measure in measures:
        yield from _matrix(measure, per_topic, result.findings.topics)


def _matrix(
    measure: str, per_topic: PerTopic, topics: Sequence[str]
) -> Iterator[tuple[str, bytes]]:
    columns = {run: found[measure] for run, found in per_topic.items() if measure in found}
    rows = {topic: [values.get(topic) for values in columns.values()] for topic in topics}
    whole = {
        topic: row
        for topic, row in rows.items()
        if all(one is not None and one.value is not None for one in row)
    }
    if whole and len(columns) > 1:
        lines = (" ".join(f"{one.value:.6f}" for one in row if one) for row in whole.values())
        stem = f"matrices/{file_name(measure)}"
        yield f"{stem}.txt", _lines(lines)
        yield f"{stem}.runs.txt", _lines(columns)
        yield f"{stem}.topics.txt", _lines(whole)


def _lines(lines: Iterable[str]) -> bytes:
    return ("\n".join(lines) + "\n").encode()
