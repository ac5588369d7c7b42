"""What the inputs of an evaluation leave open."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

from assay.model.trec_rag import RagNugget
from assay.protocols.trec_rag.inputs import TrecRagInputs, TrecRagSettings
from assay.tasks.relevance import WAYS


@dataclass(frozen=True)
class Needs:
    """Which kinds of labels the scores need beside what was given."""

    inputs: TrecRagInputs
    settings: TrecRagSettings

    @property
    def ways(self) -> tuple[str, ...]:
        """The ways in which relevance is asked for: none where no run retrieves anything."""
        return self.settings.ways if any(self.inputs.ranks.values()) else ()

    @property
    def bank(self) -> bool:
        """Whether nuggets are of use: where there are answers, or where they are wanted anyway."""
        return self.settings.nuggets == "always" or bool(self.inputs.answers)

    @cached_property
    def nuggets(self) -> bool:
        """Whether nuggets are to be made for some topic."""
        inputs = self.inputs
        open_ones = any(topic not in inputs.nuggets for topic in inputs.topics)
        return bool(self.settings.nuggets) and self.bank and open_ones

    def _given(self) -> Iterator[RagNugget]:
        for topic in self.inputs.topics:
            if topic in self.inputs.nuggets:
                yield from self.inputs.nuggets[topic].nuggets

    @cached_property
    def importance(self) -> bool:
        """Whether some nugget has no importance yet, or is still to be made."""
        return self.bank and (self.nuggets or any(one.importance is None for one in self._given()))

    @cached_property
    def mapping(self) -> bool:
        """Whether some nugget is to be mapped to a sub-narrative."""
        unmapped = self.nuggets or any(one.sub_narrative is None for one in self._given())
        return self.settings.mapping and self.bank and unmapped

    @property
    def aspects(self) -> bool:
        """Whether sub-narratives are needed."""
        return self.mapping or any(WAYS[way].by_aspects for way in self.ways)
