"""Shards: disjoint, together everything, and later steps as if there were none."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import assay as package
from assay.judging.progress import Tally
from assay.judging.shards import Shard
from assay.labellers.base import Request
from assay.ledger import Ledger
from assay.ledger.store import Place
from assay.model.errors import LedgerError, SettingsError
from assay.model.labels import LabellerId
from assay.tasks.r2c2 import ENTAILMENT, EntailmentUnit
from tests.battles import test_battle_protocol as battles
from tests.command import Done
from tests.engine.server import completion
from tests.engine.test_judging import claimed_at
from tests.golden.cases import FEW, few_films
from tests.golden.stage import ORACLE, Stage
from tests.rag import world

Assay = Callable[..., Done]


def entailment(passage: str, nugget: str) -> Request:
    return Request(ENTAILMENT, EntailmentUnit(passage=passage, nugget=nugget))


def number(request: Request, count: int) -> int:
    (found,) = [n for n in range(1, count + 1) if Shard(n, count).holds(request)]
    return found


@settings(max_examples=30)
@given(st.text(), st.text(), st.integers(1, 12))
def test_a_question_is_in_one_shard(passage: str, nugget: str, count: int):
    assert 1 <= number(entailment(passage, nugget), count) <= count


def test_the_shard_of_a_question_is_the_same_for_ever():
    found = [number(entailment(f"A passage, number {n}.", "A claim."), 8) for n in range(12)]
    assert found == [6, 4, 1, 7, 1, 8, 4, 5, 7, 6, 1, 3]


def test_questions_about_a_passage_stay_together_and_shards_are_even():
    long = [f"{n} " + "passage " * 40 for n in range(2000)]
    for passage in long[:20]:
        shards = {number(entailment(passage, f"claim {n}"), 8) for n in range(10)}
        assert len(shards) == 1
    assert len({number(entailment("short", f"claim {n}"), 8) for n in range(50)}) == 8
    counts = [sum(Shard(n, 8).holds(entailment(one, "x")) for one in long) for n in range(1, 9)]
    assert min(counts) > 200


@pytest.mark.parametrize("text", ["", "2", "0/3", "4/3", "a/b", "1/0", "-1/2", "1/2/3", "²/3"])
def test_what_is_no_shard(text: str):
    with pytest.raises(SettingsError, match="is not valid"):
        Shard.parse(text)


def test_shards_of_one_count_are_asked_side_by_side(place: Place):
    wanted = [(LabellerId("openai:m", "model", {}), "t")]
    one, two, other = Shard(1, 2), Shard(2, 2), Shard(3, 4)
    with claimed_at(place, wanted, one):
        with claimed_at(place, wanted, two):
            for shard in (two, other, None):
                with pytest.raises(LedgerError), claimed_at(place, wanted, shard):
                    pass
        with claimed_at(place, wanted, two):
            pass
        with pytest.raises(LedgerError, match="by another process"), claimed_at(place, wanted):
            pass
    with claimed_at(place, wanted), pytest.raises(LedgerError):
        with claimed_at(place, wanted, one):
            pass
    with claimed_at(place, wanted, other):
        pass


# -- evaluations ----------------------------------------------------------------------------------


def slide(place: Path) -> Path:
    return Stage(place, "slide", labellers={"default": ORACLE}).folder


def films(place: Path) -> Path:
    return few_films(place, labellers={"default": ORACLE}).folder


def trec_rag(place: Path) -> Path:
    labellers, settings = {"default": ORACLE}, {**FEW, "nuggets": "always"}
    inputs = {"nuggets": None}  # one step after another makes them
    return Stage(place, "trec-rag", labellers=labellers, settings=settings, inputs=inputs).folder


def exam(place: Path) -> Path:
    settings = {**FEW, "grading": "qa-verified"}
    return Stage(place, "exam", labellers={"default": ORACLE}, settings=settings).folder


def rag(place: Path) -> Path:
    passages = [f"a{n} b{n}" for n in range(4)]
    runs = {
        name: [
            world.record(str(n), f"a{n} right c{n} d{k}", passages[n:], [f"a{n}"]) for n in range(4)
        ]
        for k, name in enumerate(("A", "B"))
    }
    return world.folder(place, runs)


def adaptive_battles(place: Path) -> Path:
    """What is asked hangs on all that was said before."""
    settings = 'adaptive = 4\nprior = 1\nsilent = "left-out"'
    return battles.make(place, settings, labeller=f'default = "{__name__}:longer"')


def longer(task: str, unit: Mapping[str, Any]) -> Mapping[str, Any]:
    return {"verdict": "A" if len(unit["answer_a"]) > len(unit["answer_b"]) else "B", "reason": ""}


def keys(folder: Path) -> set[tuple[str, str]]:
    with Ledger.open(folder / "labels.sqlite", create=False) as ledger:
        found = [(label.key, json.dumps(label.verdict)) for label in ledger.labels()]
    assert len(found) == len(set(found)), "nothing was asked twice"
    return set(found)


@pytest.mark.parametrize("make", [slide, films, trec_rag, exam, rag, adaptive_battles])
def test_all_shards_together_ask_what_one_process_asks(
    make: Callable[[Path], Path], tmp_path: Path
):
    whole, shared = make(tmp_path / "whole"), make(tmp_path / "shared")
    package.open(whole).judge()
    shards = [f"{n}/3" for n in range(1, 4)]
    rounds = 0
    while True:
        done = [package.open(shared).judge(shard=shard) for shard in shards]
        if not any(one.waiting for one in done):
            break
        rounds += 1
        assert rounds < 12
    assert rounds, "steps have waited"
    assert keys(shared) == keys(whole)
    done = package.open(shared).judge()
    assert (done.asked, done.waiting) == (0, ())


def test_a_shard_says_what_waits(assay: Assay, tmp_path: Path):
    folder = slide(tmp_path / "f")
    ahead = json.loads(assay("judge", folder, "--shard", "1/2", "--dry-run", "--json").stdout)
    whole = json.loads(assay("judge", folder, "--dry-run", "--json").stdout)
    mine, every = (sum(one["to_ask"] for one in each["ahead"]) for each in (ahead, whole))
    assert 0 < mine < every
    first = assay("judge", folder, "--shard", "1/2")
    assert first.returncode == 1
    assert "Shard 1/2 is done; 1 step waits for labels from shard 2: answers." in first.stderr
    second = assay("judge", folder, "--shard", "2/2", "--json")
    assert json.loads(second.stdout)["waiting"] == []
    assert second.returncode == 0
    again = assay("judge", folder, "--shard", "1/2")
    assert again.returncode == 0
    assert "Shard 1/2 is done." in again.stderr
    assert assay("judge", folder, "--shard", "3/2").returncode == 2


def test_of_several_protocols_a_shard_that_is_waited_for_is_named_once():
    assert (Tally(waiting_for=(2, 4)) + Tally(waiting_for=(1, 2))).waiting_for == (1, 2, 4)


UNWELL: list[bool] = []


def moody(task: str, unit: Mapping[str, Any]) -> Mapping[str, Any]:
    """Its verdicts are of no use while it is unwell."""
    if UNWELL and task == "r2c2.entailment":
        return {}
    return {"entailed": False, "act": "answer", "correct": True, "nuggets": [], "reason": ""}


def test_steps_wait_for_what_failed_elsewhere_where_it_is_asked_again(tmp_path: Path):
    folder = Stage(tmp_path / "f", "slide", labellers={"default": f"{__name__}:moody"}).folder
    UNWELL.append(True)
    assert package.open(folder).judge().failed
    assert package.open(folder).judge(shard="1/2").waiting_for == ()
    UNWELL.clear()
    first = package.open(folder).judge(shard="1/2", retry_failed=True)
    assert (first.waiting, first.waiting_for) == (("answers",), (2,))
    for shard in ("2/2", "1/2"):
        assert package.open(folder).judge(shard=shard, retry_failed=True).waiting == ()
    assert package.open(folder).judge(retry_failed=True).asked == 0


def test_no_step_waits_for_labels_that_it_makes_no_use_of(tmp_path: Path):
    judge = {"default": "tests.trec_rag.judge:judge"}
    folder = Stage(tmp_path / "f", "trec-rag", labellers=judge).folder
    first = package.open(folder).judge(shard="1/2")
    left = {row["task"] for row in package.open(folder).missing.iter_rows(named=True)}
    assert left == {"trec_rag.support", "trec_rag.assignment"}  # some of each is shard 2's
    assert first.waiting == ()  # assignments are no matter of support


# -- batch files ----------------------------------------------------------------------------------

ENDPOINT = "openai:m@http://127.0.0.1:9/v1"


def replies(lines: list[dict[str, str]]) -> list[dict[str, object]]:
    body = completion(json.dumps({"reason": "", "entailed": True, "act": "answer"}))
    response = {"status_code": 200, "body": body}
    return [{"custom_id": one["custom_id"], "response": response} for one in lines]


def test_batch_files_split_by_size_and_shard(assay: Assay, tmp_path: Path):
    folder = films(tmp_path / "f")
    command = ["judge", folder, "--labeller", ENDPOINT]
    whole = tmp_path / "whole.jsonl"
    assert assay(*command, "--export-batch", whole).returncode == 0
    wanted = [json.loads(line)["custom_id"] for line in whole.read_text().splitlines()]
    found, results = [], []
    for n in (1, 2):
        path = tmp_path / f"shard{n}.jsonl"
        more = ["--export-batch", path, "--batch-most", 8, "--shard", f"{n}/2", "--json"]
        document = json.loads(assay(*command, *more).stdout)
        assert len(document["files"]) > 2
        assert document["files"][1].endswith(f"shard{n}-2.jsonl")
        for name in document["files"]:
            lines = [json.loads(line) for line in Path(name).read_text().splitlines()]
            assert len(lines) <= 8
            found += [one["custom_id"] for one in lines]
            results.append(Path(f"{name}.result"))
            text = "".join(json.dumps(one) + "\n" for one in replies(lines))
            results[-1].write_text(text)
    assert sorted(found) == sorted(wanted)
    taking = [word for path in results for word in ("--import-batch", path)]
    taken = json.loads(assay(*command, *taking, "--json").stdout)["imported"]
    assert (taken["added"], taken["unasked"]) == (len(wanted), 0)


def test_batch_files_as_parquet(assay: Assay, tmp_path: Path):
    folder = slide(tmp_path / "f")
    command = ["judge", folder, "--labeller", ENDPOINT]
    path = tmp_path / "q.parquet"
    assert assay(*command, "--export-batch", path).returncode == 0
    assert assay(*command, "--export-batch", tmp_path / "q.jsonl").returncode == 0
    rows = pl.read_parquet(path).to_dicts()
    lines = [json.loads(line) for line in (tmp_path / "q.jsonl").read_text().splitlines()]
    assert [{**row, "body": json.loads(row["body"])} for row in rows] == lines
    said = [{**one, "response": json.dumps(one["response"])} for one in replies(rows)]
    pl.DataFrame(said).write_parquet(tmp_path / "r.parquet")
    taken = assay(*command, "--import-batch", tmp_path / "r.parquet", "--json")
    assert json.loads(taken.stdout)["imported"]["added"] == len(rows)
    (tmp_path / "x.parquet").write_bytes(b"no table")
    done = assay(*command, "--import-batch", tmp_path / "x.parquet")
    assert done.returncode == 2
    assert "batch result file" in done.stderr
