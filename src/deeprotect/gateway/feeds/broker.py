"""The address and credentials of an MQTT broker: mqtt://user@host:port, mqtts:// for TLS, a file with the password."""

import ssl
from dataclasses import dataclass, field
from pathlib import Path
from typing import Self
from urllib.parse import unquote, urlsplit

from deeprotect.errors import InputError, printable

_PORTS = {"mqtt": 1883, "mqtts": 8883}
_LONGEST_PASSWORD = 4096


@dataclass(frozen=True)
class Broker:
    """A broker's address; `tls` is None without encryption."""

    host: str
    port: int
    user: str | None = None
    password: str | None = field(default=None, repr=False)
    tls: ssl.SSLContext | None = field(default=None, repr=False)

    @classmethod
    def at(cls, address: str, *, password: Path | None = None, ca: Path | None = None) -> Self:
        """Parse the command line's address; an error is one line, without secrets."""
        try:
            parts = urlsplit(address)
            port = parts.port
        except ValueError:
            parts, port = urlsplit(""), None
        if parts.scheme not in _PORTS or not parts.hostname or parts.path.strip("/") or parts.query or parts.fragment:
            raise InputError("a broker's address is mqtt://user@host:port, or mqtts:// for TLS; correct it")
        if parts.password is not None:
            raise InputError("a broker's password is not part of its address, where others see it; put it in a file")
        if password is not None and not parts.username:
            raise InputError("a broker's password needs a user; write mqtt://user@host")
        secure = parts.scheme == "mqtts"
        if ca is not None and not secure:
            raise InputError("certificates are for TLS; write mqtts:// in the broker's address")
        return cls(
            parts.hostname,
            port or _PORTS[parts.scheme],
            unquote(parts.username) if parts.username else None,
            _read(password) if password else None,
            _context(ca) if secure else None,
        )

    def __str__(self) -> str:
        return f"{printable(self.host)}:{self.port}"


def _read(path: Path) -> str:
    """The first line of a file."""
    try:
        with path.open(encoding="utf-8") as file:
            return file.readline(_LONGEST_PASSWORD).rstrip("\r\n")
    except (OSError, UnicodeDecodeError):
        raise InputError(f"{printable(str(path), 200)}: the password cannot be read; is it a text file?") from None


def _context(ca: Path | None) -> ssl.SSLContext:
    try:
        return ssl.create_default_context(cafile=ca)
    except (OSError, ssl.SSLError):
        raise InputError(f"{printable(str(ca), 200)}: no certificates can be read; give a PEM file") from None
