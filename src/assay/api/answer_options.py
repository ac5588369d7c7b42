"""How topics are answered: the options of ``assay answer``."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Annotated

from assay.api.answer_inputs import YEARS
from assay.model.errors import SettingsError
from assay.model.options import Option
from assay.systems.answer_text import one_line
from assay.systems.answering import DONT_KNOW, AnswerSettings, Confidence

WORDS = 400
SAMPLES = 5
TEMPERATURE = 0.7


class AnswerProtocol(StrEnum):
    """Whose answers."""

    R2C2 = "r2c2"
    TREC_RAG = "trec-rag"


@dataclass(frozen=True, slots=True)
class AnswerOptions:
    """What is answered from, and how, as the options of ``assay answer`` have it. None is the
    default of an option that goes with some others alone."""

    protocol: Annotated[AnswerProtocol, Option("AC run, or AG/RAG run.")] = AnswerProtocol.R2C2
    pr_runs: Annotated[
        Sequence[str],
        Option("PR run with passages: file, folder or quoted pattern; repeatable."),
    ] = ()
    candidates: Annotated[Path | None, Option("trec-rag: ranked lists with texts (JSONL).")] = None
    trec_run: Annotated[Path | None, Option("trec-rag: a TREC run of passage ids of --corpus.")] = (
        None
    )
    corpus: Annotated[Path | None, Option("Corpus that holds --trec-run's passages.")] = None
    confidence: Annotated[
        Confidence,
        Option("What the model says, agreement of samples, or the probability of its yes."),
    ] = Confidence.VERBALISED
    samples: Annotated[int | None, Option(f"Of --confidence sampled ({SAMPLES}).", least=2)] = None
    temperature: Annotated[
        float | None, Option(f"Of --confidence sampled ({TEMPERATURE}).", least=0)
    ] = None
    steps: Annotated[
        bool,
        Option(
            "r2c2: nuggets of one passage at a time, then the answer from these alone, in place of "
            "one prompt."
        ),
    ] = False
    passages: Annotated[int, Option("Passages that the model is shown.", least=1)] = 8
    unknown_below: Annotated[
        int | None, Option("Confidence for an answer at least.", least=0, most=100)
    ] = None
    unknown_text: Annotated[str, Option("What is written below it.")] = DONT_KNOW
    team: Annotated[str, Option("trec-rag: team_id.")] = "assay"
    year: Annotated[str, Option(f"trec-rag: format of {' | '.join(YEARS)}.")] = "2025"
    words: Annotated[
        int | None,
        Option(f"trec-rag: most words of an answer ({WORDS}, or the year's).", least=1),
    ] = None

    @property
    def is_rag(self) -> bool:
        """Whether answers are TREC RAG's."""
        return self.protocol is AnswerProtocol.TREC_RAG

    @property
    def heat(self) -> float:
        """The temperature that the model writes at."""
        if self.confidence is not Confidence.SAMPLED:
            return 0.0
        return TEMPERATURE if self.temperature is None else self.temperature

    def settings(self) -> AnswerSettings:
        """The settings of the system. Raises SettingsError for options that do not go together."""
        sampled = self.confidence is Confidence.SAMPLED
        if sampled and self.temperature == 0:
            raise SettingsError("Samples at temperature 0 are all the same: --temperature 0.7.")
        if self.is_rag and (
            self.confidence is not Confidence.VERBALISED or self.unknown_below is not None
        ):
            raise SettingsError(
                "Answers of trec-rag have no confidence: leave out --confidence and "
                "--unknown-below."
            )
        if self.is_rag and self.steps:
            raise SettingsError("--steps and --compare-prompts are of --protocol r2c2.")
        of_rag = (self.candidates, self.trec_run, self.words)
        if not self.is_rag and any(one is not None for one in of_rag):
            raise SettingsError(
                "--candidates, --trec-run and --words are of --protocol trec-rag; r2c2 takes "
                "--pr-runs."
            )
        if not sampled and (self.samples is not None or self.temperature is not None):
            raise SettingsError("--samples and --temperature are of --confidence sampled.")
        unknown = one_line(self.unknown_text)
        if not unknown or ";" in unknown:
            raise SettingsError("--unknown-text is one line without semicolons.")
        return AnswerSettings(
            self.confidence,
            self.passages,
            self.samples or SAMPLES,
            self.unknown_below,
            unknown,
            self.words or WORDS,
            self.steps,
        )
