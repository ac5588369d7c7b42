"""An edited marked run becomes labels under which scoring publishes just that file."""

from __future__ import annotations

import csv
import json
import random
import re
import shutil
from collections import defaultdict
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from assay.api.label_import import import_marked
from assay.api.opened import Opened
from assay.formats.r2c2_ac import write_marked
from assay.judging.progress import SilentProgress
from assay.model.errors import FormatError
from assay.model.rag import Mark
from assay.protocols.answers.results import AnswerFindings
from assay.protocols.evaluation import Evaluation
from assay.protocols.r2c2.protocol import R2C2
from tests.conftest import copy_example
from tests.r2c2.worlds import KIM, RUNS, World, write_world

Marks = dict[str, dict[int, Mark]]


def marks_of(result: AnswerFindings, run: str) -> Marks:
    return {question: one.marks for question, one in result.answers[run].items()}


def published(world: World, result: AnswerFindings, run: str) -> bytes:
    return write_marked(world.inputs.ac_files[run], marks_of(result, run))


def impossible(world: World, before: AnswerFindings, wanted: dict[str, Marks]) -> bool:
    """Whether these files ask for two things of what is equal, so has one label."""
    pairs, answers = defaultdict(set), defaultdict(set)
    for run, marks in wanted.items():
        for question, own in marks.items():
            result = before.answers[run][question]
            assert result.answer is not None
            for one in result.nuggets:
                assert one.passage is not None
                bogus = own[one.nugget.num] is Mark.BOGUS
                pairs[one.passage.text, one.nugget.text].add(bogus)
            rest = [one for one in result.nuggets if own[one.nugget.num] is not Mark.BOGUS]
            said = [own[one.nugget.num] for one in rest]
            correct = Mark.RELEVANT in said or result.correct
            texts = (result.answer.text, *(one.nugget.text for one in rest))
            answers[texts].add((correct, *said))
    return any(len(said) > 1 for said in (*pairs.values(), *answers.values()))


@settings(max_examples=15)
@given(st.integers(0, 10**6), st.sampled_from([1, 2, 5]), st.integers(1, 3))
def test_random_edits_come_out_as_they_went_in_or_are_refused(seed: int, edits: int, count: int):
    draw = random.Random(seed)
    with TemporaryDirectory() as place:
        folder = Path(place)
        write_world(folder, draw)
        world = World(folder)
        world.judge(draw)
        before = world.score()
        wanted: dict[str, Marks] = {
            run: {question: dict(own) for question, own in marks_of(before, run).items()}
            for run in draw.sample(RUNS, count)
        }
        nuggets = [
            (r, q, n) for r, marks in wanted.items() for q, own in marks.items() for n in own
        ]
        for run, question, num in draw.sample(nuggets, min(edits, len(nuggets))):
            wanted[run][question][num] = draw.choice(list(Mark))
        files = []
        for run, marks in wanted.items():
            files.append(folder / f"{run}.txt")
            files[-1].write_bytes(write_marked(world.inputs.ac_files[run], marks))
        size = world.ledger.size()
        changed = any(file.read_bytes() != published(world, before, file.stem) for file in files)
        try:
            done = import_marked(
                world.evaluation, world.ledger, files, KIM, (), None, dry_run=False
            )
        except FormatError as error:
            assert changed
            assert impossible(world, before, wanted), error
            assert world.ledger.size() == size
        else:
            assert (done.added > 0) is changed
            assert not (changed and impossible(world, before, wanted))
            for judged in range(2):
                after = world.score()
                for file in files:
                    assert published(world, after, file.stem) == file.read_bytes(), judged
                again = import_marked(
                    world.evaluation, world.ledger, files, KIM, (), None, dry_run=False
                )
                assert again.added == 0
                world.judge(draw)  # what the machine is asked now changes none of it
        world.ledger.close()


# -- through the command line ----------------------------------------------------------------------


@pytest.fixture
def judged(evaluated_slide: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(evaluated_slide, tmp_path / "slide"))


def edited(folder: Path, *changes: tuple[str, str]) -> Path:
    """A copy of the published file with some text changed."""
    path = folder / "edited" / "SLIDE.txt"
    path.parent.mkdir(exist_ok=True)
    text = (folder / "out" / "marked" / "SLIDE.txt").read_text()
    for old, new in changes:
        assert old in text
        text = text.replace(old, new, 1)
    path.write_text(text)
    return path


def accuracy(folder: Path) -> float:
    with (folder / "out" / "scores.csv").open() as file:
        rows = list(csv.DictReader(file))
    return next(float(row["value"]) for row in rows if row["measure"] == "Accuracy")


CHANGES = [
    (("B3", "R3"),),
    (("B3", "N3"),),
    (("R4", "B4"),),
    (("N1", "B1"),),
    (("R4", "N4"),),
    (("N2", "R2"),),
    (("R4", "N4"), ("R5", "N5")),
    tuple((f"{mark}{num}", f"B{num}") for num, mark in enumerate("NNBRR", 1) if mark != "B"),
]


@pytest.mark.parametrize("changes", CHANGES, ids=lambda them: " ".join(new for _, new in them))
def test_each_change_of_a_mark(slide: Path, changes):
    opened = Opened.open(slide)
    evaluation = Evaluation.open(opened.folder, R2C2, None)
    with opened.folder.open_ledger() as ledger:
        opened.judge(ledger, progress=SilentProgress(), budget=None, retry_failed=False)
        opened.write(ledger)
        file = edited(slide, *changes)
        done = import_marked(evaluation, ledger, [file], KIM, (), None, dry_run=False)
        assert done.added > 0
        opened.write(ledger)
        assert (slide / "out" / "marked" / "SLIDE.txt").read_bytes() == file.read_bytes()
        assert accuracy(slide) == 1, "without a relevant nugget an answer stays what it was"
        again = import_marked(evaluation, ledger, [file], KIM, (), None, dry_run=False)
        assert again.added == 0


def test_a_dry_run_tells_and_writes_nothing(judged, assay):
    file = edited(judged, ("B3", "R3"))
    before = (judged / "labels.sqlite").read_bytes()
    done = assay("labels", "import", judged, file, "--by", "human:KIM", "--dry-run", "--json")
    assert done.returncode == 0, done.stderr
    assert (judged / "labels.sqlite").read_bytes() == before
    document = json.loads(done.stdout)
    assert document["dry_run"] is True
    assert document["added"] == 2
    assert [one["after"] for one in document["labels"]] == [
        "entailed YES", "correct YES; helped 3,4,5",
    ]  # fmt: skip
    found = document["consequences"]
    nugget = {"run": "SLIDE", "topic": "0001", "position": "nugget 3"}
    assert found["marks"] == [{**nugget, "before": "B", "after": "R"}]
    passage = {"run": "WASEDA-PR-1", "topic": "0001", "position": "passage 2"}
    assert found["grades"] == [{**passage, "before": 0, "after": 1}]
    scores = {(one["run"], one["measure"]): one for one in found["scores"]}
    precision = scores["SLIDE", "NuggetPrecision"]
    assert (precision["before"]["value"], precision["after"]["value"]) == (0.4, 0.6)
    assert ("WASEDA-PR-1", "nDCG@20") in scores
    assert ("SLIDE", "HMR") not in scores
    told = assay("labels", "import", judged, file, "--by", "human:KIM", "--dry-run").stdout
    assert "3 B → R" in told
    assert "rank 2 0 → 1" in told
    assert "2 labels would be added." in told


def test_the_base_is_what_scoring_would_write_not_the_file_in_out(judged, assay):
    file = edited(judged, ("R4", "N4"))
    shutil.copy(file, judged / "out" / "marked" / "SLIDE.txt")
    done = assay(
        "labels", "import", judged, judged / "out" / "marked" / "SLIDE.txt", "--by", "human:KIM"
    )
    assert "1 labels added." in done.stdout, done.stderr
    assert assay("score", judged).returncode == 0
    assert (judged / "out" / "marked" / "SLIDE.txt").read_bytes() == file.read_bytes()


def test_an_answer_is_said_to_be_wrong_and_right_again(judged, assay):
    file = edited(judged, ("R4", "N4"), ("R5", "N5"))
    kim = ("--by", "human:KIM", "--reason", "another film")
    assert assay("labels", "import", judged, file, *kim, "--wrong", "0001").returncode == 0
    before = (judged / "out" / "report.html").read_text()
    assert "relevant nuggets: SLIDE 4" in before
    assert 'data-tags="bogus right"' in before
    assert assay("report", judged).returncode == 0
    assert accuracy(judged) == 0
    report = (judged / "out" / "report.html").read_text()
    assert 'data-tags="bogus overruled wrong"' in report
    assert "<s>Judged correct</s> (overruled;" in report
    assert report.count("The answer is not correct.") == 4
    assert "relevant nuggets: SLIDE" not in report
    rows = [json.loads(x) for x in assay("labels", "export", judged).stdout.splitlines()]
    assert rows[-1]["reason"] == "another film"
    assert rows[-1]["overrules"] == next(r["uid"] for r in rows if r["task"] == "r2c2.answer")
    assert rows[-1]["detail"]["said_of"] == {"run": "SLIDE", "topic": "0001", "position": "answer"}
    again = assay("labels", "import", judged, file, *kim, "--wrong", "SLIDE/0001")
    assert "0 labels added" in again.stdout
    back = assay("labels", "import", judged, file, *kim, "--correct", "0001")
    assert "wrong → right" in back.stdout
    assert assay("score", judged).returncode == 0
    assert accuracy(judged) == 1
    assert (judged / "out" / "marked" / "SLIDE.txt").read_bytes() == file.read_bytes()


def test_all_other_changes_are_faults_told_at_once(judged, assay):
    file = edited(
        judged,
        ("Anthony Mackie;90", "Anthony Mackey;91"),
        ("N1;WASEDA-PR-1;1;Chris Evans", "N1;WASEDA-PR-1;2;Kris Evans"),
        ("R4;", "4;"),
        ("R5;WASEDA-PR-1;5;Anthony", "R6;WASEDA-PR-1;5;Anthony"),
    )
    done = assay("labels", "import", judged, file, "--by", "human:KIM")
    assert done.returncode == 2
    for line, why in (
        (2, "The answer was changed; it is “Anthony Mackie”."),
        (2, "The confidence was changed; it is 90."),
        (3, "Nugget 1 cites another passage; it cites WASEDA-PR-1;1."),
        (3, "Nugget 1 was changed; it is “Chris Evans gained"),
        (6, "The mark R of nugget 4 was removed. Write B, R or N"),
        (7, "The answer has no nugget 6."),
        (2, "Nugget 5 is missing."),
    ):
        assert f"SLIDE.txt:{line} [0001] {why}" in done.stderr, done.stderr


def test_lost_blocks_other_runs_and_unreadable_files(judged, assay):
    with (judged / "questions.tsv").open("a") as file:
        file.write("0002\tWho directed Rocky?\n")
    with (judged / "ac" / "SLIDE.txt").open("a") as file:
        file.write("<0002>\nJohn G. Avildsen;5\n</0002>\n")
    lost = edited(judged, ("R4", "N4"))
    lost.with_name("OTHER.txt").write_text("uid,verdict\n")
    shutil.copy(judged / "ac" / "SLIDE.txt", judged / "ac" / "BROKEN.txt")
    lost.with_name("BROKEN.txt").write_text("nonsense\n")
    done = assay("labels", "import", judged, judged / "edited", "--by", "human:KIM")
    assert done.returncode == 2
    assert "SLIDE.txt [0002] The block of question 0002 is missing." in done.stderr
    stranger = [line for line in done.stderr.splitlines() if "OTHER.txt" in line]
    assert len(stranger) == 1, "what a file holds that is no answer run is not gone through"
    assert "There is no answer run “OTHER” in the evaluation." in stranger[0]
    assert "BROKEN.txt:1 Text outside a block" in done.stderr
    assert "Traceback" not in done.stderr


def test_what_nothing_says_must_be_said(slide, assay):
    rows = (slide / "recorded.jsonl").read_text().splitlines()
    (slide / "recorded.jsonl").write_text("\n".join(rows[:-1]) + "\n")  # no answer label
    assert assay("evaluate", slide).returncode == 1
    file = edited(slide, ("\n1;", "\nN1;"), ("\n2;", "\nN2;"))
    kim = ("labels", "import", slide, file, "--by", "human:KIM")
    refused = assay(*kim)
    assert refused.returncode == 2
    assert "SLIDE.txt:3 [0001] Nugget 1 is nonrelevant (N), but nothing says" in refused.stderr
    assert "--correct SLIDE/0001 or --wrong SLIDE/0001" in refused.stderr
    half = assay(*kim, "--correct", "0001")
    assert half.returncode == 0, half.stderr
    assert assay("score", slide).returncode == 1  # nuggets 4 and 5 are still without a mark
    assert (slide / "out" / "marked" / "SLIDE.txt").read_bytes() == file.read_bytes()
    wrong = edited(slide, ("\n4;", "\nN4;"), ("\n5;", "\nN5;"))
    assert assay("labels", "import", slide, wrong, *kim[4:], "--wrong", "0001").returncode == 0
    assert assay("score", slide).returncode == 0
    assert accuracy(slide) == 0


def test_what_is_equal_cannot_be_marked_otherwise(judged, assay):
    shutil.copy(judged / "ac" / "SLIDE.txt", judged / "ac" / "TWIN.txt")
    assert assay("evaluate", judged).returncode == 0
    file = edited(judged, ("R5", "B5"))
    shutil.copy(judged / "out" / "marked" / "TWIN.txt", judged / "edited" / "TWIN.txt")
    both = assay("labels", "import", judged, judged / "edited", "--by", "human:KIM")
    assert both.returncode == 2
    assert re.search(
        r"SLIDE\.txt:7 \[0001\] The nugget and its passage are the same as at TWIN 0001 "
        r"nugget 5 \(TWIN\.txt:7\), which is marked differently; equal items share one label\. "
        r"Make both bogus \(B\), or neither, or import SLIDE\.txt without TWIN\.txt\.",
        both.stderr,
    ), both.stderr
    alone = assay("labels", "import", judged, file, "--by", "human:KIM", "--json")
    assert alone.returncode == 0, alone.stderr
    document = json.loads(alone.stdout)
    twin = {"run": "TWIN", "topic": "0001"}
    assert document["labels"][0]["also"] == [{**twin, "position": "nugget 5"}]
    changed = {(one["run"], one["position"]) for one in document["consequences"]["marks"]}
    assert changed == {("SLIDE", "nugget 5"), ("TWIN", "nugget 5")}


def test_a_person_who_says_that_it_is_a_refusal_is_not_passed_over(slide, assay):
    for name in ("questions.tsv", "recorded.jsonl"):
        path = slide / name
        new = path.read_text().replace('"gold": ["Anthony Mackie"]', '"gold": ["Mackie, A."]')
        path.write_text(new.replace("\tAnthony Mackie", "\tMackie, A."))
    assert assay("evaluate", slide).returncode == 0
    rows = [json.loads(x) for x in assay("labels", "export", slide).stdout.splitlines()]
    act = next(row for row in rows if row["task"] == "r2c2.dialogue_act")
    lines = slide / "act.jsonl"
    lines.write_text(json.dumps({**act, "verdict": {"act": "dont_know"}}))
    assert assay("labels", "import", slide, lines, "--by", "human:LEE").returncode == 0
    file = edited(slide, ("N1", "R1"))
    done = assay("labels", "import", slide, file, "--by", "human:KIM")
    assert done.returncode == 2
    assert "SLIDE.txt:3 [0001] Nugget 1 cannot be marked" in done.stderr
    assert "human:LEE says that the answer declines to answer" in done.stderr
    assert len(assay("labels", "export", slide).stdout.splitlines()) == len(rows) + 1


def test_what_people_said_is_not_taken_back_unseen(judged, assay):
    stale = edited(judged, ("R5", "N5")).rename(judged / "edited" / "stale")
    words = ("labels", "import", judged, edited(judged, ("B3", "R3")))
    assert assay(*words, "--by", "human:LEE").stderr == ""
    shutil.copy(stale, judged / "edited" / "SLIDE.txt")
    done = assay(*words, "--by", "human:KIM", "--dry-run")
    assert done.returncode == 0, done.stderr
    assert "1 of these labels replace people's (human:LEE)" in done.stderr
    assert "edit a new copy" in done.stderr


def test_imports_at_once_add_each_edit_once(judged, assay_process):
    file = edited(judged, ("B3", "R3"))
    words = ("labels", "import", judged, file, "--by", "human:KIM", "--json")
    with ThreadPoolExecutor() as pool:
        done = [one.result() for one in [pool.submit(assay_process, *words) for _ in range(3)]]
    assert sorted(json.loads(one.stdout)["added"] for one in done) == [0, 0, 2]


@pytest.mark.parametrize("name", ["exam", "sgss"])
def test_other_protocols_have_no_marked_runs(tmp_path, assay, name: str):
    folder = copy_example(name, tmp_path / name)
    done = assay("labels", "import", folder, folder / "assay.toml", "--by", "human:KIM")
    assert done.returncode == 2
    told = done.stderr.replace("\n", " ")
    assert (
        "assay.toml does not hold labels as JSON Lines. Marked answer runs only exist in R2C2; "
        f"under {name}" in told
    )


def test_wrong_usage_is_told(judged, assay):
    file = edited(judged, ("R5", "B5"))
    lines = judged / "some.jsonl"
    lines.write_text("")
    kim = ("--by", "human:KIM")
    for words, why in (
        ([file], "Say whose marks these are: --by human:NAME."),
        ([file, lines, *kim], "not both"),
        ([lines, *kim, "--wrong", "0001"], "are for marked answer runs"),
        ([file, *kim, "--wrong", "0007"], "the given runs are SLIDE"),
        ([file, *kim, "--wrong", "0001", "--correct", "SLIDE/0001"], "right and wrong"),
        ([file, *kim, "--wrong", "0001"], "Write N4, or leave out --wrong."),
        ([judged / "nothing.txt", *kim], "nothing.txt"),
    ):
        done = assay("labels", "import", judged, *words)
        assert done.returncode == 2, words
        assert why in done.stderr.replace("\n", " "), done.stderr
        assert "Traceback" not in done.stderr
    with (judged / "assay.toml").open("a") as toml:
        toml.write('[settings]\npolicy = "machine"\n')
    done = assay("labels", "import", judged, file, *kim)
    assert done.returncode == 2
    assert "labels by human:KIM do not count" in done.stderr


def test_other_line_ends_are_no_edit(judged, assay):
    file = edited(judged)
    file.write_bytes(file.read_bytes().replace(b"\n", b"\r\n"))
    done = assay("labels", "import", judged, file, "--by", "human:KIM")
    assert done.returncode == 0, done.stderr
    assert "0 labels added" in done.stdout
    assert "line endings differ" in done.stderr


@pytest.mark.parametrize("name", ["exam", "sgss"])
def test_a_dry_run_of_lines_tells_scores_under_any_protocol(tmp_path, assay, name: str):
    folder = copy_example(name, tmp_path / name, recorded=True)
    assert assay("judge", folder).returncode == 0
    rows = [json.loads(x) for x in assay("labels", "export", folder).stdout.splitlines()]
    for row in rows:
        if "rating" in row["verdict"]:
            row["verdict"]["rating"] = 0
        if "label" in row["verdict"]:
            row["verdict"]["label"] = "no"
    (folder / "edit.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    words = ("labels", "import", folder, folder / "edit.jsonl", "--by", "human:KIM", "--dry-run")
    document = json.loads(assay(*words, "--json").stdout)
    assert document["added"] > 0
    assert document["consequences"]["scores"]
    assert len(assay("labels", "export", folder).stdout.splitlines()) == len(rows)
    assert "would be added" in assay(*words).stdout
