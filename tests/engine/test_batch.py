"""Batch files: the same labels as asking live, in any order, part by part."""

from __future__ import annotations

import json
import random

import pytest

from assay.judging.batch import Taken, export_batch, import_batch
from assay.judging.engine import judge, plan
from assay.labellers.rules import RulesLabeller
from assay.ledger import Ledger
from assay.model.errors import FormatError, SettingsError
from tests.engine.server import completion, serve
from tests.engine.test_judging import entailed, labeller, requests


def answers(data: bytes, script=entailed) -> list[dict]:
    """What a batch service makes of a batch file."""
    rows = []
    for number, line in enumerate(data.splitlines(), start=1):
        question = json.loads(line)
        assert question["method"] == "POST"
        assert question["url"] == "/v1/chat/completions"
        reply = script(question["body"], number)
        rows.append(
            {
                "id": f"r{number}",
                "custom_id": question["custom_id"],
                "response": {"status_code": 200, "body": reply},
                "error": None,
            }
        )
    return rows


def plans(ledger, count=30):
    return [("t", plan(ledger, labeller("http://127.0.0.1:9/v1"), requests(count)))]


def verdicts(ledger):
    return {label.key: label.verdict for label in ledger.labels()}


def test_the_labels_are_those_of_asking_live(tmp_path):
    with serve(entailed) as server, Ledger.open(tmp_path / "live") as live:
        judge([("t", plan(live, labeller(server.url), requests(30)))], live)
        wanted = verdicts(live)
        bodies = [json.dumps(body, sort_keys=True) for body in server.requests]
    with Ledger.open(tmp_path / "batch") as ledger:
        data, count = export_batch(plans(ledger))
        assert count == 30
        sent = [json.dumps(json.loads(x)["body"], sort_keys=True) for x in data.splitlines()]
        assert sorted(sent) == sorted(bodies)
        rows = answers(data)
        random.Random(3).shuffle(rows)
        parts = tmp_path / "a.jsonl", tmp_path / "b.jsonl"
        parts[0].write_text("".join(json.dumps(row) + "\n" for row in rows[:20]))
        parts[1].write_text("".join(json.dumps(row) + "\n" for row in rows[10:] + rows[:3]))
        assert import_batch(plans(ledger), ledger, parts[0]) == Taken(added=20)
        assert import_batch(plans(ledger), ledger, parts[1]) == Taken(added=10, known=13)
        assert verdicts(ledger) == wanted
        assert export_batch(plans(ledger))[1] == 0


def test_errors_and_unusable_replies(tmp_path):
    def script(body, number):
        return completion("no idea") if number == 1 else entailed(body, number)

    with Ledger.open(tmp_path / "l") as ledger:
        rows = answers(export_batch(plans(ledger, 5))[0], script)
        rows[1]["response"] = {"status_code": 429, "body": {"error": "slow down"}}
        rows[2] = {"custom_id": rows[2]["custom_id"], "response": None, "error": {"code": "x"}}
        rows.append({**rows[3], "custom_id": "of somebody else"})
        file = tmp_path / "r.jsonl"
        file.write_text("".join(json.dumps(row) + "\n" for row in rows))
        taken = import_batch(plans(ledger, 5), ledger, file)
        assert taken == Taken(added=3, failed=1, unanswered=2, unasked=1)
        assert export_batch(plans(ledger, 5))[1] == 2


def test_files_that_are_no_results(tmp_path):
    with Ledger.open(tmp_path / "l") as ledger:
        (tmp_path / "r.jsonl").write_bytes(export_batch(plans(ledger, 2))[0] + b"nonsense\n")
        with pytest.raises(FormatError) as caught:
            import_batch(plans(ledger, 2), ledger, tmp_path / "r.jsonl")
        assert [fault.line for fault in caught.value.faults] == [1, 2, 3]
        with pytest.raises(SettingsError, match="openai"):
            export_batch([("t", plan(ledger, RulesLabeller(), []))])
