"""A table's columns against a policy: what `train` and `protect` would miss or ask."""

from deeprotect.errors import printable
from deeprotect.policy import Policy
from deeprotect.policy.usual_names import RECORDING
from deeprotect.tables.checking.problems import Problem
from deeprotect.tables.checking.report import MOST_LISTED
from deeprotect.tables.column_map import ColumnMap
from deeprotect.tables.roles import Roles


def column_problems(names: list[str], roles: Roles, policy: Policy, mapping: ColumnMap) -> list[Problem]:
    """Channels and labels that are not there, and a recording that is only called so."""
    wanted = [mapping.get(name, name) for name in policy.stream.channels]
    channels = tuple(name for name in wanted if name not in names)
    people = [policy.training.people] if policy.training.people else []
    labels = dict.fromkeys([*policy.inferences.useful, *policy.inferences.sensitive, *people])
    missing = tuple(name for name in labels if name not in names)
    map_them = f"map them with --map or [stream.columns]; it has: {printable(', '.join(names), MOST_LISTED)}"
    asked = "say so with --map recording=COLUMN, or in the policy to train on ([stream.columns])"
    return [
        *_some("columns", "channels that the table lacks", channels, map_them),
        *_some("labels", "label columns that the table lacks", missing, "only `protect` does without them"),
        *_some("unclear", "columns that may name the recording", _only_called_so(roles, mapping), asked),
    ]


def _only_called_so(roles: Roles, mapping: ColumnMap) -> tuple[str, ...]:
    found = roles.recording
    return (found,) if found is not None and found not in (RECORDING, mapping.get(RECORDING)) else ()


def _some(kind: str, what: str, columns: tuple[str, ...], fix: str) -> list[Problem]:
    return [Problem(kind, what, len(columns), fix, columns)] if columns else []
