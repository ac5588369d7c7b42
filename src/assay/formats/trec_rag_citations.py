"""Reading of the citations of a sentence, in any of their forms, as document ids."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from assay.formats.parsed import Spot
from assay.formats.trec_rag_rules import CitationForm, Rules
from assay.model.wording import joined, quoted

# Looking up an enumeration member takes as long as all other work on a citation.
_POSITION, _ID = CitationForm.POSITION, CitationForm.ID


@dataclass(frozen=True, slots=True)
class Sources:
    """What the sentences of an answer may cite, and how to report their faults.

    ``references`` is None if the record has none; ``limit`` reports what is over a limit of the
    year. ``ways`` collects the forms in which citations are written.
    """

    references: Sequence[str] | None
    known: frozenset[str]
    rules: Rules
    at: Spot
    limit: Callable[[str, str], None]
    ways: set[CitationForm] = field(default_factory=set)

    def check_ways(self) -> None:
        """Report citations in a form that the year does not know, or in two forms."""
        allowed = self.rules.by
        if allowed is None:
            return
        odd = sorted(self.ways - allowed)
        if odd:
            taken = " or ".join(sorted(allowed, reverse=True))
            self.limit(
                f"Citations are {joined(odd)}; {self.rules.year} takes {taken}.",
                "Write positions in 'references', from 0 (--fix does).",
            )
        elif len(self.ways) > 1:
            why = f"Some citations are {' and others '.join(sorted(self.ways, reverse=True))}."
            if self.rules.mixed:
                cure = f"{self.rules.year} allows both; some tools read one way only."
                self.at.warning(why, cure)
            else:
                cure = "Write all in one way (--fix writes positions)."
                self.limit(why, cure)

    def citations(self, place: int, given: object) -> tuple[str, ...]:
        """The documents that sentence ``place`` cites, strongest first, without duplicates."""
        if isinstance(given, list):
            docs = self._listed(place, given)
        elif isinstance(given, dict):
            docs = self._scored(place, given)
        else:
            why = "has no citations" if given is None else "has citations that are not a list"
            self.at.error(f"Sentence {place} {why}.", "Write a list, [] for none.")
            return ()
        if len(docs) > 1 and len(set(docs)) < len(docs):
            why, cure = f"Sentence {place} cites a document twice.", "The first is read."
            self.at.warning(why, cure)
            docs = list(dict.fromkeys(docs))
        most = self.rules.max_citations
        if most is not None and len(given) > most:
            why = f"Sentence {place} has {len(given)} citations; {self.rules.year} asks for {most}."
            cure = f"The track judges the first {most} alone (--fix keeps these)."
            self.at.warning(why, cure)
        return tuple(docs)

    def _listed(self, place: int, given: list[Any]) -> list[str]:
        references, known, ways = self.references, self.known, self.ways
        count = len(references or ())
        docs: list[str] = []
        for one in given:
            if type(one) is int and references is not None and 0 <= one < count:
                docs.append(references[one])
                ways.add(_POSITION)
            elif isinstance(one, str) and (one in known or (references is None and one)):
                docs.append(one)
                ways.add(_ID)
            else:
                self._bad(place, one)
        return docs

    def _scored(self, place: int, given: Mapping[str, Any]) -> list[str]:
        """The documents of ``{document id: score}``, highest score first."""
        self.ways.update({CitationForm.SCORE} if given else ())
        scored = {
            doc: score
            for doc, score in given.items()
            if isinstance(score, (int, float)) and not isinstance(score, bool)
        }
        if len(scored) < len(given):
            odd = joined((quoted(doc) for doc in given if doc not in scored), 3)
            why = f"Sentence {place} gives {odd} no number for a score."
            self.at.error(why, "Write {document id: score}.")
        docs = []
        for doc in scored:
            if self.references is None or doc in self.known:
                docs.append(doc)
            else:
                self._bad(place, doc)
        return sorted(docs, key=lambda doc: -scored[doc])

    def _bad(self, place: int, one: object) -> None:
        count = len(self.references or ())
        if type(one) is int:
            why = f"cites reference {one}, but there are {count}"
            cure = "Positions count from 0." if one == count else "Cite one that is listed."
        elif isinstance(one, str):
            why = f"cites {quoted(one)}, which is not in 'references'"
            cure = "Add it there."
            if one.strip().isdecimal() and int(one) < count:
                cure = f"If the position is meant, write {int(one)} without quotes (--fix does)."
        else:
            why = f"has the citation {quoted(str(one))}"
            cure = "Write a position in 'references' or a document id."
        self.at.error(f"Sentence {place} {why}.", cure)
