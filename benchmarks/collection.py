"""A test collection by BM25, to set beside published figures.

Run: ``python benchmarks/collection.py DOCUMENTS TOPICS QRELS [--published AP=.2965]``, with the
files as they are handed round:

* TREC and Terrier (Vaswani, Robust): ``<DOC>`` with ``<DOCNO>``; ``<top>`` with ``<num>`` and
  ``<title>``; qrels of four columns. A folder, or ``.gz``, of such files is one collection.
* SMART (Cranfield, CISI, MED): ``.I``, ``.T``, ``.W``; topics the same. Cranfield's judgements give
  topics by their place in the file of topics, not by their ``.I``; ``--topics-by place`` says so.
  Its grades run backwards, from 1 (a complete answer) to 4; 5 and -1 are not relevant.
  ``--grades cranfield`` turns them.
* BEIR and ir_datasets: JSON lines with ``_id`` (or ``doc_id``, ``id``), ``title``, ``text``; topics
  the same, or ``id<TAB>text``; qrels with a heading ``query-id corpus-id score``.

For each of the settings below: AP, nDCG@10 and P@10 over the qrels' topics, of 1,000 documents a
topic. A document's title is searched with its text. ``--published`` (repeatable) sets a figure
beside each, and says which setting comes nearest. ``--k1``, ``--b`` and ``--stop-words FILE`` (one
a line, as of Terrier) add a setting of one's own.
"""

from __future__ import annotations

import argparse
import gzip
import re
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import orjson

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
_TITLE = re.compile(r"<title>\s*(?:topic:)?\s*([^<]+)", re.IGNORECASE)
_TAG = re.compile(r"<[^>]*>")
_RECORD = re.compile(r"^\.I[ \t]+(\S+)[ \t]*$", re.M)
_FIELD = re.compile(r"^\.([A-Z])[ \t]*$", re.M)
_IDS = ("_id", "doc_id", "query_id", "id", "docno", "qid")
_CRANFIELD = {1: 4, 2: 3, 3: 2, 4: 1}

Texts = dict[str, str]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    for name in ("documents", "topics", "qrels"):
        parser.add_argument(name, type=Path)
    parser.add_argument("--topics-by", choices=("id", "place"), default="id")
    parser.add_argument("--grades", choices=("trec", "cranfield"), default="trec")
    parser.add_argument("--published", action="append", default=[], metavar="MEASURE=VALUE")
    parser.add_argument("--k1", type=float)
    parser.add_argument("--b", type=float)
    parser.add_argument("--stop-words", type=Path)
    options = parser.parse_args()
    texts = documents(options.documents)
    asked = topics(options.topics, by_place=options.topics_by == "place")
    qrels = judged(options.qrels, backwards=options.grades == "cranfield")
    told_of_gaps(texts, asked, qrels)
    published = {name: float(value) for name, _, value in map(_parted, options.published)}
    measures = list(dict.fromkeys((*MEASURES, *published)))
    none: frozenset[str] = frozenset()
    settings = [(name, *how, none) for name, how in SETTINGS.items()]
    if options.k1 is not None or options.b is not None or options.stop_words:
        bm25 = BM25Settings(
            1.2 if options.k1 is None else options.k1, 0.75 if options.b is None else options.b
        )
        words = frozenset(read(options.stop_words).split()) if options.stop_words else none
        own = f"own: k1 {bm25.k1:g}, b {bm25.b:g}, {len(words)} stop words"
        settings.append((own, Analysis(stopwords=not words), bm25, words))
    found = {}
    for name, analysis, how, words in settings:
        run = searched(texts, asked, analysis, how, words)
        scores = assay.measure(qrels, {"run": run}, measures)
        found[name] = dict(zip(scores["measure"], scores["value"], strict=True))
        said = ", ".join(f"{one} {found[name][one]:.4f}" for one in measures)
        print(f"{name}: {said}", flush=True)
    for measure, value in published.items():
        name = min(found, key=lambda each: abs(found[each][measure] - value))
        print(f"{measure} {value:.4f} published; {found[name][measure] - value:+.4f} by {name}")


def told_of_gaps(texts: Texts, asked: Texts, qrels: dict[str, dict[str, int]]) -> None:
    """What does not go together, before anything is scored. Exits where nothing does."""
    print(
        f"{len(texts)} documents, {len(asked)} topics, {sum(map(len, qrels.values()))} judgements"
    )
    without = [topic for topic in qrels if topic not in asked]
    gone = {doc for judged in qrels.values() for doc in judged} - texts.keys()
    blank = [name for name, text in texts.items() if not text.strip()]
    for count, what in (
        (len(without), f"topics of the qrels are not asked, such as {without[:3]}: 0 in each mean"),
        (len(gone), f"judged documents are not there, such as {sorted(gone)[:3]}"),
        (len(blank), f"documents have no text, such as {blank[:3]}"),
    ):
        if count:
            print(f"{count} {what}", file=sys.stderr)
    if len(without) == len(qrels) or not any(judged.keys() & texts for judged in qrels.values()):
        sys.exit("These files do not go together: no judged topic, or no judged document.")


def read(path: Path) -> str:
    """The text of a file, packed or not, or of all files of a folder."""
    if path.is_dir():
        return "\n".join(read(each) for each in sorted(path.rglob("*")) if each.is_file())
    data = path.read_bytes()
    if path.suffix == ".gz":
        data = gzip.decompress(data)
    return data.decode("utf-8-sig", errors="replace")


def documents(path: Path) -> Texts:
    """Each document's name, and its title with its text."""
    text = read(path)
    if text.lstrip().startswith("{"):
        return dict(json_lines(text))
    if _RECORD.match(text.lstrip()):
        return {name: f"{fields['T']}\n{fields['W']}" for name, fields in smart(text)}
    return dict(tagged(text))


def tagged(text: str) -> Iterator[tuple[str, str]]:
    """Each TREC document's name and its text without tags."""
    for body in _DOCUMENT.findall(text):
        if (number := _NUMBER.search(body)) is not None:
            yield number.group(1), _TAG.sub(" ", body.replace(number.group(), " "))


def smart(text: str) -> Iterator[tuple[str, dict[str, str]]]:
    """Each record's ``.I`` and its fields; those that are not there are empty."""
    _, *parts = _RECORD.split(text)
    for name, body in zip(parts[::2], parts[1::2], strict=True):
        _, *fields = _FIELD.split(body)
        found = dict(zip(fields[::2], fields[1::2], strict=True))
        yield name, {"T": "", "W": ""} | found


def json_lines(text: str) -> Iterator[tuple[str, str]]:
    """Each line's id, and its title with its text."""
    for line in filter(str.strip, text.split("\n")):
        row = orjson.loads(line)
        name = next(str(row[key]) for key in _IDS if key in row)
        parts = (row.get("title"), row.get("text") or row.get("contents") or row.get("body"))
        yield name, "\n".join(filter(None, parts))


def topics(path: Path, *, by_place: bool) -> Texts:
    """Each topic's number and title; ``by_place``: its place in the file, from 1."""
    text = read(path)
    if text.lstrip().startswith("{"):
        found = dict(json_lines(text))
    elif _RECORD.match(text.lstrip()):
        found = {name: f"{fields['T']} {fields['W']}" for name, fields in smart(text)}
    elif _TOPIC.search(text):
        pairs = ((_ID.search(body), _TITLE.search(body)) for body in _TOPIC.findall(text))
        found = {one.group(1): title.group(1) for one, title in pairs if one and title}
    else:
        found = dict(line.split("\t", 1) for line in text.splitlines() if "\t" in line)
    if by_place:
        found = {str(place): query for place, query in enumerate(found.values(), 1)}
    return found


def judged(path: Path, *, backwards: bool) -> dict[str, dict[str, int]]:
    """Topic → document → grade: of four columns the second is not read, of three there is none;
    a heading is no judgement."""
    found: dict[str, dict[str, int]] = {}
    for line in read(path).splitlines():
        cells = line.split()
        if len(cells) < 3 or not re.fullmatch(r"-?\d+(?:\.0+)?", cells[-1]):
            continue
        grade = int(float(cells[-1]))
        topic, doc = cells[0], cells[2 if len(cells) > 3 else 1]
        found.setdefault(topic, {})[doc] = _CRANFIELD.get(grade, 0) if backwards else max(grade, 0)
    return found


def searched(
    texts: Texts, asked: Texts, analysis: Analysis, how: BM25Settings, stop_words: frozenset[str]
) -> dict[str, dict[str, float]]:
    """Topic → document → score."""
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder) / "index"
        writer = BM25Writer(place, analysis, title=False, megabytes=128)
        names = list(texts)
        for name, text in texts.items():
            kept = _without(text, stop_words)
            writer.add(CutPassage(f"{name}#0", name, "", 0, kept, 1, 0, 0))
        writer.finish()
        index = BM25Index(place, analysis, title=False)
        return {
            topic: {
                names[hit.number]: hit.score
                for hit in index.search(_without(query, stop_words), DEPTH, how)
            }
            for topic, query in asked.items()
        }


def _without(text: str, stop_words: frozenset[str]) -> str:
    if not stop_words:
        return text
    return " ".join(word for word in re.findall(r"\w+", text) if word.lower() not in stop_words)


def _parted(text: str) -> tuple[str, str, str]:
    return text.rpartition("=")


if __name__ == "__main__":
    main()
