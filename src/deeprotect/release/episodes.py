"""Episodes of a live stream: which windows inform which draw, and when windows leave; each window informs one draw.

A file's episode is drawn from its own windows once it is complete. A live stream cannot wait that long: a draw looks at
the beginning of its episode, or at the end of the previous one. Which draw a window may inform follows from its number
alone, so it is the same after a restart, for a repeated message, and in another process.
docs/claims.md#draws-of-a-live-stream
"""

from collections import Counter, deque
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any, Literal, Self

import numpy as np

from deeprotect.bundle import Bundle
from deeprotect.errors import BudgetError, InputError, NotDrawnError, ReleasedBeforeError
from deeprotect.privacy.entropy import SystemEntropy
from deeprotect.release.by_time import ClockWindow
from deeprotect.release.engine import Pipeline, Released, Request, windows_of
from deeprotect.release.ledger.ledger import Ledger
from deeprotect.signals import Run
from deeprotect.signals.schema import Floats

Observe = Literal["whole", "beginning", "before"]
State = Literal["observing", "due", "drawn", "given up"]
GAP, SPENT, REPEATED = "gap", "budget spent", "released before"
"""Why windows of an episode are withheld; callers know further reasons."""
LISTEN = 3
"""Windows that a draw looks at by default: as good as ten on the wrist data, and with less delay."""


@dataclass(frozen=True)
class Observing:
    """Which windows a draw looks at, and how many: of the whole episode, of its beginning, or before it.

    A script says what happened when, so its draw looks at the whole episode. The promise does not depend on this.
    """

    observe: Observe
    windows: int

    @classmethod
    def of(cls, bundle: Pipeline, observe: Observe, listen: int | None) -> Self:
        hold, whole = bundle.hold, bundle.mechanism.scripts is not None
        if listen is not None and whole:
            raise InputError("a script is drawn from its whole episode; leave listen out")
        if listen is not None and not 1 <= listen <= hold.windows:
            raise InputError(f"listen = {listen} must be between 1 and the {hold.windows} windows of an episode")
        if whole:
            return cls("whole", hold.windows)
        return cls("beginning" if hold.windows == 1 else observe, listen or min(hold.listen, hold.windows))


def live_observing(bundle: Pipeline) -> Observing:
    """How the gateway draws: at the beginning of an episode, from earlier windows, so that no window waits."""
    hold = bundle.hold
    is_stated = bundle.mechanism.scripts is not None or hold.listen < hold.windows
    return Observing.of(bundle, "before", None if is_stated else min(LISTEN, hold.windows))


@dataclass(eq=False)
class Episode:
    """Windows that share one draw; each waiting window has a ticket, with which it leaves.

    A due episode that has observed nothing asks for its earlier draw, and is never drawn anew.
    """

    part: int
    number: int
    observed: list[Floats] = field(default_factory=list)
    state: State = "observing"
    waiting: list[tuple[int, Any]] = field(default_factory=list)  # place in the episode, ticket
    windows: Floats | None = None  # (place, time, channel) in units, what each place shows
    placeholder: bool = False
    why: str = GAP  # nothing of it leaves, if nothing does

    def __post_init__(self) -> None:
        if self.observed:
            self.state = "due"

    def look(self, window: Floats | None, *, enough: int) -> None:
        """Take one more window, if the draw still looks at windows.

        If a window that the draw needs lacks samples, the episode is given up. After the draw no window is looked at.
        """
        if self.state != "observing":
            return
        if window is None:
            self.give_up()
            return
        self.observed.append(window)
        if len(self.observed) == enough:
            self.state = "due"

    def end(self) -> None:
        """End of input: draw from the windows seen so far."""
        if self.state == "observing":
            self.state = "due"

    def settle(self, answer: Released | BudgetError) -> None:
        """Store the answer to its draw; a refusal gives the episode up."""
        if isinstance(answer, BudgetError):
            whys = {NotDrawnError: GAP, ReleasedBeforeError: REPEATED}
            self.why = whys.get(type(answer), SPENT)
            self.give_up()
        else:
            self.show(answer.windows, placeholder=bool(answer.placeholder[0]))

    def show(self, windows: Floats, *, placeholder: bool) -> None:
        self.state, self.windows, self.placeholder, self.observed = "drawn", windows, placeholder, []

    def give_up(self) -> None:
        self.state, self.observed = "given up", []


@dataclass(frozen=True, eq=False)
class Leaving:
    """A released window (time, channel) in units, with the ticket that it arrived with."""

    ticket: Any
    window: Floats
    placeholder: bool


class Episodes:
    """Windows of one stream for one account, in the order of their numbers; a gap starts anew.

    If there are no windows before an episode, it is drawn from its own first windows; its last ones are for the next
    episode. If only last ones arrived, it shows its earlier draw, if there is one.
    """

    def __init__(self, bundle: Pipeline, ledger: Ledger, observing: Observing, *, fill_gaps: bool = False) -> None:
        self.bundle, self._ledger, self._observing, self._fill_gaps = bundle, ledger, observing, fill_gaps
        hold, windows = bundle.hold.windows, observing.windows
        # Places before the border may inform the episode's own draw, the others that of the next; one at least each.
        self._border = max(1, hold - windows) if observing.observe == "before" else hold
        self._open: deque[Episode] = deque()
        self._before: list[Floats] = []  # the last windows, for the next episode
        self._last: tuple[int, int] | None = None  # part and number of the window that came last
        self.withheld: Counter[str] = Counter()  # windows that arrived and are withheld, by reason

    @classmethod
    def by_time(cls, bundle: Bundle, ledger: Ledger) -> Self:
        """Of windows of the clock, as the policy says."""
        fill_gaps = bundle.policy.stream.when_missing == "placeholder"
        return cls(bundle, ledger, live_observing(bundle), fill_gaps=fill_gaps)

    def take(self, ticket: Any, samples: Floats | None, *, number: int, part: int = 0) -> None:
        """One window more, (time, channel) in units; None where samples are missing. Numbers of a part increase."""
        hold, border = self.bundle.hold.windows, self._border
        follows = self._last is None or self._last == (part, number - 1)
        self._last = part, number
        place = number % hold
        episode = self._episode(part, number // hold, follows=follows)
        if self.bundle.mechanism.scripts is not None and not episode.waiting and samples is not None:
            episode.observed = [samples] * place  # a script is of the whole episode: what came first stands for before
        episode.waiting.append((place, ticket))
        if place < border:
            whole = samples if follows or not episode.observed else None
            episode.look(whole, enough=min(self._observing.windows, border))
        if place >= border - 1:
            episode.end()
        if not follows or samples is None:
            self._before = []
        if place >= border and samples is not None:
            self._before.append(samples)

    def take_by_time(self, windows: Iterable[ClockWindow], *, over: bool = False) -> None:
        """Take windows of the clock, which are their own tickets; `over`: the stream has ended."""
        for window in windows:
            if over and window.samples is None:  # its end was never sent: the draw is made from what came before
                self.end()
            self.take(window, window.samples, number=window.number)
        if over:
            self.end()

    def end(self) -> None:
        """The stream is over."""
        if self._open:
            self._open[-1].end()

    def due(self) -> list[tuple[Episode, Request]]:
        """Draws to make now, or to try again."""
        return [(episode, self._request(episode)) for episode in self._open if episode.state == "due"]

    def _request(self, episode: Episode) -> Request:
        shown, runs = np.array([self.bundle.hold.windows]), (Run(str(episode.part), episode.number, 1),)
        if not episode.observed:
            schema = self.bundle.schema
            nothing = np.zeros((1, schema.window, len(schema.channels)))
            return Request(self.bundle, self._ledger, runs, nothing, np.ones(1, dtype=np.int64), shown, only_kept=True)
        observed = np.stack(episode.observed)
        if self._observing.observe == "whole":
            observed = observed[self.bundle.hold.heard(np.array([len(observed)]))[0]]
        return Request(self.bundle, self._ledger, runs, observed, np.array([len(observed)]), shown)

    def leaving(self, entropy: SystemEntropy) -> Iterator[Leaving]:
        """Yields windows that can leave; those of an episode that was given up only if gaps are filled."""
        while self._open:
            episode = self._open[0]
            if episode.state == "given up" and self._fill_gaps and episode.waiting:
                episode.show(self._nothing(entropy), placeholder=True)
            if episode.state in ("observing", "due"):
                return
            waiting, episode.waiting = episode.waiting, []
            if episode.windows is not None:
                yield from (Leaving(ticket, episode.windows[place], episode.placeholder) for place, ticket in waiting)
            self._withhold(episode, len(waiting))
            if len(self._open) == 1:
                return
            self._open.popleft()

    def leave_by_time(self, entropy: SystemEntropy, *, over: bool = False) -> list[Leaving]:
        """Windows of the clock that leave now and hold a reading; expired draws are given up."""
        left = [each for each in self.leaving(entropy) if each.ticket.own]
        self.expire(over=over)
        return left

    def postpone(self, why: str) -> None:
        """Record why due draws were postponed."""
        for episode in self._open:
            if episode.state == "due":
                episode.why = why

    def expire(self, *, over: bool = False) -> None:
        """Give up draws that could not be made in time; `over`: the stream has ended."""
        for episode in list(self._open)[: None if over else -1]:
            if episode.state == "due":
                episode.give_up()
            if over or not self._fill_gaps:
                waiting, episode.waiting = episode.waiting, []
                self._withhold(episode, len(waiting))

    def _withhold(self, episode: Episode, windows: int) -> None:
        """Count windows that are withheld because there is nothing to show."""
        if episode.windows is None and windows:
            self.withheld[episode.why] += windows

    def _episode(self, part: int, number: int, *, follows: bool) -> Episode:
        current = self._open[-1] if self._open else None
        if current is not None and (current.part, current.number) == (part, number):
            return current
        if current is not None and current.state == "observing":
            current.give_up()  # windows at its end are missing
        observed, self._before = (self._before if follows else []), []
        self._open.append(Episode(part, number, observed))
        return self._open[-1]

    def _nothing(self, entropy: SystemEntropy) -> Floats:
        """A placeholder episode, made without a window; it costs nothing."""
        mechanism, shown = self.bundle.mechanism, np.array([self.bundle.hold.windows])
        nothing = mechanism.repeat(mechanism.placeholders(1, entropy=entropy), shown, entropy=entropy)
        return windows_of(self.bundle, nothing)
