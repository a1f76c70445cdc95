"""Useful classes with classes of a secret: a table of counts for each useful class, and what is in none.

Nothing may be missing: every useful class stands with every class of the secret, in a table or among those that are
promised nothing. docs/claims.md#given-the-useful-label
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from deeprotect.errors import BundleError, PolicyError, quoted
from deeprotect.privacy.channel.calibration import FEWEST_GIVEN, LONGEST_CODE, Integers, SensitiveCounts
from deeprotect.privacy.events import Event
from deeprotect.privacy.json_reader import JsonReader
from deeprotect.privacy.names import LONGEST_IN_BUNDLE, check_names
from deeprotect.privacy.size_limits import MOST_COMBINATIONS


@dataclass(frozen=True)
class Combination:
    """A useful class with a class of a secret that is promised nothing: too rare, or no other beside it."""

    inference: str
    given: str
    sensitive: str
    windows: int

    def __post_init__(self) -> None:
        check_names(
            (self.inference, self.sensitive), "the name of an inference or of its class", longest=LONGEST_IN_BUNDLE
        )
        check_names((self.given,), "the name of a useful class", longest=LONGEST_CODE)
        if self.windows < 0:
            raise PolicyError("a combination of classes was seen in no number of windows; count again")

    def __str__(self) -> str:
        return f"{quoted(self.given)} with {quoted(self.inference)} {quoted(self.sensitive)} ({self.windows} times)"


Tables = tuple[list[SensitiveCounts], list[Combination]]


def tables_of(
    inference: str, counts: Integers, *, given: Sequence[str], classes: Sequence[str], epsilon: float
) -> Tables:
    """From counts (useful class, class, code): a table for each useful class that two classes were seen with often
    enough (there may be none), and the combinations that are in no table."""
    tables, left_out = [], []
    for useful, by_class in zip(given, counts, strict=True):
        windows = by_class.sum(axis=1)
        kept = windows >= FEWEST_GIVEN
        kept &= kept.sum() > 1
        if kept.any():
            names = tuple(name for name, often in zip(classes, kept, strict=True) if often)
            tables.append(SensitiveCounts(inference, names, by_class[kept], epsilon, given=useful))
        rest = np.flatnonzero(~kept).tolist()
        left_out += [Combination(inference, useful, classes[each], int(windows[each])) for each in rest]
    return tables, left_out


def check_given(
    event: Event,
    secrets: Sequence[SensitiveCounts],
    left_out: Sequence[Combination],
    *,
    useful: Sequence[str],
) -> None:
    """Given the useful class, every one of them is accounted for; otherwise an inference has one table."""
    if {bool(secret.given) for secret in secrets} - {bool(event.given)}:
        raise PolicyError("the event must say what the promise is given, as the tables of counts do")
    if event.given:
        check_complete(secrets, left_out, useful=useful)
    elif left_out or len(event.inferences) != len(secrets):
        raise PolicyError("a sensitive inference needs one table of counts; design the channel again")


def check_complete(
    secrets: Sequence[SensitiveCounts], left_out: Sequence[Combination], *, useful: Sequence[str]
) -> None:
    """Refuse what leaves out a useful class, a class beside one, or a combination that was seen often enough."""
    for inference in dict.fromkeys([*(s.inference for s in secrets), *(each.inference for each in left_out)]):
        tables = [secret for secret in secrets if secret.inference == inference]
        rest = [each for each in left_out if each.inference == inference]
        _check_each_once(inference, tables, rest, useful=useful)
        _check_rare(inference, tables, rest)


def _check_each_once(
    inference: str, tables: Sequence[SensitiveCounts], rest: Sequence[Combination], *, useful: Sequence[str]
) -> None:
    found = [(table.given, name) for table in tables for name in table.classes]
    found += [(each.given, each.sensitive) for each in rest]
    classes = {name for _, name in found}
    if len(set(useful)) != len(useful):
        raise PolicyError("two useful classes have one name; rename the classes of a useful inference")
    if {given for given, _ in found} != set(useful):
        raise PolicyError(f"{quoted(inference)} must be counted for each useful class of the channel, and for no other")
    if len(found) != len(set(found)) or len(found) != len(useful) * len(classes):
        raise PolicyError(f"{quoted(inference)} must state each class once for each useful class; count again")
    if len({table.epsilon for table in tables}) != 1:
        raise PolicyError(
            f"{quoted(inference)} needs one epsilon, and a useful class with two classes seen often enough"
        )


def _check_rare(inference: str, tables: Sequence[SensitiveCounts], rest: Sequence[Combination]) -> None:
    """Seen often enough and in no table: only where no other class was, so that there is nothing to compare with."""
    often = Counter(each.given for each in rest if each.windows >= FEWEST_GIVEN)
    often.update({table.given: len(table.classes) for table in tables if table.given in often})
    if any(classes > 1 for classes in often.values()):
        raise PolicyError(
            f"{quoted(inference)} leaves out a combination that was seen in {FEWEST_GIVEN} windows or more"
        )


def to_json(secrets: Sequence[SensitiveCounts], left_out: Sequence[Combination]) -> dict[str, Any]:
    """By inference: one table of counts, or one for each useful class."""
    return {name: _one_json(one, secrets, left_out) for name, one in {each.inference: each for each in secrets}.items()}


def _one_json(
    one: SensitiveCounts, secrets: Sequence[SensitiveCounts], left_out: Sequence[Combination]
) -> dict[str, Any]:
    if not one.given:
        return one.to_json()
    tables = [secret.to_json() | {"given": secret.given} for secret in secrets if secret.inference == one.inference]
    rest = [each for each in left_out if each.inference == one.inference]
    return {
        "tables": tables,
        "without_promise": {
            "given": [each.given for each in rest],
            "classes": [each.sensitive for each in rest],
            "windows": [each.windows for each in rest],
        },
    }


def read(record: JsonReader, inferences: Sequence[str]) -> Tables:
    """What `to_json` wrote, for these inferences."""
    secrets: list[SensitiveCounts] = []
    left_out: list[Combination] = []
    for inference in inferences:
        inner = _inner(record, inference)
        if "tables" not in inner.fields:
            secrets.append(SensitiveCounts.read(inner, inference))
            continue
        secrets += [_read_table(each, inference) for each in inner.objects("tables")]
        rest = _inner(inner, "without_promise")
        parts = rest.texts("given"), rest.texts("classes"), rest.integers("windows")
        if len({*map(len, parts)}) != 1 or len(parts[0]) > MOST_COMBINATIONS:
            raise BundleError(f"{rest.name}: its lists must be of one length, {MOST_COMBINATIONS} at most; train again")
        left_out += [Combination(inference, *each) for each in zip(*parts, strict=True)]
    return secrets, left_out


def _read_table(record: JsonReader, inference: str) -> SensitiveCounts:
    counts, epsilon = record.matrix("counts"), record.number("epsilon")
    return SensitiveCounts(inference, record.texts("classes"), counts, epsilon, given=record.text("given"))


def _inner(record: JsonReader, field: str) -> JsonReader:
    inner = record.inner(field)
    if inner is None:
        raise BundleError(f"{record.name}: '{field}' is empty; restore the bundle or train again")
    return inner
