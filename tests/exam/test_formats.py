"""Question banks and graded passages: reading, writing, and what a broken file says."""

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from assay.formats.exam_bank import packed, write_bank
from assay.formats.exam_bank_reading import read_bank
from assay.formats.exam_graded import graded_lines, read_graded
from assay.model.exam import Bank, BankQuestion, QueryBank, Ranking
from tests.exam.cases import BANK, GRADES, collection, entry, write


def test_a_bank_of_the_workbench(tmp_path):
    bank = read_bank(write(tmp_path / "bank.jsonl.gz", BANK)).require()
    assert list(bank.queries) == ["q1", "q2"]
    assert bank.queries["q1"].text == "structure of the skin"
    assert bank.queries["q1"].questions[1].gold == ("epidermis",)


def test_a_bank_by_hand(tmp_path):
    file = tmp_path / "bank.tsv"
    file.write_text(
        "query_id\tquestion_text\tgold_answers\tweight\tquery_text\n"
        "q1\tWhat is the outer layer?\tepidermis | outer skin\t2\tskin\n"
        "q1\tHow does skin age?\n"
    )
    (query,) = read_bank(file).require().queries.values()
    first, second = query.questions
    assert (first.gold, first.weight, query.text) == (("epidermis", "outer skin"), 2.0, "skin")
    assert second.id.startswith("q1/")
    assert read_bank(file).require() == read_bank(file).require()


def test_tqa_lessons_have_answer_keys(tmp_path):
    def question(right):
        return {
            "beingAsked": {"processedText": "Outer layer of the skin?"},
            "answerChoices": {
                "a": {"processedText": "dermis"}, "b": {"processedText": "epidermis"},
            },
            "correctAnswer": {"processedText": right},
        }  # fmt: skip

    lesson = {
        "globalID": "L_0384",
        "lessonName": "the integumentary system",
        "questions": {"nonDiagramQuestions": {"NDQ_1": question("b"), "NDQ_2": question("z")}},
    }
    file = tmp_path / "tqa.json"
    file.write_text(json.dumps([lesson], indent=1))
    parsed = read_bank(file)
    (query,) = parsed.require().queries.values()
    assert [(one.id, one.gold) for one in query.questions] == [("NDQ_1", ("epidermis",))]
    assert "NDQ_2" in parsed.warnings[0].why


def test_all_faults_of_a_bank_at_once(tmp_path):
    rows = [
        {"query_text": "no id"},
        {"query_id": "q", "items": [{}, {"question_text": "x", "query_id": "other"}]},
        {"query_id": "q", "items": [{"question_text": "x", "weight": -1}]},
        {"query_id": "q", "items": [{"question_id": "1", "question_text": "x"}] * 2},
    ]
    file = write(tmp_path / "bank.jsonl", rows)
    file.write_text(file.read_text() + "{broken\n")
    faults = read_bank(file).errors
    assert [fault.line for fault in faults] == [1, 2, 2, 3, 4, 5]


text = st.text(st.characters(codec="utf-8", exclude_categories=["Cs", "Cc"]), min_size=1).filter(
    lambda t: t == t.strip() and t
)
questions = st.builds(
    BankQuestion,
    id=text,
    text=text,
    gold=st.lists(text, unique=True, max_size=3).map(tuple),
    facet=st.none() | text,
    weight=st.floats(0, 9),
    active=st.booleans(),
    origin=st.none() | text,
)


@settings(max_examples=40)
@given(st.dictionaries(text, st.lists(questions, min_size=1, max_size=3, unique_by=lambda q: q.id)))
def test_a_written_bank_reads_back(tmp_path_factory, queries):
    bank = Bank({name: QueryBank(name, None, tuple(qs)) for name, qs in queries.items()})
    file = tmp_path_factory.getbasetemp() / "bank.jsonl.gz"
    file.write_bytes(packed(write_bank(bank)))
    if queries:
        assert read_bank(file).require().queries == bank.queries


def test_graded_passages(tmp_path):
    file = read_graded(write(tmp_path / "graded.jsonl.gz", collection())).require()
    assert str(file.way) == "SelfRated by flan (ratings)"
    query = file.queries["q1"]
    for row, name in enumerate(query.grades.passages):
        found = dict(zip(query.grades.questions, query.grades.values[row].tolist(), strict=True))
        assert found == GRADES["q1"][name]
    assert query.answers["p1", "q1/a"] == "said 5"
    assert file.runs()["good"] == {
        "q1": Ranking.at_ranks([("p1", 1), ("p2", 2)]),
        "q2": Ranking.at_ranks([("p5", 1)]),
    }


def test_graded_passages_read_back_as_they_were_written(tmp_path):
    first = read_graded(write(tmp_path / "a.jsonl", collection())).require()
    lines = graded_lines(first.queries.values(), llm="flan", prompt="SelfRated", rated=True)
    again = tmp_path / "b.jsonl"
    again.write_bytes(b"".join(lines))
    second = read_graded(again).require()
    assert second.way == first.way
    for name, query in first.queries.items():
        assert second.queries[name].passages == query.passages
        assert second.queries[name].answers == query.answers
        assert (second.queries[name].grades.values == query.grades.values).all()


def test_right_and_wrong_answers_are_grades_1_and_0(tmp_path):
    rows = collection()
    for passage in rows[0][1]:
        passage["exam_grades"] = [
            {"correctAnswered": ["q1/a"], "wrongAnswered": ["q1/b"], "answers": [], "llm": "m"}
        ]
    file = read_graded(write(tmp_path / "g.jsonl", rows[:1])).require()
    assert not file.way.rated
    assert set(file.queries["q1"].grades.values.ravel().tolist()) == {0, 1}


def test_several_ways_of_grading_must_be_told_apart(tmp_path):
    rows = collection()
    rows[0][1][0]["exam_grades"].append(entry({"q1/a": 0}, llm="other"))
    path = write(tmp_path / "g.jsonl", rows)
    (fault,) = read_graded(path).errors
    assert "2 ways" in fault.why
    assert "SelfRated by other" in fault.why
    chosen = read_graded(path, llm="other").require()
    assert chosen.queries["q1"].grades.values.max() == 0
    assert "No grades match" in read_graded(path, prompt="None such").errors[0].why


@pytest.mark.parametrize(
    ("row", "why"),
    [
        ("{}", "This is no [query_id"),
        ('["q", [{}]]', "no 'paragraph_id'"),
        (('["q", [{"paragraph_id": "p", "exam_grades": [{"self_ratings": [{"self_rating": 9, '
         '"question_id": "x"}]}]}]]'), "not from 0 to 5"),
        ('["q", [{"paragraph_id": "p"}, {"paragraph_id": "p"}]]', "listed twice"),
        ("nothing", "not JSON"),
    ],
)  # fmt: skip
def test_broken_graded_files_say_where(tmp_path, row, why):
    file = tmp_path / "g.jsonl"
    file.write_text('["fine", []]\n' + row + "\n")
    (fault,) = read_graded(file).errors
    assert fault.line == 2
    assert why in fault.why


def test_validate_knows_banks_and_graded_passages(assay, tmp_path):
    bank, graded = write(tmp_path / "b.gz", BANK), write(tmp_path / "g.gz", collection())
    done = assay("validate", bank, graded)
    assert done.returncode == 0, done.stderr
    assert "question-bank (guessed); 2 queries, 6 questions" in done.stdout
    assert "graded (guessed); 2 queries, 6 passages, 20 grades" in done.stdout
