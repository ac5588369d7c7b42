"""training/grammar.py and broaden.py: whether what is trained on says what its label says."""

from __future__ import annotations

import html
import json
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


def framer_of(grammar, seed):
    chance, rows = random.Random(seed), people(grammar)
    framer = grammar.Framer(
        rows, grammar.Augmenter(rows, chance), grammar.Grammar(chance, held=False)
    )
    framer.short = ["Rain fell."]
    return framer


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
    sections = grammar.Grammar(random.Random(1), held=held).sections
    texts = "claim|not_claim|gold|other|third|yes|no|question|said"
    unfilled = re.compile(rf"<(?:{'|'.join(sections)})\??>|\{{(?:{texts})\}}|&(?:lt|gt|#124);")
    for row in rows:
        assert not unfilled.search(row.claim + row.passage), row
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
    framer = framer_of(grammar, 2)
    framer.grammar.sections["both"] = ["Not that {no}, but {yes}."]
    for _ in range(40):
        row = framer.one_of_two()
        asserted = row.passage.partition(", but ")[2].casefold()
        assert (row.claim.rstrip(".").casefold() in asserted) == bool(row.label)
    framer.grammar.sections["given and denied"] = ["{yes}, not {no}"]
    for _ in range(40):
        row = framer.around_answer("given and denied")
        assert (row.claim.partition(", not ")[0] == row.gold[0]) == bool(row.label)


def test_a_report_that_is_set_right_is_not_asserted_and_one_added_to_is(training):
    grammar, _ = training
    framer = framer_of(grammar, 2)
    framer.grammar.sections |= {"told otherwise": ["{no} NO {yes}"], "told too": ["{yes} AND {no}"]}
    seen = set()
    for row in filter(None, (framer.told() for _ in range(80))):
        told, way, truth = re.split(r" (NO|AND) ", row.passage.casefold(), flags=re.IGNORECASE)
        claim = row.claim.rstrip(".").casefold()
        assert (claim in truth or (way == "and" and claim in told)) == bool(row.label)
        seen.add((way, row.label))
    assert seen == {("no", 0.0), ("no", 1.0), ("and", 1.0)}


def test_a_long_answer_keeps_its_label_unless_it_is_taken_back(training):
    grammar, _ = training
    chance = random.Random(2)
    rows = people(grammar)
    rows += [
        grammar.replace(row, claim=f"It was {row.gold[0]}. It was long ago.", label=float(at % 2))
        for at, row in enumerate(row for row in rows if row.ability == "C")
    ]
    framer = grammar.Framer(
        rows, grammar.Augmenter(rows, chance), grammar.Grammar(chance, held=False)
    )
    framer.grammar.sections |= {"keeps": ["{said} Yes."], "takes back": ["{said} No."]}
    known = {row.gold: row.label for row in framer.long}
    for _ in range(60):
        row = framer.around_long()
        assert row.label == (0.0 if row.claim.endswith(" No.") else known[row.gold])
        polite = framer.courteous(row)
        assert row.claim in polite.claim
        assert polite == grammar.replace(row, claim=polite.claim)


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


def changes(connectives, text, seeds=40):
    """What is made of ``text`` over some draws: (stronger, weaker) and the label back."""
    found = {}
    for seed in range(seeds):
        for way in (connectives.left_out, connectives.less_said):
            for change in way(text, random.Random(seed)):
                found[change.stronger, change.weaker] = change.back
    return found


def test_what_follows_when_a_part_is_left_out(training):
    import connectives

    text = "Ada Novak was born in Brno and moved to Ulm."
    found = changes(connectives, text)
    assert found[text, "Ada Novak was born in Brno."] == 0.5
    assert found[text, "Ada Novak was moved to Ulm."] == 0.5
    assert found[text, "Ada Novak was born in Brno or moved to Ulm."] == 0.0
    either = ("Ada Novak was born in Brno.", "Ada Novak was born in Brno or moved to Ulm.")
    assert found[either] == 0.0
    text = "The bridge was built by Weiss and Kowalski in 1931."
    found = changes(connectives, text)
    assert found[text, "The bridge was built by Kowalski in 1931."] == 0.5
    assert found[text, "The bridge was built by Weiss and Kowalski."] == 0.5
    assert found[text, "The bridge was built by Kowalski and Weiss in 1931."] == 1.0
    but = ("The bridge was built by Weiss but not Kowalski in 1931.",
           "The bridge was built by Weiss in 1931.")  # fmt: skip
    assert found[but] == 0.0
    text = "All the rivers are crossed by five bridges."
    found = changes(connectives, text)
    assert found[text, "Some of the rivers are crossed by five bridges."] == 0.0
    assert found[text, "All the rivers are crossed by at least five bridges."] == 0.0


@pytest.mark.parametrize(
    "text",
    [
        "Ada Novak was not born in Brno and moved to Ulm.",
        "If Weiss built it and Novak paid for it, they are rich.",
        "The road runs between Ulm and Brno.",
        "Nobody saw Weiss and Novak in 1931.",
    ],
)
def test_nothing_is_left_out_where_that_says_something_else(training, text):
    import connectives

    assert not list(connectives.left_out(text, random.Random(1)))


def test_pairs_of_small_changes_have_the_label_of_what_follows(training, monkeypatch):
    grammar, _ = training
    import connectives

    framer = framer_of(grammar, 3)
    connector = connectives.Connector(people(grammar), framer)
    made = list(connector.rows(300))
    assert {row.label for row in made} == {0.0, 0.5, 1.0}
    assert all(row.claim[-1] in ".!" and "  " not in row.claim for row in made)
    monkeypatch.setattr(connectives, "_ALL", ("{a} && {b}",))
    monkeypatch.setattr(connectives, "_ONE", ("{a} || {b}",))
    monkeypatch.setattr(connectives, "_IF", ("{a} -> {b}",))
    known = {one.casefold()[:-1] for one in (*SENTENCES, "It is much visited by people.")}
    told = set()
    for row in filter(None, (connector.two() for _ in range(300))):
        passage = row.passage.replace("Rain fell.", "").strip().rstrip(".").casefold()
        claimed = re.split(r" (?:&&|\|\|) ", row.claim.rstrip(".").casefold())
        said = passage.split(" && ")  # of one of two, or on a condition, neither is
        held = [one in said for one in claimed]
        if any(one not in known for one in claimed):  # a name swapped
            assert row.label == 0.0
        elif "||" in row.claim:
            assert row.label == float(any(held))
        else:
            assert row.label == sum(held) / len(held)
        told.add((re.sub(r"[^&|>]", "", passage), re.sub(r"[^&|]", "", row.claim), row.label))
    assert len(told) > 5


def test_no_wording_that_is_trained_on_is_one_that_is_measured(training):
    """Of whatever parts a wording of the grammar is made, it is none of attacks.py, fourth.py,
    sixth.py and blind.json: but for lists of bare names, which have no words."""
    grammar, _ = training
    import attacks
    import fourth
    import sixth

    sections = grammar.Grammar(random.Random(1), held=False).sections

    def words(text):
        return re.findall(r"\w+", re.sub(r"\{\w+\}", " SLOT ", html.unescape(text)).casefold())

    def pattern(text):
        found, last = "", 0
        for slot in re.finditer(r"<(\w+)(\??)>", text):
            found += "".join(f"{one} " for one in words(text[last : slot.start()]))
            found += f"(?:{parts(slot[1])}){slot[2]}"
            last = slot.end()
        return found + "".join(f"{one} " for one in words(text[last:]))

    known = {}

    def parts(name):
        if name not in known:
            known[name] = "|".join(sorted(map(pattern, sections[name]), key=len, reverse=True))
        return known[name]

    measured = {}
    blind = (ROOT / "training/blind.json").read_text(encoding="utf-8")
    sets = {name.upper(): kinds for name, kinds in json.loads(blind).items()}
    for module in (vars(attacks), vars(fourth), vars(sixth), sets):
        for name, value in module.items():
            if name.isupper() and isinstance(value, (dict, tuple)):
                kinds = value.values() if isinstance(value, dict) else [value]
                measured |= {
                    "".join(f"{word} " for word in words(one)): f"{name}: {one}"
                    for own in kinds
                    for one in own
                    if set(words(one)) != {"slot"}
                }
    assert len(measured) > 1500
    whole = [
        name for name in sections if any("{" in one for one in sections[name]) or name == "declined"
    ]
    for name in whole:
        for one in sections[name]:
            parted = re.split(r"<\w+\??>", one)
            fixed = ["".join(f"{word} " for word in words(part)) for part in parted]
            longest = max(fixed, key=len)  # few texts hold it
            near = [text for text in measured if longest in text]
            near = [text for text in near if all(part in text for part in fixed)]
            if near:  # a regular expression with all parts is slow to compile
                made = re.compile(pattern(one))
                assert not [measured[text] for text in near if made.fullmatch(text)], (name, one)


def test_kinds_are_drawn_by_their_share_and_yes_as_often_as_no(training):
    import pool

    grammar, _ = training
    rows = [*people(grammar), *(made(grammar, held=False, counts=(30, 6, 20)))]
    names = {"E": "claim", "A": "question", "C": "answer"}
    rows = [
        grammar.replace(row, source=f"made_framed {names[row.ability]}")
        if row.source.startswith("made_")
        else row
        for row in rows
    ]
    rows.append(grammar.replace(rows[0], source="unlabelled", label=-0.5))
    texts = [
        grammar.replace(row, source=f"written {names[row.ability]}", label=label)
        for row in people(grammar)
        for label in (0.0, 0.5, 1.0)
    ]
    texts += [
        grammar.replace(row, source=row.source.replace("written", "written framed"))
        for row in texts
        if row.ability != "A"
    ]
    weight = pool.drawn(rows)
    beside = pool.drawn([*rows, *texts])
    assert beside[: len(rows)] == pytest.approx(weight)
    for name, share in pool.WRITTEN.items():
        for side in (False, True):
            own = [row.source == name and (row.label == 1) == side for row in texts]
            assert beside[len(rows) :][own].sum() == pytest.approx(share / 2)
    assert (weight >= 0).all()
    assert weight[-1] == 0
    kinds = {f"made_framed {name}" for name in names.values()}
    shares = {kind: pool.SHARES[kind] for kind in ("people", *kinds)}
    for kind in kinds:
        own = [row.source == kind for row in rows]
        assert weight[own].sum() == pytest.approx(shares[kind] / sum(shares.values()))
    given = [not row.source.startswith(("made_", "unlabelled")) for row in rows]
    assert weight[given].sum() == pytest.approx(shares["people"] / sum(shares.values()))
    asked = [(row.source, row.label) for row in rows]
    sides = [weight[[one == ("qnli", label) for one in asked]].sum() for label in (0.0, 1.0)]
    assert sides[0] > 0
    assert sides[0] == pytest.approx(sides[1])


def test_pairs_that_nobody_labelled_have_texts_of_the_same_source(training):
    import pool

    grammar, _ = training
    rows = people(grammar)
    found = list(pool.Stranger(rows, random.Random(3)).rows(60))
    assert {row.ability for row in found} == {"E", "A", "C"}
    assert {(row.source, row.label) for row in found} == {("unlabelled", -0.5)}
    passages = {row.passage for row in rows if row.ability == "A"}
    assert {row.passage for row in found if row.ability == "A"} <= passages
    known = {(row.claim, row.question, row.gold) for row in rows if row.ability == "C"}
    assert not known & {(row.claim, row.question, row.gold) for row in found if row.ability == "C"}
