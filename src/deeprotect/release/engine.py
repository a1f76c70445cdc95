"""The one way through the house: encode, charge, privatise, record, decode; for files, live streams and the gateway.

Nothing else releases. Time, randomness and storage are arguments, so that audits and evaluations call the same engine.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from deeprotect.errors import BudgetError
from deeprotect.privacy.entropy import Entropy, SystemEntropy, require_system
from deeprotect.privacy.mechanisms.mechanism import Mechanism
from deeprotect.release.in_order import in_order
from deeprotect.release.ledger.ledger import Ledger, Paid
from deeprotect.signals import Hold, Run, Schema, Windows
from deeprotect.signals.episodes import Counts
from deeprotect.signals.schema import Floats

Beside = TypeVar("Beside")


class Pipeline(Protocol):
    """What the engine needs of a bundle.

    `encode` sees one scaled window at a time, `pool` makes one code of an episode's, `decode` gives windows in units.
    """

    @property
    def schema(self) -> Schema: ...
    @property
    def hold(self) -> Hold: ...
    @property
    def mechanism(self) -> Mechanism: ...
    def encode(self, private: Floats) -> Floats: ...
    def pool(self, evidence: Floats, counts: Counts) -> Floats: ...
    def decode(self, noisy_code: Floats) -> Floats: ...


@dataclass(frozen=True, eq=False)
class Request:
    """Draws of one account: what each looks at, how many windows it shows, and its number in the recording.

    observed: windows (window, time, channel) in units, those of one draw after those of another, so many each in
    `counts`. shown: windows of each draw's episode.
    """

    bundle: Pipeline
    ledger: Ledger
    runs: Sequence[Run]
    observed: Floats
    counts: Counts
    shown: Counts

    @classmethod
    def of(cls, private: Windows, bundle: Pipeline, ledger: Ledger) -> "Request":
        """A batch of whole episodes, each drawn from its own windows, as the policy looks at them."""
        shown = private.frame.windows_of_episodes
        heard, counts = bundle.hold.heard(shown)
        samples = private.samples if len(heard) == len(private) else private.samples[heard]
        return cls(bundle, ledger, private.frame.runs, samples, counts, shown)


@dataclass(frozen=True, eq=False)
class Released:
    """Windows in units (window, time, channel), the noisy code that each shows, and which draws looked at no data."""

    windows: Floats
    codes: Floats
    placeholder: NDArray[np.bool_]


def release(
    requests: Sequence[Request], *, entropy: SystemEntropy, codes: Sequence[Floats] | None = None
) -> list[Released | BudgetError]:
    """One answer for each request, in order; whoever has no budget left is refused alone.

    All requests are charged, drawn and recorded in one transaction, and nothing is given back before it is on disk:
    when that fails nobody gets anything, and the same request finds what was kept for it, if anything was.
    """
    return rehearse(requests, entropy=require_system(entropy), codes=codes)


def rehearse(
    requests: Sequence[Request], *, entropy: Entropy, codes: Sequence[Floats] | None = None
) -> list[Released | BudgetError]:
    """The same with any randomness, to measure or to attack: never for what leaves."""
    if not requests:
        return []
    codes = encode(requests) if codes is None else codes
    with requests[0].ledger.open(requests) as books:
        paid = books.charge()
        drawn = _privatise(requests, codes, paid, entropy=entropy)
        kept = books.record(drawn)
    return _decode(requests, kept, paid)


def encode(requests: Sequence[Request]) -> list[Floats]:
    """A code (draw, value) for each draw; one call for all requests that share a bundle."""
    codes: dict[int, Floats] = {}
    for bundle, places in _by_bundle(requests, range(len(requests))):
        some = [requests[place] for place in places]
        observed, counts = _joined([r.observed for r in some]), np.concatenate([r.counts for r in some])
        code = bundle.pool(bundle.encode(bundle.schema.scale(observed)), counts)
        codes |= zip(places, _parted(code, [len(request.counts) for request in some]), strict=True)
    return [codes[place] for place in range(len(requests))]


def stream(
    windows: Iterable[Windows], bundle: Pipeline, *, ledger: Ledger, entropy: SystemEntropy, workers: int = 1
) -> Iterator[Windows]:
    """Released windows, one batch for each private batch of whole episodes."""
    alone = ((private, None) for private in windows)
    for released, _ in accompanied(alone, bundle, ledger=ledger, entropy=entropy, workers=workers):
        yield released


def accompanied(
    batches: Iterable[tuple[Windows, Beside]],
    bundle: Pipeline,
    *,
    ledger: Ledger,
    entropy: SystemEntropy,
    workers: int = 1,
) -> Iterator[tuple[Windows, Beside]]:
    """The same, and what goes beside each batch with it; `workers` threads encode, charging and sampling stay
    sequential."""
    system = require_system(entropy)
    requests = ((each, Request.of(each[0], bundle, ledger)) for each in batches if len(each[0]))
    for ((private, beside), request), codes in in_order(lambda asked: encode([asked[1]]), requests, workers=workers):
        yield Windows(one(release([request], entropy=system, codes=codes)).windows, private.frame), beside


def one(answers: Sequence[Released | BudgetError]) -> Released:
    """The only answer; a refusal is raised."""
    (answer,) = answers
    if isinstance(answer, BudgetError):
        raise answer
    return answer


def _privatise(
    requests: Sequence[Request], codes: Sequence[Floats], paid: Sequence[Paid | BudgetError], *, entropy: Entropy
) -> list[Floats | None]:
    """What each request's windows show, (window, value); codes that are not paid for are not looked at."""
    marks = {place: each for place, each in enumerate(paid) if not isinstance(each, BudgetError)}
    drawn: dict[int, Floats] = {}
    for bundle, places in _by_bundle(requests, marks):
        code, mark = _joined([codes[p] for p in places]), _joined([marks[p] for p in places])
        shown = [requests[place].shown for place in places]
        noisy_code = _drawn(bundle.mechanism, code, mark, entropy=entropy)
        held = bundle.mechanism.repeat(noisy_code, np.concatenate(shown), entropy=entropy)
        drawn |= zip(places, _parted(held, [int(each.sum()) for each in shown]), strict=True)
    return [drawn.get(place) for place in range(len(requests))]


def _drawn(mechanism: Mechanism, code: Floats, paid: Paid, *, entropy: Entropy) -> Floats:
    noisy_code = mechanism.privatise(code[paid], entropy=entropy)
    if paid.all():
        return noisy_code
    drawn = np.empty((len(code), noisy_code.shape[1]))
    drawn[paid], drawn[~paid] = noisy_code, mechanism.placeholders(int((~paid).sum()), entropy=entropy)
    return drawn


def _decode(
    requests: Sequence[Request], kept: Sequence[Floats | None], paid: Sequence[Paid | BudgetError]
) -> list[Released | BudgetError]:
    answers: dict[int, Released | BudgetError] = {
        p: each for p, each in enumerate(paid) if isinstance(each, BudgetError)
    }
    there = {place: each for place, each in enumerate(kept) if each is not None}
    for bundle, places in _by_bundle(requests, there):
        windows = bundle.decode(_joined([there[place] for place in places]))
        for place, some in zip(places, _parted(windows, [len(there[place]) for place in places]), strict=True):
            answers[place] = Released(some, there[place], ~np.asarray(paid[place], dtype=bool))
    return [answers[place] for place in range(len(requests))]


def _by_bundle(requests: Sequence[Request], places: Iterable[int]) -> Iterator[tuple[Pipeline, list[int]]]:
    alike: defaultdict[int, list[int]] = defaultdict(list)
    for place in places:
        alike[id(requests[place].bundle)].append(place)
    return ((requests[some[0]].bundle, some) for some in alike.values())


def _joined(parts: Sequence[NDArray[Any]]) -> NDArray[Any]:
    """One after the other; of a single one nothing is copied."""
    return parts[0] if len(parts) == 1 else np.concatenate(parts)


def _parted(rows: Floats, lengths: Sequence[int]) -> list[Floats]:
    return np.split(rows, np.cumsum(lengths)[:-1])
