"""What one protocol has asked, no other asks again: pairs, relevance and answers, through the
command line (in this process: a dozen of their own would take long)."""

from __future__ import annotations

import gc
import json
import re
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner, Result

from assay.cli.commands import app
from assay.model.errors import AssayError
from tests.cli import ground

TREC = """
[settings.trec-rag]
relevance = "none"
nuggets = false
mapping = false
"""


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[Path]:
    yield ground.make(tmp_path / "folder")
    gc.enable()  # a command ends its process without it


def assay(*arguments: object, status: int = 0) -> Result:
    done = CliRunner().invoke(app, [str(one) for one in arguments])
    if done.exception and not isinstance(done.exception, (SystemExit, AssayError)):
        raise done.exception
    assert done.exit_code == status, done.output
    return done


def evaluate(folder: Path, *more: str, status: int = 0) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(
        assay("evaluate", folder, "--json", *more, status=status).stdout
    )
    return found


def marks(folder: Path, policy: str = "") -> str:
    out = folder / "out" / policy
    file = next(one for one in (out, out / "r2c2") if one.joinpath("marked").is_dir())
    file = file / "marked" / "ACX.txt"
    return "".join(line[0] for line in file.read_text().splitlines()[2:-1])


def support(folder: Path, policy: str = "") -> list[str | None]:
    """What TREC RAG's file of support labels says of the three sentences."""
    file = folder / "out" / policy / "trec-rag" / "support.jsonl"
    row = json.loads(file.read_text().splitlines()[0])
    return [one["citations"][0]["support"] for one in row["sentences"]]


def human(folder: Path, task: str, claim: str, said: dict[str, Any], name: str = "KIM") -> None:
    passage = ground.PAIRS[claim][0]
    about = "sentence" if task == "trec_rag.support" else "nugget"
    row = {
        "task": task, "unit": {"passage": passage, about: claim}, "verdict": said,
        "labeller": f"human:{name}",
    }  # fmt: skip
    file = folder / "people.jsonl"
    file.write_text(json.dumps(row) + "\n")
    assay("labels", "import", folder, file)


@pytest.mark.parametrize(
    "protocols", [["r2c2", "trec-rag", "sgss"], ["sgss", "r2c2", "trec-rag"]], ids="-".join
)
def test_a_pair_is_asked_about_once_whoever_asks_first(folder, protocols):
    ground.toml(folder, protocols, TREC)
    evaluate(folder)
    assert sorted(ground.pairs()) == sorted(
        ("trec_rag.support", passage, claim) for claim, (passage, _) in ground.PAIRS.items()
    )
    assert marks(folder) == "RBB"  # all but full support is bogus
    assert support(folder) == ["2", "1", "0"]
    rows = (folder / "out" / "sgss" / "summaries.csv").read_text()
    assert "SUMX" in rows
    labels = (folder / "out" / "r2c2" / "labels.jsonl").read_text().splitlines()
    told = [json.loads(line) for line in labels]
    assert sum(one["task"] == "trec_rag.support" for one in told) == 3
    ground.ASKED.clear()
    assert evaluate(folder)["judging"]["asked"] == 0
    assert not ground.ASKED


def test_r2c2_alone_asks_yes_or_no_and_trec_rag_then_asks_what_that_left_open(folder):
    ground.toml(folder, ["r2c2"])
    evaluate(folder)
    assert {task for task, _, _ in ground.pairs()} == {"r2c2.entailment"}
    assert marks(folder) == "RBB"
    ground.ASKED.clear()
    ground.toml(folder, ["r2c2", "trec-rag"], TREC)
    done = assay("evaluate", folder)
    assert [claim for _, _, claim in sorted(ground.pairs())] == [
        "Bread is blue.", "Canals have locks and towers.",
    ]  # fmt: skip
    assert "NO does not distinguish partial support from none" in " ".join(done.stderr.split())
    assert (
        "NO does not distinguish partial support from none"
        in (folder / "out" / "trec-rag" / "report.html").read_text()
    )
    assert support(folder) == ["2", "1", "0"]
    assert marks(folder) == "RBB"


def test_the_papers_question_is_asked_where_nobody_beside_asks_for_support(folder):
    ground.toml(folder, ["r2c2", "trec-rag"], TREC + "support = false\n")
    evaluate(folder)
    assert {task for task, _, _ in ground.pairs()} == {"r2c2.entailment"}
    assert marks(folder) == "RBB"


def test_the_papers_question_can_be_insisted_on(folder):
    ground.toml(folder, ["r2c2", "trec-rag"], TREC + '[settings.r2c2]\nentailment = "yes-no"\n')
    evaluate(folder)
    asked = [task for task, _, _ in ground.pairs()]
    assert asked.count("r2c2.entailment") == 3
    assert asked.count("trec_rag.support") == 2  # a yes is full support


def test_the_papers_question_is_asked_even_where_support_is_known(folder):
    yes_no = TREC + '[settings.r2c2]\nentailment = "yes-no"\n'
    ground.toml(folder, ["trec-rag", "r2c2"], yes_no)
    found = evaluate(folder)
    asked = [task for task, _, _ in ground.pairs()]
    assert (asked.count("trec_rag.support"), asked.count("r2c2.entailment")) == (3, 3)
    assert not any("asks the same" in one for one in found["warnings"])
    first = next(iter(ground.PAIRS))
    human(folder, "trec_rag.support", first, {"support": "partial"})  # people count all the same
    evaluate(folder)
    assert marks(folder) == "BBB"


def test_a_wording_of_ones_own_is_another_question(folder):
    (folder / "prompts").mkdir()
    (folder / "prompts" / "r2c2_entailment.j2").write_text(
        "{% block system %}x{% endblock %}{% block user %}{{ passage }} {{ nugget }}{% endblock %}"
    )
    ground.toml(folder, ["trec-rag", "r2c2"], TREC)
    evaluate(folder)
    asked = [task for task, _, _ in ground.pairs()]
    assert (asked.count("trec_rag.support"), asked.count("r2c2.entailment")) == (3, 3)


def test_a_folder_of_r2c2_alone_can_ask_for_support(folder):
    ground.toml(folder, ["r2c2"], '[settings]\nentailment = "support"\n')
    evaluate(folder)
    ground.ASKED.clear()
    ground.toml(folder, ["trec-rag"], TREC.replace("settings.trec-rag", "settings"))
    evaluate(folder)
    assert not ground.pairs()


def test_a_persons_label_counts_under_both_protocols(folder):
    ground.toml(folder, ["r2c2", "trec-rag"], TREC)
    evaluate(folder)
    first, second, third = ground.PAIRS
    human(folder, "trec_rag.support", first, {"support": "partial"})
    human(folder, "r2c2.entailment", third, {"entailed": "YES"})
    evaluate(folder)  # the nuggets beside the answer are others now
    assert marks(folder) == "BBR"
    assert support(folder) == ["1", "1", "2"]
    evaluate(folder, "--policy", "machine")
    assert marks(folder, "machine") == "RBB"
    assert support(folder, "machine") == ["2", "1", "0"]
    assert (marks(folder), support(folder)) == ("BBR", ["1", "1", "2"])
    human(folder, "r2c2.entailment", second, {"entailed": "NO"})
    evaluate(folder)  # partial support is no contradiction
    assert support(folder) == ["1", "1", "2"]


def test_a_persons_no_is_not_made_into_a_degree_of_support(folder):
    ground.toml(folder, ["r2c2", "trec-rag"], TREC)
    evaluate(folder)
    first = next(iter(ground.PAIRS))
    human(folder, "r2c2.entailment", first, {"entailed": "NO"})
    found = evaluate(folder, status=1)
    assert marks(folder) == "BBB"
    assert support(folder) == [None, "1", "0"]
    assert any("a person said otherwise" in one for one in found["warnings"])
    without = "people without human:KIM"
    found = evaluate(folder, "--policy", without)
    assert support(folder, without.replace(" ", "-").replace(":", "-")) == ["2", "1", "0"]
    assert not any("a person said otherwise" in one for one in found["warnings"])
    human(folder, "trec_rag.support", first, {"support": "none"})
    evaluate(folder)
    assert support(folder) == ["0", "1", "0"]


def test_recorded_labels_of_either_question_serve(folder):
    rows = [
        {"task": "r2c2.answer", "verdict": {"correct": "YES", "nuggets": nuggets},
         "unit": {"question": ground.QUESTION, "answer": ground.GOLD, "gold": [ground.GOLD],
                  "nuggets": texts}}
        for texts, nuggets in (
            ([next(iter(ground.PAIRS))], [{"nugget": 1, "helped": "YES"}]), ([], []),
        )
    ]  # fmt: skip
    yes_no = [
        {"task": "r2c2.entailment", "unit": {"passage": passage, "nugget": claim},
         "verdict": {"entailed": "YES" if level == "full" else "NO", "reason": "so"}}
        for claim, (passage, level) in ground.PAIRS.items()
    ]  # fmt: skip
    levels = [
        {"task": "trec_rag.support", "unit": {"passage": passage, "sentence": claim},
         "verdict": {"support": level}}
        for claim, (passage, level) in ground.PAIRS.items()
    ]  # fmt: skip
    for name, more in (("yes-no", yes_no), ("levels", levels)):
        ground.lines(folder / f"{name}.jsonl", [*rows, *more])
    ground.toml(folder, ["r2c2", "trec-rag"], TREC, 'default = "recorded:levels.jsonl"')
    assert evaluate(folder)["judging"]["unanswered"] == 0
    assert (marks(folder), support(folder)) == ("RBB", ["2", "1", "0"])
    for file in folder.glob("labels.sqlite*"):
        file.unlink()
    shutil.rmtree(folder / "out")
    ground.toml(folder, ["r2c2", "trec-rag"], TREC, 'default = "recorded:yes-no.jsonl"')
    found = evaluate(folder, status=1)
    assert (marks(folder), support(folder)) == ("RBB", ["2", None, None])
    assert found["missing"] == 2  # the yes or no does not tell TREC RAG how far


def test_relevance_on_the_same_scale_is_asked_once(folder):
    settings = TREC.replace('"none"', '"0-3"') + (
        '[settings.exam]\ngrading = "direct:trec_rag"\n[settings.r2c2]\nrelevance_check = "0-3"\n'
    )
    ground.toml(folder, ["r2c2", "trec-rag", "exam"], settings)
    evaluate(folder)
    assert ground.count("trec_rag.relevance") == 3
    rows = (folder / "out" / "r2c2" / "relevance.csv").read_text().splitlines()
    assert [row.rsplit(",", 1)[1] for row in rows] == ["judged", "1", "0", "0"]
    assert (folder / "out" / "exam" / "qrels.txt").read_text().split()[3] == "3"


def test_an_answer_is_judged_once(folder):
    settings = '[settings.exam]\ngrading = "qa-verified"\n'
    ground.toml(folder, ["r2c2", "exam"], settings)
    evaluate(folder)
    bare = [unit for task, unit in ground.ASKED if task == "r2c2.answer" and not unit["nuggets"]]
    assert len(bare) == 1  # BARE's answer, and what the passage says


def test_a_dry_run_counts_what_is_shared_once(folder):
    ground.toml(folder, ["r2c2", "trec-rag", "sgss"], TREC)
    rows = json.loads(assay("judge", folder, "--dry-run", "--json").stdout)["ahead"]
    counts = {row["task"]: (row["to_ask"], row["shared"]) for row in rows}
    assert counts["r2c2: bogus nuggets"] == (3, 0)
    assert counts["trec-rag: support"] == (0, 3)
    assert counts["sgss: support"] == (0, 3)
    text = assay("judge", folder, "--dry-run").stdout
    assert "so asked only once" in text
    evaluate(folder)
    rows = json.loads(assay("judge", folder, "--dry-run", "--json").stdout)["ahead"]
    assert {(row["to_ask"], row["shared"]) for row in rows} == {(0, 0)}


def test_a_batch_file_holds_what_is_shared_once(folder):
    ground.toml(folder, ["r2c2", "trec-rag", "sgss"], TREC, 'default = "openai:m@http://x.test/v1"')
    assay("judge", folder, "--export-batch", folder / "batch.jsonl")
    asked = [json.loads(line) for line in (folder / "batch.jsonl").read_text().splitlines()]
    assert len({one["custom_id"] for one in asked}) == len(asked)
    assert sum("Bread is blue" in json.dumps(one) for one in asked) > 1  # support, and SGSS's own


def test_leaderboards_without_runs_in_common_are_told_and_not_listed(folder):
    ground.toml(folder, ["r2c2", "trec-rag", "sgss"], TREC)
    shown = assay("evaluate", folder).stdout
    assert "No two leaderboards have two runs in common" in " ".join(shown.split())
    rows = (folder / "out" / "agreement.csv").read_text().splitlines()
    assert len(rows) > 3  # every pair, with the number of runs
    report = (folder / "out" / "report.html").read_text()
    assert "runs are the same if their names are the same" in report


def test_weights_are_learned_in_a_folder_of_several_protocols(folder):
    ground.toml(folder, ["sgss", "trec-rag"], TREC)
    text = (folder / "assay.toml").read_text()
    more = '[inputs]\npreferences = "preferences.csv"\n'
    (folder / "assay.toml").write_text(text.replace("[inputs]\n", more))
    (folder / "preferences.csv").write_text(
        "query_id,left,right,labeller,preference,split\n"
        + "".join(f"q1,SUMX,SUMY,{who},LEFT,train\n" for who in ("kim", "lee", "max"))
    )
    evaluate(folder, "--labeller", "tests.cli.ground:judge")
    found = assay("sgss", "weights", folder, "--json")
    assert json.loads(found.stdout)["training"]["pairs"] == 1
    ground.toml(folder, ["sgss", "trec-rag"], TREC, 'default = "rules"')
    text = (folder / "assay.toml").read_text()
    (folder / "assay.toml").write_text(text.replace("[inputs]\n", more))
    found = assay("sgss", "weights", folder, "--labeller", "tests.cli.ground:judge", "--json")
    assert json.loads(found.stdout)["training"]["pairs"] == 1
    ground.toml(folder, ["r2c2"])
    with pytest.raises(AssayError, match="this command is for sgss"):
        CliRunner().invoke(app, ["sgss", "weights", str(folder)], catch_exceptions=False)


def test_the_page_over_several_protocols_tells_what_each_lacks(folder):
    ground.lines(folder / "none.jsonl", [])
    ground.toml(folder, ["r2c2", "trec-rag"], TREC, 'default = "recorded:none.jsonl"')
    done = assay("evaluate", folder, status=1)
    report = (folder / "out" / "report.html").read_text()
    assert "Nothing is missing" not in report
    assert "answers, nuggets or passages have no usable label (r2c2)" in report
    assert re.search(r"\d labels? (is|are) missing: [^<]* \(trec-rag\)", report)
    assert "?." not in report + done.stdout


def test_scoring_again_gives_the_same_result(folder):
    ground.toml(folder, ["r2c2", "trec-rag"], TREC)
    evaluate(folder)
    first = next(iter(ground.PAIRS))
    human(folder, "trec_rag.support", first, {"support": "none"})
    assay("judge", folder)
    assay("score", folder)
    assay("report", folder)
    out = folder / "out" / "r2c2"
    before = {one: one.read_bytes() for one in sorted(out.rglob("*")) if one.is_file()}
    assay("score", folder)
    assert {one: one.read_bytes() for one in before} == before
    (out / "report.html").unlink()  # with what scores do not need, reasons and all
    assay("report", folder)
    assert (out / "report.html").read_bytes() == before[out / "report.html"]
