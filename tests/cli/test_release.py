"""``assay release``: pages, tables and files to publish."""

from __future__ import annotations

import csv
import hashlib
import json
import re
import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from assay.api import release_pages, releasing
from assay.api.opened import Opened, html_of
from assay.api.release_readme import COLUMNS, described
from assay.measures.ranges import Range
from assay.measures.scores import Score
from assay.page.page import LabelledTask
from assay.page.parts import Grid, Marked, MarkedSentence, Part, Table
from assay.protocols.sgss.scoring import LABELS, SCORES
from assay.reports.publishing import PublishedBoard, escaped, latex, markdown
from tests.cli.test_several_protocols import TASKS
from tests.command import run_here
from tests.conftest import copy_example
from tests.golden import pins
from tests.reports.test_pages import page as page_with


@pytest.fixture(scope="module")
def made(tmp_path_factory) -> Path:
    """The EXAM++ example, evaluated and released."""
    folder = tmp_path_factory.mktemp("released")
    copy_example("exam", folder / "exam")
    toml = folder / "exam" / "assay.toml"
    toml.write_text(
        re.sub(r'default = ".*"', 'default = "recorded:recorded.jsonl"', toml.read_text()).replace(
            'title = "', 'title = "\\u001b[31m', 1
        )
        + '\n[release]\nlicence = "CC0-1.0"\n[release.teams]\n"N*" = "Narrows & Co"\n'
    )
    for name, text in (
        ("prompts/exam_self_rating.j2", "{% block system %}Ours{% endblock %}"),
        ("guidelines/exam.self_rating.md", "Take care."),
    ):
        (folder / "exam" / name).parent.mkdir()
        (folder / "exam" / name).write_text(text)
    assert run_here("evaluate", folder / "exam").returncode == 0
    done = run_here(
        "release", folder / "exam", "-o", folder / "public", "--team", "VAGUE=Narrows & Co"
    )
    assert done.returncode == 0, done.stderr
    return folder


def files(folder: Path) -> set[str]:
    return {p.relative_to(folder).as_posix() for p in folder.rglob("*") if p.is_file()}


def test_everything_is_sealed(made):
    public = made / "public"
    sums = dict(
        reversed(line.split("  ", 1)) for line in (public / "SHA256SUMS").read_text().splitlines()
    )
    assert files(public) == {*sums, "SHA256SUMS"}
    for name, digest in sums.items():
        assert hashlib.sha256((public / name).read_bytes()).hexdigest() == digest
    seal = sums["dossier/manifest.json"]
    assert json.loads((public / "release.json").read_text())["manifest_sha256"] == seal
    assert seal in (public / "index.html").read_text()
    assert (public / "dossier" / "report.html").is_file()


def test_a_release_says_what_is_in_it_to_who_has_no_assay(made):
    public = made / "public"
    told = (public / "README.txt").read_text()
    assert all(described(files(public) - {"README.txt", "SHA256SUMS"}).values())
    for said in (
        r"\x1b[31m", "Licence: CC0-1.0.", "Missing: 0 ", "floor: ", "\nEXAM-Cover: ", "used_at: ",
        "exam.self_rating, version ", "cd dossier\nassay measure ",
    ):  # fmt: skip
        assert said in told
    assert json.loads((public / "release.json").read_text())["licence"] == "CC0-1.0"
    prompts = {path.name: path for path in (public / "dossier" / "prompts").iterdir()}
    assert prompts.keys() == {"exam_self_rating.j2"}
    assert prompts["exam_self_rating.j2"].read_text() == "{% block system %}Ours{% endblock %}"
    assert (public / "dossier" / "guidelines" / "exam.self_rating.md").read_text() == "Take care."


def test_every_file_and_column_of_results_is_described():
    names, columns = set(), set()
    for case in pins.DATA.glob("[!l]*.json.xz"):  # all settings of all protocols
        for found in pins.read(case.name.partition(".")[0]).values():
            names |= {f"dossier/{name}" for name in found} - {"dossier/printed.json"}
            tables = [text for name, text in found.items() if name.endswith(".csv")]
            columns |= {one for text in tables for one in text.splitlines()[0].split(",")}
    assert [name for name, says in described(names).items() if not says] == []
    assert columns - COLUMNS.keys() == {"MAR", *SCORES, *LABELS}  # measures


def test_a_release_is_compared_and_repeated_as_it_lies(made, tmp_path):
    done = run_here("diff", made / "public", made / "exam")
    assert "No value of any topic differs" in done.stdout, done.stderr
    elsewhere = shutil.copytree(made / "public" / "dossier", tmp_path / "dossier")
    for path in elsewhere.glob("*.*[slv]*"):  # as git writes it on some machines
        path.write_bytes(path.read_bytes().replace(b"\n", b"\r\n"))
    done = run_here("diff", elsewhere, made / "exam")
    assert "No value of any topic differs" in done.stdout, done.stderr
    done = run_here("compare", made / "public", "-m", "EXAM-Cover", "--csv")
    assert done.returncode == 0, done.stderr
    dossier = made / "public" / "dossier"
    commands = json.loads((dossier / "manifest.json").read_text())["reproduce"]
    command = next(one for one in commands if one.startswith("assay exam"))
    done = run_here(*command.split()[1:], "--csv", cwd=dossier)
    rows = csv.DictReader(done.stdout.splitlines())
    cover = {one["run"]: one["value"] for one in rows if one["measure"] == "EXAM-Cover"}
    scores = list(csv.DictReader((dossier / "scores.csv").open()))
    assert cover == {r["run"]: r["value"] for r in scores if r["measure"] == "EXAM-Cover"}


def test_labels_are_counted_once_for_all_teams(made, tmp_path, monkeypatch):
    """Of many labels that is most of a page's work: a release of 40 teams took minutes."""
    asked = []
    page_of = releasing.page_of
    monkeypatch.setattr(releasing, "page_of", lambda *a, **k: asked.append(k) or page_of(*a, **k))
    monkeypatch.setattr(release_pages, "page_of", releasing.page_of, raising=False)
    assert run_here("release", made / "exam", "-o", tmp_path, "--no-figures").returncode == 0
    assert len(files(tmp_path / "teams")) > 1
    assert asked == [{}, {"sections": False}]


def test_that_labels_are_missing_is_said_before_it_is_published(tmp_path):
    folder = copy_example("trec-rag", tmp_path / "trec-rag")
    (folder / "none.jsonl").write_text("")
    run_here("judge", folder, "--labeller", f"recorded:{folder / 'none.jsonl'}")
    done = run_here("release", folder, "-o", tmp_path / "public", "--no-figures")
    assert done.returncode == 0, done.stderr
    assert "?." not in "".join(one.read_text() for one in tmp_path.glob("public/tables/*.md"))
    assert re.search(r"Note: \d+ units have no usable label, .* published as ranges", done.stderr)
    told = re.findall(r"no letters by (\w+), because values are missing", done.stderr)
    assert told == ["strict_vital", "weighted_precision"]  # agreement has no values of topics


def test_public_pages_show_no_texts(made):
    public = made / "public"
    texts = [json.loads(line)["text"] for line in (made / "exam" / "passages.jsonl").open()]
    assert len(texts) > 3
    for page in (public / "index.html", *(public / "teams").iterdir()):
        shown = page.read_text()
        assert not any(text[:40] in shown for text in texts)
        assert len(shown) < 2_000_000
        assert "EXAM-Cover" in shown
    assert any(text[:40] in (public / "dossier" / "report.html").read_text() for text in texts)


def test_who_labelled_is_in_the_dossier_alone(tmp_path):
    folder, public = tmp_path / "slide", tmp_path / "public"
    copy_example("slide", folder)
    assert run_here("judge", folder).returncode == 0
    labels = run_here("labels", "export", folder, "--task", "r2c2.entailment").stdout.splitlines()
    row = {**json.loads(labels[0]), "reason": "as Kimberly sees it"}
    (tmp_path / "edit.jsonl").write_text(json.dumps(row))
    done = run_here("labels", "import", folder, tmp_path / "edit.jsonl", "--by", "human:KIMBERLY")
    assert "1 label added" in done.stdout.replace("labels", "label"), done.stderr
    done = run_here("release", folder, "-o", public, "--no-figures", "--policy", "people")
    assert "dossier/ says who labelled what" in done.stderr
    named = {one for one in files(public) if b"kimberly" in (public / one).read_bytes().lower()}
    assert named == {"dossier/labels.jsonl", "dossier/report.html"}


def test_teams_have_pages_with_their_runs_beside_all(made):
    teams = made / "public" / "teams"
    assert {p.name for p in teams.iterdir()} == {"GOOD.html", "Narrows---Co.html"}
    page = (teams / "Narrows---Co.html").read_text()
    assert "Narrows &amp; Co" in page
    assert "median" in page
    _, _, tables = page.partition("Topic by topic: Narrows &amp; Co</h2>")
    heads = {
        re.sub("<.*?>", "", one).strip()
        for one in re.findall(r"<th[^>]*>(.*?)</th>", tables, re.DOTALL)
    }
    assert {"NARROW", "VAGUE", "best", "worst"} <= heads
    assert "GOOD" not in page
    places = re.findall(r'<tr data-name="(\w+)"><td[^>]*>([^<]+)</td>', page)
    assert places[:2] == [("NARROW", "2"), ("VAGUE", "3")]
    assert "Ranked among 3." in page


def test_tables_have_intervals_and_the_letters_of_compare(made):
    table = (made / "public" / "tables" / "board-1.md").read_text()
    done = run_here(
        "compare", made / "exam" / "out" / "per_topic.csv", "-m", "EXAM-Cover", "--json"
    )
    letters = {one["run"]: one["letters"] for one in json.loads(done.stdout)["measures"][0]["runs"]}
    rows = [line.split(" | ") for line in table.splitlines() if re.match(r"\| \d", line)]
    assert {row[1]: row[2] for row in rows} == letters
    assert re.search(r"1\.000 \\\[1\.000–1\.000\\\]", table)
    assert "Based on: judge alone" in table
    assert "in EXAM-Cover (randomised Tukey HSD, which covers all pairs; all " in table
    assert "95% bootstrap intervals over topics (2,000 draws, seed 20251210)" in table
    tex = (made / "public" / "tables" / "board-1.tex").read_text()
    assert r"\alpha" in tex
    assert (made / "public" / "figures" / "board-1.pdf").read_bytes().startswith(b"%PDF")


def test_results_are_those_of_out_in_other_tools_forms(made):
    values = {}
    for row in csv.DictReader((made / "exam" / "out" / "per_topic.csv").open()):
        values[row["run"], row["measure"], row["topic"]] = float(row["value"])
    lines = (made / "public" / "results" / "NARROW.txt").read_text().splitlines()
    assert lines[0] == "runid\tall\tNARROW"
    read = {tuple(line.split("\t")[:2]): float(line.split("\t")[2]) for line in lines[1:]}
    for (run, measure, topic), value in values.items():
        if run == "NARROW":
            assert read[measure, topic] == pytest.approx(value, abs=1e-6)
    stem = made / "public" / "matrices"
    runs = (stem / "EXAM-Cover.runs.txt").read_text().split()
    topics = (stem / "EXAM-Cover.topics.txt").read_text().split()
    matrix = [list(map(float, line.split())) for line in (stem / "EXAM-Cover.txt").open()]
    for topic, row in zip(topics, matrix, strict=True):
        for run, value in zip(runs, row, strict=True):
            assert value == pytest.approx(values[run, "EXAM-Cover", topic], abs=1e-6)


def test_a_release_takes_the_place_of_an_earlier_one(made, tmp_path):
    public = tmp_path / "public"
    shutil.copytree(made / "public", public)
    done = run_here("release", made / "exam", "-o", public, "--no-figures", "--json")
    assert done.returncode == 0, done.stderr
    assert not (public / "teams" / "GOOD").exists()
    assert not list(public.glob("figures/*.pdf"))
    assert (public / "teams" / "VAGUE.html").is_file()
    assert set(json.loads(done.stdout)["files"]) == files(public) - {"SHA256SUMS"}


def test_other_folders_are_left_alone(made, tmp_path):
    (tmp_path / "mine.txt").write_text("mine")
    done = run_here("release", made / "exam", "-o", tmp_path)
    assert done.returncode == 2
    assert files(tmp_path) == {"mine.txt"}
    assert run_here("release", made / "exam", "-o", tmp_path / "x", "--team", "no").returncode == 2


def test_a_file_that_was_changed_since_stays_and_a_broken_release_may_be_made_again(
    made, tmp_path, monkeypatch
):
    public = tmp_path / "public"
    shutil.copytree(made / "public", public)
    mine = public / "teams" / "GOOD.html"
    mine.write_text("with a letter to the team")
    gone = public / "teams" / "Narrows---Co.html"
    assert run_here("release", made / "exam", "-o", public, "--team", "*=All").returncode == 0
    assert (mine.read_text(), gone.exists()) == ("with a letter to the team", False)

    new = tmp_path / "new"
    with monkeypatch.context() as patched:
        patched.setattr(releasing, "markdown", lambda board: 1 / 0)
        with pytest.raises(ZeroDivisionError):
            releasing.release(Opened.open(made / "exam"), new, figures=False, note=print)
    assert any(new.iterdir())
    assert run_here("release", made / "exam", "-o", new, "--no-figures").returncode == 0
    assert (new / "SHA256SUMS").read_text()


def test_a_release_into_what_is_released_is_refused(made):
    done = run_here("release", made / "exam", "-o", made / "exam" / "out" / "public")
    assert done.returncode == 2
    assert "is inside out/" in done.stderr


def test_a_public_page_has_numbers_alone(monkeypatch):
    about = {"t": "what the passage says"}
    part = Part(
        "All",
        items=(
            Grid("grid", ("t",), ("r",), [[0.5]], about=about),
            Marked("run", (MarkedSentence("what the run says", "full"),)),
            Table("texts", ("a",), [("what the bank says",)], texts=frozenset({"a"})),
            Table("numbers", ("a",), [(0.25,)]),
        ),
        groups=(("what the narrative says", lambda: 1 / 0),),
    )
    warnings = (
        "rag/x.jsonl:3 The text is “what the answer says”.",
        "rag/y.jsonl:4 The text is “what another says”.",
    )
    by = {"human:kim@site.example": 3, "human:LEE": 2, "openai:m": 1}
    who = LabelledTask("t", "T", "openai:m", "model", "endpoint: http://10.0.0.7/", by, 5)
    each = Part(
        "Each", items=(Table("", ("κ",), [(0.125,)]),), remarks=("LEE errs",), of_people=True
    )
    policy = "majority without human:MAX without human:ANN O'NEIL"
    whole = page_with(
        parts=(part, each), warnings=warnings, labelled=(who,), policy=policy,
        policy_says=policy, settings={"policy": policy, "level": 0.95},
    )  # fmt: skip
    public, left = release_pages.public_page(whole, "", "abc", print)
    html = html_of(public).decode()
    assert not left
    shown = html.partition("<script>")[0]
    assert "says" not in re.sub('title="says "|<dd>says', "", shown)
    assert "10.0.0.7" not in html
    assert "5 by 2 people, 1 by openai:m" in html
    assert not re.search("kim@|LEE|MAX|NEIL|0.125", html)
    assert "without human:… and human:…" in html
    assert "2 × … The text is …" in html
    assert "0.250" in html
    # No room: the corrected scores go last.
    monkeypatch.setattr(release_pages, "PAGE_BYTES", 1)
    corrected = Part("Corrected", items=(Table("more", ("a",), [(0.375,)]),))
    public, left = release_pages.public_page(replace(whole, first=(corrected,)), "", "abc", print)
    assert left == ["All", "Corrected"]
    assert "0.375" not in html_of(public).decode()


def test_several_protocols_have_a_page_over_all(tmp_path, monkeypatch):
    (tmp_path / "ours.py").write_text(TASKS)
    folder = tmp_path / "folder"
    folder.mkdir()
    (folder / "assay.toml").write_text(
        '[evaluation]\nprotocol = ["ours:ONE", "ours:TWO"]\n[inputs]\n'
        '[labellers]\ndefault = "ours:judge"\n'
    )
    monkeypatch.syspath_prepend(tmp_path)
    done = run_here("evaluate", folder)
    assert done.returncode == 0, done.stderr
    public = tmp_path / "public"
    done = run_here("release", folder, "-o", public, "--no-figures")
    assert done.returncode == 0, done.stderr
    links = re.findall(r'href="\./([^"]+)"', (public / "index.html").read_text())
    assert len(links) > 1
    assert all((public / one).is_file() for one in links)
    assert all((public / "dossier" / Path(one).parent / "report.html").is_file() for one in links)
    for command in (("diff", public, folder), ("compare", public, "-m", "m")):
        assert "dossier/PROTOCOL" in " ".join(run_here(*command).stderr.split())
    (first, *_) = (path.parent.name for path in (public / "dossier").glob("*/manifest.json"))
    done = run_here("diff", public / "dossier" / first, folder / "out" / first)
    assert done.returncode == 0, done.stderr


def test_a_table_longer_than_a_page_goes_on():
    rows = [(str(n), f"run {n}", [Score.between("r", "m", Range(0.5, 0.5), topics=3)])
            for n in range(76)]  # fmt: skip
    tex = latex(PublishedBoard("Board", ["m"], rows, {}, []))
    assert tex.count("\\toprule") == 2
    assert "\\begin{longtable}" in tex
    assert "\\begin{table}" in latex(PublishedBoard("Board", ["m"], rows[:9], {}, []))
    assert sum("run" in line and "&" in line for line in tex.splitlines()) == 76 + 2


def test_nothing_in_a_name_is_a_command():
    hostile = "\\input{/etc/passwd} $x$ & 50% #1 a_b ~^ <b> | `c`\n% end"
    score = Score.between(hostile, "m_1", Range(0.2, 0.4), topics=3)
    board = PublishedBoard(hostile, ["m_1"], [("1", hostile, [score])], {}, [hostile])
    tex = latex(board)
    body = tex.replace("\\\\\n", "\n")
    assert "\\input" not in body
    for plain in re.findall(r"(?<!\\)[$&#_%~^]", escaped(hostile).replace(r"\$", "")):
        raise AssertionError(plain)
    assert all(line.count(" & ") in (0, 2) for line in tex.splitlines())
    assert ".20–.40" in markdown(board)
    assert "<b>" not in markdown(board).replace(r"\<b\>", "")
    row = next(line for line in markdown(board).splitlines() if line.startswith("| 1"))
    assert len(re.findall(r"(?<!\\)\|", row)) == 4


def test_a_table_is_set_by_what_its_first_line_names():
    def first_line(name):
        score = Score.between(name, "m", Range(0.5, 0.5), topics=3)
        return latex(PublishedBoard("B", ["m"], [("1", name, [score])], {}, [])).split("\n")[0]

    assert first_line("naïve ł σΩ “x”") == (
        "% needs \\usepackage[T1]{fontenc} and \\usepackage{booktabs}"
    )
    assert "lualatex" in first_line("日本語")
    assert "lualatex" in first_line("Привет")
    # As TeX sets them these would be an en dash, a quotation mark, and ¡ and ¿.
    assert escaped("a--b---c ''x'' !` ?`") == "a-{}-b-{}-{}-c '{}'x'{}' !{}` ?{}`"
    assert escaped('"σ λ Λ"') == r"{\char34}$\sigma$ $\lambda$ $\Lambda${\char34}"


def test_the_command_line_says_whose_a_run_is_and_no_page_takes_anothers_place(made, tmp_path):
    more = ("--team", "N*=Others", "--team", "GOOD=A B", "--team", "VAGUE=A-B", "--no-figures")
    done = run_here("release", made / "exam", "-o", tmp_path / "x", *more)
    assert done.returncode == 0, done.stderr
    teams = {p.name: p.read_text() for p in (tmp_path / "x" / "teams").iterdir()}
    assert set(teams) == {"Others.html", "A-B.html", "A-B-2.html"}
    assert "· A B" in teams["A-B.html"]
    assert "· A-B" in teams["A-B-2.html"]
