"""The story a page tells about an experiment: which drawings, and what to know when reading them."""

from collections.abc import Sequence

import numpy as np

from deeprotect.evaluation import figures
from deeprotect.evaluation.experiment import OPTIONS, Experiment, Option
from deeprotect.evaluation.figures import Drawing
from deeprotect.evaluation.page import Group, Page
from deeprotect.evaluation.promises import NAMES
from deeprotect.evaluation.results import Row
from deeprotect.signals.schema import Floats

SHOWN_WINDOWS = 10


def tell(experiment: Experiment, rows: Sequence[Row], *, title: str, epsilon: float) -> Page:
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
        groups=(_trade_off(rows, useful, sensitive), _signals(experiment, epsilon)),
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


def _signals(experiment: Experiment, epsilon: float) -> Group:
    channel = experiment.policy.schema().channels[0]
    return Group(
        "What leaves the device",
        f"Channel {channel.name} of one recording that no model was trained on, ε = {epsilon:g} per window: "
        "raw in the thin line, released in colour. An app receives the released one, in the same form as the raw one.",
        [_signal(experiment, option, epsilon) for option in OPTIONS],
    )


def _signal(experiment: Experiment, option: Option, epsilon: float) -> Drawing:
    schema, private = experiment.policy.schema(), _excerpt(experiment)
    released = experiment.release(experiment.protection(option, epsilon))(private)
    raw, shown = (_first_channel(experiment, windows) for windows in (private, released))
    name = f"{option.mechanism} {option.guarantee}" if option.mechanism == "paper" else option.mechanism
    return figures.signal(
        name,
        raw,
        shown,
        rate_hz=schema.rate_hz,
        unit=f"{schema.channels[0].name} ({schema.channels[0].unit})",
        caption=f"{name}: {NAMES[option.mechanism]}",
    )


def _excerpt(experiment: Experiment) -> Floats:
    """Neighbouring test windows of the recording that has most of them."""
    test = experiment.bench.test
    longest = np.bincount(test.recording).argmax()
    return np.asarray(test.flat[test.recording == longest][:SHOWN_WINDOWS])


def _first_channel(experiment: Experiment, windows: Floats) -> Floats:
    schema = experiment.policy.schema()
    samples = schema.unscale(windows.reshape(-1, schema.window, len(schema.channels)))
    return samples[:, :, 0].ravel()


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
