"""``assay mcp``: a real client, over standard input and output and in memory."""

from __future__ import annotations

import hashlib
import json
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import anyio
import pytest

from tests.conftest import Assay

if TYPE_CHECKING:
    from mcp import Client

TOOLS = {"status", "dry_run", "scores", "topics", "labels", "gate"}


def files(folder: Path) -> dict[str, str]:
    return {
        str(path.relative_to(folder)): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in folder.rglob("*")
        if path.is_file() and path.suffix not in (".sqlite-wal", ".sqlite-shm")
    }


async def ask(client: Client, tool: str, **arguments: Any) -> Any:
    found = await client.call_tool(tool, arguments)
    if found.is_error:
        return found.content[0].text
    return found.structured_content


def test_tools_read_and_none_asks_writes_or_leaves_the_folder(tmp_path: Path, assay: Assay):
    from mcp import Client, StdioServerParameters  # takes a second

    place = tmp_path / "eval"
    begin = ("-c", "from assay.cli.main import main; main()", "mcp", str(place))
    server = StdioServerParameters(command=sys.executable, args=[*begin], env=dict(os.environ))
    assay("init", place, "--protocol", "rag")
    with (place / "assay.toml").open("a") as toml:
        toml.write("[gate]\nmeasures = { Faithfulness = { min = 0.5 } }\n")
    assay("evaluate", place)
    before = files(place)

    async def talk() -> None:
        async with Client(server) as client:
            tools = (await client.list_tools()).tools
            assert {one.name for one in tools} == TOOLS
            assert all(one.annotations.read_only_hint and one.description for one in tools)
            (one,) = (await ask(client, "scores", measure="Faithfulness"))["scores"]
            assert (one["run"], one["value"]) == ("main", 1.0)
            topics = await ask(client, "topics", measure="Faithfulness", most=1)
            assert [one["topic"] for one in topics["rows"]] == ["q1"]
            labels = await ask(client, "labels", topic="q2")
            assert {one["labeller"] for one in labels["rows"]} >= {"rules"}
            assert "mayor of Oslo" in labels["rows"][0]["content"]
            assert (await ask(client, "gate"))["exit_status"] == 0
            assert "There is no run x; there are main" in await ask(client, "scores", run="x")
            assert files(place) == before
            more = {"id": "q1", "run": "new", "question": "When was the harbour bridge opened?",
                    "answer": "In May.", "passages": []}  # fmt: skip
            (place / "runs" / "new.jsonl").write_text(json.dumps(more) + "\n")
            asked = files(place)
            assert sum(one["to_ask"] for one in (await ask(client, "dry_run"))["rows"]) > 0
            assert "to ask" in (await ask(client, "status"))["lacks"][0]
            assert files(place) == asked  # a new run is seen, and nobody was asked

    anyio.run(talk)


def test_hostile_arguments_and_inputs_tell_nothing_and_change_nothing(
    tmp_path: Path, assay: Assay, monkeypatch: pytest.MonkeyPatch
):
    from mcp import Client  # takes a second

    monkeypatch.setenv("ASSAY_MINE_API_KEY", "sk-0123456789abcdef")
    place = tmp_path / "eval"
    assay("init", place, "--protocol", "rag")
    before = files(place)
    served: list[Any] = []
    monkeypatch.setattr("mcp.server.MCPServer.run", lambda server: served.append(server))
    assert assay("mcp", place).returncode == 0

    async def talk() -> None:
        async with Client(served[0]) as client:
            assert await ask(client, "labels", topic="", most=-1) == {"rows": [], "of": 0}
            assert "there is none yet" in await ask(client, "labels", topic="../../../etc/passwd")
            said = await ask(client, "topics", measure="\u202e\x1b[31m" * 1000, most=10**15)
            assert len(said) < 4000
            assert not {"\u202e", "\x1b"} & set(said)
            assert "no ledger" in await ask(client, "gate")
            assert files(place) == before  # not even an empty ledger
            run = place / "runs" / "main.jsonl"
            run.write_text(run.read_text().replace("q1", "\u202e sk-0123456789abcdef"))
            for tool in ("scores", "dry_run", "status", "gate"):
                said = json.dumps(await ask(client, tool), ensure_ascii=False)
                assert "There is no question" in said
                assert "sk-0123456789abcdef" not in said

    anyio.run(talk)


def test_what_is_no_folder_is_said_and_without_the_extra_too(
    tmp_path: Path, assay: Assay, monkeypatch: pytest.MonkeyPatch
):
    done = assay("mcp", tmp_path)
    assert (done.returncode, "assay init" in done.stderr) == (2, True)
    monkeypatch.setitem(sys.modules, "mcp.server.mcpserver", None)
    done = assay("mcp", tmp_path)
    assert done.returncode == 2
    assert "pip install 'assay-rag[mcp]'" in done.stderr
