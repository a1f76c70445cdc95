"""Column metadata allowed in the output: name, type, nullability and a short unit; nothing else passes.

Files and frames hold more than is visible: dictionary entries that no row uses, values under a null, descriptions in
metadata. Fields and arrays are rebuilt, so all of that is dropped.
"""

import re
from fractions import Fraction
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from deeprotect.errors import TableError, printable
from deeprotect.signals.schema import Floats

LONGEST_UNIT = 32
LONGEST_CELL = 1000  # bytes of a name, a label or a time stamp; compressed cells may expand without limit
_UNIT = b"unit"
_TIME_ZONE = re.compile(r"[\w+\-/:]{1,64}", re.ASCII)
_PLAIN = (
    pa.types.is_boolean,
    pa.types.is_integer,
    pa.types.is_floating,
    pa.types.is_decimal,
    pa.types.is_date,
    pa.types.is_time,
    pa.types.is_timestamp,
    pa.types.is_duration,
    pa.types.is_string,
    pa.types.is_large_string,
    pa.types.is_string_view,
    pa.types.is_binary,
    pa.types.is_large_binary,
    pa.types.is_fixed_size_binary,
    pa.types.is_null,
)


def check_names(table: pa.Schema, where: str) -> None:
    """Check that names are unique and printable, because people read them in messages and apps."""
    try:
        names = table.names
    except UnicodeDecodeError:
        raise TableError(f"{where}: a column's name is not text; rename it") from None
    for name in names:
        if not name.isprintable():
            raise TableError(
                f"{where}: column '{printable(name)}' has a name with characters that do not print; rename it"
            )
        if len(table.get_all_field_indices(name)) > 1:
            raise TableError(f"{where} has two columns named '{printable(name)}'; rename one")


def fresh_field(field: pa.Field, where: str) -> pa.Field:
    """The field as released; refuses a type that could hide something."""
    unit = stated_unit(field)
    kept = unit is not None and 0 < len(unit) <= LONGEST_UNIT and unit.isprintable()
    metadata = {_UNIT: unit} if kept else None
    return pa.field(field.name, _plain_type(field, where), nullable=field.nullable, metadata=metadata)


def stated_unit(field: pa.Field) -> str | None:
    """The unit in a column's metadata, if there is one."""
    unit = (field.metadata or {}).get(_UNIT)
    return None if unit is None else unit.decode("utf-8", errors="replace")


def is_number(kind: pa.DataType) -> bool:
    """Whether a type is valid for a channel."""
    return bool(pa.types.is_floating(kind) or pa.types.is_integer(kind) or pa.types.is_decimal(kind))


def is_text(kind: pa.DataType) -> bool:
    """Whether a type is text in any of Arrow's layouts."""
    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_string_view(kind))


def is_bytes(kind: pa.DataType) -> bool:
    """Whether a type is binary."""
    return bool(pa.types.is_binary(kind) or pa.types.is_large_binary(kind))


def plain_field(field: pa.Field) -> pa.Field:
    """The field with the value type of a dictionary."""
    return field.with_type(field.type.value_type) if pa.types.is_dictionary(field.type) else field


def plain_column(column: pa.Array, kind: pa.DataType) -> pa.Array:
    """A dictionary as its values."""
    return decoded(column).cast(kind) if column.type != kind else column


def plain(column: pa.Array) -> pa.Array:
    """A dictionary as its values, text in a type that Arrow can compute with."""
    column = decoded(column) if pa.types.is_dictionary(column.type) else column
    return column.cast(pa.large_string()) if is_text(column.type) else column


def refuse_long(column: pa.Array, longest: int, *, name: str, where: str) -> None:
    """Refuse texts that are too long, before any of them is read or copied."""
    values = column.dictionary if pa.types.is_dictionary(column.type) else column
    if not pa.types.is_primitive(values.type) and _longest(values) > longest:
        raise TableError(
            f"{where}: column '{printable(name)}' holds cells of more than {longest} bytes, too long for a name, a "
            "label or a time stamp; shorten them, or map another column"
        )


def _longest(values: pa.Array) -> int:
    """Bytes of the longest cell, without copying; 0 for other types."""
    kind = values.type
    if pa.types.is_fixed_size_binary(kind):
        return int(kind.byte_width)
    if pa.types.is_string_view(kind) or pa.types.is_binary_view(kind):
        return _longest_view(values)
    lengths = pc.binary_length(values) if is_text(kind) or is_bytes(kind) else None
    return 0 if lengths is None else pc.max(lengths).as_py() or 0


def _longest_view(values: pa.Array) -> int:
    """The longest view; each begins with its length, which Arrow cannot compute."""
    views = np.frombuffer(values.buffers()[1] or b"", dtype=np.int32)[::4][values.offset : values.offset + len(values)]
    return int(views.max(initial=0, where=np.asarray(values.is_valid())))


def decoded(column: pa.Array) -> pa.Array:
    """Copy the visible cells only: no other dictionary entries, and nothing under nulls."""
    if len(column) and pa.types.is_primitive(column.type) and column.type.bit_width >= 8 and not column.null_count:
        return _copied(column)
    rows = from_numpy(np.arange(len(column)))
    if pa.types.is_dictionary(column.type):
        column, rows = column.dictionary, column.indices
    kind = column.type
    if pa.types.is_string_view(kind):  # Arrow cannot take from views, which also keep entire buffers alive
        column = column.cast(pa.large_string())
    return column.take(rows).cast(kind)


def _copied(column: pa.Array) -> pa.Array:
    """Copy exactly the bytes of numbers without nulls."""
    width = column.type.bit_width // 8
    cells = column.buffers()[1].slice(column.offset * width, len(column) * width).to_pybytes()
    return pa.Array.from_buffers(column.type, len(column), [None, pa.py_buffer(cells)])


def saturated(values: Floats, kind: pa.DataType) -> pa.Array:
    """Released values in the type of their column, clipped to the type's limits."""
    if pa.types.is_float64(kind):
        return from_numpy(values)
    low, high = map(_inside, _limits(kind))
    whole = np.rint(values) if pa.types.is_integer(kind) else values
    return from_numpy(np.clip(whole, low, high)).cast(kind, safe=False)


def from_numpy(values: NDArray[Any]) -> pa.Array:
    """Numbers as a column, without copying; `pa.array` would import pandas, which takes half a second."""
    kept = pa.py_buffer(np.ascontiguousarray(values))
    return pa.Array.from_buffers(pa.from_numpy_dtype(values.dtype), len(values), [None, kept])


def to_floats(column: pa.Array) -> Floats:
    """Numbers as float64, NaN if missing; without pandas, which `to_numpy` would import."""
    numbers = column if pa.types.is_float64(column.type) else pc.cast(column, pa.float64(), safe=False)
    whole = pc.fill_null(numbers, pa.scalar(np.nan)) if numbers.null_count else numbers
    return np.asarray(np.from_dlpack(whole), dtype=np.float64)


def _limits(kind: pa.DataType) -> tuple[Fraction, Fraction]:
    if pa.types.is_decimal(kind):
        most = (10**kind.precision - 1) / Fraction(10) ** kind.scale
        return -most, most
    info: Any = np.iinfo(str(kind)) if pa.types.is_integer(kind) else np.finfo(f"f{kind.bit_width // 8}")
    return Fraction(int(info.min)), Fraction(int(info.max))


def _inside(limit: Fraction) -> float:
    """The float64 next to a limit that does not exceed it."""
    nearest = float(limit)
    return nearest if abs(Fraction(nearest)) <= abs(limit) else float(np.nextafter(nearest, 0.0))


def _plain_type(field: pa.Field, where: str) -> pa.DataType:
    kind = field.type.value_type if pa.types.is_dictionary(field.type) else field.type
    if not any(is_plain(kind) for is_plain in _PLAIN):
        raise TableError(
            f"{where}: column '{printable(field.name)}' is {printable(str(kind))}, which may hold more than it shows; "
            "convert it to text, numbers or time stamps"
        )
    if pa.types.is_timestamp(kind) and kind.tz is not None and not _TIME_ZONE.fullmatch(kind.tz):
        raise TableError(f"{where}: column '{printable(field.name)}' has an unsupported time zone; convert it to UTC")
    return kind
