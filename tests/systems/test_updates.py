"""``--update``: corpus and index of a source that has changed are those of a full rebuild."""

import random
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from assay.model.errors import SettingsError
from assay.systems.alone import alone
from assay.systems.corpus import build as building
from assay.systems.corpus.build import BuildSettings, build_corpus
from assay.systems.corpus.passages import CutPassage, WordWindow
from assay.systems.corpus.store import Documents, Layout, read_passages, write_passages
from assay.systems.corpus.updating import Updated
from assay.systems.retrieval import index as indexing
from assay.systems.retrieval.analysis import Analysis
from assay.systems.retrieval.index import Index, IndexSettings, build_index
from assay.systems.retrieval.search import Method, RetrievalSettings, retrieve
from tests.systems.test_retrieval import Letters

SETTINGS = BuildSettings(window=WordWindow.of(6, 0.3))
WORDS = [
    "film",
    "actor",
    "Paris",
    "1954",
    "{{odd|a",
    "[[b]]}}",
    "{{sfn|Foo}}",
    "映画",
    "score",
    "[[Rocky]]",
    "'''bold'''",
]


@pytest.fixture
def no_open_file_is_replaced(monkeypatch):
    """As Windows has it."""
    replace = Path.replace

    def replaced(self, target):
        every = [each.resolve() for each in Path("/proc/self/fd").glob("*")]
        if Path(target).resolve() in every:
            raise PermissionError(13, "It is open", target)
        return replace(self, target)

    monkeypatch.setattr(Path, "replace", replaced)


def write_pages(folder, pages):
    folder.mkdir(exist_ok=True)
    for old in folder.iterdir():
        old.unlink()
    for name, text in pages.items():
        (folder / f"{name}.wikitext").write_text(text)


def some_pages(chance, names):
    return {name: " ".join(chance.choices(WORDS, k=chance.randint(0, 20))) for name in names}


def files(folder):
    lie = (path for path in folder.iterdir() if path.suffix in (".json", ".jsonl"))
    return {path.name: path.read_bytes() for path in lie if path.name[0] != "."}


@pytest.mark.usefixtures("no_open_file_is_replaced")
def test_an_updated_corpus_is_that_of_a_full_build(tmp_path):
    chance = random.Random(7)
    pages = some_pages(chance, "abcdefgh")
    write_pages(tmp_path / "in", pages)
    build_corpus(tmp_path / "in", tmp_path / "out", SETTINGS, processes=1, update=True)
    for step in range(3):
        for name in chance.sample(sorted(pages), 2):
            del pages[name]
        pages.update(some_pages(chance, [*chance.sample(sorted(pages), 2), f"new{step}"]))
        write_pages(tmp_path / "in", pages)
        built = build_corpus(tmp_path / "in", tmp_path / "out", SETTINGS, processes=1, update=True)
        full = build_corpus(tmp_path / "in", tmp_path / f"full{step}", SETTINGS, processes=1)
        assert files(tmp_path / "out") == files(tmp_path / f"full{step}")
        assert built.counts == full.counts
        assert built.templates == full.templates
        assert full.updated is None
    again = build_corpus(tmp_path / "in", tmp_path / "out", SETTINGS, processes=1, update=True)
    assert again.updated == Updated(0, 0, again.counts["documents"], 0)


@pytest.mark.usefixtures("no_open_file_is_replaced")
def test_only_what_changed_is_made_again(assay, tmp_path, monkeypatch):
    write_pages(tmp_path / "in", {"a": "one", "b": "two", "c": "three"})
    command = ["corpus", "build", tmp_path / "in", tmp_path / "out", "--processes", "1"]
    assay(*command)
    write_pages(tmp_path / "in", {"a": "one", "b": "TWO", "d": "four"})
    told = assay(*command, "--update")
    assert told.returncode == 0, told.stderr
    assert "1 new, 1 changed, 1 same, 1 gone" in told.stdout
    assert [p.text for p in read_passages(tmp_path / "out")] == [
        "a\n\none",
        "b\n\nTWO",
        "d\n\nfour",
    ]
    assert assay(*command).returncode == 2  # without --update it is left alone
    other = assay(*command, "--update", "--words", "9")
    assert other.returncode == 2
    assert "other settings" in other.stderr
    assert assay(*command, "--update", "--restart").returncode == 2
    packed = [*command[:-2], "--layout", "parquet"]
    packed[3] = tmp_path / "packed"
    assay(*packed)
    assert "Only a corpus with the layout jsonl" in assay(*packed, "--update").stderr


def test_a_stopped_update_changes_nothing_and_goes_on(tmp_path, monkeypatch):
    monkeypatch.setattr(building, "_BATCH_DOCUMENTS", 2)
    write_pages(tmp_path / "in", {name: f"text of {name}" for name in "abcdef"})
    build_corpus(tmp_path / "in", tmp_path / "out", SETTINGS, processes=1)
    before = files(tmp_path / "out")
    write_pages(tmp_path / "in", {name: f"new text of {name}" for name in "bcdefg"})

    def killed(_what, passages, _share):
        if passages:
            raise KeyboardInterrupt

    def update(**more):
        return build_corpus(
            tmp_path / "in", tmp_path / "out", SETTINGS, processes=1, update=True, **more
        )

    with pytest.raises(KeyboardInterrupt):
        update(progress=killed)
    assert files(tmp_path / "out") == before
    with monkeypatch.context() as patch:  # and where the new files take the place of the old
        patch.setattr(Documents, "finish", lambda *_: killed("", 1, None))
        with pytest.raises(KeyboardInterrupt):
            update()
    with pytest.raises(SettingsError, match="run the same command again"):
        Documents(tmp_path / "out")
    assert update().resumed == 3
    build_corpus(tmp_path / "in", tmp_path / "full", SETTINGS, processes=1)
    assert files(tmp_path / "out") == files(tmp_path / "full")
    # stopped, then the source changes again: what was begun is of no use
    write_pages(tmp_path / "in", {"z": "z"})
    with pytest.raises(KeyboardInterrupt):
        update(progress=killed)
    write_pages(tmp_path / "in", {"zz": "zz"})
    assert update().updated == Updated(1, 0, 0, 6)


PASSAGES = st.dictionaries(
    st.integers(0, 9),
    st.lists(st.sampled_from(["film", "Paris", "映画", "b"]), max_size=9),
    max_size=9,
)


@settings(max_examples=10)
@given(before=PASSAGES, after=PASSAGES)
def test_rankings_of_an_updated_index_are_those_of_a_full_build(tmp_path_factory, before, after):
    place = tmp_path_factory.mktemp("index")

    def built(corpus, folder, passages, **more):
        rows = (
            CutPassage(f"{n}#0", f"{n}", "", 0, " ".join(w), 1, 0, 0) for n, w in passages.items()
        )
        write_passages(rows, place / corpus, Layout.JSONL)
        how = IndexSettings(Analysis("none"), dense="letters", megabytes=16)
        build_index(place / corpus, place / folder, how, **more)
        return Index(place / folder)

    made = Letters()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(indexing, "make_embedder", lambda *_, **__: made)
        built("one", "index", before)
        made.seen = 0
        updated = built("two", "index", after, update=True)
        old = {" ".join(words) for words in before.values()}
        assert made.seen == sum(" ".join(words) not in old for words in after.values())
        full = built("two-again", "full", after)
        assert updated.about["content"] == full.about["content"]
        for method in Method:
            found = [
                retrieve(index, {"q": "film 映画 b"}, RetrievalSettings(method), embedder=made)
                for index in (updated, full)
            ]
            assert found[0] == found[1]
    kept = {path.name for path in (place / "index").iterdir()}
    assert kept == {"index.json", updated.about["bm25"], updated.about["dense"]}


def test_a_stopped_update_of_an_index_changes_nothing_and_goes_on(tmp_path, monkeypatch):
    def corpus(name, numbers):
        rows = (
            CutPassage(f"{n}#0", f"{n}", "", 0, f"text {chr(97 + n)}", 2, 0, 0) for n in numbers
        )
        write_passages(rows, tmp_path / name, Layout.JSONL)
        return tmp_path / name

    made = Letters()
    monkeypatch.setattr(indexing, "make_embedder", lambda *_, **__: made)
    how = IndexSettings(dense="letters", megabytes=16)
    build_index(corpus("one", range(5)), tmp_path / "i", how)
    about = (tmp_path / "i" / "index.json").read_bytes()
    two = corpus("two", range(3, 23))
    with pytest.raises(SettingsError, match="--update"):
        build_index(two, tmp_path / "i", how)
    made.fail_at = made.seen + 6
    with pytest.raises(KeyboardInterrupt):
        build_index(two, tmp_path / "i", how, update=True)
    assert (tmp_path / "i" / "index.json").read_bytes() == about
    assert len(Index(tmp_path / "i").dense) == 5
    made.fail_at, made.seen = None, 0
    told = []
    # without --dense the vectors are kept up all the same
    plain = IndexSettings(megabytes=16)
    build_index(two, tmp_path / "i", plain, update=True, progress=lambda *one: told.append(one))
    assert len(Index(tmp_path / "i").dense) == 20
    assert made.seen == 12  # of 20 two were known and six made before it was stopped
    embedded = [one[1:] for one in told if one[0] == "passages embedded"]
    assert embedded[0] == (8, 0.4)  # where it had been stopped
    assert embedded[-1] == (20, 1.0)


def test_two_processes_do_not_build_in_one_folder(tmp_path):
    source, out, index = tmp_path / "a.jsonl", tmp_path / "out", tmp_path / "index"
    source.write_text('{"id": "a", "text": "words"}\n')
    with alone(out), pytest.raises(SettingsError, match="Another process is building in"):
        build_corpus(source, out, processes=1)
    build_corpus(source, out, processes=1)
    with alone(index), pytest.raises(SettingsError, match="Another process is building in"):
        build_index(out, index)
    assert build_index(out, index) == 1
    with pytest.raises(SettingsError, match="is a file"):
        build_index(out, source)
    with pytest.raises(SettingsError, match="is a file"):
        build_corpus(source, source, processes=1)
