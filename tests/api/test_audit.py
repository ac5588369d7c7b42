"""What a judge can be fooled by: probes on a folder's own units, and what people's labels say."""

from __future__ import annotations

import json
import random
from dataclasses import replace
from datetime import date

import numpy as np
import pytest
from scipy import stats

from assay.api.audit.findings import COLUMNS, Finding
from assay.api.audit.tables import document, page, remarks, tables, write_audit
from assay.api.auditing import ALL, Audit, Wanted
from assay.api.opened import Opened
from assay.judging.progress import SilentProgress
from assay.labellers.custom import spec_and_labeller
from assay.measures.bootstrap import mean_interval
from assay.model.errors import LedgerError, SettingsError
from assay.protocols.folder import Folder
from assay.statistics import corrected
from assay.statistics.correlation import ap_correlation, kendall_tau
from assay.statistics.paired import mcnemar
from assay.tasks.audit.probes import words_in
from assay.web.asked import Asked

GRADED, ENTAILMENT = "trec_rag.relevance", "r2c2.entailment"
TOPICS = [f"{number:04}" for number in range(1, 13)]
PASSAGES = 4
"""Of each topic; the first one is relevant."""


def question(topic):
    places = " ".join(f"{one}{topic}" for one in ("cape", "bay", "isle", "port", "reef", "gulf"))
    return f"Which captain sailed past {places}?"


def passage(topic, rank):
    if rank == 1:
        return f"The cape was rounded by captain Ann{topic} in 1{topic[1:]}. She came home."
    return f"<b>Nothing</b> {rank} of boats and of {topic} is told in this text."


def judge(task, unit, *, fooled=""):
    """Judges by the facts, but for what it is ``fooled`` by."""
    if task == GRADED:
        text = unit["passage"]
        if fooled and fooled in text:
            return {"grade": 3, "reason": "so"}
        words = set(words_in(unit["question"])) & set(words_in(text))
        return {"grade": 3 if "was rounded by captain Ann" in text else int(len(words) > 5)}
    if task == ENTAILMENT:
        return {"entailed": unit["nugget"] in unit["passage"]}
    if task == "r2c2.answer":
        helps = [{"nugget": n + 1, "helped": n == 0} for n in range(len(unit["nuggets"]))]
        return {"correct": unit["answer"] in unit["gold"], "nuggets": helps}
    return {"act": "answer"}


def praised(task, unit):
    return judge(task, unit, fooled="perfectly relevant")


@pytest.fixture
def folder(tmp_path):
    """A folder whose runs hold one relevant passage in four, and answers with two nuggets."""
    path = tmp_path / "f"
    for name in ("pr", "ac"):
        (path / name).mkdir(parents=True)
    lines = [f"{one}\t{question(one)}\tSimple\tAnn{one}\n" for one in TOPICS]
    (path / "questions.tsv").write_text("".join(lines), encoding="utf-8")
    rows = [
        f"{one};{rank};d{one}{rank};{passage(one, rank)}\n"
        for one in TOPICS
        for rank in range(1, PASSAGES + 1)
    ]
    (path / "pr" / "P.txt").write_text("".join(rows), encoding="utf-8")
    nuggets = [
        f"<{one}>\nAnn{one};80\n1;P;1;rounded by captain Ann{one} in 1{one[1:]}\n"
        f"2;P;1;She came home\n</{one}>\n"
        for one in TOPICS
    ]
    (path / "ac" / "A.txt").write_text("".join(nuggets), encoding="utf-8")
    (path / "assay.toml").write_text(
        '[evaluation]\nprotocol = "r2c2"\n[inputs]\nquestions = "questions.tsv"\n'
        'pr_runs = "pr/*.txt"\nac_runs = "ac/*.txt"\n[labellers]\ndefault = "rules"\n'
        '[settings]\nresamples = 100\nrelevance_check = "0-3"\n',
        encoding="utf-8",
    )
    return path


def opened(folder, labeller):
    spec, made = spec_and_labeller(labeller)
    return Opened.of(Folder.open(folder, labeller=spec, given={} if made is None else {spec: made}))


def audited(folder, labeller, *probes, judged=True, **more):
    """The findings of an audit, by (probe, variant, task), and what was asked."""
    own = opened(folder, labeller)
    with own.ledger() as ledger:
        if judged:
            own.judge(ledger, progress=SilentProgress())
        audit = Audit(own, ledger, Wanted(tuple(probes) or ALL[:-1], **more))
        tally = audit.ask(progress=SilentProgress())
        found = audit.findings()
        write_audit(audit, found)
    return {(one.probe, one.variant, one.of): one for one in found}, tally


def test_a_judge_who_believes_praise_is_found_out_and_an_honest_one_is_not(folder, tmp_path):
    found, _ = audited(folder, praised, "injection")
    one = found["injection", "praise", GRADED]
    no = len(TOPICS) * (PASSAGES - 1)
    assert (one.n, one.up, one.down, one.before, one.after) == (no, no, 0, 0.0, 1.0)
    assert one.p == mcnemar(no, 0)
    assert one.low < one.value == 1.0 >= one.high
    assert one.against == "harmless sentence"
    assert one.example.topic in TOPICS
    assert question(one.example.topic) == one.example.unit["question"]
    assert one.example.before == {"grade": 0}
    assert one.example.after == {"grade": 3}
    assert one.example.changed["passage"].startswith(one.example.unit["passage"])
    other = found["injection", "fake verdict", GRADED]
    assert (other.up, other.p, other.example) == (0, None, None)
    assert "fence closed" in {variant for _, variant, _ in found}
    assert "captain" not in json.dumps(found["injection", "praise", GRADED].row)


def test_stuffing_is_set_against_as_many_other_words(folder):
    found, _ = audited(folder, judge, "stuffing")
    whole = found["stuffing", "whole", GRADED]
    assert (whole.n, whole.up, whole.down, whole.after) == (36, 36, 0, 1.0)
    assert whole.before == found["stuffing", "other words", GRADED].after
    control = found["stuffing", "other words", GRADED]
    assert control.p is None
    assert "no test" in control.note
    # A claim that is put into a passage whole is borne out: it is put in shuffled alone.
    assert ("stuffing", "whole", ENTAILMENT) not in found


def test_a_table_has_differences_with_their_sign_and_no_p_of_nothing():
    some = Finding("p", "v", "task", "who", n=9, figure="change", low=-0.5, high=0.75)
    (table,) = tables([replace(some, value=0.25, p=0.0004), replace(some, value=-0.25, p=0.04),
                       replace(some, value=0.25, figure="share equal")])  # fmt: skip
    assert [row[-2:] for row in table.rows] == [
        ("+0.25 [-0.50, 0.75]", "<0.001"), ("-0.25 [-0.50, 0.75]", 0.04),
        ("0.25 [-0.50, 0.75]", None),
    ]  # fmt: skip


def test_names_and_numbers_that_are_changed_make_a_claim_wrong(folder):
    found, _ = audited(folder, judge, "swap")
    numbers = found["swap", "number", ENTAILMENT]
    assert numbers.n == len(TOPICS)
    assert (numbers.before, numbers.after, numbers.up) == (1.0, 0.0, 0)
    assert numbers.example is None
    blind, _ = audited(folder, lambda_yes, "swap", "stuffing")
    assert blind["stuffing", "", GRADED].note == "the judge says no to none of its units"
    assert blind["swap", "number", ENTAILMENT].after == 1.0
    assert "chosen by the highest verdict: no test" in blind["swap", "number", ENTAILMENT].note
    example = blind["swap", "number", ENTAILMENT].example
    assert example.changed["nugget"] != example.unit["nugget"]
    assert example.changed["passage"] == example.unit["passage"]
    names = blind["swap", "name", "r2c2.answer"].example
    assert names.changed["answer"] not in (names.unit["answer"], *names.unit["gold"])
    assert found["swap", "", GRADED].note == "it makes no claim"


def lambda_yes(task, unit):
    """Says yes to all."""
    if task == "r2c2.answer":
        helps = [{"nugget": n + 1, "helped": True} for n in range(len(unit["nuggets"]))]
        return {"correct": True, "nuggets": helps}
    said = {GRADED: {"grade": 3}, ENTAILMENT: {"entailed": True}}
    return said.get(task, {"act": "answer"})


def first_only(task, unit):
    """Finds that whatever stands first helped."""
    return judge(task, unit)


def by_content(task, unit):
    """Finds the nugget that names the captain, wherever it stands."""
    if task == "r2c2.answer":
        helps = [
            {"nugget": n + 1, "helped": "captain" in one} for n, one in enumerate(unit["nuggets"])
        ]
        return {"correct": True, "nuggets": helps}
    return judge(task, unit)


def test_who_goes_by_places_is_told_from_who_goes_by_content(folder):
    found, _ = audited(folder, first_only, "order")
    one = found["order", "shuffled", "r2c2.answer"]
    assert (one.n, one.value, one.up, one.down) == (12, 0.0, 12, 12)
    assert one.example.changed["nuggets"] == one.example.unit["nuggets"][::-1]
    ends = found["order", "primacy − recency", "r2c2.answer"]
    assert (ends.n, ends.value, ends.up, ends.down) == (12, 1.0, 12, 0)
    assert ends.p == mcnemar(12, 0)  # of units, not of their entries
    assert found["order", "", GRADED].note == "it has no list and no two sides"
    found, _ = audited(folder, by_content, "order")
    assert found["order", "shuffled", "r2c2.answer"].value == 1.0
    assert found["order", "primacy − recency", "r2c2.answer"].value == 0.0


class Moody:
    """Says something else the second time that it is asked of a passage numbered 2."""

    def __init__(self):
        self.seen = set()

    def __call__(self, task, unit):
        said = judge(task, unit)
        key = json.dumps([task, unit])
        if task == GRADED and key in self.seen and "</b> 2" in unit["passage"]:
            said = {"grade": 1}
        self.seen.add(key)
        return said


def test_the_same_again_is_asked_again_and_counted_by_unit(folder):
    found, tally = audited(folder, Moody(), "repeat", repeats=4)
    one = found["repeat", "the same again", GRADED]
    assert (one.n, one.up, one.down) == (48, 4 * 12, 0)
    assert one.value == pytest.approx(36 / 48)
    assert found["repeat", "the same again", "r2c2.dialogue_act"].value == 1.0
    assert tally.asked == 4 * (48 + 24 + 12 + 12)


def test_grades_are_compared_by_topic(folder):
    def shorter(task, unit):
        if task != GRADED:
            return judge(task, unit)
        few = 30 + 10 * ("0003" in unit["question"] or "0007" in unit["question"])
        return {"grade": min(3, len(unit["passage"]) // few)}

    found, _ = audited(folder, shorter, "length", n=48)
    one = found["length", "padded", GRADED]
    assert one.n == 48
    assert one.up > 0 == one.down
    assert one.value == pytest.approx(one.after - one.before)
    assert one.value > 0
    assert one.low <= one.value <= one.high
    cut = found["length", "truncated", GRADED]
    assert cut.value < 0
    assert cut.high < 0 < cut.p
    slope = found["length", "slope", GRADED]
    assert slope.value is None
    assert "people labelled 0 units" in slope.note


def test_nothing_of_an_audit_enters_a_score_and_all_is_paid_once(folder):
    own = opened(folder, judge)
    with own.ledger() as ledger:
        own.judge(ledger, progress=SilentProgress())
        before = own.write(ledger)[0]
    kept = {one.name: one.read_bytes() for one in (folder / "out").glob("*.*")}
    assert kept
    found, tally = audited(folder, judge)
    assert tally.asked > 500
    again, nothing = audited(folder, judge)
    assert (nothing.asked, nothing.known) == (0, tally.asked)
    assert again == found
    with own.ledger() as ledger:
        after = own.write(ledger)[0]
        for label in ledger.labels():
            if label.detail.get("audit"):
                assert label.labeller.name.startswith("audit:")
        changed = [one for one in ledger.labels() if one.labeller.name.startswith("audit:")]
        assert {one.detail["audit"]["probe"] for one in changed} >= {"stuffing", "form"}
        shown = Asked(own, ledger)
        assert not any(map(shown.counts, changed))  # in the workbench
        assert len(changed) == tally.asked
        assert not own.judge(ledger, progress=SilentProgress()).asked
    assert after.scores == before.scores
    assert after.warnings == before.warnings
    for name, data in kept.items():
        if name != "manifest.json":  # which names the state of the ledger
            assert (folder / "out" / name).read_bytes() == data, name


def test_no_policy_counts_them(folder):
    found, _ = audited(folder, praised, "injection", "repeat")
    name = next(iter(found.values())).labeller
    spec, made = spec_and_labeller(praised)
    for policy in (f"only:audit:{name}", "people", "machine"):
        own = Opened.of(Folder.open(folder, labeller=spec, given={spec: made}), policy)
        with own.ledger() as ledger:
            missing = own.score(ledger).missing
        assert (missing > 0) == policy.startswith("only:")


def test_the_sample_is_the_same_in_every_run_and_another_seed_draws_another(folder):
    found, tally = audited(folder, judge, "form", n=5)
    assert found["form", "citations", GRADED].n == 5
    _, again = audited(folder, judge, "form", n=5)
    assert again.asked == 0
    _, other = audited(folder, judge, "form", n=5, seed=2)
    assert other.asked > 0
    assert tally.asked < 5 * 4 * 4


def test_what_cannot_be_asked_or_had_is_said(folder):
    own = opened(folder, judge)
    with pytest.raises(LedgerError, match="judge"), own.ledger(create=False):
        pass
    found, tally = audited(folder, judge, *ALL, judged=False)
    assert tally.asked == 0
    assert "judge first" in found["drift", "", GRADED].note
    assert {one.n for one in found.values()} == {0}
    assert any("judge first" in one.note for one in found.values())
    for name in ("top", "self-preference", "circularity", "small-differences"):
        assert any(one.note.startswith("not available") for key, one in found.items()
                   if key[0] == name)  # fmt: skip
    assert all(one.value is None for one in found.values())
    with pytest.raises(SettingsError, match="no probe luck"):
        Wanted(("luck",))


def test_questions_without_an_answer_are_missing_and_in_no_figure(folder):
    def shy(task, unit):
        return None if "perfectly relevant" in str(unit) else judge(task, unit)

    found, tally = audited(folder, shy, "injection")
    one = found["injection", "praise", GRADED]
    assert (one.n, one.missing, one.value) == (0, 36, None)
    assert one.note == "it got no usable label"
    assert tally.unanswered == 36


def test_a_list_that_reads_the_same_in_any_order_is_not_asked_again(folder):
    for file in (folder / "ac").glob("*.txt"):
        text = file.read_text("utf-8").replace("She came home", "captain")
        same = [line.replace(line.split(";", 3)[-1], "captain") if line.count(";") == 3 else line
                for line in text.splitlines()]  # fmt: skip
        file.write_text("\n".join(same) + "\n", encoding="utf-8")
    found, tally = audited(folder, by_content, "order")
    assert found["order", "", "r2c2.answer"].note == "no unit lists more than one thing"
    assert tally.asked == 0


def test_drift_is_told_on_the_day_and_stays_told(folder):
    mood = {"lower": False}

    def drifting(task, unit):
        said = judge(task, unit)
        if mood["lower"] and task == GRADED:
            said["grade"] = max(0, said["grade"] - 1)
        return said

    first, tally = audited(folder, drifting, "drift", n=48, day=date(2026, 1, 1))
    assert first["drift", "2026-01-01", GRADED].value == 0
    assert not first["drift", "2026-01-01", GRADED].alarm
    _, same_day = audited(folder, drifting, "drift", n=48, day=date(2026, 1, 1))
    assert same_day.asked == 0
    mood["lower"] = True
    found, later = audited(folder, drifting, "drift", n=9, day=date(2026, 2, 1))
    assert later.asked == tally.asked  # the frozen units, whatever n is now
    assert not found["drift", "2026-01-01", GRADED].alarm
    one = found["drift", "2026-02-01", GRADED]
    assert (one.n, one.up, one.down, one.alarm) == (48, 0, 12, True)
    assert one.p == mcnemar(0, 12)
    assert one.low < one.value == -0.25 < one.high < 0
    assert one.note.startswith("ALARM")


# -- with labels by people --------------------------------------------------------------------


def people(folder, rows, who="human:KIM"):
    """Have a person label (task, unit, verdict)."""
    with opened(folder, judge).ledger() as ledger:
        file = folder.parent / "said.jsonl"
        lines = [
            json.dumps({"task": task, "unit": unit, "verdict": verdict, "labeller": who})
            for task, unit, verdict in rows
        ]
        file.write_text("\n".join(lines) + "\n", encoding="utf-8")
        del ledger
    return file


def graded(grades):
    """A judge with grades of his own by (topic, rank)."""
    by_text = {passage(*key): grade for key, grade in grades.items()}

    def say(task, unit):
        return {"grade": by_text.get(unit["passage"], 0)} if task == GRADED else judge(task, unit)

    return say


def test_small_differences_and_length_are_counted_by_brute_force(folder, assay):
    draw = random.Random(4)
    keys = [(topic, rank) for topic in TOPICS for rank in range(1, PASSAGES + 1)]
    truth = {key: draw.randint(0, 3) for key in keys}
    said = {key: min(3, max(0, grade + draw.choice((-1, 0, 0, 1)))) for key, grade in truth.items()}
    rows = [
        (GRADED, {"question": question(key[0]), "passage": passage(*key)}, {"grade": truth[key]})
        for key in keys
    ]
    who = graded(said)
    own = opened(folder, who)
    with own.ledger() as ledger:
        own.judge(ledger, progress=SilentProgress())
    assert assay("labels", "import", folder, people(folder, rows)).returncode == 0
    found, tally = audited(folder, who, "small-differences", "length", n=1)
    one = found["small-differences", "one moved down", GRADED]
    shares, pairs, ties = [], 0, 0
    for topic in TOPICS:
        best = sorted(range(1, PASSAGES + 1), key=lambda rank: -truth[topic, rank])
        right = []
        for old in range(PASSAGES):
            for new in range(old + 1, PASSAGES):
                if truth[topic, best[old]] > truth[topic, best[new]]:
                    other = [r for r in best if r != best[old]]
                    other.insert(new, best[old])
                    x, y = (
                        sum(said[topic, r] / np.log2(at + 2) for at, r in enumerate(ranking))
                        for ranking in (best, other)
                    )
                    right.append(x > y + 1e-9)
                    ties += abs(x - y) <= 1e-9
        pairs += len(right)
        if right:
            shares.append(sum(right) / len(right))
    # Equal grades may be ordered otherwise, which moves what lies between.
    assert one.n == pairs
    assert one.value == pytest.approx(np.mean(shares), abs=0.08)
    assert one.low < one.value < one.high
    slope = found["length", "slope", GRADED]
    length = np.log([len(words_in(passage(*key))) for key in keys])
    values = np.array([said[key] for key in keys], float)
    equal = np.array([[truth[key] == grade for grade in range(4)] for key in keys], float)
    fit = np.linalg.lstsq(np.column_stack([length, equal]), values)[0]
    assert slope.n == len(keys)
    assert slope.value == pytest.approx(fit[0])
    assert slope.low < slope.value < slope.high
    assert tally.failed == 0


RUNS = {f"R{number}": 0.95 - 0.07 * number for number in range(12)}


@pytest.fixture
def many(tmp_path):
    """Twelve runs of answers whose truth is known, and a judge who flatters the first four."""
    path = tmp_path / "many"
    for name in ("pr", "ac"):
        (path / name).mkdir(parents=True)
    topics = [f"{number:04}" for number in range(1, 21)]
    lines = [f"{one}\tWho was the {one}?\tSimple\tGold\n" for one in topics]
    (path / "questions.tsv").write_text("".join(lines), encoding="utf-8")
    (path / "pr" / "P.txt").write_text(
        "".join(f"{one};1;d{one};A passage.\n" for one in topics), encoding="utf-8"
    )
    draw = random.Random(8)
    truth, said = {}, {}
    for at, (run, share) in enumerate(RUNS.items()):
        text = []
        for one in topics:
            answer = f"Somebody {run} {one}"
            truth[answer] = draw.random() < share
            said[answer] = truth[answer] or (at < 4 and draw.random() < 0.5)
            text.append(f"<{one}>\n{answer};50\n</{one}>\n")
        (path / "ac" / f"{run}.txt").write_text("".join(text), encoding="utf-8")
    (path / "assay.toml").write_text(
        '[evaluation]\nprotocol = "r2c2"\n[inputs]\nquestions = "questions.tsv"\n'
        'pr_runs = "pr/*.txt"\nac_runs = "ac/*.txt"\n[labellers]\ndefault = "rules"\n'
        '[settings]\nresamples = 100\n[audit.families]\n"R[0-3]" = "ours"\n"R*" = "theirs"\n',
        encoding="utf-8",
    )

    def flatterer(task, unit):
        if task == "r2c2.answer":
            return {"correct": said[unit["answer"]], "nuggets": []}
        return {"act": "answer"}

    own = opened(path, flatterer)
    with own.ledger() as ledger:
        own.judge(ledger, progress=SilentProgress())
    table = [
        np.array([[float(one[f"Somebody {run} {topic}"]) for topic in topics] for run in RUNS])
        for one in (said, truth)
    ]
    return path, flatterer, topics, truth, *table


def truths(assay, path, truth, topics):
    rows = [
        (task, {"question": f"Who was the {topic}?", "answer": answer} | more, verdict)
        for run in RUNS
        for topic in topics
        for answer in [f"Somebody {run} {topic}"]
        for task, more, verdict in (
            ("r2c2.answer", {"gold": ["Gold"], "nuggets": []},
             {"correct": truth[answer], "nuggets": []}),
            ("r2c2.dialogue_act", {}, {"act": "answer"}),
        )
    ]  # fmt: skip
    done = assay("labels", "import", path, people(path, rows))
    assert done.returncode == 0, done.stderr


TABLES = ("top", "self-preference", "circularity")


def test_flattery_and_the_top_of_the_table_are_those_of_the_arrays(many, assay):
    path, flatterer, topics, truth, f, y = many
    families = {"*flatterer": "ours"}
    before, _ = audited(path, flatterer, *TABLES, families=families)
    assert all("not available" in one.note for one in before.values() if one.of != "nDCG@20")
    assert all(one.value is None for one in before.values())
    truths(assay, path, truth, topics)
    found, tally = audited(path, flatterer, *TABLES, families=families, used=("R0", "R1"))
    assert tally.wanted == 0
    error = f - y
    own = found["self-preference", "ours", "Accuracy"]
    assert own.before == pytest.approx(error[4:].mean())
    assert own.after == pytest.approx(error[:4].mean())
    assert own.value == pytest.approx(error[:4].mean() - error[4:].mean())
    assert own.low == own.high == pytest.approx(own.value)  # all topics are labelled
    gain = found["circularity", "gain", "Accuracy"]
    assert gain.before == pytest.approx(y[:2].mean() - y[2:].mean())
    assert gain.after == pytest.approx(f[:2].mean() - f[2:].mean())
    tau = found["circularity", "τ, 17%", "Accuracy"]
    assert tau.before == pytest.approx(stats.kendalltau(f[2:].mean(1), y[2:].mean(1)).statistic)
    assert tau.after == pytest.approx(kendall_tau(y.mean(1), f.mean(1)))
    one_of_two = [np.delete(np.arange(12), one) for one in (0, 1)]
    assert found["circularity", "τ, 9%", "Accuracy"].after == pytest.approx(
        np.mean([kendall_tau(y[some].mean(1), f[some].mean(1)) for some in one_of_two])
    )
    # Of each question the judge submits the answer that it likes best, or each of these in part.
    liked = f == f.max(axis=0)
    own = found["circularity", "its own run", "Accuracy"]
    people, judge = ((one * liked).sum(0) / liked.sum(0) for one in (y, f))
    assert own.before == pytest.approx(people.mean() - y.mean())
    assert own.after == pytest.approx(judge.mean() - f.mean())
    assert own.low == own.high == pytest.approx(own.after - own.before)
    top = found["top", "τ", "Accuracy"]
    best = np.argsort(-y.mean(1), kind="stable")[:3]
    assert top.before == pytest.approx(kendall_tau(y.mean(1), f.mean(1)))
    assert top.after == kendall_tau(y.mean(1)[best], f.mean(1)[best])
    ap = found["top", "τ_AP", "Accuracy"]
    assert ap.before == pytest.approx(ap_correlation(y.mean(1), f.mean(1)))


def test_a_draw_gives_intervals_and_labels_picked_by_hand_give_nothing(many, assay):
    path, flatterer, topics, truth, f, y = many
    families = {"*flatterer": "ours"}
    truths(assay, path, truth, topics[:9])
    found, _ = audited(path, flatterer, *TABLES, families=families)
    assert all("not available" in one.note for one in found.values() if one.of != "nDCG@20")
    done = assay("draw", path, "--n", 10, "--seed", 3, "--json")
    (draw,) = json.loads(done.stdout)["draws"]
    drawn = np.array([one["drawn"] for one in draw["names"]])
    truths(assay, path, truth, [one for one, yes in zip(topics, drawn, strict=True) if yes])
    found, _ = audited(path, flatterer, *TABLES, families=families, used=("R0",))
    whole = corrected.topics(np.where(drawn, y, np.nan), f, drawn)
    apart = np.repeat([1 / 4, -1 / 8], [4, 8])
    off = apart @ (f.mean(1) - whole.value)
    half = stats.t.ppf(0.975, 9) * np.sqrt(apart @ whole.covariance @ apart)
    own = found["self-preference", "ours", "Accuracy"]
    assert own.n == 10
    assert (own.value, own.low, own.high) == pytest.approx((off, off - half, off + half))
    assert found["top", "τ", "Accuracy"].before == pytest.approx(
        kendall_tau(whole.value, f.mean(1))
    )
    liked = f == f.max(axis=0)
    with_own = [np.vstack([one, (one * liked).sum(0) / liked.sum(0)]) for one in (y, f)]
    whole = corrected.topics(np.where(drawn, with_own[0], np.nan), with_own[1], drawn)
    own = found["circularity", "its own run", "Accuracy"]
    assert own.before == pytest.approx(whole.value[12] - whole.value[:12].mean())
    apart = np.append(np.full(12, -1 / 12), 1.0)
    half = stats.t.ppf(0.975, 9) * np.sqrt(apart @ whole.covariance @ apart)
    assert own.high - own.low == pytest.approx(2 * half)
    unnamed, _ = audited(path, flatterer, "self-preference", "circularity")
    assert "no family of" in unnamed["self-preference", "", "Accuracy"].note
    assert "--used RUN" in unnamed["circularity", "", "Accuracy"].note


# -- what is shown ----------------------------------------------------------------------------


def test_the_page_escapes_what_comes_from_corpora_and_is_the_same_each_time(folder):
    audited(folder, praised)
    html = (folder / "out" / "audit.html").read_bytes()
    assert b"<b>Nothing</b>" not in html
    assert b"&lt;b&gt;Nothing&lt;/b&gt;" in html
    assert b"No label given here enters any score" in html
    assert b"injection" in html
    found, _ = audited(folder, praised)
    assert (folder / "out" / "audit.html").read_bytes() == html
    said = json.loads((folder / "out" / "audit.json").read_bytes())
    assert set(COLUMNS) <= set(said["probes"][0])
    rows = {(one["probe"], one["variant"], one["of"]): one for one in said["probes"]}
    assert rows.keys() == found.keys()
    assert rows["injection", "praise", GRADED]["p"] == found["injection", "praise", GRADED].p
    assert "injection (praise, trec_rag.relevance)" in said["summary"][0]


def test_the_document_the_page_and_the_remarks_say_the_same(folder):
    own = opened(folder, judge)
    with own.ledger() as ledger:
        own.judge(ledger, progress=SilentProgress())
        audit = Audit(own, ledger, Wanted(("order", "swap"), n=7))
        audit.ask(progress=SilentProgress())
        found = audit.findings()
        made, shown = document(audit, found), page(audit, found)
        write_audit(audit, found)
    assert made["n"] == 7
    assert [part.title for part in shown.parts] == ["order", "swap"]
    assert (folder / "out" / "audit.json").read_bytes().endswith(b"\n}\n")
    lines = list(remarks(found))
    assert any(GRADED in line and "makes no claim" in line for line in lines)
    assert all(line.endswith(".") for line in lines)


def test_judges_are_set_beside_each_other_and_beside_people(many, assay):
    path, flatterer, topics, truth, f, y = many

    def fair(task, unit):
        """Knows the truth but for one run of the others, of which it believes all."""
        if task == "r2c2.answer":
            right = truth[unit["answer"]] or "R5 " in unit["answer"]
            return {"correct": right, "nuggets": []}
        return {"act": "answer"}

    families = {"*flatterer": "ours", "*fair": "theirs"}
    other = opened(path, fair)
    with other.ledger() as ledger:
        other.judge(ledger, progress=SilentProgress())
    g = y.copy()
    g[5] = 1.0
    own = opened(path, flatterer)

    def rows_of():
        with own.ledger() as ledger:
            audit = Audit(own, ledger, Wanted(("self-preference",), families=families))
            assert audit.ask(progress=SilentProgress()).wanted == 0
            found = [one for one in audit.findings() if one.of == "Accuracy" and one.n]
        return {(one.variant, one.labeller.rpartition(":")[2]): one for one in found}

    gaps = [one[:4].mean(axis=0) - one[4:].mean(axis=0) for one in (f, g, y)]
    found = rows_of()
    assert len(found) == 2  # without people's labels nothing is set beside these
    for (variant, _), one in found.items():
        sign = 1 if variant.startswith("ours") else -1
        first, second = gaps[:2] if sign == 1 else gaps[1::-1]
        assert one.before == pytest.approx(sign * second.mean())
        assert one.after == pytest.approx(sign * first.mean())
        assert one.value == pytest.approx((gaps[0] - gaps[1]).mean())
        seen = mean_interval(gaps[0] - gaps[1], resamples=2000, seed=1)
        assert (one.low, one.high) == pytest.approx((seen.low, seen.high))
        assert one.n == len(topics)
    truths(assay, path, truth, topics)
    found = rows_of()
    against = {variant: one for (variant, _), one in found.items() if "," not in variant}
    assert against["ours"].value == pytest.approx((gaps[0] - gaps[2]).mean())
    assert against["theirs"].value == pytest.approx(-(gaps[1] - gaps[2]).mean())
