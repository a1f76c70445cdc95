"""The command `deeprotect` and its verbs."""

import typer

from deeprotect.cli import bundles, data, evaluate, paper, protect, tables

app = typer.Typer(
    help="Name what an app may infer from your sensors; release data that carries only that.",
    add_completion=True,
    pretty_exceptions_enable=False,  # its tracebacks print local variables, and those can be private samples
    rich_markup_mode=None,
)
app.command()(evaluate.demo)
app.command()(data.inferences)
app.add_typer(data.datasets, name="datasets")
app.command()(data.init)
app.command()(tables.check)
app.command()(tables.prepare)
app.command()(protect.train)
app.command()(protect.protect)
app.command()(bundles.describe)
app.command()(bundles.verify)
app.command()(bundles.audit)
app.command()(evaluate.evaluate)
app.command()(paper.reproduce)
app.command()(paper.bench)


@app.callback(invoke_without_command=True)
def _without_verb(
    context: typer.Context, version: bool = typer.Option(False, "--version", help="Print the version and stop.")
) -> None:
    if version:
        from deeprotect.version import __version__

        typer.echo(__version__)
        raise typer.Exit
    if context.invoked_subcommand is None:
        typer.echo(context.get_help())
