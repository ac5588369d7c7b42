"""What is no right answer, whatever words it shares with the gold answer, and what seems so."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.formats.r2c2_questions import read_questions
from assay.labellers.base import BaseLabeller, Request, request_key
from assay.labellers.denials import NOT_PLAIN, fault_in, named_only, names
from assay.labellers.judge.evidence import Tokens
from assay.labellers.judge.labeller import JudgeLabeller
from assay.labellers.judge.model import Floats, Network, packaged_tokenise
from assay.labellers.judge.texts import ABILITIES
from assay.labellers.refusals import gold_declines, refusal_in, same_words
from assay.labellers.rules import RulesLabeller, states
from assay.tasks.r2c2 import (
    ANSWER,
    DIALOGUE_ACT,
    AnswerUnit,
    AnswerVerdict,
    DialogueAct,
    DialogueActUnit,
)
from tests.films import FILMS
from tests.labellers.answer_cases import (
    ALTERNATIVES,
    ANSWERS,
    DENIALS,
    OTHER_ACTS,
    REFUSALS,
    RELATIONS,
    RIGHT,
)

CARD = Path(__file__).parents[2] / "src/assay/labellers/judge/data/CARD.md"

QUESTIONS = [one for one in read_questions(FILMS / "questions.tsv").require() if one.gold]
WHO = "Who played Apollo Creed in the 1976 film Rocky?"
WEATHERS = ("Carl Weathers", "Weathers")
NAMES = (
    "Burt Young", "Talia Shire", "Tony Burton", "Joe Frazier", "Mr. T", "Dolph Lundgren",
)  # fmt: skip


def filled(form: str, gold: str, other: str = NAMES[0]) -> str:
    return form.format(gold=gold, other=other, others=", ".join(NAMES))


@pytest.mark.parametrize("language", REFUSALS)
def test_refusals_are_recognised_in_many_languages(language: str) -> None:
    for text in REFUSALS[language]:
        found = refusal_in(text)
        assert found is not None, text
        assert found.act == "dont_know", text


@pytest.mark.parametrize("act", OTHER_ACTS)
def test_kinds_of_refusals_are_distinguished(act: str) -> None:
    for text in OTHER_ACTS[act]:
        found = refusal_in(text)
        assert found is not None, text
        assert found.act == act, text


@pytest.mark.parametrize("text", ANSWERS)
def test_a_hesitant_answer_is_not_a_refusal(text: str) -> None:
    assert refusal_in(text) is None


def test_gold_answers_say_whether_refusing_is_right() -> None:
    assert gold_declines(["The question rests on a false premise."])
    assert gold_declines(["I don't know", "unknown", "It cannot be determined."])
    assert not gold_declines(["Unknown"])  # a name
    assert not gold_declines(["unknown", "Carl Weathers"])
    assert not gold_declines(["I Don't Know How She Does It"])
    assert not gold_declines(["none"])
    assert not gold_declines(["-"])
    assert not gold_declines([])


def test_names_with_a_slash_between_them_are_a_choice() -> None:
    assert fault_in(WHO, "Carl Weathers/Burt Young", WEATHERS) is not None


def test_an_empty_answer_declines() -> None:
    assert refusal_in("") is not None
    assert refusal_in("<p> </p>") is not None


@pytest.mark.parametrize("answer", ["It isn't Beyonce.", "It is not Beyoncé-Knowles."])
def test_accents_and_hyphens_do_not_hide_a_denial(answer: str) -> None:
    assert fault_in("Who sings?", answer, ["Beyoncé Knowles", "Beyoncé"]) is not None


@pytest.mark.parametrize("form", [*DENIALS, *ALTERNATIVES, *RELATIONS])
def test_a_gold_answer_that_is_denied_undecided_or_only_mentioned_is_not_an_answer(
    form: str,
) -> None:
    for place, question in enumerate(QUESTIONS):
        other = QUESTIONS[(place + 1) % len(QUESTIONS)].gold[0]
        answer = filled(form, question.gold[0], other)
        assert fault_in(question.text, answer, question.gold) is not None, answer


LONG = (
    ("Nausicaä of the Valley of the Wind", "The Castle of Cagliostro"),
    ("The Assassination of Jesse James by the Coward Robert Ford", "Burt Young"),
    ("Carl Weathers", "The Curious Case of Benjamin Button"),
    ("The Lord of the Rings: The Return of the King", "Eternal Sunshine of the Spotless Mind"),
)


@pytest.mark.parametrize(("gold", "other"), LONG)
def test_long_titles_are_treated_like_names(gold: str, other: str) -> None:
    question = "Which film did the director make next?"
    for form in (*DENIALS, *ALTERNATIVES, "{gold}, {others}"):
        answer = filled(form, gold, other)
        assert fault_in(question, answer, [gold]) is not None, answer
    for form in RIGHT:
        answer = filled(form, gold, other)
        assert fault_in(question, answer, [gold]) is None, answer


@pytest.mark.parametrize("gold", ["Paris", "Nausicaä of the Valley of the Wind"])
def test_doubt_with_a_single_guess_is_an_answer(gold: str) -> None:
    for form in ("I don't know, maybe {gold}?", "I'm not sure, perhaps {gold}."):
        assert fault_in("Which one?", filled(form, gold), [gold]) is None


@pytest.mark.parametrize(
    ("answer", "good"),
    [
        ("blue, white and red", True),
        ("Red, white and blue", True),
        ("red, white, blue, green, yellow and black", False),
        ("Red, White, Blue, Green", False),
    ],
)
def test_a_set_may_be_in_any_order_but_must_have_nothing_else(answer: str, good: bool) -> None:
    gold = ("blue, white and red",)
    question = "Which three colours are on the French flag?"
    assert (fault_in(question, answer, gold) is None) is good
    unit = AnswerUnit(question=question, answer=answer, gold=gold)
    assert asyncio.run(RulesLabeller().label(Request(ANSWER, unit))).verdict.correct is good


def test_a_place_with_its_country_is_not_a_set() -> None:
    answer = "The Gateway Arch, the tallest arch, is in St. Louis, Missouri, USA."
    assert fault_in("In which city is it?", answer, ["St. Louis, Missouri", "St. Louis"]) is None
    assert fault_in("Where is it?", "Vienna, Lower Austria, Austria", ["Vienna, Austria"]) is None


@pytest.mark.parametrize(
    "answer",
    [
        "Ask {gold}'s agent; I don't know.",
        "The name {gold} appears, but the passages do not say who directed it.",
    ],
)
def test_a_refusal_that_mentions_the_gold_answer_is_a_refusal(answer: str) -> None:
    assert refusal_in(filled(answer, "Ridley Scott")) is not None


def test_a_sentence_is_not_a_title() -> None:
    answer = "The Wind Rises, or as it was called when it first came out in Japan, Kaze Tachinu"
    assert fault_in("Which film?", answer, ["The Wind Rises"]) is None


@pytest.mark.parametrize("form", RIGHT)
def test_an_answer_that_decides_on_the_gold_answer_has_no_fault(form: str) -> None:
    for place, question in enumerate(QUESTIONS):
        other = QUESTIONS[(place + 1) % len(QUESTIONS)].gold[0]
        answer = filled(form, question.gold[0], other)
        assert fault_in(question.text, answer, question.gold) is None, answer


@pytest.mark.parametrize(
    ("question", "answer", "gold"),
    [
        ("Who sings in the band?", "Ann, Bob, Cid, Dan and Eve", ("Ann", "Bob", "Cid")),
        ("Which actors played Batman?", "Adam West, Michael Keaton, Val Kilmer, Bale", ("Bale",)),
        ("Who holds the other powers?", "the states or the people", ("the states or the people",)),
        ("Which state does not change its clocks?", "Arizona does not.", ("Arizona",)),
        ("Which is not a mammal?", "The shark is not a mammal.", ("shark",)),
        ("What is the verdict?", "Not guilty.", ("not guilty",)),
        ("When was it released?", "It was not released until 1960.", ("1960",)),
        ("Where is it?", "In Landover, Prince George's County, Maryland, USA.", ("Landover",)),
        ("In which part of the arm is it?", "The elbow, either inside or outside.", ("elbow",)),
        ("Which bands played?", "Queen and Blur", ("Queen",)),
        ("Who wrote it?", "Art Carney for Harry and Tonto", ("Art Carney",)),
        ("Which band?", "AC/DC", ("AC/DC",)),
        ("In which year?", "12/25/1999", ("1999",)),
        ("Whose son was he?", "The son of Abraham.", ("Abraham",)),
        ("Who sings it?", "It is Adele's song.", ("Adele",)),
        ("How many are left?", "None", ("0",)),
        ("Which road leads there?", "Pass", ("pass",)),
        ("Which sign is it?", "-", ("-",)),
        ("What has she?", "Je ne sais quoi", ("je ne sais quoi",)),
        ("Is the author known?", "No, nobody knows.", ("No",)),
        ("Which 2011 film stars Liam Neeson?", "Unknown", ("Unknown",)),
        ("Which film is by Koreeda?", "誰も知らない", ("誰も知らない", "Nobody Knows")),
    ],
)
def test_honest_answers_that_look_like_denials_or_choices(
    question: str, answer: str, gold: tuple[str, ...]
) -> None:
    assert fault_in(question, answer, gold) is None


@given(st.text(max_size=80), st.text(max_size=200), st.lists(st.text(max_size=20), max_size=3))
def test_any_text_can_be_checked(question: str, answer: str, gold: list[str]) -> None:
    fault_in(question, answer, gold)
    assert fault_in(question, "Carl Weathers", ["carl weathers"]) is None


@pytest.mark.parametrize(
    "text",
    [
        "not carl weathers " * 9000,
        "a or " * 300,
        "i don't know " * 110,
        "is the " * 210,
        "(" * 1500,
    ],
)
def test_long_and_hostile_texts_are_checked_quickly(text: str) -> None:
    fault_in(WHO, text, ["Carl Weathers", "a"])


# --- the labellers -------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def judge() -> JudgeLabeller:
    return JudgeLabeller()


def said(labeller: BaseLabeller, answers: list[str], gold: tuple[str, ...]) -> list[AnswerVerdict]:
    units = [AnswerUnit(question=WHO, answer=answer, gold=gold) for answer in answers]

    async def ask() -> list[AnswerVerdict]:
        found = await asyncio.gather(*(labeller.label(Request(ANSWER, unit)) for unit in units))
        verdicts = [one.verdict for one in found if one is not None]
        return [one for one in verdicts if isinstance(one, AnswerVerdict)]

    return asyncio.run(ask())


class Yes(Network):
    """Answers yes to everything."""

    def __init__(self) -> None:
        self.tokenise = packaged_tokenise()

    def logits(self, pairs: Sequence[tuple[Tokens, Tokens]]) -> Floats:
        return np.tile([-9.0, -9.0, 9.0], (len(pairs), len(ABILITIES), 1))


@pytest.mark.parametrize(
    "labeller", [JudgeLabeller(network=Yes()), RulesLabeller()], ids=["judge", "rules"]
)
def test_no_wrong_answer_of_the_table_is_called_right(labeller: BaseLabeller) -> None:
    """The rules decide whatever the network says."""
    wrong = [text for texts in (*REFUSALS.values(), *OTHER_ACTS.values()) for text in texts]
    wrong += [filled(form, "Carl Weathers") for form in (*DENIALS, *ALTERNATIVES, *RELATIONS)]
    for answer, verdict in zip(wrong, said(labeller, wrong, WEATHERS), strict=True):
        assert not verdict.correct, answer
        assert "Agrees" not in verdict.reason
        assert verdict.reason.endswith((".", "”"))


@pytest.mark.parametrize("which", ["judge", "rules"])
def test_hesitant_and_contrasting_answers_stay_right(which: str, judge: JudgeLabeller) -> None:
    labeller: BaseLabeller = judge if which == "judge" else RulesLabeller()
    right = [
        "Carl Weathers",
        "I'm not sure, but it was Carl Weathers.",
        "No, it was Carl Weathers.",
    ]
    assert all(verdict.correct for verdict in said(labeller, right, WEATHERS))


@pytest.mark.parametrize("which", ["judge", "rules"])
def test_a_refusal_is_right_where_the_gold_answer_is_one(which: str, judge: JudgeLabeller) -> None:
    labeller: BaseLabeller = judge if which == "judge" else RulesLabeller()
    (verdict,) = said(labeller, ["I cannot answer."], ("The question has a false premise.",))
    assert verdict.correct


def test_rules_say_the_dialogue_act() -> None:
    unit = DialogueActUnit(question=WHO, answer="Keine Ahnung.")
    outcome = asyncio.run(RulesLabeller().label(Request(DIALOGUE_ACT, unit)))
    assert outcome.verdict == DialogueAct(act="dont_know", reason="It says 'keine ahnung'.")  # type: ignore[arg-type]


def test_rules_find_a_gold_answer_in_a_script_without_spaces() -> None:
    unit = AnswerUnit(question="誰の監督作品ですか", answer="監督は黒澤明です。", gold=("黒澤明",))
    outcome = asyncio.run(RulesLabeller().label(Request(ANSWER, unit)))
    assert isinstance(outcome.verdict, AnswerVerdict)
    assert outcome.verdict.correct


@pytest.mark.parametrize("word", ["not/", "n't/", "not'", "wrong/", "“"])
def test_a_very_long_answer_of_few_words_is_checked_quickly(word: str) -> None:
    """This once took minutes, as patterns searched from each word to the end."""
    answer = f"{word * 25_000} Carl Weathers"
    assert (fault_in(WHO, answer, WEATHERS) is None) == (word in ("n't/", "“"))
    assert named_only(WHO, answer, WEATHERS) in (None, NOT_PLAIN)


def test_labels_by_earlier_rules_belong_to_another_labeller(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    request = Request(ANSWER, AnswerUnit(question=WHO, answer="Unknown", gold=WEATHERS))
    now = [(who.id, request_key(who, request)) for who in (RulesLabeller(), JudgeLabeller())]
    monkeypatch.setattr("assay.labellers.rules.VERSION", 1)
    monkeypatch.setattr("assay.labellers.judge.labeller.VERSION", 1)
    before = [(who.id, request_key(who, request)) for who in (RulesLabeller(), JudgeLabeller())]
    assert all(a[0] != b[0] and a[1] != b[1] for a, b in zip(now, before, strict=True))


def test_the_card_says_how_many_cases_there_are() -> None:
    refusals = sum(map(len, (*REFUSALS.values(), *OTHER_ACTS.values())))
    counts = (refusals, len(ANSWERS), len(DENIALS), len(ALTERNATIVES), len(RELATIONS))
    text = " ".join(CARD.read_text("utf-8").split())
    refused, answered, denied, chosen, related = counts
    assert f"{refused} refusals in 19 languages and a few more, {answered} answers" in text
    assert f"{denied} denials, {chosen} choices and lists and {related} relations" in text


@pytest.mark.parametrize("gap", [2_000 * " ", 2_000 * "\n", 500 * "\t \n"])
def test_wide_gaps_in_answers_become_a_space_or_a_line_break(gap: str) -> None:
    denied = fault_in("Who?", f"It is not{gap}Paris.", ["Paris"])
    assert denied == "It denies or doubts the gold answer."
    assert fault_in("Who?", f"Rome{gap}or{gap}Paris", ["Paris"]) is not None
    assert fault_in("Who?", f"Paris{gap}x", [f"Paris{gap}y"]) is None
    assert refusal_in(f"Sorry!{gap}I don't know.") is not None
    assert states(f"Paris{gap}Rome", f"Paris,{gap}Rome")


def test_an_answer_does_not_contain_a_longer_gold_answer() -> None:
    assert fault_in("Who?", "It is not Paris.", ["Paris " * 20_000]) is None
    assert not states("Paris", "Paris " * 20_000)


def test_a_question_with_thousands_of_gold_answers() -> None:
    golds = [f"Person {n} of Rome" for n in range(5_000)]
    assert fault_in("Who?", "It is not Person 4999 of Rome.", golds) is not None
    assert fault_in("Who?", "It is Person 4999 of Rome.", golds) is None


@pytest.mark.parametrize(
    ("answer", "gold", "stated"),
    [
        ("12,5 mètres", "5", False),
        ("12.5 metres", "12", False),
        ("0.5", "5", False),
        ("12 000 habitants", "12", False),
        ("12\u202f000 habitants", "12000", True),
        ("about 12,000 people", "12000", True),
        ("1,5 km", "1.5", True),
        ("5, or so", "5", True),
        ("in March 1932, 5 years later", "1932", True),
        ("1914–1918", "1918", True),
        ("Am 14.07.1789 begann sie.", "1789", True),
        ("It was on July 4,1776.", "1776", True),
        ("0,1776", "1776", False),
        ("version 2.0.1", "1", False),
        ("−5 °C", "5 °C", False),
        ("5 °C", "-5 °C", False),
        ("−5 °C", "-5 °C", True),
        ("十五人", "五人", False),
        ("3亿", "3", False),
        ("1958年です", "1958年", True),
        ("高橋陽子です", "高橋 陽子", True),
        ("バリです", "パリ", False),
        ("ﾊﾟﾘです", "パリ", True),
        ("वह रामी है", "राम", False),  # vowels of these scripts are marks
        ("दिन", "दान", False),
        ("वह राम है।", "राम", True),
        ("มันดี", "ด", False),
        ("এর দাম ৳500", "500", True),
        ("กรุงเทพฯ เป็นเมืองหลวง", "กรุงเทพ", True),
        ("ရန်ကုန်မြို့", "ရန်ကုန်", True),
        ("نُشرت عام ١٩٥٧", "1957", True),
        ("१५ अगस्त", "5 अगस्त", False),
        ("Hélène Coeurderoy", "Hélène Cœurderoy", True),
        ("C++", "C", False),
        ("It is C.", "C++", False),
    ],
)
def test_only_whole_numbers_and_equal_letters_match(answer: str, gold: str, stated: bool) -> None:
    assert states(answer, gold) is stated


def test_a_year_before_a_three_digit_number_is_a_number_of_its_own() -> None:
    assert names("In 2010 100 people moved.", "2010")
    assert not names("12 000 people moved.", "12")
    assert fault_in("When was it?", "It was not in 2010 100 people moved.", ["2010"]) is not None


def test_what_is_word_for_word_has_the_sign_of_a_number_and_may_lack_spaces_without_words() -> None:
    assert not same_words("-5 degrees", "5 degrees")
    assert same_words("−5 degrees", "-5 degrees")
    assert not same_words("C", "C++")
    assert same_words("斎藤一", "斎藤 一")
    assert same_words("1914 – 1918", "1914-1918")
