"""Rankings as they were scored, as files that give the same scores to any tool.

Under ``out/``: ``qrels.txt``, ``topics.txt`` and ``runs/RUN.txt`` for ``assay measure`` and
trec_eval, and for NTCIREVAL ``ntcireval/rels.txt`` (``topic docid L2``) with ``ntcireval/RUN.res``
(``topic docid`` in rank order). docs/evaluation-folders.md says how they are used.
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
    """Runs with the grades that they are scored by.

    ``topics`` are those that means are taken over, whether anything is judged there or not;
    ``answered`` leaves those out of a run's means that it is silent on. ``qrels`` are topic →
    document → grade, ``runs`` run → topic → documents, best first, none twice. ``measures`` are
    names in ``scores.csv`` → the same as ``assay measure -m`` takes them. ``g_max`` is the highest
    grade of the scale. With ``own_ideal`` ideal lists are made of what the run itself shows.
    ``rising`` says by how much grades may rise, as labels are missing.
    ``subtopics`` are topic → subtopic → document → grade, for ``subtopic_measures``.
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
        """The files of grades that there are, with the measures that each serves."""
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
        """Of the documents at the first ``k`` ranks of each run, in the topics that are judged, how
        many have no grade and lack none, of how many; the runs with the greatest shares first."""
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
        """Run → the part of a path that stands for it, with a number where two would be alike."""
        names: dict[str, str] = {}
        taken: set[str] = set()
        for run in self.runs:
            plain = name = file_name(run)
            number = 1
            # Some file systems take A and a for one name.
            while name.casefold() in taken:
                number += 1
                name = f"{plain}-{number}"
            taken.add(name.casefold())
            names[run] = name
        return names

    def commands(self) -> list[str]:
        """What gives the scores again, where the files are: ``assay measure`` with the measures,
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
        if commands and self.g_max == int(self.g_max):  # NTCIREVAL takes whole gains alone
            gains = ":".join(map(str, range(1, int(self.g_max) + 1)))
            commands.append(f"# in ntcireval/, topic by topic: pyNTCIREVAL compute -g {gains}")
        return commands


def ranked_files(ranked: Ranked | None) -> Iterator[tuple[str, FileData]]:
    """Name under ``out/`` and data of every file. Raises AssayError for ids that no such file can
    hold."""
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
    """The levels of what the run itself shows."""
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
    """Lines of ids, each made one word, for NTCIREVAL; pyNTCIREVAL reads quotes as CSV does."""
    text = "".join([" ".join(row) + "\n" for row in rows])
    if "%" in text or '"' in text or text.split() != list(chain.from_iterable(rows)):
        text = "".join(" ".join(map(_word, row)) + "\n" for row in rows)
    return text.encode()


def _word(one: str) -> str:
    return re.sub(r'[\s%"]', lambda char: f"%{ord(char[0]):02X}", one)
