"""Sensor streams: channels with units and public ranges, and windows cut from them."""

from deeprotect.signals.episodes import Hold
from deeprotect.signals.schema import Channel, Schema
from deeprotect.signals.windowing import Frame, RecordingName, Run, Windower, Windows, cut

__all__ = ["Channel", "Frame", "Hold", "RecordingName", "Run", "Schema", "Windower", "Windows", "cut"]
