"""The command `deeprotect` and its verbs."""

import typer

from deeprotect.cli import data, evaluate, protect, tables

app = typer.Typer(
    help="Name what an app may infer from your sensors; release data that carries only that.",
    no_args_is_help=True,
    add_completion=False,
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
app.command()(protect.export)
app.command()(protect.describe)
app.command()(protect.verify)
app.command()(evaluate.audit)
app.command()(evaluate.evaluate)
app.command()(evaluate.reproduce)
app.command()(evaluate.bench)


@app.callback(invoke_without_command=True)
def _version(version: bool = typer.Option(False, "--version", help="Print the version and stop.")) -> None:
    if version:
        from deeprotect.version import __version__

        typer.echo(__version__)
        raise typer.Exit
