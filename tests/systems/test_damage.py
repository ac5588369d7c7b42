"""Indexes and corpora that are not as they were written: a message, and what to do."""

from __future__ import annotations

import json
import random
import shutil
from pathlib import Path

import numpy as np
import pytest

from assay.model.errors import AssayError, SettingsError
from assay.systems.corpus.build import build_corpus
from assay.systems.corpus.store import Documents
from assay.systems.damage import damage_reported
from assay.systems.retrieval.bm25 import BM25Settings
from assay.systems.retrieval.index import Index, IndexSettings, build_index
from tests.conftest import ROOT
from tests.engine.asking import aloud, ended, forked, with_small_files

TEXTS = ROOT / "examples" / "trec-rag" / "segments.jsonl"


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    folder = tmp_path_factory.mktemp("built")
    build_corpus(TEXTS, folder / "corpus", processes=1)
    build_index(folder / "corpus", folder / "index", IndexSettings(dense="minilm"))
    return folder


@pytest.fixture
def here(built, tmp_path):
    return shutil.copytree(built, tmp_path / "here")


@pytest.mark.parametrize(
    "text", ["", "{", "[]", "null", '{"analysis": {}}', '{"analysis": {"language": 3}, "title": 1}']
)
def test_what_an_index_says_of_itself_is_damaged(here, text):
    (here / "index" / "index.json").write_text(text)
    with pytest.raises(SettingsError, match=r"index.json is damaged.*--restart"):
        Index(here / "index")


def test_what_may_not_be_read_is_no_damage_and_what_is_not_there_is():
    for error, raised in ((PermissionError(13, "no"), PermissionError),
                          (FileNotFoundError(2, "no"), SettingsError)):  # fmt: skip
        with pytest.raises(raised), damage_reported(Path("index"), "Build it again."):
            raise error


def build_until_full(corpus, folder):
    with pytest.raises(SettingsError) as error:
        build_index(corpus, folder)
    print(error.value)


def test_a_full_disk_is_told_by_who_builds_an_index(here, tmp_path):
    told, places = tmp_path / "told", (here / "corpus", here / "other")
    assert ended(forked(aloud, told, with_small_files, 1_000, build_until_full, *places)) == 0
    assert "other/.bm25.part: cannot be written" in told.read_text()
    assert build_index(*places) == 10


def test_an_index_of_fewer_passages_than_it_says(here):
    path = here / "index" / "index.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), "passages": 99}))
    with pytest.raises(SettingsError, match=r"holds 10 passages, but .* says 99"):
        Index(here / "index")


def test_lengths_of_other_passages(here):
    np.save(here / "index" / "bm25" / "lengths.npy", np.ones(3, dtype=np.uint32))
    with pytest.raises(SettingsError, match=r"bm25 is damaged.*10 passages"):
        Index(here / "index")


def test_vectors_that_are_cut_short(here):
    vectors = here / "index" / "dense" / "vectors.f16"
    vectors.write_bytes(vectors.read_bytes()[:-100])
    with pytest.raises(SettingsError, match="dense is damaged"):
        _ = Index(here / "index").dense


def test_files_of_tantivy_that_are_gone_or_cut(here):
    for path in sorted((here / "index" / "bm25").iterdir()):
        kept = path.read_bytes()
        for data in (b"", kept[: len(kept) // 2], kept[::-1]):
            path.unlink()  # an index that is still mapped keeps the old file
            path.write_bytes(data)
            try:
                Index(here / "index").bm25.search("aqueduct", 5, BM25Settings())
            except AssayError as error:
                assert "damaged" in str(error)
        path.unlink()
        path.write_bytes(kept)


def test_files_of_tantivy_with_bytes_that_are_others(here, capfd):
    draw = random.Random(5)
    panics = 0
    for path in sorted((here / "index" / "bm25").iterdir()):
        kept = path.read_bytes() or b" "
        for _ in range(25):
            data = bytearray(kept)
            for _ in range(draw.choice((1, 4, 40))):
                data[draw.randrange(len(data))] = draw.randrange(256)
            path.unlink()  # an index that is still mapped keeps the old file
            path.write_bytes(data)
            try:
                bm25 = Index(here / "index").bm25
                hits = bm25.search("aqueduct of the city", 5, BM25Settings())
                _ = [bm25.passage(hit.number) for hit in hits]
            except AssayError as error:
                assert "bm25 is damaged" in str(error)
                panics += "Panic" in type(error.__cause__).__name__
        path.unlink()
        path.write_bytes(kept)
    capfd.readouterr()  # what Rust says of it
    assert panics


def test_a_look_up_that_is_no_database(here):
    (here / "corpus" / "documents.sqlite").write_bytes(b"SQLite format 3\0" + b"\xff" * 5000)
    with pytest.raises(SettingsError, match=r"corpus is damaged.*corpus build --restart"):
        Documents(here / "corpus").passages("aq-route")
