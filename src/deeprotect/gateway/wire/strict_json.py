"""Strict parsing of untrusted JSON: UTF-8, no duplicate keys, no NaN, no endless numbers; errors quote nothing."""

import json
import re
from collections.abc import Mapping
from typing import Any

import numpy as np

from deeprotect.errors import WireError
from deeprotect.privacy.size_limits import is_name
from deeprotect.signals.schema import Floats

_LONGEST_NAME = 200
_LONGEST_NUMBER = 40
_NUMBER = re.compile(r"-?[0-9]+(\.[0-9]+)?([eE][-+]?[0-9]{1,3})?\Z")


def decoded(body: bytes) -> str:
    """Decode a message."""
    try:
        return body.decode("utf-8")
    except UnicodeDecodeError:
        raise WireError("the message is not UTF-8; send JSON in UTF-8") from None


def parse(message: str) -> Any:
    """Parse one JSON text, or one on each line as a list."""
    try:
        return _loads(message)
    except ValueError:  # also for numbers with too many digits for Python
        lines = [line for line in message.splitlines() if line.strip()]
    try:
        if len(lines) > 1 and all(line.startswith(("{", "[")) for line in lines):
            return [_loads(line) for line in lines]
    except ValueError:
        pass
    raise WireError("the message is not JSON; send one JSON text, or one on each line")


def _loads(message: str) -> Any:
    try:
        return json.loads(message, object_pairs_hook=_object, parse_constant=_refuse_constant)
    except RecursionError:
        raise WireError("the message is nested too deeply; send one of the documented forms") from None


def text(message: Mapping[str, Any]) -> bytes:
    """A message as one line; arrays become lists. The caller ensures that all numbers are finite, as JSON requires."""
    import orjson  # reading, as in a pipe, needs no extra

    return orjson.dumps(message, option=orjson.OPT_SERIALIZE_NUMPY)


def numbers(values: list[Any], what: str) -> Floats:
    """Finite numbers as float64."""
    if not set(map(type, values)) <= {float, int}:
        raise WireError(f"{what} must be numbers; send JSON numbers, not text, true or lists")
    try:
        found = np.array(values, dtype=np.float64)
    except OverflowError:
        raise WireError(f"{what} must be numbers that a sensor can read; one is too large") from None
    return finite(found, what)


def finite(found: Floats, what: str) -> Floats:
    """Return the values unless something overflowed."""
    if not np.isfinite(found).all():
        raise WireError(f"{what} must be numbers that a sensor can read; one is too large or missing")
    return found


def number_in(text: Any) -> Any:
    """Parse a number written as text; return anything else unchanged."""
    return float(text) if isinstance(text, str) and len(text) <= _LONGEST_NUMBER and _NUMBER.match(text) else text


def session_name(value: Any) -> str:
    """The producer's name for the session; it never leaves the gateway."""
    if value is None:
        return ""
    if not isinstance(value, str) or (value and not is_name(value, longest=_LONGEST_NAME)):
        raise WireError(f"a session's name must be one printable line of at most {_LONGEST_NAME} characters")
    return value


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise WireError("an object of the message has a key twice; send each key once")
    return found


def _refuse_constant(_: str) -> Any:
    raise WireError("the message has NaN or Infinity, which are not JSON; leave such readings out")
