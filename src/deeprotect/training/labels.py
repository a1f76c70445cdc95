"""Targets: what the useful inferences say about each window, several inferences at once, some rows silent."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from deeprotect.errors import InputError

MISSING = -1
"""The code of a row that lacks a label."""


@dataclass(frozen=True)
class Targets:
    """Class numbers (row, inference), MISSING where a row has no label, and each inference's sorted classes."""

    codes: NDArray[np.int64]
    classes: tuple[NDArray[Any], ...]

    @classmethod
    def read(cls, labels: object, rows: int) -> Self:
        """From None, (row,) or (row, inference) of strings, numbers, booleans; None, NaN and NA are missing."""
        table = _table(labels, rows)
        columns = [_number(table[:, column]) for column in range(table.shape[1])]
        # A single class tells nothing apart: it would only teach a constant.
        columns = [(codes, classes) for codes, classes in columns if len(classes) > 1]
        codes = np.stack([codes for codes, _ in columns], axis=1) if columns else np.empty((rows, 0), np.int64)
        return cls(codes, tuple(classes for _, classes in columns))

    def __getitem__(self, rows: NDArray[Any]) -> Self:
        return replace(self, codes=self.codes[rows])

    def numbers(self, labels: NDArray[Any]) -> NDArray[np.int64]:
        """Other rows' labels (row, inference) as numbers of these classes; MISSING where they are none of them."""
        found = np.full(labels.shape, MISSING, dtype=np.int64)
        for column, classes in enumerate(self.classes):
            for number, name in enumerate(classes):
                found[labels[:, column] == name, column] = number
        return found

    @property
    def counts(self) -> tuple[int, ...]:
        """Classes of each inference."""
        return tuple(len(classes) for classes in self.classes)

    def blocks(self) -> Iterator[tuple[int, slice]]:
        """Each inference's place in a matrix that puts the classes of all inferences side by side."""
        start = 0
        for column, count in enumerate(self.counts):
            yield column, slice(start, start + count)
            start += count

    def signs(self) -> NDArray[np.float64]:
        """One ±1 column per class (paper, Eq. for the ridge cost); a whole block is 0 where the label is missing."""
        signs = np.zeros((len(self.codes), sum(self.counts)))
        for column, block in self.blocks():
            codes = self.codes[:, column]
            known = codes != MISSING
            signs[known, block] = -1.0
            signs[known, block.start + codes[known]] = 1.0
        return signs


def _table(labels: object, rows: int) -> NDArray[Any]:
    if labels is None:
        return np.empty((rows, 0), dtype=object)
    values = np.asarray(labels, dtype=object)
    table = values[:, None] if values.ndim == 1 else values
    if table.ndim != 2:
        raise InputError(f"labels have {values.ndim} dimensions; give one column, or one column per inference")
    if len(table) != rows:
        raise InputError(f"labels have {len(table)} rows and the windows {rows}; give one label row per window")
    return table


def _number(column: NDArray[Any]) -> tuple[NDArray[np.int64], NDArray[Any]]:
    known = np.array([not _missing(value) for value in column], dtype=bool)
    codes = np.full(len(column), MISSING, dtype=np.int64)
    values = column[known]
    try:
        classes, codes[known] = np.unique(values, return_inverse=True)
    except TypeError as error:
        kinds = ", ".join(sorted({type(value).__name__ for value in values}))
        raise InputError(f"one label column mixes {kinds}; use one type per column") from error
    return codes, classes


def _missing(value: object) -> bool:
    if value is None or type(value).__name__ == "NAType":  # pandas' NA, without importing pandas
        return True
    return bool(value != value)  # only NaN and NaT differ from themselves
