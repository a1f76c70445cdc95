"""Influx line protocol: `imu,host=a acc_x=0.1,acc_y=2i 1794866981323219180`, one reading per line; tags are ignored.

A single pass from left to right; errors quote nothing.
"""

import re
from typing import Any

from deeprotect.errors import WireError

NAME = "deeprotect"  # the measurement of released values
TEXT = '"'
"""Placeholder for text and boolean fields, which no channel uses and which are not kept."""
_PLAIN = re.compile(r"[^\\,= \n]*")  # up to the next character that may end a name
_QUOTED = re.compile(r'[^"\\]*')
_VALUE = re.compile(r'[^, \n"]*')
_NUMBER = re.compile(r"([-+]?[0-9]*\.?[0-9]+(?:[eE][-+]?[0-9]{1,3})?|[-+]?[0-9]+\.)([iu]?)\Z")
_BOOLEANS = frozenset({"t", "T", "true", "True", "TRUE", "f", "F", "false", "False", "FALSE"})
_LONGEST_NUMBER, _LONGEST_TIME = 40, 20
_ESCAPED = ",= \\"
_BLANK = " \t\r\n"
_WRONG = "a line must be line protocol: measurement,tag=… field=0.1,field=0.2 nanoseconds"


def read_lines(text: str) -> list[dict[str, Any]]:
    """A record for each line: its fields by name, the measurement with all of them, and the time, if any."""
    records: list[dict[str, Any]] = []
    place, end = 0, len(text)
    while True:
        while place < end and text[place] in _BLANK:
            place += 1
        if place == end:
            return records
        if text[place] == "#":
            newline = text.find("\n", place)
            place = end if newline < 0 else newline
            continue
        record, place = _record(text, place)
        records.append(record)


def _record(text: str, place: int) -> tuple[dict[str, Any], int]:
    """The line that begins here, and its end."""
    name, place = _name(text, place, equals=True)
    while text[place : place + 1] == ",":
        _, place = _name(text, place + 1)
        _, place = _name(text, _after(text, place, "="))
    place = _spaces(text, _after(text, place, " "))
    fields: dict[str, Any] = {}
    while True:
        key, place = _name(text, place)
        fields[key], place = _value(text, _after(text, place, "="))
        if text[place : place + 1] != ",":
            break
        place += 1
    if text[place : place + 1] not in ("", " ", "\r", "\n"):
        raise WireError(_WRONG)
    time, place = _time(text, _spaces(text, place))
    return {**fields, name: fields, **time}, place


def _name(text: str, place: int, *, equals: bool = False) -> tuple[str, int]:
    """A measurement, tag or field name without escapes; a measurement may contain `=`."""
    parts, begin = [], place
    while True:
        end = _PLAIN.match(text, place).end()  # type: ignore[union-attr]
        parts.append(text[place:end])
        here = text[end : end + 1]
        if here == "\\" and text[end + 1 : end + 2] not in ("", "\n"):
            escaped = text[end + 1]
            parts.append(escaped if escaped in _ESCAPED else here + escaped)
            place = end + 2
        elif here == "=" and equals:
            parts.append(here)
            place = end + 1
        elif end == begin or here == "\\":
            raise WireError(_WRONG)
        else:
            return "".join(parts), end


def _value(text: str, place: int) -> tuple[Any, int]:
    """A number; text and booleans are not readings."""
    if text[place : place + 1] == '"':
        return TEXT, _end_of_text(text, place + 1)
    end = _VALUE.match(text, place).end()  # type: ignore[union-attr]
    found = text[place:end].rstrip("\r") if text[end : end + 1] in ("", "\n") else text[place:end]
    if found in _BOOLEANS:
        return TEXT, end
    number = _NUMBER.match(found) if len(found) <= _LONGEST_NUMBER else None
    if number is None:
        raise WireError("a field of line protocol must be a number such as 0.1 or 2i, text in quotes, or true or false")
    return float(number[1]), end


def _end_of_text(text: str, place: int) -> int:
    """The position after the closing quote; a text may span several lines."""
    while True:
        end = _QUOTED.match(text, place).end()  # type: ignore[union-attr]
        here = text[end : end + 1]
        if here == '"':
            return end + 1
        if not here:
            raise WireError(_WRONG)
        place = end + 2


def _time(text: str, place: int) -> tuple[dict[str, int], int]:
    """A whole number in any unit; and the end of the line."""
    end = text.find("\n", place)
    end = len(text) if end < 0 else end
    found = text[place:end].strip(" \r")
    if not found:
        return {}, end
    digits = found.removeprefix("-")
    if not (digits.isascii() and digits.isdigit()) or len(found) > _LONGEST_TIME:
        raise WireError(_WRONG)
    return {"time": int(found)}, end


def _after(text: str, place: int, wanted: str) -> int:
    if text[place : place + 1] != wanted:
        raise WireError(_WRONG)
    return place + 1


def _spaces(text: str, place: int) -> int:
    while text[place : place + 1] == " ":
        place += 1
    return place


def write_line(name: str, values: dict[str, float], time: int) -> str:
    """Write one reading; names come from a policy."""
    fields = ",".join(f"{_escaped(key)}={float(value)!r}" for key, value in values.items())
    return f"{_escaped(name)} {fields} {time}"


def _escaped(text: str) -> str:
    return re.sub(r"([,= \\])", r"\\\1", text)
