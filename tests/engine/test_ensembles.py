"""Ensembles: votes, ties, samples; members' labels stay, and nobody is asked twice."""

import json
from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.judging.engine import judge, plan
from assay.labellers.base import BaseLabeller, Outcome, Request
from assay.labellers.ensemble import Ballot, EnsembleLabeller
from assay.labellers.openai import OpenAILabeller, OpenAISettings
from assay.ledger import Ledger
from assay.model.errors import SettingsError
from assay.model.labels import LabellerId, Status
from assay.protocols.folder import Folder
from assay.tasks.r2c2 import (
    ANSWER,
    DIALOGUE_ACT,
    ENTAILMENT,
    AnswerUnit,
    AnswerVerdict,
    Entailment,
    EntailmentUnit,
    NuggetHelp,
)
from assay.tasks.rendering import Renderer
from assay.tasks.voting import Rule, choose, join, refusal
from tests.engine.server import completion, serve

UNITS = [EntailmentUnit(passage=f"p{n}", nugget=f"n{n}") for n in range(12)]
WANTED = [Request(ENTAILMENT, unit) for unit in UNITS]


class Says(BaseLabeller):
    """Answers yes to units whose number is in ``yes``, and fails for those in ``fails``."""

    def __init__(self, name, yes, fails=(), silent=()):
        self.name, self.yes, self.fails, self.silent = name, set(yes), set(fails), set(silent)
        self.asked = []

    @property
    def id(self):
        return LabellerId(self.name, "model", {})

    async def label(self, request):
        number = int(request.unit.nugget[1:])
        self.asked.append(number)
        if number in self.silent:
            return None
        if number in self.fails:
            return Outcome(Status.FAILED, error="no idea")
        verdict = Entailment(entailed=number in self.yes, reason=f"{self.name} thinks so")
        return Outcome(Status.OK, verdict, cost=0.5)


def run(path, ensemble, wanted=WANTED, **more):
    with Ledger.open(path) as ledger:
        tally = judge([("t", plan(ledger, ensemble, wanted, **more))], ledger)
        return tally, list(ledger.labels())


def joint(labels):
    return {label.unit: label for label in labels if label.labeller.kind == "ensemble"}


def test_the_majority_counts_and_every_vote_stays(place):
    members = [Says("a", {0, 1, 2, 3}), Says("b", {0, 1}), Says("c", {0, 2})]
    tally, labels = run(place, EnsembleLabeller("jury", members))
    found = joint(labels)
    said = [found[request.unit_hash].verdict["entailed"] for request in WANTED]
    assert said == [True, True, True] + [False] * 9
    assert len(labels) == 4 * 12
    assert (tally.asked, tally.cost) == (36, 18.0)
    by_uid = {label.uid: label for label in labels}
    for label in found.values():
        assert label.cost is None
        for vote in label.detail["votes"]:
            assert by_uid[vote["label"]].labeller.name == vote["labeller"]
            assert by_uid[vote["label"]].verdict["entailed"] == vote["verdict"]["entailed"]
    first = found[WANTED[3].unit_hash]
    assert first.reason == "b thinks so"  # the first member that agrees with the outcome


def test_members_are_not_asked_again_alone_or_in_another_ensemble(place):
    path = place
    a, b, c = Says("a", {0}), Says("b", {1}), Says("c", {2})
    run(path, a)
    tally, _ = run(path, EnsembleLabeller("two", [a, b]))
    assert (tally.known, tally.asked) == (12, 12)
    tally, _ = run(path, EnsembleLabeller("three", [c, b, a]))
    assert (tally.known, tally.asked) == (24, 12)
    tally, labels = run(path, EnsembleLabeller("three", [c, b, a]))
    assert (tally.known, tally.asked) == (36, 0)
    assert [sorted(one.asked) for one in (a, b, c)] == [list(range(12))] * 3
    assert len(labels) == 3 * 12 + 2 * 12


def test_failed_votes_are_left_out_until_too_few_are_left(place):
    members = [Says("a", {0, 1, 2}, fails={1, 2}), Says("b", {0, 1, 2}, fails={2}), Says("c", {0})]
    _, labels = run(place, EnsembleLabeller("jury", members))
    found = joint(labels)
    one, two = found[WANTED[1].unit_hash], found[WANTED[2].unit_hash]
    assert (one.status, one.verdict["entailed"]) == (Status.OK, False)  # a tie of b and c
    assert (two.status, two.error) == (Status.FAILED, "only 1 of 3 votes are usable")


def test_failed_members_are_asked_again_on_demand_and_the_joint_label_renewed(place):
    path = place
    members = [Says("a", {0}, fails={0}), Says("b", {0}), Says("c", set())]
    run(path, EnsembleLabeller("jury", members))
    members[0].fails = set()
    tally, _ = run(path, EnsembleLabeller("jury", members))
    assert tally.asked == 0
    tally, labels = run(path, EnsembleLabeller("jury", members), retry_failed=True)
    assert tally.asked == 1
    newest = joint(labels)[WANTED[0].unit_hash]
    assert newest.verdict["entailed"] is True
    assert [vote["verdict"] is not None for vote in newest.detail["votes"]] == [True] * 3


def test_a_member_with_nothing_to_say_leaves_the_unit_missing(place):
    members = [Says("a", {0}), Says("b", {0}, silent={5}), Says("c", {0})]
    tally, labels = run(place, EnsembleLabeller("jury", members))
    assert tally.unanswered == 1
    assert WANTED[5].unit_hash not in joint(labels)
    assert len(joint(labels)) == 11


def test_samples_at_a_temperature_are_questions_of_their_own(place):
    def script(body, number):  # two of three samples say yes
        return completion(
            json.dumps({"reason": "", "entailed": "NO" if number % 3 == 0 else "YES"})
        )

    with serve(script) as server:
        settings = OpenAISettings("m", (server.url,), temperature=0.7)
        member = OpenAILabeller(settings, Renderer())
        ensemble = EnsembleLabeller("often", [member], samples=3)
        tally, labels = run(place, ensemble, WANTED[:1])
        again, _ = run(place, ensemble, WANTED[:1])
    assert (tally.asked, again.asked) == (3, 0)
    assert sorted(label.sample for label in labels if label.labeller.kind == "model") == [0, 1, 2]
    (made,) = joint(labels).values()
    assert made.verdict["entailed"] is True


@given(st.lists(st.booleans(), min_size=1, max_size=9))
def test_rules_on_booleans(values):
    votes = [(value, 1.0) for value in values]
    share = sum(values) / len(values)
    assert choose(votes, Rule.MAJORITY) is (share > 0.5)
    assert choose(votes, Rule.MEAN) is (share > 0.5)
    assert choose(votes, Rule.MEDIAN) is (share > 0.5)
    assert choose(votes, Rule.STRICTEST) is all(values)


@given(st.lists(st.integers(0, 5), min_size=1, max_size=9))
def test_rules_on_grades_stay_on_the_scale_and_do_not_depend_on_order(values):
    for rule in Rule:
        votes = [(value, 1.0) for value in values]
        found = choose(votes, rule)
        assert isinstance(found, int)
        assert min(values) <= found <= max(values)
        assert choose(votes[::-1], rule) == found
    assert choose(votes, Rule.MEAN) - sum(values) / len(values) <= 0.5


def test_ties_and_weights():
    assert choose([(3, 1), (1, 1)], Rule.MAJORITY) == 1
    assert choose([("b", 1), ("a", 1)], Rule.MAJORITY) == "b"
    assert choose([("b", 1), ("a", 1)], Rule.MAJORITY, ["a", "b"]) == "a"
    assert choose([(3, 2.0), (1, 1.0), (1, 0.5)], Rule.WEIGHTED) == 3
    assert choose([(3, 2.0), (1, 1.0), (1, 0.5)], Rule.MAJORITY) == 1
    assert choose([("full", 1), ("no", 1)], Rule.MEAN, ["no", "partial", "full"]) == "partial"
    assert [choose([(0, 1), (3, 1)], rule) for rule in (Rule.MEDIAN, Rule.MEAN)] == [0, 1]


@pytest.mark.parametrize("rule", [Rule.MEDIAN, Rule.MEAN, Rule.STRICTEST])
def test_words_without_an_order_have_no_median(rule):
    assert "no order" in refusal(DIALOGUE_ACT, rule)
    assert refusal(DIALOGUE_ACT, Rule.MAJORITY) is None
    assert refusal(ENTAILMENT, rule) is None
    member = Says("a", {0})
    assert "no order" in EnsembleLabeller("x", [member], rule).refusal(DIALOGUE_ACT)


def test_lists_are_joined_nugget_by_nugget():
    unit = AnswerUnit(question="q", answer="a", nuggets=("x", "y"))
    votes = [
        (AnswerVerdict(correct=True, reason="r1", nuggets=helps), 1.0)
        for helps in (
            [NuggetHelp(nugget=1, helped=True), NuggetHelp(nugget=2, helped=False, reason="no")],
            [NuggetHelp(nugget=2, helped=False), NuggetHelp(nugget=1, helped=False)],
        )
    ]
    votes.append((AnswerVerdict(correct=False, reason="wrong"), 1.0))
    verdict = join(ANSWER, votes, Rule.MAJORITY)
    assert ANSWER.check(unit, verdict) is None
    assert verdict.correct is True
    assert verdict.reason == "r1"
    assert [(item.nugget, item.helped, item.reason) for item in verdict.nuggets] == [
        (1, False, ""),  # a tie: the stricter
        (2, False, "no"),
    ]


@given(st.lists(st.sampled_from(["yes", "no", "fail"]), min_size=1, max_size=5), st.data())
def test_a_joint_label_needs_more_than_half_of_all_weight(said, drawn):
    weights = [drawn.draw(st.sampled_from([1.0, 2.0, 0.5])) for _ in said]
    members = [Says(str(n), set()) for n in range(len(said))]
    ensemble = EnsembleLabeller("jury", members, Rule.WEIGHTED, weights)
    verdicts = {"yes": Entailment(entailed=True), "no": Entailment(entailed=False), "fail": None}
    ballots = [Ballot(n, 0, verdicts[one]) for n, one in enumerate(said)]
    outcome = ensemble.joint(WANTED[0], ballots)
    weight = {
        one: sum(w for w, other in zip(weights, said, strict=True) if other == one)
        for one in verdicts
    }
    if 2 * weight["fail"] >= sum(weights):
        assert outcome.status is Status.FAILED
    else:
        assert outcome.verdict.entailed is (weight["yes"] > weight["no"])


def jury(path, ensemble):
    (path / "assay.toml").write_text(
        f'inputs = {{}}\n[evaluation]\nprotocol = "r2c2"\n[ensembles.jury]\n{ensemble}\n'
    )
    return Folder.open(path).make_labeller("ensemble:jury")


@pytest.mark.parametrize(
    "second",
    ["openai:m@http://localhost:1/v1", "openai:m@http://127.0.0.1:1/v1/", "openai:m"],
)
def test_one_model_at_two_addresses_is_one_member(tmp_path, second):
    members = f'members = ["rules", "openai:m@http://127.0.0.1:1/v1", "{second}"]'
    with pytest.raises(SettingsError) as caught:
        jury(tmp_path, members)
    for part in ("are the same labeller (openai:m)", "openai:MODEL@URL1@URL2", "samples"):
        assert part in str(caught.value)
    with pytest.raises(SettingsError, match="same labeller"):
        jury(tmp_path, members + "\ntemperature = 0.7\nsamples = 2")


def test_two_models_at_one_address_are_two_members(tmp_path):
    members = 'members = ["openai:a@http://127.0.0.1:1/v1", "openai:b@http://127.0.0.1:1/v1"]'
    assert len(jury(tmp_path, members).members) == 2
    addresses = 'members = ["openai:a@http://127.0.0.1:1/v1@http://localhost:1/v1"]\nsamples = 3'
    assert len(jury(tmp_path, addresses + "\ntemperature = 0.7").members) == 1


@pytest.mark.parametrize("weight", ["nan", "inf", "-inf", "0.0", "-1.0", "1e308"])
def test_weights_are_finite_numbers_above_0(tmp_path, weight):
    members = 'members = ["rules", "embedded"]\nrule = "weighted"\n'
    with pytest.raises(SettingsError, match="a positive, finite weight for each member"):
        jury(tmp_path, members + f"weights = [1e308, {weight}]")
    assert jury(tmp_path, members + "weights = [1, 0.5]").id.params["weights"] == [1.0, 0.5]


@pytest.mark.parametrize("rule", [rule for rule in Rule if rule is not Rule.WEIGHTED])
def test_weights_that_the_rule_ignores_are_refused(rule):
    members = [Says("a", set()), Says("b", set())]
    with pytest.raises(ValueError, match=f"the rule '{rule.value}' .* takes no weights"):
        EnsembleLabeller("jury", members, rule, [2.0, 1.0])
    assert EnsembleLabeller("jury", members, rule).rule is rule


def test_every_combination_of_three_votes():
    for said in product([True, False], repeat=3):
        votes = [(Entailment(entailed=value), 1.0) for value in said]
        assert join(ENTAILMENT, votes, Rule.MAJORITY).entailed is (sum(said) >= 2)
