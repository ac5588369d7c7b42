"""Lines of JSON say what the labels themselves say."""

import orjson
from hypothesis import given
from hypothesis import strategies as st

from assay.ledger import Ledger, NewLabel
from assay.ledger.exchange import label_row
from assay.model.labels import LabellerId, Status

TASK = "r2c2.entailment"
TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=30)
NUMBERS = st.none() | st.floats(0, 1e9)


def label(unit, **values):
    usual = {
        "key": f"key-{unit}", "task": TASK, "version": "1", "unit": unit, "status": Status.OK,
        "content": {"passage": unit, "nugget": "n"}, "verdict": {"entailed": True},
        "labeller": LabellerId("openai:m", "model", {"temperature": 0.1}),
    }  # fmt: skip
    return NewLabel(**{**usual, **values})


def rows(ledger, tasks=None):
    blocks = ledger.lines(tasks)
    return [orjson.loads(line + "}") for block in blocks for line in block.objects]


@given(
    reason=TEXTS | st.just('a\x00b\u2028\u0085\n"\\/<é'),
    name=TEXTS,
    cost=NUMBERS,
    seconds=NUMBERS,
    tokens=st.none() | st.integers(0, 2**40),
)
def test_any_label_comes_out_as_it_went_in(tmp_path_factory, reason, name, cost, seconds, tokens):
    path = tmp_path_factory.mktemp("ledger") / "labels.sqlite"
    with Ledger.open(path) as ledger:
        ledger.add(
            [
                label(
                    "u1", reason=reason, cost=cost, seconds=seconds, tokens_in=tokens,
                    labeller=LabellerId(name, "human", {name: 0.1}), detail={"raw": reason},
                ),
                label("u2", overrules=reason, error=reason),
            ]
        )  # fmt: skip
        contents = ledger.units()
        assert rows(ledger) == [label_row(one, contents[one.unit]) for one in ledger.labels()]


def test_more_than_one_block_in_order_and_only_the_tasks_asked_for(tmp_path):
    path = tmp_path / "labels.sqlite"
    with Ledger.open(path) as ledger:
        ledger.add(label(f"u{number}") for number in range(20_000))
        blocks = list(ledger.lines([TASK]))
        assert len(blocks) > 1
        assert [number for block in blocks for number in block.numbers] == list(range(1, 20_001))
        assert rows(ledger, ["r2c2.answer"]) == []


def test_labels_that_were_added_while_it_read_come_last(tmp_path):
    path = tmp_path / "labels.sqlite"
    with Ledger.open(path) as ledger:
        ledger.add([label("u1")])
        lines = ledger.lines([TASK])
        first = next(lines)
        ledger.add([label("u2")])
        assert [number for block in (first, *lines) for number in block.numbers] == [1, 2]


def test_numbers_with_gaps_and_uids_that_are_no_hashes(tmp_path):
    path = tmp_path / "labels.sqlite"
    with Ledger.open(path) as ledger:
        tasks = ("r2c2.entailment", "r2c2.answer")
        ledger.add(label(f"u{number}", task=tasks[number % 2]) for number in range(10))
        (block,) = ledger.lines([TASK])
        assert block.numbers == (1, 3, 5, 7, 9)
        assert [len(uid) for uid in block.uids] == [16] * 5
        (block,) = ledger.lines()
        assert block.numbers == tuple(range(1, 11))
