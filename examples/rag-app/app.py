"""A small RAG application: words that a question and a page share, and the sentence of the
best pages that answers best. ``python app.py [--lean]`` writes ``runs/main.jsonl``.

``--lean`` is a change for the worse that looks harmless: to save memory only the beginning of each
page is kept. The answers still read well, and cite what they are from.
"""

from __future__ import annotations

import argparse
import json
import math
import re
from collections import Counter
from pathlib import Path

PLACE = Path(__file__).parent
COMMON = set(
    re.findall(
        r"\w+",
        "a an and are as at by for from in is it of on or that the to was were what when which who "
        "with did does do has have how many much its be been there where",
    )
)


def words(text: str) -> list[str]:
    """The words that carry meaning, without their endings."""
    found = re.findall(r"[a-z0-9]+", text.lower())
    return [re.sub(r"(ing|ed|es|s)$", "", one) for one in found if one not in COMMON]


class App:
    """Answers questions from pages. ``pages`` are retrieved for each question; with less in common
    than ``least`` it declines."""

    def __init__(self, corpus: dict[str, str], pages: int, least: float) -> None:
        self.corpus, self.pages, self.least = corpus, pages, least
        every = [set(words(text)) for text in corpus.values()]
        known = Counter(word for one in every for word in one)
        self.weight = {word: math.log(len(every) / n) + 0.1 for word, n in known.items()}

    def score(self, question: str, text: str) -> float:
        """How much of the question a text has, by the weight of the words."""
        asked, there = set(words(question)), set(words(text))
        whole = sum(self.weight.get(word, 3.0) for word in asked) or 1.0
        return sum(self.weight.get(word, 0.0) for word in asked & there) / whole

    def answer(self, question: str) -> tuple[str, list[tuple[str, float]]]:
        """An answer with citations, and the pages that it is from."""
        ranked = sorted(self.corpus, key=lambda page: -self.score(question, self.corpus[page]))
        found = [(page, self.score(question, self.corpus[page])) for page in ranked[: self.pages]]
        sentences = [
            (self.score(question, sentence), sentence, place)
            for place, (page, _) in enumerate(found, 1)
            for sentence in re.split(r"(?<=\.)\s+", self.corpus[page])
        ]
        best, sentence, place = max(sentences, key=lambda one: one[0])
        if best < self.least:
            return "I don't know.", found
        return f"{sentence.rstrip('.')} [{place}].", found


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--lean", action="store_true")
    lean = options.parse_args().lean
    lines = (PLACE / "pages.jsonl").read_text(encoding="utf-8").splitlines()
    corpus = {page["id"]: page["text"] for page in map(json.loads, lines)}
    if lean:
        corpus = {page: text.partition(". ")[0] + "." for page, text in corpus.items()}
    app = App(corpus, pages=3, least=0.3)
    questions = (PLACE / "questions.jsonl").read_text(encoding="utf-8").splitlines()
    with (PLACE / "runs" / "main.jsonl").open("w", encoding="utf-8") as out:
        for question in map(json.loads, questions):
            answer, pages = app.answer(question["question"])
            passages = [
                {"id": page, "text": corpus[page], "score": round(score, 4)}
                for page, score in pages
            ]
            about = {"id": question["id"], "question": question["question"]}
            out.write(json.dumps({**about, "answer": answer, "passages": passages}) + "\n")


if __name__ == "__main__":
    main()
