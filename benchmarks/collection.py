"""A TREC collection by BM25, to set beside published figures.

Run: ``python benchmarks/collection.py DOCUMENTS TOPICS QRELS``: documents as ``<DOC>`` with
``<DOCNO>``, topics as ``<top>`` with ``<num>`` and ``<title>``, relevance as TREC qrels. For each
of the settings below: AP, nDCG@10 and P@10 over the qrels' topics, of 1,000 documents a topic.
"""

from __future__ import annotations

import argparse
import re
import tempfile
from collections.abc import Iterator
from pathlib import Path

import assay
from assay.systems.corpus.passages import CutPassage
from assay.systems.retrieval.analysis import Analysis
from assay.systems.retrieval.bm25 import BM25Index, BM25Settings, BM25Writer

SETTINGS = {
    "default (k1 1.2, b .75)": (Analysis(), BM25Settings()),
    "stop words": (Analysis(stopwords=True), BM25Settings()),
    "stop words, k1 1.2, b .5": (Analysis(stopwords=True), BM25Settings(1.2, 0.5)),
    "stop words, k1 .9, b .4": (Analysis(stopwords=True), BM25Settings(0.9, 0.4)),
}
MEASURES = ("AP", "nDCG@10", "P@10")
DEPTH = 1000

_DOCUMENT = re.compile(r"<doc>(.*?)</doc>", re.IGNORECASE | re.DOTALL)
_NUMBER = re.compile(r"<docno>\s*(.*?)\s*</docno>", re.IGNORECASE | re.DOTALL)
_TOPIC = re.compile(r"<top>(.*?)</top>", re.IGNORECASE | re.DOTALL)
_ID = re.compile(r"<num>\s*(?:number:)?\s*([^\s<]+)", re.IGNORECASE)
_TITLE = re.compile(r"<title>\s*([^<]+)", re.IGNORECASE)
_TAG = re.compile(r"<[^>]*>")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    for name in ("documents", "topics", "qrels"):
        parser.add_argument(name, type=Path)
    options = parser.parse_args()
    asked = topics(options.topics.read_text(encoding="utf-8", errors="replace"))
    print(f"{len(asked)} topics; {', '.join(MEASURES)}")
    for name, (analysis, how) in SETTINGS.items():
        run = searched(options.documents, asked, analysis, how)
        scores = assay.measure(options.qrels, {"run": run}, MEASURES)
        values = dict(zip(scores["measure"], scores["value"], strict=True))
        print(f"{name}: {', '.join(f'{values[one]:.4f}' for one in values)}", flush=True)


def documents(text: str) -> Iterator[tuple[str, str]]:
    """Each document's name and its text without tags."""
    for body in _DOCUMENT.findall(text):
        if (number := _NUMBER.search(body)) is not None:
            yield number.group(1), _TAG.sub(" ", body.replace(number.group(), " "))


def topics(text: str) -> dict[str, str]:
    """Each topic's number and title."""
    found = ((_ID.search(body), _TITLE.search(body)) for body in _TOPIC.findall(text))
    return {one.group(1): title.group(1) for one, title in found if one and title}


def searched(
    path: Path, asked: dict[str, str], analysis: Analysis, how: BM25Settings
) -> dict[str, dict[str, float]]:
    """Topic → document → score."""
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder) / "index"
        writer = BM25Writer(place, analysis, title=False, megabytes=128)
        names = []
        for name, text in documents(path.read_text(encoding="utf-8", errors="replace")):
            writer.add(CutPassage(f"{name}#0", name, "", 0, text, 1, 0, 0))
            names.append(name)
        writer.finish()
        index = BM25Index(place, analysis, title=False)
        return {
            topic: {names[hit.number]: hit.score for hit in index.search(query, DEPTH, how)}
            for topic, query in asked.items()
        }


if __name__ == "__main__":
    main()
