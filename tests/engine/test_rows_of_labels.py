"""Labels that are looked up a row at a time are those that are looked up one by one."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.labellers.base import BaseLabeller
from assay.ledger import Ledger, NewLabel, columns
from assay.ledger.policy import Policy
from assay.model.labels import LabellerId, Status
from assay.protocols.labels import LabelBook
from assay.protocols.places import Place
from assay.tasks.base import unit_hash
from assay.tasks.r2c2 import ENTAILMENT
from assay.tasks.trec_rag import SUPPORT

OWN = LabellerId("m", "model", {"t": 0})
WHO = [OWN, LabellerId("n", "model"), *(LabellerId(f"human:{n}", "human") for n in ("A", "B"))]
POLICIES = (
    "people",
    "machine",
    "human",
    "blind",
    "majority",
    "adjudicated",
    "only:human:A",
    "majority without human:A",
)
CONTENTS = [{"passage": "p", "nugget": f"n{n}"} for n in range(4)]
MADE = st.lists(
    st.tuples(
        st.integers(0, 3),
        st.sampled_from(WHO),
        st.sampled_from([True, False, None]),  # the verdict; None: failed
        st.sampled_from(["", "blind", "post-edit", "adjudication"]),
        st.booleans(),  # whether under the task that tells the verdict of this one, if any is
    ),
    max_size=8,
)
ROW = st.lists(st.tuples(st.integers(0, 3), st.sampled_from("RS")), max_size=9)


class Own(BaseLabeller):
    """The evaluation's own machine, which is asked nothing here."""

    id = OWN

    def rendered(self, request):
        return b"as it is asked now"


def label(number, made):
    at, who, said, mode, other = made
    task = SUPPORT if other else ENTAILMENT
    content = CONTENTS[at]
    if other:
        content = {"passage": content["passage"], "sentence": content["nugget"]}
    verdict = {"support": "full" if said else "none"} if other else {"entailed": said}
    return NewLabel(
        key=f"k{number}", task=task.name, version=task.version, content=content,
        unit=unit_hash(task.name, content), labeller=who,
        status=Status.FAILED if said is None else Status.OK,
        verdict=None if said is None else {"reason": f"r{number}", **verdict},
        detail={"workbench": {"mode": mode}} if who.is_human and mode else {"model": f"v{number}"},
    )  # fmt: skip


def told(book, found):
    """What may be seen of labels that were looked up, the used ones in their order."""
    used = book.used
    return (
        found, dict(book.asked), +book.missing, +book.failed, list(used), list(used.rows()),
        used.by_run(), used.count(lambda one: (one.task, one.labeller.name)),
        used.count(lambda one: one.detail.get("model")), list(used.of_kind("human")),
    )  # fmt: skip


@pytest.mark.parametrize("policy", POLICIES)
@given(
    held=st.sampled_from([0, 1 << 20]),
    made=MADE, row=ROW, whole=st.booleans(), others=st.booleans(),
)  # fmt: skip
def test_a_row_is_its_labels_one_by_one(tmp_path_factory, policy, held, made, row, whole, others):
    path = tmp_path_factory.mktemp("ledger") / "labels.sqlite"
    places = [Place(run, "t", f"nugget {at}") for at, run in row]
    contents = [CONTENTS[at] for at, _ in row]
    with pytest.MonkeyPatch.context() as patch, Ledger.open(path) as ledger:
        patch.setattr(columns, "_TEXTS", held)
        patch.setattr(columns, "HELD", held)
        ledger.add(
            label(number, (*said, others and other)) for number, (*said, other) in enumerate(made)
        )

        def opened():
            own = {ENTAILMENT.name: Own()}
            return LabelBook.open(ledger, Policy.parse(policy), [ENTAILMENT], own, whole=whole)

        one_by_one = opened()
        found = [
            one_by_one.label(ENTAILMENT, content, place)
            for content, place in zip(contents, places, strict=True)
        ]
        expected = told(one_by_one, found)
        at_once = opened()
        rows = at_once.labels(ENTAILMENT, zip(contents, places, strict=True))
    # The ledger is closed: what was found can be looked at all the same.
    assert told(at_once, list(rows)) == expected
    assert [bool(one) for one in rows.human] == [
        bool(one and one.labeller.is_human) for one in found
    ]
    shares = {}
    for one, place in at_once.used:
        of_task = shares.setdefault(one.task, {})
        every, human = of_task.get(place.run, (0, 0))
        of_task[place.run] = every + 1, human + one.labeller.is_human
    assert at_once.used.by_run() == shares
    values = rows.map(lambda verdict: float(verdict["entailed"])).tolist()
    known = [one and one.verdict and float(one.verdict["entailed"]) for one in found]
    assert [None if value != value else value for value in values] == known
    if row:
        assert rows[-1] == found[-1]
        assert list(rows[1:]) == found[1:]
