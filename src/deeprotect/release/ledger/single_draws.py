"""Single draws of many accounts in one transaction, in a few statements for all of them together."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from sqlalchemy import Connection, insert, select

from deeprotect.errors import BudgetError
from deeprotect.release.ledger import database_tables as schema
from deeprotect.release.ledger.charges import AT_ONCE, Charge
from deeprotect.release.ledger.kept import from_bytes, to_bytes
from deeprotect.release.ledger.spans import Span
from deeprotect.release.ledger.stored import StoredLedger
from deeprotect.signals.schema import Floats
from deeprotect.signals.windows import Run

Key = tuple[int, Span]
"""A stream, and one draw of what a key stands for: the same twice is one draw."""


@dataclass(frozen=True)
class Booked:
    """The charge that covers a draw, or why there is none."""

    charge: Charge | None = None
    refusal: BudgetError | None = None


def charge_all(connection: Connection, asked: Sequence[tuple[StoredLedger, Run]]) -> list[Booked]:
    """Charge each draw, once; whoever has no room for it is refused alone. The caller holds the locks of all."""
    keys = [ledger.key_of(run) for ledger, run in asked]
    known = _charges(connection, keys)
    refusals: dict[Key, BudgetError] = {}
    for (ledger, _), key in zip(asked, keys, strict=True):
        if key not in known and key not in refusals:
            try:
                row = ledger.new_charge(connection, key[1])
            except BudgetError as refusal:
                refusals[key] = refusal
                continue
            number = connection.execute(insert(schema.charges).values(**row)).inserted_primary_key
            known[key] = Charge(key[1], bool(row["paid"]), 0 if number is None else int(number[0]))
    return [Booked(known.get(key), refusals.get(key)) for key in keys]


def record_all(connection: Connection, charges: Sequence[Charge], drawn: Floats) -> Floats:
    """Keep what was drawn for charges, one row each; what comes back is what was kept first."""
    kept = _kept(connection, [charge.number for charge in charges])
    rows = []
    for place, charge in enumerate(charges):
        key = (charge.number, charge.span.first)
        if key not in kept:
            kept[key] = drawn[place]
            content = to_bytes(drawn[place : place + 1])
            rows.append({"charge": charge.number, "first": charge.span.first, "draws": 1, "content": content})
    if rows:
        connection.execute(insert(schema.draws), rows)
    return np.stack([kept[charge.number, charge.span.first] for charge in charges])


def _charges(connection: Connection, keys: Sequence[Key]) -> dict[Key, Charge]:
    """Those that cover one of the draws."""
    row, found = schema.charges.c, dict[Key, Charge]()
    for start in range(0, len(keys), AT_ONCE):
        part = keys[start : start + AT_ONCE]
        draws = [span.first for _, span in part]
        asked = select(row.stream, row.key, row.first, row.draws, row.paid, row.id).where(
            row.stream.in_({stream for stream, _ in part}),
            row.key.in_({span.key for _, span in part}),
            row.first > min(draws) - schema.LONGEST_RUN,
            row.first <= max(draws),
        )
        wanted = set(part)
        for stream, key, first, count, paid, number in connection.execute(asked):
            for draw in range(first, first + count):
                own = (stream, Span(bytes(key), draw, draw + 1))
                if own in wanted:
                    found[own] = Charge(own[1], bool(paid), number)
    return found


def _kept(connection: Connection, numbers: Sequence[int]) -> dict[tuple[int, int], Floats]:
    """What was kept, by charge and draw."""
    row, found = schema.draws.c, dict[tuple[int, int], Floats]()
    for start in range(0, len(numbers), AT_ONCE):
        asked = select(row.charge, row.first, row.draws, row.content)
        part = asked.where(row.charge.in_(set(numbers[start : start + AT_ONCE])))
        for charge, first, draws, content in connection.execute(part):
            found |= {(charge, first + place): each for place, each in enumerate(from_bytes(bytes(content), draws))}
    return found
