"""Feeds that the gateway opens itself, because somebody asked for them: a broker, addresses of apps."""

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager

from deeprotect.gateway.feeds.broker import Broker
from deeprotect.gateway.feeds.push import pushing
from deeprotect.gateway.mediation.gateway import Gateway
from deeprotect.gateway.mediation.gateway_settings import Settings
from deeprotect.gateway.mediation.intake import Intake


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
            from deeprotect.gateway.feeds.mqtt import bridged

            await feeds.enter_async_context(bridged(gateway, intake, broker))
        yield
