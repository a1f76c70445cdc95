"""The one file of numbers in a bundle: named arrays in the safetensors format, which holds no program."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from deeprotect.errors import BundleError

TENSORS = "tensors.safetensors"
LONGEST_HEADER = 1 << 20
"""Bytes of the list of tensors: some thousands of them. Each becomes an array, far larger than its entry."""


class TensorWriter:
    """Collects arrays under names of their own; one array that several layers share is kept once."""

    def __init__(self) -> None:
        self.arrays: dict[str, NDArray[Any]] = {}
        self._names: dict[int, str] = {}

    def put(self, array: NDArray[Any]) -> str:
        name = self._names.setdefault(id(array), f"t{len(self.arrays)}")
        self.arrays[name] = array
        return name

    def to_bytes(self) -> bytes:
        """Equal arrays in equal order give equal bytes."""
        from safetensors.numpy import save

        return save({name: np.ascontiguousarray(array) for name, array in self.arrays.items()})


class TensorReader:
    """Arrays by name; nothing in them is believed before it is checked."""

    def __init__(self, content: bytes) -> None:
        from safetensors import SafetensorError
        from safetensors.numpy import load

        if LONGEST_HEADER < int.from_bytes(content[:8], "little") < len(content):
            raise BundleError(f"{TENSORS} lists more tensors than a bundle has; get a fresh copy of the bundle")
        try:
            self._arrays = load(content)
        except (SafetensorError, KeyError, ValueError, TypeError):
            raise BundleError(f"{TENSORS} is not a file of tensors; get a fresh copy of the bundle") from None
        self._read: set[str] = set()

    def floats(self, name: str, *, axes: int) -> NDArray[np.float32]:
        """A finite float32 array with so many axes, none of them empty."""
        array = self._get(name, axes)
        if array.dtype != np.float32 or not np.isfinite(array).all():
            raise BundleError(f"{TENSORS}: a tensor of a network must be finite numbers in float32; train again")
        return array

    def integers(self, name: str, *, axes: int) -> NDArray[np.int64]:
        array = self._get(name, axes)
        if array.dtype != np.int64:
            raise BundleError(f"{TENSORS}: a table of codes must be whole numbers in int64; train again")
        return array

    def check_all_used(self) -> None:
        """Numbers that no layer reads have no business in a bundle."""
        if self._arrays.keys() - self._read:
            raise BundleError(f"{TENSORS} holds tensors that no layer uses; get a fresh copy of the bundle")

    def _get(self, name: str, axes: int) -> NDArray[Any]:
        if name not in self._arrays:
            raise BundleError(f"{TENSORS}: a tensor that a layer needs is missing; get a fresh copy of the bundle")
        array = self._arrays[name]
        if array.ndim != axes or 0 in array.shape:
            raise BundleError(f"{TENSORS}: a tensor has another shape than its layer needs; train again")
        self._read.add(name)
        return array
