"""Ledgers of calls that belong to no evaluation folder; ledgers of several places, joined."""

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
    """The ledger at ``path``; None where there is none."""
    return Ledger.open(path) if path is not None and path.exists() else nullcontext()


@contextmanager
def ledger_at(path: Path | None) -> Iterator[Ledger]:
    """The ledger at ``path``; without one a ledger for this call alone, which stays only where the
    call fails after something was answered: a note of the exception then names it."""
    if path is not None:
        path.parent.mkdir(parents=True, exist_ok=True)
        with Ledger.open(path) as ledger:
            yield ledger
        return
    folder = Path(tempfile.mkdtemp(prefix="assay-"))
    held = 0
    try:
        with Ledger.open(folder / "labels.sqlite") as ledger:
            try:
                yield ledger
            except BaseException:
                held = ledger.size()
                raise
    except BaseException as error:
        if held:
            error.add_note(
                f"{held} answers are kept in {folder / 'labels.sqlite'}: use that ledger to "
                "continue from there."
            )  # fmt: skip
        raise
    finally:
        if not held:
            rmtree(folder, ignore_errors=True)


def place_named(text: str) -> Place:
    """The place of a ledger that is named by its URL, its file, or a folder. Raises SettingsError
    for a URL with a password."""
    if is_url(text):
        return without_password(text)
    path = Path(text)
    return Folder.open(path).ledger_place if path.is_dir() or path.suffix == ".toml" else path


def merge_ledgers(
    folder: Path, others: Sequence[str], told: ProgressCallback = no_progress
) -> list[tuple[str, Merged]]:
    """Add to a folder's ledger what each of the others has and it lacks; all are looked at before
    anything is written. ``told`` hears how it goes on. Returns what became of each, by its name.
    Raises LedgerError where one is missing, or not as it was written."""
    opened = Folder.open(folder)
    places = [place_named(text) for text in others]
    if any(_same(place, opened.ledger_place) for place in places):
        raise SettingsError(f"{folder}: you named its own ledger among those to merge into it.")
    with ExitStack() as stack:
        sources = [stack.enter_context(Ledger.open(place, create=False)) for place in places]
        for source in sources:
            source.told = told
            source.checked()
        with opened.open_ledger() as target:  # out/ may be of more labels than a shard's own
            target.told = told
            return [(source.name, merge(target, source)) for source in sources]


def copy_ledger(
    source: str,
    target: str,
    told: ProgressCallback = no_progress,
    *,
    renames: Sequence[str] = (),
    without: Sequence[str] = (),
) -> tuple[int, Head]:
    """Copy a ledger, with its numbers and digests, to where none is, or what it has grown by to an
    earlier copy; ``told`` hears how it goes on. ``renames``, each as ``human:NAME=human:OTHER``,
    have people under other names in the copy, which lacks the labels of people ``without`` whom it
    is to be (:func:`renamed`). Returns how many labels were written and the head of the copy.
    Raises LedgerError where the other holds something else."""
    names = dict(map(_rename, renames))
    left_out = {person(name).name for name in without}
    places = place_named(source), place_named(target)
    if _same(*places):
        raise SettingsError(f"{source} and {target} are the same ledger.")
    with Ledger.open(places[0], create=False) as one:
        check_names(one, names, left_out)
        with Ledger.open(places[1]) as other:
            one.told = other.told = told
            if names or left_out:
                return renamed(other, one, names, left_out), other.head()
            return other.copy_from(one), other.head()


def _rename(text: str) -> tuple[str, str]:
    """Somebody's name and the other one."""
    name, found, other = text.rpartition("=human:")
    if not found:
        raise SettingsError(f"--rename {text}: write human:NAME=human:OTHER.")
    return person(name).name, person(f"human:{other}").name


def _same(one: Place, other: Place) -> bool:
    if isinstance(one, Path) and isinstance(other, Path):
        return one.resolve() == other.resolve()
    return one == other
