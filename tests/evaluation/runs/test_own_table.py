"""From a policy and a table to a report."""

import json
from pathlib import Path
from typing import NamedTuple

import pyarrow as pa
import pyarrow.csv
import pytest

from deeprotect.evaluation.results import Results
from deeprotect.evaluation.runs.own_table import EvaluateRequest, evaluate
from deeprotect.policy import Policy

REQUEST = EvaluateRequest(mechanisms=("baseline", "pca", "downsampling"), epsilons=(1.0, 20.0), quick=True)


class Evaluated(NamedTuple):
    out: Path
    results: Results
    seconds: dict[str, float]
    shares: list[float]


@pytest.fixture(scope="module")
def evaluated(table: pa.Table, policy: Policy, tmp_path_factory: pytest.TempPathFactory) -> Evaluated:
    out, shares = tmp_path_factory.mktemp("evaluated") / "out", []
    return Evaluated(out, *evaluate(policy, table, out, request=REQUEST, progress=shares.append), shares)


def test_everything_a_reader_needs_is_written(evaluated: Evaluated) -> None:
    written = json.loads((evaluated.out / "results.json").read_text())
    assert written == evaluated.results.to_json()
    assert [(row["mechanism"], row["epsilon"]) for row in written["results"]] == [
        ("baseline", 1.0),
        ("baseline", 20.0),
        ("laplace", 1.0),
        ("laplace", 20.0),
        ("downsampling", None),
    ]
    assert all(check["holds"] for check in written["form"])
    assert "<svg" in (evaluated.out / "report.html").read_text()
    assert evaluated.shares[-1] == 1.0
    assert evaluated.seconds


def test_the_same_seed_gives_the_same_results(
    evaluated: Evaluated, table: pa.Table, policy: Policy, tmp_path: Path
) -> None:
    evaluate(policy, table, tmp_path, request=REQUEST)
    for name in ("results.json", "report.html"):
        assert (tmp_path / name).read_bytes() == (evaluated.out / name).read_bytes()


def test_a_policy_without_sensitive_inferences_is_evaluated_too(
    table: pa.Table, policy: Policy, tmp_path: Path
) -> None:
    mode_1 = policy.vary(inferences={"sensitive": []}, privacy={"guarantee": "ldp"})
    results, _ = evaluate(mode_1, table, tmp_path, request=REQUEST)
    assert all(not row.sensitive for row in results.rows)
    assert (tmp_path / "report.html").exists()


def test_labels_may_be_missing_on_some_rows(table: pa.Table, policy: Policy, tmp_path: Path) -> None:
    half = table.num_rows // 2
    first = table.slice(0, half).drop_columns(["person"])
    second = table.slice(half).drop_columns(["activity"])
    stacked = pa.concat_tables([first, second], promote_options="default")
    pyarrow.csv.write_csv(stacked, tmp_path / "stacked.csv")
    results, _ = evaluate(policy, tmp_path / "stacked.csv", tmp_path / "out", request=REQUEST)
    for row in results.rows:
        assert row.useful["activity"].clean > 0.8
        assert row.sensitive["person"].raw > 0.8


@pytest.mark.parametrize(("split", "group"), [("recording", None), ("group", "place")])
def test_other_splits(table: pa.Table, policy: Policy, tmp_path: Path, split: str, group: str | None) -> None:
    places = pa.array([f"place {row // 50 % 4}" for row in range(table.num_rows)])
    names = pa.array([f"{row // 50}" for row in range(table.num_rows)])
    moved = table.drop_columns(["recording"]).append_column("place", places).append_column("recording", names)
    request = EvaluateRequest(mechanisms=("baseline",), epsilons=(20.0,), quick=True, split=split, group=group)
    results, _ = evaluate(policy, moved, tmp_path, request=request)
    assert split in results.run["split"]
    assert results.rows[0].useful["activity"].clean > 0.8
