"""Hostile input for every format and the commands that read it, in this process.

    python benchmarks/fuzz.py [--seed 1] [--cases 40] [--only FORMAT] [--case N] [--size 1000000]

Each case is a real file, mutated: bits flipped, parts cut out, repeated or moved, and hostile
tokens put in. A finding is an exception that is not Assay's own, an exit status other than 0 to 3,
output with control or direction characters, or a case that takes longer than ``--seconds``.
Findings are printed with the options that repeat them; the exit status is 1 where there are any.
"""

from __future__ import annotations

import argparse
import atexit
import json
import random
import re
import shutil
import signal
import sys
import tempfile
import time
import traceback
from collections.abc import Container, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import cache
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from types import FrameType
from unittest.mock import patch

from typer.testing import CliRunner

from assay.cli.commands import app
from assay.labellers import endpoints
from assay.model.errors import AssayError

EXAMPLES = Path(__file__).resolve().parents[1] / "examples"
HOSTILE = [
    *(b"[" * n for n in (3, 2_000, 100_000)),
    *(b'{"a":' * n for n in (3, 2_000, 50_000)),
    *(b"9" * n for n in (19, 309, 5_000)),
    *(b"1e999", b"-1e999", b"NaN", b"Infinity", b"-0", b"1e-400", b"0x" + b"f" * 5_000),
    *(b"99999-01-01T00:00:00Z", b"0000-00-00", b"9223372036854775808", b"-9223372036854775809"),
    *(b"18446744073709551616", b'"\\ud800"', b"\\ud800", b"\xed\xa0\x80", b"\xff\xfe", b"\xc3"),
    *(
        b"\x00",
        b"\x1b[2J\x1b]0;x\x07",
        "\u202e\u2066".encode(),
        "\u2028\x85".encode(),
        b"\xef\xbb\xbf",
    ),
    *(b'"', b"'", b"\\", b"\r", b"\n\n", b"\t", b";", b",", b"{}", b"[]", b"null", b"true", b'""'),
    *(b"{{" * 5_000, b"[[" * 5_000, b"<!--", b"<ref>" * 5_000, b"{|" * 2_000, b"''" * 5_000, b"="),
    *("\u0661\u0662".encode(), "\u00b2".encode(), b"x" * 200_000, b" " * 200_000, b"a." * 5_000),
    *(b"../" * 20, b"/dev/null", b"]]>", b"</page>", b"&#x0;", b"&lol;", b"\x1f\x8b\x08", b"BZh9"),
]
_CALM = re.compile(
    "[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u200e\u200f\u202a-\u202e\u2066-\u2069]|Traceback"
)

DUMP = b"""<mediawiki xmlns="http://www.mediawiki.org/xml/export-0.11/" xml:lang="en">
<siteinfo><namespaces><namespace key="0" /></namespaces></siteinfo>
<page><title>Rocky</title><ns>0</ns><id>7</id><revision><id>8</id><timestamp>2024-01-01T00:00:00Z
</timestamp><text xml:space="preserve">'''Rocky''' is a [[film]]. {{Infobox|a=1}}</text></revision>
</page></mediawiki>
"""
SCORES = b"run,topic,measure,score\n" + b"".join(
    b"%c,%d,P@5,%.2f\n" % (run, topic, (run * topic % 7) / 7)
    for run in b"abc"
    for topic in range(8)
)
CONFIDENCE = b"run,topic,correct,confidence\nb,1,1,\n" + b"".join(
    b"a,%d,%d,%d\n" % (topic, topic % 2, topic * 37 % 101) for topic in range(20)
)
LABELS = b"1 0 d1 1\n1 0 d2 0\n2 0 d1 2\n2 0 d3 1\n"
PREFERENCES = b"query_id,left,right,labeller,preference,split\n" + b"".join(
    b"%s,ALPHA,BETA,p%d,%s,train\n" % (query, person, side)
    for query in (b"tea", b"fern")
    for person, side in ((1, b"LEFT"), (2, b"RIGHT"), (3, b"LEFT"))
)
GRADED = b"""["q1", [{"paragraph_id": "p1", "text": "Skin has three layers.", "paragraph_data":
{"judgments": [], "rankings": [{"method": "GOOD", "paragraphId": "p1", "queryId": "q1", "rank": 1,
"score": 1.0}]}, "exam_grades": [{"correctAnswered": [], "wrongAnswered": [], "answers":
[["q1/a", "three"]], "llm": "flan", "llm_options": {}, "exam_ratio": 0.0, "prompt_info":
{"prompt_class": "SelfRated"}, "self_ratings": [{"question_id": "q1/a", "self_rating": 5}]}]}]]
""".replace(b"\n", b" ")


@dataclass(frozen=True)
class Subject:
    """A format: the file that is mutated, and commands, in which FILE is that file, HERE its folder
    and OUT a path that does not exist. ``folder`` is an example: it is copied with its labels and
    with what ``MADE`` makes there, and FILE lies in it; else it lies alone."""

    seed: Path | bytes
    commands: tuple[str, ...]
    name: str
    folder: str | None = None
    served: bool = False
    """A server on this machine gives the file: as a model's reply, or where it is JSON with
    choices as it is. SERVER is its model."""


def _example(path: str, *commands: str) -> Subject:
    folder, _, name = path.partition("/")
    return Subject(Path(name), commands, name, folder)


NOWHERE = "openai:none@http://127.0.0.1:9"
MADE = {
    "films": (
        "corpus build HERE/wiki HERE/corpus --words 32",
        "index build HERE/corpus HERE/index",
    ),
    "slide": ("judge HERE", "score HERE"),
    "exam": (
        "judge HERE",
        f"judge HERE --labeller {NOWHERE} --export-batch HERE/batch.jsonl",
    ),
    "sgss": ("judge HERE",),
    "rag-app": (
        "judge HERE",
        "score HERE",
        "gate HERE --save HERE/baseline.json",
    ),
    "trec-rag": (
        "corpus build HERE/segments.jsonl HERE/corpus",
        "index build HERE/corpus HERE/index --dense minilm",
    ),
}


@cache
def judged(folder: str) -> Path:
    """A copy of an example with its labels, in the ledger and in ``labels.jsonl``, and what
    ``MADE`` says."""
    place = Path(tempfile.mkdtemp(prefix="assay-fuzz-"))
    atexit.register(shutil.rmtree, place, ignore_errors=True)
    here = place / folder
    shutil.copytree(
        EXAMPLES / folder, here, ignore=shutil.ignore_patterns("out", "build", "*.sqlite*")
    )
    if folder == "exam":
        (here / "queries.tsv").write_text("bees\tHow do bees find their way?\n")
        settings = (here / "assay.toml").read_text()
        added = settings.replace("[inputs]\n", '[inputs]\nqueries = "queries.tsv"\n')
        (here / "assay.toml").write_text(added)
    if (here / "recorded.jsonl").is_file():
        settings = (here / "assay.toml").read_text()
        recorded = settings.replace('default = "embedded"', 'default = "recorded:recorded.jsonl"')
        (here / "assay.toml").write_text(recorded)
    for command in MADE.get(folder, ()):
        CliRunner().invoke(app, command.replace("HERE", str(here)).split())
    if (here / "labels.sqlite").is_file():
        CliRunner().invoke(app, ["labels", "export", str(here), "-o", str(here / "labels.jsonl")])
    if (here / "batch.jsonl").is_file():
        (here / "results.jsonl").write_text("".join(map(_result, (here / "batch.jsonl").open())))
    (here / "none.jsonl").touch()
    if folder == "trec-rag":
        (here / "narrative.txt").write_text(_printed("nuggets", "edit", here, "aq", "--print"))
    return here


def _printed(*words: object) -> str:
    return CliRunner().invoke(app, [str(word) for word in words]).stdout


def _result(line: str) -> str:
    """What a batch service answers to a line of a batch file."""
    message = {"role": "assistant", "content": '{"rating": 4, "reason": "It says so."}'}
    body = {"model": "none", "choices": [{"index": 0, "message": message}]}
    told = {"custom_id": json.loads(line)["custom_id"], "response": {"status_code": 200}}
    told["response"]["body"] = body
    return json.dumps(told) + "\n"


def _body(reply: bytes) -> bytes:
    """A chat completion that says ``reply``."""
    message = {"role": "assistant", "content": reply.decode(errors="surrogateescape")}
    about = {"choices": [{"index": 0, "message": message, "finish_reason": "stop"}]}
    usage = {"prompt_tokens": 9, "completion_tokens": 9}
    text = json.dumps({**about, "id": "1", "model": "m", "usage": usage}, ensure_ascii=False)
    return text.encode(errors="surrogateescape")


RETRIEVE = "retrieve HERE/index HERE/narratives.jsonl --format trec -o OUT"
JUDGE = "judge HERE --labeller SERVER --shard 1/4"  # each question gets the same reply
REPLIES = {
    "rating": ("exam", b'{"reason": "It says so.", "rating": 4}', JUDGE),
    "entailment": ("slide", b'{"reason": "It says so.", "entailed": true}', JUDGE),
    "support": ("trec-rag", b'{"reason": "It says so.", "support": "full"}', JUDGE),
    "questions": (
        "exam",
        b'{"questions": ["Who made it?", "When?"]}',
        "bank generate HERE --labeller SERVER --out OUT --count 2",
    ),
    "summary": ("sgss", b'{"reason": "It says so.", "label": "partially"}', JUDGE),
    "answer": (
        "films",
        b'{"answer": "Rocky", "confidence": 70, "nuggets": [{"passage": 1, "nugget": "It won."}]}',
        "answer HERE/questions.tsv --model SERVER --pr-runs HERE/pr/BM25.txt -o OUT",
    ),
    "order": (
        "trec-rag",
        b'{"order": [2, 1, 3, 4, 5, 6, 7, 8, 9, 10]}',
        f"{RETRIEVE} --rerank listwise --rerank-with SERVER",
    ),
    "parts": ("trec-rag", b'{"queries": ["What?", "Who?"]}', f"{RETRIEVE} --decompose SERVER"),
}
VALIDATE = "validate FILE"
SCORE = "score HERE"
SUBJECTS = {
    "questions": _example("slide/questions.tsv", VALIDATE, SCORE),
    "pr-run": _example("slide/pr/WASEDA-PR-1.txt", VALIDATE, SCORE),
    "ac-run": _example("slide/ac/SLIDE.txt", VALIDATE, SCORE),
    "r2c2.toml": _example("slide/assay.toml", SCORE, "doctor HERE"),
    "trec-rag.toml": _example("trec-rag/assay.toml", SCORE),
    "exam.toml": _example("exam/assay.toml", SCORE),
    "wikitext": _example("films/wiki/F09__Rocky.wikitext", "corpus build FILE OUT"),
    "dump": Subject(DUMP, ("corpus build FILE OUT",), "dump.xml"),
    "rag": _example("trec-rag/rag/BRIEF.jsonl", VALIDATE, SCORE),
    "narratives": _example("trec-rag/narratives.jsonl", VALIDATE, SCORE),
    "segments": _example("trec-rag/segments.jsonl", VALIDATE, SCORE, "corpus build FILE OUT"),
    "nugget-bank": _example("trec-rag/nuggets.jsonl", VALIDATE, SCORE),
    "assignments": _example("trec-rag/gold/assignments.jsonl", VALIDATE, "nuggets score FILE"),
    "support": _example("trec-rag/gold/support.jsonl", VALIDATE, "support FILE"),
    "exam-bank": _example("exam/bank.jsonl", VALIDATE, "bank list FILE", SCORE),
    "passages": _example("exam/passages.jsonl", SCORE),
    "recorded": _example("exam/recorded.jsonl", "judge HERE"),
    "exchange": _example("exam/labels.jsonl", "labels import HERE FILE"),
    "qrels": _example("exam/qrels.txt", VALIDATE, "measure FILE runs/GOOD.run -m nDCG@10", SCORE),
    "run": _example("exam/runs/GOOD.run", VALIDATE, "measure qrels.txt FILE -m AP", SCORE),
    "summaries": _example("sgss/assay.toml", SCORE),
    "table": _example(
        "statistics/manual.csv",
        "compare FILE",
        "correlate FILE automatic.csv",
        "samplesize FILE",
    ),
    "long-table": Subject(SCORES, ("compare FILE -m P@5", "samplesize FILE"), "scores.csv"),
    "queries": _example("exam/queries.tsv", SCORE),
    "preferences": Subject(
        PREFERENCES, (SCORE, "sgss weights HERE --out OUT"), "preferences.csv", "sgss"
    ),
    "summary-texts": _example("sgss/summaries.jsonl", SCORE),
    "graded": Subject(GRADED, ("exam FILE", "exam FILE --per-topic --qrels OUT"), "graded.jsonl"),
    "exam-bank-edit": _example(
        "exam/bank.jsonl",
        "bank diff FILE HERE/bank.jsonl",
        "bank edit FILE --by me --drop bees/1",
    ),
    "nugget-text": _example("trec-rag/narrative.txt", "nuggets edit HERE aq --as me --file FILE"),
    "marked": _example("slide/out/marked/SLIDE.txt", "labels import HERE FILE --by human:me"),
    "batch": _example("exam/results.jsonl", f"judge HERE --labeller {NOWHERE} --import-batch FILE"),
    "ledger": _example(
        "exam/labels.sqlite",
        "labels verify HERE",
        "labels stats HERE",
        "labels list HERE",
        "labels export HERE",
        "labels diff HERE recorded:recorded.jsonl recorded:recorded.jsonl",
        "report HERE",
        SCORE,
    ),
    "manifest": _example("slide/out/manifest.json", "labels verify HERE", "report HERE", SCORE),
    "corpus": _example(
        "trec-rag/corpus/passages.jsonl",
        "index build HERE/corpus OUT",
        "corpus convert HERE/corpus OUT --layout documents",
        "corpus show HERE/corpus aq-route",
    ),
    "corpus-about": _example("trec-rag/corpus/corpus.json", "index build HERE/corpus OUT"),
    "corpus-documents": _example(
        "trec-rag/corpus/documents.sqlite",
        "corpus show HERE/corpus aq-route",
        "corpus convert HERE/corpus OUT --layout documents",
    ),
    "index-about": _example("trec-rag/index/index.json", RETRIEVE),
    "index-lengths": _example("trec-rag/index/bm25/lengths.npy", RETRIEVE),
    "index-meta": _example("trec-rag/index/bm25/meta.json", RETRIEVE),
    "dense-about": _example("trec-rag/index/dense/dense.json", f"{RETRIEVE} --method dense"),
    "dense": _example("trec-rag/index/dense/vectors.f16", f"{RETRIEVE} --method fused"),
    "topics": _example(
        "films/questions.tsv",
        "retrieve HERE/index FILE --format trec -o OUT",
        "answer FILE --model recorded:HERE/none.jsonl --pr-runs HERE/pr/BM25.txt -o OUT",
    ),
    **{
        f"{kind} {name}": Subject(made(verdict), (command,), "file", folder, served=True)
        for name, (folder, verdict, command) in REPLIES.items()
        for kind, made in (("reply", bytes), ("body", _body))
    },
    "records": _example("rag-app/runs/main.jsonl", VALIDATE, SCORE, "status HERE"),
    "baseline": _example("rag-app/baseline.json", "gate HERE --baseline FILE"),
    **{
        f"out {name}": _example(f"rag-app/out/{name}", "diff HERE HERE")
        for name in ("scores.csv", "per_topic.csv", "labels.jsonl", "manifest.json")
    },
    "judgments": _example("battles/judgments.jsonl", VALIDATE, "battles FILE --model davidson"),
    "graded-rubrics": _example("rubrics/graded.jsonl", VALIDATE, "rubrics FILE --axes"),
    "confidence": Subject(
        CONFIDENCE, ("confidence FILE", "recalibrate FILE --run a --apply FILE -o OUT"), "c.csv"
    ),
    "labels": _example("statistics/person.txt", "agree FILE judge.txt"),
    "label-table": Subject(LABELS, ("agree FILE FILE",), "labels.tsv"),
}


class Served(BaseHTTPRequestHandler):
    """A model server that gives ``data``."""

    data = b""

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers["Content-Length"]))
        data = self.data if b'"choices"' in self.data[:100] else _body(self.data)
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, *args: object) -> None:
        """Nothing."""


@cache
def server() -> str:
    """The address of a server that gives ``Served.data``."""
    found = ThreadingHTTPServer(("127.0.0.1", 0), Served)
    Thread(target=found.serve_forever, daemon=True).start()
    return f"http://127.0.0.1:{found.server_port}/v1"


def mutated(seed: bytes, chooser: random.Random, size: int) -> bytes:
    """``seed`` after some harm, of ``size`` bytes at most."""
    data = bytearray(seed)
    for _ in range(chooser.choice((1, 1, 2, 3, 6, 12))):
        start = chooser.randrange(len(data) + 1)
        length = min(len(data) - start, int(chooser.expovariate(1 / 60)))
        part = bytes(data[start : start + length])
        match chooser.randrange(8):
            case 0 if data:
                data[min(start, len(data) - 1)] ^= 1 << chooser.randrange(8)
            case 1:
                del data[start : start + length]
            case 2:
                data[start:start] = part * chooser.choice((2, 50, 3_000))
            case 3:
                del data[start:]
            case 4:
                place = chooser.randrange(len(data) + 1)
                data[place:place] = part
            case 5 | 6:  # in place of a whole value, as that is what readers take further
                values = list(re.finditer(rb'"[^"\n]*"|[\w.+-]+', data[:200_000]))
                if values:
                    found = chooser.choice(values)
                    data[found.start() : found.end()] = chooser.choice(HOSTILE)
            case _:
                data[start : start + length] = chooser.choice(HOSTILE)
        del data[size:]
    return bytes(data)


class TooSlow(BaseException):
    """No reader of ours may catch it."""


@contextmanager
def limited(seconds: float) -> Iterator[None]:
    def ring(number: int, frame: FrameType | None) -> None:
        raise TooSlow

    before = signal.signal(signal.SIGALRM, ring)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def run(command: list[str], seconds: float, statuses: Container[int] = range(4)) -> str | None:
    """What is wrong with how ``command`` ends, or None. ``statuses`` are those that are right."""
    try:
        # Waits between attempts are no harm of a file.
        with limited(seconds), patch.object(endpoints, "_LONGEST_WAIT", 0.01):
            found = CliRunner().invoke(app, command)
    except TooSlow:
        return f"took more than {seconds:g} s"
    error = found.exception
    output = found.output
    if isinstance(error, AssayError):
        output += str(error)
    elif isinstance(error, TooSlow):
        return f"took more than {seconds:g} s"
    elif error is not None and not isinstance(error, SystemExit):
        where = "".join(traceback.format_exception(error)[-4:])
        return f"{type(error).__name__}: {where[-1500:]}"
    status = error.exit_status if isinstance(error, AssayError) else found.exit_code
    if status not in statuses:
        return f"exit status {status}: {output[-300:]}"
    seen = _CALM.search(output)
    return f"output holds {seen[0]!r}: {output[seen.start() - 60 :][:120]!r}" if seen else None


def try_case(name: str, seed: int, case: int, size: int, seconds: float) -> list[str]:
    """The findings of one mutated file under each of its format's commands."""
    subject = SUBJECTS[name]
    chooser = random.Random(f"{seed}/{name}/{case}")
    data = mutated(original(subject), chooser, size)
    findings = []
    for command, wrong, took in tried(subject, data, seconds):
        if wrong:
            again = f"--seed {seed} --only {name} --case {case} --size {size}"
            findings.append(f"{again}  assay {command}  ({took:.1f} s)\n    {wrong}")
    return findings


def original(subject: Subject) -> bytes:
    """The file of a format as it was before any harm."""
    if isinstance(subject.seed, bytes):
        return subject.seed
    return (judged(str(subject.folder)) / subject.seed).read_bytes()


def tried(
    subject: Subject, data: bytes, seconds: float, statuses: Container[int] = range(4)
) -> Iterator[tuple[str, str | None, float]]:
    """Each command of a format over ``data`` in place of its file: what is wrong with how it ends,
    or None, and its seconds."""
    for command in subject.commands:
        # Threads of an index that could not be built may still be writing.
        with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as place:
            here = Path(place) / "here"
            if subject.folder:
                shutil.copytree(judged(subject.folder), here)
            else:
                here.mkdir()
            file = here / subject.name
            if not subject.served:
                file.write_bytes(data)
            names: dict[str, object] = {"FILE": file, "HERE": here, "OUT": Path(place) / "out.txt"}
            if subject.served:
                Served.data = data
                names["SERVER"] = f"openai:m@{server()}"
            words = [
                str(here / word) if (here / word).is_file() else _filled(word, names)
                for word in command.split()
            ]
            started = time.monotonic()
            wrong = run(words, seconds, statuses)
            yield command, wrong, time.monotonic() - started


def _filled(word: str, names: Mapping[str, object]) -> str:
    for name, value in names.items():
        word = word.replace(name, str(value))
    return word


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--cases", type=int, default=40, help="of each format")
    parser.add_argument("--only", choices=SUBJECTS, help="one format")
    parser.add_argument("--case", type=int, help="one case")
    parser.add_argument("--size", type=int, default=1_000_000, help="bytes of a file at most")
    parser.add_argument("--seconds", type=float, default=30.0, help="that a command may take")
    options = parser.parse_args()
    cases = range(options.cases) if options.case is None else [options.case]
    total = 0
    for name in [options.only] if options.only else SUBJECTS:
        for case in cases:
            for finding in try_case(name, options.seed, case, options.size, options.seconds):
                total += 1
                print(finding, flush=True)
    print(f"{total} findings")
    sys.exit(bool(total))


if __name__ == "__main__":
    with suppress(KeyboardInterrupt):
        main()
