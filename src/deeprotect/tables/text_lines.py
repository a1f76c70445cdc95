"""Text files as blocks of complete lines in UTF-8, after decompression, decoding and unifying line ends."""

import codecs
import zlib
from collections.abc import Iterator
from typing import Any, BinaryIO

from deeprotect.errors import TableError

BLOCK_BYTES = 4 << 20
HEAD_BYTES = 1 << 20  # bytes of the longest header line
LONGEST_LINE = 16 << 20
TELLING_BYTES = 16
_OTHER_KINDS = (
    (b"PAR1", "Parquet", "save it as a .parquet file and give its name"),
    (b"ARROW1", "Arrow", "save it as an .arrow file and give its name"),
    (b"PK\x03\x04", "a zip archive or an Excel workbook", "export it as CSV"),
    (b"\xd0\xcf\x11\xe0", "an Excel workbook", "export it as CSV"),
    (b"SQLite format 3", "an SQLite database", "export the table as CSV"),
    (b"\x89HDF", "HDF5", "export the table as CSV"),
    (b"BZh", "bzip2", "unpack it first"),
    (b"\xfd7zXZ", "xz", "unpack it first"),
    (b"\x28\xb5\x2f\xfd", "zstd", "unpack it first"),
    (b"%PDF", "PDF", "export the table as CSV"),
)
_JSON, _MARKUP = (b"{", b"["), (b"<",)
_GZIP, _GZIP_MEMBER = b"\x1f\x8b", 31


def whole_lines(stream: BinaryIO, where: str) -> Iterator[bytes]:
    """Blocks that end at line ends, in UTF-8, without a byte order mark; lines end in \\n or \\r\\n."""
    chunks = _chunks(stream, where)
    first = _enough(chunks)
    _refuse_other_kinds(first, where)
    wide = _wide_encoding(first)
    if wide is None and b"\0" in first:
        raise TableError(f"{where}: it is not text; is it CSV?")
    whole = _and_then(first.removeprefix(codecs.BOM_UTF8), chunks)
    narrow = _transcoded(whole, wide, where) if wide else whole
    blocks = _cut_at_lines(narrow, where)
    yield from blocks if wide else _eight_bit(blocks, where)


def _enough(chunks: Iterator[bytes]) -> bytes:
    """Enough of the beginning to detect the format, or everything there is."""
    first = b""
    for chunk in chunks:
        first += chunk
        if len(first) >= TELLING_BYTES:
            break
    return first


def _chunks(stream: BinaryIO, where: str) -> Iterator[bytes]:
    """Available bytes, so that a live stream is read while it is written; gzip is decompressed."""
    read_some: Any = getattr(stream, "read1", stream.read)
    first = read_some(HEAD_BYTES)
    packed = _and_then(first, iter(lambda: read_some(BLOCK_BYTES), b""))
    yield from _unpacked(packed, where) if first.startswith(_GZIP) else packed


def _and_then(first: bytes, rest: Iterator[bytes]) -> Iterator[bytes]:
    if first:
        yield first
    yield from rest


def _unpacked(chunks: Iterator[bytes], where: str) -> Iterator[bytes]:
    """Decompress at most a block at a time, whatever the compression ratio."""
    unpacker = zlib.decompressobj(_GZIP_MEMBER)
    try:
        for chunk in chunks:
            while chunk:
                if unpacker.eof:
                    unpacker = zlib.decompressobj(_GZIP_MEMBER)
                yield unpacker.decompress(chunk, BLOCK_BYTES)
                chunk = unpacker.unused_data if unpacker.eof else unpacker.unconsumed_tail
    except zlib.error:
        raise TableError(f"{where}: its gzip compression is damaged; it may be truncated") from None
    if not unpacker.eof:
        raise TableError(f"{where}: its gzip compression is truncated; copy it again")


def _refuse_other_kinds(first: bytes, where: str) -> None:
    for magic, kind, fix in _OTHER_KINDS:
        if first.startswith(magic):
            raise TableError(f"{where}: it is {kind}, not CSV; {fix}")
    for openings, kind in ((_JSON, "JSON"), (_MARKUP, "HTML or XML")):
        if first.lstrip().startswith(openings):
            raise TableError(f"{where}: it looks like {kind}, not CSV; export the table as CSV")


def _wide_encoding(first: bytes) -> str | None:
    """Detect UTF-16, by its byte order mark or because every other byte of Latin text is zero."""
    if first.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        return "utf-16"
    beginning = first[:1024]
    for encoding, zeros in (("utf-16-le", beginning[1::2]), ("utf-16-be", beginning[::2])):
        if zeros and zeros.count(0) > 0.8 * len(zeros):
            return encoding
    return None


def _transcoded(chunks: Iterator[bytes], encoding: str, where: str) -> Iterator[bytes]:
    decoder = codecs.getincrementaldecoder(encoding)()
    try:
        for chunk in chunks:
            yield decoder.decode(chunk).encode()
        yield decoder.decode(b"", final=True).encode()
    except UnicodeError:
        raise TableError(f"{where}: it begins as UTF-16 but does not stay valid; save it as UTF-8") from None


def _cut_at_lines(chunks: Iterator[bytes], where: str) -> Iterator[bytes]:
    held, line_end = b"", None
    for chunk in chunks:
        held += chunk
        if line_end is None and (b"\n" in held or b"\r" in held):
            line_end = b"\n" if b"\n" in held else b"\r"
        if line_end is None:
            _bound(held, HEAD_BYTES, f"{where}: its first line is too long to hold column names; is it CSV?")
            continue
        cut = held.rfind(line_end) + 1
        if cut:
            yield held[:cut].replace(b"\r", b"\n") if line_end == b"\r" else held[:cut]
        held = held[cut:]
        _bound(held, LONGEST_LINE, f"{where}: a line is too long for a table; is it CSV?")
    if held:
        yield held.replace(b"\r", b"\n") if line_end == b"\r" else held


def _bound(held: bytes, most: int, message: str) -> None:
    if len(held) >= most:
        raise TableError(message)


def _eight_bit(blocks: Iterator[bytes], where: str) -> Iterator[bytes]:
    """UTF-8, or Windows-1252 from the first line that is not UTF-8."""
    encoding = "ascii"
    for block in blocks:
        if b"\0" in block:
            raise TableError(f"{where}: it is not text from some line on; it may be damaged")
        if encoding != "cp1252" and not block.isascii():
            encoding = _encoding_of(block, encoding, where)
        yield _from_windows(block, where) if encoding == "cp1252" else block


def _encoding_of(block: bytes, before: str, where: str) -> str:
    try:
        block.decode()
    except UnicodeDecodeError:
        if before == "utf-8":
            raise TableError(f"{where}: it begins as UTF-8 but does not stay valid; save it as UTF-8") from None
        return "cp1252"
    return "utf-8"


def _from_windows(block: bytes, where: str) -> bytes:
    try:
        return block.decode("cp1252").encode()
    except UnicodeDecodeError:
        raise TableError(f"{where}: its text is neither UTF-8, UTF-16 nor Latin; save it as UTF-8") from None
