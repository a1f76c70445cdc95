"""Verbs on tables as people have them: check, prepare."""

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer

from deeprotect.cli.json_output import json_text
from deeprotect.errors import InputError, printable

Map = Annotated[
    list[str] | None,
    typer.Option(
        "--map", metavar="NAME=COLUMN", help="The column of time, recording, person or a channel; repeatable."
    ),
]
Columns = Annotated[
    str | None, typer.Option(metavar="A,B,C", help="The names of the columns, for a CSV file without a line of names.")
]
PolicyPath = Annotated[
    Path | None, typer.Option("--policy", metavar="POLICY", help="A policy that names the channels.")
]
Force = Annotated[bool, typer.Option("--force", help="Overwrite the output if it exists.")]


def check(
    table: Annotated[
        str, typer.Argument(metavar="TABLE", help="CSV, Parquet or Arrow; a file, a folder, a pattern, -.")
    ],
    policy: Annotated[Path | None, typer.Argument(metavar="POLICY", help="Hold it against this policy, too.")] = None,
    mapped: Map = None,
    columns: Columns = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """List all problems of a table at once, each with the fix; exit code 1 when there are some.

    Example: deeprotect check walk.csv policy.toml
    """
    from deeprotect import verbs
    from deeprotect.tables.csv_reader import column_names

    report = verbs.check(table, policy, map=pairs(mapped), columns=column_names(columns))
    if as_json:
        typer.echo(json_text(report.to_json()))
    else:
        typer.echo("\n".join(report.lines()))
    if report.problems:
        raise typer.Exit(1)


def prepare(
    table: Annotated[str, typer.Argument(metavar="TABLE", help="CSV, Parquet or Arrow; a file, a folder, a pattern.")],
    out: Annotated[str, typer.Option(metavar="CLEAN", help="The tidy table to write, by its suffix.")],
    rate_hz: Annotated[float | None, typer.Option(metavar="R", help="Resample to this rate, downwards only.")] = None,
    unit: Annotated[
        list[str] | None, typer.Option(metavar="WHAT=FROM:TO", help="Convert, as in acc=m/s2:g; repeatable.")
    ] = None,
    max_dropped: Annotated[
        float, typer.Option(metavar="SHARE", help="Stop if more of the rows than this would be dropped.")
    ] = 0.1,
    policy: PolicyPath = None,
    mapped: Map = None,
    columns: Columns = None,
    force: Force = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print what was done as JSON on standard error.")] = False,
) -> None:
    """Mend what can be mended honestly, and say what was done: sort, drop, split, resample, convert; nothing is filled.

    Example: deeprotect prepare walk.csv --out clean.parquet --rate-hz 20 --unit acc=m/s2:g
    """
    from deeprotect import verbs
    from deeprotect.tables.csv_reader import column_names

    counts = verbs.prepare(
        table,
        out,
        rate_hz=rate_hz,
        unit=unit or (),
        max_dropped=max_dropped,
        policy=policy,
        map=pairs(mapped),
        columns=column_names(columns),
        force=force,
    )
    if as_json:
        typer.echo(json_text(counts.to_json(), indent=None), err=True)
        return
    for line in counts.lines():
        typer.echo(line, err=True)
    typer.echo(
        f"{out}: {counts.rows_out} of {counts.rows_in} rows, {counts.recordings_out} recordings "
        f"(of {counts.recordings_in})",
        err=True,
    )


def pairs(mapped: Sequence[str] | None) -> dict[str, str]:
    """What --map says: names and the columns that are meant."""
    found: dict[str, str] = {}
    for text in mapped or ():
        name, equals, column = (part.strip() for part in text.partition("="))
        if not equals:
            raise InputError(f"--map {printable(text)}: write NAME=COLUMN, for example time=Timestamp")
        if name in found:
            raise InputError(f"--map {printable(text)}: '{printable(name)}' is mapped twice; map it once")
        found[name] = column
    return found
