"""Addresses of the server: where it listens, its host names, and the address in links."""

from __future__ import annotations

import socket
from contextlib import suppress
from urllib.parse import urlsplit

from assay.labellers.keys import is_this_machine
from assay.model.errors import SettingsError

_EVERYWHERE = ("0.0.0.0", "::", "")  # noqa: S104 (a person asks for it)
_PORTS = {"http": 80, "https": 443}
"""The default ports, which browsers omit."""


def listening(host: str, port: int) -> socket.socket:
    """A listening socket at an address. Raises SettingsError if there can be none."""
    try:
        family, kind, proto, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
        found = socket.socket(family, kind, proto)
        found.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        found.bind(address)
        found.listen()  # who has the link is answered, if not yet at once
    except OSError as error:
        raise SettingsError(f"{host}:{port}: {error.strerror}. Give another --port.") from error
    return found


def hosts_of(host: str, port: int) -> set[str]:
    """Host names, with the port, that the server answers to."""
    names = {host, "localhost", "127.0.0.1", "::1"}
    if not is_this_machine(host):
        names |= {socket.gethostname(), socket.getfqdn(), *_own_addresses()}
    found = {_in_address(name).casefold() for name in names}
    plain = found if port == _PORTS["http"] else ()
    return {*(f"{name}:{port}" for name in found), *plain}


def address_of(host: str, port: int) -> str:
    """The address for links; if the server listens everywhere, that of this machine."""
    if host in _EVERYWHERE:
        host = next(iter(_own_addresses()), socket.gethostname())
    return f"http://{_in_address(host)}:{port}"


def public_address(url: str) -> tuple[str, str]:
    """Parse a public address, such as that of a proxy, into the form for links and the host name
    that browsers send. Raises SettingsError if it is invalid."""
    parts, port, host = urlsplit(url), None, ""
    with suppress(ValueError):  # a port that is none; a name that no browser could ask for
        port = parts.port
        host = _in_address((parts.hostname or "").encode("idna").decode())
    more = parts.path.removeprefix("/") + parts.query + parts.fragment + (parts.username or "")
    if not host or more or parts.scheme not in _PORTS:
        told = (
            f"--url {url!r}: give only the address of a server, such as https://label.example.org."
        )
        raise SettingsError(told)
    name = host if port in (None, _PORTS[parts.scheme]) else f"{host}:{port}"
    return f"{parts.scheme}://{name}", name


def _in_address(host: str) -> str:
    return f"[{host}]" if ":" in host else host


def _own_addresses() -> list[str]:
    """This machine's addresses, as far as it knows them."""
    found: dict[str, None] = {}
    with suppress(OSError):
        for one in socket.getaddrinfo(socket.gethostname(), None):
            found[str(one[4][0])] = None
    # Where the name is that of loopback alone: the address that would be sent from. (Nothing is.)
    with suppress(OSError), socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as out:
        out.connect(("192.0.2.1", 9))
        found[str(out.getsockname()[0])] = None
    return [one for one in found if not is_this_machine(one)]
