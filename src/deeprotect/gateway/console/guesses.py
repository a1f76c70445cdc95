"""What observers say about the windows of one page, and how often they say the same of raw and released ones."""

from typing import Any

from deeprotect.errors import DeeprotectError
from deeprotect.gateway.console.desk import Desk
from deeprotect.gateway.console.observers import InferenceObserver, Watching
from deeprotect.gateway.registration.device_registry import App
from deeprotect.gateway.wire.message import ReleasedWindow
from deeprotect.signals.schema import Floats

MOST_REMEMBERED = 512
Said = dict[str, str]
"""By reader: `0.raw` is who learnt the first inference on raw windows, `0.retrained` who did on released ones."""


class Guesses:
    """Of one page: it begins anew when the page is loaded."""

    def __init__(self, desk: Desk, app: App) -> None:
        self._desk, self._bundle = desk, desk.bundle_of(app)
        self._seen: dict[int, dict[str, Said]] = {}  # by a window's first tick: what was said of it, raw and released
        self._agreement: dict[str, tuple[int, int]] = {}

    @property
    def ready(self) -> bool:
        """Whether observers have learnt, or cannot."""
        try:
            return self._bundle is not None and self._desk.observers.of(self._bundle) is not None
        except DeeprotectError:
            return True

    def of(self, kind: str, window: ReleasedWindow) -> dict[str, Any]:
        """What each reader says of a `raw` or `released` window, and all agreement so far: the same, of how many."""
        watching = self._watching()
        if watching is None or self._bundle is None or window.placeholder:
            return {"said": {}, "agreement": {}}
        scaled = self._bundle.schema.scale(window.values)[None]
        said = {
            f"{place}.{reader}": guess
            for place, observer in enumerate(watching.observers)
            for reader, guess in _read(observer, kind, scaled).items()
        }
        self._compare(int(window.times_ns[0]), kind, said)
        return {"said": said, "agreement": self._agreement}

    def _compare(self, tick: int, kind: str, said: Said) -> None:
        seen = self._seen.setdefault(tick, {})
        seen[kind] = said
        if len(seen) == 2:
            for reader, guess in seen["released"].items():
                same, both = self._agreement.get(reader, (0, 0))
                truth = seen["raw"][f"{reader.partition('.')[0]}.raw"]
                self._agreement[reader] = (same + (guess == truth), both + 1)
        if len(self._seen) > MOST_REMEMBERED:
            self._seen.pop(next(iter(self._seen)))

    def _watching(self) -> Watching | None:
        try:
            return None if self._bundle is None else self._desk.observers.of(self._bundle)
        except DeeprotectError:
            return None  # the page says why


def _read(observer: InferenceObserver, kind: str, scaled: Floats) -> Said:
    """Who knows raw windows reads both kinds; who was taught on released ones reads those."""
    found = {"raw": str(observer.on_raw.read(scaled)[0])}
    if kind == "released" and observer.on_released is not None:
        found["retrained"] = str(observer.on_released.read(scaled)[0])
    return found
