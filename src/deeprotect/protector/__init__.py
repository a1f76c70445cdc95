"""The whole pipe behind a few verbs, for Python: fit, protect, release, stream."""

from deeprotect.protector.protector import Protector
from deeprotect.protector.released_table import ReleasedTable

__all__ = ["Protector", "ReleasedTable"]
