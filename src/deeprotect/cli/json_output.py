"""JSON that every reader takes: what is no finite number is null."""

import json
import math
from collections.abc import Mapping
from typing import Any


def json_text(content: Any, *, indent: int | None = 1) -> str:
    return json.dumps(_plain(content), indent=indent, ensure_ascii=False, allow_nan=False)


def _plain(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value
