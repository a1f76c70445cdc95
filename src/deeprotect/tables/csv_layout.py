"""How a CSV file is laid out: its separator, its decimal mark, and whether it begins with column names."""

import csv
import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass

from deeprotect.errors import TableError

DELIMITERS = (",", ";", "\t", "|")
MISSING = (
    *("", "#N/A", "#N/A N/A", "#NA", "-1.#IND", "-1.#QNAN", "-NaN", "-nan", "1.#IND", "1.#QNAN", "N/A", "NA", "NULL"),
    *("NaN", "n/a", "nan", "null", "None", "NaT", "<NA>", "?"),
)
_SAMPLE_LINES, _DECIMAL_LINES = 50, 2000
_NUMBER = re.compile(r"[-+]?(\d+[.,]?\d*|[.,]\d+)([eE][-+]?\d+)?|[-+]?(inf|infinity)", re.I)
_STAMP = re.compile(r"\d{4}[-/]\d\d?[-/]\d\d?.*|\d\d?[./]\d\d?[./]\d{2,4}.*|\d\d?:\d\d(:\d\d.*)?")
_WITH_COMMA, _WITH_POINT = re.compile(r"[-+]?\d*,\d+"), re.compile(r"[-+]?\d*\.\d+")
_HINT = re.compile(r"sep=(.)", re.I)  # the first line of what Excel writes


@dataclass(frozen=True)
class CsvLayout:
    """The names of the columns, and what stands between cells."""

    names: tuple[str, ...]
    delimiter: str


def layout_of(block: bytes, columns: Sequence[str] | None, *, where: str) -> tuple[CsvLayout, bytes]:
    """The layout that a first block of lines shows, and the rows of that block.

    `columns` are the names of a file that has none. No message holds a cell: the first line may be a row.
    """
    block, hint = block.lstrip(b"\r\n"), None
    if found := _HINT.fullmatch(_line(block)):
        hint, block = found[1], _rest(block)
    lines = _sample(block)
    if not lines:
        raise TableError(f"{where}: it is empty; a table starts with a line of column names")
    delimiter = hint or _delimiter(lines)
    rows = [_cells(line, delimiter) for line in lines]
    if columns is not None:
        _check_given(columns, rows, where)
        return CsvLayout(tuple(columns), delimiter), block
    _check_header(rows, lines, where)
    return CsvLayout(tuple(cell.strip() for cell in rows[0]), delimiter), _rest(block)


def is_hint(block: bytes) -> bool:
    """Whether a block is nothing but the line in which a spreadsheet names its separator."""
    return bool(_HINT.fullmatch(block.decode("utf-8", errors="replace").strip()))


def decimal_point(rows: bytes, layout: CsvLayout, numbers: Collection[str]) -> str | None:
    """A comma, where cells of number columns are written so and none has a point; None where all are whole numbers."""
    if layout.delimiter == ",":
        return "."
    sample = _sample(rows, _DECIMAL_LINES)
    lines = [zip(layout.names, _cells(line, layout.delimiter), strict=False) for line in sample]
    cells = [cell.strip() for line in lines for name, cell in line if name in numbers]
    if any(map(_WITH_POINT.fullmatch, cells)):
        return "."
    return "," if any(map(_WITH_COMMA.fullmatch, cells)) else None


def _check_header(rows: list[list[str]], lines: list[str], where: str) -> None:
    first, later = rows[0], rows[1:]
    if any(_is_value(cell) for cell in first if cell.strip()):
        raise TableError(
            f"{where}: its first line holds values, not column names; write a line of names above it, or give them "
            "with --columns a,b,c"
        )
    if len(first) == 1 and any(len(_cells(line, mark)) > 1 for line in lines[1:3] for mark in DELIMITERS):
        raise TableError(f"{where}: its first line is no line of column names; remove what stands above those")
    if len(first) == 1 and any(len(line.split()) > 1 and all(map(_is_value, line.split())) for line in lines[1:]):
        raise TableError(f"{where}: its columns are separated by blanks; use commas, semicolons or tabs")
    if later and not any(_is_value(cell) for row in later for cell in row):
        raise TableError(f"{where}: none of its first lines holds a number; is it a table of samples?")


def _check_given(columns: Sequence[str], rows: list[list[str]], where: str) -> None:
    if rows and len(rows[0]) != len(columns):
        raise TableError(
            f"{where}: its lines have {len(rows[0])} values, --columns names {len(columns)}; name each once"
        )
    later = rows[1:]
    if later and not any(map(_is_value, rows[0])) and any(_is_value(cell) for row in later for cell in row):
        raise TableError(f"{where}: its first line holds no value, as column names do; leave out --columns")


def _is_value(cell: str) -> bool:
    text = cell.strip()
    return text in MISSING or bool(_NUMBER.fullmatch(text) or _STAMP.fullmatch(text))


def _delimiter(lines: list[str]) -> str:
    """The mark that cuts the first line into several cells, and most other lines into as many."""
    counts = {mark: [len(_cells(line, mark)) for line in lines] for mark in DELIMITERS}
    cutting = [mark for mark in DELIMITERS if counts[mark] and counts[mark][0] > 1]
    return max(cutting, key=lambda mark: (counts[mark].count(counts[mark][0]), counts[mark][0]), default=",")


def _cells(line: str, delimiter: str) -> list[str]:
    try:
        return next(csv.reader([line], delimiter=delimiter), [""])
    except csv.Error:  # a cell beyond all measure
        return [line]


def _sample(block: bytes, most: int = _SAMPLE_LINES) -> list[str]:
    lines = block.split(b"\n", most)[:most]
    return [line.decode("utf-8", errors="replace").rstrip("\r") for line in lines if line.strip()]


def _line(block: bytes) -> str:
    return block.split(b"\n", 1)[0].decode("utf-8", errors="replace").strip()


def _rest(block: bytes) -> bytes:
    return block.partition(b"\n")[2]
