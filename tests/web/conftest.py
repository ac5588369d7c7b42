"""A workbench on a small folder, in a process of its own; a real browser."""

from __future__ import annotations

import os
import re
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.apart import Apart
from tests.command import without_keys

TOML = """
[evaluation]
protocol = "r2c2"
title = "Small"
[inputs]
questions = "questions.tsv"
pr_runs = ["pr/*.txt"]
ac_runs = ["ac/*.txt"]
[labellers]
default = "recorded:nothing.jsonl"
[settings]
resamples = 100
{more}
"""
QUESTIONS = "1\tWho built the old bridge?\tSimple\tAnna Berg\n2\tWhen was it built?\tSimple\t1872\n"
PASSAGES = (
    "1;1;d1;The old bridge was built by Anna Berg, an engineer.\n"
    "1;2;d2;A new bridge stands beside it.\n"
    "2;1;d3;The bridge was built in 1872 of stone.\n"
)
ANSWERS = {
    "ONE": "<1>\nAnna Berg;90\n1;PR;1;Anna Berg built the old bridge.\n</1>\n"
    "<2>\n1872;80\n1;PR;1;The bridge was built in 1872.\n2;PR;1;It was built of stone.\n</2>\n",
    "TWO": "<1>\nNobody knows;20\n1;PR;2;A new bridge stands there.\n</1>\n<2>\n1900;60\n</2>\n",
}


def write_folder(
    folder: Path, *, more: str = "", answers: dict[str, str] | None = None,
    questions: str = QUESTIONS, passages: str = PASSAGES,
) -> Path:  # fmt: skip
    """An R2C2 folder of two questions that no machine labels."""
    for name in ("pr", "ac"):
        (folder / name).mkdir(parents=True)
    (folder / "assay.toml").write_text(TOML.format(more=more), encoding="utf-8")
    (folder / "questions.tsv").write_text(questions, encoding="utf-8")
    (folder / "pr" / "PR.txt").write_text(passages, encoding="utf-8")
    (folder / "nothing.jsonl").write_text("", encoding="utf-8")
    for name, text in (answers or ANSWERS).items():
        (folder / "ac" / f"{name}.txt").write_text(text, encoding="utf-8")
    return folder


class Server:
    """``assay ui`` in a process of its own."""

    def __init__(
        self, folder: Path, *options: str, port: int = 0, name: str = "ANN",
        before: Callable[[], None] | None = None,
    ) -> None:  # fmt: skip
        reading, writing = os.pipe()
        with open(os.devnull) as nothing:
            self.process = Apart(
                "ui", folder, "--no-browser", "--port", port, "--as", name, *options,
                env=without_keys(),
                streams=(nothing.fileno(), writing, writing), before=before,
            )  # fmt: skip
        os.close(writing)
        self.lines: list[str] = []
        self.stdout = os.fdopen(reading, encoding="utf-8")
        for line in self.stdout:
            self.lines.append(line.rstrip())
            if line.startswith("Open "):
                break
        else:
            raise AssertionError("\n".join(self.lines))
        self.link = self.lines[-1].split()[1]
        self.base = self.link.partition("/enter")[0]
        self.port = port or int(self.base.rpartition(":")[2])

    def invited(self, name: str) -> str:
        """The link that was printed for somebody."""
        return next(one.split()[-1] for one in self.lines if one.startswith(f"For {name} "))

    def kill(self) -> None:
        self.process.kill()
        self.process.wait()
        self.stdout.close()

    def stop(self) -> int:
        self.process.send_signal(signal.SIGINT)
        try:
            return self.process.wait(15)
        finally:
            self.process.kill()


Serve = Callable[..., Server]


@pytest.fixture
def serve() -> Iterator[Serve]:
    """Starts servers, which end with the test."""
    with _serving() as start:
        yield start


@pytest.fixture(scope="module")
def serve_all() -> Iterator[Serve]:
    """The same for servers that several tests ask, and none changes."""
    with _serving() as start:
        yield start


@contextmanager
def _serving() -> Iterator[Serve]:
    running: list[Server] = []

    def start(folder: Path, *options: str, **more: object) -> Server:
        running.append(Server(folder, *options, **more))  # type: ignore[arg-type]
        return running[-1]

    try:
        yield start
    finally:
        for one in running:
            one.kill()


@pytest.fixture
def visit(tabs):
    """Opens pages as a person of one's own, and fails where a page breaks a rule or a script.
    ``script`` runs on each page before its own."""

    def enter(link: str, script: str = "", **options: object):
        page = tabs.tab(script=script, **options)
        page.goto(link)
        return page

    yield enter
    wrong = ("CSP", "Content Security", "htmx:", "pageerror:")
    assert not [text for text in tabs.console if any(one in text for one in wrong)]


UNIT = """(() => {
  const bench = document.getElementById("bench");
  return bench?.checkVisibility() ? bench.dataset.unit : "";
})()"""


def unit_of(page) -> str:
    """The unit that is shown; empty where the queue is."""
    return page.evaluate(UNIT)


def becomes(page, what: str) -> bool:
    """Wait in the page until an expression is true there, 8 seconds at most; whether it is."""
    return page.evaluate(f"""async () => {{
      for (const end = Date.now() + 8000; Date.now() < end;) {{
        try {{ if ({what}) return true; }} catch {{ /* what it looks at is not there yet */ }}
        await new Promise((done) => setTimeout(done, 5));
      }}
      return false;
    }}""")


def goes_on(page, before: str) -> None:
    """Wait until another unit is shown, or none is left."""
    if not becomes(page, f"{UNIT} !== '{before}'"):
        raise AssertionError(f"still at {before}: {page.inner_text('#status')}")


def plain(text: str) -> str:
    return re.sub(r"\s+", " ", text)
