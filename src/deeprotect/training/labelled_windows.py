"""Labelled windows for training extractors, apps and attackers, with labels as numbers; some rows lack labels."""

import hashlib
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Self

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from deeprotect.errors import MOST_LISTED, InputError, TableError, printable
from deeprotect.policy import Policy
from deeprotect.policy.known_sensors import PERSON, is_person
from deeprotect.policy.sections import Number
from deeprotect.signals import Hold, Windows, cut
from deeprotect.signals.schema import Floats
from deeprotect.tables.columns import Columns, Rows, read_rows
from deeprotect.tables.fields import is_number, to_floats
from deeprotect.tables.roles import ColumnMap
from deeprotect.tables.sources import open_source
from deeprotect.training.levels import levels_of

Labels = NDArray[np.object_]
Indices = NDArray[np.int64]


def segment_numbers(*columns: NDArray[Any]) -> Indices:
    """Number each row's segment, from 0; a segment ends where any of the columns changes."""
    changes = np.logical_or.reduce([column[1:] != column[:-1] for column in columns])
    return np.concatenate([[0], np.cumsum(changes)])[: len(columns[0])].astype(np.int64)


def numbered(names: Sequence[str]) -> list[str]:
    """Number the names in order."""
    return [f"{number:0{len(str(len(names)))}d}" for number in range(1, len(names) + 1)]


def place_in(segment: Indices) -> Indices:
    """Count the rows of the same segment before each row; segments are numbered in order."""
    return np.arange(len(segment)) - np.searchsorted(segment, segment)


def rank_in_group(groups: Indices) -> Indices:
    """Rank each row within its group, from 0; a group's rows need not be adjacent."""
    order = np.argsort(groups, kind="stable")
    ranks = np.empty(len(groups), dtype=np.int64)
    ranks[order] = place_in(groups[order])
    return ranks


MISSING = -1
"""The code of a row that lacks a label."""
NONE, SOME, ALL = 0, 1, 2
"""How many of a window's rows are to be tested."""


@dataclass(frozen=True)
class Targets:
    """Class numbers (row, inference), MISSING where a row has no label, and each inference's sorted classes."""

    codes: Indices
    classes: tuple[NDArray[Any], ...]
    values: tuple[Floats | None, ...] = ()  # the numeric values of each inference's classes, if it is numeric

    @classmethod
    def read(cls, labels: object, rows: int) -> Self:
        """Parse None, (row,) or (row, inference) of strings, numbers, booleans; None, NaN and NA are missing."""
        table = _table(labels, rows)
        columns = [_number(table[:, column]) for column in range(table.shape[1])]
        # A single class distinguishes nothing: it would only teach a constant.
        columns = [(codes, classes) for codes, classes in columns if len(classes) > 1]
        codes = np.stack([codes for codes, _ in columns], axis=1) if columns else np.empty((rows, 0), np.int64)
        return cls(codes, tuple(classes for _, classes in columns))

    @property
    def counts(self) -> tuple[int, ...]:
        """Number of classes of each inference."""
        return tuple(len(classes) for classes in self.classes)

    def values_of(self, column: int) -> Floats | None:
        """Numeric values of the classes of a numeric inference; None for others."""
        return self.values[column] if self.values else None

    def blocks(self) -> Iterator[tuple[int, slice]]:
        """Column range of each inference in a matrix that puts the classes of all inferences side by side."""
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


def _number(column: NDArray[Any]) -> tuple[Indices, NDArray[Any]]:
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


@dataclass(frozen=True)
class LabelledWindows:
    """Scaled windows (window, time, channel) with one label column per inference; None where a label is missing."""

    samples: Floats
    labels: dict[str, Labels]
    recording: Indices  # number of the recording each window was cut from
    rows: int
    fingerprint: str
    person: Indices | None = None
    place: Indices | None = None  # number of each window in its table, in order of time
    group: Indices | None = None  # groups that a split must keep together, if the caller names a column
    position: Indices | None = None  # number of each window in its recording, for counting episodes
    recorded: Indices | None = None  # recorded samples of each window; the rest repeat the last one
    tested: Indices | None = None  # ALL, SOME or NONE of its rows, if the caller names test rows
    numeric: Mapping[str, Number] = field(default_factory=dict)  # inferences whose labels are levels of a number

    @property
    def followed(self) -> NDArray[np.bool_]:
        """Whether the next row holds the window right after this one in its recording."""
        place = np.arange(len(self)) if self.place is None else self.place
        return np.append((np.diff(place) == 1) & (np.diff(self.recording) == 0), False)

    @property
    def worth_keeping(self) -> NDArray[np.bool_]:
        """Whether a window teaches anything: not a mostly padded tail, unless its recording has nothing else."""
        if self.recorded is None:
            return np.ones(len(self), dtype=bool)
        alone = np.bincount(self.recording)[self.recording] == 1
        return np.asarray(alone | (2 * self.recorded >= self.samples.shape[1]))

    @property
    def people(self) -> Indices:
        """Number of the person behind each window, or of its recording if the policy names no column for people."""
        return self.recording if self.person is None else self.person

    @property
    def who(self) -> Targets:
        """People as classes, or no inference at all if the policy names no column for people."""
        if self.person is None:
            return Targets.read(None, len(self))
        names = self.person.astype(object)
        names[self.person < 0] = None
        return Targets.read(names, len(self))

    @property
    def groups(self) -> Indices:
        """Number of each window's group, or of its recording if the caller named no column."""
        return self.recording if self.group is None else self.group

    def episodes(self, hold: Hold) -> Indices:
        """Running number of each window's episode; omitted windows make episodes shorter."""
        position = np.arange(len(self)) if self.position is None else self.position
        return segment_numbers(self.recording, position // hold.windows)

    def __len__(self) -> int:
        return len(self.samples)

    @property
    def flat(self) -> Floats:
        """(window, time * channel), as classifiers and encoders take them."""
        return self.samples.reshape(len(self), math.prod(self.samples.shape[1:]))  # -1 is ambiguous without windows

    def __getitem__(self, chosen: Indices | NDArray[np.bool_]) -> Self:
        given = {"person": self.person, "place": self.place, "group": self.group, "position": self.position}
        given |= {"recorded": self.recorded, "tested": self.tested}
        kept: Any = {name: None if each is None else each[chosen] for name, each in given.items()}
        labels = {name: column[chosen] for name, column in self.labels.items()}
        return replace(self, samples=self.samples[chosen], labels=labels, recording=self.recording[chosen], **kept)

    def labelled(self, inference: str) -> NDArray[np.bool_]:
        """Mask of the windows that have a label of this inference."""
        return np.array([label is not None for label in self.labels[inference]], dtype=bool)

    def codes(self, inference: str, classes: Sequence[str]) -> Indices:
        """Number of each window's class among the sorted `classes`, which must include it; MISSING without a label."""
        known = self.labelled(inference)
        codes = np.full(len(self), MISSING, dtype=np.int64)
        codes[known] = np.searchsorted(np.array(classes, dtype=str), self.labels[inference][known].astype(str))
        return codes

    def classes(self, inference: str) -> list[str]:
        """Sorted classes of this inference."""
        return sorted({str(label) for label in self.labels[inference] if label is not None})

    def numbers(self, inference: str) -> list[str]:
        """Numbers that replace its classes in a bundle, in order: classes of a sensitive inference may be people."""
        return numbered(self.classes(inference))

    def may_be_people(self, inference: str) -> bool:
        """Whether a class occurs with only one person; without a column of people, decide by the inference's name.

        Levels of a number come from the policy and identify no person.
        """
        if inference in self.numeric:
            return False
        if self.person is None:
            return is_person(inference)
        labels, known = self.labels[inference], self.labelled(inference) & (self.person >= 0)
        return any(len(np.unique(self.person[known & (labels == each)])) < 2 for each in self.classes(inference))

    def values(self, inference: str, classes: Sequence[str] | NDArray[Any]) -> Floats | None:
        """Numeric values of the classes of a numeric inference; None for others."""
        return np.array(classes, dtype=np.float64) if inference in self.numeric else None

    def targets(self, inferences: Iterable[str]) -> Labels:
        """Label columns of several inferences, (window, inference)."""
        return np.column_stack([self.labels[name] for name in inferences])


def read_windows(
    table: Any,
    policy: Policy,
    *,
    group: str | None = None,
    tested: tuple[str, Sequence[str]] | None = None,
    mapped: Mapping[str, str] | None = None,
    columns: Sequence[str] | None = None,
    tails: bool = False,
) -> LabelledWindows:
    """Cut an entire table into windows; a window has a label only if all its rows agree on it.

    The label of a numeric inference is the level of the mean over the rows that have a number.

    A last window that is mostly padding is left out, unless `tails` is set. `group` names a column whose values a split
    keeps together, `tested` a column and its test values. `mapped` names this table's columns (`{"time":
    "Timestamp"}`), and `columns` those of a text file without a header.
    """
    schema, inferences = policy.schema(), [*policy.inferences.useful, *policy.inferences.sensitive]
    mapping = ColumnMap.of(policy, mapped)
    people = mapping.get(PERSON) or None
    side = None if tested is None else tested[0]
    wanted = list(dict.fromkeys([*inferences, *filter(None, [people, group, side])]))
    numbers = [*(mapping.get(name, name) for name in schema.names), *policy.inferences.numeric]
    with open_source(table, numbers=numbers, columns=columns, mapping=mapping) as source:
        found = Columns.of(source.schema, schema, mapping=mapping, where=source.where)
        if side is not None and side not in source.schema.names:
            listed = printable(", ".join(source.schema.names), MOST_LISTED)
            raise TableError(f"{source.where}: no column '{printable(side)}' to split by; it has: {listed}")
        _check_labels(source.schema, wanted, source.where)
        _check_numbers(source.schema, policy.inferences.numeric, source.where)
        needed = source.only({*found.kept, *wanted}).by_rows()
        rows = [replace(each, batch=each.batch.select(wanted)) for each in read_rows(needed, found, schema)]
    if not rows:
        raise TableError(f"{source.where}: it has no rows; training needs labelled recordings")
    samples = ((each.samples, each.recording) for each in rows)
    batches = list(cut(samples, window=schema.window, channels=len(schema.channels)))
    labels = pa.Table.from_batches([each.batch for each in rows])
    numeric = {name: (each, _floats(labels.column(name))) for name, each in policy.inferences.numeric.items()}
    codes = {name: _codes(labels.column(name)) for name in inferences if name not in numeric}
    person, grouped = (None if name is None else _codes(labels.column(name))[0] for name in (people, group))
    windows = _assemble(
        batches, codes, _numbers(rows), numeric=numeric, person=person, group=grouped, scale=schema.scale
    )
    if tested is not None:
        shares = _shares(batches, *_codes(labels.column(tested[0])), {*tested[1]})
        windows = replace(windows, tested=shares)
    return windows if tails else windows[windows.worth_keeping]


def _shares(batches: list[Windows], codes: Indices, names: Labels, values: set[str]) -> Indices:
    """Whether all, some or none of each window's rows have one of the values."""
    has = np.array([name in values for name in names.tolist()], dtype=np.int64)[codes]
    starts = np.concatenate([batch.frame.first_rows for batch in batches])
    lowest, highest = np.minimum.reduceat(has, starts), np.maximum.reduceat(has, starts)
    return np.asarray(np.where(lowest == highest, np.where(lowest == 1, ALL, NONE), SOME))


def _check_labels(schema: pa.Schema, inferences: Iterable[str], where: str) -> None:
    for name in inferences:
        if name not in schema.names:
            raise TableError(
                f"{where}: no column '{name}' with the labels of that inference; it has: {', '.join(schema.names)}"
            )
        kind = schema.field(name).type
        if pa.types.is_nested(kind) or pa.types.is_binary(kind) or pa.types.is_large_binary(kind):
            raise TableError(f"{where}: column '{name}' is {kind}, a label is a name or a number; convert it to text")


def _check_numbers(schema: pa.Schema, numeric: Iterable[str], where: str) -> None:
    for name in numeric:
        kind = schema.field(name).type
        if not is_number(kind):
            raise TableError(
                f"{where}: column '{name}' is {kind}, and [inferences.numeric.{name}] says that it is a number; "
                "convert the column, or remove that table from the policy"
            )


def _floats(column: pa.ChunkedArray) -> Floats:
    return np.concatenate([to_floats(chunk) for chunk in column.chunks])


def _codes(column: pa.ChunkedArray) -> tuple[Indices, Labels]:
    """Number the labels of rows, -1 where missing, and return the names behind the numbers."""
    encoded = column.cast(pa.string()).combine_chunks().dictionary_encode()
    codes = encoded.indices.fill_null(-1).to_numpy(zero_copy_only=False).astype(np.int64)
    names = np.array([*encoded.dictionary.to_pylist(), None], dtype=object)
    return np.where((codes >= 0) & (names[codes] == ""), -1, codes), names


def _numbers(rows: list[Rows]) -> Indices:
    """Number each row's recording."""
    if rows[0].recording is None:
        return np.zeros(sum(len(each.samples) for each in rows), dtype=np.int64)
    names = np.concatenate([each.recording for each in rows if each.recording is not None])
    return segment_numbers(names)


def _assemble(
    batches: list[Windows],
    codes: dict[str, tuple[Indices, Labels]],
    numbers: Indices,
    *,
    numeric: Mapping[str, tuple[Number, Floats]],
    person: Indices | None,
    group: Indices | None,
    scale: Any,
) -> LabelledWindows:
    samples = np.concatenate([batch.samples for batch in batches])
    starts = np.concatenate([batch.frame.first_rows for batch in batches])
    lengths = np.concatenate([batch.frame.lengths for batch in batches])
    fingerprint = hashlib.sha256(samples.tobytes())
    labels = {}
    for name, (row_codes, names) in codes.items():
        fingerprint.update(name.encode() + row_codes.tobytes())
        lowest, highest = np.minimum.reduceat(row_codes, starts), np.maximum.reduceat(row_codes, starts)
        labels[name] = names[np.where(lowest == highest, lowest, -1)]
    for name, (number, values) in numeric.items():
        fingerprint.update(name.encode() + values.tobytes())
        known = np.isfinite(values)
        sums, counts = (np.add.reduceat(each, starts) for each in (np.where(known, values, 0.0), known.astype(float)))
        means = np.divide(sums, counts, out=np.full(len(starts), np.nan), where=counts > 0)
        labels[name] = levels_of(number, means)
    return LabelledWindows(
        scale(samples),
        labels,
        numbers[starts],
        len(numbers),
        fingerprint.hexdigest(),
        None if person is None else person[starts],
        np.arange(len(starts)),
        None if group is None else group[starts],
        place_in(numbers[starts]),
        lengths,
        numeric={name: number for name, (number, _) in numeric.items()},
    )


@dataclass(frozen=True, eq=False, repr=False)
class WindowRows:
    """The windows that `evaluate` trains and tests on, in its order, for scikit-learn.

    `X` is (window, time * channels + channel) in the policy's units. `y` holds the useful label, or one column for each
    of several, and `labels` those of every inference by name: None where the rows of a window disagree or have none.
    `groups` numbers people if the policy names a column for them, else recordings; `recording` always numbers
    recordings.
    """

    X: Floats
    y: Labels
    groups: Indices
    labels: dict[str, Labels]
    recording: Indices

    @classmethod
    def of(cls, windows: LabelledWindows, policy: Policy) -> Self:
        useful = policy.inferences.useful
        y = windows.labels[useful[0]] if len(useful) == 1 else windows.targets(useful)
        samples = policy.schema().unscale(windows.samples).reshape(len(windows), -1)
        return cls(samples, y, windows.people, windows.labels, windows.recording)

    def __len__(self) -> int:
        return len(self.X)

    def __repr__(self) -> str:
        return f"<{len(self)} windows of {self.X.shape[1]} values; labels: {', '.join(self.labels)}>"
