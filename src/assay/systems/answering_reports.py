"""Writing TREC RAG answers from passages, sentence by sentence."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from assay.labellers.base import Request
from assay.model.trec_rag import RagAnswer, Sentence, words
from assay.systems.answer_text import one_line
from assay.systems.answering import AnswerProblems, AnswerSettings, PassageSource
from assay.systems.asking import Asker, usable
from assay.tasks.answering import REPORT, ReportUnit


def report_requests(
    topics: Mapping[str, str],
    sources: Mapping[str, Sequence[PassageSource]],
    settings: AnswerSettings,
) -> list[Request]:
    """The requests of :func:`answer_trec_rag`, one for each topic."""
    return [
        Request(
            REPORT,
            ReportUnit(
                narrative=text,
                passages=tuple(source.text for source in sources[topic][: settings.passages]),
                words=settings.words,
            ),
            topic=topic,
        )
        for topic, text in topics.items()
    ]


def answer_trec_rag(
    topics: Mapping[str, str],
    sources: Mapping[str, Sequence[PassageSource]],
    settings: AnswerSettings,
    writer: Asker,
    *,
    run: str,
    team: str,
    most_citations: int | None = None,
    most_references: int | None = None,
) -> tuple[list[RagAnswer], AnswerProblems]:
    """Answers to ``topics``, sentence by sentence, from ``sources``.

    Sentences beyond the word limit are dropped from the end, as are citations of passages that were
    not shown; both are recorded in ``AnswerProblems``. Sentences without citations stay, and
    evaluations count them. References are the documents in passage order, the prompt is the model's
    instruction.
    """
    made = AnswerProblems(bare=[topic for topic in topics if not sources[topic]])
    requests = report_requests(topics, sources, settings)
    answers = []
    labels = writer.ask("Answers", requests)
    for (topic, text), request, label in zip(topics.items(), requests, labels, strict=True):
        verdict = usable(label)
        if verdict is None:
            made.without(topic, label)
            if label is not None:
                made.drop_reply(topic, label)
            continue
        shown = sources[topic][: settings.passages]
        most = (most_citations, most_references)
        sentences = _sentences(topic, verdict, shown, settings, most, made)
        if not sentences:
            made.failed.append(topic)
            continue
        cited = {doc for sentence in sentences for doc in sentence.citations}
        references = tuple(dict.fromkeys(s.doc for s in shown if s.doc in cited))
        prompt = next((one["content"] for one in writer.labeller.preview(request)), None)
        answers.append(
            RagAnswer(
                run,
                topic,
                tuple(sentences),
                references,
                text,
                team,
                kind="automatic",
                prompt=prompt,
            )
        )
    return answers, made


def _sentences(
    topic: str,
    verdict: Mapping[str, Any],
    shown: Sequence[PassageSource],
    settings: AnswerSettings,
    most: tuple[int | None, int | None],
    made: AnswerProblems,
) -> list[Sentence]:
    """The usable sentences. ``most`` is the limit of citations per sentence and of documents cited
    in total."""
    most_citations, most_references = most
    cited: set[str] = set()
    written: list[Sentence] = []
    left = settings.words
    full = False
    made.drop_odd(topic, "sentence", verdict.get("odd") or ())
    for item in verdict["sentences"]:
        text = one_line(str(item["text"]))
        full = full or words(text) > left
        if full or not text:
            given = {"text": item["text"], "citations": item.get("citations") or []}
            why = f"over {settings.words} words" if full else "the sentence is empty"
            made.drop(topic, "sentence", given, why)
            continue
        left -= words(text)
        docs: list[str] = []
        made.drop_odd(topic, "citation", item.get("odd") or ())
        for number in item.get("citations") or ():
            if not 1 <= int(number) <= len(shown):
                made.drop(topic, "citation", number, f"there is no passage {number}")
            elif shown[int(number) - 1].doc in docs:
                continue
            elif most_citations is not None and len(docs) == most_citations:
                made.drop(topic, "citation", number, f"more than {most_citations} citations")
            elif len(cited | {shown[int(number) - 1].doc}) > (most_references or len(shown)):
                made.drop(topic, "citation", number, f"more than {most_references} documents")
            else:
                docs.append(shown[int(number) - 1].doc)
                cited.add(docs[-1])
        written.append(Sentence(text, tuple(docs)))
    return written
