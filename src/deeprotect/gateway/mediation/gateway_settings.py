"""What a gateway is started with."""

from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Settings:
    """`bundles` by the name under which apps are registered for them; `database` holds ledger and registry."""

    bundles: dict[str, Path]
    database: str
    key: Path | None = None  # the public key that must have signed them
    host: str = "127.0.0.1"
    port: int = 8765
    names: tuple[str, ...] = ()  # host names under which the console may be asked for, beside addresses
    processes: int = 1
    tls_certificate: Path | None = None
    tls_key: Path | None = None
    mqtt: str | None = None  # mqtt://user@host:port or mqtts://
    mqtt_password: Path | None = None  # a file
    mqtt_ca: Path | None = None  # certificates that the broker's is checked against, if not the system's
    watch: Path | None = None  # a labelled table: the page shows what an app and an attacker infer
    most_bytes: int = 1 << 20  # of one message
    most_messages: int = 50  # of one device in a second,
    most_bytes_a_second: int = 4 << 20  # and of all of them together
