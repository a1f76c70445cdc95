"""Bulk registration of devices, apps and people: all or nothing, leaving existing entries unchanged.

Tokens are stored as hashes, so existing entries are answered without one. If an answer was lost, the caller can request
new tokens, which end the old ones.
"""

import json
from collections.abc import Callable, Iterable, Sequence
from typing import Annotated, Any, Literal, TypeVar

from pydantic import AfterValidator, Field, ValidationError
from sqlalchemy import Connection, Row, Table, bindparam, insert, select, update

from deeprotect.errors import InputError, printable
from deeprotect.gateway.registration import registry_tables as tables
from deeprotect.gateway.registration.addresses import check_address, new_token, token_hash
from deeprotect.gateway.registration.device_registry import LOCK, Registry
from deeprotect.gateway.registration.events import record
from deeprotect.gateway.registration.registry_tables import apps, channels, devices, links, registry, served
from deeprotect.gateway.wire.formats import Form
from deeprotect.gateway.wire.sensor_layout import SensorSettings
from deeprotect.policy.sections import Section
from deeprotect.privacy.size_limits import LONGEST, is_name
from deeprotect.release.ledger.database_tables import streams
from deeprotect.release.ledger.ledger import microseconds

MOST = 10_000


def _line(name: str) -> str:
    if not is_name(name, longest=LONGEST):
        raise ValueError(f"must be one printable line of at most {LONGEST} characters")
    return name


Name = Annotated[str, Field(min_length=1), AfterValidator(_line)]
State = Literal["registered", "unchanged", "new token"]
Asked = TypeVar("Asked", bound=Section)
Key = TypeVar("Key")


class DeviceEntry(Section):
    """A device that sends one stream of one person; without a person, the stream counts as a person of its own."""

    stream: Name
    person: Name | None = None
    sensors: SensorSettings = Field(default_factory=SensorSettings)

    @property
    def owner(self) -> str:
        return self.person or self.stream


class AppEntry(Section):
    """An app that receives one stream through a served bundle."""

    name: Name
    stream: Name
    bundle: Name
    push: Annotated[str, Field(max_length=2000)] | None = None
    form: Form | None = None


class AppName(Section):
    """An app, identified by its stream and name."""

    name: Name
    stream: Name


class Registration(Section):
    """A registration; `people` get addresses of their own pages. `new_tokens` also replaces existing tokens."""

    devices: Annotated[tuple[DeviceEntry, ...], Field(max_length=MOST)] = ()
    apps: Annotated[tuple[AppEntry, ...], Field(max_length=MOST)] = ()
    people: Annotated[tuple[Name, ...], Field(max_length=MOST)] = ()
    new_tokens: bool = False


class Revocation(Section):
    """A revocation; with a device, all its apps are revoked; `people` lose only the addresses of their pages."""

    devices: Annotated[tuple[Name, ...], Field(max_length=MOST)] = ()
    apps: Annotated[tuple[AppName, ...], Field(max_length=MOST)] = ()
    people: Annotated[tuple[Name, ...], Field(max_length=MOST)] = ()


class RegisteredDevice(Section):
    """The device's token, if it has a new one, for /in/TOKEN."""

    stream: str
    person: str
    state: State
    token: str | None


class RegisteredApp(Section):
    """The app's token, if it has a new one, for /out."""

    name: str
    stream: str
    state: State
    token: str | None


class RegisteredPerson(Section):
    """The person's token, if they have a new one, for /me/TOKEN."""

    person: str
    state: State
    token: str | None


class Registered(Section):
    """Results in the order of the request."""

    devices: list[RegisteredDevice]
    apps: list[RegisteredApp]
    people: list[RegisteredPerson]


class Revoked(Section):
    """Numbers of revoked entries that were valid."""

    devices: int
    apps: int
    people: int


def read_registration(body: bytes) -> Registration:
    """Parse a registration; an error is one line that names the place."""
    return _read(body, Registration)


def read_revocation(body: bytes) -> Revocation:
    return _read(body, Revocation)


def _read(body: bytes, kind: type[Asked]) -> Asked:
    try:
        return kind.model_validate_json(body)
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False, include_context=False)[0]
        place = ".".join(map(str, first["loc"])) or "the request"
        raise InputError(printable(f"{place}: {' '.join(first['msg'].split())}; see /openapi.json", 300)) from None


def register(known: Registry, asked: Registration) -> Registered:
    """Register everything, or raise an error that names the conflict."""
    _check_once((each.stream for each in asked.devices), "stream '{}' is named twice")
    _check_once((f"{each.name}' of '{each.stream}" for each in asked.apps), "app '{}' is named twice")
    _check_once(asked.people, "person '{}' is named twice")
    with known.database.writing(LOCK) as connection:
        bulk = _Bulk(connection, now=microseconds(known.clock()), renews=asked.new_tokens)
        made = Registered(
            devices=bulk.devices(asked.devices), apps=bulk.apps(asked.apps), people=bulk.people(asked.people)
        )
        bulk.write("registered in bulk")
    return made


def revoke(known: Registry, asked: Revocation) -> Revoked:
    """Revoke entries; those already revoked are ignored, so that a request can be repeated."""
    with known.database.writing(LOCK) as connection:
        bulk = _Bulk(connection, now=microseconds(known.clock()), renews=False)
        found = bulk.revoke(asked)
        bulk.write("revoked in bulk")
    return found


class _Bulk:
    """One transaction: reads everything valid once, and writes all rows at its end."""

    def __init__(self, connection: Connection, *, now: int, renews: bool) -> None:
        self._connection, self._now, self._renews = connection, now, renews
        self._devices = self._valid(devices, lambda row: row.stream)
        self._apps = self._valid(apps, lambda row: (row.stream, row.name))
        self._links = self._valid(links, lambda row: (row.kind, row.name))
        self._owners = {rows[-1].person for rows in self._devices.values()}
        self._new: dict[Table, list[dict[str, Any]]] = {devices: [], apps: [], links: []}
        self._over: dict[Table, list[int]] = {devices: [], apps: [], links: []}

    def devices(self, asked: Sequence[DeviceEntry]) -> list[RegisteredDevice]:
        own = self._connection.execute(select(streams.c.name, streams.c.person))
        belongs = {row.name: row.person for row in own} if asked else {}
        channels_known = self._connection.execute(select(channels.c.channel).distinct()).scalars().all()
        topics = {
            topic: row.stream
            for rows in self._devices.values()
            for row in rows
            if (topic := json.loads(row.sensors).get("topic"))
        }
        return [self._device(each, belongs, channels_known, topics) for each in asked]

    def _device(
        self, asked: DeviceEntry, belongs: dict[str, str], channels_known: Sequence[str], topics: dict[str, str]
    ) -> RegisteredDevice:
        stream, owner, topic = asked.stream, asked.owner, asked.sensors.topic
        if channels_known:
            asked.sensors.check_channels(channels_known)
        if belongs.get(stream, owner) != owner:
            raise InputError(f"stream '{printable(stream)}' belongs to another person in the ledger; rename it")
        if topic and topics.setdefault(topic, stream) != stream:
            raise InputError(f"topic '{printable(topic)}' belongs to another device; each has its own")
        there = self._devices.get(stream, [])
        if there and (there[-1].person != owner or _settings(there[-1]) != asked.sensors.model_dump()):
            raise InputError(
                f"stream '{printable(stream)}' is registered for another person or with other sensors; revoke it first"
            )
        sensors = json.dumps(asked.sensors.model_dump(exclude_unset=True))
        state, token = self._token(devices, there, stream=stream, person=owner, sensors=sensors)
        self._devices.setdefault(stream, there)
        self._owners.add(owner)
        return RegisteredDevice(stream=stream, person=owner, state=state, token=token)

    def apps(self, asked: Sequence[AppEntry]) -> list[RegisteredApp]:
        found = select(served.c.bundle).distinct().order_by(served.c.bundle)
        bundles = self._connection.execute(found).scalars().all()
        return [self._app(each, bundles) for each in asked]

    def _app(self, asked: AppEntry, bundles: Sequence[str]) -> RegisteredApp:
        stream, name, columns = asked.stream, asked.name, asked.model_dump()
        if asked.push is not None:
            check_address(asked.push)
        if bundles and asked.bundle not in bundles:
            there_are = printable(", ".join(bundles), 300)
            raise InputError(f"no bundle '{printable(asked.bundle)}' is served; these are: {there_are}")
        if stream not in self._devices:
            raise InputError(f"no stream '{printable(stream)}' is registered; register its device, too")
        there = self._apps.get((stream, name), [])
        if there and any(getattr(there[-1], column) != columns[column] for column in ("bundle", "push", "form")):
            raise InputError(
                f"app '{printable(name)}' of stream '{printable(stream)}' is registered with another bundle, push or "
                "form; revoke it first"
            )
        state, token = self._token(apps, there, **columns)
        return RegisteredApp(name=name, stream=stream, state=state, token=token)

    def people(self, asked: Sequence[str]) -> list[RegisteredPerson]:
        return [self._person(name) for name in asked]

    def _person(self, name: str) -> RegisteredPerson:
        if name not in self._owners:
            raise InputError(f"nobody called '{printable(name)}' has a stream here; register a device of theirs, too")
        there = self._links.get(("person", name), [])
        state, token = self._token(links, there, kind="person", name=name)
        return RegisteredPerson(person=name, state=state, token=token)

    def revoke(self, asked: Revocation) -> Revoked:
        streams_over, people = set(asked.devices), set(asked.people)
        names = {(each.stream, each.name) for each in asked.apps}
        senders = [rows for stream, rows in self._devices.items() if stream in streams_over]
        getters = [rows for key, rows in self._apps.items() if key[0] in streams_over or key in names]
        pages = [rows for (kind, name), rows in self._links.items() if kind == "person" and name in people]
        for table, found in ((devices, senders), (apps, getters), (links, pages)):
            self._over[table] = [row.id for rows in found for row in rows]
        return Revoked(devices=len(senders), apps=len(getters), people=len(pages))

    def write(self, what: str) -> None:
        """Write ended rows, new rows, and the fact that something changed, if it did."""
        for table, numbers in self._over.items():
            if numbers:
                ending = update(table).where(table.c.id == bindparam("number")).values(revoked=self._now)
                self._connection.execute(ending, [{"number": number} for number in numbers])
        for table, rows in self._new.items():
            if rows:
                self._connection.execute(insert(table), rows)
        counts = {table: max(len(self._over[table]), len(self._new[table])) for table in self._new}
        if any(counts.values()):
            self._connection.execute(update(registry).values(changes=registry.c.changes + 1))
            facts = {"devices": counts[devices], "apps": counts[apps], "people": counts[links]}
            record(self._connection, what, at=self._now, **facts)

    def _token(self, table: Table, there: list[Row[Any]], **columns: Any) -> tuple[State, str | None]:
        """A new token for an entry without one, or for all if requested; earlier tokens end."""
        if there and not self._renews:
            return "unchanged", None
        token = new_token(columns.get("stream"))
        created = there[-1].created if there else self._now  # the same app, whose draws continue
        self._over[table] += [row.id for row in there]
        self._new[table].append({**columns, "created": created, "token_hash": token_hash(token)})
        return ("new token" if there else "registered"), token

    def _valid(self, table: Table, key: Callable[[Row[Any]], Key]) -> dict[Key, list[Row[Any]]]:
        """Rows by key; two while a rotated token is still valid."""
        found: dict[Key, list[Row[Any]]] = {}
        asked = select(table).where(tables.is_valid(table, self._now)).order_by(table.c.id)
        for row in self._connection.execute(asked):
            found.setdefault(key(row), []).append(row)
        return found


def _settings(row: Row[Any]) -> dict[str, Any]:
    return SensorSettings.of(json.loads(row.sensors)).model_dump()


def _check_once(names: Iterable[str], told: str) -> None:
    seen: set[str] = set()
    for name in names:
        if name in seen:
            raise InputError(f"{told.format(printable(name))}; name each once")
        seen.add(name)
