"""An episode of a live session on the clock: which windows its draw listens to, and what its windows show."""

from dataclasses import dataclass, field
from typing import Literal

from deeprotect.gateway.streams.clock_window import ClockWindow
from deeprotect.signals.schema import Floats

State = Literal["listening", "drawing", "drawn", "given up"]


@dataclass(eq=False)
class Heard:
    """A window that a draw listens to: its samples (tick, channel), and what the encoder sees in them, (1, k)."""

    samples: Floats
    evidence: Floats | None = None


@dataclass(eq=False)
class ClockEpisode:
    """Windows that share one draw; it begins where the session does, and ends with the clock's stretch.

    It draws from windows heard before it where there are any, else from its own first ones. A window that lacks samples
    before the draw is made leaves less to draw from than was promised: then the episode is given up. After the
    draw no window is looked at, so none can lack anything.
    """

    part: int
    number: int
    heard: list[Heard] = field(default_factory=list)
    state: State = "listening"
    waiting: list[ClockWindow] = field(default_factory=list)
    held: Floats | None = None  # (window, value), one row for each place of the whole stretch
    placeholder: bool = False

    def __post_init__(self) -> None:
        if self.heard:
            self.state = "drawing"

    def listen(self, window: Heard | None, *, enough: int) -> bool:
        """To one window more, if it still does; whether it did."""
        if self.state != "listening":
            return False
        if window is None:
            self.give_up()
            return False
        self.heard.append(window)
        if len(self.heard) == enough:
            self.state = "drawing"
        return True

    def end(self) -> None:
        """Nothing more comes: what there is of it is drawn from."""
        if self.state == "listening":
            self.state = "drawing" if self.heard else "given up"

    def show(self, held: Floats, *, placeholder: bool) -> None:
        self.state, self.held, self.placeholder, self.heard = "drawn", held, placeholder, []

    def give_up(self) -> None:
        self.state, self.heard = "given up", []

    def leaving(self) -> list[ClockWindow]:
        """Windows whose fate is known, each once."""
        if self.state in ("listening", "drawing"):
            return []
        waiting, self.waiting = self.waiting, []
        return waiting
