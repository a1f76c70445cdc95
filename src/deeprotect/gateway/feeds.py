"""Feeds that the gateway opens itself, because somebody asked for them: a broker, addresses of apps."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from deeprotect.gateway.gateway import Gateway
from deeprotect.gateway.intake import Intake


@asynccontextmanager
async def feeding(gateway: Gateway, intake: Intake) -> AsyncIterator[None]:
    """While the server runs."""
    del gateway, intake
    yield
