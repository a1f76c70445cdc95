"""Randomised response over scripts: one draw for all labels of an episode, exactly, from integers out of 2^64."""

import hashlib
import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from decimal import ROUND_FLOOR, Context, Decimal
from fractions import Fraction
from typing import Any

import numpy as np

from deeprotect.errors import BundleError, InputError, PolicyError
from deeprotect.privacy.channel.betting import Floats, Integers
from deeprotect.privacy.channel.promises import LONGEST_CODE
from deeprotect.privacy.channel.ratios import WHOLE, log_up
from deeprotect.privacy.channel.scripts import Scripts
from deeprotect.privacy.entropy import Entropy
from deeprotect.privacy.events import Event
from deeprotect.privacy.json_reader import JsonReader
from deeprotect.privacy.names import check_names
from deeprotect.privacy.sampling import below
from deeprotect.privacy.size_limits import MOST_VARIANTS
from deeprotect.privacy.step import Step

KIND = "script"
_DIGITS = re.compile(r"[0-9]{1,20}")
_DOWN = Context(prec=60, rounding=ROUND_FLOOR)


@dataclass(frozen=True, eq=False)
class ScriptResponse:
    """With probability `keep` / 2^64 an episode's script leaves as it is, otherwise any script alike.

    Any two scripts are told apart by a factor of 1 + N keep / (2^64 - keep) at most, N being all scripts; one whose
    factor exceeds e^ε cannot be made. Each window of an episode shows a variant of its slot's label, drawn uniformly.
    prior and cost are of the label behind a window: P(label), and what an output's misreading costs (label, output).
    docs/claims.md#scripts
    """

    event: Event
    keep: int
    scripts: Scripts
    prior: tuple[float, ...]
    cost: Floats
    variants: int = 1
    outputs: tuple[str, ...] = ()
    name = "channel"
    dim = 1
    takes_windows = False

    def __post_init__(self) -> None:
        labels = self.scripts.labels
        if not (0 <= self.keep < WHOLE and 1 <= self.variants <= MOST_VARIANTS):
            raise PolicyError("a script is kept with a chance below 1, out of 2^64, and has 1 to 2^20 variants")
        if len(self.prior) != labels or self.cost.shape != (labels, labels) or len(self.outputs) not in (0, labels):
            raise PolicyError("a script needs one prior, one row of costs and one name for each label")
        check_names(self.outputs, "the name of a code", longest=LONGEST_CODE)
        if self.event.guarantee != "ldp" or self.event.delta or self.event.confidence != 1:
            raise PolicyError("a script promises ldp, with delta 0 and confidence 1; state that")
        if self.real_epsilon > self.event.epsilon:
            raise PolicyError(
                f"the integers give epsilon {self.real_epsilon:.6g}, above the stated {self.event.epsilon:.6g}"
            )

    @classmethod
    def of(cls, scripts: Scripts, epsilon: float, **facts: Any) -> "ScriptResponse":
        """The one that keeps most at ε."""
        return cls(Event("ldp", epsilon), keep_for(scripts.count, epsilon), scripts, **facts)

    @property
    def real_epsilon(self) -> float:
        """The ε of the integers, rounded up."""
        return log_up(_ratio(self.keep, self.scripts.count))

    @property
    def kept(self) -> float:
        """The chance that a script leaves because it was read, and not by chance."""
        return self.keep / WHOLE

    @property
    def noise(self) -> str:
        return f"of {self.scripts.count:,} scripts, the one read leaves in {self.kept:.4g} of draws, else any alike"

    def privatise(self, code: Floats, *, entropy: Entropy) -> Floats:
        """Numbers of scripts (n, 1) for numbers (n, 1); total in its input: NaN is 0, others go to the nearest."""
        given = np.asarray(code, dtype=np.float64)
        if given.ndim != 2 or given.shape[1] != 1:
            raise InputError(f"codes of shape {given.shape} do not fit scripts; give one number for each episode")
        read = np.fmin(np.fmax(np.rint(given), 0.0), self.scripts.count - 1)  # fmax takes 0 where there is NaN
        kept = entropy.words(len(given))[:, None] < np.uint64(self.keep)
        return np.where(kept, read, self.placeholders(len(given), entropy=entropy))

    def placeholders(self, count: int, *, entropy: Entropy) -> Floats:
        """Any script alike: no window is looked at."""
        return below(self.scripts.count, count, entropy).astype(np.float64)[:, None]

    def repeat(self, noisy_code: Floats, counts: Integers, *, entropy: Entropy) -> Floats:
        """What each window shows: a variant, drawn afresh, of its slot's label in the one script that was drawn."""
        label = self.scripts.shown(noisy_code[:, 0].astype(np.int64), counts)
        return (label * self.variants + below(self.variants, len(label), entropy)).astype(np.float64)[:, None]

    @property
    def public_outputs(self) -> int:
        """Indices that windows can show: labels × variants."""
        return self.scripts.labels * self.variants

    def output_of(self, noisy_code: Floats) -> Integers:
        """The label behind each window's index: public, as the code book is."""
        return np.asarray(noisy_code[:, 0].astype(np.int64) // self.variants)

    def derive(self) -> Iterator[Step]:
        """ε from two integers: how many scripts there are, and in how many of 2^64 draws one is kept."""
        ratio = log_up(_ratio(self.keep, self.scripts.count))
        yield Step("scripts", holds=None, found=f"{self.scripts.count:,}: {self.scripts}")
        found = f"largest ratio of integers gives ε = {ratio:.9g} ldp, stated {self.event.epsilon:g}"
        yield Step("ε from integers", holds=ratio <= self.event.epsilon, found=found)
        yield Step("noise", holds=None, found=self.noise)

    def expected_error(self) -> float:
        """The expected cost of one window under the prior."""
        right, any_alike = (
            float(np.array(self.prior) @ each) for each in (self.cost.diagonal(), self.cost.mean(axis=1))
        )
        return self.kept * right + (1.0 - self.kept) * any_alike

    def certificate(self) -> dict[str, Any]:
        """The promise with everything it rests on, worked out from the two integers."""
        return self.event.to_json() | {
            "mechanism": self.name,
            "neighbours": f"any two {self.event.per}s",
            "derived_epsilon": self.real_epsilon,
            "ldp_epsilon": self.real_epsilon,
            "ldp_ceiling": self.event.epsilon,
            "sensitivity": None,
            "exact": True,
            "method": "a ratio of integers out of 2^64",
            "assumes": [],
            "scripts": self.scripts.count,
            "labels": self.scripts.labels,
            "slots": self.scripts.slots,
            "changes": self.scripts.changes,
            "variants": self.variants,
            "noise": self.noise,
            "integers_sha256": hashlib.sha256(json.dumps([str(self.keep), self._sizes()]).encode()).hexdigest(),
        }

    def _sizes(self) -> dict[str, int]:
        scripts = self.scripts
        sizes = {"labels": scripts.labels, "slots": scripts.slots, "changes": scripts.changes}
        return sizes | {"windows_per_slot": scripts.windows, "variants": self.variants}

    def to_json(self) -> dict[str, Any]:
        facts = {"kind": KIND, "name": self.name, "event": self.event.to_json(), "keep": str(self.keep)}
        return facts | self._sizes() | {"prior": [*self.prior], "cost": self.cost.tolist(), "outputs": [*self.outputs]}

    @classmethod
    def read(cls, record: JsonReader, event: Event) -> "ScriptResponse":
        keep, sizes = record.text("keep"), ("labels", "slots", "changes", "windows_per_slot")
        if not _DIGITS.fullmatch(keep):
            raise BundleError(f"{record.name}: 'keep' must be a whole number; restore the bundle")
        scripts = Scripts(*map(record.integer, sizes))
        facts = record.floats("prior"), record.matrix("cost"), record.integer("variants"), record.texts("outputs")
        return cls(event, int(keep), scripts, *facts)


def keep_for(count: int, epsilon: float) -> int:
    """The most, out of 2^64, that a script may be kept with at ε, where there are so many."""
    factor = Fraction(Decimal(epsilon).exp(_DOWN).next_minus(_DOWN))  # below e^ε
    keep = int(WHOLE * (factor - 1) / (factor - 1 + count))
    while log_up(_ratio(keep, count)) > epsilon:
        keep -= 1
    return keep


def _ratio(keep: int, count: int) -> Fraction:
    """P(script | read) / P(script | another read): (keep + rest / N) / (rest / N)."""
    return 1 + Fraction(keep * count, WHOLE - keep)
