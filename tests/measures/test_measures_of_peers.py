"""Equal values to other tools: pytrec-eval-terrier, pyNTCIREVAL, pyndeval."""

from __future__ import annotations

from importlib import import_module

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from assay.measures import MEASURES, parse_measure
from assay.measures.run_scores import evaluate_runs
from tests.measures import plain

EXACT = 1e-9
DOCUMENTS = [f"d{number}" for number in range(14)] + ["é", "D-1", "ü;3"]
# 1/3 and its neighbour are equal in 32 bits, in which trec_eval stores scores.
SCORES = [0.0, -1.5, 2.0, 1 / 3, 1 / 3 + 1e-12, 1e-40, 7e5]

# None is below 0, because a topic with such grades can make pytrec-eval-terrier 0.5.11 hang.
grades = st.dictionaries(st.sampled_from(DOCUMENTS), st.integers(0, 4), min_size=1, max_size=12)
ranked = st.dictionaries(
    st.sampled_from(DOCUMENTS), st.sampled_from(SCORES) | st.floats(-9, 9), min_size=1, max_size=15
)
qrels_and_run = st.tuples(
    st.dictionaries(st.sampled_from(["1", "2", "3", "x9"]), grades, min_size=1),
    st.dictionaries(st.sampled_from(["1", "2", "3", "x9", "y"]), ranked, min_size=1),
)

TREC_EVAL = {
    "ndcg": "nDCG",
    "ndcg_cut_5": "nDCG@5",
    "ndcg_cut_10": "nDCG@10",
    "map": "AP",
    "map_cut_5": "AP@5",
    "recip_rank": "RR",
    "P_5": "P@5",
    "recall_5": "Recall@5",
    "success_1": "Success@1",
    "success_5": "Success@5",
    "Rprec": "Rprec",
}


@settings(max_examples=100)
@given(qrels_and_run, st.sampled_from([1, 2, 3]))
def test_trec_eval(case: tuple[dict[str, dict[str, int]], dict[str, dict[str, float]]], rel: int):
    pytrec_eval = import_module("pytrec_eval")
    qrels, run = case
    asked = {
        name.replace("_5", ".5").replace("_10", ".10").replace("_1", ".1") for name in TREC_EVAL
    }
    evaluator = pytrec_eval.RelevanceEvaluator(qrels, asked, relevance_level=rel)
    theirs = evaluator.evaluate(run)
    names = {
        name: ours if ours.startswith("nDCG") or rel == 1 else _with_level(ours, rel)
        for name, ours in TREC_EVAL.items()
    }
    found = evaluate_runs(qrels, {"run": run}, names.values())["run"]
    assert set(theirs) == {t for t in qrels if t not in found.missing}
    for topic, scores in theirs.items():
        for name, value in scores.items():
            if name in names:
                mine = found.values[parse_measure(names[name])][found.topics.index(topic)]
                assert mine == pytest.approx(value, abs=EXACT), (topic, name)
    for name in names:
        mean = found.mean(parse_measure(names[name]), topics="answered")
        if theirs:
            expected = sum(scores[name] for scores in theirs.values()) / len(theirs)
            assert mean == pytest.approx(expected, abs=EXACT)
        else:
            assert mean is None


def _with_level(name: str, rel: int) -> str:
    stem, at, cutoff = name.partition("@")
    return f"{stem}(rel={rel}){at}{cutoff}"


@settings(max_examples=80)
@given(
    st.dictionaries(st.sampled_from(DOCUMENTS), st.integers(0, 3), min_size=1),
    st.lists(st.sampled_from(DOCUMENTS), unique=True, min_size=1),
    st.sampled_from([1, 3, 10]),
    st.sampled_from([[1, 2, 3], [1, 3, 7]]),
)
def test_ntcireval(judged: dict[str, int], ranking: list[str], k: int, gains: list[int]):
    tool = import_module("pyNTCIREVAL")
    metrics = import_module("pyNTCIREVAL.metrics")
    judged = {**judged, "top": 3, "low": 1}  # pyNTCIREVAL does not check for division by 0
    labeler = tool.Labeler(judged)
    labelled = labeler.label(ranking)
    numbers = labeler.compute_per_level_doc_num(4)
    exp = "gain=exp" if gains[-1] == 7 else "gain=linear"
    pairs = {
        f"nDCG({exp})@{k}": metrics.MSnDCG(numbers, gains, k),
        f"nDCG-JK({exp})@{k}": metrics.nDCG(numbers, gains, 2, k),
        f"Q({exp})@{k}": metrics.QMeasure(numbers, gains, 1, k),
        f"Q({exp},beta=10)": metrics.QMeasure(numbers, gains, 10),
        f"AP(norm=min)@{k}": metrics.AP(numbers, gains, k),
        "AP": metrics.AP(numbers, gains),
        f"ERR({exp})": metrics.ERR(numbers, gains),
        f"nERR({exp})@{k}": metrics.nERR(numbers, gains, k),
        f"RBP({exp},p=0.85)": metrics.RBP(numbers, gains, 0.85),
        f"P@{k}": metrics.Precision(k),
        f"Success@{k}": metrics.Hit(k),
        "RR": metrics.RR(),
    }
    wanted = {name: parse_measure(name) for name in pairs}
    found = evaluate_runs({"t": judged}, {"run": {"t": ranking}}, wanted.values())["run"]
    for name, metric in pairs.items():
        theirs = metric.compute(labelled)
        assert found.mean(wanted[name]) == pytest.approx(theirs, abs=EXACT), name


subtopics = st.dictionaries(
    st.sampled_from("abcd"),
    st.dictionaries(st.sampled_from(DOCUMENTS), st.integers(0, 2), min_size=1, max_size=8),
    min_size=1,
)
# One topic, its five documents best first: subtopics a, b; a; c; none; a, b, c.
COVERED = {"a": {"1": 1, "2": 1, "5": 1}, "b": {"1": 1, "5": 1}, "c": {"3": 1, "5": 1}}


def test_alpha_ndcg_by_hand():
    measure = parse_measure("α-nDCG(alpha=0.5)@5")
    judged = {"1": 1.0, "2": 1.0, "3": 1.0, "4": 0.0, "5": 1.0}
    run = {"t": ["1", "2", "3", "4", "5"]}
    found = evaluate_runs({"t": judged}, {"r": run}, [measure], subtopics={"t": COVERED})
    log = [1.0, 1.5849625007211562, 2.0, 2.321928094887362, 2.584962500721156]
    gained = 2 / log[0] + 0.5 / log[1] + 1 / log[2] + (0.25 + 0.5 + 0.5) / log[4]
    ideal = 3 / log[0] + 1 / log[1] + 0.5 / log[2] + 0.25 / log[3]
    assert found["r"].mean(measure) == pytest.approx(gained / ideal, abs=1e-12)


@settings(max_examples=80)
@given(
    subtopics,
    st.lists(st.sampled_from(DOCUMENTS), unique=True, min_size=1),
    st.sampled_from([1, 5, 20]),
)
def test_ndeval(covered: dict[str, dict[str, int]], ranking: list[str], k: int):
    ndeval = import_module("pyndeval")
    rows = [("t", sub, doc, grade) for sub, docs in covered.items() for doc, grade in docs.items()]
    run = [("t", doc, -float(place)) for place, doc in enumerate(ranking)]
    theirs = ndeval.ndeval(rows, run, measures=[f"alpha-nDCG@{k}"])
    measure = parse_measure(f"alpha-nDCG@{k}")
    judged: dict[str, float] = {}
    for _, _, doc, grade in rows:
        judged[doc] = max(judged.get(doc, 0.0), grade)
    best = [[sub for sub, docs in covered.items() if docs.get(doc, 0) > 0] for doc in judged]
    found = evaluate_runs({"t": judged}, {"r": {"t": ranking}}, [measure], subtopics={"t": covered})
    ours = found["r"].mean(measure)
    expected = theirs["t"][f"alpha-nDCG@{k}"] if any(best) else 0.0
    assert ours == pytest.approx(expected, abs=EXACT)


def test_d_sharp_ndcg_by_hand():
    names = ["I-rec@3", "D-nDCG@3", "D#-nDCG@3", "D♯-nDCG(gamma=0.2)@3", "D-nDCG(exp)@3"]
    covered = {"i": {"a": 2, "b": 1}, "j": {"b": 1, "c": 3}, "k": {"d": 1}}
    judged = {"t": {"a": 2.0, "b": 1.0, "c": 3.0, "d": 1.0, "e": 0.0}}
    wanted = [parse_measure(name) for name in names]
    run = {"t": ["a", "e", "c", "d"]}
    found = evaluate_runs(judged, {"r": run}, wanted, subtopics={"t": covered})["r"]
    third, half = 1 / 1.5849625007211562, 1 / 2  # discounts of ranks 2 and 3
    recall, relevance = 2 / 3, (2 + 3 * half) / (3 + 2 * third + 2 * half)
    exp = (3 + 7 * half) / (7 + 3 * third + 2 * half)
    expected = [recall, relevance, (recall + relevance) / 2, 0.2 * recall + 0.8 * relevance, exp]
    assert [found.mean(one) for one in wanted] == pytest.approx(expected, abs=1e-12)


@given(
    subtopics,
    st.lists(st.sampled_from(DOCUMENTS), unique=True, min_size=1),
    st.sampled_from([1, 5, 20]),
    st.floats(0, 1),
    st.booleans(),
)
def test_d_sharp_ndcg_follows_its_definition(covered, ranking, k: int, gamma: float, own: bool):
    """Also with other topics before and after, and with ideal lists of the documents shown."""
    measure = parse_measure(f"D#-nDCG(gamma={gamma!r})@{k}")
    documents = dict.fromkeys(doc for docs in covered.values() for doc in docs)
    judged = {doc: max(docs.get(doc, 0.0) for docs in covered.values()) for doc in documents}
    other = {"s": {"x": {"o": 1}, "y": {"o": 2}, "z": {"p": 1}}}
    found = evaluate_runs(
        {"s": {"o": 2.0, "p": 1.0}, "t": judged, "u": {"q": 1.0}},
        {"r": {"t": ranking, "s": ["p"], "u": ["q"]}},
        [measure],
        subtopics={**other, "t": covered, "u": {"x": {"q": 1}}},
        ideal="run" if own else "qrels",
    )["r"]

    def graded(some):
        return [[docs.get(doc, 0) for docs in covered.values()] for doc in some]

    pool = [doc for doc in documents if doc in ranking] if own else documents
    expected = plain.d_sharp_ndcg(graded(ranking), graded(pool), gamma, k)
    assert found.values[measure][1] == pytest.approx(expected, abs=1e-12)
    assert found.values[measure][2] == pytest.approx(1.0)


@given(qrels_and_run, st.none() | st.integers(4, 6))
def test_whole_runs_score_like_the_plain_loops(
    case: tuple[dict[str, dict[str, float]], dict[str, dict[str, float]]], g_max: int | None
):
    qrels, run = case
    every = [kind(k=5) if kind.cutoff != "none" else kind() for kind in MEASURES.values()]
    every += [kind() for kind in MEASURES.values() if kind.cutoff == "optional"]
    every += [kind(gain="exp") for kind in MEASURES.values() if hasattr(kind, "gain")]
    ranked = {
        topic: sorted(docs, key=lambda doc: (docs[doc], place_in(docs, doc)), reverse=True)
        for topic, docs in run.items()
    }
    found = evaluate_runs(qrels, {"run": run}, every, g_max=g_max, ties="file")["run"]
    top = max(0, *(grade for docs in qrels.values() for grade in docs.values()))
    for number, (topic, docs) in enumerate(qrels.items()):
        shown = [docs.get(doc) for doc in ranked.get(topic, ())]
        for measure in every:
            value = plain.score(measure, shown, [*docs.values()], g_max or top)
            assert found.values[measure][number] == pytest.approx(value, abs=1e-12), measure
            alone = measure.score(shown, [*docs.values()], g_max or top)
            assert alone == pytest.approx(value, abs=1e-12), measure


def place_in(docs: dict[str, float], doc: str) -> int:
    return -list(docs).index(doc)
