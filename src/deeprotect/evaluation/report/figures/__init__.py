"""Drawings of results: each can stand inside a page and as a file of its own."""

from deeprotect.evaluation.report.figures.accuracies import (
    pooled,
    sensitive_against_epsilon,
    useful_against_epsilon,
    useful_against_sensitive,
)
from deeprotect.evaluation.report.figures.curves import Series, bars, lines
from deeprotect.evaluation.report.figures.drawing import GREY, INK, STYLE, Drawing, file_name
from deeprotect.evaluation.report.figures.holds import held, hourly
from deeprotect.evaluation.report.figures.matrices import confusion
from deeprotect.evaluation.report.figures.palette import LOOKS
from deeprotect.evaluation.report.figures.signals import signal
from deeprotect.evaluation.report.figures.stranger_bars import strangers

__all__ = [
    "GREY",
    "INK",
    "LOOKS",
    "STYLE",
    "Drawing",
    "Series",
    "bars",
    "confusion",
    "file_name",
    "held",
    "hourly",
    "lines",
    "pooled",
    "sensitive_against_epsilon",
    "signal",
    "strangers",
    "useful_against_epsilon",
    "useful_against_sensitive",
]
