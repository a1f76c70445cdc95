"""The verb budget: what a ledger remembers."""

from collections.abc import Iterator
from fractions import Fraction
from typing import TYPE_CHECKING, Annotated

import typer

from deeprotect.cli.json_output import json_text
from deeprotect.errors import InputError, printable

if TYPE_CHECKING:
    from deeprotect.release.ledger import DrawCounts
    from deeprotect.release.ledger.statement import Line, Person, Statement

LedgerAddress = Annotated[
    str, typer.Argument(metavar="LEDGER", help="A ledger's file, or postgresql+psycopg://user@host/database.")
]


def budget(
    ledger: LedgerAddress,
    stream: Annotated[str | None, typer.Option(metavar="NAME", help="This stream only.")] = None,
    person: Annotated[str | None, typer.Option(metavar="NAME", help="This person's streams only.")] = None,
    app: Annotated[str | None, typer.Option(metavar="NAME", help="What this app was given only.")] = None,
    limit: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME=EPSILON", help="Set a limit of --person: per_hour, per_day, in_all."),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Say who has spent what, what is left, and when it frees; a person's total is over all apps, which may collude.

    The tightest limits that bundles ask for hold for a person. --limit sets them anew: in_all=100, or in_all=none.

    Example: deeprotect budget ledger.sqlite --person anna
    """
    from deeprotect.release.ledger.database import Database
    from deeprotect.release.ledger.people import set_limits
    from deeprotect.release.ledger.statement import statement

    if limit and (person is None or stream is not None or app is not None):
        raise InputError(
            "--limit is for all that leaves about one person; add --person NAME, without --stream or --app"
        )
    changes = dict(map(_stated, limit or ()))
    database = Database.existing(ledger)
    if person is not None and changes:
        from deeprotect.privacy.names import check_names

        check_names([person], "the name of a person")
        set_limits(database, person, changes)
    found = statement(database).only(stream=stream, person=person, app=app)
    if as_json:
        typer.echo(json_text(found.to_json()))
        return
    for line in lines(found):
        typer.echo(line)


def _stated(text: str) -> "tuple[str, Fraction | None]":
    """A limit as the operator writes it."""
    from deeprotect.release.ledger.limits import SPANS, exact

    name, _, value = text.partition("=")
    try:
        epsilon = None if value == "none" else exact(float(value))
    except (ValueError, OverflowError):
        epsilon = Fraction(0)
    if name not in SPANS or (epsilon is not None and epsilon <= 0):
        raise InputError(f"--limit '{printable(text)}': say {', '.join(SPANS)} = ε above 0, or none; as in in_all=100")
    return name, epsilon


def lines(found: "Statement") -> Iterator[str]:
    """The statement for people to read."""
    if not found.people:
        yield "nothing was charged"
    for person in found.people:
        yield from _person(person)


def _person(person: "Person") -> Iterator[str]:
    from deeprotect.release.ledger.limits import up

    in_all, day, hour = (up(person.spent(name).epsilon) for name in ("in_all", "per_day", "per_hour"))
    spent = f"ε = {in_all} in all, {day} in the last day, {hour} in the last hour"
    yield f"{printable(person.name)}: {spent}; {_kind(person)}"
    if len(person.apps) > 1:
        parts = (f"{_app(app)} {up(person.spent('in_all', app=app).epsilon)}" for app in person.apps)
        yield f"  by app, in all: {', '.join(parts)}"
    yield from _left(person)
    for line in person.shown:
        yield _line(line)


def _kind(person: "Person") -> str:
    if person.bound is not None:
        return f"{person.bound}, {person.draws} draws"
    return f"{' and '.join(person.counted_as)}, {person.draws} draws: a count, for nothing bounds them together"


def _left(person: "Person") -> Iterator[str]:
    from deeprotect.release.ledger.limits import down, moment, up

    for limit in person.limits:
        frees = person.spent(limit.name).frees(limit.span)
        when = "" if frees is None else f", more from {moment(frees)}"
        yield f"  left: {down(person.left(limit))} of {limit.name} = {up(limit.epsilon)}{when}"


def _line(line: "Line") -> str:
    from deeprotect.release.ledger.limits import moment, up

    extra = f", {line.placeholders} placeholders" if line.placeholders else ""
    return (
        f"  stream {printable(line.stream)}, {_app(line.app)}: ε = {up(line.spent['in_all'].epsilon)} by {line.draws} "
        f"draws{extra}; {line.price.event}; bundle {line.price.bundle[:12]}; last {moment(line.last)}"
    )


def _app(app: str) -> str:
    return f"app {printable(app)}" if app else "no app named"


def remembered(draws: "DrawCounts", ledger: str | None, stream: str | None) -> Iterator[str]:
    """What a release leaves behind, for the operator."""
    if draws.placeholders:
        all_draws = draws.paid + draws.placeholders
        yield f"warning: the budget is spent: {draws.placeholders} of {all_draws} draws are made without the data"
    if ledger is None:
        yield "no --ledger: this cost is not remembered, and every run adds to it"
        return
    from deeprotect.release.ledger.database import Database
    from deeprotect.release.ledger.statement import statement

    database = Database.existing(ledger)
    yield f"{database.where}: {draws.charged} draws charged, {draws.repeated} had been before and leave unchanged"
    yield from lines(statement(database).only(stream=stream))
