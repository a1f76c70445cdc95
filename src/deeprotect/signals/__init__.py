"""Sensor streams: channels with units and public ranges, and windows cut from them."""

from deeprotect.signals.channel import Channel
from deeprotect.signals.episodes import Hold
from deeprotect.signals.schema import Schema
from deeprotect.signals.windowing import Cutter, cut
from deeprotect.signals.windows import Frame, Run, Windows

__all__ = ["Channel", "Cutter", "Frame", "Hold", "Run", "Schema", "Windows", "cut"]
