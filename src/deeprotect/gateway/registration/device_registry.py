"""Who may send and who may have what: devices and apps, by tokens that are stored as hashes."""

import json
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from functools import cached_property
from typing import Any, Self

from sqlalchemy import Connection, Row, Table, func, insert, select, update

from deeprotect.errors import InputError, printable
from deeprotect.gateway.registration.push_address import check_address
from deeprotect.gateway.registration.registry_tables import admins, apps, create, devices, registry
from deeprotect.gateway.registration.tokens import new_token, token_hash
from deeprotect.gateway.wire.sensor_settings import SensorSettings
from deeprotect.privacy.names import check_names
from deeprotect.release.ledger.database import Database
from deeprotect.release.ledger.database_tables import streams
from deeprotect.release.ledger.ledger import Clock, microseconds, moment_of, utc_now

_LOCK = "deeprotect: registry"
_NO_STREAM = "no stream '{}' is registered; `deeprotect register list` shows them"
_NO_APP = "stream '{}' has no app '{}'; `deeprotect register list` shows them"


@dataclass(frozen=True)
class Device:
    """What sends one stream of one person; `sensors` says how its messages are read."""

    stream: str
    person: str
    created: datetime
    sensors: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class App:
    """Who gets one stream through one bundle; `push` is where to, if it does not come and fetch."""

    name: str
    stream: str
    bundle: str
    created: datetime
    push: str | None = None
    epsilon: str | None = None
    every: int | None = None

    @cached_property
    def key(self) -> str:
        """Another one when it was revoked and registered again under the same name."""
        return f"{self.name}\n{self.created.isoformat()}"

    @cached_property
    def terms(self) -> str:
        """Another one whenever what it is given is chosen anew."""
        return f"{self.key}\n{self.epsilon}\n{self.every}"


@dataclass(frozen=True)
class Known:
    """All that is valid at one moment, by the hash of its token."""

    devices: dict[bytes, Device]
    apps: dict[bytes, App]


class Registry:
    """Devices and apps in the ledger's own database; many processes may hold it at once."""

    def __init__(self, database: Database, *, clock: Clock = utc_now) -> None:
        self._database, self._clock = database, clock
        self._read: tuple[int, Known] | None = None
        with database.writing(_LOCK) as connection:
            create(connection)

    @classmethod
    def at(cls, address: str) -> Self:
        """In a ledger that is there, or in a new one."""
        return cls(Database.existing_or_new(address))

    def add_device(self, stream: str, *, person: str | None = None, sensors: dict[str, Any] | None = None) -> str:
        """Its token, shown this once."""
        owner = stream if person is None else person
        check_names([stream, owner], "the name of a stream or a person")
        SensorSettings.of(sensors or {})  # a mistake is told now, and not with every message
        columns = {"stream": stream, "person": owner, "sensors": json.dumps(sensors or {})}
        with self._database.writing(_LOCK) as connection:
            if self._valid(connection, devices, stream=stream):
                raise InputError(f"stream '{printable(stream)}' has a device; revoke it first, or choose another name")
            if _owner(connection, stream) not in (None, owner):
                raise InputError(f"stream '{printable(stream)}' was another person's; choose another name")
            return self._add(connection, devices, **columns)

    def add_app(
        self,
        name: str,
        *,
        stream: str,
        bundle: str,
        push: str | None = None,
        epsilon: str | None = None,
        every: int | None = None,
        served: Collection[str] | None = None,
    ) -> str:
        """Its token, shown this once; good for this stream and this bundle, which is among those `served`, if known."""
        check_names([name, stream, bundle], "the name of an app, a stream or a bundle")
        if served is not None and bundle not in served:
            there = ", ".join(map(printable, served)) or "none"
            raise InputError(f"no bundle '{printable(bundle)}' is served; there is: {there}")
        if push is not None:
            check_address(push)
        columns = {"name": name, "stream": stream, "bundle": bundle, "push": push, "epsilon": epsilon, "every": every}
        with self._database.writing(_LOCK) as connection:
            if not self._valid(connection, devices, stream=stream):
                raise InputError(f"no stream '{printable(stream)}' is registered; register its device first")
            if self._valid(connection, apps, stream=stream, name=name):
                raise InputError(f"stream '{printable(stream)}' has an app '{printable(name)}'; revoke it first")
            return self._add(connection, apps, **columns)

    def new_admin(self) -> str:
        """The admin's token, shown this once; it replaces the one before."""
        token = new_token()
        with self._database.writing(_LOCK) as connection:
            connection.execute(admins.delete())
            connection.execute(insert(admins).values(token_hash=token_hash(token), created=self._now()))
        return token

    def has_admin(self) -> bool:
        with self._database.reading() as connection:
            return bool(connection.execute(select(func.count()).select_from(admins)).scalar())

    def is_admin(self, token: str) -> bool:
        with self._database.reading() as connection:
            return self._found(connection, admins, token) is not None

    def device_of(self, token: str) -> Device | None:
        """The device with this token, unless it was revoked."""
        with self._database.reading() as connection:
            row = self._found(connection, devices, token)
        return None if row is None or row.revoked is not None else _device(row)

    def app_of(self, token: str) -> App | None:
        """The app with this token, unless it was revoked."""
        with self._database.reading() as connection:
            row = self._found(connection, apps, token)
        return None if row is None or row.revoked is not None else _app(row)

    def known(self) -> Known:
        """Everything that was not revoked, at one moment; the same object as long as nothing changes."""
        with self._database.reading() as connection:
            changes = connection.execute(select(registry.c.changes)).scalar_one()
            if self._read is None or self._read[0] != changes:
                found = Known(
                    {bytes(row.token_hash): _device(row) for row in self._valid(connection, devices)},
                    {bytes(row.token_hash): _app(row) for row in self._valid(connection, apps)},
                )
                self._read = changes, found
            return self._read[1]

    def devices(self) -> Sequence[Device]:
        return list(self.known().devices.values())

    def apps(self) -> Sequence[App]:
        return list(self.known().apps.values())

    def revoke_device(self, stream: str) -> None:
        """And with it all apps of its stream."""
        if not self._change(devices, revoked=self._now(), stream=stream):
            raise InputError(_NO_STREAM.format(printable(stream)))
        self._change(apps, revoked=self._now(), stream=stream)

    def revoke_app(self, name: str, *, stream: str) -> None:
        if not self._change(apps, revoked=self._now(), name=name, stream=stream):
            raise InputError(_NO_APP.format(printable(stream), printable(name)))

    def choose(self, name: str, *, stream: str, epsilon: str | None, every: int | None) -> None:
        """What an app is given from now on; the caller has seen that its bundle allows it."""
        if not self._change(apps, epsilon=epsilon, every=every, name=name, stream=stream):
            raise InputError(_NO_APP.format(printable(stream), printable(name)))

    def _add(self, connection: Connection, table: Table, **columns: Any) -> str:
        token = new_token()
        row = {"token_hash": token_hash(token), "created": self._now(), **columns}
        connection.execute(insert(table).values(**row))
        _changed(connection)
        return token

    def _change(self, table: Table, *, stream: str, name: str | None = None, **columns: Any) -> bool:
        """Whether there was anything to change: what is revoked stays so, with the time at which it was."""
        same = [table.c.stream == stream, *([] if name is None else [table.c.name == name])]
        with self._database.writing(_LOCK) as connection:
            done = connection.execute(update(table).where(table.c.revoked.is_(None), *same).values(**columns))
            _changed(connection)
            return bool(done.rowcount)

    @staticmethod
    def _valid(connection: Connection, table: Table, **named: str) -> Sequence[Row[Any]]:
        same = [table.c[column] == value for column, value in named.items()]
        return connection.execute(select(table).where(table.c.revoked.is_(None), *same).order_by(table.c.id)).all()

    @staticmethod
    def _found(connection: Connection, table: Table, token: str) -> Row[Any] | None:
        row: Row[Any] | None = connection.execute(
            select(table).where(table.c.token_hash == token_hash(token))
        ).one_or_none()
        return row

    def _now(self) -> int:
        return microseconds(self._clock())


def _changed(connection: Connection) -> None:
    connection.execute(update(registry).values(changes=registry.c.changes + 1))


def _owner(connection: Connection, stream: str) -> str | None:
    """Whose stream it is in the ledger, where it stays with the person that it began with."""
    person: str | None = connection.execute(select(streams.c.person).where(streams.c.name == stream)).scalar()
    return person


def _device(row: Row[Any]) -> Device:
    return Device(row.stream, row.person, moment_of(row.created), json.loads(row.sensors))


def _app(row: Row[Any]) -> App:
    return App(row.name, row.stream, row.bundle, moment_of(row.created), row.push, row.epsilon, row.every)
