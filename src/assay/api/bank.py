"""Question banks: made by a labeller, edited by people, compared in what they do."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from assay.api.bank_versions import (
    Edit,
    changes,
    differences,
    edit,
    extend,
    find,
    fingerprint,
    history_path,
    read_history,
    read_version,
)
from assay.formats.exam_bank import open_bank
from assay.formats.exam_bank_reading import question_id, read_bank
from assay.formats.passages import Query, read_queries
from assay.judging.asking import INTERRUPTED
from assay.judging.engine import judge, plan
from assay.judging.progress import Progress
from assay.labellers.base import Request
from assay.labellers.prices import require_prices
from assay.ledger.policy import Policy
from assay.measures.ranges import Range
from assay.model.errors import SettingsError
from assay.model.exam import Bank, BankQuestion, QueryBank
from assay.protocols.evaluation import Evaluation
from assay.protocols.exam.inputs import ExamInputs, ExamSettings, with_bank
from assay.protocols.exam.items import ItemAnalysis, item_analysis
from assay.protocols.exam.pools import COVER, WEIGHTED
from assay.protocols.exam.protocol import EXAM
from assay.protocols.exam.scored import ScoredRuns, scored
from assay.protocols.folder import Folder
from assay.protocols.labels import LabelBook
from assay.protocols.results import Result
from assay.tasks.exam import GENERATE
from assay.tasks.schemas import distinct

COLUMNS = ("query", "id", "question", "gold", "weight", "active", "facet", "origin")
HISTORY_COLUMNS = ("version", "at", "by", "action", "query", "id", "before", "after")


@dataclass(frozen=True, slots=True)
class GeneratedQuestions:
    """Questions that were added to the bank at ``path``, and why some queries or subtopics have
    none."""

    path: Path
    added: int
    missing: Mapping[str, str]

    def document(self) -> dict[str, Any]:
        """The JSON document."""
        counts = {"added": self.added, "missing": len(self.missing)}
        return {"bank": str(self.path), **counts, "why": self.missing}


def generate(
    folder: Path,
    *,
    count: int,
    into: Path | None,
    labeller: str | None,
    budget: float | None,
    progress: Progress,
    fetching: Callable[[str, int, int], None],
) -> GeneratedQuestions:
    """Have ``count`` questions written for every query and subtopic of a folder. Raises
    KeyboardInterrupt where a person stops it, with what was answered kept."""
    opened = Folder.open(folder, labeller=labeller, fetching=fetching).for_protocol("exam")
    files = opened.input_files("queries")
    if len(files) != 1:
        raise SettingsError(f"{opened.path}: [inputs] queries must be one file.")
    queries = read_queries(files[0]).require()
    target = into or bank_path(opened.path)
    bank = open_bank(target)
    who = opened.labellers([GENERATE])[GENERATE.name]
    limit = budget if budget is not None else opened.config.judging.budget
    if limit is not None:
        require_prices([who])
    asked = {
        query: {"query": query.text, "subtopic": query.facet_text or "", "count": count}
        for query in queries
    }
    requests = [
        Request(GENERATE, GENERATE.unit.model_validate(content)) for content in asked.values()
    ]
    with opened.open_ledger() as ledger:
        ledger.checked()  # before anything is asked
        tally = judge(
            [("questions", plan(ledger, who, requests))],
            ledger,
            progress=progress,
            budget=limit,
            give_up_after=opened.config.judging.give_up_after,
        )
        if tally.stopped == INTERRUPTED:
            raise KeyboardInterrupt
        book = LabelBook.open(ledger, Policy.parse("people"), [GENERATE], {GENERATE.name: who})
        new: list[tuple[str, BankQuestion]] = []
        missing: dict[str, str] = {}
        for query, content in asked.items():
            label = book.label(GENERATE, content, query.id)
            if label is None or label.verdict is None:
                why = tally.stopped if label is None else next(ledger.whole([label])).error
                name = " ".join(filter(None, (query.id, query.facet)))
                missing[name] = why or "the labeller gave no answer"
            else:
                bank, more = _new(bank, query, label.verdict["questions"], who.id.name)
                new += more
    if new:
        extend(target, bank, who.id.name, new)
    return GeneratedQuestions(target, len(new), missing)


def _new(
    bank: Bank, query: Query, texts: list[str], origin: str
) -> tuple[Bank, list[tuple[str, BankQuestion]]]:
    """The bank with the query in it, and those questions that it does not have yet."""
    found = bank.queries.get(query.id) or QueryBank(query.id, None, ())
    made = [
        BankQuestion(
            question_id(query.id, query.facet, text),
            " ".join(text.split()),
            facet=query.facet,
            facet_text=query.facet_text,
            origin=origin,
        )
        for text in distinct(texts)
    ]
    known = {one.id for one in found.questions}
    named = replace(found, text=found.text or query.text)
    with_query = replace(bank, queries={**bank.queries, query.id: named})
    return with_query, [(query.id, one) for one in made if one.id not in known]


def bank_path(given: Path, *, must_exist: bool = False) -> Path:
    """A bank: the file itself, or that of an evaluation folder. Raises SettingsError where there
    must be one and is none."""
    path = given
    if given.is_dir():
        folder = Folder.open(given)
        entry = folder.config.inputs.get("bank", "bank.jsonl")
        path = folder.path / (entry if isinstance(entry, str) else entry[0])
    if must_exist and not path.exists():
        raise SettingsError(
            f"{path}: there is no such bank. Create one with assay bank generate or assay bank "
            "edit."
        )
    return path


@dataclass(frozen=True)
class ListedBank:
    """The questions of a bank, and its edits."""

    path: Path
    bank: Bank
    edits: Sequence[Edit]

    @classmethod
    def read(cls, given: Path) -> ListedBank:
        """A bank, or that of a folder."""
        path = bank_path(given, must_exist=True)
        return cls(path, read_bank(path).require(), read_history(path))

    @property
    def content(self) -> str:
        """A fingerprint of the questions."""
        return fingerprint(self.bank)

    def rows(self, query: str | None) -> list[dict[str, Any]]:
        """The questions, of one query or all, under :data:`COLUMNS`."""
        return [
            {
                "query": name,
                "id": one.id,
                "question": one.text,
                "gold": list(one.gold),
                "weight": one.weight,
                "active": one.active,
                "facet": one.facet,
                "origin": one.origin,
            }
            for name, questions in self.bank.queries.items()
            if query in (None, name)
            for one in questions.questions
        ]

    def history(self) -> Iterator[tuple[Any, ...]]:
        """The edits, under :data:`HISTORY_COLUMNS`."""
        for one in self.edits:
            sides = ["" if side is None else side.text for side in (one.before, one.after)]
            for change in differences(one.query, one.before, one.after):
                sides = [change.before, change.after]  # an edit changes one thing
            question = one.after or one.before
            identity = "" if question is None else question.id
            yield (one.number, one.at, one.by, one.action, one.query, identity, *sides)


EDITS: Mapping[str, tuple[str, ...]] = {
    "add": ("query", "weight", "gold", "facet"),
    "reword": ("text",),
    "drop": (),
    "restore": (),
    "weigh": ("weight",),
    "key": ("gold",),
}
"""The actions of an edit, each with what it takes beside the question; the first is needed."""


@dataclass(frozen=True, slots=True)
class WantedEdit:
    """What is to become of a question: ``of`` is its id, or the words of one to ``add``; in one
    ``query`` or whichever has it. Raises SettingsError for what does not go together."""

    action: str
    of: str
    query: str | None = None
    text: str | None = None
    weight: float | None = None
    gold: Sequence[str] = ()
    facet: str | None = None

    def __post_init__(self) -> None:
        takes = EDITS[self.action]
        for name in ("text", "weight", "gold", "facet"):
            if getattr(self, name) not in (None, (), []) and name not in takes:
                raise SettingsError(
                    f"--{name} does not go with --{self.action}: an edit changes one thing."
                )
        if takes and getattr(self, takes[0]) in (None, "", (), []):
            raise SettingsError(f"--{self.action} needs --{takes[0]}.")

    def made(self, by: str) -> BankQuestion:
        """The question that is added."""
        where, weight = self.query or "", 1.0 if self.weight is None else self.weight
        return BankQuestion(
            question_id(where, self.facet, self.of), self.of, facet=self.facet, origin=by,
            gold=tuple(self.gold), weight=weight,
        )  # fmt: skip

    def changed(self, question: BankQuestion) -> BankQuestion:
        """What a question becomes."""
        if self.action == "reword":
            return replace(question, text=" ".join((self.text or "").split()))
        if self.action == "weigh":
            return replace(question, weight=self.weight or 0.0)
        if self.action == "key":
            return replace(question, gold=tuple(self.gold))
        return replace(question, active=self.action == "restore")


def edit_bank(given: Path, by: str, wanted: WantedEdit) -> str:
    """Change one question of a bank, record who did it, and say what was done."""
    path = bank_path(given, must_exist=wanted.action != "add")
    so = ""
    if wanted.action == "add":
        where, before, after = wanted.query or "", None, wanted.made(by)
        if where not in open_bank(path).queries:
            so = f"; the query '{where}' is new to the bank"
    else:
        where, before = find(read_bank(path).require(), wanted.of, wanted.query)
        after = wanted.changed(before)
    made = edit(path, by, wanted.action, where, before, after)
    return f"Version {made.number}: {wanted.action} {after.id} ({history_path(path).name}){so}"


def bank_differences(
    old: str, new: str, folder: Path | None, *, policy: str | None, labeller: str | None
) -> dict[str, Any]:
    """What differs between two banks, and with a folder what that moves in its labels and scores,
    as plain JSON."""
    before, after = read_version(old), read_version(new)
    document: dict[str, Any] = {"changes": [asdict(one) for one in changes(before, after)]}
    if folder is not None:
        seen = Folder.open(folder, labeller=labeller).for_protocol("exam")
        opened = Evaluation.open(seen, EXAM, policy)
        with seen.open_ledger(create=False) as ledger:
            ledger.checked()  # before a number rests on a label
            document |= _movements(
                *(_side(opened, one, opened.book(ledger)) for one in (before, after))
            )
    return document


_Ends = Mapping[tuple[str, str], Range | None]
_Side = tuple[_Ends, _Ends, int]
"""Labels by query and passage, scores by run and measure, and how many grades nobody has given yet:
what hangs on these runs from what it is if they all were 0 to what it is if all were the best."""


def _movements(before: _Side, after: _Side) -> dict[str, Any]:
    """What is not the same under both banks, as plain JSON; ``runs`` are those whose EXAM-Cover
    moves. Of an end that is open ``before`` or ``after`` is null; ``before_floor`` to
    ``after_ceiling`` say from where to where."""
    labels, scores = (_differing(*both) for both in zip(before[:2], after[:2], strict=True))
    covers = {run: sides for (run, measure), sides in scores if measure == COVER}
    # Where no weight makes a difference, weighted cover is cover, and is not shown again.
    scores = [one for one in scores if one[0][1] != WEIGHTED or covers.get(one[0][0]) != one[1]]
    return {
        "passages": [
            {"query": query, "passage": passage}
            | {name: value if value is None else int(value) for name, value in sides.items()}
            for (query, passage), sides in labels
        ],
        "runs": [{"run": run, **sides} for run, sides in covers.items()],
        "scores": [{"run": run, "measure": measure, **sides} for (run, measure), sides in scores],
        "grades_missing": {"before": before[2], "after": after[2]},
    }


def _differing(
    before: _Ends, after: _Ends
) -> list[tuple[tuple[str, str], dict[str, float | None]]]:
    found = []
    for key in dict.fromkeys([*before, *after]):
        both = {"before": before.get(key), "after": after.get(key)}
        if both["before"] != both["after"]:
            sides: dict[str, float | None] = {}
            for name, ends in both.items():
                sides[name] = ends and ends.value
                if ends is not None and ends.value is None:
                    sides |= {f"{name}_floor": ends.floor, f"{name}_ceiling": ends.ceiling}
            found.append((key, sides))
    return found


def item_analyses(result: Result) -> list[ItemAnalysis]:
    """What each question of a folder's bank tells of its runs; none for direct grading, which
    asks no questions."""
    found = result.findings.detail
    if not isinstance(found, ScoredRuns) or found.settings.is_direct:
        return []
    return list(item_analysis(found))


def _side(opened: Evaluation, bank: Bank, book: LabelBook) -> _Side:
    inputs, settings = opened.inputs, opened.settings
    if not isinstance(inputs, ExamInputs) or not isinstance(settings, ExamSettings):
        raise TypeError("not an EXAM++ folder")  # pragma: no cover (opened with EXAM)
    found = scored(with_bank(inputs, bank, settings), settings, book)
    return (
        {
            (query, passage): label
            for query, labels in found.scorer.label_ranges()
            for passage, label in labels.items()
        },
        {
            (run, measure): score.ends
            for run, scores in found.scores.items()
            for measure, score in {WEIGHTED: scores.get(COVER), **scores}.items()
            if score is not None
        },
        sum(map(found.scorer.unsure, found.scorer.queries)),
    )
