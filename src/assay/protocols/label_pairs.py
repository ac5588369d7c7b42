"""How labels of the same things from several sources agree, pair by pair."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

from assay.page.parts import Grid, Item, Part, Table
from assay.protocols.means import ResamplingArguments
from assay.statistics.agreement import Agreement, agree
from assay.statistics.tables import label_name


@dataclass(frozen=True)
class LabelsPair:
    """Two sources of labels and how they agree."""

    first: str
    second: str
    agreement: Agreement


def pairwise_agreement(
    labels: Mapping[str, Mapping[tuple[str, str], float]], resampling: ResamplingArguments
) -> Iterator[LabelsPair]:
    """Compare every two sources on what both labelled; ``labels``: source → (topic, item) →
    label."""
    for first, second in combinations(labels, 2):
        shared = [one for one in labels[first] if one in labels[second]]
        if shared:
            one, other = ([labels[source][key] for key in shared] for source in (first, second))
            found = agree(one, other, topics=[topic for topic, _ in shared], **resampling)
            yield LabelsPair(first, second, found)


def label_pairs_part(pairs: Sequence[LabelsPair], title: str, note: str) -> Part:
    """The pairs as a section of a report: coefficients, and who gave which label."""
    rows = []
    for pair in pairs:
        estimates = pair.agreement.estimates
        values = [
            estimates[name].value if name in estimates else None
            for name in ("agreement", "kappa", "kappa_quadratic", "alpha_ordinal")
        ]
        rows.append((pair.first, pair.second, pair.agreement.n, *values))
    columns = ("labels", "beside", "documents", "agreement", "κ", "κ quadratic", "α ordinal")
    items: list[Item] = [Table("Agreement", columns, rows)]
    for pair in pairs:
        if pair.agreement.table is None:
            continue  # too many different labels for a table, as qrels may have
        names = tuple(map(label_name, pair.agreement.labels))
        most = max((count for row in pair.agreement.table for count in row), default=1) or 1
        cells = [[float(count) for count in row] for row in pair.agreement.table]
        above = f"{pair.first} (rows) against {pair.second} (columns)"
        items.append(Grid(above, names, names, cells, high=float(most), folded=True))
    return Part(title, note, tuple(items))
