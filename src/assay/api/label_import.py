"""Import of people's labels into a folder's ledger, from JSON Lines or marked answer runs."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Annotated, Any

from assay.api.consequences import Consequences, consequences
from assay.api.labels import Content, in_words
from assay.api.opened import Opened
from assay.api.reading import Note
from assay.api.results import Results
from assay.formats.cells import is_table
from assay.formats.naming import normal_id, run_name
from assay.formats.text import read_text
from assay.ledger import Ledger, NewLabel
from assay.ledger.exchange import person, spelt_alike
from assay.ledger.incoming import Incoming
from assay.model.errors import FormatError, SettingsError
from assay.model.labels import LabellerId
from assay.model.options import Option
from assay.model.wording import counted, joined, printable
from assay.protocols.answers.marked import Originals, Rulings, read_edits, unmet_edits
from assay.protocols.evaluation import Evaluation
from assay.protocols.folder import Folder
from assay.protocols.places import Place, WhereUsed
from assay.protocols.registry import find_protocol
from assay.protocols.results import Result


@dataclass(frozen=True)
class WrittenLabel:
    """A label as shown to people: its subject and verdict, the label it overrules (``before`` is
    that label's verdict), and the other places where it also counts."""

    task: str
    place: Place
    after: str
    verdict: Mapping[str, Any] | None
    before: str | None
    before_by: str | None
    overrules: str | None
    also: tuple[Place, ...]


@dataclass(frozen=True)
class LabelsImported:
    """The result of an import or dry run: labels ``added``; those already ``known``, ``outdated``
    ones among which no longer count; and what ``follows``, if requested."""

    added: int
    known: int
    outdated: int
    labels: tuple[WrittenLabel, ...] | None = None
    follows: Consequences | None = None

    def document(self) -> dict[str, Any]:
        """The JSON document."""
        return {
            "added": self.added,
            "known": self.known,
            "outdated": self.outdated,
            "labels": [
                {
                    **asdict(one),
                    "place": one.place._asdict(),
                    "also": [place._asdict() for place in one.also],
                }
                for one in self.labels or ()
            ],
            "consequences": None if self.follows is None else self.follows.document(),
        }


def import_marked(
    evaluation: Evaluation,
    ledger: Ledger,
    paths: Sequence[Path],
    who: LabellerId,
    words: Iterable[tuple[str, bool]],
    reason: str | None,
    *,
    dry_run: bool,
    note: Note = lambda _text: None,
) -> LabelsImported:
    """Write the labels that ``who`` changed in marked answer runs. ``words`` state explicitly
    whether answers (``[RUN/]QUESTION``) are right; ``note`` is called with messages for the person.
    Raises FormatError or SettingsError if anything is wrong; then nothing is written."""
    policy, originals, scored = evaluation.policy, evaluation.marked, evaluation.quick()
    if originals is None:
        raise SettingsError(f"{evaluation.protocol.title} has no marked answer runs.")
    if not policy.counts(who, "", None):
        raise SettingsError(
            f"Under the folder's policy, '{policy.name}', labels by {who.name} do not count, so "
            'no mark would change. Set policy = "people" in [settings] of assay.toml.'
        )
    rulings = _rulings(words, paths, originals)
    with ledger.trial() as trial:  # so that, of two concurrent imports, the second sees the first
        ledger.checked()  # before any label overrules another
        before = scored.score(ledger, whole=True)
        published = before.findings.detail.answers
        edits = read_edits(paths, originals, published, who, rulings=rulings, reason=reason)
        for path in edits.spaced:
            differs = "spaces or line endings differ from the answer run's, which are kept."
            note(f"{printable(str(path))}: {differs}")
        if edits.uncounted:
            note(
                f"Changes to {counted(len(edits.uncounted), 'answer')} to questions that do not "
                f"count are left out: {printable(joined(edits.uncounted))}."
            )
        if not edits.labels:
            return LabelsImported(0, 0, 0, labels=())
        _tell_of_another_spelling(who.name, _people(ledger), note)
        trial.add(edits.labels)
        after = scored.score(ledger, whole=True)
        faults = unmet_edits(edits, after.findings.detail.answers, rulings)
        if faults:
            raise FormatError(faults)
        labels = tuple(_written(edits.labels, before, after))  # before the trial is undone
        trial.keep = not dry_run
    over = [one.before_by for one in labels if (one.before_by or "").startswith("human:")]
    if over:
        note(
            f"{len(over)} of these labels replace people's "
            f"({printable(joined(sorted(set(filter(None, over)))))}). If you do not want that, "
            "your copy is older than theirs: run 'assay score' and edit a new copy."
        )
    was, now = (Results({one.protocol: one}) for one in (before, after))
    return LabelsImported(len(labels), 0, 0, labels, consequences(was, now))


def _people(ledger: Ledger) -> set[str]:
    return {one.name for one in ledger.labellers().values() if one.is_human}


def _tell_of_another_spelling(name: str, people: Iterable[str], note: Note) -> None:
    other = spelt_alike(name, people)
    if other is not None:
        note(
            f"{printable(name)} and {printable(other)} are two people here. If they are the same "
            "person, 'assay labels copy FROM TO --rename "
            f"{shlex.quote(name)}={shlex.quote(other)}' joins them."
        )


def _marked(opened: Folder, path: Path) -> Evaluation:
    """The evaluation that supports marked answer runs; raises SettingsError if none does."""
    for name in opened.protocols:
        evaluation = Evaluation.open(opened.for_protocol(name), find_protocol(name), None)
        if evaluation.marked is not None:
            return evaluation
    raise SettingsError(
        f"{printable(str(path))} does not hold labels as JSON Lines. Marked answer runs only "
        f"exist in R2C2; under {', '.join(opened.protocols)}, change the lines that 'assay labels "
        "export' writes."
    )


def _rulings(
    words: Iterable[tuple[str, bool]], paths: Sequence[Path], originals: Originals
) -> Rulings:
    """Explicit rulings on answers, by run and question; raises SettingsError for an answer that is
    not in exactly one of the files."""
    given = [run_name(path) for path in paths]
    known = {one.id for one in originals.questions}
    rulings: dict[tuple[str, str], bool] = {}
    for text, right in words:
        run, _, question = text.rpartition("/") if text not in known else ("", "", text)
        question = normal_id(question)
        runs = [
            name
            for name in given
            if (not run or name == run)
            and name in originals.runs
            and question in originals.runs[name].run.answers
        ]
        option = f"--{'correct' if right else 'wrong'} {text}"
        if not runs:
            raise SettingsError(
                f"{option}: none of the given files has an answer to that question. Write "
                f"QUESTION, or RUN/QUESTION; the given runs are {', '.join(given)}."
            )
        if len(runs) > 1:
            raise SettingsError(
                f"{option}: {len(runs)} of the given files have an answer to it. Say which: "
                f"{', '.join(f'{name}/{question}' for name in runs)}."
            )
        if rulings.setdefault((runs[0], question), right) is not right:
            raise SettingsError(
                f"{option}: the answer is marked both right and wrong. Keep only one."
            )
    return rulings


def _written(labels: Iterable[NewLabel], before: Result, after: Result) -> Iterator[WrittenLabel]:
    old = {used.label.uid: used.label for used in before.used}
    where = WhereUsed(after.used)
    for label in labels:
        place = Place(**label.detail["said_of"])
        was = old.get(label.overrules or "")
        yield WrittenLabel(
            task=label.task,
            place=place,
            after=in_words(label),
            verdict=label.verdict,
            before=None if was is None else in_words(was),
            before_by=None if was is None else was.labeller.name,
            overrules=label.overrules,
            also=tuple(one for one in where.of(label.unit) if one != place),
        )


def import_labels(
    folder: Path,
    paths: list[Path],
    *,
    by: Annotated[
        str | None, Option("Who the changed labels are by.", metavar="human:NAME")
    ] = None,
    correct: Annotated[
        Sequence[str],
        Option(
            "With marked runs: this answer is right; repeatable.",
            metavar="[RUN/]QUESTION",
        ),
    ] = (),
    wrong: Annotated[
        Sequence[str],
        Option(
            "With marked runs: this answer is wrong; repeatable.",
            metavar="[RUN/]QUESTION",
        ),
    ] = (),
    reason: Annotated[str | None, Option("With marked runs: the reason for all changes.")] = None,
    dry_run: Annotated[bool, Option("Show what would change; write nothing.")] = False,
    note: Note,
) -> LabelsImported:
    """Import one JSON Lines file of labels, or marked answer runs, into the ledger, all or nothing;
    with ``dry_run`` only report what would change. ``note`` is called with messages for the person.
    Raises SettingsError for files and options that do not go together, FormatError with all faults,
    LedgerError."""
    opened = Folder.open(folder)
    who = None if by is None else person(by)
    words = [*((text, True) for text in correct), *((text, False) for text in wrong)]
    marked = [path for path in paths if _is_marked(path)]
    if marked and len(marked) < len(paths):
        raise SettingsError("Give either marked answer runs or labels as JSON Lines, not both.")
    if not marked and (words or reason):
        raise SettingsError(
            "--correct, --wrong and --reason are for marked answer runs; in JSON Lines, change "
            "the lines."
        )
    if marked:
        if who is None:
            raise SettingsError("Say whose marks these are: --by human:NAME.")
        evaluation = _marked(opened, marked[0])
        with opened.open_ledger(create=False) as ledger:
            return import_marked(
                evaluation, ledger, marked, who, words, reason, dry_run=dry_run, note=note
            )
    if len(paths) != 1:
        raise SettingsError("Give one file of labels at a time.")
    with opened.open_ledger(create=not dry_run) as ledger:
        return _import_lines(opened, ledger, paths[0], who, dry_run=dry_run, note=note)


def _is_marked(path: Path) -> bool:
    """Whether a file is an answer run; any file that is no table and does not look like JSON counts
    as one."""
    if path.name.endswith((".jsonl", ".json")) or is_table(path):
        return False
    first = next((line for line in read_text(path).lines if line.strip()), "")
    return not first.lstrip().startswith("{")


def _import_lines(
    folder: Folder, ledger: Ledger, path: Path, who: LabellerId | None, *, dry_run: bool, note: Note
) -> LabelsImported:
    opened = Opened.of(folder).quick() if dry_run else None

    def asked() -> Mapping[str, Content]:
        """What people are asked about now, by the units' hashes."""
        about = opened or Opened.of(folder)
        return {one.unit_hash: one.content for one in about.people_requests(ledger)}

    with ledger.trial() as trial:  # so that, of two concurrent imports, the second sees the first
        ledger.checked()  # before any label overrules another
        before = None if opened is None else opened.score(ledger)
        incoming = Incoming(ledger, path, who, asked)
        people = _people(ledger)
        added = sum(len(trial.add(some)) for some in incoming.new())
        for name in sorted(_people(ledger) - people):
            _tell_of_another_spelling(name, people, note)
            people.add(name)
        follows = None
        if opened is not None and before is not None:
            follows = consequences(before, opened.score(ledger))
        trial.keep = not dry_run
    return LabelsImported(added, incoming.known, incoming.outdated, follows=follows)
