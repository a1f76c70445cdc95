"""The verbs under `deeprotect gateway`: register who may send and who gets what, and what an operator does between."""

from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from deeprotect.cli import replay, serve
from deeprotect.cli.budget import age
from deeprotect.cli.printing import json_text, with_examples
from deeprotect.cli.tables import pairs
from deeprotect.errors import InputError, printable

if TYPE_CHECKING:
    from deeprotect.gateway.registration.device_registry import App, Device, Registry

register = typer.Typer(
    help="Register who may send a stream to the gateway, and which app gets it through which bundle. Each address and "
    "token is shown only once.\n\n\b\nExample:\n  deeprotect gateway register device watch --person anna",
    no_args_is_help=True,
    rich_markup_mode=None,
)
DatabaseAddress = Annotated[
    str,
    typer.Option(
        "--database",
        "--ledger",
        metavar="FILE",
        help="The gateway's database: a file, or postgresql+psycopg://user@host/database.",
    ),
]
StreamName = Annotated[str, typer.Argument(metavar="STREAM", help="The stream's name in the ledger.")]
Gateway = Annotated[str, typer.Option("--at", metavar="URL", help="The gateway's own address, for what is printed.")]
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
        bool, typer.Option("--standardised", help="Sensor Logger's 'Standardise Units & Frames' is on.")
    ] = False,
    acceleration: Annotated[
        Literal["total", "linear", "uncalibrated"] | None,
        typer.Option(help="Which acceleration the channels mean (default: by their names)."),
    ] = None,
    channel: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME=SENSOR.VALUE",
            help="Sensor and value of a channel whose name is not recognised: light=light.lux.",
        ),
    ] = None,
    field: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME=PLACE", help="Where a channel or the time is in its messages: acc_x=payload.ax; repeatable."
        ),
    ] = None,
    time: Annotated[
        Literal["ns", "us", "ms", "s", "iso", "arrival"] | None,
        typer.Option(help="The unit of its time stamps; arrival: it has no clock."),
    ] = None,
    topic: Annotated[
        str | None, typer.Option(metavar="TOPIC", help="Its topic on the broker (default: deeprotect/raw/STREAM).")
    ] = None,
    at: Gateway = HERE,
) -> None:
    """Register the device that sends a stream, and print its address.

    Example: deeprotect gateway register device watch --person anna --database gateway.sqlite --platform ios
    """
    sensors: dict[str, Any] = {} if platform is None else {"platform": platform}
    sensors |= {"standardised": True} if standardised else {}
    sensors |= {} if acceleration is None else {"acceleration": acceleration}
    sensors |= {"channels": pairs(channel, "--channel", example="light=light.lux")} if channel else {}
    sensors |= {"fields": pairs(field, "--field", example="acc_x=payload.ax")} if field else {}
    sensors |= {"time": time} if time else {}
    sensors |= {"topic": topic} if topic else {}
    token = registry_at(database).add_device(stream, person=person, sensors=sensors)
    shown_once("send readings to", f"{at.rstrip('/')}/in/{token}")
    shown_once("or open this on a phone", f"{at.rstrip('/')}/phone/{token}")


def app(
    name: Annotated[str, typer.Argument(metavar="NAME", help="The app's name.")],
    stream: Annotated[str, typer.Option(metavar="STREAM", help="The stream that it gets.")],
    bundle: Annotated[str, typer.Option(metavar="NAME", help="The bundle, by the name under which it is served.")],
    database: DatabaseAddress = DATABASE,
    push: Annotated[
        str | None, typer.Option(metavar="URL", help="Post released messages there, as Sensor Logger does.")
    ] = None,
    form: Annotated[
        Literal["rows", "flat", "sensor-logger", "arrow", "line-protocol", "home-assistant"] | None,
        typer.Option(help="The format in which it gets its data, however it is delivered."),
    ] = None,
    at: Gateway = HERE,
) -> None:
    """Register an app for one stream and one bundle, and print its token.

    Example: deeprotect gateway register app fitness --stream watch --bundle exercise --database gateway.sqlite
    """
    token = registry_at(database).add_app(name, stream=stream, bundle=bundle, push=push, form=form)
    shown_once(f"its token, for {at.rstrip('/')}/out and the header Authorization: Bearer TOKEN", token)


def token(
    kind: Annotated[
        Literal["person", "metrics", "admin"],
        typer.Argument(
            metavar="KIND", help="person, for their own page; metrics, to read /metrics; or admin, for the console."
        ),
    ],
    name: Annotated[
        str | None, typer.Argument(metavar="NAME", help="Of person: somebody who has a stream here.")
    ] = None,
    database: DatabaseAddress = DATABASE,
    at: Gateway = HERE,
) -> None:
    """Make a new token; the earlier one stops working.

    person NAME: the address of their own page, which shows what apps may infer, what they got and what is left, and has
    pause and stop. metrics: reads /metrics from another machine, and nothing else. admin: opens the console; its
    sessions end.

    Example: deeprotect gateway token person anna
    """
    if (kind == "person") != (name is not None):
        raise InputError("give a name with person, and with nothing else: `deeprotect gateway token person anna`")
    registry = registry_at(database)
    if kind == "admin":
        shown_once("the console's token", registry.new_admin())
    elif name is None:
        shown_once("for the header Authorization: Bearer TOKEN", registry.new_link("metrics"))
    else:
        shown_once("their page, for them alone", f"{at.rstrip('/')}/me/{registry.new_link('person', name)}")


def _moved(context: typer.Context) -> None:
    raise InputError(f"`register {context.info_name}` is now `deeprotect gateway token {context.info_name}`")


def registry_at(database: str) -> "Registry":
    try:
        from deeprotect.gateway.registration.device_registry import Registry
    except ModuleNotFoundError as missing:
        raise InputError(f"{missing.name} is not installed; install deeprotect[gateway]") from None
    return Registry.existing(database)


def shown_once(what: str, secret: str) -> None:
    """The secret alone on standard output, for a pipe; what it is beside it."""
    typer.echo(f"{what}, shown only once:", err=True)
    typer.echo(secret)


gateway = typer.Typer(
    help="Live streams between sensors and apps.\n\n\b\nExample:\n  deeprotect gateway serve --bundle protector",
    no_args_is_help=True,
    rich_markup_mode=None,
)
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON.")]
AppName = Annotated[str | None, typer.Option("--app", metavar="NAME", help="This app of the stream.")]


def listing(database: DatabaseAddress = DATABASE, as_json: AsJson = False) -> None:
    """List the registered devices and apps; tokens are not shown, because only their hashes are stored.

    Example: deeprotect gateway list
    """
    from deeprotect.gateway.registration.directory import Directory

    found = Directory(registry_at(database))
    if as_json:
        body = {
            "devices": list(map(_json, found.devices())),
            "apps": [_json(app, push=_pushed(app)) for app in found.apps()],
        }
        typer.echo(json_text(body))
        return
    if not found.devices():
        typer.echo("nothing is registered")
    for each in found.devices():
        halt = found.halt_of(each.person)
        state = "" if halt is None else ", stopped by them" if halt.stopped else ", paused by them"
        typer.echo(
            f"stream {printable(each.stream)}, of {printable(each.person)}, since {each.created:%Y-%m-%d}{state}"
        )
        for app in found.registered(each.stream):
            typer.echo(f"  {_app_line(app)}")


def rotate(
    stream: StreamName,
    app: AppName = None,
    overlap: Annotated[
        str, typer.Option(metavar="TIME", help="How long the old one keeps working, like '10 min'; 0: it ends at once.")
    ] = "10 min",
    database: DatabaseAddress = DATABASE,
    at: Gateway = HERE,
) -> None:
    """Replace a device's address or an app's token; the old one works for a while.

    Apps, the budget and running streams stay as they are.

    Example: deeprotect gateway rotate watch --overlap "10 min"
    """
    token = registry_at(database).rotate(stream, app=app, overlap=age("0 s" if overlap.strip() == "0" else overlap))
    if app is not None:
        shown_once(f"the new token of {printable(app)}", token)
        return
    shown_once("send readings to", f"{at.rstrip('/')}/in/{token}")


def revoke(
    stream: Annotated[
        str | None, typer.Argument(metavar="STREAM", help="Revoke its device, and with it all apps.")
    ] = None,
    app: AppName = None,
    person: Annotated[str | None, typer.Option(metavar="NAME", help="The address of a person's page.")] = None,
    metrics: Annotated[bool, typer.Option("--metrics", help="The token that reads metrics.")] = False,
    database: DatabaseAddress = DATABASE,
) -> None:
    """Revoke an address or token: a device's, and with it those of all its apps; an app's; or a link.

    Example: deeprotect gateway revoke watch --app fitness
    """
    if sum((stream is not None, person is not None, metrics)) != 1 or (app is not None and stream is None):
        raise InputError("say what to revoke: STREAM, STREAM --app NAME, --person NAME, or --metrics")
    found = registry_at(database)
    if stream is None:
        found.revoke_link("metrics" if metrics else "person", person or "")
    elif app is None:
        found.revoke_device(stream)
    else:
        found.revoke_app(app, stream=stream)
    typer.echo(f"revoked: {printable(app or stream or person or 'metrics')}", err=True)


def resume(
    person: Annotated[str, typer.Argument(metavar="PERSON", help="Who has paused or stopped, and asks to go on.")],
    database: DatabaseAddress = DATABASE,
) -> None:
    """Resume the stream of somebody who has paused or stopped it on their own page.

    Example: deeprotect gateway resume anna
    """
    if not registry_at(database).resume(person, by_operator=True):
        raise InputError(f"'{printable(person)}' has not paused or stopped; `deeprotect gateway list` shows who has")
    typer.echo(f"resumed: {printable(person)}", err=True)


def confirm_clock(database: DatabaseAddress = DATABASE) -> None:
    """Say that this machine's clock is right after it jumped: gateways that withheld releases for it go on.

    Limits of an hour and a day are freed by the clock. Look at it first: `date -u`.

    Example: deeprotect gateway confirm-clock --database gateway.sqlite
    """
    registry_at(database).confirm_clock()
    typer.echo("confirmed; gateways on this database go on within two seconds", err=True)


def happened(
    about: Annotated[str, typer.Argument(metavar="[TEXT]", help="Only events that contain this text.")] = "",
    most: Annotated[
        int, typer.Option("--most", metavar="N", min=1, max=10_000, help="At most so many, the newest.")
    ] = 50,
    database: DatabaseAddress = DATABASE,
    as_json: AsJson = False,
) -> None:
    """Print what happened: who was registered or revoked, who stopped, budgets spent, a failing ledger.

    Example: deeprotect gateway events anna
    """
    from deeprotect.gateway.registration.events import read

    for each in reversed(read(registry_at(database).database, most=most, about=about)):
        facts = ", ".join(f"{name} {printable(str(value), 200)}" for name, value in each.facts.items())
        line = f"{each.at:%Y-%m-%d %H:%M:%S} UTC  {each.what}{': ' if facts else ''}{facts}"
        typer.echo(json_text(each.to_json(), indent=None) if as_json else line)


for _under, _name, _verb, _summary in (
    (register, "device", device, "Register a device; prints its address."),
    (register, "app", app, "Register an app for a stream; prints its token."),
    (gateway, "serve", serve.serve, "Run the gateway between sensors and apps."),
    (gateway, "list", listing, "List devices and apps."),
    (gateway, "token", token, "Make a token: a person's page, metrics, the console."),
    (gateway, "rotate", rotate, "Replace an address or token; the old one works for a while."),
    (gateway, "revoke", revoke, "Revoke an address or token."),
    (gateway, "resume", resume, "Resume a person's stopped stream."),
    (gateway, "confirm-clock", confirm_clock, "Confirm the clock after it jumped."),
    (gateway, "events", happened, "Print what happened."),
    (gateway, "replay", replay.replay, "Replay a table as if it were live."),
):
    _under.command(_name, help=with_examples(_verb), short_help=_summary)(_verb)
for _name in ("person", "metrics", "admin"):
    register.command(_name, hidden=True, context_settings={"ignore_unknown_options": True, "allow_extra_args": True})(
        _moved
    )
gateway.add_typer(register, name="register", short_help="Register devices and apps.")


def _pushed(app: "App") -> str | None:
    from deeprotect.gateway.registration.addresses import shown_address

    return None if app.push is None else shown_address(app.push)


def _app_line(app: "App") -> str:
    pushed = f", pushed to {_pushed(app)}" if app.push is not None else ""
    return f"app {printable(app.name)}, bundle {printable(app.bundle)}{pushed}, since {app.created:%Y-%m-%d}"


def _json(each: "App | Device", **shown: Any) -> dict[str, Any]:
    return asdict(each) | {"created": each.created.isoformat(), **shown}
