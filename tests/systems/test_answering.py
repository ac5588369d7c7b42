"""Answers: AC runs and AG/RAG runs that always pass their validators, whatever a model says."""

import json
import re
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from assay.api.answer_options import AnswerProtocol, check_ac_name, pr_run_files, rules_of
from assay.cli.answer import answer_command
from assay.formats.r2c2_ac import read_ac_run
from assay.formats.r2c2_pr import read_pr_run
from assay.formats.trec_rag_answers import read_answers
from assay.labellers.base import BaseLabeller, Estimate, Outcome
from assay.labellers.refusals import refusal_in
from assay.ledger import Ledger
from assay.model.errors import AssayError, FormatError, SettingsError
from assay.model.labels import LabellerId, Status
from assay.model.rag import PassageKey
from assay.systems.answer_text import one_line, same_answer
from assay.systems.answering import (
    AnswerSettings,
    Confidence,
    PassageSource,
    answer_r2c2,
    sources_of,
)
from assay.systems.answering_reports import answer_trec_rag
from assay.systems.asking import Asker, Spending
from assay.systems.writers import make_writer, probability
from assay.tasks.answering import CERTAINTY, Certainty, DrawnAnswer, Report
from tests.engine.server import completion, serve

PR_ONE = (
    "1;1;Rocky;Carl Weathers plays Apollo Creed; the film is from 1976.\n"
    "1;2;Other;Another page.\n2;1;Rush;Chris Hemsworth plays James Hunt.\n"
)
PR_TWO = "1;1;Other;Another page.\n2;1;Kino;Ein Film.\n"
QUESTIONS = "1\tWho played Apollo Creed?\n2\tWhom did Hemsworth play?\n3\tWhat else?\n"


@pytest.fixture
def place(tmp_path):
    (tmp_path / "ONE.txt").write_text(PR_ONE)
    (tmp_path / "TWO.txt").write_text(PR_TWO)
    (tmp_path / "q.tsv").write_text(QUESTIONS)
    return tmp_path


def ask_of(body):
    return body["messages"][-1]["content"]


def question_of(body):
    return re.search(r"QUESTION\n(.*?)\nQUESTION", body["messages"][1]["content"]).group(1)


REPLIES = {
    "Who played Apollo Creed?": {
        "nuggets": [
            {"passage": 2, "nugget": "Carl Weathers plays\nApollo Creed; yes."},
            {"passage": 9, "nugget": "From nowhere."},
        ],
        "answer": "Carl Weathers; the actor",
        "confidence": 90,
    },
    "Whom did Hemsworth play?": {
        "nuggets": [{"passage": 1, "nugget": "Hemsworth plays Hunt."}],
        "answer": "James Hunt",
        "confidence": 20,
    },
}


def test_ac_run_through_the_command_line(assay, place):
    def script(body, _number):
        reply = REPLIES.get(question_of(body))
        return completion(json.dumps(reply) if reply else "I cannot")

    out = place / "ac" / "MINE.txt"
    with serve(script) as server:
        command = ["answer", place / "q.tsv", "-o", out, "--pr-runs", f"{place}/*.txt"]
        command += ["--model", f"openai:m@{server.url}", "--unknown-below", "50", "--json"]
        done = assay(*command)
        assert done.returncode == 1, done.stderr  # question 3 has no usable reply
        asked = len(server.requests)
        assert assay(*command).stdout.count('"asked": 0') == 1
        assert len(server.requests) == asked
    said = json.loads(done.stdout)
    assert said["failed"] == ["3"]
    assert said["unknown"] == 1
    assert out.read_text() == (
        "<1>\nCarl Weathers; the actor;90\n1;ONE;1;Carl Weathers plays Apollo Creed; yes.\n</1>\n"
        "<2>\nI don't know;20\n</2>\n"
    )
    side = [
        json.loads(line) for line in (out.parent / "MINE.unusable.jsonl").read_text().splitlines()
    ]
    assert {(row["question"], row["what"]) for row in side} == {
        ("1", "nugget"),
        ("2", "answer"),
        ("2", "nugget"),
        ("3", "reply"),
    }
    checked = assay("validate", out, "--format", "r2c2-ac", "--pr-runs", place / "ONE.txt")
    assert checked.returncode == 0, checked.stdout


def test_sampled_confidence_is_the_agreement_of_samples(assay, place):
    said = iter(["Weathers", "the weathers!", "Stallone", "Weathers", "Creed"] * 3)

    def script(body, _number):
        assert body["temperature"] == 0.7
        return completion(json.dumps({"nuggets": [], "answer": next(said), "confidence": 1}))

    (place / "q.tsv").write_text("1\tWho played Apollo Creed?\n")
    out = place / "S.txt"
    with serve(script) as server:
        command = ["answer", place / "q.tsv", "-o", out, "--pr-runs", place / "ONE.txt"]
        command += ["--model", f"openai:m@{server.url}", "--confidence", "sampled"]
        done = assay(*command)
        assert done.returncode == 0, done.stderr
        assert len(server.requests) == 5
    assert out.read_text() == "<1>\nWeathers;60\n</1>\n"


def test_samples_that_agree_on_not_knowing_are_no_confidence(place):
    sources = sources_of([read_pr_run(place / "ONE.txt").require()], ["1"], 8)
    how = AnswerSettings(Confidence.SAMPLED)
    with Ledger.open(place / "l.sqlite") as ledger:
        for said, expected in [("I don't know.", 0), ("Weathers", 100)]:
            verdict = DrawnAnswer(nuggets=[], answer=said, confidence=90)
            asker = Asker(ledger, Scripted(verdict, name=said))
            data, _ = answer_r2c2({"1": "Who?"}, sources, how, asker)
            assert data.decode() == f"<1>\n{said};{expected}\n</1>\n"


def test_samples_that_decline_agree_in_whatever_words(assay, place):
    said = iter(["Weathers", "Keine Ahnung.", "I have no idea", "わかりません", "Weathers"])

    def script(body, _number):
        return completion(json.dumps({"nuggets": [], "answer": next(said), "confidence": 1}))

    (place / "q.tsv").write_text("1\tWho played Apollo Creed?\n")
    out = place / "S.txt"
    with serve(script) as server:
        command = ["answer", place / "q.tsv", "-o", out, "--pr-runs", place / "ONE.txt"]
        command += ["--model", f"openai:m@{server.url}", "--confidence", "sampled"]
        assert assay(*command).returncode == 0
    answer, confidence = out.read_text().splitlines()[1].rsplit(";", 1)
    assert refusal_in(answer) is not None
    assert confidence == "0"


def test_logprob_confidence_is_the_probability_of_yes(assay, place):
    def script(body, _number):
        if not body.get("logprobs"):
            return completion(json.dumps({"nuggets": [], "answer": "A", "confidence": 1}))
        assert body["max_tokens"] == 1
        top = [{"token": "Yes", "logprob": -0.2231}, {"token": " no", "logprob": -1.6094}]
        reply = completion("Yes")
        reply["choices"][0]["logprobs"] = {"content": [{"token": "Yes", "top_logprobs": top}]}
        return reply

    (place / "q.tsv").write_text("1\tWho played Apollo Creed?\n")
    out = place / "L.txt"
    with serve(script) as server:
        command = ["answer", place / "q.tsv", "-o", out, "--pr-runs", place / "ONE.txt"]
        command += ["--model", f"openai:m@{server.url}", "--confidence", "logprob"]
        done = assay(*command)
    assert done.returncode == 0, done.stderr
    assert out.read_text() == "<1>\nA;80\n</1>\n"
    assert probability(0) == 0.5
    assert probability(800) == 1
    assert probability(-800) == 0


class Scripted(BaseLabeller):
    """Says what it is told to."""

    def __init__(self, verdict, name="scripted"):
        self.verdict = verdict
        self.name = name

    @property
    def id(self):
        return LabellerId(self.name, "model", {})

    async def label(self, request):
        if request.task is CERTAINTY:
            return Outcome(Status.OK, Certainty(probability=0.25))
        return Outcome(Status.OK, self.verdict)


TEXT = st.text(alphabet='ab;<>/1 \n\u2028|\x0c"“é\x00\x1b\u200b\ufeff', max_size=30)
TEXT |= st.lists(st.sampled_from(["a", "</1>", "< / 2 >", " ", ";", "3;ONE;1;"])).map("".join)
NUGGETS = st.lists(st.tuples(st.integers(-2, 5), TEXT), max_size=14)


@settings(max_examples=60)
@given(
    answer=TEXT, confidence=st.integers(0, 100), nuggets=NUGGETS, low=st.sampled_from([None, 50])
)
def test_every_ac_run_passes_the_validator(tmp_path_factory, answer, confidence, nuggets, low):
    place = tmp_path_factory.mktemp("ac")
    (place / "ONE.txt").write_text(PR_ONE)
    run = read_pr_run(place / "ONE.txt").require()
    items = [{"passage": number, "nugget": text} for number, text in nuggets]
    verdict = DrawnAnswer(nuggets=items, answer=answer, confidence=confidence)
    with Ledger.open(place / "l.sqlite") as ledger:
        data, made = answer_r2c2(
            {"1": "Who?", "2": "What?"},
            sources_of([run], ["1", "2"], 8),
            AnswerSettings(unknown_below=low),
            Asker(ledger, Scripted(verdict)),
        )
    if not one_line(answer):
        assert not data
        assert made.failed == ["1", "2"]
        return
    (place / "RUN.txt").write_bytes(data)
    parsed = read_ac_run(place / "RUN.txt", pr_runs={"ONE": run})
    assert not parsed.errors, parsed.errors
    assert set(parsed.value.run.answers) == {"1", "2"}
    kept = sum(len(one.nuggets) for one in parsed.value.run.answers.values())
    dropped = sum(row["what"] == "nugget" for row in made.unusable)
    assert kept + dropped == 2 * len(nuggets)  # below the threshold, too


def test_passages_of_several_runs_are_fused_and_stand_once(place):
    runs = [read_pr_run(place / f"{name}.txt").require() for name in ("ONE", "TWO")]
    found = sources_of(runs, ["1", "2", "9"], 5)
    assert [(str(s.key), s.doc) for s in found["1"]] == [("ONE;2", "Other"), ("ONE;1", "Rocky")]
    assert [str(s.key) for s in found["2"]] == ["ONE;1", "TWO;1"]
    assert found["9"] == []


def test_answers_are_compared_without_case_articles_and_punctuation():
    assert same_answer("The Castle, of Cagliostro!") == same_answer("castle of cagliostro")


REPORT = {
    "sentences": [
        {"text": "Carl Weathers plays him.", "citations": [2, 1, 2, 7]},
        {"text": "It is a film.\n", "citations": []},
        {"text": " \u200b", "citations": [1]},
        {"text": "word " * 395, "citations": [1]},
        {"text": "Short end.", "citations": [1]},
    ]
}


@pytest.mark.parametrize("year", ["2024", "2025", "2026"])
def test_rag_run_through_the_command_line(assay, place, year):
    doc = {"2026": "shard_{}_7"}.get(year, "msmarco_v2.1_doc_0{}_1#2_3")
    (place / "ONE.txt").write_text(
        f"t1;1;{doc.format(1)};text one\nt1;2;{doc.format(2)};text two\n"
    )
    (place / "topics.jsonl").write_text('{"id": "t1", "title": "Who is Apollo Creed?"}\n')
    out = place / "rag.jsonl"
    with serve(lambda _body, _n: completion(json.dumps(REPORT))) as server:
        command = ["answer", place / "topics.jsonl", "-o", out, "--protocol", "trec-rag", "--json"]
        command += ["--pr-runs", place / "ONE.txt", "--year", year]
        done = assay(*command, "--model", f"openai:m@{server.url}")
    assert done.returncode == 0, done.stderr
    answer = read_answers(out, year=year).require().answers["t1"]
    assert answer.length <= 400
    assert answer.sentences[0].citations == (doc.format(2), doc.format(1))
    assert answer.sentences[1].citations == ()
    side = [json.loads(line) for line in (place / "rag.unusable.jsonl").read_text().splitlines()]
    assert [row["what"] for row in side] == ["citation", "sentence", "sentence", "sentence"]
    checked = assay("validate", out, "--format", "trec-rag", "--year", year, "--strict")
    assert checked.returncode == 0, checked.stdout


def test_a_run_keeps_to_the_years_limits(tmp_path):
    """Citations of a sentence, documents in all; the strongest stay, in their order."""
    sources = [PassageSource(PassageKey("", n), f"d{n}", "text") for n in range(1, 10)]
    said = [{"text": f"Sentence {n}.", "citations": [n + 3, n, n + 1, n + 2]} for n in range(1, 6)]
    with Ledger.open(tmp_path / "l.sqlite") as ledger:
        (answer,), made = answer_trec_rag(
            {"t": "x"},
            {"t": sources},
            AnswerSettings(passages=9),
            Asker(ledger, Scripted(Report.model_validate({"sentences": said}))),
            run="r",
            team="t",
            most_citations=3,
            most_references=6,
        )
    assert answer.sentences[0].citations == ("d4", "d1", "d2")
    assert answer.sentences[4].citations == ("d5", "d6")
    assert answer.references == tuple(f"d{n}" for n in range(1, 7))
    assert {row["why"] for row in made.unusable} == {
        "more than 3 citations",
        "more than 6 documents",
    }


def test_report_over_the_limit_keeps_the_beginning(tmp_path):
    with Ledger.open(tmp_path / "l.sqlite") as ledger:
        answers, made = answer_trec_rag(
            {"t": "x"},
            {"t": []},
            AnswerSettings(words=10),
            Asker(ledger, Scripted(Report.model_validate(REPORT))),
            run="r",
            team="t",
        )
    assert [s.text for s in answers[0].sentences] == ["Carl Weathers plays him.", "It is a film."]
    assert len(made.unusable) == 3 + 1 + 3  # citations of the two that stay, then the sentences


def test_a_trec_run_takes_its_texts_from_the_corpus(assay, place):
    (place / "docs.jsonl").write_text('{"id": "d1", "text": "Apollo is played by Weathers."}\n')
    assert assay("corpus", "build", place / "docs.jsonl", place / "corpus").returncode == 0
    (place / "r.run").write_text("t1 Q0 d1#0 1 2.5 R\n")
    (place / "topics.jsonl").write_text('{"id": "t1", "title": "Who is Apollo Creed?"}\n')
    command = ["answer", place / "topics.jsonl", "-o", place / "a.jsonl", "--protocol", "trec-rag"]
    command += ["--trec-run", place / "r.run", "--corpus", place / "corpus"]
    with serve(lambda body, _n: completion(json.dumps(REPORT))) as server:
        done = assay(*command, "--model", f"openai:m@{server.url}")
        assert done.returncode == 0, done.stderr
        assert "Apollo is played by Weathers." in ask_of(server.requests[0])


def test_wrong_use(assay, place):
    one = [str(place / "ONE.txt")]
    rag = AnswerProtocol.TREC_RAG
    for more, says in [
        ({}, "--pr-runs"),
        ({"pr_runs": [str(place / "q.tsv")]}, "faults in the input"),
        ({"confidence": Confidence.SAMPLED, "temperature": 0.0}, "all samples are the same"),
        ({"protocol": rag}, "Give exactly one of"),
        ({"pr_runs": one, "budget": 1.0}, "--price IN/OUT"),
        ({"pr_runs": one, "price": "cheap"}, "0.4/1.6"),
        ({"pr_runs": one, "protocol": rag, "confidence": Confidence.LOGPROB}, "no confidence"),
        ({"pr_runs": one, "protocol": rag, "unknown_below": 5}, "no confidence"),
        ({"pr_runs": one, "samples": 3}, "only work with --confidence sampled"),
        ({"pr_runs": one, "words": 100}, "only work with --protocol trec-rag"),
    ]:
        with pytest.raises(AssayError, match=says):
            answer_command(
                place / "q.tsv", place / "x.txt", "openai:m@http://127.0.0.1:9/v1", **more
            )
    for spec in ("rules", "human:KIM", "ensemble:all", "openai:"):
        with pytest.raises(SettingsError, match="not a model that can write"):
            make_writer(spec, folder=place)
    command = ["answer", place / "q.tsv", "-o", place / "x.txt", "--pr-runs", place / "ONE.txt"]
    done = assay(*command, "--model", "rules")
    assert (done.returncode, "not a model that can write" in done.stderr) == (2, True)
    assert not list(place.glob("x.*"))


def test_what_cannot_be_handed_in_is_refused_before_anybody_is_asked(place):
    (place / "elsewhere").mkdir()
    (place / "elsewhere" / "ONE.txt").write_text(PR_TWO)
    with pytest.raises(SettingsError, match="both called run ONE"):
        pr_run_files([str(place / "ONE.txt"), str(place / "elsewhere")])
    twice = pr_run_files([f"{place}/*E.txt", str(place / "ONE.txt")])
    assert twice == [place / "ONE.txt"]
    with pytest.raises(FormatError, match="';'"):
        check_ac_name(place / "a;b.txt")
    for year, name, team, words, says in [
        ("2024", "r.jsonl", "t", 401, "allows at most 400 words"),
        ("2026", "a name of many words.jsonl", "t", None, "at most 20"),
        ("2025", "r.jsonl", " ", None, "--team"),
        ("2023", "r.jsonl", "t", None, "--year"),
    ]:
        with pytest.raises(SettingsError, match=says):
            rules_of(year, place / name, team, words)
    assert rules_of("2026", place / "r.jsonl", "t", 1024).max_words == 1024


def test_a_budget_is_shared_by_all_that_is_asked(place):
    """Answers and the question whether they are correct come out of one budget."""
    spending = Spending(1.0)

    class Dear(Scripted):
        async def label(self, request):
            return replace(await super().label(request), cost=0.6)

        def estimate(self, request):
            return Estimate(1, 1, 1, 0.6, 0.6)

    with Ledger.open(place / "l.sqlite") as ledger:
        verdict = DrawnAnswer(nuggets=[], answer="A", confidence=1)
        askers = [Asker(ledger, Dear(verdict), spending=spending) for _ in range(2)]
        sources = sources_of([read_pr_run(place / "ONE.txt").require()], ["1"], 8)
        how = AnswerSettings(Confidence.LOGPROB)
        data, made = answer_r2c2({"1": "Who?"}, sources, how, *askers)
    assert (data, made.missing) == (b"", ["1"])
    assert spending.tally.cost == 0.6
