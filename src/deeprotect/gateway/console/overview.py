"""Streams with their apps, and people with their budgets, as values for one page, and their live texts."""

import asyncio
import hashlib
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from fractions import Fraction
from functools import reduce
from typing import Self

from fastapi import Request

from deeprotect.bundle.bundle import Bundle
from deeprotect.errors import BundleError
from deeprotect.gateway.console.guard import Desk
from deeprotect.gateway.console.rendering import ago, lasting, listed
from deeprotect.gateway.operation.health import in_words
from deeprotect.gateway.registration.addresses import shown_address
from deeprotect.gateway.registration.device_registry import App, Device
from deeprotect.gateway.registration.directory import Directory
from deeprotect.gateway.streams.session import BEHIND, AppStatus, State, StreamStatus
from deeprotect.privacy.guarantees import span
from deeprotect.release.ledger.ledger import utc_now
from deeprotect.release.ledger.limits import Epsilon, Limit, Limits, ldp_epsilon, moment, up
from deeprotect.release.ledger.statement import Person, statement

BundleOf = Callable[[App], Bundle | None]
_SPANS = {"per_hour": "in any hour", "per_day": "in any day", "in_all": "in all"}


@dataclass(frozen=True)
class Gauge:
    """One limit of a person."""

    name: str
    span: str
    limit: str
    spent: str
    share: float
    text: str

    @property
    def level(self) -> str:
        return "spent" if self.share >= 1 else "low" if self.share > 0.8 else "fine"


@dataclass(frozen=True)
class PersonView:
    """All releases about one person; their ε adds up, because apps may compare what they received."""

    name: str
    spent: dict[str, str]  # by period
    apps: tuple[tuple[str, str], ...]  # name, ε in all
    gauges: tuple[Gauge, ...]
    kind: str


def person_view(name: str, found: Person | None, apps: Sequence[App], *, live: bool, bundle_of: BundleOf) -> PersonView:
    """A person's view; `apps` receive their streams now, and `live` says whether any stream is sending."""
    bundles = [bundle for bundle in map(bundle_of, apps) if bundle is not None]
    rate = sum(map(rate_of, bundles), Fraction(0))
    spent = {span: up(_spent(found, key)) for key, span in _SPANS.items()}
    each = () if found is None else ((app, up(found.spent("in_all", app=app).epsilon)) for app in found.apps)
    parts = tuple((app or "no app named", epsilon) for app, epsilon in each)
    return PersonView(name, spent, parts, tuple(_gauges(found, bundles, rate, live=live)), _kind(found))


def rate_of(bundle: Bundle) -> Epsilon:
    """ε per second of a running stream, as the ledger counts it."""
    return ldp_epsilon(bundle.mechanism) / (bundle.hold.windows * bundle.policy.stream.window_seconds)


def lasts(limit: Limit, left: Epsilon, rate: Epsilon) -> timedelta | None:
    """How long a limit's remaining budget lasts at a rate in ε per second; None: it never runs out at that rate.

    In a rolling period old charges expire meanwhile, so this is a lower bound.
    """
    if rate <= 0 or (limit.span is not None and rate * Fraction(limit.span.total_seconds()) <= limit.epsilon):
        return None
    return timedelta(seconds=float(min(left / rate, Fraction(10**12))))


def _gauges(found: Person | None, bundles: Sequence[Bundle], rate: Epsilon, *, live: bool) -> Iterator[Gauge]:
    """The person's limits; before any charge, the tightest that the bundles ask for."""
    held = Limits() if found is None else found.limits
    if found is None or not found.draws:
        held = reduce(Limits.within, (Limits.of(bundle.policy.privacy.budget) for bundle in bundles), held)
    return (_gauge(limit, found, rate, live=live) for limit in held)


def _gauge(limit: Limit, found: Person | None, rate: Epsilon, *, live: bool) -> Gauge:
    spent = Fraction(0) if found is None else found.spent(limit.name).counted
    left, share = max(limit.epsilon - spent, Fraction(0)), float(min(spent / limit.epsilon, Fraction(1)))
    text = _text(limit, left, rate, found=found, live=live)
    return Gauge(limit.name, _SPANS[limit.name], up(limit.epsilon), up(spent), share, text)


def _text(limit: Limit, left: Epsilon, rate: Epsilon, *, found: Person | None, live: bool) -> str:
    frees = None if found is None else found.spent(limit.name).frees(limit.span)
    if not left:
        return "spent; it never frees" if frees is None else f"spent; more from {moment(frees)}"
    time = lasts(limit, left, rate)
    if time is None:
        return "no app gets anything" if rate <= 0 else "lasts: this rate never reaches it"
    return f"{lasting(time)} at this rate" if live else f"{lasting(time)} of streaming"


def _spent(found: Person | None, name: str) -> Epsilon:
    return Fraction(0) if found is None else found.spent(name).epsilon


def _kind(found: Person | None) -> str:
    """The kind of sum: a bound, or a count."""
    if found is None or not found.draws:
        return "nothing was released yet"
    draws = f"{found.draws:,} draws"
    if not found.unbounded:
        return f"{draws}; the sum is a bound (ldp), also for apps that compare what they got"
    return f"{draws}, {found.unbounded:,} of them without an LDP bound: nothing bounds them together"


Heard = Mapping[str, State]
"""Possible states of sending streams."""
PAGE = 20
STATES = ("live", "refused", "paused", "stopped", "quiet", "silent")


@dataclass(frozen=True)
class Search:
    """A search: streams whose name, person or app contains a text, in a state, on a page."""

    text: str = ""
    state: str = ""
    page: int = 1

    @classmethod
    def of(cls, request: Request) -> Self:
        asked = request.query_params
        page = asked.get("page", "")
        number = int(page) if page.isascii() and page.isdigit() and len(page) < 9 else 1
        return cls(asked.get("q", "").strip()[:100], asked.get("state", ""), max(1, number))

    def finds(self, device: Device, state: str, directory: Directory) -> bool:
        if self.state not in ("", state):
            return False
        text = self.text.casefold()
        names = (device.stream, device.person, *(app.name for app in directory.registered(device.stream)))
        return not text or any(text in name.casefold() for name in names)

    def query(self, **changes: object) -> dict[str, str]:
        """The query for a link to another page or state."""
        asked = {"q": self.text, "state": self.state, "page": self.page} | changes
        return {name: str(value) for name, value in asked.items() if value and (name, value) != ("page", 1)}


@dataclass(frozen=True)
class AppView:
    """One app of a stream."""

    name: str
    bundle: str
    promise: str
    released: str
    trouble: str
    push: str | None


@dataclass(frozen=True)
class StreamView:
    """One stream: its state in a word, and details."""

    name: str
    person: str
    state: str
    heard: str
    windows: str
    trouble: str
    since: str
    apps: tuple[AppView, ...]


@dataclass(frozen=True)
class Overview:
    """Some streams at one moment; `counts` cover all."""

    streams: tuple[StreamView, ...]
    people: tuple[PersonView, ...]
    health: str = ""
    counts: Mapping[str, int] = field(default_factory=dict)
    search: Search = Search()
    found: int = 0

    @property
    def pages(self) -> int:
        return max(1, -(-self.found // PAGE))

    @property
    def shape(self) -> str:
        """Changes when rows appear or disappear, so that the page reloads."""
        names = [(stream.name, *(app.name for app in stream.apps)) for stream in self.streams]
        people = [(person.name, len(person.gauges), len(person.apps)) for person in self.people]
        return hashlib.sha256(repr((names, people)).encode("utf-8", "surrogatepass")).hexdigest()[:16]

    def texts(self) -> dict[str, str]:
        """The texts that change live, by the names in the templates."""
        return dict(self._texts())

    def _texts(self) -> Iterator[tuple[str, str]]:
        yield "health", self.health
        yield from ((f"count.{state}", f"{count:,}") for state, count in self.counts.items())
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


async def overview(desk: Desk, search: Search) -> Overview:
    """One page of registered streams; the rest is only counted, so that it costs nothing more."""
    directory, heard = desk.gateway.directory, await desk.gateway.states()
    every = [(device, _state(directory, device.stream, device.person, heard)) for device in directory.devices()]
    counted = Counter(state for _, state in every)
    found = [device.stream for device, state in every if search.finds(device, state, directory)]
    first = min(search.page - 1, max(0, len(found) - 1) // PAGE) * PAGE
    shown = await look(desk, found[first : first + PAGE], heard)
    counts = {state: counted[state] for state in STATES}
    heard_from = sum(counted[state] for state in ("live", "refused"))
    health = in_words(
        desk.gateway.health.unpaid,
        live=heard_from,
        streams=len(every),
        withheld=desk.gateway.mediator.reasons(),
        others=desk.gateway.health.others,
    )
    return Overview(shown.streams, shown.people, health, counts, replace(search, page=first // PAGE + 1), len(found))


async def look(desk: Desk, streams: Sequence[str], heard: Heard) -> Overview:
    """An overview of some streams and their people."""
    status = {each.stream: each for each in await desk.gateway.statuses(streams)}
    return await asyncio.to_thread(_looked, desk, [status[each] for each in streams if each in status], heard)


def _looked(desk: Desk, status: Sequence[StreamStatus], heard: Heard) -> Overview:
    now = utc_now()
    views = tuple(_stream(desk, each, heard, now=now) for each in status)
    return Overview(views, tuple(people(desk, list(dict.fromkeys(each.person for each in status)), heard)))


def people(desk: Desk, names: Sequence[str], heard: Heard) -> Iterator[PersonView]:
    """People with their spending and current rate."""
    spent = {person.name: person for person in statement(desk.gateway.database, people=names).people}
    directory = desk.gateway.directory
    for name in names:
        theirs = [app for stream in directory.streams_of(name) for app in directory.registered(stream)]
        running = [app for app in theirs if heard.get(app.stream) in ("live", "refused")]
        yield person_view(name, spent.get(name), running or theirs, live=bool(running), bundle_of=desk.bundle_of)


def _state(directory: Directory, stream: str, person: str, heard: Heard) -> str:
    halt = directory.halt_of(person)
    return heard.get(stream, "silent") if halt is None else "stopped" if halt.stopped else "paused"


def _stream(desk: Desk, found: StreamStatus, heard: Heard, *, now: datetime) -> StreamView:
    directory = desk.gateway.directory
    known = {each.name: each for each in found.apps}
    apps = tuple(_app(desk, app, known.get(app.name)) for app in directory.registered(found.stream))
    device, state = directory.device(found.stream), _state(directory, found.stream, found.person, heard)
    trouble = [f"waits for {listed(found.missing)}" if state in ("live", "refused") and found.missing else ""]
    trouble.append(f"{found.late:,} readings came too late" if found.late else "")
    trouble.append(f"the last ones {found.behind:.1f} s: {BEHIND}" if found.behind else "")
    trouble.append(f"no window can be whole: {found.apart}" if found.apart else "")
    last = "not sending" if found.last_reading is None else f"heard {ago(found.last_reading, now)}"
    since, told = "" if device is None else f"{device.created:%Y-%m-%d}", "; ".join(filter(None, trouble))
    return StreamView(found.stream, found.person, state, last, f"{found.windows:,}", told, since, apps)


def _app(desk: Desk, app: App, found: AppStatus | None) -> AppView:
    released, trouble = found or AppStatus(app.name), ""
    parts = [f"{released.released:,} windows"]
    parts += [f"{released.placeholders:,} placeholders"] if released.placeholders else []
    parts += [f"{released.dropped:,} not received"] if released.dropped else []
    parts += [] if released.is_read else ["nobody reads it now"]
    try:
        bundle = desk.gateway.bundles.get(app.bundle)
        promise = f"{bundle.mechanism.event}, one draw for {span(bundle.policy.seconds_per_draw)}"
    except BundleError as error:  # reported, not raised: the page also shows other apps
        promise, trouble = "its bundle cannot be had", str(error)
    pushed = None if app.push is None else shown_address(app.push)
    return AppView(app.name, app.bundle, promise, ", ".join(parts), released.refusal or trouble, pushed)
