"""One process at a time asks a labeller for a task with a ledger: two would pay for all twice.
Shards of the same count may be asked side by side, each by one process."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager

from assay.judging.shards import Shard
from assay.ledger import Ledger
from assay.model.labels import LabellerId
from assay.tasks.base import canonical


@contextmanager
def claimed(
    ledger: Ledger, wanted: Iterable[tuple[LabellerId, str]], shard: Shard | None = None
) -> Iterator[None]:
    """Hold the right to ask these labellers for these tasks (by name) with a ledger, all their
    questions or those of a shard. Labellers that cost nothing may be asked by anybody.

    Raises LedgerError where another process holds one of them, saying which process.
    """
    named = {_name(who, task): (who, task) for who, task in wanted if not who.is_free}
    with ExitStack() as held:
        # In one order everywhere: of two that want the same, one gets all, instead of each a part.
        for name, (who, task) in sorted(named.items()):
            what = f"{ledger.name}: {who.name} is being asked for '{task}'"
            held.enter_context(ledger.claim(name, what, shards=shard.count if shard else 0))
            if shard is not None:
                own = f"{name}-{shard.number}of{shard.count}"
                held.enter_context(ledger.claim(own, f"{what}, shard {shard},"))
        yield


def _name(who: LabellerId, task: str) -> str:
    parts = canonical([who.name, who.kind, dict(who.params), task])
    return hashlib.sha256(parts).hexdigest()[:12]
