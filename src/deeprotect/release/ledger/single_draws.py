"""Single draws of many accounts in one transaction, in a few statements for all of them together."""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

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
    fresh = {key: ledger for (ledger, _), key in zip(asked, keys, strict=True) if key not in known}
    for some in _one_of_each_person(fresh):
        known |= _new_charges(connection, some, refusals)
    return [Booked(known.get(key), refusals.get(key)) for key in keys]


def _one_of_each_person(fresh: dict[Key, StoredLedger]) -> Iterator[dict[Key, StoredLedger]]:
    """In turns, so that what a person's charge is weighed against has all that came before it."""
    turns: list[dict[Key, StoredLedger]] = []
    before: Counter[str] = Counter()
    for key, ledger in fresh.items():
        turn = before[ledger.lock]
        before[ledger.lock] += 1
        turns += [{}] if turn == len(turns) else []
        turns[turn][key] = ledger
    yield from turns


def _new_charges(
    connection: Connection, asked: dict[Key, StoredLedger], refusals: dict[Key, BudgetError]
) -> dict[Key, Charge]:
    """Rows for all that have room, in one statement; the others go to the refusals."""
    rows: dict[Key, dict[str, Any]] = {}
    for key, ledger in asked.items():
        try:
            rows[key] = ledger.new_charge(connection, key[1])
        except BudgetError as refusal:
            refusals[key] = refusal
    if not rows:
        return {}
    inserted = insert(schema.charges).returning(schema.charges.c.id, sort_by_parameter_order=True)
    numbers = connection.execute(inserted, list(rows.values())).scalars()
    return {
        key: Charge(key[1], bool(row["paid"]), number) for (key, row), number in zip(rows.items(), numbers, strict=True)
    }


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
