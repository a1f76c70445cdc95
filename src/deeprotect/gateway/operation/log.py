"""The operator's log: JSON lines on standard error, without samples, tokens or addresses."""

import asyncio
import json
import logging
import sys
import time
import traceback
from collections import deque
from collections.abc import AsyncIterator, Coroutine
from contextlib import asynccontextmanager, suppress
from datetime import UTC, datetime
from typing import Any

from deeprotect.errors import printable

unkept: deque[tuple[datetime, str, dict[str, Any]]] = deque(maxlen=1000)
"""Events not yet stored for the console; the database may be what fails."""


def event(what: str, **facts: Any) -> None:
    """Log an event for the operator."""
    now = datetime.now(UTC)
    line = {"time": now.isoformat(timespec="milliseconds"), "event": what}
    shown = {name: printable(value, 300) if isinstance(value, str) else value for name, value in facts.items()}
    unkept.append((now, what, shown))
    with suppress(OSError, ValueError):  # a full disk or a closed pipe stops only the log
        print(json.dumps(line | shown, ensure_ascii=True), file=sys.stderr, flush=True)


_said: dict[str, float] = {}


def event_seldom(what: str, **facts: Any) -> None:
    """Log an event that may recur with every batch, at most once a second."""
    now = time.monotonic()
    if now - _said.get(what, -1.0) >= 1.0:
        _said[what] = now
        event(what, **facts)


class Trouble:
    """A lasting problem, logged when it begins, when its reason changes, and when it ends."""

    def __init__(self, begins: str, over: str, *, reason: str | None = None) -> None:
        self._begins, self._over, self._reason = begins, over, reason

    def tell(self, reason: str | None, **facts: Any) -> None:
        """Report the current reason; None if there is no problem."""
        if reason == self._reason:
            return
        self._reason = reason
        event(self._over, **facts) if reason is None else event(self._begins, reason=reason, **facts)


@asynccontextmanager
async def beside(*work: Coroutine[None, None, None]) -> AsyncIterator[None]:
    """Run coroutines in the background; each reports its own errors."""
    tasks = [asyncio.create_task(each) for each in work]
    try:
        yield
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


def failure(what: str, error: BaseException) -> None:
    """Log an unforeseen error: its type and place, but not its text, which may quote a sample."""
    frames = traceback.extract_tb(error.__traceback__)
    place = f"{frames[-1].filename.rpartition('deeprotect/')[2]}:{frames[-1].lineno}" if frames else ""
    event(what, kind=type(error).__name__, place=place)


class JsonHandler(logging.Handler):
    """Log records of the server in the same form; only the type of an exception."""

    def emit(self, record: logging.LogRecord) -> None:
        if record.exc_info and record.exc_info[1] is not None:
            failure("server", record.exc_info[1])
        elif record.levelno >= logging.WARNING:
            event("server", level=record.levelname.lower(), text=str(record.msg).split("%")[0])


LOGGING: dict[str, Any] = {
    "version": 1,
    "disable_existing_loggers": False,
    "handlers": {"json": {"class": "deeprotect.gateway.operation.log.JsonHandler"}},
    "root": {"handlers": ["json"], "level": "WARNING"},
    "loggers": {
        "uvicorn": {"handlers": ["json"], "level": "WARNING", "propagate": False},
        "uvicorn.error": {"level": "WARNING"},
        "uvicorn.access": {"handlers": [], "level": "CRITICAL", "propagate": False},
        "mqtt": {"handlers": ["json"], "level": "WARNING", "propagate": False},
    },
}
"""uvicorn's logging configuration, without a line per request, because addresses contain tokens."""
