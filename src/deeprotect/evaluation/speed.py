"""Speed and memory as ratios against peers that run on the same machine in the same minute."""

import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from fractions import Fraction
from typing import Any, Literal

import numpy as np

from deeprotect.privacy.channel import Channel, make
from deeprotect.privacy.design import design
from deeprotect.privacy.entropy import SystemEntropy, Words
from deeprotect.privacy.sampling import discrete_laplace, round_up

Work = Callable[[], int]
"""Does something and says how many items that was."""
Clock = Callable[[], float]
_wall = time.perf_counter
Quantity = Literal["throughput", "time", "memory"]

SCALES = (Fraction(1), Fraction(50), round_up(Fraction(24576.123)))
"""Noise of one step, of features on a coarse grid, and of features on the default grid at small ε."""
REPEATS = 5
DRAWS, PEER_DRAWS = 1 << 18, 1 << 13  # the peer takes some fifty times as long for each
CODES, CODE_EPSILON = 16, 3.0


@dataclass(frozen=True)
class Ratio:
    """`ratio` is ours divided by the peer's: more is better for throughput, less for time and memory."""

    what: str
    peer: str
    quantity: Quantity
    ratio: float

    def to_json(self) -> dict[str, Any]:
        return asdict(self)


def compare(ours: Work, theirs: Work, *, repeats: int = REPEATS, clock: Clock = time.process_time) -> float:
    """Throughput of ours over theirs. They take turns, and the fastest turn counts: others only ever add time."""
    rates = [(_rate(ours, clock), _rate(theirs, clock)) for _ in range(repeats)]
    return max(our for our, _ in rates) / max(their for _, their in rates)


def _rate(work: Work, clock: Clock) -> float:
    start = clock()
    items = work()
    return items / max(clock() - start, 1e-9)


def noise(*, draws: int = DRAWS, repeats: int = REPEATS) -> list[Ratio]:
    """The exact sampler against OpenDP's, where it is installed, and against inexact floating-point noise."""
    ratios = []
    for scale in SCALES:
        what = f"exact Laplace noise, scale {float(scale):.6g}"
        ours = _ours(scale, draws)
        for peer, theirs in (*_opendp(scale), ("numpy, floating point", _numpy(scale, draws))):
            ratios.append(Ratio(what, peer, "throughput", compare(ours, theirs, repeats=repeats)))
    return ratios


def _ours(scale: Fraction, draws: int) -> Work:
    return lambda: discrete_laplace(scale, draws, entropy=SystemEntropy()).size


def _numpy(scale: Fraction, draws: int) -> Work:
    generator = np.random.default_rng()
    return lambda: generator.laplace(scale=float(scale), size=draws).size


def _opendp(scale: Fraction) -> list[tuple[str, Work]]:
    """Integer noise on a vector, the fastest way OpenDP offers; nothing where it is not installed."""
    try:
        import opendp.prelude as dp
    except ModuleNotFoundError:
        return []
    dp.enable_features("contrib")
    space = dp.vector_domain(dp.atom_domain(T="i64")), dp.l1_distance(T="i64")
    measurement, zeros = dp.m.make_laplace(*space, scale=float(scale)), [0] * PEER_DRAWS
    return [(f"OpenDP {dp.__version__}, make_laplace", lambda: len(measurement(zeros)))]


class TimedEntropy:
    """The operating system's bits, with a note of the time they took."""

    def __init__(self) -> None:
        self.seconds = 0.0

    def words(self, count: int) -> Words:
        start = time.process_time()
        words = SystemEntropy().words(count)
        self.seconds += time.process_time() - start
        return words


def entropy_share(*, draws: int = DRAWS, repeats: int = REPEATS) -> Ratio:
    """How much of the sampler's time goes to the operating system's generator."""
    shares = []
    for _ in range(repeats):
        entropy, start = TimedEntropy(), time.process_time()
        discrete_laplace(SCALES[-1], draws, entropy=entropy)
        shares.append(entropy.seconds / (time.process_time() - start))
    return Ratio("random bits for exact Laplace noise", "the whole draw", "time", float(np.median(shares)))


def channel(*, draws: int = DRAWS, repeats: int = REPEATS) -> Ratio:
    """Drawing outputs exactly from integers, against numpy's choice with floating-point probabilities."""
    mechanism = make(design(1.0 - np.eye(CODES), np.ones(CODES), ldp_epsilon=CODE_EPSILON))
    code = np.random.default_rng(0).integers(CODES, size=draws)
    ours, theirs = _exactly(mechanism, code[:, None].astype(np.float64)), _choice(mechanism.probabilities, code)
    return Ratio(
        f"channel of {CODES} codes", "numpy choice, code by code", "throughput", compare(ours, theirs, repeats=repeats)
    )


def _exactly(mechanism: Channel, code: np.ndarray[Any, Any]) -> Work:
    return lambda: len(mechanism.privatise(code, entropy=SystemEntropy()))


def _choice(probabilities: np.ndarray[Any, Any], code: np.ndarray[Any, Any]) -> Work:
    generator = np.random.default_rng()

    def work() -> int:
        output = np.empty(len(code), dtype=np.int64)
        for each, row in enumerate(probabilities):
            here = np.flatnonzero(code == each)
            output[here] = generator.choice(len(row), size=here.size, p=row)
        return len(output)

    return work


def start(*, repeats: int = REPEATS) -> list[Ratio]:
    """Starting up, against a Python that does nothing."""
    commands = {
        "import deeprotect": ("-c", "import deeprotect"),
        "deeprotect --help": ("-c", "from deeprotect.cli import main; main()", "--help"),
    }
    nothing = _python("-c", "pass")
    return [
        Ratio(what, "python -c pass", "time", compare(nothing, _python(*command), repeats=repeats, clock=_wall))
        for what, command in commands.items()
    ]


def _python(*arguments: str) -> Work:
    def work() -> int:
        subprocess.run([sys.executable, *arguments], check=True, stdout=subprocess.DEVNULL)  # noqa: S603
        return 1

    return work
