"""Corpus building against mwparserfromhell alone, on the same pages in the same run.

Run: ``python benchmarks/corpus.py [SOURCE] [--rounds N] [--copies K]``. SOURCE is a dump or a
folder of wikitext (default: the film pages of ``../shared``). CPU seconds on one core, the lowest
of N rounds, the two taking turns; then ``assay corpus build`` as a whole process over K copies of
the pages, on one core and on all, with its peak memory.
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from xml.sax.saxutils import escape

import mwparserfromhell

from assay.systems.corpus.build import BuildSettings, document_passages
from assay.systems.corpus.documents import Document, Source, SourceSettings

FILMS = Path(__file__).parents[2] / "shared" / "data" / "films"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("source", type=Path, nargs="?", default=FILMS)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--copies", type=int, default=20)
    options = parser.parse_args()
    source = Source(options.source, SourceSettings())
    pages = [item for item in source.items() if isinstance(item, Document)]
    one_core(pages, options.rounds)
    whole(pages, options.copies)


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
