"""The overview as values: streams with their apps, people with their budgets; and its live texts by name."""

import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime

from deeprotect.bundle.bundle import Bundle
from deeprotect.bundle.card_opening import span
from deeprotect.errors import DeeprotectError
from deeprotect.gateway.console.budget_view import PersonView, person_view
from deeprotect.gateway.console.desk import Desk
from deeprotect.gateway.console.words import ago, is_live, listed
from deeprotect.gateway.registration.device_registry import App
from deeprotect.gateway.registration.push_address import shown_address
from deeprotect.gateway.streams.status import AppStatus, StreamStatus
from deeprotect.release.ledger.ledger import utc_now
from deeprotect.release.ledger.statement import statement


@dataclass(frozen=True)
class AppView:
    """One app of a stream."""

    name: str
    bundle: str
    promise: str
    released: str
    trouble: str
    push: str | None
    can_choose: bool


@dataclass(frozen=True)
class StreamView:
    """One stream: its state in a word, and the rest."""

    name: str
    person: str
    state: str  # live, quiet, silent, refused
    heard: str
    windows: str
    trouble: str
    apps: tuple[AppView, ...]


@dataclass(frozen=True)
class Overview:
    """All of it at one moment."""

    streams: tuple[StreamView, ...]
    people: tuple[PersonView, ...]

    @property
    def shape(self) -> str:
        """Changes when rows come or go: then a page is loaded anew."""
        names = [(stream.name, *(app.name for app in stream.apps)) for stream in self.streams]
        people = [(person.name, len(person.gauges), len(person.apps)) for person in self.people]
        return hashlib.sha256(repr((names, people)).encode("utf-8", "surrogatepass")).hexdigest()[:16]

    def texts(self) -> dict[str, str]:
        """What changes while one looks, by the names that the templates give."""
        return dict(self._texts())

    def _texts(self) -> Iterator[tuple[str, str]]:
        for i, stream in enumerate(self.streams):
            yield from ((f"s{i}.{key}", getattr(stream, key)) for key in ("state", "heard", "windows", "trouble"))
            for j, app in enumerate(stream.apps):
                yield from ((f"s{i}.a{j}.{key}", getattr(app, key)) for key in ("released", "trouble"))
        for i, person in enumerate(self.people):
            yield f"p{i}.kind", person.kind
            yield from ((f"p{i}.spent.{j}", text) for j, text in enumerate(person.spent.values()))
            yield from ((f"p{i}.a{j}", text) for j, (_, text) in enumerate(person.apps))
            for j, gauge in enumerate(person.gauges):
                yield f"p{i}.g{j}.text", gauge.text
                yield f"p{i}.g{j}.spent", gauge.spent
                yield f"p{i}.g{j}.bar", f"{gauge.share:.4f}"
                yield f"p{i}.g{j}.level", gauge.level


def overview(desk: Desk, status: Sequence[StreamStatus]) -> Overview:
    """From what the mediator says and what the ledger and the registry hold."""
    now, registered = utc_now(), desk.gateway.registry.apps()
    streams = tuple(_stream(desk, each, registered, now=now) for each in status)
    return Overview(streams, tuple(_people(desk, status, registered, now=now)))


def _people(desk: Desk, status: Sequence[StreamStatus], apps: Sequence[App], *, now: datetime) -> Iterator[PersonView]:
    spent = {person.name: person for person in statement(desk.gateway.database).people}
    for name in dict.fromkeys([*(each.person for each in status), *spent]):
        streams = {each.stream: each for each in status if each.person == name}
        theirs = [app for app in apps if app.stream in streams]
        running = [app for app in theirs if is_live(streams[app.stream].last_reading, now)]
        yield person_view(name, spent.get(name), running or theirs, live=bool(running), bundle_of=desk.bundle_of)


def _stream(desk: Desk, found: StreamStatus, registered: Sequence[App], *, now: datetime) -> StreamView:
    apps = {app.name: app for app in registered if app.stream == found.stream}
    known = {each.name: each for each in found.apps}
    views = tuple(_app(desk, app, known.get(app.name)) for app in apps.values())
    live = is_live(found.last_reading, now)
    refused = any(each.refusal for each in found.apps if each.name in apps)
    state = "silent" if found.last_reading is None else "quiet" if not live else "refused" if refused else "live"
    trouble = [f"waits for {listed(found.missing)}" if live and found.missing else ""]
    trouble.append(f"{found.late:,} readings came too late" if found.late else "")
    return StreamView(
        found.stream,
        found.person,
        state,
        ago(found.last_reading, now),
        f"{found.windows:,}",
        "; ".join(filter(None, trouble)),
        views,
    )


def _app(desk: Desk, app: App, found: AppStatus | None) -> AppView:
    bundle = desk.bundle_of(app)
    released = 0 if found is None else found.released
    parts = [f"{released:,} windows"]
    if found is not None and found.placeholders:
        parts.append(f"{found.placeholders:,} placeholders")
    if found is not None and found.dropped:
        parts.append(f"{found.dropped:,} dropped")
    trouble = found.refusal if found is not None and found.refusal else ""
    return AppView(
        app.name,
        app.bundle,
        "its bundle cannot be had" if bundle is None else _promise(bundle),
        ", ".join(parts),
        trouble or ("" if bundle is not None else _why(desk, app)),
        None if app.push is None else shown_address(app.push),
        bundle is not None and bundle.mechanism.event.guarantee == "ldp",
    )


def _promise(bundle: Bundle) -> str:
    return f"{bundle.mechanism.event}, one draw for {span(bundle.policy.seconds_per_draw)}"


def _why(desk: Desk, app: App) -> str:
    """Why an app has no bundle, in one line."""
    try:
        desk.varied.get(desk.gateway.bundles.get(app.bundle), app.epsilon, app.every)
    except DeeprotectError as error:  # said and not raised: the page shows other apps beside it
        return str(error)
    return ""
