"""The films example is consistent in itself: plain Python, nothing of Assay."""

import re
import tomllib
from collections import Counter
from pathlib import Path

import pytest

FILMS = Path(__file__).resolve().parents[2] / "examples" / "films"
CATEGORIES = {
    "Simple",
    "Simple w. Condition",
    "Comparison",
    "Aggregation",
    "Multi-hop",
    "Post-processing-heavy",
}
AC_RUNS = {"MODEST", "OVERCONFIDENT", "UNDERCONFIDENT", "BOGUS"}  # by hand
BY_MODEL = {"FUSED-SAID", "ORACLE-LOGPROB"}
MADE = {"BM25", "DENSE", "FUSED"}
PR_RUNS = MADE | {"ORACLE"}
IDS = [f"{number:04d}" for number in range(1, 15)]

SLIDES_PASSAGES = [
    (
        "0001;1;https://en.wikipedia.org/wiki/Chris_Evans_(actor);Evans gained wider recognition "
        "for portraying Captain America in various Marvel Cinematic Universe (MCU) films, from "
        "Captain America: The First Avenger (2011) to Avengers: Endgame (2019)."
    ),
    "0001;2;https://www.imdb.com/title/tt0056218/;Stars Frank Sinatra Laurence Harvey Janet Leigh",
    "0001;3;https://www.imdb.com/title/tt0368008/fullcredits/;Anthony Mackie ... Robert Baker",
    "0001;4;https://www.imdb.com/name/nm1107001/;The Manchurian Candidate",
    "0001;5;https://www.imdb.com/name/nm1107001/;Sam Wilson - Captain America",
]
SLIDES_BLOCK = [
    "<0001>",
    "Anthony Mackie;90",
    "1;ORACLE;1;Chris Evans gained recognition for portraying Captain America",
    "2;ORACLE;2;The Manchurian Candidate starred Frank Sinatra",
    "3;ORACLE;2;The Manchurian Candidate starred Harvey Janet",
    "4;ORACLE;4;Anthony Mackie starred in The Manchurian Candidate",
    "5;ORACLE;5;Anthony Mackie starred in Captain America: Brave New World",
    "</0001>",
]


def lines(path):
    """The lines of a file, which must be UTF-8, end in a line feed and hold no other breaks."""
    text = path.read_bytes().decode("utf-8")
    assert text.endswith("\n")
    assert "\r" not in text
    assert all(line == line.strip() or "\t" in line for line in text.split("\n"))
    return text[:-1].split("\n")


def read_questions():
    return [line.split("\t") for line in lines(FILMS / "questions.tsv")]


def read_pr():
    """run -> question -> rank -> (DocID, text)."""
    runs = {}
    for path in sorted((FILMS / "pr").glob("*.txt")):
        run = runs[path.stem] = {}
        for line in lines(path):
            question, rank, doc_id, text = line.split(";", 3)
            passages = run.setdefault(question, {})
            assert int(rank) not in passages, line
            passages[int(rank)] = (doc_id, text)
    return runs


def read_ac(names=AC_RUNS):
    """run -> question -> (answer, confidence, [(number, PR run, rank, nugget)])."""
    runs = {}
    for path in sorted(FILMS / "ac" / f"{name}.txt" for name in names):
        run = runs[path.stem] = {}
        rest = iter(lines(path))
        for opening in rest:
            question = re.fullmatch(r"<(\d{4})>", opening)[1]
            answer, confidence = next(rest).rsplit(";", 1)
            nuggets = []
            for line in rest:
                if line == f"</{question}>":
                    break
                number, pr_run, rank, nugget = line.split(";", 3)
                nuggets.append((int(number), pr_run, int(rank), nugget))
            else:
                raise AssertionError(f"{path.name}: block {question} is not closed")
            assert question not in run
            run[question] = (answer, confidence, nuggets)
    return runs


def read_entailment():
    """(run, question, nugget number) -> YES or NO."""
    rows = [line.split("\t") for line in lines(FILMS / "gold" / "entailment.tsv")]
    gold = {(run, question, int(number)): verdict for run, question, number, verdict in rows}
    assert len(gold) == len(rows)
    return gold


def read_answers():
    """(run, question) -> (YES or NO, relevant nugget numbers)."""
    rows = [line.split("\t") for line in lines(FILMS / "gold" / "answers.tsv")]
    gold = {
        (run, question): (verdict, [int(number) for number in relevant.split(",") if number])
        for run, question, verdict, relevant in rows
    }
    assert len(gold) == len(rows)
    return gold


def test_assay_toml_names_the_files():
    config = tomllib.loads((FILMS / "assay.toml").read_text(encoding="utf-8"))
    assert config["evaluation"]["protocol"] == "r2c2"
    assert config["labellers"]["default"] == "embedded"
    assert (FILMS / config["inputs"]["questions"]).is_file()
    for key, names in (("pr_runs", PR_RUNS), ("ac_runs", AC_RUNS | BY_MODEL)):
        found = {path.stem for glob in config["inputs"][key] for path in FILMS.glob(glob)}
        assert found == names


def test_questions():
    questions = read_questions()
    assert [row[0] for row in questions] == IDS
    assert all(len(row) == 4 and all(row) for row in questions)
    assert len({row[1] for row in questions}) == len(questions)
    counts = Counter(row[2] for row in questions)
    assert set(counts) == CATEGORIES
    assert min(counts.values()) >= 2
    for row in questions:
        answers = row[3].split("|")
        assert all(answer and answer == answer.strip() for answer in answers)
        assert len(set(answers)) == len(answers)


def test_pr_runs():
    runs = read_pr()
    assert set(runs) == PR_RUNS
    for name, run in runs.items():
        assert list(run) == IDS
        for passages in run.values():
            assert len(passages) == 5 if name in MADE else 1 <= len(passages) <= 5
            assert list(passages) == list(range(1, len(passages) + 1))
            assert set(passages) <= set(range(1, 21))
            assert len(set(passages.values())) == len(passages)
            for doc_id, text in passages.values():
                assert doc_id
                assert " " not in doc_id
                assert 0 < len(text) <= 200


def test_passages_hold_the_awkward_cases():
    passages = [
        (name, doc_id, text)
        for name, run in read_pr().items()
        for ranks in run.values()
        for doc_id, text in ranks.values()
    ]
    assert any(";" in text for _, _, text in passages)
    assert any(not text.isascii() for _, _, text in passages)
    runs_of = {}
    for name, doc_id, text in passages:
        runs_of.setdefault((doc_id, text), set()).add(name)
    assert sum(len(names) > 1 for names in runs_of.values()) >= 10


def test_ac_runs():
    pr_runs, runs = read_pr(), read_ac()
    assert set(runs) == AC_RUNS
    for name, run in runs.items():
        assert list(run) == [question for question in IDS if question in run], name
        for question, (answer, confidence, nuggets) in run.items():
            assert answer
            assert re.fullmatch(r"\d{1,3}", confidence)
            assert 0 <= int(confidence) <= 100
            limit = 5 if (name, question) == ("MODEST", "0001") else 4
            assert len(nuggets) <= limit
            assert [number for number, *_ in nuggets] == list(range(1, len(nuggets) + 1))
            for _, pr_run, rank, nugget in nuggets:
                assert rank in pr_runs[pr_run][question], (name, question, pr_run, rank)
                assert nugget


def test_runs_by_the_model_cite_what_they_were_shown():
    pr_runs = read_pr()
    for name, run in read_ac(BY_MODEL).items():
        assert set(run) <= set(IDS)
        source = name.partition("-")[0]
        for question, (answer, confidence, nuggets) in run.items():
            assert answer
            assert 0 <= int(confidence) <= 100
            assert [number for number, *_ in nuggets] == list(range(1, len(nuggets) + 1))
            for _, pr_run, rank, _ in nuggets:
                assert pr_run == source
                assert rank in pr_runs[pr_run][question]


def test_each_awkward_answer_occurs_once():
    runs = read_ac()
    silent = [(name, question) for name in runs for question in IDS if question not in runs[name]]
    assert silent == [("BOGUS", "0014")]
    blocks = [(name, q, *block) for name, run in runs.items() for q, block in run.items()]
    assert [block[:2] for block in blocks if block[2] == "I don't know"] == [("MODEST", "0013")]
    assert [block[:2] for block in blocks if not block[4]] == [("OVERCONFIDENT", "0006")]


def test_what_there_is_to_judge():
    pr_runs = read_pr()
    cited = [
        (pr_runs[pr_run][question][rank][1], nugget)
        for run in read_ac().values()
        for question, (_, _, nuggets) in run.items()
        for _, pr_run, rank, nugget in nuggets
    ]
    assert len(cited) >= 130
    assert len(set(cited)) >= 90


def test_gold_entailment_is_complete_and_consistent():
    pr_runs, runs, gold = read_pr(), read_ac(), read_entailment()
    verdicts = {}
    expected = set()
    for name, run in runs.items():
        for question, (_, _, nuggets) in run.items():
            for number, pr_run, rank, nugget in nuggets:
                key = (name, question, number)
                expected.add(key)
                pair = (pr_runs[pr_run][question][rank][1], nugget)
                verdicts.setdefault(pair, set()).add(gold[key])
    assert set(gold) == expected
    assert all(verdict in ({"YES"}, {"NO"}) for verdict in verdicts.values())


def test_gold_answers_are_complete_and_consistent():
    runs, entailment, gold = read_ac(), read_entailment(), read_answers()
    assert set(gold) == {(name, question) for name, run in runs.items() for question in run}
    gold_answers = {row[0]: {a.casefold() for a in row[3].split("|")} for row in read_questions()}
    for (name, question), (verdict, relevant) in gold.items():
        answer = runs[name][question][0]
        assert verdict == ("YES" if answer.casefold() in gold_answers[question] else "NO")
        assert relevant == sorted(set(relevant))
        assert verdict == "YES" or not relevant
        assert all(entailment[name, question, number] == "YES" for number in relevant)


@pytest.mark.parametrize(
    ("run", "correct"),
    [("MODEST", 12), ("OVERCONFIDENT", 7), ("UNDERCONFIDENT", 11), ("BOGUS", 7)],
)
def test_accuracy_under_gold(run, correct):
    verdicts = [verdict for (name, _), (verdict, _) in read_answers().items() if name == run]
    assert verdicts.count("YES") == correct


def test_confidence_is_what_the_runs_are_named_for():
    runs, gold = read_ac(), read_answers()
    scores = {
        name: {question: int(block[1]) for question, block in run.items()}
        for name, run in runs.items()
    }
    for question, score in scores["MODEST"].items():
        assert score >= 85 if gold["MODEST", question][0] == "YES" else score <= 25
    assert min(scores["OVERCONFIDENT"].values()) >= 90
    assert all(10 <= score <= 45 for score in scores["UNDERCONFIDENT"].values())


def test_bogus_run_is_mostly_bogus():
    rows = read_entailment()
    share = {
        name: sum(v == "NO" for (n, _, _), v in rows.items() if n == name)
        / sum(n == name for n, _, _ in rows)
        for name in AC_RUNS
    }
    assert share["BOGUS"] > 0.5
    assert all(value < 0.25 for name, value in share.items() if name != "BOGUS")


def test_the_slides_worked_example_is_verbatim():
    assert read_questions()[0] == [
        "0001",
        (
            "Name the actor who starred in a movie called The Manchurian Candidate "
            "and later played Captain America."
        ),
        "Multi-hop",
        "Anthony Mackie",
    ]
    assert lines(FILMS / "pr" / "ORACLE.txt")[:5] == SLIDES_PASSAGES
    assert lines(FILMS / "ac" / "MODEST.txt")[: len(SLIDES_BLOCK)] == SLIDES_BLOCK


def test_the_slides_worked_example_scores_as_in_the_slides():
    entailment = read_entailment()
    verdict, relevant = read_answers()["MODEST", "0001"]
    marks = "".join(
        "B" if entailment["MODEST", "0001", number] == "NO" else "NR"[number in relevant]
        for number in range(1, 6)
    )
    assert (verdict, marks) == ("YES", "NNBRR")
    assert len(relevant) / 5 == 0.4
    reward_over, reward_under = 1.0, 1.0 - (1 - 90 / 100)
    hmr = 2 * reward_over * reward_under / (reward_over + reward_under)
    assert hmr == pytest.approx(0.947368, abs=1e-6)
