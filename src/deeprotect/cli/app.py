"""The command `deeprotect` and its verbs."""

from typing import Any

import typer
from typer.core import TyperGroup

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
    bundles.export: "Export a protector to browsers, phones, ONNX.",
    evaluate.evaluate: "Report what apps and attackers can infer.",
    evaluate.tune: "Propose a policy for an accuracy or an ε per hour.",
}
"""In the order in which a newcomer needs them; short enough to be shown whole."""
FIRST = ("demo", "check", "prepare", "init", "train", "protectors", "describe", "protect", "evaluate")


class _Sections(TyperGroup):
    """What a newcomer needs stands first."""

    def format_commands(self, _: Any, formatter: Any) -> None:
        shown = {name: each for name, each in self.commands.items() if not each.hidden}
        for title, names in (
            ("Commands", FIRST),
            ("More commands", tuple(name for name in shown if name not in FIRST)),
        ):
            with formatter.section(title):
                formatter.write_dl([(name, shown[name].get_short_help_str(limit=200)) for name in names])


app = typer.Typer(
    cls=_Sections,
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
app.command("filter", hidden=True, context_settings={"ignore_unknown_options": True, "allow_extra_args": True})(
    filtering.moved
)
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
