"""Rankings as they were scored, written to files from which any tool computes the same scores.

Under ``out/``: ``qrels.txt``, ``topics.txt`` and ``runs/RUN.txt`` for ``assay measure`` and
trec_eval; ``ntcireval/rels.txt`` (``topic docid L2``) and ``ntcireval/RUN.res`` (``topic docid`` in
rank order) for NTCIREVAL. docs/evaluation-folders.md describes their use.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache, partial
from itertools import chain

from assay.formats.trec_writing import judged_lines, run_lines
from assay.protocols.output import FileData, file_name

JudgedLines = Iterable[tuple[str, str, str, int]]
"""Topic, 0, document and grade."""

QRELS, SUBTOPICS, TOPICS = "qrels.txt", "qrels_questions.txt", "topics.txt"
NTCIREVAL = "ntcireval"


@dataclass(frozen=True, slots=True)
class Ranked:
    """Runs with the grades by which they are scored.

    ``topics`` are those that means are over, judged or not; with ``answered``, topics that a run is
    silent on are left out of its means. ``qrels`` are topic → document → grade, ``runs`` run →
    topic → documents, best first, without repeats. ``measures`` maps names in ``scores.csv`` to
    those that ``assay measure -m`` takes. ``g_max`` is the highest grade of the scale. With
    ``own_ideal``, ideal lists are made from what the run itself shows. ``rising`` says by how much
    grades may rise because labels are missing. ``subtopics`` are topic → subtopic → document →
    grade, for ``subtopic_measures``.
    """

    topics: Sequence[str]
    qrels: Mapping[str, Mapping[str, float]]
    runs: Mapping[str, Mapping[str, Sequence[str]]]
    measures: Mapping[str, str]
    g_max: float
    own_ideal: bool = False
    answered: bool = False
    rising: Mapping[str, Mapping[str, float]] = field(default_factory=dict)
    subtopics: Mapping[str, Mapping[str, Mapping[str, int]]] = field(default_factory=dict)
    subtopic_measures: Mapping[str, str] = field(default_factory=dict)

    def grade_files(self) -> Iterator[tuple[str, Mapping[str, str]]]:
        """The files of grades, with the measures for which each is used."""
        if any(self.qrels.values()):
            yield QRELS, self.measures
        known = (judged for found in self.subtopics.values() for judged in found.values())
        if self.subtopic_measures and any(known):
            yield SUBTOPICS, self.subtopic_measures

    @property
    def highest(self) -> int:
        """The highest grade that was given."""
        return int(max((g for judged in self.qrels.values() for g in judged.values()), default=0))

    def unjudged(self, k: int | None) -> dict[str, tuple[int, int]]:
        """By run, over judged topics: how many of the documents at the first ``k`` ranks have no
        grade and lack none, and of how many. Runs with the largest shares come first."""
        known = {topic: judged.keys() | self.rising.get(topic, {}).keys()
                 for topic, judged in self.qrels.items()}  # fmt: skip
        found = {}
        for run, by_topic in self.runs.items():
            shown = [(known[topic], docs[:k]) for topic, docs in by_topic.items() if topic in known]
            count = sum(doc not in judged for judged, docs in shown for doc in docs)
            if count:
                found[run] = count, sum(len(docs) for _, docs in shown)
        return dict(sorted(found.items(), key=lambda one: -one[1][0] / one[1][1]))

    def file_names(self) -> dict[str, str]:
        """Run → its name in paths, with a number if two would be equal."""
        names: dict[str, str] = {}
        taken: set[str] = set()
        for run in self.runs:
            plain = name = file_name(run)
            number = 1
            # Some file systems do not distinguish A and a.
            while name.casefold() in taken:
                number += 1
                name = f"{plain}-{number}"
            taken.add(name.casefold())
            names[run] = name
        return names

    def commands(self) -> list[str]:
        """Commands that reproduce the scores from the files: ``assay measure`` with the measures,
        and for NTCIREVAL the gains of its relevance levels."""
        topics = "answered" if self.answered else TOPICS
        commands = []
        for file, measures in self.grade_files():
            words = [f"assay measure {file} runs/*.txt --topics {topics}"]
            if self.own_ideal:
                words.append("--ideal run")
            if self.g_max > self.highest > 0:
                words.append(f"--g-max {self.g_max:g}")
            words += [f"-m {shlex.quote(name)}" for name in measures.values()]
            commands.append(" ".join(words))
        if commands and self.g_max == int(self.g_max):  # NTCIREVAL requires whole gains
            gains = ":".join(map(str, range(1, int(self.g_max) + 1)))
            commands.append(f"# in ntcireval/, topic by topic: pyNTCIREVAL compute -g {gains}")
        return commands


def ranked_files(ranked: Ranked | None) -> Iterator[tuple[str, FileData]]:
    """Name under ``out/`` and data of every file. Raises AssayError for ids that do not fit in."""
    if ranked is None:
        return

    def judged() -> JudgedLines:
        for topic, grades in ranked.qrels.items():
            for doc, grade in grades.items():
                yield topic, "0", doc, int(grade)

    yield QRELS, judged_lines(judged)
    if ranked.subtopic_measures:
        yield SUBTOPICS, judged_lines(lambda: _by_subtopic(ranked))
    yield TOPICS, "".join(f"{topic}\n" for topic in ranked.topics).encode()
    if not ranked.own_ideal:
        yield f"{NTCIREVAL}/rels.txt", lambda: [_rels(judged())]
    for run, name in ranked.file_names().items():
        rankings = ranked.runs[run]
        if not any(rankings.values()):
            continue  # a run file cannot be empty
        yield f"runs/{name}.txt", run_lines(run, rankings)
        yield f"{NTCIREVAL}/{name}.res", partial(_shown, rankings)
        if ranked.own_ideal:
            yield f"{NTCIREVAL}/{name}.rels", partial(_own_rels, judged, rankings)


def _shown(rankings: Mapping[str, Sequence[str]]) -> Iterator[bytes]:
    yield _words([(topic, doc) for topic, docs in rankings.items() for doc in docs])


def _own_rels(
    judged: Callable[[], JudgedLines], rankings: Mapping[str, Sequence[str]]
) -> list[bytes]:
    """The levels of the documents that the run itself shows."""
    own = {(topic, doc) for topic, docs in rankings.items() for doc in docs}
    return [_rels(one for one in judged() if (one[0], one[2]) in own)]


def _by_subtopic(ranked: Ranked) -> Iterator[tuple[str, str, str, int]]:
    for topic, by_subtopic in ranked.subtopics.items():
        for subtopic, judged in by_subtopic.items():
            for doc, grade in judged.items():
                yield topic, subtopic, doc, grade


def _rels(judged: JudgedLines) -> bytes:
    """Relevance levels as NTCIREVAL reads them; it has none below 0."""
    levels = cache(lambda grade: f"L{max(grade, 0)}")
    return _words([(topic, doc, levels(grade)) for topic, _, doc, grade in judged])


def _words(rows: Sequence[tuple[str, ...]]) -> bytes:
    """Lines of ids, each turned into one word for NTCIREVAL. (pyNTCIREVAL reads quotes as CSV.)"""
    text = "".join([" ".join(row) + "\n" for row in rows])
    if "%" in text or '"' in text or text.split() != list(chain.from_iterable(rows)):
        text = "".join(" ".join(map(_word, row)) + "\n" for row in rows)
    return text.encode()


def _word(one: str) -> str:
    return re.sub(r'[\s%"]', lambda char: f"%{ord(char[0]):02X}", one)
