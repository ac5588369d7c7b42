"""Files as others publish them: banks of every kind, ranks with gaps, records written again."""

import gzip
import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from assay.formats.exam_bank import bank_file, open_bank, write_bank
from assay.formats.exam_bank_reading import read_bank
from assay.formats.exam_graded import graded_lines, read_graded
from tests.exam.cases import BANK, collection, entry, write

PUBLISHED = {
    "dl19-genq.jsonl.gz": (430, False),
    "dl19-rubric-questions.jsonl.gz": (430, False),
    "dl19-rubric-nuggets.jsonl.gz": (461, True),  # of 464; three stand there twice
}


def lines(data):
    return [json.loads(line) for line in data.splitlines()]


@pytest.mark.parametrize("name", PUBLISHED)
def test_published_banks_are_read_and_written_as_they_were(shared_data, name):
    path = shared_data / "data" / "exam" / name
    bank = read_bank(path).require()
    count, nuggets = PUBLISHED[name]
    questions = [one for query in bank.queries.values() for one in query.questions]
    assert (len(bank.queries), len(questions)) == (43, count)
    assert {one.nugget for one in questions} == {nuggets}
    assert all(one.id.startswith("1") or "/" in one.id for one in questions)
    given = gzip.decompress(path.read_bytes())
    assert lines(write_bank(bank)) == lines(given)
    assert lines(gzip.decompress(bank_file(path, bank))) == lines(given)


def test_a_flat_bank_has_a_question_a_line(tmp_path, assay):
    rows = [
        {"qid": "q1", "question": "Which layers?", "query": "skin", "more": 1},
        {"qid": 2, "question": "How deep?"},
        {"qid": "a", "query_id": "q1", "question": "Which fat?"},
    ]
    path = write(tmp_path / "flat.jsonl", rows)
    bank = read_bank(path).require()
    found = {name: [one.text for one in query.questions] for name, query in bank.queries.items()}
    assert found == {"q1": ["Which layers?", "Which fat?"], "2": ["How deep?"]}
    assert bank.queries["q1"].text == "skin"
    assert bank.queries["q1"].questions[1].id == "a"
    assert lines(write_bank(bank)) == rows
    assert "question-bank (guessed); 2 queries, 3 questions" in assay("validate", path).stdout


def test_blank_questions_and_repeated_ones_are_warnings(tmp_path):
    blank = {"question_id": "q/d41d8cd98f00b204e9800998ecf8427e", "question_text": " "}
    same = {"question_id": "q/0123456789abcdef", "question_text": "Why?"}
    other = {"question_id": "q/0123456789abcdef", "question_text": "How?"}
    items = [blank, same, blank, same]
    parsed = read_bank(write(tmp_path / "b.jsonl", [{"query_id": "q", "items": items}]))
    assert [one.text for one in parsed.require().questions("q")] == ["Why?"]
    assert [fault.severity for fault in parsed.faults] == ["warning"] * 3
    assert lines(write_bank(parsed.require()))[0]["items"] == items
    twice = read_bank(write(tmp_path / "c.jsonl", [{"query_id": "q", "items": [same, other]}]))
    assert "listed twice" in twice.errors[0].why


def test_an_edit_changes_its_fields_alone(tmp_path):
    row = {**BANK[0], "info": {"model": "m"}, "hash": 1243234, "test_collection": "T"}
    row["items"] = [{**one, "info": {"n": n}} for n, one in enumerate(row["items"])]
    path = write(tmp_path / "bank.jsonl.gz", [row, BANK[1]])
    bank = open_bank(path)
    assert lines(gzip.decompress(bank_file(path, bank))) == [row, BANK[1]]


def ranked(name, rank, query="q1", run="r"):
    place = {"method": run, "paragraphId": name, "queryId": query, "score": 1.5}
    if rank != "absent":
        place["rank"] = rank
    return {
        "paragraph_id": name,
        "text": "x",
        "paragraph_data": {"judgments": [], "rankings": [place]},
        "exam_grades": [entry({"q1/a": 5})],
    }


@pytest.mark.parametrize(
    ("ranks", "expected"),
    [
        ([4], [4]),
        ([1, 3], [1, 3]),
        ([0, 1, 4], [1, 2, 5]),
        ([None, 2], [2]),
        (["absent", 1], [1]),
    ],
)
def test_ranks_are_kept(tmp_path, ranks, expected):
    rows = [["q1", [ranked(f"p{n}", rank) for n, rank in enumerate(ranks)]]]
    parsed = read_graded(write(tmp_path / "g.jsonl", rows))
    assert list(parsed.require().runs()["r"]["q1"].ranks) == expected
    assert [fault.why.split(",")[0] for fault in parsed.warnings] == (
        ["1 places in runs have no rank"] if len(expected) < len(ranks) else []
    )


@pytest.mark.parametrize("rank", [-1, "2", 1.5, True, 10**12])
def test_a_rank_that_is_none_is_a_fault(tmp_path, rank):
    (fault,) = read_graded(write(tmp_path / "g.jsonl", [["q1", [ranked("p", rank)]]])).errors
    assert "not a whole number" in fault.why


def test_rank_4_is_rank_4_in_every_score(tmp_path, assay):
    rows = [["q1", [ranked("p", 4), {**ranked("n", 9), "exam_grades": [entry({"q1/a": 0})]}]]]
    path = write(tmp_path / "g.jsonl", rows)

    def value(measure, *options):
        done = assay("exam", path, "-m", "RR", "-m", "α-nDCG@20", "--json", *options)
        scores = json.loads(done.stdout)["scores"]
        return next(one["value"] for one in scores if one["measure"] == measure)

    assert value("RR") == 0.25
    assert value("EXAM-Cover") == 1.0
    assert value("EXAM-Cover", "-k", "3") == 0.0
    assert value("α-nDCG@20") == pytest.approx(0.4306765581)  # 1 / log2(5)


def test_reply_failures_of_the_workbench_are_no_way_of_their_own(tmp_path):
    rows = collection()
    failed = {**entry({}), "self_ratings": None, "llm_response_errors": {"q1/a": "no number"}}
    rows[0][1][0]["exam_grades"] = [failed]
    rows[0][1][1]["exam_grades"][0]["self_ratings"][0]["self_rating"] = None
    grades = read_graded(write(tmp_path / "g.jsonl", rows)).require().queries["q1"].grades
    assert (grades.values[0] == -1).all()
    assert (grades.values[1] == -1).sum() == 1


scalars = st.none() | st.booleans() | st.integers(-9, 9) | st.floats(-9, 9) | st.text(max_size=4)
unknown = st.dictionaries(
    st.text(min_size=1, max_size=4).map(lambda name: f"x_{name}"),
    st.recursive(scalars, lambda one: st.lists(one, max_size=2), max_leaves=4),
    max_size=2,
)


@st.composite
def records(draw):
    """A line of the workbench with unknown fields at every level and every field that may be
    null or missing."""
    passages = []
    for number in range(draw(st.integers(0, 3))):
        name = f"p{number}"
        rankings = [
            {"method": run, "paragraphId": name, "queryId": "q", "rank": number, "score": score}
            | draw(unknown)
            for run, score in draw(st.dictionaries(st.sampled_from("ab"), st.floats(-9, 9))).items()
        ]
        judgments = [
            {"paragraphId": name, "query": "q", "relevance": 1, "titleQuery": "t"} | draw(unknown)
            for _ in range(draw(st.integers(0, 2)))
        ]
        ratings = [
            {"question_id": None, "nugget_id": f"n{n}", "self_rating": draw(st.integers(0, 5))}
            | draw(unknown)
            for n in range(draw(st.integers(1, 3)))
        ]
        grade = entry({}) | {
            "self_ratings": ratings,
            "llm_options": draw(unknown),
            "prompt_info": {"prompt_class": "P", **draw(unknown)},
        }
        passages.append(
            draw(unknown)
            | {"paragraph_id": name, "text": draw(st.text(max_size=5)), "paragraph": draw(scalars)}
            | {"paragraph_data": {"judgments": judgments, "rankings": rankings, **draw(unknown)}}
            | {"exam_grades": draw(st.sampled_from([None, [], [grade], [grade | draw(unknown)]]))}
            | draw(st.sampled_from([{}, {"grades": None}, {"grades": [{"correctAnswered": True}]}]))
        )
    return passages


@settings(max_examples=60)
@given(st.dictionaries(st.text("qrs", min_size=1, max_size=3), records(), min_size=1, max_size=2))
def test_a_graded_file_that_is_written_again_is_the_same(tmp_path_factory, made):
    path = tmp_path_factory.getbasetemp() / "graded.jsonl.gz"
    path.write_bytes(
        gzip.compress("".join(json.dumps([q, p]) + "\n" for q, p in made.items()).encode())
    )
    file = read_graded(path).require()
    written = b"".join(graded_lines(file.queries.values()))
    given = gzip.decompress(path.read_bytes())
    assert [json.dumps(one) for one in lines(written)] == [json.dumps(one) for one in lines(given)]


def test_the_workbench_export_of_a_folder_is_the_file_that_came_in(tmp_path, assay):
    rows = collection()
    for _, passages in rows:
        for one in passages:
            one["exam_grades"][0] |= {"llm_options": {"t": 0}, "prompt_type": "question", "z": [1]}
            one["paragraph"] = {"page": {"title": "T"}}
    rows.append(["not in the bank", [{**rows[0][1][0], "paragraph_id": "elsewhere"}]])
    write(tmp_path / "graded.jsonl.gz", rows)
    bank = [{**row, "info": {"hash": "1"}, "hash": 7} for row in BANK]
    write(tmp_path / "bank.jsonl", bank)
    (tmp_path / "assay.toml").write_text(
        '[evaluation]\nprotocol = "exam"\n[inputs]\ngraded = "graded.jsonl.gz"\n'
        'bank = "bank.jsonl"\n'
    )
    assert assay("evaluate", tmp_path).returncode == 0
    out = tmp_path / "out" / "workbench"
    exported = lines(gzip.decompress((out / "graded.jsonl.gz").read_bytes()))
    assert json.dumps(exported) == json.dumps(rows)
    banked = lines(gzip.decompress((out / "question-bank.jsonl.gz").read_bytes()))
    assert json.dumps(banked) == json.dumps(bank)
