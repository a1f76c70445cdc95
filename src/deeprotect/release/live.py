"""Live streams: draws for many streams at once, and a stream of pushed rows in constant memory."""

import warnings
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any, Literal, Self

import numpy as np

from deeprotect.bundle.network import one_thread
from deeprotect.errors import BudgetError, DeeprotectError, InputError, StreamError, TableError, printable
from deeprotect.privacy.accounting import Spending
from deeprotect.privacy.entropy import SystemEntropy, require_system
from deeprotect.release.engine import Pipeline, Released, one, release
from deeprotect.release.episodes import Episode, Episodes, Observing
from deeprotect.release.ledger import Ledger
from deeprotect.signals import Windower, Windows
from deeprotect.signals.schema import Floats, largely_outside

ListenTo = Literal["beginning", "before"]
STANDARD = "-"


def release_due(
    streams: Iterable[Episodes], *, entropy: SystemEntropy
) -> list[tuple[Episodes, Episode, Released | BudgetError]]:
    """Makes all due draws in one transaction; a refusal gives up only its own episode.

    If it fails, nothing was drawn, or the draws are in the ledger; the same draws are then due again.
    """
    due = [(each, *draw) for each in streams for draw in each.due()]
    if not due:  # as for most rows that are pushed one by one
        return []
    with one_thread():
        answers = release([request for *_, request in due], entropy=entropy)
    for (_, episode, _), answer in zip(due, answers, strict=True):
        episode.settle(answer)
    return [(each, episode, answer) for (each, episode, _), answer in zip(due, answers, strict=True)]


class LiveStream:
    """Released rows for pushed rows, one for one and in order; made by `Protector.stream`. Not for several threads.

    A row comes back when its window is full. If anything fails, waiting rows are dropped and never released, and the
    next row begins a new recording.

    Examples:
        >>> from deeprotect import Protector
        >>> live = Protector.load("protector").stream()  # windows of four samples, two channels
        >>> [len(live.push([0.1, 0.2])) for _ in range(5)]
        [0, 0, 0, 4, 0]
        >>> live.waiting, len(live.finish())
        (1, 1)
        >>> print(live.cost)
        ldp: ε = 5 per window, ε = 10 for the whole stream (2 windows)
    """

    def __init__(
        self,
        bundle: Pipeline,
        *,
        listen_to: ListenTo = "beginning",
        listen: int | None = None,
        ledger: Ledger,
        entropy: SystemEntropy,
    ) -> None:
        self._bundle = bundle
        self._observing = Observing.of(bundle, listen_to, listen)
        # Keys start anew, as for standard input, so no two streams share draws.
        self._ledger, self._entropy = ledger.of_table(STANDARD, ()), require_system(entropy)
        self._part = 0  # recordings so far
        self._pushed = self._returned = self._dropped = 0
        self._ended = False
        self._warned: set[str] = set()
        self._begin()

    @property
    def cost(self) -> Spending:
        """The cost of all draws so far."""
        return self._ledger.spending

    @property
    def waiting(self) -> int:
        """Rows that were pushed and have not been returned yet."""
        return self._pushed - self._returned - self._dropped

    @property
    def dropped(self) -> int:
        """Rows that were dropped after a failure, and will not be returned."""
        return self._dropped

    def push(self, samples: Any) -> Floats:
        """Push rows (row, channel) in units, or one row (channel,); returns rows released now, often none."""
        self._refuse_ended()
        with self._closed_on_failure():
            rows = self._read(samples)
            self._pushed += len(rows)
            self._check(rows)
            return self._count(self._through(self._cutter.push(rows)))

    def finish(self) -> Floats:
        """Release the waiting rows, with the last window padded; the next push begins a new recording."""
        self._refuse_ended()
        with self._closed_on_failure():
            last = self._through(self._cutter.finish())
            self._episodes.end()
            rest = self._released()
            self._begin()
            return self._count(np.concatenate([last, rest]))

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        """Drop the waiting rows; call `finish` first to get them."""
        self._dropped += self.waiting
        self._ended = True
        self._begin()

    def _refuse_ended(self) -> None:
        if self._ended:
            raise InputError("this stream ended with its `with` block; open another one with `Protector.stream`")

    def _begin(self) -> None:
        schema = self._bundle.schema
        self._cutter = Windower(schema.window, len(schema.channels))
        self._part, self._next = self._part + 1, 0
        self._episodes = Episodes(self._bundle, self._ledger, self._observing)

    def _through(self, windows: Windows) -> Floats:
        if len(windows):
            self._warn(windows)
        for samples, length in zip(windows.samples, windows.frame.lengths.tolist(), strict=True):
            self._episodes.take(length, samples, part=self._part, number=self._next)
            self._next += 1
        return self._released()

    def _released(self) -> Floats:
        """Rows of the windows that leave now, without padding."""
        for *_, answer in release_due([self._episodes], entropy=self._entropy):
            one([answer])
        leaving = [each.window[: each.ticket] for each in self._episodes.leaving(self._entropy)]
        return np.concatenate([np.empty((0, len(self._bundle.schema.channels))), *leaving])

    def _read(self, samples: Any) -> Floats:
        names = self._bundle.schema.names
        try:
            rows = np.asarray(samples, dtype=np.float64)
        except (TypeError, ValueError):  # numpy's message would quote a sample
            raise TableError("the stream: samples must be numbers; push one row (channel,) or rows") from None
        rows = rows[None] if rows.ndim == 1 else rows
        if rows.ndim != 2 or rows.shape[1] != len(names):
            order = printable(", ".join(names), 300)
            raise TableError(
                f"the stream: samples have shape {np.shape(samples)}; push rows (row, channel) of {len(names)}: {order}"
            )
        return rows

    def _check(self, rows: Floats) -> None:
        bad = ~np.isfinite(rows).all(axis=0)
        if bad.any():
            name = printable(self._bundle.schema.names[int(np.argmax(bad))])
            raise TableError(f"the stream: a sample of '{name}' is missing or infinite; push finite numbers")

    def _warn(self, windows: Windows) -> None:
        rows = windows.rows()
        for name in (channel.name for channel in largely_outside(rows, self._bundle.schema)):
            if name not in self._warned:
                self._warned.add(name)
                line = f"'{printable(name)}' lies largely outside its public range; is it in another unit?"
                warnings.warn(f"the stream: {line} Samples are clipped", stacklevel=5)

    def _count(self, released: Floats) -> Floats:
        self._returned += len(released)
        return released

    @contextmanager
    def _closed_on_failure(self) -> Iterator[None]:
        """If anything fails inside, drop the waiting rows and tell the caller."""
        try:
            yield
        except BaseException as failure:
            lost = self.waiting
            self._dropped += lost
            self._begin()
            line = f"{lost} rows were dropped; the stream goes on with the next one"
            if isinstance(failure, DeeprotectError | Warning):
                failure.add_note(line)
            elif isinstance(failure, Exception):  # its message may quote a sample
                raise StreamError(f"{type(failure).__name__} in the stream; {line}") from None
            raise
