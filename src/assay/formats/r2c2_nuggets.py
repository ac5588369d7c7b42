"""The lines inside a block of an R2C2 answer run: the answer line and the nugget records.

Source: R2C2 paper, section 3.5: the confidence is an integer from 0 to 100 after the last
semicolon; a nugget record has a number from 1 to 10, a PassageKey and a text, which is all that
follows the third semicolon.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field

from assay.formats.naming import (
    KnownIds,
    clean,
    integer_cure,
    name_cure,
    normal_id,
    parse_integer,
    ranged_integer,
)
from assay.formats.parsed import FaultList, Spot
from assay.formats.r2c2_pr import MAX_RANK
from assay.formats.text import check_break
from assay.model.rag import (
    Mark,
    Nugget,
    PackedPassages,
    Passage,
    PassageKey,
    PassageRun,
    PlainNuggets,
)
from assay.model.wording import consecutive, joined, printable, quoted, range_text

MAX_NUGGETS = 10
"""Most nuggets of a question, and the last NuggetNum (paper, section 3.5)."""
MAX_CONFIDENCE = 100

_FIELDS = 4
_RECORD = re.compile(r"[A-Za-z]?\s*[0-9]+\s*;([^;]*);\s*[0-9]+\s*;(.*)", re.DOTALL)
_HEAD = re.compile(r"([A-Za-z]?)(\s*)(.*)", re.DOTALL)
_DECIMAL = re.compile(r"[0-9]*[.,][0-9]+")


def looks_like_record(line: str, pr_runs: Mapping[str, PassageRun] | None) -> bool:
    """Whether a line looks like ``3;RUN;2;text``. If it could also be an answer, as ``1;2;3;90``,
    RUN must be one of ``pr_runs``."""
    if line.count(";") < _FIELDS - 1:
        return False
    found = _RECORD.fullmatch(clean(line))
    if found is None:
        return False
    confidence = parse_integer(clean(found.group(2).rpartition(";")[2]))
    if confidence is None:
        return True
    return pr_runs is not None and normal_id(found.group(1)) in pr_runs


def read_answer(line: str, at: Spot) -> tuple[str, int, int] | None:
    """The answer, its confidence and its line; None if the confidence cannot be read."""
    before, semicolon, after = line.rpartition(";")
    if not semicolon:
        at.error(
            f"The answer line {quoted(clean(line))} has no “;”.", _bare_answer_cure(clean(line))
        )
        return None
    text = clean(before)
    if not text:
        at.error(
            "The answer is empty.",
            "Write the answer; a system that has none may say so (“I don't know”).",
        )
    check_break(text, "answer", at)
    confidence = _confidence(after, at)
    return None if confidence is None else (text, confidence, at.line)


def _bare_answer_cure(text: str) -> str:
    wanted = "Write AnswerString;ConfidenceScore."
    found = re.search(r"[\s,:|；]([0-9]{1,3})$", text)
    if found and int(found.group(1)) <= MAX_CONFIDENCE:
        return f"{wanted} If {found.group(1)} is the confidence, put a “;” before it."
    return wanted


def _confidence(cell: str, at: Spot) -> int | None:
    raw = clean(cell)
    value = parse_integer(raw)
    if value is None or not 0 <= value <= MAX_CONFIDENCE or raw.startswith("-"):
        why, cure = _confidence_fault(raw, value)
        at.error(why, cure)
        return None
    if raw != cell:
        at.warning(
            f"The confidence {quoted(cell)} has spaces around it.",
            f"Write {value} directly after the “;”.",
        )
    elif raw != str(value):
        at.warning(f"The confidence {quoted(raw)} has leading zeros.", f"Write {value}.")
    return value


def _confidence_fault(raw: str, value: int | None) -> tuple[str, str]:
    """Why ``raw`` is not a confidence score, and what to write."""
    wanted = "Write an integer from 0 to 100"
    shown = quoted(raw)
    if not raw:
        return "The confidence is empty.", f"{wanted} after the last “;”."
    if value is not None and raw.startswith("-"):
        return f"The confidence {shown} is below 0.", f"{wanted}; 0 is the least."
    if value is not None:
        return f"The confidence {shown} is above 100.", f"{wanted}; 100 is the most."
    if raw.endswith(("%", "％")):
        bare = clean(raw[:-1])
        return (
            f"The confidence {shown} has a percent sign.",
            f"Write {bare} without the sign." if parse_integer(bare) is not None else f"{wanted}.",
        )
    if _DECIMAL.fullmatch(raw) and len(raw) < MAX_CONFIDENCE:
        number = float(raw.replace(",", "."))
        if number <= 1:
            guess = f": {round(number * 100)} if this is a probability"
        elif number <= MAX_CONFIDENCE:
            guess = f": {round(number)}"
        else:
            guess = ""
        return f"The confidence {shown} is not an integer.", f"{wanted}{guess}."
    if len(raw.split()) > 2:
        return (
            f"The text after the last “;” ({shown}) is not a confidence.",
            f"{wanted} after the last “;”; an answer may hold “;” but the confidence comes last.",
        )
    return f"The confidence {shown} is not an integer.", integer_cure(raw, 0, MAX_CONFIDENCE)


_NUMBERS = {str(num): num for num in range(1, MAX_NUGGETS + 1)}


def _ranks_of(passages: Sequence[Passage]) -> Collection[int]:
    return (
        passages.ranks
        if isinstance(passages, PackedPassages)
        else [passage.key.rank for passage in passages]
    )


@dataclass(slots=True)
class NuggetReader:
    """Reader of nugget records that counts marked and unmarked ones over the whole run."""

    faults: FaultList
    pr_runs: Mapping[str, PassageRun] | None
    all_plain: bool
    marked: int = 0
    unmarked: list[int] = field(default_factory=list)
    _run_cures: dict[str, str] = field(default_factory=dict)
    _run_ids: dict[str, KnownIds] = field(default_factory=dict)
    _keys: dict[tuple[bytes, ...], Mapping[tuple[str, str], PassageKey]] = field(
        default_factory=dict
    )

    def block(self, one: str, lines: Sequence[tuple[int, str]]) -> Collection[Nugget]:
        """Read the nuggets of question ``one`` from its records, given with line numbers."""
        if len(lines) > MAX_NUGGETS:
            self.faults.error(
                lines[MAX_NUGGETS][0],
                f"The question has {len(lines)} nuggets, more than {MAX_NUGGETS}.",
                f"Keep the best {MAX_NUGGETS}.",
                one,
            )
        found: dict[int, Nugget] = {}
        used: dict[int, int] = {}
        for number, text in lines:
            read = self._record(text, self.faults.at(number, one), used)
            if read is not None:
                found.setdefault(read.num, read)
        return found.values()

    def done(self) -> None:
        """Report a run in which only some records are marked."""
        if self.marked and self.unmarked:
            lines = joined(map(str, self.unmarked), 10)
            self.faults.warning(
                self.unmarked[0],
                f"{self.marked} nuggets are marked and {len(self.unmarked)} are not "
                f"(line {lines}).",
                "A marked run has B, R or N before every NuggetNum.",
            )

    def plain(self, one: str, records: Sequence[tuple[int, str]]) -> PlainNuggets | None:
        """A fast path of ``block``, in a third of the time, for records without anything unusual,
        as nearly all are. Returns None for others."""
        if not records:
            return PlainNuggets(b"", (), (), 0)
        numbers, lines = zip(*records, strict=True)
        cited = self._cited(one)
        try:
            heads, runs, ranks, texts = zip(
                *(line.split(";", _FIELDS - 1) for line in lines), strict=True
            )
            nums = bytes(map(_NUMBERS.__getitem__, heads))
            keys = list(map(cited.__getitem__, zip(runs, ranks, strict=True)))
        except (ValueError, KeyError):  # a record has too few fields, or unknown values
            return None
        odd = (
            numbers[-1] - numbers[0] >= len(numbers)  # there are blank lines in between
            or len(set(nums)) < len(nums)
            or not all(texts)
            or tuple(map(str.strip, texts)) != texts
            or not (self.all_plain or all(map(str.isprintable, lines)))
        )
        if odd:
            return None
        self.unmarked.extend(numbers)
        return PlainNuggets(nums, keys, texts, numbers[0])

    def _cited(self, one: str) -> Mapping[tuple[str, str], PassageKey]:
        """The PassageKeys that exist for a question, by run and rank as written."""
        given = tuple(
            bytes(_ranks_of(run.passages.get(one, ()))) for run in (self.pr_runs or {}).values()
        )
        if given not in self._keys:  # most questions have the same ranks
            ranks = zip(self.pr_runs or (), given, strict=True)
            keys = (PassageKey(run, rank) for run, every in ranks for rank in every)
            self._keys[given] = {(key.run, str(key.rank)): key for key in keys}
        return self._keys[given]

    def _record(self, line: str, at: Spot, used: dict[int, int]) -> Nugget | None:
        cells = line.split(";", _FIELDS - 1)
        if len(cells) < _FIELDS:
            _too_few(line, at)
            return None
        text = clean(cells[3])
        if not text:
            at.error("The nugget is empty.", "Write one factual claim in one sentence.")
        check_break(text, "nugget", at)
        mark, num = self._head(clean(cells[0]), at, used)
        key = self._key(normal_id(cells[1]), clean(cells[2]), at)
        if num is None or key is None:
            return None
        return Nugget(num, key, text, mark, at.line)

    def _head(self, head: str, at: Spot, used: dict[int, int]) -> tuple[Mark | None, int | None]:
        """The mark and the number; neither if there is a letter that is not a mark."""
        found = _HEAD.fullmatch(head)
        letter, space, raw = found.groups() if found else ("", "", head)
        mark = None
        if letter in set(Mark):
            mark = Mark(letter)
            self.marked += 1
        elif letter:
            better = letter.upper()
            at.error(
                f"The mark {quoted(letter)} is not B, R or N.",
                f"Write {better}." if better in set(Mark) else "Marks are B, R and N.",
            )
        else:
            self.unmarked.append(at.line)
        if letter and space:
            at.warning("A space between the mark and the number.", f"Write {letter}{raw}.")
        num = _number(raw, at, used)
        return mark, None if letter and mark is None else num

    def _key(self, run: str, raw: str, at: Spot) -> PassageKey | None:
        rank = ranged_integer(
            raw, "passage rank", MAX_RANK, at, f"PR runs have ranks 1 to {MAX_RANK}."
        )
        if rank is not None and raw != str(rank):
            at.warning(f"The passage rank {quoted(raw)} has leading zeros.", f"Write {rank}.")
        if not run:
            at.error("The PR run's name is empty.", "Write the run that the passage is from.")
            return None
        if self.pr_runs is not None:
            self._exists(run, rank, at, self.pr_runs)
        return None if rank is None else PassageKey(run, rank)

    def _exists(
        self, run: str, rank: int | None, at: Spot, pr_runs: Mapping[str, PassageRun]
    ) -> None:
        given = pr_runs.get(run)
        if given is None:
            cure = self._run_cures.get(run)
            if cure is None:
                cure = self._run_cures[run] = name_cure(run, pr_runs)
            at.error(f"There is no PR run {quoted(run)}.", cure)
            return
        one = at.topic or ""
        passages = given.passages.get(one)
        if passages is None:
            ids = self._run_ids.get(run)
            if ids is None:
                ids = self._run_ids[run] = KnownIds(given.passages)
            at.error(
                f"The PR run {printable(run)} has no passages for the question.",
                ids.cure(one) if ids.is_misspelt(one) else "Cite a run that has.",
            )
        elif rank is not None and rank not in _ranks_of(passages):
            at.error(
                f"The PR run {printable(run)} has no rank {rank} for the question.",
                f"Its ranks: {', '.join(map(range_text, consecutive(_ranks_of(passages))))}.",
            )


def _too_few(line: str, at: Spot) -> None:
    text = clean(line)
    fields = text.count(";")
    answer, semicolon, last = text.rpartition(";")
    cure = "Write NuggetNum;PRrunName;PassageRank;Nugget."
    if semicolon and parse_integer(clean(last)) is not None and parse_integer(answer) is None:
        cure = f"Is this a second answer? A block has one answer line. {cure}"
    elif not fields:
        cure = f"If this is the rest of the line before, put it there. {cure}"
    found = f"{fields} semicolon{'s' if fields != 1 else ''}"
    at.error(f"The nugget record {quoted(text)} has {found}, not three.", cure)


def _number(raw: str, at: Spot, used: dict[int, int]) -> int | None:
    wanted = f"Nuggets are numbered from 1 to {MAX_NUGGETS}."
    num = ranged_integer(raw, "nugget number", MAX_NUGGETS, at, wanted)
    if num is None:
        return None
    first = used.setdefault(num, at.line)
    if first != at.line:
        why = f"The nugget number {num} was already used on line {first}."
        at.error(why, "Give every nugget of a question its own number.")
        return None
    if raw != str(num):
        at.warning(f"The nugget number {quoted(raw)} has leading zeros.", f"Write {num}.")
    return num
