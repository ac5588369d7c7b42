"""Reports at the size of a real track: made, scored and weighed.

Run: ``python benchmarks/reports.py FOLDER [PROTOCOL …] [--size NAME]`` (sizes: ``track``, the
default, and ``small``). It writes an evaluation folder of each protocol, unless it is there, has it
judged by ``tests.golden.oracle``, writes its report and prints how long that took, the peak of
memory, and how large the pages are. A track has 76 runs on 105 narratives (TREC RAG), 40 runs on
200 questions (R2C2, EXAM++) and 30 summarisers on 100 queries (SGSS). Texts are as long as real
ones, of words by chance; runs differ in how they are written, and a few leave topics out, so that
there is something to warn of.
"""

from __future__ import annotations

import argparse
import random
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

ROOT = Path(__file__).parents[1]
if __name__ == "__main__":
    sys.path.insert(0, str(ROOT))

from tests.golden import large  # noqa: E402  (found by what was done above)

STARTS = "ba ce di fo gu ha ke li mo nu pa re si to vu wa ex yi zo ka lu mi na or an el".split()
VOCABULARY = 4_000
KINDS = ("Simple", "Comparison", "Multi-hop", "Aggregation", "Post-processing", "False premise")


class Size(NamedTuple):
    """How many runs and topics."""

    runs: int
    topics: int


SIZES = {
    "track": {
        "trec-rag": Size(76, 105), "r2c2": Size(40, 200), "exam": Size(40, 200),
        "sgss": Size(30, 100),
    },
    "small": dict.fromkeys(("trec-rag", "r2c2", "exam", "sgss"), Size(12, 6)),
}  # fmt: skip


class Prose:
    """Sentences of made-up words, the frequent ones short, as Zipf has it."""

    def __init__(self, seed: int) -> None:
        self.rng = random.Random(seed)
        words = {"".join(self.rng.choices(STARTS, k=1 + n * 4 // VOCABULARY)): 1.0 / (n + 9)
                 for n in range(VOCABULARY)}  # fmt: skip
        self.words, self.weights = list(words), list(words.values())

    def some(self, count: int) -> str:
        """That many words."""
        return " ".join(self.rng.choices(self.words, self.weights, k=count))

    def sentence(self, low: int = 9, high: int = 28) -> str:
        said = self.some(self.rng.randint(low, high))
        return f"{said[0].upper()}{said[1:]}."

    def passage(self, sentences: int = 8) -> str:
        return " ".join(self.sentence() for _ in range(sentences))


def names(count: int, rng: random.Random) -> list[str]:
    """Names of runs as groups give them: some short, some long, several of a group."""
    groups = [f"{rng.choice(STARTS)}{rng.choice(STARTS)}{rng.choice(STARTS)}" for _ in range(24)]
    ways = ("bm25", "splade_v3-rerank", "gpt41-auto", "webgen", "listwise_qwen3_32b_top100", "r1")
    return [f"{groups[n % 24]}-{ways[n % 6]}_{n // 24 + 1}" for n in range(count)]


def write_trec_rag(folder: Path, size: Size) -> None:
    """Answers of 8 to 20 sentences with up to 3 citations each, of 160 segments a narrative."""
    prose = Prose(11)
    rng = prose.rng
    topics = [str(n) for n in range(101, 101 + size.topics)]
    titles = {one: prose.passage(3) for one in topics}
    aspects = {one: [prose.sentence(6, 12) for _ in range(6)] for one in topics}
    docs = {one: [f"msmarco_v2.1_doc_{one}_{n}#3_{n * 7919}" for n in range(160)] for one in topics}
    large._rows(folder / "narratives.jsonl",
                ({"id": one, "title": titles[one]} for one in topics))  # fmt: skip
    large._rows(folder / "nuggets.jsonl", (_bank(one, titles, aspects, prose) for one in topics))
    large._rows(
        folder / "segments.jsonl",
        (
            {"docid": doc, "title": prose.some(6), "segment": prose.passage()}
            for one in topics
            for doc in docs[one]
        ),
    )
    for run in names(size.runs, rng):
        rows = _answers(run, titles, docs, prose)
        large._rows(folder / "rag" / f"{run}.jsonl", rows)
    large._config(folder, "trec-rag", narratives="narratives.jsonl", segments="segments.jsonl",
                  nuggets="nuggets.jsonl", rag_runs="rag/*.jsonl")  # fmt: skip


def _bank(
    one: str, titles: dict[str, str], aspects: dict[str, list[str]], prose: Prose
) -> dict[str, Any]:
    nuggets = [
        {
            "text": prose.sentence(8, 18),
            "importance": prose.rng.choice(("vital", "okay")),
            "mapped_sub_narrative": prose.rng.choice(aspects[one]),
        }
        for _ in range(20)
    ]
    return {"query": titles[one], "qid": one, "nuggets": nuggets}


def _answers(
    run: str, titles: dict[str, str], docs: dict[str, list[str]], prose: Prose
) -> Iterator[dict[str, Any]]:
    rng = prose.rng
    most = rng.randint(8, 20)
    silent = set(rng.sample(list(titles), k=min(3, len(titles) // 3))) if rng.random() < 0.2 else ()
    for topic, title in titles.items():
        if topic in silent:
            continue
        references = rng.sample(docs[topic], 20)
        answer = [
            {"text": prose.sentence(), "citations": rng.sample(range(20), rng.randint(0, 3))}
            for _ in range(rng.randint(most // 2, most))
        ]
        about = {"team_id": run.partition("-")[0], "run_id": run, "narrative_id": topic}
        yield {
            "metadata": {**about, "narrative": title, "type": "automatic"},
            "references": references,
            "answer": answer,
        }


def write_r2c2(folder: Path, size: Size) -> None:
    """Answers with up to 5 nuggets, 4 passage runs of 20 passages of 160 words."""
    prose = Prose(12)
    rng = prose.rng
    ids = [f"{n:04}" for n in range(1, size.topics + 1)]
    large._write(
        folder / "questions.tsv",
        (
            f"{q}\t{prose.sentence(8, 20)[:-1]}?\t{KINDS[n % 6]}\t{prose.some(3)}"
            for n, q in enumerate(ids)
        ),
    )
    for run in range(4):
        large._write(
            folder / "pr" / f"PR-{run}.txt",
            (f"{q};{rank};{prose.some(3)}-{rank};{prose.passage()}" for q in ids
             for rank in range(1, 21)),
        )  # fmt: skip
    for run in names(size.runs, rng):
        large._write(folder / "ac" / f"{run}.txt", _stated(ids, prose))
    large._config(folder, "r2c2", questions="questions.tsv", pr_runs="pr/*.txt",
                  ac_runs="ac/*.txt")  # fmt: skip


def _stated(ids: list[str], prose: Prose) -> Iterator[str]:
    rng = prose.rng
    bold = rng.uniform(0.2, 1)
    for q in ids:
        yield f"<{q}>"
        yield f"{prose.some(rng.randint(1, 9))};{round(100 * rng.random() ** (1 - bold + 0.1))}"
        for n in range(1, rng.randint(2, 6)):
            yield f"{n};PR-{rng.randrange(4)};{rng.randint(1, 20)};{prose.sentence()}"
        yield f"</{q}>"


def write_exam(folder: Path, size: Size) -> None:
    """10 questions a query, runs of 20 passages out of 60, judged from 0 to 3."""
    prose = Prose(13)
    rng = prose.rng
    queries = [f"q{n}" for n in range(1, size.topics + 1)]
    docs = {one: [f"{one}-p{n}" for n in range(60)] for one in queries}
    large._rows(
        folder / "bank.jsonl",
        (
            {
                "query_id": one,
                "query_text": prose.some(7),
                "items": [
                    {
                        "question_id": f"{one}/{n}",
                        "question_text": f"{prose.sentence()[:-1]}?",
                        "gold_answers": [prose.some(2)],
                    }
                    for n in range(10)
                ],
            }
            for one in queries
        ),
    )
    large._rows(folder / "passages.jsonl",
                ({"id": doc, "text": prose.passage(5)} for one in queries
                 for doc in docs[one]))  # fmt: skip
    large._write(folder / "qrels.txt",
                 (f"{one} 0 {doc} {rng.randrange(4)}" for one in queries
                  for doc in docs[one]))  # fmt: skip
    for run in names(size.runs, rng):
        large._write(
            folder / "runs" / f"{run}.run",
            (
                f"{one} Q0 {doc} {rank} {100 - rank} {run}"
                for one in queries
                for rank, doc in enumerate(rng.sample(docs[one], 20), 1)
            ),
        )
    large._config(folder, "exam", bank="bank.jsonl", passages="passages.jsonl", qrels="qrels.txt",
                  runs="runs/*.run")  # fmt: skip


def write_sgss(folder: Path, size: Size) -> None:
    """Summaries with an overview and 4 sections of 3 statements, of 8 documents."""
    prose = Prose(14)
    rng = prose.rng
    runs = names(size.runs, rng)

    def summary(one: str, query: str, name: str, docs: list[dict[str, Any]]) -> dict[str, Any]:
        return {
            "query_id": one,
            "query": query,
            "summariser": name,
            "overview": {"text": prose.passage(2), "citations": [rng.randint(1, 8)]},
            "sections": [
                {
                    "heading": prose.some(4),
                    "statements": [
                        {"text": prose.sentence(), "citations": rng.sample(range(1, 9), 1)}
                        for _ in range(3)
                    ],
                }
                for _ in range(4)
            ],
            "doclist": docs,
        }

    rows = []
    for n in range(1, size.topics + 1):
        docs = [
            {"number": d, "url": f"https://example.org/{n}/{d}", "title": prose.some(5),
             "text": prose.passage()}
            for d in range(1, 9)
        ]  # fmt: skip
        query = prose.some(6)
        rows += [summary(f"q{n}", query, name, docs) for name in runs]
    large._rows(folder / "summaries.jsonl", rows)
    large._config(folder, "sgss", summaries="summaries.jsonl")


WRITERS: dict[str, Callable[[Path, Size], None]] = {
    "trec-rag": write_trec_rag,
    "r2c2": write_r2c2,
    "exam": write_exam,
    "sgss": write_sgss,
}


def weigh(out: Path) -> str:
    """How many pages a report has, and how large they are."""
    first = out / "report.html"
    pages = sorted(path.stat().st_size for path in (out / "report").rglob("*.html"))
    said = f"report.html {first.stat().st_size / 1e6:.2f} MB"
    if pages:
        said += (
            f", and {len(pages):,} pages of {pages[0] / 1e6:.2f} to {pages[-1] / 1e6:.2f} MB, "
            f"{sum(pages) / 1e6:.1f} MB in all"
        )
    return said


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("folder", type=Path)
    parser.add_argument("protocols", nargs="*", metavar="PROTOCOL", default=list(WRITERS))
    parser.add_argument("--size", choices=SIZES, default="track")
    options = parser.parse_args()
    for protocol in options.protocols:
        folder = options.folder / protocol
        if not (folder / "labels.sqlite").exists():
            WRITERS[protocol](folder, SIZES[options.size][protocol])
            print(f"{protocol}: judge {large.run('judge', folder, '--json')}", flush=True)
        print(f"{protocol}: score {large.run('score', folder, '--csv')}", flush=True)
        print(f"{protocol}: report {large.run('report', folder)}; {weigh(folder / 'out')}")


if __name__ == "__main__":
    main()
