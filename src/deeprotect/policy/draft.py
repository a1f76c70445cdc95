"""A first policy for a table, from the names, types and units of its columns, without reading values."""

import math
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from deeprotect.errors import Argument, PolicyError, printable
from deeprotect.policy.known_sensors import NOT_SENSORS, PERSON, Sensor, recognise, scale_of, suggested_map, unit_in
from deeprotect.policy.mistakes import nearest
from deeprotect.policy.policy import VERSION, Json, Policy
from deeprotect.policy.repository import Repository
from deeprotect.policy.sections import RESERVED_COLUMNS
from deeprotect.privacy.size_limits import LONGEST_IN_BUNDLE, is_name

EPSILON = 5.0  # for one draw; the paper's case studies balance at about this value
SCRIPT_EPSILON = 11.0  # of 576 scripts (six classes, twenty slots) 99 % then leave unchanged
WINDOW_SECONDS = 2.0
MOST_EPSILON = 50.0  # e^50 to one promises nothing
LONGEST_WINDOW_SECONDS = 600.0
UNBALANCED = 4  # ratio of windows between two classes
FEWEST_COUNTED = 8  # windows of a class, below which it gets no code, and so no cost
MOST_CLASSES = 12  # more costs would not be readable
_HEART: Json = {"unit": "1/min", "range": [40, 200], "levels": 16}
_CADENCE: Json = {"unit": "steps/min", "range": [60, 200], "levels": 18}
NUMBERS: dict[str, Json] = {
    **dict.fromkeys(("heartrate", "hr", "bpm", "pulse"), _HEART),
    **dict.fromkeys(("cadence", "stepsperminute"), _CADENCE),
    "speed": {"unit": "m/s", "range": [0, 10], "levels": 20},
}
"""Useful numbers by column name, without spaces and underscores: usual units and public ranges."""


@dataclass(frozen=True)
class Draft:
    """A first policy, and notes on what to check."""

    policy: Policy
    notes: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Column:
    """A column of a table, as its header describes it."""

    name: str
    numeric: bool
    unit: str | None = None


def columns_of(schema: Any) -> tuple[Column, ...]:
    """The columns of a pyarrow Schema; a field's unit is its metadata entry `unit`."""
    from pyarrow import types  # needed only for Arrow schemas

    def column(field: Any) -> Column:
        unit = (field.metadata or {}).get(b"unit")
        numeric = types.is_floating(field.type) or types.is_integer(field.type) or types.is_decimal(field.type)
        return Column(field.name, numeric, unit.decode("utf-8", "replace") if unit is not None else None)

    return tuple(column(field) for field in schema)


def draft(
    columns: Iterable[Column],
    *,
    useful: Iterable[str],
    sensitive: Iterable[str] = (),
    rate_hz: float,
    window: int | None = None,
    epsilon: float | None = None,
    every: str | None = None,
    slots: str | None = None,
    mapping: Mapping[str, str],
    repository: Repository | None = None,
) -> Policy:
    """Draft a policy whose channels are the columns named like sensors, with hardware ranges by sensor and unit.

    `mapping` names the columns of time, recording, person and of channels with other names in the table. `epsilon`
    defaults to 5, or 11 for scripts, which have `slots`.
    """
    columns, useful, sensitive = tuple(columns), tuple(useful), tuple(sensitive)
    labels = (*useful, *sensitive)
    _check_labels(labels, columns, repository)
    _check_sense(rate_hz, window, epsilon)
    found = _channels(columns, taken=(*labels, *mapping.values()))
    tables: Json = {
        "version": VERSION,
        "stream": {
            "rate_hz": rate_hz,
            "window": _default_window(rate_hz) if window is None else window,
            "channels": {column.name: _spec(column, sensor) for column, sensor in found},
            "columns": {name: column for name, column in mapping.items() if name not in (column, PERSON)},
        },
        "inferences": {"useful": useful, "sensitive": sensitive, "numeric": _numbers(columns, useful)},
        "privacy": _privacy(epsilon, slots),
    }
    if every is not None:
        tables["privacy"]["every"] = every
    if PERSON in mapping:
        tables["training"] = {"people": mapping[PERSON]}
    return Policy.from_tables(tables, where="draft")


def _numbers(columns: Iterable[Column], useful: Collection[str]) -> Json:
    """Levels of useful columns that are numbers under a usual name; a stated unit must be the usual one."""
    found: Json = {}
    for column in columns:
        usual = NUMBERS.get(column.name.lower().replace("_", "").replace(" ", ""))
        if usual is not None and column.name in useful and column.numeric and column.unit in (None, usual["unit"]):
            found[column.name] = dict(usual)
    return found


def _privacy(epsilon: float | None, slots: str | None) -> Json:
    if slots is None:
        return {"epsilon": EPSILON if epsilon is None else epsilon}
    return {"epsilon": SCRIPT_EPSILON if epsilon is None else epsilon, "slots": slots}


def assumptions(columns: Iterable[Column], policy: Policy) -> list[str]:
    """Assumptions of a draft that the user should check: unstated units, columns left out."""
    columns = tuple(columns)
    assumed: dict[str, list[str]] = {}
    for column in columns:
        spec = policy.stream.channels.get(column.name)
        if spec is not None and (column.unit or unit_in(column.name)) is None:
            assumed.setdefault(f"{spec.unit}, range {list(spec.range)}", []).append(column.name)
    lines = [f"{', '.join(names)}: taken as {taken}; change unit and range if not" for taken, names in assumed.items()]
    for name, place in policy.stream.columns.items():
        shown = f"'{printable(place)}'"
        again = "" if name in policy.stream.channels else _again(name, shown)
        lines.append(f"{name} is read from column {shown}{again}")
    if policy.training.people not in (None, PERSON):
        shown = f"'{printable(policy.training.people or '')}'"
        lines.append(f"training distinguishes people by column {shown}{_again(PERSON, shown)}")
    for name, number in policy.inferences.numeric.items():
        lines.append(
            f"'{printable(name)}' is taken as a number in {number.unit}, {number.levels} levels over "
            f"{list(number.range)}; change unit, range and levels under [inferences.numeric] if not"
        )
    return lines + _left_out(columns, policy)


def balanced(policy: Policy, counts: Mapping[str, Mapping[str, int]]) -> tuple[Policy, list[str]]:
    """The policy with costs that weigh all classes equally if they are unbalanced, and notes on it.

    `counts` holds the approximate number of windows of each class, by useful inference.
    """
    costs, notes = {}, []
    for name, found in counts.items():
        if name in policy.inferences.numeric:
            continue
        known = {each: count for each, count in found.items() if count >= FEWEST_COUNTED}
        named = all(is_name(each, longest=LONGEST_IN_BUNDLE) for each in known)
        if not named or not 2 <= len(known) <= MOST_CLASSES:
            continue
        rarest, least = min(known.items(), key=lambda each: each[1])
        if max(known.values()) < UNBALANCED * least:
            continue
        costs[name] = {
            true: {read: float(f"{least / count:.2g}") for read in known if read != true}
            for true, count in known.items()
            if count > least
        }
        notes.append(
            f"'{printable(rarest)}' is {least / sum(known.values()):.1%} of '{printable(name)}': "
            f"[training.cost_matrix] gives all classes the same weight; remove it to give all windows the same weight"
        )
    return (policy.vary(training={"cost_matrix": costs}) if costs else policy), notes


def _again(name: str, shown: str) -> str:
    """Advice for the release, because a bundle never names columns of another table."""
    return f"; add --map {name}={shown} when you release"


def _left_out(columns: tuple[Column, ...], policy: Policy) -> list[str]:
    """Columns that no release will contain, by reason."""
    labels = {*_labels(policy), policy.training.people}
    named = {*policy.stream.channels, *policy.stream.columns.values(), *RESERVED_COLUMNS, *labels}
    rest = [column for column in columns if column.name not in named]
    sensors = [column.name for column in rest if not column.numeric and recognise(column.name)]
    numbers = [column.name for column in rest if column.numeric]
    text = [column.name for column in rest if not column.numeric and not recognise(column.name)]
    reasons = (
        (numbers, "not a known sensor, and left out; to use it, add it under [stream.channels]"),
        (sensors, "named like a sensor but not a number, and left out; see `deeprotect check`"),
        (text, "text column, not used by this policy"),
    )
    return [f"{_some(names)}: {reason}" for names, reason in reasons if names]


def warnings_for(policy: Policy, repository: Repository) -> list[str]:
    """What the policy's sensors reveal beyond the inferences that it names."""
    kinds = _sensors(policy)
    lines = [
        f"sensor '{kind}' is not in the repository; what it reveals is not known"
        for kind in sorted({*kinds}.difference(repository.sensors))
    ]
    named = {repository.name_of(name) for name in _labels(policy) if repository.knows(name)}
    spared = [repository.inferences[name] for name in named]
    also = [found for found in repository.reveals({*kinds}.intersection(repository.sensors)) if found not in spared]
    if also:
        titles = ", ".join(found.title.lower() for found in also)
        named_sensors = " and ".join(kind.replace("_", " ") for kind in kinds if kind in repository.sensors)
        lines.append(f"{named_sensors} data can also reveal: {titles}{_cover(policy)}")
    return lines


def _cover(policy: Policy) -> str:
    """Say what the guarantee covers: LDP holds for every inference, others only for the named ones."""
    if policy.privacy.guarantee == "ldp":
        return ""
    return f' (guarantee = "{policy.privacy.guarantee}" covers only inferences.sensitive; add those that matter)'


def _sensors(policy: Policy) -> list[str]:
    """The kinds of the channels' sensors, each once; a stated sensor takes precedence over a name."""
    kinds: dict[str, None] = {}
    for name, spec in policy.stream.channels.items():
        known = recognise(name)
        kind = spec.sensor or (known.kind if known else None)
        if kind is not None:
            kinds[kind] = None
    return list(kinds)


def _check_sense(rate_hz: float, window: int | None, epsilon: float | None) -> None:
    """Refuse values that a policy file may contain but that make no sense in a first one."""
    if epsilon is not None and epsilon > MOST_EPSILON:
        raise PolicyError(f"epsilon = {epsilon:g} would hide nothing; use at most {MOST_EPSILON:g}, better 0.5 to 8")
    if window is not None and window > LONGEST_WINDOW_SECONDS * rate_hz:
        raise PolicyError(
            f"a window of {window} samples at {rate_hz:g} Hz is longer than {LONGEST_WINDOW_SECONDS / 60:g} minutes; "
            "use about two seconds"
        )


def _channels(columns: tuple[Column, ...], *, taken: Collection[str]) -> list[tuple[Column, Sensor]]:
    usable = [column for column in columns if column.name not in (*taken, *RESERVED_COLUMNS)]
    found = [(column, sensor) for column in usable if column.numeric and (sensor := recognise(column.name))]
    if found:
        return found
    wrong_type = [column.name for column in usable if recognise(column.name)]
    if wrong_type:
        raise PolicyError(f"columns {_some(wrong_type)} are named like sensors but are not numbers; convert them")
    names = [column.name for column in usable if column.numeric]
    what = f"columns {_some(names)} are not known sensor names" if names else "the table has no numeric columns"
    named = (NOT_SENSORS, Argument("map", suggested_map(names))) if names else ("name them like acc_x or gyro_z",)
    raise PolicyError(f"{what}; ", *named, ", or write [stream.channels] by hand")


def _spec(column: Column, sensor: Sensor) -> Json:
    stated = column.unit if column.unit is not None else unit_in(column.name)
    unit, scale = scale_of(sensor, sensor.usual_unit if stated is None else stated, column=column.name)
    return {"unit": unit, "range": (scale.low, scale.high), "resolution": scale.resolution, "sensor": sensor.kind}


def _default_window(rate_hz: float) -> int:
    """About two seconds; 1 for an invalid rate, which the policy then refuses."""
    return max(1, round(WINDOW_SECONDS * rate_hz)) if math.isfinite(rate_hz) else 1


def _check_labels(labels: Iterable[str], columns: tuple[Column, ...], repository: Repository | None) -> None:
    names = [column.name for column in columns]
    for label in labels:
        if label in names or (repository is not None and repository.knows(label)):
            continue
        meant = nearest(label, names)
        fix = f"did you mean '{printable(meant)}'?" if meant else f"the table has: {_some(names)}"
        raise PolicyError(f"inference '{printable(label)}' is not a column of the table; {fix}")


def _labels(policy: Policy) -> tuple[str, ...]:
    return (*policy.inferences.useful, *policy.inferences.sensitive)


def _some(names: list[str], at_most: int = 8) -> str:
    more = len(names) - at_most
    return ", ".join(map(printable, names[:at_most])) + (f" and {more} more" if more > 0 else "")
