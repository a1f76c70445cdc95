"""Influx line protocol: `imu,host=a acc_x=0.1,acc_y=2i 1794866981323219180`, a reading a line; tags are not read."""

import re
from typing import Any

from deeprotect.errors import WireError

NAME = "deeprotect"  # the measurement under which released values leave
_TEXT = r'"(?:[^"\\]|\\.)*"'
_KEY = r"(?:[^,= \\]|\\.)+"
_LINE = re.compile(
    rf"(?P<name>(?:[^, \\]|\\.)+)(?P<tags>(?:,{_KEY}={_KEY})*) +"
    rf"(?P<fields>{_KEY}=(?:{_TEXT}|[^, \"]+)(?:,{_KEY}=(?:{_TEXT}|[^, \"]+))*)(?: +(?P<time>-?[0-9]+))? *\Z"
)
_FIELD = re.compile(rf"({_KEY})=({_TEXT}|[^, \"]+),?")
_NUMBER = re.compile(r"([-+]?[0-9]*\.?[0-9]+(?:[eE][-+]?[0-9]{1,3})?|[-+]?[0-9]+\.)([iu]?)\Z")
_BOOLEANS = frozenset({"t", "T", "true", "True", "TRUE", "f", "F", "false", "False", "FALSE"})
_LONGEST_NUMBER = 40
_ESCAPED = re.compile(r"\\([,= \\])")


def read_lines(text: str) -> list[dict[str, Any]]:
    """A record for each line: its fields by name, the measurement with all of them, and the time, if it has one."""
    return [_record(line.rstrip("\r")) for line in text.split("\n") if line.strip() and not line.startswith("#")]


def _record(line: str) -> dict[str, Any]:
    found = _LINE.match(line)
    if found is None:
        raise WireError("a line must be line protocol: measurement,tag=… field=0.1,field=0.2 nanoseconds")
    fields = {_plain(key): _value(value) for key, value in _FIELD.findall(found["fields"])}
    time = {} if found["time"] is None else {"time": int(found["time"][:_LONGEST_NUMBER])}
    return {**fields, _plain(found["name"]): fields, **time}


def write_line(name: str, values: dict[str, float], time: int) -> str:
    """One reading; names are those of a policy."""
    fields = ",".join(f"{_escaped(key)}={float(value)!r}" for key, value in values.items())
    return f"{_escaped(name)} {fields} {time}"


def _value(text: str) -> Any:
    """A number; text and truth are no readings, and are kept as what no channel takes."""
    if text.startswith('"') or text in _BOOLEANS:
        return text
    found = _NUMBER.match(text) if len(text) <= _LONGEST_NUMBER else None
    if found is None:
        raise WireError("a field of line protocol must be a number such as 0.1 or 2i, text in quotes, or true or false")
    return float(found[1])


def _plain(text: str) -> str:
    return _ESCAPED.sub(r"\1", text)


def _escaped(text: str) -> str:
    return re.sub(r"([,= \\])", r"\\\1", text)
