"""Connections that ask for nothing, or never end their question: they are closed, so that they cannot pile up."""

import time
from collections.abc import Callable, Iterable
from typing import Any

HEAD_SECONDS = 45.0  # for the head of a request; longer than an idle connection is kept


class Silence:
    """Since when each connection of the server has asked for nothing."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._since: dict[Any, float] = {}

    def close_long(self, connections: Iterable[Any]) -> None:
        """To be called once in a while; connections are uvicorn's protocols, those of WebSockets ask all the time."""
        now = self._clock()
        silent = [each for each in connections if _asks_nothing(each)]
        self._since = {each: self._since.get(each, now) for each in silent}
        for each, since in self._since.items():
            if now - since > HEAD_SECONDS:
                each.transport.close()


def _asks_nothing(connection: Any) -> bool:
    if not hasattr(connection, "cycle"):
        return False
    return connection.cycle is None or bool(connection.cycle.response_complete)
