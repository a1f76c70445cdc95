"""Cutting rows into windows, never across recordings; the same code for a file and for a live stream."""

from collections.abc import Iterable, Iterator

import numpy as np
from numpy.typing import NDArray

from deeprotect.signals.schema import Floats
from deeprotect.signals.windows import Frame, Run, Windows


class Cutter:
    """Takes rows as they come and gives windows as they fill; a recording's last window is padded."""

    def __init__(self, window: int, channels: int) -> None:
        self._window = window
        self._held = np.empty((0, channels))
        self._held_recording: object = None
        self._next_row = 0  # the first row that is held back or still to come
        self._next_window = 0  # of the recording

    def push(self, samples: Floats, recording: NDArray[np.generic] | None = None) -> Windows:
        """Rows (row, channel) with their recording names; the windows that are now complete."""
        pieces = list(self._pieces(samples, recording))
        cut = []
        for index, (name, piece) in enumerate(pieces):
            if self._held.shape[0] and name != self._held_recording:
                cut.append(self._flush())
            if name != self._held_recording:
                self._held_recording, self._next_window = name, 0
            self._held = np.concatenate([self._held, piece])
            cut.append(self._full())
            if index + 1 < len(pieces):
                cut.append(self._flush())
        return _join(cut, self._window, self._held.shape[1])

    def finish(self) -> Windows:
        """The padded tail of the last recording, if there is one."""
        return self._flush()

    @staticmethod
    def _pieces(samples: Floats, recording: NDArray[np.generic] | None) -> Iterator[tuple[object, Floats]]:
        if recording is None:
            yield None, samples
            return
        borders = np.flatnonzero(recording[1:] != recording[:-1]) + 1
        for start, stop in zip([0, *borders], [*borders, len(samples)], strict=True):
            if stop > start:
                yield recording[start], samples[start:stop]

    def _full(self) -> Windows:
        count = self._held.shape[0] // self._window
        return self._take(count, self._held[: count * self._window], self._window)

    def _flush(self) -> Windows:
        tail = self._held
        if not tail.shape[0]:
            return self._take(0, tail, 0)
        padding = np.repeat(tail[-1:], self._window - tail.shape[0], axis=0)
        return self._take(1, np.concatenate([tail, padding]), tail.shape[0])

    def _take(self, count: int, rows: Floats, length: int) -> Windows:
        samples = rows[: count * self._window].reshape(count, self._window, self._held.shape[1])
        first_rows = self._next_row + np.arange(count, dtype=np.int64) * self._window
        self._held = self._held[count * length :]
        self._next_row += count * length
        return Windows(samples, Frame(np.full(count, length, dtype=np.int64), first_rows, self._run(count)))

    def _run(self, count: int) -> tuple[Run, ...]:
        name = "" if self._held_recording is None else str(self._held_recording)
        first, self._next_window = self._next_window, self._next_window + count
        return (Run(name, first, count),) if count else ()


def cut(rows: Iterable[tuple[Floats, NDArray[np.generic] | None]], *, window: int, channels: int) -> Iterator[Windows]:
    """Windows of a whole source, batch by batch, the padded tail last."""
    cutter = Cutter(window, channels)
    for samples, recording in rows:
        yield cutter.push(samples, recording)
    yield cutter.finish()


def _join(batches: list[Windows], window: int, channels: int) -> Windows:
    if len(batches) == 1:
        return batches[0]
    samples = [np.empty((0, window, channels)), *(batch.samples for batch in batches)]
    none = np.empty(0, dtype=np.int64)
    lengths = np.concatenate([none, *(batch.frame.lengths for batch in batches)])
    first_rows = np.concatenate([none, *(batch.frame.first_rows for batch in batches)])
    runs = tuple(run for batch in batches for run in batch.frame.runs)
    return Windows(np.concatenate(samples), Frame(lengths, first_rows, runs))
