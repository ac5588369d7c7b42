"""Labels as columns say of every unit what the ledger says."""

from __future__ import annotations

import random
import sqlite3
import string
from contextlib import closing

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.ledger import Ledger, NewLabel, columns
from assay.ledger.columns import Columns
from assay.model.errors import LedgerError
from assay.model.labels import LabellerId, Status
from assay.model.scratch import Scratch

UNITS = ["ab" * 16, "ab" * 8 + "cd" * 8, "cd" * 16, "0" * 32, "f" * 32]
TASKS = ["r2c2.entailment", "r2c2.answer", "trec_rag.support"]
TEXTS = st.text(string.printable, max_size=9)
MADE = st.lists(
    st.builds(
        dict,
        unit=st.sampled_from(UNITS),
        task=st.sampled_from(TASKS),
        version=st.sampled_from("12"),
        who=st.sampled_from("xyz"),
        failed=st.booleans(),
        verdict=st.dictionaries(TEXTS, TEXTS | st.floats(0, 1) | st.booleans(), max_size=2),
        detail=st.dictionaries(TEXTS, TEXTS, max_size=1),
        sample=st.integers(0, 2**40),
        key=st.sampled_from(["k", "12" * 16, "34" * 16]),
    ),
    max_size=14,
)


def labels(made):
    for number, one in enumerate(made):
        yield NewLabel(
            key=one["key"],
            task=one["task"],
            version=one["version"],
            unit=f"{one['unit']}",
            content={"passage": one["unit"], "nugget": one["task"]},
            labeller=LabellerId(f"human:{one['who']}", "human", {}),
            status=Status.FAILED if one["failed"] else Status.OK,
            verdict=None if one["failed"] else one["verdict"],
            reason=f"said {number}",
            sample=one["sample"],
            detail=one["detail"],
            tokens_in=number,
        )


def brief(label):
    """What columns have of a label."""
    nothing = dict.fromkeys(("reason", "error", "overrules", "tokens_in", "tokens_out", "cost"))
    return label._replace(uid="", key="", created="", seconds=None, **nothing)


@pytest.mark.parametrize("held", [0, 10**9])
@given(made=MADE, wanted=st.sets(st.sampled_from(TASKS)))
def test_columns_hold_the_labels_of_each_unit(tmp_path_factory, held, made, wanted):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(columns, "HELD", held)
        hold_the_labels(tmp_path_factory, made, wanted)


def hold_the_labels(tmp_path_factory, made, wanted):
    with Ledger.open(tmp_path_factory.mktemp("ledger") / "labels.sqlite") as ledger:
        ledger.add(labels(made))
        these = Columns.of_ledger(ledger, dict.fromkeys(wanted, "1"))
        there = [one for one in ledger.labels(sorted(wanted)) if one.version == "1"]
        assert len(these) == len(there)
        for unit in UNITS:
            found = these.of(unit)
            assert found == [brief(one) for one in there if one.unit == unit]
            assert list(ledger.whole(found)) == [one for one in there if one.unit == unit]
        every = sorted(map(these.at, range(len(these))), key=lambda one: one.rowid)
        assert every == [brief(one) for one in there]


@pytest.mark.parametrize("held", [127, 128, 129])
@pytest.mark.parametrize("away", [0, 1, 128, 129])
def test_codes_of_texts_fit_into_what_holds_them(monkeypatch, held, away):
    monkeypatch.setattr(columns, "_TEXTS", held)  # texts of one character
    codes = columns._Codes(Scratch())
    made = [codes[chr(1000 + number)] for number in range(held + away)]
    assert np.array(made).astype(codes.kind()).tolist() == made


def test_units_are_told_apart_by_all_of_their_hash(place):
    made = [
        {"unit": unit, "task": TASKS[0], "version": "1", "who": "x", "failed": False,
         "verdict": {"at": number}, "detail": {}, "sample": 0, "key": f"k{number}"}
        for number, unit in enumerate(UNITS)
    ]  # fmt: skip
    with Ledger.open(place) as ledger:
        ledger.add(labels(made))
        columns = Columns.of_ledger(ledger, {TASKS[0]: "1"})
        for number, unit in enumerate(UNITS):
            assert [one.verdict for one in columns.of(unit)] == [{"at": number}]
        assert columns.of("ab" * 15 + "00") == []
        assert columns.of("none") == []


def test_a_ledger_that_cannot_be_read_on(tmp_path):
    path = tmp_path / "labels.sqlite"
    made = [
        {"unit": f"{number:032x}", "task": TASKS[0], "version": "1", "who": "x", "failed": False,
         "verdict": {"at": "x" * 500}, "detail": {}, "sample": 0, "key": f"k{number}"}
        for number in range(200)
    ]  # fmt: skip
    with Ledger.open(path) as ledger:
        ledger.add(labels(made))
    data = bytearray(path.read_bytes())
    data[12_000:] = b"\x99" * (len(data) - 12_000)
    path.write_bytes(data)
    with pytest.raises(LedgerError, match="damaged"), Ledger.open(path) as ledger:
        Columns.of_ledger(ledger, {TASKS[0]: "1"})


def test_labels_that_come_meanwhile_are_for_the_next_look(place, monkeypatch):
    def one(number):
        return {
            "unit": f"u{number}", "task": TASKS[number % 2], "version": "1", "who": "x",
            "failed": False, "verdict": {}, "detail": {}, "sample": 0, "key": f"k{number}",
        }  # fmt: skip

    named = Ledger.task_names
    with Ledger.open(place) as ledger, Ledger.open(place) as other:
        ledger.add(labels(map(one, range(250))))

        def while_others_add(self):
            if self is ledger and other.size() == 250:  # numbers take more than one byte then
                other.add(labels(map(one, range(250, 300))))
            return named(self)

        monkeypatch.setattr(Ledger, "task_names", while_others_add)
        found = Columns.of_ledger(ledger, {TASKS[0]: "1"})
        assert other.size() == 300
        assert sorted(found.at(at).rowid for at in range(len(found))) == list(range(1, 251, 2))


def test_a_label_with_a_huge_number_takes_no_memory(tmp_path):
    path = tmp_path / "labels.sqlite"
    made = {"unit": UNITS[0], "task": TASKS[0], "version": "1", "who": "x", "failed": False,
            "verdict": {}, "detail": {}, "sample": 0, "key": "k"}  # fmt: skip
    with Ledger.open(path) as ledger:
        ledger.add(labels([made]))
    with closing(sqlite3.connect(path)) as db, db:
        db.execute("DROP TRIGGER labels_keep")
        db.execute(f"UPDATE labels SET id = {2**62}")
    with Ledger.open(path) as ledger:
        assert len(Columns.of_ledger(ledger, {TASKS[0]: "1"})) == 1
        with pytest.raises(LedgerError):
            ledger.checked()


def everything(columns, units, step):
    """What columns say of units and of their labels, so many asked at once."""
    count = columns.counting(lambda one: "xyz".index(one.labeller.name[-1]), lambda _: False)
    first, counted = [], []
    for start in range(0, len(units), step):
        some = columns.first(b"".join(units[start : start + step]))
        held = some[some >= 0]
        first.append(some)
        counted.append(count(held))
        again = columns.first(units[0])
        assert (count(held) == counted[-1]).all()  # also of others than those looked up last
        assert again[0] == first[0][0]
    first, counted = np.concatenate(first), np.concatenate(counted)
    labels = counted[counted >= 0]
    alike = {}
    for label, group in columns.by_kind(labels):
        key = label.task, label.labeller.name, str(label.detail)
        alike.setdefault(key, []).extend(group.tolist())
    said = [None] * len(labels)
    for which, values, each in columns.verdicts(labels, str):
        for at, one in zip(which.tolist(), each.tolist(), strict=True):
            said[at] = values[one]
    return (
        len(columns), first.tolist(), counted.tolist(), columns.rows(labels).tolist(),
        columns.failed(labels).tolist(), list(columns.labels(labels)), said,
        columns.by_who(labels, lambda who: who.name == "human:y").tolist(),
        {key: sorted(group) for key, group in alike.items()},
        [columns.place_of(one) for one in columns.labels(labels)],
        [{at for some in columns.labelled_again(task, who) for at in some.tolist()}
         for task in TASKS for who in ("x", "human:y", "z")],
    )  # fmt: skip


@given(st.integers(0, 2**32), st.integers(0, 60), st.integers(1, 70), st.integers(1, 40))
def test_a_file_of_labels_says_what_columns_in_memory_say(
    tmp_path_factory, seed, count, step, at_once
):
    rng = random.Random(seed)
    units = [bytes([rng.randrange(256) for _ in range(16)]) for _ in range(20)]
    units += [one[:8] + bytes(8) for one in units[:3]]  # which have half of a hash in common
    made = [
        {"unit": rng.choice(units).hex(), "task": rng.choice(TASKS), "version": "1",
         "who": rng.choice("xyz"), "failed": rng.random() < 0.2,
         "verdict": {"at": rng.randrange(5)}, "detail": {"n": rng.randrange(2)},
         "sample": rng.randrange(2), "key": f"k{number}"}
        for number in range(count)
    ]  # fmt: skip
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(columns, "_WEIGHED", at_once)
        patch.setattr("assay.model.scratch._HELD", 500)
        with Ledger.open(tmp_path_factory.mktemp("ledger") / "labels.sqlite") as ledger:
            ledger.add(labels(made))
            held = Columns.of_ledger(ledger, dict.fromkeys(TASKS, "1"))
            patch.setattr(columns, "HELD", 0)
            patch.setattr(columns, "_SORTED", at_once)
            lying = Columns.of_ledger(ledger, dict.fromkeys(TASKS, "1"))
            found = everything(lying, units, step)
            assert found == everything(held, units, len(units))
