"""What the report of a RAG application shows beside its leaderboards."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from assay.measures.claims import cell_of_answer_claim
from assay.model.records import Record
from assay.page.page import Definition
from assay.page.parts import Cited, Item, Marked, MarkedSentence, Part, Table, support_mark
from assay.page.wording import shortened
from assay.protocols.rag.inputs import RagInputs
from assay.protocols.rag.judged import JudgedRecord

_OURS = "docs/rag.md"
_Q = "Mean over the questions that can be answered"

DEFINITIONS = (
    Definition(
        "Faithfulness", f"{_Q}: the share of the answer's claims that a passage entails; 0 for an "
        "answer without claims.", _OURS,
    ),
    Definition("Correct", "The share of answers that are right, given the references.",
               "task r2c2.answer"),
    Definition("ClaimPrecision", f"{_Q}: the share of the answer's claims that a reference "
               "entails.", _OURS),
    Definition("ClaimRecall", f"{_Q}: the share of the reference's claims that the answer entails; "
               "of several references the best.", _OURS),
    Definition("ClaimF1", "Their harmonic mean within the question, 0 where either is 0.", _OURS),
    Definition("AnswerRelevance", f"{_Q}: the share of the answer's claims that are related to the "
               "question (grade 1 or more). Never checked against people.",
               "task trec_rag.relevance"),
    Definition("CitationPrecision, CitationRecall", "How far cited passages support the sentences "
               "that cite them, over sentences with citations, and over all; a passage that is not "
               "there supports nothing.", "TREC RAG 2025, section 3.3"),
    Definition("DeclinedWrongly", "The share of questions that can be answered and are declined, "
               "or answered by nothing.", "task r2c2.dialogue_act"),
    Definition("DeclinedRightly", "The share of questions that cannot be answered and are "
               "declined.", "task r2c2.dialogue_act"),
    Definition("DeclinePrecision", "Of the answers that decline, the share on questions that "
               "cannot be answered.", "task r2c2.dialogue_act"),
    Definition("ContextPrecision", f"{_Q}: the share of the passages that are relevant (grade 2 or "
               "3).", "task trec_rag.relevance"),
    Definition("ContextRelevance", f"{_Q}: the mean grade of the passages, divided by 3.",
               "task trec_rag.relevance"),
    Definition("ContextRecall", f"{_Q}: the share of the reference's claims that a passage "
               "entails.", _OURS),
    Definition("ContextPrecision(claims)", f"{_Q}: the share of the passages that entail a claim "
               "of the reference.", _OURS),
    Definition("ContextAP", f"{_Q}: Σ_k P@k·rel_k / Σ rel_k over the passages retrieved; its ideal "
               "is what was retrieved, so one good hit at rank 1 gives 1.", _OURS),
    Definition("GroundedRight", "Right, and a passage entails it.", _OURS),
    Definition("SelfKnowledge", "Right, but no passage entails it.", _OURS),
    Definition("NoiseRelevant", "Wrong, from a passage that entails a claim of the reference.",
               _OURS),
    Definition("NoiseIrrelevant", "Wrong, from other passages alone.", _OURS),
    Definition("Hallucination", "Wrong, and no passage entails it.", _OURS),
    Definition("NoClaim", "The answer says nothing.", _OURS),
    Definition("UsedFound, UsedOwn, FoundUnused, Missed", "Claims of the reference: in the answer "
               "and in a passage; in the answer alone; in a passage alone; in neither.", _OURS),
    Definition("Utilization", "Of all reference claims that were found, the share that is in the "
               "answers: a ratio of totals.", _OURS),
)  # fmt: skip


def parts(inputs: RagInputs, judged: Mapping[str, Mapping[str, JudgedRecord]]) -> Iterator[Part]:
    """Each question with what is said of the claims of its answers."""

    def items(question: str) -> Iterator[Item]:
        if references := inputs.questions[question].references:
            rows_of = [(shortened(one, 400),) for one in references]
            yield Table("References", ("reference",), rows_of, texts=frozenset(("reference",)))
        for run in inputs.runs:
            if question in judged[run]:
                yield _marked(inputs.runs[run][question], judged[run][question])

    note = "A claim is marked by the best support that a passage gives it; it opens on a click."
    texts = {name: shortened(one.question, 100) for name, one in inputs.questions.items()}
    yield Part.by_topic("Question by question", note, texts, items)


def _marked(record: Record, judged: JudgedRecord) -> Marked:
    labels = judged.best()
    marked = []
    for n, claim in enumerate(judged.claims or ()):
        row = judged.e[n].tolist() if len(judged.e) else []
        cited = tuple(
            Cited(one.id, shortened(one.text or "", 1_000), support_mark([worth]))
            for one, worth in zip(record.passages, row, strict=True)
            if worth != 0
        )
        mark = support_mark(row, nothing="none")
        cell = None if labels is None else cell_of_answer_claim(labels, n)
        marked.append(MarkedSentence(f"{claim} ({cell})" if cell else claim, mark, cited))
    said = {True: "declined", None: "open whether it declines"}.get(judged.declined, "")
    if not record.answer:
        said = f"no answer: {record.error}" if record.error else "no answer"
    elif not marked:
        marked.append(MarkedSentence(record.answer, "uncited"))
    return Marked(record.run, tuple(marked), note=shortened(said, 300))
