"""Two queries, two summarisers, every awkward thing once; and labels for all of it."""

import csv
import json

DOCS = [
    {"number": 1, "url": "https://example.org/1", "title": "One", "text": "Tea was drunk early."},
    {"number": 2, "url": "https://example.org/2", "title": "Two", "text": "Tea came by ship."},
]


def summary(query, run, overview, sections, **more):
    """``sections`` are (heading, [(statement, citations)])."""
    return {
        "query_id": query,
        "query": f"history of {query}",
        "summariser": run,
        "overview": {"text": overview, "citations": [1]},
        "sections": [
            {
                "heading": heading,
                "statements": [{"text": text, "citations": list(cited)} for text, cited in found],
            }
            for heading, found in sections
        ],
        "doclist": DOCS,
        **more,
    }


SUMMARIES = [
    summary("tea", "A", "Tea is old.", [
        ("Origins", [("Tea was drunk early.", [1])]),
        ("Trade", [("Tea came by ship.", [2]), ("Ships were slow.", [])]),
    ]),
    summary("tea", "B", "Tea is a drink.", [("Ships", [("Ships carried tea.", [1, 2])])]),
    summary("rum", "A", "Rum is made of cane.", [("Making", [("Cane is pressed.", [1])])]),
    summary("rum", "B", "Rum is strong.", [], overview_position="end"),
]  # fmt: skip
LABELLER = 'default = "tests.sgss.cases:said"'
PREFERENCES = """query_id,left,right,labeller,preference,split
tea,A,B,kim,LEFT,test
tea,B,A,lee,RIGHT,test
tea,A,B,max,RIGHT,test
"""


def write(folder, rows=None):
    lines = [json.dumps(row) + "\n" for row in (SUMMARIES if rows is None else rows)]
    (folder / "summaries.jsonl").write_text("".join(lines))


def toml(folder, more="", settings=""):
    (folder / "assay.toml").write_text(
        '[evaluation]\nprotocol = "sgss"\n[inputs]\nsummaries = "summaries.jsonl"\n'
        f"{more}[labellers]\n{LABELLER}\n[settings]\n{settings}\n"
    )


def rows(path):
    with path.open() as file:
        return list(csv.DictReader(file))


def said(task, content):
    """A labeller for all tasks: A is good, ships are so so, what cites two documents is unsure."""
    text = json.dumps(content)
    if task == "trec_rag.support":
        level = "partial" if "\n\n" in content["passage"] else "full"
        return {"support": level}
    if task == "sgss.preference":
        return {"preferred": "LEFT"}
    if task == "sgss.coverage":
        ships = "Ships" in content["section"] and "ship" in content["summary"].lower()
        return {"label": "partially" if ships else "no"}
    return {"label": "partially" if "Ships" in text else "perfectly"}
