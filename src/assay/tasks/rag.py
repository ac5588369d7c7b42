"""The tasks of the protocol ``rag`` that no other protocol has."""

from __future__ import annotations

from assay.tasks.base import AnyTask, Task, Unit, Verdict
from assay.tasks.lists import list_of_texts

MOST_CLAIMS = 100


class ClaimsUnit(Unit):
    """A question and a text that answers it, without citation marks."""

    question: str
    text: str


class Claims(Verdict):
    """The claims of the text in its order, each a sentence that can be understood on its own."""

    claims: tuple[str, ...]


CLAIMS = Task(
    name="rag.claims",
    title="Claims of an answer or a reference, each a sentence by itself",
    unit=ClaimsUnit,
    verdict=Claims,
    **list_of_texts("claims", lambda _: (0, MOST_CLAIMS), 1_000),
    joins=False,
    max_tokens=1200,
    usual_tokens=150,
)

TASKS: tuple[AnyTask, ...] = (CLAIMS,)
