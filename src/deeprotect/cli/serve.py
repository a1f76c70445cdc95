"""The verb serve: the gateway between sensors and apps."""

from ipaddress import ip_network
from pathlib import Path
from typing import Annotated

import typer

from deeprotect.cli.budget import age
from deeprotect.cli.bundles import Key
from deeprotect.errors import InputError, printable

Bundles = Annotated[
    list[str],
    typer.Option("--bundle", metavar="[NAME=]BUNDLE", help="A bundle to serve; repeatable, each under its own name."),
]
BrokerPassword = Annotated[Path | None, typer.Option(metavar="FILE", help="A file with the broker's password.")]
BrokerCertificates = Annotated[
    Path | None, typer.Option(metavar="FILE", help="CA certificates to check the broker's with, PEM.")
]


def serve(
    bundle: Bundles,
    ledger: Annotated[
        str,
        typer.Option(metavar="FILE", help="Ledger and registry: a file, or postgresql+psycopg://user@host/database."),
    ] = "gateway.sqlite",
    key: Key = None,
    host: Annotated[
        str, typer.Option(metavar="ADDRESS", help="Where to listen; by default only this machine can connect.")
    ] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=0, max=65535, help="0 picks a free one.")] = 8765,
    name: Annotated[
        list[str] | None,
        typer.Option(metavar="HOST", help="A host name that the console answers to, besides IP addresses; repeatable."),
    ] = None,
    proxy: Annotated[
        list[str] | None,
        typer.Option(
            metavar="ADDRESS",
            help="A reverse proxy whose X-Forwarded-For is trusted, or a network of them; repeatable.",
        ),
    ] = None,
    shard: Annotated[
        str, typer.Option(metavar="I/N", help="This is gateway I of N on one ledger, behind a reverse proxy.")
    ] = "1/1",
    tls_certificate: Annotated[
        Path | None, typer.Option(metavar="FILE", help="PEM, with --tls-key; reloaded when it changes.")
    ] = None,
    tls_key: Annotated[Path | None, typer.Option(metavar="FILE", help="PEM.")] = None,
    mqtt: Annotated[
        str | None, typer.Option(metavar="URL", help="A broker: mqtt://user@host:1883 or mqtts://…")
    ] = None,
    mqtt_password: BrokerPassword = None,
    mqtt_ca: BrokerCertificates = None,
    most_messages: Annotated[
        int, typer.Option(metavar="N", min=1, max=100_000, help="Messages that one device may send in a second.")
    ] = 500,
    most_bytes: Annotated[
        int,
        typer.Option(
            metavar="N",
            min=1024,
            max=1 << 28,
            help="Bytes of one message; in a second, a device may send four times as many.",
        ),
    ] = 1 << 20,
    most_delay: Annotated[
        float,
        typer.Option(metavar="SECONDS", min=0.5, help="Messages are refused before they would wait longer than this."),
    ] = 5.0,
    keep_draws: Annotated[
        str | None,
        typer.Option(metavar="TIME", help="Remove older draws, like '30 d'; they are never made again."),
    ] = None,
) -> None:
    """Run the gateway: receive streams, release them under a bundle and a budget, and pass them on to apps.

    With --key, only signed bundles are served. A bundle that is replaced on disk is served after a restart.

    Example: deeprotect gateway serve --bundle protector --ledger gateway.sqlite
    """
    if (tls_certificate is None) != (tls_key is None):
        raise InputError("--tls-certificate and --tls-key go together; give both")
    from deeprotect.gateway.mediation.gateway import Settings
    from deeprotect.gateway.registration.addresses import GatewayPlace
    from deeprotect.gateway.serving import serve as run

    settings = Settings(
        bundles=_named(bundle),
        database=ledger,
        key=key,
        host=host,
        port=port,
        names=tuple(name or ()),
        proxies=tuple(map(_network, proxy or ())),
        place=GatewayPlace.of(shard),
        tls_certificate=_there(tls_certificate),
        tls_key=_there(tls_key),
        mqtt=mqtt,
        mqtt_password=_there(mqtt_password),
        mqtt_ca=_there(mqtt_ca),
        most_delay=most_delay,
        keep_draws=None if keep_draws is None else age(keep_draws),
        most_messages=most_messages,
        most_bytes=most_bytes,
        most_bytes_a_second=4 * most_bytes,
    )
    run(settings, say=typer.echo)


def _named(given: list[str]) -> dict[str, Path]:
    """Parse NAME=PATH, or a path whose last part is the name."""
    found: dict[str, Path] = {}
    for each in given:
        name, equals, path = each.partition("=")
        where = Path(path if equals else each)
        key = name if equals else where.resolve().name.removesuffix(".zip")
        if key in found:
            raise InputError(f"two bundles are called '{printable(key)}'; name them: --bundle NAME=BUNDLE")
        found[key] = where
    return found


def _network(text: str) -> str:
    """Check an address or a network: uvicorn would treat anything else as a host name, and `*` as everybody."""
    try:
        ip_network(text)
    except ValueError:
        raise InputError(
            f"--proxy {printable(text)}: not an address or a network, like 10.0.0.1 or 10.0.0.0/8"
        ) from None
    return text


def _there(path: Path | None) -> Path | None:
    if path is not None and not path.is_file():
        raise InputError(f"{printable(str(path), 200)}: no such file")
    return path
