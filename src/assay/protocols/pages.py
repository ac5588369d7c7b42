"""The page of a result: what reports show for every protocol."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

from assay.ledger.policy import WITHOUT
from assay.measures.scores import Score, Scores, ranks
from assay.model.labels import LabellerId
from assay.model.wording import and_list, counted
from assay.page.cards import Cards
from assay.page.page import Board, LabelledTask, Page
from assay.page.parts import Grid, Part, Shade, Table
from assay.page.wording import score_interval, shortened, span
from assay.protocols.label_shares import label_basis
from assay.protocols.members import Jury
from assay.protocols.results import Result

SMALL = 10
"""Categories with fewer topics than this are marked as small."""

_MOST_CELLS = 40_000
"""Most values in a table of topics by runs."""

_POLICIES = {
    "people": "a person’s label overrides the machine’s",
    "machine": "only the machine’s labels count; people’s are left out",
    "human": "only people’s labels count",
    "blind": "labels that people gave without seeing any other override the machine’s",
    "majority": "the label that most people gave overrides the machine’s",
    "adjudicated": (
        "the settled label, or else the one that people agree on, overrides the machine’s"
    ),
}


def page_of(result: Result, *, sections: bool = True) -> Page:
    """The page of a result, with or (for the terminal) without ``sections``."""
    comparable = result.comparable
    found = comparable.findings
    asked = sum(comparable.asked.values())
    level = result.settings.get("level")
    basis = label_basis(result)
    return Page(
        title=result.title,
        protocol=result.protocol_title,
        policy=result.policy,
        policy_says=(
            "the judge’s labels for all runs, as people labelled the runs unevenly"
            if result.evened is not None
            else policy_in_words(result.policy)
        ),
        scores=found.scores,
        boards=found.boards,
        parts=_sections(result) if sections else (),
        definitions=found.definitions,
        settings=result.settings,
        gaps=comparable.gaps,
        nothing=found.nothing or all_usable(asked),
        usable=all_usable(asked) if asked and not comparable.lacking else "",
        lede=(*found.lede, *([f"Based on: {basis}."] if basis else [])),
        facts=found.facts,
        warnings=result.warnings,
        labelled=tuple(_labelled(comparable)),
        juries=tuple(_jury(jury, result.task_titles.get(jury.task, jury.task))
                     for jury in result.juries),
        level=level if isinstance(level, float) else None,
        out=result.out,
        stands_on=basis,
    )  # fmt: skip


def _sections(result: Result) -> tuple[Part, ...]:
    """The protocol's own sections and those of every protocol, with the cards, which are many, at
    the end. Runs are compared by the comparable result; cards show people's labels, too."""
    comparable = result.comparable
    own = list(result.findings.parts())
    first = [
        one
        for one in (own if comparable is result else comparable.findings.parts())
        if not _is_of_cards(one)
    ]
    cards = [one for one in own if _is_of_cards(one)]
    beside = result.beside().parts()
    return (*first, *beside, *_categories(comparable), *_topics(comparable), *cards)


def _is_of_cards(part: Part) -> bool:
    return any(isinstance(item, Cards) for item in part.items)


def all_usable(asked: int) -> str:
    """What is said if none of the labels that scores rest on is missing."""
    if not asked:
        return "No labels are needed."
    return f"Every one of the {counted(asked, 'label')} that the scores rest on is usable."


def policy_in_words(policy: str) -> str:
    """Say which label counts under a policy."""
    if policy.startswith("only:"):
        return f"only the labels of {policy.removeprefix('only:')} count"
    rule, *left_out = policy.split(WITHOUT)
    text = _POLICIES.get(rule, rule)
    return f"{text}; without {and_list([f'human:{one}' for one in left_out])}" if left_out else text


def best_in_words(scores: Scores, measures: Sequence[str], words: Sequence[str]) -> str:
    """Say which runs are first by some measures, each with its word: ``A has the highest HMR``."""
    found = []
    for measure, word in zip(measures, words, strict=True):
        order = ranks(scores, measure)
        first = [run for run, rank in order.items() if rank == 1]
        if len(first) == 1:
            score = scores[first[0]][measure]
            shown = span(score.floor, score.ceiling)
            bounds = score_interval(score)
            found.append(f"{first[0]} has {word}, {shown}" + (f" ({bounds})" if bounds else ""))
        elif first and len(first) == len(order):
            found.append(f"no run is clearly ahead by {measure}")
        elif first:
            found.append(f"{and_list(first)} share {word}")
    return "; ".join(found) + "." if found else ""


# -- who labelled ---------------------------------------------------------------------------------


def _labelled(result: Result) -> Iterator[LabelledTask]:
    by_task: dict[str, Counter[tuple[str, bool]]] = {task: Counter() for task in result.labellers}
    for (task, who), count in result.used.count(
        lambda label: (label.task, (label.labeller.name, label.labeller.is_human))
    ).items():
        by_task.setdefault(task, Counter())[who] += count
    for task, labels in by_task.items():
        if not labels and not result.asked.get(task):
            continue  # the task was not needed
        labeller = result.labellers.get(task)
        yield LabelledTask(
            task,
            result.task_titles.get(task, task),
            "" if labeller is None else labeller.name,
            "" if labeller is None else labeller.kind,
            _model(labeller),
            {name: count for (name, _), count in labels.most_common()},
            sum(count for (_, human), count in labels.items() if human),
        )


def _model(labeller: LabellerId | None) -> str:
    """The model behind a labeller, and the settings that change its answers."""
    if labeller is None:
        return ""
    parts = []
    for key, value in sorted(labeller.params.items(), key=lambda item: str(item[0])):
        shown = str(value)
        if "sha" in str(key).lower() and len(shown) > 20:
            shown = shown[:12] + "…"
        parts.append(f"{key}: {shortened(shown, 90)}")
    return "; ".join(parts)


def _jury(jury: Jury, title: str) -> Table:
    alpha = "undefined" if jury.alpha is None else f"{jury.alpha:.3f}"
    return Table(
        f"How the members of {jury.ensemble} agree: {title}",
        ("member", "votes", "unusable", "agreement", "κ"),
        [
            (
                one.labeller + (f" (sample {one.sample + 1})" if one.sample else ""),
                one.votes, one.unusable, one.agreement, one.kappa,
            )
            for one in jury.members
        ],
        note=f"{jury.units} values; all members agree on {jury.unanimous}. Krippendorff’s α "
        f"({jury.metric}) of “{jury.value}” over all members: {alpha}. Agreement and κ compare a "
        "member’s votes with the joint label, to which its own vote contributes.",
        folded=True,
    )  # fmt: skip


# -- by category, by topic ------------------------------------------------------------------------


def _categories(result: Result) -> Iterator[Part]:
    by_category = result.findings.by_category()
    grids = [
        grid
        for board in result.findings.boards
        for measure in board.by_category or board.measures[:1]
        if by_category and (grid := _by_category(result, by_category, board, measure)) is not None
    ]
    if grids:
        note = (
            "The stronger the colour, the higher the score; its interval is below it. n is the "
            f"number of topics. Categories with fewer than {SMALL} are in italics, because a "
            "single topic changes their scores a lot."
        )
        yield Part("Scores by category", note, tuple(grids))


def _by_category(
    result: Result, by_category: Mapping[str, Scores], board: Board, measure: str
) -> Grid | None:
    found = {**by_category, "All": result.findings.scores}
    runs = _runs(result, board)
    if not runs:
        return None
    sizes = {
        name: max((s.topics for run in runs if (s := by.get(run, {}).get(measure))), default=0)
        for name, by in found.items()
    }
    return Grid(
        measure,
        tuple(runs),
        tuple(f"{name}\nn = {n}" for name, n in sizes.items()),
        [
            [_shade(by.get(run, {}).get(measure), sizes[name]) for name, by in found.items()]
            for run in runs
        ],
        digits=2,
        faint=frozenset(f"{name}\nn = {n}" for name, n in sizes.items() if n < SMALL),
        total=f"All\nn = {sizes['All']}",
    )


def _shade(score: Score | None, of: int) -> Shade:
    if score is None:
        return Shade(None, "undefined")
    about = counted(score.topics, "topic")
    bounds = "" if score.ends is None else score_interval(score)
    if score.ends is None:
        about += ", undefined"
    elif bounds:
        about += f", interval {bounds}"
    if score.missing:
        about += f", {score.missing} open"
    below = (bounds, "" if score.topics == of else f"n = {score.topics}")
    return Shade(score.ends, about, ", ".join(filter(None, below)))


def _topics(result: Result) -> Iterator[Part]:
    """The first measure of each leaderboard that has values, topic by topic."""
    grids = []
    for board in result.findings.boards:
        every, per_topic = _runs(result, board), result.findings.per_topic
        known = (m for m in board.measures if any(m in per_topic.get(run, {}) for run in every))
        measure = next(known, "")
        runs = [run for run in every if measure in per_topic.get(run, {})]
        topics = list(result.findings.topics)
        if not runs or len(topics) < 2 or len(runs) * len(topics) > _MOST_CELLS:
            continue
        cells = [[per_topic[run][measure].get(topic) for run in runs] for topic in topics]
        ends = [end for row in cells for one in row if one is not None for end in one]
        if ends:
            low, high = min(0.0, *ends), max(1.0, *ends)
            title, texts = f"{board.title}: {measure}", result.findings.topic_texts
            grids.append(
                Grid(title, tuple(topics), tuple(runs), cells, low, high, about=texts, digits=2,
                     folded=True)
            )  # fmt: skip
    if grids:
        note = "See where runs differ: the stronger the colour, the higher the value for the topic."
        yield Part("Topic by topic", note, tuple(grids))


def _runs(result: Result, board: Board) -> list[str]:
    """The runs of a leaderboard, best first."""
    first = board.measures[0] if board.measures else ""
    return list(
        ranks(result.findings.scores, first, lower_is_better=first in board.lower_is_better)
    )
