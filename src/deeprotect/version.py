"""The version of this package, read from its metadata."""

from importlib.metadata import version

__version__ = version("deeprotect")
