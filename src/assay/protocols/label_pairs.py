"""Labels of the same things from several sources beside each other."""

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
    """Labels of two sources and how they agree."""

    first: str
    second: str
    found: Agreement


def pairwise_agreement(
    labels: Mapping[str, Mapping[tuple[str, str], float]], resampling: ResamplingArguments
) -> Iterator[LabelsPair]:
    """How any two sources agree on what both have labelled. ``labels`` are by source, topic and
    what is labelled."""
    for first, second in combinations(labels, 2):
        shared = [one for one in labels[first] if one in labels[second]]
        if shared:
            one, other = ([labels[source][key] for key in shared] for source in (first, second))
            found = agree(one, other, topics=[topic for topic, _ in shared], **resampling)
            yield LabelsPair(first, second, found)


def label_pairs_part(pairs: Sequence[LabelsPair], title: str, note: str) -> Part:
    """The pairs as a section: coefficients, and who gave which label."""
    rows = []
    for pair in pairs:
        estimates = pair.found.estimates
        values = [
            estimates[name].value if name in estimates else None
            for name in ("agreement", "kappa", "kappa_quadratic", "alpha_ordinal")
        ]
        rows.append((pair.first, pair.second, pair.found.n, *values))
    columns = ("labels", "beside", "documents", "agreement", "κ", "κ quadratic", "α ordinal")
    items: list[Item] = [Table("Agreement", columns, rows)]
    for pair in pairs:
        if pair.found.table is None:
            continue  # thousands of labels, which given qrels could hold
        names = tuple(map(label_name, pair.found.labels))
        most = max((count for row in pair.found.table for count in row), default=1) or 1
        cells = [[float(count) for count in row] for row in pair.found.table]
        above = f"{pair.first} (rows) beside {pair.second} (columns)"
        items.append(Grid(above, names, names, cells, high=float(most), folded=True))
    return Part(title, note, tuple(items))
