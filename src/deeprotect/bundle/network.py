"""A network of a bundle: a list of layers, run row by row in float32 by plain numpy."""

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache, cached_property
from itertools import pairwise
from typing import Any, Self

import numpy as np

from deeprotect.bundle.layers.layer import Layer, Shape, bounded
from deeprotect.bundle.layers.structure import Concatenation, Residual, run, work_of
from deeprotect.bundle.layers.tensors import TensorReader, TensorWriter
from deeprotect.bundle.layers.vocabulary import read_layers
from deeprotect.errors import BundleError
from deeprotect.signals.schema import Floats

CACHED_VALUES = 3 << 16
"""Values of the widest layer for a block of rows: with many more, blocks leave the processor's caches."""
MOST_ROWS = 512
LARGE_BYTES = 31 << 20
"""Below the 32 MiB from which on glibc learns nothing; never written to, so it takes no memory."""
MOST_WORK = 1 << 30
"""Multiplications for one row, about a second: a bundle of few bytes could name one large layer again and again."""


@dataclass(frozen=True, eq=False)
class Network:
    """Rows (row, inputs) to rows (row, outputs); without layers, the rows themselves, in their own precision."""

    layers: tuple[Layer, ...]
    inputs: int

    def __post_init__(self) -> None:
        _ = self.outputs  # shapes that do not fit are refused before anything is run
        if work_of(self.layers, (self.inputs,)) > MOST_WORK:
            raise BundleError(f"a network takes more than {MOST_WORK} multiplications for one window; train again")

    @cached_property
    def outputs(self) -> int:
        return int(np.prod(self._shapes[-1]))

    @cached_property
    def _shapes(self) -> tuple[Shape, ...]:
        return tuple(_shapes(self.layers, bounded((self.inputs,), "input")))

    @cached_property
    def _block(self) -> int:
        """About so many rows at a time."""
        widest = max(int(np.prod(shape)) for shape in self._shapes)
        return max(1, min(MOST_ROWS, CACHED_VALUES // widest))

    def __call__(self, rows: Floats) -> Floats:
        """Of rows (row, inputs), or (row, time, channel) as they lie.

        Total in its input: no number makes it fail, so that success says nothing about the data.
        """
        if not self.layers:
            return rows.reshape(len(rows), self.inputs)
        _keep_freed_memory()
        result, rows_last = np.empty((len(rows), self.outputs)), (*range(1, rows.ndim), 0)
        with np.errstate(all="ignore"), one_thread():
            for start, end in pairwise(self._borders(len(rows))):
                block = rows[start:end].transpose(rows_last).astype(np.float32, order="C")
                result[start:end] = run(self.layers, block.reshape(self.inputs, -1), ours=True).T
        return result

    def _borders(self, count: int) -> list[int]:
        """Of blocks of about one size: a short last one would take nearly as long as a whole one."""
        blocks = round(count / self._block) or min(count, 1)
        return [count * place // blocks for place in range(blocks + 1)] if blocks else []

    def to_json(self, tensors: TensorWriter) -> list[dict[str, Any]]:
        return [layer.to_json(tensors) for layer in self.layers]

    @classmethod
    def read(cls, listed: Any, tensors: TensorReader, *, inputs: int) -> Self:
        return cls(read_layers(listed, tensors), inputs)


@contextmanager
def one_thread() -> Iterator[None]:
    """Products of blocks are too small for a second thread: it takes four times the processor time, for nothing."""
    # threadpoolctl's own limit asks every library for all about itself: an eighth of the time of a live window.
    before = [(library, library.get_num_threads()) for library in _blas()]
    try:
        _set_threads((library, 1) for library, threads in before if threads != 1)
        yield
    finally:
        _set_threads((library, threads) for library, threads in before if threads != 1)


def _set_threads(wanted: Iterable[tuple[Any, int]]) -> None:
    for library, threads in wanted:
        library.set_num_threads(threads)


@cache
def _keep_freed_memory() -> None:
    """Once: until glibc has seen a large array freed, it hands memory back as soon as it is free, and every block asks
    for its pages anew (mallopt(3), dynamic mmap threshold): a twentieth to a sixth of a release."""
    np.empty(LARGE_BYTES, np.uint8)


@cache
def _blas() -> tuple[Any, ...]:
    """The libraries behind numpy's products, as they are loaded when the first network runs."""
    from threadpoolctl import ThreadpoolController

    return tuple(ThreadpoolController().select(user_api="blas").lib_controllers)


def _shapes(layers: Sequence[Layer], shape: Shape) -> Iterator[Shape]:
    """Of the input and after every layer, those inside branches included."""
    yield shape
    for layer in layers:
        inner = layer.branches if isinstance(layer, Concatenation) else ()
        inner = (layer.layers,) if isinstance(layer, Residual) else inner
        for branch in inner:
            yield from _shapes(branch, shape)
        shape = layer.shape(shape)
        yield shape
