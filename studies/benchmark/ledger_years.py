"""A ledger after years: a draw, a statement and the overview's question with millions of charges, against an empty one.

python -m studies.benchmark.ledger_years empty.db years.db --charges 5000000
python -m studies.benchmark.ledger_years postgresql+psycopg://user@host/empty postgresql+psycopg://user@host/years
"""

import argparse
import statistics
import time
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import numpy as np
from sqlalchemy import insert, select

from deeprotect.privacy.events import Event
from deeprotect.release.ledger import Account, Price
from deeprotect.release.ledger.database import Database
from deeprotect.release.ledger.database_tables import add_up, charges, draws, streams
from deeprotect.release.ledger.ledger import microseconds, utc_now
from deeprotect.release.ledger.limits import Limits, exact
from deeprotect.release.ledger.statement import statement
from deeprotect.release.ledger.stored import StoredLedger
from deeprotect.signals import Run

OLD, NEW = "years", "newcomer"  # a person with all these charges, and one with none
AT_ONCE = 5000
APART = timedelta(seconds=10)
LIMITS = Limits((("per_hour", exact(1e9)), ("per_day", exact(1e9)), ("in_all", exact(1e12))))
PRICE = Price(Event("ldp", 5.0), exact(5.0), bundle="years", limits=LIMITS)


class Asked:
    """One draw of one window."""

    only_kept = False

    def __init__(self, ledger: StoredLedger, number: int) -> None:
        self.ledger, self.runs, self.shown = ledger, [Run("live", number, 1)], np.ones(1, dtype=np.int64)


def draw(ledger: StoredLedger, number: int) -> None:
    with ledger.open([Asked(ledger, number)]) as books:
        books.charge()
        books.record([np.zeros((1, 1))])


def fill(database: Database, count: int) -> None:
    """Charges ten seconds apart until now, with their draws, as a gateway would have made them."""
    ledger = StoredLedger(database, Account("old", OLD, "fitness"), PRICE).of_session("years")
    draw(ledger, 10**9)
    with database.reading() as connection:
        stream = connection.execute(select(streams.c.id).where(streams.c.name == "old")).scalar_one()
        price = connection.execute(select(charges.c.price).where(charges.c.stream == stream)).scalars().first()
    begin, step = microseconds(utc_now() - count * APART), APART // timedelta(microseconds=1)
    stream_key = ledger.key("before")[1]
    for start in range(0, count, AT_ONCE):
        numbers = range(start, min(start + AT_ONCE, count))
        common = {"stream": stream, "app": "fitness", "price": price, "key": stream_key, "draws": 1, "paid": 1}
        rows = [common | {"first": number, "at": begin + number * step} for number in numbers]
        with database.writing("deeprotect: filling") as connection:
            made = connection.execute(insert(charges).returning(charges.c.id, sort_by_parameter_order=True), rows)
            kept = zip(made.scalars(), numbers, strict=True)
            connection.execute(
                insert(draws), [{"charge": c, "first": n, "draws": 1, "content": b"\x00\x01"} for c, n in kept]
            )
            add_up(connection, rows)


def questions(database: Database) -> dict[str, Callable[[int], Any]]:
    """A draw of either person, and what `budget` and the overview ask."""
    first = time.monotonic_ns()  # numbers that no earlier run has used
    old, new = (
        StoredLedger(database, Account(f"live {person}", person, "fitness"), PRICE).of_session("live")
        for person in (OLD, NEW)
    )
    return {
        "a draw of that person": lambda turn: draw(old, first + turn),
        "a draw of a newcomer": lambda turn: draw(new, first + turn),
        "budget": lambda _: statement(database),
        "overview of both people": lambda _: statement(database, people=[OLD, NEW]),
    }


def milliseconds(pair: tuple[Callable[[int], Any], ...], turns: int) -> list[float]:
    """The median of each, asked in turns."""
    times: tuple[list[float], ...] = tuple([] for _ in pair)
    for turn in range(turns + 1):
        for work, own in zip(pair, times, strict=True):
            began = time.perf_counter()
            work(turn)
            own.append(1000 * (time.perf_counter() - began))
    return [statistics.median(own[1:]) for own in times]  # the first warms up


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("empty", help="a new file, or a server's empty database")
    parser.add_argument("years", help="another one, to be filled unless it was before")
    parser.add_argument("--charges", type=int, default=5_000_000)
    parser.add_argument("--turns", type=int, default=200)
    asked = parser.parse_args()
    pair = [Database.existing_or_new(each, keep_connections=True) for each in (asked.empty, asked.years)]
    if not statement(pair[1]).people:
        fill(pair[1], asked.charges)
    empty, years = map(questions, pair)
    print(f"| {asked.charges:,} charges | empty, ms | full, ms | ratio |\n|---|---|---|---|")
    for what in empty:
        before, after = milliseconds((empty[what], years[what]), asked.turns)
        print(f"| {what} | {before:.2f} | {after:.2f} | {after / before:.2f} |", flush=True)


if __name__ == "__main__":
    main()
