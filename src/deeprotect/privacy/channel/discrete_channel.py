"""The discrete channel: one of K codes in, one of J public outputs out, drawn exactly from integers out of 2^64."""

import hashlib
import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from deeprotect.errors import BundleError, InputError, PolicyError
from deeprotect.privacy.channel.betting import Floats, Integers
from deeprotect.privacy.channel.ratios import WHOLE, Weights, ldp_ratio, log_up
from deeprotect.privacy.entropy import Entropy, Words
from deeprotect.privacy.events import Event, Step
from deeprotect.privacy.json_reader import JsonReader
from deeprotect.privacy.sampling import below
from deeprotect.privacy.size_limits import LONGEST_CODE, MOST_CODES, MOST_VARIANTS, check_names

KIND = "channel"
_ROW = re.compile(r"[0-9]{1,20}(?: [0-9]{1,20})*")
_RARELY = WHOLE // 1_000_000  # a code whose other outputs are less likely than this counts as released without noise
_OTHERWISE = "but for less than one window in a million"
_SMALLER = "a smaller ε would add noise"


def _always(column: Sequence[int]) -> bool:
    """Whether this output is released for every code."""
    return WHOLE - min(column) < _RARELY


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
            if start < end:  # a live window needs the row of one code only
                here = order[start:end]
                output[here] = columns[np.searchsorted(last, words[here])]
        return output

    @cached_property
    def _thresholds(self) -> list[tuple[NDArray[np.intp], Words]]:
        """Each code's possible outputs, and the last word that gives each; for the last output that is 2^64 - 1."""
        rows = []
        for row in self._weights:
            columns = [column for column, weight in enumerate(row) if weight]
            last = [sum(row[: column + 1]) - 1 for column in columns]
            rows.append((np.array(columns, dtype=np.intp), np.array(last, dtype=np.uint64)))
        return rows


@dataclass(frozen=True, eq=False)
class DiscreteChannel:
    """Code z becomes output j with probability `weights[z][j]` / 2^64, then a variant is drawn uniformly.

    The released index is j * variants + variant. A channel whose ε, derived again from its own integers, exceeds the
    stated one cannot be made. docs/claims.md#channel-and-ldp
    """

    event: Event
    weights: Weights
    prior: tuple[float, ...]
    cost: Floats
    variants: int = 1
    codes: tuple[str, ...] = ()
    outputs: tuple[str, ...] = ()
    name = "channel"
    dim = 1
    scripts = None

    def __post_init__(self) -> None:
        self._check_shape()
        if self.event.guarantee != "ldp" or self.event.delta:
            raise PolicyError("a channel promises ldp with delta 0; state that")
        if self.real_epsilon > self.event.epsilon:
            raise PolicyError(
                f"the weights give epsilon {self.real_epsilon:.6g}, above the stated {self.event.epsilon:.6g}; "
                "design the channel again"
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
        check_names((*self.codes, *self.outputs), "the name of a code", longest=LONGEST_CODE)

    @cached_property
    def real_epsilon(self) -> float:
        """ε-LDP of the integers, rounded up; infinite where an output is possible for some codes only."""
        return log_up(ldp_ratio(self.weights))

    @cached_property
    def codes_without_noise(self) -> int:
        """The number of codes that are released as one fixed output; if that is all of them, no noise is added.

        0 if that output is the same for all, because it reveals nothing.
        """
        return 0 if self.only_output is not None else sum(WHOLE - max(row) < _RARELY for row in self.weights)

    @property
    def only_output(self) -> int | None:
        """The output that all windows are released as, if there is one."""
        return next((place for place, column in enumerate(zip(*self.weights, strict=True)) if _always(column)), None)

    @property
    def noise(self) -> str:
        """The sentence on which codes get noise, as `describe`, `verify` and `protect` print it."""
        codes, silent = len(self.weights), self.codes_without_noise
        if self.only_output is not None:
            return f"not needed: all windows leave as one and the same output, {_OTHERWISE}"
        if silent == codes:
            return (
                f"none: each code leaves as one fixed output, {_OTHERWISE}, "
                f"so what is read from a window is released as it is; {_SMALLER}"
            )
        if not silent:
            return f"on each of {codes} codes"
        fixed = f"the others leave as one fixed output each, {_OTHERWISE}"
        return f"on {codes - silent} of {codes} codes: {fixed}; {_SMALLER}"

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
        """Draws public outputs uniformly, without looking at a window."""
        return below(self.public_outputs, count, entropy).astype(np.float64)[:, None]

    def repeat(self, noisy_code: Floats, counts: Integers, *, entropy: Entropy) -> Floats:
        """Repeats each output for the windows of its episode, each with a fresh variant; no code is looked at."""
        if (counts == 1).all():
            return noisy_code
        output = np.repeat(self.output_of(noisy_code), counts)
        return (output * self.variants + below(self.variants, len(output), entropy)).astype(np.float64)[:, None]

    @cached_property
    def _draw(self) -> ExactDraw:
        return ExactDraw(self.weights)

    @property
    def public_outputs(self) -> int:
        """The number of indices that can be released: outputs × variants."""
        return len(self.weights[0]) * self.variants

    def output_of(self, noisy_code: Floats) -> Integers:
        """The output behind each released index: public, as the code book is."""
        return np.asarray(noisy_code[:, 0].astype(np.int64) // self.variants)

    def derive(self) -> Iterator[Step]:
        """ε from integers alone."""
        whole = all(sum(row) == WHOLE and min(row) >= 0 for row in self.weights)
        sizes = f"{len(self.weights)} codes × {len(self.weights[0])} outputs"
        yield Step("integers", holds=whole, found=f"{sizes}, each row sums to 2^64")
        epsilon, stated = log_up(ldp_ratio(self.weights)), self.event.epsilon
        found = f"largest ratio of integers gives ε = {epsilon:.9g} ldp, stated {stated:g}"
        yield Step("ε from integers", holds=epsilon <= stated, found=found)
        yield Step("noise", holds=None, found=self.noise)

    def expected_error(self) -> float:
        """The expected cost of one draw under the prior."""
        return float(np.array(self.prior) @ (self.probabilities * self.cost).sum(axis=1))

    def certificate(self) -> dict[str, Any]:
        """The certificate, derived from the channel's own integers."""
        return self.event.certificate(
            mechanism=self.name,
            method="ratios of integers out of 2^64",
            derived_epsilon=self.real_epsilon,
            ldp_epsilon=self.real_epsilon,
            codes=len(self.weights),
            outputs=len(self.weights[0]),
            variants=self.variants,
            noise=self.noise,
            codes_without_noise=self.codes_without_noise,
            integers_sha256=self._digest(),
        )

    def _digest(self) -> str:
        return hashlib.sha256(json.dumps([self._rows(), self.variants]).encode()).hexdigest()

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
            "codes": list(self.codes),
            "outputs": list(self.outputs),
        }

    @classmethod
    def read(cls, record: JsonReader, event: Event) -> "DiscreteChannel":
        rows = record.texts("weights")
        if not all(_ROW.fullmatch(row) for row in rows):
            raise BundleError(f"{record.name}: a channel needs rows of whole numbers; restore the bundle")
        return cls(
            event,
            tuple(tuple(map(int, row.split(" "))) for row in rows),
            record.floats("prior"),
            record.matrix("cost"),
            record.integer("variants"),
            record.texts("codes"),
            record.texts("outputs"),
        )
