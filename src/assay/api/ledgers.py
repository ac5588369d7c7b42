"""Ledgers outside evaluation folders; merging and copying ledgers."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext
from pathlib import Path
from shutil import rmtree

from assay.ledger import Ledger
from assay.ledger.address import is_url, without_password
from assay.ledger.chain import Head
from assay.ledger.exchange import person
from assay.ledger.merging import Merged as Merged
from assay.ledger.merging import check_names, merge, renamed
from assay.ledger.store import Place
from assay.model.errors import SettingsError
from assay.model.progress import ProgressCallback, no_progress
from assay.protocols.folder import Folder


def known_at(path: Path | None) -> AbstractContextManager[Ledger | None]:
    """Open the ledger at ``path``, or None if there is none."""
    return Ledger.open(path) if path is not None and path.exists() else nullcontext()


@contextmanager
def ledger_at(path: Path | None) -> Iterator[Ledger]:
    """Open or create the ledger at ``path``. Without a path, use a temporary ledger, which is kept
    only if the call fails after an answer was received; a note on the exception then names it."""
    if path is not None:
        path.parent.mkdir(parents=True, exist_ok=True)
        with Ledger.open(path) as ledger:
            yield ledger
        return
    folder = Path(tempfile.mkdtemp(prefix="assay-"))
    answers = 0  # in a temporary ledger that stays
    try:
        with Ledger.open(folder / "labels.sqlite") as ledger:
            try:
                yield ledger
            except BaseException:
                answers = ledger.size()
                raise
    except BaseException as error:
        if answers:
            error.add_note(
                f"{answers} answers are kept in {folder / 'labels.sqlite'}: use that ledger to "
                "continue from there."
            )  # fmt: skip
        raise
    finally:
        if not answers:
            rmtree(folder, ignore_errors=True)


def place_named(text: str) -> Place:
    """The place of a ledger named by its URL, its file, or an evaluation folder. Raises
    SettingsError for a URL with a password."""
    if is_url(text):
        return without_password(text)
    path = Path(text)
    return Folder.open(path).ledger_place if path.is_dir() or path.suffix == ".toml" else path


def merge_ledgers(
    folder: Path, others: Sequence[str], progress: ProgressCallback = no_progress
) -> list[tuple[str, Merged]]:
    """Add the labels of other ledgers to a folder's own. All are checked before anything is
    written. Returns the name of each ledger with the outcome. Raises LedgerError if one is missing
    or damaged."""
    opened = Folder.open(folder)
    places = [place_named(text) for text in others]
    if any(_same(place, opened.ledger_place) for place in places):
        raise SettingsError(f"{folder}: you named its own ledger among those to merge into it.")
    with ExitStack() as stack:
        sources = [stack.enter_context(Ledger.open(place, create=False)) for place in places]
        for source in sources:
            source.progress = progress
            source.checked()
        with opened.open_ledger() as target:  # out/ may be of more labels than a shard's own
            target.progress = progress
            return [(source.name, merge(target, source)) for source in sources]


def copy_ledger(
    source: str,
    target: str,
    progress: ProgressCallback = no_progress,
    *,
    renames: Sequence[str] = (),
    without: Sequence[str] = (),
) -> tuple[int, Head]:
    """Copy a ledger with its numbers and digests, or bring an earlier copy up to date.
    ``renames``, each ``human:NAME=human:OTHER``, give people other names in the copy; labels of
    people in ``without`` are left out (:func:`renamed`). Returns the number of labels written and
    the head of the copy. Raises LedgerError if the target holds something else."""
    names = dict(map(_rename, renames))
    left_out = {person(name).name for name in without}
    places = place_named(source), place_named(target)
    if _same(*places):
        raise SettingsError(f"{source} and {target} are the same ledger.")
    with Ledger.open(places[0], create=False) as one:
        check_names(one, names, left_out)
        with Ledger.open(places[1]) as other:
            one.progress = other.progress = progress
            if names or left_out:
                return renamed(other, one, names, left_out), other.head()
            return other.copy_from(one), other.head()


def _rename(text: str) -> tuple[str, str]:
    """The person's name and the new name from ``human:NAME=human:OTHER``."""
    name, found, other = text.rpartition("=human:")
    if not found:
        raise SettingsError(f"--rename {text}: write human:NAME=human:OTHER.")
    return person(name).name, person(f"human:{other}").name


def _same(one: Place, other: Place) -> bool:
    if isinstance(one, Path) and isinstance(other, Path):
        return one.resolve() == other.resolve()
    return one == other
