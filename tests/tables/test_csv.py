"""CSV as people have it: however it is written, cut or packed, the same rows come out, and nothing runs on."""

import gzip
import io
import threading
from contextlib import suppress

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from deeprotect.errors import ArgumentError, TableError
from deeprotect.tables.csv_reader import CsvLayout, CsvRequest, column_names, decimal_point, read_csv
from deeprotect.tables.sources import open_source
from deeprotect.tables.text_lines import whole_lines

ROWS = {"time": ["0", "0.1"], "acc_x": [1.5, -2.25], "acc_y": [0.5, 3.0], "note": ["Köln", "é"]}
PLAIN = "time,acc_x,acc_y,note\n0,1.5,0.5,Köln\n0.1,-2.25,3,é\n"
COMMAS = PLAIN.replace(",", ";").replace("1.5", "1,5").replace("2.25", "2,25").replace("0.5", "0,5")
WRITTEN = {
    "plain": PLAIN.encode(),
    "semicolons": PLAIN.replace(",", ";").encode(),
    "decimal commas": COMMAS.encode(),
    "tabs": PLAIN.replace(",", "\t").encode(),
    "bars": PLAIN.replace(",", "|").encode(),
    "a byte order mark": b"\xef\xbb\xbf" + PLAIN.encode(),
    "UTF-16": PLAIN.encode("utf-16"),
    "UTF-16, other way round": b"\xfe\xff" + PLAIN.encode("utf-16-be"),
    "UTF-16 without a mark": PLAIN.encode("utf-16-le"),
    "Windows letters": PLAIN.encode("cp1252"),
    "Latin letters and decimal commas": COMMAS.encode("latin-1"),
    "Windows line ends": PLAIN.replace("\n", "\r\n").encode(),
    "old line ends": PLAIN.replace("\n", "\r").encode(),
    "no last line end": PLAIN.rstrip("\n").encode(),
    "old line ends but for the last": PLAIN.rstrip("\n").replace("\n", "\r").encode(),
    "blank lines": ("\n\n" + PLAIN.replace("\n", "\n\n")).encode(),
    "blanks around names and numbers": PLAIN.replace("acc_x", " acc_x ").replace("1.5", " 1.5 ").encode(),
    "all in quotes": ("\n".join(",".join(f'"{c}"' for c in line.split(",")) for line in PLAIN.splitlines())).encode(),
    "a spreadsheet's hint": ("sep=;\r\n" + COMMAS).encode(),
    "gzip": gzip.compress(PLAIN.encode()),
    "gzip in two parts": gzip.compress(PLAIN[:30].encode()) + gzip.compress(PLAIN[30:].encode()),
    "gzip of UTF-16": gzip.compress(PLAIN.encode("utf-16")),
}


def table_of(content, **request):
    schema, scan = read_csv(io.BytesIO(content), CsvRequest(**request), "walk.csv")
    return pa.Table.from_batches(list(scan(None)), schema=schema)


@pytest.mark.parametrize("way", WRITTEN)
def test_the_same_rows_come_out_however_they_are_written(way):
    assert table_of(WRITTEN[way], numbers=frozenset({"acc_x", "acc_y"})).to_pydict() == ROWS


@pytest.mark.parametrize("suffix", [".csv", ".tsv", ".txt", ".csv.gz", ".CSV"])
def test_the_suffix_does_not_decide_how_it_is_written(tmp_path, suffix):
    for content in (WRITTEN["tabs"], WRITTEN["gzip"]):
        (tmp_path / f"in{suffix}").write_bytes(content)
        with open_source(tmp_path / f"in{suffix}", numbers=["acc_x", "acc_y"]) as source:
            assert pa.Table.from_batches(source.batches).to_pydict() == ROWS


def test_a_file_without_names_is_read_under_given_ones():
    content = PLAIN.split("\n", 1)[1].encode()
    table = table_of(content, numbers=frozenset({"b"}), columns=("a", "b", "c", "d"))
    assert table.to_pydict() == {"a": ["0", "0.1"], "b": [1.5, -2.25], "c": ["0.5", "3"], "d": ["Köln", "é"]}


@pytest.mark.parametrize("text", ["a,,b", "a,b,a", ""])
def test_given_names_are_one_for_each_column(text):
    with pytest.raises(ArgumentError, match="`columns`: "):
        column_names(text)


def test_types_are_guessed_by_the_first_rows_and_what_is_empty_there_is_text():
    table = table_of(b"a,b,c,d\n1,1.5,,x\n2,2.5,,y\n")
    assert [str(kind) for kind in table.schema.types] == ["int64", "double", "string", "string"]


class Dribble(io.RawIOBase):
    """A pipe that gives as many bytes as it likes."""

    def __init__(self, content, sizes):
        super().__init__()
        self._content, self._sizes = io.BytesIO(content), iter(sizes)
        self.threads = set()

    def read1(self, most=-1):
        self.threads.add(threading.get_ident())
        return self._content.read(min(most, next(self._sizes, 7)))


@given(st.sampled_from(sorted(WRITTEN)), st.lists(st.integers(1, 40), max_size=30))
def test_how_a_pipe_is_filled_changes_nothing(way, sizes):
    if way.startswith("UTF-16 without"):
        sizes = [1024, *sizes]  # so much of it tells
    first = max(8, sizes[0] if sizes else 8)
    schema, scan = read_csv(
        Dribble(WRITTEN[way], [first, *sizes[1:]]), CsvRequest(frozenset({"acc_x", "acc_y"})), "walk.csv"
    )
    assert pa.Table.from_batches(list(scan(None)), schema=schema).to_pydict() == ROWS


def test_a_live_stream_gives_a_row_as_soon_as_its_line_is_there():
    pipe = Dribble(PLAIN.encode(), [22, 16])  # the names, then the first row and a little more
    _, scan = read_csv(pipe, CsvRequest(frozenset({"acc_x", "acc_y"})), "walk.csv")
    assert next(scan(None)).num_rows == 1


class Spy(io.BytesIO):
    """Records whether a reader is still running after the end."""

    readers: set[int]
    ended = False

    def _note(self):
        assert not self.ended
        self.readers = {*getattr(self, "readers", ()), threading.get_ident()}

    def read(self, *most):
        self._note()
        return super().read(*most)

    def read1(self, *most):
        self._note()
        return super().read1(*most)

    def readinto(self, buffer):
        self._note()
        return super().readinto(buffer)


def test_nothing_reads_but_this_thread_and_nothing_reads_on(monkeypatch):
    """Arrow's own reader reads ahead in another thread: at exit that ended the process (`terminate called …`)."""
    spy = Spy(b"acc_x,acc_y\n" + b"1,2\n" * 3_000_000)
    stdin = io.TextIOWrapper(spy)
    monkeypatch.setattr("sys.stdin", stdin)
    with suppress(KeyError), open_source("-", numbers=["acc_x", "acc_y"]) as source:
        next(source.batches)
        raise KeyError("refused half-way")
    place, spy.ended = spy.tell(), True
    assert place < spy.getbuffer().nbytes
    assert spy.readers == {threading.get_ident()}
    with pytest.raises(StopIteration):
        next(source.batches)


def test_gzip_is_unpacked_a_block_at_a_time_however_much_it_holds():
    blocks = list(whole_lines(io.BytesIO(gzip.compress(b"1,2\n" * 8_000_000)), "walk.csv"))
    assert max(map(len, blocks)) <= 4 << 20
    assert sum(map(len, blocks)) == 32_000_000


def test_letters_stay_what_they_are_from_the_first_line_on_that_is_not_utf8():
    content = b"acc_x,note\n" + b"1,a\n" * 1_500_000 + b"1,\xe9\n"
    assert table_of(content, numbers=frozenset({"acc_x"}))["note"][-1].as_py() == "é"


def test_a_file_that_changes_its_encoding_is_refused():
    content = "acc_x,note\n1,é\n".encode() + b"1,a\n" * 1_500_000 + b"1,\xe9\n"
    with pytest.raises(TableError, match="begins as UTF-8 but does not stay valid"):
        table_of(content, numbers=frozenset({"acc_x"}))


def test_rows_are_numbered_over_all_blocks():
    content = b"acc_x,acc_y\n" + b"1,2\n" * 1_500_000 + b"1,x\n"
    with pytest.raises(TableError, match=r"column 'acc_y', row 1500001 holds text"):
        table_of(content, numbers=frozenset({"acc_x", "acc_y"}))


@pytest.mark.parametrize(
    ("rows", "mark"), [("1,5;2", ","), ("1.5;2,5", "."), ("1;2", None), ("1,5;2026-01-01 00:00:00.5", ","), (";", None)]
)
def test_a_decimal_comma_is_taken_only_where_no_number_has_a_point(rows, mark):
    assert decimal_point(rows.encode(), CsvLayout(("a", "b"), ";"), ["a", "b"], most=10) == mark


def test_a_point_in_another_column_does_not_count():
    assert decimal_point(b"1,5;2.5", CsvLayout(("a", "b"), ";"), ["a"], most=10) == ","


def test_a_decimal_comma_may_come_late():
    content = b"a;b\n" + b"1;2\n" * 1_500_000 + b"1,5;2\n"
    assert table_of(content, numbers=frozenset("ab"))["a"][-1].as_py() == 1.5


@given(st.binary(max_size=200) | st.text('ab,;\t\n\r"0.5-', max_size=200).map(str.encode))
def test_any_bytes_are_read_or_refused_in_one_line_and_never_something_else(content):
    for request in ({}, {"numbers": frozenset("ab")}, {"ragged": lambda _: None, "numbers": frozenset()}):
        try:
            table_of(content, **request)
        except TableError as refused:
            message = str(refused)
            assert message.isprintable()


def test_lines_of_another_length_are_told_and_left_out():
    told = []
    table = table_of(b"a,b\n1,2\n1\n1,2,3\n3,4\n", numbers=frozenset("ab"), ragged=told.append)
    assert (table.to_pydict(), told) == ({"a": [1, 3], "b": [2, 4]}, [1, 3])
