"""The audit: attack the release path as it runs, and say how much privacy loss the attack has shown at least."""

from collections.abc import Iterator
from dataclasses import replace
from functools import partial

from threadpoolctl import threadpool_limits

from deeprotect.audit.attack import Progress, attack, of_batches, of_windows
from deeprotect.audit.batches import AllOfOneClass, Batch, batches, episodes, most_telling, scripts_apart
from deeprotect.audit.bound import confidence_of_each
from deeprotect.audit.candidates import candidates
from deeprotect.audit.classes import worst_classes
from deeprotect.audit.finding import Audit, Finding
from deeprotect.audit.isolation import isolation
from deeprotect.audit.pairs import Pair, farthest, neighbours
from deeprotect.audit.trials import outputs_of
from deeprotect.audit.views import view
from deeprotect.errors import InputError
from deeprotect.privacy.events import Guarantee
from deeprotect.release.engine import Pipeline
from deeprotect.signals.schema import Floats
from deeprotect.training.labelled_windows import LabelledWindows

RUNS = 100_000
FEWEST_RUNS, MOST_RUNS = 1_000, 1_000_000
_PILOT = 0.1  # share of the runs that finds the pair of classes worth attacking
_BATCHES = 0.025  # share of the runs that are repeated with whole batches, each a release of its own
_FEWEST_BATCHES = 400
_CLASS_BATCHES = (8, 32)  # windows of one class that are released together
_OBSERVERS = 2  # of windows by themselves, and of batches


def audit(
    bundle: Pipeline,
    *,
    runs: int = RUNS,
    windows: LabelledWindows | None = None,
    progress: Progress = lambda _: None,
) -> Audit:
    """Attack every promise: the stated one, and the ε-LDP that the certificate derives beside it.

    `windows` are labelled; a named promise needs them, other promises take them as candidates.
    """
    if not FEWEST_RUNS <= runs <= MOST_RUNS:
        raise InputError(f"runs = {runs} must be between {FEWEST_RUNS} and {MOST_RUNS}")
    claims, left_out = _claims(bundle), []
    if "named" in claims and windows is None:
        left_out.append(f"{bundle.mechanism.event}: give a labelled table (--data) to attack this promise")
        del claims["named"]
    if "named" in claims and bundle.hold.windows > 1:
        left_out.append(f"{bundle.mechanism.event}: windows drawn one by one make no episode like those of calibration")
        del claims["named"]
    if not claims:
        raise InputError(f"{left_out[0]}; the bundle makes no other")
    with threadpool_limits(1):  # products and trees are small: waiting for a second thread costs 10× on busy cores
        tried = candidates(bundle, given=None if windows is None else windows.flat)
        apart = isolation(bundle, tried)
        progress(0.1)
        findings = _findings(bundle, claims, tried, runs=runs, windows=windows, progress=progress)
        return Audit(tuple(findings), apart, tuple(left_out))


def _claims(bundle: Pipeline) -> dict[Guarantee, float]:
    event, beside = bundle.mechanism.event, bundle.mechanism.certificate()["ldp_epsilon"]
    claims: dict[Guarantee, float] = {} if beside is None else {"ldp": beside}
    claims[event.guarantee] = event.epsilon
    return claims


def _findings(
    bundle: Pipeline,
    claims: dict[Guarantee, float],
    tried: Floats,
    *,
    runs: int,
    windows: LabelledWindows | None,
    progress: Progress,
) -> Iterator[Finding]:
    """For each claim an attack on windows and one on batches; confidence is split evenly over all of them."""
    outputs, attacks = outputs_of(bundle), _OBSERVERS * len(claims)
    for number, (guarantee, claim) in enumerate(claims.items()):
        press = partial(attack, guarantee=guarantee, claim=claim, confidence=confidence_of_each(attacks))
        pair = _pair(bundle, guarantee, tried, runs=runs, windows=windows)
        shown = partial(_part, progress, _OBSERVERS * number, attacks)
        yield press(of_windows(bundle, outputs), pair, runs=runs, progress=shown)
        batch = most_telling(bundle, pair, _batches(bundle, pair, guarantee, tried), outputs=outputs)
        shown = partial(_part, progress, _OBSERVERS * number + 1, attacks)
        few = max(_FEWEST_BATCHES, int(_BATCHES * runs))
        # Of a script, one window allows less than all of them do.
        told = pair if bundle.mechanism.scripts is None else replace(pair, allowed=None)
        yield press(of_batches(bundle, batch, outputs), told, runs=few, progress=shown)


def _pair(bundle: Pipeline, guarantee: Guarantee, tried: Floats, *, runs: int, windows: LabelledWindows | None) -> Pair:
    if guarantee == "rldp" and view(bundle.mechanism).directions is not None:
        return neighbours(bundle)
    if guarantee == "named" and windows is not None:
        pilot = max(FEWEST_RUNS, int(_PILOT * runs))
        return worst_classes(bundle, windows, bundle.mechanism.event.inferences, runs=pilot)
    return farthest(bundle, tried, runs=runs // 2)


def _batches(bundle: Pipeline, pair: Pair, guarantee: Guarantee, tried: Floats) -> Iterator[Batch]:
    if bundle.mechanism.scripts is None:  # one window of a script tells no more than it does alone
        yield from batches(pair, tried)
    else:
        yield from scripts_apart(pair, bundle.mechanism.scripts)
    if bundle.hold.windows > 1:
        yield from episodes(tried, bundle.hold.windows)
    if guarantee == "named":
        yield from map(AllOfOneClass, _CLASS_BATCHES)


def _part(progress: Progress, number: int, count: int, share: float) -> None:
    progress(0.1 + 0.9 * (number + share) / count)
