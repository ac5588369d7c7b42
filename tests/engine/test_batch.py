"""Batch files: the same labels as asking live, in any order, part by part."""

from __future__ import annotations

import json
import random
from types import SimpleNamespace

import pytest

from assay.judging.batch import BatchImport, import_batch, split_into_files, unexportable
from assay.judging.engine import judge, plan
from assay.labellers.ensemble import EnsembleLabeller
from assay.labellers.openai import OpenAILabeller, OpenAISettings
from assay.labellers.recorded import RecordedLabeller
from assay.labellers.rules import RulesLabeller
from assay.ledger import Ledger
from assay.model.errors import FormatError, SettingsError
from assay.tasks.rendering import Renderer
from tests.engine.asking import labeller, requests
from tests.engine.server import completion, serve
from tests.engine.test_judging import entailed


def answers(data: bytes, script=entailed) -> list[dict]:
    """The results that a batch service gives for a batch file."""
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


def export_batch(planned) -> SimpleNamespace:
    """The lines of batch files, and the questions that cannot go into one."""
    left_out = unexportable(planned)
    lines = [line.json for _, line in split_into_files(planned)]
    return SimpleNamespace(data=b"".join(lines), count=len(lines), left_out=left_out)


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
        made = export_batch(plans(ledger))
        assert (made.count, made.left_out) == (30, {})
        sent = [json.dumps(json.loads(x)["body"], sort_keys=True) for x in made.data.splitlines()]
        assert sorted(sent) == sorted(bodies)
        rows = answers(made.data)
        random.Random(3).shuffle(rows)
        parts = tmp_path / "a.jsonl", tmp_path / "b.jsonl"
        parts[0].write_text("".join(json.dumps(row) + "\n" for row in rows[:20]))
        parts[1].write_text("".join(json.dumps(row) + "\n" for row in rows[10:] + rows[:3]))
        assert import_batch(plans(ledger), ledger, parts[0]) == BatchImport(added=20)
        assert import_batch(plans(ledger), ledger, parts[1]) == BatchImport(added=10, known=13)
        assert verdicts(ledger) == wanted
        assert export_batch(plans(ledger)).count == 0


def test_errors_and_unusable_replies(tmp_path):
    def script(body, number):
        return completion("no idea") if number == 1 else entailed(body, number)

    with Ledger.open(tmp_path / "l") as ledger:
        rows = answers(export_batch(plans(ledger, 5)).data, script)
        rows[1]["response"] = {"status_code": 429, "body": {"error": "slow down"}}
        rows[2] = {"custom_id": rows[2]["custom_id"], "response": None, "error": {"code": "x"}}
        refusal = {"error": {"message": "against our policy"}}
        rows[3]["response"] = {"status_code": 400, "body": refusal}
        rows.append({**rows[4], "custom_id": "of somebody else"})
        file = tmp_path / "r.jsonl"
        file.write_text("".join(json.dumps(row) + "\n" for row in rows))
        taken = import_batch(plans(ledger, 5), ledger, file)
        errors = {"HTTP 429: slow down": 1, "{'code': 'x'}": 1}
        assert taken == BatchImport(added=3, failed=2, unanswered=2, unasked=1, errors=errors)
        assert export_batch(plans(ledger, 5)).count == 2
        refused = rows[3]["custom_id"]
        (label,) = [label for label in ledger.labels() if label.key == refused]
        assert label.error == "batch: HTTP 400: against our policy"


def test_files_that_are_no_results(tmp_path):
    with Ledger.open(tmp_path / "l") as ledger:
        (tmp_path / "r.jsonl").write_bytes(export_batch(plans(ledger, 2)).data + b"nonsense\n")
        with pytest.raises(FormatError) as caught:
            import_batch(plans(ledger, 2), ledger, tmp_path / "r.jsonl")
        assert [fault.line for fault in caught.value.faults] == [1, 2, 3]
        with pytest.raises(SettingsError, match="openai"):
            export_batch([("t", plan(ledger, RulesLabeller(), []))])


def retried(ledger):
    made = labeller("http://127.0.0.1:9/v1")
    return [("t", plan(ledger, made, requests(3), retry_failed=True))]


def test_a_failed_reply_is_replaced_when_it_was_asked_for_again(tmp_path):
    file = tmp_path / "r.jsonl"
    with Ledger.open(tmp_path / "l") as ledger:
        bad = answers(export_batch(plans(ledger, 3)).data, lambda *_: completion("no idea"))
        file.write_text("".join(json.dumps(row) + "\n" for row in bad))
        assert import_batch(plans(ledger, 3), ledger, file) == BatchImport(added=3, failed=3)
        assert import_batch(plans(ledger, 3), ledger, file) == BatchImport(known=3)
        good = answers(export_batch(retried(ledger)).data)
        file.write_text("".join(json.dumps(row) + "\n" for row in good + good[:1]))
        assert import_batch(retried(ledger), ledger, file) == BatchImport(added=3, known=1)
        assert export_batch(retried(ledger)).count == 0


def test_members_of_an_ensemble_are_asked_by_batch_and_joined(tmp_path):
    members = [OpenAILabeller(OpenAISettings(name), Renderer()) for name in ("m", "n")]
    given = tmp_path / "given.jsonl"
    lines = [
        {"task": one.task.name, "unit": dict(one.content), "verdict": {"entailed": True}}
        for one in requests(4)
    ]
    given.write_text("".join(json.dumps(line) + "\n" for line in lines))
    joint = EnsembleLabeller("j", [*members, RecordedLabeller(given)])

    def planned():
        return [("t", plan(ledger, joint, requests(4)))]

    with Ledger.open(tmp_path / "l") as ledger:
        made = export_batch(planned())
        assert (made.count, made.left_out) == (8, {"recorded:given.jsonl": 4})
        rows = answers(made.data)
        assert {json.loads(line)["body"]["model"] for line in made.data.splitlines()} == {"m", "n"}
        file = tmp_path / "r.jsonl"
        file.write_text("".join(json.dumps(row) + "\n" for row in rows))
        assert import_batch(planned(), ledger, file) == BatchImport(added=8)
        judge(planned(), ledger)
        assert len([label for label in ledger.labels() if label.labeller == joint.id]) == 4


@pytest.mark.parametrize(
    "reply",
    [
        {"choices": [{"message": "text"}]},
        {"choices": [{"message": None}], "usage": {"prompt_tokens": 1, "completion_tokens": "2"}},
        {"choices": ["x"], "usage": []},
    ],
)
def test_replies_of_an_odd_form_are_unusable_and_no_more(tmp_path, reply):
    with Ledger.open(tmp_path / "l") as ledger:
        rows = answers(export_batch(plans(ledger, 1)).data, lambda *_: reply)
        (tmp_path / "r.jsonl").write_text(json.dumps(rows[0]))
        taken = import_batch(plans(ledger, 1), ledger, tmp_path / "r.jsonl")
        assert taken == BatchImport(added=1, failed=1)
        (label,) = ledger.labels()
        assert label.tokens_in is None


def test_a_file_that_is_cut_off_is_said_to_be(tmp_path):
    with Ledger.open(tmp_path / "l") as ledger:
        rows = answers(export_batch(plans(ledger, 3)).data)
        whole = "".join(json.dumps(row) + "\n" for row in rows)
        (tmp_path / "r.jsonl").write_text(whole[:-30])
        with pytest.raises(FormatError, match="cut off"):
            import_batch(plans(ledger, 3), ledger, tmp_path / "r.jsonl")
