"""The networks of a bundle: lists of layers in exact arithmetic, run by plain numpy, or a table of public windows.

Windows of one episode share a draw, and nothing with other episodes: each sum is exact and over one episode alone.
If the code is a script, sums are over slots, and the script with the largest total support is chosen.
"""

from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass
from functools import cache, cached_property
from itertools import pairwise, product
from threading import Lock
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from deeprotect.bundle.layers.layer import Bounds, Layer, Prepared
from deeprotect.bundle.layers.rounding import Argmax
from deeprotect.bundle.layers.structure import prepare, read_layers
from deeprotect.bundle.layers.tensors import Integers, TensorReader, TensorWriter
from deeprotect.errors import BundleError
from deeprotect.privacy.channel.scripts import Scripts
from deeprotect.privacy.json_reader import JsonReader
from deeprotect.signals import Hold
from deeprotect.signals.schema import Floats

CACHED_WORK = 40 << 20
"""Multiplications for a block of rows, roughly: much larger blocks do not fit the processor's caches."""
MOST_ROWS = 512
LARGE_BYTES = 31 << 20
"""Below 32 MiB, glibc's limit for raising its threshold; never written to, so it takes no memory."""
STEPS = 1 << 15
"""Steps of the public range, as fine as most sensors."""
GRID = 2.0**-24
"""The grid of features and samples that are averaged: sums below 2^28 are exact."""


@dataclass(frozen=True, eq=False)
class Network:
    """Maps rows (row, inputs) to rows (row, outputs); without layers, it is the identity.

    A row's result is a function of that row: no sum in it is ever rounded. docs/claims.md#exact-networks
    """

    layers: tuple[Layer, ...]
    inputs: int

    def __post_init__(self) -> None:
        _ = self._prepared  # shapes, bounds and work are checked before anything is run

    @cached_property
    def _prepared(self) -> Prepared:
        with np.errstate(all="ignore"):  # a bound that is NaN is refused
            return prepare(self.layers, Bounds.anything(self.inputs))

    @property
    def bounds(self) -> Bounds:
        """The bounds of a row of the result."""
        return self._prepared.bounds

    @cached_property
    def outputs(self) -> int:
        return int(np.prod(self.bounds.shape))

    @cached_property
    def _block(self) -> int:
        """Rows per block, roughly."""
        return max(1, min(MOST_ROWS, CACHED_WORK // max(1, self.bounds.footprint.spent)))

    def __call__(self, rows: Floats) -> Floats:
        """Runs the network on rows (row, inputs) or (row, time, channel).

        No number makes it fail, so success reveals nothing about the data.
        """
        if not self.layers:
            return rows.reshape(len(rows), self.inputs)
        _keep_freed_memory()
        if len(rows) == 1:
            with np.errstate(all="ignore"), one_thread():
                made = self._prepared.step(rows.astype(np.float32).reshape(self.inputs, 1), None)
            return made.astype(np.float64).reshape(1, self.outputs)
        result, rows_last = np.empty((len(rows), self.outputs)), (*range(1, rows.ndim), 0)
        with np.errstate(all="ignore"), one_thread():
            for start, end in pairwise(self._borders(len(rows))):
                block = rows[start:end].transpose(rows_last).astype(np.float32, order="C")
                result[start:end] = (
                    self._prepared.step(block.reshape(self.inputs, -1), None).reshape(self.outputs, -1).T
                )
        return result

    def _borders(self, count: int) -> list[int]:
        """Borders of blocks of about equal size: a short last one would take nearly as long as a full one."""
        blocks = round(count / self._block) or min(count, 1)
        return [count * place // blocks for place in range(blocks + 1)] if blocks else []

    def to_json(self, tensors: TensorWriter) -> list[dict[str, Any]]:
        return [layer.to_json(tensors) for layer in self.layers]

    @classmethod
    def read(cls, listed: Any, tensors: TensorReader, *, inputs: int) -> Self:
        return cls(read_layers(listed, tensors), inputs)


_GetThreads = Callable[[], int]
_SetThreads = Callable[[int], object]


class _OneThread:
    """Products of blocks are too small for a second thread, which would take four times the processor time for nothing.

    The number of threads is the process's: the first to enter lowers it, the last to leave restores it.
    """

    def __init__(self) -> None:
        self._lock, self._inside = Lock(), 0
        self._before: list[tuple[_SetThreads, int]] = []

    def __enter__(self) -> None:
        with self._lock:
            self._inside += 1
            if self._inside == 1:
                for get, set_threads in _blas():
                    if (threads := get()) != 1:
                        self._before.append((set_threads, threads))
                        set_threads(1)

    def __exit__(self, *_: object) -> None:
        with self._lock:
            self._inside -= 1
            while self._before and not self._inside:
                set_threads, threads = self._before.pop()
                set_threads(threads)


_ONE_THREAD = _OneThread()


def one_thread() -> AbstractContextManager[None]:
    return _ONE_THREAD


@cache
def _keep_freed_memory() -> None:
    """Frees a large array once, so that glibc keeps freed memory (mallopt(3), dynamic mmap threshold). Otherwise every
    block would get new pages, which takes a twentieth to a sixth of a release."""
    np.empty(LARGE_BYTES, np.uint8)


@cache
def _blas() -> tuple[tuple[_GetThreads, _SetThreads], ...]:
    """How to get and set the threads of the libraries behind numpy's products, as loaded when the first network runs.

    OpenBLAS is asked directly. threadpoolctl finds it, but takes longer than a window to ask it, and since 3.7 it
    ignores every thread but the one that set a number first.
    """
    from threadpoolctl import ThreadpoolController

    return tuple(map(_threads_of, ThreadpoolController().select(user_api="blas").lib_controllers))


def _threads_of(library: Any) -> tuple[_GetThreads, _SetThreads]:
    for prefix, suffix in product(("", "scipy_"), ("", "64_", "_64")):
        get = getattr(library.dynlib, f"{prefix}openblas_get_num_threads{suffix}", None)
        if get is not None:
            return get, getattr(library.dynlib, f"{prefix}openblas_set_num_threads{suffix}")
    return library.get_num_threads, library.set_num_threads


@dataclass(frozen=True, eq=False)
class OutputTable:
    """Maps released indices (row, 1) to scaled windows (row, value); `steps` is (index, value), 0 to STEPS."""

    steps: Integers
    inputs = 1

    def __post_init__(self) -> None:
        if self.steps.ndim != 2 or not ((self.steps >= 0) & (self.steps <= STEPS)).all():
            raise BundleError("a released window has values outside the public range; train again")

    @classmethod
    def of(cls, windows: Floats) -> Self:
        """Rounds windows (index, value) in [0, 1] to the nearest steps."""
        return cls(np.rint(windows * STEPS).astype(np.int32))

    @property
    def windows(self) -> Floats:
        """The windows (index, value), in [0, 1]."""
        return self.steps / STEPS

    @property
    def outputs(self) -> int:
        return int(self.steps.shape[1])

    def __call__(self, index: Floats) -> Floats:
        return self.steps[index[:, 0].astype(np.int64)] / STEPS

    def to_json(self, tensors: TensorWriter) -> dict[str, Any]:
        return {"outputs": tensors.put(self.steps)}

    @classmethod
    def read(cls, fields: JsonReader, tensors: TensorReader) -> Self:
        return cls(tensors.integers(fields.text("outputs"), axes=2))


@dataclass(frozen=True, eq=False)
class EpisodeEncoder:
    """Maps rows to evidence, and the evidence of several windows to the code of their episode.

    An encoder that ends in a decision gives scores, and decides on their sum: log-probabilities differ from scores by
    a term common to all classes. For any other encoder, the code is the mean of its rows. A `single` window is an
    episode of its own, and the encoder's row is its code.
    """

    evidence: Network
    decision: Argmax | None
    single: bool = False
    scripts: Scripts | None = None

    @classmethod
    def of(cls, encoder: Network, hold: Hold, scripts: Scripts | None) -> Self:
        last = encoder.layers[-1] if encoder.layers else None
        if hold.windows == 1 or not isinstance(last, Argmax):
            return cls(encoder, None, single=hold.windows == 1)
        return cls(Network(encoder.layers[:-1], encoder.inputs), last, scripts=scripts)

    def encode(self, rows: Floats) -> Floats:
        """Computes evidence (row, value), row by row."""
        rows = self.evidence(rows)
        return rows if self.single or self.decision is not None else np.rint(rows / GRID) * GRID

    def pool(self, evidence: Floats, counts: NDArray[np.int64]) -> Floats:
        """Computes codes (episode, value) of episodes of `counts` neighbouring rows each; every count is at least 1."""
        if self.single:
            return evidence
        if self.scripts is not None and self.decision is not None:
            return self._script(self.scripts, self.decision, evidence, counts)
        sums = np.add.reduceat(evidence, np.cumsum(counts) - counts)
        if self.decision is None:
            with np.errstate(all="ignore"):  # no number makes it fail
                return sums / counts[:, None]
        return self.decision.decide(sums.T)[:, None].astype(np.float64)

    @staticmethod
    def _script(scripts: Scripts, decision: Argmax, evidence: Floats, counts: NDArray[np.int64]) -> Floats:
        """Codes of scripts; a short episode has no evidence for its last slots."""
        slots, first = -(-counts // scripts.windows), np.cumsum(counts) - counts
        which = np.repeat(np.arange(len(counts)), slots)
        slot = np.arange(len(which)) - np.repeat(np.cumsum(slots) - slots, slots)
        sums = np.add.reduceat(evidence, first[which] + slot * scripts.windows)
        support = np.zeros((len(counts), scripts.slots, scripts.labels), dtype=np.int64)
        support[which, slot] = decision.support(sums.T).T
        return scripts.likeliest(support)[:, None].astype(np.float64)
