"""The protocol ``sgss`` through the command line: formats, scores, preferences, weights."""

import json
import random
from dataclasses import replace
from importlib import import_module

import pytest

from assay.api.opened import Opened
from assay.formats.summaries import (
    read_abandonment,
    read_preferences,
    read_summaries,
)
from assay.labellers.replies import parse_reply
from assay.ledger import Ledger
from assay.measures.ranges import Range
from assay.measures.summaries import (
    SectionLabels,
    SummaryLabels,
    Weights,
    comp,
    contributions,
    experience,
    xux,
)
from assay.model.summaries import without_first_section, without_headings
from assay.protocols.sgss.inputs import SgssSettings
from assay.protocols.sgss.labels import left_and_right, preference
from assay.protocols.sgss.preferences import PreferredPair, mean_rates
from assay.statistics.logistic import fit_logistic
from assay.tasks.sgss import PREFERENCE, STATEMENT, PreferenceUnit, StatementUnit
from tests.sgss.cases import PREFERENCES, SUMMARIES, rows, summary, toml, write


def summaries(folder):
    return {(row["query"], row["run"]): row for row in rows(folder / "out" / "summaries.csv")}


def test_scores_are_those_of_the_formulas(sgss, folder):
    done = sgss("evaluate", folder, "--json")
    assert done.returncode == 0, done.stderr
    found = summaries(folder)
    tea = SummaryLabels(1, 1, 0.5, (  # "Ships" stands in its second section
        SectionLabels((1.0,), (1.0,), (1.0,)), SectionLabels((1.0, 0.5), (1.0, 0.5), (1.0, 0.0)),
    ))  # fmt: skip
    x = experience(contributions(tea, Weights()))
    assert float(found["tea", "A"]["XUX"]) == pytest.approx(xux(x))
    assert float(found["tea", "A"]["Comp"]) == pytest.approx(comp([1, 1, 0.5]))
    assert float(found["tea", "B"]["Comp"]) == pytest.approx(comp([0, 0.5, 1]))
    assert float(found["tea", "A"]["SGSS"]) == pytest.approx(xux(x) + comp([1, 1, 0.5]))
    # Without sections nothing is covered; the other's own sections are all that there is to cover.
    assert found["rum", "B"]["flags"] == "no sections; overview last"
    assert float(found["rum", "B"]["Comp"]) == 0
    assert found["rum", "B"]["SGSS"] == found["rum", "B"]["XUX"]
    assert float(found["rum", "A"]["Comp"]) == 1
    assert found["rum", "B"]["XUX"] != ""
    report = (folder / "out" / "report.html").read_text()
    assert "XUX and Comp" in report
    assert "Ships were slow." in report
    curve = [row for row in rows(folder / "out" / "lines.csv") if row["run"] == "A"]
    assert [float(row["x"]) for row in curve[:6]] == pytest.approx(x)


def test_missing_labels_give_ranges_in_every_file(sgss, folder):
    (folder / "preferences.csv").write_text(PREFERENCES)
    toml(folder, more='preferences = "preferences.csv"\n')
    label = {"task": "sgss.statement", "unit": {"query": "history of tea", "statement": "x"},
             "verdict": {"label": "no"}}  # fmt: skip
    (folder / "said.jsonl").write_text(json.dumps(label) + "\n")
    done = sgss("evaluate", folder, "--labeller", "recorded:said.jsonl", "--json")
    assert done.returncode == 1, done.stderr
    document = json.loads(done.stdout)
    scores = {(r["run"], r["measure"]): r for r in rows(folder / "out" / "scores.csv")}
    sgss_of_a = scores["A", "SGSS"]
    assert sgss_of_a["value"] == ""
    assert 0 < float(sgss_of_a["floor"]) < float(sgss_of_a["ceiling"]) <= 2
    assert (sgss_of_a["topics"], sgss_of_a["missing"]) == ("2", "2")
    assert summaries(folder)["tea", "A"]["XUX"] == ""
    (pair,) = rows(folder / "out" / "preferences.csv")
    assert (pair["AR"], pair["AR_floor"], pair["AR_ceiling"]) == ("", "0.0", str(2 / 3))
    (mar,) = document["preferences"]
    assert (mar["MAR"], mar["missing"]) == (None, 1)
    line = rows(folder / "out" / "lines.csv")[0]
    assert (line["x"], float(line["floor"])) == ("", 0)
    assert float(line["ceiling"]) == pytest.approx(1)
    sgss("report", folder, "--labeller", "recorded:said.jsonl")
    assert "bars reach up to the ceiling" in (folder / "out" / "report.html").read_text()


def test_an_uncited_statement_is_unfaithful_unless_the_settings_say_otherwise(sgss, folder):
    sgss("evaluate", folder)
    strict = float(summaries(folder)["tea", "A"]["SF"])
    toml(folder, settings='uncited = "perfectly"')
    sgss("score", folder)
    assert strict == pytest.approx(2 / 3)
    assert float(summaries(folder)["tea", "A"]["SF"]) == 1.0


def test_l_max_three_ways_and_other_distributions(sgss, folder):
    sgss("evaluate", folder)
    whole = summaries(folder)["tea", "A"]
    toml(folder, settings="l_max = 1")
    assert sgss("score", folder).returncode == 0
    assert float(summaries(folder)["tea", "A"]["XUX"]) == pytest.approx((1 + 1 + 0.5) / 3)
    lengths = [
        len(text)
        for row in SUMMARIES
        for text in [row["overview"]["text"], *(
            one for section in row["sections"]
            for one in (section["heading"], *(s["text"] for s in section["statements"]))
        )]
    ]  # fmt: skip
    mean = sum(lengths) / len(lengths)
    toml(folder, settings=f"minutes = 1\nchars_per_minute = {2.5 * mean}")
    document = json.loads(sgss("score", folder, "--json").stdout)
    assert document["l_max"] == 2
    (folder / "apd.csv").write_text("line,count\n1,3\n2,1\n")
    toml(folder, more='abandonment = "apd.csv"\n', settings='apd = "observed"')
    sgss("score", folder)
    found = summaries(folder)["tea", "A"]
    x = [float(row["x"]) for row in rows(folder / "out" / "lines.csv")[:2]]
    assert float(found["XUX_G"]) == pytest.approx(0.75 * x[0] + 0.25 * x[1])
    assert found["XUX"] == whole["XUX"]
    assert "XUX_G" in {row["measure"] for row in rows(folder / "out" / "scores.csv")}


def test_agreement_with_preferences(sgss, folder):
    (folder / "preferences.csv").write_text(PREFERENCES)
    toml(folder, more='preferences = "preferences.csv"\n')
    document = json.loads(sgss("evaluate", folder, "--json").stdout)
    (mar,) = document["preferences"]
    # A is better by SGSS; two of three labellers say so, one of them with A on the right.
    assert (mar["part"], mar["pairs"], mar["labels"]) == ("test", 1, 3)
    assert mar["MAR"] == pytest.approx(2 / 3)
    (pair,) = rows(folder / "out" / "preferences.csv")
    assert (pair["left"], pair["left_better"], pair["labels"]) == ("A", "2", "3")


def test_degraded_versions_inherit_labels(sgss, folder):
    first = json.loads(sgss("evaluate", folder, "--json").stdout)
    toml(folder, settings='degrade = ["NoHeadings", "NoSection1"]')
    again = json.loads(sgss("evaluate", folder, "--json").stdout)
    # All that is asked anew is whether a summary still covers the section that it lost.
    lost = sum(bool(row["sections"]) and row["query_id"] == "tea" for row in SUMMARIES)
    bare = 1  # B has one section only: nothing is left to cover it
    assert again["judging"]["asked"] == lost - bare
    assert again["judging"]["known"] == first["judging"]["asked"] + first["judging"]["known"]
    found = summaries(folder)
    assert float(found["tea", "A NoHeadings"]["HR"]) == 0
    assert int(found["tea", "A NoHeadings"]["lines"]) == 4
    assert float(found["tea", "A"]["SGSS"]) > float(found["tea", "A NoSection1"]["SGSS"])
    assumed = [row for row in again["preferences"] if row["part"] == "assumed"]
    assert assumed[0]["pairs"] >= 2


def test_people_beside_the_machine(sgss, folder):
    sgss("evaluate", folder)
    label = {
        "task": "sgss.statement",
        "unit": {"query": "history of tea", "statement": "Ships were slow."},
        "labeller": {"name": "human:KIM", "kind": "human", "params": {}},
        "verdict": {"label": "no"},
    }
    (folder / "people.jsonl").write_text(json.dumps(label) + "\n")
    done = sgss("labels", "import", folder, folder / "people.jsonl")
    assert done.returncode == 0, done.stderr
    before = float(summaries(folder)["tea", "A"]["SRel"])
    sgss("score", folder)
    assert float(summaries(folder)["tea", "A"]["SRel"]) < before
    sgss("report", folder)
    assert "People and the machine" in (folder / "out" / "report.html").read_text()


def test_averages_are_of_the_people_who_count(sgss, folder):
    sgss("evaluate", folder)
    machine = float(summaries(folder)["tea", "A"]["SRel"])
    unit = {"query": "history of tea", "statement": "Ships were slow."}
    said = [
        {"task": "sgss.statement", "unit": unit, "verdict": {"label": one}}
        | {"labeller": f"human:{who}"}
        for who, one in (("KIM", "no"), ("LEE", "perfectly"), ("MAX", "perfectly"))
    ]  # fmt: skip
    (folder / "people.jsonl").write_text("".join(json.dumps(one) + "\n" for one in said))
    assert sgss("labels", "import", folder, folder / "people.jsonl").returncode == 0

    def under(policy):
        toml(folder, settings=f'average = true\npolicy = "{policy}"')
        done = sgss("score", folder, "--json")
        assert "disagree" not in str(json.loads(done.stdout)["warnings"])
        assert done.returncode == 0  # no label is missing that averages are there for
        return float(summaries(folder)["tea", "A"]["SRel"])

    assert under("machine") == machine
    kim = under("people without human:LEE without human:MAX")
    manifest = folder / "out" / "manifest.json"
    stands_on = json.loads(manifest.read_text())["stands_on"]
    assert "human labels for" in stands_on
    max_ = under("people without human:KIM")
    assert kim < machine < max_
    assert under("people without human:LEE") == pytest.approx((kim + max_) / 2)
    assert under("majority") == under("people") == pytest.approx((kim + 2 * max_) / 3)
    # Three labels of one unit are of no more of it than one.
    assert json.loads(manifest.read_text())["stands_on"] == stands_on
    lines = (folder / "out" / "labels.jsonl").read_text().splitlines()
    counted = [one for one in map(json.loads, lines) if one["unit"] == unit]
    assert [one["labeller"]["name"] for one in counted] == ["human:KIM", "human:LEE", "human:MAX"]
    settled = said[0] | {"labeller": "human:EVE", "detail": {"workbench": {"mode": "adjudication"}}}
    (folder / "people.jsonl").write_text(json.dumps(settled) + "\n")
    assert sgss("labels", "import", folder, folder / "people.jsonl").returncode == 0
    assert under("people") == kim


def test_weights_are_learned_saved_and_used(sgss, folder):
    rng = random.Random(5)
    made, lines = [], ["query_id,left,right,labeller,preference,split"]
    for number in range(12):
        query = f"q{number}"
        good = [(f"Good heading {number}", [(f"Good words {number}.", [1])])] * 1
        poor = [(f"Ships {number}", [(f"Ships again {number}.", [1])])]
        made.append(summary(query, "A", f"Overview {number}.", good))
        made.append(summary(query, "B", f"Overview {number}.", poor))
        for who in ("kim", "lee", "max"):
            side = "LEFT" if rng.random() < 0.9 else "RIGHT"
            lines.append(f"{query},A,B,{who},{side},{'test' if number % 3 == 0 else 'train'}")
    write(folder, made)
    (folder / "preferences.csv").write_text("\n".join(lines) + "\n")
    toml(folder, more='preferences = "preferences.csv"\n')
    sgss("evaluate", folder)
    done = sgss("sgss", "weights", folder, "--json")
    assert done.returncode == 0, done.stderr
    document = json.loads(done.stdout)
    assert document["training"]["pairs"] == 8
    weights = document["weights"]
    assert weights["OS"] + weights["OF"] + weights["OR"] <= 1 + 1e-9
    assert weights["SRel"] + weights["SF"] <= 1 + 1e-9
    assert 1 <= len(document["criteria"]) < 7  # criteria that never differ do not help
    toml(folder, more='preferences = "preferences.csv"\n', settings='weights = "weights.json"')
    used = json.loads(sgss("score", folder, "--json").stdout)
    assert used["weights"] == weights
    by_part = {row["part"]: row for row in used["preferences"]}
    assert by_part["test"]["pairs"] == 4
    assert by_part["train"]["MAR"] == pytest.approx(document["training"]["mar"])
    compared = {row["model"]: row for row in document["compared"]}
    assert document["test_pairs"] == 4
    assert compared["default"]["test_mar"] == pytest.approx(by_part["test"]["MAR"])
    shown = sgss("sgss", "weights", folder, "--all", "--out", folder / "all.json")
    assert "It is unclear whether they agree better than the default weights." in shown.stdout
    assert "Learned from 24 preferences between 8 pairs" in shown.stdout
    toml(folder, more='preferences = "preferences.csv"\n', settings='degrade = ["NoHeadings"]')
    sgss("evaluate", folder)
    with_degraded = json.loads(sgss("sgss", "weights", folder, "--degraded", "--json").stdout)
    assert with_degraded["training"]["assumed"] == 16  # of both summaries of 8 training queries
    assert with_degraded["training"]["pairs"] == 24
    toml(folder, more='preferences = "preferences.csv"\n', settings='weights = "weights.json"')
    write(folder, made[:-1])  # one summary of a training pair is gone
    sgss("evaluate", folder)
    shown = sgss("sgss", "weights", folder, "--out", folder / "less.json")
    assert "Learned from 21 preferences between 7 pairs" in shown.stdout
    assert "1 pair without all labels: not used for learning." in shown.stderr


def test_all_faults_of_a_file_of_summaries(tmp_path):
    bad = [
        {**SUMMARIES[0], "query_id": ""},
        {**SUMMARIES[0], "overview": {"text": "x", "citations": [7]}},
        {**SUMMARIES[0], "sections": [{"heading": "h", "statements": []}]},
        {**SUMMARIES[0], "doclist": [*SUMMARIES[0]["doclist"], {"number": 1, "text": "again"}]},
        SUMMARIES[1],
        SUMMARIES[1],
        "no object",
        {**SUMMARIES[0], "query_id": 7, "overview": "words"},
    ]
    write(tmp_path, bad)
    faults = read_summaries(tmp_path / "summaries.jsonl").errors
    assert [fault.line for fault in faults] == [1, 2, 3, 4, 6, 7, 8]
    assert (faults[-1].topic, faults[-1].why) == ("7", "The overview is not an object.")
    assert "cites 7" in faults[1].why


def test_warnings_tell_what_cannot_be_scored(tmp_path):
    write(tmp_path)
    warnings = [fault.why for fault in read_summaries(tmp_path / "summaries.jsonl").warnings]
    assert any("no sections" in why for why in warnings)
    assert any("closing summary" in why for why in warnings)


def test_degraded_versions(tmp_path):
    write(tmp_path)
    first, *_ = read_summaries(tmp_path / "summaries.jsonl").require()
    bare, shorter = without_headings(first), without_first_section(first)
    assert [section.heading for section in bare.sections] == [None, None]
    assert [section.heading for section in shorter.sections] == ["Trade"]


def test_the_commands_of_a_newcomer(assay, folder):
    done = assay("validate", folder / "summaries.jsonl")
    assert "summaries (guessed); 2 queries, 4 summaries, 13 lines" in done.stdout


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("query_id,left,right\n", "lacks labeller, preference"),
        ("query_id,left,right,labeller,preference\nq,A,B,k,BOTH\n", "not a preference"),
        ("query_id,left,right,labeller,preference\nq,A,A,k,LEFT\n", "both sides"),
        (
            "query_id,left,right,labeller,preference\nq,A,B,k,LEFT\nq,B,A,k,LEFT\n",
            "has already judged this pair",
        ),
    ],
)
def test_broken_preferences(tmp_path, text, says):
    (tmp_path / "p.csv").write_text(text)
    assert says in read_preferences(tmp_path / "p.csv").errors[0].why


def test_broken_abandonment(tmp_path):
    (tmp_path / "a.csv").write_text("line,count\n0,3\n2,x\n")
    assert len(read_abandonment(tmp_path / "a.csv").errors) == 3


@pytest.mark.parametrize(
    ("settings", "says"),
    [
        ("weights = {XX = 1}", "there is no criterion 'XX'"),
        ('weights = "none.json"', "the weights cannot be read"),
        ('apd = "observed"', "needs [inputs] abandonment"),
        ("mapping = {no = 0.0}", "must give each of"),
    ],
)
def test_wrong_settings_say_what_to_do(sgss, folder, settings, says):
    toml(folder, settings=settings)
    done = sgss("evaluate", folder)
    assert done.returncode == 2
    assert says in done.stderr


def test_a_preference_for_nobody_is_a_fault(sgss, folder):
    (folder / "preferences.csv").write_text(PREFERENCES.replace(",B,A,", ",C,A,"))
    toml(folder, more='preferences = "preferences.csv"\n')
    done = sgss("evaluate", folder)
    assert done.returncode == 2
    assert "no summary of this query by 'C'" in done.stderr


@pytest.mark.parametrize(
    ("word", "label"),
    [("Perfectly relevant", "perfectly"), ("NO", "no"), ("Not", "no"), ("partially", "partially")],
)
def test_spellings_of_the_three_points(word, label):
    reply = json.dumps({"reason": "", "label": word})
    unit = StatementUnit(query="q", statement="s")
    assert parse_reply(STATEMENT, unit, reply).label == label
    sides = PreferenceUnit(query="q", left="a", right="b")
    assert parse_reply(PREFERENCE, sides, '{"preferred": "left"}').preferred == "LEFT"


def test_linear_measures_come_in_the_order_of_the_first_run(folder):
    """Which of them a draw is for where several have as many units hangs on it."""
    bare = [summary("tea", f"bare {place}", "Tea is wet.", []) for place in range(20)]
    for first, others in ((SUMMARIES[0], bare), (bare[0], [*bare[1:], SUMMARIES[0]])):
        write(folder, [first, *others])
        part = Opened.open(folder).parts["sgss"]
        found = list(part.protocol.linear(part.inputs, part.settings, part.book(None)))
        runs = dict.fromkeys(one.run for measure in found for one in measure.shares)
        assert list(runs) == list(part.inputs.runs)
        tasks = [measure.task.name for measure in found if measure.measure == "XUX"]
        last = ["sgss.representativeness", "sgss.heading", "sgss.statement"]
        assert tasks == ["sgss.sufficiency", "trec_rag.support", *last]


def test_the_regression_is_scikit_learns():
    linear = import_module("sklearn.linear_model")
    rng = random.Random(1)
    x = [[rng.gauss(0, 1) for _ in range(3)] for _ in range(60)]
    y = [int(row[0] - row[1] + rng.gauss(0, 1) > 0) for row in x]
    model = linear.LogisticRegression(fit_intercept=False, C=1.0, tol=1e-10, max_iter=1000)
    wanted = model.fit(x, y).coef_[0]
    assert fit_logistic(x, y) == pytest.approx(wanted, abs=1e-5)
    assert fit_logistic(x, y, counts=[2] * 60, ridge=2.0) == pytest.approx(wanted, abs=1e-5)
    with pytest.raises(ValueError, match="separable"):
        fit_logistic([[1.0], [-1.0]], [1, 0], ridge=0.0)


def test_a_judge_sees_preferences_in_both_orders_and_a_place_wins_nothing(sgss, folder):
    toml(folder, settings='also = ["preference"]')
    document = json.loads(sgss("evaluate", folder, "--json").stdout)
    (asked,) = document["preferences"]
    # The judge always says LEFT: of either order another summary, so that neither is preferred.
    assert (asked["part"], asked["pairs"], asked["labels"], asked["MAR"]) == ("asked", 2, 4, 0.5)
    assert {row["left_better"] for row in rows(folder / "out" / "preferences.csv")} == {"1"}
    assert json.loads(sgss("evaluate", folder, "--json").stdout)["judging"]["asked"] == 0
    with (opened := Opened.open(folder)).ledger() as ledger:  # a person judges a pair once
        people = [one for one in opened.people_requests(ledger) if one.task is PREFERENCE]
    assert len(people) == 2
    sgss("report", folder)
    page = (folder / "out" / "report.html").read_text()
    assert "of 2 pairs compared in both orders have two winners" in page


def test_a_preference_by_a_person_needs_no_other_order(sgss, folder):
    toml(folder)
    sgss("evaluate", folder)
    toml(folder, settings='also = ["preference"]')
    said = []
    summaries_read = read_summaries(folder / "summaries.jsonl").require()
    for query in ("tea", "rum"):
        one, other = (each for each in summaries_read if each.query == query)
        left, right = left_and_right(query, one, other)
        side = "LEFT" if left.run == "A" else "RIGHT"
        said.append(
            {
                "task": "sgss.preference",
                "unit": dict(preference(left, right)),
                "labeller": {"name": "human:KIM", "kind": "human", "params": {}},
                "verdict": {"preferred": side},
            }
        )
    (folder / "people.jsonl").write_text("".join(json.dumps(row) + "\n" for row in said))
    assert sgss("labels", "import", folder, folder / "people.jsonl").returncode == 0
    document = json.loads(sgss("evaluate", folder, "--json", "--policy", "people").stdout)
    asked = next(row for row in document["preferences"] if row["part"] == "asked")
    # A has the greater SGSS for both queries.
    assert (asked["labels"], asked["MAR"]) == (2, 1.0)
    # Of several people each one counts (eq. 14), the newest of each in whichever order: B is
    # preferred by LEE and MAX of the three, for rum alone.
    unit = {
        **said[-1]["unit"],
        "left": said[-1]["unit"]["right"],
        "right": said[-1]["unit"]["left"],
    }
    more = [said[-1] | {"labeller": "human:LEE"}]
    more += [
        said[-1] | {"labeller": f"human:{who}", "unit": unit, "verdict": {"preferred": side}}
        for who in ("LEE", "MAX")
    ]
    for who in (more[:2], more[2:]):
        (folder / "people.jsonl").write_text("".join(json.dumps(row) + "\n" for row in who))
        assert sgss("labels", "import", folder, folder / "people.jsonl").returncode == 0
        with (opened := Opened.open(folder, policy="people")).ledger() as ledger:
            gaps = opened.score(ledger).by_protocol["sgss"].gaps
        # Two people who disagree are no machine that prefers the same side in both orders.
        assert not any("two winners" in gap.what for gap in gaps)
    for policy in ("people", "majority"):
        document = json.loads(sgss("score", folder, "--json", "--policy", policy).stdout)
        asked = next(row for row in document["preferences"] if row["part"] == "asked")
        assert (asked["labels"], asked["MAR"]) == (4, pytest.approx((1 + 1 / 3) / 2))


def test_agreement_is_drawn_by_queries_of_which_pairs_hang_together():
    one = PreferredPair("q1", "A", "B", 1, 1, "test")
    whole, none = Range.certain(1.0), Range.certain(0.0)
    compared = [(one, whole, whole)] * 3 + [(replace(one, query="q2"), none, none)]
    ((mar, labels),) = mean_rates(compared, SgssSettings())
    assert (mar.value, mar.low, mar.high, labels) == (0.75, 0.0, 1.0, 4)
    ((mar, _),) = mean_rates(compared[:3], SgssSettings())
    assert (mar.value, mar.low, mar.high) == (1.0, None, None)


def test_criteria_of_weight_0_are_not_asked_about(sgss, folder):
    weights = "weights = {OR = 0.0, SF = 0.0, Comp = 0.0}"
    toml(folder, settings=weights)
    done = sgss("evaluate", folder, "--json")
    assert done.returncode == 0, done.stderr
    document = json.loads(done.stdout)
    with Ledger.open(folder / "labels.sqlite") as ledger:
        tasks = [label.task for label in ledger.labels()]
    assert not {"sgss.representativeness", "sgss.coverage"} & set(tasks)
    assert tasks.count("trec_rag.support") == len(SUMMARIES)  # overviews, no statements
    measures = {row["measure"] for row in document["scores"]}
    assert not {"OR", "SF", "Comp"} & measures
    assert {"SGSS", "XUX", "OF", "SRel"} <= measures
    values = {(row["run"], row["measure"]): row["value"] for row in document["scores"]}
    # What is not asked has no part in a score: the same numbers as with all labels.
    toml(folder, settings=f'{weights}\nalso = ["OR", "SF", "Comp"]')
    again = json.loads(sgss("evaluate", folder, "--json").stdout)
    assert again["judging"]["asked"] > 0
    whole = {(row["run"], row["measure"]): row["value"] for row in again["scores"]}
    assert {key: whole[key] for key in values} == values
    assert ("A", "OR") in whole
    assert None not in values.values()


def test_the_first_section_is_asked_about_where_a_version_loses_it(sgss, folder):
    toml(folder, settings='weights = {SRel = 0.0}\ndegrade = ["NoSection1"]')
    document = json.loads(sgss("evaluate", folder, "--json").stdout)
    assert {row["part"] for row in document["preferences"]} == {"assumed"}
    assert document["preferences"][0]["missing"] == 0
