"""What parts of a file unpack to, known before they are unpacked: a few bytes may be gigabytes."""

import struct
from collections.abc import Callable, Collection, Iterator
from functools import partial
from typing import Any, BinaryIO

import pyarrow as pa

from deeprotect.errors import TableError
from deeprotect.tables.flat_buffer import field, vector

MOST_UNPACKED = 1 << 29  # bytes of a row group or a record batch, where they are as much larger as only tricks are
MOST_TIMES = 100
_DICTIONARIES, _BATCHES = 2, 3  # fields of the tables Footer, Message, DictionaryBatch and RecordBatch in format/*.fbs
_HEADER, _DATA, _BUFFERS, _COMPRESSION, _VARIADIC = 2, 1, 2, 3, 4
_BLOCK = "<qi4xq"  # where a message lies, and how long its head and its body are
_END = b"ARROW1"
_OWN = {pa.null().id: 0, pa.run_end_encoded(pa.int32(), pa.null()).id: 0} | {
    pa.union([], mode=mode).id: buffers for mode, buffers in (("sparse", 1), ("dense", 2))
}
"""Buffers of types that have fewer in a file than in memory."""


def check_row_groups(file: Any, names: Collection[str] | None, *, where: str) -> None:
    """Of these columns of a Parquet file, or of all: a page is unpacked whole, whatever is read of it."""
    places = [place for place in range(file.num_columns) if names is None or file.schema.column(place).path in names]
    for group in map(file.row_group, range(file.num_row_groups)):
        if group.total_byte_size <= MOST_UNPACKED:  # a column of a damaged file is not looked at: Arrow would abort
            continue
        columns = [group.column(place) for place in places]
        unpacked = sum(each.total_uncompressed_size for each in columns)
        packed = sum(each.total_compressed_size for each in columns)
        refuse_far(unpacked, packed, what=f"{where}: a row group")


def check_record_batches(stream: BinaryIO, schema: pa.Schema, *, fields: Collection[int], where: str) -> None:
    """Of these fields of an Arrow file, and of all dictionaries, which are read whosever they are.

    Compressed buffers begin with the size that they unpack to, and Arrow believes it.
    """
    try:
        footer = _footer(stream)
        for block in vector(footer, _DICTIONARIES, form=_BLOCK):
            _check_block(stream, block, path=(_HEADER, _DATA), where=where, wanted=lambda _, buffers: buffers)
        for block in vector(footer, _BATCHES, form=_BLOCK):
            _check_block(stream, block, path=(_HEADER,), where=where, wanted=partial(_of_fields, schema, fields))
    except (struct.error, OverflowError):
        raise TableError(f"{where}: it cannot be read as Arrow; is it whole, and of that kind?") from None


def _check_block(
    stream: BinaryIO, block: tuple[int, ...], *, path: tuple[int, ...], where: str, wanted: Callable[[Any, Any], Any]
) -> None:
    offset, head, _ = block
    stream.seek(max(0, offset))
    flat = stream.read(max(0, head))
    flat = flat[8:] if flat.startswith(b"\xff" * 4) else flat[4:]
    if field(flat, *path, _COMPRESSION) is not None:
        buffers = wanted(vector(flat, *path, _VARIADIC, form="<q"), vector(flat, *path, _BUFFERS, form="<qq"))
        unpacked = sum(_stated_size(stream, offset + head + at) for at, size in buffers if size)
        refuse_far(unpacked, sum(size for _, size in buffers), what=f"{where}: a record batch")


def _of_fields(schema: pa.Schema, fields: Collection[int], /, variadic: list[Any], buffers: list[Any]) -> list[Any]:
    """The buffers of these fields; of all, where a field has others than are known here."""
    views = iter(count for (count,) in variadic)
    owners = [place for place, kind in enumerate(schema.types) for _ in range(_buffers(kind, views))]
    if len(owners) != len(buffers):
        return buffers
    return [each for owner, each in zip(owners, buffers, strict=True) if owner in fields]


def _buffers(kind: pa.DataType, views: Iterator[int]) -> int:
    """How many lie in a record batch for a column of this type."""
    if isinstance(kind, pa.BaseExtensionType):
        return _buffers(kind.storage_type, views)
    own = _OWN.get(kind.id, kind.num_buffers)
    more = next(views, 0) if pa.types.is_string_view(kind) or pa.types.is_binary_view(kind) else 0
    return int(own) + more + sum(_buffers(kind.field(place).type, views) for place in range(kind.num_fields))


def _footer(stream: BinaryIO) -> bytes:
    tail = len(_END) + 4
    end = stream.seek(0, 2)
    stream.seek(max(0, end - tail))
    size = struct.unpack_from("<i", stream.read(tail))[0]
    stream.seek(max(0, end - tail - size))
    return stream.read(max(0, size))


def _stated_size(stream: BinaryIO, start: int) -> int:
    stream.seek(max(0, start))
    return max(0, int(struct.unpack("<q", stream.read(8))[0]))  # -1: it is not compressed


def refuse_far(unpacked: int, packed: int, *, what: str) -> None:
    """More than fits into memory, out of so little that it can only be a trick."""
    if unpacked > MOST_UNPACKED and unpacked > MOST_TIMES * packed:
        raise TableError(
            f"{what} unpacks to more than {MOST_UNPACKED >> 20} MB; write it in smaller ones, or leave out "
            "what unpacks so far"
        )
