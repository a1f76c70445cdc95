"""The verbs of the command line for Python, under the same names and with options of the same names."""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from deeprotect.errors import InputError
from deeprotect.policy import Policy
from deeprotect.tables.column_map import ColumnMap
from deeprotect.tables.output_checks import refuse_output, refuse_unknown_kind
from deeprotect.tables.several import paths_of
from deeprotect.tables.sources import is_of_paths

if TYPE_CHECKING:
    from deeprotect.audit.finding import Audit
    from deeprotect.bundle.verification.verify import Report
    from deeprotect.tables.checking.report import CheckReport
    from deeprotect.tables.preparing.counts import Counts

Path_ = str | Path
AnyPolicy = Policy | Path_ | Mapping[str, Any]
Progress = Callable[[float], None]


def check(
    table: Any,
    policy: AnyPolicy | None = None,
    *,
    map: Mapping[str, str] | None = None,
    columns: Sequence[str] | None = None,
) -> "CheckReport":
    """All problems of a table at once, each with the fix; held against a policy, too, where one is given."""
    from deeprotect.tables.checking.check import check as run

    rules = None if policy is None else Policy.of(policy)
    return run(table, rules, mapping=_mapping(rules, map), columns=columns)


def prepare(
    table: Any,
    out: Path_,
    *,
    rate_hz: float | None = None,
    unit: Sequence[str] = (),
    max_dropped: float = 0.1,
    policy: AnyPolicy | None = None,
    map: Mapping[str, str] | None = None,
    columns: Sequence[str] | None = None,
    force: bool = False,
) -> "Counts":
    """Mend what can be mended honestly, and say what was done: sort, drop, split, resample, convert."""
    from deeprotect.tables.preparing.prepare import PrepareRequest
    from deeprotect.tables.preparing.prepare import prepare as run
    from deeprotect.tables.preparing.units import UnitChange

    refuse_unknown_kind(out)
    refuse_output(out, _files(table), force=force)
    rules = None if policy is None else Policy.of(policy)
    request = PrepareRequest(
        mapping=_mapping(rules, map),
        columns=columns,
        rate_hz=rate_hz,
        units=tuple(UnitChange.parse(each) for each in unit),
        policy=rules,
        max_dropped=max_dropped,
    )
    return run(table, str(out), request)


def verify(bundle: Path_, *, key: Path_ | None = None) -> "Report":
    """Work out again everything that a bundle promises; with a public `key`, its signature, too."""
    from deeprotect.bundle import signing
    from deeprotect.bundle.verification.verify import verify as run

    return run(Path(bundle), key=None if key is None else signing.public_key(Path(key)))


def audit(
    bundle: Path_,
    *,
    runs: int = 100_000,
    data: Any = None,
    out: Path_ | None = None,
    force: bool = False,
    progress: Progress = lambda _: None,
) -> "Audit":
    """Attack the release: a lower bound on ε with its confidence, and a picture of it in `out`, a PNG file."""
    from deeprotect.audit.audit import audit as run
    from deeprotect.bundle import Bundle
    from deeprotect.training.labelled_windows import read_windows

    if out is not None:
        if Path(out).suffix.lower() != ".png":
            raise InputError(f"{out}: the picture is a PNG file; give a name that ends in .png")
        refuse_output(out, _files(data), force=force)
    protector = Bundle.load(Path(bundle))
    windows = None if data is None else read_windows(data, protector.policy)
    result = run(protector, runs=runs, windows=windows, progress=progress)
    if out is not None:
        from deeprotect.evaluation.report.figures.audit_bounds import write

        write(Path(out), result.findings)
    return result


def _mapping(policy: Policy | None, here: Mapping[str, str] | None) -> ColumnMap:
    return ColumnMap.without_policy(here) if policy is None else ColumnMap.of(policy, here)


def _files(table: Any) -> list[str]:
    """What an output may not replace."""
    return paths_of(table) if is_of_paths(table) else []
