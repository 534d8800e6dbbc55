"""Who may use the engine behind the recorder: programs that know its address, not web pages that found it.

A page of a foreign site reaches a local port in two ways: by asking it outright, where browsers name the site in
`Origin`, and through a name of its own that suddenly resolves to this machine, which then stands in `Host`.
"""

from __future__ import annotations

import ipaddress
import socket
from contextlib import suppress
from urllib.parse import urlsplit


def refusal(fields: dict[bytes, bytes], listens_on: str) -> str | None:
    """Why a request is not passed on; `fields` have lower-case names."""
    host, origin = (fields.get(name, b"").decode("latin-1").strip() for name in (b"host", b"origin"))
    if host and not _is_ours(host, listens_on):
        return "this Host is not an address of the recorder; use its IP address, localhost or the name of this machine"
    # An image or a link of a page names no origin, and some servers act upon a GET.
    unnamed = not origin and fields.get(b"sec-fetch-site", b"").strip().lower() == b"cross-site"
    if unnamed or (origin and _is_foreign(origin, listens_on)):
        return "requests of web pages from other sites are refused"
    return None


def _is_foreign(origin: str, listens_on: str) -> bool:
    """Programs that are built of web parts name schemes of their own, which no site has."""
    scheme, _, authority = origin.partition("://")
    if scheme.lower() not in ("http", "https"):
        return origin.lower() == "null"
    name = _name(authority)
    return name is None or not (_is_loopback(name) or name == listens_on.lower())


def _is_ours(host: str, listens_on: str) -> bool:
    """An address or a name without a dot is nothing that a foreign site can make its own in the DNS."""
    name = _name(host)
    if name is None:
        return False
    known = {listens_on.lower(), socket.gethostname().lower(), "host.docker.internal"}
    return "." not in name or name in known or _is_loopback(name) or _address(name) is not None


def _name(authority: str) -> str | None:
    with suppress(ValueError):
        return (urlsplit(f"//{authority}").hostname or "").lower().rstrip(".") or None
    return None


def _is_loopback(name: str) -> bool:
    address = _address(name)
    return address.is_loopback if address else name == "localhost" or name.endswith(".localhost")


def _address(name: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address | None:
    with suppress(ValueError):
        return ipaddress.ip_address(name)
    return None
