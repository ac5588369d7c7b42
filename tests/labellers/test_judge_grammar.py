"""training/grammar.py and broaden.py: whether what is trained on says what its label says."""

from __future__ import annotations

import random
import re
import sys

import pytest

from tests.conftest import ROOT

SENTENCES = (
    "Ada Novak was born in the town of Brno.", "The bridge over the Elbe was built by Carl Weiss.",
    "Seven rivers are crossed by the old railway.", "The library in Ulm is open on Sundays.",
)  # fmt: skip


@pytest.fixture
def training(monkeypatch):
    monkeypatch.syspath_prepend(str(ROOT / "training"))
    before = set(sys.modules)
    import broaden
    import grammar

    yield grammar, broaden
    folders = (str(ROOT / "training"), str(ROOT / "calibration"))
    for name in set(sys.modules) - before:
        if str(getattr(sys.modules[name], "__file__", "")).startswith(folders):
            del sys.modules[name]
    sys.path[:] = [path for path in sys.path if path not in folders]


def people(grammar):
    row = grammar.Row
    claims = [
        row(f"e{at}", "E", "snli", "train", one, f"{one} It is much visited by people.", 1.0)
        for at, one in enumerate(SENTENCES)
    ]
    questions = [
        row(f"a{at}", "A", "qnli", "train", f"Who wrote about no. {at}?", one, float(at % 2))
        for at, one in enumerate(SENTENCES)
    ]
    answers = [
        row(f"c{at}", "C", "evouna", "train", f"The answer to it is {gold}.", "", 1.0,
            f"Who did no. {at}?", (gold,))
        for at, gold in enumerate(("Weiss", "Novak", "Kowalski", "Haddad", "Sato"))
    ]  # fmt: skip
    return [*claims, *questions, *answers]


def made(grammar, *, held, counts):
    chance = random.Random(4)
    rows = people(grammar)
    maker = grammar.Augmenter(rows, chance)
    return list(grammar.Framer(rows, maker, grammar.Grammar(chance, held=held)).rows(*counts))


def test_what_is_held_out_is_never_drawn(training):
    grammar, _ = training
    trained = grammar.Grammar(random.Random(1), held=False).sections
    held = grammar.Grammar(random.Random(1), held=True).sections
    assert trained.keys() == held.keys()
    for name, own in held.items():
        assert own
        assert trained[name]
        assert not set(own) & set(trained[name]), name
    wordings = {held_out: len(own) for held_out, own in held.items()}
    assert 0.1 < sum(wordings.values()) / sum(map(len, trained.values())) < 0.3


@pytest.mark.parametrize("held", [False, True])
def test_every_part_of_a_wording_is_filled(training, held):
    grammar, _ = training
    rows = made(grammar, held=held, counts=(300, 100, 300))
    assert len(rows) == 700
    for row in rows:
        assert not re.search(r"[<>{}]", row.claim + row.passage), row
    for ability in "EAC":
        assert {row.label for row in rows if row.ability == ability} == {0.0, 1.0}


def test_no_word_of_denial_gives_the_label_away(training):
    """As many texts with a *not* in them are right as there are among all, by some."""
    grammar, _ = training
    rows = made(grammar, held=False, counts=(1500, 0, 1500))
    for ability in "EC":
        own = [row for row in rows if row.ability == ability]
        text = {id(row): f"{row.claim} {row.passage}" for row in own}
        denying = [row for row in own if re.search(r"\b(?:not?|n't|never)\b", text[id(row)])]
        share = sum(row.label for row in denying) / len(denying)
        assert 0.2 < share < 0.6


def test_one_of_two_claims_is_asserted_and_which_decides(training):
    grammar, _ = training
    chance = random.Random(2)
    rows = people(grammar)
    framer = grammar.Framer(
        rows, grammar.Augmenter(rows, chance), grammar.Grammar(chance, held=False)
    )
    framer.short = ["Rain fell."]
    framer.grammar.sections["both"] = ["Not that {no}, but {yes}."]
    for _ in range(40):
        row = framer.one_of_two()
        asserted = row.passage.partition(", but ")[2].casefold()
        assert (row.claim.rstrip(".").casefold() in asserted) == bool(row.label)
    framer.grammar.sections["given and denied"] = ["{yes}, not {no}"]
    for _ in range(40):
        row = framer.around_answer("given and denied")
        assert (row.claim.partition(", not ")[0] == row.gold[0]) == bool(row.label)


def test_a_claim_is_negated_once_or_not_at_all(training):
    grammar, _ = training
    assert grammar.negated(SENTENCES[0]) == "Ada Novak was not born in the town of Brno."
    assert grammar.negated("It has been seen there.") == "It has not been seen there."
    assert grammar.negated("Nobody was seen there.") is None
    assert grammar.negated("They sing.") is None


def test_two_names_are_turned_where_that_says_something_else(training):
    _, broaden = training
    assert broaden.roles("Carl Weiss taught Ada Novak in Ulm.") == (
        "Ada Novak taught Carl Weiss in Ulm."
    )
    assert broaden.roles("Carl Weiss met Ada Novak in Ulm.") is None
    assert broaden.roles("Ulm is a town.") is None
