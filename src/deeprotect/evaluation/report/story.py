"""The story a page tells about an experiment: which drawings, and what to know when reading them."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from deeprotect.evaluation.experiment import Experiment, Option
from deeprotect.evaluation.promises import NAMES
from deeprotect.evaluation.report import figures
from deeprotect.evaluation.report.figures import Drawing
from deeprotect.evaluation.report.page import Group, Page
from deeprotect.evaluation.results import Row
from deeprotect.signals import Channel, Schema
from deeprotect.signals.schema import Floats

SHOWN_WINDOWS = 10


def tell(experiment: Experiment, rows: Sequence[Row], *, title: str, options: Sequence[Option], epsilon: float) -> Page:
    """A page on the policy's first useful and first sensitive inference; signals are drawn at `epsilon`."""
    inferences = experiment.policy.inferences
    useful, sensitive = inferences.useful[0], inferences.sensitive[0]
    return Page(
        title=title,
        lead=(
            f"An app should learn the {useful} from the sensors and nobody should learn the {sensitive}. Below, each "
            "mechanism releases the same windows; an app reads them, and attackers try."
        ),
        useful=useful,
        sensitive=sensitive,
        groups=(_trade_off(rows, useful, sensitive), _signals(experiment, options, epsilon)),
        reading=_reading(experiment, useful, sensitive),
    )


def _trade_off(rows: Sequence[Row], useful: str, sensitive: str) -> Group:
    attackers = "the best attacker, retrained on released windows, still names it"
    drawings = (
        figures.useful_against_epsilon(rows, useful, caption=f"{useful}: how often the unchanged app names it right"),
        figures.sensitive_against_epsilon(rows, sensitive, caption=f"{sensitive}: how often {attackers}"),
    )
    text = "High on the left and low on the right is good. Bars are 95 % intervals."
    return Group("What the app reads, what the attacker reads", text, drawings)


def _signals(experiment: Experiment, options: Sequence[Option], epsilon: float) -> Group:
    excerpt = _excerpt(experiment)
    return Group(
        "What leaves the device",
        f"Channel {excerpt.channel.name} of one recording, in a part that no model was trained on, ε = {epsilon:g} per "
        "window: raw as a thin line, released in colour. The app receives the coloured line, in the raw one's form.",
        [_signal(experiment, option, epsilon, excerpt=excerpt) for option in options],
    )


@dataclass(frozen=True)
class _Excerpt:
    """Neighbouring windows (window, value) and the channel to draw of them."""

    windows: Floats
    schema: Schema
    place: int

    @property
    def channel(self) -> Channel:
        return self.schema.channels[self.place]

    def line(self, windows: Floats) -> Floats:
        """The channel's samples in its unit, one after the other."""
        samples = windows.reshape(-1, self.schema.window, len(self.schema.channels))
        return self.schema.unscale(samples)[:, :, self.place].ravel()


def _excerpt(experiment: Experiment) -> _Excerpt:
    """The liveliest channel, in the recording where it is liveliest among those long enough to show."""
    test, schema = experiment.bench.test, experiment.policy.schema()
    place = int(test.samples.std(axis=(0, 1)).argmax())
    counts = np.bincount(test.recording)
    long_enough = np.flatnonzero(counts >= min(SHOWN_WINDOWS, counts.max()))
    spreads = [test.samples[test.recording == number][:, :, place].std() for number in long_enough]
    chosen = test.recording == long_enough[int(np.argmax(spreads))]
    return _Excerpt(test.flat[chosen][:SHOWN_WINDOWS], schema, place)


def _signal(experiment: Experiment, option: Option, epsilon: float, *, excerpt: _Excerpt) -> Drawing:
    released = experiment.release(experiment.protection(option, epsilon))(excerpt.windows)
    name = figures.line_name(option.mechanism, option.guarantee)
    return figures.signal(
        name,
        excerpt.line(excerpt.windows),
        excerpt.line(released),
        rate_hz=excerpt.schema.rate_hz,
        channel=excerpt.channel,
        caption=f"{name}: {NAMES[option.mechanism]}",
    )


def _reading(experiment: Experiment, useful: str, sensitive: str) -> list[str]:
    setup = experiment.bench.setup
    return [
        "The attacker that counts is the retrained one: it has seen released windows of the same people with their "
        f"labels. It is the best of: {', '.join(setup.attackers)}. A stronger one may exist.",
        f"{', '.join(map(str, setup.pools))} windows: the attacker adds up its evidence over that many neighbouring "
        "windows of one recording (fewer where the tested part is shorter).",
        f"told only {useful}: guessing the {sensitive} from the true {useful} alone. No protection that keeps the "
        f"{useful} can push an attacker below that.",
        "limit: what ε itself allows anyone to guess from one window. Where it is high and the measured attacker is "
        "low, it is the small number of features that protects, and that is measured, not proven.",
        "ε is per window. A stream of T windows costs T·ε against someone who pools them all.",
        "rldp rows have no limit: their ε speaks about linear directions only.",
        "Intervals take windows as independent; neighbouring windows are not, so the true ones are wider.",
    ]
