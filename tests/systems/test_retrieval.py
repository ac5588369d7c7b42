"""Index and retrieve: BM25 against bm25s, dense, fusion, reranking, run files, the ledger."""

import asyncio
import json
import math
import re
import sys
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from types import SimpleNamespace

import bm25s
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from assay.formats.r2c2_pr import read_pr_run
from assay.formats.trec import read_trec_run
from assay.labellers import endpoints
from assay.labellers.base import BaseLabeller, Estimate, Outcome, Request
from assay.labellers.openai import OpenAISettings
from assay.labellers.transport import Reply
from assay.ledger import Ledger
from assay.model.errors import LabellerUnreachable, PrerequisiteError, SettingsError
from assay.model.labels import LabellerId, Status
from assay.systems.asking import Asker, Spending
from assay.systems.corpus.passages import CutPassage
from assay.systems.corpus.store import Documents, Layout, read_passages, write_passages
from assay.systems.retrieval import dense
from assay.systems.retrieval.analysis import Analysis
from assay.systems.retrieval.bm25 import BM25Index, BM25Settings, BM25Writer, rounded
from assay.systems.retrieval.dense import DenseIndex, KnownVectors, build_dense
from assay.systems.retrieval.embedders import Endpoint, make_embedder, unit
from assay.systems.retrieval.fusion import rrf
from assay.systems.retrieval.index import Index, IndexSettings, build_index
from assay.systems.retrieval.rerank import RankedPassage
from assay.systems.retrieval.runs import best_part, pr_run, trec_run
from assay.systems.retrieval.stored import Packing, Precision
from assay.systems.topics import load_topics
from assay.tasks.retrieval import DECOMPOSITION, DecompositionUnit
from tests.conftest import ROOT
from tests.engine.server import completion, serve

QUESTIONS = ROOT / "examples" / "films" / "questions.tsv"


def passage(number, text, doc=None, title=""):
    doc = doc or f"d{number}"
    return CutPassage(f"{doc}#0", doc, title, 0, text, len(text.split()), 0, 0)


@pytest.fixture(scope="session")
def films(film_corpus):
    """The film pages' corpus and its index with BM25 alone."""
    build_index(film_corpus, film_corpus.parent / "index")
    return film_corpus.parent


@pytest.fixture(scope="module")
def film_index(films):
    """The index with BM25, which makes terms of each text once: more time than all else takes."""
    index = BM25Index(films / "index" / "bm25", Analysis(), title=True)
    index._analyzer.analyze = cache(index._analyzer.analyze)
    return index


@pytest.fixture(scope="module")
def film_terms(films, film_index):
    """The terms of each passage of the film pages."""
    return [
        film_index.terms(p.text if p.text.startswith(p.title) else f"{p.title}\n{p.text}")
        for p in read_passages(films / "corpus")
    ]


@pytest.fixture
def small(tmp_path):
    """A corpus of five passages and its index with vectors by a made-up embedder."""
    texts = [
        "Rocky is a 1976 film starring Sylvester Stallone and Carl Weathers as Apollo Creed.",
        "Barry Lyndon is a 1975 film by Stanley Kubrick; it runs for 185 minutes.",
        "Rush is a 2013 film in which Chris Hemsworth plays James Hunt.",
        "The Incredibles has a score by Michael Giacchino.",
        "A page on cooking, with onions and leeks.",
    ]
    corpus = tmp_path / "corpus"
    write_passages((passage(n, text) for n, text in enumerate(texts)), corpus, Layout.JSONL)
    build_index(corpus, tmp_path / "index")
    questions = tmp_path / "q.tsv"
    questions.write_text(
        "1\tWho played Apollo Creed in Rocky?\n2\tWho wrote the score of The Incredibles?\n"
    )
    return tmp_path


@pytest.mark.parametrize(("k1", "b"), [(1.2, 0.75), (0.5, 0.0), (10.0, 0.9)])
def test_bm25_is_that_of_bm25s_on_the_film_pages(film_index, film_terms, k1, b):
    peer = bm25s.BM25(k1=k1, b=b, method="lucene")
    peer.index(film_terms, show_progress=False)
    for line in QUESTIONS.read_text().splitlines():
        query = line.split("\t")[1]
        found = film_index.search(query, 20, BM25Settings(k1, b))
        scores = peer.get_scores(film_index.terms(query))
        best = np.sort(scores)[::-1][:20]
        assert len(found) == 20
        for hit, other in zip(found, best, strict=True):
            assert hit.score == pytest.approx(other, abs=2e-5)
            assert scores[hit.number] == pytest.approx(hit.score, abs=2e-5)


WORDS = st.lists(
    st.sampled_from(["film", "actor", "Paris", "1976", "das", "Über", "x", "é"]), max_size=60
)


@settings(max_examples=25)
@given(
    texts=st.lists(WORDS, min_size=1, max_size=12),
    query=WORDS,
    k=st.integers(1, 5),
    k1=st.floats(0, 5),
    b=st.floats(0, 1),
)
def test_bm25_follows_its_formula(tmp_path_factory, texts, query, k, k1, b):
    folder = tmp_path_factory.mktemp("bm25") / "i"
    writer = BM25Writer(folder, Analysis("none"), title=False, megabytes=16)
    for number, text in enumerate(texts):
        writer.add(passage(number, " ".join(text)))
    writer.finish()
    index = BM25Index(folder, Analysis("none"), title=False)
    docs = [index.terms(" ".join(text)) for text in texts]
    average = sum(map(len, docs)) / len(docs)
    wanted = []
    for number, doc in enumerate(docs):
        score = 0.0
        for term in index.terms(" ".join(query)):
            n = sum(term in other for other in docs)
            f = doc.count(term)
            if f:
                norm = k1 * (1 - b + b * len(doc) / average)
                score += math.log(1 + (len(docs) - n + 0.5) / (n + 0.5)) * f / (f + norm)
        if any(term in doc for term in index.terms(" ".join(query))):
            wanted.append((score, number))
    wanted.sort(key=lambda pair: -pair[0])
    found = index.search(" ".join(query), k, BM25Settings(k1, b))
    assert [h.score for h in found] == pytest.approx([s for s, _ in wanted[:k]], rel=1e-6)


def test_lengths_are_rounded_as_in_the_byte_that_tantivy_keeps():
    lengths = np.array([0, 7, 23, 24, 39, 40, 41, 43, 55, 57, 100, 1000], dtype=float)
    assert rounded(lengths).tolist() == [0, 7, 23, 24, 39, 40, 40, 42, 54, 56, 96, 984]


def test_stemming_stop_words_and_languages():
    assert Analysis().analyzer().analyze("The running films") == ["the", "run", "film"]
    assert Analysis(stemming=False).analyzer().analyze("Running") == ["running"]
    assert Analysis(stopwords=True).analyzer().analyze("the films") == ["film"]
    assert Analysis("de").analyzer().analyze("Filme") == ["film"]
    assert Analysis("ja").analyzer().analyze("映画 Star") == ["映", "映画", "画", "star"]
    with pytest.raises(SettingsError, match="--language"):
        Analysis("xx")


def test_pr_run_passes_the_validator_with_the_corpus(assay, films, tmp_path):
    run = tmp_path / "FILMS.txt"
    done = assay("retrieve", films / "index", QUESTIONS, "-o", run, "--json")
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["passages"] == 14 * 20
    parsed = read_pr_run(run, corpus=Documents(films / "corpus"))
    assert not parsed.errors
    assert parsed.value.name == "FILMS"
    answers = [line.split("\t") for line in QUESTIONS.read_text().splitlines()]
    found = sum(
        any(gold in p.text for p in parsed.value.passages[one] for gold in golds.split("|"))
        for one, _, _, golds in answers
    )
    assert found >= 8  # not all answers are in the 102 pages
    short = tmp_path / "SHORT.txt"
    done = assay("retrieve", films / "index", QUESTIONS, "-o", short, "--max-passage-chars", "200")
    assert done.returncode == 0, done.stderr
    parsed = read_pr_run(short, corpus=Documents(films / "corpus"), max_passage_chars=200)
    assert not parsed.errors


def test_trec_runs(assay, films, tmp_path):
    few = tmp_path / "questions.tsv"
    few.write_text("".join(QUESTIONS.read_text().splitlines(keepends=True)[:4]))
    for kind, unit_ in (("trec", "#"), ("trec-documents", "")):
        run = tmp_path / f"{kind}.run"
        done = assay("retrieve", films / "index", few, "-o", run, "--format", kind)
        assert done.returncode == 0, done.stderr
        parsed = read_trec_run(run)
        assert not parsed.errors
        assert not parsed.warnings
        ranked = parsed.value.ranked("0003")
        assert len(set(ranked)) == len(ranked) >= 30
        assert all((unit_ in one) == bool(unit_) or not unit_ for one in ranked)
        written = [
            line.split()[2] for line in run.read_text().splitlines() if line.startswith("0003 ")
        ]
        assert list(ranked) == written  # ties are broken as we meant


def test_rrf():
    assert rrf([["a", "b"], ["b", "c"]], k=60) == [
        ("b", 1 / 61 + 1 / 62),
        ("a", 1 / 61),
        ("c", 1 / 62),
    ]
    assert rrf([]) == []


@given(st.lists(st.lists(st.integers(0, 9), unique=True), max_size=5), st.floats(1, 100))
def test_rrf_scores_sum_over_the_lists(lists, k):
    scores = dict(rrf(lists, k=k))
    assert set(scores) == {item for each in lists for item in each}
    for item, score in scores.items():
        want = sum(1 / (k + each.index(item) + 1) for each in lists if item in each)
        assert score == pytest.approx(want)


class Letters:
    """An embedder without a model: how often each letter stands in a text."""

    name = "letters (1.0)"
    spec = "letters"
    at_once = 64

    def __init__(self, fail_at=None):
        self.seen = 0
        self.fail_at = fail_at

    def passages(self, texts):
        self.seen += len(texts)
        if self.fail_at is not None and self.seen > self.fail_at:
            raise KeyboardInterrupt
        counts = [[text.lower().count(c) for c in "abcdefghijklmnopqrstuvwxyz"] for text in texts]
        return unit(np.array(counts, dtype=float))

    queries = passages


TEXTS = [f"{chr(97 + n % 26) * (n % 7 + 1)} {chr(97 + n * 5 % 26) * 3} {n}" for n in range(300)]


def test_dense_search_is_exact_and_resumes(tmp_path):
    with pytest.raises(KeyboardInterrupt):
        build_dense(tmp_path, Letters(fail_at=150), TEXTS)
    again = Letters()
    assert build_dense(tmp_path, again, TEXTS) == 300
    assert again.seen == 300 - 136  # a batch of 8 and two of 64 were kept
    index = DenseIndex(tmp_path)
    queries = Letters().queries(["aaa b", "zzz", "q"])
    vectors = Letters().passages(TEXTS).astype(np.float16).astype(np.float32)
    for query, hits in zip(queries, index.search(queries, 10, exact=True), strict=True):
        scores = vectors @ query
        want = sorted(range(300), key=lambda n: (-scores[n], n))[:10]
        assert [h.number for h in hits] == want


def test_another_embedder_cannot_go_on(tmp_path):
    with pytest.raises(KeyboardInterrupt):
        build_dense(tmp_path, Letters(fail_at=70), TEXTS)
    other = Letters()
    other.name = "other"
    with pytest.raises(SettingsError, match=r"unfinished vectors by letters .*not by other"):
        build_dense(tmp_path, other, TEXTS)


def test_vectors_that_are_there_are_never_made_again(tmp_path, monkeypatch):
    """Not after the last of them came and the build was killed while it made the cells, or before
    it said that all is there; nor when the same build is run again, with cells or without."""

    def killed(*_):
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(dense, "build_cells", killed)
        with pytest.raises(KeyboardInterrupt):
            build_dense(tmp_path, Letters(), TEXTS, ann_above=100)
    none = Letters(fail_at=0)
    with monkeypatch.context() as patch:
        patch.setattr(dense, "write_whole", killed)
        with pytest.raises(KeyboardInterrupt):
            build_dense(tmp_path, none, TEXTS, ann_above=100)
    for cells in (100, 1000, 100):
        assert build_dense(tmp_path, none, TEXTS, ann_above=cells) == 300
        assert (DenseIndex(tmp_path)._cells is not None) == (cells == 100)
    other = Letters()
    other.name = "other"
    with pytest.raises(SettingsError, match=r"holds vectors by letters \(1.0\), not by other"):
        build_dense(tmp_path, other, TEXTS)


def test_vectors_are_cut_back_to_whole_rows(tmp_path):
    with pytest.raises(KeyboardInterrupt):
        build_dense(tmp_path, Letters(fail_at=150), TEXTS)
    with (tmp_path / ".vectors.f16.part").open("ab") as part:
        part.write(b"half a row")
    build_dense(tmp_path, Letters(), TEXTS)
    build_dense(tmp_path / "whole", Letters(), TEXTS)
    name = "vectors.f16"
    assert (tmp_path / name).read_bytes() == (tmp_path / "whole" / name).read_bytes()


@settings(max_examples=25, deadline=None)
@given(st.lists(st.lists(st.floats(-1, 1, width=32), min_size=5, max_size=5), max_size=6))
def test_vectors_in_8_bits_are_near_and_pack_to_the_same_bytes(tmp_path_factory, rows):
    path = tmp_path_factory.mktemp("rows") / "vectors"
    vectors = unit(np.array(rows, dtype=np.float32).reshape(len(rows), 5))
    packing = Packing(Precision.INT8, 5)
    path.write_bytes(packing.packed(vectors))
    found = packing.rows(path, len(rows))[:]
    largest = np.abs(vectors).max(axis=1, initial=0)
    assert (np.abs(found - vectors).max(axis=1, initial=0) <= largest / 253 + 1e-9).all()
    assert packing.packed(found) == path.read_bytes()


def test_an_index_in_8_bits_takes_half_as_much_and_stays_in_them(assay, small):
    build = ["index", "build", small / "corpus", small / "index", "--dense", "minilm"]
    assert assay(*build, "--vectors", "int8").returncode == 0
    vectors = small / "index" / "dense" / "vectors.int8"
    assert vectors.stat().st_size == 5 * (384 + 4)
    assert assay(*build).returncode == 0  # as they are there
    done = assay(*build, "--vectors", "f16")
    assert (done.returncode, "int8, not in f16" in done.stderr) == (2, True)
    done = assay("retrieve", small / "index", small / "q.tsv", "-o", small / "r.txt",
                 "--method", "dense")  # fmt: skip
    assert done.returncode == 0, done.stderr
    about = small / "index" / "dense" / "dense.json"
    about.write_text(about.read_text().replace('"int8"', '"int4"'))
    with pytest.raises(SettingsError, match="another version of Assay"):
        _ = Index(small / "index").dense


def test_updates_keep_8_bits(tmp_path):
    build_dense(tmp_path / "one", Letters(), TEXTS, form=Precision.INT8)
    known = KnownVectors.of(tmp_path / "one", Letters.name)
    none = Letters(fail_at=0)
    build_dense(tmp_path / "two", none, TEXTS, known=known, form=Precision.INT8)
    name = "vectors.int8"
    assert (tmp_path / "two" / name).read_bytes() == (tmp_path / "one" / name).read_bytes()


def test_cells_above_a_size_find_nearly_the_same(tmp_path):
    chance = np.random.default_rng(1)
    topics = chance.normal(size=(40, 32))

    class Clustered(Letters):
        def passages(self, texts):
            rows = topics[[int(text) % 40 for text in texts]]
            return unit(rows + chance.normal(size=rows.shape) * 0.4)

    build_dense(tmp_path, Clustered(), map(str, range(3000)), ann_above=1000)
    index = DenseIndex(tmp_path)
    assert index._cells is not None
    queries = Clustered().passages([str(n) for n in range(20)])
    exact = index.search(queries, 10, exact=True)
    assert index.search(queries, 10, exact=False) == exact  # many at once: it is quicker
    cells = [index.search(query[None], 10, exact=False)[0] for query in queries]
    assert cells != exact
    shared = 0
    for one, other in zip(exact, cells, strict=True):
        scores = {hit.number: hit.score for hit in one}
        shared += sum(hit.number in scores for hit in other)
        assert all(hit.score == pytest.approx(scores.get(hit.number, hit.score)) for hit in other)
    assert shared >= 180


def test_minilm_knows_what_is_alike():
    model = make_embedder("minilm", threads=1)
    long = "The film Rocky stars Sylvester Stallone. " * 80
    rows = model.passages(["A movie about boxing", "Onions and leeks for soup", long, ""])
    assert rows.shape == (4, 384)
    assert np.linalg.norm(rows[:3], axis=1) == pytest.approx([1, 1, 1], abs=1e-5)
    query = model.queries(["Which boxer film is there?"])[0]
    assert query @ rows[0] > query @ rows[1] + 0.3


def test_e5_is_multilingual():
    model = make_embedder("e5", threads=1)
    rows = model.passages(["Der Film handelt von einem Boxer.", "Zwiebeln und Lauch", "a\x00b"])
    assert np.linalg.norm(rows, axis=1) == pytest.approx([1, 1, 1], abs=1e-5)
    query = model.queries(["a movie about boxing"])[0]
    assert query @ rows[0] > query @ rows[1]


def test_sentence_transformers_use_the_models_own_prompts(tmp_path, monkeypatch):
    class Model:
        prompts = {"query": "Q: ", "document": "D: ", "other": ""}  # noqa: RUF012

        def __init__(self, name):
            if name == "none":
                raise OSError("no such model")

        def encode(self, texts, show_progress_bar, prompt_name=None):
            return np.array([[len((self.prompts.get(prompt_name) or "") + t), 4] for t in texts])

    stub = SimpleNamespace(SentenceTransformer=Model)
    monkeypatch.setitem(sys.modules, "sentence_transformers", stub)
    model = make_embedder("sentence-transformers:some/model")
    assert model.queries([""])[0] == pytest.approx([0.6, 0.8])
    assert model.passages([""])[0] == pytest.approx([0.6, 0.8])
    assert model.name == "sentence-transformers:some/model"
    with pytest.raises(SettingsError, match="cannot be loaded"):
        make_embedder("sentence-transformers:none")
    # The library runs code that lies in a model's folder: no index that was sent may ask for it.
    ours = f"sentence-transformers:{tmp_path}"
    assert make_embedder(ours).name == ours
    with pytest.raises(SettingsError, match=f"--dense '{ours}'"):
        make_embedder(ours, named=False)
    assert make_embedder("sentence-transformers:some/model", named=False)
    with pytest.raises(SettingsError, match="is not an embedder"):
        make_embedder("word2vec")
    monkeypatch.setitem(sys.modules, "sentence_transformers", None)
    with pytest.raises(
        PrerequisiteError, match=r"pip install 'assay-rag\[sentence-transformers\]'"
    ):
        make_embedder("sentence-transformers:some/model")


def test_far_settings_score_few_passages_more_than_near_ones(tmp_path, monkeypatch):
    """What is scored again is bounded by each passage's own length, not by the longest of all."""
    chance = np.random.default_rng(7)
    vocabulary = [f"w{number}" for number in range(300)]
    writer = BM25Writer(tmp_path / "i", Analysis("none"), title=False, megabytes=16)
    for number in range(1500):
        size = 400 if number % 50 == 0 else 40 + number % 9
        words = chance.choice(vocabulary, size=size, p=np.linspace(1, 0, 300) / 150)
        writer.add(passage(number, " ".join(words)))
    writer.finish()
    index = BM25Index(tmp_path / "i", Analysis("none"), title=False)
    scored = []
    score = BM25Index._score
    monkeypatch.setattr(BM25Index, "_score", lambda *what: scored.append(1) or score(*what))
    found = index.search("w200 w250", 10, BM25Settings(0.9, 0.4))
    assert len(scored) < 40  # 192 where the longest passage bounds them all
    everything = index.search("w200 w250", 1500, BM25Settings(0.9, 0.4))
    assert found == everything[:10]


def test_nothing_is_written_behind_ones_back(tmp_path):
    """tantivy looks for commits every half second, with a lock file: deleting a folder failed."""
    writer = BM25Writer(tmp_path / "i", Analysis("none"), title=False, megabytes=16)
    writer.add(passage(0, "one"))
    writer.finish()
    time.sleep(0.1)  # the thread that tantivy starts may look once, at the beginning
    files = {path for path in (tmp_path / "i").iterdir() if not path.name.endswith("lock")}
    for lock in (tmp_path / "i").glob(".*lock"):
        lock.unlink()
    time.sleep(0.7)
    assert set((tmp_path / "i").iterdir()) == files


def test_fused_search_through_the_command_line(assay, small):
    done = assay("index", "build", small / "corpus", small / "index", "--dense", "minilm")
    assert done.returncode == 0, done.stderr
    for method in ("dense", "fused"):
        run = small / f"{method}.txt"
        done = assay("retrieve", small / "index", small / "q.tsv", "-o", run, "--method", method)
        assert done.returncode == 0, done.stderr
        first = [line.split(";") for line in run.read_text().splitlines() if ";1;" in line]
        assert [(row[0], row[2]) for row in first] == [("1", "d0"), ("2", "d3")]
    done = assay("index", "build", small / "corpus", small / "index", "--no-stemming")
    assert done.returncode == 2
    assert "other settings" in done.stderr


def prompt(body):
    return "\n".join(message["content"] for message in body["messages"])


def fronts(text):
    """The numbers of a prompt's passages, those about Rush first."""
    parts = re.findall(r"PASSAGE (\d+)\n(.*?)\nPASSAGE", text, re.S)
    order = sorted(parts, key=lambda part: "Rush" not in part[1])
    return [int(number) for number, _ in order]


def test_decomposition_and_listwise_reranking_are_paid_once(assay, small):
    def script(body, _number):
        if "PASSAGE 1" in prompt(body):
            return completion(json.dumps({"order": fronts(prompt(body))}))
        queries = ["Apollo Creed actor", "Rush film"] if "Creed" in prompt(body) else ["score"]
        return completion(json.dumps({"queries": queries}))

    with serve(script) as server:
        model = f"openai:m@{server.url}"
        command = ["retrieve", small / "index", small / "q.tsv", "-o", small / "r.txt", "--json"]
        command += ["--decompose", model, "--rerank", "listwise", "--rerank-with", model]
        done = assay(*command)
        assert done.returncode == 0, done.stderr
        asked = len(server.requests)
        assert json.loads(done.stdout)["asked"] == asked >= 3
        lines = (small / "r.txt").read_text().splitlines()
        assert lines[0].startswith("1;1;d2;Rush")  # found by a query of the model, put first by it
        done = assay(*command)
        assert len(server.requests) == asked
        assert json.loads(done.stdout)["known"] == asked
        assert (small / "r.txt").read_text().splitlines() == lines


def test_windows_of_20_with_stride_10_carry_the_best_from_the_bottom_to_the_top(assay, tmp_path):
    texts = [f"film number {n} {'film ' * (60 - n)}" for n in range(59)] + ["film of Rush hour"]
    corpus = (passage(n, text) for n, text in enumerate(texts))
    write_passages(corpus, tmp_path / "corpus", Layout.JSONL)
    build_index(tmp_path / "corpus", tmp_path / "index")
    (tmp_path / "q.tsv").write_text("1\tfilm\n")
    sizes = []

    def script(body, _number):
        order = fronts(prompt(body))
        sizes.append(len(order))
        return completion(json.dumps({"order": order}))

    with serve(script) as server:
        command = ["retrieve", tmp_path / "index", tmp_path / "q.tsv", "-o", tmp_path / "r.txt"]
        command += ["--depth", "60", "--rerank-depth", "60", "--rerank", "listwise"]
        done = assay(*command, "--rerank-with", f"openai:m@{server.url}", "--b", "0")
        assert done.returncode == 0, done.stderr
    assert sizes == [20] * 5  # ends at 60, 50, 40, 30, 20
    assert (tmp_path / "r.txt").read_text().startswith("1;1;d59;film of Rush hour\n")


@pytest.mark.parametrize(
    ("reply", "says"),
    [
        ('{"order": [5, 3, 1]}', "from 1 to 5 once"),
        ('{"order": [0, 1, 2, 3, 4]}', "from 1 to 5 once"),
        ("[3] > [1] > [2] > [5] > [4]", "unusable reply"),
        ('{"order": [5, 4, 3, 2', "unusable reply"),
    ],
)
def test_an_order_that_cannot_be_used_leaves_the_list_as_it_was(assay, small, reply, says):
    """It is asked for once more, counted with its reason, and not paid for again."""
    (small / "q.tsv").write_text("1\tA film with a score, by Stanley or Stallone\n")
    command = ["retrieve", small / "index", small / "q.tsv", "-o", small / "r.txt"]
    assert assay(*command).returncode == 0
    before = (small / "r.txt").read_text()
    assert len(before.splitlines()) == 5
    with serve(lambda *_: completion(reply)) as server:
        command += ["--rerank", "listwise", "--rerank-with", f"openai:m@{server.url}"]
        done = assay(*command)
        assert done.returncode == 1
        assert "unusable 1," in done.stdout
        assert says in done.stdout.replace("\n", " ")
        assert (small / "r.txt").read_text() == before
        assert len(server.requests) == 2  # with what was wrong, once more
        done = assay(*command, "--json")
        assert len(server.requests) == 2
    found = json.loads(done.stdout)
    assert found["unusable_replies"] == 1
    assert list(found["why_unusable"].values()) == [1]


def test_models_of_one_command_share_its_budget(tmp_path):
    class Dear(BaseLabeller):
        id = LabellerId("dear", "model", {})

        def estimate(self, request):
            return Estimate(1, 0, 0, 1.0, 1.0)

        async def label(self, request):
            verdict = request.task.verdict.model_validate({"queries": [request.unit.question]})
            return Outcome(status=Status.OK, verdict=verdict, cost=1.0)

    with Ledger.open(tmp_path / "l.sqlite") as ledger:
        spending = Spending(3.0)
        one, two = (Asker(ledger, Dear(), spending=spending) for _ in range(2))
        for asker, words, got in [(one, "ab", 2), (two, "cdef", 1)]:
            units = [DecompositionUnit(question=word) for word in words]
            labels = asker.ask("t", [Request(DECOMPOSITION, unit) for unit in units])
            assert sum(label is not None for label in labels) == got
        assert spending.tally.cost == 3.0


def test_as_deep_as_is_reranked_is_searched(assay, tmp_path):
    texts = [f"film {n} {'film ' * (130 - n)}" for n in range(129)] + ["film of Rush hour"]
    corpus = (passage(n, text) for n, text in enumerate(texts))
    write_passages(corpus, tmp_path / "corpus", Layout.JSONL)
    build_index(tmp_path / "corpus", tmp_path / "index")
    (tmp_path / "q.tsv").write_text("1\tfilm\n")

    def script(body, _number):
        return completion(json.dumps({"order": fronts(prompt(body))}))

    with serve(script) as server:
        command = ["retrieve", tmp_path / "index", tmp_path / "q.tsv", "-o", tmp_path / "r.txt"]
        command += ["--rerank-depth", "130", "--rerank", "listwise", "--b", "0"]
        done = assay(*command, "--rerank-with", f"openai:m@{server.url}")
        assert done.returncode == 0, done.stderr
        assert len(server.requests) == 12  # ends at 130, 120 … 20
        assert (tmp_path / "r.txt").read_text().startswith("1;1;d129;film of Rush hour\n")
        done = assay(*command, "--rerank-with", f"openai:m@{server.url}", "--window", "101")
        assert done.returncode == 2
        assert "2 to 100 passages" in done.stderr


def test_pointwise_reranking_counts_what_cannot_be_used(assay, small):
    def script(body, _number):
        if "Barry" in prompt(body):
            return completion("no idea")
        grade = 3 if "onions" in prompt(body) else 1
        return completion(json.dumps({"reason": "r", "grade": grade}))

    (small / "q.tsv").write_text("1\tA film or page in which Stanley plays\n")
    with serve(script) as server:
        command = ["retrieve", small / "index", small / "q.tsv", "-o", small / "r.txt", "--json"]
        model = f"openai:m@{server.url}"
        done = assay(*command, "--rerank", "pointwise", "--rerank-with", model)
    assert done.returncode == 1
    assert json.loads(done.stdout)["unusable_replies"] == 1
    docs = [line.split(";")[2] for line in (small / "r.txt").read_text().splitlines()]
    assert docs[0] == "d4"
    assert docs[-1] == "d1"  # without a grade: behind those that have one


def static_model(folder, **more):
    """A model of three word pieces and an unknown one, written as model2vec writes it."""
    folder.mkdir()
    pieces = {"[UNK]": 0, "film": 1, "boxing": 2, "soup": 3}
    model = {"type": "WordLevel", "vocab": pieces, "unk_token": "[UNK]"}
    document = {"version": "1.0", "model": model, "pre_tokenizer": {"type": "Whitespace"},
                "added_tokens": [], "normalizer": {"type": "Lowercase"}}  # fmt: skip
    (folder / "tokenizer.json").write_text(json.dumps(document))
    tensors = {"embeddings": np.array([[9, 9], [4, 3], [0, 5]], dtype=np.int8),
               "weights": np.array([1, 1, 2, 1], dtype=np.float32),
               "mapping": np.array([0, 1, 2, 1], dtype=np.int64), **more}  # fmt: skip
    names = {np.int8: "I8", np.float32: "F32", np.int64: "I64"}
    header, body = {"__metadata__": {"format": "pt"}}, b""
    for name, array in tensors.items():
        ends = [len(body), len(body) + array.nbytes]
        kind = names[array.dtype.type]
        header[name] = {"dtype": kind, "shape": list(array.shape), "data_offsets": ends}
        body += array.tobytes()
    head = json.dumps(header).encode()
    (folder / "model.safetensors").write_bytes(len(head).to_bytes(8, "little") + head + body)
    return folder


def test_static_vectors_are_weighted_means_of_word_pieces(tmp_path):
    folder = static_model(tmp_path / "m")
    model = make_embedder(f"model2vec:{folder}")
    rows = model.passages(["Film boxing nobody", "soup " * 3000, "nobody", ""])
    assert rows[0] == pytest.approx(np.array([4, 13]) / 185**0.5)
    assert rows[1] == pytest.approx([0.8, 0.6])
    assert not rows[2:].any()
    assert make_embedder(model.spec).name == model.name
    other = static_model(tmp_path / "n", weights=np.ones(4, dtype=np.float32))
    assert make_embedder(f"model2vec:{other}").name != model.name


def test_what_is_no_static_model_is_said(tmp_path):
    with pytest.raises(SettingsError, match="holds no model2vec model"):
        make_embedder(f"model2vec:{tmp_path}")
    short = static_model(tmp_path / "short", mapping=np.array([0, 1, 2, 3], dtype=np.int64))
    with pytest.raises(SettingsError, match="more word pieces than vectors"):
        make_embedder(f"model2vec:{short}")
    file = static_model(tmp_path / "cut") / "model.safetensors"
    file.write_bytes(file.read_bytes()[:200])
    with pytest.raises(SettingsError, match="cannot be read"):
        make_embedder(f"model2vec:{tmp_path / 'cut'}")


def test_embeddings_endpoint(small):
    class Server:
        calls = 0

        async def post(self, sent):
            self.calls += 1
            if self.calls == 1:
                return Reply(503, b"busy")
            assert sent.url == "http://x/v1/embeddings"
            assert sent.headers["Authorization"] == "Bearer secret"
            texts = json.loads(sent.body)["input"]
            rows = [{"index": n, "embedding": [len(t), 1.0]} for n, t in enumerate(texts)]
            return Reply(200, json.dumps({"data": rows[::-1]}).encode())

        async def close(self): ...

    settings_ = OpenAISettings(
        model="m", base_urls=("http://x/v1",), keys={"http://x/v1": "secret"}
    )
    rows = Endpoint(settings_, Server()).passages(["abc", ""])
    assert rows[0] == pytest.approx([3 / 10**0.5, 1 / 10**0.5])
    assert rows[1] == pytest.approx([0, 1])


class Embeds:
    """A server of embeddings, whose replies are those of ``script`` before they are good ones."""

    def __init__(self, *script):
        self.script = list(script)
        self.waits, self.asked = [], []

    async def sleep(self, seconds):
        self.waits.append(seconds)

    async def post(self, sent):
        self.asked.append(sent.url)
        await asyncio.sleep(0)
        texts = json.loads(sent.body)["input"]
        rows = [{"index": n, "embedding": [n + 1.0, 1.0]} for n, _ in enumerate(texts)]
        reply = self.script.pop(0) if self.script else None
        if isinstance(reply, Reply):
            return reply
        return Reply(200, json.dumps({"data": rows if reply is None else reply(rows)}).encode())

    async def close(self): ...


@pytest.mark.parametrize(
    ("reply", "why"),
    [
        (Reply(200, b"<html>"), "not a JSON object"),
        (Reply(200, b'{"data": [{"ind'), "not a JSON object"),
        (lambda rows: [1, 2], "no list of embeddings"),
        (lambda rows: rows[1:], "1 embeddings for 2 texts"),
        (lambda rows: [{**row, "index": 1} for row in rows], "2 embeddings for 2 texts, or"),
        (
            lambda rows: [{**row, "index": row["index"] + 1} for row in rows],
            "or embeddings of other texts",
        ),
        (lambda rows: [{"embedding": row["embedding"]} for row in rows], "with indices"),
        (lambda rows: [{**row, "embedding": [0, 0]} for row in rows], "all zeros"),
        (lambda rows: [{**row, "embedding": [1e300, 0]} for row in rows], "not numbers"),
    ],
)
def test_replies_without_all_embeddings_are_asked_for_again(monkeypatch, reply, why):
    settings = OpenAISettings(model="m", base_urls=("http://x/v1",))
    server = Embeds(reply)
    monkeypatch.setattr(endpoints, "_sleep", server.sleep)
    good = Endpoint(settings, Embeds()).passages(["a", "b"])
    assert Endpoint(settings, server).passages(["a", "b"]).tolist() == good.tolist()
    server = Embeds(*[reply] * 7)
    monkeypatch.setattr(endpoints, "_sleep", server.sleep)
    with pytest.raises(LabellerUnreachable, match=f"Embedding failed: .*{why}.* is kept"):
        Endpoint(settings, server).passages(["a", "b"])
    assert not server.script


def test_an_endpoint_is_given_the_time_that_it_asks_for(monkeypatch):
    server = Embeds(Reply(500, b"busy", {"retry-after": "7"}), Reply(500, b"busy"))
    monkeypatch.setattr(endpoints, "_sleep", server.sleep)
    settings = OpenAISettings(model="m", base_urls=("http://x/v1",))
    assert len(Endpoint(settings, server).passages(["a"])) == 1
    first, second = server.waits
    assert first == 7
    assert second <= 1


def test_several_addresses_share_the_texts(monkeypatch):
    settings = OpenAISettings(model="m", base_urls=("http://x/v1", "http://y/v1"))
    server = Embeds()
    assert len(Endpoint(settings, server).passages(["a"] * 256)) == 256
    hosts = Counter(url.removesuffix("/v1/embeddings") for url in server.asked)
    assert hosts == {"http://x": 2, "http://y": 2}


def test_an_endpoint_with_vectors_of_two_sizes_is_named():
    server = Embeds(lambda rows: [{**row, "embedding": [1.0]} for row in rows])
    settings = OpenAISettings(model="m", base_urls=("http://x/v1",))
    with pytest.raises(LabellerUnreachable, match="vectors of 1 and of 2 components"):
        Endpoint(settings, server).passages(["text"] * 100)


def test_an_endpoint_is_asked_by_threads_at_once():
    class OfOneLoop(Embeds):
        """Its connections are those of the event loop that they were made in."""

        loop = None

        async def post(self, sent):
            own = asyncio.get_running_loop()
            self.loop = self.loop or own
            await asyncio.sleep(0.01)
            assert self.loop is own
            return await super().post(sent)

        async def close(self):
            self.loop = None

    endpoint = Endpoint(OpenAISettings(model="m", base_urls=("http://x/v1",)), OfOneLoop())
    with ThreadPoolExecutor(4) as pool:
        found = list(pool.map(lambda count: len(endpoint.queries(["a"] * count)), range(60, 72)))
    assert found == list(range(60, 72))


def test_queries_go_where_the_passages_went(assay, small):
    """An index says which endpoint made its vectors; its passages are embedded there once."""

    def script(body, _number):
        rows = [[float(t.lower().count(c)) for c in "abcdefghijklmno"] for t in body["input"]]
        return {"data": [{"index": n, "embedding": row} for n, row in enumerate(rows)]}

    with serve(script) as server:
        spec = f"openai:m@{server.url}"
        for _ in range(2):
            done = assay("index", "build", small / "corpus", small / "index", "--dense", spec)
            assert done.returncode == 0, done.stderr
        assert [len(body["input"]) for body in server.requests] == [5]
        command = ["retrieve", small / "index", small / "q.tsv", "-o", small / "r.txt"]
        done = assay(*command, "--method", "dense")
        assert done.returncode == 0, done.stderr
        assert [len(body["input"]) for body in server.requests] == [5, 2]


def test_best_part_of_a_passage():
    text = "one two three four five six Rocky Balboa seven eight"
    terms = str.split
    assert best_part(text, {"Rocky", "Balboa"}, 14, terms) == "Rocky Balboa"
    assert best_part(text, set(), 7, terms) == "one two"
    assert best_part("x" * 50, {"x"}, 10, terms) == "x" * 10
    assert best_part(" " * 50, {"x"}, 10, terms) == ""
    assert best_part("short", {"x"}, 10, terms) == "short"
    analyzer = Analysis("ja").analyzer()
    film = "監督は本多猪四郎。『ゴジラ』は1954年11月3日に公開された日本映画である。"
    part = best_part(film, set(analyzer.analyze("ゴジラの公開年")), 22, analyzer.analyze)
    assert part == "四郎。『ゴジラ』は1954年11月3日に公開"


def test_ids_that_no_run_can_hold():
    bad = {"1": [RankedPassage(passage(0, "t", doc="a;b"), 1.0)]}
    with pytest.raises(SettingsError, match="semicolons"):
        pr_run(bad, {"1": "q"}, terms=str.split)
    with pytest.raises(SettingsError, match="white space"):
        trec_run({"1": [RankedPassage(passage(0, "t", doc="a b"), 1.0)]}, "R")
    ranked = {"1": [RankedPassage(passage(0, "a\n\nb;\u2028c", doc="d"), 1.0)]}
    good = pr_run(ranked, {"1": "q"}, terms=str.split)
    assert good == b"1;1;d;a b; c\n"


def test_wrong_use(assay, small):
    for arguments, says in [
        ((small / "corpus", small / "q.tsv", "-o", small / "r"), "holds no index"),
        ((small / "index", small / "q.tsv", "-o", small / "r", "--k", "21"), "at most 20"),
        (
            (small / "index", small / "q.tsv", "-o", small / "r", "--rerank", "listwise"),
            "must be given together",
        ),
        ((small / "index", small / "q.tsv", "-o", small / "r", "--method", "dense"), "no vectors"),
        ((small / "index", small / "q.tsv", "-o", small / "r", "--b", "2"), "between 0 and 1"),
    ]:
        done = assay("retrieve", *arguments)
        assert done.returncode == 2, (arguments, done.stdout)
        assert says in done.stderr


def test_index_settings_are_kept(small):
    index = Index(small / "index")
    assert len(index) == 5
    assert index.bm25.passage(3).doc == "d3"
    assert build_index(small / "corpus", small / "index", IndexSettings()) == 5
    with pytest.raises(SettingsError):
        build_index(small / "corpus", small / "corpus")
    lines = (small / "corpus" / "passages.jsonl").read_text()
    moved = small / "moved" / "passages.jsonl"
    moved.parent.mkdir()
    moved.write_text(lines)
    assert build_index(small / "moved", small / "index") == 5
    moved.write_text(lines.replace("leeks", "beans"))
    with pytest.raises(SettingsError, match="an index of other passages: its 5 are not the 5 of"):
        build_index(small / "moved", small / "index")
    with pytest.raises(SettingsError, match="an index with other settings"):
        build_index(small / "corpus", small / "index", IndexSettings(title=False))
    with pytest.raises(SettingsError, match="is not an embedder"):
        build_index(small / "corpus", small / "new", IndexSettings(dense="word2vec"))
    assert not (small / "new").exists()  # said before hours of work, not after
    (small / "index" / "labels.sqlite").write_text("paid for")
    changed = IndexSettings(Analysis(stemming=False))
    assert build_index(small / "corpus", small / "index", changed, restart=True) == 5
    assert (small / "index" / "labels.sqlite").read_text() == "paid for"


def test_questions_of_rag_are_topics(tmp_path):
    path = tmp_path / "questions.jsonl"
    path.write_text('{"id": "q1", "question": "When?", "references": ["In 1932."]}\n')
    assert load_topics(path) == {"q1": "When?"}
