"""Verbs about data: inferences, datasets, init."""

from pathlib import Path
from typing import Annotated

import typer

from deeprotect.cli.json_output import json_text
from deeprotect.cli.progress import bar
from deeprotect.cli.tables import Columns, Force, Map, pairs
from deeprotect.errors import InputError, printable

datasets = typer.Typer(invoke_without_command=True, rich_markup_mode=None)


def inferences(
    name: Annotated[str | None, typer.Argument(metavar="NAME", help="One inference, with its references.")] = None,
    sensor: Annotated[str | None, typer.Option(metavar="S", help="Only what this sensor reveals.")] = None,
    also: Annotated[list[Path] | None, typer.Option("--file", help="Your own repository file to add.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """The repository of inferences: which sensors reveal what, with references.

    Example: deeprotect inferences --sensor gyroscope
    """
    from deeprotect.cli.printing import inference_card, inferences_table
    from deeprotect.policy import Repository

    if name and sensor:
        raise InputError("give a NAME or --sensor: one inference, or what one sensor reveals")
    repository = Repository.load(*(also or []))
    chosen = repository.reveals([sensor]) if sensor else list(repository.inferences.values())
    if name:
        chosen = [repository.inference(name)]
    if as_json:
        typer.echo(json_text([each.model_dump(mode="json", exclude_none=True) for each in chosen]))
    elif name:
        inference_card(chosen[0], repository)
    else:
        inferences_table(chosen, repository)


@datasets.callback()
def list_datasets(
    context: typer.Context, as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False
) -> None:
    """Known data sets, their publisher and licence.

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
    name: Annotated[str, typer.Argument(metavar="NAME", help="A name from `deeprotect datasets`.")],
    source: Annotated[Path | None, typer.Option("--from", metavar="DIR", help="A local copy instead.")] = None,
    out: Annotated[Path | None, typer.Option(metavar="TABLE", help="Also write the tidy table there.")] = None,
    rate_hz: Annotated[float | None, typer.Option(metavar="HZ", help="Resample the table to this rate.")] = None,
    force: Force = False,
) -> None:
    """Download or read a data set, verify it, cache it; with --out write it as a table.

    Example: deeprotect datasets fetch watch --rate-hz 10 --out watch.csv
    """
    from deeprotect.datasets import fetch as get
    from deeprotect.datasets import load, save
    from deeprotect.datasets.saving import check_name
    from deeprotect.tables.output_checks import refuse_output

    if rate_hz is not None and out is None:
        raise InputError("--rate-hz is for the table that --out writes; give both")
    if out is not None:
        check_name(out)
        refuse_output(out, [], force=force)
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
    table: Annotated[str, typer.Argument(metavar="TABLE", help="CSV, Parquet or Arrow; only its first rows are read.")],
    useful: Annotated[list[str], typer.Option(metavar="A", help="A label column the app may infer; repeatable.")],
    out: Annotated[Path, typer.Option(metavar="POLICY", help="The policy to write.")],
    sensitive: Annotated[list[str] | None, typer.Option(metavar="B", help="A label to hide; repeatable.")] = None,
    rate_hz: Annotated[float | None, typer.Option(metavar="HZ", help="Sampling rate, if there is no time.")] = None,
    window: Annotated[int | None, typer.Option(metavar="N", help="Samples in a window (default: two seconds).")] = None,
    epsilon: Annotated[
        float | None,
        typer.Option(metavar="E", help="Privacy of one draw (default: 5; 3 with --sensitive; 11 with --slots)."),
    ] = None,
    every: Annotated[
        str | None,
        typer.Option(metavar="TIME", help='Hold a draw for so long, such as "30 s" (default: a draw for each window).'),
    ] = None,
    slots: Annotated[
        str | None,
        typer.Option(metavar="TIME", help="With --every: draw a script of that time, which may change between slots."),
    ] = None,
    mapped: Map = None,
    columns: Columns = None,
    force: Force = False,
) -> None:
    """Write a policy for a table, with hardware ranges by sensor type, never ranges read from the data.

    Example: deeprotect init walk.csv --useful activity --sensitive person --out policy.toml
    """
    from deeprotect.policy import Repository
    from deeprotect.policy.draft import assumptions, columns_of, draft, warnings_for
    from deeprotect.policy.stream_section import RESERVED_COLUMNS
    from deeprotect.tables.atomic import whole_file
    from deeprotect.tables.checking.check import first_look
    from deeprotect.tables.column_map import ColumnMap
    from deeprotect.tables.csv_reader import column_names
    from deeprotect.tables.files import READERS, kind_of
    from deeprotect.tables.output_checks import refuse_output
    from deeprotect.tables.several import paths_of
    from deeprotect.tables.survey import settled_rate, survey

    refuse_output(out, paths_of(table), force=force)
    if kind_of(out) in READERS:
        raise InputError(f"{out}: that is the name of a table, and a policy is TOML; give a name such as policy.toml")
    labels, names = [*useful, *(sensitive or [])], column_names(columns)
    mapping = ColumnMap.without_policy(pairs(mapped), labels={*labels} - {*RESERVED_COLUMNS})
    seen = survey(table, mapping=mapping, columns=names)
    rate = settled_rate(seen, rate_hz, where=table)
    found = columns_of(seen.schema)
    policy = draft(
        found,
        useful=useful,
        sensitive=sensitive or [],
        rate_hz=rate,
        window=window,
        epsilon=epsilon,
        every=every,
        slots=slots,
        mapping=seen.roles.columns | {name: column for column, name in mapping.renamed.items()},
    )
    problems = first_look(table, mapping=mapping, columns=names).problems if table != "-" else ()
    with whole_file(out) as stream:
        stream.write(policy.to_toml().encode())
    for line in (*assumptions(found, policy), *warnings_for(policy, Repository.load())):
        typer.echo(f"note: {line}", err=True)
    if problems:
        kinds = ", ".join(dict.fromkeys(each.kind for each in problems))
        typer.echo(f"note: its first rows show problems ({kinds}); see `deeprotect check {printable(table)}`", err=True)
    typer.echo(
        f"{out}: {len(policy.stream.channels)} channels at {rate:g} Hz, windows of {policy.stream.window}", err=True
    )
