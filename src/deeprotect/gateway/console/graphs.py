"""Line charts of the last hour and day: windows, delay, ε and refusals, drawn on the server as SVG."""

import asyncio
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from fastapi import Request, Response

from deeprotect.gateway.console.guard import Admin, TheDesk
from deeprotect.gateway.console.rendering import page
from deeprotect.gateway.operation import history
from deeprotect.gateway.operation.history import MINUTE, Minute
from deeprotect.release.ledger.ledger import microseconds, moment_of, utc_now

WIDTH, HEIGHT = 600, 100
HOUR, DAY, QUARTER = 60, 24 * 60, 15  # minutes
Value = Callable[[Sequence[Minute]], float | None]


@dataclass(frozen=True)
class Graph:
    """One line: `path` is a step curve, each step as wide as its time; gaps stay open."""

    kind: str
    title: str
    summary: str
    top: str  # label of the upper edge
    path: str
    area: str


@dataclass(frozen=True)
class Span:
    """Graphs of the same minutes; `ticks` are times below them."""

    title: str
    ticks: tuple[str, ...]
    graphs: tuple[Graph, ...]


async def history_page(request: Request, desk: TheDesk, session: Admin) -> Response:
    """History of all gateways on this ledger, up to the last complete minute."""
    now = utc_now()
    found = await asyncio.to_thread(history.read, desk.gateway.database, since=_minute(now) - DAY - QUARTER)
    spans = [last_hour(found, now), last_day(found, now)]
    return page(request, "history.html", session=session, spans=spans, now=now, width=WIDTH, height=HEIGHT)


def last_hour(found: Sequence[Minute], now: datetime) -> Span:
    """One value per minute."""
    return _span("The last hour", found, first=_minute(now) - HOUR, count=HOUR, minutes=1)


def last_day(found: Sequence[Minute], now: datetime) -> Span:
    """One value per quarter of an hour, including the current one."""
    first = (_minute(now) // QUARTER + 1) * QUARTER - DAY
    return _span("The last day", found, first=first, count=DAY // QUARTER, minutes=QUARTER)


def _minute(now: datetime) -> int:
    return microseconds(now) // MINUTE


def _span(title: str, found: Sequence[Minute], *, first: int, count: int, minutes: int) -> Span:
    parts: list[list[Minute]] = [[] for _ in range(count)]
    for each in found:
        if 0 <= (place := (each.number - first) // minutes) < count:
            parts[place].append(each)
    every = [each for part in parts for each in part]
    quarters = (moment_of((first + count * minutes * place // 4) * MINUTE) for place in range(5))
    windows, refused = sum(each.windows for each in every), sum(each.refused for each in every)
    longest, epsilon = max((each.delay for each in every), default=0.0), sum(each.epsilon for each in every)
    graphs = (
        _graph("windows", "Windows a minute", f"{windows:,} released", parts, _mean(lambda each: each.windows)),
        _graph("delay", "Longest delay", f"up to {_seconds(longest)}", parts, _longest, unit=" s"),
        _graph("epsilon", "ε a minute, all people", f"{epsilon:,.1f} in all", parts, _mean(lambda each: each.epsilon)),
        _graph("refused", "Messages refused a minute", f"{refused:,} in all", parts, _mean(lambda each: each.refused)),
    )
    return Span(title, tuple(f"{each:%H:%M}" for each in quarters), graphs)


def _mean(of: Callable[[Minute], float]) -> Value:
    return lambda part: sum(map(of, part)) / len(part)


def _longest(part: Sequence[Minute]) -> float | None:
    return max((each.delay for each in part if each.windows), default=None)


def _graph(
    kind: str, title: str, summary: str, parts: Sequence[Sequence[Minute]], value: Value, *, unit: str = ""
) -> Graph:
    values = [value(part) if part else None for part in parts]
    top = round_up(max((each for each in values if each is not None), default=0.0))
    step = WIDTH / len(parts)
    lines, areas, place = [], [], 0
    for run in _runs(values):
        while values[place] is None:
            place += 1
        x = place * step
        steps = " ".join(f"V{_y(each, top)} h{step:g}" for each in run)
        lines.append(f"M{x:g} {_y(run[0], top)} {steps}")
        areas.append(f"M{x:g} {HEIGHT} {steps} V{HEIGHT} H{x:g} Z")
        place += len(run)
    return Graph(kind, title, summary, f"{top:,g}{unit}", " ".join(lines), " ".join(areas))


def _runs(values: Sequence[float | None]) -> list[list[float]]:
    """Runs of values between gaps."""
    runs: list[list[float]] = [[]]
    for each in values:
        if each is None:
            runs.append([])
        else:
            runs[-1].append(each)
    return [run for run in runs if run]


def _y(value: float, top: float) -> str:
    return f"{HEIGHT - HEIGHT * value / top:.1f}"


def round_up(value: float) -> float:
    """Round up to 1, 2 or 5 times a power of ten, for a readable edge."""
    if value <= 0:
        return 1.0
    size = 10.0 ** math.floor(math.log10(value))
    return next((step * size for step in (1, 2, 5) if value <= step * size), 10 * size)


def _seconds(value: float) -> str:
    return f"{value:,.2g} s" if value < 100 else f"{timedelta(seconds=round(value))}"
