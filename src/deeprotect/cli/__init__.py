"""The command line: parse, call, print; no logic."""

import sys


def main() -> None:
    """Run the command; wrong input is one line and exit code 2, failed work exit code 1."""
    from deeprotect.cli.app import app
    from deeprotect.cli.run import run

    sys.exit(run(app))
