"""One app's part of a session: episodes one after the other, each with one draw; no window informs two of them."""

from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from deeprotect.gateway.streams.clock_episode import ClockEpisode, Heard
from deeprotect.gateway.streams.clock_window import ClockWindow
from deeprotect.gateway.streams.track import TrackWindow
from deeprotect.privacy.entropy import SystemEntropy
from deeprotect.release.ledger.stored import StoredLedger
from deeprotect.release.live_episodes import LISTEN, Listening
from deeprotect.release.pipe import Pipeline
from deeprotect.release.placeholder import placeholders
from deeprotect.release.together import Drawn, DrawRequest
from deeprotect.signals import Run
from deeprotect.signals.schema import Floats


@dataclass(frozen=True, eq=False)
class Leaving:
    """A window on its way out, and the noisy code (1, k) that it shows."""

    window: ClockWindow
    noisy_code: Floats
    placeholder: bool


class Flow:
    """Windows of one session in order; `ledger` is the account's, bound to the session.

    A held draw is made at the beginning of its episode from the last windows of the one before, so that no window waits
    for others; where there was none before, from its own first windows. A named promise rests on counts of whole
    episodes, so that its draws listen to the whole of their own.
    """

    def __init__(self, pipeline: Pipeline, ledger: StoredLedger, *, fill_gaps: bool) -> None:
        self.pipeline, self._ledger, self._fill_gaps = pipeline, ledger, fill_gaps
        hold, named = pipeline.hold, pipeline.mechanism.event.guarantee == "named"
        self._listening = Listening.of(pipeline, None if named else min(LISTEN, hold.windows))
        self._looks_back = not named and hold.windows > 1
        self._open: deque[ClockEpisode] = deque()
        self._heard: list[Heard] = []  # of the last windows, for the next episode
        self._last: tuple[int, int] | None = None  # part and number of the window that came last

    def take(self, each: TrackWindow) -> Heard | None:
        """One window more; where a draw listens to it, what is to be encoded before draws are asked for."""
        hold, enough = self._listening.hold, self._listening.windows
        number, place = divmod(each.window.number, hold)
        follows = self._last is None or self._last == (each.part, each.window.number - 1)
        self._last = (each.part, each.window.number)
        episode = self._episode(each.part, number, follows=follows)
        episode.waiting.append(each.window)
        window = None if each.window.samples is None else Heard(each.window.samples)
        heard = episode.listen(window if follows or not episode.heard else None, enough=enough)
        if place == hold - 1:
            episode.end()
        if not follows or window is None:
            self._heard = []
        for_next = self._looks_back and not heard and window is not None and place >= hold - enough
        if window is not None and for_next:
            self._heard.append(window)
        return window if heard or for_next else None

    def end(self) -> None:
        """The session is over."""
        if self._open:
            self._open[-1].end()

    def drawing(self) -> list[ClockEpisode]:
        """Those whose draws are to be made now, or to be tried again."""
        return [episode for episode in self._open if episode.state == "drawing"]

    def codes(self, episodes: Sequence[ClockEpisode]) -> Floats:
        """One for each, (episode, k), of this flow or of others through the same pipeline."""
        return self._listening.codes(
            [[each.evidence for each in episode.heard if each.evidence is not None] for episode in episodes]
        )

    def request(self, episode: ClockEpisode, code: Floats) -> DrawRequest:
        return DrawRequest(self.pipeline, self._ledger, Run(str(episode.part), episode.number, 1), code)

    def leaving(self, entropy: SystemEntropy) -> Iterator[Leaving]:
        """Windows that show something; of an episode that was given up, only where the policy wants a placeholder."""
        while self._open:
            episode = self._open[0]
            if episode.state == "given up" and self._fill_gaps and episode.waiting:
                episode.show(self._placeholder(entropy), placeholder=True)
            for window in episode.leaving():
                if episode.held is not None and window.stamps:
                    place = window.number % self._listening.hold
                    yield Leaving(window, episode.held[place : place + 1], episode.placeholder)
            if episode.waiting or len(self._open) == 1:
                return
            self._open.popleft()

    def expire(self) -> None:
        """Draws that could not be made while their time lasted are not made later."""
        for episode in list(self._open)[:-1]:
            if episode.state == "drawing":
                episode.give_up()

    def _episode(self, part: int, number: int, *, follows: bool) -> ClockEpisode:
        current = self._open[-1] if self._open else None
        if current is not None and (current.part, current.number) == (part, number):
            return current
        if current is not None and current.state == "listening":
            current.give_up()  # windows at its end are missing
        heard, self._heard = (self._heard if follows else []), []
        self._open.append(ClockEpisode(part, number, heard))
        return self._open[-1]

    def _placeholder(self, entropy: SystemEntropy) -> Floats:
        mechanism, hold = self.pipeline.mechanism, self._listening.hold
        return mechanism.repeat(placeholders(mechanism, 1, entropy=entropy), np.array([hold]), entropy=entropy)


def settle(episode: ClockEpisode, answer: Drawn | Exception) -> None:
    """What became of a request for a draw; a refusal gives the episode up."""
    if isinstance(answer, Drawn):
        episode.show(answer.held, placeholder=answer.placeholder)
    else:
        episode.give_up()
