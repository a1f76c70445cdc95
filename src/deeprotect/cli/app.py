"""The command `deeprotect` and its verbs."""

import typer

from deeprotect.cli import budget, bundles, evaluate, filtering, gateway, protect, tables
from deeprotect.cli.printing import Verb, with_examples

SUMMARIES: dict[Verb, str] = {
    evaluate.demo: "See it work: train, protect and attack on real wrist data.",
    tables.inferences: "Show what sensors reveal, with references.",
    tables.check: "List all problems of a table, each with its fix.",
    tables.prepare: "Fix a table: sort, drop, split, resample, convert.",
    tables.init: "Write a policy for a table.",
    bundles.protectors: "List protectors that need no training.",
    protect.train: "Learn a protector from labelled recordings.",
    protect.enrol: "Adapt a protector to a new person in seconds.",
    bundles.describe: "Print what a protector promises and what it does not.",
    bundles.verify: "Recompute everything that a bundle promises.",
    bundles.audit: "Attack a release, for a lower bound on ε.",
    protect.protect: "Release tables: the same form, new content.",
    filtering.filter: "Release readings in a pipe: line protocol, JSON lines.",
    bundles.export: "Export a protector to browsers, phones, ONNX.",
    evaluate.evaluate: "Report what apps and attackers can infer.",
    evaluate.tune: "Propose a policy for an accuracy or an ε per hour.",
}
"""In the order in which a newcomer needs them; short enough to be shown whole."""
app = typer.Typer(
    help="Name what an app may infer from your sensors; release data that carries only that.\n\n"
    "The usual path: check and prepare a table, init a policy, train a protector, describe and verify it, protect "
    "recordings with it, evaluate what they still reveal. `deeprotect COMMAND --help` shows an example of each.",
    add_completion=True,
    pretty_exceptions_enable=False,  # its tracebacks print local variables, and those can be private samples
    rich_markup_mode=None,
)
_PARSERS = {protect.protect: protect.InputFirst}
for _verb, _summary in SUMMARIES.items():
    app.command(help=with_examples(_verb), short_help=_summary, cls=_PARSERS.get(_verb))(_verb)
app.add_typer(budget.budget, name="budget", short_help="Show who has spent what, and what is left.")
app.add_typer(tables.datasets, name="datasets", short_help="List public data sets; fetch one as a table.")
app.add_typer(gateway.gateway, name="gateway", short_help="Live streams from sensors to apps: serve, register, replay.")


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
