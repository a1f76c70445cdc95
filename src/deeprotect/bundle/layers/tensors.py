"""The tensors of a bundle: named integer arrays in one file in the safetensors format, which holds no code."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from deeprotect.errors import BundleError

Integers = NDArray[np.int32]
"""Integers of 16 bits; wider in memory, so that nothing overflows."""
STORED = (np.int8, np.int16, np.uint16)
"""Types in the file: the first one that holds all values of a tensor."""
TENSORS = "tensors.safetensors"
LONGEST_HEADER = 1 << 20
"""Bytes of the list of tensors, enough for thousands; each becomes an array, far larger than its entry."""


class TensorWriter:
    """Collects arrays under unique names; an array that several layers share is stored once."""

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

        return save({name: np.ascontiguousarray(_narrow(array)) for name, array in self.arrays.items()})


class TensorReader:
    """Reads arrays by name and checks them."""

    def __init__(self, content: bytes) -> None:
        from safetensors import SafetensorError
        from safetensors.numpy import load

        if LONGEST_HEADER < int.from_bytes(content[:8], "little") < len(content):
            raise BundleError(f"{TENSORS} lists more tensors than a bundle has; get a fresh copy of the bundle")
        try:
            self._arrays = load(content)
        except (SafetensorError, KeyError, ValueError, TypeError):
            raise BundleError(f"{TENSORS} is not a file of tensors; get a fresh copy of the bundle") from None
        self._read: dict[str, Integers] = {}

    def integers(self, name: str, *, axes: int = 1) -> Integers:
        """An array with this number of axes, none of them empty; one array however many layers name it."""
        if name not in self._arrays:
            raise BundleError(f"{TENSORS}: a tensor that a layer needs is missing; get a fresh copy of the bundle")
        array = self._arrays[name]
        if array.dtype not in STORED:
            raise BundleError(f"{TENSORS}: a tensor must be whole numbers of 8 or 16 bits; train again")
        if array.ndim != axes or 0 in array.shape:
            raise BundleError(f"{TENSORS}: a tensor has another shape than its layer needs; train again")
        if name not in self._read:
            self._read[name] = array.astype(np.int32)
            self._read[name].flags.writeable = False
        return self._read[name]

    def check_all_used(self) -> None:
        """Refuse tensors that no layer reads."""
        if self._arrays.keys() - self._read.keys():
            raise BundleError(f"{TENSORS} holds tensors that no layer uses; get a fresh copy of the bundle")


def _narrow(array: NDArray[Any]) -> NDArray[Any]:
    low, high = int(array.min()), int(array.max())
    kind = next(each for each in STORED if np.iinfo(each).min <= low and high <= np.iinfo(each).max)
    return array.astype(kind)
