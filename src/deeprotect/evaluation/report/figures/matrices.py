"""Confusion matrices: how often each class was taken for each."""

import matplotlib as mpl
import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import to_rgb

from deeprotect.evaluation.report.figures.drawing import STYLE, Drawing, canvas, file_name, short
from deeprotect.evaluation.results import Confusion
from deeprotect.signals.schema import Floats

NUMBERED = 12
"""Classes up to which each cell holds its number; more would not be readable."""
_NAMED = 32
_LONGEST = 14
_SHADES = {"app": "#0072b2", "attacker": "#d55e00"}


@mpl.rc_context(STYLE)
def confusion(kind: str, inference: str, confusion: Confusion, *, caption: str) -> Drawing:
    """Shares of each true class (row); `kind` is who reads: the app or an attacker."""
    counts = np.array(confusion.counts, dtype=float)
    shares = counts / np.maximum(1.0, counts.sum(axis=1, keepdims=True))
    figure, axes = canvas(4.8, min(4.4, 2.4 + 0.2 * len(counts)))
    # One colour, more or less transparent: that reads on light and on dark ground. By the root of the share, so
    # that predictions spread over many classes can still be seen.
    shade = np.broadcast_to(to_rgb(_SHADES[kind]), (*shares.shape, 3))
    axes.imshow(np.dstack([shade, 0.7 * np.sqrt(shares)]), interpolation="none", aspect="equal")
    if len(counts) <= NUMBERED:
        _numbers(axes, shares)
    _names(axes, confusion)
    axes.set_xlabel("read as")
    axes.set_ylabel("truly")
    return Drawing(file_name(kind, inference), caption, figure)


def _numbers(axes: Axes, shares: Floats) -> None:
    for (row, column), share in np.ndenumerate(shares):
        axes.text(column, row, f"{100 * share:.0f}", ha="center", va="center", fontsize=8.5)


def _names(axes: Axes, confusion: Confusion) -> None:
    size = len(confusion.classes)
    axes.tick_params(length=0)
    axes.spines[:].set_visible(False)
    if size > _NAMED:
        axes.set_xticks([])
        axes.set_yticks([])
        return
    names = [short(name, _LONGEST) for name in confusion.classes]
    font = min(8.5, 190 / size)  # points, of about 250 that the axes measure
    axes.set_xticks(range(size), names, rotation=90 if max(map(len, names)) > 2 else 0, fontsize=font)
    axes.set_yticks(range(size), names, fontsize=font)
