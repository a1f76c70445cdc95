"""Where released messages may be posted to."""

from urllib.parse import urlsplit

from deeprotect.errors import InputError, printable

_LONGEST = 2000


def check_address(address: str) -> str:
    """An address to post to, or one line on what is wrong; it may hold a secret and is not repeated."""
    try:
        parts = urlsplit(address)
        port = parts.port
    except ValueError:
        parts, port = urlsplit(""), None
    whole = parts.scheme in ("http", "https") and bool(parts.hostname) and (port is None or port > 0)
    if not whole or len(address) > _LONGEST or not address.isprintable():
        raise InputError("an app's address must be http://host/… or https://host/…, without spaces; correct it")
    return address


def shown_address(address: str) -> str:
    """For lists and pages: the host, without user, path and query, for any of them may be a secret."""
    parts = urlsplit(address)
    host = parts.netloc.rpartition("@")[2]
    return printable(f"{parts.scheme}://{host}{'/…' if parts.path.strip('/') or parts.query else ''}")
