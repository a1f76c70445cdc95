"""A progress bar on a terminal, with the time that is left; silence when piped."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.console import Console

EARLIEST_SHARE = 0.02  # before, nothing can be told


@contextmanager
def bar(title: str, console: "Console | None" = None) -> Iterator[Callable[[float], None]]:
    """Gives a function that takes the share done, 0 to 1."""
    from rich.console import Console
    from rich.progress import BarColumn, Progress, SpinnerColumn, TaskProgressColumn, TextColumn

    console = console or Console(stderr=True)
    columns = (SpinnerColumn(), TextColumn("{task.description}"), BarColumn(), TaskProgressColumn())
    left = TextColumn("{task.fields[left]}")
    with Progress(*columns, left, console=console, transient=True, disable=not console.is_terminal) as progress:
        countdown = Countdown(progress.get_time)
        task = progress.add_task(title, total=1.0, left=countdown)

        def tell(share: float) -> None:
            countdown.tell(share)
            progress.update(task, completed=share)

        yield tell


class Countdown:
    """What is left if the rest goes as the beginning went; it runs down between two reports, too."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock, self._start = clock, clock()
        self._end: float | None = None

    def tell(self, share: float) -> None:
        """So much is done by now."""
        now = self._clock()
        if share >= EARLIEST_SHARE:
            self._end = self._start + (now - self._start) / share

    def __str__(self) -> str:
        elapsed = _minutes(self._clock() - self._start)
        if self._end is None:
            return f"{elapsed} so far"
        return f"{elapsed} so far, about {_minutes(max(0.0, self._end - self._clock()))} left"


def _minutes(seconds: float) -> str:
    return f"{int(seconds) // 60}:{int(seconds) % 60:02}"
