"""Figures: drawn once, shown inline as SVG in the page's own text colour, kept as SVG and PNG files."""

import io
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import matplotlib as mpl
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from deeprotect.evaluation.results import Row
from deeprotect.signals import Channel
from deeprotect.signals.schema import Floats

INK = "#1b1f24"  # replaced by currentColor in SVG, so that one drawing serves light and dark pages
GREY = "#868e96"
# Okabe and Ito (2008): told apart by colour-blind readers, on light and on dark ground.
COLOURS = {
    "raw": GREY,
    "baseline": "#d55e00",
    "paper ldp": "#cc79a7",
    "paper rldp": "#e69f00",
    "laplace": "#0072b2",
    "subspace": "#009e73",
    "channel ldp": "#56b4e9",
    "channel named": "#8a63d2",
}
MARKERS = {
    "baseline": "s",
    "paper ldp": "^",
    "paper rldp": "v",
    "laplace": "o",
    "subspace": "D",
    "channel ldp": "P",
    "channel named": "X",
}
STYLE: dict[Any, Any] = {
    "font.family": "sans-serif",
    "font.size": 10,
    "svg.fonttype": "none",  # text stays text: it can be searched, and takes the page's font
    "text.parse_math": False,  # a column named $x$ is a column, not a formula
    "axes.spines.top": False,
    "axes.spines.right": False,
    **dict.fromkeys(("text.color", "axes.labelcolor", "axes.edgecolor", "xtick.color", "ytick.color"), INK),
}


@dataclass(frozen=True)
class Drawing:
    """A figure with a name for its files and a sentence for those who cannot see it."""

    name: str
    caption: str
    figure: Figure

    def svg(self) -> str:
        """An element to stand inside a page: no XML head, no fixed size, text in the colour around it."""
        text = self.svg_file()
        element = text[text.index("<svg") :].replace(INK, "currentColor")
        element = re.sub(r"<metadata>.*?</metadata>", "", element, flags=re.DOTALL)
        # Several drawings share one page: their element names must not meet.
        element = re.sub(r'(id="|url\(#|xlink:href="#)', rf"\g<1>{self.name}-", element)
        head, rest = element.split(">", 1)
        head = re.sub(r' (width|height)="[^"]*"', "", head)
        return f'{head} role="img">{rest}'

    def svg_file(self) -> str:
        buffer = io.StringIO()
        with mpl.rc_context({**STYLE, "svg.hashsalt": self.name}):
            self.figure.savefig(buffer, format="svg", transparent=True, metadata={"Date": None, "Creator": None})
        return buffer.getvalue()

    def png(self) -> bytes:
        buffer = io.BytesIO()
        with mpl.rc_context(STYLE):
            self.figure.savefig(buffer, format="png", dpi=144, facecolor="white", metadata={"Software": None})
        return buffer.getvalue()


def line_name(mechanism: str, guarantee: str) -> str:
    """The mechanism, with its guarantee where one mechanism gives two."""
    return f"{mechanism} {guarantee}" if mechanism in ("paper", "channel") else mechanism


def key(row: Row) -> str:
    """The name of a row's line."""
    return line_name(row.mechanism, row.guarantee)


@mpl.rc_context(STYLE)
def signal(name: str, raw: Floats, released: Floats, *, rate_hz: float, channel: Channel, caption: str) -> Drawing:
    """One channel in time over its public range, raw and released; `name` is its line's name."""
    figure, axes = _canvas(3.7, 2.2)
    seconds = np.arange(len(raw)) / rate_hz
    axes.plot(seconds, released, color=COLOURS[name], linewidth=1.6, label="released")
    axes.plot(seconds, raw, color=INK, linewidth=1.1, label="raw")
    axes.set_xlabel("seconds")
    axes.set_ylabel(f"{channel.name} ({channel.unit})")
    axes.set_ylim(channel.low, channel.high)
    axes.margins(x=0)
    return Drawing(_file_name("signal", name), caption, figure)


def useful_against_epsilon(rows: Sequence[Row], inference: str, *, caption: str) -> Drawing:
    """What the unchanged app still reads."""
    points = [(row, row.useful[inference].app, row.useful[inference].app_ci) for row in rows]
    facts = rows[0].useful[inference]
    levels = {"raw": facts.clean, "chance": facts.chance}
    return _against_epsilon(_file_name("useful", inference), points, levels=levels, caption=caption)


def sensitive_against_epsilon(rows: Sequence[Row], inference: str, *, caption: str) -> Drawing:
    """What the retrained attacker still reads."""
    points = [(row, row.sensitive[inference].adaptive, row.sensitive[inference].adaptive_ci) for row in rows]
    facts = rows[0].sensitive[inference]
    levels = {"raw": facts.raw, "chance": facts.chance}
    return _against_epsilon(_file_name("sensitive", inference), points, levels=levels, caption=caption)


Point = tuple[Row, float, tuple[float, float]]


@mpl.rc_context(STYLE)
def _against_epsilon(name: str, points: Sequence[Point], *, levels: Mapping[str, float], caption: str) -> Drawing:
    figure, axes = _canvas(4.6, 3.5)
    for line in dict.fromkeys(key(row) for row, *_ in points):
        _line(axes, line, [point for point in points if key(point[0]) == line])
    for label, level in levels.items():
        axes.axhline(level, color=GREY, linewidth=1, linestyle=(0, (4, 3)))
        axes.annotate(
            f"{label}\n{level:.2f}",
            (1, level),
            xycoords=("axes fraction", "data"),
            ha="left",
            va="center",
            xytext=(3, 0),
            textcoords="offset points",
            fontsize=8.5,
            color=GREY,
        )
    _epsilon_axis(axes, sorted({row.epsilon for row, *_ in points}))
    figure.legend(loc="outside lower center", ncols=3, frameon=False, fontsize=9)
    return Drawing(name, caption, figure)


def _line(axes: Axes, name: str, points: Sequence[Point]) -> None:
    epsilons = [row.epsilon for row, *_ in points]
    values = np.array([value for _, value, _ in points])
    low, high = np.array([interval for *_, interval in points]).T
    axes.errorbar(
        epsilons,
        values,
        yerr=[values - low, high - values],
        color=COLOURS[name],
        marker=MARKERS[name],
        markersize=5,
        capsize=2,
        linewidth=1.6,
        label=name,
    )


def _epsilon_axis(axes: Axes, epsilons: Sequence[float]) -> None:
    axes.set_xscale("log")
    axes.set_xticks(epsilons, [f"{epsilon:g}" for epsilon in epsilons])
    axes.minorticks_off()
    axes.set_ylim(0, 1)
    axes.set_xlabel("ε per window (more to the right: less noise)")
    axes.set_ylabel("accuracy")


def _file_name(kind: str, name: str) -> str:
    """For files and element names: whatever a column is called."""
    return f"{kind}-{re.sub(r'[^A-Za-z0-9_]+', '-', name)}"


def _canvas(width: float, height: float) -> tuple[Figure, Axes]:
    figure = Figure(figsize=(width, height), layout="constrained")
    return figure, figure.subplots()
