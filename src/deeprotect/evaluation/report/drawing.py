"""A figure, drawn once and stored as SVG and PNG; and the line charts of shares that many figures use."""

import hashlib
import io
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from html import escape
from typing import Any

import matplotlib as mpl
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import PercentFormatter

from deeprotect.evaluation.methods import BY_LINE, Look
from deeprotect.signals.schema import Floats

INK = "#1b1f24"  # replaced by currentColor in SVG, so that one drawing serves light and dark pages
GREY = "#868e96"
STYLE: dict[Any, Any] = {
    "font.family": "sans-serif",
    "font.size": 10,
    "svg.fonttype": "none",  # text stays text: it can be searched, and takes the page's font
    "text.parse_math": False,  # a column named $x$ is a column, not a formula
    "axes.spines.top": False,
    "axes.spines.right": False,
    **dict.fromkeys(("text.color", "axes.labelcolor", "axes.edgecolor", "xtick.color", "ytick.color"), INK),
}
LEGEND_ROW = 0.21
"""Height in inches of a legend row below the axes."""
_LONGEST = 60


@dataclass(frozen=True)
class Drawing:
    """A figure with a name for its files and an alternative text."""

    name: str
    caption: str
    figure: Figure

    def __post_init__(self) -> None:
        if not re.fullmatch(r"[\w-]+", self.name, flags=re.ASCII):
            raise ValueError(f"{self.name!r} cannot name a file; make the name with file_name()")

    def svg(self) -> str:
        """An SVG element for a page: no XML head, no fixed size, text in the surrounding colour."""
        text = self.svg_file()
        element = text[text.index("<svg") :].replace(INK, "currentColor")
        element = re.sub(r"<metadata>.*?</metadata>", "", element, flags=re.DOTALL)
        # Several figures share one page, so their element ids must be distinct.
        element = re.sub(r'(id="|url\(#|xlink:href="#)', rf"\g<1>{self.name}-", element)
        head, rest = element.split(">", 1)
        head = re.sub(r' (width|height)="[^"]*"', "", head)
        return f'{head} role="img" aria-label="{escape(self.caption)}">{rest}'

    def svg_file(self) -> str:
        return self._text

    @cached_property
    def _text(self) -> str:
        """Rendered once, for the file and for the page: the slowest part of a report."""
        buffer = io.StringIO()
        with mpl.rc_context({**STYLE, "svg.hashsalt": f"drawing {self.name}"}):
            self.figure.savefig(buffer, format="svg", transparent=True, metadata={"Date": None, "Creator": None})
        return buffer.getvalue()

    def png(self) -> bytes:
        buffer = io.BytesIO()
        with mpl.rc_context(STYLE):
            self.figure.savefig(buffer, format="png", dpi=144, facecolor="white", metadata={"Software": None})
        return buffer.getvalue()


def file_name(kind: str, *names: str) -> str:
    """A name for files and elements; different column names never share one."""
    return f"{kind}-{'--'.join(map(_slug, names))}"


def _slug(name: str) -> str:
    """Plain names unchanged; others reduced to their plain characters, plus a digest that distinguishes them.

    Capitals count as not plain: some file systems treat A.svg and a.svg as one file.
    """
    if re.fullmatch(r"[a-z0-9_]+( [a-z0-9_]+)*", name) and len(name) <= _LONGEST:
        return name.replace(" ", "-")
    plain = re.sub(r"[^a-z0-9_]+", "-", name.lower()).strip("-")[:_LONGEST]
    return f"{plain}-{hashlib.sha256(name.encode()).hexdigest()[:6]}".lstrip("-")


def short(name: str, longest: int) -> str:
    """A column or class name shortened to fit a figure; the caption has it in full."""
    return name if len(name) <= longest else f"{name[: longest - 1]}…"


def canvas(width: float, height: float) -> tuple[Figure, Axes]:
    figure = Figure(figsize=(width, height), layout="constrained")
    return figure, figure.subplots()


def legend(figure: Figure, names: int) -> None:
    """Draw a legend below the axes, with room for its rows."""
    columns = 2 if names in (1, 2, 4) else 3
    width, height = figure.get_size_inches()
    figure.set_size_inches(width, height + LEGEND_ROW * -(-names // columns))
    figure.legend(loc="outside lower center", ncols=columns, frameon=False, fontsize=9, columnspacing=1.4)


PERCENT = PercentFormatter(1.0, decimals=0, symbol=" %")
_MOST_TICKS = 12
_LABEL_GAP = 0.065  # share of the axes' height; closer labels would touch
_LEGIBLE = 0.02  # horizontal offset between lines, so that intervals stay visible
LOOKS = {**{line: description.look for line, description in BY_LINE.items()}, "raw": Look(GREY, ".")}
_CYCLE = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#8a63d2", "#56b4e9", INK)
_SHAPES = "osD^vPX*"


@dataclass(frozen=True)
class Series:
    """One named line (or kind of bar) of shares, with intervals if known."""

    name: str
    x: Sequence[float]
    y: Sequence[float]
    low: Sequence[float] | None = None
    high: Sequence[float] | None = None

    @property
    def errors(self) -> Floats | None:
        """(2, point): down and up; clipped at 0, because rounding could make them negative."""
        if self.low is None or self.high is None:
            return None
        values = np.array(self.y)
        return np.maximum(0.0, [values - self.low, np.array(self.high) - values])


@dataclass(frozen=True)
class Band:
    """The area between two levels, in the colour of the line with that name; explained once below the figure."""

    name: str
    x: Sequence[float]
    low: Sequence[float]
    high: Sequence[float]


@mpl.rc_context(STYLE)
def lines(
    name: str,
    series: Sequence[Series],
    *,
    xlabel: str,
    ylabel: str = "accuracy",
    levels: Mapping[str, float],
    caption: str,
    log_x: bool = False,
    bands: Sequence[Band] = (),
    band_label: str = "",
) -> Drawing:
    """Shares against a number; `levels` are horizontal lines with names at the right, and bands lie behind."""
    figure, axes = canvas(4.8, 3.0)
    look = looks([each.name for each in series])
    for place, each in enumerate(series):
        shift = _LEGIBLE * (place - (len(series) - 1) / 2) if log_x else 0.0
        x, (colour, marker) = np.array(each.x, dtype=float) * (1 + shift), look[each.name]
        sizes: Any = {"markersize": 5.5, "capsize": 2, "elinewidth": 1, "linewidth": 1.6}
        axes.errorbar(x, each.y, yerr=each.errors, color=colour, marker=marker, label=each.name, **sizes)
    for place, band in enumerate(bands):
        _draw_band(axes, band, look[band.name].colour, label=band_label if place == 0 else None)
    _levels(axes, levels)
    ticks = sorted({float(x) for each in series for x in each.x})
    if log_x:
        axes.set_xscale("log")
    if len(ticks) <= _MOST_TICKS:
        axes.set_xticks(ticks, [f"{tick:g}" for tick in ticks])
        axes.minorticks_off()
    axes.set_ylim(0, 1)
    label_axes(figure, axes, names=len(series) + bool(bands), xlabel=xlabel, ylabel=ylabel)
    return Drawing(name, caption, figure)


def _draw_band(axes: Axes, band: Band, colour: str, *, label: str | None) -> None:
    """Draw a band; over a single number as a bar, so that it is visible."""
    ends, low, high = list(band.x), list(band.low), list(band.high)
    if len(ends) == 1:
        ends, low, high = [ends[0] / 1.12, ends[0] * 1.12], low * 2, high * 2
    axes.fill_between(ends, low, high, color=colour, alpha=0.16, linewidth=0, zorder=0.4, label=label)


def label_axes(figure: Figure, axes: Axes, *, names: int, xlabel: str, ylabel: str) -> None:
    """Label axes with shares in percent, and add a legend if there are names."""
    axes.set_xlabel(xlabel)
    axes.set_ylabel(ylabel)
    axes.yaxis.set_major_formatter(PERCENT)
    if names:
        legend(figure, names)


def _levels(axes: Axes, levels: Mapping[str, float]) -> None:
    ordered = sorted(levels.items(), key=lambda item: item[1])
    for (label, level), height in zip(ordered, apart([level for _, level in ordered]), strict=True):
        axes.axhline(level, color=GREY, linewidth=1, linestyle=(0, (4, 3)), zorder=0.5)
        place: Any = {"xycoords": "axes fraction", "xytext": (3, 0), "textcoords": "offset points"}
        text = f"{label} {100 * level:.0f} %"
        axes.annotate(text, (1, height), ha="left", va="center", fontsize=8.5, color=GREY, **place)


def apart(levels: Sequence[float]) -> list[float]:
    """Heights for the labels of ascending levels: their own, or higher if they would cover the label below."""
    heights: list[float] = []
    for level in levels:
        heights.append(max(level, heights[-1] + _LABEL_GAP) if heights else level)
    return heights


def looks(names: Sequence[str]) -> dict[str, Look]:
    """Known names keep their look; others get a look that no known name in this figure has."""
    taken = {LOOKS[name].colour for name in names if name in LOOKS}
    free = [Look(*look) for look in zip(_CYCLE, _SHAPES, strict=True) if look[0] not in taken]
    free = free or [Look(INK, "o")]
    unknown = [name for name in names if name not in LOOKS]
    found = {name: free[place % len(free)] for place, name in enumerate(unknown)}
    return found | {name: LOOKS[name] for name in names if name in LOOKS}
