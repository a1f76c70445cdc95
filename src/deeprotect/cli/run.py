"""Running a command so that every mistake ends in one line and the right exit code."""

import os
import sys

import typer

from deeprotect.errors import DeeprotectError, printable

LONGEST_LINE = 2000


def run(app: typer.Typer) -> int:
    """The exit code: 0 done, 1 the work failed, 2 wrong input."""
    try:
        return int(app(standalone_mode=False) or 0)
    except typer.Exit as stop:
        return stop.exit_code
    except typer.TyperException as mistake:
        return _say(mistake.format_message(), 2)
    except DeeprotectError as mistake:
        return _say(str(mistake), mistake.exit_code)
    except ModuleNotFoundError as missing:
        if (missing.name or "").startswith("deeprotect"):
            raise
        return _say(f"{missing.name} is not installed; install deeprotect[all] for this command", 1)
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # the reader left; nothing more to say
        return 1
    except OSError as failure:
        return _say(f"{failure.filename or 'the system'}: {failure.strerror}", 1)
    except (KeyboardInterrupt, typer.Abort):
        return _say("stopped; nothing unfinished was left behind", 130)


def _say(line: str, exit_code: int) -> int:
    """One line, whatever a file, a column or a bundle is called."""
    print("deeprotect:", printable(" ".join(line.split()), LONGEST_LINE), file=sys.stderr)
    return exit_code
