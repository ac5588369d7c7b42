"""How step 3 is asked: yes or no, as the paper has it, or as the support question that other
protocols ask of a passage and a claim (tasks.shared)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

from assay.judging.engine import Plan, plan
from assay.labellers.base import Labeller, Request, request_key
from assay.ledger import Ledger
from assay.protocols import registry
from assay.protocols.folder import Folder
from assay.protocols.r2c2.inputs import R2C2Settings
from assay.tasks.base import AnyTask
from assay.tasks.r2c2 import ENTAILMENT
from assay.tasks.shared import sources
from assay.tasks.trec_rag import SUPPORT


def keeps_to_yes_no(folder: Folder) -> bool:
    """Whether nothing but the yes-no question will do, whatever machines said of the support of a
    pair: the settings say so, or the folder has a wording of its own."""
    chosen = folder.settings(R2C2Settings).entailment
    own = (f"{ENTAILMENT.template}.j2", f"{ENTAILMENT.template}.probes.j2")
    reworded = any((folder.path / "prompts" / name).exists() for name in own)
    return chosen == "yes-no" or (chosen == "auto" and reworded)


def asks_support(folder: Folder) -> bool:
    """Whether the settings have step 3 asked as a question of support. ``auto`` does where a
    protocol beside R2C2 asks that too, unless the folder has a wording of its own or
    ``[labellers]`` names somebody for entailment."""
    chosen = folder.settings(R2C2Settings).entailment
    if chosen == "support" or keeps_to_yes_no(folder):
        return chosen == "support"
    named = {ENTAILMENT.name, "entailment"} & folder.config.labellers.keys()
    if named and folder.labeller is None:
        return False
    return any(SUPPORT in _asked(one) for one in folder.beside)


def _asked(folder: Folder) -> Iterable[AnyTask]:
    if folder.protocol in registry.SPECIAL:
        return ()
    protocol = registry.find_protocol(folder.protocol)
    found: Iterable[AnyTask] = protocol.asks(folder.settings(protocol.settings))
    return found


@dataclass(frozen=True)
class Step3:
    """Who is asked, and how; ``labellers`` has one for ``trec_rag.support`` where that is asked.
    With ``strict`` labels of support do not save a question."""

    labellers: Mapping[str, Labeller]
    strict: bool = False

    @property
    def as_support(self) -> bool:
        return SUPPORT.name in self.labellers

    def plan(
        self, ledger: Ledger | None, requests: Iterable[Request], *, retry_failed: bool = False
    ) -> Plan:
        """What must be asked of requests of ``r2c2.entailment``."""
        first = plan(
            ledger,
            self.labellers[ENTAILMENT.name],
            requests,
            retry_failed=retry_failed,
            alike=not self.strict,
        )
        if not self.as_support:
            return first
        asked = (_as_support(request) for _, request in first.todo)
        second = plan(ledger, self.labellers[SUPPORT.name], asked, retry_failed=retry_failed)
        return replace(
            second,
            known=second.known + first.known,
            known_failed=second.known_failed + first.known_failed,
        )

    def unanswered(self, ledger: Ledger, requests: Iterable[Request]) -> Plan:
        """What a labeller said nothing to when asked for support, as yes-no questions: a file of
        labels may hold these alone."""
        labeller, support = self.labellers[ENTAILMENT.name], self.labellers[SUPPORT.name]
        left = plan(ledger, labeller, requests).todo
        asked: dict[str, tuple[Request, Request]] = {}
        for _, request in left:
            like = _as_support(request)
            asked[request_key(support, like)] = (request, like)
        answered = ledger.statuses((like.unit_hash, key) for key, (_, like) in asked.items())
        rest = (one for key, (one, _) in asked.items() if key not in answered)
        return plan(ledger, labeller, rest)


def _as_support(request: Request) -> Request:
    (source,) = sources(ENTAILMENT)
    unit = source.task.unit.model_validate(source.content(request.content))
    return Request(source.task, unit, request.sample)
