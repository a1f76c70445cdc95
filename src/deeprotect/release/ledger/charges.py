"""Charges that touch given draws, and those that are still to be made."""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from sqlalchemy import Connection, select

from deeprotect.release.ledger import database_tables as schema
from deeprotect.release.ledger.ledger import Paid
from deeprotect.release.ledger.spans import Span

AT_ONCE = 500  # keys in one question


@dataclass(frozen=True)
class Charge:
    """Draws that were booked together; those `paid` look at the data, the others are placeholders."""

    span: Span
    paid: bool
    number: int = 0  # of its row, once it has one


Booked = defaultdict[bytes, list[Charge]]
"""Charges by key."""


def charges_of(connection: Connection, stream: int, spans: Sequence[Span]) -> Booked:
    """Those that may touch the spans; rows are short, so an index finds them: they begin not long before."""
    rows, booked = schema.charges.c, Booked(list)
    for start in range(0, len(spans), AT_ONCE):
        part = spans[start : start + AT_ONCE]
        touching = select(rows.key, rows.first, rows.draws, rows.paid, rows.id).where(
            rows.stream == stream,
            rows.key.in_({span.key for span in part}),
            rows.first > min(span.first for span in part) - schema.LONGEST_RUN,
            rows.first < max(span.end for span in part),
            rows.first + rows.draws > min(span.first for span in part),
        )
        for key, first, draws, paid, number in connection.execute(touching):
            charge = Charge(Span(bytes(key), first, first + draws), bool(paid), number)
            if charge not in booked[charge.span.key]:
                booked[charge.span.key].append(charge)
    return booked


def uncharged(spans: Sequence[Span], booked: Booked) -> Iterator[Span]:
    """The parts that no charge covers, each once even where it is asked for twice."""
    seen: dict[bytes, list[Span]] = {key: [charge.span for charge in some] for key, some in booked.items()}
    for span in spans:
        taken = seen.setdefault(span.key, [])
        yield from list(span.without(taken))
        taken.append(span)


def in_order(fresh: Sequence[Span], room: int) -> Iterator[Charge]:
    """Charges for draws: paid as long as there is room, placeholders after it."""
    for span in fresh:
        middle = span.first + min(room, len(span))
        room -= middle - span.first
        for part, paid in ((Span(span.key, span.first, middle), True), (Span(span.key, middle, span.end), False)):
            if len(part):
                yield Charge(part, paid)


def paid_draws(spans: Sequence[Span], booked: Booked) -> Paid:
    """One mark for each draw of the spans, all of which are charged."""
    marks = [np.zeros(len(span), dtype=bool) for span in spans]
    for span, paid in zip(spans, marks, strict=True):
        for charge in booked[span.key]:
            paid[span.place_of(span.shared(charge.span))] |= charge.paid
    return np.concatenate([np.empty(0, dtype=bool), *marks])
