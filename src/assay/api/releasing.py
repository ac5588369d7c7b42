"""Publish an evaluation as an organiser: a public page, a page for each team, and files.

The public page names leaderboards, categories and topics, but shows no answers or passages.
"""

from __future__ import annotations

import platform
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from importlib.metadata import version
from pathlib import Path

from assay.api.compared import Compared, compared, read_table
from assay.api.corrected_tables import published_corrected, trust_part
from assay.api.correcting import COLUMNS
from assay.api.opened import Opened, html_of
from assay.api.overview import overview
from assay.api.reading import Note
from assay.api.release_pages import (
    policy_without_names,
    public_page,
    runs_by_team,
    team_page,
    told_to_all,
    without_names,
)
from assay.api.release_readme import readme
from assay.api.results import Results
from assay.measures.scores import PerTopic
from assay.model.errors import FormatError, SettingsError
from assay.model.paths import file_sha256, path_inside
from assay.model.version import __version__
from assay.page.files import pages_of
from assay.page.page import Board, Page
from assay.protocols.manifest import MANIFEST, REPORT, read_manifest
from assay.protocols.output import csv_bytes, file_name, json_bytes, write_bytes, write_pieces
from assay.protocols.pages import page_of
from assay.protocols.results import Result
from assay.reports.leaderboards import ranked
from assay.reports.plotting import require_plots
from assay.reports.publishing import PublishedBoard, latex, markdown
from assay.reports.statistics_plots import save_leaderboard
from assay.reports.text import closed

SUMS = "SHA256SUMS"

_PIECE = 1 << 20
_ARITHMETIC = ("numpy", "scipy", "polars")
"""Packages whose versions may affect last digits and seeded random draws."""


@dataclass(frozen=True)
class Released:
    """A written release: the folder, its files with their SHA-256, the SHA-256 of the manifest,
    which seals the results, and the sections left out of the public page for lack of room."""

    folder: Path
    files: Mapping[str, str]
    seal: str
    left_out: Sequence[str]


def release(
    opened: Opened,
    into: Path,
    *,
    teams: Mapping[str, str] | None = None,
    figures: bool = True,
    note: Note,
) -> Released:
    """Score a folder by its existing labels, and write to a new folder the public page
    (``index.html``), a page for each team (``teams/``), tables in Markdown and LaTeX (``tables/``),
    figures (``figures/``), results in the formats of TREC's and NTCIR's tools (``results/``,
    ``matrices/``) and all of ``out/`` (``dossier/``). ``teams`` (run → team, with ``*`` as a
    wildcard) take precedence over ``[release.teams]``; a run without a team is its own team. Asks
    nothing. Raises SettingsError if ``into`` holds anything but an earlier release.
    """
    if into.exists() and not into.is_dir():
        raise SettingsError(f"{into} is not a folder: choose a new one.")
    if into.exists() and any(into.iterdir()) and not (into / SUMS).is_file():
        raise SettingsError(f"{into} holds files that are not a release: choose a new folder.")
    if into.resolve().is_relative_to(opened.folder.out.resolve()):
        raise SettingsError(
            f"{into} is inside out/, which is part of the release: choose a folder elsewhere."
        )
    if figures:
        require_plots()
    named = dict(teams or {})
    for run, team in opened.folder.config.release.teams.items():
        named.setdefault(run, team)
    with opened.ledger(create=False, by_index=False) as ledger:
        results, _ = opened.write(ledger)
        opened.write_report(results, ledger=ledger)
        trusted = opened.corrected(ledger)
    corrected = () if trusted is None else (trust_part(trusted),)
    if results.missing:
        note(
            f"{results.missing:,} {results.missing_what} have no usable label, so values that "
            f"depend on them are published as ranges. {results.cures}"
        )
    out = opened.folder.out
    seal = file_sha256(out / MANIFEST)
    writer = _Writer(into)
    left_out: list[str] = []
    by_people = False
    for protocol, scored in results.by_protocol.items():
        place = _place(opened, protocol)
        result = replace(scored, out=f"dossier/{place}")
        per_topic = opened.parts[protocol].folder.out / "per_topic.csv"
        whole = page_of(result)
        if not opened.several:
            whole = replace(whole, first=corrected)
        by_people = by_people or any(one.by_people for one in whole.labelled)
        public, left = public_page(whole, place, seal, note)
        left_out += left
        writer.write(f"{place}index.html", html_of(public))
        boards = page_of(result.comparable, sections=False)  # counts all labels: once for all teams
        for team, own in runs_by_team(result.comparable, named).items():
            page = team_page(result.comparable, boards, team, own, place, seal)
            writer.write(f"{place}teams/{file_name(team)}.html", html_of(page))
        for number, board in enumerate(result.findings.boards, 1):
            told = _published(result.comparable, boards, board, per_topic, note)
            stem = f"{place}tables/board-{number}"
            writer.write(f"{stem}.md", markdown(told).encode())
            writer.write(f"{stem}.tex", latex(told).encode())
            if figures:
                writer.draw(f"{place}figures/board-{number}.pdf", result.comparable, board)
        for path, data in _results(result.comparable.findings.per_topic, result.comparable):
            writer.write(f"{place}{path}", data)
    if opened.several:
        writer.write(
            "index.html", html_of(replace(_overview(opened, results, seal), first=corrected))
        )
    if trusted is not None:
        writer.write("tables/corrected.csv", csv_bytes(COLUMNS, trusted.rows()))
        for number, told in enumerate(published_corrected(trusted), 1):
            writer.write(f"tables/corrected-{number}.md", markdown(told).encode())
            writer.write(f"tables/corrected-{number}.tex", latex(told).encode())
    for name in sorted({*read_manifest(out)["outputs"], MANIFEST, *_reports(opened)}):
        writer.copy(f"dossier/{name}", out / name)
    for name, data in _asked(opened, results):
        writer.write(f"dossier/{name}", data)
    licence = opened.folder.config.release.licence
    about = {
        "protocols": list(opened.parts),
        "policy": policy_without_names(results.policy),
        "licence": licence or None,
        "manifest_sha256": seal,
        "made_with": {
            "assay": __version__,
            "python": platform.python_version(),
            "machine": f"{platform.system()} {platform.machine()}",
            **{name: version(name) for name in _ARITHMETIC},
        },
    }
    writer.write("release.json", json_bytes(about))
    writer.write(".gitattributes", b"* -text\n")  # git would write other ends of lines elsewhere
    writer.write("README.txt", readme(opened, results, into, writer.files, licence))
    writer.finish()
    if by_people:
        note(
            "dossier/ says who labelled what, and why. If you do not want to publish that, "
            "publish the rest without it."
        )
    return Released(into, writer.files, seal, left_out)


class _Writer:
    """Writes files to a folder and removes those of an earlier release. An interrupted release can
    be replaced by another one."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self.files: dict[str, str] = {}
        sums = folder / SUMS
        self._before = _sums(sums)
        if not sums.is_file():
            write_bytes(sums, b"")

    def write(self, name: str, data: bytes) -> None:
        """Write a file, numbering names that are taken. Names that differ only in case count as the
        same, as they are on some file systems."""
        taken = {one.casefold() for one in self.files}
        stem, dot, ending = name.rpartition("/")
        start, point, more = ending.partition(".")
        number = 1
        while name.casefold() in taken:
            number += 1
            name = f"{stem}{dot}{start}-{number}{point}{more}"
        self.files[name] = write_bytes(self._folder / name, data)

    def copy(self, name: str, of: Path) -> None:
        """Write a copy of another file, which may be large."""
        with of.open("rb") as file:
            pieces = iter(partial(file.read, _PIECE), b"")
            self.files[name] = write_pieces(self._folder / name, pieces)

    def draw(self, name: str, result: Result, board: Board) -> None:
        """Write a figure of a leaderboard's first measure; none if no score is certain."""
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
            self.files[name] = file_sha256(path)

    def finish(self) -> None:
        """Write ``SHA256SUMS`` for ``sha256sum -c``, and remove files of an earlier release. Files
        changed since then are kept, as they may be somebody's work."""
        sums = self._folder / SUMS
        for name, digest in self._before.items():
            path = (self._folder / name).resolve()
            inside = path.is_relative_to(self._folder.resolve())
            if name not in self.files and inside and path.is_file() and file_sha256(path) == digest:
                path.unlink()
                for parent in path.parents:
                    if parent == self._folder.resolve() or any(parent.iterdir()):
                        break
                    parent.rmdir()
        lines = (f"{digest}  {name}\n" for name, digest in sorted(self.files.items()))
        write_bytes(sums, "".join(lines).encode())


def _sums(path: Path) -> dict[str, str]:
    """The files of an earlier release with their digests; invalid lines are ignored."""
    if not path.is_file():
        return {}
    lines = path.read_text(encoding="utf-8", errors="replace").splitlines()
    return {line[66:]: line[:64] for line in lines if line[64:66] == "  " and line[66:]}


def _asked(opened: Opened, results: Results) -> Iterator[tuple[str, bytes]]:
    """The instructions for language models and people: prompts and the folder's guidelines."""
    asked = {
        task.name: task
        for name, one in results.by_protocol.items()
        for task in opened.parts[name].tasks
        if one.asked.get(task.name)
    }
    for task in asked.values():
        for name, data in opened.folder.renderer.own_files(task):
            yield f"prompts/{name}", data
        name = f"guidelines/{task.name}.md"
        path = path_inside(opened.folder.path, name, f"The guideline of {task.name}")
        if path.is_file():
            yield name, path.read_bytes()


def _place(opened: Opened, protocol: str) -> str:
    """The folder of a protocol with a trailing ``/``, if there are several."""
    return f"{opened.parts[protocol].folder.part}/" if opened.several else ""


def _reports(opened: Opened) -> Iterator[str]:
    """Paths of the reports and their pages, relative to ``out/``."""
    for place in dict.fromkeys(["", *(_place(opened, name) for name in opened.parts)]):
        report = opened.folder.out / f"{place}{REPORT}"
        for path in (report, *pages_of(report)):
            yield path.relative_to(opened.folder.out).as_posix()


def _overview(opened: Opened, results: Results, seal: str) -> Page:
    """The overview of several protocols, which links to the public page of each."""
    where = {name: f"{_place(opened, name)}index.html" for name in results.by_protocol}
    page = without_names(overview(opened.folder, results, where))
    sealed = f"Sealed: SHA-256 of the manifest {seal}."
    return replace(page, lede=(*page.lede, sealed), out="dossier/PROTOCOL/",
                   warnings=told_to_all(page.warnings))  # fmt: skip


# -- tables ---------------------------------------------------------------------------------------


def _published(
    result: Result, page: Page, board: Board, per_topic: Path, note: Note
) -> PublishedBoard:
    scores = result.findings.scores
    order = ranked(scores, board)
    test = _tested(result, board, per_topic, note)
    letters, notes = {}, []
    if test is not None and test.result.letters:
        letters = dict(test.result.letters)
        notes.append(
            f"Runs that share a letter are not shown to differ in {board.measures[0]} "
            f"({test.method}; level {test.result.alpha:g})."
        )
    if level := result.settings.get("level"):
        notes.append(
            f"In brackets: {float(str(level)):.0%} bootstrap intervals over topics "
            f"({result.settings['resamples']:,} draws, seed {result.settings['seed']})."
        )
    if page.stands_on:
        notes.append(f"Based on: {page.stands_on}.")
    notes += [f"{gap.count:,} {closed(gap.what)} {gap.so}" for gap in page.gaps]
    rows = [
        (rank, run, [scores[run].get(m) for m in board.measures]) for run, rank in order.items()
    ]
    return PublishedBoard(board.title, board.measures, rows, letters, notes)


def _tested(result: Result, board: Board, per_topic: Path, note: Note) -> Compared | None:
    """The comparison of runs by the first measure; None if labels are missing, or if the measure
    has no comparable values by topic."""
    measure = board.measures[0]
    runs = ranked(result.findings.scores, board)
    scores = [result.findings.scores[run].get(measure) for run in runs]
    if result.evened is not None or len(runs) < 2:
        return None
    if any(score is None or score.missing for score in scores):
        note(f"{board.title}: no letters by {measure}, because values are missing.")
        return None
    if not any(measure in by_measure for by_measure in result.findings.per_topic.values()):
        return None
    try:
        return compared(read_table(per_topic, measure, "-m").require(), note)
    except (FormatError, ValueError) as error:
        note(f"{board.title}: no letters by {measure}: {error}")
        return None


# -- results as other tools have them -------------------------------------------------------------


def _results(per_topic: PerTopic, result: Result) -> Iterator[tuple[str, bytes]]:
    """For each run, a file in the format of ``trec_eval -q`` (measure, topic, value), with means as
    topic ``all``; for each measure, a matrix of topics and runs for NTCIR's Discpower, with a file
    of run names. Scores that depend on missing labels have no value in either."""
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
