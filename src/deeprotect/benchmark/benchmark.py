"""The verb `bench`: noise, channel, start-up and whole tables, each against a peer in the same run."""

import subprocess
import sys
import time
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np

from deeprotect.benchmark.encoders import encoders
from deeprotect.benchmark.ratio import REPEATS, Ratio, Work, compare
from deeprotect.benchmark.throughput import tables
from deeprotect.privacy.channel.design import design
from deeprotect.privacy.channel.discrete_channel import DiscreteChannel
from deeprotect.privacy.channel.rounding import make
from deeprotect.privacy.entropy import SystemEntropy, Words
from deeprotect.privacy.sampling import discrete_laplace, round_up

SCALES = (Fraction(1), Fraction(50), round_up(Fraction(24576.123)))
"""Noise of one step, of features on a coarse grid, and of features on the default grid at small ε."""
DRAWS, PEER_DRAWS = 1 << 18, 1 << 13  # the peer takes some fifty times as long for each
CODES, CODE_EPSILON = 16, 3.0
_TABLES_FROM = 0.3  # share of the whole time, for the progress bar


def measure(*, progress: Callable[[float], None] = lambda _: None) -> list[Ratio]:
    """All of it, in about half a minute where nothing else runs."""
    parts = (noise, entropy_share, channel, encoders, start)
    ratios: list[Ratio] = []
    for number, part in enumerate(parts):
        ratios += part()
        progress((number + 1) / len(parts) * _TABLES_FROM)
    return ratios + tables(progress=lambda share: progress(_TABLES_FROM + share * (1 - _TABLES_FROM)))


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


def entropy_share(*, draws: int = DRAWS, repeats: int = REPEATS) -> list[Ratio]:
    """How much of the sampler's time goes to the operating system's generator."""
    shares = []
    for _ in range(repeats):
        entropy, start = TimedEntropy(), time.process_time()
        discrete_laplace(SCALES[-1], draws, entropy=entropy)
        shares.append(entropy.seconds / (time.process_time() - start))
    return [Ratio("random bits for exact Laplace noise", "the whole draw", "time", float(np.median(shares)))]


def channel(*, draws: int = DRAWS, repeats: int = REPEATS) -> list[Ratio]:
    """Drawing outputs exactly from integers, against numpy's choice with floating-point probabilities."""
    mechanism = make(design(1.0 - np.eye(CODES), np.ones(CODES), ldp_epsilon=CODE_EPSILON))
    code = np.random.default_rng(0).integers(CODES, size=draws)
    ours, theirs = _exactly(mechanism, code[:, None].astype(np.float64)), _choice(mechanism.probabilities, code)
    faster = compare(ours, theirs, repeats=repeats)
    return [Ratio(f"channel of {CODES} codes", "numpy choice, code by code", "throughput", faster)]


def _exactly(mechanism: DiscreteChannel, code: np.ndarray[Any, Any]) -> Work:
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
    ratios = []
    for what, command in commands.items():
        slower = compare(nothing, _python(*command), repeats=repeats, clock=time.perf_counter)
        ratios.append(Ratio(what, "python -c pass", "time", slower))
    return ratios


def _python(*arguments: str) -> Work:
    def work() -> int:
        subprocess.run([sys.executable, *arguments], check=True, stdout=subprocess.DEVNULL)  # noqa: S603
        return 1

    return work
