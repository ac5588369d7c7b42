"""Agreement: worked examples, published values, other packages, and properties."""

from __future__ import annotations

import csv
import math
import time
from fractions import Fraction
from itertools import combinations
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.measures.bootstrap import percentiles
from assay.statistics import agreement as agr
from assay.statistics.agreement import agree

FIRST = [0, 1, 2, 3, 4, 2, 1, 0]
SECOND = [0, 2, 2, 3, 3, 1, 1, 1]
MASKED = np.ma.masked_array([1.0, 2.0], mask=[False, True])
_ = None
FOUR_OBSERVERS = [  # Krippendorff 2011, the example of four observers and twelve units
    [1, 2, 3, 3, 2, 1, 4, 1, 2, _, _, _],
    [1, 2, 3, 3, 2, 2, 4, 1, 2, 5, _, 3],
    [_, 3, 3, 3, 2, 3, 4, 2, 2, 5, 1, _],
    [1, 2, 3, 3, 2, 4, 4, 1, 2, 5, 1, _],
]
pairs = st.lists(st.tuples(st.integers(0, 4), st.integers(0, 4)), min_size=1, max_size=30)
topical = st.lists(
    st.tuples(st.integers(0, 3), st.integers(0, 3), st.sampled_from("abc")), min_size=1, max_size=25
)


def test_worked_examples_of_kappa() -> None:
    assert agr.cohen_kappa(FIRST, SECOND) == pytest.approx(0.36, abs=1e-12)
    assert agr.cohen_kappa(FIRST, SECOND, "linear") == pytest.approx(0.619048, abs=5e-7)
    assert agr.cohen_kappa(FIRST, SECOND, "quadratic") == pytest.approx(0.816092, abs=5e-7)


def test_krippendorffs_example() -> None:
    assert agr.krippendorff_alpha(FOUR_OBSERVERS, "nominal") == pytest.approx(0.743, abs=5e-4)
    assert agr.krippendorff_alpha(FOUR_OBSERVERS, "ordinal") == pytest.approx(0.815, abs=5e-4)
    assert agr.krippendorff_alpha(FOUR_OBSERVERS, "interval") == pytest.approx(0.849, abs=5e-4)


def _qrels(file: Path) -> dict[tuple[str, str], int]:
    lines = (line.split() for line in file.read_text(encoding="utf-8").splitlines())
    return {(fields[0], fields[2]): int(fields[3]) for fields in lines if fields}


def test_the_published_values_of_12_judges(shared_data: Path) -> None:
    folder = shared_data / "data" / "llmjudge"
    human = _qrels(folder / "llmjudge_test_qrel_idx.txt")
    topics = [topic for topic, _ in human]
    with (folder / "published.tsv").open(encoding="utf-8") as lines:
        published = list(csv.DictReader(lines, delimiter="\t"))
    assert len(published) == 12
    columns = {
        "kappa4": "kappa",
        "alpha": "alpha_ordinal",
        "k_0_123": "kappa@1",
        "k_01_23": "kappa@2",
        "k_012_3": "kappa@3",
    }
    for row in published:
        judge = _qrels(folder / "scores" / f"{row['submission']}.txt")
        found = agree(
            list(human.values()),
            [judge[item] for item in human],
            topics=topics,
            scale=range(4),
            clip=True,
            resamples=200,
            seed=1,
        )
        assert (found.n, found.topics) == (4423, 25)
        for column, name in columns.items():
            estimate = found.estimates[name]
            assert estimate.value is not None
            assert f"{estimate.value + 0.0:.4f}" == row[column], (row["submission"], name)
            assert estimate.interval is not None
            assert estimate.interval.low <= estimate.value <= estimate.interval.high
        outside = [(o.label, o.count, o.counted_as) for o in found.outside]
        assert outside == ([(5.0, 2, 3.0)] if row["submission"] == "RMITIR-llama70B" else [])


@given(pairs)
def test_kappa_and_the_table_equal_those_of_scikit_learn(labels: list[tuple[int, int]]) -> None:
    from sklearn.metrics import cohen_kappa_score, confusion_matrix  # half a second

    a, b = [x for x, _ in labels], [y for _, y in labels]
    assert (agree(a, b, scale=range(5)).table == confusion_matrix(a, b, labels=range(5))).all()
    for ours, theirs in (("unweighted", None), ("linear", "linear"), ("quadratic", "quadratic")):
        found = agr.cohen_kappa(a, b, ours)  # type: ignore[arg-type]
        if found is None:
            assert len({*a, *b}) == 1
            continue
        expected = cohen_kappa_score(a, b, weights=theirs, labels=range(5))
        assert found == pytest.approx(expected, abs=1e-9)
        assert -1 - 1e-9 <= found <= 1
        assert found == pytest.approx(agr.cohen_kappa(b, a, ours), abs=1e-12)  # type: ignore[arg-type]


@given(st.lists(st.integers(0, 4), min_size=2, max_size=20))
def test_identical_labels_agree_fully(labels: list[int]) -> None:
    found = agree(labels, labels, resamples=1)
    expected = None if len(set(labels)) == 1 else 1.0
    for name, estimate in found.estimates.items():
        assert estimate.value == (1.0 if name == "agreement" else expected)
    assert found.orders.disagree == 0
    assert agr.krippendorff_alpha([labels] * 3, "ordinal") == expected


def _plain_alpha(table: list[list[float | None]], metric: str) -> float | None:
    """α by its definition: the mean disagreement within units, relative to that of all labels."""
    units = [[v for v in column if v is not None] for column in zip(*table, strict=True)]
    units = [unit for unit in units if len(unit) > 1]
    every = [v for unit in units for v in unit]

    def distance(x: float, y: float) -> float:
        if metric == "nominal":
            return float(x != y)
        if metric == "interval":
            return (x - y) ** 2
        low, high = min(x, y), max(x, y)
        between = sum(low <= v <= high for v in every)
        return (between - (every.count(x) + every.count(y)) / 2) ** 2 if x != y else 0.0

    observed = sum(
        2 * distance(x, y) / (len(unit) - 1) for unit in units for x, y in combinations(unit, 2)
    )
    expected = sum(2 * distance(x, y) for x, y in combinations(every, 2))
    return 1 - (len(every) - 1) * observed / expected if expected else None


@given(
    st.integers(2, 4).flatmap(
        lambda labellers: st.lists(
            st.lists(
                st.one_of(st.none(), st.integers(0, 4)), min_size=labellers, max_size=labellers
            ),
            min_size=1,
            max_size=12,
        )
    ),
    st.sampled_from(["nominal", "ordinal", "interval"]),
)
def test_alpha_equals_its_definition(units: list[list[int | None]], metric: str) -> None:
    table = [list(row) for row in zip(*units, strict=True)]
    expected = _plain_alpha(table, metric)
    found = agr.krippendorff_alpha(table, metric)  # type: ignore[arg-type]
    if expected is None:
        assert found is None
    else:
        assert found == pytest.approx(expected, abs=1e-9)
        assert found == pytest.approx(
            agr.krippendorff_alpha(table[::-1], metric),  # type: ignore[arg-type]
            abs=1e-9,
        )


@given(pairs)
def test_agree_equals_the_single_functions(labels: list[tuple[int, int]]) -> None:
    a, b = [x for x, _ in labels], [y for _, y in labels]
    found = {name: e.value for name, e in agree(a, b, scale=range(5)).estimates.items()}
    assert found["agreement"] == pytest.approx(np.mean(np.equal(a, b)))
    assert found["kappa"] == agr.cohen_kappa(a, b)
    assert found["alpha_ordinal"] == pytest.approx(agr.krippendorff_alpha([a, b], "ordinal"))
    assert found["alpha_nominal"] == pytest.approx(agr.krippendorff_alpha([a, b]))
    for t in range(1, 5):
        binary = agr.cohen_kappa(np.greater_equal(a, t) * 1, np.greater_equal(b, t) * 1)
        assert found[f"kappa@{t}"] == pytest.approx(binary)
    assert "kappa@0" not in found


def test_alpha_has_the_interval_of_two_labellers_agreement() -> None:
    generator = np.random.default_rng(3)
    a = generator.integers(0, 4, 90).astype(float)
    b = np.where(generator.random(90) < 0.7, a, generator.integers(0, 4, 90))
    topics = [f"t{i // 6}" for i in range(90)]
    same = agree(a, b, topics=topics).estimates["alpha_ordinal"]
    found = agr.alpha_estimate([a, b], "ordinal", topics=topics)
    assert found.value == pytest.approx(same.value)
    assert found.interval is not None
    assert same.interval is not None
    assert found.interval.low == pytest.approx(same.interval.low)
    assert found.interval.high == pytest.approx(same.interval.high)
    # Units with a single label, and topics with only such units, do not count.
    alone = np.hstack([[a, b], [np.full(9, 2.0), np.full(9, np.nan)]])
    more = [*topics, *(f"u{i}" for i in range(9))]
    assert agr.alpha_estimate(alone, "ordinal", topics=more) == found
    assert agr.alpha_estimate([a, b], topics=["t"] * 90).interval is None


@given(topical)
def test_pairs_of_items_are_counted_within_topics(labels: list[tuple[int, int, str]]) -> None:
    a, b, topics = (list(column) for column in zip(*labels, strict=True))
    signs = [
        np.sign(a[i] - a[j]) * np.sign(b[i] - b[j])
        for i, j in combinations(range(len(a)), 2)
        if topics[i] == topics[j]
    ]
    expected = agr.PairOrders(signs.count(1), signs.count(0), signs.count(-1))
    assert agr.pair_orders(a, b, topics) == expected


def test_many_different_labels_are_fast() -> None:
    """600 labels at 600 thresholds in 2,000 resamples: seconds, where tables would take hours."""
    generator = np.random.default_rng(7)
    a = generator.permutation(600) / 7
    b = np.where(generator.random(600) < 0.5, a, generator.permutation(600) / 7)
    topics = list(generator.integers(0, 20, 600))
    started = time.process_time()
    found = agree(a, b, topics=topics, seed=1)
    assert time.process_time() - started < 20
    names = [name for name in found.estimates if "@" in name]
    assert names == [f"kappa@{agr.label_name(label)}" for label in found.labels[1:]]
    for place in (0, 250, 598):
        t = found.labels[place + 1]
        binary = agr.cohen_kappa(np.greater_equal(a, t) * 1, np.greater_equal(b, t) * 1)
        estimate = found.estimates[names[place]]
        assert estimate.value == pytest.approx(binary, abs=1e-12)
    from sklearn.metrics import cohen_kappa_score  # half a second

    for weights, theirs in (("linear", "linear"), ("quadratic", "quadratic")):
        expected = cohen_kappa_score(*np.searchsorted(found.labels, [a, b]), weights=theirs)
        even = agr.cohen_kappa(*np.searchsorted(found.labels, [a, b]), weights)  # type: ignore[arg-type]
        assert even == pytest.approx(expected, abs=1e-9)
    ends = [e.interval for e in found.estimates.values()]
    assert all(i is not None and i.low <= i.high for i in ends)


def test_alpha_of_many_units_and_labels_takes_no_large_tables() -> None:
    generator = np.random.default_rng(2)
    a = generator.integers(0, 1000, 60_000) / 7
    b = np.where(generator.random(60_000) < 0.7, a, generator.integers(0, 1000, 60_000) / 7)
    topics = (np.arange(60_000) // 1000).tolist()
    same = agree(a, b, topics=topics, resamples=20, seed=1).estimates["alpha_interval"]
    assert agr.krippendorff_alpha([a, b], "interval") == pytest.approx(same.value, abs=1e-12)
    assert same.interval is not None


@pytest.mark.parametrize("cells", [1, 50, 1000])
def test_blocks_change_nothing(monkeypatch: pytest.MonkeyPatch, cells: int) -> None:
    topics = [f"t{i // 2}" for i in range(8)]
    whole = agree(FIRST, SECOND, topics=topics, resamples=40, seed=1)
    monkeypatch.setattr(agr, "_CELLS_AT_ONCE", cells)
    assert agree(FIRST, SECOND, topics=topics, resamples=40, seed=1) == whole


def test_too_many_labels_are_refused_at_once() -> None:
    labels = np.arange(400_000)
    with pytest.raises(ValueError, match="400000 different labels are too many"):
        agree(labels, labels, topics=labels // 20)
    assert agr.pair_orders(labels[:9000], -labels[:9000]) == agr.PairOrders(0, 0, 40_495_500)


def test_intervals_resample_topics_not_labels() -> None:
    """Against a plain loop over the same draws."""
    generator = np.random.default_rng(5)
    topics = generator.integers(0, 6, 60)
    a = generator.integers(0, 3, 60)
    b = np.where(generator.random(60) < 0.6, a, generator.integers(0, 3, 60))
    found = agree(a, b, topics=list(topics), resamples=100, level=0.9, seed=3)
    order = list(dict.fromkeys(topics))
    resampled: dict[str, list[float | None]] = {name: [] for name in found.estimates}
    for drawn in np.random.default_rng(3).integers(0, 6, size=(100, 6)):
        items = np.concatenate([np.flatnonzero(topics == order[t]) for t in drawn])
        alone = agree(a[items], b[items], scale=found.labels).estimates
        for name, values in resampled.items():
            values.append(alone[name].value)
    assert list(resampled)[-2:] == ["kappa@1", "kappa@2"]
    for name, values in resampled.items():
        interval = found.estimates[name].interval
        assert interval is not None
        low, high = percentiles(np.array(values, dtype=float), 0.9, 6)
        assert (interval.low, interval.high) == pytest.approx((low, high), abs=1e-9)


def test_labels_outside_the_scale_are_reported_and_clipped_on_request() -> None:
    a, b = [0, 1, 2, 3, 3], [0, 1, 2, 5, -1]
    kept = agree(a, b, scale=range(4))
    assert kept.labels == (-1, 0, 1, 2, 3, 5)
    assert [(o.labeller, o.label, o.counted_as) for o in kept.outside] == [
        ("second", -1, -1),
        ("second", 5, 5),
    ]
    assert kept.estimates["agreement"].value == 0.6
    assert [name for name in kept.estimates if "@" in name] == ["kappa@1", "kappa@2", "kappa@3"]
    clipped = agree(a, b, scale=range(4), clip=True)
    assert clipped.labels == (0, 1, 2, 3)
    assert [(o.label, o.counted_as) for o in clipped.outside] == [(-1, 0), (5, 3)]
    assert clipped.estimates["agreement"].value == 0.8


def test_missing_labels_are_left_out_and_counted() -> None:
    found = agree([1, None, 2, math.nan, 0], [1, 2, None, None, 0], topics=list("aabbb"))
    assert (found.n, found.topics) == (2, 2)
    assert found.by_label[0] == agr.LabelAgreement(0.0, 1, 1, 1, 1.0)


@pytest.mark.parametrize(
    "labels",
    [
        [1, 1 + 2**-52],
        [1e15, 1e15 + 1, 1e15 + 2],
        [0, 1e-200, 2e-200],
        [1e-310, 3e-310],
        [-1e100, 0, 1e100],
        [0, 1e8, 1e8 + 1],
    ],
)
def test_labels_of_any_magnitude_and_distance_lose_no_digits(labels: list[float]) -> None:
    generator = np.random.default_rng(1)
    first, second = generator.choice(labels, (2, 15))
    second = np.where(generator.random(15) < 0.5, first, second)
    a, b = ([Fraction(float(label)) for label in given] for given in (first, second))
    observed = sum((x - y) ** 2 for x, y in zip(a, b, strict=True))
    kappa = 1 - 15 * observed / sum((x - y) ** 2 for x in a for y in b)
    alpha = 1 - 29 * 2 * observed / sum((x - y) ** 2 for x in a + b for y in a + b)
    found = agree(first, second).estimates
    assert found["kappa_quadratic"].value == pytest.approx(float(kappa), abs=1e-14)
    assert found["alpha_interval"].value == pytest.approx(float(alpha), abs=1e-14)
    assert agr.cohen_kappa(first, second, "quadratic") == pytest.approx(float(kappa), abs=1e-14)
    alone = agr.krippendorff_alpha([first, second], "interval")
    assert alone == pytest.approx(float(alpha), abs=1e-14)


def test_undefined_is_none_and_one_topic_has_no_interval() -> None:
    found = agree([2, 2], [2, 2], topics=["a", "b"], scale=range(4))
    assert found.estimates["kappa"] == agr.Estimate(None, None)
    assert found.estimates["agreement"].value == 1
    assert found.by_label[0].agreement is None
    assert agr.krippendorff_alpha([[None, 1], [2, None]]) is None
    assert agree([1, 2], [1, 1], topics=["a", "a"]).estimates["kappa"].interval is None


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: agree([1], [1, 2]), "shapes"),
        (lambda: agree([None], [1]), "none of the 1 items"),
        (lambda: agree(["x"], [1]), "not all numbers"),
        (lambda: agree([math.inf], [1]), "position 1"),
        (lambda: agree([1], [1], clip=True), "give one"),
        (lambda: agree([1], [1], scale=[1, 1]), "different labels"),
        (lambda: agree([1, 2], [1, 2], topics=["a"]), "1 topics do not fit 2 items"),
        (lambda: agree([1, 2], [1, 2], topics=["a", "b"], level=1), "level"),
        (lambda: agree([1, 2], [1, 2], topics=[["a"], ["b"]]), "unhashable"),  # type: ignore[list-item]
        (lambda: agree([1, 1e101], [1, 2]), "1e[+]101 at position 2, and numbers beyond 1e[+]100"),
        (lambda: agree([1, 10**400], [1, 2]), "not all numbers"),
        (lambda: agr.cohen_kappa(MASKED, [1, 2]), "first labels are masked"),
        (lambda: agr.krippendorff_alpha([MASKED, MASKED]), "masked in places"),
        (lambda: agree([1], [1], scale=3), "flat list of different labels, got 3"),  # type: ignore[arg-type]
        (lambda: agree([1, 2], [1, 2], topics=["a", "b"], seed=1.5), "seed must be a whole"),  # type: ignore[arg-type]
        (lambda: agr.cohen_kappa([1], [2], "cubic"), "weights"),  # type: ignore[arg-type]
        (lambda: agr.krippendorff_alpha([[1]], "ratio"), "metric"),  # type: ignore[arg-type]
        (lambda: agr.krippendorff_alpha([1, 2]), "labellers × units"),
    ],
)
def test_bad_input_says_what_is_wrong(call: object, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        call()  # type: ignore[operator]
