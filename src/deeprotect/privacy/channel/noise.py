"""How much of a channel is noise at all, in one sentence for everybody who has to say it."""

from deeprotect.privacy.channel.ratios import WHOLE, Weights

_RARELY = WHOLE // 1_000_000  # a code that leaves otherwise less often than this leaves without noise
_OTHERWISE = "but for less than one window in a million"
_CEILING = "an LDP bound of ε = 5 (ldp_ceiling) would add noise"


def codes_without_noise(weights: Weights) -> int:
    """How many codes leave as one fixed output; 0 where it is the same for all, because that tells nothing."""
    return 0 if _alike(weights) else sum(WHOLE - max(row) < _RARELY for row in weights)


def noise_of(weights: Weights) -> str:
    """On which codes noise is added; what `describe`, `verify` and `protect` say of it."""
    codes, silent = len(weights), codes_without_noise(weights)
    if _alike(weights):
        return f"not needed: all windows leave as one and the same output, {_OTHERWISE}"
    if silent == codes:
        return (
            f"none: each code leaves as one fixed output, {_OTHERWISE}, "
            f"so what is read from a window is released as it is; {_CEILING}"
        )
    if silent:
        return (
            f"on {codes - silent} of {codes} codes: the others leave as one fixed output each, {_OTHERWISE}; {_CEILING}"
        )
    return f"on each of {codes} codes"


def _alike(weights: Weights) -> bool:
    """Whether some output is all that ever comes, whatever the code."""
    return any(WHOLE - min(column) < _RARELY for column in zip(*weights, strict=True))
