"""Feeds that the gateway opens itself, because somebody asked for them: a broker, addresses of apps."""

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager

from deeprotect.gateway.broker import Broker
from deeprotect.gateway.gateway import Gateway
from deeprotect.gateway.intake import Intake
from deeprotect.gateway.push import pushing
from deeprotect.gateway.settings import Settings


def broker_of(settings: Settings) -> Broker | None:
    """The broker that was asked for, or one line on what is wrong with it."""
    if settings.mqtt is None:
        return None
    return Broker.at(settings.mqtt, password=settings.mqtt_password, ca=settings.mqtt_ca)


@asynccontextmanager
async def feeding(gateway: Gateway, intake: Intake) -> AsyncIterator[None]:
    """While the server runs."""
    async with AsyncExitStack() as feeds:
        await feeds.enter_async_context(pushing(gateway))
        broker = broker_of(gateway.settings)
        if broker is not None:
            from deeprotect.gateway.mqtt import bridged

            await feeds.enter_async_context(bridged(gateway, intake, broker))
        yield
