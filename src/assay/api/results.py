"""What scoring a folder found, under one protocol or several."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from functools import cached_property
from itertools import combinations
from typing import Any

from assay.api.board_agreement import AGREEMENT_COLUMNS, BoardAgreement, RankedBoard, agreement
from assay.measures.scores import Score
from assay.protocols.results import Result
from assay.protocols.standing import stands_on


@dataclass(frozen=True)
class Results:
    """The result of each protocol, under one policy, and what follows for the folder. Where there
    are several protocols, what belongs to one begins with its name."""

    policy: str
    by_protocol: Mapping[str, Result]

    @property
    def several(self) -> bool:
        """Whether there are results of more than one protocol."""
        return len(self.by_protocol) > 1

    @property
    def only(self) -> Result | None:
        """The result of the one protocol; None where there are several."""
        return None if self.several else next(iter(self.by_protocol.values()))

    @property
    def uneven(self) -> bool:
        """Whether :attr:`fair` has other scores: people labelled more of some runs than of
        others."""
        return any(one.evened is not None for one in self.by_protocol.values())

    @property
    def fair(self) -> Results:
        """The results by which runs may be compared (:attr:`Result.fair`)."""
        return replace(self, by_protocol={n: one.fair for n, one in self.by_protocol.items()})

    @cached_property
    def scores(self) -> tuple[Score, ...]:
        """Every score, as ``scores.csv`` has them."""
        return tuple(
            replace(score, measure=f"{self.prefix(name)}{score.measure}")
            for name, one in self.by_protocol.items()
            for score in scores_of(one)
        )

    @property
    def labellers(self) -> dict[str, str | None]:
        """The labeller of each task by name; None where it could not be made."""
        return {
            task: None if who is None else who.name
            for one in self.by_protocol.values()
            for task, who in one.labellers.items()
        }

    @property
    def stands_on(self) -> dict[str, str]:
        """Whose labels the scores of each protocol rest on (:func:`stands_on`)."""
        return {name: stands_on(one) for name, one in self.by_protocol.items()}

    @property
    def stands_on_in_words(self) -> tuple[str, ...]:
        """The same as sentences, of the protocols whose scores rest on labels."""
        return tuple(
            f"{name} stands on: {said}." if self.several else f"Stands on: {said}."
            for name, said in self.stands_on.items()
            if said
        )

    @property
    def missing(self) -> int:
        """How many of :attr:`missing_what` have no usable label."""
        return sum(one.unlabelled.count for one in self.by_protocol.values())

    @property
    def missing_what(self) -> str:
        """``labels``, or what the protocol tells it in (``answers``, ``nuggets``)."""
        return "labels" if self.only is None else self.only.unlabelled.what

    @property
    def warnings(self) -> tuple[str, ...]:
        """What people should know of the results."""
        return tuple(
            f"{self.prefix(name)}{text}"
            for name, one in self.by_protocol.items()
            for text in one.warnings
        )

    @cached_property
    def agreements(self) -> tuple[BoardAgreement, ...]:
        """Every two leaderboards of different protocols, set beside each other."""
        boards = [
            RankedBoard(name, measure, scores, one.fair)
            for name, one in self.by_protocol.items()
            for measure, scores in board_scores(one).items()
        ]
        return tuple(
            agreement(one, other)
            for one, other in combinations(boards, 2)
            if one.protocol != other.protocol
        )

    @property
    def document(self) -> dict[str, Any]:
        """What protocols say beside their scores, as plain JSON."""
        documents = {
            name: {
                **one.findings.document(),
                **one.beside().document(),
                "juries": [asdict(jury) for jury in one.juries],
            }
            for name, one in self.by_protocol.items()
        }
        if not self.several:
            return next(iter(documents.values()))
        rows = [dict(zip(AGREEMENT_COLUMNS, one.row, strict=True)) for one in self.agreements]
        return {"protocols": documents, "agreement": rows}

    @property
    def lower_is_better(self) -> frozenset[str]:
        """The measures, as :attr:`scores` name them, of which a lower value is better."""
        return frozenset(
            self.prefix(name) + measure
            for name, one in self.by_protocol.items()
            for board in one.findings.boards
            for measure in board.lower_is_better
        )

    def prefix(self, protocol: str) -> str:
        """What stands before the measures and remarks of a protocol."""
        return f"{protocol}: " if self.several else ""


def scores_of(result: Result) -> list[Score]:
    """Every score of a protocol, run by run."""
    return [one for scores in result.findings.scores.values() for one in scores.values()]


def board_scores(result: Result) -> dict[str, dict[str, float]]:
    """The first measure of each leaderboard → run → score, where it is known."""
    result = result.fair
    measures = dict.fromkeys(board.measures[0] for board in result.findings.boards)
    return {
        measure: {
            score.run: score.value
            for score in scores_of(result)
            if score.measure == measure and score.value is not None
        }
        for measure in measures
    }
