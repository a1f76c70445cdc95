"""Sensor streams: channels with units and public ranges, and windows cut from them."""

from deeprotect.signals.schema import Channel, Schema
from deeprotect.signals.windowing import Frame, Hold, RecordingName, Run, Windower, Windows, cut

__all__ = ["Channel", "Frame", "Hold", "RecordingName", "Run", "Schema", "Windower", "Windows", "cut"]
