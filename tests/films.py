"""The films example, read in plain Python: what other tests count in it."""

import shutil
from pathlib import Path

FILMS = Path(__file__).resolve().parents[1] / "examples" / "films"


def cited_passages(runs="*"):
    """(passage text, nugget) of every nugget of the AC runs, as often as it occurs."""
    texts = {}
    for path in sorted((FILMS / "pr").glob("*.txt")):
        for line in path.read_text(encoding="utf-8").splitlines():
            question, rank, _, text = line.split(";", 3)
            texts[question, path.stem, rank] = text
    found = []
    for path in sorted((FILMS / "ac").glob(f"{runs}.txt")):
        question = ""
        for line in path.read_text(encoding="utf-8").splitlines():
            if line.startswith("<"):
                question = line.strip("</>")
            elif line.count(";") >= 3 and line.split(";")[0].isdigit():
                _, run, rank, nugget = line.split(";", 3)
                found.append((texts[question, run, rank], nugget))
    return found


_TWO = "*CONFIDENT"
PAIRS = len(set(cited_passages(_TWO)))
"""How many questions of entailment a labeller of two runs has to answer."""


def two_runs(folder):
    """The inputs of the example with two of its AC runs, in a folder."""
    shutil.copytree(FILMS / "pr", folder / "pr")
    shutil.copy(FILMS / "questions.tsv", folder)
    (folder / "ac").mkdir()
    for path in (FILMS / "ac").glob(f"{_TWO}.txt"):
        shutil.copy(path, folder / "ac")
    return folder
