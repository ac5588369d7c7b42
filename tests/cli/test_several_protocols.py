"""A folder under two protocols: shared labels are asked once, leaderboards are compared."""

import csv
import json

from assay.api.looking import Look
from assay.api.opened import Opened
from assay.web.desk import Desk
from tests.conftest import ROOT

TASKS = """
from assay.measures.ranges import Range
from assay.protocols.base import CommonSettings, Protocol, Step
from assay.protocols.means import mean_score
from assay.page.page import Board
from assay.protocols.results import Findings
from assay.labellers.base import Request
from assay.tasks.trec_rag import SUPPORT, SupportUnit

class Fixed(Protocol):
    settings = CommonSettings
    def __init__(self, name, sentences):
        self.name = self.title = name
        self.sentences = sentences
    def tasks(self, settings):
        return (SUPPORT,)
    def load(self, folder, settings, reading):
        reading.done()
        return [SupportUnit(passage="p", sentence=text) for text in self.sentences]
    def steps(self, inputs, settings):
        return [Step("support", SUPPORT, lambda book: [Request(SUPPORT, one) for one in inputs])]
    def score(self, inputs, settings, book):
        said = [book.verdict(SUPPORT, one, "x")["support"] == "full" for one in inputs]
        values = {run: {"M": {"t": Range.certain(float(said[n]))}} for n, run in enumerate("ab")}
        scores = {run: {"M": mean_score(run, "M", v["M"].values(), settings)}
                  for run, v in values.items()}
        return Findings(("t",), scores, values, (Board("Runs", ("M",)),))

ONE = Fixed("one", ["good", "bad"])
TWO = Fixed("two", ["good", "worse"])

def judge(task, unit):
    return {"support": "full" if unit["sentence"] == "good" else "none"}
"""


def test_two_protocols_share_a_ledger_and_are_compared(assay, tmp_path, monkeypatch):
    (tmp_path / "mine.py").write_text(TASKS)
    folder = tmp_path / "folder"
    folder.mkdir()
    (folder / "assay.toml").write_text(
        '[evaluation]\nprotocol = ["mine:ONE", "mine:TWO"]\n[inputs]\n'
        '[labellers]\ndefault = "mine:judge"\n[settings."mine:ONE"]\nlevel = 0.9\n'
    )
    env = {"PYTHONPATH": f"{tmp_path}:{ROOT / 'src'}"}
    done = assay("evaluate", folder, "--json", env=env)
    assert done.returncode == 0, done.stderr
    document = json.loads(done.stdout)
    assert (document["judging"]["asked"], document["judging"]["known"]) == (3, 1)
    (agreement,) = document["agreement"]
    assert (agreement["tau"], agreement["runs"]) == (1.0, 2)
    out = folder / "out"
    with (out / "agreement.csv").open() as file:
        (row,) = csv.DictReader(file)
    assert (row["first"], row["second"]) == ("mine:ONE: M", "mine:TWO: M")
    report = (out / "report.html").read_text()
    assert "How the leaderboards agree" in report
    assert report.count(" is based on: judge alone, never checked here.") == 2
    assert "Every one of the 3 labels that the scores rest on is usable." in report
    for part in ("mine_ONE", "mine_TWO"):
        assert f'<a href="./{part}/report.html">' in report
        assert (out / part / "report.html").exists()
        assert (out / part / "manifest.json").exists()
    again = assay("evaluate", folder, env=env)
    assert "How the leaderboards agree" in again.stdout
    monkeypatch.syspath_prepend(tmp_path)
    rows = Look(folder).labels("")["rows"]
    assert len(rows) == 4  # one for each label and protocol, the shared label twice
    assert len({(row["protocol"], row["unit"]) for row in rows}) == 4
    # Policies of their own: nothing is said to be under the first's, and people label what any
    # protocol would count.
    text = (folder / "assay.toml").read_text()
    one, two = "majority without human:KIM without human:LEE", "people without human:KIM"
    for others, left_out in ((f'policy = "{two}"\n', True), ("", False)):
        more = f'policy = "{one}"\n[settings."mine:TWO"]\n{others}'
        (folder / "assay.toml").write_text(text + more)
        opened = Opened.open(folder)
        assert opened.policy == "each protocol's own"
        with Desk.open(opened) as desk:
            assert desk.asked.leaves_out("trec_rag.support", "KIM") == left_out
            assert not desk.asked.leaves_out("trec_rag.support", "LEE")
    document = json.loads(assay("score", folder, "--json", env=env).stdout)
    assert document["policy"] == json.loads((out / "manifest.json").read_bytes())["policy"]
    assert document["policy"] == "each protocol's own"
    machine = json.loads(assay("score", folder, "--json", "--policy", "machine", env=env).stdout)
    assert machine["policy"] == "machine"


def test_settings_of_several_protocols_stand_in_tables_of_their_own(assay, tmp_path):
    (tmp_path / "assay.toml").write_text(
        '[evaluation]\nprotocol = ["exam", "sgss"]\n[inputs]\n[settings]\nk = 3\n'
    )
    done = assay("score", tmp_path)
    assert done.returncode == 2
    assert "[settings.exam]" in done.stderr
    (tmp_path / "assay.toml").write_text('[evaluation]\nprotocol = ["exam", "exam"]\n[inputs]\n')
    assert "names no protocol, or one twice" in assay("score", tmp_path).stderr
