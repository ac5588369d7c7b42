"""Which API key is sent to which address: a folder from somebody else must not get keys for its
hosts.

``ASSAY_<HOST>_API_KEY`` is sent to that host. ``OPENAI_API_KEY`` and ``ASSAY_<MODEL>_API_KEY`` are
sent to OpenAI's host and to hosts that the user has named: on the command line, in
``OPENAI_BASE_URL`` or in ``ASSAY_TRUSTED_HOSTS``. Localhost is not among them, as a port may belong
to another user. No key is sent to another machine over plain http.
"""

from __future__ import annotations

import ipaddress
import os
import re
from typing import NamedTuple
from urllib.parse import urlsplit

from assay.model.errors import SettingsError

DEFAULT_BASE_URL = "https://api.openai.com/v1"
KEYS = "OPENAI_API_KEY or ASSAY_<NAME>_API_KEY"
# "m@user:PW@host", with or without a scheme; not "@cf/meta/llama" nor "claude@2024".
USER_AND_PASSWORD = re.compile(r"@/{0,2}[^@/]*:[^@]*@|//[^@/]*:[^@/]*@")

_PLACE = re.compile(r"(?:\[[^\[\]]+\]|[^\[\]:]+)(?::\d*)?")
# The last part must not be a number: IP addresses have been tried before.
_HOST = re.compile(r"(?:[A-Za-z0-9_-]{1,63}[.])*(?!\d+$)[A-Za-z0-9_-]{1,63}")
_LIKE_A_HOST = re.compile(r"[A-Za-z0-9_-]+(?:[.][A-Za-z0-9_-]+)*[.][A-Za-z]{2,}")


class Provider(NamedTuple):
    """A provider's address ``home``, and its environment variables for the key and the base URL."""

    key: str
    home: str
    base: str


OPENAI = Provider("OPENAI_API_KEY", DEFAULT_BASE_URL, "OPENAI_BASE_URL")
ANTHROPIC = Provider("ANTHROPIC_API_KEY", "https://api.anthropic.com/v1", "ANTHROPIC_BASE_URL")


def key_for(url: str, model: str, *, named: bool, provider: Provider = OPENAI) -> str | None:
    """The key for requests for ``model`` to ``url``, or None. ``named``: the user gave the address.
    Raises SettingsError if a key would be sent to an address that must not have it."""
    host = host_of(url)
    own = f"ASSAY_{_variable_part(host)}_API_KEY"
    # "a-b.example" and "a.b.example" share a variable; it belongs to the one without a hyphen.
    unshared = re.fullmatch(r"[a-z0-9.:]+", host)
    if own in os.environ and (named or is_trusted_host(host, provider) or unshared):
        key = os.environ[own]
        if key and not _safe(url, host):
            raise SettingsError(
                f"The key in {own} would be sent to {host} over plain http, where others can read "
                f"it. Use https://, or set {own} to an empty value to call {host} without a key."
            )
        return key.strip() or None
    # A model with the name of a host would get that host's key.
    own_names = () if _LIKE_A_HOST.fullmatch(model) else (f"ASSAY_{_variable_part(model)}_API_KEY",)
    names = (*own_names, provider.key)
    name = next((each for each in names if os.environ.get(each)), None)
    if name is None:
        return None
    if not (named or is_trusted_host(host, provider)):
        if is_this_machine(host):
            return None  # servers on this machine mostly need none
        raise SettingsError(
            f"The key in {name} would be sent to {host}, which is named only in a file. If the "
            f"key is for {host}, {f'put it into {own}, or ' if unshared else ''}add {host} to "
            "ASSAY_TRUSTED_HOSTS (separated by commas), or name the address on the command line: "
            f"--labeller openai:MODEL@URL. To call {host} without a key, set {own} to an empty "
            f"value{'' if unshared else f' and add {host} to ASSAY_TRUSTED_HOSTS'}."
        )
    return (os.environ[name].strip() or None) if _safe(url, host) else None


def host_of(url: str) -> str:
    """The host of an endpoint's address, in lower case and without a final dot. Raises
    SettingsError for a malformed address, without repeating it, as it may contain a secret."""
    malformed = SettingsError(
        "The address of an endpoint is not valid: its host or port is malformed. Write "
        f"http://HOST:PORT/v1, without a password; put the key into {KEYS}."
    )
    try:
        parts = urlsplit(url)
        _ = parts.port
    except ValueError:  # its text contains a part of the address
        raise malformed from None
    if parts.username or parts.password or USER_AND_PASSWORD.search(url):
        raise SettingsError(
            "The address of an endpoint must not contain a password, because it would appear in "
            f"files and logs. Put the key into {KEYS}."
        )
    if "?" in url or "#" in url:
        raise SettingsError(
            f"The address of an endpoint at {parts.hostname} must not have a query or a fragment "
            "(what follows '?' or '#'), because '/chat/completions' is appended to it and a key "
            f"in it would appear in files and logs. Remove that part, and put the key into {KEYS}."
        )
    if re.search(r"[\s\x00-\x1f\x7f]", url) or not _PLACE.fullmatch(parts.netloc):
        raise malformed
    host = (parts.hostname or "").removesuffix(".")
    try:
        return str(ipaddress.ip_address(host))
    except ValueError:
        if not _HOST.fullmatch(host):
            raise malformed from None
        return host


def is_trusted_host(host: str, provider: Provider = OPENAI) -> bool:
    """Whether a provider's key may be sent to ``host``, whoever names it."""
    named = os.environ.get("ASSAY_TRUSTED_HOSTS", "").split(",")
    hosts = {_named(each.strip(), number) for number, each in enumerate(named, 1) if each.strip()}
    hosts.add(host_of(provider.home))
    if base := os.environ.get(provider.base):
        hosts.add(host_of(base))
    return host in hosts


def _named(entry: str, number: int) -> str:
    """The host in an entry of ``ASSAY_TRUSTED_HOSTS``, as a name or an address."""
    try:  # IPv6 also without brackets, which urlsplit would misread
        return str(ipaddress.ip_address(re.sub(r"^\[(.*)\]$", r"\1", entry)))
    except ValueError:
        pass
    try:
        return host_of(entry if "://" in entry else f"https://{entry}")
    except SettingsError:
        raise SettingsError(
            f"ASSAY_TRUSTED_HOSTS: entry {number} is not a host. Write hosts in full, separated "
            "by commas and without *., such as judge.example, 10.0.0.7 or [fd00::1]."
        ) from None


def _safe(url: str, host: str) -> bool:
    return urlsplit(url).scheme == "https" or is_this_machine(host)


def is_this_machine(host: str) -> bool:
    """Whether a host is this machine."""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def _variable_part(name: str) -> str:
    return re.sub(r"[^A-Z0-9]+", "_", name.upper()).strip("_")
