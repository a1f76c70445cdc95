"""The wire formats by content type and by name."""

from collections.abc import Callable, Mapping
from typing import Any, Literal

from deeprotect.gateway.wire import arrow_ipc, rows_json, sensor_logger, strict_json
from deeprotect.gateway.wire.message import Message, ReleasedWindow
from deeprotect.signals.schema import Schema

Form = Literal["rows", "sensor-logger", "arrow"]
JSON_TYPE, ARROW_TYPE = "application/json", "application/vnd.apache.arrow.stream"
_ARROW_TYPES = (ARROW_TYPE, "application/vnd.apache.arrow.file")
_WRITERS: dict[Form, Callable[[ReleasedWindow], bytes]] = {
    "rows": rows_json.write,
    "sensor-logger": sensor_logger.write,
    "arrow": arrow_ipc.write,
}
FORMS: tuple[Form, ...] = tuple(_WRITERS)


def read(body: bytes, content_type: str | None, schema: Schema, sensors: Mapping[str, Any]) -> Message:
    """Arrow by its type; everything else is JSON, of the phone app where it has a payload."""
    if (content_type or "").partition(";")[0].strip().lower() in _ARROW_TYPES:
        return arrow_ipc.read(body, schema, sensors)
    message = strict_json.parse(body)
    from_json = sensor_logger.from_json if isinstance(message, dict) and "payload" in message else rows_json.from_json
    return from_json(message, schema, sensors)


def write(window: ReleasedWindow, form: Form) -> bytes:
    """One whole message."""
    return _WRITERS[form](window)


def content_type_of(form: Form) -> str:
    return ARROW_TYPE if form == "arrow" else JSON_TYPE
