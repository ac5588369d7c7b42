"""What is pinned: every example as it comes, and settings and labels that change how it is scored.

A case is a function that is given an empty folder and returns results by name; its own name is the
name of its file in ``data/``.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from tests.cli import ground
from tests.golden import oracle
from tests.golden.pins import Pins
from tests.golden.stage import ORACLE, RECORDED, Row, Stage, assay, lines, turned

Case = Callable[[Path], Pins]
CASES: dict[str, Case] = {}

FEW = {"resamples": 200}
"""Most cases are about what is scored, not about intervals."""


def case(made: Case) -> Case:
    CASES[made.__name__.replace("_", "-")] = made
    return made


def judged(folder: Path, example: str, **changed: Any) -> Stage:
    stage = Stage(folder / example, example, **changed)
    stage.judge()
    return stage


def few_films(folder: Path, **changed: Any) -> Stage:
    """The films with three answer runs and two categories of questions: half the time."""
    stage = Stage(folder / "films", "films", **{"settings": FEW, **changed})
    stage.configure(inputs={"ac_runs": ["ac/BOGUS.txt", "ac/MODEST.txt", "ac/UNDER*.txt"]})
    path = stage.folder / "questions.tsv"
    rows = [row.split("\t") for row in path.read_text(encoding="utf-8").splitlines()]
    kinds = {row[2]: f"kind {len(row[2]) % 2}" for row in rows}
    text = "".join("\t".join([*row[:2], kinds[row[2]], *row[3:]]) + "\n" for row in rows)
    path.write_text(text, encoding="utf-8")
    return stage


def each_setting(stage: Stage, settings: dict[str, dict[str, Any]]) -> Pins:
    """Each of these settings, one after the other on one ledger."""
    raw = (stage.folder / "assay.toml").read_text(encoding="utf-8")
    found: Pins = {}
    for name, one in settings.items():
        (stage.folder / "assay.toml").write_text(raw, encoding="utf-8")
        stage.configure(settings={**FEW, **one})
        stage.judge()
        found[name] = stage.pins()
    return found


def each_policy(stage: Stage, *policies: str) -> Pins:
    return {policy.replace(":", "-"): stage.pins(policy) for policy in policies}


def verdicts(task: str, units: Iterable[Row]) -> list[Row]:
    """Recorded labels of these units, as the oracle has them."""
    return [{"task": task, "unit": one, "verdict": oracle.decide(task, one)} for one in units]


# -- R2C2 -----------------------------------------------------------------------------------------


@case
def slide(folder: Path) -> Pins:
    """As it comes, under other settings, and as the person of ``edited/`` marks it."""
    stage = judged(folder, "slide")
    found = {"as-it-comes": stage.pins()}
    stage.configure(settings={"ideal": "own", "g_max": 3, "bins": 4})
    found["own-ideal"] = stage.pins()
    edited = stage.folder / "edited" / "SLIDE.txt"
    assay("labels", "import", stage.folder, edited, "--by", "human:KIM")
    return {**found, "edited": stage.pins(), "machine": stage.pins("machine")}


@case
def films(folder: Path) -> Pins:
    """As it comes."""
    return {"as-it-comes": judged(folder, "films").pins()}


@case
def films_settings(folder: Path) -> Pins:
    """What R2C2's settings change."""
    many = ("AP", "RR", "P@3", "nDCG@5", "Q(beta=2)@10", "nERR@3", "iRBU@5", "RBP(p=0.8)")
    return each_setting(
        few_films(folder),
        {
            "merged": {"merge_identical": True},
            "own-ideal": {"ideal": "own"},
            "merged-own-ideal": {"merge_identical": True, "ideal": "own", "g_max": 2},
            "bins": {"bins": 7, "bins_closed": "left", "level": 0.8, "seed": 7},
            "measures": {"measures": many, "g_max": 9, "merge_identical": True},
        },
    )


@case
def films_people(folder: Path) -> Pins:
    """People's labels beside the machine's, under every policy."""
    stage = few_films(folder)
    stage.judge()
    stage.correct("r2c2.entailment", 9)
    stage.correct("r2c2.answer", 7)
    stage.correct("r2c2.dialogue_act", 25)
    stage.correct("r2c2.entailment", 18, by="human:LEE")
    stage.correct("r2c2.answer", 14, by="human:LEE", start=1)
    return each_policy(stage, "people", "machine", "human", "only:human:LEE", "only:rules")


@case
def films_carried(folder: Path) -> Pins:
    """An answer's label goes on with it while people change which of its nuggets are entailed; then
    the machine is asked about what the answers are now, then a person speaks once more."""
    stage = few_films(folder)
    stage.judge()
    answers = stage.correct("r2c2.answer", 3)
    stage.correct("r2c2.entailment", 4)
    found = {"carried": stage.pins(), "carried-machine": stage.pins("machine")}
    stage.record([*stage.recorded(), *verdicts("r2c2.answer", _answers(stage))])
    stage.judge()
    found["asked-again"] = stage.pins()
    stage.say([{**row, "verdict": turned(row)} for row in answers[::2]])
    stage.correct("r2c2.entailment", 8)
    return {**found, "said-again": stage.pins(), "human": stage.pins("human")}


def _answers(stage: Stage) -> list[Row]:
    """Every answer beside every run of its nuggets, from none to all: whichever are entailed."""
    seen: dict[str, Row] = {}
    nuggets = {row["unit"]["nugget"] for row in stage.recorded() if "nugget" in row["unit"]}
    for path in sorted((stage.folder / "ac").glob("*.txt")):
        block: list[str] = []
        for line in path.read_text(encoding="utf-8").splitlines():
            if line.startswith("</"):
                question = _question(stage, line.strip("</>"))
                texts = [one.split(";", 3)[3] for one in block[1:]]
                known = [one for one in texts if one in nuggets]
                for bits in range(2 ** len(known)):
                    beside = [one for at, one in enumerate(known) if bits >> at & 1]
                    unit = {**question, "answer": block[0].rpartition(";")[0], "nuggets": beside}
                    seen[json.dumps(unit, sort_keys=True)] = unit
            elif line.startswith("<"):
                block = []
            else:
                block.append(line)
    given = {json.dumps(row["unit"], sort_keys=True) for row in stage.recorded()}
    return [unit for text, unit in seen.items() if text not in given]


def _question(stage: Stage, number: str) -> Row:
    rows = (stage.folder / "questions.tsv").read_text(encoding="utf-8").splitlines()
    (cells,) = (row.split("\t") for row in rows if row.startswith(f"{number}\t"))
    return {"question": cells[1], "gold": cells[3].split("|")}


@case
def films_marked(folder: Path) -> Pins:
    """Marks that a person changed in published runs."""
    stage = few_films(folder)
    stage.judge()
    stage.pins()
    for number, run in enumerate(("BOGUS", "MODEST")):
        path = stage.folder / "out" / "marked" / f"{run}.txt"
        text = path.read_text(encoding="utf-8")
        edited = stage.folder / f"{run}.txt"
        swaps = ("\nB1;", "\nN1;") if number == 0 else ("\nR1;", "\nN1;")
        edited.write_text(text.replace(*swaps), encoding="utf-8")
        assay("labels", "import", stage.folder, edited, "--by", "human:KIM")
    return each_policy(stage, "people", "machine")


@case
def films_missing(folder: Path) -> Pins:
    """Labels that are missing, that failed, and that no run asked for."""
    stage = few_films(folder)
    rows = stage.recorded()
    stage.record(row for number, row in enumerate(rows) if number % 11)
    stage.judge()
    found = {"missing": stage.pins()}
    (stage.folder / "labels.sqlite").unlink()
    shutil.rmtree(stage.folder / "out")  # of labels that are gone
    spoilt = [
        {**row, "verdict": {"no": "such"}} if not n % 13 else row for n, row in enumerate(rows)
    ]
    stage.record(row for number, row in enumerate(spoilt) if number % 17)
    stage.judge()
    found["failed"] = stage.pins()
    stage.correct("r2c2.answer", 2)
    return {**found, "failed-people": stage.pins(), "failed-human": stage.pins("human")}


@case
def films_silent(folder: Path) -> Pins:
    """Runs that leave questions out, have no nuggets, or cite nothing that helps; questions of no
    category, and those that are to be refused."""
    stage = few_films(folder)
    stage.configure(inputs={"ac_runs": ["ac/MODEST.txt", "ac/SILENT.txt", "ac/BARE.txt"]})
    ac = stage.folder / "ac"
    text = (ac / "MODEST.txt").read_text(encoding="utf-8")
    blocks = [f"{one}</{number}>\n" for one, number in _blocks(text)]
    (ac / "SILENT.txt").write_text("".join(blocks[:5]), encoding="utf-8")
    bare = ["\n".join([*one.split("\n")[:2], one.split("\n")[-2], ""]) for one in blocks]
    (ac / "BARE.txt").write_text("".join(bare), encoding="utf-8")
    path = stage.folder / "questions.tsv"
    rows = [row.split("\t") for row in path.read_text(encoding="utf-8").splitlines()]
    for row in rows[:4]:
        row[2] = "False premise"
    for row in rows[4:8]:
        row[2] = ""
    path.write_text("".join("\t".join(row) + "\n" for row in rows), encoding="utf-8")
    stage.record([*stage.recorded(), *verdicts("r2c2.answer", _answers(stage))])
    stage.judge()
    stage.correct("r2c2.dialogue_act", 6)
    return each_policy(stage, "people", "machine")


def _blocks(text: str) -> list[tuple[str, str]]:
    found = []
    for part in text.split("</")[:-1]:
        start = part.index("<")
        found.append((part[start:], part[start + 1 : part.index(">", start)]))
    return found


@case
def films_support(folder: Path) -> Pins:
    """Step 3 asked as a question of support, with a person's word on both scales."""
    settings = {**FEW, "entailment": "support"}
    stage = few_films(folder, settings=settings)
    stage.record(_with_support(stage.recorded()))
    stage.judge()
    stage.correct("trec_rag.support", 10)
    pairs = [row for row in stage.export() if row["task"] == "trec_rag.support"]
    said = [
        {"task": "r2c2.entailment", "unit": _pair(row["unit"]), "verdict": {"entailed": not n % 3}}
        for n, row in enumerate(pairs[::15])
    ]
    stage.say(said, by="human:LEE")
    found = each_policy(stage, "people", "machine", "human")
    stage.configure(settings={"entailment": "yes-no"})
    found["yes-no"] = stage.pins()
    return found


def _with_support(rows: list[Row]) -> list[Row]:
    """The same labels, those of entailment as labels of support."""
    found = []
    for number, row in enumerate(rows):
        if row["task"] == "r2c2.entailment":
            unit = {"passage": row["unit"]["passage"], "sentence": row["unit"]["nugget"]}
            full = row["verdict"]["entailed"] in (True, "YES")
            said = "full" if full else ("partial", "none")[number % 2]
            found.append({"task": "trec_rag.support", "unit": unit, "verdict": {"support": said}})
        else:
            found.append(row)
    return found


def _pair(unit: Row) -> Row:
    return {"passage": unit["passage"], "nugget": unit["sentence"]}


@case
def films_relevance(folder: Path) -> Pins:
    """Every passage judged on its own, in each of the ways there are."""
    labellers = dict.fromkeys(_RELEVANCE, ORACLE)
    stage = few_films(folder, labellers=labellers)
    found: Pins = {}
    for name, check in (("own", True), ("yes-no", "yes-no"), ("0-3", "0-3")):
        stage.configure(settings={"relevance_check": check, "merge_identical": name == "own"})
        stage.judge()
        found[name] = stage.pins()
    stage.correct("trec_rag.relevance", 6)
    return {**found, "0-3-people": stage.pins(), "0-3-human": stage.pins("human")}


_RELEVANCE = ("r2c2.relevance", "trec_rag.relevance_yes_no", "trec_rag.relevance")


@case
def films_ensembles(folder: Path) -> Pins:
    """Labellers that vote, by each rule, and one of several labellers alone."""
    members = {"members": [RECORDED, "recorded:b.jsonl", "recorded:c.jsonl"]}
    ensembles = {
        "most": members,
        "heavy": {**members, "rule": "weighted", "weights": [1.0, 2.5, 1.0]},
        "strict": {**members, "rule": "strictest"},
    }
    stage = few_films(folder, ensembles=ensembles)
    rows = [*stage.recorded(), *verdicts("r2c2.answer", _answers(stage))]
    stage.record(rows)
    for name, every in (("b", 3), ("c", 5)):
        others = [
            {**row, "verdict": turned(row)} if not number % every else row
            for number, row in enumerate(rows)
        ]
        stage.record((row for n, row in enumerate(others) if n % 29), f"{name}.jsonl")
    found: Pins = {}
    for name in ensembles:
        stage.configure(labellers={"default": f"ensemble:{name}"})
        stage.judge()
        found[name] = stage.pins()
    stage.correct("r2c2.entailment", 9)
    found["strict-people"] = stage.pins()
    found["only-b"] = stage.pins("only:recorded:b.jsonl")
    stage.configure(labellers={"default": "recorded:b.jsonl"})
    return {**found, "b": stage.pins()}


@case
def films_wordings(folder: Path) -> Pins:
    """A machine that was asked the same in several wordings, and repeats: which label counts."""
    stage = few_films(folder, labellers={"default": ORACLE})
    stage.judge()
    rows = [row for row in stage.export() if row["labeller"]["kind"] == "custom"]
    more = []
    for number, row in enumerate(rows):
        other = {key: row[key] for key in ("task", "unit", "version", "labeller", "status")}
        other |= {"key": f"{number:032x}", "verdict": turned(row), "created": _AT}
        if number % 4 == 0:
            more.append(other)
        if number % 6 == 0:
            more.append({**other, "key": f"f{number:031x}", "sample": 1, "verdict": row["verdict"]})
        if number % 10 == 0:
            more.append({**other, "version": "0", "key": f"e{number:031x}"})
    lines(stage.folder / "more.jsonl", more)
    assay("labels", "import", stage.folder, stage.folder / "more.jsonl")
    found = each_policy(stage, "people", f"only:{ORACLE}")
    prompts = stage.folder / "prompts"
    prompts.mkdir()
    text = "{{ passage }} | {{ nugget }}"
    (prompts / "r2c2_entailment.j2").write_text(text, encoding="utf-8")
    found["reworded"] = stage.pins()
    return found


_AT = "2026-01-02T03:04:05.000000+00:00"


# -- TREC RAG -------------------------------------------------------------------------------------


@case
def trec_rag(folder: Path) -> Pins:
    """As it comes, and with the gold labels beside the judge's."""
    stage = judged(folder, "trec-rag")
    found = {"as-it-comes": stage.pins()}
    gold = {"assignments": ["gold/assignments.jsonl"], "support": ["gold/support.jsonl"]}
    stage.configure(inputs=gold, settings=FEW)
    found["gold"] = stage.pins()
    found["gold-human"] = stage.pins("human")
    stage.configure(settings={"given_by": "machine"})
    return {**found, "gold-machine": stage.pins()}


@case
def trec_rag_settings(folder: Path) -> Pins:
    """What TREC RAG's settings change."""
    many = ("nDCG@5", "AP", "RR", "P@2", "Recall@5", "RBP(p=0.8)", "ERR@5")
    return each_setting(
        Stage(folder / "trec-rag", "trec-rag"),
        {
            "answered": {"answers": "answered", "measures": many},
            "no-support": {"support": False, "mapping": False, "level": 0.8},
            "one-topic": {"topics": ["bee"], "nuggets": False},
        },
    )


@case
def trec_rag_asked(folder: Path) -> Pins:
    """Everything asked of a labeller: relevance in every way, nuggets, all citations."""
    stage = Stage(
        folder / "trec-rag",
        "trec-rag",
        inputs={"qrels": None, "nuggets": None},
        labellers={"default": ORACLE},
        settings={**FEW, "relevance": "counted", "citations": "all"},
    )
    _without(stage, "qrels", "nuggets")
    also = ["at-once", "0-3", "yes-no"]
    stage.configure(settings={"relevance_also": also, "nuggets": "always"})
    stage.judge()
    found = {"counted": stage.pins()}
    stage.configure(settings={"relevance": "0-3", "relevance_also": ["yes-no"], "pool_depth": 2})
    stage.judge()
    found["0-3"] = stage.pins()
    for task, every in (("relevance", 2), ("support", 3), ("assignment", 2), ("importance", 2)):
        stage.correct(f"trec_rag.{task}", every)
    return {**found, **each_policy(stage, "people", "machine", "human")}


def _without(stage: Stage, *inputs: str) -> None:
    path = stage.folder / "assay.toml"
    rows = path.read_text(encoding="utf-8").splitlines(keepends=True)
    starts = tuple(f"{name} = " for name in inputs)
    path.write_text("".join(row for row in rows if not row.startswith(starts)), encoding="utf-8")


@case
def trec_rag_missing(folder: Path) -> Pins:
    """Labels that are missing or failed, and a person's that take their place."""
    labellers = {"default": "tests.golden.oracle:patchy"}
    settings = {**FEW, "relevance": "at-once", "citations": "all", "assignment_window": 2}
    stage = Stage(folder / "trec-rag", "trec-rag", labellers=labellers, settings=settings)
    _without(stage, "qrels")
    stage.judge()
    found = {"missing": stage.pins()}
    stage.configure(settings={"answers": "answered"})
    found["answered"] = stage.pins()
    failed = [row for row in stage.export() if row["status"] == "failed"]
    stage.say({**row, "verdict": oracle.decide(row["task"], row["unit"])} for row in failed)
    return {**found, "mended": stage.pins(), "machine": stage.pins("machine")}


# -- EXAM++ ---------------------------------------------------------------------------------------


@case
def exam(folder: Path) -> Pins:
    """As it comes."""
    return {"as-it-comes": judged(folder, "exam").pins()}


@case
def exam_settings(folder: Path) -> Pins:
    """What the settings of EXAM++ change."""
    measures = ("nDCG@5", "P@3", "RBP(p=0.8)", "α-nDCG@5")
    return each_setting(
        Stage(folder / "exam", "exam"),
        {
            "tau": {"tau": 2, "k": 3, "level": 0.9},
            "graded": {"denominator": "graded", "silent": "left-out", "measures": measures},
            "bins": {"label_bins": ["0", "1-3", "4-5"], "judgment_bins": ["0", "1-3"]},
        },
    )


@case
def exam_gradings(folder: Path) -> Pins:
    """Every way of grading, by a labeller, and under people's labels."""
    labellers = {"default": ORACLE}
    stage = Stage(folder / "exam", "exam", labellers=labellers, settings=FEW)
    found: Pins = {}
    for grading in ("self-rating", "qa", "direct:thomas", "direct:faggioli"):
        stage.configure(settings={"grading": grading})
        stage.judge()
        found[grading.replace(":", "-")] = stage.pins()
    stage.configure(settings={"grading": "self-rating"})
    stage.correct("exam.self_rating", 3)
    return {**found, **each_policy(stage, "people", "machine", "human")}


@case
def exam_missing(folder: Path) -> Pins:
    """Grades that are missing or failed."""
    labellers = {"default": "tests.golden.oracle:patchy"}
    stage = judged(folder, "exam", labellers=labellers, settings=FEW)
    found = {"missing": stage.pins()}
    stage.configure(settings={"denominator": "graded", "silent": "left-out", "tau": 3})
    return {**found, "graded": stage.pins()}


# -- SGSS -----------------------------------------------------------------------------------------


@case
def sgss(folder: Path) -> Pins:
    """As it comes."""
    return {"as-it-comes": judged(folder, "sgss").pins()}


@case
def sgss_settings(folder: Path) -> Pins:
    """What the settings of SGSS change."""
    weights = {"OS": 0.5, "OF": 0.1, "OR": 0.4, "HR": 1.5, "SRel": 0.2, "SF": 0.8, "Comp": 0.3}
    mapping = {"no": 0.1, "partially": 0.6, "perfectly": 0.9}
    return each_setting(
        Stage(folder / "sgss", "sgss"),
        {
            "weights": {"weights": weights, "mapping": mapping},
            "uncited": {"uncited": "perfectly", "without_sections": "partially", "l_max": 4},
            "minutes": {"minutes": 0.5, "chars_per_minute": 300, "apd": "geometric", "p": 0.3},
        },
    )


@case
def sgss_asked(folder: Path) -> Pins:
    """Degraded versions, labels that no score needs, and the mean of several people."""
    settings = {**FEW, "degrade": ["NoHeadings", "NoSection1"], "silent": "left-out"}
    settings["also"] = ["comprehensiveness", "preference"]
    labellers = {"default": ORACLE}
    stage = judged(folder, "sgss", labellers=labellers, settings=settings)
    found = {"degraded": stage.pins()}
    for task in ("sgss.statement", "sgss.heading", "sgss.coverage", "trec_rag.support"):
        stage.correct(task, 3)
        stage.correct(task, 4, by="human:LEE")
    found |= each_policy(stage, "people", "machine", "human", "only:human:LEE")
    stage.configure(settings={"average": True})
    return {**found, "average": stage.pins()}


@case
def sgss_missing(folder: Path) -> Pins:
    """Labels that are missing or failed, and a summary that a run left out."""
    labellers = {"default": "tests.golden.oracle:patchy"}
    stage = Stage(folder / "sgss", "sgss", labellers=labellers, settings=FEW)
    path = stage.folder / "summaries.jsonl"
    rows = path.read_text(encoding="utf-8").splitlines(keepends=True)
    path.write_text("".join(rows[:-1]), encoding="utf-8")
    preferences = stage.folder / "preferences.csv"
    kept = [row for row in preferences.read_text().splitlines(keepends=True) if "fern" not in row]
    preferences.write_text("".join(kept))
    stage.judge()
    found = {"missing": stage.pins()}
    stage.configure(settings={"silent": "left-out"})
    return {**found, "left-out": stage.pins()}


# -- several --------------------------------------------------------------------------------------


@case
def several(folder: Path) -> Pins:
    """All four protocols on one ledger, and people's labels that count for several."""
    made = ground.make(folder / "ground")
    settings = '[settings.trec-rag]\nrelevance = "0-3"\nnuggets = false\nmapping = false\n'
    settings += '[settings.exam]\ngrading = "qa"\n[settings.r2c2]\nmerge_identical = true\n'
    every = ["r2c2", "trec-rag", "exam", "sgss"]
    ground.toml(made, every, settings, f'default = "{ORACLE}"')
    stage = Stage.of(made)
    stage.judge()
    found = {"machine": stage.pins()}
    stage.correct("trec_rag.support", 2)
    return {**found, "people": stage.pins()}
