"""A small collection of graded passages: two queries, three runs, every awkward thing once."""

import gzip
import json

BANK = [
    {
        "query_id": "q1",
        "query_text": "structure of the skin",
        "items": [
            {"question_id": "q1/a", "question_text": "Which layers has the skin?"},
            {"question_id": "q1/b", "question_text": "What is the outer layer?",
             "gold_answers": ["epidermis"]},
            {"question_id": "q1/c", "question_text": "What does fat do?"},
            {"question_id": "q1/d", "question_text": "How does skin age?"},
        ],
    },
    {
        "query_id": "q2",
        "query_text": "water table",
        "items": [
            {"question_id": "q2/a", "question_text": "What happens in wet times?"},
            {"question_id": "q2/b", "question_text": "How deep is it?"},
        ],
    },
]  # fmt: skip

GRADES = {
    "q1": {
        "p1": {"q1/a": 5, "q1/b": 4, "q1/c": 0, "q1/d": 0},
        "p2": {"q1/a": 1, "q1/b": 0, "q1/c": 4, "q1/d": 0},
        "p3": {"q1/a": 0, "q1/b": 0, "q1/c": 3, "q1/d": 0},
        "p4": {"q1/a": 0, "q1/b": 0, "q1/c": 0, "q1/d": 1},
    },
    "q2": {
        "p5": {"q2/a": 5, "q2/b": 0},
        "p6": {"q2/a": 0, "q2/b": 0},
    },
}
RUNS = {
    "good": {"q1": ["p1", "p2"], "q2": ["p5"]},
    "half": {"q1": ["p1", "p4"]},
    "poor": {"q1": ["p4", "p3"], "q2": ["p6"]},
}


def passage(query, name, grades, **more):
    rankings = [
        {"method": run, "paragraphId": name, "queryId": query, "rank": rank, "score": 1 / rank}
        for run, queries in RUNS.items()
        for rank, one in enumerate(queries.get(query, []), 1)
        if one == name
    ]
    return {
        "paragraph_id": name,
        "text": f"text of {name}",
        "paragraph_data": {"judgments": [], "rankings": rankings},
        "exam_grades": [entry(grades)],
        **more,
    }


def entry(grades, llm="flan", prompt="SelfRated"):
    return {
        "correctAnswered": [],
        "wrongAnswered": [],
        "answers": [[question, f"said {grade}"] for question, grade in grades.items()],
        "llm": llm,
        "llm_options": {},
        "exam_ratio": 0.0,
        "prompt_info": {"prompt_class": prompt},
        "self_ratings": [{"question_id": q, "self_rating": grade} for q, grade in grades.items()],
    }


def collection():
    return [[q, [passage(q, p, g) for p, g in pool.items()]] for q, pool in GRADES.items()]


def write(path, rows):
    data = "".join(json.dumps(row) + "\n" for row in rows).encode()
    path.write_bytes(gzip.compress(data) if path.suffix == ".gz" else data)
    return path
