"""The discrete channel: one of K codes in, one of J public outputs out, drawn exactly from integers out of 2^64."""

import hashlib
import json
import math
import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from deeprotect.errors import BundleError, InputError, PolicyError
from deeprotect.privacy.channel import promises
from deeprotect.privacy.channel.betting import Floats, Integers
from deeprotect.privacy.channel.promises import LONGEST_CODE, NamedPromise, Unpromised
from deeprotect.privacy.channel.ratios import WHOLE, Weights, ldp_ratio, log_up, named_ratio
from deeprotect.privacy.entropy import Entropy, Words
from deeprotect.privacy.events import Event, Step
from deeprotect.privacy.json_reader import JsonReader
from deeprotect.privacy.sampling import below
from deeprotect.privacy.size_limits import MOST_CODES, MOST_TABLES, MOST_VARIANTS, check_names

KIND = "channel"
_ROW = re.compile(r"[0-9]{1,20}(?: [0-9]{1,20})*")
_RARELY = WHOLE // 1_000_000  # a code that leaves otherwise less often than this leaves without noise
_OTHERWISE = "but for less than one window in a million"
_CEILING = "an LDP bound of ε = 5 (ldp_ceiling) would add noise"


def _alike(weights: Weights) -> bool:
    """Whether some output is all that ever comes, whatever the code."""
    return any(WHOLE - min(column) < _RARELY for column in zip(*weights, strict=True))


class ExactDraw:
    """Code z becomes output j with probability `weights[z][j]` / 2^64, one 64-bit word for each draw.

    docs/claims.md#exact-sampling-of-the-channel
    """

    def __init__(self, weights: Weights) -> None:
        self._weights = weights

    def __call__(self, index: NDArray[np.int16], words: Words) -> Integers:
        """The first output whose last word is not below the word drawn."""
        output = np.empty(len(index), dtype=np.int64)
        order = np.argsort(index, kind="stable")
        ends = np.searchsorted(index[order], np.arange(len(self._weights) + 1)).tolist()
        for (columns, last), start, end in zip(self._thresholds, ends, ends[1:], strict=False):
            if start < end:  # a live window has one code, of perhaps hundreds
                here = order[start:end]
                output[here] = columns[np.searchsorted(last, words[here])]
        return output

    @cached_property
    def _thresholds(self) -> list[tuple[NDArray[np.intp], Words]]:
        """For each code its possible outputs and the last word that gives each: 2^64 - 1 for the last of them."""
        rows = []
        for row in self._weights:
            columns = [column for column, weight in enumerate(row) if weight]
            last = [sum(row[: column + 1]) - 1 for column in columns]
            rows.append((np.array(columns, dtype=np.intp), np.array(last, dtype=np.uint64)))
        return rows


@dataclass(frozen=True, eq=False)
class DiscreteChannel:
    """Code z becomes output j with probability `weights[z][j]` / 2^64, then a variant is drawn uniformly.

    The released index is j * variants + variant. A channel whose epsilons, derived again from its own integers and
    sets, exceed the stated ones cannot be made. docs/claims.md#channel-and-ldp and
    docs/claims.md#channel-and-named-inferences
    """

    event: Event
    weights: Weights
    prior: tuple[float, ...]
    cost: Floats
    variants: int = 1
    promises: tuple[NamedPromise, ...] = ()
    ldp_ceiling: float | None = None
    codes: tuple[str, ...] = ()
    outputs: tuple[str, ...] = ()
    unpromised: tuple[Unpromised, ...] = ()
    name = "channel"
    dim = 1
    takes_windows = False
    scripts = None

    def __post_init__(self) -> None:
        self._check_shape()
        self._check_event()
        if self.ldp_ceiling is not None and self.ldp_epsilon > self.ldp_ceiling:
            raise PolicyError(f"the weights give ldp epsilon {self.ldp_epsilon:.6g}, above {self.ldp_ceiling:.6g}")
        for each, derived in zip(self.promises, self.named_epsilons, strict=True):
            if derived > each.epsilon:
                raise PolicyError(
                    f"the weights give epsilon {derived:.6g} for {each}, "
                    f"above the stated {each.epsilon:.6g}; design the channel again"
                )

    def _check_shape(self) -> None:
        sizes = {len(row) for row in self.weights}
        if len(sizes) != 1 or not 1 <= min(len(self.weights), *sizes) <= max(len(self.weights), *sizes) <= MOST_CODES:
            raise PolicyError(f"a channel needs 1 to {MOST_CODES} rows of weights of one length, of as many at most")
        if any(weight < 0 for row in self.weights for weight in row) or {sum(r) for r in self.weights} != {WHOLE}:
            raise PolicyError("each row of a channel's weights must be non-negative and sum to 2^64")
        if not 1 <= self.variants <= MOST_VARIANTS:
            raise PolicyError(f"variants = {self.variants} must be between 1 and {MOST_VARIANTS}")
        rows, columns = len(self.weights), len(self.weights[0])
        if len(self.prior) != rows or self.cost.shape != (rows, columns):
            raise PolicyError("a channel needs one prior for each code and one cost for each code and output")
        if len(self.codes) not in (0, rows) or len(self.outputs) not in (0, columns):
            raise PolicyError("a channel's labels must be one for each code and one for each output, or none")
        if any(len(each.low) != rows for each in self.promises):
            raise PolicyError("the set of a sensitive inference must have one interval for each code")
        if max(len(self.promises), len(self.unpromised)) > MOST_TABLES:
            raise PolicyError(f"a channel has {MOST_TABLES} named promises at most; name fewer inferences")
        check_names((*self.codes, *self.outputs), "the name of a code", longest=LONGEST_CODE)

    def _check_event(self) -> None:
        """The event says no less than the integers are checked against."""
        if self.promises:
            named = tuple(dict.fromkeys(each.inference for each in self.promises))
            stated = ("named", max(each.epsilon for each in self.promises), named)
        else:
            stated = ("ldp", self.ldp_ceiling or math.nan, ())
        if stated != (self.event.guarantee, self.event.epsilon, self.event.inferences) or self.event.delta:
            raise PolicyError("the event does not state what the channel is checked for; state the same epsilons")
        if not self.promises and self.event.confidence != 1:
            raise PolicyError("ldp holds with confidence 1; state it")
        if self.promises and self.unpromised and self.ldp_ceiling is None:
            raise PolicyError("classes without a promise need an ldp_ceiling, which holds for them; state one")
        promises.check_promises(self.event, self.promises, self.unpromised, useful=self.outputs)

    @cached_property
    def ldp_epsilon(self) -> float:
        """ε-LDP of the integers, rounded up; infinite where an output is possible for some codes only."""
        return log_up(ldp_ratio(self.weights))

    @cached_property
    def named_epsilons(self) -> tuple[float, ...]:
        """For each promise the ε over all conditionals in its set, rounded up."""
        return tuple(log_up(named_ratio(self.weights, *each.box)) for each in self.promises)

    @property
    def real_epsilon(self) -> float:
        """The ε that holds for the event's guarantee."""
        return max(self.named_epsilons) if self.promises else self.ldp_epsilon

    @cached_property
    def codes_without_noise(self) -> int:
        """Codes that leave as one fixed output, for anyone to read; when it is all of them, no noise is added.

        0 where that output is the same for all, because it tells nothing.
        """
        return 0 if _alike(self.weights) else sum(WHOLE - max(row) < _RARELY for row in self.weights)

    @property
    def noise(self) -> str:
        """On which codes noise is added: the one sentence that `describe`, `verify` and `protect` print."""
        codes, silent = len(self.weights), self.codes_without_noise
        if _alike(self.weights):
            return f"not needed: all windows leave as one and the same output, {_OTHERWISE}"
        if silent == codes:
            return (
                f"none: each code leaves as one fixed output, {_OTHERWISE}, "
                f"so what is read from a window is released as it is; {_CEILING}"
            )
        if not silent:
            return f"on each of {codes} codes"
        fixed = f"the others leave as one fixed output each, {_OTHERWISE}"
        return f"on {codes - silent} of {codes} codes: {fixed}; {_CEILING}"

    @property
    def probabilities(self) -> Floats:
        return np.array([[weight / WHOLE for weight in row] for row in self.weights])

    def privatise(self, code: Floats, *, entropy: Entropy) -> Floats:
        """Released indices (n, 1) for codes (n, 1); total in its input: NaN is code 0, others go to the nearest."""
        given = np.asarray(code, dtype=np.float64)
        if given.ndim != 2 or given.shape[1] != 1:
            raise InputError(f"codes of shape {given.shape} do not fit a channel; give one code for each window")
        index = np.fmin(np.fmax(np.rint(given[:, 0]), 0.0), len(self.weights) - 1)  # fmax takes 0 where there is NaN
        output = self._draw(index.astype(np.int16), entropy.words(len(given)))
        variant = below(self.variants, len(given), entropy)
        return (output * self.variants + variant).astype(np.float64)[:, None]

    def placeholders(self, count: int, *, entropy: Entropy) -> Floats:
        """Any public output alike: no window is looked at."""
        return below(self.public_outputs, count, entropy).astype(np.float64)[:, None]

    def repeat(self, noisy_code: Floats, counts: Integers, *, entropy: Entropy) -> Floats:
        """Each output as often as said, a variant drawn afresh for every further window: without looking at a code."""
        if (counts == 1).all():
            return noisy_code
        output = np.repeat(self.output_of(noisy_code), counts)
        return (output * self.variants + below(self.variants, len(output), entropy)).astype(np.float64)[:, None]

    @cached_property
    def _draw(self) -> ExactDraw:
        return ExactDraw(self.weights)

    @property
    def public_outputs(self) -> int:
        """Indices that can be released: outputs × variants."""
        return len(self.weights[0]) * self.variants

    def output_of(self, noisy_code: Floats) -> Integers:
        """The output behind each released index: public, as the code book is."""
        return np.asarray(noisy_code[:, 0].astype(np.int64) // self.variants)

    def derive(self) -> Iterator[Step]:
        """Every ε from integers and sets alone."""
        whole = all(sum(row) == WHOLE and min(row) >= 0 for row in self.weights)
        sizes = f"{len(self.weights)} codes × {len(self.weights[0])} outputs"
        yield Step("integers", holds=whole, found=f"{sizes}, each row sums to 2^64")
        yield self._derive_ldp()
        yield Step("noise", holds=None, found=self.noise)
        yield from promises.derive(self.event, self.weights, self.promises, rest=self.unpromised)

    def _derive_ldp(self) -> Step:
        epsilon = log_up(ldp_ratio(self.weights))
        found = f"largest ratio of integers gives ε = {epsilon:.9g} ldp"
        if self.ldp_ceiling is None:
            return Step("ε from integers", holds=None, found=f"{found}; none is stated")
        holds = epsilon <= self.ldp_ceiling
        return Step("ε from integers", holds=holds, found=f"{found}, stated {self.ldp_ceiling:g}")

    def expected_error(self) -> float:
        """The expected cost of one draw under the prior."""
        return float(np.array(self.prior) @ (self.probabilities * self.cost).sum(axis=1))

    def certificate(self) -> dict[str, Any]:
        """The promise with everything it rests on, worked out from the channel's own integers and sets."""
        finite = math.isfinite(self.ldp_epsilon)
        return self.event.certificate(
            mechanism=self.name,
            method="ratios of integers out of 2^64",
            derived_epsilon=self.real_epsilon,
            ldp_epsilon=self.ldp_epsilon if finite else None,
            neighbours=promises.neighbours(self.event),
            assumes=promises.assumes(self.event),
            ldp_ceiling=self.ldp_ceiling,
            secrets=promises.certified(self.event, self.promises, self.unpromised, epsilons=self.named_epsilons),
            unpromised=promises.unpromised_lines(self.event, self.promises, self.unpromised),
            codes=len(self.weights),
            outputs=len(self.weights[0]),
            variants=self.variants,
            noise=self.noise,
            codes_without_noise=self.codes_without_noise,
            integers_sha256=self._digest(),
        )

    def _digest(self) -> str:
        facts = [self._rows(), self.variants, promises.to_json(self.promises)]
        return hashlib.sha256(json.dumps(facts).encode()).hexdigest()

    def _rows(self) -> list[str]:
        return [" ".join(map(str, row)) for row in self.weights]

    def to_json(self) -> dict[str, Any]:
        return {
            "kind": KIND,
            "name": self.name,
            "event": self.event.to_json(),
            "weights": self._rows(),
            "prior": list(self.prior),
            "cost": self.cost.tolist(),
            "variants": self.variants,
            "promises": promises.to_json(self.promises),
            "unpromised": promises.to_json(self.unpromised),
            "ldp_ceiling": [] if self.ldp_ceiling is None else [self.ldp_ceiling],
            "codes": list(self.codes),
            "outputs": list(self.outputs),
        }

    @classmethod
    def read(cls, record: JsonReader, event: Event) -> "DiscreteChannel":
        rows, ceiling = record.texts("weights"), record.floats("ldp_ceiling")
        if len(ceiling) > 1 or not all(_ROW.fullmatch(row) for row in rows):
            raise BundleError(f"{record.name}: a channel needs rows of whole numbers and at most one ldp_ceiling")
        named, rest = promises.read(record)
        return cls(
            event,
            tuple(tuple(map(int, row.split(" "))) for row in rows),
            record.floats("prior"),
            record.matrix("cost"),
            record.integer("variants"),
            named,
            ceiling[0] if ceiling else None,
            record.texts("codes"),
            record.texts("outputs"),
            rest,
        )
