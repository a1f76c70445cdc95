"""The command `deeprotect` and its verbs."""

import typer

from deeprotect.cli import data, evaluations, experiments, studies
from deeprotect.cli import protect as bundles

app = typer.Typer(
    help="Name what an app may infer from your sensors; release data that carries only that.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,  # its tracebacks print local variables, and those can be private samples
    rich_markup_mode=None,
)
app.command()(experiments.demo)
app.command()(data.inferences)
app.add_typer(data.datasets, name="datasets")
app.command()(data.init)
app.command()(bundles.train)
app.command()(bundles.protect)
app.command()(bundles.describe)
app.command()(bundles.verify)
app.command()(experiments.audit)
app.command()(evaluations.evaluate)
app.command()(evaluations.reproduce)
app.command()(studies.studies)
app.command()(studies.features)
app.command()(experiments.bench)


@app.callback(invoke_without_command=True)
def _version(version: bool = typer.Option(False, "--version", help="Print the version and stop.")) -> None:
    if version:
        from deeprotect.version import __version__

        typer.echo(__version__)
        raise typer.Exit
