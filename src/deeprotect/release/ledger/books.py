"""Draws of many accounts in one transaction, charged and recorded with a few statements for all.

Draws are already private, so storing them is post-processing. The first recorded draw is permanent.
"""

import zlib
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from functools import cache, partial
from itertools import pairwise
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sqlalchemy import Connection, func, insert, select

from deeprotect.errors import BudgetError, LedgerUnavailableError, ReleasedBeforeError
from deeprotect.release.ledger import database_tables as schema
from deeprotect.release.ledger.ledger import Booking, DrawCounts, Paid, microseconds, not_drawn
from deeprotect.release.ledger.limits import LONGEST, Limits
from deeprotect.release.ledger.people import StoredHistory, limits_of, parts, spent_by
from deeprotect.signals.schema import Floats

if TYPE_CHECKING:
    from deeprotect.release.ledger.stored import StoredLedger

Places = NDArray[np.int64]
_TYPES = ("<u1", "<u2", "<u4", "<f8")
"""The first type that holds all values of a row's draws; a leading byte states which, and whether they are
compressed."""
_COMPRESSED = 128


@dataclass(eq=False)
class DrawPage:
    """Requested draws of one key, a place each: the row that charges it (0: none yet), and its recorded values."""

    stream: int
    key: bytes
    numbers: NDArray[np.int64]  # distinct, in order
    kept: list[tuple[int, Floats]] = field(default_factory=list)  # starting place, and (draw, value)

    def __post_init__(self) -> None:
        self.charge, self.paid, self.is_kept = (np.zeros(len(self.numbers), kind) for kind in (np.int64, bool, bool))
        self.is_gone = np.zeros(len(self.numbers), bool)  # was drawn, but is no longer stored

    def places(self, first: int, count: int) -> slice:
        """The places of requested draws among `count` from `first` on."""
        return slice(*np.searchsorted(self.numbers, (first, first + count)).tolist())

    def keep(self, place: slice, drawn: Floats) -> None:
        self.kept.append((place.start, drawn))
        self.is_kept[place] = True

    def close(self, last: int) -> None:
        """Mark the key as closed up to this number."""
        self.is_gone = (self.numbers <= last) & ~self.is_kept

    def overwrite(self, own: Floats, place: slice) -> None:
        """Replace draws by recorded ones, if there are any."""
        for start, drawn in self.kept:
            low, high = max(place.start, start), min(place.stop, start + len(drawn))
            if low < high:
                own[low - place.start : high - place.start] = drawn[low - start : high - start]


class Piece(NamedTuple):
    """Consecutive draws of one booking on a page, each for the same number of windows."""

    page: DrawPage
    place: slice
    windows: int


class StoredBooks:
    """One transaction; its caller holds the locks of all people concerned."""

    def __init__(self, connection: Connection, bookings: Sequence[Booking], *, now: datetime) -> None:
        self._connection, self._now = connection, now
        self._ledgers: list[StoredLedger] = [booking.ledger for booking in bookings]
        self._only_kept = [booking.only_kept for booking in bookings]
        self._pages: dict[tuple[int, bytes], DrawPage] = {}
        self._pieces = self._laid_out(bookings)
        self._paid: list[Paid | BudgetError] = []
        self._new = [0] * len(bookings)
        self._read_charges()
        self._read_kept()
        self._read_closed()  # last, because removed draws were closed before

    def charge(self) -> list[Paid | BudgetError]:
        """Charge each booking; returns which of its draws may look at the data, or why none may."""
        gone = (any(page.is_gone[place].any() for page, place, _ in pieces) for pieces in self._pieces)
        refused: dict[int, BudgetError] = {place: _released_before() for place, is_so in enumerate(gone) if is_so}
        for place in (place for place, is_so in enumerate(self._only_kept) if is_so and place not in refused):
            if not all(page.is_kept[own].all() for page, own, _ in self._pieces[place]):
                refused[place] = not_drawn()
        for turn in self._turns():
            self._charge(turn, refused)
        none = np.empty(0, dtype=bool)
        marks = ([none, *(page.paid[place] for page, place, _ in pieces)] for pieces in self._pieces)
        self._paid = [refused[place] if place in refused else np.concatenate(each) for place, each in enumerate(marks)]
        return self._paid

    def record(self, drawn: Sequence[Floats | None]) -> list[Floats | None]:
        """Record charged draws; returns the first recorded ones, which are released."""
        released = [None if each is None else each.copy() for each in drawn]
        asked = zip(self._pieces, released, strict=True)
        rows = [row for pieces, each in asked if each is not None for row in _kept_once(pieces, each)]
        if rows:
            self._connection.execute(insert(schema.draws), rows)
        return released

    def tallies(self) -> Iterator[tuple["StoredLedger", DrawCounts]]:
        """Each ledger's counts, once everything is on disk."""
        for ledger, paid, new in zip(self._ledgers, self._paid, self._new, strict=False):
            if not isinstance(paid, BudgetError):
                looked = int(np.count_nonzero(paid))
                yield ledger, DrawCounts(charged=new, repeated=looked - new, placeholders=len(paid) - looked)

    def _laid_out(self, bookings: Sequence[Booking]) -> list[list[Piece]]:
        """The draws of each booking on pages, which bookings may share."""
        asked = [list(_cut(booking)) for booking in bookings]
        numbers: defaultdict[tuple[int, bytes], list[Places]] = defaultdict(list)
        for key, first, count, _ in (each for some in asked for each in some):
            numbers[key].append(np.arange(first, first + count))
        pages = self._pages = {
            key: DrawPage(*key, some[0] if len(some) == 1 else np.unique(np.concatenate(some)))
            for key, some in numbers.items()
        }
        return [
            [Piece(pages[key], pages[key].places(first, count), windows) for key, first, count, windows in some]
            for some in asked
        ]

    def _read_charges(self) -> None:
        """Read charges that may touch the pages; rows have bounded length, so an index finds them."""
        rows = schema.charges.c
        for part in parts(list(self._pages.values())):
            first, last = min(page.numbers[0] for page in part), max(page.numbers[-1] for page in part)
            touching = select(rows.stream, rows.key, rows.first, rows.draws, rows.paid, rows.id).where(
                rows.stream.in_({page.stream for page in part}),
                rows.key.in_({page.key for page in part}),
                rows.first.between(int(first) - schema.LONGEST_RUN + 1, int(last)),
                rows.first + rows.draws > int(first),
            )
            for stream, key, start, draws, paid, number in self._connection.execute(touching):
                if page := self._pages.get((stream, bytes(key))):
                    place = page.places(start, draws)
                    page.charge[place], page.paid[place] = number, bool(paid)

    def _read_kept(self) -> None:
        rows = schema.draws.c
        pages = {number: page for page in self._pages.values() for number in np.unique(page.charge).tolist()}
        for part in parts(list(pages)):
            asked = select(rows.charge, rows.first, rows.draws, rows.content).where(rows.charge.in_(part))
            for number, first, draws, content in self._connection.execute(asked):
                place = pages[number].places(first, draws)
                places = pages[number].numbers[place] - first
                pages[number].keep(place, from_bytes(bytes(content), draws)[places])

    def _read_closed(self) -> None:
        """Read closed keys, and refuse a clock behind the archive: charges that should count have been removed."""
        horizon = self._connection.execute(select(func.max(schema.archives.c.before))).scalar()
        if horizon is not None and horizon > microseconds(self._now - LONGEST):
            raise LedgerUnavailableError("the clock is behind charges that were archived; correct it")
        rows = schema.closed.c
        for part in parts(list(self._pages)):
            streams, keys = zip(*part, strict=True)
            asked = select(rows.stream, rows.key, rows.last).where(rows.stream.in_(set(streams)), rows.key.in_(keys))
            for stream, key, last in self._connection.execute(asked):
                if page := self._pages.get((stream, bytes(key))):
                    page.close(last)

    def _turns(self) -> list[list[int]]:
        """Groups with one booking per person, so that each is checked against all earlier ones."""
        turns: defaultdict[int, list[int]] = defaultdict(list)
        before: Counter[str] = Counter()
        for place, ledger in enumerate(self._ledgers):
            turns[before[ledger.lock]].append(place)
            before[ledger.lock] += 1
        return list(turns.values())

    def _charge(self, turn: Sequence[int], refused: dict[int, BudgetError]) -> None:
        """Insert rows for all bookings with room, in one statement, and add them to the totals."""
        rows: list[dict[str, Any]] = []
        charged: list[tuple[DrawPage, Places]] = []
        people = {self._ledgers[booking].person for booking in turn}
        held, spent = limits_of(self._connection, people), cache(partial(spent_by, self._connection, people))
        for booking in (each for each in turn if each not in refused):
            ledger, fresh = self._ledgers[booking], list(_uncharged(self._pieces[booking]))
            history, limits = StoredHistory(self._connection, ledger.person, spent), held.get(ledger.person, Limits())
            try:
                room = ledger.room(sum(len(places) for _, places in fresh), limits, now=self._now, history=history)
            except BudgetError as refusal:
                refused[booking] = refusal
                continue
            self._new[booking] = room
            for page, places in _in_order(fresh, room):
                charged.append((page, places))
                rows.append(ledger.row(page, places, now=self._now))
        if rows:
            inserted = insert(schema.charges).returning(schema.charges.c.id, sort_by_parameter_order=True)
            for (page, places), number in zip(charged, self._connection.execute(inserted, rows).scalars(), strict=True):
                page.charge[places] = number
            schema.add_up(self._connection, rows)


def _released_before() -> ReleasedBeforeError:
    return ReleasedBeforeError(
        "this was released before, and that release is no longer stored; it is never drawn a second time"
    )


def _alike(*columns: NDArray[Any]) -> list[tuple[int, int]]:
    """Stretches in which no column changes."""
    changes = np.flatnonzero(np.any([np.diff(column) != 0 for column in columns], axis=0)) + 1
    return [(low, high) for low, high in pairwise([0, *changes.tolist(), len(columns[0])]) if low < high]


def _cut(booking: Booking) -> Iterator[tuple[tuple[int, bytes], int, int, int]]:
    """Key, first draw, number of draws, and windows per draw; rows of recorded draws have one length."""
    start = 0
    for run in booking.runs:
        first, shown, start = int(run.first), booking.shown[start : start + run.count], start + int(run.count)
        for low, high in _alike(shown) if len(shown) == run.count else ():
            yield booking.ledger.key(run.recording), first + low, high - low, int(shown[low])
    if start != len(booking.shown):
        raise BudgetError("a stored ledger needs the number of each draw; give the windows' runs")


def _uncharged(pieces: Sequence[Piece]) -> Iterator[tuple[DrawPage, Places]]:
    """The places without a charge, each once even if requested twice."""
    seen: defaultdict[int, list[Places]] = defaultdict(list)
    for page, place, _ in pieces:
        new = place.start + np.flatnonzero(page.charge[place] == 0)
        if seen[id(page)]:
            new = np.setdiff1d(new, np.concatenate(seen[id(page)]), assume_unique=True)
        seen[id(page)].append(new)
        yield page, new


def _in_order(fresh: Sequence[tuple[DrawPage, Places]], room: int) -> Iterator[tuple[DrawPage, Places]]:
    """Draws for one row each: paid as long as there is room, then placeholders."""
    for page, places in fresh:
        page.paid[places] = np.arange(len(places)) < room
        room = max(0, room - len(places))
        numbers, order = page.numbers[places], np.arange(len(places))
        for low, high in _alike(numbers - order, page.paid[places], order // schema.LONGEST_RUN):
            yield page, places[low:high]


def _kept_once(pieces: Sequence[Piece], drawn: Floats) -> Iterator[dict[str, Any]]:
    """Rows for draws not recorded yet; draws already recorded are replaced in place."""
    start = 0
    for page, place, windows in pieces:
        count = place.stop - place.start
        end = start + count * windows
        own, start = drawn[start:end].reshape(count, -1), end  # a view
        if page.is_gone[place].any():
            raise _released_before()
        if not page.charge[place].all():
            raise BudgetError("draws must be charged before they are recorded; nothing was released")
        page.overwrite(own, place)
        for low, high in _alike(page.charge[place], page.is_kept[place], page.numbers[place] - np.arange(count)):
            new = slice(place.start + low, place.start + high)
            if not page.is_kept[new.start]:
                page.keep(new, own[low:high].copy())
                charge, first = int(page.charge[new.start]), int(page.numbers[new.start])
                yield {"charge": charge, "first": first, "draws": high - low, "content": to_bytes(own[low:high])}


def to_bytes(drawn: Floats) -> bytes:
    """Serialise rows (draw, value) exactly."""
    number = next(number for number, kind in enumerate(_TYPES) if _holds(kind, drawn))
    plain = drawn.astype(_TYPES[number]).tobytes()
    short = zlib.compress(plain, level=1)  # a held draw may repeat in many windows
    return bytes([number | _COMPRESSED]) + short if len(short) < len(plain) else bytes([number]) + plain


def _holds(kind: str, drawn: Floats) -> bool:
    with np.errstate(invalid="ignore"):
        return drawn.astype(kind).astype(np.float64).tobytes() == drawn.tobytes()


def from_bytes(content: bytes, draws: int) -> Floats:
    """Restore rows (draw, value)."""
    plain = zlib.decompress(content[1:]) if content[0] & _COMPRESSED else content[1:]
    values = np.frombuffer(plain, dtype=_TYPES[content[0] & ~_COMPRESSED])
    return values.reshape(draws, -1).astype(np.float64)
