"""The verb register: who may send, who may have what; tokens are shown once and stored as hashes."""

from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from deeprotect.cli.help_text import with_examples
from deeprotect.cli.json_output import json_text
from deeprotect.errors import InputError, printable

if TYPE_CHECKING:
    from deeprotect.gateway.registration.device_registry import App, Device, Registry

register = typer.Typer(
    help="Who may send a stream to the gateway, and which app gets it through which bundle. An address or token is "
    "shown this once.\n\n\b\nExample:\n  deeprotect register device watch --person anna --database gateway.sqlite",
    no_args_is_help=True,
    rich_markup_mode=None,
)
DatabaseAddress = Annotated[
    str,
    typer.Option(
        "--database",
        "--ledger",
        metavar="FILE",
        help="The gateway's: a file, or postgresql+psycopg://user@host/database.",
    ),
]
StreamName = Annotated[str, typer.Argument(metavar="STREAM", help="The stream's name in the ledger.")]
Gateway = Annotated[str, typer.Option("--at", metavar="URL", help="Where the gateway is reached, for the address.")]
HERE, DATABASE = "http://127.0.0.1:8765", "gateway.sqlite"


def device(
    stream: StreamName,
    database: DatabaseAddress = DATABASE,
    person: Annotated[
        str | None, typer.Option(metavar="NAME", help="Whose it is (default: the stream's name).")
    ] = None,
    platform: Annotated[
        Literal["ios", "android"] | None,
        typer.Option(help="What Sensor Logger runs on: iOS has other signs and units."),
    ] = None,
    standardised: Annotated[
        bool, typer.Option("--standardised", help="Sensor Logger's own 'standardise units' is on.")
    ] = False,
    acceleration: Annotated[
        Literal["total", "linear", "uncalibrated"] | None,
        typer.Option(help="Which of its accelerations the channels are (default: by their names)."),
    ] = None,
    channel: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME=SENSOR.VALUE", help="A channel that its name does not tell, light=light.lux."),
    ] = None,
    at: Gateway = HERE,
) -> None:
    """Register what sends a stream, and print its address.

    Example: deeprotect register device watch --person anna --database gateway.sqlite --platform ios
    """
    sensors: dict[str, Any] = {} if platform is None else {"platform": platform}
    sensors |= {"standardised": True} if standardised else {}
    sensors |= {} if acceleration is None else {"acceleration": acceleration}
    sensors |= {"channels": dict(map(_channel, channel))} if channel else {}
    token = _registry(database).add_device(stream, person=person, sensors=sensors)
    _shown_once("what it sends goes to", f"{at.rstrip('/')}/in/{token}")
    _shown_once("or open this on a phone", f"{at.rstrip('/')}/phone/{token}")


def app(
    name: Annotated[str, typer.Argument(metavar="NAME", help="The app's name.")],
    stream: Annotated[str, typer.Option(metavar="STREAM", help="The stream that it gets.")],
    bundle: Annotated[str, typer.Option(metavar="NAME", help="The bundle, by the name under which it is served.")],
    database: DatabaseAddress = DATABASE,
    push: Annotated[
        str | None, typer.Option(metavar="URL", help="Post released messages there, as Sensor Logger does.")
    ] = None,
    at: Gateway = HERE,
) -> None:
    """Register an app for one stream and one bundle, and print its token.

    Example: deeprotect register app fitness --stream watch --bundle exercise --database gateway.sqlite
    """
    token = _registry(database).add_app(name, stream=stream, bundle=bundle, push=push)
    _shown_once(f"its token, for {at.rstrip('/')}/out and the header Authorization: Bearer TOKEN", token)


def listing(
    database: DatabaseAddress = DATABASE,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Print devices and apps that are registered; their tokens are not known to anyone but them.

    Example: deeprotect register list --database gateway.sqlite
    """
    found = _registry(database)
    if as_json:
        body = {"devices": list(map(_device_json, found.devices())), "apps": list(map(_app_json, found.apps()))}
        typer.echo(json_text(body))
        return
    if not found.devices():
        typer.echo("nothing is registered")
    for each in found.devices():
        typer.echo(f"stream {printable(each.stream)}, of {printable(each.person)}, since {each.created:%Y-%m-%d}")
        for line in (_app_line(app) for app in found.apps() if app.stream == each.stream):
            typer.echo(f"  {line}")


def revoke(
    stream: StreamName,
    database: DatabaseAddress = DATABASE,
    app: Annotated[
        str | None, typer.Option(metavar="NAME", help="This app only; without it the device and all.")
    ] = None,
) -> None:
    """Revoke an app's token, or a device's and with it those of all apps of its stream.

    Example: deeprotect register revoke watch --app fitness --database gateway.sqlite
    """
    found = _registry(database)
    if app is None:
        found.revoke_device(stream)
    else:
        found.revoke_app(app, stream=stream)
    typer.echo(f"revoked: {printable(stream if app is None else app)}", err=True)


def admin(database: DatabaseAddress = DATABASE) -> None:
    """Make a new token for the console; the one before, and who is signed in with it, is out.

    Example: deeprotect register admin --database gateway.sqlite
    """
    _shown_once("the console's token", _registry(database).new_admin())


for _name, _verb, _summary in (
    ("device", device, "What sends a stream; prints its address."),
    ("app", app, "Who gets a stream through a bundle; prints its token."),
    ("list", listing, "What is registered."),
    ("revoke", revoke, "Take a token back."),
    ("admin", admin, "A new token for the console."),
):
    register.command(_name, help=with_examples(_verb), short_help=_summary)(_verb)


def _registry(database: str) -> "Registry":
    try:
        from deeprotect.gateway.registration.device_registry import Registry
    except ModuleNotFoundError as missing:
        raise InputError(f"{missing.name} is not installed; install deeprotect[gateway]") from None
    return Registry.at(database)


def _channel(text: str) -> tuple[str, str]:
    name, equals, place = text.rpartition("=")
    if not equals:
        raise InputError(f"--channel {printable(text)} names no sensor; write it as light=light.lux")
    return name, place


def _shown_once(what: str, secret: str) -> None:
    """The secret alone on standard output, for a pipe; what it is beside it."""
    typer.echo(f"{what}, shown this once:", err=True)
    typer.echo(secret)


def _app_line(app: "App") -> str:
    choice = "" if app.epsilon is None else f", ε = {app.epsilon}"
    choice += "" if app.every is None else f", one draw for {app.every} windows"
    from deeprotect.gateway.registration.push_address import shown_address

    pushed = "" if app.push is None else f", pushed to {shown_address(app.push)}"
    return f"app {printable(app.name)}, bundle {printable(app.bundle)}{choice}{pushed}, since {app.created:%Y-%m-%d}"


def _device_json(each: "Device") -> dict[str, Any]:
    return {
        "stream": each.stream,
        "person": each.person,
        "sensors": each.sensors,
        "created": each.created.isoformat(),
    }


def _app_json(each: "App") -> dict[str, Any]:
    from deeprotect.gateway.registration.push_address import shown_address

    return {
        "name": each.name,
        "stream": each.stream,
        "bundle": each.bundle,
        "push": None if each.push is None else shown_address(each.push),
        "epsilon": each.epsilon,
        "every": each.every,
        "created": each.created.isoformat(),
    }
