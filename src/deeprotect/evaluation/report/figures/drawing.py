"""A drawing: made once, shown inline as SVG in the page's own text colour, kept as SVG and PNG files."""

import hashlib
import io
import re
from dataclasses import dataclass
from functools import cached_property
from html import escape
from typing import Any

import matplotlib as mpl
from matplotlib.axes import Axes
from matplotlib.figure import Figure

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
"""Inches that one row of a legend below the axes takes."""
_LONGEST = 60


@dataclass(frozen=True)
class Drawing:
    """A figure with a name for its files and a sentence for those who cannot see it."""

    name: str
    caption: str
    figure: Figure

    def __post_init__(self) -> None:
        if not re.fullmatch(r"[\w-]+", self.name, flags=re.ASCII):
            raise ValueError(f"{self.name!r} cannot name a file; make the name with file_name()")

    def svg(self) -> str:
        """An element to stand inside a page: no XML head, no fixed size, text in the colour around it."""
        text = self.svg_file()
        element = text[text.index("<svg") :].replace(INK, "currentColor")
        element = re.sub(r"<metadata>.*?</metadata>", "", element, flags=re.DOTALL)
        # Several drawings share one page: their element names must not meet.
        element = re.sub(r'(id="|url\(#|xlink:href="#)', rf"\g<1>{self.name}-", element)
        head, rest = element.split(">", 1)
        head = re.sub(r' (width|height)="[^"]*"', "", head)
        return f'{head} role="img" aria-label="{escape(self.caption)}">{rest}'

    def svg_file(self) -> str:
        return self._text

    @cached_property
    def _text(self) -> str:
        """Drawn once, for the file and for the page: the slowest part of a report."""
        return self._svg

    @cached_property
    def _svg(self) -> str:
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
    """For files and element names, whatever columns are called: different columns never share one."""
    return f"{kind}-{'--'.join(map(_slug, names))}"


def _slug(name: str) -> str:
    """Plain names as they are; of all others what is plain in them, told apart by a digest.

    Capitals count as not plain: some file systems take A.svg and a.svg for one file.
    """
    if re.fullmatch(r"[a-z0-9_]+( [a-z0-9_]+)*", name) and len(name) <= _LONGEST:
        return name.replace(" ", "-")
    plain = re.sub(r"[^a-z0-9_]+", "-", name.lower()).strip("-")[:_LONGEST]
    return f"{plain}-{hashlib.sha256(name.encode()).hexdigest()[:6]}".lstrip("-")


def short(name: str, longest: int) -> str:
    """A column or class name as far as a drawing has room for it; the caption has it in full."""
    return name if len(name) <= longest else f"{name[: longest - 1]}…"


def canvas(width: float, height: float) -> tuple[Figure, Axes]:
    figure = Figure(figsize=(width, height), layout="constrained")
    return figure, figure.subplots()


def legend(figure: Figure, names: int) -> None:
    """Below the axes, with room made for its rows."""
    columns = 2 if names in (1, 2, 4) else 3
    width, height = figure.get_size_inches()
    figure.set_size_inches(width, height + LEGEND_ROW * -(-names // columns))
    figure.legend(loc="outside lower center", ncols=columns, frameon=False, fontsize=9, columnspacing=1.4)
