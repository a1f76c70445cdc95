"""Those who look on: an app that knows raw data, and attackers, one of them taught on released windows.

They learn from the labelled table that the owner gave, never from a stream.
"""

from collections.abc import Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from deeprotect.bundle.bundle import Bundle
from deeprotect.errors import DeeprotectError, InputError
from deeprotect.gateway.console.features import Labels, SummaryModel
from deeprotect.privacy.entropy import SystemEntropy
from deeprotect.release.engine import Request, one, release
from deeprotect.release.ledger.memory import MemoryLedger
from deeprotect.release.ledger.price import Price
from deeprotect.signals import Frame, Run, Windows
from deeprotect.signals.schema import Floats
from deeprotect.tables.sources import open_source
from deeprotect.training.labelled_windows import LabelledWindows, read_windows

MOST_WINDOWS = 6000
TEST = 0.3
"""Share of each recording, its end, that only measures."""
FEWEST, MOST_CLASSES = 20, 100


@dataclass(frozen=True)
class InferenceObserver:
    """Reads one inference; figures are shares read rightly of windows that nobody learnt from."""

    inference: str
    is_useful: bool
    on_raw: SummaryModel  # taught on raw windows: the app, or an attacker
    on_released: SummaryModel | None  # an attacker that was taught on released ones
    figures: Mapping[str, float]  # raw, released, retrained, chance


@dataclass(frozen=True)
class Watching:
    """The observers of one bundle."""

    observers: tuple[InferenceObserver, ...]
    windows: int


class Observers:
    """By bundle, learnt in a thread of its own when somebody first looks."""

    def __init__(self, table: Path | None) -> None:
        self._table = table
        self._found: dict[str, Future[Watching]] = {}
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="observers")

    @property
    def table(self) -> str | None:
        """Its file's name, for people."""
        return None if self._table is None else self._table.name

    def of(self, bundle: Bundle) -> Watching | None:
        """None while they learn, or where there is no table; a DeeprotectError where they cannot."""
        if self._table is None:
            return None
        if bundle.digest not in self._found:
            self._found[bundle.digest] = self._thread.submit(watch, bundle, self._table)
        learnt = self._found[bundle.digest]
        return learnt.result() if learnt.done() else None

    def close(self) -> None:
        self._thread.shutdown(wait=False, cancel_futures=True)


def watch(bundle: Bundle, table: Path) -> Watching:
    """Learn on the beginning of each recording, measure on its end."""
    try:
        raw = _labelled(bundle, table)
    except DeeprotectError as error:
        raise InputError(f"--watch: {error}") from None
    released, test = _released(bundle, raw), _is_test(raw)
    found = [_observer(name, bundle, raw, released=released, test=test) for name in raw.labels]
    return Watching(tuple(each for each in found if each is not None), len(raw))


def _labelled(bundle: Bundle, table: Path) -> LabelledWindows:
    """The policy's inferences; without sensitive ones everything else is, so every other label is read as well."""
    policy = bundle.policy
    if not policy.inferences.sensitive:
        with open_source(str(table), numbers=list(bundle.schema.names)) as source:
            named = {
                *bundle.schema.names,
                "time",
                "recording",
                *policy.stream.columns.values(),
                *policy.inferences.useful,
            }
            texts = [field.name for field in source.schema if field.name not in named and _is_text(field)]
        if texts and policy.privacy.guarantee == "ldp":
            policy = policy.vary(inferences={"sensitive": texts})
    windows = read_windows(str(table), policy)
    return windows[np.arange(min(len(windows), MOST_WINDOWS))]


def _is_text(field: object) -> bool:
    return str(getattr(field, "type", "")).startswith(("string", "large_string", "dictionary"))


def _released(bundle: Bundle, raw: LabelledWindows) -> Floats:
    """Scaled windows through the bundle's own pipe; the table is the owner's own, so no stream is charged."""
    episodes = raw.episodes(bundle.hold)
    count, draws = len(raw), len(np.unique(episodes))
    lengths = np.full(count, bundle.schema.window)
    frame = Frame(lengths, np.cumsum(lengths) - lengths, episodes, (Run("", 0, draws),))
    private = Windows(bundle.schema.unscale(raw.samples), frame)
    ledger = MemoryLedger(Price.of(bundle.mechanism))
    released = one(release([Request.of(private, bundle, ledger)], entropy=SystemEntropy()))
    return bundle.schema.scale(released.windows)


def _is_test(raw: LabelledWindows) -> NDArray[np.bool_]:
    counts = np.bincount(raw.recording)[raw.recording]
    place = np.arange(len(raw)) - np.searchsorted(raw.recording, raw.recording)
    return np.asarray(place >= (1.0 - TEST) * counts)


def _observer(
    name: str, bundle: Bundle, raw: LabelledWindows, *, released: Floats, test: NDArray[np.bool_]
) -> InferenceObserver | None:
    """None where there is too little to learn from."""
    known, labels = raw.labelled(name), raw.labels[name]
    learn, measure = known & ~test, known & test
    classes = len(set(labels[learn]))
    if learn.sum() < FEWEST or measure.sum() < FEWEST or not 2 <= classes <= MOST_CLASSES:
        return None
    is_useful = name in bundle.policy.inferences.useful
    on_raw = SummaryModel.fit(raw.samples[learn], labels[learn])
    on_released = None if is_useful else SummaryModel.fit(released[learn], labels[learn])
    truth = labels[measure]
    figures = {
        "raw": on_raw.accuracy(raw.samples[measure], truth),
        "released": on_raw.accuracy(released[measure], truth),
        "chance": _chance(truth),
    }
    if on_released is not None:
        figures["retrained"] = on_released.accuracy(released[measure], truth)
    return InferenceObserver(name, is_useful, on_raw, on_released, figures)


def _chance(truth: Labels) -> float:
    return float(np.unique(truth.astype(str), return_counts=True)[1].max() / len(truth))
