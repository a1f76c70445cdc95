"""The verb budget: what a ledger remembers, and what it need not keep."""

from collections.abc import Iterator, Sequence
from datetime import timedelta
from fractions import Fraction
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer import Argument, Option
from typer.core import TyperGroup

from deeprotect.cli.printing import json_text, with_examples
from deeprotect.cli.tables import WRITTEN
from deeprotect.errors import InputError, printable

if TYPE_CHECKING:
    from deeprotect.release.ledger import DrawCounts
    from deeprotect.release.ledger.statement import Line, Person, Statement

MOST_STREAMS = 5  # told after a release
LedgerAddress = Annotated[
    str, Argument(metavar="LEDGER", help="A ledger's file, or postgresql+psycopg://user@host/database.")
]

NewTable = Annotated[str, Argument(metavar="OUT", help=f"The table to write: {WRITTEN}.")]
OlderThan = Annotated[str, Option(metavar="TIME", help="As in '90 d'; the last two days always stay.")]


class _Budget(TyperGroup):
    """A ledger without a verb before it is shown."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        is_verb = not args or args[0] in self.commands or args[0] in ctx.help_option_names
        return super().parse_args(ctx, args if is_verb else ["show", *args])


budget = typer.Typer(
    help="Show who has spent what and what is left; set limits; export, archive or forget old entries.\n\n\b\n"
    "Example:\n  deeprotect budget ledger.sqlite --person anna",
    cls=_Budget,
    no_args_is_help=True,
    rich_markup_mode=None,
)


def show(
    ledger: LedgerAddress,
    stream: Annotated[str | None, Option(metavar="NAME", help="Only this stream.")] = None,
    person: Annotated[str | None, Option(metavar="NAME", help="Only this person's streams.")] = None,
    app: Annotated[str | None, Option(metavar="NAME", help="Only what this app was given.")] = None,
    limit: Annotated[list[str] | None, Option(hidden=True)] = None,
    as_json: Annotated[bool, Option("--json", help="Print JSON.")] = False,
) -> None:
    """Show who has spent what, what is left, and when more is available; totals count all apps, which may collude.

    Example: deeprotect budget ledger.sqlite --person anna
    """
    from deeprotect import api

    if limit:
        raise InputError("limits are set with `deeprotect budget limit LEDGER PERSON in_all=100`")
    found = api.budget(ledger, stream=stream, person=person, app=app)
    if as_json:
        typer.echo(json_text(found.to_json()))
        return
    for line in lines(found):
        typer.echo(line)


def limit(
    ledger: LedgerAddress,
    person: Annotated[str, Argument(metavar="PERSON", help="Whose; the name of the stream where none was given.")],
    limits: Annotated[
        list[str],
        Argument(metavar="NAME=EPSILON", help="per_hour, per_day or in_all, as in in_all=100; in_all=none ends it."),
    ],
) -> None:
    """Set or end a person's limits, which hold over all streams and apps, and show what is left.

    The tightest limits that bundles ask for apply to a person; only this command loosens them.

    Example: deeprotect budget limit ledger.sqlite anna per_day=40 in_all=none
    """
    from deeprotect import api
    from deeprotect.privacy.size_limits import check_names
    from deeprotect.release.ledger.database import Database
    from deeprotect.release.ledger.people import set_limits

    changes = dict(map(_stated, limits))
    check_names([person], "the name of a person")
    set_limits(Database.existing(ledger), person, changes)
    for line in lines(api.budget(ledger, person=person)):
        typer.echo(line)


def export(ledger: LedgerAddress, out: NewTable) -> None:
    """Write all charges as a table: when, whose, for which app, at which ε, how many draws.

    Example: deeprotect budget export ledger.sqlite charges.csv
    """
    from deeprotect.release.ledger.archive import export_charges
    from deeprotect.release.ledger.database import Database

    typer.echo(f"{export_charges(Database.existing(ledger), out)} charges", err=True)


def archive(ledger: LedgerAddress, out: NewTable, older_than: OlderThan) -> None:
    """Move old charges, with their draws, out of the ledger into a table; what was spent stays known exactly.

    What was released under them cannot be asked for again: it is refused, and never drawn a second time.

    Example: deeprotect budget archive ledger.sqlite 2026.parquet --older-than "90 d"
    """
    from deeprotect.release.ledger.archive import archive_charges
    from deeprotect.release.ledger.database import Database

    count = archive_charges(Database.existing(ledger), out, older_than=age(older_than))
    typer.echo(f"{count} charges are in {printable(out, 200)} and no more in the ledger; keep it", err=True)


def forget(ledger: LedgerAddress, older_than: OlderThan) -> None:
    """Remove old draws, which are kept so that they can be returned again; their charges stay.

    What was released then cannot be asked for again: it is refused, and never drawn a second time.

    Example: deeprotect budget forget ledger.sqlite --older-than "30 d"
    """
    from deeprotect.release.ledger.archive import forget_draws
    from deeprotect.release.ledger.database import Database

    count = forget_draws(Database.existing(ledger), older_than=age(older_than))
    typer.echo(f"draws of {count} charges are not kept any more", err=True)


for _verb, _summary in (
    (show, "Who has spent what; `deeprotect budget LEDGER` does the same."),
    (limit, "Set or end a person's limits."),
    (export, "Write all charges as a table."),
    (archive, "Move old charges out of the ledger into a table."),
    (forget, "Remove old draws; they are never made again."),
):
    budget.command(help=with_examples(_verb), short_help=_summary)(_verb)


def age(text: str) -> timedelta:
    """A time as people write it."""
    from deeprotect.policy.sections import seconds

    try:
        return timedelta(seconds=float(seconds(text)))
    except (ValueError, OverflowError):
        raise InputError(
            f"'{printable(text)}' is not a duration; give a number and a unit, as in '90 d' or '36 h'"
        ) from None


def _stated(text: str) -> "tuple[str, Fraction | None]":
    """A limit as the operator writes it."""
    from deeprotect.release.ledger.limits import SPANS, exact

    name, _, value = text.partition("=")
    try:
        epsilon = None if value == "none" else exact(float(value))
    except (ValueError, OverflowError):
        epsilon = Fraction(0)
    if name not in SPANS or (epsilon is not None and epsilon <= 0):
        raise InputError(f"'{printable(text)}': say {', '.join(SPANS)} = ε above 0, or none; as in in_all=100")
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
    if not person.unbounded:
        return f"ldp, {person.draws} draws"
    return f"{person.draws} draws, {person.unbounded} of them without an LDP bound: nothing bounds them together"


def _left(person: "Person") -> Iterator[str]:
    from deeprotect.release.ledger.limits import down, moment, up

    for limit in person.limits:
        frees = person.spent(limit.name).frees(limit.span)
        when = "" if frees is None else f", more from {moment(frees)}"
        yield f"  left: {down(person.left(limit))} of {limit.name} = {up(limit.epsilon)}{when}"


def _line(line: "Line") -> str:
    from deeprotect.release.ledger.limits import moment, up

    extra = f", {line.placeholders} placeholders" if line.placeholders else ""
    bound = "" if line.price.counted_as == "ldp" else f", {line.price.counted_as}"
    return (
        f"  stream {printable(line.stream)}, {_app(line.app)}: ε = {up(line.spent['in_all'].epsilon)} by {line.draws} "
        f"draws{extra}; {line.price.event}{bound}; bundle {line.price.bundle[:12]}; last {moment(line.last)}"
    )


def _app(app: str) -> str:
    return f"app {printable(app)}" if app else "no app named"


def remembered(draws: "DrawCounts", ledger: str | None, streams: Sequence[str | None]) -> Iterator[str]:
    """What a release leaves behind, for the operator; of many streams, the first."""
    if draws.placeholders:
        all_draws = draws.paid + draws.placeholders
        yield f"warning: the budget is spent: {draws.placeholders} of {all_draws} draws are made without the data"
    if ledger is None:
        yield "no --ledger: this cost is not remembered, and every run adds to it"
        return
    from deeprotect.release.ledger.database import Database
    from deeprotect.release.ledger.statement import statement

    database = Database.existing(ledger)
    again = f"; {draws.repeated} were already charged and are returned unchanged" if draws.repeated else ""
    yield f"{database.where}: {draws.charged} draws charged{again}"
    found = statement(database)
    for stream in streams[:MOST_STREAMS]:
        yield from lines(found.only(stream=stream))
    if len(streams) > MOST_STREAMS:
        yield f"and {len(streams) - MOST_STREAMS} more; see `deeprotect budget {printable(ledger)}`"
