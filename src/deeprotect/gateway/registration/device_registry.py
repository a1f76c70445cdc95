"""The registry of devices and apps, and of people for whom nothing is drawn; tokens are stored as hashes."""

import json
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from functools import cached_property
from pathlib import Path
from typing import Any, Literal, Self

from sqlalchemy import ColumnElement, Connection, Row, Table, and_, delete, insert, select, update

from deeprotect.errors import InputError, printable
from deeprotect.gateway.registration import registry_tables as tables
from deeprotect.gateway.registration.addresses import check_address, new_token, token_hash
from deeprotect.gateway.registration.events import CLOCK_CONFIRMED, record
from deeprotect.gateway.registration.registry_tables import (
    admins,
    apps,
    channels,
    devices,
    halts,
    links,
    registry,
    served,
)
from deeprotect.gateway.wire.formats import Form
from deeprotect.gateway.wire.sensor_layout import SensorSettings
from deeprotect.privacy.size_limits import check_names
from deeprotect.release.ledger.database import Database
from deeprotect.release.ledger.database_tables import streams
from deeprotect.release.ledger.ledger import Clock, microseconds, moment_of, utc_now

LOCK = "deeprotect: registry"
_NO_STREAM = "no stream '{}' is registered; `deeprotect gateway list` shows them"
_NO_APP = "stream '{}' has no app '{}'; `deeprotect gateway list` shows them"
_NOBODY = "nobody called '{}' has a stream here; `deeprotect gateway list` shows who has"
_NO_GATEWAY = "{}: there is no gateway here; start it first with `deeprotect gateway serve`, or name its --ledger"
LinkKind = Literal["person", "metrics"]
_LINKS = {"person": "address of a person's page", "metrics": "token for metrics"}


@dataclass(frozen=True)
class Device:
    """A device that sends one stream of one person; `sensors` says how to read its messages."""

    stream: str
    person: str
    created: datetime
    sensors: dict[str, Any] = field(default_factory=dict)

    @property
    def topic(self) -> str | None:
        """Its own broker topic, if it has one."""
        return self.sensors.get("topic")


@dataclass(frozen=True)
class App:
    """An app that receives one stream through one bundle; `push` is its address, unless it fetches windows."""

    name: str
    stream: str
    bundle: str
    created: datetime
    push: str | None = None
    form: Form | None = None  # None: Sensor Logger's form for pushes, rows for fetches

    @cached_property
    def key(self) -> str:
        """Differs after an app was revoked and registered again under the same name."""
        return f"{self.name}\n{self.created.isoformat()}"


@dataclass(frozen=True)
class Halt:
    """Draws for a person are stopped: permanently, until the person resumes, or until a time."""

    stopped: bool
    since: datetime
    until: datetime | None = None

    def holds(self, now: datetime) -> bool:
        return self.until is None or now < self.until


@dataclass(frozen=True)
class Known:
    """Everything valid at one moment, by the hash of its token; a rotated token expires at its time in `until`."""

    devices: dict[bytes, Device]
    apps: dict[bytes, App]
    until: dict[bytes, datetime]
    halts: dict[str, Halt]


class Registry:
    """Devices, apps and people in the ledger's database, which many processes may use at once."""

    def __init__(self, database: Database, *, clock: Clock = utc_now) -> None:
        self.database, self.clock = database, clock
        self._read: tuple[int, Known] | None = None
        with database.writing(LOCK) as connection:
            tables.create(connection, now=self._now())

    @classmethod
    def existing(cls, address: str) -> Self:
        """The registry of a gateway that has been started; never creates one."""
        if "://" not in address and not Path(address).exists():
            raise InputError(_NO_GATEWAY.format(printable(address, 200)))
        database = Database.existing(address)
        with database.reading() as connection:
            if not tables.exists(connection):
                raise InputError(_NO_GATEWAY.format(database.where))
        return cls(database)

    def add_device(self, stream: str, *, person: str | None = None, sensors: dict[str, Any] | None = None) -> str:
        """Register a device; returns its token, which is shown once."""
        owner = stream if person is None else person
        check_names([stream, owner], "the name of a stream or a person")
        settings = SensorSettings.of(sensors or {})  # report mistakes now, not with every message
        columns = {"stream": stream, "person": owner, "sensors": json.dumps(sensors or {})}
        with self.database.writing(LOCK) as connection:
            known = connection.execute(select(channels.c.channel).distinct()).scalars().all()
            if known:
                settings.check_channels(known)
            if self._valid(connection, devices, stream=stream):
                raise InputError(
                    f"stream '{printable(stream)}' already has a device; revoke it first, or choose another name"
                )
            if _owner(connection, stream) not in (None, owner):
                raise InputError(
                    f"stream '{printable(stream)}' belongs to another person in the ledger; choose another name"
                )
            topic = settings.topic
            if topic and any(_device(row).topic == topic for row in self._valid(connection, devices)):
                raise InputError(f"topic '{printable(topic)}' belongs to another device; each has its own")
            self._changed(connection, "device registered", stream=stream, person=owner)
            return self._add(connection, devices, **columns)

    def add_app(self, name: str, *, stream: str, bundle: str, push: str | None = None, form: Form | None = None) -> str:
        """Register an app for a stream and a served bundle; returns its token, which is shown once."""
        check_names([name, stream, bundle], "the name of an app, a stream or a bundle")
        if push is not None:
            check_address(push)
        columns = {"name": name, "stream": stream, "bundle": bundle, "push": push, "form": form}
        with self.database.writing(LOCK) as connection:
            known = connection.execute(select(served.c.bundle).distinct().order_by(served.c.bundle)).scalars().all()
            if known and bundle not in known:
                there = printable(", ".join(known), 300)
                raise InputError(f"no bundle '{printable(bundle)}' is served; these are: {there}")
            if not self._valid(connection, devices, stream=stream):
                raise InputError(f"no stream '{printable(stream)}' is registered; register its device first")
            if self._valid(connection, apps, stream=stream, name=name):
                raise InputError(
                    f"stream '{printable(stream)}' already has an app '{printable(name)}'; revoke it first"
                )
            self._changed(connection, "app registered", stream=stream, app=name, bundle=bundle)
            return self._add(connection, apps, **columns)

    def serve(self, gateway: str, bundles: Collection[str], names: Collection[str] = ()) -> None:
        """Record the bundles of a starting gateway and their channels, for registrations."""
        with self.database.writing(LOCK) as connection:
            for table, column, own in ((served, "bundle", bundles), (channels, "channel", names)):
                connection.execute(delete(table).where(table.c.gateway == gateway))
                if own:
                    connection.execute(insert(table), [{"gateway": gateway, column: name} for name in own])

    def rotate(self, stream: str, *, app: str | None = None, overlap: timedelta) -> str:
        """A new token for a device or an app, shown once; earlier tokens stay valid for a while."""
        table, named = (devices, {"stream": stream}) if app is None else (apps, {"stream": stream, "name": app})
        end = microseconds(self.clock() + overlap)
        over = {"until": end} if overlap else {"revoked": end}
        with self.database.writing(LOCK) as connection:
            rows = self._valid(connection, table, **named)
            if not rows:
                raise InputError(_missing(stream, app))
            ending = update(table).where(self._is(table, named), tables.is_valid(table, end))
            connection.execute(ending.values(**over))
            same = {name: value for name, value in rows[-1]._mapping.items() if name not in ("id", "until")}
            self._changed(connection, "token rotated", stream=stream, app=app, overlap=f"{overlap.total_seconds():g} s")
            return self._add(connection, table, **same)

    def revoke_device(self, stream: str) -> None:
        """Revoke a device and all apps of its stream."""
        with self.database.writing(LOCK) as connection:
            if not self._end(connection, devices, stream=stream):
                raise InputError(_missing(stream, None))
            self._end(connection, apps, stream=stream)
            self._changed(connection, "device and its apps revoked", stream=stream)

    def revoke_app(self, name: str, *, stream: str) -> None:
        with self.database.writing(LOCK) as connection:
            if not self._end(connection, apps, stream=stream, name=name):
                raise InputError(_missing(stream, name))
            self._changed(connection, "app revoked", stream=stream, app=name)

    def new_link(self, kind: LinkKind, name: str = "") -> str:
        """A token for a person's own page, or for reading metrics, shown once; it replaces the previous one."""
        with self.database.writing(LOCK) as connection:
            if kind == "person" and not self._valid(connection, devices, person=name):
                raise InputError(_NOBODY.format(printable(name)))
            self._end(connection, links, kind=kind, name=name)
            self._changed(connection, f"{_LINKS[kind]} made", person=name or None)
            return self._add(connection, links, kind=kind, name=name)

    def revoke_link(self, kind: LinkKind, name: str = "") -> None:
        with self.database.writing(LOCK) as connection:
            if not self._end(connection, links, kind=kind, name=name):
                raise InputError(f"there is no such link; make one with `deeprotect gateway token {kind}`")
            self._changed(connection, f"{_LINKS[kind]} revoked", person=name or None)

    def has_link(self, kind: LinkKind, name: str = "") -> bool:
        with self.database.reading() as connection:
            return bool(self._valid(connection, links, kind=kind, name=name))

    def linked(self, kind: LinkKind, token: str) -> str | None:
        """The name for which a link was made, unless it was revoked."""
        with self.database.reading() as connection:
            row = next(iter(self._valid(connection, links, kind=kind, token_hash=token_hash(token))), None)
        return None if row is None else row.name

    def halt(self, person: str, *, stop: bool, until: datetime | None = None) -> None:
        """Stop draws for a person, permanently or for a while; a stop replaces a pause."""
        end = None if until is None else microseconds(until)
        row = {"person": person, "stopped": int(stop), "since": self._now(), "until": end}
        with self.database.writing(LOCK) as connection:
            connection.execute(delete(halts).where(halts.c.person == person, halts.c.stopped <= int(stop)))
            if connection.execute(select(halts.c.person).where(halts.c.person == person)).one_or_none() is None:
                connection.execute(insert(halts).values(**row))
                self._changed(connection, "stopped by the person" if stop else "paused by the person", person=person)

    def resume(self, person: str, *, by_operator: bool = False) -> bool:
        """Resume draws; only the operator can end a stop. Returns whether there was anything to resume."""
        allowed = halts.c.stopped <= int(by_operator)
        with self.database.writing(LOCK) as connection:
            halted = bool(connection.execute(delete(halts).where(halts.c.person == person, allowed)).rowcount)
            if halted:
                self._changed(connection, f"resumed by the {'operator' if by_operator else 'person'}", person=person)
        return halted

    def confirm_clock(self) -> None:
        """Record the operator's confirmation of this machine's clock: gateways that withhold because of a jump
        continue."""
        with self.database.writing(LOCK) as connection:
            record(connection, CLOCK_CONFIRMED, at=self._now())

    def new_admin(self) -> str:
        """A new admin token, shown once; it replaces the previous one."""
        with self.database.writing(LOCK) as connection:
            connection.execute(admins.delete())
            return self._new_admin(connection)

    def first_admin(self) -> str | None:
        """The first admin token, if there is none yet; of several gateways that start at once, one creates it."""
        with self.database.writing(LOCK) as connection:
            return None if connection.execute(select(admins.c.id)).first() else self._new_admin(connection)

    def _new_admin(self, connection: Connection) -> str:
        token = new_token()
        connection.execute(insert(admins).values(token_hash=token_hash(token), created=self._now()))
        self._changed(connection, "admin's token made")
        return token

    def is_admin(self, token: str) -> bool:
        asked = select(admins.c.id).where(admins.c.token_hash == token_hash(token))
        with self.database.reading() as connection:
            return connection.execute(asked).one_or_none() is not None

    def known(self) -> Known:
        """Everything valid at one moment; the same object as long as nothing changes."""
        with self.database.reading() as connection:
            changes = connection.execute(select(registry.c.changes)).scalar_one()
            if self._read is None or self._read[0] != changes:
                senders, getters = self._valid(connection, devices), self._valid(connection, apps)
                found = Known(
                    {bytes(row.token_hash): _device(row) for row in senders},
                    {bytes(row.token_hash): _app(row) for row in getters},
                    {bytes(row.token_hash): moment_of(row.until) for row in (*senders, *getters) if row.until},
                    {row.person: _halt(row) for row in connection.execute(select(halts))},
                )
                self._read = changes, found
            return self._read[1]

    def _add(self, connection: Connection, table: Table, **columns: Any) -> str:
        token = new_token(columns.get("stream"))
        row = {"created": self._now(), **columns, "token_hash": token_hash(token)}
        connection.execute(insert(table).values(**row))
        return token

    def _end(self, connection: Connection, table: Table, **named: str) -> bool:
        """Revoke rows; returns whether any were valid. Revoked rows stay, with their time."""
        return bool(
            connection.execute(update(table).where(self._is(table, named)).values(revoked=self._now())).rowcount
        )

    def _is(self, table: Table, named: dict[str, Any]) -> ColumnElement[bool]:
        """Condition: valid now, with this name."""
        return and_(tables.is_valid(table, self._now()), *(table.c[column] == value for column, value in named.items()))

    def _valid(self, connection: Connection, table: Table, **named: Any) -> Sequence[Row[Any]]:
        return connection.execute(select(table).where(self._is(table, named)).order_by(table.c.id)).all()

    def _changed(self, connection: Connection, what: str, **facts: str | None) -> None:
        """Record a change, so that readers of the registry reread it, and as an event."""
        connection.execute(update(registry).values(changes=registry.c.changes + 1))
        record(connection, what, at=self._now(), **facts)

    def _now(self) -> int:
        return microseconds(self.clock())


def _missing(stream: str, app: str | None) -> str:
    return _NO_STREAM.format(printable(stream)) if app is None else _NO_APP.format(printable(stream), printable(app))


def _owner(connection: Connection, stream: str) -> str | None:
    """The person whose stream it is in the ledger, which never changes."""
    person: str | None = connection.execute(select(streams.c.person).where(streams.c.name == stream)).scalar()
    return person


def _device(row: Row[Any]) -> Device:
    return Device(row.stream, row.person, moment_of(row.created), json.loads(row.sensors))


def _app(row: Row[Any]) -> App:
    return App(row.name, row.stream, row.bundle, moment_of(row.created), row.push, row.form)


def _halt(row: Row[Any]) -> Halt:
    return Halt(bool(row.stopped), moment_of(row.since), None if row.until is None else moment_of(row.until))
