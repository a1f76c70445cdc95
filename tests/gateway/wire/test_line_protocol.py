"""Line protocol by a parser of our own: it reads what is written, refuses the rest in one known line, and is quick."""

import math
import time

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from deeprotect.errors import WireError
from deeprotect.gateway.wire.line_protocol import TEXT, read_lines, write_line

REFUSALS = {
    "a line must be line protocol: measurement,tag=… field=0.1,field=0.2 nanoseconds",
    "a field of line protocol must be a number such as 0.1 or 2i, text in quotes, or true or false",
}
NAMES = st.text(st.characters(codec="utf-8", exclude_characters="\n"), min_size=1, max_size=12).filter(
    lambda name: not name.endswith("\\") and name[0] not in "# \t\r" and name != "time"
)
NUMBERS = st.floats(allow_nan=False, allow_infinity=False)
SPECIAL = st.text(st.sampled_from(list('ab1=, \\"#\n\r\t.-+eiut0')), max_size=60)


def tried(text):
    """The records, or none where it is refused, which is said in a line that is known before."""
    said = None
    try:
        return read_lines(text)
    except WireError as refused:
        said = str(refused)
    assert said in REFUSALS
    return []


@given(st.lists(st.tuples(NAMES, st.dictionaries(NAMES, NUMBERS, min_size=1, max_size=4), st.integers(0, 2**62))))
def test_what_is_written_is_read(written):
    text = "\n".join(write_line(name, values, at) for name, values, at in written)
    assert read_lines(text) == [{**values, name: values, "time": at} for name, values, at in written]


@given(SPECIAL)
@example("a b=1\\")
@example('a b="\\')
@example('a b="1"5')
@example("a b=1,")
@example("a b=1, 5")
@example("a,b c=1")
@example("a b=1 -")
@example("a b=1 ²")
def test_whatever_comes_is_read_or_refused_in_a_known_line(text):
    for record in tried(text):
        values = [
            each for value in record.values() for each in (value.values() if isinstance(value, dict) else [value])
        ]
        assert all(each == TEXT or math.isfinite(each) or type(each) is float for each in values)


@given(st.text(max_size=200))
def test_no_text_whatsoever_breaks_it(text):
    tried(text)


@given(st.text(st.characters(codec="utf-8"), max_size=50))
def test_nothing_of_a_text_is_kept_wherever_its_lines_end(secret):
    quoted = secret.replace("\\", "\\\\").replace('"', '\\"')
    assert read_lines(f'imu note="{quoted}",acc_x=1 5\nimu acc_x=2 6') == [
        {"note": TEXT, "acc_x": 1.0, "imu": {"note": TEXT, "acc_x": 1.0}, "time": 5},
        {"acc_x": 2.0, "imu": {"acc_x": 2.0}, "time": 6},
    ]


@pytest.mark.parametrize(
    "line",
    ['a b="1"5', 'a b="1', "a b=1,", "a b=1, 5", "a,b c=1", "a, c=1", " =1", "a =1", "a b=1 5 5", "a b=1 5x", "a b=--1",
     "a b=1 +5", "a b=0x1", "a b=inf", "a b=1 " + "1" * 21, "a b=" + "1" * 41, "a b=1ii", "a b\\=1", "a b= 5"],
)  # fmt: skip
def test_a_line_that_is_nearly_one_is_none(line):
    with pytest.raises(WireError):
        read_lines(line)


@pytest.mark.parametrize(
    "piece", ["a", "\\", ",", "=", " ", '"', "\\,", "a=", ",a=b", 'a b="', "a b=1,", "#", "a b=1\n", "a b=1 5 "]
)
def test_a_mebibyte_of_anything_takes_time_in_proportion(piece):
    def seconds(size):
        began = time.perf_counter()
        for start in ("", "a b=1,", 'a b="', "a,", "a "):
            tried(start + piece * (size // len(piece)))
        return time.perf_counter() - began

    assert seconds(1 << 20) < 30  # of 5 MiB; what grows with the square would take hours
