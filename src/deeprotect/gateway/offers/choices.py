"""Choices below a bundle: a smaller ε for one app, or a longer hold. Nothing here can make a promise weaker.

A smaller ε comes from mixing: with some probability the draw is thrown away and a public output is drawn alike from all
that the channel can give. It is done on the channel's integers, and the new ε is derived from them again.
docs/claims.md#choices-below-a-bundle
"""

import math
from dataclasses import replace
from decimal import ROUND_FLOOR, Context, Decimal, InvalidOperation
from fractions import Fraction
from typing import Any

from deeprotect.bundle.bundle import Bundle
from deeprotect.bundle.manifest import MinimiserRecord
from deeprotect.errors import BundleError, InputError
from deeprotect.policy.durations import duration
from deeprotect.privacy.channel.discrete_channel import DiscreteChannel
from deeprotect.privacy.channel.ratios import WHOLE, Weights, ldp_ratio, log_up
from deeprotect.privacy.channel.script_response import ScriptResponse, keep_for
from deeprotect.signals import Hold

LONGEST_TEXT = 20
MOST_WINDOWS = 1 << 20
MOST_KEPT = 256
_PARTS = 1 << 62  # of a share of mixing
_DOWN = Context(prec=60, rounding=ROUND_FLOOR)


def varied(bundle: Bundle, epsilon: str | None, every: int | None) -> Bundle:
    """The bundle with ε as it is written and a hold of so many windows; None leaves what the bundle has.

    It is a bundle like any other: certificate, digest and every check are made anew. What would raise ε, shorten the
    hold or touch a promise that rests on counts is refused.
    """
    chosen, windows = parsed_epsilon(bundle, epsilon), checked_windows(bundle, every)
    if chosen is None and windows is None:
        return bundle
    if bundle.mechanism.event.guarantee != "ldp":
        raise InputError("only a bundle that promises ldp can be varied; train another for another ε or hold")
    mechanism: Any = bundle.mechanism if chosen is None else mixed(mixable(bundle), chosen)
    hold = bundle.hold if windows is None else Hold(windows, windows)
    mechanism = replace(mechanism, event=replace(mechanism.event, per=hold.per))
    privacy: dict[str, Any] = {} if chosen is None else {"epsilon": chosen}
    if windows is not None:
        privacy["every"] = duration(windows * bundle.policy.stream.window_seconds)
    manifest = bundle.manifest.model_copy(
        update={
            "policy": bundle.policy.vary(privacy=privacy).to_json(),
            "mechanism": mechanism.to_json(),
            "certificate": mechanism.certificate(),
            "minimiser": MinimiserRecord.model_validate(bundle.manifest.minimiser.unmeasured),
            "results": [],  # they were measured at another ε or hold
        }
    )
    return Bundle(manifest, bundle.files).checked("the varied bundle")


class VariedBundles:
    """Bundles as apps are given them, each made once: asked for with every message."""

    def __init__(self) -> None:
        self._made: dict[tuple[str, str | None, int | None], Bundle] = {}

    def get(self, bundle: Bundle, epsilon: str | None, every: int | None) -> Bundle:
        """As `varied` makes it; what cannot be made is a BundleError, for then the app has no bundle."""
        if epsilon is None and every is None:
            return bundle
        key = bundle.digest, epsilon, every
        if key not in self._made:
            try:
                made = varied(bundle, epsilon, every)
            except InputError as error:
                raise BundleError(str(error)) from None
            if len(self._made) >= MOST_KEPT:
                self._made.clear()
            self._made[key] = made
        return self._made[key]


def can_mix(bundle: Bundle) -> bool:
    """Whether a smaller ε can be chosen for it."""
    return isinstance(bundle.mechanism, DiscreteChannel | ScriptResponse) and bundle.mechanism.event.guarantee == "ldp"


def mixable(bundle: Bundle) -> DiscreteChannel | ScriptResponse:
    if not isinstance(bundle.mechanism, DiscreteChannel | ScriptResponse) or not can_mix(bundle):
        raise InputError("a smaller ε can be chosen for a channel that promises ldp only; train another bundle for it")
    return bundle.mechanism


def mixed(channel: DiscreteChannel | ScriptResponse, epsilon: float) -> DiscreteChannel | ScriptResponse:
    """The channel after mixing: at most ε by its own integers, or it could not be made."""
    event = replace(channel.event, epsilon=epsilon)
    if isinstance(channel, ScriptResponse):
        return replace(channel, event=event, keep=min(channel.keep, keep_for(channel.scripts.count, epsilon)))
    return replace(channel, event=event, ldp_ceiling=epsilon, weights=_weights(channel.weights, epsilon))


def share_of(channel: DiscreteChannel, epsilon: float) -> Fraction:
    """The least share of draws that are thrown away for ε, rounded up by at most 2^-60.

    A column with largest and smallest probability a and b keeps ((1 - s) a + s u) / ((1 - s) b + s u) ≤ e^ε, where u
    is 1 / (possible outputs), exactly when s / (1 - s) ≥ (a - e^ε b) / (u (e^ε - 1)).
    """
    if log_up(ldp_ratio(channel.weights)) <= epsilon:
        return Fraction(0)
    return Fraction(_parts(channel.weights, epsilon), _PARTS)


def parsed_epsilon(bundle: Bundle, text: str | None) -> float | None:
    """A number as people write it, not above the bundle's; None for the bundle's own."""
    if text is None or not text.strip():
        return None
    try:
        value = float(Decimal(text.strip())) if len(text) <= LONGEST_TEXT else math.nan
    except InvalidOperation:
        value = math.nan
    own = bundle.mechanism.event.epsilon
    if not (math.isfinite(value) and value >= LEAST):
        raise InputError(f"ε must be a number of at least {LEAST:g} and at most the bundle's {own:g}; write it as 2.5")
    if value > own:
        raise InputError(f"ε = {value:g} is more than the bundle's {own:g}; choose less, or train a bundle for it")
    return None if value == own else value


LEAST = 0.01
"""Below it next to nothing of the window is left, and no gauge could show it."""


def checked_windows(bundle: Bundle, every: int | None) -> int | None:
    """A hold in windows, not shorter than the bundle's; None for the bundle's own."""
    own = bundle.hold.windows
    if every is None or every == own:
        return None
    if every < own:
        raise InputError(f"a hold of {every} windows is shorter than the bundle's {own}, and would cost more; raise it")
    if bundle.mechanism.scripts is not None:
        raise InputError("a script is as long as the bundle's; train a bundle with another `every` for another length")
    if every > MOST_WINDOWS:
        raise InputError(f"a hold of {every} windows is too long; choose at most {MOST_WINDOWS}")
    return every


def _weights(weights: Weights, epsilon: float) -> Weights:
    """Integers that keep ε exactly: rounding may cost a hair more of a share than the closed form says."""
    if log_up(ldp_ratio(weights)) <= epsilon:
        return weights
    share, more = _parts(weights, epsilon), 1
    while True:
        made = _blend(weights, min(share, _PARTS))
        if share >= _PARTS or log_up(ldp_ratio(made)) <= epsilon:
            return made
        share, more = share + more, 4 * more


def _parts(weights: Weights, epsilon: float) -> int:
    factor = Fraction(Decimal(epsilon).exp(_DOWN).next_minus(_DOWN))  # below e^ε: the share is never too small
    columns = [column for column in zip(*weights, strict=True) if max(column)]
    uniform = Fraction(WHOLE, len(columns))
    odds: Fraction = max((max(column) - factor * min(column)) / (uniform * (factor - 1)) for column in columns)
    return math.ceil(odds / (1 + odds) * _PARTS)


def _blend(weights: Weights, share: int) -> Weights:
    """(1 - s) of each row and s of a uniform output; what rounding leaves over goes to the row's largest."""
    possible = [max(column) > 0 for column in zip(*weights, strict=True)]
    uniform = WHOLE // sum(possible)
    rows = []
    for row in weights:
        pairs = zip(row, possible, strict=True)
        made = [((_PARTS - share) * weight + share * uniform * able) // _PARTS for weight, able in pairs]
        # Fully mixed rows must be equal, also in what rounding leaves over.
        place = possible.index(True) if share == _PARTS else made.index(max(made))
        made[place] += WHOLE - sum(made)
        rows.append(tuple(made))
    return tuple(rows)
