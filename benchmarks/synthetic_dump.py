"""A MediaWiki dump of the size of R2C2's corpus, made from real film pages.

Run: ``python benchmarks/synthetic_dump.py OUT.xml [--documents N] [--seed S] [--pages FOLDER]``.
Each document is the lead of a film page and some of its sections, whole, with one word in twenty of
the running text replaced by a made-up one, so that the vocabulary grows with the corpus as real
ones do. The lengths follow a log-normal distribution whose mean gives about two passages of 400
words a document: the real corpus has 551,663 documents and 1,101,442 passages (R2C2 paper,
section 3.3.3).
"""

from __future__ import annotations

import argparse
import random
import re
from pathlib import Path
from xml.sax.saxutils import escape

from assay.systems.corpus.documents import Document, Source, SourceSettings

FILMS = Path(__file__).parents[2] / "shared" / "data" / "films"
SYLLABLES = "ba ce di fo gu ha ke li mo nu pa re si to vu wa xe yi zo ka lu mi na or an el".split()
VOCABULARY = 2_000_000
MEDIAN_CHARS, SPREAD = 3_800, 0.9  # of a document's wikitext beyond its first block
LONGEST_BLOCK = 6_000


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("out", type=Path)
    parser.add_argument("--documents", type=int, default=551_663)
    parser.add_argument("--seed", type=int, default=20251013)
    parser.add_argument("--pages", type=Path, default=FILMS)
    options = parser.parse_args()
    chance = random.Random(options.seed)
    source = Source(options.pages, SourceSettings())
    pages = [item for item in source.items() if isinstance(item, Document)]
    every = ((page, split(page.text)) for page in pages)
    kept = [(page.title, blocks) for page, blocks in every if len(blocks[0]) < LONGEST_BLOCK]
    with options.out.open("w", encoding="utf-8") as out:
        out.write('<mediawiki xmlns="http://www.mediawiki.org/xml/export-0.11/">\n')
        for number in range(1, options.documents + 1):
            name, blocks = chance.choice(kept)
            text = document(blocks, chance)
            title = f"{name} {number}"
            out.write(
                f"<page><title>{escape(title)}</title><ns>0</ns><id>{number}</id>"
                f"<revision><text>{escape(text)}</text></revision></page>\n"
            )
        out.write("</mediawiki>\n")


def split(text: str) -> list[str]:
    """A page in blocks that close what they open."""
    blocks: list[str] = []
    waiting = ""
    for part in re.split(r"(?<=\n)\n+", text):
        waiting += part + "\n"
        if all(waiting.count(a) == waiting.count(b) for a, b in (("{{", "}}"), ("{|", "|}"))):
            blocks.append(waiting)
            waiting = ""
    blocks.append(waiting)  # what is never closed
    return blocks[:1] + [block for block in blocks[1:] if 0 < len(block) < LONGEST_BLOCK]


def document(blocks: list[str], chance: random.Random) -> str:
    """The first block of a page and as many that follow some other as its length asks for."""
    wanted = chance.lognormvariate(0, SPREAD) * MEDIAN_CHARS
    parts = [blocks[0]]
    size = 0
    at = chance.randrange(1, len(blocks)) if len(blocks) > 1 else 0
    for block in blocks[at:] + blocks[1:at]:
        if size >= wanted:
            break
        parts.append(block)
        size += len(block)
    return "\n".join(altered(part, chance) for part in parts)


def altered(block: str, chance: random.Random) -> str:
    """``block`` with one word in twenty made up; lines that hold markup stay as they are."""
    lines = block.split("\n")
    for number, line in enumerate(lines):
        if len(line) < 40 or line[0] in "|{!=<" or "{{" in line or "<" in line:
            continue
        words = line.split(" ")
        for _ in range(len(words) // 20 + 1):
            at = chance.randrange(len(words))
            if words[at].isalpha():
                words[at] = made_up(chance)
        lines[number] = " ".join(words)
    return "\n".join(lines)


def made_up(chance: random.Random) -> str:
    """A word from a vocabulary of two million, common ones far more often than rare ones."""
    rank = int(VOCABULARY ** chance.random())
    word = ""
    while rank:
        rank, syllable = divmod(rank, len(SYLLABLES))
        word += SYLLABLES[syllable]
    return word or "a"


if __name__ == "__main__":
    main()
