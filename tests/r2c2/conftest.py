"""The slides' worked example as a folder, with the labels that the slides give."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

QUESTION = (
    "Name the actor who starred in a movie called The Manchurian Candidate and later played "
    "Captain America."
)
PASSAGES = [
    (
        "https://en.wikipedia.org/wiki/Chris_Evans_(actor)",
        "Evans gained wider recognition for portraying Captain America in various Marvel "
        "Cinematic Universe (MCU) films, from Captain America: The First Avenger (2011) to "
        "Avengers: Endgame (2019).",
    ),
    (
        "https://www.imdb.com/title/tt0056218/",
        "Stars Frank Sinatra Laurence Harvey Janet Leigh",
    ),
    (
        "https://www.imdb.com/title/tt0368008/fullcredits/",
        "Anthony Mackie ... Robert Baker",
    ),
    ("https://www.imdb.com/name/nm1107001/", "The Manchurian Candidate"),
    ("https://www.imdb.com/name/nm1107001/", "Sam Wilson - Captain America"),
]
NUGGETS = [
    (1, 1, "Chris Evans gained recognition for portraying Captain America", True, False),
    (2, 2, "The Manchurian Candidate starred Frank Sinatra", True, False),
    (3, 2, "The Manchurian Candidate starred Harvey Janet", False, False),
    (4, 4, "Anthony Mackie starred in The Manchurian Candidate", True, True),
    (5, 5, "Anthony Mackie starred in Captain America: Brave New World", True, True),
]


def recorded_rows() -> list[dict]:
    rows = [
        {
            "task": "r2c2.entailment",
            "unit": {"passage": PASSAGES[rank - 1][1], "nugget": text},
            "verdict": {"entailed": "YES" if entailed else "NO", "reason": f"slide, nugget {num}"},
        }
        for num, rank, text, entailed, _ in NUGGETS
    ]
    entailed = [nugget for nugget in NUGGETS if nugget[3]]
    rows.append(
        {
            "task": "r2c2.answer",
            "unit": {
                "question": QUESTION,
                "answer": "Anthony Mackie",
                "gold": ["Anthony Mackie"],
                "nuggets": [text for _, _, text, _, _ in entailed],
            },
            "verdict": {
                "reason": "the slides mark it green",
                "correct": "YES",
                "nuggets": [
                    {"nugget": i, "helped": "YES" if helped else "NO", "reason": f"slide n{num}"}
                    for i, (num, _, _, _, helped) in enumerate(entailed, start=1)
                ],
            },
        }
    )
    return rows


@pytest.fixture
def slide(tmp_path: Path) -> Path:
    """The evaluation folder of the worked example, judged by a file of recorded labels."""
    folder = tmp_path / "slide"
    (folder / "pr").mkdir(parents=True)
    (folder / "ac").mkdir()
    (folder / "questions.tsv").write_text(f"0001\t{QUESTION}\tMulti-hop\tAnthony Mackie\n")
    (folder / "pr" / "WASEDA-PR-1.txt").write_text(
        "".join(f"0001;{i};{doc};{text}\n" for i, (doc, text) in enumerate(PASSAGES, start=1))
    )
    (folder / "ac" / "SLIDE.txt").write_text(
        "<0001>\nAnthony Mackie;90\n"
        + "".join(f"{num};WASEDA-PR-1;{rank};{text}\n" for num, rank, text, _, _ in NUGGETS)
        + "</0001>\n"
    )
    (folder / "recorded.jsonl").write_text(
        "".join(json.dumps(row) + "\n" for row in recorded_rows())
    )
    (folder / "assay.toml").write_text(
        '[evaluation]\nprotocol = "r2c2"\ntitle = "Worked example"\n'
        '[inputs]\nquestions = "questions.tsv"\npr_runs = ["pr/*.txt"]\nac_runs = ["ac/*.txt"]\n'
        '[labellers]\ndefault = "recorded:recorded.jsonl"\n'
    )
    return folder
