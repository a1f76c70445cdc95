"""CSV to record batches, block by block in this thread, so that nothing keeps running if reading stops half-way.

The first lines of a file show its layout: separator, decimal mark, and whether it begins with column names.
"""

import csv
import re
import shlex
from collections import Counter
from collections.abc import Callable, Collection, Generator, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import chain, zip_longest
from typing import Any, BinaryIO

import pyarrow as pa

from deeprotect.errors import Argument, ArgumentError, TableError, printable
from deeprotect.tables.numbers import NUMBER, MarkEvidence, strict_mark
from deeprotect.tables.text_lines import whole_lines

Batches = Generator[pa.RecordBatch, None, None]
Ragged = Callable[[int], object]  # receives the number of cells of a line with too few or too many
DELIMITERS = (",", ";", "\t", "|")
TEXT = (".csv", ".tsv", ".txt")
MISSING = (
    *("", "#N/A", "#N/A N/A", "#NA", "-1.#IND", "-1.#QNAN", "-NaN", "-nan", "1.#IND", "1.#QNAN", "N/A", "NA", "NULL"),
    *("NaN", "n/a", "nan", "null", "None", "NaT", "<NA>", "?"),
)
_SAMPLE_LINES, _DECIMAL_LINES = 50, 2000
_NUMBER = re.compile(rf"{NUMBER}|[-+]?(inf|infinity)", re.I)
_STAMP = re.compile(r"\d{4}[-/]\d\d?[-/]\d\d?.*|\d\d?[./]\d\d?[./]\d{2,4}.*|\d\d?:\d\d(:\d\d.*)?")
_HINT = re.compile(r"sep=(.)", re.I)  # the first line of what Excel writes


@dataclass(frozen=True)
class CsvLayout:
    """The names of the columns, and the separator of cells."""

    names: tuple[str, ...]
    delimiter: str


@dataclass(frozen=True)
class CsvRequest:
    """How to read a text file: columns named in `numbers` are numeric and the rest is text; None: types are guessed.

    `columns` names the columns of a file without a header. Lines with a wrong number of cells are refused, or passed to
    `ragged` and left out.
    """

    numbers: frozenset[str] | None = None
    columns: tuple[str, ...] | None = None
    ragged: Ragged | None = None


def read_csv(
    stream: BinaryIO, request: CsvRequest, where: str
) -> tuple[pa.Schema, Callable[[Sequence[str] | None], Batches]]:
    """Read some or all columns, in batches; non-numeric cells stay text, unchanged."""
    blocks = whole_lines(stream, where)
    first = next((block for block in blocks if block.strip()), b"")
    if is_hint(first):
        first += next(blocks, b"")
    layout, rows = layout_of(first, request.columns, where=where)
    parser = _Parser(layout, request, where)
    if request.numbers is None:
        rows = rows if rows.strip() else next(blocks, b"")
        parser.kinds = parser.guessed(rows)
    schema = pa.schema(list(parser.kinds.items())) if _distinct(layout) else parser.doubled()
    return schema, partial(parser.batches, rows, blocks)


def _distinct(layout: CsvLayout) -> bool:
    return len(set(layout.names)) == len(layout.names)


@dataclass
class _Parser:
    """Turns blocks of lines into batches of one schema, and Arrow's errors into ours."""

    layout: CsvLayout
    request: CsvRequest
    where: str
    kinds: dict[str, pa.DataType] = field(init=False)
    _decimal_point: str | None = None
    _rows: int = 0
    _skipped: int = 0

    def __post_init__(self) -> None:
        numbers = self.request.numbers or frozenset()
        self.kinds = {name: pa.float64() if name in numbers else pa.string() for name in self.layout.names}

    def doubled(self) -> pa.Schema:
        """The schema with duplicate names, for an error that names them."""
        return pa.schema([(name, self.kinds[name]) for name in self.layout.names])

    def guessed(self, rows: bytes) -> dict[str, pa.DataType]:
        """Types guessed from the first rows; a column that is empty there is text."""
        if not rows.strip() or not _distinct(self.layout):
            return self.kinds
        schema = self._parse(rows, kinds={}).schema
        return {each.name: pa.string() if pa.types.is_null(each.type) else each.type for each in schema}

    def batches(self, rows: bytes, blocks: Iterator[bytes], names: Sequence[str] | None) -> Batches:
        kinds = self.kinds if names is None else {name: self.kinds[name] for name in names}
        for block in chain([rows], blocks):
            if block.strip():
                table = self._parse(block, kinds=kinds)
                self._check_quotes(block, table.num_rows)
                self._rows += table.num_rows
                yield from table.combine_chunks().to_batches()

    def _parse(self, rows: bytes, *, kinds: dict[str, pa.DataType]) -> pa.Table:
        if self._decimal_point is None:
            self._decimal_point = self._mark_in(rows, _DECIMAL_LINES)
        try:
            return self._converted(rows, kinds, decimal_mark=self._decimal_point or ".")
        except pa.ArrowInvalid as error:
            refusal = self._refusal(str(error))
        if self._decimal_point is None:  # the first comma may follow any number of whole numbers
            self._decimal_point = self._mark_in(rows, rows.count(b"\n") + 1)
            if self._decimal_point == ",":
                return self._parse(rows, kinds=kinds)
        raise TableError(refusal)

    def _mark_in(self, rows: bytes, most: int) -> str | None:
        numbers = self.layout.names if self.request.numbers is None else self.request.numbers
        return decimal_point(rows, self.layout, numbers, most=most)

    def _converted(self, rows: bytes, kinds: dict[str, pa.DataType], *, decimal_mark: str) -> pa.Table:
        import pyarrow.csv as pa_csv

        ragged = self._ragged if self.request.ragged else None
        return pa_csv.read_csv(
            pa.BufferReader(rows),
            # In one thread: it is as fast, and Arrow then knows the number of a bad row.
            read_options=pa_csv.ReadOptions(column_names=list(self.layout.names), use_threads=False),
            parse_options=pa_csv.ParseOptions(delimiter=self.layout.delimiter, invalid_row_handler=ragged),
            convert_options=pa_csv.ConvertOptions(
                column_types=kinds,
                include_columns=list(kinds) if _distinct(self.layout) else [],
                strings_can_be_null=True,
                null_values=list(MISSING),
                decimal_point=decimal_mark,
            ),
        )

    def _ragged(self, row: Any) -> str:
        self._skipped += 1
        if self.request.ragged:
            self.request.ragged(row.actual_columns)
        return "skip"

    def _check_quotes(self, block: bytes, rows: int) -> None:
        """Refuse a quote that never ends, which would swallow the rows after it."""
        skipped, self._skipped = self._skipped, 0
        if b'"' in block and rows + skipped != sum(1 for line in block.split(b"\n") if line.strip(b"\r")):
            raise TableError(
                f"{self.where}: a quoted cell spans several lines after row {self._rows}; remove stray "
                "quotes and line breaks from cells"
            )

    def _refusal(self, text: str) -> str:
        """Arrow's message without the cell's content, which may be private."""
        # Only at the beginning: later text quotes cells.
        column = re.match(r"In CSV column #(\d+)", text)
        row = re.match(r"(?:In CSV column #\d+: |CSV parse error: )?Row #(\d+)", text)
        place = f", row {self._rows + int(row[1])}" if row else ""
        if column:
            name = printable(self.layout.names[int(column[1])])
            return (
                f"{self.where}: column '{name}'{place} holds text where a number is needed; correct it, or find all "
                "such cells with `deeprotect check`"
            )
        expected = re.search(r"Expected (\d+) columns, got (\d+)", text)
        if expected:
            return f"{self.where}{place}: {expected[2]} values under {expected[1]} column names; correct the line"
        return f"{self.where}: it is not CSV with one value per column in each line{place}"


def column_names(text: str | None) -> Sequence[str] | None:
    """Parse the names in `--columns a,b,c`."""
    if text is None:
        return None
    names = tuple(name.strip() for name in text.split(","))
    if not all(names):
        raise ArgumentError("columns", "a name is empty; name every column, as in time,acc_x,acc_y")
    twice = [name for name in names if names.count(name) > 1]
    if twice:
        raise ArgumentError("columns", f"'{printable(twice[0])}' appears twice; name each column once")
    return names


def layout_of(block: bytes, columns: Sequence[str] | None, *, where: str) -> tuple[CsvLayout, bytes]:
    """The layout shown by a first block of lines, and the block's rows.

    `columns` are the names for a file without a header. Messages never contain cells: the first line may be a row.
    """
    block, hint = block.lstrip(b"\r\n"), None
    if found := _HINT.fullmatch(_line(block)):
        hint, block = found[1], _rest(block)
    lines = _sample(block)
    if not lines:
        raise TableError(f"{where}: it is empty; a table starts with a line of column names")
    if columns is None:
        _refuse_preamble(block, where)
    delimiter = hint or _delimiter(lines)
    rows = [_cells(line, delimiter) for line in lines]
    if columns is not None:
        _check_given(columns, rows, where)
        return CsvLayout(tuple(columns), delimiter), block
    _check_header(rows, lines, where)
    return CsvLayout(tuple(cell.strip() for cell in rows[0]), delimiter), _rest(block)


def is_hint(block: bytes) -> bool:
    """Whether a block is only the line in which a spreadsheet names its separator."""
    return bool(_HINT.fullmatch(block.decode("utf-8", errors="replace").strip()))


def decimal_point(rows: bytes, layout: CsvLayout, numbers: Collection[str], *, most: int) -> str | None:
    """A comma if cells of number columns have one and none has a point; None if all are whole numbers.

    A comma that may group thousands does not count: such cells are refused, and `deeprotect prepare` reads them.
    """
    if layout.delimiter == ",":
        return "."
    lines = [_cells(line, layout.delimiter) for line in _sample(rows, most)]
    columns = zip(layout.names, zip_longest(*lines), strict=False)
    return strict_mark(MarkEvidence.of(cells) for name, cells in columns if name in numbers)


def _check_header(rows: list[list[str]], lines: list[str], where: str) -> None:
    first, later = rows[0], rows[1:]
    if any(_is_value(cell) for cell in first if cell.strip()):
        raise TableError(
            f"{where}: its first line holds values, not column names; write a line of names above it, or give them "
            "with ",
            Argument("columns", ["a", "b", "c"]),
        )
    if len(first) == 1 and any(len(line.split()) > 1 and all(map(_is_value, line.split())) for line in lines[1:]):
        raise TableError(f"{where}: its columns are separated by spaces; use commas, semicolons or tabs")
    if later and not any(_is_value(cell) for row in later for cell in row):
        raise TableError(f"{where}: none of its first lines holds a number; is it a table of samples?")


def _refuse_preamble(block: bytes, where: str) -> None:
    """Refuse notes above the column names: most lines then have another number of cells than the first."""
    numbered = [(number, line) for number, line in enumerate(_lines(block), start=1) if line.strip()]
    for mark in DELIMITERS:
        rows = [_cells(line, mark) for _, line in numbered]
        usual, count = Counter(map(len, rows)).most_common(1)[0]
        at = next(place for place, row in enumerate(rows) if len(row) == usual)
        named = not any(_is_value(cell) for cell in rows[at] if cell.strip())
        if (
            usual > 1
            and 0 < at < len(rows) - 1
            and 2 * count > len(rows)
            and named
            and any(map(_is_value, rows[at + 1]))
        ):
            line = numbered[at][0]
            typed = f": tail -n +{line} {shlex.quote(where)} > table.csv" if where.endswith(TEXT) else ""
            above = "the line" if line == 2 else f"the {line - 1} lines"
            raise TableError(f"{where}: column names are on line {line}; remove {above} above them{typed}")


def _check_given(columns: Sequence[str], rows: list[list[str]], where: str) -> None:
    if rows and len(rows[0]) != len(columns):
        raise TableError(
            f"{where}: its lines have {len(rows[0])} values, ",
            Argument("columns"),
            f" names {len(columns)}; name each once",
        )
    later = rows[1:]
    if later and not any(map(_is_value, rows[0])) and any(_is_value(cell) for row in later for cell in row):
        raise TableError(f"{where}: its first line looks like column names; leave out ", Argument("columns"))


def _is_value(cell: str) -> bool:
    text = cell.strip()
    return text in MISSING or bool(_NUMBER.fullmatch(text) or _STAMP.fullmatch(text))


def _delimiter(lines: list[str]) -> str:
    """The separator that cuts the first line into several cells, and most other lines into as many."""
    counts = {mark: [len(_cells(line, mark)) for line in lines] for mark in DELIMITERS}
    cutting = [mark for mark in DELIMITERS if counts[mark] and counts[mark][0] > 1]
    return max(cutting, key=lambda mark: (counts[mark].count(counts[mark][0]), counts[mark][0]), default=",")


def _cells(line: str, delimiter: str) -> list[str]:
    try:
        return next(csv.reader([line], delimiter=delimiter), [""])
    except csv.Error:  # a cell is too large
        return [line]


def _sample(block: bytes, most: int = _SAMPLE_LINES) -> list[str]:
    return [line for line in _lines(block, most) if line.strip()]


def _lines(block: bytes, most: int = _SAMPLE_LINES) -> list[str]:
    lines = block.split(b"\n", most)[:most]
    return [line.decode("utf-8", errors="replace").rstrip("\r") for line in lines]


def _line(block: bytes) -> str:
    return block.split(b"\n", 1)[0].decode("utf-8", errors="replace").strip()


def _rest(block: bytes) -> bytes:
    return block.partition(b"\n")[2]
