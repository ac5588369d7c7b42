"""What is asked about a record, and its verdict from the labels."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from assay.formats.passages import sentences
from assay.labellers.base import Request
from assay.measures.arrays import Floats
from assay.measures.claims import ClaimLabels, any_yes, share
from assay.model.records import UNKNOWN, AskedQuestion, Record, Retrieved, folded_text
from assay.model.trec_rag import SUPPORT_VALUE
from assay.protocols.labels import LabelBook
from assay.protocols.places import Place
from assay.protocols.rag.inputs import RagInputs, RagSettings
from assay.protocols.walk import Walk
from assay.tasks.base import AnyTask, Unit
from assay.tasks.r2c2 import ANSWER, DIALOGUE_ACT, AnswerUnit, DialogueActUnit
from assay.tasks.rag import CLAIMS, ClaimsUnit
from assay.tasks.schemas import distinct
from assay.tasks.trec_rag import RELEVANCE, SUPPORT, RelevanceUnit, SupportUnit

NAN = float("nan")


@dataclass(frozen=True)
class JudgedRecord:
    """What the labels say about a record.

    ``declined`` is None if unknown. ``claims`` is None if they are not split yet; an answer without
    claims says nothing, like one that declines. ``e``, ``r`` and ``u`` are values of support (1,
    .5, 0, NaN): ``e`` is claims × passages, ``r`` the claims of each reference × passages, ``u``
    the claims of each reference in the answer. ``references`` has None for those not split yet.
    ``c`` is whether any reference entails each claim, ``grades`` has a value per passage, and
    ``cited`` the value of each citation of each sentence.
    """

    declined: bool | None
    claims: tuple[str, ...] | None
    references: tuple[tuple[str, ...] | None, ...]
    e: Floats
    c: Floats
    r: tuple[Floats, ...]
    u: tuple[Floats, ...]
    grades: Floats
    claim_grades: Floats
    correct: float
    cited: tuple[tuple[float | None, ...], ...]

    @cached_property
    def split(self) -> bool:
        """Whether the claims of all references are known."""
        return None not in self.references

    @cached_property
    def relevant(self) -> Floats:
        """For each passage, whether it entails a claim of a reference."""
        columns = [entailed(table).T for table in self.r if len(table)]
        count = len(self.grades)
        if not self.split:
            columns.append(np.full((count, 1), NAN))
        return any_yes(np.hstack(columns)) if columns else np.zeros(count)

    def labels(self, *, silent: bool = False) -> list[ClaimLabels]:
        """The labels of claims against each reference whose claims are known; if ``silent``, as
        though the answer said nothing."""
        none = np.zeros((0, len(self.grades)))
        e, c = (none, np.zeros(0)) if silent else (entailed(self.e), self.c)
        return [
            ClaimLabels(e, c, entailed(r), np.zeros(len(u)) if silent else entailed(u),
                        self.relevant)
            for r, u, claims in zip(self.r, self.u, self.references, strict=True)
            if claims is not None
        ]  # fmt: skip

    def best(self, *, silent: bool = False) -> ClaimLabels | None:
        """The labels against the reference of which the answer says most."""
        found = self.labels(silent=silent)
        return max(found, key=lambda one: share(one.u), default=None)


def entailed(worth: Floats) -> Floats:
    """Whether there is entailment, which only full support is."""
    return np.where(np.isnan(worth), NAN, (worth == 1.0).astype(np.float64))


class RecordWalk(Walk):
    """Looks up the labels of records. ``assume``: texts without labels are taken as answers and
    their sentences as claims, to estimate what would be asked."""

    def __init__(
        self, inputs: RagInputs, settings: RagSettings, book: LabelBook, *, assume: bool = False
    ) -> None:
        super().__init__(book)
        self.inputs, self.settings, self.assume = inputs, settings, assume

    def requests(self, task: AnyTask) -> Iterator[Request]:
        """Everything looked up under a task."""
        for record in self.inputs.records():
            self.judged(record)
            yield from self.take(task)

    def judged(self, record: Record) -> JudgedRecord:
        """The verdict on a record."""
        question = self.inputs.questions[record.id]
        use = question.answerable
        declined = self._declined(record)
        says = use and bool(record.answer) and declined is not True and not record.truncated
        if declined is None and not self.assume:
            says = False  # its claims are only asked about once this is known
        claims: tuple[str, ...] | None = ()
        if record.answer and use and declined is not True:
            claims = self._claims(record, record.answer, "answer") if says else None
        own = claims or ()
        says = says and claims != ()
        references = tuple(
            self._claims(record, text, f"reference {n}") if use else ()
            for n, text in enumerate(question.references, 1)
        )
        answer = Retrieved("", record.answer or None, truncated=record.truncated)
        golds = [Retrieved("", text) for text in question.references]
        return JudgedRecord(
            declined=declined,
            claims=claims,
            references=references,
            e=self._table(record, own, "claim"),
            c=self._by_references(record, own, golds),
            r=tuple(
                self._table(record, one or (), f"reference {n} claim")
                for n, one in enumerate(references, 1)
            ),
            u=tuple(
                np.array([
                    self._support(record, answer, claim, f"answer and reference {n} claim {m}")
                    for m, claim in enumerate(one or (), 1)
                ])
                if says
                else np.full(len(one or ()), 0.0 if claims == () else NAN)
                for n, one in enumerate(references, 1)
            ),
            grades=np.array([
                NAN if one.text is None else self._grade(record, one.text, f"passage {n}")
                for n, one in enumerate(record.passages, 1)
            ])
            if use
            else np.zeros(len(record.passages)),
            claim_grades=np.array([self._grade(record, one, f"claim {n}")
                                   for n, one in enumerate(own, 1)]),
            correct=self._correct(record, question, says),
            cited=tuple(self._cited(record)) if says else (),
        )  # fmt: skip

    # -- single labels -----------------------------------------------------------------------

    def _says(self, task: AnyTask, unit: Unit, record: Record, position: str) -> Any:
        return self.says(task, unit, Place(record.run, record.id, position))

    def _declined(self, record: Record) -> bool | None:
        if not record.answer:
            return False
        if record.truncated:
            return None
        unit = DialogueActUnit(question=record.full_question, answer=record.answer)
        verdict = self._says(DIALOGUE_ACT, unit, record, "act")
        return None if verdict is None else verdict["act"] != "answer"

    def _claims(self, record: Record, text: str, position: str) -> tuple[str, ...] | None:
        if not self.inputs.splits:
            return _distinct(sentences(text))
        unit = ClaimsUnit(question=record.full_question, text=text)
        verdict = self._says(CLAIMS, unit, record, f"claims of {position}")
        if verdict is None:
            return _distinct(sentences(text)) if self.assume else None
        return _distinct(verdict["claims"])

    def _support(self, record: Record, passage: Retrieved, claim: str, position: str) -> float:
        """The value of a passage's support for a claim. If the passage is cut off, only full
        support is certain, as the rest of its text may support more."""
        if passage.text is None:
            return NAN
        unit = SupportUnit(passage=passage.text, sentence=claim)
        verdict = self._says(SUPPORT, unit, record, position)
        if verdict is None:
            return NAN
        worth = SUPPORT_VALUE[verdict["support"]]
        return NAN if passage.truncated and worth < 1 else worth

    def _table(self, record: Record, claims: Sequence[str], what: str) -> Floats:
        rows = [self._row(record, claim, f"{what} {n}") for n, claim in enumerate(claims, 1)]
        return np.array(rows, dtype=np.float64).reshape(len(claims), len(record.passages))

    def _row(self, record: Record, claim: str, position: str) -> list[float]:
        """A claim against every passage. With ``each-then-all``, a claim that no passage entails is
        judged against all of them joined, and the result counts for each."""
        row = [
            self._support(record, passage, claim, f"{position} passage {n}")
            for n, passage in enumerate(record.passages, 1)
        ]
        alone = len(row) > 1 and all(worth < 1 for worth in row)
        if self.settings.evidence != "each-then-all" or not alone:
            return row
        texts = [one.text or "" for one in record.passages]
        together = Retrieved("", "\n\n".join(texts))
        worth = self._support(record, together, claim, f"{position} all passages")
        return row if worth == 0 else [worth] * len(row)

    def _by_references(
        self, record: Record, claims: Sequence[str], references: Sequence[Retrieved]
    ) -> Floats:
        """Whether any reference entails each claim of the answer."""
        rows = [
            [self._support(record, one, claim, f"claim {n} reference {m}")
             for m, one in enumerate(references, 1)]
            for n, claim in enumerate(claims, 1)
        ]  # fmt: skip
        return any_yes(entailed(np.array(rows).reshape(len(claims), len(references))))

    def _grade(self, record: Record, text: str, position: str) -> float:
        unit = RelevanceUnit(question=record.full_question, passage=text)
        verdict = self._says(RELEVANCE, unit, record, position)
        return NAN if verdict is None else float(verdict["grade"])

    def _correct(self, record: Record, question: AskedQuestion, asks: bool) -> float:
        if not asks or not question.references:
            return NAN
        unit = AnswerUnit(
            question=record.full_question, answer=record.answer, gold=question.references
        )
        verdict = self._says(ANSWER, unit, record, "answer")
        return NAN if verdict is None else float(verdict["correct"])

    def _cited(self, record: Record) -> Iterator[tuple[float | None, ...]]:
        """The value of each citation; 0 for citations of passages that do not exist."""
        for n, sentence in enumerate(record.sentences, 1):
            worth: list[float | None] = []
            for m, at in enumerate(sentence.citations, 1):
                if at == UNKNOWN:
                    worth.append(0.0)
                    continue
                position = f"sentence {n} citation {m}"
                found = self._support(record, record.passages[at], sentence.text, position)
                worth.append(None if np.isnan(found) else found)
            yield tuple(worth)


def _distinct(claims: Sequence[str]) -> tuple[str, ...]:
    """Claims that are equal but for case and white space count once."""
    return distinct((one.strip() for one in claims if one.strip()), folded_text)
