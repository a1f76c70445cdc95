"""The bundles that a gateway serves, by name: those that it was started with, until it is started again."""

from pathlib import Path
from typing import Any

from deeprotect.bundle import Bundle, signing
from deeprotect.bundle.store import MANIFEST
from deeprotect.errors import BundleError, InputError, printable
from deeprotect.signals import Channel, Schema


class Bundles:
    """Loaded and checked once, with `key` only if its owner signed them; what is put in their place is not taken up."""

    def __init__(self, paths: dict[str, Path], *, key: Any = None) -> None:
        if not paths:
            raise InputError("a gateway needs a bundle; give --bundle")
        self._paths = paths
        self._versions = {name: _version(path) for name, path in paths.items()}
        self._loaded = {name: _load(path, key) for name, path in paths.items()}
        self.channels()

    def names(self) -> list[str]:
        return list(self._paths)

    def get(self, name: str) -> Bundle:
        if name not in self._loaded:
            raise BundleError(
                f"no bundle '{printable(name)}' here; it serves: {printable(', '.join(self._paths), 300)}"
            )
        return self._loaded[name]

    def replaced(self) -> set[str]:
        """Names of those that are not on disk any more as they were loaded: an operator's restart takes up what is."""
        return {name for name, version in self._versions.items() if _version(self._paths[name]) != version}

    def channels(self) -> Schema:
        """All channels that any of them reads: what may come in at all. One name means one unit."""
        found: dict[str, Channel] = {}
        bundles = list(self._loaded.values())
        for channel in (channel for bundle in bundles for channel in bundle.schema.channels):
            before = found.setdefault(channel.name, channel)
            if before.unit != channel.unit:
                raise InputError(
                    f"channel '{printable(channel.name)}' is in {before.unit} for one bundle and in {channel.unit} for "
                    "another; serve them from two gateways"
                )
        first = bundles[0].schema
        return Schema(tuple(found.values()), first.rate_hz, first.window)


def _load(path: Path, key: Any) -> Bundle:
    return Bundle.load(path) if key is None else signing.load(path, key=key)


def _version(path: Path) -> tuple[int, ...]:
    """What changes when a bundle is written anew: it is never changed in place."""
    try:
        stat = (path / MANIFEST if path.is_dir() else path).stat()
    except OSError:
        return ()
    return stat.st_mtime_ns, stat.st_size, stat.st_ino
