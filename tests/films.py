"""The films example, read in plain Python: what other tests count in it."""

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


PAIRS = len(set(cited_passages()))
"""How many questions of entailment a labeller has to answer."""
