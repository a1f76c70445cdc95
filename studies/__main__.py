"""`python -m studies`, in a clone: what measures the project itself."""

import sys

import typer

from deeprotect.cli.printing import Verb, with_examples
from deeprotect.cli.run import run
from studies import cli

SUMMARIES: dict[Verb, str] = {
    cli.reproduce: "The paper's case studies again, on public data; and known tables.",
    cli.cadence: "Steps a minute: a useful number, and a pedometer of others.",
    cli.membership: "Who took part in a bundle's training?",
    cli.participants: "What it would cost to hide who took part.",
    cli.ready: "Train the protectors that come with the package.",
    cli.peers: "What others do about private sensor data, on a table of yours.",
    cli.bench: "Speed and memory against peers.",
    cli.faults: "Gateways broken on purpose, under load.",
    cli.fleet: "What a million devices need, on paper and checked.",
}
app = typer.Typer(
    help="Studies of deeprotect itself; each writes what docs/ shows.",
    add_completion=False,
    pretty_exceptions_enable=False,
    no_args_is_help=True,
    rich_markup_mode=None,
)
for _verb, _summary in SUMMARIES.items():
    app.command(help=with_examples(_verb), short_help=_summary)(_verb)


def main() -> None:
    sys.exit(run(app, program="python -m studies"))


if __name__ == "__main__":
    main()
