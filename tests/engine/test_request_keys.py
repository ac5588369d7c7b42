"""The key of a label: put together from parts, but of the canonical JSON of all of them."""

from hypothesis import given
from hypothesis import strategies as st

from assay.labellers.base import BaseLabeller, Request, request_key
from assay.model.labels import LabellerId
from assay.tasks.base import canonical, content_hash
from assay.tasks.trec_rag import RELEVANCE, SUPPORT, RelevanceUnit, SupportUnit

TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=12) | st.sampled_from(
    ['"', "\\", '",0]', "é\n", ""]
)
PARAMS = st.dictionaries(TEXTS, TEXTS | st.floats(0, 2) | st.lists(st.integers(-5, 5)), max_size=3)


class Named(BaseLabeller):
    def __init__(self, who):
        self.id = who

    async def label(self, request):
        return None


@given(st.lists(st.tuples(TEXTS, TEXTS, PARAMS), min_size=1, max_size=3), st.integers(0, 2**40))
def test_the_key_is_the_hash_of_all_that_decides_a_label(named, sample):
    labellers = [Named(LabellerId(*one)) for one in named]
    asked = [
        Request(RELEVANCE, RelevanceUnit(question="q", passage="p"), sample),
        Request(SUPPORT, SupportUnit(sentence="s", passage="p"), sample),
    ]
    for labeller in (*labellers, *labellers):  # in turns: nothing of one sticks to the other
        for request in asked:
            who = labeller.id
            whole = [
                request.task.name, request.task.version, content_hash(labeller.rendered(request)),
                who.name, who.kind, dict(who.params), sample,
            ]  # fmt: skip
            assert request_key(labeller, request) == content_hash(canonical(whole))
