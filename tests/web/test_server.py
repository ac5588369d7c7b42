"""What the server lets in, and what it never does."""

from __future__ import annotations

import asyncio
import http.client
import json
import re
import resource
import shutil
import signal
import socket
import sqlite3
import threading
import time
import webbrowser
from contextlib import ExitStack
from functools import partial
from types import SimpleNamespace

import pytest
from aiohttp import web
from aiohttp.test_utils import TestClient, TestServer

import assay
from assay.cli.ui import show
from assay.model.errors import SettingsError
from assay.web import replies
from assay.web import server as web_server
from assay.web.addresses import address_of, hosts_of, public_address
from assay.web.desk import Refused
from assay.web.people import Person, Role
from assay.web.security import Allowance, guard
from tests.web.conftest import write_folder


class Client:
    """A person's program: no browser, with a cookie once it has entered."""

    def __init__(self, server, link=None):
        self.server, self.cookie, self.token = server, "", ""
        reply, _ = self.get((link or server.link).partition(server.base)[2], Sec_Fetch_Site="none")
        assert reply.status == 302
        self.set_cookie = reply.getheader("Set-Cookie")
        self.cookie = self.set_cookie.partition(";")[0]

    def ask(self, method, path, body=None, **headers):
        connection = http.client.HTTPConnection("127.0.0.1", self.server.port, timeout=10)
        given = {"Cookie": self.cookie, **{k.replace("_", "-"): v for k, v in headers.items()}}
        if body is not None:
            given.setdefault("Content-Type", "application/json")
        connection.request(method, path, body, given)
        reply = connection.getresponse()
        return reply, reply.read().decode()

    def get(self, path, **headers):
        return self.ask("GET", path, **headers)

    def start(self, task="r2c2.entailment", queue="open"):
        _, text = self.get(f"/label/{task}?queue={queue}")
        found = re.search(r'<script id="start"[^>]*>(.*?)</script>', text, re.DOTALL)
        start = json.loads(found.group(1))
        self.token = start["token"]
        return start

    def give(self, screen, verdict, **more):
        body = {"verdict": verdict, "before": None, "mode": screen["mode"], **more}
        reply, text = self.ask(
            "POST", f"/api/label/{screen['unit']}", json.dumps(body), X_Assay_Token=self.token
        )
        return reply.status, json.loads(text)


@pytest.fixture
def server(serve, tmp_path):
    return serve(write_folder(tmp_path / "f"), "--invite", "KIM")


@pytest.fixture(scope="module")
def shared(serve_all, tmp_path_factory):
    """Somebody at a server that refuses whatever these tests ask, and its folder."""
    folder = write_folder(tmp_path_factory.mktemp("shared") / "f")
    client = Client(serve_all(folder))
    client.start()
    return client, folder


def cells_of(page):
    return re.findall(r"<td[^>]*>([\d.–]+) ?<small>([\d.–]+)</small></td>", page)


def human_labels(folder):
    with sqlite3.connect(folder / "labels.sqlite") as db:
        return db.execute(
            "SELECT COUNT(*) FROM labels JOIN labellers ON labellers.id = labeller "
            "WHERE kind = 'human'"
        ).fetchone()[0]


def test_a_link_lets_in_once_with_a_cookie_that_no_other_site_sends(server):
    client = Client(server)
    for part in ("HttpOnly", "SameSite=Strict", "Path=/"):
        assert part in client.set_cookie
    assert client.get("/")[0].status == 200
    assert client.get("/static/bench.css")[0].status == 200  # as a browser does
    client.cookie = ""
    reply, text = client.get(server.link.partition(server.base)[2], Sec_Fetch_Site="none")
    assert reply.status == 200
    assert "This link is not valid" in text
    assert client.get("/")[0].status == 401
    assert client.get("/static/label.js")[0].status == 200


def test_a_preview_of_a_link_does_not_use_it_up(server):
    link = server.invited("KIM")
    previews = [Client(server, link) for _ in range(2)]
    assert previews[0].get("/")[0].status == 200  # it was led there
    reply, _ = previews[0].ask("HEAD", link.partition(server.base)[2], Cookie="")
    assert reply.status == 401
    kim = Client(server, link)
    assert kim.start()["screens"]
    assert [one.get("/")[0].status for one in (kim, *previews)] == [200, 401, 401]
    path = link.partition(server.base)[2]
    assert "This link is not valid" in previews[1].get(path, Cookie="", Sec_Fetch_Site="none")[1]


def test_nothing_stored_lets_anybody_in(server, tmp_path):
    client = Client(server)
    token = server.invited("KIM").partition("t=")[2]
    data = b"".join(path.read_bytes() for path in (tmp_path / "f").glob("workbench.sqlite*"))
    assert token.encode() not in data
    assert client.cookie.partition("=")[2].encode() not in data


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({"Host": "evil.example"}, 403),
        ({"Host": "127.0.0.1.evil.example"}, 403),
        ({"Origin": "http://evil.example"}, 403),
        ({"Origin": "null"}, 403),
        ({"Origin": "http://[evil"}, 403),
        ({"Cookie": b"assay_80=\xff"}, 401),
        ({"Sec_Fetch_Site": "cross-site"}, 403),
        ({"Sec_Fetch_Site": "same-site"}, 403),
        ({"Sec_Fetch_Site": "none"}, 403),
        ({"X_Assay_Token": "guessed"}, 403),
        ({"X_Assay_Token": ""}, 403),
        ({"Cookie": "assay=guessed"}, 401),
        ({"Content_Type": "text/plain"}, 415),
    ],
)
def test_a_change_must_come_from_our_own_page(shared, headers, status):
    client, folder = shared
    screen = client.start()["screens"][0]
    body = json.dumps({"verdict": {"entailed": "YES"}, "before": None, "mode": "blind"})
    sent = {"X_Assay_Token": client.token, **headers}
    reply, _ = client.ask("POST", f"/api/label/{screen['unit']}", body, **sent)
    assert reply.status == status
    assert human_labels(folder) == 0


@pytest.mark.parametrize(
    ("method", "path", "body", "status"),
    [
        ("POST", "/api/label/999999", "{}", 404),
        ("POST", "/api/label/1", "{", 400),
        ("POST", "/api/label/1", "[]", 400),
        ("POST", "/api/label/1", '{"verdict": {"entailed": "MAYBE"}}', 422),
        ("POST", "/api/label/1", '{"verdict": 7}', 422),
        ("POST", "/api/label/1", '"' + "x" * 70_000 + '"', 413),
        ("POST", "/api/aside/1", '{"kind": "drop"}', 404),
        ("GET", "/api/unit/999999", None, 404),
        ("GET", "/api/next/nope", None, 404),
        ("GET", "/label/nope", None, 404),
        ("GET", "/label/..%2f..%2fetc", None, 404),
        ("GET", "/static/..%2fserver.py", None, 404),
        ("GET", "/static/server.py", None, 404),
        ("GET", "/run/99", None, 404),
        ("GET", "/topic/99", None, 404),
        ("GET", "/unit/999", None, 404),
        ("DELETE", "/api/label/1", None, 405),
    ],
)
def test_what_cannot_be_is_refused_in_words(shared, method, path, body, status):
    client, _ = shared
    reply, text = client.ask(method, path, body, X_Assay_Token=client.token)
    assert reply.status == status
    assert "Traceback" not in text
    assert json.loads(text)["error"]


def test_outsiders_learn_nothing_of_the_folder(server):
    client = Client.__new__(Client)
    client.server, client.cookie = server, ""
    for path in ("/", "/enter", "/enter?t=x", "/static/nope.js", server.invited("KIM")[-40:]):
        assert "Small" not in client.get(path, Accept="text/html", Sec_Fetch_Site="none")[1]


def test_what_goes_wrong_in_a_page_is_told_in_the_terminal_alone(capsys):
    async def broken(_request):
        raise RuntimeError("the secret")

    async def nobody(_cookie, _looks):
        return None

    async def asked():
        hosts = set()
        app = web.Application(middlewares=[guard(hosts, nobody)])
        app.router.add_get("/static/label.js", broken)
        async with TestClient(TestServer(app)) as client:
            hosts.add(f"127.0.0.1:{client.port}")
            reply = await client.get("/static/label.js")
            return reply.status, reply.headers["X-Content-Type-Options"], await reply.text()

    status, sniffing, text = asyncio.run(asked())
    assert (status, sniffing) == (500, "nosniff")
    assert "secret" not in text
    assert "the secret" in capsys.readouterr().err


async def _broken_off():
    raise ConnectionResetError


@pytest.mark.parametrize("read", [lambda: asyncio.Event().wait(), _broken_off])
def test_a_request_that_never_ends_or_breaks_off_is_refused(monkeypatch, read):
    monkeypatch.setattr(replies, "_SLOWEST", 0.01)
    never = SimpleNamespace(content_type="application/json", read=read)
    with pytest.raises(Refused, match="took too long, or broke off") as refused:
        asyncio.run(replies.body_of(never))
    assert refused.value.status == 408


def test_a_person_may_ask_for_no_more_than_people_do():
    now = [0.0]
    allowance = Allowance(lambda: now[0])
    ann, kim = (Person(n, "X", Role.LABELLER) for n in (1, 2))
    made = [allowance.has(ann) for _ in range(2000)]
    assert made == [True] * 1000 + [False] * 1000
    assert allowance.has(kim)
    now[0] = 1.0
    assert [allowance.has(ann) for _ in range(20)] == [True] * 10 + [False] * 10
    now[0] = 1e6
    assert sum(allowance.has(ann) for _ in range(2000)) == 1000


def test_every_reply_forbids_what_is_not_ours(shared):
    client, _ = shared
    for path in ("/", "/label/r2c2.entailment", "/search?q=bridge", "/nope", "/static/label.js"):
        reply, text = client.get(path)
        policy = reply.getheader("Content-Security-Policy")
        assert "default-src 'none'" in policy
        assert "require-trusted-types-for 'script'" in policy
        assert "unsafe" not in policy
        assert reply.getheader("X-Content-Type-Options") == "nosniff"
        assert reply.getheader("Cache-Control") in ("no-store", "no-cache")  # scripts go with pages
        assert not re.search(r"\son\w+=", text) or path.startswith("/static")


def test_every_page_has_a_title_of_its_own(shared):
    client, _ = shared
    paths = ("/", "/label/r2c2.entailment", "/runs", "/run/0", "/topic/0", "/unit/1", "/unit/2",
             "/search", "/search?q=a", "/live", "/people", "/units?n=1")  # fmt: skip
    titles = [re.search("<title>(.+?) · Small · Assay", client.get(path)[1]) for path in paths]
    assert all(titles)
    assert len({one[1] for one in titles}) == len(paths)


def test_leaderboards_are_those_of_the_report(shared):
    client, folder = shared
    page, notebook = client.get("/runs")[1], assay.open(folder)._repr_html_()
    assert len(cells_of(page)) > 20
    assert cells_of(page)[:10] == cells_of(notebook)[:10]
    assert "<td>1=</td>" in page
    assert ">.30–.70<" in page  # an error that nobody knows, from the lower end to the higher


def test_labellers_see_no_page_that_shows_what_others_said(server):
    kim = Client(server, server.invited("KIM"))
    for path in ("/runs", "/run/0", "/topic/0", "/unit/1", "/search?q=a", "/live", "/people"):
        assert kim.get(path)[0].status == 403
    kim.start()
    for path, body in (
        ("/api/invite", '{"name": "EVE", "role": "organiser"}'),
        ("/api/leave", "{}"),
    ):
        assert kim.ask("POST", path, body, X_Assay_Token=kim.token)[0].status == 403
    assert kim.get("/label/r2c2.entailment?queue=disagreements")[0].status == 403


def test_organisers_invite_people_and_let_them_in_no_more(server):
    ann = Client(server)
    ann.start()
    body = '{"name": "LEE", "role": "adjudicator"}'
    _, text = ann.ask("POST", "/api/invite", body, X_Assay_Token=ann.token)
    lee = Client(server, json.loads(text)["told"].rpartition(" ")[2])
    assert lee.get("/runs")[0].status == 200
    number = re.search(r'LEE</bdi>.*?data-leave="(\d+)"', ann.get("/people")[1]).group(1)
    reply, _ = ann.ask("POST", "/api/leave", f'{{"person": {number}}}', X_Assay_Token=ann.token)
    assert reply.status == 200
    assert lee.get("/runs")[0].status == 401
    assert "<td>0</td><td>–</td><td>no</td>" in ann.get("/people")[1]
    for name in ("", "a\nb", " x"[:1]):
        body = json.dumps({"name": name, "role": "labeller"})
        reply, _ = ann.ask("POST", "/api/invite", body, X_Assay_Token=ann.token)
        assert reply.status == 422


def test_labels_from_elsewhere_show_where_nobody_labels(server, tmp_path, assay):
    ann = Client(server)
    unit = {one["name"]: one["value"] for one in ann.start()["screens"][0]["texts"]}
    row = {"task": "r2c2.entailment", "verdict": {"entailed": "YES"}, "unit": unit}
    (tmp_path / "one.jsonl").write_text(json.dumps(row), encoding="utf-8")
    done = assay("labels", "import", tmp_path / "f", tmp_path / "one.jsonl", "--by", "human:SAM")
    assert done.returncode == 0, done.stderr
    assert re.search("SAM</bdi></th><td>r2c2.entailment</td><td>1</td>", ann.get("/live")[1])
    done = assay("labels", "import", tmp_path / "f", tmp_path / "one.jsonl", "--by", "human:SUE")
    assert re.search("SUE</bdi></th><td>labeller</td><td>1</td>", ann.get("/people")[1])


def test_nobody_sees_anothers_label_before_giving_their_own(server):
    ann, kim = Client(server), Client(server, server.invited("KIM"))
    screen = ann.start()["screens"][0]
    assert ann.give(screen, {"entailed": "YES"}, reason="SECRET WORDS")[0] == 200
    kim.start()
    assert "SECRET WORDS" not in kim.get(f"/api/unit/{screen['unit']}")[1]
    assert kim.get(f"/api/unit/{screen['unit']}?mode=adjudication")[0].status == 403
    for said in ("later", "flag"):
        body = json.dumps({"kind": said, "text": "flagged" if said == "flag" else "<b>hard</b>"})
        path = f"/api/aside/{screen['unit']}"
        assert ann.ask("POST", path, body, X_Assay_Token=ann.token)[0].status == 200
    for path in ("/live", f"/unit/{screen['unit']}"):
        page = ann.get(path)[1]
        assert re.search(r": put off <span[^>]*>&lt;b&gt;hard&lt;/b&gt;</span>", page)
        assert re.search(r": flag <span[^>]*></span>", page)


@pytest.mark.parametrize(
    ("kind", "asked", "opens"),
    [
        (
            webbrowser.GenericBrowser,
            False,
            False,
        ),  # as lynx is, on a server
        (webbrowser.GenericBrowser, True, True),
        (webbrowser.BackgroundBrowser, False, True),
    ],
)
def test_no_browser_takes_the_terminal_or_is_waited_for(monkeypatch, kind, asked, opens):
    opened, closed = threading.Event(), threading.Event()
    monkeypatch.delenv("BROWSER", raising=False)
    if asked:
        monkeypatch.setenv("BROWSER", "lynx")
    monkeypatch.setattr(webbrowser, "get", lambda: kind("lynx"))
    monkeypatch.setattr(webbrowser, "open", lambda _: (opened.set(), closed.wait(20)))
    show("http://127.0.0.1/")
    assert opened.wait(5 if opens else 0.05) is opens
    closed.set()


def test_a_second_server_is_told_that_the_folder_is_open(server, tmp_path, assay_process):
    done = assay_process("ui", tmp_path / "f", "--no-browser", "--port", "0")
    assert done.returncode == 2
    assert "another process has the workbench open" in done.stderr
    assert "Make links on its page People" in done.stderr


def test_labels_survive_a_kill_and_sessions_go_on(serve, tmp_path):
    folder = write_folder(tmp_path / "f")
    first = serve(folder)
    client = Client(first)
    kept = 0
    for screen in client.start()["screens"]:
        status, found = client.give(screen, {"entailed": "NO"})
        assert status == 200
        assert found["uid"]
        kept += 1
    first.kill()
    assert human_labels(folder) == kept
    client.server = serve(folder, port=first.port)
    assert client.get("/")[0].status == 200
    left = client.start()["screens"]
    assert len(left) == 4 - kept


def test_a_full_disk_is_told_and_nothing_is_lost(serve, tmp_path):
    questions = "".join(f"{n}\tWhy {n}?\tSimple\tx\n" for n in range(40))
    passages = "".join(f"{n};1;d{n};Because of {n}.\n" for n in range(40))
    answers = {"ONE": "".join(f"<{n}>\nx {n};5\n</{n}>\n" for n in range(40))}
    folder = write_folder(tmp_path / "f", questions=questions, passages=passages, answers=answers)
    serve(folder).stop()  # makes the files
    sizes = [path.stat().st_size for path in folder.glob("*.sqlite*")]

    room = (max(sizes) + 150_000, resource.RLIM_INFINITY)
    little_room = partial(resource.setrlimit, resource.RLIMIT_FSIZE, room)
    client = Client(serve(folder, before=little_room))
    kept, refused = 0, ""
    ahead = client.start("r2c2.dialogue_act")["screens"]
    while ahead and not refused:
        status, found = client.give(ahead.pop(0), {"act": "answer"}, reason="w" * 3000)
        if status == 200:
            kept += 1
            ahead = ahead or client.start("r2c2.dialogue_act")["screens"]
        else:
            assert status == 503
            refused = found["error"]
    assert "Not kept" in refused
    assert kept > 0
    client.server.process.kill()
    assert refused in client.server.stdout.read()
    client.server.kill()
    assert human_labels(folder) == kept
    again = Client(serve(folder))
    assert len(again.start("r2c2.dialogue_act")["screens"]) > 0
    assert human_labels(folder) == kept


def test_connections_that_say_nothing_keep_nobody_out(serve, tmp_path):
    few = partial(
        resource.setrlimit, resource.RLIMIT_NOFILE,
        (60, resource.getrlimit(resource.RLIMIT_NOFILE)[1]),
    )  # fmt: skip
    server = serve(write_folder(tmp_path / "f"), before=few)
    with ExitStack() as silent:
        for _ in range(100):
            silent.enter_context(socket.create_connection(("127.0.0.1", server.port)))
        assert Client(server).start()["screens"]


def test_a_machine_that_lets_no_process_hold_more_serves_all_the_same(monkeypatch):
    def refused(*_):
        raise ValueError("current limit exceeds maximum limit")

    monkeypatch.setattr(resource, "getrlimit", lambda _: (256, resource.RLIM_INFINITY))
    monkeypatch.setattr(resource, "setrlimit", refused)
    web_server._hold_many()


@pytest.mark.allow_hosts(["192.0.2.1"])  # nothing is sent there
def test_a_server_for_other_machines_goes_by_their_name_of_it():
    names = hosts_of("0.0.0.0", 8080)
    assert {f"{socket.gethostname().casefold()}:8080", "127.0.0.1:8080"} <= set(names)
    assert address_of("0.0.0.0", 8080).removeprefix("http://").casefold() in names
    assert not any(one.startswith(socket.gethostname()) for one in hosts_of("127.0.0.1", 1))
    assert address_of("::1", 80) == "http://[::1]:80"
    assert {"[::1]:80", "[::1]", "localhost"} <= set(hosts_of("::1", 80))
    assert "localhost" not in hosts_of("127.0.0.1", 8080)


def test_ctrl_c_ends_it(server):
    assert server.stop() in (0, 130)


def never_written():
    """Has reports take longer than any test waits, with the ledger open."""

    def held(opened, *_):
        with opened.folder.open_ledger() as ledger:
            ledger.head()
            time.sleep(600)

    web_server.write_live = held


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_it_ends_while_a_report_is_made_and_keeps_every_label(serve, tmp_path, number):
    folder = write_folder(tmp_path / "f")
    server = serve(folder, before=never_written)
    client = Client(server)
    screens = client.start("r2c2.dialogue_act")["screens"]
    _, text = client.get("/report")
    assert "Making the report" in text
    assert client.give(screens[0], {"act": "answer"})[0] == 200
    server.process.send_signal(number)
    assert server.process.wait(60) == 0
    (tmp_path / "copy").mkdir()  # of the ledger alone, without a log beside it
    shutil.copy(folder / "labels.sqlite", tmp_path / "copy")
    assert human_labels(tmp_path / "copy") == human_labels(folder) == 1
    left = Client(serve(folder)).start("r2c2.dialogue_act")["screens"]
    assert screens[0]["unit"] not in {one["unit"] for one in left}


def test_a_second_ctrl_c_ends_it_too(serve, tmp_path):
    server = serve(write_folder(tmp_path / "f"), before=never_written)
    client = Client(server)
    assert "Making the report" in client.get("/report")[1]
    server.process.send_signal(signal.SIGINT)
    time.sleep(0.1)
    server.process.send_signal(signal.SIGINT)
    assert server.process.wait(60) in (0, 130)


def test_a_proxy_may_stand_before_it(serve, tmp_path):
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    public = "https://label.example.org"
    server = serve(write_folder(tmp_path / "f"), "--url", public, port=port)
    assert server.link.startswith(f"{public}/enter?t=")
    client = Client(server)
    assert client.set_cookie.startswith("__Host-")
    assert "Secure" in client.set_cookie
    screen = client.start()["screens"][0]
    body = json.dumps({"verdict": {"entailed": "YES"}, "before": None, "mode": screen["mode"]})
    for host in ("label.example.org", f"127.0.0.1:{port}"):  # as it hands on the name, or not
        name = f"__Host-assay_{port if str(port) in host else 80}"
        cookie = f"{name}={client.cookie.partition('=')[2]}"
        sent = {"Host": host, "Origin": public, "Sec_Fetch_Site": "same-origin", "Cookie": cookie}
        path = f"/api/label/{screen['unit']}"
        reply, _ = client.ask("POST", path, body, X_Assay_Token=client.token, **sent)
        assert reply.status == 200
        elsewhere = {**sent, "Origin": "https://evil.example"}
        reply, _ = client.ask("POST", path, body, X_Assay_Token=client.token, **elsewhere)
        assert reply.status == 403


@pytest.mark.parametrize(
    ("url", "found"),
    [
        ("https://label.example.org/", ("https://label.example.org", "label.example.org")),
        ("https://Label.example.org:443", ("https://label.example.org", "label.example.org")),
        ("http://label.example.org:443", ("http://label.example.org:443", "label.example.org:443")),
        ("https://büro.example", ("https://xn--bro-hoa.example", "xn--bro-hoa.example")),
        ("https://[fd00::1]:8443", ("https://[fd00::1]:8443", "[fd00::1]:8443")),
    ],
)
def test_a_public_address_is_that_of_a_host(url, found):
    assert public_address(url) == found


@pytest.mark.parametrize(
    "url",
    ["label.example.org", "ftp://a", "https://", "https://a/b", "https://a?b", "https://u:p@a",
     "https://a:99999"],
)  # fmt: skip
def test_what_is_no_public_address_is_refused(url):
    with pytest.raises(SettingsError, match="only the address of a server"):
        public_address(url)


def test_a_name_may_be_written_as_in_labels(serve, tmp_path):
    folder = write_folder(tmp_path / "f")
    server = serve(folder, "--invite", "human:KIM", name="human:ANN")
    assert Client(server, server.invited("KIM")).start()["screens"]
    client = Client(server)
    screen = client.start()["screens"][0]
    assert client.give(screen, {"entailed": "YES"})[0] == 200
    with sqlite3.connect(folder / "labels.sqlite") as db:
        assert ("human:ANN",) in db.execute("SELECT name FROM labellers").fetchall()
