"""What of a page's words survives, and corpus building against mwparserfromhell alone.

Run: ``python benchmarks/corpus.py [SOURCE] [--rounds N] [--copies K] [--worst W]``. SOURCE is a
dump or a folder of wikitext (default: the film pages of ``../shared``). First the share of the
words of list items, cells, infobox values and prose that survive, against a plain reading of the
source that knows nothing of Assay (plain_reading.py), with the W worst pages and what they lost;
then CPU seconds on one core, the lowest of N rounds, the two taking turns; then ``assay corpus
build`` as a whole process over K copies of the pages, on one core and on all, with its peak memory.
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path
from xml.sax.saxutils import escape

import mwparserfromhell
from plain_reading import KINDS, plain_reading, surviving, words

from assay.systems.corpus.build import BuildSettings, document_passages
from assay.systems.corpus.documents import Document, Source, SourceSettings, TextKind
from assay.systems.corpus.wikitext import CleanSettings, clean

FILMS = Path(__file__).parents[2] / "shared" / "data" / "films"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("source", type=Path, nargs="?", default=FILMS)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--copies", type=int, default=20, help="0: no whole builds")
    parser.add_argument("--worst", type=int, default=3)
    options = parser.parse_args()
    source = Source(options.source, SourceSettings())
    items = (item for item in source.items() if isinstance(item, Document))
    pages = [item for item in items if item.kind is TextKind.WIKITEXT]
    survival(pages, options.worst)
    if options.rounds:
        one_core(pages, options.rounds)
    if options.copies:
        whole(pages, options.copies)


def survival(pages: list[Document], worst: int) -> None:
    """Without title and categories: what is said there twice is not counted for what is lost."""
    found = []
    sums = {kind: [0, 0] for kind in (*KINDS, "all")}
    for page in pages:
        text = clean(page.text, "", CleanSettings(categories=False))
        shares = surviving(page.text, text)
        for kind, (there, left) in shares.items():
            sums[kind][0] += there
            sums[kind][1] += left
        there, left = shares["all"]
        if there:
            lost = sum(plain_reading(page.text).values(), start=Counter()) - words(text)
            found.append((left / there, page.title, lost.most_common(8)))
    found.sort(key=lambda one: one[0])
    print(f"Words that survive, of {len(found)} pages:")
    for kind, (there, left) in sums.items():
        print(f"  {kind:16} {left:9,} of {there:9,}  {left / max(there, 1):.4f}")
    mean = sum(share for share, *_ in found) / max(len(found), 1)
    print(f"  mean page {mean:.4f}, worst page {found[0][0]:.4f}")
    for share, title, lost in found[:worst]:
        said = ", ".join(f"{word} {count}" for word, count in lost)
        print(f"  {share:.4f} {title}: {said}")


def one_core(pages: list[Document], rounds: int) -> None:
    settings = BuildSettings()
    times: dict[str, list[float]] = {"parse": [], "strip": [], "assay": []}
    passages = 0
    for _ in range(rounds):
        started = time.process_time()
        parsed = [mwparserfromhell.parse(page.text) for page in pages]
        times["parse"].append(time.process_time() - started)
        for code in parsed:
            code.strip_code()
        times["strip"].append(time.process_time() - started)
        del parsed
        started = time.process_time()
        passages = sum(len(document_passages(page, settings)) for page in pages)
        times["assay"].append(time.process_time() - started)
    parse, strip, own = (min(times[name]) for name in ("parse", "strip", "assay"))
    chars = sum(len(page.text) for page in pages)
    print(
        f"{len(pages)} pages, {chars / 1e6:.2f} million characters, {passages} passages, one core"
    )
    for name, took in (
        ("mwparserfromhell.parse alone", parse),
        ("mwparserfromhell parse + strip_code", strip),
        ("Assay, wikitext to passages", own),
    ):
        print(f"  {name:36} {took:6.2f} s CPU {passages / took:8,.0f} passages/s")
    print(f"  Assay / parse alone {own / parse:.2f}, Assay / parse + strip_code {own / strip:.2f}")


def whole(pages: list[Document], copies: int) -> None:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        with (folder / "dump.xml").open("w", encoding="utf-8") as out:
            out.write("<mediawiki>")
            for number in range(copies * len(pages)):
                page = pages[number % len(pages)]
                out.write(
                    f"<page><title>{escape(page.title)}</title><ns>0</ns><id>{number}</id>"
                    f"<revision><text>{escape(page.text)}</text></revision></page>"
                )
            out.write("</mediawiki>")
        for processes in ("1", ""):
            target = folder / f"out{processes}"
            command = [sys.executable, "-m", "assay.cli.main", "corpus", "build", "--json"]
            command += [str(folder / "dump.xml"), str(target)]
            command += ["--processes", processes] if processes else []
            started = time.perf_counter()
            done = subprocess.run(command, capture_output=True, text=True, check=True)
            took = time.perf_counter() - started
            made = json.loads(done.stdout)["counts"]["passages"]
            peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024
            print(
                f"assay corpus build, {processes or 'all'} core(s): {made:,} passages in "
                f"{took:.1f} s, "
                f"{made / took:,.0f} passages/s; largest process so far {peak:.0f} MiB"
            )


if __name__ == "__main__":
    main()
