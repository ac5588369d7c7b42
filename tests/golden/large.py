"""Evaluations of 200,000 labels under each protocol: made, scored, and compared with what was.

``python tests/golden/large.py check [PROTOCOL …] [--labels N] [--keep FOLDER]`` makes them, scores
them as whole processes, prints how long that took and how much memory, and ends with status 1 where
a number differs. ``make`` in the place of ``check`` writes the goldens. With ``--keep`` a folder
that was made before is scored again. Minutes: no part of the tests, which score 2,000 labels.

Inputs come from a seeded generator, labels from ``tests.golden.oracle`` by way of ``assay judge``.
Tables of scores are kept whole; of other files, a digest of what they say with numbers rounded to
nine digits.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import random
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

ROOT = Path(__file__).parents[2]
if __name__ == "__main__":
    sys.path.insert(0, str(ROOT))

from tests.golden import pins  # noqa: E402  (found by what was done above)

FULL, SMALL = 200_000, 2_000
WORDS = (
    "film", "actor", "director", "year", "city", "star", "role", "scene", "music", "award",
    "story", "sequel", "studio",
)  # fmt: skip
_PLACES = 9


class Text:
    """Words by chance."""

    def __init__(self, seed: int) -> None:
        self.rng = random.Random(seed)

    def __call__(self, words: int, *more: object) -> str:
        return " ".join([*self.rng.choices(WORDS, k=words), *map(str, more)])


# -- what is scored -------------------------------------------------------------------------------


def write_r2c2(folder: Path, labels: int) -> None:
    """20 answer runs with 8 nuggets an answer, 3 passage runs of 20 passages."""
    text, runs, nuggets = Text(1), 20, 8
    rng = text.rng
    ids = [f"{n:05}" for n in range(1, max(1, labels // (runs * (nuggets + 2))) + 1)]
    kinds = ("Simple", "Comparison", "Multi-hop")
    _write(
        folder / "questions.tsv",
        (f"{q}\tWhich {text(8, q)}?\t{kinds[n % 3]}\tgold {q}" for n, q in enumerate(ids)),
    )
    for run in range(3):
        rows = (f"{q};{rank};doc{rank};{text(25, q)}" for q in ids for rank in range(1, 21))
        _write(folder / "pr" / f"PR-{run}.txt", rows)
    for run in range(runs):
        _write(
            folder / "ac" / f"AC-{run:02}.txt",
            (
                line
                for q in ids
                for line in (
                    f"<{q}>",
                    f"answer {q} {run};{rng.randint(0, 100)}",
                    *(
                        f"{n};PR-{rng.randrange(3)};{rng.randint(1, 20)};{text(10, q, run, n)}"
                        for n in range(1, nuggets + 1)
                    ),
                    f"</{q}>",
                )
            ),
        )
    _config(folder, "r2c2", questions="questions.tsv", pr_runs="pr/*.txt", ac_runs="ac/*.txt")


def write_trec_rag(folder: Path, labels: int) -> None:
    """20 runs of answers of 8 sentences, 20 nuggets a topic, 5 retrieval runs of 60 documents out
    of 90 that are judged from 0 to 3."""
    text, runs, sentences, nuggets, depth = Text(2), 20, 8, 20, 60
    rng = text.rng
    topics = [f"t{n}" for n in range(1, max(1, labels // (runs * (sentences + 1) + 88)) + 1)]
    words = {topic: text(20, topic) for topic in topics}
    _rows(folder / "narratives.jsonl", ({"id": one, "title": words[one]} for one in topics))
    aspects = {topic: [text(6, topic, n) for n in range(6)] for topic in topics}
    _rows(
        folder / "sub_narratives.jsonl",
        (
            {
                "id": one,
                "title": words[one],
                "sub_narratives": [{"text": each, "importance": "vital"} for each in aspects[one]],
            }
            for one in topics
        ),
    )
    _rows(
        folder / "nuggets.jsonl",
        (
            {
                "query": words[one],
                "qid": one,
                "nuggets": [
                    {
                        "text": text(8, one, n),
                        "importance": rng.choice(("vital", "okay")),
                        "mapped_sub_narrative": rng.choice(aspects[one]),
                    }
                    for n in range(nuggets)
                ],
            }
            for one in topics
        ),
    )
    docs = {topic: [f"{topic}-d{n}" for n in range(90)] for topic in topics}
    _rows(
        folder / "segments.jsonl",
        (
            {"docid": doc, "title": "", "segment": text(25, doc)}
            for one in topics
            for doc in docs[one]
        ),
    )
    for run in range(5):
        _write(
            folder / "r" / f"R-{run}.txt",
            (
                f"{one} Q0 {doc} {rank} {1000 - rank} R-{run}"
                for one in topics
                for rank, doc in enumerate(rng.sample(docs[one], depth), 1)
            ),
        )
    for run in range(runs):
        _rows(folder / "rag" / f"A-{run:02}.jsonl", _answers(text, run, words, docs, sentences))
    _config(
        folder,
        "trec-rag",
        '[settings]\nrelevance = "0-3"\n',
        narratives="narratives.jsonl",
        sub_narratives="sub_narratives.jsonl",
        segments="segments.jsonl",
        nuggets="nuggets.jsonl",
        r_runs="r/*.txt",
        rag_runs="rag/*.jsonl",
    )


def _answers(
    text: Text, run: int, words: dict[str, str], docs: dict[str, list[str]], sentences: int
) -> Iterator[dict[str, Any]]:
    for topic, narrative in words.items():
        about = {"team_id": "t", "run_id": f"A-{run:02}", "narrative_id": topic}
        references = text.rng.sample(docs[topic], 10)
        answer = [
            {
                "text": text(12, topic, run, n),
                "citations": text.rng.sample(range(10), text.rng.randint(1, 3)),
            }
            for n in range(sentences)
        ]
        yield {
            "metadata": {**about, "narrative": narrative, "type": "automatic"},
            "references": references,
            "answer": answer,
        }


def write_exam(folder: Path, labels: int) -> None:
    """10 questions a query, 20 runs of 20 passages out of 30."""
    text, runs, questions, pool, depth = Text(3), 20, 10, 30, 20
    rng = text.rng
    queries = [f"q{n}" for n in range(1, max(1, labels // (questions * pool)) + 1)]
    _rows(
        folder / "bank.jsonl",
        (
            {
                "query_id": one,
                "query_text": text(5, one),
                "items": [
                    {
                        "question_id": f"{one}/{n}",
                        "question_text": f"Which {text(8, one, n)}?",
                        "gold_answers": [text(2)],
                        "weight": 1 + n % 3,
                    }
                    for n in range(questions)
                ],
            }
            for one in queries
        ),
    )
    docs = {one: [f"{one}-p{n}" for n in range(pool)] for one in queries}
    _rows(
        folder / "passages.jsonl",
        ({"id": doc, "text": text(25, doc)} for one in queries for doc in docs[one]),
    )
    _write(
        folder / "qrels.txt",
        (f"{one} 0 {doc} {rng.randrange(4)}" for one in queries for doc in docs[one]),
    )
    for run in range(runs):
        _write(
            folder / "runs" / f"E-{run:02}.run",
            (
                f"{one} Q0 {doc} {rank} {100 - rank} E-{run:02}"
                for one in queries
                for rank, doc in enumerate(rng.sample(docs[one], depth), 1)
            ),
        )
    _config(
        folder,
        "exam",
        bank="bank.jsonl",
        passages="passages.jsonl",
        qrels="qrels.txt",
        runs="runs/*.run",
    )


def write_sgss(folder: Path, labels: int) -> None:
    """10 summarisers; a summary has an overview and 4 sections of 3 statements, and 8 documents.
    Three people prefer one of two summaries for some pairs."""
    text, runs, sections, statements = Text(4), 10, 4, 3
    rng = text.rng
    each = runs * 68  # labels of a query, nearly
    queries = [f"q{n}" for n in range(1, max(2, labels // each) + 1)]
    names = [f"S-{run:02}" for run in range(runs)]

    def summary(one: str, query: str, name: str, docs: list[dict[str, Any]]) -> dict[str, Any]:
        return {
            "query_id": one,
            "query": query,
            "summariser": name,
            "overview": {"text": text(15, one, name), "citations": [rng.randint(1, 8)]},
            "sections": [
                {
                    "heading": text(4, one, name, at),
                    "statements": [
                        {
                            "text": text(12, one, name, at, n),
                            "citations": rng.sample(range(1, 9), rng.randrange(2)),
                        }
                        for n in range(statements)
                    ],
                }
                for at in range(sections)
            ],
            "doclist": docs,
        }

    rows = []
    for one in queries:
        query = text(6, one)
        docs = [
            {"number": n, "url": f"https://example.org/{one}/{n}", "title": "", "text": text(25, n)}
            for n in range(1, 9)
        ]
        rows += [summary(one, query, name, docs) for name in names]
    _rows(folder / "summaries.jsonl", rows)
    pairs = ["query_id,left,right,labeller,preference,split"]
    for one in queries:
        left, right = rng.sample(names, 2)
        split = rng.choice(("train", "test"))
        pairs += [
            f"{one},{left},{right},p{n},{rng.choice(('LEFT', 'RIGHT'))},{split}" for n in "123"
        ]
    _write(folder / "preferences.csv", pairs)
    _config(folder, "sgss", summaries="summaries.jsonl", preferences="preferences.csv")


WRITERS: dict[str, Callable[[Path, int], None]] = {
    "r2c2": write_r2c2,
    "trec-rag": write_trec_rag,
    "exam": write_exam,
    "sgss": write_sgss,
}


def _write(path: Path, lines: Iterable[str]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w", encoding="utf-8") as file:
        file.writelines(f"{line}\n" for line in lines)


def _rows(path: Path, rows: Iterable[dict[str, Any]]) -> None:
    _write(path, (json.dumps(row, ensure_ascii=False) for row in rows))


def _config(folder: Path, protocol: str, more: str = "", **inputs: str) -> None:
    rows = [f'[evaluation]\nprotocol = "{protocol}"\n[inputs]\n']
    rows += [f'{name} = "{one}"\n' for name, one in inputs.items()]
    rows += ['[labellers]\ndefault = "tests.golden.oracle:judge"\n', more]
    (folder / "assay.toml").write_text("".join(rows), encoding="utf-8")


# -- what is kept ---------------------------------------------------------------------------------


def digests(out: Path) -> pins.Files:
    """Tables of scores as they are, and a digest of every other file that holds what was found."""
    found: pins.Files = {}
    for path in sorted(one for one in out.rglob("*") if one.is_file()):
        name = path.relative_to(out).as_posix()
        if name.startswith("scores") and name.endswith(".csv"):
            found[name] = path.read_text(encoding="utf-8")
        elif name in ("report.html", "manifest.json") or name.startswith("workbench/"):
            continue
        elif path.name == "labels.jsonl":
            found[f"{name} (digest)"] = _counted(path)
        else:
            found[f"{name} (digest)"] = _digest(path)
    return found


def _digest(path: Path) -> str:
    digest = hashlib.sha256()
    with path.open(encoding="utf-8", newline="") as file:
        for line in file:
            if path.suffix == ".csv":
                said = ",".join(map(_rounded, line.split(",")))
            elif path.suffix in (".json", ".jsonl"):
                said = json.dumps(_round(json.loads(line)), sort_keys=True)
            else:
                said = line
            digest.update(said.encode("utf-8"))
    return digest.hexdigest()


def _rounded(cell: str) -> str:
    with suppress(ValueError):
        if "." in cell:
            return f"{float(cell):.{_PLACES}g}"
    return cell.rstrip("\r\n")


def _round(value: Any) -> Any:
    if isinstance(value, float):
        return float(f"{value:.{_PLACES}g}")
    if isinstance(value, list):
        return [_round(one) for one in value]
    if isinstance(value, dict):
        return {key: _round(one) for key, one in value.items()}
    return value


def _counted(path: Path) -> str:
    """The labels that counted, in whatever order: what each says, and where it was used."""
    total = 0
    count = 0
    with path.open("rb") as file:
        for line in file:
            label = json.loads(line)
            at = sorted(label["used_at"])
            said = [label["task"], label["unit_hash"], label["status"], label["verdict"], at]
            text = json.dumps(said, sort_keys=True).encode()
            total += int.from_bytes(hashlib.blake2b(text, digest_size=16).digest(), "big")
            count += 1
    return f"{count} labels {total % 2**128:032x}"


def name_of(protocol: str, labels: int) -> str:
    return f"large-{protocol}-{labels}"


# -- the command ----------------------------------------------------------------------------------


class Cost(NamedTuple):
    """What a process took."""

    wall: float
    user: float
    system: float
    peak: float

    def __str__(self) -> str:
        return (
            f"{self.wall:.2f} s, user CPU {self.user:.2f} s, system {self.system:.2f} s, "
            f"peak memory {self.peak:.0f} MB"
        )


def run(*arguments: object) -> Cost:
    """Run a command of Assay as a process of its own. CPU is of all its processes, memory of
    itself, as the system has it. (What getrusage says of a child can be the memory of this process,
    which it begins as a copy of.)"""
    env = {**os.environ, "PYTHONPATH": os.pathsep.join(map(str, (ROOT, ROOT / "src")))}
    command = [sys.executable, "-m", "assay.cli.main", *map(str, arguments)]
    peak, started = 0, time.perf_counter()
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, env=env)
    while True:
        with suppress(OSError, StopIteration):  # it has just ended
            rows = Path(f"/proc/{process.pid}/status").read_text().splitlines()
            peak = max(peak, int(next(one for one in rows if one.startswith("VmHWM")).split()[1]))
        pid, status, used = os.wait4(process.pid, os.WNOHANG)
        if pid:
            break
        time.sleep(0.02)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise SystemExit(f"{command} ended with {process.returncode}")
    return Cost(time.perf_counter() - started, used.ru_utime, used.ru_stime, peak / 1e3)


def prepare(folder: Path, protocol: str, labels: int) -> None:
    """Write an evaluation and have it judged, unless it is there already."""
    if (folder / "labels.sqlite").exists():
        return
    folder.mkdir(parents=True, exist_ok=True)
    WRITERS[protocol](folder, labels)
    cost = run("judge", folder, "--json")
    size = (folder / "labels.sqlite").stat().st_size / 1e6
    print(f"{protocol}: judged in {cost.wall:.0f} s, ledger of {size:.0f} MB", flush=True)


def make(protocols: Iterable[str] = WRITERS, labels: int = FULL, keep: Path | None = None) -> None:
    """Write the goldens of these protocols."""
    for protocol, found in _scored(protocols, labels, keep):
        path = pins.write(name_of(protocol, labels), {"score": found})
        print(f"{path.name}: {path.stat().st_size:,} bytes", flush=True)


def check(protocols: Iterable[str] = WRITERS, labels: int = FULL, keep: Path | None = None) -> bool:
    """Whether every number is as it was; what differs is printed."""
    good = True
    for protocol, found in _scored(protocols, labels, keep):
        said = pins.differences(pins.read(name_of(protocol, labels)), {"score": found})
        good &= not said
        print(f"{protocol}: {len(said) or 'no'} differences")
        for one in said[:20]:
            print(f"  {one}")
    return good


def _scored(
    protocols: Iterable[str], labels: int, keep: Path | None
) -> Iterator[tuple[str, pins.Files]]:
    for protocol in protocols:
        with tempfile.TemporaryDirectory() as place:
            folder = (keep or Path(place)) / f"{protocol}-{labels}"
            prepare(folder, protocol, labels)
            print(f"{protocol}: score {run('score', folder, '--csv')}", flush=True)
            yield protocol, digests(folder / "out")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("what", choices=("check", "make"))
    parser.add_argument("protocols", nargs="*", metavar="PROTOCOL", default=list(WRITERS))
    parser.add_argument("--labels", type=int, default=FULL)
    parser.add_argument("--keep", type=Path, help="folder to make the evaluations in")
    options = parser.parse_args()
    if options.what == "make":
        make(options.protocols, options.labels, options.keep)
    elif not check(options.protocols, options.labels, options.keep):
        raise SystemExit(1)


if __name__ == "__main__":
    main()
