"""Draws of many accounts in one transaction: charged, and what was drawn for them kept, in a few statements for all."""

from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from sqlalchemy import Connection, insert, select

from deeprotect.errors import BudgetError
from deeprotect.release.ledger import database_tables as schema
from deeprotect.release.ledger.kept import AT_ONCE, keep
from deeprotect.release.ledger.ledger import Booking, DrawCounts, Paid
from deeprotect.release.ledger.limits import Limits
from deeprotect.release.ledger.person_limits import limits_of
from deeprotect.release.ledger.spans import Span
from deeprotect.signals.schema import Floats

if TYPE_CHECKING:
    from deeprotect.release.ledger.stored import StoredLedger


@dataclass(frozen=True)
class Charge:
    """Draws that were booked together; those `paid` look at the data, the others are placeholders."""

    span: Span
    paid: bool
    number: int = 0  # of its row, once it has one


Booked = defaultdict[tuple[int, bytes], list[Charge]]
"""Charges by stream and key."""


class StoredBooks:
    """One transaction; its caller holds the locks of all people whose draws are asked for."""

    def __init__(self, connection: Connection, bookings: Sequence[Booking]) -> None:
        self._connection = connection
        self._ledgers: list[StoredLedger] = [booking.ledger for booking in bookings]
        self._windows = [booking.shown for booking in bookings]
        self._spans = [
            ledger.spans(booking.runs, len(booking.shown))
            for ledger, booking in zip(self._ledgers, bookings, strict=True)
        ]
        self._booked = _charges_of(connection, [span for spans in self._spans for span in spans])
        self._paid: list[Paid | BudgetError] = []
        self._new = [0] * len(bookings)

    def charge(self) -> list[Paid | BudgetError]:
        """Which draws of each booking may look at the data: charged now, or before; or why none is."""
        refused: dict[int, BudgetError] = {}
        for turn in self._turns():
            self._charge(turn, refused)
        self._paid = [
            refused[place] if place in refused else _paid_draws(spans, self._booked)
            for place, spans in enumerate(self._spans)
        ]
        return self._paid

    def record(self, drawn: Sequence[Floats | None]) -> list[Floats | None]:
        """Keep what was drawn for charged draws; what comes back is what was kept first, and that is what leaves."""
        there = {place: each for place, each in enumerate(drawn) if each is not None}
        for place in there:
            if list(_uncharged(self._spans[place], self._booked)):
                raise BudgetError("draws must be charged before they are recorded; nothing was released")
        asked = [(self._spans[place], self._windows[place], each) for place, each in there.items()]
        kept = dict(zip(there, keep(self._connection, asked, self._booked), strict=True))
        return [kept.get(place) for place in range(len(drawn))]

    def tallies(self) -> Iterator[tuple["StoredLedger", DrawCounts]]:
        """What each ledger counts once all of it is on disk."""
        for ledger, paid, new in zip(self._ledgers, self._paid, self._new, strict=False):
            if not isinstance(paid, BudgetError):
                looked = int(np.count_nonzero(paid))
                yield ledger, DrawCounts(charged=new, repeated=looked - new, placeholders=len(paid) - looked)

    def _turns(self) -> list[list[int]]:
        """One booking of each person at a time, so that what it is weighed against has all that came before it."""
        turns: list[list[int]] = []
        before: Counter[str] = Counter()
        for place, ledger in enumerate(self._ledgers):
            turn = before[ledger.lock]
            before[ledger.lock] += 1
            turns += [[]] if turn == len(turns) else []
            turns[turn].append(place)
        return turns

    def _charge(self, places: Sequence[int], refused: dict[int, BudgetError]) -> None:
        """Rows for all that have room, in one statement."""
        added: list[Charge] = []
        rows: list[dict[str, Any]] = []
        held = self._limits(places)
        for place in places:
            ledger, fresh = self._ledgers[place], list(_uncharged(self._spans[place], self._booked))
            try:
                limits = held.get(ledger.person, Limits())
                room, now = ledger.room(self._connection, sum(map(len, fresh)), limits)
            except BudgetError as refusal:
                refused[place] = refusal
                continue
            own = list(_in_order(fresh, room))
            self._new[place], added = room, added + own
            rows += [ledger.row(charge.span, paid=charge.paid, now=now) for charge in own]
        if rows:
            inserted = insert(schema.charges).returning(schema.charges.c.id, sort_by_parameter_order=True)
            for charge, number in zip(added, self._connection.execute(inserted, rows).scalars(), strict=True):
                self._booked[charge.span.stream, charge.span.key].append(Charge(charge.span, charge.paid, number))

    def _limits(self, places: Sequence[int]) -> dict[str, Limits]:
        held: dict[str, Limits] = {}
        for start in range(0, len(places), AT_ONCE):
            people = {self._ledgers[place].person for place in places[start : start + AT_ONCE]}
            held |= limits_of(self._connection, people)
        return held


def _charges_of(connection: Connection, spans: Sequence[Span]) -> Booked:
    """Those that may touch the spans; rows are short, so an index finds them: they begin not long before."""
    rows, booked = schema.charges.c, Booked(list)
    for start in range(0, len(spans), AT_ONCE):
        part = spans[start : start + AT_ONCE]
        touching = select(rows.stream, rows.key, rows.first, rows.draws, rows.paid, rows.id).where(
            rows.stream.in_({span.stream for span in part}),
            rows.key.in_({span.key for span in part}),
            rows.first > min(span.first for span in part) - schema.LONGEST_RUN,
            rows.first < max(span.end for span in part),
            rows.first + rows.draws > min(span.first for span in part),
        )
        for stream, key, first, draws, paid, number in connection.execute(touching):
            charge = Charge(Span(stream, bytes(key), first, first + draws), bool(paid), number)
            if charge not in booked[stream, charge.span.key]:
                booked[stream, charge.span.key].append(charge)
    return booked


def _uncharged(spans: Sequence[Span], booked: Booked) -> Iterator[Span]:
    """The parts that no charge covers, each once even where it is asked for twice."""
    seen: dict[tuple[int, bytes], list[Span]] = {}
    for span in spans:
        charged = [charge.span for charge in booked[span.stream, span.key]]
        taken = seen.setdefault((span.stream, span.key), charged)
        yield from list(span.without(taken))
        taken.append(span)


def _in_order(fresh: Sequence[Span], room: int) -> Iterator[Charge]:
    """Charges for draws: paid as long as there is room, placeholders after it."""
    for span in fresh:
        middle = span.first + min(room, len(span))
        room -= middle - span.first
        for part, paid in ((span.part(span.first, middle), True), (span.part(middle, span.end), False)):
            if len(part):
                yield Charge(part, paid)


def _paid_draws(spans: Sequence[Span], booked: Booked) -> Paid:
    """One mark for each draw of the spans, all of which are charged."""
    marks = [np.zeros(len(span), dtype=bool) for span in spans]
    for span, paid in zip(spans, marks, strict=True):
        for charge in booked[span.stream, span.key]:
            paid[span.place_of(span.shared(charge.span))] |= charge.paid
    return np.concatenate([np.empty(0, dtype=bool), *marks])
