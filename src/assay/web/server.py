"""The server of the workbench: one process for one folder.

The event loop never blocks. All access to the ledger and the workbench's state runs in one thread,
in order of arrival; scoring, which may take long, runs in another.
"""

from __future__ import annotations

import asyncio
import logging
import os
import socket
import sys
import threading
import time
from collections.abc import Callable, Collection, Iterator, Mapping
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextlib import ExitStack, contextmanager, suppress
from contextvars import Context, copy_context
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, ParamSpec, TypeVar

from aiohttp import web
from aiohttp.log import server_logger

from assay.api.bank import WantedEdit, edit_bank
from assay.api.opened import Opened
from assay.ledger.chain import Head
from assay.ledger.claims import claim
from assay.ledger.exchange import person as named
from assay.ledger.exchange import spelt_alike
from assay.ledger.opening import move_log
from assay.model.errors import AssayError, LedgerError, SettingsError
from assay.model.progress import ProgressCallback
from assay.protocols.folder import Folder
from assay.web import live
from assay.web.bank import moved_in_words
from assay.web.desk import AT_ONCE, Desk
from assay.web.pages import routes
from assay.web.people import Person, Role
from assay.web.prospects import Prospects, look_ahead
from assay.web.replies import BENCH
from assay.web.report import LiveReport, write_live
from assay.web.runs import ScoredFolder
from assay.web.security import MAX_BODY, guard
from assay.web.state import WorkbenchState
from assay.web.turns import SHARED, Behind, Turns

P = ParamSpec("P")
T = TypeVar("T")
_HOURS = 24 * 14  # how long an invitation holds
_PAGE = 0.5
"""Seconds to let a page of an unwanted report be written before its folder is removed."""
_CLAIM = "workbench.sqlite-open"
_IN_LOGS = 5.0
"""Seconds for which labels may be in the logs alone, and missing from a copy of the file."""
_CONNECTIONS = 16384  # and other open files; some 200 MB


class _Left(Exception):
    """The work in progress is no longer wanted."""


@dataclass
class Bench:
    """A folder being served: its desk, and the desk's thread."""

    opened: Opened
    desk: Desk = field(init=False)
    address: str = field(default="", init=False)
    _thread: ThreadPoolExecutor = field(init=False)
    _scoring: ThreadPoolExecutor = field(init=False)
    _trying: ThreadPoolExecutor = field(init=False)
    _writing: Future[None] | None = field(default=None, init=False)
    _stopped: threading.Event = field(default_factory=threading.Event, init=False)
    _context: Context = field(default_factory=copy_context, init=False)
    _rests_until: float = field(default=0.0, init=False)
    _scored: ScoredFolder | None = field(default=None, init=False)
    _scores_due: Future[ScoredFolder] | None = field(default=None, init=False)
    _agreed: tuple[Head | None, live.Agreements] | None = field(default=None, init=False)
    _tried: tuple[ScoredFolder, Prospects] | None = field(default=None, init=False)
    _open: ExitStack = field(default_factory=ExitStack, init=False)
    _turns: Turns = field(default_factory=Turns, init=False)

    _flushing: asyncio.Task[None] | None = field(default=None, init=False)
    _unflushed: int = field(default=0, init=False)
    _moving: asyncio.Task[None] | None = field(default=None, init=False)
    _logged: list[Path] = field(default_factory=list, init=False)

    def __post_init__(self) -> None:
        self.progress = Behind(self._progress)
        self.outlook = Behind(self._prospects)
        self.report = LiveReport(self._write_report, self._head)

    @property
    def secure(self) -> bool:
        """Whether people connect by https."""
        return self.address.startswith("https:")

    @property
    def title(self) -> str:
        """The folder's title."""
        return self.opened.folder.title

    def start(self) -> None:
        """Open the desk and load the units. Raises AssayError."""
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="desk")
        self._scoring = ThreadPoolExecutor(1, thread_name_prefix="scoring")
        self._trying = ThreadPoolExecutor(1, thread_name_prefix="trying")
        try:
            self.now(self._start)
        except BaseException:
            self.stop()
            raise

    def _start(self) -> None:
        self.desk = self._open.enter_context(Desk.open(self.opened))
        self.desk.ledger.check_writable()  # before people label what could not be kept
        places = (self.desk.ledger.place, self.desk.state.path)
        self._logged = [place for place in places if isinstance(place, Path)]
        self.desk.sync()
        self._move_logs()

    def stop(self) -> None:
        """Close everything once people's labels are stored. Computations in progress are left
        behind: they end by themselves, and write nothing that is not recreated."""
        self._stopped.set()
        for one in (self._trying, self._scoring):
            one.shutdown(wait=False, cancel_futures=True)
        self.now(self._open.close)
        self._thread.shutdown()
        if self._writing is not None:
            wait([self._writing], timeout=_PAGE)
        self._move_logs()  # who scores has the ledger open still
        self.report.close()

    def now(self, job: Callable[P, T], *args: P.args, **more: P.kwargs) -> T:
        """Run ``job`` in the desk's thread and return its result."""
        return self._in(self._thread, job, *args, **more).result()

    async def do(self, job: Callable[P, T], *args: P.args, **more: P.kwargs) -> T:
        """The same for who must not wait."""
        with self._turns.served():
            return await asyncio.wrap_future(self._in(self._thread, job, *args, **more))

    async def give(self, person: Person, number: int, said: Mapping[str, Any]) -> dict[str, Any]:
        """What :meth:`Desk.give` does. The disk is told to keep the label at once, for a power cut,
        which nobody waits for; a kill loses nothing anyway."""
        done = await self.do(self.desk.give, person, number, said)
        self._unflushed += 1
        if self._flushing is None or self._flushing.done():
            self._flushing = asyncio.create_task(self._flush())
        return done

    async def _flush(self) -> None:
        while self._unflushed:
            self._unflushed = 0
            try:
                await asyncio.to_thread(self.desk.ledger.flush)
            except OSError as error:
                print(f"A power cut could lose the latest labels: {error}", file=sys.stderr)
            if self._moving is None or self._moving.done():
                self._moving = asyncio.create_task(self._move_soon())

    async def _move_soon(self) -> None:
        await asyncio.sleep(_IN_LOGS)
        self._moving = None  # what comes from now on has to be moved after this
        await asyncio.to_thread(self._move_logs)

    def _move_logs(self) -> None:
        for place in self._logged:
            with suppress(LedgerError):  # it is tried again, and nothing is lost meanwhile
                move_log(place)

    async def beside(self, look: Callable[[WorkbenchState], T]) -> T:
        """What a look into the state finds that takes long: nobody's label waits for it."""

        def looked() -> T:
            with WorkbenchState(self.desk.state.path) as state:
                return look(state)

        return await asyncio.to_thread(looked)

    async def _in_scoring_thread(self, job: Callable[P, T], *args: P.args, **more: P.kwargs) -> T:
        """What ``job`` gives, done in the thread that scores."""
        return await asyncio.wrap_future(self._in(self._scoring, job, *args, **more))

    def _in(
        self, thread: ThreadPoolExecutor, job: Callable[P, T], *args: P.args, **more: P.kwargs
    ) -> Future[T]:
        # What the command line trusts (--trust) is trusted there, too.
        return thread.submit(self._context.copy().run, partial(job, *args, **more))

    async def session(self, cookie: str, looks: bool) -> tuple[Person, str] | None:
        """Who comes with a cookie (:meth:`State.session`)."""
        return await self.do(self.desk.state.session, cookie, looks=looks) if cookie else None

    async def _progress(self) -> tuple[ScoredFolder, live.Agreements]:
        """Scores and agreement, for a page that is looked at all the time."""
        return await self.scored(), await self.agreement()

    async def _prospects(self) -> Prospects:
        """What more labels would do, tried once for each state of the ledger."""
        scored = await self.scored()
        if self._tried is None or self._tried[0] is not scored or self._tried[1].why:
            stopped = self._stopped.is_set
            job = self._in(self._trying, look_ahead, self.opened, scored, stopped)
            self._tried = (scored, await asyncio.wrap_future(job))
        return self._tried[1]

    async def scored(self) -> ScoredFolder:
        """The scores as the labels stand, which are computed once for each state of the ledger;
        labelling goes on meanwhile. All who ask before that is begun wait for the same."""
        due = self._scores_due
        if due is None or due.running() or due.done():
            due = self._scores_due = self._in(self._scoring, self._score)
        # Whoever goes away ends nothing that others wait for.
        return await asyncio.shield(asyncio.wrap_future(due))

    def _score(self) -> ScoredFolder:
        with self.opened.ledger() as ledger:
            head = ledger.head()
        if self._scored is None or self._scored.head != head:
            self._scored = ScoredFolder.of(self.opened)
            self.now(self.desk.state.set_ranges, self._scored.ranges())
        return self._scored

    async def agreement(self) -> live.Agreements:
        """How far labellers agree, which is computed once for each state of the ledger."""
        return await self._in_scoring_thread(self._agreement)

    def _agreement(self) -> live.Agreements:
        with Desk.open(self.opened) as other:
            head = other.ledger.head()
            if self._agreed is None or self._agreed[0] != head:
                self._agreed = (head, live.agreements(other))
        return self._agreed[1]

    async def _write_report(self, folder: Path, told: ProgressCallback) -> None:
        def heard(what: str, done: int, share: float | None) -> None:
            if self._stopped.is_set():
                raise _Left
            told(what, done, share)

        self._writing = self._in(self._scoring, write_live, self.opened, folder, heard)
        await asyncio.wrap_future(self._writing)

    async def _head(self) -> Head:
        return await self.do(lambda: self.desk.ledger.head())

    async def edited_bank(self, wanted: WantedEdit, by: str) -> dict[str, str]:
        """Edit the folder's question bank, take the folder up anew, and say what moved."""
        before = await self.scored()
        told = await self.do(self._edit_bank, wanted, by)
        return {"told": told, "moved": moved_in_words(before, await self.scored())}

    async def moved_scores(self) -> str:
        """What the labels since the scores were last worked out move; empty where they never were,
        or there are none."""
        before, after = self._scored, await self.scored()
        return "" if before is None or before is after else moved_in_words(before, after)

    def _edit_bank(self, wanted: WantedEdit, by: str) -> str:
        done = edit_bank(self.opened.folder.path, by, wanted)
        self.opened = Opened.of(Folder.open(self.opened.folder.path))
        self.desk.take_up(self.opened)
        self._scored = None
        self.report.forget()
        return done

    def keep_fresh(self) -> None:
        """Load, in the scoring thread, units that new labels have opened. To leave time for others,
        it pauses while anybody is served, and rests ten times as long as it works."""
        desk, now = self.desk, time.monotonic()
        if desk.stale and desk.sync_takes >= AT_ONCE and now > self._rests_until:
            desk.stale = False
            # Once for doing it, ten times for resting.
            self._rests_until = now + 11 * desk.sync_takes
            self._in(self._scoring, self._sync)

    def _sync(self) -> None:
        try:
            with Desk.open(self.opened) as other:
                other.sync(self._turns.last)
            # Once more at once where it takes no time: it took long in a busy moment alone.
            self.desk.sync_takes = other.sync_takes
            self._move_logs()
        except AssayError as error:
            self.desk.stale = True
            print(
                f"Units that became open through labels could not be added: {error}",
                file=sys.stderr,
            )

    def link(self, name: str, role: Role | None) -> tuple[Person, str]:
        """A person (whose role is unchanged if ``role`` is None) and a link that lets them in once.
        Raises SettingsError for an invalid name, or one that reads like another's."""
        return self.now(self._link, name, role)

    def unattended(self) -> list[str]:
        """Topics that can never be completed (:func:`live.unattended`)."""
        desk = self.desk
        return self.now(live.unattended, desk, desk.state) if desk.ui.topics else []

    async def invited(self, name: str, role: Role) -> str:
        """The link for who must not wait."""
        return (await self.do(self._link, name, role))[1]

    def _link(self, name: str, role: Role | None) -> tuple[Person, str]:
        name = name.removeprefix("human:")  # as labels have it
        try:
            named(f"human:{name}")
        except SettingsError as error:
            told = (
                f"{name!r} is not a name. Give a name of visible characters and ordinary spaces "
                "only."
            )
            raise SettingsError(told) from error
        state = self.desk.state
        other = spelt_alike(name, (one.name for one in state.people()))
        if other is not None:
            raise SettingsError(
                f"There is already {other}, and people could mistake {name} for the same person. "
                f"Write {other} (--as, --invite), or give somebody else a different name."
            )
        person = state.person(name, role)
        self.desk.leave_out()
        return person, f"{self.address}/enter?t={state.link(person, hours=_HOURS)}"


@contextmanager
def opened_bench(opened: Opened) -> Iterator[Bench]:
    """A folder's workbench, held by this process alone. Raises LedgerError if another holds it."""
    folder = opened.folder.path
    cure = "Make links on its page People, or stop it and run the command again."
    what = f"{folder}: another process has the workbench open"
    with claim(folder / _CLAIM, what, cure=cure):
        bench = Bench(opened)
        bench.start()
        try:
            yield bench
        finally:
            bench.stop()


def application(bench: Bench, hosts: Collection[str]) -> web.Application:
    """The web application of a workbench with the host names ``hosts``."""
    guarded = guard(hosts, bench.session, bench.secure)
    app = web.Application(middlewares=[guarded], client_max_size=MAX_BODY)
    app[BENCH] = bench
    app.add_routes(routes())
    return app


def serve(
    bench: Bench, found: socket.socket, hosts: Collection[str], ready: Callable[[], None]
) -> None:
    """Serve until Ctrl-C or SIGTERM; ``ready`` is called once the server answers."""

    async def started(_app: web.Application) -> None:
        ready()

    sys.setswitchinterval(SHARED)
    _hold_many()
    # What is no HTTP is refused with a traceback each, which has the request's words (a link's).
    server_logger.setLevel(logging.CRITICAL)
    app = application(bench, hosts)
    app.on_startup.append(started)
    with suppress(web.GracefulExit):  # of a second signal while it ends
        web.run_app(
            app, sock=found, print=None, access_log=None, shutdown_timeout=2, handle_signals=True
        )


def _hold_many() -> None:
    """Raise the limit of open connections above the default of about a thousand, so that idle
    connections cannot keep others out."""
    try:
        import resource  # noqa: PLC0415 (there is none on Windows)
    except ImportError:
        return
    few, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = _CONNECTIONS if most == resource.RLIM_INFINITY else min(_CONNECTIONS, most)
    if few != resource.RLIM_INFINITY and few < wanted:
        # A Mac may allow a process fewer than it says, and a container none of its own.
        with suppress(ValueError, OSError):
            resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, most))


def me() -> str:
    """The user of this machine, as a valid name for labels."""
    name = os.environ.get("USER") or os.environ.get("USERNAME") or ""
    with suppress(SettingsError):
        named(f"human:{name}")
        return name
    return "me"
