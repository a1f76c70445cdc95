"""Statements: totals by stream, app, person, hour and day; what is left, and when it frees."""

import json
import re
from dataclasses import replace

from sqlalchemy import Engine, event, func, select, text
from tests.release.ledger.bookings import charge
from tests.release.ledger.prices import price

from deeprotect.cli.budget import lines
from deeprotect.release.ledger.database import Database
from deeprotect.release.ledger.database_tables import charges, totals
from deeprotect.release.ledger.limits import UNBOUNDED
from deeprotect.release.ledger.statement import statement
from deeprotect.signals import Run


def run(first, count):
    return [Run("a", first, count)]


def test_totals_are_by_stream_app_person_and_time(open_ledger, address, clock):
    limits = {"per_hour": 100.0, "per_day": 200.0}
    charge(open_ledger("watch", person="ann", app="maps", **limits), run(0, 4), count=4)
    clock.move(hours=2)
    charge(open_ledger("phone", person="ann", app="health", **limits), run(0, 3), count=3)
    charge(open_ledger("bob's"), run(0, 1), count=1)
    clock.move(minutes=10)
    found = statement(Database.existing(address), clock=clock)
    ann, bob = found.people
    assert (ann.name, bob.name) == ("ann", "bob's")
    assert [ann.spent(name).epsilon for name in ("per_hour", "per_day", "in_all")] == [15, 35, 35]
    assert {app: ann.spent("in_all", app=app).epsilon for app in ann.apps} == {"maps": 20, "health": 15}
    assert [(line.stream, line.spent["in_all"].epsilon) for line in ann.lines] == [("phone", 15), ("watch", 20)]
    assert bob.spent("in_all").epsilon == 5


def test_colluding_apps_are_not_hidden_by_a_filter(open_ledger, address, clock):
    for app in ("maps", "health"):
        charge(open_ledger("watch", person="ann", app=app), run(0, 4), count=4)
    only = statement(Database.existing(address), clock=clock).only(app="maps").people[0]
    assert [line.app for line in only.shown] == ["maps"]
    assert only.spent("in_all").epsilon == 40
    assert not statement(Database.existing(address), clock=clock).only(person="bob").people


def test_it_says_what_is_left_and_when_it_frees(open_ledger, address, clock):
    ledger = open_ledger(per_hour=22.5, in_all=100.0)
    charge(ledger, run(0, 1), count=1)
    clock.move(minutes=20)
    charge(ledger, run(1, 3), count=3)
    body = statement(Database.existing(address), clock=clock).to_json()
    assert body["people"][0]["limits"] == [
        {"limit": "per_hour", "epsilon": 22.5, "spent": 20.0, "left": 2.5, "frees_at": "2026-11-16T13:00:00+00:00"},
        {"limit": "in_all", "epsilon": 100.0, "spent": 20.0, "left": 80.0, "frees_at": None},
    ]
    assert json.loads(json.dumps(body)) == body


def test_placeholders_are_told_and_cost_nothing(open_ledger, address, clock):
    charge(open_ledger(in_all=15.0, when_spent="placeholder"), run(0, 5), count=5)
    (person,) = statement(Database.existing(address), clock=clock).people
    assert (person.draws, person.lines[0].placeholders, person.spent("in_all").epsilon) == (3, 2, 15)


def test_with_one_draw_that_has_no_ldp_bound_nothing_bounds_the_total_and_it_says_so(open_ledger, address, clock):
    charge(open_ledger("watch", person="ann"), run(0, 2), count=2)
    assert statement(Database.existing(address), clock=clock).people[0].unbounded == 0
    unbounded = replace(price(), epsilon=UNBOUNDED)
    charge(open_ledger("phone", person="ann", at=unbounded), run(0, 1), count=1)
    found = statement(Database.existing(address), clock=clock)
    (person,) = found.people
    assert (person.counted_as, person.unbounded) == (("ldp", "no LDP bound"), 1)
    assert [person.spent(name).epsilon for name in ("per_hour", "in_all")] == [UNBOUNDED] * 2
    assert {line.stream: line.spent["in_all"].epsilon for line in person.lines} == {"phone": UNBOUNDED, "watch": 10}
    (body,) = json.loads(json.dumps(found.to_json(), allow_nan=False))["people"]
    assert (body["spent"]["all"], body["draws_without_ldp"]) == (None, 1)
    said = list(lines(found))
    assert "ann: ε = ∞ in all, ∞ in the last day" in said[0]
    assert "3 draws, 1 of them without an LDP bound: nothing bounds them together" in said[0]


def test_placeholders_of_draws_without_an_ldp_bound_cost_nothing():
    unbounded = replace(price(), epsilon=UNBOUNDED)
    assert unbounded.cost(0) == unbounded.counted(0) == 0


def test_running_totals_are_what_the_charges_add_up_to(open_ledger, address, clock):
    for stream, app, epsilon in (("watch", "maps", 5.0), ("watch", "health", 5.0), ("phone", "maps", 0.1)):
        ledger = open_ledger(stream, person="ann", app=app, at=price(epsilon, in_all=40.0, when_spent="placeholder"))
        for first in range(0, 9, 3):
            charge(ledger, [Run("a", first, 2), Run("b", first + 1, 2)], count=4)
            clock.move(minutes=-7 if first else 50)  # the newest charge is not the last one
    row = charges.c
    paid, who = func.sum(row.draws * row.paid), (row.stream, row.app, row.price)
    with Database.existing(address).reading() as connection:
        summed = connection.execute(select(*who, paid, func.sum(row.draws) - paid, func.max(row.at)).group_by(*who))
        assert sorted(map(tuple, summed)) == sorted(map(tuple, connection.execute(select(totals))))
        assert connection.execute(select(func.sum(totals.c.placeholders))).scalar() > 0


def test_a_long_history_is_not_read_at_a_draw_nor_in_a_statement(open_ledger, address, clock):
    """Two hundred thousand charges of three weeks: an index leads to those of the last day, or of the draw itself."""
    ledger = open_ledger(person="ann", per_hour=1e6, per_day=1e7, in_all=1e9)
    charge(ledger, run(0, 1), count=1)
    database, said = Database.existing(address), []
    with database.writing("test") as connection:
        _fill(connection, charges=200_000)
    listener = lambda *arguments: said.append(arguments[2:4])  # noqa: E731
    event.listen(Engine, "before_cursor_execute", listener)
    try:
        charge(ledger, run(1, 1), count=1)
        assert statement(database, clock=clock).people[0].draws == 200_002
    finally:
        event.remove(Engine, "before_cursor_execute", listener)
    looks = [each for each in said if each[0].startswith("SELECT") and "deeprotect_charges" in each[0]]
    assert len(looks) == 5  # for the draw itself, the hour and the day of its limits, and those of the statement
    with database.reading() as connection:
        plans = [_plan(connection, *each) for each in looks]
    assert [plan for plan in plans if not re.search(r"\(stream = .* AND (.* AND )?\(?(at|first) >", plan)] == []
    assert [plan for plan in plans if re.search("(SCAN|Seq Scan on) deeprotect_charges", plan)] == []


def _plan(connection, question, values):
    """How the database goes about it, in PostgreSQL's words."""
    explain = "EXPLAIN QUERY PLAN" if connection.dialect.name == "sqlite" else "EXPLAIN"
    steps = "\n".join(str(row[-1]) for row in connection.exec_driver_sql(f"{explain} {question}", values))
    return re.sub(r"(stream|key|at|first|paid)([=<>])", r"\1 \2 ", steps)


def _fill(connection, *, charges):
    """As many charges of the first stream as would have been made before, and their total."""
    numbers = f"WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < {charges})"
    old = (
        "SELECT stream, app, price, key, 1000 + i, 1, 1, at - 100000 * (864000 + 100 * CAST(i AS BIGINT)) FROM n, first"
    )
    one = "first AS (SELECT * FROM deeprotect_charges ORDER BY id LIMIT 1)"
    columns = "stream, app, price, key, first, draws, paid, at"
    connection.execute(text(f"INSERT INTO deeprotect_charges ({columns}) {numbers}, {one} {old}"))
    connection.execute(text(f"UPDATE deeprotect_totals SET draws = draws + {charges}"))
    connection.execute(text("ANALYZE"))


def test_an_empty_ledger_has_an_empty_statement(open_ledger, address, clock):
    open_ledger()
    assert statement(Database.existing(address), clock=clock).people == ()
