"""CSV to record batches, block by block in this thread: nothing is left running when reading stops half-way."""

import re
from collections.abc import Callable, Generator, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import chain
from typing import Any, BinaryIO

import pyarrow as pa

from deeprotect.errors import TableError, printable
from deeprotect.tables.csv_layout import MISSING, CsvLayout, decimal_point, is_hint, layout_of
from deeprotect.tables.text_lines import whole_lines

Batches = Generator[pa.RecordBatch, None, None]
Ragged = Callable[[int], object]  # is told the number of cells of a line that has too few or too many


@dataclass(frozen=True)
class CsvRequest:
    """How to read a text file: columns named in `numbers` are numbers and the rest is text; None: types are guessed.

    `columns` names the columns of a file without names. Lines with a wrong number of cells are refused, or told to
    `ragged` and left out.
    """

    numbers: frozenset[str] | None = None
    columns: tuple[str, ...] | None = None
    ragged: Ragged | None = None


def read_csv(
    stream: BinaryIO, request: CsvRequest, where: str
) -> tuple[pa.Schema, Callable[[Sequence[str] | None], Batches]]:
    """The columns, and the rows of some or all as they come; other cells than numbers stay text, to the letter."""
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
    """Turns blocks of lines into batches of one schema, and Arrow's complaints into ours."""

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
        """With every name as often as the file has it, for whoever says which is there twice."""
        return pa.schema([(name, self.kinds[name]) for name in self.layout.names])

    def guessed(self, rows: bytes) -> dict[str, pa.DataType]:
        """Types by the first rows; a column that is empty there is text."""
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
            numbers = self.layout.names if self.request.numbers is None else self.request.numbers
            self._decimal_point = decimal_point(rows, self.layout, numbers)
        marks = (".", ",") if self._decimal_point is None else (self._decimal_point,)
        refusals = []
        for mark in marks:  # a comma may come after any number of whole numbers
            try:
                return self._converted(rows, kinds, decimal_mark=mark)
            except pa.ArrowInvalid as error:
                refusals.append(self._refusal(str(error)))
        raise TableError(refusals[0])

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
        """A quote that never ends would swallow the rows after it."""
        skipped, self._skipped = self._skipped, 0
        if b'"' in block and rows + skipped != sum(1 for line in block.split(b"\n") if line.strip(b"\r")):
            raise TableError(
                f"{self.where}: a quoted cell goes on over several lines, after row {self._rows}; take odd quotes and "
                "line breaks out of cells"
            )

    def _refusal(self, text: str) -> str:
        """Arrow's message without the cell's content: it may be private."""
        column = re.match(
            r"In CSV column #(\d+)", text
        )  # only at the beginning: further on it quotes what stands there
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
    """What `--columns a,b,c` says."""
    if text is None:
        return None
    names = tuple(name.strip() for name in text.split(","))
    if not all(names):
        raise TableError("--columns: a name is empty; name every column, as in --columns time,acc_x,acc_y")
    twice = [name for name in names if names.count(name) > 1]
    if twice:
        raise TableError(f"--columns: '{printable(twice[0])}' stands there twice; name each column once")
    return names
