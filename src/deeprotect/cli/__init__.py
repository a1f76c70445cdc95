"""The command line: parse, call, print; no logic."""

import sys


def main() -> None:
    """Run the command; wrong input is one line and exit code 2, failed work exit code 1."""
    try:
        from deeprotect.cli.app import app
        from deeprotect.cli.run import run
    except KeyboardInterrupt:  # before anything that could be stopped with a word
        sys.exit(130)
    sys.exit(run(app))
