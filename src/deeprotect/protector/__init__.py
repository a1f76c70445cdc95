"""The whole way behind a few verbs, for Python: train, load, protect, stream."""

from deeprotect.protector.protector import Protector, Release

__all__ = ["Protector", "Release"]
