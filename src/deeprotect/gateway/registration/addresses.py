"""What stands in an address: unguessable tokens, each with its stream's shard at the front; where apps are posted to.

By the shard a reverse proxy brings a device and its apps to the same one of several gateways without asking anybody.
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
    """Three hexadecimal digits of the same hash."""
    return f"{phase_of(stream) * SHARDS // MOST_PHASE:03x}"


@dataclass(frozen=True)
class GatewayPlace:
    """One gateway among all that share a ledger; each has a range of shards, as large as any other's."""

    index: int = 0
    count: int = 1

    @classmethod
    def of(cls, text: str) -> Self:
        """As an operator writes it: 1/2 is the first of two."""
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
    """For an address or a header: 256 bits from the operating system, after the shard of the stream that it is for."""
    secret = secrets.token_urlsafe(TOKEN_BYTES)
    return secret if stream is None else f"{shard_of(stream)}.{secret}"


def bearer_token(header: str, *kinds: str) -> str | None:
    """The token in a header `Authorization: Bearer TOKEN`, or of another kind that is asked for."""
    kind, _, token = header.partition(" ")
    return token.strip() if kind.lower() in (kinds or ("bearer",)) else None


def token_hash(token: str) -> bytes:
    """What is stored. A plain hash does: nobody can try 2^256 tokens, as they could try passwords."""
    return hashlib.sha256(token.encode("utf-8", "surrogatepass")).digest()


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
