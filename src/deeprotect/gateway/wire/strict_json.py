"""JSON as strangers send it: UTF-8, no key twice, no NaN, no number without end; a refusal quotes nothing of it."""

import json
from collections.abc import Mapping
from typing import Any

import numpy as np
import orjson

from deeprotect.errors import WireError
from deeprotect.privacy.names import is_name
from deeprotect.signals.schema import Floats
from deeprotect.signals.ticks import Nanoseconds

LATEST_NS = 2**62  # the year 2116: differences of two stamps stay inside 64 bits
_MOST_DIGITS = 19
_LONGEST_NAME = 200


def parse(body: bytes) -> Any:
    """One JSON text."""
    try:
        return json.loads(body.decode("utf-8"), object_pairs_hook=_object, parse_constant=_refuse_constant)
    except UnicodeDecodeError:
        raise WireError("the message is not UTF-8; send JSON in UTF-8") from None
    except RecursionError:
        raise WireError("the message nests too deeply; send it as it is documented") from None
    except ValueError:  # also a number of more digits than Python reads
        raise WireError("the message is not JSON; send one JSON text for each message") from None


def text(message: Mapping[str, Any]) -> bytes:
    """A message as one line; arrays are lists. The caller knows that all numbers are finite: JSON has no others."""
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
    """The same, unless something overflowed on the way."""
    if not np.isfinite(found).all():
        raise WireError(f"{what} must be numbers that a sensor can read; one is too large or missing")
    return found


def stamps(values: list[Any]) -> Nanoseconds:
    """Whole nanoseconds since 1970, as JSON integers or as text of digits; never through a float."""
    kinds = set(map(type, values))
    if str in kinds:
        values = [_whole(value) for value in values]
    elif not kinds <= {int}:
        raise _wrong_time()
    try:
        return in_range(np.array(values, dtype=np.int64))
    except OverflowError:
        raise _wrong_time() from None


def in_range(times_ns: Nanoseconds) -> Nanoseconds:
    """The same, if all lie between 1970 and 2116."""
    if len(times_ns) and not (times_ns.min() >= 0 and times_ns.max() < LATEST_NS):
        raise _wrong_time()
    return times_ns


def session_name(value: Any) -> str:
    """What the producer calls the session; it never leaves the gateway."""
    if value is None:
        return ""
    if not isinstance(value, str) or (value and not is_name(value, longest=_LONGEST_NAME)):
        raise WireError(f"a session's name must be one printable line of at most {_LONGEST_NAME} characters")
    return value


def _whole(value: Any) -> int:
    if type(value) is int:
        return value
    if isinstance(value, str) and len(value) <= _MOST_DIGITS and value.isascii() and value.isdigit():
        return int(value)
    raise _wrong_time()


def _wrong_time() -> WireError:
    return WireError("a time must be whole nanoseconds of UTC since 1970: an integer without decimals or exponent")


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise WireError("the message has a key twice in one object; send each once")
    return found


def _refuse_constant(_: str) -> Any:
    raise WireError("the message has NaN or Infinity, which JSON does not; leave such readings out")
