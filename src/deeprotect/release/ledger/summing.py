"""Adding up a whole ledger in one question, so that the statement is of one moment."""

from collections.abc import Iterator
from datetime import datetime, timedelta

from sqlalchemy import ColumnElement, Connection, case, func, select, true

from deeprotect.release.ledger.accounts import prices_in
from deeprotect.release.ledger.database import Database
from deeprotect.release.ledger.database_tables import charges, streams
from deeprotect.release.ledger.history import PriceOf, microseconds, moment_of
from deeprotect.release.ledger.ledger import Clock, utc_now
from deeprotect.release.ledger.limits import SPANS, Limits
from deeprotect.release.ledger.person_limits import limits_of
from deeprotect.release.ledger.statement import Line, Person, Spent, Statement


def statement(database: Database, *, clock: Clock = utc_now) -> Statement:
    """What the ledger says now."""
    with database.reading() as connection:
        now = clock()
        lines = list(_lines(connection, now, price_of=prices_in(connection)))
        limits = limits_of(connection)
    by_person: dict[str, list[Line]] = {name: [] for name in limits}
    for line in sorted(lines, key=_order):
        by_person.setdefault(line.person, []).append(line)
    people = (
        Person(name, tuple(some), tuple(some), limits.get(name, Limits())) for name, some in sorted(by_person.items())
    )
    return Statement(database.where, now, tuple(people))


def _lines(connection: Connection, now: datetime, *, price_of: PriceOf) -> Iterator[Line]:
    row = charges.c
    spans = {name: (row.paid == 1) & _within(span, now) for name, span in SPANS.items()}
    sums = [func.sum(case((inside, row.draws), else_=0)) for inside in spans.values()]
    oldest = [func.min(case((inside, row.at))) for inside in spans.values()]
    who = (streams.c.person, streams.c.name, row.app, row.price)
    asked = select(*who, func.sum(row.draws), func.max(row.at), *sums, *oldest)
    for person, stream, app, number, both, last, *rest in connection.execute(
        asked.select_from(charges.join(streams)).group_by(*who)
    ):
        price, counts, starts = price_of(number), rest[: len(spans)], rest[len(spans) :]
        spent = {
            name: Spent(price.epsilon * int(count), None if start is None else moment_of(start))
            for name, count, start in zip(spans, counts, starts, strict=True)
        }
        paid = int(rest[list(spans).index("in_all")])
        yield Line(person, stream, app, price, paid, int(both) - paid, spent, moment_of(last))


def _within(span: timedelta | None, now: datetime) -> ColumnElement[bool]:
    return true() if span is None else charges.c.at > microseconds(now - span)


def _order(line: Line) -> tuple[str, str, str, datetime]:
    return line.person, line.stream, line.app, line.last
