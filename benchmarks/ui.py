"""The workbench under 20 people at once, on one folder of 100,000 units.

Run: ``python benchmarks/ui.py [--units N] [--people K] [--labels L]``. A real ``assay ui`` serves a
made R2C2 folder; each person is a thread with a connection of its own, that asks for units,
labels each and goes on, as the page does, without stopping to think (450 at most: nobody may make
more than a thousand requests in a row). Prints labels a second, the
median and the 99th percentile of the time from a verdict to its reply (by then it is in the
ledger), how long the server took to open, its peak memory, and what the ledger has of it. With
``--browser`` one more person labels in headless Chromium alone, once the others are done: the time
from the key that submits to the frame in which the next unit is painted.
"""

from __future__ import annotations

import argparse
import http.client
import json
import re
import shutil
import sqlite3
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

from playwright.sync_api import sync_playwright

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))

from tests.golden.large import write_r2c2  # noqa: E402 (found by what was done above)

TASK = "r2c2.entailment"


class Person(threading.Thread):
    """Somebody who labels as fast as the server goes."""

    def __init__(self, link: str, labels: int) -> None:
        super().__init__()
        self.base, _, self.token = link.partition("/enter?t=")
        self.labels, self.times, self.waits = labels, [], []
        self.connection = http.client.HTTPConnection(self.base.removeprefix("http://"))
        self.headers = {"Content-Type": "application/json"}

    def ask(self, path: str, body: object = None) -> bytes:
        method, data = ("GET", None) if body is None else ("POST", json.dumps(body))
        self.connection.request(method, path, data, self.headers)
        reply = self.connection.getresponse()
        text = reply.read()
        if reply.status == 302:
            self.headers["Cookie"] = (reply.getheader("Set-Cookie") or "").partition(";")[0]
        elif reply.status != 200:
            raise SystemExit(f"{path}: {reply.status} {text[:200]!r}")
        return text

    def run(self) -> None:
        self.ask(f"/enter?t={self.token}&here=1")
        page = self.ask(f"/label/{TASK}").decode()
        start = json.loads(re.search(r'<script id="start"[^>]*>(.*?)</script>', page, re.S)[1])
        self.headers["X-Assay-Token"] = start["token"]
        ahead = start["screens"]
        for _ in range(self.labels):
            screen = ahead.pop(0)
            said = {"verdict": {"entailed": "YES"}, "before": None, "mode": screen["mode"]}
            began = time.perf_counter()
            self.ask(f"/api/label/{screen['unit']}", said)
            self.times.append(time.perf_counter() - began)
            if len(ahead) > 3:  # as the page does
                continue
            have = ",".join(str(one["unit"]) for one in ahead)
            began = time.perf_counter()
            ahead += json.loads(self.ask(f"/api/next/{TASK}?queue=open&have={have}"))
            self.waits.append(time.perf_counter() - began)


_SHARES = {"median": 0.5, "p90": 0.9, "p99": 0.99, "slowest": 1.0}
_PAINT = """
const times = [];
let pressed = 0;
document.addEventListener("keydown", (event) => {
  if (event.key === "Enter") pressed = performance.now();
}, true);
const channel = new MessageChannel();
channel.port1.onmessage = () => {
  if (pressed) { times.push((performance.now() - pressed) / 1000); pressed = 0; }
};
const seen = new MutationObserver(
  () => requestAnimationFrame(() => channel.port2.postMessage(0))
);
seen.observe(document.getElementById("bench"), {
  attributes: true, attributeFilter: ["data-unit"]
});
window.paints = times;
"""


def painted(link: str, labels: int) -> list[float]:
    """Seconds from the submitting key to the paint of the next unit."""
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=shutil.which("chromium"), args=["--no-sandbox"]
        )
        page = browser.new_page()
        page.goto(link)
        page.goto(f"{link.partition('/enter')[0]}/label/{TASK}")
        page.evaluate(f"() => {{ {_PAINT} }}")
        page.wait_for_timeout(1000)  # somebody reads, here and after each label
        for number in range(labels):
            page.keyboard.press("2")
            page.keyboard.press("Enter")
            while page.evaluate("window.paints.length") <= number:
                page.wait_for_timeout(10)
            page.wait_for_timeout(150)
        found: list[float] = page.evaluate("window.paints")
        browser.close()
    return found


def percentile(values: list[float], share: float) -> str:
    """A time in milliseconds, for people."""
    ordered = sorted(values)
    return f"{ordered[min(len(ordered) - 1, int(share * len(ordered)))] * 1000:.1f} ms"


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("--units", type=int, default=100_000)
    options.add_argument("--people", type=int, default=20)
    options.add_argument("--labels", type=int, default=200, help="by each person")
    options.add_argument("--browser", action="store_true", help="time key to paint, too")
    given = options.parse_args()
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place) / "folder"
        folder.mkdir()
        write_r2c2(folder, given.units)
        names = [f"P{n}" for n in range(given.people)]
        invited = [part for name in names for part in ("--invite", name)]
        began = time.perf_counter()
        server = subprocess.Popen(
            [sys.executable, "-m", "assay.cli.main", "ui", str(folder), "--no-browser",
             "--port", "0", *invited],
            stdout=subprocess.PIPE, text=True,
        )  # fmt: skip
        links = []
        for line in server.stdout or ():
            if line.startswith("For "):
                links.append(line.split()[-1])
            if line.startswith("Open "):
                links.append(line.split()[-1])
                break
        opened = time.perf_counter() - began
        own = links.pop()
        people = [Person(link, given.labels) for link in links]
        began = time.perf_counter()
        for one in people:
            one.start()
        for one in people:
            one.join()
        took = time.perf_counter() - began
        paints = painted(own, 300) if given.browser else []
        status = Path(f"/proc/{server.pid}/status").read_text(encoding="utf-8")
        peak = int(re.search(r"VmHWM:\s+(\d+)", status)[1]) / 1024
        server.kill()
        server.wait()
        with sqlite3.connect(folder / "labels.sqlite") as db:
            kept, units = db.execute("SELECT COUNT(*), COUNT(DISTINCT unit) FROM labels").fetchone()
        with sqlite3.connect(folder / "workbench.sqlite") as db:
            total = db.execute("SELECT COUNT(*) FROM units").fetchone()[0]
    times = [one for person in people for one in person.times]
    waits = [one for person in people for one in person.waits]
    print(f"{total:,} units, {len(people)} people, {len(times):,} labels")
    print(f"open after {opened:.1f} s, peak memory {peak:,.0f} MB")
    print(f"{len(times) / took:,.0f} labels/s")
    print(f"verdict to reply: median {percentile(times, 0.5)}, p99 {percentile(times, 0.99)}")
    print(f"next units: median {percentile(waits, 0.5)}, p99 {percentile(waits, 0.99)}")
    if paints:
        shares = ", ".join(f"{name} {percentile(paints, share)}" for name, share in _SHARES.items())
        print(f"key to paint: {shares}")
    print(f"in the ledger: {kept:,} labels on {units:,} units")


if __name__ == "__main__":
    main()
