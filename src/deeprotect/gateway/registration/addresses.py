"""Addresses and tokens: unguessable tokens that begin with their stream's shard; apps' addresses.

From the shard alone, a reverse proxy finds the gateway that serves a device and its apps.
"""

import hashlib
import secrets
from dataclasses import dataclass
from typing import Self
from urllib.parse import urlsplit

from deeprotect.errors import InputError, printable
from deeprotect.release.by_time import MOST_PHASE, phase_of

SHARDS = 1 << 12


def shard_of(stream: str) -> str:
    """The first three hexadecimal digits of a hash of the name."""
    return f"{phase_of(stream) * SHARDS // MOST_PHASE:03x}"


@dataclass(frozen=True)
class GatewayPlace:
    """One gateway among all on a ledger; each has an equal range of shards."""

    index: int = 0
    count: int = 1

    @classmethod
    def of(cls, text: str) -> Self:
        """Parse an operator's notation: 1/2 is the first of two."""
        number, _, count = text.partition("/")
        if not (number.isdecimal() and count.isdecimal() and 1 <= int(number) <= int(count) <= SHARDS):
            raise InputError(f"--shard {printable(text)}: write which of how many gateways this is, like 1/2")
        return cls(int(number) - 1, int(count))

    def __str__(self) -> str:
        return f"{self.index + 1}/{self.count}"

    def owner(self, stream: str) -> int:
        return int(shard_of(stream), 16) * self.count // SHARDS

    def owns(self, stream: str) -> bool:
        return self.owner(stream) == self.index


TOKEN_BYTES = 32


def new_token(stream: str | None = None) -> str:
    """A token for an address or a header: 256 random bits, after the shard of its stream."""
    secret = secrets.token_urlsafe(TOKEN_BYTES)
    return secret if stream is None else f"{shard_of(stream)}.{secret}"


def bearer_token(header: str, *kinds: str) -> str | None:
    """The token in a header `Authorization: Bearer TOKEN`, or of another given kind."""
    kind, _, token = header.partition(" ")
    return token.strip() if kind.lower() in (kinds or ("bearer",)) else None


def token_hash(token: str) -> bytes:
    """The stored form of a token. A plain hash is enough, because no one can try 2^256 tokens."""
    return hashlib.sha256(token.encode("utf-8", "surrogatepass")).digest()


_LONGEST = 2000


def check_address(address: str) -> str:
    """Check an address to post to; the error does not repeat it, because it may contain a secret."""
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
    """An address for display: only the host, because user, path and query may be secret."""
    parts = urlsplit(address)
    host = parts.netloc.rpartition("@")[2]
    return printable(f"{parts.scheme}://{host}{'/…' if parts.path.strip('/') or parts.query else ''}")
