"""The bundles that a gateway serves, by name; one that was replaced is loaded anew, for sessions that begin later."""

import time
from dataclasses import dataclass, replace
from pathlib import Path

from deeprotect.bundle import Bundle
from deeprotect.bundle.store import MANIFEST
from deeprotect.errors import BundleError, InputError, printable
from deeprotect.signals import Channel, Schema

LOOK_SECONDS = 1.0  # between looks at the disk


@dataclass(frozen=True)
class _Loaded:
    bundle: Bundle
    version: tuple[int, ...]
    looked: float


class Bundles:
    """Each is checked whenever it is loaded; one that cannot be loaded is not served, whatever it was before."""

    def __init__(self, paths: dict[str, Path]) -> None:
        if not paths:
            raise InputError("a gateway needs a bundle; give --bundle")
        self._paths = paths
        self._loaded: dict[str, _Loaded] = {}
        for name in paths:
            self.get(name)
        self.channels()

    def names(self) -> list[str]:
        return list(self._paths)

    def get(self, name: str) -> Bundle:
        """As it is on disk, or was a second ago."""
        if name not in self._paths:
            raise BundleError(
                f"no bundle '{printable(name)}' here; it serves: {printable(', '.join(self._paths), 300)}"
            )
        loaded, now = self._loaded.get(name), time.monotonic()
        if loaded is None or now - loaded.looked > LOOK_SECONDS:
            loaded = self._looked(name, loaded, now)
        return loaded.bundle

    def _looked(self, name: str, loaded: _Loaded | None, now: float) -> _Loaded:
        version = _version(self._paths[name])
        if loaded is None or loaded.version != version:
            self._loaded.pop(name, None)
            loaded = _Loaded(Bundle.load(self._paths[name]), version, now)
        self._loaded[name] = replace(loaded, looked=now)
        return self._loaded[name]

    def channels(self) -> Schema:
        """All channels that any of them reads: what may come in at all. One name means one unit."""
        found: dict[str, Channel] = {}
        bundles = [self.get(name) for name in self._paths]
        for channel in (channel for bundle in bundles for channel in bundle.schema.channels):
            before = found.setdefault(channel.name, channel)
            if before.unit != channel.unit:
                raise InputError(
                    f"channel '{printable(channel.name)}' is in {before.unit} for one bundle and in {channel.unit} for "
                    "another; serve them from two gateways"
                )
        first = bundles[0].schema
        return Schema(tuple(found.values()), first.rate_hz, first.window)


def _version(path: Path) -> tuple[int, ...]:
    """What changes when a bundle is written anew: it is never changed in place."""
    try:
        stat = (path / MANIFEST if path.is_dir() else path).stat()
    except OSError:
        return ()
    return stat.st_mtime_ns, stat.st_size, stat.st_ino
