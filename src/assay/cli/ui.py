"""``assay ui``: the workbench in a browser."""

from __future__ import annotations

import os
import threading
import webbrowser
from pathlib import Path
from typing import Annotated

import typer

from assay.api.opened import Opened
from assay.cli.common import forms, remark
from assay.cli.ending import AtOnce
from assay.model.locking import NO_LOCKS_WARNING
from assay.model.options import Argument, Option
from assay.web import addresses, server
from assay.web.people import Role


@forms()
def ui_command(
    folder: Annotated[Path, Argument("FOLDER", "The evaluation folder.")],
    port: Annotated[
        int, Option("Port to listen on (0: any free port).", least=0, most=65535)
    ] = 8080,
    host: Annotated[str, Option("Address to listen on.")] = "127.0.0.1",
    url: Annotated[
        str | None,
        Option("Public address of the server, if it is behind a proxy."),
    ] = None,
    name: Annotated[
        str | None,
        Option("Your name: labels are stored under human:NAME.", flag="--as", metavar="NAME"),
    ] = None,
    invite: Annotated[
        list[str] | None, Option("Also print a link for NAME; repeatable.", metavar="NAME")
    ] = None,
    role: Annotated[
        Role | None,
        Option("Role of the people you invite (default: unchanged, or labeller for new people)."),
    ] = None,
    browser: Annotated[bool, Option("Open a browser.", flag="--browser/--no-browser")] = True,
) -> None:
    """Open the workbench, where people label the folder's units in a browser.

    Each link can be used once to sign in. The server listens on this machine only, unless --host
    says otherwise. Every label is in the ledger before the next unit is shown. Press Ctrl-C to
    stop.
    """
    public = None if url is None else addresses.public_address(url)
    opened = Opened.open(folder)
    with server.opened_bench(opened) as bench:
        found = addresses.listening(host, port)
        port = found.getsockname()[1]
        bench.address = addresses.address_of(host, port)
        hosts = addresses.hosts_of(host, port)
        if public is not None:
            bench.address, public_name = public
            hosts.add(public_name)
        for one in invite or ():
            person, link = bench.link(one, role)
            typer.echo(f"For {person.name} ({person.role}): {link}")
        _, own = bench.link(name or server.me(), Role.ORGANISER)

        for told in filter(None, (NO_LOCKS_WARNING, *bench.unattended())):
            remark(told)

        def ready() -> None:
            typer.echo(f"Open {own}")
            if browser:
                show(own)

        server.serve(bench, found, hosts, ready)
    raise AtOnce(0)  # scores or a report in progress need not finish


def show(link: str) -> None:
    """Open a link in a browser without blocking the server. A terminal browser, found on machines
    without a screen, would use the link up, so it is opened only on request."""
    try:
        found = webbrowser.get()
    except webbrowser.Error:
        return
    if "BROWSER" in os.environ or type(found) is not webbrowser.GenericBrowser:
        threading.Thread(target=webbrowser.open, args=(link,), daemon=True).start()
