"""Import of answers from traces and data sets, in the shapes that tools write."""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from assay.api.importing import READERS, Choices, ImportDone, import_files
from assay.formats.imports.finishing import finished
from assay.formats.records import read_records, record_of
from assay.model.errors import AssayError, FormatError, SettingsError
from tests.conftest import Assay

OPENINFERENCE = [
    {
        "name": "ask",
        "context": {"trace_id": "t1", "span_id": "s1"},
        "parent_id": None,
        "attributes": {
            "openinference.span.kind": "CHAIN",
            "input.value": "When was it opened?",
            "output.value": "In 1932.",
            "session.id": "u1",
        },
    },
    {
        "name": "find",
        "context": {"trace_id": "t1", "span_id": "s2"},
        "parent_id": "s1",
        "attributes": {
            "openinference.span.kind": "RETRIEVER",
            "input.value": "bridge opened",
            "retrieval.documents.0.document.id": "b-3",
            "retrieval.documents.0.document.content": "The bridge opened in March 1932.",
            "retrieval.documents.0.document.score": 8.1,
        },
    },
]
GENAI = [
    {
        "traceId": "t1",
        "name": "retrieval kb",
        "attributes": {
            "gen_ai.operation.name": "retrieval",
            "gen_ai.retrieval.query.text": "bridge opened",
            "gen_ai.retrieval.documents": '[{"id": "b-3", "score": 0.9}]',
        },
    },
    {
        "traceId": "t1",
        "name": "chat m",
        "attributes": {
            "gen_ai.operation.name": "chat",
            "gen_ai.conversation.id": "u1",
            "gen_ai.input.messages": [
                {"role": "user", "parts": [{"type": "text", "content": "When was it opened?"}]}
            ],
            "gen_ai.output.messages": [
                {
                    "role": "assistant",
                    "parts": [{"type": "text", "content": "In 1932."}],
                    "finish_reason": "stop",
                }
            ],
        },
    },
]
LANGFUSE = [
    {
        "id": "o1",
        "trace_id": "t1",
        "type": "SPAN",
        "parent_observation_id": "",
        "start_time": "2026-01-05 10:00:00.000000",
        "name": "ask",
        "input": '{"query": "When was it opened?"}',
        "output": '"In 1932."',
        "release": "r2",
        "user_id": "kim",
    },
    {
        "id": "o2",
        "trace_id": "t1",
        "type": "RETRIEVER",
        "parent_observation_id": "o1",
        "start_time": "2026-01-05 10:00:00.100000",
        "name": "find",
        "input": "bridge opened",
        "output": '[{"page_content": "The bridge opened in March 1932.", '
        '"metadata": {"id": "b-3"}}]',
        "session_id": "u1",
        "environment": "production",
    },
]
RAGAS = [
    {
        "user_input": "When?",
        "retrieved_contexts": ["The bridge …x"],
        "retrieved_context_ids": ["b-3"],
        "response": "In 1932.",
        "reference": "1932",
        "reference_context_ids": ["b-3"],
        "faithfulness": 0.5,
        "context_recall": float("nan"),
    }
]
DEEPEVAL = [
    {
        "input": "When?",
        "actual_output": "In 1932.",
        "expected_output": "1932",
        "retrieval_context": [
            "The bridge.",
            "deepeval_source=b-3,deepeval_context=The bridge opened.",
        ],
        "context": None,
        "name": None,
        "additional_metadata": {"id": "q7"},
    }
]
BRIDGE = {"id": "b-3", "text": "The bridge opened in March 1932."}


def run(tmp_path: Path, kind: str, rows: Any, name: str = "in.jsonl", **choices: Any) -> list[Any]:
    return done(tmp_path, kind, rows, name, **choices)[1]


def done(
    tmp_path: Path, kind: str, rows: Any, name: str = "in.jsonl", **choices: Any
) -> tuple[ImportDone, list[Any]]:
    path, out = tmp_path / name, tmp_path / "out.jsonl"
    if name.endswith(".jsonl"):
        path.write_text("".join(json.dumps(one) + "\n" for one in rows))
    elif name.endswith(".parquet"):
        pl.DataFrame(rows).write_parquet(path)
    elif name.endswith(".csv"):
        pl.DataFrame(rows).write_csv(path)
    else:
        path.write_text(json.dumps(rows))
    files = {key: choices.pop(key) for key in ("passages", "redact") if key in choices}
    found = import_files(kind, [path], out, Choices(**choices), **files)
    first = out.read_bytes()
    import_files(kind, [path], out, Choices(**choices), **files)
    assert out.read_bytes() == first  # the same bytes for the same input
    if found.records:
        read_records(out).require()  # records are records of the protocol
    return found, [json.loads(line) for line in first.splitlines()]


# -- traces ---------------------------------------------------------------------------------------


def otlp(spans: Sequence[Any]) -> Any:
    """Plain spans in the shape of OTLP JSON."""

    def value(one: Any) -> Any:
        if isinstance(one, list):
            return {"arrayValue": {"values": [value(each) for each in one]}}
        if isinstance(one, dict):
            return {
                "kvlistValue": {"values": [{"key": k, "value": value(v)} for k, v in one.items()]}
            }
        return {"doubleValue": one} if isinstance(one, float) else {"stringValue": one}

    rows = [
        {"traceId": one["context"]["trace_id"], "spanId": one["context"]["span_id"],
         "parentSpanId": one["parent_id"] or "", "name": one["name"],
         "attributes": [{"key": k, "value": value(v)} for k, v in one["attributes"].items()]}
        for one in spans
    ]  # fmt: skip
    return {"resourceSpans": [{"scopeSpans": [{"spans": rows}]}]}


def test_openinference_in_its_three_shapes(tmp_path: Path):
    wanted = {
        "id": "t1", "question": "When was it opened?", "answer": "In 1932.", "session": "u1",
        "passages": [{**BRIDGE, "score": 8.1}], "retrieval_query": "bridge opened",
    }  # fmt: skip
    assert run(tmp_path, "otel", OPENINFERENCE) == [wanted]
    assert run(tmp_path, "otel", otlp(OPENINFERENCE), "in.json") == [wanted]
    frame = [
        {"context.trace_id": "t1", "context.span_id": s["context"]["span_id"],
         "parent_id": s["parent_id"], "name": s["name"],
         **{f"attributes.{k}": v for k, v in s["attributes"].items() if "documents" not in k},
         "attributes.retrieval.documents": None}
        for s in OPENINFERENCE
    ]  # fmt: skip
    frame[1]["attributes.retrieval.documents"] = [
        {"document.id": "b-3", "document.content": BRIDGE["text"], "document.score": 8.1}
    ]
    assert run(tmp_path, "otel", frame, "in.parquet") == [wanted]


def test_genai_messages_with_documents_that_have_no_text(tmp_path: Path):
    found, (row,) = done(tmp_path, "otel", GENAI)
    assert (row["question"], row["answer"]) == ("When was it opened?", "In 1932.")
    assert row["passages"] == [{"id": "b-3", "text": None, "score": 0.9}]
    assert found.counts["passages without text"] == 1
    texts = tmp_path / "texts.jsonl"
    texts.write_text(json.dumps(BRIDGE) + "\n")
    (row,) = run(tmp_path, "otel", GENAI, passages=texts)
    assert row["passages"][0]["text"] == BRIDGE["text"]


def test_older_genai_events_and_instrumentations(tmp_path: Path):
    events = [
        {"name": "gen_ai.user.message", "attributes": {"content": "When?"}},
        {"name": "gen_ai.choice", "attributes": {"message": '{"content": "Then."}'}},
    ]
    chat = {"trace_id": "t", "name": "chat", "attributes": {"gen_ai.operation.name": "chat"}}
    (row,) = run(tmp_path, "otel", [{**chat, "events": events}])
    assert (row["question"], row["answer"], row["passages"]) == ("When?", "Then.", [])
    old = {"gen_ai.prompt.0.content": "When?", "gen_ai.prompt.0.role": "user",
           "gen_ai.completion.0.content": "Then.", "gen_ai.operation.name": "chat"}  # fmt: skip
    query = {"trace_id": "t", "name": "q", "attributes": {"gen_ai.operation.name": "retrieval"},
             "events": [{"name": "db.query.result", "attributes": {
                 "db.query.result.id": "7", "db.query.result.document": "Text.",
                 "db.query.result.score": 0.5}}]}  # fmt: skip
    (row,) = run(tmp_path, "otel", [query, {**chat, "attributes": old}])
    assert row["answer"] == "Then."
    assert row["passages"] == [{"id": "7", "text": "Text.", "score": 0.5}]


def test_a_retrieving_tool_is_named(tmp_path: Path):
    said = [
        {"role": "user", "parts": [{"type": "text", "content": "When?"}]},
        {"role": "assistant", "parts": [{"type": "tool_call", "id": "c1", "name": "search"}]},
        {"role": "tool", "parts": [{"type": "tool_call_response", "id": "c1",
                                    "response": [{"id": "b-3", "text": "Then."}]}]},
    ]  # fmt: skip
    out = {"role": "assistant", "parts": [{"type": "text", "content": "Then"}]}
    chat = {
        "gen_ai.operation.name": "chat",
        "gen_ai.input.messages": said,
        "gen_ai.output.messages": [{**out, "finish_reason": "length"}],
    }
    spans = [{"trace_id": "t", "name": "chat", "attributes": chat}]
    (row,) = run(tmp_path, "otel", spans)
    assert (row["passages"], row["truncated"]) == ([], True)
    (row,) = run(tmp_path, "otel", spans, tool="search")
    assert row["passages"] == [{"id": "b-3", "text": "Then."}]


def retriever(
    span: str, start: int, texts: Sequence[str], kind: str = "RETRIEVER"
) -> dict[str, Any]:
    prefix = "reranker.output_documents" if kind == "RERANKER" else "retrieval.documents"
    attributes: dict[str, Any] = {"openinference.span.kind": kind}
    for n, text in enumerate(texts):
        attributes[f"{prefix}.{n}.document.content"] = text
        attributes[f"{prefix}.{n}.document.score"] = 1.0
    return {"name": span, "context": {"trace_id": "t", "span_id": span}, "parent_id": "root",
            "start_time": f"2026-01-01T00:00:0{start}", "end_time": f"2026-01-01T00:00:0{start}",
            "attributes": attributes}  # fmt: skip


def test_of_several_retrievers_those_before_the_answer_count(tmp_path: Path):
    root = {"name": "root", "context": {"trace_id": "t", "span_id": "root"}, "parent_id": None,
            "start_time": "2026-01-01T00:00:00",
            "attributes": {"input.value": "q", "output.value": "a"}}  # fmt: skip
    model = {"name": "llm", "context": {"trace_id": "t", "span_id": "m"}, "parent_id": "root",
             "start_time": "2026-01-01T00:00:05",
             "attributes": {"openinference.span.kind": "LLM"}}  # fmt: skip
    one, two = retriever("A", 1, ["x", "y"]), retriever("B", 2, ["y", "z"])
    late = retriever("C", 6, ["late"])
    found, (row,) = done(tmp_path, "otel", [root, late, two, one, model])
    assert [p["text"] for p in row["passages"]] == ["x", "y", "z"]
    assert row["ranked"] is False
    assert not any("score" in p for p in row["passages"])
    assert found.counts["traces with several retrievers"] == 1
    ranked = retriever("R", 3, ["z", "x"], "RERANKER")
    (row,) = run(tmp_path, "otel", [root, two, one, ranked, model])
    assert [p["text"] for p in row["passages"]] == ["z", "x"]
    assert "ranked" not in row
    for way, texts in (("first", ["x", "y"]), ("last", ["late"]), ("B", ["y", "z"])):
        (row,) = run(tmp_path, "otel", [root, late, two, one, model], retrievers=way)
        assert [p["text"] for p in row["passages"]] == texts


def test_turns_of_a_session_have_their_history(tmp_path: Path):
    spans = [
        {"trace_id": f"t{n}", "name": "ask", "start_time": f"2026-01-0{3 - n}",
         "attributes": {"input.value": f"q{n}", "output.value": f"a{n}", "session.id": "s",
                        "metadata": "{\"lang\": \"en\"}", "user.id": "kim"}}
        for n in (1, 2)
    ]  # fmt: skip
    first, second = run(tmp_path, "otel", spans)
    assert (first["id"], first["question"], second["id"]) == ("s/1", "q2", "s/2")
    assert second["history"] == [
        {"role": "user", "text": "q2"}, {"role": "assistant", "text": "a2"}
    ]  # fmt: skip
    assert first["metadata"] == {"lang": "en"}
    (last,) = run(tmp_path, "otel", spans, turns="last", keep_users=True)
    assert (last["id"], last["metadata"]["user_id"]) == ("s/2", "kim")


def test_json_in_the_root_and_redacted_texts(tmp_path: Path):
    values = {"input.value": json.dumps({"messages": [{"role": "user", "content": "When?"}]}),
              "output.value": json.dumps({"data": {"said": "Then."}})}  # fmt: skip
    found = retriever("A", 1, ["__REDACTED__"])
    found["attributes"]["retrieval.documents.0.document.id"] = "b"
    root = {"name": "root", "context": {"trace_id": "t", "span_id": "root"}, "attributes": values}
    (row,) = run(tmp_path, "otel", [root, found], answer_path="/data/said")
    assert (row["question"], row["answer"]) == ("When?", "Then.")
    assert row["passages"][0]["text"] is None
    rules = tmp_path / "rules"
    rules.write_text("W\\w+\nThen\\.\n")
    outcome, (row,) = done(tmp_path, "otel", [root, found], answer_path="/data/said", redact=rules)
    assert (row["question"], row["answer"]) == ("[redacted]?", "[redacted]")
    assert outcome.counts["texts redacted"] == 2


def test_all_text_is_redacted(tmp_path: Path):
    rules = tmp_path / "rules"
    rules.write_text("Kim")
    turns = [{"type": "human", "content": "I am Kim"}, {"type": "ai", "content": "Hello Kim"},
             {"type": "human", "content": "When?"}]  # fmt: skip
    rows = [{"user_input": turns, "response": "Kim", "reference": "Kim", "retrieved_contexts":
             ["By Kim", "Kim"]}]  # fmt: skip
    (row,) = run(tmp_path, "ragas", rows, redact=rules)
    assert "Kim" not in json.dumps(row)
    assert [one["text"] for one in row["passages"]] == ["By [redacted]", None]
    turns = [{"trace_id": f"t{n}", "name": "ask", "attributes": {
        "input.value": f"Kim {n}", "output.value": "Yes, Kim.", "session.id": "s",
        "metadata": '{"author": "Kim"}'}} for n in (1, 2)]  # fmt: skip
    assert "Kim" not in json.dumps(run(tmp_path, "otel", turns, redact=rules))


def test_order_is_by_time_not_by_text(tmp_path: Path):
    times = ("2026-01-05T10:00:00Z", "2026-01-05T10:00:00.500Z", "2026-01-05T12:00:01+02:00")
    spans = [
        {"trace_id": f"t{n}", "name": "ask", "start_time": times[n], "attributes": {
            "input.value": f"q{n}", "output.value": "a", "session.id": "s"}}
        for n in (2, 1, 0)
    ]  # fmt: skip
    assert [one["question"] for one in run(tmp_path, "otel", spans)] == ["q0", "q1", "q2"]


def test_langfuse_in_its_shapes(tmp_path: Path):
    (row,) = run(tmp_path, "langfuse", LANGFUSE)
    assert row == {
        "id": "t1", "question": "When was it opened?", "answer": "In 1932.", "passages": [BRIDGE],
        "session": "u1", "retrieval_query": "bridge opened", "metadata": {"release": "r2"},
    }  # fmt: skip
    assert run(tmp_path, "langfuse", LANGFUSE, "in.csv") == [row]
    camel = [{"id": "o2", "traceId": "t1", "type": "RETRIEVER", "parentObservationId": None,
              "startTime": "2", "output": {"documents": [BRIDGE]}}]  # fmt: skip
    trace = {"id": "t1", "timestamp": "1", "input": {"question": "When?"}, "output": "Then.",
             "tags": ["a", "b"], "userId": "kim", "observations": camel}  # fmt: skip
    (row,) = run(tmp_path, "langfuse", trace, "in.json", keep_users=True)
    assert (row["question"], row["answer"], row["passages"]) == ("When?", "Then.", [BRIDGE])
    assert row["metadata"] == {"tags": "a, b", "user_id": "kim"}
    page = {"data": [trace], "meta": {"page": 1}}
    assert run(tmp_path, "langfuse", page, "in.json", keep_users=True) == [row]
    span = [{**LANGFUSE[0]}, {**LANGFUSE[1], "type": "SPAN"}]
    (row,) = run(tmp_path, "langfuse", span)
    assert row["passages"] == []
    assert run(tmp_path, "langfuse", span, retriever="find")[0]["passages"] == [BRIDGE]
    with pytest.raises(SettingsError, match="fields=core,basic,io"):
        run(tmp_path, "langfuse", [{"id": "o", "trace_id": "t", "type": "SPAN"}])


def test_errors_retries_and_ids(tmp_path: Path):
    rows = [
        {"id": f"o{n}", "trace_id": f"t{n}", "type": "SPAN", "parent_observation_id": "",
         "start_time": str(n), "input": "q", "output": out, "level": level,
         "metadata": {"case": "q7"}}
        for n, out, level in ((1, None, "ERROR"), (2, "a", "DEFAULT"))
    ]  # fmt: skip
    first, _ = run(tmp_path, "langfuse", rows)
    assert (first["id"], first["answer"], first["error"]) == ("t1", "", "error")
    found, (row,) = done(tmp_path, "langfuse", rows, id_from="case")
    assert (row["id"], row["answer"]) == ("q7", "a")
    assert found.counts["retried (the last in time is kept)"] == 1
    found, _ = done(tmp_path, "langfuse", [*rows, {**rows[1], "id": "o3", "trace_id": "t3",
                                                    "metadata": {}}], id_from="case")  # fmt: skip
    assert found.dropped == {"no case in its metadata": 1}


def test_cut_texts_are_marked(tmp_path: Path):
    cut = ["y" * 120, "z" * 120, "x" * 120]
    root = {"name": "root", "context": {"trace_id": "t", "span_id": "root"},
            "attributes": {"input.value": "q", "output.value": "It was…"}}  # fmt: skip
    spans = [root, retriever("A", 1, [*cut, "Whole."])]
    found, (row,) = done(tmp_path, "otel", spans)
    assert row["truncated"] is True
    assert [p.get("truncated", False) for p in row["passages"]] == [True, True, True, False]
    assert found.counts["passages cut"] == 3
    (row,) = run(tmp_path, "otel", spans, not_truncated=True)
    assert "truncated" not in row
    chunks = [{"user_input": "q", "response": "a.", "retrieved_contexts": cut}]
    assert not done(tmp_path, "ragas", chunks)[0].counts["passages cut"]  # chunks of one size


# -- data sets ------------------------------------------------------------------------------------


def test_ragas_of_both_versions(tmp_path: Path):
    (row,) = run(tmp_path, "ragas", RAGAS)
    assert row["passages"] == [{"id": "b-3", "text": "The bridge …x"}]
    assert (row["references"], row["reference_passages"]) == (["1932"], ["b-3"])
    assert row["metadata"] == {"score.faithfulness": 0.5}
    v1 = [{"question": "When?", "contexts": ["c"], "answer": "a", "ground_truths": ["x", "y"]}]
    (old,) = run(tmp_path, "ragas", v1, "in.json")
    assert (old["id"], old["references"]) == (row["id"], ["x", "y"])
    turns = [{"type": "human", "content": "Hi"}, {"type": "ai", "content": "Hello"},
             {"type": "human", "content": "When?"}, {"type": "ai", "content": "Then."}]  # fmt: skip
    other = {"user_input": [{"type": "human", "content": "Ho"}, *turns[1:]]}
    assert len(run(tmp_path, "ragas", [{"user_input": turns}, other])) == 2
    holes = {"user_input": "q", "response": "a", "retrieved_contexts": ["", "c"],
             "retrieved_context_ids": ["x", "y"]}  # fmt: skip
    assert run(tmp_path, "ragas", [holes])[0]["passages"] == [{"id": "y", "text": "c"}]
    (row,) = run(tmp_path, "ragas", [{"user_input": turns}])
    assert (row["question"], row["answer"], len(row["history"])) == ("When?", "Then.", 2)


def test_lists_in_csv_files_are_parsed_or_refused(tmp_path: Path):
    contexts = ["It's one.", 'Two, "too".\n']
    table = [{"user_input": "When?", "response": "a", "retrieved_contexts": repr(contexts)}]
    (row,) = run(tmp_path, "ragas", table, "in.csv")
    assert [p["text"] for p in row["passages"]] == contexts
    for cell in ("['one' 'two']", "[Document(page_content='one')]"):  # of numpy and LangChain
        table[0]["retrieved_contexts"] = cell
        with pytest.raises(SettingsError, match="cannot be split"):
            run(tmp_path, "ragas", table, "in.csv")


def test_all_forms_of_a_table_give_the_same_rows(tmp_path: Path):
    table = {"user_input": ["When?", "Why?"], "response": ["a", "b"],
             "retrieved_contexts": [["c"], ["c", "d"]], "faithfulness": [0.5, 1.0],
             "harmfulness": [0, 1], "query_style": ["WEB", "WEB"]}  # fmt: skip
    rows = [dict(zip(table, row, strict=True)) for row in zip(*table.values(), strict=True)]
    by_lines = run(tmp_path, "ragas", rows)
    assert by_lines[1]["metadata"] == {
        "score.faithfulness": 1.0, "score.harmfulness": 1, "query_style": "WEB"
    }  # fmt: skip
    assert run(tmp_path, "ragas", table, "in.json") == by_lines
    pandas = {name: {str(n): one for n, one in enumerate(of)} for name, of in table.items()}
    assert run(tmp_path, "ragas", pandas, "in.json") == by_lines
    cells = [{"": str(n), **{k: v if isinstance(v, str) else repr(v) for k, v in row.items()}}
             for n, row in enumerate(rows)]  # fmt: skip
    assert run(tmp_path, "ragas", cells, "in.csv") == by_lines
    pl.DataFrame(cells).write_csv(tmp_path / "in.tsv", separator="\t")
    packed = gzip.compress((tmp_path / "in.csv").read_bytes())
    (tmp_path / "in.csv.gz").write_bytes(packed)
    for name in ("in.tsv", "in.csv.gz"):
        import_files("ragas", [tmp_path / name], tmp_path / "out.jsonl", Choices())
        assert [json.loads(one) for one in (tmp_path / "out.jsonl").open()] == by_lines
    for write in (pl.DataFrame.write_ipc, pl.DataFrame.write_ipc_stream):
        write(pl.DataFrame(rows), tmp_path / "in.arrow")
        import_files("ragas", [tmp_path / "in.arrow"], tmp_path / "out.jsonl", Choices())
        assert [json.loads(one) for one in (tmp_path / "out.jsonl").open()] == by_lines
    assert run(tmp_path, "ragas", rows, id_from="harmfulness")[1]["id"] == "1"
    with pytest.raises(SettingsError, match="No row has user_input or question: the first has q"):
        run(tmp_path, "ragas", [{"q": "When?"}])


def test_other_columns_are_metadata(tmp_path: Path):
    rows = [{"question": "q", "response": "a", "contexts": ["c"], "lang": "en", "user_id": "u"}]
    assert run(tmp_path, "hf", rows)[0]["metadata"] == {"lang": "en"}
    assert run(tmp_path, "hf", rows, keep_users=True)[0]["metadata"]["user_id"] == "u"
    with pytest.raises(SettingsError, match="--map COLUMN=question"):
        run(tmp_path, "hf", [{"frage": "q", "response": "a", "contexts": ["c"]}])


def test_conflicting_rows_of_a_question_are_reported(tmp_path: Path):
    rows = [{"user_input": "q", "response": one, "retrieved_contexts": []} for one in "aab"]
    found, (row,) = done(tmp_path, "ragas", rows)
    assert row["answer"] == "b"
    ((why, count),) = found.dropped.items()
    assert (count, "the last is kept" in why) == (1, True)


def test_a_passage_retrieved_twice_keeps_both_positions(tmp_path: Path):
    rows = [{"user_input": "q", "response": "a [3]", "retrieved_contexts": ["c", "c", "d"]}]
    run(tmp_path, "ragas", rows)
    (record,) = read_records(tmp_path / "out.jsonl").require()
    assert [record.passages[one].text for one in record.sentences[0].citations] == ["d"]


def test_passages_of_an_unknown_shape_are_kept_without_text(tmp_path: Path):
    rows = [{"question": "q", "response": "a", "contexts": [{"title": "T"}, "c", "", ["d"]]}]
    found, (row,) = done(tmp_path, "hf", rows)
    assert [p["text"] for p in row["passages"]] == [None, "c", None]
    assert found.counts["passages without text"] == 2


def test_all_lines_that_are_not_json_are_reported_and_nothing_is_written(tmp_path: Path):
    (tmp_path / "a.jsonl").write_text('{"question": "q"}\nx\n{"a": Infinity}\n')
    (tmp_path / "b.jsonl").write_text('{"question": "\\ud800"}\n')
    with pytest.raises(FormatError) as told:
        import_files(
            "hf", [tmp_path / "a.jsonl", tmp_path / "b.jsonl"], tmp_path / "out", Choices()
        )
    places = [(Path(one.file).name, one.line) for one in told.value.faults]
    assert places == [("a.jsonl", 2), ("a.jsonl", 3), ("b.jsonl", 1)]
    assert not (tmp_path / "out").exists()


def test_items_that_cannot_be_records_are_dropped(tmp_path: Path):
    rows = [{"id": "a\tb", "question": "q", "response": "a", "contexts": []},
            {"id": "c", "question": "q", "response": "a", "contexts": []}]  # fmt: skip
    found, (row,) = done(tmp_path, "hf", rows)
    assert (row["id"], list(found.dropped.values())) == ("c", [1])


def test_deepeval(tmp_path: Path):
    (row,) = run(tmp_path, "deepeval", DEEPEVAL, "in.json", id_from="id")
    assert row["id"] == "q7"
    assert row["passages"][1] == {"id": "b-3", "text": "The bridge opened."}
    assert row["passages"][0]["id"].startswith("t:")
    camel = [{"input": "When?", "actualOutput": "Then.", "retrievalContext": ["c"]}]
    assert run(tmp_path, "deepeval", camel, "in.json")[0]["passages"][0]["text"] == "c"
    table = [{"input": "When?", "actual_output": "Then.", "retrieval_context": "a|b"}]
    with pytest.raises(SettingsError, match="--split"):
        run(tmp_path, "deepeval", table, "in.csv")
    (row,) = run(tmp_path, "deepeval", table, "in.csv", split="|")
    assert [p["text"] for p in row["passages"]] == ["a", "b"]
    goldens = [{"input": "When?", "expected_output": "1932"}]
    found, (question,) = done(tmp_path, "deepeval", goldens, "in.json")
    assert (found.records, found.questions) == (0, 1)
    assert question["references"] == ["1932"]
    metrics = [{"name": "Faithfulness", "score": 0.5, "success": True},
               {"name": "Bias", "score": None, "error": "timeout"}]  # fmt: skip
    case = {**camel[0], "name": "case_0", "metricsData": metrics}
    test_run = {"testRunData": {"testCases": [case], "metricsScores": []}, "testRunLink": None}
    results = {"test_results": [{"input": "When?", "actual_output": "Then.", "name": "case_0",
                                 "retrieval_context": ["c"], "metrics_data": metrics}]}  # fmt: skip
    for told in (test_run, results):
        (row,) = run(tmp_path, "deepeval", told, "in.json")
        assert row["passages"][0]["text"] == "c"
        assert row["metadata"] == {"name": "case_0", "score.Faithfulness": 0.5}
    talk = [{"turns": [{"role": "user", "content": "Hi"},
                       {"role": "assistant", "content": "Hello", "retrieval_context": ["c"]},
                       {"role": "user", "content": "When?"},
                       {"role": "assistant", "content": "Then."}]}]  # fmt: skip
    one, two = run(tmp_path, "deepeval", talk, "in.json")
    assert (one["passages"][0]["text"], two["passages"], len(two["history"])) == ("c", [], 2)
    other = {"turns": [*talk[0]["turns"][:2], {"role": "user", "content": "Why?"},
                       {"role": "assistant", "content": "So."}]}  # fmt: skip
    assert len({row["id"] for row in run(tmp_path, "deepeval", [*talk, other], "in.json")}) == 4


def test_hugging_face_data_sets(tmp_path: Path):
    rows = [{"id": 7, "question": "When?", "response": "Then.", "contexts": ["a", "b"],
             "ground_truth": "1932"}]  # fmt: skip
    found, (row,) = done(tmp_path, "hf", rows, "in.parquet")
    assert row == {"id": "7", "question": "When?", "answer": "Then.",
                   "passages": [{"id": row["passages"][0]["id"], "text": "a"},
                                {"id": row["passages"][1]["id"], "text": "b"}],
                   "references": ["1932"]}  # fmt: skip
    assert "answer from response" in found.notes[0]
    squad = [{"id": "s", "question": "When?", "context": "c", "answers": {"text": ["1932"]}}]
    found, (question,) = done(tmp_path, "hf", squad)
    assert question == {"id": "s", "question": "When?", "references": ["1932"]}
    qa = [{"question": "When?", "answer": "1932"}]
    with pytest.raises(SettingsError, match="answer=references"):
        run(tmp_path, "hf", qa)
    (row,) = run(tmp_path, "hf", qa, fields={"answer": "references"})
    assert row["references"] == ["1932"]
    both = [{**qa[0], "response": "Then.", "contexts": ["c"]}]
    with pytest.raises(SettingsError, match=r"which is the system's answer\? .* response=answer"):
        run(tmp_path, "hf", both)
    (row,) = run(tmp_path, "hf", both, fields={"answer": "references"})
    assert (row["answer"], row["references"]) == ("Then.", ["1932"])
    said: list[Any] = [[{"role": "assistant", "content": "Then."}], [{"selected": []}]]
    shapes = [{"id": n, "question": "When?", "contexts": ["c"], "output": one}
              for n, one in enumerate(said)]  # fmt: skip
    found, (row,) = done(tmp_path, "hf", shapes)
    assert (row["answer"], list(found.dropped.values())) == ("Then.", [1])
    checker = {"results": [{"query_id": "0", "query": "When?", "gt_answer": "1932", "response": "a",
                            "retrieved_context": [{"doc_id": "d", "text": "t"}]}]}  # fmt: skip
    (row,) = run(tmp_path, "hf", checker, "in.json")
    assert (row["id"], row["passages"], row["references"]) == (
        "0", [{"id": "d", "text": "t"}], ["1932"]
    )  # fmt: skip
    table = [{"query_id": "0", "query": "When?", "query_run": "1", "passage_id": f"[{n}]",
              "passage": f"t{n}", "generated_answer": "a"} for n in (1, 2)]  # fmt: skip
    (row,) = run(tmp_path, "hf", table, "in.csv")
    assert (row["run"], [p["text"] for p in row["passages"]]) == ("1", ["t1", "t2"])


def test_answers_of_open_rag_eval(tmp_path: Path):
    columns = ("query_id", "query", "passage_id", "passage", "generated_answer")
    cells = [("0", "When?", "[1]", "one", ""), ("0", "When?", "[2]", "two", "Then [2]."),
             ("1", "Why?", "[1]", "one", "API_ERROR"),
             ("2", "Who?", "NA", "NA", "NO_ANSWER")]  # fmt: skip
    table = [dict(zip(columns, row, strict=True)) for row in cells]
    first, *failed = run(tmp_path, "hf", table, "in.csv")
    assert (first["answer"], [p["text"] for p in first["passages"]]) == (
        "Then [2].",
        ["one", "two"],
    )
    assert first["passages"][0]["id"].startswith("t:")  # a place is no name of a text
    assert [(row["answer"], row["passages"]) for row in failed] == [("", []), ("", [])]


def test_trec_answers(tmp_path: Path):
    about = {"team_id": "t", "run_id": "RAGX", "narrative_id": "q1", "narrative": "Why?",
             "type": "automatic"}  # fmt: skip
    rows = [{"metadata": about, "references": ["d1"],
             "answer": [{"text": "So.", "citations": [0]}]}]  # fmt: skip
    texts = tmp_path / "texts.jsonl"
    texts.write_text('{"id": "d1", "text": "Because."}\n')
    (row,) = run(tmp_path, "trec", rows, passages=texts)
    assert row == {"id": "q1", "run": "RAGX", "question": "Why?",
                   "answer": [{"text": "So.", "citations": ["d1"]}],
                   "passages": [{"id": "d1", "text": "Because."}]}  # fmt: skip
    assert not done(tmp_path, "trec", rows, passages=texts)[0].counts
    bare = {"metadata": {"team_id": "t", "run_id": "RAGX", "topic_id": "q1"},
            "references": ["d1"], "responses": [{"text": "So.", "citations": ["d1"]}]}  # fmt: skip
    told, (row,) = done(tmp_path, "trec", [bare], passages=texts)
    assert row["question"] == "q1"
    assert list(told.counts) == [
        "questions without text: the id is used instead until [inputs] questions has the text"
    ]


_TOOL = [
    {"role": "tool", "parts": [{"type": "tool_call_response", "name": "s", "response": ["c"]}]}
]
_CHAT = {"gen_ai.operation.name": "chat", "gen_ai.input.messages": _TOOL}
_TALK = [
    {"turns": [{"role": "user", "content": "Hi"},
               {"role": "assistant", "content": "Ho", "retrieval_context": ["c"]}]}
]  # fmt: skip
_SETS = [
    {"id": 7, "question": "q", "answer": "a", "contexts": [BRIDGE], "answers": {"text": ["x"]}}
]
_SHAPES = [
    *(("otel", one) for one in (OPENINFERENCE, GENAI, [otlp(OPENINFERENCE)])),
    ("otel", [{"trace_id": "t", "attributes": _CHAT, "events": [{"name": "x", "attributes": {}}]}]),
    *(("langfuse", one) for one in (LANGFUSE, [{"data": LANGFUSE}])),
    *(("deepeval", one) for one in (DEEPEVAL, _TALK)),
    ("ragas", RAGAS), ("hf", _SETS), ("hf", [{"results": _SETS}]),
]  # fmt: skip


def places(value: Any, here: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """The ways to every value inside one."""
    yield here
    inside = (
        value if isinstance(value, dict) else range(len(value)) if isinstance(value, list) else ()
    )
    for key in inside:
        yield from places(value[key], (*here, key))


@pytest.mark.parametrize(("kind", "rows"), _SHAPES)
def test_misplaced_values_do_not_break_an_import(kind: str, rows: Any):
    for *way, last in filter(None, places(rows)):
        for value in (None, 1, True, "x", "[1]", [1], [None], [[]], {"a": 1}, [{"a": [1]}]):
            changed = json.loads(json.dumps(rows))
            holder = changed
            for key in way:
                holder = holder[key]
            holder[last] = value
            try:
                found = READERS[kind]([(Path("in.json"), changed)], Choices(split="|", tool="s"))
            except AssayError:
                continue
            for row in finished(found, Choices()).records:
                record_of(row)


def test_the_command_says_what_it_did(tmp_path: Path, assay: Assay):
    path = tmp_path / "spans.jsonl"
    odd = {"trace_id": "t9", "name": "x", "attributes": {}}
    path.write_text("".join(json.dumps(one) + "\n" for one in [*OPENINFERENCE, odd]))
    out = tmp_path / "runs" / "main.jsonl"
    done = assay("import", "otel", path, "-o", out, "--run", "main")
    assert done.returncode == 1
    assert "1 record written to" in done.stdout
    assert "1 dropped: no question" in done.stdout
    assert json.loads(out.read_text())["run"] == "main"
    path.write_text("not json")
    done = assay("import", "otel", path, "-o", out)
    assert (done.returncode, "spans.jsonl:1 The line is not JSON" in done.stderr) == (2, True)
    assert assay("import", "csv", path, "-o", out).returncode == 2
