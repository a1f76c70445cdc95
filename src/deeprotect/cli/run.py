"""Running a command so that every mistake, failure or signal ends with one line and the right exit code."""

import errno
import logging
import os
import re
import signal
import sys
import traceback
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.metadata import requires
from pathlib import Path
from types import FrameType

import typer

from deeprotect.cli.wording import wording
from deeprotect.errors import DeeprotectError, printable

_BY = {"SIGINT": "Ctrl-C", "SIGTERM": "a TERM signal", "SIGHUP": "the terminal, which closed"}
_SIGNALS = tuple(number for name in _BY if (number := getattr(signal, name, None)) is not None)
SHELL_SIGNAL = 128  # shells report a signal as 128 plus its number
BROKEN_PIPE = SHELL_SIGNAL + 13


class StoppedError(BaseException):
    """A signal ended the program. Like KeyboardInterrupt it is not an Exception, so that no handler treats it as a
    failure."""

    def __init__(self, number: int) -> None:
        super().__init__(number)
        self.exit_code = SHELL_SIGNAL + number

    def __str__(self) -> str:
        name = signal.Signals(self.exit_code - SHELL_SIGNAL).name
        return f"stopped by {_BY.get(name, name)}; no file was left half-written"


@contextmanager
def signals_as_errors() -> Iterator[None]:
    """Turn Ctrl-C, TERM and HUP into errors, so that nothing is left half-written or running.

    Further signals meanwhile are ignored, and so are those that `nohup` ignores.
    """
    before = {number: signal.getsignal(number) for number in _SIGNALS}
    heeded = [number for number, handler in before.items() if handler != signal.SIG_IGN]

    def stop(number: int, _: FrameType | None) -> None:
        for each in heeded:
            signal.signal(each, signal.SIG_IGN)
        raise StoppedError(number)

    for number in heeded:
        signal.signal(number, stop)
    try:
        yield
    finally:
        for number in heeded:
            signal.signal(number, before[number])


LONGEST_LINE = 2000
OWN_FAULT, DEVICE_FAILED = 70, 74  # EX_SOFTWARE and EX_IOERR of sysexits.h
_DEVICE = {
    errno.ENOSPC: "no space is left; free some, or write elsewhere",
    errno.EDQUOT: "the quota is used up; free some space, or write elsewhere",
    errno.EFBIG: "the file would be larger than is allowed; write elsewhere",
    errno.EROFS: "it can only be read; write elsewhere",
    errno.EIO: "the device failed; look at the disk",
}


def run(app: typer.Typer, program: str = "deeprotect") -> int:
    """The exit code: 0 done, 1 a check failed or the budget is spent, 2 wrong input or a missing extra, 70 an internal
    error.

    74: a disk error; 128 + n: ended by signal n.
    """
    try:
        with signals_as_errors(), warnings.catch_warnings():
            warnings.showwarning = lambda message, *_: _show(str(message))
            code = _invoke(app, program)
            sys.stdout.flush()  # here, where a failure can be reported
            return code
    except typer.Exit as stop:
        return stop.exit_code
    except typer.TyperException as mistake:
        return _say(mistake.format_message(), 2)
    except DeeprotectError as mistake:
        return _say(wording(mistake), mistake.exit_code)
    except (StoppedError, KeyboardInterrupt, typer.Abort) as stop:
        stopped = stop if isinstance(stop, StoppedError) else StoppedError(2)
        return _say(str(stopped), stopped.exit_code)
    except OSError as failure:
        return _system_failure(failure)
    except MemoryError:
        return _say("it does not fit into memory; use shorter windows, or a smaller table", 2)
    except Exception as fault:
        return _own_fault(fault)


def _invoke(app: typer.Typer, program: str) -> int:
    """Like `app()`, but without its silence on Ctrl-C and on a closed pipe."""
    logging.getLogger("matplotlib").setLevel(logging.ERROR)  # hides "building the font cache"
    command = typer.main.get_command(app)
    command._main_shell_completion(ctx_args={}, prog_name=program)  # ends here for shell completion
    with command.make_context(program, sys.argv[1:]) as context:
        return int(command.invoke(context) or 0)


def _system_failure(failure: OSError) -> int:
    _forget_unwritten()
    if isinstance(failure, BrokenPipeError):
        return _say("standard output was closed before everything was written", BROKEN_PIPE)
    if failure.errno in _DEVICE:
        return _say(f"{failure.filename or 'the output'}: {_DEVICE[failure.errno]}", DEVICE_FAILED)
    return _say(f"{failure.filename or 'the system'}: {failure.strerror or type(failure).__name__}", DEVICE_FAILED)


def _show(message: str) -> None:
    """Print a warning in one line, without a source location."""
    print("deeprotect: warning:", printable(" ".join(message.split()), LONGEST_LINE), file=sys.stderr)


def _forget_unwritten() -> None:
    """Discard unwritten standard output, which the interpreter would try to write again at its end."""
    try:
        sys.stdout.flush()
    except OSError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _own_fault(fault: Exception) -> int:
    """Report where the error happened and its type, but not its message, which may quote a cell."""
    if isinstance(fault, ModuleNotFoundError) and not (fault.name or "").startswith("deeprotect"):
        return _say(f"{fault.name} is not installed; run: pip install 'deeprotect[{_extra_with(fault.name)}]'", 2)
    frames = [
        frame for frame in traceback.extract_tb(fault.__traceback__) if "deeprotect" in Path(frame.filename).parts
    ]
    places = " < ".join(f"{Path(frame.filename).name}:{frame.lineno}" for frame in reversed(frames[-4:]))
    return _say(f"internal error ({type(fault).__name__} at {places}); please report this line", OWN_FAULT)


def _extra_with(module: str | None) -> str:
    """The first extra that installs a module, according to the package's metadata; or all of them."""
    package = {"sklearn": "scikit-learn"}.get(module or "", module or "")
    wanted = re.compile(rf"{re.escape(package)}\b.*extra == ['\"](\w+)['\"]", re.IGNORECASE)
    found = filter(None, map(wanted.match, requires("deeprotect") or ()))
    return next((each[1] for each in found), "all")


def _say(line: str, exit_code: int) -> int:
    """Print one line, whatever names contain."""
    if sys.stderr is not None:
        print("deeprotect:", printable(" ".join(line.split()), LONGEST_LINE), file=sys.stderr)
    return exit_code
