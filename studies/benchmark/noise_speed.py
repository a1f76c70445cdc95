"""Speed of drawing noise: the exact samplers against OpenDP and numpy, and the share of waiting for random bits."""

import time
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np

from deeprotect.privacy.channel.discrete_channel import DiscreteChannel
from deeprotect.privacy.entropy import SystemEntropy, Words
from deeprotect.privacy.sampling import DiscreteLaplace, round_up
from studies.benchmark.made_up import CODES, randomised_response
from studies.benchmark.ratio import REPEATS, Ratio, Work, compare

SCALES = (Fraction(1), Fraction(50), round_up(Fraction(24576.123)))
"""Noise of one step, of features on a coarse grid, and of features on the default grid at small ε."""
DRAWS, PEER_DRAWS = 1 << 18, 1 << 13  # the peer takes some fifty times as long for each


def noise(*, draws: int = DRAWS, repeats: int = REPEATS) -> list[Ratio]:
    """Laplace noise, random bits and the channel."""
    return [*laplace(draws=draws, repeats=repeats), entropy_share(draws=draws, repeats=repeats), channel(draws=draws)]


def laplace(*, draws: int, repeats: int) -> list[Ratio]:
    """The exact sampler against OpenDP's, where it is installed, and against inexact floating-point noise."""
    ratios = []
    for scale in SCALES:
        what = f"exact Laplace noise, scale {float(scale):.6g}"
        ours = _ours(scale, draws)
        for peer, theirs in (*_opendp(scale), ("numpy, floating point", _numpy(scale, draws))):
            ratios.append(Ratio(what, peer, "throughput", compare(ours, theirs, repeats=repeats)))
    return ratios


def _ours(scale: Fraction, draws: int) -> Work:
    noise = DiscreteLaplace((scale,))
    return lambda: noise.draw(draws, entropy=SystemEntropy()).size


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
    return [("OpenDP, make_laplace", lambda: len(measurement(zeros)))]


class TimedEntropy:
    """The operating system's bits, with a note of the time they took."""

    def __init__(self) -> None:
        self.seconds = 0.0

    def words(self, count: int) -> Words:
        start = time.process_time()
        words = SystemEntropy().words(count)
        self.seconds += time.process_time() - start
        return words


def entropy_share(*, draws: int, repeats: int) -> Ratio:
    """How much of the sampler's time goes to the operating system's generator."""
    shares = []
    for _ in range(repeats):
        entropy, start = TimedEntropy(), time.process_time()
        DiscreteLaplace(SCALES[-1:]).draw(draws, entropy=entropy)
        shares.append(entropy.seconds / (time.process_time() - start))
    return Ratio("random bits for exact Laplace noise", "the whole draw", "time", float(np.median(shares)))


def channel(*, draws: int, codes: int = CODES, repeats: int = REPEATS) -> Ratio:
    """Drawing outputs exactly from integers, against numpy's choice with floating-point probabilities."""
    mechanism = randomised_response(codes)
    code = np.random.default_rng(0).integers(codes, size=draws)
    ours, theirs = _exactly(mechanism, code[:, None].astype(np.float64)), _choice(mechanism.probabilities, code)
    return Ratio(
        f"channel of {codes} codes", "numpy choice, code by code", "throughput", compare(ours, theirs, repeats=repeats)
    )


def _exactly(mechanism: DiscreteChannel, code: np.ndarray[Any, Any]) -> Work:
    return lambda: len(mechanism.privatise(code, entropy=SystemEntropy()))


def _choice(probabilities: np.ndarray[Any, Any], code: np.ndarray[Any, Any]) -> Callable[[], int]:
    generator = np.random.default_rng()

    def work() -> int:
        output = np.empty(len(code), dtype=np.int64)
        for each, row in enumerate(probabilities):
            here = np.flatnonzero(code == each)
            output[here] = generator.choice(len(row), size=here.size, p=row)
        return len(output)

    return work
