"""What a choice of ε and hold means: accuracy to be expected, ε in an hour and a day, and how long a budget lasts."""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import timedelta
from fractions import Fraction

import numpy as np

from deeprotect.bundle.bundle import Bundle
from deeprotect.gateway.offers.choices import LEAST, can_mix, mixable, mixed, share_of
from deeprotect.privacy.channel.discrete_channel import DiscreteChannel
from deeprotect.privacy.channel.script_response import ScriptResponse
from deeprotect.release.ledger.limits import Limit, Limits, exact

HOUR = 3600
CURVE_POINTS = 33
HOLDS = (1, 2, 5, 10, 30, 60, 150, 300)
"""How many times longer than the bundle's own a hold is shown."""


@dataclass(frozen=True)
class SpendingRate:
    """ε for one draw, and one draw in so many seconds."""

    epsilon: Fraction
    seconds: Fraction

    @property
    def per_second(self) -> Fraction:
        return self.epsilon / self.seconds

    @property
    def per_hour(self) -> Fraction:
        return self.per_second * HOUR

    @property
    def per_day(self) -> Fraction:
        return self.per_hour * 24


@dataclass(frozen=True)
class Accuracy:
    """Share of draws that a useful app is expected to read rightly, at one ε."""

    epsilon: float
    expected: float


def rate_of(bundle: Bundle) -> SpendingRate:
    """While a stream runs; counted at the stated ε, as the ledger counts ldp."""
    seconds = bundle.hold.windows * bundle.policy.stream.window_seconds
    return SpendingRate(exact(bundle.mechanism.event.epsilon), seconds)


def lasts(limit: Limit, left: Fraction, rate: Fraction) -> timedelta | None:
    """How long what is left of a limit is enough at so much ε in a second; None: at that rate it never runs out.

    In a span that rolls, old charges leave it meanwhile: then it lasts at least so long.
    """
    if rate <= 0 or (limit.span is not None and rate * Fraction(limit.span.total_seconds()) <= limit.epsilon):
        return None
    seconds = left / rate
    return timedelta(seconds=float(min(seconds, Fraction(10**12))))


def limits_of(bundle: Bundle) -> Limits:
    return Limits.of(bundle.policy.privacy.budget)


def expected_accuracy(bundle: Bundle) -> float | None:
    """From the channel's own numbers, cross-fitted in training; None where the policy counts costs instead."""
    if not can_mix(bundle) or bundle.policy.training.cost_matrix:
        return None
    return 1.0 - mixable(bundle).expected_error()


def accuracy_curve(bundle: Bundle, *, points: int = CURVE_POINTS) -> Iterator[Accuracy]:
    """Accuracy against ε up to the bundle's own."""
    if expected_accuracy(bundle) is None:
        return
    own = bundle.mechanism.event.epsilon
    for epsilon in np.linspace(min(LEAST, own), own, points).tolist():
        yield Accuracy(epsilon, accuracy_at(bundle, min(epsilon, own)) or 0.0)


def accuracy_at(bundle: Bundle, epsilon: float) -> float | None:
    """Of one choice: a share of draws is thrown away, so it is a straight mix of two."""
    whole = expected_accuracy(bundle)
    if whole is None:
        return None
    channel = mixable(bundle)
    if isinstance(channel, ScriptResponse):
        return 1.0 - mixed(channel, epsilon).expected_error()
    share = float(share_of(channel, epsilon))
    return (1.0 - share) * whole + share * _blind_accuracy(channel)


def holds_of(bundle: Bundle) -> Iterator[tuple[int, Fraction]]:
    """Holds that may be chosen, in windows, and their seconds."""
    for times in HOLDS if bundle.mechanism.scripts is None else HOLDS[:1]:
        windows = times * bundle.hold.windows
        yield windows, windows * bundle.policy.stream.window_seconds


def _blind_accuracy(channel: DiscreteChannel) -> float:
    """Of outputs drawn alike from all that are possible."""
    possible = np.array([max(column) > 0 for column in zip(*channel.weights, strict=True)])
    return 1.0 - float(np.array(channel.prior) @ channel.cost[:, possible].mean(axis=1))
