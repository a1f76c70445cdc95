"""Endings: a signal unwinds the work as an error would, so that nothing is left half-written or running."""

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

_BY = {"SIGINT": "Ctrl-C", "SIGTERM": "a TERM signal", "SIGHUP": "the terminal, which closed"}
_SIGNALS = tuple(number for name in _BY if (number := getattr(signal, name, None)) is not None)
SHELL_SIGNAL = 128  # shells show the end by a signal as this and its number
BROKEN_PIPE = SHELL_SIGNAL + 13


class StoppedError(BaseException):
    """A signal asked for the end. Like KeyboardInterrupt it is no Exception, so that nothing takes it for a failure."""

    def __init__(self, number: int) -> None:
        super().__init__(number)
        self.exit_code = SHELL_SIGNAL + number

    def __str__(self) -> str:
        name = signal.Signals(self.exit_code - SHELL_SIGNAL).name
        return f"stopped by {_BY.get(name, name)}; no file was left half-written"


@contextmanager
def signals_as_errors() -> Iterator[None]:
    """Ctrl-C, TERM and HUP raise; those that come while the work unwinds are ignored. What `nohup` ignores stays so."""
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
