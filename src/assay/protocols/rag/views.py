"""What reports of a RAG application show beside the leaderboards."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from assay.measures.claims import cell_of_answer_claim
from assay.model.records import Record
from assay.page.parts import Cited, Item, Marked, MarkedSentence, Part, Table, support_mark
from assay.page.wording import shortened
from assay.protocols.rag.inputs import RagInputs
from assay.protocols.rag.judged import JudgedRecord


def parts(inputs: RagInputs, judged: Mapping[str, Mapping[str, JudgedRecord]]) -> Iterator[Part]:
    """Each question, with what is said about the claims of its answers."""

    def items(question: str) -> Iterator[Item]:
        if references := inputs.questions[question].references:
            rows_of = [(shortened(one, 400),) for one in references]
            yield Table("References", ("reference",), rows_of, texts=frozenset(("reference",)))
        for run in inputs.runs:
            if question in judged[run]:
                yield _marked(inputs.runs[run][question], judged[run][question])

    note = (
        "Each claim is marked with the best support that a passage gives it. Click it for the "
        "passages."
    )
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
    remark = {True: "declined", None: "unknown whether it declines"}.get(judged.declined, "")
    if not record.answer:
        remark = f"no answer: {record.error}" if record.error else "no answer"
    elif not marked:
        marked.append(MarkedSentence(record.answer, "uncited"))
    return Marked(record.run, tuple(marked), note=shortened(remark, 300))
