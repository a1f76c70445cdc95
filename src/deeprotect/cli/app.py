"""The command `deeprotect` and its verbs."""

import typer

from deeprotect.cli import budget, bundles, data, evaluate, exports, paper, protect, replay, serve, tables
from deeprotect.cli import register as registering
from deeprotect.cli.help_text import Verb, with_examples

SUMMARIES: dict[Verb, str] = {
    evaluate.demo: "See it work: train, protect and attack on real wrist data.",
    data.inferences: "What sensors reveal, with references.",
    tables.check: "List all problems of a table, each with the fix.",
    tables.prepare: "Mend a table: sort, drop, split, resample, convert.",
    data.init: "Write a policy for a table.",
    protect.train: "Learn a protector from labelled recordings.",
    protect.enrol: "Teach it a new person in seconds.",
    bundles.describe: "Say what a protector promises, and what not.",
    bundles.verify: "Work out again everything that it promises.",
    bundles.audit: "Attack its release; a lower bound on ε.",
    protect.protect: "Release tables: the same form, other content.",
    budget.budget: "What has been spent, and what is left.",
    serve.serve: "The gateway: live streams from sensors to apps.",
    replay.replay: "Play a table as if it were live.",
    exports.export: "Take a protector to the browser: an extension, a script.",
    evaluate.evaluate: "What apps and attackers read of a release; a report.",
    paper.reproduce: "The paper's case studies again, on public data.",
    paper.bench: "Speed and memory against peers.",
}
"""In the order in which a newcomer needs them; short enough to be shown whole."""
app = typer.Typer(
    help="Name what an app may infer from your sensors; release data that carries only that.\n\n"
    "The way through: check and prepare a table, init a policy, train a protector, describe and verify it, protect "
    "recordings with it, evaluate what they still tell. `deeprotect VERB --help` shows an example of each.",
    add_completion=True,
    pretty_exceptions_enable=False,  # its tracebacks print local variables, and those can be private samples
    rich_markup_mode=None,
)
for _verb, _summary in SUMMARIES.items():
    app.command(help=with_examples(_verb), short_help=_summary)(_verb)
app.add_typer(data.datasets, name="datasets", short_help="Known data sets, their licence; fetch one as a table.")
app.add_typer(registering.register, name="register", short_help="Who may send to the gateway, which app gets what.")


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
