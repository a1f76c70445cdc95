"""A policy: what an app may infer from a stream, what it may not, and the privacy promised."""

import re
from collections.abc import Mapping
from os import PathLike
from typing import Any, Self, cast

import tomli_w
from pydantic import Field, ValidationError, model_validator

from deeprotect.errors import PolicyError, printable
from deeprotect.policy.agreement import check_agreement, check_budget, settle_defaults
from deeprotect.policy.mistakes import comment, meant_or, one_line, read_toml, toml_tables
from deeprotect.policy.sections import About, Budget, Inferences, Privacy, Section, Stream, Training, seconds
from deeprotect.signals import Channel, Hold, Schema

SECTIONS = {"stream": Stream, "inferences": Inferences, "privacy": Privacy, "training": Training}
_HOMES = {key: name for name, model in SECTIONS.items() for key in cast("type[Section]", model).model_fields}
QUICK_EPOCHS = 6
VERSION = 1
Json = dict[str, Any]
# tomli_w puts each item of an array on its own line; nothing else in its output ends in "[".
_ARRAY = re.compile(r"\[\n((?: {4}.*,\n)+)\]")
_COMMENTS = {
    name: text
    for section in (Stream, Inferences, Privacy, Budget, Training)
    for name, field in section.model_fields.items()
    if (text := comment(field))
}
_COMMENTED = re.compile(rf"^({'|'.join(_COMMENTS)}) = .*$", re.MULTILINE)


class Policy(Section):
    """The whole policy file, checked; defaults that depend on other keys are settled.

    Examples:
        >>> from deeprotect import Policy
        >>> policy = Policy.from_toml('''
        ... version = 1
        ... [stream]
        ... rate_hz = 10
        ... window = 20
        ... channels.acc_x = { unit = "g", range = [-4.0, 4.0] }
        ... [inferences]
        ... useful = ["activity"]
        ... sensitive = ["person"]
        ... [privacy]
        ... epsilon = 2.0
        ... ''')
        >>> policy.privacy.guarantee
        'ldp'
        >>> policy.vary(privacy={"epsilon": 1.0}).privacy.epsilon
        1.0
    """

    version: int
    stream: Stream
    inferences: Inferences
    privacy: Privacy
    training: Training = Field(default_factory=Training)
    about: About = Field(default_factory=About)

    @property
    def erased(self) -> tuple[str, ...]:
        """Inferences whose linear directions are removed from a window before anything else."""
        literal = self.privacy.mechanism == "paper"
        return () if literal or self.privacy.guarantee != "rldp" else self.inferences.sensitive

    @classmethod
    def of(cls, given: "Policy | str | PathLike[str] | Mapping[str, Any] | None" = None, /, **keys: Any) -> "Policy":
        """Make a policy from a path, a dictionary or a policy, with some keys changed; or from keys alone.

        `Policy.of(window=20, …)` takes keys without their section, because no key is in two sections.
        """
        sections = _by_section(keys)
        if given is None or isinstance(given, Mapping):
            return cls.from_tables(_merged({"version": VERSION, **(given or {})}, sections))
        policy = given if isinstance(given, Policy) else cls.load(given)
        return policy.vary(**sections) if sections else policy

    @classmethod
    def load(cls, path: str | PathLike[str]) -> Self:
        """Read the policy in a TOML file."""
        text = read_toml(
            path,
            absent="no such policy; write one with `deeprotect init`",
            unreadable="cannot be read as a policy ({}); give a TOML file",
        )
        return cls.from_toml(text, where=str(path))

    @classmethod
    def from_toml(cls, text: str, *, where: str = "policy") -> Self:
        """Parse the policy in a text; `where` begins each error message."""
        policy = cls.from_tables(toml_tables(text, where), where=where)
        try:
            check_budget(policy.privacy)
        except ValueError as error:
            raise PolicyError(f"{where}: {error}") from None
        return policy

    @classmethod
    def from_tables(cls, tables: Mapping[str, Any], *, where: str = "policy") -> Self:
        """Make a policy from nested dictionaries, as a TOML parser returns them."""
        _check_version(tables.get("version"), where)
        try:
            return cls.model_validate(dict(tables))
        except ValidationError as error:
            raise PolicyError(f"{where}: {one_line(error, cls)}") from None

    def to_toml(self) -> str:
        """The policy as TOML, with a comment that explains each key."""
        tables = self._tables()
        costs = tables["training"].pop("cost_matrix", None)
        compact = _ARRAY.sub(_on_one_line, tomli_w.dumps(tables))
        commented = _COMMENTED.sub(lambda line: f"{line[0]}  # {_COMMENTS[line[1]]}", compact)
        # Classes may have the names of keys, so costs are appended after the comments.
        return commented + ("\n" + tomli_w.dumps({"training": {"cost_matrix": costs}}) if costs else "")

    @classmethod
    def from_json(cls, manifest: Mapping[str, Any], *, where: str = "policy") -> Self:
        """Read what `to_json` wrote."""
        try:
            channels = {spec["name"]: _without(spec, "name") for spec in manifest["stream"]["channels"]}
            stream, listed = {**manifest["stream"], "channels": channels}, len(manifest["stream"]["channels"])
        except (KeyError, TypeError):
            raise PolicyError(f"{where}: stream.channels must be a list of named channels") from None
        if len(channels) < listed:
            raise PolicyError(f"{where}: stream.channels has two channels of one name; rename one")
        return cls.from_tables({**manifest, "stream": stream}, where=where)

    def to_json(self) -> Json:
        """The policy for a manifest; channels become a list, because their order matters and JSON objects have none."""
        tables = self._tables()
        channels = tables["stream"]["channels"]
        tables["stream"]["channels"] = [{"name": name, **spec} for name, spec in channels.items()]
        for spec in tables["stream"]["channels"]:
            spec["range"] = list(spec["range"])
        inferences = tables["inferences"]
        inferences |= {kind: list(inferences[kind]) for kind in ("useful", "sensitive")}
        for number in inferences.get("numeric", {}).values():
            number["range"] = list(number["range"])
        return tables

    def vary(self, **sections: Mapping[str, Any]) -> Self:
        """The same policy with some keys changed and checked: `policy.vary(privacy={"epsilon": 1.0})`."""
        return self.from_tables(_merged(self._tables(), sections))

    def schema(self) -> Schema:  # type: ignore[override]  # pydantic's own is deprecated
        """Channels, rate and window length, as the release needs them."""
        channels = tuple(
            Channel(name, spec.unit, *spec.range, resolution=spec.resolution)
            for name, spec in self.stream.channels.items()
        )
        return Schema(channels, self.stream.rate_hz, self.stream.window)

    @property
    def costs(self) -> dict[str, dict[str, dict[str, float]]]:
        """Costs of misclassifications by useful inference: those of the policy, and distances for numbers."""
        return self.training.cost_matrix | {name: number.costs for name, number in self.inferences.numeric.items()}

    @property
    def hold(self) -> Hold:
        """The number of windows that share a draw, and how many of them are observed."""
        windows = 1 if self.privacy.every is None else int(seconds(self.privacy.every) / self.stream.window_seconds)
        return Hold(windows, min(self.privacy.listen or windows, windows))

    @property
    def kept_together(self) -> Hold:
        """The windows that a split must not separate: an episode; a script may be cut, since each part has labels of
        its own."""
        return self.hold if self.privacy.slots is None else Hold()

    @property
    def slot_windows(self) -> int | None:
        """Windows in one slot if draws are scripts, else None."""
        return None if self.privacy.slots is None else int(seconds(self.privacy.slots) / self.stream.window_seconds)

    @property
    def seconds_per_draw(self) -> float:
        return float(self.hold.windows * self.stream.window_seconds)

    def _tables(self) -> Json:
        tables = self.model_dump(exclude_none=True)
        if not self.stream.columns:
            del tables["stream"]["columns"]
        if not self.inferences.numeric:
            del tables["inferences"]["numeric"]
        if not self.privacy.budget.limits:
            del tables["privacy"]["budget"]
        if not self.training.cost_matrix:
            del tables["training"]["cost_matrix"]
        if not tables["about"]:
            del tables["about"]
        return tables

    @model_validator(mode="before")
    @classmethod
    def _settle_defaults(cls, data: Any) -> Any:
        return settle_defaults(data)

    @model_validator(mode="after")
    def _sections_agree(self) -> Self:
        check_agreement(self.stream, self.inferences, self.privacy, self.training)
        return self


def _check_version(version: object, where: str) -> None:
    """Check the version first: a newer policy may hold keys that would be reported as mistakes."""
    if version is None:
        raise PolicyError(f"{where}: version is missing; add version = {VERSION} as the first line")
    shown = printable(repr(version))
    if not isinstance(version, int) or isinstance(version, bool) or version < 1:
        raise PolicyError(f"{where}: version = {shown} must be {VERSION}")
    if version > VERSION:
        raise PolicyError(f"{where}: version = {shown} is newer than this deeprotect reads ({VERSION}); upgrade it")


def _without(table: Mapping[str, Any], key: str) -> Json:
    return {name: value for name, value in table.items() if name != key}


def _on_one_line(array: re.Match[str]) -> str:
    items = [line.strip().removesuffix(",") for line in array.group(1).rstrip("\n").split("\n")]
    return f"[{', '.join(items)}]"


def _by_section(keys: Mapping[str, Any]) -> dict[str, Json]:
    """Put each key under its section; no name is in two sections."""
    sections: dict[str, Json] = {}
    for key, value in keys.items():
        if key not in _HOMES:
            raise PolicyError(f"policy: {printable(key)} is not a policy key; {meant_or(key, list(_HOMES))}")
        sections.setdefault(_HOMES[key], {})[key] = value
    return sections


def _merged(tables: Mapping[str, Any], sections: Mapping[str, Mapping[str, Any]]) -> Json:
    """Tables with keys added or changed; anything that is not a table is left for the policy to refuse."""
    changed = dict(tables)
    for name, keys in sections.items():
        before = tables.get(name, {})
        changed[name] = {**before, **keys} if isinstance(before, Mapping) else before
    return changed


def quick(policy: Policy) -> Policy:
    """The same policy with networks trained for only a few epochs; its guarantee does not change."""
    return policy.vary(training={"max_epochs": min(policy.training.max_epochs or QUICK_EPOCHS, QUICK_EPOCHS)})


def is_quick(policy: Policy) -> bool:
    return policy.training.max_epochs is not None and policy.training.max_epochs <= QUICK_EPOCHS
