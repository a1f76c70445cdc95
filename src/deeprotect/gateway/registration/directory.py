"""The registry as the gateway sees it: read once in a while, asked all the time."""

from collections.abc import Sequence

from deeprotect.gateway.registration.device_registry import App, Device, Known, Registry
from deeprotect.gateway.registration.tokens import token_hash

REFRESH_SECONDS = 1.0


class Directory:
    """Who may send and who may have what; what was revoked is gone with the next reading, a second later at most."""

    def __init__(self, registry: Registry) -> None:
        self._registry = registry
        self._use(registry.known())

    def refresh(self) -> None:
        """Read it again; when that fails, what was known stays, and no draw can be paid for."""
        known = self._registry.known()
        if known is not self._known:
            self._use(known)

    def device_of(self, token: str) -> Device | None:
        return self._known.devices.get(token_hash(token))

    def app_of(self, token: str) -> App | None:
        return self._known.apps.get(token_hash(token))

    def device(self, stream: str) -> Device | None:
        return self._devices.get(stream)

    def apps_of(self, stream: str) -> Sequence[App]:
        return self._apps.get(stream, ())

    def apps(self) -> list[App]:
        return list(self._known.apps.values())

    def devices(self) -> list[Device]:
        return list(self._known.devices.values())

    def _use(self, known: Known) -> None:
        apps: dict[str, list[App]] = {}
        for app in known.apps.values():
            apps.setdefault(app.stream, []).append(app)
        self._known, self._apps = known, apps
        self._devices = {device.stream: device for device in known.devices.values()}
