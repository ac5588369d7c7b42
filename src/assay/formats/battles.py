"""Judgments of battles in the formats of several tools: JSON Lines, or a table with a header.

* RAGDoll: ``{task_id, qid, pair, assistant_a_run_id, assistant_b_run_id, judge_verdict,
  preferred_run_id, status, provider, model}``
* arena-rank: ``{model_a, model_b, winner}``, winner ``model_a``, ``model_b``, ``tie`` or
  ``both_bad``, perhaps with a topic
* CrowdRAG-25: ``{query_id, response_a, response_b}`` with votes and gold labels by dimension
  (ratings), labels by a model (llm_ratings, and raw ``ratings {Q1_rating}``), or one worker's votes
* Assay's own: ``{topic, run_a, run_b, verdict}``, verdict ``A``, ``B``, ``Tie`` or
  ``Tie (Both Bad)``
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from assay.formats.cells import read_cells
from assay.formats.jsonl import dump_line, first_character, one_id, one_text, read_objects
from assay.formats.parsed import FaultList, Spot
from assay.formats.reasons import rationale_of
from assay.formats.text import SourceText, reads_file
from assay.model.battles import Battle, BattleVerdict
from assay.model.labels import NO_RATIONALE, Rationale
from assay.model.wording import counted, joined, quoted

DIMENSIONS = (
    "correctness_topical",
    "coherence_logical",
    "coherence_stylistic",
    "coverage_broad",
    "coverage_deep",
    "consistency_internal",
    "quality_overall",
)
"""The dimensions of CrowdRAG-25, in the order of its questions Q1 to Q7."""

BATTLE_KEYS = frozenset({"judge_verdict", "run_a", "model_a", "system_a", "response_a"})
"""Keys of which every judgment of a battle has at least one."""

_TOPIC_KEYS = ("qid", "topic_id", "query_id", "topic", "narrative_id", "question_id")
_SIDES = (("run_a", "run_b"), ("model_a", "model_b"), ("system_a", "system_b"))
_VERDICTS = ("verdict", "winner", "outcome", "label")
_WORDS = {
    **{one.value.casefold(): one for one in BattleVerdict},
    **{f"[[{one.value.casefold()}]]": one for one in BattleVerdict},
    "model_a": BattleVerdict.A,
    "model_b": BattleVerdict.B,
    "n": BattleVerdict.TIE,
    "both_bad": BattleVerdict.BOTH_BAD,
    "tie (bothbad)": BattleVerdict.BOTH_BAD,
}
_RAW_NAMES = {"correctness_topical": "validity"}
"""The names of dimensions in raw files of votes, if different."""


@dataclass(frozen=True)
class Crowd:
    """Options for reading files of CrowdRAG-25.

    ``dimension``: one of :data:`DIMENSIONS`. ``votes``: whether each worker's vote is a battle;
    otherwise the gold label is one. ``most_spam``: votes with a greater spam probability are left
    out. ``inference``: whether to read the model labels that were asked for ``combined`` or
    ``individual``. ``runs``: the run of each response; one that is not listed is its own run.
    """

    dimension: str = "quality_overall"
    votes: bool = False
    most_spam: float = 1.0
    inference: str = "combined"
    runs: Mapping[str, str] = field(default_factory=dict)


@reads_file
def read_battles(
    source: SourceText, faults: FaultList, crowd: Crowd | None = None
) -> tuple[Battle, ...]:
    """Read judgments of battles. An unknown verdict is a fault, never a tie."""
    reader = _BattleReader(faults, crowd or Crowd())
    for number, record in _records(source, faults):
        reader.read(number, record)
    if not reader.found and not faults.faulty:
        faults.error(0, "The file holds no battle.", "Write one judgment per line.")
    reader.done()
    return tuple(reader.found)


def _records(source: SourceText, faults: FaultList) -> Iterator[tuple[int, Mapping[str, Any]]]:
    """The objects of JSON Lines, or the rows of a table as objects, with line numbers."""
    if first_character(source) in ("{", "["):
        yield from read_objects(source, faults, lists=True)
        return
    cells = read_cells(source.lines, faults)
    if cells is None:
        faults.error(0, "The file is empty.", "Write one judgment per line.")
        return
    yield from cells.records()


class _BattleReader:
    """Reader of the judgments in one file, which counts those it leaves out."""

    def __init__(self, faults: FaultList, crowd: Crowd) -> None:
        self.faults, self.crowd = faults, crowd
        self.found: list[Battle] = []
        self._judged: dict[Battle, int] = {}
        self._spam = self._repeated = self._other = 0
        self._unknown: set[str] = set()

    def read(self, number: int, record: Mapping[str, Any]) -> None:
        if "assistant_a_run_id" in record or "judge_verdict" in record:
            self._ragdoll(number, record)
        elif "response_a" in record:
            self._crowd(number, record)
        else:
            self._plain(number, record)

    def done(self) -> None:
        cure = "Give files of responses with --responses."
        self._warn(len(self._unknown), "response", "without a run: each counts as a run", cure)
        self._warn(self._spam, "vote", "of likely spammers left out")
        repeated = "of a pair that was already judged in this order"
        self._warn(self._repeated, "row", repeated, "The first was read.")
        self._warn(self._other, "row", "of the other way of asking left out")

    def _warn(self, count: int, one: str, rest: str, cure: str = "") -> None:
        if count:
            self.faults.warning(0, f"{counted(count, one)} {rest}.", cure)

    def _add(
        self,
        at: Spot,
        sides: Sequence[str | None],
        word: object,
        judge: str,
        rationale: Rationale = NO_RATIONALE,
    ) -> bool:
        """Add a battle; False, with a fault, if it is not valid."""
        a, b = ((side or "").strip() for side in sides)
        folded = "" if word is None else str(word).strip().casefold()
        verdict = _WORDS.get(folded)
        if not a or not b:
            at.error("The judgment does not name two runs.", "Name both.")
        elif a == b:
            at.error(f"Run {quoted(a)} battles itself.", "Name two runs.")
        elif folded and verdict is None:
            cure = "Write A, B, Tie or Tie (Both Bad); null if judging failed."
            at.error(f"{quoted(str(word))} is not a verdict.", cure)
        else:
            self.found.append(Battle(at.topic, a, b, verdict, judge, at.line, rationale))
            return True
        return False

    def _ragdoll(self, number: int, record: Mapping[str, Any]) -> None:
        at = self.faults.at(number, one_id(record, *_TOPIC_KEYS))
        if at.topic is None:
            at.error("The judgment has no topic.", 'Give "qid".')
            return
        sides = [one_id(record, f"assistant_{one}_run_id") for one in "ab"]
        status = record.get("status", "completed")
        word = record.get("judge_verdict") if status == "completed" else None
        judge = " ".join(
            str(record[name]) for name in ("provider", "model", "thinking") if record.get(name)
        )
        if not self._add(at, sides, word, judge, rationale_of(record)):
            return
        recorded = self.found[-1]
        pair = record.get("pair")
        if isinstance(pair, list) and {*map(str, pair)} != {recorded.a, recorded.b}:
            why = f"The pair {quoted(' and '.join(map(str, pair)))} do not match the two runs."
            at.error(why, "Which two runs fought?")
        preferred = record.get("preferred_run_id", recorded.winner)
        if recorded.verdict is not None and preferred != recorded.winner:
            why = f"{quoted(str(preferred))} is preferred, but the verdict is {recorded.verdict}."
            at.error(why, "Which of the two is right?")
        key = recorded._replace(verdict=None, line=0, rationale=NO_RATIONALE)
        first = self._judged.setdefault(key, number)
        if first != number:
            self.found.pop()
            pair = f"{recorded.a} against {recorded.b}"
            why = f"{pair} was already judged on line {first}, in this order."
            at.error(why, "Keep one of the two; the first was read.")

    def _plain(self, number: int, record: Mapping[str, Any]) -> None:
        names = next((pair for pair in _SIDES if pair[0] in record), None)
        verdict = next((name for name in _VERDICTS if name in record), None)
        if names is None or verdict is None:
            self.faults.error(
                number,
                f"This is not a judgment of a battle; it has {joined(record, 8)}.",
                "Give run_a, run_b and verdict, or the judgments of RAGDoll, arena-rank or "
                "CrowdRAG-25.",
            )
            return
        at = self.faults.at(number, one_id(record, *_TOPIC_KEYS))
        sides = [one_id(record, name) for name in names]
        judge = one_text(record, "judge", "labeller", "rater") or ""
        self._add(at, sides, record[verdict], judge, rationale_of(record))

    def _crowd(self, number: int, record: Mapping[str, Any]) -> None:
        at = self.faults.at(number, one_id(record, "query_id"))
        if at.topic is None:
            at.error("The judgment has no topic.", 'Give "query_id".')
            return
        runs = self.crowd.runs
        given = [one_text(record, name) or "" for name in ("response_a", "response_b")]
        sides = [runs.get(one, one) for one in given]
        self._unknown.update(one for one in given if one and one not in runs)
        if given[0] != given[1] and sides[0] == sides[1]:
            why = f"Both responses are by {quoted(str(sides[0]))}."
            at.error(why, "Give each response of a topic its own run.")
            return
        place = DIMENSIONS.index(self.crowd.dimension) + 1
        ratings, rationale = record.get("ratings"), NO_RATIONALE
        if isinstance(ratings, dict):
            rationale = Rationale(str(ratings.get(f"Q{place}_justification") or ""))
        for word, judge in self._crowd_labels(at, record):
            self._add(at, sides, word, judge, rationale)

    def _crowd_labels(self, at: Spot, record: Mapping[str, Any]) -> Iterator[tuple[object, str]]:
        """The verdicts on the dimension, each with the name of the judge."""
        name, crowd = self.crowd.dimension, self.crowd
        question = f"Q{DIMENSIONS.index(name) + 1}_rating"
        ratings, votes = record.get("ratings"), record.get(f"{name}_vote")
        if crowd.votes and isinstance(votes, list):
            spam, workers = record.get(f"{name}_spam_probability"), record.get("worker")
            chances = spam if isinstance(spam, list) else [0.0] * len(votes)
            people = workers if isinstance(workers, list) else [""] * len(votes)
            known = all(isinstance(one, int | float) for one in chances)
            if not known or not len(votes) == len(chances) == len(people):
                why = "There must be as many votes as workers and spam probabilities (numbers)."
                at.error(why, "Correct the row.")
                return
            for vote, chance, person in zip(votes, chances, people, strict=True):
                if chance > crowd.most_spam:
                    self._spam += 1
                else:
                    yield vote, str(person)
        elif f"{name}_gold" in record:
            yield record[f"{name}_gold"], ""
        elif isinstance(ratings, dict) and question in ratings:
            yield from self._unless_repeated(at.line, record, ratings[question], "combined")
        elif "inference" in record and name in record:
            if record["inference"] == crowd.inference:
                yield from self._unless_repeated(at.line, record, record[name], crowd.inference)
            else:
                self._other += 1
        elif "worker" in record and (name in record or _RAW_NAMES.get(name) in record):
            yield record.get(name, record.get(_RAW_NAMES.get(name, name))), str(record["worker"])
        else:
            why = f"The row has no rating of {name}; it has {joined(record, 8)}."
            at.error(why, "Choose another --dimension.")

    def _unless_repeated(
        self, number: int, record: Mapping[str, Any], word: object, judge: str
    ) -> Iterator[tuple[object, str]]:
        """A model's label, unless it has already judged the pair in this order."""
        a, b = (str(record.get(name)) for name in ("response_a", "response_b"))
        key = Battle(one_id(record, "query_id"), a, b, None)
        if self._judged.setdefault(key, number) == number:
            yield word, judge
        else:
            self._repeated += 1


@reads_file
def read_battle_responses(source: SourceText, faults: FaultList) -> Mapping[str, str]:
    """Read the run of each response of CrowdRAG-25: its ``run``, or ``kind-style`` such as
    ``human-essay``. Without ``kind``, a response with a ``worker`` is human, any other ``llm``."""
    found: dict[str, str] = {}
    for number, record in _records(source, faults):
        response = one_text(record, "response")
        run, style = one_text(record, "run", "run_id"), one_text(record, "style")
        if run is None and style is not None:
            kind = one_text(record, "kind") or ("human" if "worker" in record else "llm")
            run = f"{kind}-{style}"
        if response is None or run is None:
            cure = "Give response, and run or style."
            faults.error(number, "The row does not say whose response it is.", cure)
        elif found.setdefault(response, run) != run:
            faults.error(number, f"{quoted(response)} had a different run before.", "Keep one.")
    return found


def write_battles(battles: Iterable[Battle]) -> bytes:
    """Judgments in the format of RAGDoll."""

    def record(one: Battle) -> dict[str, Any]:
        return {
            "qid": one.topic,
            "pair": sorted((one.a, one.b)),
            "assistant_a_run_id": one.a,
            "assistant_b_run_id": one.b,
            "judge_verdict": one.verdict,
            "preferred_run_id": one.winner,
            "model": one.judge,
            "status": "failed" if one.verdict is None else "completed",
        }

    return b"".join(dump_line(record(one)) for one in battles)
