"""Verbs on tables and data: check, prepare, inferences, datasets, init."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any

import typer
from typer import Argument, Option

from deeprotect.cli.printing import bar, json_text
from deeprotect.errors import InputError, printable

READ = "CSV (also .gz), Excel, Parquet or Arrow: a file, a folder, a pattern or an address"
WRITTEN = ".csv, .csv.gz, .parquet, .arrow or .feather"
Map = Annotated[
    list[str] | None,
    Option(
        "--map", metavar="NAME=COLUMN", help="Which column is the time, recording, person or a channel; repeatable."
    ),
]
Columns = Annotated[str | None, Option(metavar="A,B,C", help="Column names, for a CSV file without a header line.")]
PolicyPath = Annotated[Path | None, Option("--policy", metavar="POLICY", help="A policy that names the channels.")]
Force = Annotated[bool, Option("--force", help="Overwrite the output if it exists.")]
datasets = typer.Typer(invoke_without_command=True, rich_markup_mode=None)


def check(
    table: Annotated[str, Argument(metavar="TABLE", help=f"{READ}; or - for standard input.")],
    policy: Annotated[Path | None, Argument(metavar="POLICY", help="Check the table against this policy, too.")] = None,
    mapped: Map = None,
    columns: Columns = None,
    as_json: Annotated[bool, Option("--json", help="Print JSON.")] = False,
) -> None:
    """List all problems of a table at once, each with its fix; exit code 1 if there are any.

    Example: deeprotect check walk.csv policy.toml
    """
    given = options(locals())
    from deeprotect import api

    report = api.check(**given)
    typer.echo(json_text(report.to_json()) if as_json else "\n".join(report.lines()))
    if report.problems:
        raise typer.Exit(1)


def prepare(
    table: Annotated[str, Argument(metavar="TABLE", help=f"{READ}.")],
    out: Annotated[str, Option(metavar="CLEAN", help=f"The clean table to write: {WRITTEN}.")],
    rate_hz: Annotated[float | None, Option(metavar="HZ", help="Resample to this rate; it can only go down.")] = None,
    unit: Annotated[
        list[str] | None, Option(metavar="WHAT=FROM:TO", help="Convert units, as in acc=m/s2:g; repeatable.")
    ] = None,
    max_dropped: Annotated[
        float, Option(metavar="SHARE", help="Stop if more than this share of the rows would be dropped.")
    ] = 0.1,
    policy: PolicyPath = None,
    mapped: Map = None,
    columns: Columns = None,
    force: Force = False,
    as_json: Annotated[bool, Option("--json", help="Print what was done as JSON, on standard error.")] = False,
) -> None:
    """Fix what can be fixed without inventing data, and report it: sort, drop, split, resample, convert.

    Example: deeprotect prepare walk.csv --out clean.parquet --rate-hz 20 --unit acc=m/s2:g
    """
    given = options(locals())
    from deeprotect import api

    counts = api.prepare(**given)
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


def inferences(
    name: Annotated[str | None, Argument(metavar="NAME", help="Show this inference, with its references.")] = None,
    sensor: Annotated[str | None, Option(metavar="SENSOR", help="Only what this sensor reveals.")] = None,
    as_json: Annotated[bool, Option("--json", help="Print JSON.")] = False,
) -> None:
    """Show the repository of inferences: which sensors reveal what, with references.

    Example: deeprotect inferences --sensor gyroscope
    """
    from deeprotect import api
    from deeprotect.cli.printing import inference_card, inferences_table
    from deeprotect.policy import Repository

    repository, chosen = Repository.load(), api.inferences(name, sensor=sensor)
    if as_json:
        typer.echo(json_text([each.model_dump(mode="json", exclude_none=True) for each in chosen]))
    elif name:
        inference_card(chosen[0], repository)
    else:
        inferences_table(chosen, repository)


@datasets.callback()
def list_datasets(
    context: typer.Context, as_json: Annotated[bool, Option("--json", help="Print JSON.")] = False
) -> None:
    """List public data sets with publisher and licence.

    Example: deeprotect datasets fetch hapt --from downloads --out hapt.parquet
    """
    if context.invoked_subcommand:
        return
    from deeprotect.cli.printing import datasets_table
    from deeprotect.datasets import registry

    entries = [registry.entry(name) for name in registry.names()]
    if as_json:
        typer.echo(json_text([entry.model_dump(mode="json", exclude_none=True) for entry in entries]))
    else:
        datasets_table(entries)


@datasets.command(short_help="Download or read one, verify it, write it as a table.")
def fetch(
    name: Annotated[str, Argument(metavar="NAME", help="A name from `deeprotect datasets`.")],
    source: Annotated[
        Path | None,
        Option("--from", metavar="PATH", help="Read a local copy, an archive or a folder; download nothing."),
    ] = None,
    out: Annotated[Path | None, Option(metavar="TABLE", help=f"Also write it as a table: {WRITTEN}.")] = None,
    rate_hz: Annotated[float | None, Option(metavar="HZ", help="Resample the table to this rate.")] = None,
    force: Force = False,
) -> None:
    """Download or read a data set, verify it, cache it; with --out write it as a table.

    Example: deeprotect datasets fetch watch --rate-hz 10 --out watch.csv
    """
    from deeprotect.datasets import fetch as get
    from deeprotect.datasets import load, save
    from deeprotect.tables.outputs import Output

    if rate_hz is not None and out is None:
        raise InputError("--rate-hz is for the table that --out writes; give both")
    if out is not None:
        Output.at(out).check_kind()
        Output.at(out).check(force=force)
    with bar(f"fetching {name}") as progress:
        folder = get(name, source=source)
        progress(0.5)
        if out is None:
            typer.echo(f"{name}: {folder}", err=True)
            return
        dataset = load(name, rate_hz=rate_hz)
        save(dataset, out)
    typer.echo(
        f"{out}: {dataset.table.num_rows} rows at {dataset.rate_hz:g} Hz, labels {', '.join(dataset.labels)}", err=True
    )


def init(
    table: Annotated[str, Argument(metavar="TABLE", help=f"{READ}; column types are guessed from its first rows.")],
    useful: Annotated[list[str], Option(metavar="LABEL", help="A label that the app may infer; repeatable.")],
    out: Annotated[Path, Option(metavar="POLICY", help="The policy to write.")],
    sensitive: Annotated[list[str] | None, Option(metavar="LABEL", help="A label to hide; repeatable.")] = None,
    rate_hz: Annotated[
        float | None, Option(metavar="HZ", help="Sampling rate of a table without a time column.")
    ] = None,
    window: Annotated[int | None, Option(metavar="N", help="Samples in a window (default: two seconds).")] = None,
    epsilon: Annotated[
        float | None,
        Option(metavar="E", help="Privacy of one draw (default: 5, or 11 with --slots)."),
    ] = None,
    every: Annotated[
        str | None,
        Option(metavar="TIME", help='Keep each draw for this long, such as "30 s" (default: one draw per window).'),
    ] = None,
    slots: Annotated[
        str | None,
        Option(metavar="TIME", help="With --every: draw a sequence of slots of this length, which may differ."),
    ] = None,
    mapped: Map = None,
    columns: Columns = None,
    force: Force = False,
) -> None:
    """Write a policy for a table, with the usual ranges of its sensors, never ranges read from the data.

    Example: deeprotect init walk.csv --useful activity --sensitive person --out policy.toml
    """
    given = options(locals())
    from deeprotect import api

    draft = api.init(**given)
    for line in draft.notes:
        typer.echo(f"note: {line}", err=True)
    stream = draft.policy.stream
    typer.echo(f"{out}: {len(stream.channels)} channels at {stream.rate_hz:g} Hz, windows of {stream.window}", err=True)


def options(given: Mapping[str, Any]) -> dict[str, Any]:
    """The arguments of a verb under their Python names; arguments that were not given keep their defaults."""
    stated = {name: value for name, value in given.items() if value is not None and name not in ("mapped", "as_json")}
    return stated | named(given["mapped"], given["columns"])


def named(mapped: Sequence[str] | None, columns: str | None) -> dict[str, Any]:
    """--map and --columns as Python arguments."""
    from deeprotect.tables.csv_reader import column_names

    return {"map": pairs(mapped), "columns": column_names(columns)}


def pairs(mapped: Sequence[str] | None, option: str = "--map", *, example: str = "time=Timestamp") -> dict[str, str]:
    """Parse --map, or another option of the same form, into names and columns."""
    found: dict[str, str] = {}
    for text in mapped or ():
        name, equals, column = (part.strip() for part in text.partition("="))
        if not equals:
            raise InputError(f"{option} {printable(text)}: write NAME=COLUMN, for example {example}")
        if name in found:
            raise InputError(f"{option} {printable(text)}: '{printable(name)}' is mapped twice; map it once")
        found[name] = column
    return found
