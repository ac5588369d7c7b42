"""Draws of single units, and scores corrected by what people said of them."""

from __future__ import annotations

import csv
import json
import random
import shutil
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from assay.api.auditing import Audit, Wanted
from assay.api.correcting import open_units
from assay.api.opened import Opened
from assay.api.planning import Aim, plan_labels
from assay.api.trust import draw_units, drawn_so_far, trust
from assay.ledger.policy import Policy
from assay.model.errors import SettingsError
from assay.statistics import corrected
from assay.web.desk import Desk
from tests.api.test_trust import (  # noqa: F401 (fixtures)
    QUESTIONS,
    RUNS,
    judged,
    judged_once,
    lines,
    units,
)
from tests.command import run_here

EXAMPLE = Path(__file__).resolve().parents[2] / "examples" / "trec-rag"
SGSS = EXAMPLE.with_name("sgss")
COPIES = 4
RAG_TASKS = ("trec_rag.support", "trec_rag.assignment", "trec_rag.relevance")
POINTS = ("no", "partially", "perfectly")
SGSS_TASKS = ("sgss.sufficiency", "sgss.representativeness", "sgss.heading", "sgss.statement")
VERDICTS = {
    **dict.fromkeys(
        (*SGSS_TASKS, "sgss.coverage"), lambda unit, rng: {"label": rng.choice(POINTS)}
    ),
    "trec_rag.support": lambda unit, rng: {"support": rng.choice(["full", "partial", "none"])},
    "trec_rag.assignment": lambda unit, rng: {
        "labels": [
            rng.choice(["support", "partial_support", "not_support"]) for _ in unit["nuggets"]
        ]
    },
    "trec_rag.relevance": lambda unit, rng: {"grade": rng.randint(0, 3)},
    "r2c2.answer": lambda unit, rng: {
        "correct": rng.random() < 0.7,
        "nuggets": [
            {"nugget": at + 1, "helped": rng.random() < 0.6} for at in range(len(unit["nuggets"]))
        ],
    },
}


def requests(folder, tasks):
    opened = Opened.open(folder)
    with opened.ledger() as ledger:
        for part in opened.parts.values():
            book = part.book(ledger)
            for step in part.steps:
                for request in step.requests(book):
                    if request.task.name in tasks:
                        yield request


def say(assay, folder, asked, seed, who=None):
    """Labels of these units by chance, in a file; by a person they are brought in."""
    rng = random.Random(seed)
    rows = []
    for request in asked:
        task, unit = request.task.name, request.content
        row = {"task": task, "unit": unit, "verdict": VERDICTS[task](unit, rng)}
        rows.append(json.dumps(row | ({} if who is None else {"labeller": who})))
    file = folder / f"said{seed}.jsonl"
    file.write_text("\n".join(rows) + "\n", encoding="utf-8")
    if who is not None:
        done = assay("labels", "import", folder, file)
        assert done.returncode == 0, done.stderr
    return file


def drawn_units(folder, of=-1):
    opened = Opened.open(folder)
    with opened.ledger() as ledger:
        return [one for one, _ in open_units(opened.parts, ledger, ledger.draws()[of])]


@pytest.fixture(scope="session")
def rag_once(tmp_path_factory):
    """The example of TREC RAG several times over, each time with other words, labelled at random
    by a machine. Nobody changes it."""
    folder = tmp_path_factory.mktemp("rag") / "rag"
    for path in EXAMPLE.rglob("*"):
        inside = path.relative_to(EXAMPLE)
        if (path.is_file() and inside.parts[0] in ("r", "rag")) or path.suffix == ".jsonl":
            if inside.parts[0] in ("gold", "out"):
                continue
            text = path.read_text(encoding="utf-8")
            (folder / inside).parent.mkdir(parents=True, exist_ok=True)
            copies = (again(text, number) for number in range(COPIES))
            (folder / inside).write_text("".join(copies), encoding="utf-8")
    (folder / "assay.toml").write_text(
        '[evaluation]\nprotocol = "trec-rag"\n[inputs]\nnarratives = "narratives.jsonl"\n'
        'sub_narratives = "sub_narratives.jsonl"\nsegments = ["segments.jsonl"]\n'
        'nuggets = "nuggets.jsonl"\nr_runs = ["r/*.txt"]\nrag_runs = ["rag/*.jsonl"]\n'
        '[labellers]\ndefault = "recorded:said1.jsonl"\n'
        '[settings]\nrelevance = "0-3"\nresamples = 100\nmeasures = ["P@2", "P@4", "nDCG@4"]\n',
        encoding="utf-8",
    )
    (folder / "said1.jsonl").write_text("", encoding="utf-8")
    say(run_here, folder, requests(folder, RAG_TASKS), 1)
    done = run_here("judge", folder)
    assert done.returncode == 0, done.stderr
    return folder


@pytest.fixture
def rag(rag_once, tmp_path):
    """A copy of it."""
    return Path(shutil.copytree(rag_once, tmp_path / "rag"))


def again(text, number):
    """A file's lines with other topics and documents, and questions in other words."""
    for name in ("aq", "bee"):
        for before in ('"', " ", "\n"):
            for after in ('"', "-", " "):
                text = text.replace(f"{before}{name}{after}", f"{before}{name}{number}{after}")
        if text.startswith(name):
            text = name + str(number) + text[len(name) :]
    text = text.replace("I want to", f"In case {number} I want to")
    return text.replace("I keep", f"In case {number} I keep").replace(
        '"segment": "', f'"segment": "Case {number}. '
    )


@pytest.fixture(scope="session")
def summaries_once(tmp_path_factory):
    """The example of SGSS several times over, with readers who leave early and degraded
    versions. Nobody changes it."""
    folder = tmp_path_factory.mktemp("sgss") / "sgss"
    folder.mkdir()
    lines = (SGSS / "summaries.jsonl").read_text(encoding="utf-8").splitlines()
    rows = [json.loads(line) for line in lines]
    with (folder / "summaries.jsonl").open("w", encoding="utf-8") as file:
        for number in range(3):
            for row in rows:
                more = {
                    "query_id": f"{row['query_id']}{number}",
                    "query": f"{row['query']} {number}",
                }
                text = json.dumps(row | more, ensure_ascii=False)
                text = text.replace('{"text": "', f'{{"text": "Case {number}. ')
                file.write(text.replace('"heading": "', f'"heading": "{number} ') + "\n")
    (folder / "assay.toml").write_text(
        '[evaluation]\nprotocol = "sgss"\n[inputs]\nsummaries = "summaries.jsonl"\n'
        '[labellers]\ndefault = "recorded:said1.jsonl"\n'
        '[settings]\nresamples = 100\napd = "geometric"\np = 0.2\nl_max = 6\n'
        'degrade = ["NoHeadings", "NoSection1"]\n[settings.weights]\nHR = -0.5\nSRel = 0.7\n',
        encoding="utf-8",
    )
    (folder / "said1.jsonl").write_text("", encoding="utf-8")
    asked = (*SGSS_TASKS, "sgss.coverage", "trec_rag.support")
    say(run_here, folder, requests(folder, asked), 1)
    done = run_here("judge", folder)
    assert done.returncode == 0, done.stderr
    return folder


@pytest.fixture
def summaries(summaries_once, tmp_path):
    """A copy of it."""
    return Path(shutil.copytree(summaries_once, tmp_path / "sgss"))


@pytest.mark.parametrize("task", [*SGSS_TASKS, "trec_rag.support"])
def test_scores_of_summaries_are_sums_over_labels_of_each_task(assay, summaries, task):
    n = len({one.unit_hash for one in requests(summaries, (task,))})
    assert draw_units(summaries, n=n, seed=1, task=task, design="uniform").units == n
    say(assay, summaries, drawn_units(summaries), 2, "human:KIM")
    found = {c.measure: c for b in trust(summaries).boards for c in b.found}
    assert found.keys() >= {"SGSS", "XUX", "XUX_F", "XUX_G"}
    opened = Opened.open(summaries)
    with opened.ledger() as ledger:
        (part,) = opened.parts.values()
        scores = replace(part, policy=part.policy.of_drawn([task])).score(ledger).findings.scores
    for name, one in found.items():
        expected = [scores[run][name].value for run in one.runs]
        assert one.value == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize("task", RAG_TASKS)
def test_where_every_unit_is_drawn_the_scores_are_peoples_own(assay, rag, task):
    n = len(list(requests(rag, (task,))))
    found = draw_units(rag, n=n, seed=1, task=task, design="uniform")
    assert found.units == n
    assert set(found.draw.pi) == {1.0}
    say(assay, rag, drawn_units(rag), 2, "human:KIM")
    trusted = trust(rag)
    opened = Opened.open(rag)
    with opened.ledger() as ledger:
        (part,) = opened.parts.values()
        by_people = replace(part, policy=part.policy.of_drawn([task])).score(ledger).findings.scores
        by_machine = replace(part, policy=Policy.parse("machine")).score(ledger).findings.scores
    measures = [one for board in trusted.boards for one in board.found]
    assert {one.measure for one in measures} == {
        "trec_rag.support": {
            "weighted_precision", "weighted_recall", "hard_precision", "hard_recall"},
        "trec_rag.assignment": {"strict_vital", "vital", "strict_all", "all", "weighted"},
        "trec_rag.relevance": {"P@2", "P@4"},
    }[task]  # fmt: skip
    for one in measures:
        for values, scores in ((one.value, by_people), (one.judge, by_machine)):
            expected = [scores[run][one.measure].value for run in one.runs]
            assert values == pytest.approx(expected, abs=1e-12)
        assert one.high - one.low == pytest.approx(0, abs=1e-6)
    refused = {name: why for board in trusted.boards for name, why in board.refused.items()}
    assert "Draw whole topics" in refused["nDCG@4"]


@pytest.fixture
def answers(judged):  # noqa: F811
    folder, truth, judge, _ = judged
    return folder, truth, judge


def truly(assay, folder, truth, name="true.jsonl", most=None, of=-1):
    """A person says the truth of what was drawn."""
    rows = []
    for request in drawn_units(folder, of)[:most]:
        answer = request.content["answer"].split()
        rows.append((answer[1], answer[2], truth[answer[1], answer[2]]))
    said = [one for one in lines(rows, "human:KIM").splitlines() if "r2c2.answer" in one]
    (folder / name).write_text("\n".join(said) + "\n", encoding="utf-8")
    done = assay("labels", "import", folder, folder / name)
    assert done.returncode == 0, done.stderr
    return rows


def arrays(folder, truth, judge, draws):
    """Weights, labels and draws in the order of the units' hashes."""
    by_answer = {}
    for request in requests(folder, ("r2c2.answer",)):
        _, run, topic = request.content["answer"].split()
        by_answer[request.unit_hash] = (run, topic)
    keys = [by_answer[unit] for unit in sorted(by_answer)]
    weights = np.array([[(key[0] == run) / len(QUESTIONS) for key in keys] for run in RUNS])
    y = np.array([float(truth[key]) for key in keys])
    f = np.array([float(judge[key]) for key in keys])
    topic = np.array([QUESTIONS.index(key[1]) for key in keys])
    rows = []
    for draw in draws:
        said = dict(zip(draw.names, zip(draw.pi, draw.drawn, strict=True), strict=True))
        both = [said.get(unit, (0.0, False)) for unit in sorted(by_answer)]
        rows.append((np.array([pi for pi, _ in both]), np.array([one for _, one in both])))
    return weights, y, f, topic, rows


@pytest.mark.parametrize("design", ["uniform", "leverage", "pairs"])
def test_drawn_answers_correct_accuracy_as_the_arrays_say(assay, answers, design):
    folder, truth, judge = answers
    found = draw_units(folder, n=40, seed=4, task="r2c2.answer", design=design)
    assert found.draw.design == design
    assert sum(found.draw.pi) == pytest.approx(40)
    done = assay("trust", folder)
    assert done.returncode == 1
    assert "are still missing" in done.stdout
    truly(assay, folder, truth)
    weights, y, f, topic, [(pi, drawn)] = arrays(folder, truth, judge, [found.draw])
    expected = corrected.items(weights, np.where(drawn, y, np.nan), f, pi, drawn, topic)
    (one,) = [c for b in trust(folder).boards for c in b.found if c.measure == "Accuracy"]
    assert one.value == pytest.approx(expected.value)
    assert one.low == pytest.approx(expected.low)
    assert one.high == pytest.approx(expected.high)
    assert one.human == pytest.approx(expected.human_only_value)
    like = trust(folder, population="like these")
    wider = next(c for b in like.boards for c in b.found if c.measure == "Accuracy")
    assert (wider.high - wider.low > one.high - one.low).all()
    rows = list(csv_rows(folder, assay))
    assert {row["design"] for row in rows} == {design}
    assert {int(row["labels"]) for row in rows} == {int(drawn.sum())}


def csv_rows(folder, assay):
    assert assay("trust", folder).returncode == 0
    with (folder / "out" / "trust.csv").open(encoding="utf-8") as file:
        yield from csv.DictReader(file)


def test_a_second_draw_goes_to_what_is_not_known_and_both_count_together(assay, answers):
    folder, truth, judge = answers
    first = draw_units(folder, n=30, seed=4, task="r2c2.answer", design="leverage").draw
    truly(assay, folder, truth, most=1)
    with pytest.raises(SettingsError, match="not labelled yet"):
        draw_units(folder, n=30, seed=5, task="r2c2.answer", design="pairs")
    truly(assay, folder, truth)
    with pytest.raises(SettingsError, match="--seed"):
        draw_units(folder, n=20, seed=4, task="r2c2.answer", design="pairs")
    second = draw_units(folder, n=20, seed=5, task="r2c2.answer", design="pairs").draw
    assert not set(first.chosen) & set(second.names)
    assert draw_units(folder, n=20, seed=5, task="r2c2.answer", design="pairs").draw == second
    assert [one.draw for one in drawn_so_far(Opened.open(folder))] == [first, second]
    truly(assay, folder, truth, "more.jsonl")
    weights, y, f, topic, rows = arrays(folder, truth, judge, [first, second])
    (pi_1, drawn_1), (pi_2, drawn_2) = rows
    batches = [
        corrected.items(weights, np.where(drawn_1, y, np.nan), f, pi_1, drawn_1, topic),
        corrected.items(
            np.where(drawn_1, 0, weights), np.where(drawn_2, y, np.nan), f, pi_2, drawn_2, topic,
            offset=weights[:, drawn_1] @ y[drawn_1],
        ),
    ]  # fmt: skip
    # 30 of 90 units, then 20 of the 60 that were planned to be left.
    expected = corrected.combine(batches, [30 / (90 * 60), 20 / (60 * 40)])
    found = trust(folder)
    (one,) = [c for b in found.boards for c in b.found if c.measure == "Accuracy"]
    assert one.value == pytest.approx(expected.value)
    assert one.high == pytest.approx(expected.high)
    (named,) = [
        c for b in trust(folder, draw=second.uid).boards for c in b.found if c.measure == "Accuracy"
    ]
    assert named.value == pytest.approx(expected.value)
    done = assay("trust", folder, "--population", "like-these")
    assert done.returncode == 1
    assert "several draws" in " ".join(done.stdout.split())


def test_labels_of_units_that_were_not_drawn_change_nothing(assay, answers):
    folder, truth, _judge = answers
    draw_units(folder, n=40, seed=4, task="r2c2.answer", design="uniform")
    rows = truly(assay, folder, truth)
    before = trust(folder).boards
    others = [(run, one, True) for run in RUNS for one in QUESTIONS]
    others = [one for one in others if (*one[:2], truth[one[:2]]) not in rows]
    said = [one for one in lines(others, "human:LEE").splitlines() if "r2c2.answer" in one]
    (folder / "by-hand.jsonl").write_text("\n".join(said) + "\n", encoding="utf-8")
    assert assay("labels", "import", folder, folder / "by-hand.jsonl").returncode == 0
    after = trust(folder).boards
    for one, other in zip(before, after, strict=True):
        for a, b in zip(one.found, other.found, strict=True):
            assert (a.value == b.value).all()
            assert (a.high == b.high).all()


def test_several_judges_enter_together(assay, answers):
    folder, truth, judge = answers
    rng = random.Random(8)
    better = {key: right != (rng.random() < 0.05) for key, right in truth.items()}
    said = lines([(*key, right) for key, right in better.items()], "other-model")
    said = "\n".join(one for one in said.splitlines() if "r2c2.answer" in one)
    (folder / "other.jsonl").write_text(said + "\n", encoding="utf-8")
    assert assay("labels", "import", folder, folder / "other.jsonl").returncode == 0
    draw = draw_units(folder, n=40, seed=4, task="r2c2.answer", design="uniform").draw
    truly(assay, folder, truth)
    weights, y, f, topic, [(pi, drawn)] = arrays(folder, truth, judge, [draw])
    other = arrays(folder, truth, better, [draw])[2]
    both = corrected.items(
        weights, np.where(drawn, y, np.nan), np.stack([f, other]), pi, drawn, topic
    )
    (one,) = [c for b in trust(folder).boards for c in b.found if c.measure == "Accuracy"]
    assert one.value == pytest.approx(both.value)
    assert one.high == pytest.approx(both.high)
    assert "2 judges" in assay("trust", folder, "--json").stdout
    # A former version of one of them is a judge of its own.
    rows = [json.loads(one) for one in said.splitlines()]
    former = {"name": "other-model", "kind": "model", "params": {"version": 1}}
    again = "".join(json.dumps({**row, "labeller": former}) + "\n" for row in rows)
    (folder / "former.jsonl").write_text(again, encoding="utf-8")
    assert assay("labels", "import", folder, folder / "former.jsonl").returncode == 0
    told = assay("trust", folder, "--json").stdout
    assert "3 judges" in told
    assert told.count("other-model#") == 2


@pytest.mark.parametrize(
    ("options", "says"),
    [
        (("--task", "r2c2.dialogue_act"), "No measure here can be corrected"),
        (("--task", "r2c2.answer", "--n", "12"), "--n from 20"),
        (("--task", "r2c2.nothing"), "asks nothing under"),
        (("--task", "answer", "-m", "HMR"), "HMR is not a sum"),
        (("--task", "r2c2.answer", "--n", "900"), "only 90 items"),
        ((), "drawing single units takes exactly one task"),
    ],
)
def test_what_cannot_be_drawn_is_said(assay, answers, options, says):
    folder, *_ = answers
    done = assay("draw", folder, "--design", "leverage", "--n", "20", *options)
    assert done.returncode == 2
    assert says in " ".join(done.stderr.split())


def test_hmr_is_told_to_draw_topics(assay, answers):
    folder, truth, _ = answers
    draw_units(folder, n=40, seed=4, task="r2c2.answer", design="uniform")
    truly(assay, folder, truth)
    refused = {name: why for board in trust(folder).boards for name, why in board.refused.items()}
    assert "Draw whole topics" in refused["HMR"]


def test_a_draw_that_nobody_got_to_stands_in_no_other_ones_way(assay, answers):
    folder, truth, judge = answers
    draw_units(folder, n=70, seed=4, task="r2c2.answer", design="leverage")
    second = draw_units(folder, n=40, seed=5, task="r2c2.answer", design="uniform").draw
    truly(assay, folder, truth)
    weights, y, f, topic, [(pi, drawn)] = arrays(folder, truth, judge, [second])
    expected = corrected.items(weights, np.where(drawn, y, np.nan), f, pi, drawn, topic)
    (one,) = [c for b in trust(folder).boards for c in b.found if c.measure == "Accuracy"]
    assert one.value == pytest.approx(expected.value)
    assert one.low == pytest.approx(expected.low)
    assert any("is left out with all its labels" in said for said in one.warnings)


def test_the_workbench_has_drawn_units_as_a_queue(assay, answers):
    folder, *_ = answers
    draw = draw_units(folder, n=20, seed=4, task="r2c2.answer", design="pairs").draw
    with Desk.open(Opened.open(folder)) as desk:
        desk.sync()
        found = desk.next(desk.state.person("ANN"), "r2c2.answer", "drawn", count=100)
        assert {desk.state.unit(one["unit"]).hash for one in found} == set(draw.chosen)


def test_units_that_no_draw_could_hold_are_told(assay, answers):
    folder, truth, _ = answers
    draw_units(folder, n=30, seed=4, task="r2c2.answer", design="uniform")
    truly(assay, folder, truth)
    run = folder / "ac" / "A.txt"
    run.write_text(run.read_text().replace("Somebody A 0001;", "Somebody new 0001;"))
    said = lines([("new", "0001", True)])
    machine = folder / "machine.jsonl"
    machine.write_text(machine.read_text() + said, encoding="utf-8")
    assert assay("judge", folder).returncode == 0
    refused = trust(folder).boards[0].refused
    assert "1 unit could not be drawn" in refused["Accuracy"]


@pytest.mark.parametrize("seed", [4, 8])
def test_once_all_is_labelled_the_scores_are_peoples_own(assay, answers, seed):
    folder, truth, _ = answers
    draw_units(folder, n=30, seed=seed, task="r2c2.answer", design="uniform")
    truly(assay, folder, truth)
    (drawn,) = drawn_so_far(Opened.open(folder))
    rest = 90 - len(drawn.draw.chosen)
    (all_of_it,) = (each for each in plan_labels(Opened.open(folder), Aim(n=rest)).offers
                    if each.design == "leverage")  # fmt: skip
    assert (all_of_it.labels, all_of_it.width) == (rest, pytest.approx(0))
    draw_units(folder, n=rest, seed=5, task="r2c2.answer", design="leverage")
    truly(assay, folder, truth, "rest.jsonl")
    (one,) = [c for b in trust(folder).boards for c in b.found if c.measure == "Accuracy"]
    own = [np.mean([truth[run, topic] for topic in QUESTIONS]) for run in one.runs]
    # However many more or fewer the first draw held than it was planned to.
    assert one.value == pytest.approx(own)
    assert one.high == pytest.approx(one.low)


def test_a_draw_for_another_measure_is_no_draw_that_was_made(assay, rag):
    draw_units(rag, n=20, seed=1, task="trec_rag.relevance", design="uniform", measure="P@4")
    with pytest.raises(SettingsError, match="--seed 1 already exists"):
        draw_units(rag, n=20, seed=1, task="trec_rag.relevance", design="uniform", measure="P@2")
    draw_units(rag, n=20, seed=2, task="trec_rag.relevance", design="uniform", measure="P@2")
    with pytest.raises(SettingsError, match="--seed 2 already exists"):
        draw_units(rag, n=20, seed=2, task="trec_rag.relevance", design="uniform", measure="P@4")


def test_the_audit_of_flattery_and_the_table_of_families_are_one(assay, answers):
    folder, truth, judge = answers
    config = folder / "assay.toml"
    families = (
        '[audit.families]\n"A" = "ours"\n"recorded*" = "ours"\n"B" = "theirs"\n"C" = "theirs"\n'
    )
    config.write_text(config.read_text("utf-8") + families, encoding="utf-8")

    def audited():
        opened = Opened.open(folder)
        probes = ("top", "self-preference", "circularity")
        with opened.ledger() as ledger:
            found = Audit(opened, ledger, Wanted(probes, used=("B",))).findings()
        return {(one.probe, one.variant): one for one in found if one.of in ("", "Accuracy")}

    draw_units(folder, n=40, seed=4, task="r2c2.answer", design="leverage")
    assert all("by people are missing" in one.note for one in audited().values())
    labels = len(truly(assay, folder, truth))
    found = audited()
    own = found["self-preference", "ours"]
    (one,) = [c for b in trust(folder).boards for c in b.found if c.measure == "Accuracy"]
    (beyond,) = [each for each in one.families if each.beyond == "theirs"]
    assert (own.value, own.low, own.high) == (beyond.off, beyond.low, beyond.high)
    assert own.n == labels
    gain = found["circularity", "gain"]
    off = one.judge - one.value
    assert gain.value == pytest.approx(off[1] - (off[0] + off[2]) / 2)
    assert gain.after - gain.before == pytest.approx(gain.value)
    assert found["top", "τ"].before is not None
    made = found["circularity", "its own run"]  # of each question an answer that the judge likes
    said = np.array([[judge[run, one] for one in QUESTIONS] for run in RUNS])
    assert made.after == pytest.approx(said.max(axis=0).mean() - said.mean())
    assert made.n == labels
    assert made.low < made.value < made.high


def test_draws_that_hold_the_same_units_count_each_label_once(assay, answers):
    """The second is made, from all units, before anybody labelled the first."""
    folder, truth, judge = answers
    both = [
        draw_units(folder, n=30, seed=seed, task="r2c2.answer", design=design).draw
        for seed, design in ((4, "leverage"), (5, "uniform"))
    ]
    assert set(both[0].chosen) & set(both[1].chosen)
    for number in range(2):
        truly(assay, folder, truth, f"true{number}.jsonl", of=number)
    third = draw_units(folder, n=20, seed=6, task="r2c2.answer", design="uniform").draw
    truly(assay, folder, truth, "last.jsonl")
    weights, y, f, topic, rows = arrays(folder, truth, judge, [*both, third])
    known, batches, left = np.zeros(len(y), dtype=bool), [], 90
    for (pi, drawn), n in zip(rows, (30, 30, 20), strict=True):
        new = drawn & ~known
        batches.append(
            (
                n / (left * (left - n)),
                corrected.items(
                    np.where(known, 0, weights), np.where(new, y, np.nan), f,
                    np.where(known, 0, pi), new, topic, offset=weights[:, known] @ y[known],
                ),
            )
        )  # fmt: skip
        known, left = known | drawn, left - n
    sizes, found = zip(*batches, strict=True)
    expected = corrected.combine(found, sizes)
    (one,) = [c for b in trust(folder).boards for c in b.found if c.measure == "Accuracy"]
    assert one.value == pytest.approx(expected.value)
    assert one.low == pytest.approx(expected.low)
