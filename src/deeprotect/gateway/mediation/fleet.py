"""All gateways on one ledger: which of them are alive, and the state of their streams.

They never talk to each other. Each writes its own row in the shared database twice a second.
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
ALONE_BEATS = 20  # a gateway alone on its ledger skips all but one in this many beats
GONE_SECONDS = 2.0  # after which a gateway without a new row counts as dead
GRACE_SECONDS = 3.0  # that a connection may stay elsewhere: longer than it takes to notice a dead gateway
BACK_SECONDS = 1.5  # after which a proxy retries a gateway that is back
TOLD_SECONDS = 10.0  # that a gateway reports its streams' state after a request
_LOCK = "deeprotect: gateways"
_TWICE = "another gateway on this ledger has the same --shard; stop one, or give each its own, like 1/2 and 2/2"
_tables = MetaData()
gateways = Table(
    "deeprotect_gateways",
    _tables,
    Column("place", Integer, primary_key=True, autoincrement=False),
    Column("run", Text, nullable=False),  # a new one at each start
    Column("beats", BigInteger, nullable=False),
    Column("asked", BigInteger, nullable=False),  # number of requests for its streams' state
    Column("streams", LargeBinary),  # their state; JSON
)


@dataclass(frozen=True)
class Told:
    """State of the streams that a gateway received."""

    streams: list[StreamStatus] = field(default_factory=list)
    states: dict[str, State] = field(default_factory=dict)


_TOLD = TypeAdapter(Told)


@dataclass(frozen=True)
class OtherGateway:
    """Another gateway's row when it last changed, and when; times are of this machine's own clock."""

    run: str
    beats: int
    at: float
    since: float  # when its current run was first seen


class Fleet:
    """This gateway's place among the others; alone, it owns all streams."""

    def __init__(self, database: Database, place: GatewayPlace, *, clock: Callable[[], float] = time.monotonic) -> None:
        self._database, self.place, self._clock = database, place, clock
        self._run, self._beats, self._asked = str(uuid.uuid4()), 0, (0, clock() - TOLD_SECONDS)
        # At the start all others count as alive, and have the usual time to show it.
        unknown = OtherGateway("", 0, clock(), clock())
        self._seen = {index: unknown for index in range(place.count) if index != place.index}
        self._log = Trouble("two gateways have one place", "no other gateway has this place any more")
        with database.writing(_LOCK) as connection:
            if not inspect(connection).has_table(gateways.name):
                _tables.create_all(connection)

    def has(self, stream: str, since: float | None = None) -> bool:
        """Whether this gateway serves a stream, or a connection of it that is open since then.

        It does if the stream is its own, or if the stream's gateway is dead. A connection stays for a while, until its
        own gateway has been back long enough to be found.
        """
        owner = self._seen.get(self.place.owner(stream))
        now = self._clock()
        if owner is None or now - owner.at > GONE_SECONDS:
            return True
        back = owner.since + BACK_SECONDS
        return since is not None and (now < back or since > max(back, now - GRACE_SECONDS))

    @property
    def is_asked(self) -> bool:
        """Whether another gateway requests this one's state."""
        return self._clock() - self._asked[1] < TOLD_SECONDS

    def beat(self, told: Told | None) -> bool:
        """Write that this gateway is alive, with its streams' state if given, and read the others' rows.

        Returns whether it did: a gateway alone does so only occasionally.
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
        """The others' last reported states; requests new ones, which arrive within a second."""
        if self.place.count == 1:
            return Told()
        others = gateways.c.place != self.place.index
        with self._database.writing(_LOCK) as connection:
            connection.execute(update(gateways).where(others).values(asked=gateways.c.asked + 1))
            told = connection.execute(select(gateways.c.streams).where(others)).scalars().all()
        every = [_TOLD.validate_json(bytes(content)) for content in told if content is not None]
        states = (item for each in every for item in each.states.items())
        return Told([status for each in every for status in each.streams], dict(states))
