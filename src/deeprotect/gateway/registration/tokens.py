"""Tokens: unguessable, shown once, stored as a hash."""

import hashlib
import secrets

TOKEN_BYTES = 32


def new_token() -> str:
    """For an address or a header; 256 bits from the operating system."""
    return secrets.token_urlsafe(TOKEN_BYTES)


def bearer_token(header: str) -> str | None:
    """The token in a header `Authorization: Bearer TOKEN`, if it is one."""
    kind, _, token = header.partition(" ")
    return token.strip() if kind.lower() == "bearer" else None


def token_hash(token: str) -> bytes:
    """What is stored. A plain hash does: nobody can try 2^256 tokens, as they could try passwords."""
    return hashlib.sha256(token.encode("utf-8", "surrogatepass")).digest()
