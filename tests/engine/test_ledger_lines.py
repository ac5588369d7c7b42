"""Lines of JSON that SQLite puts together say what the labels themselves say."""

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.ledger import Ledger, NewLabel
from assay.ledger.ahead import LabelsAhead
from assay.ledger.exchange import label_row
from assay.ledger.lines import BriefBlock, read_brief, read_lines
from assay.ledger.policy import Policy
from assay.model.errors import LedgerError
from assay.model.labels import LabellerId, Status
from assay.protocols.book import Book
from assay.tasks.r2c2 import ANSWER, ENTAILMENT

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


def rows(path, tasks=None):
    blocks = read_lines(path, tasks)
    return [orjson.loads(line + b"}") for block in blocks for line in block.lines()]


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
        assert rows(path) == [label_row(one, contents[one.unit]) for one in ledger.labels()]


def test_more_than_one_block_in_order_and_only_the_tasks_asked_for(tmp_path):
    path = tmp_path / "labels.sqlite"
    with Ledger.open(path) as ledger:
        ledger.add(label(f"u{number}") for number in range(20_000))
    with LabelsAhead(path, [TASK]) as lines:
        blocks = list(lines)
    assert len(blocks) > 1
    assert [one for block in blocks for one in block.rowids()] == list(range(1, 20_001))
    assert rows(path, ["r2c2.answer"]) == []


@given(st.lists(st.tuples(TEXTS | st.sampled_from(["%", "%b %s", "100 %% {}"]), TEXTS), min_size=1))
def test_places_are_put_in_as_they_are(tmp_path_factory, said):
    path = tmp_path_factory.mktemp("ledger") / "labels.sqlite"
    with Ledger.open(path) as ledger:
        ledger.add(label(f"u{number}", reason=one) for number, (one, _) in enumerate(said))
    (block,) = read_lines(path)
    places = [orjson.dumps(place) for _, place in said]
    written = b"".join(block.used(places)).splitlines(keepends=True)
    expected = zip(rows(path), said, strict=True)
    assert [orjson.loads(line) for line in written] == [
        {**row, "used_at": [place]} for row, (_, place) in expected
    ]
    assert all(line.endswith(b"]}\n") for line in written)


def test_labels_that_were_added_while_it_read_come_last(tmp_path):
    path = tmp_path / "labels.sqlite"
    with Ledger.open(path) as ledger:
        ledger.add([label("u1")])
        with LabelsAhead(path, [TASK]) as lines:
            lines._thread.join()
            ledger.add([label("u2")])
            assert [one for block in lines for one in block.rowids()] == [1, 2]


def test_leaving_early_does_not_hang(tmp_path):
    path = tmp_path / "labels.sqlite"
    with Ledger.open(path) as ledger:
        ledger.add([label("u1")])
        with LabelsAhead(path, [TASK]):
            pass


def test_a_damaged_ledger_is_said_to_be_one(tmp_path):
    path = tmp_path / "labels.sqlite"
    path.write_bytes(b"no ledger at all" * 1000)
    with LabelsAhead(path, [TASK]) as lines, pytest.raises(LedgerError, match="damaged"):
        list(lines)


# -- brief blocks --------------------------------------------------------------------------------


def brief_labels(ledger, tasks=(TASK,)):
    return [
        one for some in ledger.from_blocks(read_brief(ledger.path), tasks) for one in some.labels
    ]


@given(
    unit=TEXTS | st.sampled_from(['a\x00"\\', "0" * 32, "é"]),
    verdict=st.dictionaries(TEXTS, TEXTS | NUMBERS | st.booleans(), max_size=3),
    detail=st.dictionaries(TEXTS, TEXTS | NUMBERS, max_size=2),
    version=TEXTS,
    sample=st.integers(0, 2**40),
)
def test_brief_blocks_hold_what_scores_need(
    tmp_path_factory, unit, verdict, detail, version, sample
):
    path = tmp_path_factory.mktemp("ledger") / "labels.sqlite"
    failed = {"status": Status.FAILED, "verdict": None, "error": "no"}
    with Ledger.open(path) as ledger:
        ledger.add(
            [
                label(unit, verdict=verdict, detail=detail, sample=sample),
                label("u2", **failed),
                label("u3", version=version, labeller=LabellerId("human:A", "human", {})),
                label("u4", task="r2c2.answer"),
            ]
        )
        for tasks in ((TASK,), ("r2c2.answer",), (TASK, "r2c2.answer"), ()):
            assert brief_labels(ledger, tasks) == list(ledger.verdicts(tasks))
        assert {one.kinds for one in ledger.from_blocks(read_brief(path), [TASK])} == {
            frozenset({(TASK, "1"), (TASK, version)})
        }


def test_brief_blocks_come_first_with_what_was_added_meanwhile(tmp_path):
    path = tmp_path / "labels.sqlite"
    with Ledger.open(path) as ledger:
        ledger.add(label(f"u{number}") for number in range(20_000))
        with LabelsAhead(path, [TASK], brief=True) as ahead:
            ahead._thread.join(0.05)
            ledger.add([label("later")])
            brief = [
                one for some in ledger.from_blocks(ahead.brief(), [TASK]) for one in some.units
            ]
            assert [one for block in ahead for one in block.rowids()] == list(range(1, 20_002))
    assert brief == [f"u{number}" for number in range(20_000)] + ["later"]


def test_numbers_with_gaps_and_uids_that_are_no_hashes(tmp_path):
    path = tmp_path / "labels.sqlite"
    with Ledger.open(path) as ledger:
        tasks = ("r2c2.entailment", "r2c2.answer")
        ledger.add(label(f"u{number}", task=tasks[number % 2]) for number in range(10))
    (block,) = read_lines(path, [TASK])
    assert block.rowids() == [1, 3, 5, 7, 9]
    assert len(block.uids) == 16 * 5
    (block,) = read_lines(path)
    assert list(block.rowids()) == list(range(1, 11))


def test_a_damaged_ledger_stops_the_brief_blocks_too(tmp_path):
    path = tmp_path / "labels.sqlite"
    path.write_bytes(b"no ledger at all" * 1000)
    with LabelsAhead(path, [TASK], brief=True) as ahead:
        with pytest.raises(LedgerError, match="damaged"):
            list(ahead.brief())
        with pytest.raises(LedgerError, match="damaged"):
            list(ahead)


@given(
    st.lists(
        st.tuples(st.sampled_from("abc"), st.sampled_from("12"), st.sampled_from("xyz")),
        max_size=12,
    )
)
def test_a_book_of_blocks_is_the_book_of_the_ledger(tmp_path_factory, made):
    path = tmp_path_factory.mktemp("ledger") / "labels.sqlite"
    with Ledger.open(path) as ledger:
        ledger.add(
            label(
                unit, version=version, key=f"{unit} {version} {who} {number}",
                labeller=LabellerId(f"human:{who}", "human", {}),
            )
            for number, (unit, version, who) in enumerate(made)
        )  # fmt: skip
        policy, tasks = Policy.parse("people"), (ENTAILMENT, ANSWER)
        blocks = [one for start in range(len(made)) for one in some_of(path, start)]
        books = [
            Book(ledger, policy, {}, tasks, brief=True),
            Book(ledger, policy, {}, tasks, brief=True, blocks=read_brief(path)),
            Book(ledger, policy, {}, tasks, brief=True, blocks=blocks),
        ]
        first = books[0]
        for other in books[1:]:
            assert list(other.every()) == list(first.every())
            assert other.other_versions == first.other_versions
            assert all(other.of(unit) == first.of(unit) for unit in "abc")


def some_of(path, start):
    """The label after number ``start``, as a block of its own."""
    for block in read_brief(path, after=start):
        columns = [one[:1] if isinstance(one, list) else one for one in orjson.loads(block.columns)]
        yield BriefBlock(columns[0][0], orjson.dumps(columns))


def test_whatever_stops_the_thread_stops_whoever_waits(tmp_path, monkeypatch):
    def broken(*_):
        raise MemoryError("no room")

    monkeypatch.setattr("assay.ledger.ahead.read_lines", broken)
    path = tmp_path / "labels.sqlite"
    with Ledger.open(path) as ledger:
        ledger.add([label("u1")])
        with LabelsAhead(path, [TASK], brief=True) as ahead, pytest.raises(MemoryError):
            list(ahead)
