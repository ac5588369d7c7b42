"""What the protocol for builders asks beside the tasks that other protocols have."""

from __future__ import annotations

from assay.tasks.base import AnyTask, Task, Unit, Verdict
from assay.tasks.schemas import Schema, fields, readable, readable_text

MOST_CLAIMS = 100
_LONGEST_CLAIM = 1_000


class ClaimsUnit(Unit):
    """A question and a text that answers it, without citation marks."""

    question: str
    text: str


class Claims(Verdict):
    """The claims of the text, each a sentence that stands by itself, in the order of the text."""

    claims: tuple[str, ...]


def _check(_unit: ClaimsUnit, verdict: Claims) -> str | None:
    if len(verdict.claims) > MOST_CLAIMS:
        return f"'claims' must hold at most {MOST_CLAIMS} claims, it holds {len(verdict.claims)}"
    if not all(map(readable, verdict.claims)):
        return "'claims' must hold no empty claim"
    if max(map(len, verdict.claims), default=0) > _LONGEST_CLAIM:
        return f"a claim has at most {_LONGEST_CLAIM} characters"
    return None


def _narrow(_unit: ClaimsUnit, schema: Schema) -> None:
    fields(schema)["claims"].update(maxItems=MOST_CLAIMS, items=readable_text(_LONGEST_CLAIM))


CLAIMS = Task(
    name="rag.claims",
    version="1",
    title="Claims of an answer or a reference, each a sentence by itself",
    unit=ClaimsUnit,
    verdict=Claims,
    template="rag_claims",
    check=_check,
    narrow=_narrow,
    joins=False,
    max_tokens=1200,
    usual_tokens=150,
)

TASKS: tuple[AnyTask, ...] = (CLAIMS,)
