"""The wire formats: one table of what is read, by what it looks like, and one of what is written, by name."""

import time
from collections.abc import Callable, Mapping
from typing import Any, Literal, get_args

from deeprotect.gateway.wire import channel_columns, records, sensor_logger, strict_json
from deeprotect.gateway.wire.message import Message, ReleasedWindow
from deeprotect.gateway.wire.sensor_layout import settings_of
from deeprotect.signals.schema import Schema

Form = Literal["rows", "flat", "sensor-logger", "arrow", "line-protocol", "home-assistant"]
USUAL: Form = "sensor-logger"
"""What is brought to an app that was registered without a form."""
FORMS: tuple[Form, ...] = get_args(Form)
JSON_TYPE, ARROW_TYPE = "application/json", "application/vnd.apache.arrow.stream"
LINES_TYPE, TEXT_TYPE = "application/x-ndjson", "text/plain; charset=utf-8"


_WRITERS: dict[Form, tuple[Callable[[ReleasedWindow], bytes], str]] = {
    "rows": (channel_columns.columns, JSON_TYPE),
    "flat": (channel_columns.flat, LINES_TYPE),
    "sensor-logger": (sensor_logger.write, JSON_TYPE),
    "arrow": (channel_columns.arrow, ARROW_TYPE),
    "line-protocol": (channel_columns.lines, TEXT_TYPE),
    "home-assistant": (channel_columns.latest, JSON_TYPE),
}
_BY_LINES = ("flat", "line-protocol")


def read(body: bytes, schema: Schema, sensors: Mapping[str, Any], *, came_ns: int | None = None) -> Message:
    """By what it looks like, whatever its sender calls it; `came_ns` is when it came, for a device without a clock."""
    came = time.time_ns() if came_ns is None else came_ns
    text, settings = strict_json.decoded(body), settings_of(sensors)
    if text.strip() in records.ABSENT:  # a topic that carries a bare state
        return Message("", ())
    if records.is_line_protocol(text):
        sent = records.from_lines(text, schema, settings, came_ns=came)
    else:
        message = strict_json.parse(text)
        if isinstance(message, dict) and "payload" in message and not settings.fields:
            return sensor_logger.from_json(message, schema, sensors)
        sent = records.from_json(message, schema, settings, came_ns=came)
    return Message(sent.session, channel_columns.readings_of(sent.times_ns, sent.columns, schema, sensors=sensors))


def write(window: ReleasedWindow, form: Form) -> bytes:
    """One window, whole."""
    return _WRITERS[form][0](window)


def write_messages(window: ReleasedWindow, form: Form) -> list[bytes]:
    """The same for a broker: a form that has a line for each reading is as many messages."""
    body = write(window, form)
    return body.split(b"\n") if form in _BY_LINES else [body]


def content_type_of(form: Form) -> str:
    return _WRITERS[form][1]
