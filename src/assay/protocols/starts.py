"""What ``assay init`` writes: for each of Assay's protocols its inputs, and a small example of each
file, to be replaced by one's own."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True)
class Start:
    """``inputs`` are the lines of ``[inputs]``, ``files`` texts by their places, ``settings`` lines
    of ``[settings]`` that the example needs with the embedded judge."""

    inputs: str
    files: Mapping[str, str] = field(default_factory=dict)
    settings: str = ""


def _lines(*rows: object) -> str:
    return "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)


_QUESTION = "When was the harbour bridge opened?"
_PASSAGE = "The harbour bridge was opened in March 1932. It is 503 metres long."
_CLAIM = "The harbour bridge was opened in March 1932."

STARTS: Mapping[str, Start] = {
    "rag": Start(
        'answers = ["runs/*.jsonl"]            # a run each: {id, question, answer, passages, …}\n'
        'questions = "questions.jsonl"         # {id, question, references, answerable, category}\n'
        '# passages = "passages.jsonl"         # texts by id\n',
        {
            "questions.jsonl": _lines(
                {"id": "q1", "question": _QUESTION, "references": [_CLAIM]},
                {"id": "q2", "question": "Who is the mayor of Oslo?", "answerable": False},
            ),
            "runs/main.jsonl": _lines(
                {"id": "q1", "question": _QUESTION, "answer": f"{_CLAIM[:-1]} [1].",
                 "passages": [{"id": "p1", "text": _PASSAGE}]},
                {"id": "q2", "question": "Who is the mayor of Oslo?", "answer": "I don't know.",
                 "passages": []},
            ),
        },
    ),
    "r2c2": Start(
        'questions = "questions.tsv"           # id, text, category, answers: tabs, | between\n'
        'pr_runs = ["pr/*.txt"]                # QuestionID;Rank;Document;Passage\n'
        'ac_runs = ["ac/*.txt"]                # <id>, answer;confidence, nuggets, </id>\n',
        {
            "questions.tsv": f"0001\t{_QUESTION}\tSimple\t1932|March 1932\n",
            "pr/MINE-PR.txt": f"0001;1;bridge;{_PASSAGE}\n",
            "ac/MINE-AC.txt": f"<0001>\nMarch 1932;90\n1;MINE-PR;1;{_CLAIM}\n</0001>\n",
        },
    ),
    "trec-rag": Start(
        'narratives = "narratives.jsonl"       # {id, title}\n'
        'rag_runs = ["rag/*.jsonl"]            # answers, sentence by sentence, with citations\n'
        'r_runs = ["r/*.txt"]                  # TREC runs\n'
        'segments = ["segments.jsonl"]         # {docid, segment}\n'
        '# qrels = "qrels.txt"                 # labels that were given\n',
        {
            "narratives.jsonl": _lines({"id": "1", "title": _QUESTION}),
            "segments.jsonl": _lines({"docid": "d1", "title": "", "segment": _PASSAGE}),
            "r/mine-r.txt": "1 Q0 d1 1 1.0 mine-r\n",
            "rag/mine.jsonl": _lines(
                {"metadata": {"team_id": "me", "run_id": "mine", "narrative_id": "1",
                              "narrative": _QUESTION, "type": "automatic"},
                 "references": ["d1"], "answer": [{"text": _CLAIM, "citations": [0]}]},
            ),
        },
        'relevance = "0-3"    # the embedded judge can do this; "counted" asks a language model\n'
        "nuggets = false      # a language model makes nuggets: true\n"
        "mapping = false\n",
    ),
    "exam": Start(
        'bank = "bank.jsonl"                   # exam questions of each query\n'
        'runs = ["runs/*.txt"]                 # TREC runs\n'
        'passages = "passages.jsonl"           # {id, text}\n',
        {
            "bank.jsonl": _lines(
                {"query_id": "1", "query_text": "the harbour bridge",
                 "items": [{"question_id": "1/a", "question_text": _QUESTION,
                            "gold_answers": ["1932"]}]},
            ),
            "runs/mine.txt": "1 Q0 d1 1 1.0 mine\n",
            "passages.jsonl": _lines({"id": "d1", "text": _PASSAGE}),
        },
    ),
    "battles": Start(
        'answers = ["runs/*.jsonl"]            # as rag reads; or rag_runs, ac_runs, summaries\n',
        {
            f"runs/{run}.jsonl": _lines(
                {"id": "q1", "question": _QUESTION, "answer": answer, "passages": []},
            )
            for run, answer in (("mine", _CLAIM), ("other", "In 1932."))
        },
    ),
    "sgss": Start(
        'summaries = ["summaries/*.jsonl"]     # overview, sections, documents\n'
        '# preferences = "preferences.csv"     # query_id,left,right,labeller,preference\n',
        {
            f"summaries/{run}.jsonl": _lines(
                {"query_id": "1", "query": _QUESTION, "summariser": run,
                 "overview": {"text": _CLAIM, "citations": [1]},
                 "sections": [{"heading": heading,
                               "statements": [{"text": _CLAIM, "citations": [1]}]}],
                 "doclist": [{"number": 1, "url": "https://example.org/bridge", "title": "Bridge",
                              "text": _PASSAGE}]},
            )
            for run, heading in (("mine", "Opening"), ("other", "The bridge"))
        },
    ),
}  # fmt: skip
