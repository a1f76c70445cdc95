"""Randomness: bits from the operating system, and an unrelated seeded source for experiments."""

import os
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from deeprotect.errors import EntropyError

Words = NDArray[np.uint64]


class Entropy(Protocol):
    """Independent uniform 64-bit words."""

    def words(self, count: int) -> Words: ...


class SystemEntropy:
    """Bits of the operating system's generator; nothing is kept between calls, so forked processes never share."""

    __slots__ = ()  # and no other source can be attached to an accepted one

    def words(self, count: int) -> Words:
        return np.frombuffer(os.urandom(8 * count), dtype=np.uint64)


class SeededEntropy:
    """Repeatable words for tests and evaluation. Anyone who knows the seed can subtract the noise."""

    def __init__(self, seed: int) -> None:
        self._generator = np.random.Philox(seed)

    def words(self, count: int) -> Words:
        return np.asarray(self._generator.random_raw(count), dtype=np.uint64)


def require_system(entropy: Entropy) -> SystemEntropy:
    """Returns the entropy if it is the operating system's; refuses subclasses and every other source."""
    if type(entropy) is not SystemEntropy:
        raise EntropyError(f"a release needs SystemEntropy, not {type(entropy).__name__}; pass SystemEntropy()")
    return entropy
