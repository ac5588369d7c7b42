"""Each protocol from nothing to scores by people alone, who use no more than the keyboard."""

from __future__ import annotations

import json

import pytest

from tests.web.conftest import goes_on, unit_of
from tests.web.test_server import human_labels


def trec_rag(folder):
    """One narrative, two passages, a retrieval run, an answer: no nuggets, no qrels."""
    narrative = {"id": "aq", "title": "How did aqueducts bring water to cities, and who paid?"}
    (folder / "narratives.jsonl").write_text(json.dumps(narrative) + "\n", encoding="utf-8")
    segments = [
        {"docid": "d1", "title": "Routes", "segment": "An aqueduct moved water by gravity alone."},
        {"docid": "d2", "title": "Money", "segment": "Rich citizens paid for new aqueducts."},
    ]
    text = "".join(json.dumps(one) + "\n" for one in segments)
    (folder / "segments.jsonl").write_text(text, encoding="utf-8")
    (folder / "R.txt").write_text("aq Q0 d1 1 9 R\naq Q0 d2 2 8 R\n", encoding="utf-8")
    answer = {
        "metadata": {
            "team_id": "t", "run_id": "RAG", "narrative_id": "aq", "type": "automatic",
            "narrative": narrative["title"], "prompt": "",
        },
        "references": ["d1", "d2"],
        "answer": [
            {"text": "Water flowed by gravity alone.", "citations": [0]},
            {"text": "Rich citizens paid.", "citations": [1]},
        ],
    }  # fmt: skip
    (folder / "RAG.jsonl").write_text(json.dumps(answer) + "\n", encoding="utf-8")
    return """protocol = "trec-rag"
[inputs]
narratives = "narratives.jsonl"
segments = ["segments.jsonl"]
r_runs = ["R.txt"]
rag_runs = ["RAG.jsonl"]
"""


def exam(folder):
    bank = {
        "query_id": "q", "query_text": "how do bees find home",
        "items": [
            {"question_id": "q/1", "question_text": "What is a compass?", "gold_answers": ["sun"]},
            {"question_id": "q/2", "question_text": "And under cloud?", "gold_answers": ["light"]},
        ],
    }  # fmt: skip
    (folder / "bank.jsonl").write_text(json.dumps(bank) + "\n", encoding="utf-8")
    passages = [{"id": "p1", "text": "A bee steers by the sun."}, {"id": "p2", "text": "Honey."}]
    text = "".join(json.dumps(one) + "\n" for one in passages)
    (folder / "passages.jsonl").write_text(text, encoding="utf-8")
    (folder / "RUN.run").write_text("q Q0 p1 1 2 RUN\nq Q0 p2 2 1 RUN\n", encoding="utf-8")
    return """protocol = "exam"
[inputs]
bank = "bank.jsonl"
runs = ["RUN.run"]
passages = "passages.jsonl"
"""


def sgss(folder):
    def summary(name, statement):
        return {
            "query_id": "tea", "query": "green and black tea", "summariser": name,
            "overview": {"text": "Both are one plant.", "citations": [1]},
            "sections": [
                {"heading": "Making", "statements": [{"text": statement, "citations": [1]}]}
            ],
            "doclist": [{"number": 1, "url": "u", "title": "Tea", "text": "All tea is one plant."}],
        }  # fmt: skip

    both = [summary("ALPHA", "Green tea is heated."), summary("BETA", "Black tea oxidises.")]
    text = "".join(json.dumps(one) + "\n" for one in both)
    (folder / "summaries.jsonl").write_text(text, encoding="utf-8")
    return """protocol = "sgss"
[inputs]
summaries = "summaries.jsonl"
[settings]
also = ["preference"]
"""


def battles(folder):
    """Two answers to one narrative, in both orders: a person judges them once."""
    inputs = trec_rag(folder)
    text = (folder / "RAG.jsonl").read_text(encoding="utf-8").replace("gravity", "pumps")
    (folder / "TWO.jsonl").write_text(text.replace('"RAG"', '"TWO"'), encoding="utf-8")
    inputs = inputs.replace('["RAG.jsonl"]', '["RAG.jsonl", "TWO.jsonl"]')
    return inputs.replace('"trec-rag"', '"battles"')


def rag(folder):
    """One question with an answer, its passage and a reference: claims are split by people."""
    record = {
        "id": "q", "question": "When was the bridge opened?", "answer": "It opened in 1932 [1].",
        "passages": [{"id": "b", "text": "The bridge opened in March 1932."}],
        "references": ["The bridge opened in 1932."], "run": "main",
    }  # fmt: skip
    (folder / "answers.jsonl").write_text(json.dumps(record) + "\n", encoding="utf-8")
    return """protocol = "rag"
[inputs]
answers = "answers.jsonl"
[settings]
claims = "rag.claims"
"""


ITEMS = "[...document.querySelectorAll('li.item kbd')].map((one) => one.innerText)"
# Of each scale the last key, or that of an answer: it does not decline.
SCALES = """[...document.querySelectorAll("[role=radiogroup].choice")].map((group) =>
  (group.querySelector("[data-verdict=answer] kbd") ?? [...group.querySelectorAll("kbd")].at(-1))
    .innerText)"""
LISTS = "document.querySelector('button.add') && !document.querySelector('ol.list li')"
UNSAID = "[...document.querySelectorAll('#verdict select')].some((one) => !one.value)"
FOCUSED = """(() => {
  const at = document.activeElement;
  if (at.tagName === "SELECT" && !at.value) return "unsaid";
  return at.dataset.command;
})()"""


def answer(page, to_the_button):
    """Give some verdict on the unit that is shown: the last key of each scale, the second value of
    each item, an entry in each list that is empty, the last value of what is left open; and submit
    it, with ``to_the_button`` where that is."""
    unit = unit_of(page)
    for key in page.evaluate(ITEMS):
        page.keyboard.press(key)
    for key in page.evaluate(SCALES):
        page.keyboard.press(key)
    if page.evaluate(LISTS):
        page.keyboard.press("+")
        page.keyboard.type("Something that is told, 90% sure?")
        page.keyboard.press("Escape")
    for _ in range(80 if to_the_button or page.evaluate(UNSAID) else 0):
        page.keyboard.press("Tab")
        at = page.evaluate(FOCUSED)
        if at == "unsaid":
            page.keyboard.press("End")
        if at == "submit":
            break
    page.keyboard.press("Enter")
    page.wait_for_timeout(30)
    if "again to submit it" in page.inner_text("#status"):
        page.keyboard.press("Enter")
    goes_on(page, unit)


def waits(page, base, more):
    """Whether something waits to be labelled; what labels open may come a moment later. A page is
    asked for alone until there is something to go to: to show it takes a browser far longer."""
    for _ in range(100 if more else 1):
        if 'class="go"' in page.request.get(base).text():
            page.goto(base)
            return True
        page.wait_for_timeout(100)
    return False


@pytest.mark.parametrize(
    ("write", "tasks"),
    [
        (
            trec_rag,
            {
                "trec_rag.sub_narratives_draft", "trec_rag.sub_narratives", "trec_rag.nuggets",
                "trec_rag.relevance_counted", "trec_rag.support", "trec_rag.importance",
                "trec_rag.mapping", "trec_rag.assignment", "trec_rag.nugget_edit",
            },
        ),
        (exam, {"exam.self_rating"}),
        (
            sgss,
            {
                "sgss.sufficiency", "sgss.representativeness", "sgss.heading", "sgss.statement",
                "sgss.coverage", "sgss.preference", "trec_rag.support",
            },
        ),
        (battles, {"battles.battle"}),
        (
            rag,
            {
                "r2c2.dialogue_act", "rag.claims", "trec_rag.support", "trec_rag.relevance",
                "r2c2.answer",
            },
        ),
    ],
)  # fmt: skip
def test_people_take_a_protocol_from_nothing_to_scores(
    serve, visit, tmp_path, assay, write, tasks
):  # fmt: skip
    folder = tmp_path / "f"
    folder.mkdir()
    inputs = write(folder)
    (folder / "nothing.jsonl").write_text("", encoding="utf-8")
    (folder / "assay.toml").write_text(
        f'[evaluation]\n{inputs}\n[labellers]\ndefault = "recorded:nothing.jsonl"\n',
        encoding="utf-8",
    )
    server = serve(folder)
    page = visit(server.link)
    done: dict[str, int] = {}
    while waits(page, server.base, len(done) < len(tasks)):
        task = page.locator("a.go").first.get_attribute("href").rpartition("/")[2]
        for _ in range(200):
            if page.evaluate("document.activeElement.className === 'go'"):
                break
            page.keyboard.press("Tab")
        page.keyboard.press("Enter")
        page.wait_for_url(f"**/label/{task}")
        while unit_of(page):
            answer(page, to_the_button=task not in done)
            done[task] = done.get(task, 0) + 1
    assert done.keys() == tasks
    assert human_labels(folder) == sum(done.values())
    assert write is not battles or done == {"battles.battle": 1}
    server.stop()
    scored = assay("score", folder, "--json")
    assert scored.returncode == 0, scored.stderr
    scores = json.loads(scored.stdout)["scores"]
    assert len(scores) > 1
    assert all(one["missing"] == 0 for one in scores)
    open_ = {one["measure"] for one in scores if one["value"] is None}
    assert open_ <= {"vital", "strict_vital"}  # the nugget that was written is "okay"
