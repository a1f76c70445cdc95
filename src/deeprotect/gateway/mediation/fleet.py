"""All gateways that share a ledger: which of them are there, and how their streams are doing.

They never talk to each other. Each writes a row of its own in the database that they share, twice a second.
"""

import time
import uuid
from collections.abc import Callable
from dataclasses import dataclass, field

from pydantic import TypeAdapter
from sqlalchemy import BigInteger, Column, Integer, LargeBinary, MetaData, Table, Text, insert, inspect, select, update

from deeprotect.gateway.operation.log import Trouble
from deeprotect.gateway.registration.addresses import GatewayPlace
from deeprotect.gateway.streams.session import State, StreamStatus
from deeprotect.release.ledger.database import Database

BEAT_SECONDS = 0.5
ALONE_BEATS = 20  # one beat of so many is enough for a gateway that shares its ledger with none
GONE_SECONDS = 2.0  # after which a gateway that has not written its row is taken for dead
GRACE_SECONDS = 3.0  # that a connection may last elsewhere: longer than it takes to see that its own gateway is gone
BACK_SECONDS = 1.5  # after which a proxy has tried a gateway again that is back
TOLD_SECONDS = 10.0  # that a gateway tells how its streams are, after it was asked
_LOCK = "deeprotect: gateways"
_TWICE = "another gateway on this ledger has the same --shard; stop one, or give each its own, like 1/2 and 2/2"
_tables = MetaData()
gateways = Table(
    "deeprotect_gateways",
    _tables,
    Column("place", Integer, primary_key=True, autoincrement=False),
    Column("run", Text, nullable=False),  # another one after each start
    Column("beats", BigInteger, nullable=False),
    Column("asked", BigInteger, nullable=False),  # how often its streams were asked for
    Column("streams", LargeBinary),  # how they are; JSON
)


@dataclass(frozen=True)
class Told:
    """How a gateway's streams are: those that it heard from."""

    streams: list[StreamStatus] = field(default_factory=list)
    states: dict[str, State] = field(default_factory=dict)


_TOLD = TypeAdapter(Told)


@dataclass(frozen=True)
class OtherGateway:
    """Another gateway's row as it was last found changed, and when; times are of this machine's own clock."""

    run: str
    beats: int
    at: float
    since: float  # it was first seen in this run


class Fleet:
    """This gateway's place among the others; where it is alone, all streams are its own."""

    def __init__(self, database: Database, place: GatewayPlace, *, clock: Callable[[], float] = time.monotonic) -> None:
        self._database, self.place, self._clock = database, place, clock
        self._run, self._beats, self._asked = str(uuid.uuid4()), 0, (0, clock() - TOLD_SECONDS)
        # At the start all others are taken to be there: they have as long as usual to show it.
        unknown = OtherGateway("", 0, clock(), clock())
        self._seen = {index: unknown for index in range(place.count) if index != place.index}
        self._log = Trouble("two gateways have one place", "no other gateway has this place any more")
        with database.writing(_LOCK) as connection:
            if not inspect(connection).has_table(gateways.name):
                _tables.create_all(connection)

    def has(self, stream: str, since: float | None = None) -> bool:
        """Whether a stream, or a connection of it that is open since then, is this gateway's to serve.

        It is where the stream is its own, or the stream's own gateway is gone. A connection stays for a while, and
        until its own gateway has been back for long enough to be found.
        """
        owner = self._seen.get(self.place.owner(stream))
        now = self._clock()
        if owner is None or now - owner.at > GONE_SECONDS:
            return True
        back = owner.since + BACK_SECONDS
        return since is not None and (now < back or since > max(back, now - GRACE_SECONDS))

    @property
    def is_asked(self) -> bool:
        """Whether another gateway wants to know how this one's streams are."""
        return self._clock() - self._asked[1] < TOLD_SECONDS

    def beat(self, told: Told | None) -> bool:
        """Write that this gateway is there, and how its streams are if that is given; see who else is.

        Whether it was done: a gateway that is alone does it once in a while.
        """
        self._beats += 1
        if self.place.count == 1 and self._beats % ALONE_BEATS != 1:
            return False
        named, columns = gateways.c, dict[str, object](run=self._run, beats=self._beats)
        if told is not None:
            columns["streams"] = _TOLD.dump_json(told)
        with self._database.writing(f"{_LOCK} {self.place.index}") as connection:
            found = connection.execute(select(named.place, named.run, named.beats, named.asked)).all()
            own = next((row for row in found if row.place == self.place.index), None)
            if own is None:
                connection.execute(insert(gateways).values(place=self.place.index, asked=0, **columns))
            else:
                connection.execute(update(gateways).where(named.place == self.place.index).values(**columns))
        now = self._clock()
        if own is not None and own.asked != self._asked[0]:
            self._asked = own.asked, now
        if self._beats > 1:
            self._log.tell(_TWICE if own is not None and own.run != self._run else None, place=str(self.place))
        for row in (each for each in found if each.place in self._seen):
            known = self._seen[row.place]
            if (known.run, known.beats) != (row.run, row.beats):
                since = known.since if known.run in ("", row.run) else now
                self._seen[row.place] = OtherGateway(row.run, row.beats, now, since)
        return True

    def told(self) -> Told:
        """What the others last told of their streams; they are asked to tell, and do so within a second."""
        if self.place.count == 1:
            return Told()
        others = gateways.c.place != self.place.index
        with self._database.writing(_LOCK) as connection:
            connection.execute(update(gateways).where(others).values(asked=gateways.c.asked + 1))
            told = connection.execute(select(gateways.c.streams).where(others)).scalars().all()
        every = [_TOLD.validate_json(bytes(content)) for content in told if content is not None]
        states = (item for each in every for item in each.states.items())
        return Told([status for each in every for status in each.streams], dict(states))
