"""The release pipeline: encode, charge, privatise, record, decode; for files, live streams and the gateway.

Nothing else releases. Time, randomness and storage are arguments, so that audits and evaluations call the same engine.
"""

import os
from collections import defaultdict, deque
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from deeprotect.errors import BudgetError, LedgerError
from deeprotect.privacy.entropy import Entropy, SystemEntropy, require_system
from deeprotect.privacy.mechanisms.mechanism import Mechanism
from deeprotect.release.ledger.ledger import Ledger, Paid
from deeprotect.release.ledger.limits import ldp_epsilon, up
from deeprotect.signals import Hold, RecordingName, Run, Schema, Windows
from deeprotect.signals.schema import Floats
from deeprotect.signals.windowing import Counts

Beside = TypeVar("Beside")
Item = TypeVar("Item")
Result = TypeVar("Result")
PUBLIC_CODE = 0.0
"""The code of a draw for which a bundle gives none."""
LedgerOf = Callable[[str | RecordingName], Ledger]
"""Maps the name of a recording to the ledger that it is charged to."""
_OTHER_PRICE = (
    "this ledger charges {} (counted: {}), and a draw here is {} (counted: {}); open the ledger with the protector "
    "that releases"
)


class Pipeline(Protocol):
    """What the engine needs of a bundle.

    `encode` sees one scaled window at a time, `pool` makes one code for an episode, and `decode` returns windows in
    units. Only `codes_of` and `windows_of`, which never fail, call them.
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
    """Draws for one account: what each looks at, how many windows show it, and its number in the recording.

    `observed` holds windows (window, time, channel) in units, draw by draw, `counts` of them for each. `shown` is the
    number of windows of each draw's episode. `only_kept`: earlier draws are shown again and no new ones are made,
    because `observed` holds no data.
    """

    bundle: Pipeline
    ledger: Ledger
    runs: Sequence[Run]
    observed: Floats
    counts: Counts
    shown: Counts
    only_kept: bool = False

    def check_price(self) -> None:
        """Refuse a ledger with another price; equal events are not enough, since their LDP bounds may differ."""
        price, mechanism = self.ledger.price, self.bundle.mechanism
        epsilon = ldp_epsilon(mechanism)
        if (price.event, price.epsilon) != (mechanism.event, epsilon):
            told = price.event, up(price.epsilon), mechanism.event, up(epsilon)
            raise LedgerError(_OTHER_PRICE.format(*told))

    @classmethod
    def of(cls, private: Windows, bundle: Pipeline, ledger: Ledger) -> "Request":
        """A request for a batch of whole episodes, each drawn from its own windows as the policy says."""
        return cls._of(private.samples, private.frame.windows_of_episodes, private.frame.runs, bundle, ledger)

    @classmethod
    def each(cls, private: Windows, bundle: Pipeline, ledger_of: LedgerOf) -> "list[Request]":
        """Requests for a batch of several accounts, in the order of their recordings."""
        runs, shown = private.frame.runs or (Run("", 0, len(private)),), private.frame.windows_of_episodes
        parts: list[tuple[Ledger, list[Run]]] = []
        for run in runs:
            ledger = ledger_of(run.recording)
            if not parts or parts[-1][0] is not ledger:
                parts.append((ledger, []))
            parts[-1][1].append(run)
        if len(parts) == 1:
            return [cls.of(private, bundle, parts[0][0])]
        draws = np.cumsum([sum(run.count for run in some) for _, some in parts])[:-1]
        windows = np.cumsum([int(some.sum()) for some in np.split(shown, draws)])[:-1]
        each = zip(np.split(private.samples, windows), np.split(shown, draws), parts, strict=True)
        return [cls._of(samples, some, its, bundle, ledger) for samples, some, (ledger, its) in each]

    @classmethod
    def _of(cls, samples: Floats, shown: Counts, runs: Sequence[Run], bundle: Pipeline, ledger: Ledger) -> "Request":
        heard, counts = bundle.hold.heard(shown)
        return cls(bundle, ledger, runs, samples if len(heard) == len(samples) else samples[heard], counts, shown)


@dataclass(frozen=True, eq=False)
class Released:
    """Windows in units (window, time, channel), the noisy code of each, and which draws are placeholders."""

    windows: Floats
    codes: Floats
    placeholder: NDArray[np.bool_]


def release(
    requests: Sequence[Request], *, entropy: SystemEntropy, codes: Sequence[Floats] | None = None
) -> list[Released | BudgetError]:
    """Returns an answer for each request, in order; a spent budget refuses only its own request.

    All requests are charged, drawn and recorded in one transaction, and nothing is returned before it is on disk. If
    that fails, nothing is released, and the same request later gets the draws that were recorded, if any.
    """
    return simulate(requests, entropy=require_system(entropy), codes=codes)


def simulate(
    requests: Sequence[Request], *, entropy: Entropy, codes: Sequence[Floats] | None = None
) -> list[Released | BudgetError]:
    """Runs the release with any randomness, to measure or to attack; never for a real release."""
    if not requests:
        return []
    for request in requests:
        request.check_price()
    codes = encode(requests) if codes is None else codes
    with requests[0].ledger.open(requests) as books:
        paid = books.charge()
        drawn = _privatise(requests, codes, paid, entropy=entropy)
        kept = books.record(drawn)
    return _decode(requests, kept, paid)


def encode(requests: Sequence[Request]) -> list[Floats]:
    """Codes (draw, value) of each request; requests that share a bundle are encoded in one call."""
    codes: dict[int, Floats] = {}
    for bundle, places in _by_bundle(requests, range(len(requests))):
        some = [requests[place] for place in places]
        observed, counts = _joined([r.observed for r in some]), np.concatenate([r.counts for r in some])
        code = codes_of(bundle, bundle.schema.scale(observed), counts)
        codes |= zip(places, _parted(code, [len(request.counts) for request in some]), strict=True)
    return [codes[place] for place in range(len(requests))]


def codes_of(bundle: Pipeline, scaled: Floats, counts: Counts) -> Floats:
    """A code (draw, value) for each draw of `counts` scaled windows, whatever the bundle does with them.

    If the bundle fails, or returns no codes, each draw is encoded by itself; draws that fail again get the public
    code, and are charged, drawn and released like any other. docs/claims.md#encoding-is-total
    """

    def code(windows: Floats, of_each: Counts) -> Floats:
        return bundle.pool(bundle.encode(windows), of_each)

    public = np.full((1, bundle.mechanism.dim), PUBLIC_CODE)
    together = _attempt(code, scaled, counts, like=public)
    if together is not None:
        return together
    draws = zip(np.split(scaled, np.cumsum(counts)[:-1]), counts[:, None], strict=True)
    alone = (_attempt(code, *draw, like=public) for draw in draws)
    return np.concatenate([public if each is None else each for each in alone])


def windows_of(bundle: Pipeline, noisy_code: Floats) -> Floats:
    """Decodes noisy codes to windows (window, time, channel) in units; the middle of the range where decoding fails."""
    middle = bundle.schema.middle[None]
    together = _attempt(bundle.decode, noisy_code, like=middle)
    if together is not None:
        return together
    alone = (_attempt(bundle.decode, each[None], like=middle) for each in noisy_code)
    return np.concatenate([middle if each is None else each for each in alone])


def _attempt(work: Callable[..., Floats], *given: NDArray[Any], like: Floats) -> Floats | None:
    """Returns rows shaped like `like`, one per row of the last argument, or None: an error could quote a sample."""
    try:
        with np.errstate(all="ignore"):
            made = np.asarray(work(*given), dtype=np.float64)
    except Exception:
        return None
    return made if made.shape == (len(given[-1]), *like.shape[1:]) else None


def stream(
    windows: Iterable[Windows], bundle: Pipeline, *, ledger: Ledger, entropy: SystemEntropy, workers: int = 1
) -> Iterator[Windows]:
    """Yields released windows, one batch for each private batch of whole episodes."""
    alone = ((private, None) for private in windows)
    for released, _ in accompanied(alone, bundle, ledger_of=lambda _: ledger, entropy=entropy, workers=workers):
        yield released


def accompanied(
    batches: Iterable[tuple[Windows, Beside]],
    bundle: Pipeline,
    *,
    ledger_of: LedgerOf,
    entropy: SystemEntropy,
    workers: int = 1,
) -> Generator[tuple[Windows, Beside], None, None]:
    """Releases batches, each with a companion value; each recording is charged to its own ledger.

    `workers` threads encode, charging and sampling stay sequential.
    """
    system = require_system(entropy)
    requests = ((each, Request.each(each[0], bundle, ledger_of)) for each in batches if len(each[0]))
    for ((private, beside), asked), codes in in_order(lambda each: encode(each[1]), requests, workers=workers):
        answers = release(asked, entropy=system, codes=codes)
        yield Windows(_joined([one([answer]).windows for answer in answers]), private.frame), beside


def one(answers: Sequence[Released | BudgetError]) -> Released:
    """Returns the only answer, or raises its refusal."""
    (answer,) = answers
    if isinstance(answer, BudgetError):
        raise answer
    return answer


def _privatise(
    requests: Sequence[Request], codes: Sequence[Floats], paid: Sequence[Paid | BudgetError], *, entropy: Entropy
) -> list[Floats | None]:
    """Noisy codes (window, value) for the windows of each request; codes that were not charged are not looked at."""
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
        windows = windows_of(bundle, _joined([there[place] for place in places]))
        for place, some in zip(places, _parted(windows, [len(there[place]) for place in places]), strict=True):
            answers[place] = Released(some, there[place], ~np.asarray(paid[place], dtype=bool))
    return [answers[place] for place in range(len(requests))]


def _by_bundle(requests: Sequence[Request], places: Iterable[int]) -> Iterator[tuple[Pipeline, list[int]]]:
    alike: defaultdict[int, list[int]] = defaultdict(list)
    for place in places:
        alike[id(requests[place].bundle)].append(place)
    return ((requests[some[0]].bundle, some) for some in alike.values())


def _joined(parts: Sequence[NDArray[Any]]) -> NDArray[Any]:
    """Concatenates arrays; a single one is not copied."""
    return parts[0] if len(parts) == 1 else np.concatenate(parts)


def _parted(rows: Floats, lengths: Sequence[int]) -> list[Floats]:
    return np.split(rows, np.cumsum(lengths)[:-1])


def in_order(work: Callable[[Item], Result], items: Iterable[Item], *, workers: int) -> Iterator[tuple[Item, Result]]:
    """Yields each item with the result of `work`, in order; at most one more item than threads is in progress.

    Items are taken and results yielded in the caller's thread. An error is raised in place of its result.
    """
    if workers <= 1:
        yield from ((item, work(item)) for item in items)
        return
    under_way = deque[tuple[Item, Future[Result]]]()
    pool = ThreadPoolExecutor(workers, thread_name_prefix="encode")
    try:
        for item in items:
            under_way.append((item, pool.submit(work, item)))
            if len(under_way) > workers:
                first, future = under_way.popleft()
                yield first, future.result()
        while under_way:
            first, future = under_way.popleft()
            yield first, future.result()
    finally:
        pool.shutdown(cancel_futures=True)


def encoding_threads() -> int:
    """The cores that this process may use, less one for writing; at least one.

    On two cores, a second encoding thread used a quarter more processor time and saved no time.
    """
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return max(1, cores - 1)
