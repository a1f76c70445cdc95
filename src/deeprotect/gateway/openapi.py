"""What the service says about itself in OpenAPI: what a message may look like, and what is answered."""

from typing import Any

from deeprotect.gateway.wire.formats import ARROW_TYPE, JSON_TYPE

LINES_TYPE, TEXT_TYPE = "application/x-ndjson", "text/plain"
_TIME = {"type": "integer", "minimum": 0, "maximum": 2**62 - 1, "description": "nanoseconds of UTC since 1970"}
_NAME = {"type": "string", "maxLength": 200, "pattern": "^[A-Za-z0-9._-]*$"}
_LIST = {"type": "array", "items": {"type": ["number", "null"]}}
_COLUMNS = {
    "type": "object",
    "description": "a list for the time, and one of the same length for each channel of the policy",
    "properties": {"session": _NAME, "time": {"type": "array", "items": _TIME}},
    "required": ["time"],
    "additionalProperties": _LIST,
}
_READING = {
    "type": "object",
    "properties": {
        "name": {"type": "string"},
        "time": _TIME,
        "values": {"type": "object", "additionalProperties": {"type": "number"}},
    },
    "required": ["name", "time", "values"],
}
_PUSHED = {
    "type": "object",
    "description": "as the phone app Sensor Logger pushes it",
    "properties": {
        "messageId": {"type": "integer"},
        "sessionId": _NAME,
        "payload": {"type": "array", "items": _READING},
    },
    "required": ["payload"],
}
MESSAGE: dict[str, Any] = {
    "requestBody": {
        "required": True,
        "content": {
            JSON_TYPE: {"schema": {"anyOf": [_COLUMNS, _PUSHED]}},
            ARROW_TYPE: {"schema": {"type": "string", "format": "binary"}},
        },
    }
}
ACCEPTED: dict[str, Any] = {
    "description": "readings that were in time",
    "content": {
        JSON_TYPE: {"schema": {"type": "object", "properties": {"accepted": {"type": "integer", "minimum": 0}}}}
    },
}
RELEASED: dict[str, Any] = {
    "description": "released windows, as they are made",
    "content": {kind: {"schema": {"type": "string"}} for kind in (LINES_TYPE, ARROW_TYPE)},
}


def said(why: str) -> dict[str, Any]:
    """A refusal: one line of text."""
    return {"description": why, "content": {TEXT_TYPE: {"schema": {"type": "string"}}}}
