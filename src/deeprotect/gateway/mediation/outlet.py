"""What apps get, from whichever process has it."""

from collections.abc import AsyncGenerator, AsyncIterator

from deeprotect.gateway.mediation.frames import Header
from deeprotect.gateway.mediation.gateway import Gateway
from deeprotect.gateway.registration.device_registry import App
from deeprotect.gateway.wire.formats import Form, write


async def outlet(gateway: Gateway, app: App, form: Form) -> AsyncGenerator[bytes]:
    """Messages of an app as they are released, in one form; ends when the app is revoked or the gateway stops."""
    owner = gateway.place.owner(app.stream)
    if owner == gateway.place.index:
        with gateway.mediator.subscribe(app) as windows:
            async for window in windows:
                yield write(window, form)
        return
    async for part in gateway.peers.feed(owner, {"stream": app.stream, "app": app.name, "form": form}):
        yield part


async def fed(gateway: Gateway, header: Header) -> AsyncIterator[bytes]:
    """For another process whose app it is."""
    apps = (app for app in gateway.directory.apps_of(header["stream"]) if app.name == header["app"])
    for app in apps:
        async for part in outlet(gateway, app, header["form"]):
            yield part
