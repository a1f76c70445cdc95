"""Checks that the parts of a bundle belong together: policy, mechanism, certificate, networks."""

import math
from typing import Any

from deeprotect.bundle.layers.erasing import Erase
from deeprotect.bundle.layers.rounding import Argmax
from deeprotect.bundle.manifest import Manifest
from deeprotect.bundle.network import Network, OutputTable
from deeprotect.errors import BundleError, quoted
from deeprotect.policy import Policy
from deeprotect.privacy.mechanisms.mechanism import Mechanism

Decoder = Network | OutputTable
MOST_NUMBERS = 1 << 12
"""The most scores or features of a window with fewer values than that: those of a whole batch are held in memory."""


def check_promise(policy: Policy, mechanism: Mechanism) -> None:
    """Refuse a mechanism that promises less than the policy; ε-LDP includes every other promise at the same ε."""
    stated, event = policy.privacy, mechanism.event
    if event.epsilon > stated.epsilon:
        raise BundleError(f"the mechanism spends ε = {event.epsilon:g}, more than the policy's {stated.epsilon:g}")
    if event.per != policy.hold.per:
        raise BundleError(f"the mechanism's ε is per {event.per}, the policy's per {policy.hold.per}")
    _check_scripts(policy, mechanism)
    seen = sorted({*policy.erased} - {*event.erased})
    if seen:
        raise BundleError(f"the directions of {quoted(seen[0])} are not erased, which the policy asks for")
    if stated.mechanism not in ("auto", mechanism.name):
        raise BundleError(f"the policy asks for mechanism {stated.mechanism}, not {mechanism.name}")
    if event.guarantee != "ldp":
        _check_weaker(policy, mechanism)


def _check_scripts(policy: Policy, mechanism: Mechanism) -> None:
    """Refuse scripts that are not the policy's: one draw would then cover less than the policy says."""
    slot, scripts = policy.slot_windows, mechanism.scripts
    if (slot is None) != (scripts is None):
        raise BundleError(f"the policy asks for {'no ' if slot is None else ''}scripts, and the mechanism does not")
    if scripts is None:
        return
    stated = policy.hold.windows, slot, policy.privacy.changes
    if stated not in [(scripts.slots * scripts.windows, scripts.windows, each) for each in (scripts.changes, None)]:
        raise BundleError("the mechanism's slots and changes are not the policy's; train again")


def _check_weaker(policy: Policy, mechanism: Mechanism) -> None:
    stated, event = policy.privacy, mechanism.event
    if event.guarantee != stated.guarantee:
        raise BundleError(f"the mechanism gives {event.guarantee}, the policy promises {stated.guarantee}")
    forgotten = sorted(set(policy.inferences.sensitive) - set(event.inferences))
    if forgotten:
        raise BundleError(f"the mechanism does not hide {quoted(forgotten[0])}, which the policy names sensitive")


def check_names_known(policy: Policy, mechanism: Mechanism, *, manifest: Manifest) -> None:
    """Refuse promises and records about inferences that the policy does not name."""
    useful, sensitive = set(policy.inferences.useful), set(policy.inferences.sensitive)
    strange = {name for result in manifest.results for name in {*result.useful, *result.classes} - useful}
    strange |= {name for result in manifest.results for name in {*result.sensitive} - sensitive}
    unseen = [result.unseen for result in manifest.results if result.unseen is not None]
    strange |= {name for each in unseen for name in ({*each.useful} - useful) | ({*each.sensitive} - sensitive)}
    strange |= set() if manifest.kept is None else {*manifest.kept.blind} - sensitive
    strange |= {*manifest.training.classes} - useful - sensitive | {
        *mechanism.event.inferences,
        *mechanism.event.erased,
    } - sensitive
    if strange:
        raise BundleError(f"the policy names no {quoted(min(strange))}, which other parts of the bundle are about")


def check_certificate(derived: dict[str, Any], stored: dict[str, Any]) -> None:
    """Refuse a certificate that does not follow from the mechanism's own numbers."""
    wrong = sorted(name for name in {*derived, *stored} if not _same(derived.get(name), stored.get(name)))
    if wrong:
        raise BundleError(f"the certificate does not follow from the mechanism's own numbers: {quoted(wrong[0])}")


def _same(derived: Any, stored: Any) -> bool:
    """Whether two values are equal, floats within 1e-9: solvers and sums differ between machines."""
    if isinstance(derived, float) and isinstance(stored, int | float):
        return math.isclose(derived, stored, rel_tol=1e-9)
    if isinstance(derived, list) and isinstance(stored, list):
        return len(derived) == len(stored) and all(map(_same, derived, stored))
    if isinstance(derived, dict) and isinstance(stored, dict):
        return derived.keys() == stored.keys() and all(_same(derived[name], stored[name]) for name in derived)
    return bool(derived == stored)


def check_erased(encoder: Network) -> str:
    """Refuse an encoder in which anything sees a window before its directions are erased; returns what was found.

    A chain branches only inside its layers, so its first layer comes before every branch.
    """
    first = encoder.layers[0] if encoder.layers else None
    if not isinstance(first, Erase):
        raise BundleError("the encoder does not begin by erasing directions, as the promise says; train again")
    return (
        f"the first layer takes {len(first.pivots)} of {first.values} directions out of a window, in whole steps; "
        "nothing else sees the window"
    )


def check_shapes(mechanism: Mechanism, encoder: Network, decoder: Decoder, *, dim: int) -> str:
    """Refuse networks that do not fit the windows or the mechanism; returns what was found."""
    code = mechanism.dim
    shapes = (encoder.inputs, encoder.outputs, decoder.inputs, decoder.outputs)
    if shapes != (dim, code, code, dim):
        raise BundleError(f"the networks' shapes {shapes} do not fit windows of {dim} values and codes of {code}")
    last = encoder.layers[-1] if encoder.layers else None
    numbers, most = max(code, sum(last.classes) if isinstance(last, Argmax) else 0), max(dim, MOST_NUMBERS)
    if numbers > most:
        raise BundleError(f"the encoder gives {numbers} numbers for a window, more than {most}; train again")
    if mechanism.scripts is not None and not (isinstance(last, Argmax) and last.labels == mechanism.scripts.labels):
        raise BundleError("scripts need an encoder that decides between just their labels; train again")
    rows = len(decoder.steps) if isinstance(decoder, OutputTable) else None
    if rows != mechanism.public_outputs:
        wanted = f"a table of {mechanism.public_outputs} public windows" if mechanism.public_outputs else "a decoder"
        raise BundleError(f"mechanism {mechanism.name} needs {wanted}; train again")
    return f"windows of {dim} values, " + (f"codes of {code}" if rows is None else f"{rows} public ones, all in [0, 1]")
